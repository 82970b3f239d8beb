//! All files: the reference runs ahead, mote follows with what was recorded.
//!
//! Files run in the order of the schedule, one after the other: later ones use what earlier ones made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use clap::Args;

use super::cause::{Cause, Causes};
use super::classify::{Class, Pair, classify};
use super::following::Following;
use super::known::{self, Explanation, KnownRows};
use super::report::{self, FileResult, Finding, Versions};
use super::run::{self, Patience, Record, Suite};
use super::schedule::Schedule;
use super::servers::{Mote, Postgres, Workplace};
use super::session::Answer;

/// How many files the reference may be ahead.
const AHEAD: usize = 16;

#[derive(Args)]
pub struct RegressArguments {
    /// Directory with sql/, data/ and parallel_schedule, as scripts/postgres15_source.sh unpacks it
    #[arg(long, value_name = "DIR")]
    suite: PathBuf,
    /// The mote binary
    #[arg(long, value_name = "FILE", default_value = "target/release/mote")]
    server: PathBuf,
    /// Only this file, after those it needs; may be repeated
    #[arg(long, value_name = "NAME")]
    file: Vec<String>,
    /// Where the differences go, as NAME.diff, with the list of all statements
    #[arg(long, value_name = "DIR", default_value = "target/regress-results")]
    results: PathBuf,
    /// The page: fewer identical statements than it records fail; otherwise it is written anew
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    report: Option<PathBuf>,
    /// Write the page although a file has stepped back
    #[arg(long)]
    accept: bool,
    /// Seconds after which a statement is cancelled on mote
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    statement_timeout: u64,
    /// Seconds after which a file is left on mote
    #[arg(long, default_value_t = 180, value_name = "SECONDS")]
    file_timeout: u64,
}

pub fn run(arguments: &RegressArguments) -> Result<bool, String> {
    let schedule = read(&arguments.suite.join("parallel_schedule"))?;
    let schedule = Schedule::parse(&schedule);
    let files = match arguments.file.as_slice() {
        [] => schedule.files.clone(),
        names => schedule.with_needs(names)?,
    };
    fs::create_dir_all(&arguments.results)
        .map_err(|error| format!("{}: {error}", arguments.results.display()))?;
    let workplace = Workplace::make()?;
    let postgres = Postgres::start(&workplace)?;
    let mote = Mote::start(&arguments.server, &workplace)?;
    let versions = Versions {
        suite: suite_version(&arguments.suite)?,
        postgres: postgres.version.clone(),
        mote: mote.version.clone(),
    };
    println!(
        "suite: {}\nreference: {}\nserver: {}\n",
        versions.suite, versions.postgres, versions.mote
    );
    let comparison = Comparison::new(arguments, &workplace, &postgres)?;
    let mut known = KnownRows::parse(known::LIST)?;
    let results = comparison.run(&files, &postgres, mote, &mut known)?;
    println!("\n{}", report::summary(&results));
    let list = arguments.results.join("statements.tsv");
    fs::write(&list, report::list(&results)).map_err(|error| format!("{}: {error}", list.display()))?;
    let explained = are_explained(&results, &known, &files);
    let kept = match &arguments.report {
        Some(path) => write_page(path, &results, &versions, arguments.accept)?,
        None => true,
    };
    Ok(explained && kept)
}

/// Whether every difference in rows has a reason, and every reason a difference.
fn are_explained(results: &[FileResult], known: &KnownRows, files: &[String]) -> bool {
    let mut wrong = report::unexplained(results);
    wrong.extend(known.unused(files));
    wrong.iter().for_each(|line| println!("{line}"));
    wrong.is_empty()
}

/// Whether no file stepped back, or that is accepted.
fn write_page(
    path: &Path,
    results: &[FileResult],
    versions: &Versions,
    accept: bool,
) -> Result<bool, String> {
    // The first page has no measure.
    let steps = report::steps_back(&fs::read_to_string(path).unwrap_or_default(), results);
    steps.iter().for_each(|step| println!("{step}"));
    if !steps.is_empty() && !accept {
        println!("{} is left as it is; --accept writes it anew", path.display());
        return Ok(false);
    }
    fs::write(path, report::page(results, versions))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(true)
}

/// The version of the source tree that the suite's directory is part of.
fn suite_version(suite: &Path) -> Result<String, String> {
    const KEY: &str = "PACKAGE_VERSION='";
    let configure = read(&suite.join("../../../configure"))?;
    let version = configure
        .lines()
        .find_map(|line| line.strip_prefix(KEY)?.strip_suffix('\''));
    version
        .map(|version| format!("PostgreSQL {version}"))
        .ok_or_else(|| "configure names no version".to_string())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

struct Comparison<'a> {
    arguments: &'a RegressArguments,
    suite: Suite,
    /// Where psql runs, for each server.
    reference_build: PathBuf,
    build: PathBuf,
}

