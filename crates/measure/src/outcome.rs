//! What a run has yielded: totals, the series over time, what the machine used.

use std::collections::BTreeMap;

use serde::Serialize;

use super::buckets::Buckets;
use super::collector::Collector;
use super::faults::{Event, Recoveries};
use super::system::SystemPoint;

/// One second of the run.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesPoint {
    /// Seconds since the measured window began; negative in the warm-up.
    pub second: f64,
    /// Length of the interval.
    pub seconds: f64,
    pub kinds: Vec<SeriesKind>,
    pub errors: u64,
    pub retries: u64,
    pub errors_by_sqlstate: BTreeMap<String, u64>,
    pub retries_by_sqlstate: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SeriesKind {
    pub count: u64,
    pub p50_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    pub latency: Buckets,
}

pub struct RunOutcome {
    /// What was done to the server.
    pub events: Vec<Event>,
    pub recoveries: Option<Recoveries>,
    /// When clients began, and when the measured window did, on the run's clock.
    pub begin_ns: u64,
    pub from_ns: u64,
    pub totals: Collector,
    pub series: Vec<SeriesPoint>,
    pub system: Vec<SystemPoint>,
    /// Transactions that were due in the measured window; `None` in a closed loop.
    pub offered: Option<u64>,
    /// Length of the measured window.
    pub measured_s: f64,
    pub server_cpu_s: Option<f64>,
    pub driver_cpu_s: f64,
    /// Share of the driver threads' time in which they ran: above 0.8 the figures measure the driver.
    pub driver_saturation: f64,
    pub abandoned: usize,
    /// What agents added to their counts.
    pub reports: Vec<serde_json::Value>,
}

impl RunOutcome {
    /// One that says nothing but what was counted: for tests of what shows outcomes.
    pub fn of(totals: Collector) -> RunOutcome {
        RunOutcome {
            events: Vec::new(),
            recoveries: None,
            begin_ns: 0,
            from_ns: 0,
            totals,
            series: Vec::new(),
            system: Vec::new(),
            offered: None,
            measured_s: 1.0,
            server_cpu_s: None,
            driver_cpu_s: 0.0,
            driver_saturation: 0.0,
            abandoned: 0,
            reports: Vec::new(),
        }
    }
}
