//! A node that follows comes to lead, in place: rows, indexes and objects are in memory already, and stay there.
//!
//! What is brought about is what a start would find: the log applied to its end, fragments without an end aborted, prepared
//! transactions waiting, sequences behind what was logged. Beyond that only what a follower leaves to its primary has to be
//! found out: which row ids are free. Then the log's files are taken over, and a term begins.
//!
//! The caller has ended all sessions, and whoever took the log; so nobody else has a transaction but those that are
//! prepared. After an error the engine must be dropped, and the directory opened again, which is as sound as after a crash.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::Engine;
use crate::follow::{Followed, FollowedCatalog, ReplayError};
use mote_common::sync::atomic::Ordering;
use mote_log::Agreed;

/// Why an engine that follows did not come to lead.
#[derive(Debug)]
pub enum PromotionError {
    /// What was received does not fit what is here.
    Replay(ReplayError),
    /// The term could not be begun.
    Log(io::Error),
    /// The log has a frame of this term already.
    TermHasBegun(u32),
}

impl fmt::Display for PromotionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromotionError::Replay(error) => error.fmt(f),
            PromotionError::Log(error) => write!(f, "the log could not be opened: {error}"),
            PromotionError::TermHasBegun(term) => write!(f, "term {term} has begun in the log already"),
        }
    }
}

impl std::error::Error for PromotionError {}

impl Engine {
    /// Leads from now on. `term`: the one that a cluster has given to it: then
    /// nothing becomes stable that was not, before others have that term's first frame, too ([`Log::set_agreed`]).
    /// `None`: the next term, and all of the log counts.
    ///
    /// [`Log::set_agreed`]: mote_log::Log::set_agreed
    pub fn lead(
        self: &Arc<Engine>,
        followed: Followed,
        term: Option<u32>,
        catalog: &dyn FollowedCatalog,
    ) -> Result<(), PromotionError> {
        let ran = self.end_background_of_follower();
        let (log, end) = (self.log(), followed.end);
        if term.is_some() {
            let known = log.stable();
            log.set_agreed(Some(Agreed {
                received: known,
                flushed: known,
                applied: known,
            }));
        }
        let applied = followed.replay.finish(end, &followed.terms, catalog);
        applied.map_err(PromotionError::Replay)?;
        let begun = log.term();
        let term = term.unwrap_or(begun + 1);
        if term <= begun {
            return Err(PromotionError::TermHasBegun(begun));
        }
        self.take_over_objects();
        self.numbers.follow(&*self.clock);
        log.lead(&self.env, term, end).map_err(PromotionError::Log)?;
        // The primary before may have told of everything up to here.
        log.raise_acked(log.began().start);
        match ran {
            true => self.start_background().map_err(PromotionError::Log),
            false => Ok(()),
        }
    }

    /// Answers whether there was any.
    fn end_background_of_follower(&self) -> bool {
        let mut background = self.background.lock();
        let ran = background.checkpoint.is_some();
        self.end_cleaning(&mut background);
        self.threaded.store(false, Ordering::Release);
        self.quit.store(false, Ordering::Release);
        ran
    }

    /// What the primary before has looked after.
    fn take_over_objects(&self) {
        // Of transactions that are neither committed nor prepared, and never will be.
        self.objects.forget_unclaimed_states();
        self.collector.give_row_ids();
        for table in self.objects.all_tables() {
            table.find_free_rows(self.recovery_stats.threads);
        }
        self.prepared.set_maximum(self.prepared_max);
    }
}
