//! All specifications of a suite: a server or a database for each, the verdict, and what was known before.
//!
//! A specification is identical when its whole output equals one of its expected files. Otherwise it is unsupported if
//! a session met an error that names something the server does not have (and that PostgreSQL does not print there), or
//! else it differs. What differs must stand in the list of known differences with its reason, and what stands there
//! must differ: so the list stays true.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;
use mote_bench::{EmbeddedServer, SpawnedServer};
use mote_driver::{Admin, Target};

use super::connection::Report;
use super::permutation;
use super::report;
use super::spec::Spec;

/// What pg_regress sets for every session.
const REGRESSION_SETTINGS: [(&str, &str); 3] = [
    ("timezone", "America/Los_Angeles"),
    ("datestyle", "Postgres, MDY"),
    ("intervalstyle", "postgres_verbose"),
];
/// The database of pg_isolation_regress.
const REGRESSION_DATABASE: &str = "isolation_regression";
/// SQLSTATEs that say "there is no such thing here": feature, syntax, column, function, object, table, setting.
const MISSING: [&str; 7] = ["0A000", "42601", "42703", "42883", "42704", "42P01", "22023"];

#[derive(Args)]
pub struct IsolationArguments {
    /// Directory with specs/ and expected/, as scripts/postgres15_source.sh unpacks it
    #[arg(long, value_name = "DIR")]
    suite: PathBuf,
    /// Run against this server, in a database for each specification; without it --server is started for each
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// The mote binary
    #[arg(long, value_name = "FILE", default_value = "target/release/mote")]
    server: PathBuf,
    /// Known differences with their reasons: one "name: reason" in each line
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Where the outputs go, as NAME.out
    #[arg(long, value_name = "DIR", default_value = "target/isolation-results")]
    results: PathBuf,
    /// Write the table of verdicts as a page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Seconds after which a step is cancelled
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    step_timeout: u64,
    /// Specifications that run at the same time
    #[arg(long, default_value_t = 4)]
    jobs: usize,
    /// Only these
    names: Vec<String>,
}

/// What a specification came to.
pub struct Verdict {
    pub name: String,
    pub permutations: usize,
    /// Permutations whose output is identical, compared one by one.
    pub identical_permutations: usize,
    pub result: Outcome,
}

#[derive(Debug, PartialEq)]
pub enum Outcome {
    Identical,
    /// The first thing that is missing.
    Unsupported(String),
    /// The first lines that differ: expected, got.
    Differs(String, String),
    /// The specification could not be run.
    Failed(String),
}

