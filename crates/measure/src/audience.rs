//! Who else watches this process's runs while they go on, besides whoever asked for them: a page that shows them live.
//!
//! A process has at most one audience, which is seated before its first run. It is told on the thread that gathers a run's seconds:
//! it takes what it is shown and returns, and never waits for whoever looks.

use std::sync::OnceLock;

use super::outcome::SeriesPoint;
use super::system::SystemPoint;

pub trait Audience: Send + Sync {
    /// A run begins, whose transactions have these types.
    fn begins(&self, kinds: &'static [&'static str]);
    fn second(&self, point: &SeriesPoint);
    fn machine(&self, point: SystemPoint);
    /// The run is over, well or not.
    fn ends(&self);
}

static HERE: OnceLock<Box<dyn Audience>> = OnceLock::new();

/// False if there is one already.
pub fn seat(audience: Box<dyn Audience>) -> bool {
    HERE.set(audience).is_ok()
}

pub fn here() -> Option<&'static dyn Audience> {
    HERE.get().map(|audience| &**audience)
}
