//! How many rows a table has, and what commits have done to them: by stripes, so that no two threads write one line.
//!
//! A commit that inserted adds to two numbers of one line; nobody reads them but the planner and whoever asks for statistics.
//! They guard nothing: Relaxed.

use crate::memory::stripe::{self, Padded, STRIPES};
use mote_common::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What commits have done to a table's rows since the process began, or since the numbers were last set to zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RowChanges {
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

#[derive(Default)]
struct Stripe {
    live: AtomicI64,
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

pub(crate) struct RowCounts(Box<[Padded<Stripe>]>);

impl RowCounts {
    pub fn new() -> RowCounts {
        RowCounts((0..STRIPES).map(|_| Padded::default()).collect())
    }

    /// Committed rows, nearly.
    pub fn live(&self) -> u64 {
        let all = self.0.iter().map(|stripe| stripe.0.live.load(Ordering::Relaxed));
        all.sum::<i64>().max(0) as u64
    }

    /// Rows that are there without anybody's commit: those that were recovered.
    pub fn add_live(&self, rows: i64) {
        if rows != 0 {
            self.own().live.fetch_add(rows, Ordering::Relaxed);
        }
    }

    pub fn add(&self, changes: RowChanges) {
        let stripe = self.own();
        let add = |to: &AtomicU64, rows: u64| {
            if rows != 0 {
                to.fetch_add(rows, Ordering::Relaxed);
            }
        };
        add(&stripe.inserted, changes.inserted);
        add(&stripe.updated, changes.updated);
        add(&stripe.deleted, changes.deleted);
        let more = changes.inserted as i64 - changes.deleted as i64;
        if more != 0 {
            stripe.live.fetch_add(more, Ordering::Relaxed);
        }
    }

    pub fn changes(&self) -> RowChanges {
        let mut all = RowChanges::default();
        for Padded(stripe) in &self.0 {
            all.inserted += stripe.inserted.load(Ordering::Relaxed);
            all.updated += stripe.updated.load(Ordering::Relaxed);
            all.deleted += stripe.deleted.load(Ordering::Relaxed);
        }
        all
    }

    /// Begins to count changes at zero. What is committed meanwhile may be lost to the count.
    pub fn forget_changes(&self) {
        for Padded(stripe) in &self.0 {
            for count in [&stripe.inserted, &stripe.updated, &stripe.deleted] {
                count.store(0, Ordering::Relaxed);
            }
        }
    }

    fn own(&self) -> &Stripe {
        &self.0[stripe::current()].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_summed_and_forgotten_and_rows_stay() {
        let counts = RowCounts::new();
        counts.add_live(10);
        counts.add(RowChanges {
            inserted: 3,
            updated: 2,
            deleted: 1,
        });
        std::thread::scope(|threads| {
            threads.spawn(|| {
                counts.add(RowChanges {
                    inserted: 1,
                    ..RowChanges::default()
                });
            });
        });
        assert_eq!(
            counts.changes(),
            RowChanges {
                inserted: 4,
                updated: 2,
                deleted: 1,
            }
        );
        assert_eq!(counts.live(), 13);
        counts.forget_changes();
        assert_eq!(counts.changes(), RowChanges::default());
        assert_eq!(counts.live(), 13);
    }
}
