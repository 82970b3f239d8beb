//! Questions that several systems are asked, and whether their answers are the same.
//!
//! Numbers are the same to the cent, or to a billionth of large ones: systems round differently. Rows stand in the order
//! that ORDER BY decides; those it leaves equal may stand in any order, and where LIMIT cuts through such rows each system
//! may show others of them.

use std::ops::Range;

use mote_driver::admin::TextRow;

/// A query with what its text says of the order of its rows.
#[derive(Clone, Debug)]
pub struct Question {
    pub number: usize,
    pub sql: String,
    /// Columns that ORDER BY names, counted from 0; empty if there is none.
    pub order: &'static [usize],
    pub limit: Option<usize>,
}

impl Question {
    /// Where the answers differ, in words; `None` if they are the same.
    pub fn difference(&self, one: &[TextRow], other: &[TextRow]) -> Option<String> {
        if one.len() != other.len() {
            return Some(format!("{} rows and {}", one.len(), other.len()));
        }
        let key = |row: &TextRow| -> TextRow {
            let columns = self
                .order
                .iter()
                .map(|column| row.get(*column).cloned().flatten());
            columns.collect()
        };
        for (at, (one, other)) in one.iter().zip(other).enumerate() {
            if !same_row(&key(one), &key(other)) {
                return Some(format!("row {}: {} and {}", at + 1, shown(one), shown(other)));
            }
        }
        for run in runs(one, |one, other| same_row(&key(one), &key(other))) {
            let cut = run.end == one.len() && self.limit == Some(one.len());
            if cut && run.len() > 1 {
                continue;
            }
            let (one, other) = (sorted(&one[run.clone()]), sorted(&other[run.clone()]));
            let mut pairs = one.iter().zip(&other);
            if let Some((one, other)) = pairs.find(|(one, other)| !same_row(one, other)) {
                return Some(format!(
                    "rows {} to {}: {} and {}",
                    run.start + 1,
                    run.end,
                    shown(one),
                    shown(other)
                ));
            }
        }
        None
    }
}

/// Where neighbours are alike.
fn runs(rows: &[TextRow], alike: impl Fn(&TextRow, &TextRow) -> bool) -> Vec<Range<usize>> {
    let (mut runs, mut start) = (Vec::new(), 0);
    for at in 1..=rows.len() {
        if at == rows.len() || !alike(&rows[at - 1], &rows[at]) {
            runs.push(start..at);
            start = at;
        }
    }
    runs
}

/// Numbers rounded, so that rows that are the same stand in the same places.
fn sorted(rows: &[TextRow]) -> Vec<&TextRow> {
    let mut keyed: Vec<(Vec<Option<String>>, &TextRow)> = rows
        .iter()
        .map(|row| {
            let cells = row.iter().map(|cell| cell.as_deref().map(rounded));
            (cells.collect(), row)
        })
        .collect();
    keyed.sort();
    keyed.into_iter().map(|(_, row)| row).collect()
}

fn rounded(cell: &str) -> String {
    match number(cell) {
        Some(value) => format!("{value:.1}"),
        None => cell.trim_end().to_string(),
    }
}

fn same_row(one: &TextRow, other: &TextRow) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_cell(one, other))
}

fn same_cell(one: &Option<String>, other: &Option<String>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return one == other;
    };
    match (number(one), number(other)) {
        (Some(a), Some(b)) => (a - b).abs() <= (1e-9 * a.abs()).max(0.0051),
        // char(n) is filled up with spaces by some systems.
        _ => one.trim_end() == other.trim_end(),
    }
}

/// What has a point in it: whole numbers are the same only as they are written.
fn number(cell: &str) -> Option<f64> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let numeric = digits.contains('.') && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric { cell.parse().ok() } else { None }
}

fn shown(row: &TextRow) -> String {
    let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("null")).collect();
    let text = cells.join(" | ");
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("({}...)", &text[..end]),
        None => format!("({text})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<TextRow> {
        let row = |line: &str| line.split('|').map(|cell| Some(cell.to_string())).collect();
        text.lines().map(row).collect()
    }

    fn question(order: &'static [usize], limit: Option<usize>) -> Question {
        Question {
            number: 1,
            sql: String::new(),
            order,
            limit,
        }
    }

    #[test]
    fn order_by_decides_as_much_as_it_says() {
        let by_first = question(&[0], None);
        let same = |one: &str, other: &str| by_first.difference(&rows(one), &rows(other)).is_none();
        assert!(same("1|a\n1|b\n2|c", "1|b\n1|a\n2|c"));
        assert!(!same("1|a\n1|b\n2|c", "2|c\n1|a\n1|b"));
        assert!(!same("1|a\n1|b", "1|a\n1|c"));
        assert!(!same("1|a\n1|a\n1|b", "1|a\n1|b\n1|b"));
        assert!(!same("1|a", "1|a\n1|b"));
        let unordered = question(&[], None);
        assert_eq!(unordered.difference(&rows("1|a\n2|b"), &rows("2|b\n1|a")), None);
        // Rows that LIMIT has cut off may be others, those before them may not.
        let cut = question(&[0], Some(3));
        assert_eq!(
            cut.difference(&rows("1|a\n2|b\n2|c"), &rows("1|a\n2|d\n2|b")),
            None
        );
        assert!(
            cut.difference(&rows("1|a\n2|b\n2|c"), &rows("1|x\n2|d\n2|b"))
                .is_some()
        );
    }

    #[test]
    fn numbers_are_compared_to_the_cent() {
        let any = question(&[], None);
        let same = |one: &str, other: &str| any.difference(&rows(one), &rows(other)).is_none();
        assert!(same("1.005", "1.0049999999"));
        assert!(same("123456789012345.12", "123456789012345.22"));
        assert!(!same("1.00", "1.02"));
        assert!(!same("7", "8"));
        assert!(same("x  |-0.00", "x|0.0000"));
    }
}
