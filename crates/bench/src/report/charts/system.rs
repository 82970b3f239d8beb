//! What happened around the transactions: recoveries from faults, and the machine's processors, memory, disks and network.

use serde_json::{Value, json};

use super::{Mark, POINTS_MAX, line, lines, mark, merged, over_time, round};
use crate::report::page::Chart;
use mote_measure::RunOutcome;
use mote_measure::collector::BEAT_NS;
use mote_measure::system::SystemPoint;

type Reading = fn(&SystemPoint) -> Option<f64>;

fn per_second(amount: u64, point: &SystemPoint) -> f64 {
    amount as f64 / point.seconds.max(1e-9)
}

fn megabytes(amount: u64, point: &SystemPoint) -> f64 {
    per_second(amount, point) / 1e6
}

/// Commits a second in tenths of a second, with the faults marked and outages shaded: what recovery looks like.
pub fn recovery(outcome: &RunOutcome, marks: &[Mark]) -> Option<Chart> {
    const STRETCH: usize = 10;
    let recoveries = outcome.recoveries.as_ref()?;
    let begin = (outcome.begin_ns / BEAT_NS) as usize;
    let from = outcome.from_ns as f64 / 1e9;
    let stretch_s = (STRETCH as u64 * BEAT_NS) as f64 / 1e9;
    // The last stretch may be cut off by the end of the run.
    let stretches = outcome.totals.beats.get(begin..)?.chunks_exact(STRETCH);
    let (mut seconds, mut rates) = (Vec::new(), Vec::new());
    for (number, beats) in stretches.enumerate() {
        seconds.push(outcome.begin_ns as f64 / 1e9 - from + (number + 1) as f64 * stretch_s);
        rates.push(beats.iter().sum::<u32>() as f64 / stretch_s);
    }
    let mut chart = lines(
        "Commits around the faults",
        "per second",
        &seconds,
        &[("commits", rates)],
        marks,
    );
    let place = |second: f64| {
        seconds
            .partition_point(|end| *end < second)
            .min(seconds.len().saturating_sub(1))
    };
    let areas = recoveries.faults.iter().filter_map(|fault| {
        let (outage, first) = (fault.outage_s?, fault.first_answer_s?);
        let until = fault.second + first;
        let area = json!([{"xAxis": place(until - outage), "itemStyle": {"color": "rgba(207,34,46,0.13)"}},
            {"xAxis": place(until)}]);
        (outage > 0.0).then_some(area)
    });
    let series = &mut chart.option["series"][0];
    if !series["markArea"].is_object() {
        series["markArea"] = json!({"silent": true, "data": []});
    }
    if let Some(shaded) = series["markArea"]["data"].as_array_mut() {
        shaded.extend(areas);
    }
    chart.note = "Shaded in red: nobody was answered. Each point is a tenth of a second.".into();
    Some(chart)
}

/// Processors, memory, disks and network of the machine, under the same time axis as the run.
pub fn machine(points: &[SystemPoint], marks: &[Mark]) -> Vec<Chart> {
    let seconds: Vec<f64> = merged(points, POINTS_MAX)
        .map(|part| part[part.len() - 1].second)
        .collect();
    let lines = |wanted: &[(&str, Reading)]| -> Vec<Value> {
        let drawn = wanted.iter().filter_map(|(name, value)| {
            let data: Vec<Value> = merged(points, POINTS_MAX)
                .filter_map(|part| {
                    let values: Vec<f64> = part.iter().filter_map(value).collect();
                    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
                    (!values.is_empty()).then(|| json!(round(mean)))
                })
                .collect();
            (!data.is_empty()).then(|| line(name, data))
        });
        drawn.collect()
    };
    let mut cpu = over_time(
        "processors",
        &seconds,
        lines(&[
            ("server", |point| point.server_cpu),
            ("driver", |point| Some(point.driver_cpu)),
            ("machine, all", |point| Some(point.cpu_busy)),
            ("waiting for a disk", |point| Some(point.cpu_waiting)),
        ]),
    );
    cpu["yAxis"]["max"] = json!(points.first().map_or(1.0, |point| point.cpus));
    let disk = over_time(
        "MB a second",
        &seconds,
        lines(&[
            ("written", |point| {
                Some(megabytes(point.disk_written_bytes, point))
            }),
            ("read", |point| Some(megabytes(point.disk_read_bytes, point))),
            ("written by the server", |point| {
                point.server_written_bytes.map(|bytes| megabytes(bytes, point))
            }),
        ]),
    );
    let requests = over_time(
        "per second",
        &seconds,
        lines(&[
            ("flushes", |point| Some(per_second(point.disk_flushes, point))),
            ("writes", |point| Some(per_second(point.disk_writes, point))),
            ("reads", |point| Some(per_second(point.disk_reads, point))),
        ]),
    );
    let memory = over_time(
        "MB",
        &seconds,
        lines(&[
            ("server", |point| {
                point.server_memory_bytes.map(|bytes| bytes as f64 / 1e6)
            }),
            ("available", |point| {
                Some(point.available_memory_bytes as f64 / 1e6)
            }),
        ]),
    );
    let network = over_time(
        "MB a second",
        &seconds,
        lines(&[
            ("loopback", |point| Some(megabytes(point.loopback_bytes, point))),
            ("others, received", |point| {
                Some(megabytes(point.network_bytes, point))
            }),
        ]),
    );
    [
        ("Processors", cpu),
        ("Disks: bytes", disk),
        ("Disks: requests and flushes", requests),
        ("Memory", memory),
        ("Network", network),
    ]
    .into_iter()
    .map(|(title, mut option)| {
        mark(&mut option, &seconds, marks);
        Chart {
            title: title.into(),
            note: String::new(),
            option,
        }
    })
    .collect()
}
