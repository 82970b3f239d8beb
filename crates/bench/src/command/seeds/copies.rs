//! X8 by COPY: the same rows as the inserts, in units of one transaction each, over a few connections.

use super::super::quiet::Quiet;
use super::super::systems::Systems;
use super::measured::{Copied, Measurements};
use super::plan::Plan;
use mote_workload::ingest::{COPY_ROWS, CopiedRows};
use mote_workload::loader;

/// Connections that copy: a session for each processor, twice.
const PER_PROCESSOR: usize = 2;
/// Transactions of the first attempt, which tells how many fill a step.
const FIRST_UNITS: usize = 20;
/// Rows of the second one at most: a system that is fast shall not fill the memory.
const ROWS_MAX: f64 = 3e6;

pub fn copies(
    plan: &Plan,
    systems: &Systems,
    measured: &mut Measurements,
    quiet: &Quiet,
) -> Result<(), String> {
    let connections = PER_PROCESSOR * plan.processors;
    for system in &systems.present {
        let what = format!("{} COPY", system.name);
        if !measured.goes_on(&what)? {
            continue;
        }
        let load = |units: usize| {
            let loading = loader::Plan {
                target: &system.subject.target,
                connections,
                progress: false,
                resume: false,
            };
            loader::load(
                &loading,
                &CopiedRows {
                    units,
                    seed: plan.seed,
                },
            )
            .map_err(|error| error.to_string())
        };
        let done = load(FIRST_UNITS).and_then(|first| {
            let units = FIRST_UNITS as f64 * plan.duration_s / first.copy_s.max(1e-3);
            let units = units.min(ROWS_MAX / COPY_ROWS as f64) as usize;
            if units <= 2 * FIRST_UNITS {
                Ok(first)
            } else {
                load(units)
            }
        });
        match done {
            Ok(report) => {
                quiet.say(&format!("  {:<10} COPY done", system.name));
                measured.copies.push(Copied {
                    system: system.name.clone(),
                    connections,
                    rows: report.rows,
                    bytes: report.bytes,
                    seconds: report.copy_s,
                });
            }
            Err(why) => measured.did_not_end(&what, &why)?,
        }
    }
    Ok(())
}
