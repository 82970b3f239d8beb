//! `mote bench acid`: the atomicity and isolation tests of clause 3, on a server.

use serde_json::{Value, json};

use super::Subject;
use super::args::AcidArgs;
use super::quiet::Quiet;
use crate::report::html::{self, Plain, PlainTable};
use crate::report::page::{self, Rendered};
use crate::report::{json, table};
use crate::server::EmbeddedServer;
use mote_driver::Admin;
use mote_workload::condition::ConditionVerdict;
use mote_workload::tpcc::acid::{Stage, TestVerdict};
use mote_workload::tpcc::{self, Isolation, LoadMode, Settings, consistency, load};

pub fn run(args: &AcidArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let subject = Subject::new(&args.target, embedded)?;
    let mut observer = Quiet::new(args.output.quiet);
    let settings = Settings {
        load: LoadMode::Only,
        check: false,
        seed: args.seed,
        ..Settings::closed_loop(args.warehouses, 1)
    };
    let failed = |error: mote_driver::DriverError| error.to_string();
    let mut admin = Admin::connect(&subject.target).map_err(failed)?;
    let loaded = load::inspect(&mut admin).map_err(failed)?;
    let warehouses = match loaded {
        Some(loaded) => loaded.warehouses,
        None => tpcc::experiment(settings, &subject.target, None, &mut observer)?.warehouses,
    };
    let level = args
        .isolation
        .map_or("the server's isolation level", Isolation::name);
    println!("{} at {}, {level}\n", admin.server_version(), subject.target);
    let stage = Stage::new(&subject.target, args.isolation, warehouses);
    let verdicts = stage
        .run(args.isolation, args.seed, |verdict| println!("{}", line(verdict)))
        .map_err(failed)?;
    println!();
    let conditions = consistency::check_all(&mut admin, |verdict| {
        println!("{}", table::condition_line(verdict))
    });
    let pass = verdicts.iter().all(TestVerdict::holds) && conditions.iter().all(|verdict| verdict.pass);
    println!("\n{} {}", table::pass(pass), tpcc::DISCLAIMER);
    let document = json!({
        "experiment": "acid",
        "disclaimer": tpcc::DISCLAIMER,
        "environment": json::environment(),
        "server": admin.server_version(),
        "isolation": args.isolation,
        "seed": args.seed,
        "tests": verdicts,
        "conditions": conditions,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let lead = format!("{} at {}, {level}", admin.server_version(), subject.target);
        page_of(&document, lead, &verdicts, &conditions).deliver(&args.html)?;
    }
    subject.stop()?;
    Ok(pass)
}

fn page_of(
    document: &Value,
    lead: String,
    tests: &[TestVerdict],
    conditions: &[ConditionVerdict],
) -> Rendered {
    let test = |verdict: &TestVerdict| {
        vec![
            format!("{} {}", verdict.name, verdict.says),
            word(verdict).to_string(),
            verdict.detail.to_string(),
        ]
    };
    let condition = |verdict: &ConditionVerdict| {
        vec![
            format!("{}. {}", verdict.number, verdict.says),
            table::pass(verdict.pass).to_string(),
        ]
    };
    let passed = tests.iter().filter(|verdict| verdict.pass).count();
    html::plain(
        document,
        Plain {
            title: "Atomicity and isolation",
            lead,
            figures: vec![("tests that pass".into(), format!("{passed} of {}", tests.len()))],
            verdicts: Vec::new(),
            charts: Vec::new(),
            tables: vec![
                PlainTable {
                    title: "Clauses 3.2.2 and 3.4.2",
                    header: &["test", "verdict", "what happened"],
                    rows: tests.iter().map(test).collect(),
                },
                PlainTable {
                    title: "Consistency conditions (clause 3.3.2)",
                    header: &["condition", "verdict"],
                    rows: conditions.iter().map(condition).collect(),
                },
            ],
            notes: vec!["A NOTE is something that the isolation level allows.".into()],
            remarks: &[],
            small_print: &[tpcc::DISCLAIMER],
        },
    )
}

fn word(verdict: &TestVerdict) -> &'static str {
    match (verdict.pass, verdict.promised) {
        (true, _) => "PASS",
        (false, true) => "FAIL",
        (false, false) => "NOTE",
    }
}

fn line(verdict: &TestVerdict) -> String {
    let word = word(verdict);
    let allowed = if word == "NOTE" {
        " (the level allows it)"
    } else {
        ""
    };
    format!(
        "{word} {:<3} {:<52} {}{allowed}",
        verdict.name, verdict.says, verdict.detail
    )
}
