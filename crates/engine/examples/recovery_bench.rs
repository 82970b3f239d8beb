//! What a start costs: opens a data directory as the server does, and tells what each phase took.
//!
//! `cargo run --release -p mote-engine --example recovery_bench DIRECTORY [threads]`. For a database without indexes on
//! expressions, while no server has it. Only the opening is counted, by the clock and in processor time of all threads;
//! `mote bench coldstart` measures the whole server instead.

use mote_common::SqlError;
use mote_common::env::real;
use mote_engine::{Engine, EngineConfig, KeyExpressionProvider, KeyExpressions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

struct NoExpressions;

impl KeyExpressionProvider for NoExpressions {
    fn compile(&self, _definition: &[u8]) -> Result<Arc<dyn KeyExpressions>, SqlError> {
        Err(SqlError::unsupported("index expressions"))
    }
}

/// User and system time of this process so far, in seconds.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root: PathBuf = arguments
        .next()
        .expect("the first argument is a data directory")
        .into();
    let mut config = EngineConfig {
        memory_limit_bytes: 64 << 30,
        ..EngineConfig::default()
    };
    if let Some(threads) = arguments.next() {
        config.recovery_threads = threads
            .parse()
            .expect("the second argument is a number of threads");
    }
    let (clock, processor) = (Instant::now(), processor_s());
    let engine =
        Engine::open(real::env(&root), config, Arc::new(NoExpressions)).expect("the directory opens");
    let (elapsed, processor) = (clock.elapsed().as_secs_f64(), processor_s() - processor);
    let (stats, memory) = (engine.recovery_stats(), engine.memory());
    let ms = |ns: u64| ns as f64 / 1e6;
    println!(
        "{:.0} MB of images, {} rows, {} index entries: {:.3} s, {:.3} s of processor ({:.2} GB/s and core); images {:.0} ms, \
         replay {:.0} ms, indexes {:.0} ms; used {} MB, slabs {} MB",
        stats.image_bytes as f64 / 1e6,
        stats.image_rows,
        stats.index_entries,
        elapsed,
        processor,
        stats.image_bytes as f64 / 1e9 / processor,
        ms(stats.load_images_ns),
        ms(stats.replay_ns),
        ms(stats.build_indexes_ns),
        memory.used_bytes >> 20,
        memory.slab_bytes >> 20,
    );
    // Freeing what was loaded is not what is measured.
    std::process::exit(0);
}
