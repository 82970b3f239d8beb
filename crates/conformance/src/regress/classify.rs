//! How an answer differs from the reference's.
//!
//! Texts are compared as pg_regress compares them, without regard to blanks; numbers of processes and the directory of
//! results are the same for both.

use std::path::Path;

use super::script::Statement;
use super::session::{Answer, End};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Identical,
    /// Messages are equal; a position, detail, hint or context is not.
    Detail,
    /// Both refuse, with different messages.
    OtherError,
    /// mote says 0A000.
    NotSupported,
    /// PostgreSQL refuses it.
    Accepted,
    /// PostgreSQL accepts it.
    Refused,
    OtherRows,
    RowOrder,
    Explain,
    /// psql's `\d` and its kin.
    Display,
    /// Notices and warnings only.
    Notice,
    /// No answer in time, or behind the end of the file's time.
    Unanswered,
    /// XX000, or the connection ended.
    Panic,
    /// It needs regress.so.
    Library,
}

impl Class {
    pub const ALL: [Class; 14] = [
        Class::Identical,
        Class::Detail,
        Class::OtherError,
        Class::NotSupported,
        Class::Accepted,
        Class::Refused,
        Class::OtherRows,
        Class::RowOrder,
        Class::Explain,
        Class::Display,
        Class::Notice,
        Class::Unanswered,
        Class::Panic,
        Class::Library,
    ];

    /// A word for tables and lists.
    pub fn name(self) -> &'static str {
        match self {
            Class::Identical => "identical",
            Class::Detail => "detail",
            Class::OtherError => "other error",
            Class::NotSupported => "0A000",
            Class::Accepted => "accepted",
            Class::Refused => "refused",
            Class::OtherRows => "rows",
            Class::RowOrder => "order",
            Class::Explain => "EXPLAIN",
            Class::Display => "\\d",
            Class::Notice => "notice",
            Class::Unanswered => "unanswered",
            Class::Panic => "panic",
            Class::Library => "C library",
        }
    }
}

/// The answers of both servers to one statement, with the directories of their results.
pub struct Pair<'a> {
    pub statement: &'a Statement,
    pub reference: &'a Answer,
    pub reference_build: &'a Path,
    pub answer: Option<&'a Answer>,
    pub build: &'a Path,
}

pub fn classify(pair: &Pair<'_>) -> Class {
    let Some(answer) = pair.answer else {
        return Class::Unanswered;
    };
    match answer.end {
        End::Cancelled | End::Hung => return Class::Unanswered,
        End::Lost if pair.reference.end != End::Lost => return Class::Panic,
        _ => {}
    }
    let wanted = Lines::of(&pair.reference.text, pair.reference_build);
    let got = Lines::of(&answer.text, pair.build);
    if wanted.same(&got) && answer.end == pair.reference.end {
        return Class::Identical;
    }
    let internal = |answer: &Answer| answer.errors.iter().any(|(sqlstate, _)| sqlstate == "XX000");
    if internal(answer) && !internal(pair.reference) {
        return Class::Panic;
    }
    if pair.statement.text.contains("regresslib") || pair.reference.text.contains("regress.so") {
        return Class::Library;
    }
    if answer.end != pair.reference.end {
        return Class::OtherRows;
    }
    if wanted.without_details().same(&got.without_details()) {
        return Class::Detail;
    }
    if let Some(class) = by_errors(pair.reference, answer) {
        return class;
    }
    let body = pair.statement.body();
    if is_explain(body) {
        Class::Explain
    } else if body.starts_with('\\') && pair.statement.body().starts_with("\\d") {
        Class::Display
    } else if wanted.without_notices().same(&got.without_notices()) {
        Class::Notice
    } else if wanted.sorted().same(&got.sorted()) {
        Class::RowOrder
    } else {
        Class::OtherRows
    }
}

