//! The simulator: one seed drives an engine on a simulated disk through transactions, flushes, checkpoints and crashes.
//!
//! Read in this order:
//!  1. `model`: the oracle.
//!  2. `schema`: the tables, and rows to and from bytes.
//!  3. `session`: one of several transactions that run at once, stepped on one thread.
//!  4. `prepared`: transactions between PREPARE and their decision.
//!  5. `world`: the loop, the crash, and what must hold after it.
//!  6. `check`: an engine's tables and indexes against each other and against the model.
//!
//! What is checked:
//!  - every read of every session against the model at its snapshot; a SERIALIZABLE one's again at its commit;
//!  - after a crash: every commit at or below the `stable` that was last seen is there, whole, in tables and indexes; of
//!    later ones exactly those whose frames are in the log that survived; nothing else;
//!  - after a crash: those transactions are prepared whose PREPARE survived and whose decision did not, with their locks;
//!  - a session that waits is woken when whoever it waits for is gone.
//!
//! `cargo run -p mote-sim -- --seeds 1000` runs many; a failure prints the seed, and `--seed S` repeats it.
//! Leaves out: SQL, the wire, threads (the engine's own tests have those).

mod check;
mod model;
mod prepared;
mod schema;
mod session;
mod world;

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
        // Without these the checks above would mean little.
        assert!(total.commits > 500 && total.crashes > 60, "{total:?}");
        assert!(
            total.waits > 100 && total.checkpoints > 20 && total.lost_commits > 20 && total.refused > 20,
            "{total:?}"
        );
    }
}
