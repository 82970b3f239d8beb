//! The thread that analyzes tables by itself.
//!
//! It sleeps between rounds (`autovacuum_naptime`) and has the priority of long statements: it is no worker, and takes
//! nothing from them but what nobody else wants.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mote_catalog::database::Database;
use mote_catalog::signals::SessionSignals;
use mote_exec::upkeep::{Ending, Rounds, seconds_between_rounds};
use parking_lot::{Condvar, Mutex};

use crate::net::post::lower_priority;

/// The time between rounds may become another one meanwhile.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Running until it is dropped.
pub struct Analyzer {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    inner: Mutex<Inner>,
    wanted: Condvar,
}

#[derive(Default)]
struct Inner {
    is_wanted: bool,
    /// Of the session that is at work.
    signals: Option<Arc<SessionSignals>>,
}

impl Analyzer {
    pub fn start(database: &Arc<Database>) -> io::Result<Analyzer> {
        let stop = Arc::new(Stop::default());
        let (seen, database) = (stop.clone(), database.clone());
        let thread = std::thread::Builder::new()
            .name("mote-analyzer".into())
            .spawn(move || {
                lower_priority(None);
                let mut rounds = Rounds::new(&database);
                let mut slept_s = 0;
                while !seen.wait(LOOK_AGAIN) {
                    slept_s += LOOK_AGAIN.as_secs();
                    if slept_s < seconds_between_rounds(&database) {
                        continue;
                    }
                    slept_s = 0;
                    if let Err(error) = rounds.run(&*seen) {
                        eprintln!("mote: tables were not analyzed: {}", error.message());
                    }
                }
            })?;
        Ok(Analyzer {
            stop,
            thread: Some(thread),
        })
    }
}

impl Stop {
    /// True when the end is wanted before the time is over.
    fn wait(&self, time: Duration) -> bool {
        let mut inner = self.inner.lock();
        if !inner.is_wanted {
            self.wanted.wait_for(&mut inner, time);
        }
        inner.is_wanted
    }
}

impl Ending for Stop {
    fn is_wanted(&self) -> bool {
        self.inner.lock().is_wanted
    }

    fn at_work(&self, signals: Option<Arc<SessionSignals>>) {
        let mut inner = self.inner.lock();
        if let Some(signals) = signals.as_ref().filter(|_| inner.is_wanted) {
            signals.request_cancel();
        }
        inner.signals = signals;
    }
}

impl Drop for Analyzer {
    fn drop(&mut self) {
        let mut inner = self.stop.inner.lock();
        inner.is_wanted = true;
        if let Some(signals) = &inner.signals {
            signals.request_cancel();
        }
        drop(inner);
        self.stop.wanted.notify_all();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("mote: the analyzer ended in a panic");
        }
    }
}
