//! Whatever tells a transaction of a commit: its next plain read sees that commit, and its reply waits for it. Nothing is
//! flushed here behind the first rows, so that `acked` stays below every commit that a test makes.

use super::*;
use crate::lock::{AdvisoryKey, AdvisoryMode, AdvisoryScope, RowLockStrength, TableLockMode, WaitPolicy};
use crate::table::RowWriter;
use crate::table::{SequenceDefinition, SequenceId};
use mote_common::Lsn;
use mote_common::env::sim::FaultPlan;
use mote_log::LogUnavailable;

/// A row whose lock protects others, and a row that locks protect.
const GUARD: i32 = 1;
const DATA: i32 = 2;

/// Log that an open transaction may keep.
const KEPT_BYTES_MAX: u64 = 1 << 20;

const KEY: AdvisoryKey = AdvisoryKey {
    database: 1,
    key: 42,
    two_parts: false,
};

fn fixture() -> Fixture {
    let f = Fixture::new();
    f.load([(GUARD, 0), (DATA, 0)]);
    f
}

fn guard(f: &Fixture) -> RowId {
    f.primary.tree.get_first(&f.key(GUARD)).expect("loaded")
}

/// What a SELECT of READ COMMITTED finds.
fn plain_read(f: &Fixture, transaction: &Transaction) -> i64 {
    let snapshot = transaction.begin_statement(Access::Read);
    let version = f.find(transaction, &snapshot, DATA).expect("loaded");
    f.value(&version)
}

fn lock_guard(f: &Fixture, transaction: &Transaction, wait: WaitPolicy) -> Result<(), WriteError> {
    transaction.begin_statement(Access::Write);
    transaction
        .lock_row(&f.table, guard(f), None, RowLockStrength::Update, wait)
        .map(|_| ())
}

fn lock_key(transaction: &Transaction, scope: AdvisoryScope, wait: WaitPolicy) -> Result<(), WriteError> {
    transaction.lock_advisory(KEY, AdvisoryMode::Exclusive, scope, wait)
}

/// The ways in which a transaction can lock and be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Table(TableLockMode),
    AdvisoryTransaction,
    AdvisorySession,
    RowForUpdate,
    /// An update of the guard row: a lock that no lock table knows.
    RowUpdate,
    /// The lock of a key that somebody deleted.
    Key,
}

impl Way {
    fn take(self, f: &Fixture, transaction: &Transaction, wait: WaitPolicy) -> Result<(), WriteError> {
        match self {
            Way::Table(mode) => transaction.lock_table(f.table.id(), mode, wait),
            Way::AdvisoryTransaction => lock_key(transaction, AdvisoryScope::Transaction, wait),
            Way::AdvisorySession => lock_key(transaction, AdvisoryScope::Session, wait),
            Way::RowForUpdate => lock_guard(f, transaction, wait),
            Way::RowUpdate => {
                let snapshot = transaction.begin_statement(Access::Write);
                let seen = f.find(transaction, &snapshot, GUARD).expect("loaded");
                transaction.update(&f.table, &seen, &f.row(GUARD, 1))
            }
            Way::Key => f.add(transaction, 3, 0).map(|_| ()),
        }
    }

    fn release(self, transaction: &Transaction) {
        if self == Way::AdvisorySession {
            assert!(transaction.unlock_advisory(KEY, AdvisoryMode::Exclusive));
        }
    }
}

/// Who holds, and who asks after it: each pair conflicts.
const PAIRS: [(Way, Way); 11] = [
    (
        Way::Table(TableLockMode::Exclusive),
        Way::Table(TableLockMode::Exclusive),
    ),
    // Weak after strong: the lock that every statement takes.
    (
        Way::Table(TableLockMode::AccessExclusive),
        Way::Table(TableLockMode::AccessShare),
    ),
    (
        Way::Table(TableLockMode::Exclusive),
        Way::Table(TableLockMode::RowExclusive),
    ),
    // Strong after weak.
    (
        Way::Table(TableLockMode::RowExclusive),
        Way::Table(TableLockMode::Share),
    ),
    (Way::AdvisoryTransaction, Way::AdvisoryTransaction),
    (Way::AdvisorySession, Way::AdvisoryTransaction),
    (Way::AdvisoryTransaction, Way::AdvisorySession),
    (Way::AdvisorySession, Way::AdvisorySession),
    (Way::RowForUpdate, Way::RowForUpdate),
    (Way::RowForUpdate, Way::RowUpdate),
    (Way::Key, Way::Key),
];