/// The rows that only one of the servers printed; a value of several lines is one row. Headings and counts are no rows.
pub fn rows_apart(pair: &Pair<'_>) -> Vec<String> {
    let wanted = rows(&pair.reference.text);
    let got = pair.answer.map_or(Vec::new(), |answer| rows(&answer.text));
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        these
            .iter()
            .filter(|row| !others.contains(row))
            .cloned()
            .collect()
    };
    let mut apart = only(&wanted, &got);
    apart.extend(only(&got, &wanted));
    apart
}

/// What stands between psql's rule and its count of rows, blanks taken together.
fn rows(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    {
        let rule = line.starts_with("--") && line.chars().all(|c| matches!(c, '-' | '+'));
        if rule {
            rows.clear(); // What came before it was the heading.
            continue;
        }
        let count = line.starts_with('(') && (line.ends_with(" rows)") || line.ends_with(" row)"));
        if count || line.is_empty() {
            continue;
        }
        let more = line.ends_with('+') || line.contains("+|") || line.contains("+ |");
        match rows.last_mut().filter(|_| goes_on) {
            Some(row) => row.push_str(&line),
            None => rows.push(line),
        }
        goes_on = more;
    }
    rows
}

/// What the errors alone say; `None` if they are the same.
fn by_errors(reference: &Answer, answer: &Answer) -> Option<Class> {
    if reference.errors == answer.errors {
        return None;
    }
    let known = |error: &&(String, String)| reference.errors.iter().any(|(_, message)| *message == error.1);
    let unsupported = answer
        .errors
        .iter()
        .filter(|error| error.0 == "0A000")
        .any(|error| !known(&error));
    Some(match (reference.errors.is_empty(), answer.errors.is_empty()) {
        _ if unsupported => Class::NotSupported,
        (true, _) => Class::Refused,
        (false, true) => Class::Accepted,
        (false, false) => Class::OtherError,
    })
}

/// EXPLAIN, and the suite's functions that run one.
fn is_explain(body: &str) -> bool {
    let head: String = body.chars().take(200).collect::<String>().to_ascii_lowercase();
    head.starts_with("explain") || head.contains("explain_") || head.contains("check_estimated_rows")
}

/// The lines of an answer without blanks.
#[derive(Clone)]
struct Lines(Vec<String>);

/// What psql begins the lines of an error or notice with.
const SEVERITIES: [&str; 7] = [
    "ERROR:", "FATAL:", "PANIC:", "WARNING:", "NOTICE:", "INFO:", "LOG:",
];
const DETAILS: [&str; 5] = ["DETAIL:", "HINT:", "CONTEXT:", "QUERY:", "LINE"];
/// How lines begin that go on a detail or a context.
const CONTINUATIONS: [&str; 7] = [
    "dropcascadesto",
    "PL/pgSQLfunction",
    "SQLfunction",
    "SQLstatement",
    "SQLexpression",
    "COPY",
    "^",
];

impl Lines {
    fn of(text: &str, build: &Path) -> Lines {
        let text = text.replace(&build.display().to_string(), "BUILD");
        let lines = text.lines().map(|line| {
            let line = without_number(line, "PID ");
            let line = without_number(&line, "pg_temp_");
            let line = without_number(&line, "pg_toast_temp_");
            line.chars().filter(|c| !c.is_whitespace()).collect()
        });
        Lines(lines.collect())
    }

    fn same(&self, other: &Lines) -> bool {
        self.0 == other.0
    }

    fn without_details(&self) -> Lines {
        let mut in_details = false;
        let keep = |line: &&String| {
            let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
            in_details = starts(&DETAILS) || (in_details && starts(&CONTINUATIONS));
            !in_details
        };
        Lines(self.0.iter().filter(keep).cloned().collect())
    }

    fn without_notices(&self) -> Lines {
        let lines = self.without_details().0;
        let notice = |line: &String| SEVERITIES[3..].iter().any(|word| line.starts_with(word));
        Lines(lines.into_iter().filter(|line| !notice(line)).collect())
    }

    fn sorted(&self) -> Lines {
        let mut lines = self.0.clone();
        lines.sort();
        Lines(lines)
    }
}

