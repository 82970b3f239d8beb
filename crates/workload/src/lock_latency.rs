//! What waiting for a row costs when it is over: hand-over to the next, and the time until a deadlock is found.
//!
//! Two blocking sessions on two threads. Times are a client's, so they hold a round trip; the median round trip of an
//! empty statement, measured between the same rounds, is reported beside them and taken off.
//!
//! Like with like: before the COMMIT that hands over everybody has slept for [`SETTLE`], processors and caches too, and
//! waking them up is no part of the hand-over. So the round trip that is taken off begins after the same rest; a warm
//! one, straight after another statement, is reported beside it.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use mote_driver::{Admin, DriverError, DriverResult, Target};

/// The waiter has so long to reach the server and begin to wait.
const SETTLE: Duration = Duration::from_millis(3);
const HOLD: &str = "UPDATE bench_hot_row SET v = v WHERE k = 1";
const HOLD_OTHER: &str = "UPDATE bench_hot_row SET v = v WHERE k = 2";

/// Medians, in microseconds.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Latency {
    pub rounds: usize,
    /// An empty statement after as long a rest as a hand-over has.
    pub round_trip_us: f64,
    /// An empty statement straight after another.
    pub warm_round_trip_us: f64,
    /// From the holder's COMMIT leaving its client to the waiter's answer reaching its own.
    pub handover_us: f64,
    /// From the statement that closes the cycle to its 40P01.
    pub deadlock_us: f64,
}

impl Latency {
    pub fn handover_net_us(&self) -> f64 {
        (self.handover_us - self.round_trip_us).max(0.0)
    }

    pub fn deadlock_net_us(&self) -> f64 {
        (self.deadlock_us - self.round_trip_us).max(0.0)
    }
}

/// `deadlocks` is a number of its own: PostgreSQL takes a second for each.
pub fn run(target: &Target, rounds: usize, deadlocks: usize) -> DriverResult<Latency> {
    let (mut holder, mut waiter) = (Admin::connect(target)?, Admin::connect(target)?);
    let (mut warm_trips, mut trips, mut handovers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        warm_trips.push(round_trip(&mut holder)?);
        std::thread::sleep(SETTLE);
        trips.push(round_trip(&mut holder)?);
        handovers.push(hand_over(&mut holder, &mut waiter)?);
    }
    let mut found = Vec::new();
    for _ in 0..deadlocks {
        found.push(deadlock(&mut holder, &mut waiter)?);
    }
    Ok(Latency {
        rounds,
        round_trip_us: median_us(trips),
        warm_round_trip_us: median_us(warm_trips),
        handover_us: median_us(handovers),
        deadlock_us: median_us(found),
    })
}

fn round_trip(session: &mut Admin) -> DriverResult<Duration> {
    let start = Instant::now();
    session.execute("")?;
    Ok(start.elapsed())
}

fn hand_over(holder: &mut Admin, waiter: &mut Admin) -> DriverResult<Duration> {
    holder.execute("BEGIN")?;
    holder.execute(HOLD)?;
    waiter.execute("BEGIN")?;
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let waiting = scope.spawn(move || {
            // The receiver waits for it before it does anything else.
            let _ = sender.send(());
            waiter.execute(HOLD)?;
            let end = Instant::now();
            waiter.execute("COMMIT")?;
            Ok::<Instant, DriverError>(end)
        });
        // A closed channel shows as the waiter's error below.
        let _ = receiver.recv();
        std::thread::sleep(SETTLE);
        let start = Instant::now();
        holder.execute("COMMIT")?;
        let end = waiting.join().expect("the waiter does not panic")?;
        Ok(end.saturating_duration_since(start))
    })
}

fn deadlock(first: &mut Admin, second: &mut Admin) -> DriverResult<Duration> {
    first.execute("BEGIN")?;
    second.execute("BEGIN")?;
    first.execute(HOLD)?;
    second.execute(HOLD_OTHER)?;
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let waiting = scope.spawn(move || {
            let _ = sender.send(());
            let outcome = second.execute(HOLD);
            second.execute("ROLLBACK")?;
            Ok::<_, DriverError>(outcome.err())
        });
        let _ = receiver.recv();
        std::thread::sleep(SETTLE);
        let start = Instant::now();
        let outcome = first.execute(HOLD_OTHER).err();
        let elapsed = start.elapsed();
        first.execute("ROLLBACK")?;
        // PostgreSQL may choose either; whichever waits first looks first.
        let other = waiting.join().expect("the waiter does not panic")?;
        match outcome.or(other) {
            Some(error) if error.sqlstate() == "40P01" => Ok(elapsed),
            Some(error) => Err(error),
            None => Err(DriverError::protocol("a cycle of two waits was not found")),
        }
    })
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times
        .get(times.len() / 2)
        .map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_net_times() {
        let times = [9, 1, 5].map(Duration::from_micros).to_vec();
        assert_eq!(median_us(times), 5.0);
        assert_eq!(median_us(Vec::new()), 0.0);
        let latency = Latency {
            rounds: 3,
            round_trip_us: 10.0,
            warm_round_trip_us: 7.0,
            handover_us: 25.0,
            deadlock_us: 8.0,
        };
        assert_eq!(
            (latency.handover_net_us(), latency.deadlock_net_us()),
            (15.0, 0.0)
        );
    }
}
