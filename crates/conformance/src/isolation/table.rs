//! Rows as libpq's PQprint shows them: the form of the suite's expected output.
//!
//! A column stands right when all its values look like numbers, also when it has none.

use std::fmt::Write;

/// A complete result of one statement that returns rows.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Rows {
    pub columns: Vec<String>,
    /// NULL is shown like an empty text.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// Header, rule, rows, count, an empty line; nothing at all for rows without columns.
    pub fn print(&self, out: &mut String) {
        if self.columns.is_empty() {
            return;
        }
        let cell = |row: &'_ Vec<Option<String>>, column: usize| row[column].clone().unwrap_or_default();
        let mut layout = Vec::with_capacity(self.columns.len());
        for (number, name) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|row| cell(row, number));
            let width = cells.clone().map(|text| text.len()).max().unwrap_or(0);
            let left = cells.into_iter().any(|text| !is_numeric(&text));
            layout.push((width.max(name.len()), left));
        }
        print_line(out, &layout, |column| self.columns[column].clone());
        let rules: Vec<String> = layout.iter().map(|(width, _)| "-".repeat(*width)).collect();
        out.push_str(&rules.join("+"));
        out.push('\n');
        for row in &self.rows {
            print_line(out, &layout, |column| cell(row, column));
        }
        let plural = if self.rows.len() == 1 { "" } else { "s" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "({} row{plural})\n", self.rows.len());
    }
}

/// Widths count bytes, as libpq's do.
fn print_line(out: &mut String, layout: &[(usize, bool)], text: impl Fn(usize) -> String) {
    for (column, (width, left)) in layout.iter().enumerate() {
        if column > 0 {
            out.push('|');
        }
        let text = text(column);
        let padding = " ".repeat(width.saturating_sub(text.len()));
        if *left {
            out.push_str(&text);
            out.push_str(&padding);
        } else {
            out.push_str(&padding);
            out.push_str(&text);
        }
    }
    out.push('\n');
}

/// PQprint's test: digits and signs, a digit last, no E first. Empty values say nothing.
fn is_numeric(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'E' | 'e' | ' ' | '-');
    text.is_empty()
        || (text.chars().all(allowed)
            && !text.starts_with(['E', 'e'])
            && text.ends_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(columns: &[&str], rows: &[&[Option<&str>]]) -> String {
        let mut out = String::new();
        Rows {
            columns: columns.iter().map(|name| name.to_string()).collect(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.map(str::to_string)).collect())
                .collect(),
        }
        .print(&mut out);
        out
    }

    #[test]
    fn numbers_stand_right_and_text_left() {
        let expected = "id|name  | n\n--+------+--\n 1|one   |10\n22|twenty|  \n(2 rows)\n\n";
        let rows: &[&[Option<&str>]] = &[
            &[Some("1"), Some("one"), Some("10")],
            &[Some("22"), Some("twenty"), None],
        ];
        assert_eq!(printed(&["id", "name", "n"], rows), expected);
    }

    #[test]
    fn nothing_is_numeric_and_zero_columns_print_nothing() {
        assert_eq!(printed(&["a"], &[]), "a\n-\n(0 rows)\n\n");
        assert_eq!(printed(&["abc"], &[&[None]]), "abc\n---\n   \n(1 row)\n\n");
        assert_eq!(printed(&[], &[&[]]), "");
        assert_eq!(printed(&["n"], &[&[Some("1-")]]), "n \n--\n1-\n(1 row)\n\n");
    }
}