/// `PID 123` is `PID N` for every 123.
fn without_number(line: &str, before: &str) -> String {
    let mut parts = line.split(before);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(before);
        if rest.len() < part.len() {
            out.push('N');
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, errors: &[(&str, &str)]) -> Answer {
        Answer {
            text: text.to_string(),
            errors: errors
                .iter()
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .collect(),
            end: End::Answered,
        }
    }

    fn class(statement: &str, reference: &Answer, got: &Answer) -> Class {
        classify(&Pair {
            statement: &Statement {
                line: 1,
                text: statement.to_string(),
                data: Vec::new(),
            },
            reference,
            reference_build: Path::new("/tmp/a"),
            answer: Some(got),
            build: Path::new("/tmp/b"),
        })
    }

    #[test]
    fn blanks_directories_and_processes_do_not_count() {
        let wanted = answer(" a | b\n /tmp/a/x from PID 12\n", &[]);
        let got = answer(" a  | b \n /tmp/b/x from PID 7\n", &[]);
        assert_eq!(class("select 1", &wanted, &got), Class::Identical);
        assert_eq!(
            class("select 1", &wanted, &answer("a|c\n", &[])),
            Class::OtherRows
        );
    }

    #[test]
    fn errors_decide_before_rows() {
        let fine = answer("a\n", &[]);
        let syntax = answer("ERROR:  x\nLINE 1: y\n        ^\nHINT:  h\n", &[("42601", "x")]);
        let unsupported = answer("ERROR:  no z\n", &[("0A000", "no z")]);
        assert_eq!(class("s", &fine, &syntax), Class::Refused);
        assert_eq!(class("s", &syntax, &fine), Class::Accepted);
        assert_eq!(class("s", &fine, &unsupported), Class::NotSupported);
        assert_eq!(class("s", &syntax, &unsupported), Class::NotSupported);
        assert_eq!(class("s", &unsupported, &syntax), Class::OtherError);
        assert_eq!(
            class("s", &syntax, &answer("ERROR:  x\n", &[("42601", "x")])),
            Class::Detail
        );
        assert_eq!(
            class("s", &syntax, &answer("ERROR:  x\n", &[("XX000", "x")])),
            Class::Panic
        );
    }

    #[test]
    fn kinds_of_rows() {
        let wanted = answer("NOTICE:  n\n a\n b\n", &[]);
        assert_eq!(class("s", &wanted, &answer(" a\n b\n", &[])), Class::Notice);
        assert_eq!(
            class("s", &wanted, &answer("NOTICE:  n\n b\n a\n", &[])),
            Class::RowOrder
        );
        assert_eq!(
            class("-- about\nexplain s", &wanted, &answer("x", &[])),
            Class::Explain
        );
        assert_eq!(class("\\d t", &wanted, &answer("x", &[])), Class::Display);
        assert_eq!(
            class("create function f() as :'regresslib'", &wanted, &answer("x", &[])),
            Class::Library
        );
    }

    #[test]
    fn rows_apart_are_whole_values_without_headings() {
        let wanted = answer(" a | b\n---+---\n x | 1+\n   | 2\n y | 3\n(2 rows)\n", &[]);
        let got = answer(" a  | b\n----+---\n y  | 3\n(1 row)\n", &[]);
        let statement = Statement {
            line: 1,
            text: String::new(),
            data: Vec::new(),
        };
        let pair = Pair {
            statement: &statement,
            reference: &wanted,
            reference_build: Path::new("/a"),
            answer: Some(&got),
            build: Path::new("/b"),
        };
        assert_eq!(rows_apart(&pair), ["x | 1+| 2"]);
    }

    #[test]
    fn ends_that_are_no_answers() {
        let wanted = answer("a", &[]);
        let ended = |end| Answer {
            end,
            ..answer("a", &[])
        };
        assert_eq!(class("s", &wanted, &ended(End::Hung)), Class::Unanswered);
        assert_eq!(class("s", &wanted, &ended(End::Cancelled)), Class::Unanswered);
        assert_eq!(class("s", &wanted, &ended(End::Lost)), Class::Panic);
        assert_eq!(class("\\if x", &wanted, &ended(End::Quit)), Class::OtherRows);
    }
}