impl<'a> Comparison<'a> {
    fn new(
        arguments: &'a RegressArguments,
        workplace: &Workplace,
        postgres: &Postgres,
    ) -> Result<Self, String> {
        let source = workplace.directory("source")?;
        let data = workplace.directory("source/data")?;
        let original = arguments.suite.join("data");
        let failed = |error: std::io::Error| format!("{}: {error}", original.display());
        for entry in fs::read_dir(&original).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            fs::copy(entry.path(), data.join(entry.file_name())).map_err(failed)?;
        }
        let build = |name: &str| {
            for directory in ["results", "testtablespace"] {
                workplace.directory(&format!("{name}/{directory}"))?;
            }
            workplace.directory(name)
        };
        Ok(Comparison {
            arguments,
            suite: Suite {
                directory: arguments.suite.clone(),
                source,
                libraries: postgres.libraries(),
            },
            reference_build: build("build-postgres")?,
            build: build("build-mote")?,
        })
    }

    fn run(
        &self,
        files: &[String],
        postgres: &Postgres,
        mote: Mote,
        known: &mut KnownRows,
    ) -> Result<Vec<FileResult>, String> {
        let (sender, records) = sync_channel(AHEAD);
        std::thread::scope(|scope| {
            let reference = scope.spawn(|| self.record_all(files, postgres, sender));
            let results = self.replay_all(records, mote, known);
            // The reference's error explains why mote ran out of records.
            reference.join().expect("recording does not panic")?;
            results
        })
    }

    fn record_all(
        &self,
        files: &[String],
        postgres: &Postgres,
        sender: SyncSender<(String, Record)>,
    ) -> Result<(), String> {
        for file in files {
            let record = run::record(&self.suite, postgres, &self.reference_build, file)?;
            if sender.send((file.clone(), record)).is_err() {
                break; // The other side has failed and says why.
            }
        }
        Ok(())
    }

    fn replay_all(
        &self,
        records: Receiver<(String, Record)>,
        mut mote: Mote,
        known: &mut KnownRows,
    ) -> Result<Vec<FileResult>, String> {
        let patience = Patience {
            statement: Duration::from_secs(self.arguments.statement_timeout),
            file: Duration::from_secs(self.arguments.file_timeout),
        };
        let mut reasons = Reasons {
            causes: Causes::default(),
            following: Following::default(),
            known,
        };
        let mut results = Vec::new();
        for (file, record) in records {
            let begin = Instant::now();
            let answers = run::replay(&self.suite, &mut mote, &self.build, &file, &record, patience)?;
            let result = self.compare(&file, &record, &answers, &mut reasons)?;
            println!("{}", report::line(&result, begin.elapsed().as_secs()));
            results.push(result);
        }
        Ok(results)
    }

    fn compare(
        &self,
        file: &str,
        record: &Record,
        answers: &[Option<Answer>],
        reasons: &mut Reasons<'_>,
    ) -> Result<FileResult, String> {
        reasons.causes.new_file();
        reasons.following.new_file();
        let mut findings = Vec::with_capacity(record.len());
        let mut differences = String::new();
        for ((statement, reference), answer) in record.iter().zip(answers) {
            let pair = Pair {
                statement,
                reference,
                reference_build: &self.reference_build,
                answer: answer.as_ref(),
                build: &self.build,
            };
            let class = classify(&pair);
            let (cause, explanation) = reasons.judge(file, &pair, class);
            if class != Class::Identical {
                differences.push_str(&difference(file, &pair, class, &cause.text));
            }
            findings.push(Finding {
                line: statement.line,
                statement: statement.body().lines().next().unwrap_or_default().to_string(),
                class,
                explanation,
                cause: (class != Class::Identical).then_some(cause),
            });
        }
        let path = self.arguments.results.join(format!("{file}.diff"));
        fs::write(&path, differences).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(FileResult {
            name: file.to_string(),
            findings,
        })
    }
}

/// Everything that says where a difference comes from.
struct Reasons<'a> {
    causes: Causes,
    following: Following,
    known: &'a mut KnownRows,
}

impl Reasons<'_> {
    fn judge(&mut self, file: &str, pair: &Pair<'_>, class: Class) -> (Cause, Option<Explanation>) {
        let mut cause = self.causes.judge(pair, class);
        let followed = self.following.judge(pair, class, &cause.text);
        if class != Class::OtherRows {
            // What PostgreSQL refuses because of a rule or policy that it alone has.
            if let (Class::Accepted, Some(text)) = (class, followed) {
                cause = Cause { text, follows: true };
            }
            return (cause, None);
        }
        let (line, text) = (pair.statement.line, pair.statement.body());
        // The list is asked first: its lines that fit nothing are wrong.
        let listed = self.known.reason(file, line, text);
        let explanation = match (listed, followed) {
            (Some(reason), _) => Explanation::Listed(reason),
            (None, Some(text)) => {
                cause = Cause { text, follows: true };
                Explanation::Following
            }
            (None, None) => Explanation::Unexplained,
        };
        (cause, Some(explanation))
    }
}

fn difference(file: &str, pair: &Pair<'_>, class: Class, cause: &str) -> String {
    let got = pair.answer.map_or("(not run)\n", |answer| &answer.text);
    format!(
        "=== {file}.sql:{}: {}: {cause}\n{}\n--- PostgreSQL\n{}--- mote\n{got}\n",
        pair.statement.line,
        class.name(),
        pair.statement.body().trim_end(),
        pair.reference.text
    )
}
