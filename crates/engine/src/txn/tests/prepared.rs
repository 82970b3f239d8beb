//! Two-phase commit: what a prepared transaction keeps, over crashes and checkpoints, and how it ends.

use super::*;
use crate::check::check_indexes;
use crate::lock::{AdvisoryKey, AdvisoryMode, AdvisoryScope, RowLockStrength, TableLockMode, WaitPolicy};

const KEY: AdvisoryKey = AdvisoryKey {
    database: 5,
    key: 42,
    two_parts: false,
};

pub(super) fn finish(
    engine: &Arc<Engine>,
    gid: &str,
    commit: bool,
) -> Result<CommitReceipt, FinishError<()>> {
    let decided = engine.finish_prepared(gid, commit, None, |_| Ok(()));
    decided.map(|(receipt, ())| receipt)
}

/// The engine outlives its disk for a moment: that its log fails then must not end the test.
pub(super) fn mortal() -> EngineConfig {
    EngineConfig {
        fail_stop: Arc::new(|_| {}),
        ..config()
    }
}

/// The same database after a crash.
pub(super) fn crash(f: Fixture) -> Fixture {
    crash_with(f, mortal())
}

pub(super) fn crash_with(f: Fixture, config: EngineConfig) -> Fixture {
    let disk = f.disk.crash();
    let (table, primary) = (f.table.id(), f.primary.id);
    let engine = open_with(&disk, config);
    let table = engine.table(table).expect("recovered");
    let primary = table.index(primary).expect("recovered");
    Fixture {
        engine,
        table,
        primary,
        disk,
    }
}

/// Changes everything that can be changed, and locks everything that can be locked.
fn prepare_everything(f: &Fixture) -> CommitReceipt {
    let (transaction, _) = f.session(7);
    transaction
        .lock_table(
            f.table.id(),
            TableLockMode::ShareUpdateExclusive,
            WaitPolicy::Block,
        )
        .expect("free");
    f.set(&transaction, 1, 11).expect("free");
    f.set(&transaction, 1, 12).expect("its own");
    f.remove(&transaction, 2).expect("free");
    f.add(&transaction, 30, 300).expect("a new key");
    let savepoint = transaction.savepoint();
    f.add(&transaction, 31, 310).expect("a new key");
    transaction.rollback_to(savepoint);
    f.add(&transaction, 32, 320).expect("a new key");
    let row = f.primary.tree.get_first(&f.key(3)).expect("loaded");
    transaction.begin_statement(Access::Write);
    transaction
        .lock_row(&f.table, row, None, RowLockStrength::Update, WaitPolicy::Block)
        .expect("free");
    transaction
        .lock_advisory(
            KEY,
            AdvisoryMode::Exclusive,
            AdvisoryScope::Transaction,
            WaitPolicy::Block,
        )
        .expect("free");
    transaction.prepare("g", b"note").expect("prepared")
}

/// Nobody sees what is prepared, and nobody gets past its locks, the session that made it included.
fn expect_prepared(f: &Fixture) {
    assert_eq!(f.contents(), [(1, 10), (2, 20), (3, 30)]);
    let checked = check_indexes(&f.engine, &mut |_, _| {}).expect("it runs");
    assert_eq!(checked.faults, []);
    let prepared = f.engine.prepared();
    assert_eq!(prepared.len(), 1);
    assert_eq!(
        (prepared[0].gid.as_str(), &*prepared[0].note),
        ("g", &b"note"[..])
    );
    let (other, _) = f.session(7);
    for id in 1..=2 {
        other.cancel_wait(ticket_of(f.set(&other, id, 0)));
    }
    let row = f.primary.tree.get_first(&f.key(3)).expect("loaded");
    let locked = other.lock_row(&f.table, row, None, RowLockStrength::KeyShare, WaitPolicy::NoWait);
    assert_eq!(locked.err(), Some(WriteError::WouldBlock));
    other.cancel_wait(ticket_of(f.add(&other, 30, 1)));
    f.add(&other, 31, 1).expect("rolled back to a savepoint");
    let mode = TableLockMode::ShareUpdateExclusive;
    let locked = other.lock_table(f.table.id(), mode, WaitPolicy::NoWait);
    assert_eq!(locked, Err(WriteError::WouldBlock));
    let locked = other.lock_advisory(
        KEY,
        AdvisoryMode::Shared,
        AdvisoryScope::Transaction,
        WaitPolicy::NoWait,
    );
    assert_eq!(locked, Err(WriteError::WouldBlock));
    // What is not in the way is free.
    f.add(&other, 40, 400).expect("free");
    other.abort();
}

