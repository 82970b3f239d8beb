//! `mote bench seeds`: the published experiments X1 to X13 on this machine, each beside the figures that were published.
//!
//! Read in this order: `published` (their numbers, from one file), `plan` (sizes that fit the budget), `stage` (what is
//! measured), `measured` (what comes of it), `turns` (one after the other, each within its share of the time), `step` (one run of
//! order entry), `measure` (two ladders, ingest, several servers, cold starts), `pairs` (primary and standby), `restarts` and
//! `copies` (what other systems do at a start, and with COPY), `sections` (what each experiment makes of it), `kept` (the page and
//! the JSON, written after each measurement, and how a later run goes on).
//!
//! Several experiments read the same measurement: X1, X2, X3, X4 and X7 one ladder of connections, X10 and X11 another. An
//! experiment that cannot run here keeps its place on the page and says why.
//!
//! Promises: however it ends, but for SIGKILL, the servers that it started are stopped and the page holds what was measured.

mod published;
pub mod plan;
mod stage;
mod measured;
mod step;
mod turns;
mod measure;
mod pairs;
mod restarts;
mod copies;
pub mod sections;
mod kept;

use self::kept::{Earlier, Report};
use self::measured::Measurements;
use self::plan::Plan;
use self::published::Published;
use self::stage::State;
use super::args::SeedsArgs;
use super::quiet::Quiet;
use super::systems::{self, Systems};
use crate::report::section::judgement;
use crate::report::table;
use crate::server::EmbeddedServer;
use mote_measure::halt;

pub fn run(args: &SeedsArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let starter = args.lineup.starter();
    let embedded = starter.as_ref().map_or(embedded, |starter| starter);
    let quiet = Quiet::new(args.output.quiet);
    halt::on_signals().map_err(|error| format!("cannot listen to signals: {error}"))?;
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let earlier = match args.resume {
        true => Earlier::read(
            &args.out,
            &args.lineup.systems,
            args.measured_seed,
            args.warehouses,
            |name| plan::wants(&args.only, name),
        )?,
        false => Earlier::default(),
    };
    let mut systems = Systems::start(&args.lineup, &args.out, embedded, &quiet)?;
    let result = with_systems(args, &earlier, &mut systems, embedded, quiet);
    systems.stop();
    let removed = systems::remove_data(&args.out);
    result.and_then(|pass| removed.map(|()| pass))
}

fn with_systems(
    args: &SeedsArgs,
    earlier: &Earlier,
    systems: &mut Systems,
    embedded: &dyn EmbeddedServer,
    mut quiet: Quiet,
) -> Result<bool, String> {
    let published = Published::read();
    let plan = Plan::new(
        args,
        systems.present.len(),
        earlier.stages(),
        earlier.warehouses(),
    );
    quiet.say(&plan.says());
    let report = Report {
        published: &published,
        plan: &plan,
        earlier,
        directory: &args.out,
    };
    let mut measured = Measurements::default();
    report.write(systems, &measured)?;
    let taking_part = systems.present.len();
    let done = turns::each(
        &plan,
        taking_part,
        systems,
        &mut measured,
        |stage, systems, measured| measure::one(stage, args, &plan, systems, embedded, measured, &mut quiet),
        |systems, measured| report.write(systems, measured),
    );
    for section in report.sections(systems, &measured) {
        print!("{}", section.text());
    }
    let failures = report.failures(&measured);
    print!(
        "{}",
        judgement(
            &systems.absent,
            measured.proofs.iter().map(|proof| &proof.proof),
            failures.is_empty()
        )
    );
    for end in measured.ended.iter().filter(|end| end.state == State::Cut) {
        println!(
            "INCOMPLETE {}: {}",
            end.stage.experiments().join(", "),
            end.says.join("; ")
        );
    }
    for failure in &failures {
        println!("{} {failure}", table::pass(false));
    }
    println!("{}", report.page().display());
    if done.is_err() && halt::here().asked() == Some(halt::Halted::Told) {
        return Err(format!(
            "interrupted: {} holds what was measured; --resume goes on",
            report.page().display()
        ));
    }
    done.map(|()| failures.is_empty())
}
