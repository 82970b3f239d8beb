//! What a run came to: lines while it runs, the page `docs/conformance-regress.md`, a list of all statements, and what
//! stepped back since the page was written.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::cause::Cause;
use super::classify::Class;
use super::known::Explanation;

/// One statement's verdict.
pub struct Finding {
    pub line: usize,
    /// The statement's first line.
    pub statement: String,
    pub class: Class,
    /// Of other rows: where they come from.
    pub explanation: Option<Explanation>,
    pub cause: Option<Cause>,
}

pub struct FileResult {
    pub name: String,
    pub findings: Vec<Finding>,
}

/// How many causes the page lists; the machine-readable list has all.
const CAUSES_ON_PAGE: usize = 60;
/// Causes in a file's row.
const CAUSES_OF_FILE: usize = 3;

impl FileResult {
    pub fn count(&self, class: Class) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.class == class)
            .count()
    }

    /// Other rows that follow from an earlier difference, that are listed, and that nothing explains.
    fn rows(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for explanation in self
            .findings
            .iter()
            .filter_map(|finding| finding.explanation.as_ref())
        {
            counts[match explanation {
                Explanation::Following => 0,
                Explanation::Listed(_) => 1,
                Explanation::Unexplained => 2,
            }] += 1;
        }
        counts
    }

    pub fn identical(&self) -> usize {
        self.count(Class::Identical)
    }

    fn frequent_causes(&self) -> Vec<(usize, &str)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for cause in self.findings.iter().filter_map(|finding| finding.cause.as_ref()) {
            *counts.entry(&cause.text).or_default() += 1;
        }
        let mut ranked: Vec<_> = counts.into_iter().map(|(text, count)| (count, text)).collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        ranked
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        100.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

/// One line of the terminal.
pub fn line(file: &FileResult, seconds: u64) -> String {
    let (identical, all) = (file.identical(), file.findings.len());
    let why = file
        .frequent_causes()
        .first()
        .map_or(String::new(), |(count, text)| format!("{count}× {text}"));
    format!(
        "{:<24} {identical:>5}/{all:<5} {:>5.1} %  {seconds:>4} s  {why}",
        file.name,
        share(identical, all)
    )
}

pub fn summary(files: &[FileResult]) -> String {
    let identical: usize = files.iter().map(FileResult::identical).sum();
    let all: usize = files.iter().map(|file| file.findings.len()).sum();
    let whole = files
        .iter()
        .filter(|file| file.identical() == file.findings.len())
        .count();
    format!(
        "{} files, {all} statements: {identical} identical ({:.1} %); {whole} files are identical throughout",
        files.len(),
        share(identical, all)
    )
}

struct Ranked<'a> {
    text: &'a str,
    direct: usize,
    following: usize,
}

