//! The simulator: one seed drives an engine on a simulated disk through transactions, flushes, checkpoints and crashes.
//!
//! Read in this order:
//!  1. `model`: the oracle.
//!  2. `schema`: the tables, and rows to and from bytes.
//!  3. `session`: one of several transactions that run at once, stepped on one thread.
//!  4. `prepared`: transactions between PREPARE and their decision.
//!  5. `world`: the loop, the crash, and what must hold after it; `world/tables`: tables that come and go.
//!  6. `check`: an engine's tables and indexes against each other and against the model.
//!  7. `cluster`: several nodes, a network between them, and the log that must be the same on all; it has its own contract.
//!
//! Faults, all from the seed: power failures after any step, also while the engine starts; unsynced writes that are lost,
//! torn at sectors or blocks, and reordered; names that were not synced; failing writes and fsyncs; a disk that is full
//! and has space again; a disk that does nothing for a while; a flipped bit anywhere.
//!
//! The contract of what must survive:
//!  1. After a power failure every commit at or below the `stable` that was last seen is there, whole, in tables and
//!     indexes; of later ones exactly those whose frames are in the log that survived, from the first to the last without
//!     a gap; nothing else. A start that fails, for a reason of the disk's or the power's, changes none of this.
//!  2. A failed fsync or write of the log ends the life: nothing is acknowledged after it, and 1 holds.
//!  3. A full or slow disk costs writers errors or time, and nothing else: readers go on, and what failed left nothing.
//!  4. A flipped bit is refused at the start, with the file's name, or stands where nobody needs it. In the last flush before
//!     a crash, which no durable frame vouches for, it cannot be told from a torn tail and is cut like one: an idle log
//!     therefore seals its tail.
//!  5. Those transactions are prepared whose PREPARE survived and whose decision did not, with their locks. Tables that
//!     they make or drop are there, or gone, with the decision.
//!  6. A transaction for which the log was not kept any longer cannot commit; nothing of it is ever seen.
//!  7. nextval never gives a value twice, not even over a crash, once it was told.
//!
//! Checked besides: every read of every session against the model at its snapshot, a SERIALIZABLE one's again at its
//! commit; a session that waits is woken when
//! whoever it waits for is gone; indexes hold what tables hold.
//!
//! `make sim SEEDS=1000` runs many on all cores; a failure prints the seed, and `--seed S` repeats it.
//!
//! Source: deterministic simulation as FoundationDB's (Zhou et al., SIGMOD 2021) and TigerBeetle's: the code that runs in the server, under a
//! clock, a disk and a network that a seed moves. Other than there the engine runs on one thread; threads are the model checker's.
//!
//! Leaves out: SQL, the wire, threads (the engine's own tests have those).

#![forbid(unsafe_code)]

mod check;
mod cluster;
mod model;
mod prepared;
mod schema;
mod session;
mod world;

pub use cluster::{ClusterOptions, ClusterReport, Planted, Trace, run_cluster};
pub use world::{Options, Report, run};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_dozens_of_seeds() {
        let mut total = Report::default();
        for seed in 0..40 {
            total.add(&run(seed, Options::default()).unwrap_or_else(|error| panic!("seed {seed}: {error}")));
        }
        assert!(total.prepared > 100 && total.restored > 30, "{total:?}");
        assert!(total.prepared_tables > 10, "{total:?}");
        assert!(total.given_up > 4, "{total:?}");
        // Without these the checks above would mean little.
        assert!(total.commits > 500 && total.crashes > 60, "{total:?}");
        assert!(
            total.waits > 100 && total.checkpoints > 20 && total.lost_commits > 20 && total.refused > 20,
            "{total:?}"
        );
        assert!(total.failed_recoveries > 0, "{total:?}");
        assert!(
            total.rot_refused > 0 && total.rot_harmless > 0 && total.stalls > 0,
            "{total:?}"
        );
    }

    /// What `--seed S` is for. Another order of a hash map's entries is enough to break it.
    #[test]
    fn a_seed_repeats() {
        for seed in 0..12 {
            let figures = || {
                let mut report =
                    run(seed, Options::default()).unwrap_or_else(|told| panic!("seed {seed}: {told}"));
                report.figures().map(|(name, value)| (name, *value))
            };
            assert_eq!(figures(), figures(), "seed {seed}");
        }
    }
}
