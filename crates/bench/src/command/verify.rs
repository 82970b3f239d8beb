//! `mote bench verify`: the proof after a crash.

use serde_json::json;

use super::args::VerifyArgs;
use crate::driver::{Admin, Target};
use crate::report::{json, table};
use crate::workload::tpcc::{consistency, ledger};

pub fn run(args: &VerifyArgs) -> Result<bool, String> {
    let target = Target::parse(&args.target)?;
    let record = args.ledger.as_deref().map(ledger::Ledger::read).transpose()?;
    let mut admin =
        Admin::connect(&target).map_err(|error| format!("cannot connect to {target}: {error}"))?;
    let verdict = record
        .map(|record| ledger::verify(&record, &mut admin))
        .transpose()
        .map_err(|error| format!("cannot read the orders: {error}"))?;
    if let Some(verdict) = &verdict {
        print!("{}", table::ledger_lines(verdict));
    }
    let conditions = if args.no_check {
        Vec::new()
    } else {
        consistency::check_all(&mut admin, |verdict| {
            println!("{}", table::condition_line(verdict))
        })
    };
    let pass = verdict.as_ref().is_none_or(ledger::LedgerVerdict::pass)
        && conditions.iter().all(|condition| condition.pass);
    println!("\n{}", table::pass(pass));
    if let Some(path) = &args.json {
        let document = json!({
            "experiment": "verify",
            "environment": json::environment(),
            "target": target.to_string(),
            "ledger": verdict,
            "consistency": conditions,
            "pass": pass,
        });
        json::write(path, &document)?;
    }
    Ok(pass)
}
