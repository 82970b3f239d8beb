//! Whether long work shall end before it is done: this process was told to end, or the time that the work was given is over.
//!
//! A process has one `Halt`. Work looks at it between its steps and ends in order, so that servers that were started for it
//! are stopped and what was measured stays. Before [`on_signals`] a signal ends the process as it always did.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

/// What work is told that shall end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halted {
    /// Somebody has sent SIGINT or SIGTERM.
    Told,
    /// Its time is over.
    Late,
}

impl Halted {
    pub fn says(self) -> &'static str {
        match self {
            Halted::Told => "interrupted",
            Halted::Late => "its time was over",
        }
    }
}

/// A flag that signals raise, and a moment after which work is late.
pub struct Halt {
    told: Arc<AtomicBool>,
    from: Instant,
    /// Since `from`; 0: never. Looked at now and then, and nothing else is ordered by it: Relaxed.
    late_ns: AtomicU64,
}

impl Halt {
    pub fn new() -> Halt {
        Halt {
            told: Arc::new(AtomicBool::new(false)),
            from: Instant::now(),
            late_ns: AtomicU64::new(0),
        }
    }

    /// As a signal does.
    pub fn tell(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// How long the work that begins now may take; `None` is for ever.
    pub fn within(&self, time: Option<Duration>) {
        let late = time.map_or(0, |time| (self.from.elapsed() + time).as_nanos().max(1) as u64);
        self.late_ns.store(late, Ordering::Relaxed);
    }

    pub fn asked(&self) -> Option<Halted> {
        if self.told.load(Ordering::Relaxed) {
            return Some(Halted::Told);
        }
        let late = self.late_ns.load(Ordering::Relaxed);
        (late > 0 && self.from.elapsed().as_nanos() as u64 >= late).then_some(Halted::Late)
    }

    /// An error for work that shall end.
    pub fn check(&self) -> Result<(), String> {
        self.asked()
            .map_or(Ok(()), |halted| Err(halted.says().to_string()))
    }
}

impl Default for Halt {
    fn default() -> Halt {
        Halt::new()
    }
}

/// This process's.
pub fn here() -> &'static Halt {
    static HERE: LazyLock<Halt> = LazyLock::new(Halt::new);
    &HERE
}

/// From now on SIGINT and SIGTERM end no process but raise its flag.
pub fn on_signals() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&here().told))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_late_after_its_time_and_told_for_good() {
        let halt = Halt::new();
        assert_eq!(halt.asked(), None);
        halt.within(Some(Duration::from_secs(3_600)));
        assert_eq!(halt.asked(), None);
        halt.within(Some(Duration::ZERO));
        assert_eq!(halt.asked(), Some(Halted::Late));
        halt.within(None);
        assert_eq!(halt.check(), Ok(()));
        halt.tell();
        halt.within(Some(Duration::ZERO));
        assert_eq!(halt.asked(), Some(Halted::Told));
        assert!(halt.check().is_err_and(|why| why == "interrupted"));
    }
}