fn expect_free(f: &Fixture) {
    assert!(f.engine.prepared().is_empty());
    assert!(f.engine.locks().is_empty(), "{:?}", f.engine.locks());
    let other = f.begin();
    other
        .lock_table(f.table.id(), TableLockMode::AccessExclusive, WaitPolicy::NoWait)
        .expect("nobody is left");
    f.set(&other, 3, 0).expect("nobody is left");
}

const COMMITTED: [(i32, i64); 4] = [(1, 12), (3, 30), (30, 300), (32, 320)];
const ROLLED_BACK: [(i32, i64); 3] = [(1, 10), (2, 20), (3, 30)];

fn loaded() -> Fixture {
    let f = Fixture::with(mortal());
    f.load([(1, 10), (2, 20), (3, 30)]);
    f
}

#[test]
fn a_prepared_transaction_keeps_its_locks_until_it_is_decided() {
    for commit in [true, false] {
        let f = loaded();
        let receipt = prepare_everything(&f);
        assert_eq!(receipt.commit_ts, None);
        assert!(
            receipt.seen > f.engine.log().stable(),
            "its frame is what the reply waits for"
        );
        expect_prepared(&f);
        let decided = finish(&f.engine, "g", commit).expect("decided");
        assert!(decided.seen > receipt.seen);
        assert_eq!(decided.commit_ts.is_some(), commit);
        assert_eq!(
            f.contents(),
            if commit { &COMMITTED[..] } else { &ROLLED_BACK[..] }
        );
        expect_free(&f);
        assert_eq!(finish(&f.engine, "g", commit), Err(FinishError::Unknown));
    }
}

#[test]
fn it_survives_crashes_before_and_after_the_decision() {
    for commit in [true, false] {
        let f = loaded();
        let receipt = prepare_everything(&f);
        assert!(f.engine.log().flush_to(receipt.seen).is_stable());
        let f = crash(f);
        expect_prepared(&f);
        f.engine.log().flush_and_seal();
        let f = crash(f);
        expect_prepared(&f);
        let decided = finish(&f.engine, "g", commit).expect("decided");
        assert!(f.engine.log().flush_to(decided.seen).is_stable());
        let f = crash(f);
        assert_eq!(
            f.contents(),
            if commit { &COMMITTED[..] } else { &ROLLED_BACK[..] }
        );
        expect_free(&f);
        // The gid and the row ids can be used again.
        let (transaction, _) = f.session(8);
        f.add(&transaction, 50, 500).expect("free");
        transaction.prepare("g", b"").expect("the gid is free");
        finish(&f.engine, "g", true).expect("decided");
        assert!(f.contents().contains(&(50, 500)));
    }
}

#[test]
fn a_decision_that_was_not_stable_is_forgotten_by_a_crash() {
    let f = loaded();
    let receipt = prepare_everything(&f);
    assert!(f.engine.log().flush_to(receipt.seen).is_stable());
    finish(&f.engine, "g", true).expect("decided");
    assert_eq!(f.contents(), COMMITTED);
    let f = crash(f);
    expect_prepared(&f);
}

#[test]
fn checkpoints_do_not_see_it_and_keep_its_log() {
    for commit in [true, false] {
        let f = loaded();
        prepare_everything(&f);
        f.load([(4, 40)]);
        f.engine.checkpoint().expect("the disk takes it");
        let f = crash(f);
        assert_eq!(f.engine.prepared().len(), 1);
        let decided = finish(&f.engine, "g", commit).expect("decided");
        assert!(f.engine.log().flush_to(decided.seen).is_stable());
        f.engine.checkpoint().expect("the disk takes it");
        f.load([(5, 50)]);
        f.engine.checkpoint().expect("the disk takes it");
        let f = crash(f);
        let mut expected = if commit {
            COMMITTED.to_vec()
        } else {
            ROLLED_BACK.to_vec()
        };
        expected.extend([(4, 40), (5, 50)]);
        expected.sort_unstable();
        assert_eq!(f.contents(), expected);
        assert!(f.engine.prepared().is_empty());
    }
}

