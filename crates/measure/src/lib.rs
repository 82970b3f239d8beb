//! How a run is timed, counted and watched, whatever it runs.
//!
//! Read in this order:
//!  1. `timeline`: connect, warm-up, measured window, end; `halt`: whether work shall end before it is done.
//!  2. `collector`: latencies, outcomes and traffic of one driver thread.
//!  3. `buckets`: a histogram in the form in which it is kept and written.
//!  4. `cpu`, `system`: what the server's processes and the machine use, from /proc; `pinning`: where they run; `durability`: whether commits can
//!     have reached a disk; `readback`: what the server says of its settings.
//!  5. `disk`: what the disk alone does.
//!  6. `arrivals`: when transactions are due in an open loop.
//!  7. `faults`: what is done to the server meanwhile, and what clients saw of it.
//!  8. `distance`: how far a standby is behind.
//!  9. `outcome`: what a run has yielded; `audience`: who else watches it; `run`: starts driver threads, gathers their collectors and the series over time.
//! 10. `agents`: the same for driver threads on other hosts.
//! 11. `statistics`: intervals for the ratio of two systems, and verdicts.
//!
//! Source: latencies from when a transaction was due follow Tene's remark on coordinated omission; histograms are HdrHistogram's;
//! intervals are bootstrapped (Hesterberg 2014, see `statistics`).
//!
//! Promises: a latency is the time from when a transaction was due to when its answer was complete, retries
//! included, in nanoseconds; only what ends inside the measured window counts.
//! Leaves out: how figures are shown (`report`).
#![forbid(unsafe_code)]

pub mod halt;
pub mod timeline;
pub mod collector;
pub mod buckets;
pub mod pinning;
pub mod cpu;
pub mod system;
pub mod durability;
pub mod readback;
pub mod disk;
pub mod arrivals;
pub mod faults;
pub mod distance;
pub mod outcome;
pub mod audience;
pub mod run;
pub mod agents;
pub mod statistics;

pub use collector::{Collector, Sample};
pub use outcome::RunOutcome;
pub use run::{RunPlan, ThreadContext};
pub use timeline::Timeline;
