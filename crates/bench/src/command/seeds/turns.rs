//! The measurements one after the other: each has its share of the time, and its end is kept before the next begins.

use std::time::{Duration, Instant};

use super::measured::Measurements;
use super::plan::{Plan, SHARDS};
use super::stage::{Ended, STAGES, Stage, State};
use mote_measure::halt::{self, Halted};

/// Guesses that divide the time: of a warehouse's load, of a server's start or copy, and of a fail-over at least.
const LOAD_S: f64 = 6.0;
const START_S: f64 = 3.0;
const FAIL_OVER_S: f64 = 20.0;

/// Seconds that a stage takes on a machine of usual speed; only their proportions count.
fn weight(stage: Stage, plan: &Plan, systems: usize) -> f64 {
    let step = plan.warmup_s + plan.duration_s;
    let systems = systems as f64;
    let load = |warehouses: f64| warehouses * LOAD_S;
    let all = load(f64::from(plan.warehouses));
    match stage {
        Stage::Connections => systems * (plan.ladder.len() as f64 * step + all),
        Stage::SideBySide => systems * (plan.side_by_side.len() as f64 * step + all),
        Stage::Windows => systems * (2.0 * step + 2.0 * START_S),
        Stage::Standbys => systems * (2.0 * step + 2.0 * START_S),
        Stage::Ingest => systems * (2.0 * step + START_S),
        Stage::Shards => SHARDS.len() as f64 * (step + load(f64::from(plan.shard_warehouses()))),
        Stage::ColdStarts => {
            let loads = plan.cold_start_warehouses.iter();
            let own: f64 = loads
                .map(|warehouses| load(f64::from(*warehouses)) + START_S)
                .sum();
            own + systems * 2.0 * START_S
        }
        Stage::FailOvers => systems * (step + FAIL_OVER_S),
    }
}

/// Lets `measure` do the stages that are wanted. `ended` is called after each, and once more at an interruption, which is the
/// only error but those of `ended` itself.
pub fn each<C>(
    plan: &Plan,
    systems: usize,
    context: &mut C,
    measured: &mut Measurements,
    mut measure: impl FnMut(Stage, &mut C, &mut Measurements) -> Result<(), String>,
    mut ended: impl FnMut(&C, &Measurements) -> Result<(), String>,
) -> Result<(), String> {
    let begun = Instant::now();
    let stages: Vec<Stage> = STAGES.into_iter().filter(|stage| plan.runs(*stage)).collect();
    let weights: Vec<f64> = stages.iter().map(|stage| weight(*stage, plan, systems)).collect();
    for (number, &stage) in stages.iter().enumerate() {
        let left = (plan.budget_s - begun.elapsed().as_secs_f64()).max(0.0);
        let share = left * weights[number] / weights[number..].iter().sum::<f64>().max(1e-9);
        let since = Instant::now();
        halt::here().within(Some(Duration::from_secs_f64(share)));
        let result = measure(stage, context, measured);
        halt::here().within(None);
        let end = close(stage, share, since, result, measured);
        let interrupted = end.state == State::Interrupted;
        measured.ended.push(end);
        ended(context, measured)?;
        if interrupted {
            return Err("interrupted".into());
        }
    }
    Ok(())
}

fn close(
    stage: Stage,
    share: f64,
    since: Instant,
    result: Result<(), String>,
    measured: &mut Measurements,
) -> Ended {
    let (cut, mut failed) = (
        std::mem::take(&mut measured.cut),
        std::mem::take(&mut measured.failed),
    );
    let told = halt::here().asked() == Some(Halted::Told);
    // What a measurement returns at its end is an interruption, or what kept it from going on.
    failed.extend(result.err().filter(|_| !told));
    let state = match (told, failed.is_empty(), cut.is_empty()) {
        (true, ..) => State::Interrupted,
        (_, false, _) => State::Failed,
        (_, true, false) => State::Cut,
        (_, true, true) => State::Done,
    };
    let mut says = failed;
    if !cut.is_empty() {
        let cut = cut.join(", ");
        says.push(format!(
            "cut after its share of the time, {share:.0} s; not measured: {cut}"
        ));
    }
    if told {
        says.push("interrupted; --resume measures it".into());
    }
    Ended {
        stage,
        state,
        says,
        seconds: since.elapsed().as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_says_what_is_missing() {
        let mut measured = Measurements::default();
        measured.cut.push("mote at 512 connections".into());
        let end = close(Stage::Ingest, 9.6, Instant::now(), Ok(()), &mut measured);
        assert_eq!(end.state, State::Cut);
        assert!(
            end.says[0].contains("10 s; not measured: mote at 512"),
            "{:?}",
            end.says
        );
        measured.cut.push("one".into());
        let end = close(
            Stage::Ingest,
            1.0,
            Instant::now(),
            Err("no disk".into()),
            &mut measured,
        );
        assert_eq!((end.state, end.says.len()), (State::Failed, 2));
        assert!(measured.cut.is_empty());
    }
}