#[test]
fn an_old_one_is_written_again_so_that_the_log_can_go() {
    let small = || EngineConfig {
        prepared_log_bytes: 256 << 10,
        ..mortal()
    };
    for large in [false, true] {
        let f = Fixture::with(small());
        f.load([(1, 10), (2, 20), (3, 30)]);
        prepare_everything(&f);
        if large {
            // More than fits into a frame.
            let (transaction, _) = f.session(9);
            for id in 1_000..9_000 {
                f.add(&transaction, id, 0).expect("a new key");
            }
            transaction.prepare("large", b"").expect("prepared");
        }
        for round in 0..40 {
            f.load((0..1_000).map(|i| (100_000 + round * 1_000 + i, 1)));
            f.engine.collect(0);
            f.engine.log().prepare_step();
            f.engine.checkpoint().expect("the disk takes it");
        }
        let kept_bytes = f.engine.log().stable().0 - f.engine.checkpoint_report().log_start.0;
        assert!(kept_bytes < 2 << 20, "{kept_bytes} bytes of log are kept");
        let f = crash_with(f, small());
        assert_eq!(f.engine.prepared().len(), 1 + large as usize);
        if large {
            finish(&f.engine, "large", true).expect("decided");
            assert_eq!(
                f.contents()
                    .iter()
                    .filter(|(id, _)| (1_000..9_000).contains(id))
                    .count(),
                8_000
            );
        }
        let decided = finish(&f.engine, "g", true).expect("decided");
        assert!(f.engine.log().flush_to(decided.seen).is_stable());
        let f = crash_with(f, small());
        let contents = f.contents();
        assert_eq!(contents[..2], COMMITTED[..2]);
        assert!(contents.contains(&COMMITTED[2]) && contents.contains(&COMMITTED[3]));
        assert_eq!(contents.len(), 4 + 40_000 + if large { 8_000 } else { 0 });
    }
}

#[test]
fn shared_locks_of_several_come_back() {
    let f = loaded();
    let row = f.primary.tree.get_first(&f.key(1)).expect("loaded");
    for gid in ["a", "b"] {
        let (transaction, _) = f.session(if gid == "a" { 1 } else { 2 });
        transaction.begin_statement(Access::Write);
        transaction
            .lock_row(&f.table, row, None, RowLockStrength::KeyShare, WaitPolicy::Block)
            .expect("shared");
        transaction.prepare(gid, b"").expect("prepared");
    }
    let (writer, _) = f.session(3);
    f.set(&writer, 1, 11).expect("changes no key");
    let receipt = writer.prepare("c", b"").expect("prepared");
    assert!(f.engine.log().flush_to(receipt.seen).is_stable());
    let mut f = crash(f);
    for gid in ["b", "c", "a"] {
        let (other, bell) = f.session(9);
        let ticket = ticket_of(f.remove(&other, 1));
        finish(&f.engine, gid, true).expect("decided");
        assert_eq!(bell.has_rung(ticket), gid == "a", "{gid}");
        other.abort();
        if gid == "b" {
            f.engine.log().flush_and_seal();
            f = crash(f);
        }
    }
    assert_eq!(f.contents()[0], (1, 11));
    expect_free(&f);
}

