//! random() and setseed().
//!
//! A session that has said where to begin, by `setseed()` or `SET seed`, gets PostgreSQL's numbers from there on. All
//! others share their thread's generator.

use std::cell::Cell;

use mote_common::SqlError;
use mote_common::error::state;
use mote_common::prng::Prng;
use mote_types::Datum;

use super::{Body, float8};
use mote_catalog::settings::SeededRandom;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "drandom" => Body::Runtime(|runtime, _, _| {
            let session = &mut runtime.context().session;
            Ok(Datum::Float8(match &mut session.settings.random {
                Some(seeded) => seeded.unit(),
                None => unseeded(session.clock_us() as u64 ^ (session.pid as u64) << 40),
            }))
        }),
        "setseed" => Body::Runtime(|runtime, _, a| {
            let seed = float8(&a[0]);
            if !(-1.0..=1.0).contains(&seed) {
                let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            runtime.context().session.settings.random = Some(SeededRandom::new(seed));
            Ok(Datum::from(""))
        }),
        _ => return None,
    })
}

mote_common::per_thread! {
    /// Seeded once per thread; not for secrets.
    static RANDOM: Cell<Option<u64>> = const { Cell::new(None) };
}

fn unseeded(seed: u64) -> f64 {
    RANDOM.with(|cell| {
        let mut prng = Prng::new(cell.get().unwrap_or(seed));
        cell.set(Some(prng.next_u64()));
        prng.unit()
    })
}
