//! How a run is timed, counted and watched, whatever it runs.
//!
//! Read in this order:
//!  1. `timeline`: connect, warm-up, measured window, end.
//!  2. `collector`: latencies, outcomes and traffic of one driver thread.
//!  3. `cpu`: processor time and memory of the server, from /proc.
//!  4. `disk`: what the disk alone does.
//!  5. `run`: starts driver threads, gathers their collectors and the series over time.
//!
//! Promises: a latency is the time from when a transaction was due to when its answer was complete, retries
//! included, in nanoseconds; only what ends inside the measured window counts.
//! Leaves out: how figures are shown (`report`).

pub mod timeline;
pub mod collector;
pub mod cpu;
pub mod disk;
pub mod run;

pub use collector::{Collector, Sample};
pub use run::{RunOutcome, RunPlan, ThreadContext};
pub use timeline::Timeline;
