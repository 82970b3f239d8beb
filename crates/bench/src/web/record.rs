//! What the live page is told when it asks: words, figures and charts of the moment. Charts are those of a report, made from the
//! seconds so far.

use serde_json::{Value, json};

use crate::board::{Board, Line, Run};
use crate::report::charts::{self, Series};
use crate::report::page::Chart;
use crate::report::table::{grouped, milliseconds};
use mote_measure::outcome::SeriesPoint;

/// The seconds over which the cards take their mean.
const LATELY_S: f64 = 5.0;
/// Runs that the page lists, the last ones.
const LISTED: usize = 40;

pub fn of(board: &Board) -> Value {
    let mut state = board.state();
    state.asked = Some(std::time::Instant::now());
    let (run, lines) = (state.run.clone(), state.lines.clone());
    let mut record = json!({
        "title": state.title,
        "phase": state.phase,
        "elapsed_s": state.since.elapsed().as_secs(),
        "ended": state.ended,
        "reports": state.reports,
    });
    // Without a report the end is all that there is to see.
    let is_last = state.ended.is_some() && state.report.is_none();
    drop(state);
    if is_last {
        board.end_was_seen();
    }
    let over = run.as_ref().filter(|run| !run.goes_on).and_then(Run::line);
    let listed: Vec<Value> = lines.iter().chain(&over).rev().take(LISTED).map(row).collect();
    record["runs"] = json!(listed);
    record["cards"] = json!(run.as_ref().map_or(Vec::new(), cards));
    record["charts"] = json!(run.as_ref().map_or(Vec::new(), pictures));
    record["run"] = json!(run.as_ref().map(|run| run.what.as_str()));
    record
}

fn row(line: &Line) -> Value {
    json!([
        line.what,
        format!("{:.0}", line.seconds),
        grouped(line.per_minute),
        milliseconds(line.p50_ms),
        milliseconds(line.p99_ms),
        line.errors.to_string(),
        line.retries.to_string(),
    ])
}

fn cards(run: &Run) -> Vec<[String; 2]> {
    let Some(last) = run.points.last() else {
        return vec![["connecting".to_string(), "...".to_string()]];
    };
    let lately = || {
        run.points
            .iter()
            .filter(|point| point.second > last.second - LATELY_S)
    };
    let seconds: f64 = lately().map(|point| point.seconds).sum::<f64>().max(1e-9);
    let count =
        |of: &dyn Fn(&SeriesPoint) -> u64| lately().map(|point| of(point)).sum::<u64>() as f64 / seconds;
    let first = count(&|point| point.kinds.first().map_or(0, |kind| kind.count));
    let all = count(&|point| point.kinds.iter().map(|kind| kind.count).sum());
    let p99 = last.kinds.first().map_or(0.0, |kind| kind.p99_us / 1e3);
    let errors: u64 = run.points.iter().map(|point| point.errors).sum();
    let retries: u64 = run.points.iter().map(|point| point.retries).sum();
    let phase = if last.second <= 0.0 {
        "warm-up, seconds to go"
    } else {
        "seconds measured"
    };
    let card = |label: String, value: String| [label, value];
    vec![
        card(phase.to_string(), format!("{:.0}", last.second.abs())),
        card(
            format!(
                "{} a minute, last {LATELY_S:.0} s",
                run.kinds.first().unwrap_or(&"all")
            ),
            grouped(first * 60.0),
        ),
        card("all types a second".to_string(), grouped(all)),
        card("p99 of the last second, ms".to_string(), milliseconds(p99)),
        card(
            format!("errors; {} attempts run again", grouped(retries as f64)),
            grouped(errors as f64),
        ),
    ]
}

fn pictures(run: &Run) -> Vec<Chart> {
    let points: Vec<SeriesPoint> = run.points.iter().map(|point| (**point).clone()).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let series = Series {
        kinds: run.kinds,
        points: &points,
        hidden: None,
        marks: &[],
    };
    let mut pictures = vec![
        series.throughput(),
        series.bands(),
        series.heat_map(),
        series.tails(),
    ];
    pictures.extend(series.errors());
    if !run.machine.is_empty() {
        pictures.extend(charts::machine(&run.machine, &[]));
    }
    pictures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::second;

    #[test]
    fn a_run_that_goes_on_is_drawn_from_its_seconds_so_far() {
        let board = Board::new("bench x");
        assert_eq!(of(&board)["charts"], json!([]));
        board.begins(&["A"]);
        assert_eq!(of(&board)["cards"][0][0], "connecting");
        for number in -1..4 {
            board.second(&second(number));
        }
        let record = of(&board);
        assert_eq!(record["charts"].as_array().map(Vec::len), Some(5));
        assert_eq!(record["cards"][1], json!(["A a minute, last 5 s", "600"]));
        assert_eq!(record["runs"], json!([]));
        board.ends();
        assert_eq!(of(&board)["runs"][0][2], "600");
        board.state().ended = Some(true);
        assert_eq!(of(&board)["ended"], true);
        assert!(board.state().end_seen);
    }
}