fn ranked_causes(files: &[FileResult]) -> Vec<Ranked<'_>> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let findings = files.iter().flat_map(|file| &file.findings);
    for cause in findings.filter_map(|finding| finding.cause.as_ref()) {
        let count = counts.entry(&cause.text).or_default();
        if cause.follows { count.1 += 1 } else { count.0 += 1 }
    }
    let ranked = counts.into_iter().map(|(text, (direct, following))| Ranked {
        text,
        direct,
        following,
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by(|a, b| {
        (b.direct + b.following)
            .cmp(&(a.direct + a.following))
            .then(a.text.cmp(b.text))
    });
    ranked
}

/// The versions a run was made with.
pub struct Versions {
    pub suite: String,
    pub postgres: String,
    pub mote: String,
}

/// The page. It holds no times and no machine, so that it changes only when an answer does.
pub fn page(files: &[FileResult], versions: &Versions) -> String {
    let mut page = format!(
        "# PostgreSQL's regression suite on mote\n\n\
         Written by `make conformance-regress`: the suite of {} runs on a live PostgreSQL and on mote, through psql, and\n\
         what psql prints is compared statement by statement, blanks left out as pg_regress leaves them out.\n\
         `make conformance-regress ACCEPT=1` writes the page also when a file has fewer identical statements than here.\n\n\
         - reference: {}\n- server: {}\n\n{}.\n\n## Classes\n\n| class | statements | |\n|---|---|---|\n",
        versions.suite,
        versions.postgres,
        versions.mote,
        summary(files)
    );
    for class in Class::ALL {
        let count: usize = files.iter().map(|file| file.count(class)).sum();
        let _ = writeln!(page, "| {} | {count} | {} |", class.name(), meaning(class));
    }
    page.push_str(&rows_table(files));
    page.push_str(
        "\n## Causes\n\nmote's first error that PostgreSQL does not print. *Following*: statements that fail because \
         such a statement failed\nbefore them: its table is missing, its transaction is aborted.\n\n\
         | statements | following | cause |\n|---|---|---|\n",
    );
    for cause in ranked_causes(files).iter().take(CAUSES_ON_PAGE) {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            cause.direct,
            cause.following,
            escaped(cause.text)
        );
    }
    page.push_str("\n## Files\n\n| file | statements | identical | share |");
    for class in &Class::ALL[1..] {
        let _ = match class {
            Class::OtherRows => write!(page, " rows: following | listed | unexplained |"),
            class => write!(page, " {} |", class.name()),
        };
    }
    page.push_str(" most frequent causes |\n|---|---|---|---|");
    page.push_str(&"---|".repeat(Class::ALL.len() + 2));
    page.push('\n');
    files.iter().for_each(|file| page.push_str(&row(file)));
    page
}