/// The holder changes the protected row and lets go; answers its commit.
fn change_and_release(f: &Fixture, holder: Transaction, way: Way, value: i64) -> Lsn {
    f.set(&holder, DATA, value).expect("protected");
    if way == Way::Key {
        // Somebody has the key, then nobody.
        f.remove(&holder, 3).expect("its own");
    }
    let ts = holder.commit().expect("the log takes it").commit_ts;
    if way == Way::AdvisorySession {
        // As a statement after the commit would do it.
        let options = BeginOptions {
            session: 1,
            session_seen: ts.expect("it wrote"),
            ..BeginOptions::default()
        };
        let next = f.engine.begin_with(options).expect("a slot is free");
        way.release(&next);
        next.commit().expect("nothing to write");
    }
    ts.expect("it wrote")
}

#[test]
fn a_lock_that_is_free_again_tells_of_the_commit_that_freed_it() {
    for (held, wanted) in PAIRS {
        let f = fixture();
        let (holder, _) = f.session(1);
        held.take(&f, &holder, WaitPolicy::Block).expect("free");
        let (asker, _) = f.session(2);
        asker.begin_statement(Access::Read);
        asker.end_statement();
        let ts = change_and_release(&f, holder, held, 7);
        assert!(f.engine.horizons().acked < ts, "nobody has flushed");
        wanted.take(&f, &asker, WaitPolicy::NoWait).expect("free again");
        assert_eq!(plain_read(&f, &asker), 7, "{held:?} {wanted:?}");
        assert!(asker.abort().seen >= ts, "{held:?} {wanted:?}");
    }
}

#[test]
fn a_lock_that_was_waited_for_tells_of_the_commit_that_handed_it_over() {
    for (held, wanted) in PAIRS {
        let f = fixture();
        let (holder, _) = f.session(1);
        held.take(&f, &holder, WaitPolicy::Block).expect("free");
        let (asker, bell) = f.session(2);
        let ticket = ticket_of(wanted.take(&f, &asker, WaitPolicy::Block));
        let ts = change_and_release(&f, holder, held, 7);
        bell.wait(ticket);
        wanted.take(&f, &asker, WaitPolicy::Block).expect("handed over");
        assert_eq!(plain_read(&f, &asker), 7, "{held:?} {wanted:?}");
        assert!(asker.abort().seen >= ts, "{held:?} {wanted:?}");
    }
}

/// The end of a transaction that only locked: its session's next transaction is not older, whatever the first came to.
#[test]
fn what_a_lock_told_stays_known_to_the_session() {
    for (held, wanted) in PAIRS {
        for commits in [true, false] {
            let f = fixture();
            let (holder, _) = f.session(1);
            held.take(&f, &holder, WaitPolicy::Block).expect("free");
            let ts = change_and_release(&f, holder, held, 7);
            let (asker, _) = f.session(2);
            wanted.take(&f, &asker, WaitPolicy::NoWait).expect("free again");
            let receipt = match commits {
                true => asker.commit().expect("the log takes it"),
                false => asker.abort(),
            };
            assert!(receipt.known >= ts && receipt.known >= receipt.seen);
            let weak = matches!(wanted, Way::Table(mode) if mode.is_weak());
            let wrote = matches!(wanted, Way::RowUpdate | Way::Key);
            match commits {
                true => assert!(receipt.seen >= ts || (weak && !wrote), "{held:?} {wanted:?}"),
                // A tombstone that was met is data; a lock says nothing of what its holder did.
                false => assert_eq!(receipt.seen >= ts, wanted == Way::Key, "{held:?} {wanted:?}"),
            }
            let options = BeginOptions {
                session: 2,
                session_seen: receipt.seen,
                session_known: receipt.known,
                ..BeginOptions::default()
            };
            let next = f.engine.begin_with(options).expect("a slot is free");
            assert_eq!(plain_read(&f, &next), 7, "{held:?} {wanted:?} {commits}");
        }
    }
}

