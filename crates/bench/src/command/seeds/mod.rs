//! `mote bench seeds`: the published experiments X1 to X13 on this machine, each beside the figures that were published.
//!
//! Read in this order: `published` (their numbers, from one file), `plan` (sizes that fit the budget),
//! `measure` (what is run: two ladders,
//! ingest, several servers, cold starts), `pairs` (primary and standby), `sections` (what each experiment makes of it).
//!
//! Several experiments read the same measurement: X1, X2, X3, X4 and X7 one ladder of connections, X10 and X11 another. An
//! experiment that cannot run here keeps its place on the page and says why.

mod published;
pub mod plan;
mod measure;
mod pairs;
pub mod sections;

use std::path::Path;

use serde_json::json;

use self::measure::Measurements;
use self::plan::Plan;
use self::published::Published;
use super::args::SeedsArgs;
use super::quiet::Quiet;
use super::systems::{self, Systems};
use crate::report::section::{Section, judgement};
use crate::report::{html, json};
use crate::server::EmbeddedServer;
use crate::workload::tpcc::DISCLAIMER;

/// The experiments by their names in the table of seeds.
pub const NAMES: [&str; 13] = [
    "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X13",
];

pub fn run(args: &SeedsArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let starter = args.lineup.starter();
    let embedded = starter.as_ref().map_or(embedded, |starter| starter);
    let published = Published::read();
    let mut quiet = Quiet::new(args.output.quiet);
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let mut systems = Systems::start(&args.lineup, &args.out, embedded, &quiet)?;
    let plan = Plan::new(args, systems.present.len());
    quiet.say(&plan.says());
    let measured = measure::all(args, &plan, &mut systems, embedded, &mut quiet);
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            systems.stop();
            return Err(error);
        }
    };
    let sections = sections::all(&published, &plan, &systems, &measured);
    let wanted: Vec<&Section> = sections
        .iter()
        .filter(|section| plan.wants(section.name))
        .collect();
    for section in &wanted {
        print!("{}", section.text());
    }
    let pass = measured.proofs.iter().all(|proof| proof.pass);
    print!("{}", judgement(&systems.absent, &measured.proofs, pass));
    write(&args.out, &plan, &systems, &measured, &wanted, pass)?;
    systems.stop();
    systems::remove_data(&args.out)?;
    Ok(pass)
}

fn write(
    out: &Path,
    plan: &Plan,
    systems: &Systems,
    measured: &Measurements,
    sections: &[&Section],
    pass: bool,
) -> Result<(), String> {
    let document = json!({
        "experiment": "seeds",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": plan,
        "systems": systems.describe(),
        "sections": sections.iter().map(|section| section.json()).collect::<Vec<_>>(),
        "steps": measured.steps_json(),
        "fail_overs": measured.fail_overs,
        "shards": measured.shards,
        "proofs": measured.proofs,
        "pass": pass,
    });
    json::write(&out.join("seeds.json"), &document)?;
    let page = html::seeds(&document, sections);
    let path = out.join("index.html");
    page.write(&path)?;
    println!("{}", path.display());
    Ok(())
}