/// Where other rows come from, and the reasons of the list with how often they apply.
fn rows_table(files: &[FileResult]) -> String {
    let sum = |at: usize| files.iter().map(|file| file.rows()[at]).sum::<usize>();
    let mut table = format!(
        "\n## Other rows\n\n- {} follow from an earlier difference of the same file: what they read was refused, or changed by what \
         was refused.\n- {} are listed in `crates/conformance/known-rows.txt`; COMPAT.md explains the reasons.\n- {} are \
         unexplained: the run fails unless there are none.\n\n| reason | statements |\n|---|---|\n",
        sum(0),
        sum(1),
        sum(2)
    );
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in files.iter().flat_map(|file| &file.findings) {
        if let Some(Explanation::Listed(reason)) = &finding.explanation {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    for (reason, count) in reasons {
        let _ = writeln!(table, "| {reason} | {count} |");
    }
    table
}

/// The statements whose other rows nothing explains.
pub fn unexplained(files: &[FileResult]) -> Vec<String> {
    let of_file = |file: &FileResult| -> Vec<String> {
        let open = file
            .findings
            .iter()
            .filter(|finding| finding.explanation == Some(Explanation::Unexplained));
        open.map(|finding| {
            format!(
                "{}:{}: other rows: {}",
                file.name, finding.line, finding.statement
            )
        })
        .collect()
    };
    files.iter().flat_map(of_file).collect()
}

fn row(file: &FileResult) -> String {
    let (identical, all) = (file.identical(), file.findings.len());
    let mut row = format!(
        "| {} | {all} | {identical} | {:.1} % |",
        file.name,
        share(identical, all)
    );
    for class in &Class::ALL[1..] {
        let counts = match class {
            Class::OtherRows => file.rows().to_vec(),
            class => vec![file.count(*class)],
        };
        for count in counts {
            let _ = if count == 0 {
                write!(row, " |")
            } else {
                write!(row, " {count} |")
            };
        }
    }
    let causes = file.frequent_causes();
    let shown = causes
        .iter()
        .take(CAUSES_OF_FILE)
        .map(|(count, text)| format!("{count}× {}", escaped(text)));
    let _ = writeln!(row, " {} |", shown.collect::<Vec<_>>().join("; "));
    row
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<")
}

fn meaning(class: Class) -> &'static str {
    match class {
        Class::Identical => "what psql prints is the same",
        Class::Detail => "the same messages; a position, DETAIL, HINT or CONTEXT differs",
        Class::OtherError => "both refuse, with other messages",
        Class::NotSupported => "mote names something it does not have",
        Class::Accepted => "PostgreSQL refuses it, mote does not",
        Class::Refused => "PostgreSQL accepts it, mote refuses it otherwise than with 0A000",
        Class::OtherRows => "other rows or other text, no error",
        Class::RowOrder => "the same lines in another order",
        Class::Explain => "the text of a plan",
        Class::Display => "what psql's `\\d` and its kin show",
        Class::Notice => "notices and warnings",
        Class::Unanswered => "no answer in time",
        Class::Panic => "XX000, or the connection ended",
        Class::Library => "needs the suite's own library of C functions, which neither server is given",
    }
}

/// A line for each statement: file, line, class, cause, whether it follows another, and the statement's beginning.
pub fn list(files: &[FileResult]) -> String {
    let mut list = String::from("file\tline\tclass\texplained\tfollows\tcause\tstatement\n");
    for file in files {
        for finding in &file.findings {
            let cause = finding.cause.as_ref();
            let _ = writeln!(
                list,
                "{}\t{}\t{}\t{}\t{}\t{}\t{}",
                file.name,
                finding.line,
                finding.class.name(),
                match &finding.explanation {
                    None => "",
                    Some(Explanation::Following) => "following",
                    Some(Explanation::Listed(reason)) => reason,
                    Some(Explanation::Unexplained) => "unexplained",
                },
                cause.is_some_and(|cause| cause.follows),
                cause.map_or("", |cause| &cause.text).replace('\t', " "),
                finding.statement.replace('\t', " ")
            );
        }
    }
    list
}

/// Files with fewer identical statements than an earlier page says.
pub fn steps_back(page: &str, files: &[FileResult]) -> Vec<String> {
    let recorded: BTreeMap<&str, usize> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let (name, _all, identical, share) = (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
            // Only rows of files have a share in their fourth cell.
            share.contains(" %").then_some((name, identical.parse().ok()?))
        })
        .collect();
    let step = |file: &FileResult| {
        let before = *recorded.get(file.name.as_str())?;
        let now = file.identical();
        (now < before).then(|| format!("{}: {now} statements are identical, {before} were", file.name))
    };
    files.iter().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, classes: &[Class]) -> FileResult {
        let finding = |class: &Class| Finding {
            line: 1,
            statement: "select 1;".to_string(),
            class: *class,
            explanation: (*class == Class::OtherRows).then_some(Explanation::Unexplained),
            cause: (*class != Class::Identical).then(|| Cause {
                text: format!("because a|b of {}", class.name()),
                follows: *class == Class::Refused,
            }),
        };
        FileResult {
            name: name.to_string(),
            findings: classes.iter().map(finding).collect(),
        }
    }

    #[test]
    fn a_page_is_the_measure_of_the_next_run() {
        let versions = Versions {
            suite: "s".to_string(),
            postgres: "p".to_string(),
            mote: "m".to_string(),
        };
        let before = [
            file("int4", &[Class::Identical, Class::Identical]),
            file("join", &[Class::Identical, Class::Refused, Class::OtherRows]),
        ];
        let page = page(&before, &versions);
        assert!(
            page.contains("2 files, 5 statements: 3 identical (60.0 %); 1 files"),
            "{page}"
        );
        assert!(page.contains("| 0 | 1 | because a\\|b of refused |"), "{page}");
        assert!(page.contains("| join | 3 | 1 | 33.3 % |"), "{page}");
        assert!(page.contains("- 1 are unexplained"), "{page}");
        assert_eq!(unexplained(&before), ["join:1: other rows: select 1;"]);
        assert!(steps_back(&page, &before).is_empty());
        let worse = [
            file("int4", &[Class::Identical, Class::Panic]),
            file("new", &[Class::Panic]),
        ];
        assert_eq!(
            steps_back(&page, &worse),
            ["int4: 1 statements are identical, 2 were"]
        );
    }

    #[test]
    fn the_list_has_every_statement() {
        let list = list(&[file("int4", &[Class::Identical, Class::Refused])]);
        assert_eq!(
            list.lines().nth(1),
            Some("int4\t1\tidentical\t\tfalse\t\tselect 1;")
        );
        assert_eq!(
            list.lines().nth(2),
            Some("int4\t1\trefused\t\ttrue\tbecause a|b of refused\tselect 1;")
        );
    }
}
