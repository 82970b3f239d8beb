//! Measures the log: appends per second into the ring, and the latency of a flush on a real disk.
//!
//! `cargo run --release -p mote-engine --example log_bench [directory]` (default: a new directory below the temporary
//! one, removed at the end).

use std::time::{Duration, Instant};

use mote_common::env::real;
use mote_log::{
    FlushOutcome, FrameKind, Log, LogConfig, LogError, LogPosition, LogThreads, LogWriter, abort_process,
};

const PAYLOAD_BYTES: usize = 200;

fn main() {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("mote-log-bench-{}", std::process::id())),
        std::path::PathBuf::from,
    );
    std::fs::create_dir_all(&directory).expect("the directory can be made");
    let env = real::env(&directory);
    let config = LogConfig::default();
    let log = Log::open(
        &env,
        config,
        LogPosition::fresh(1, config.segment_bytes),
        abort_process(),
    )
    .expect("the log opens in an empty directory");
    flush_latency(&log);
    let threads = LogThreads::start(&log, None).expect("threads start");
    for writers in [1, 2] {
        throughput(&log, writers);
    }
    commit_latency(&log);
    threads.stop();
    drop(log);
    if std::env::args().nth(1).is_none() {
        std::fs::remove_dir_all(&directory).expect("the directory was made here");
    }
}

/// Answers whether the frame was appended.
fn append(writer: &LogWriter, payload: &[u8]) -> bool {
    match writer.admit(payload.len()) {
        Ok(admission) => {
            writer.append(admission, FrameKind::Commit, payload, |_| {});
            true
        }
        Err(LogError::RingFull { .. }) => false,
        Err(error) => panic!("the log refuses: {error:?}"),
    }
}

/// Waits while the next segment is being prepared.
fn append_soon(writer: &LogWriter) {
    while !append(writer, &[7; PAYLOAD_BYTES]) {
        std::thread::yield_now();
    }
}

fn flush_latency(log: &Log) {
    let writer = log.writer();
    let mut times: Vec<Duration> = (0..2_000)
        .map(|_| {
            append_soon(&writer);
            let start = Instant::now();
            assert!(matches!(log.flush_step(), FlushOutcome::Flushed { .. }));
            start.elapsed()
        })
        .collect();
    report("one 4 KiB flush", &mut times);
}

fn throughput(log: &Log, writers: u64) {
    const RUN: Duration = Duration::from_secs(2);
    let start = Instant::now();
    let appended: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|_| {
                scope.spawn(|| {
                    let writer = log.writer();
                    let mut appended = 0u64;
                    while start.elapsed() < RUN {
                        for _ in 0..64 {
                            appended += append(&writer, &[7; PAYLOAD_BYTES]) as u64;
                        }
                        log.request_flush();
                    }
                    appended
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a writer ends"))
            .sum()
    });
    let seconds = start.elapsed().as_secs_f64();
    // The log stays in the ring and on disk; old segments are freed, as a checkpoint would.
    log.release_below(log.stable()).expect("released");
    println!(
        "{writers} writer(s), {PAYLOAD_BYTES}-byte payloads: {:.2} M appends/s, {:.0} MB/s",
        appended as f64 / seconds / 1e6,
        appended as f64 * 256.0 / seconds / 1e6
    );
}

/// One client that waits for each commit, through the flusher thread.
fn commit_latency(log: &Log) {
    let writer = log.writer();
    while log.stable() < log.tail() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut times: Vec<Duration> = (0..2_000)
        .map(|_| {
            let start = Instant::now();
            append_soon(&writer);
            let tail = log.tail();
            log.request_flush();
            while log.stable() < tail {
                std::thread::yield_now();
            }
            start.elapsed()
        })
        .collect();
    report("commit through the flusher thread", &mut times);
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: p50 {:?}, p95 {:?}, p99 {:?}",
        at(0.5),
        at(0.95),
        at(0.99)
    );
}