/// Asks for a lock that somebody has, and does not get it.
fn be_refused(f: &Fixture, asker: &Transaction, wanted: Way) {
    if wanted == Way::RowUpdate {
        // UPDATE has no NOWAIT: it would have queued, and given up.
        let ticket = ticket_of(wanted.take(f, asker, WaitPolicy::Block));
        asker.cancel_wait(ticket);
    } else {
        let refused = wanted.take(f, asker, WaitPolicy::NoWait);
        assert_eq!(refused, Err(WriteError::WouldBlock));
    }
}

/// A refusal tells that the holder has got to its lock, and so of what its session had committed before. Nobody waits for
/// that, not even a COMMIT: what the lock protects has not changed.
#[test]
fn a_lock_that_is_refused_tells_how_far_its_holder_has_got() {
    for (held, wanted) in PAIRS.into_iter().filter(|(_, wanted)| *wanted != Way::Key) {
        let f = fixture();
        let (first, _) = f.session(1);
        f.set(&first, DATA, 7).expect("free");
        let ts = first.commit().expect("the log takes it").seen;
        let options = BeginOptions {
            session: 1,
            session_seen: ts,
            ..BeginOptions::default()
        };
        let holder = f.engine.begin_with(options).expect("a slot is free");
        held.take(&f, &holder, WaitPolicy::Block).expect("free");
        let (asker, _) = f.session(2);
        be_refused(&f, &asker, wanted);
        assert_eq!(plain_read(&f, &asker), 7, "{held:?} {wanted:?}");
        assert!(asker.abort().seen >= ts, "{held:?} {wanted:?}");
        let (other, _) = f.session(3);
        be_refused(&f, &other, wanted);
        let receipt = other.commit().expect("it has written nothing");
        assert!(
            receipt.seen < ts && receipt.known >= ts,
            "{held:?} {wanted:?} {receipt:?}"
        );
        drop(holder);
        f.engine.release_session_locks(1, ts);
    }
}

/// Whoever held the lock without writing anything knew of a commit, too.
#[test]
fn a_lock_tells_of_what_its_last_holder_had_seen() {
    for (held, wanted) in PAIRS.into_iter().filter(|(held, _)| *held != Way::Key) {
        let f = fixture();
        let (writer, _) = f.session(3);
        f.set(&writer, DATA, 7).expect("free");
        let ts = writer.commit().expect("the log takes it").seen;
        let (reader, _) = f.session(1);
        held.take(&f, &reader, WaitPolicy::Block).expect("free");
        assert_eq!(f.read(&reader, DATA), Some(7), "read at the tail");
        held.release(&reader);
        reader.abort();
        let (asker, _) = f.session(2);
        wanted.take(&f, &asker, WaitPolicy::NoWait).expect("free again");
        assert_eq!(plain_read(&f, &asker), 7, "{held:?} {wanted:?}");
        assert!(asker.abort().seen >= ts);
    }
}

/// ROLLBACK TO gives a lock back in the middle of a transaction, and what it told stays told.
#[test]
fn a_savepoint_takes_back_locks_and_not_what_they_told() {
    let f = fixture();
    let table = f.table.id();
    let (first, _) = f.session(1);
    first
        .lock_table(table, TableLockMode::Exclusive, WaitPolicy::Block)
        .expect("free");
    f.set(&first, DATA, 7).expect("protected");
    let ts = first.commit().expect("the log takes it").seen;
    let (second, _) = f.session(2);
    let savepoint = second.savepoint();
    second
        .lock_table(table, TableLockMode::Exclusive, WaitPolicy::Block)
        .expect("free");
    second.rollback_to(savepoint);
    let (third, _) = f.session(3);
    third
        .lock_table(table, TableLockMode::RowExclusive, WaitPolicy::NoWait)
        .expect("given back");
    assert_eq!(plain_read(&f, &second), 7);
    assert_eq!(plain_read(&f, &third), 7);
    assert!(second.abort().seen >= ts && third.abort().seen >= ts);
}