#[test]
fn gids_are_bounded_unique_and_few() {
    let f = Fixture::with(EngineConfig {
        prepared_max: 2,
        ..mortal()
    });
    let prepare = |gid: &str| f.begin().prepare(gid, b"").map_err(|failure| failure.error);
    prepare("a").expect("an empty transaction can be prepared");
    assert_eq!(prepare("a"), Err(PrepareError::GidInUse));
    assert_eq!(
        prepare(&"x".repeat(GID_BYTES_MAX + 1)),
        Err(PrepareError::GidTooLong)
    );
    prepare(&"x".repeat(GID_BYTES_MAX)).expect("just short enough");
    assert_eq!(prepare("b"), Err(PrepareError::TooMany { maximum: 2 }));
    let refused = f.engine.finish_prepared("a", true, None, |undecided| {
        Err::<(), _>(undecided.info.gid.clone())
    });
    assert_eq!(refused, Err(FinishError::Refused("a".into())));
    finish(&f.engine, "a", true).expect("it is still there");
    prepare("b").expect("there is room again");
    let none = Fixture::with(EngineConfig {
        prepared_max: 0,
        ..mortal()
    });
    let failure = none.begin().prepare("a", b"").expect_err("disabled");
    assert_eq!(failure.error, PrepareError::Disabled);
}

#[test]
fn what_cannot_be_prepared_is_rolled_back() {
    let f = loaded();
    let (transaction, _) = f.session(1);
    f.set(&transaction, 1, 99).expect("free");
    transaction
        .create_temporary_table(&table_definition())
        .expect("tables can be made");
    let failure = transaction
        .prepare("g", b"")
        .expect_err("nobody has it after a crash");
    assert!(matches!(failure.error, PrepareError::Unsupported(_)));
    let (transaction, _) = f.session(1);
    for scope in [AdvisoryScope::Session, AdvisoryScope::Transaction] {
        transaction
            .lock_advisory(KEY, AdvisoryMode::Shared, scope, WaitPolicy::Block)
            .expect("free");
    }
    let failure = transaction.prepare("g", b"").expect_err("locked twice");
    assert_eq!(failure.error, PrepareError::LockedAtBothLevels);
    f.engine.release_session_locks(1, mote_common::Lsn::ZERO);
    assert_eq!(f.contents(), ROLLED_BACK);
    expect_free(&f);
}

/// Those who wait for a prepared transaction when it is being decided are served.
#[test]
fn whoever_waits_is_woken_by_the_decision() {
    let f = loaded();
    prepare_everything(&f);
    let (for_row, row_bell) = f.session(1);
    let row_ticket = ticket_of(f.set(&for_row, 1, 0));
    let (for_key, key_bell) = f.session(2);
    let key_ticket = ticket_of(f.add(&for_key, 30, 0));
    finish(&f.engine, "g", true).expect("decided");
    assert!(row_bell.has_rung(row_ticket) && key_bell.has_rung(key_ticket));
    assert!(matches!(
        f.add(&for_key, 30, 0),
        Err(WriteError::Duplicate { .. })
    ));
}

/// Found by the simulator: the next start was refused, because the row's id was another row's by then.
#[test]
fn a_lock_handed_over_on_a_deleted_row_is_not_kept() {
    let f = loaded();
    let (deleter, _) = f.session(1);
    let row = {
        let snapshot = deleter.begin_statement(Access::Write);
        f.find(&deleter, &snapshot, 1).expect("loaded").row()
    };
    f.remove(&deleter, 1).expect("free");
    let (waiter, bell) = f.session(2);
    waiter.begin_statement(Access::Write);
    let lock = || {
        waiter.lock_row(
            &f.table,
            row,
            None,
            RowLockStrength::NoKeyUpdate,
            WaitPolicy::Block,
        )
    };
    let ticket = ticket_of(lock().map(|_| ()));
    deleter.commit().expect("the log takes it");
    assert!(bell.has_rung(ticket));
    assert!(lock().expect("handed over").newest.is_none(), "it is deleted");
    waiter.prepare("lock of nothing", b"").expect("prepared");
    f.engine.log().flush_step();
    let f = crash(f);
    // Ids that nobody has had come first, then those that are free, until all are in use.
    let mut ids = 1_000..3_000;
    let reused = ids.find(|&id| {
        let transaction = f.begin();
        let added = f.add(&transaction, id, 1).expect("a new key");
        transaction.commit().expect("the log takes it");
        added == row
    });
    let reused = reused.expect("a free row id is used again");
    let transaction = f.begin();
    f.set(&transaction, reused, 2).expect("nobody has locked it");
    transaction.prepare("writes the new row", b"").expect("prepared");
    f.engine.log().flush_step();
    let f = crash(f);
    assert_eq!(f.engine.prepared().len(), 2);
}
