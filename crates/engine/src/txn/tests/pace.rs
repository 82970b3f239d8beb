//! Long transactions beside a quorum that takes the log slowly.

use super::super::pace::AHEAD_BYTES;
use super::*;
use mote_log::{Agreed, Log};

/// Together three times what a long transaction may be ahead.
const ROWS: i32 = 6000;

fn roomy() -> EngineConfig {
    EngineConfig {
        log: LogConfig {
            segment_bytes: 16 << 20,
            ring_bytes: 64 << 20,
            segments_ahead: 4,
            ..config().log
        },
        ..config()
    }
}

fn long_row(f: &Fixture, id: i32) -> Vec<u8> {
    let mut writer = RowWriter::new(f.table.newest_layout());
    writer.set_fixed4(0, id as u32);
    writer.set_fixed8(1, 1);
    writer.set_variable(2, &[b'x'; 4096]);
    writer.finish().expect("small").to_vec()
}

/// Others have what is durable here.
fn agree(log: &Log) {
    let flushed = log.flushed();
    log.set_agreed(Some(Agreed {
        received: flushed,
        flushed,
        applied: flushed,
    }));
}

/// Writes the rows in one transaction; answers how often it had to wait.
fn write(f: &Fixture, mut waits: impl FnMut()) -> usize {
    let (transaction, bell) = f.session(1);
    let mut waited = 0;
    for id in 0..ROWS {
        loop {
            transaction.begin_statement(Access::Write);
            match transaction.insert(&f.table, &long_row(f, id)) {
                Ok(_) => break,
                Err(WriteError::MustWait(ticket)) => {
                    waited += 1;
                    waits();
                    bell.wait(ticket);
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    transaction.commit().expect("the log takes it");
    waited
}

#[test]
fn a_long_transaction_is_little_ahead_of_the_quorum() {
    let f = Fixture::with(roomy());
    f.engine.start_background().expect("threads start");
    assert_eq!(write(&f, || {}), 0, "nobody is waited for");

    let f = Fixture::with(roomy());
    f.engine.start_background().expect("threads start");
    let log = f.engine.log().clone();
    agree(&log);
    let waited = write(&f, || {
        let ahead_bytes = log.tail().0 - log.stable().0;
        // One fragment more, at most, and what the flusher pads.
        let most = AHEAD_BYTES + (1 << 20);
        assert!((AHEAD_BYTES..most).contains(&ahead_bytes), "{ahead_bytes}");
        agree(&log);
    });
    assert!(waited > 1, "{waited}");
}