/// The first snapshot of a higher level is taken at its first query, behind the locks that came before.
#[test]
fn higher_levels_see_what_their_first_lock_waited_for() {
    for (isolation, read_only) in [
        (Isolation::RepeatableRead, false),
        (Isolation::RepeatableRead, true),
        (Isolation::Serializable, false),
        (Isolation::Serializable, true),
    ] {
        let f = fixture();
        let table = f.table.id();
        let (holder, _) = f.session(1);
        holder
            .lock_table(table, TableLockMode::Exclusive, WaitPolicy::Block)
            .expect("free");
        let options = BeginOptions {
            isolation,
            read_only,
            session: 2,
            ..BeginOptions::default()
        };
        let asker = f.engine.begin_with(options).expect("a slot is free");
        let bell = Arc::new(Bell::default());
        asker.set_wake(bell.clone());
        let lock = || asker.lock_table(table, TableLockMode::Exclusive, WaitPolicy::Block);
        let ticket = ticket_of(lock());
        f.set(&holder, DATA, 7).expect("protected");
        let ts = holder.commit().expect("the log takes it").seen;
        bell.wait(ticket);
        lock().expect("handed over");
        assert_eq!(plain_read(&f, &asker), 7, "{isolation:?} {read_only}");
        assert!(asker.commit().expect("it only read").seen >= ts);
    }
}

#[test]
fn a_prepared_transaction_that_is_gone_tells_of_its_commit() {
    let f = fixture();
    let (writer, _) = f.session(1);
    lock_guard(&f, &writer, WaitPolicy::Block).expect("free");
    f.set(&writer, DATA, 7).expect("protected");
    writer.prepare("g", b"").expect("prepared");
    let (waits, bell) = f.session(2);
    let ticket = ticket_of(lock_guard(&f, &waits, WaitPolicy::Block));
    let (receipt, ()) = f
        .engine
        .finish_prepared("g", true, None, |_| Ok::<_, ()>(()))
        .expect("prepared");
    bell.wait(ticket);
    lock_guard(&f, &waits, WaitPolicy::Block).expect("handed over");
    assert_eq!(plain_read(&f, &waits), 7);
    assert!(waits.abort().seen >= receipt.commit_ts.expect("committed"));
    let (late, _) = f.session(3);
    lock_guard(&f, &late, WaitPolicy::NoWait).expect("free");
    assert_eq!(plain_read(&f, &late), 7);
}

/// A look at what others do binds later snapshots, and holds no reply back.
#[test]
fn a_view_is_known_and_not_waited_for() {
    let f = fixture();
    let (looks, _) = f.session(2);
    let (writer, _) = f.session(1);
    f.set(&writer, DATA, 7).expect("free");
    let ts = writer.commit().expect("the log takes it").seen;
    assert_eq!(
        plain_read(&f, &looks),
        0,
        "a plain read sees what was acknowledged"
    );
    looks.note_view();
    assert!(f.engine.locks().is_empty());
    let receipt = looks.abort();
    assert!(receipt.seen < ts && receipt.known >= ts, "{receipt:?}");
    let options = BeginOptions {
        session_known: receipt.known,
        ..BeginOptions::default()
    };
    let next = f.engine.begin_with(options).expect("a slot is free");
    assert_eq!(plain_read(&f, &next), 7);
    assert!(next.abort().seen >= ts, "what it read it waits for");
}

#[test]
fn a_drawn_number_is_known_and_not_waited_for() {
    let f = fixture();
    let maker = f.begin();
    let id = maker.create_sequence(&SequenceDefinition {
        id: SequenceId(0),
        start: 1,
        increment: 1,
        minimum: 1,
        maximum: 1000,
        cycle: false,
    });
    let id = id.expect("made");
    maker.commit().expect("the log takes it");
    let sequence = f.engine.sequence(id).expect("made");
    assert_eq!(f.begin().sequence_next(&sequence), Ok(1), "logged ahead");
    f.engine.log().flush_step();
    let (draws, _) = f.session(2);
    let (writer, _) = f.session(1);
    f.set(&writer, DATA, 7).expect("free");
    let ts = writer.commit().expect("the log takes it").seen;
    assert_eq!(f.begin().sequence_next(&sequence), Ok(2));
    assert_eq!(draws.sequence_next(&sequence), Ok(3));
    assert!(draws.seen() < ts, "the number itself is durable");
    assert_eq!(plain_read(&f, &draws), 7);
}