pub fn run(arguments: &IsolationArguments) -> Result<bool, String> {
    let names = specifications(arguments)?;
    let known = match &arguments.known {
        Some(path) => read_known(path)?,
        None => BTreeMap::new(),
    };
    fs::create_dir_all(&arguments.results)
        .map_err(|error| format!("{}: {error}", arguments.results.display()))?;
    let next = AtomicUsize::new(0); // hands out numbers, orders nothing: Relaxed
    let verdicts = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.clamp(1, names.len().max(1)) {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = one(arguments, name);
                    println!("{}", report::line(&verdict));
                    verdicts.lock().expect("no panic while printing").push(verdict);
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().expect("all threads have ended");
    verdicts.sort_by(|a, b| a.name.cmp(&b.name));
    println!("\n{}", report::summary(&verdicts));
    if let Some(path) = &arguments.report {
        fs::write(path, report::page(&verdicts, &known))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if arguments.known.is_none() {
        return Ok(verdicts
            .iter()
            .all(|verdict| verdict.result == Outcome::Identical));
    }
    let surprises = report::surprises(&verdicts, &known);
    surprises.iter().for_each(|line| println!("{line}"));
    Ok(surprises.is_empty())
}

fn specifications(arguments: &IsolationArguments) -> Result<Vec<String>, String> {
    if !arguments.names.is_empty() {
        return Ok(arguments.names.clone());
    }
    let directory = arguments.suite.join("specs");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| format!("{}: {error}", directory.display()))?
            .path();
        if path.extension().is_some_and(|extension| extension == "spec") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// "name: reason" lines; empty lines and lines that begin with # say nothing.
fn read_known(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut known = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let (name, reason) = line
            .split_once(": ")
            .ok_or_else(|| format!("{}: \"{line}\" is not \"name: reason\"", path.display()))?;
        known.insert(name.to_string(), reason.to_string());
    }
    Ok(known)
}

fn one(arguments: &IsolationArguments, name: &str) -> Verdict {
    match run_one(arguments, name) {
        Ok((output, errors, expected)) => judge(name, &output, &errors, &expected),
        Err(error) => Verdict {
            name: name.to_string(),
            permutations: 0,
            identical_permutations: 0,
            result: Outcome::Failed(error),
        },
    }
}

type Ran = (String, Vec<Report>, Vec<String>);

fn run_one(arguments: &IsolationArguments, name: &str) -> Result<Ran, String> {
    let path = arguments.suite.join("specs").join(format!("{name}.spec"));
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let spec = Spec::parse(&text).map_err(|error| format!("{name}.spec: {error}"))?;
    let expected = expected_outputs(&arguments.suite.join("expected"), name)?;
    let timeout = Duration::from_secs(arguments.step_timeout);
    let run = match &arguments.target {
        Some(url) => in_own_database(url, &database_name(name, &text), |target| {
            permutation::run(&spec, name, target, &REGRESSION_SETTINGS, timeout)
        })?,
        None => {
            let starter = SpawnedServer {
                program: arguments.server.clone(),
            };
            let server = starter.start(None, &[])?;
            let target = Target::parse(server.url())?;
            let run = permutation::run(&spec, name, &target, &mote_settings(&target)?, timeout);
            server.stop()?;
            run
        }
    };
    let path = arguments.results.join(format!("{name}.out"));
    fs::write(&path, &run.output).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((run.output, run.errors, expected))
}

/// Those of pg_regress's settings that the server knows: one that it refuses would end every session.
fn mote_settings(target: &Target) -> Result<Vec<(&'static str, &'static str)>, String> {
    let mut admin = Admin::connect(target).map_err(|error| error.to_string())?;
    let mut accepts = |name: &str, value: &str| admin.execute(&format!("set {name} = '{value}'")).is_ok();
    Ok(REGRESSION_SETTINGS
        .into_iter()
        .filter(|(name, value)| accepts(name, &value.replace(", ", "','")))
        .collect())
}

/// A name of its own, unless the specification says how its database is called in PostgreSQL's runs.
fn database_name(specification: &str, text: &str) -> String {
    if text.contains(REGRESSION_DATABASE) {
        REGRESSION_DATABASE.to_string()
    } else {
        format!("isolation_{}", specification.replace('-', "_"))
    }
}

fn in_own_database<T>(url: &str, database: &str, work: impl FnOnce(&Target) -> T) -> Result<T, String> {
    let mut target = Target::parse(url)?;
    let mut admin = Admin::connect(&target).map_err(|error| format!("{target}: {error}"))?;
    let failed = |error| format!("{database}: {error}");
    let drop = format!("drop database if exists {database} with (force)");
    admin.execute(&drop).map_err(failed)?;
    admin
        .execute(&format!("create database {database}"))
        .map_err(failed)?;
    target.database = database.to_string();
    let done = work(&target);
    admin.execute(&drop).map_err(failed)?;
    Ok(done)
}

/// NAME.out, then NAME_1.out and so on: what PostgreSQL prints depends on timing in places.
fn expected_outputs(directory: &Path, name: &str) -> Result<Vec<String>, String> {
    let path = directory.join(format!("{name}.out"));
    let first = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut all = vec![first];
    for number in 1..10 {
        if let Ok(text) = fs::read_to_string(directory.join(format!("{name}_{number}.out"))) {
            all.push(text);
        }
    }
    Ok(all)
}

const PERMUTATION: &str = "\nstarting permutation:";

fn judge(name: &str, output: &str, errors: &[Report], expected: &[String]) -> Verdict {
    let blocks =
        |text: &str| -> Vec<String> { text.split(PERMUTATION).skip(1).map(str::to_string).collect() };
    let got = blocks(output);
    let identical = |text: &String| {
        let pairs = blocks(text).into_iter().zip(&got);
        pairs.filter(|(wanted, got)| wanted == *got).count()
    };
    let nearest = expected
        .iter()
        .max_by_key(|text| identical(text))
        .expect("there is an expected output");
    let result = if expected.iter().any(|text| text == output) {
        Outcome::Identical
    } else if let Some(missing) = errors
        .iter()
        .find(|error| MISSING.contains(&error.sqlstate.as_str()) && !nearest.contains(&error.message))
    {
        Outcome::Unsupported(missing.message.clone())
    } else {
        let (wanted, got) = first_difference(nearest, output);
        Outcome::Differs(wanted, got)
    };
    Verdict {
        name: name.to_string(),
        permutations: blocks(nearest).len(),
        identical_permutations: identical(nearest),
        result,
    }
}

fn first_difference(wanted: &str, got: &str) -> (String, String) {
    let (mut wanted, mut got) = (wanted.lines(), got.lines());
    loop {
        match (wanted.next(), got.next()) {
            (Some(a), Some(b)) if a == b => {}
            (a, b) => {
                let shown = |line: Option<&str>| line.unwrap_or("(the end)").to_string();
                return (shown(a), shown(b));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str =
        "Parsed\n\nstarting permutation: a\nstep a: A\n\nstarting permutation: b\nstep b: B\n";

    fn judged(output: &str, errors: &[Report]) -> Verdict {
        judge("x", output, errors, &["other".to_string(), WANTED.to_string()])
    }

    #[test]
    fn any_expected_file_makes_it_identical() {
        let verdict = judged(WANTED, &[]);
        assert_eq!(verdict.result, Outcome::Identical);
        assert_eq!((verdict.identical_permutations, verdict.permutations), (2, 2));
    }

    #[test]
    fn one_permutation_may_differ() {
        let verdict = judged(&WANTED.replace("step b: B", "step b: C"), &[]);
        assert_eq!(
            verdict.result,
            Outcome::Differs("step b: B".into(), "step b: C".into())
        );
        assert_eq!((verdict.identical_permutations, verdict.permutations), (1, 2));
    }

    #[test]
    fn a_missing_feature_is_named_unless_it_is_expected() {
        let error = |message: &str| Report {
            sqlstate: "0A000".into(),
            message: message.into(),
            ..Report::default()
        };
        let output = WANTED.replace("B", "ERROR");
        assert_eq!(
            judged(&output, &[error("MERGE is not supported")]).result,
            Outcome::Unsupported("MERGE is not supported".into())
        );
        assert!(matches!(
            judged(&output, &[error("step a")]).result,
            Outcome::Differs(..)
        ));
    }
}
