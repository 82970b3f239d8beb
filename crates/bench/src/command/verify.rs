//! `mote bench verify`: the proof after a crash.

use serde_json::json;

use super::args::VerifyArgs;
use crate::report::{json, table};
use mote_driver::{Admin, Target};
use mote_workload::condition::ConditionVerdict;
use mote_workload::tpcc::shards::{conditions, decisions};
use mote_workload::tpcc::{consistency, ledger, load, row_consistency};

pub fn run(args: &VerifyArgs) -> Result<bool, String> {
    let targets: Vec<Target> = args
        .target
        .iter()
        .map(|url| Target::parse(url))
        .collect::<Result<_, _>>()?;
    let record = args.ledger.as_deref().map(ledger::Ledger::read).transpose()?;
    let connect =
        |target| Admin::connect(target).map_err(|error| format!("cannot connect to {target}: {error}"));
    let mut admins: Vec<Admin> = targets.iter().map(connect).collect::<Result<_, _>>()?;
    let recovered = match admins.len() {
        1 => None,
        _ => Some(
            decisions::recover(&mut admins)
                .map_err(|error| format!("cannot end what was prepared: {error}"))?,
        ),
    };
    if let Some(recovered) = recovered {
        println!("{}", table::recovered_line(recovered));
    }
    let verdict = record
        .map(|record| ledger::verify(&record, &mut admins))
        .transpose()
        .map_err(|error| format!("cannot read the orders: {error}"))?;
    if let Some(verdict) = &verdict {
        print!("{}", table::ledger_lines(verdict));
    }
    let conditions = if args.no_check {
        Vec::new()
    } else {
        let each = |verdict: &ConditionVerdict| println!("{}", table::condition_line(verdict));
        match admins.as_mut_slice() {
            [only] => consistency::check_all(only, each),
            several => {
                let warehouses = warehouses(several)?;
                conditions::check_all(several, warehouses, each)
            }
        }
    };
    let from_rows = match (args.from_rows, admins.as_mut_slice()) {
        (false, _) => Vec::new(),
        (true, [only]) => from_rows(only)?,
        (true, _) => return Err("--from-rows reads one server".into()),
    };
    // What both have computed must be the same; a server that says nothing of its own agrees with anybody.
    let differ = conditions
        .iter()
        .zip(&from_rows)
        .filter(|(server, client)| server.violations != client.violations);
    let differ: Vec<u32> = differ.map(|(server, _)| server.number).collect();
    if !differ.is_empty() {
        println!("FAIL server and rows differ in conditions {differ:?}");
    }
    let pass = differ.is_empty()
        && from_rows.iter().all(|condition| condition.pass)
        && verdict.as_ref().is_none_or(ledger::LedgerVerdict::pass)
        && conditions.iter().all(|condition| condition.pass);
    println!("\n{}", table::pass(pass));
    if let Some(path) = &args.json {
        let document = json!({
            "experiment": "verify",
            "environment": json::environment(),
            "target": targets.iter().map(Target::to_string).collect::<Vec<_>>().join(" and "),
            "recovered": recovered,
            "ledger": verdict,
            "consistency": conditions,
            "consistency_from_rows": from_rows,
            "pass": pass,
        });
        json::write(path, &document)?;
    }
    Ok(pass)
}

/// The conditions as this process computes them.
fn from_rows(admin: &mut Admin) -> Result<Vec<ConditionVerdict>, String> {
    println!("from rows that COPY has streamed:");
    let verdicts =
        row_consistency::check_all(admin).map_err(|error| format!("cannot read the rows: {error}"))?;
    for verdict in &verdicts {
        println!("{}", table::condition_line(verdict));
    }
    Ok(verdicts)
}

/// Of the whole database, as the first server has it written down.
fn warehouses(servers: &mut [Admin]) -> Result<i32, String> {
    let loaded =
        load::inspect(&mut servers[0]).map_err(|error| format!("cannot look for a database: {error}"))?;
    loaded
        .map(|loaded| loaded.warehouses)
        .ok_or_else(|| "the first server has no complete part of a database".to_string())
}