/// Without locks nothing is waited for, and nothing newer is seen than what was acknowledged.
#[test]
fn plain_reads_read_what_was_acknowledged() {
    let f = fixture();
    let table = f.table.id();
    let (writer, _) = f.session(1);
    f.set(&writer, DATA, 7).expect("free");
    let ts = writer.commit().expect("the log takes it").seen;
    let (reader, _) = f.session(2);
    reader
        .lock_table(table, TableLockMode::AccessShare, WaitPolicy::Block)
        .expect("free");
    assert_eq!(plain_read(&f, &reader), 0);
    assert!(reader.commit().expect("it only read").seen < ts);
}

/// A transaction that has met a commit nobody has flushed, and has something to write itself; answers that commit, too.
fn has_met_unflushed(f: &Fixture) -> (Transaction, Lsn) {
    let (writer, _) = f.session(1);
    f.set(&writer, DATA, 7).expect("free");
    let ts = writer.commit().expect("the log takes it").seen;
    let (asker, _) = f.session(2);
    asker.note_view();
    assert_eq!(plain_read(f, &asker), 7, "at the tail");
    (asker, ts)
}

/// A row of 4 KiB.
fn large_row(f: &Fixture, id: u32) -> Vec<u8> {
    let mut writer = RowWriter::new(f.table.newest_layout());
    writer.set_fixed4(0, id);
    writer.set_fixed8(1, 0);
    writer.set_variable(2, &[b'x'; 4096]);
    writer.finish().expect("small").to_vec()
}

/// Others commit `rows` large rows; answers whether the log took them all.
fn fill_log(f: &Fixture, rows: std::ops::Range<u32>) -> Result<(), CommitError> {
    for id in rows {
        let filler = f.begin();
        filler.begin_statement(Access::Write);
        filler
            .insert(&f.table, &large_row(f, id))
            .expect("there is memory");
        filler.commit()?;
        f.engine.log().flush_step();
        f.engine.log().prepare_step();
    }
    Ok(())
}

/// A COMMIT that the log refuses tells its client what the transaction has met, as ROLLBACK does.
#[test]
fn a_commit_that_the_log_refuses_carries_what_it_met() {
    const ENOUGH: u32 = 10_000;
    let full = |f: &Fixture, asker: &Transaction| {
        f.set(asker, GUARD, 1).expect("free");
        f.disk.set_faults(FaultPlan {
            capacity_bytes: Some(f.disk.used_bytes()),
            ..FaultPlan::default()
        });
        let refused = fill_log(f, 100..ENOUGH).expect_err("the disk is full");
        assert!(matches!(
            refused,
            CommitError::LogUnavailable {
                reason: LogUnavailable::DiskFull,
                ..
            }
        ));
    };
    let kept = |f: &Fixture, asker: &Transaction| {
        asker.begin_statement(Access::Write);
        // Enough for fragments, which keep the log that they stand in.
        for id in ENOUGH..ENOUGH + 64 {
            asker
                .insert(&f.table, &large_row(f, id))
                .expect("there is memory");
        }
        fill_log(f, 100..1000).expect("the log takes it");
    };
    let ways: [(LogUnavailable, &dyn Fn(&Fixture, &Transaction)); 2] = [
        (LogUnavailable::DiskFull, &full),
        (
            LogUnavailable::KeepsTooMuch {
                kept_bytes: 0,
                limit_bytes: KEPT_BYTES_MAX,
            },
            &kept,
        ),
    ];
    for (expected, spoil) in ways {
        let mut config = config();
        config.log.kept_bytes_max = KEPT_BYTES_MAX;
        let f = Fixture::with(config);
        f.load([(GUARD, 0), (DATA, 0)]);
        let (asker, ts) = has_met_unflushed(&f);
        spoil(&f, &asker);
        let Err(CommitError::LogUnavailable { reason, receipt }) = asker.commit() else {
            panic!("{expected:?} was expected");
        };
        let same = std::mem::discriminant(&reason) == std::mem::discriminant(&expected);
        assert!(same, "{reason:?} {expected:?}");
        assert!(
            receipt.commit_ts.is_none() && receipt.seen >= ts,
            "{reason:?} {receipt:?}"
        );
    }
}
