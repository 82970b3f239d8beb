//! Row, table and advisory locks: conflicts, queues, hand-over, deadlocks.

use super::*;
use crate::lock::{
    AdvisoryKey, AdvisoryMode, AdvisoryScope, LockTag, RowLockStrength, TableLockMode, WaitPolicy,
};
use mote_common::TableId;

fn row_of(f: &Fixture, id: i32) -> RowId {
    f.primary.tree.get_first(&f.key(id)).expect("the row is there")
}

fn lock<'t>(
    f: &Fixture,
    transaction: &'t Transaction,
    row: RowId,
    strength: RowLockStrength,
) -> Result<LockedRow<'t>, WriteError> {
    transaction.begin_statement(Access::Write);
    transaction.lock_row(&f.table, row, None, strength, WaitPolicy::Block)
}

#[test]
fn explicit_row_locks_conflict_as_postgresqls_do() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = row_of(&f, 1);
    for held in RowLockStrength::ALL {
        for wanted in RowLockStrength::ALL {
            let (holder, other) = (f.begin(), f.begin());
            lock(&f, &holder, row, held).expect("free");
            other.begin_statement(Access::Write);
            let outcome = other.lock_row(&f.table, row, None, wanted, WaitPolicy::NoWait);
            assert_eq!(
                outcome.is_err(),
                held.conflicts_with(wanted),
                "{held:?} {wanted:?}"
            );
            drop((holder, other));
            let free = f.begin();
            lock(&f, &free, row, RowLockStrength::Update).expect("both are gone");
        }
    }
    assert!(f.engine.locks().is_empty());
}

#[test]
fn an_update_locks_the_row_and_a_key_update_conflicts_with_key_share() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = row_of(&f, 1);
    let (writer, reader) = (f.begin(), f.begin());
    f.set(&writer, 1, 11).expect("free");
    let locked = lock(&f, &reader, row, RowLockStrength::KeyShare).expect("no key was changed");
    let newest = locked.newest.expect("there");
    assert_eq!(f.value(&newest), 10, "what is locked is what was committed");
    ticket_of(lock(&f, &reader, row, RowLockStrength::Share));
    drop((writer, reader));
    let (writer, reader) = (f.begin(), f.begin());
    lock(&f, &reader, row, RowLockStrength::KeyShare).expect("free");
    f.set(&writer, 1, 12)
        .expect("a key share does not keep other columns from changing");
    let snapshot = writer.begin_statement(Access::Write);
    let seen = f.find(&writer, &snapshot, 1).expect("there");
    ticket_of(writer.update(&f.table, &seen, &f.row(2, 12)));
    ticket_of(writer.delete(&f.table, &seen));
}

#[test]
fn waiters_are_served_first_in_first_out_and_nobody_barges_in() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = row_of(&f, 1);
    let (holder, _) = f.session(1);
    lock(&f, &holder, row, RowLockStrength::Update).expect("free");
    let waiters: Vec<_> = (2..6).map(|session| f.session(session)).collect();
    let tickets: Vec<_> = waiters
        .iter()
        .map(|(transaction, _)| ticket_of(lock(&f, transaction, row, RowLockStrength::Update)))
        .collect();
    // Asking again keeps the place.
    assert_eq!(
        ticket_of(lock(&f, &waiters[2].0, row, RowLockStrength::Update)),
        tickets[2]
    );
    let (late, _) = f.session(9);
    holder.commit().expect("nothing to log");
    let mut previous: Option<Transaction> = None;
    for (number, (transaction, bell)) in waiters.into_iter().enumerate() {
        drop(previous.take());
        assert!(bell.has_rung(tickets[number]), "waiter {number} is next");
        late.begin_statement(Access::Write);
        let barging = late
            .lock_row(&f.table, row, None, RowLockStrength::KeyShare, WaitPolicy::NoWait)
            .map(|_| ());
        assert_eq!(barging, Err(WriteError::WouldBlock));
        lock(&f, &transaction, row, RowLockStrength::Update).expect("handed over");
        previous = Some(transaction);
    }
    drop(previous);
    lock(&f, &late, row, RowLockStrength::Update).expect("everybody is gone");
    drop(late);
    assert!(f.engine.locks().is_empty());
}

#[test]
fn a_sharer_overtakes_whoever_waits_for_sharers() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = row_of(&f, 1);
    let (first, _) = f.session(1);
    lock(&f, &first, row, RowLockStrength::Share).expect("free");
    let (writer, bell) = f.session(2);
    let ticket = ticket_of(lock(&f, &writer, row, RowLockStrength::Update));
    let (second, _) = f.session(3);
    lock(&f, &second, row, RowLockStrength::Share).expect("only holders count");
    drop(first);
    assert!(!bell.has_rung(ticket), "the second sharer still holds the row");
    drop(second);
    assert!(bell.has_rung(ticket));
}

#[test]
fn compatible_waiters_are_granted_together() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = row_of(&f, 1);
    let (holder, _) = f.session(1);
    f.set(&holder, 1, 11).expect("free");
    let (a, bell_a) = f.session(2);
    let (b, bell_b) = f.session(3);
    let (c, bell_c) = f.session(4);
    let ticket_a = ticket_of(lock(&f, &a, row, RowLockStrength::Share));
    let ticket_b = ticket_of(lock(&f, &b, row, RowLockStrength::Share));
    let ticket_c = ticket_of(lock(&f, &c, row, RowLockStrength::Update));
    holder.abort();
    assert!(bell_a.has_rung(ticket_a) && bell_b.has_rung(ticket_b) && !bell_c.has_rung(ticket_c));
    assert_eq!(
        f.value(
            &lock(&f, &a, row, RowLockStrength::Share)
                .expect("granted")
                .newest
                .expect("there")
        ),
        10
    );
    drop(a);
    assert!(!bell_c.has_rung(ticket_c));
    drop(b);
    assert!(bell_c.has_rung(ticket_c));
}

#[test]
fn a_cancelled_wait_leaves_the_queue() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = row_of(&f, 1);
    let (holder, _) = f.session(1);
    lock(&f, &holder, row, RowLockStrength::Update).expect("free");
    let (writer, writers_bell) = f.session(2);
    let (reader, bell) = f.session(3);
    let first = ticket_of(lock(&f, &writer, row, RowLockStrength::Update));
    let second = ticket_of(lock(&f, &reader, row, RowLockStrength::Share));
    writer.cancel_wait(first);
    assert!(!bell.has_rung(second), "the holder is still there");
    drop(holder);
    assert!(bell.has_rung(second) && !writers_bell.has_rung(first));
    lock(&f, &reader, row, RowLockStrength::Share).expect("granted");
}

#[test]
fn a_deadlock_has_exactly_one_victim_and_names_both() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let (a, bell) = f.session(1);
    let (b, _) = f.session(2);
    f.set(&a, 1, 11).expect("free");
    f.set(&b, 2, 21).expect("free");
    let ticket = ticket_of(f.set(&a, 2, 22));
    let Err(WriteError::Deadlock(report)) = f.set(&b, 1, 12) else {
        panic!("a cycle of two")
    };
    let sessions: Vec<_> = report
        .cycle
        .iter()
        .map(|edge| (edge.session, edge.blocked_by_session))
        .collect();
    assert_eq!(sessions, [(2, 1), (1, 2)]);
    assert!(matches!(report.cycle[0].tag, LockTag::Row(..)));
    assert!(!bell.has_rung(ticket));
    b.abort();
    assert!(bell.has_rung(ticket));
    f.set(&a, 2, 22).expect("handed over");
    a.commit().expect("logged");
    assert_eq!(f.contents(), [(1, 11), (2, 22)]);
}

#[test]
fn a_deadlock_through_keys_tables_and_advisory_locks_is_found() {
    let f = Fixture::new();
    let (a, _) = f.session(1);
    let (b, _) = f.session(2);
    let (c, _) = f.session(3);
    let key = AdvisoryKey {
        database: 1,
        key: 7,
        two_parts: false,
    };
    f.add(&a, 1, 0).expect("free");
    b.lock_table(
        f.table.id(),
        TableLockMode::ShareUpdateExclusive,
        WaitPolicy::Block,
    )
    .expect("free");
    c.lock_advisory(
        key,
        AdvisoryMode::Exclusive,
        AdvisoryScope::Session,
        WaitPolicy::Block,
    )
    .expect("free");
    ticket_of(f.add(&b, 1, 0));
    ticket_of(c.lock_table(f.table.id(), TableLockMode::Share, WaitPolicy::Block));
    let closing = a.lock_advisory(
        key,
        AdvisoryMode::Shared,
        AdvisoryScope::Transaction,
        WaitPolicy::Block,
    );
    let Err(WriteError::Deadlock(report)) = closing else {
        panic!("a cycle of three: {closing:?}")
    };
    assert_eq!(report.cycle.len(), 3);
    f.engine.release_session_locks(3, mote_common::Lsn::ZERO);
}

/// PostgreSQL's deadlock-soft.spec: d2 waits behind e1, e1 for d1, d1 behind e2, e2 for d2. Nobody has to fail.
#[test]
fn a_deadlock_of_queues_alone_is_untied_by_their_order() {
    let f = Fixture::new();
    let key = |key| AdvisoryKey {
        database: 1,
        key,
        two_parts: false,
    };
    let ask = |transaction: &Transaction, which, mode| {
        transaction.lock_advisory(key(which), mode, AdvisoryScope::Transaction, WaitPolicy::Block)
    };
    let (shared, exclusive) = (AdvisoryMode::Shared, AdvisoryMode::Exclusive);
    let (d1, bell_d1) = f.session(1);
    let (d2, bell_d2) = f.session(2);
    let (e1, bell_e1) = f.session(3);
    let (e2, bell_e2) = f.session(4);
    ask(&d1, 1, shared).expect("free");
    ask(&d2, 2, shared).expect("free");
    let ticket_e1 = ticket_of(ask(&e1, 1, exclusive));
    let ticket_e2 = ticket_of(ask(&e2, 2, exclusive));
    let ticket_d1 = ticket_of(ask(&d1, 2, shared));
    let ticket_d2 = ticket_of(ask(&d2, 1, shared));
    assert!(bell_d1.has_rung(ticket_d1), "d1 goes before e2, who waits for d2");
    assert!(!bell_d2.has_rung(ticket_d2));
    ask(&d1, 2, shared).expect("granted");
    drop(d1);
    assert!(bell_e1.has_rung(ticket_e1) && !bell_e2.has_rung(ticket_e2));
    drop(e1);
    assert!(bell_d2.has_rung(ticket_d2));
    drop(d2);
    assert!(bell_e2.has_rung(ticket_e2));
    drop(e2);
    assert!(f.engine.locks().is_empty());
}

/// PostgreSQL's deadlock-soft-2.spec: the newcomer has to pass two waiters, and is granted at once.
#[test]
fn whoever_would_close_a_soft_cycle_may_go_first() {
    let f = Fixture::new();
    let (one, two) = (TableId(900_001), TableId(900_002));
    let sessions: Vec<_> = (1..5).map(|session| f.session(session)).collect();
    let ask = |number: usize, table, mode| {
        let (transaction, _) = &sessions[number - 1];
        transaction.lock_table(table, mode, WaitPolicy::Block)
    };
    ask(1, one, TableLockMode::ShareUpdateExclusive).expect("free");
    ask(2, two, TableLockMode::AccessShare).expect("free");
    ticket_of(ask(2, one, TableLockMode::ShareUpdateExclusive));
    ticket_of(ask(3, two, TableLockMode::AccessExclusive));
    ticket_of(ask(4, two, TableLockMode::AccessExclusive));
    ask(1, two, TableLockMode::ShareUpdateExclusive).expect("passes both, who wait for the second session");
}

#[test]
fn rollback_to_gives_back_locks_and_weakens_strengthened_ones() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let (one, two) = (row_of(&f, 1), row_of(&f, 2));
    let (holder, _) = f.session(1);
    let (other, bell) = f.session(2);
    lock(&f, &holder, one, RowLockStrength::KeyShare).expect("free");
    let savepoint = holder.savepoint();
    lock(&f, &holder, one, RowLockStrength::Update).expect("ours");
    f.set(&holder, 2, 21).expect("free");
    holder
        .lock_table(f.table.id(), TableLockMode::Exclusive, WaitPolicy::Block)
        .expect("free");
    let ticket = ticket_of(lock(&f, &other, one, RowLockStrength::NoKeyUpdate));
    holder.rollback_to(savepoint);
    assert!(bell.has_rung(ticket), "a key share does not stand in the way");
    lock(&f, &other, one, RowLockStrength::NoKeyUpdate).expect("handed over");
    lock(&f, &other, two, RowLockStrength::Update).expect("given back");
    other
        .lock_table(f.table.id(), TableLockMode::RowExclusive, WaitPolicy::Block)
        .expect("given back");
    ticket_of(lock(&f, &other, one, RowLockStrength::Update));
}

#[test]
fn table_locks_conflict_also_across_the_fast_path() {
    let f = Fixture::new();
    let id = f.table.id();
    for held in TableLockMode::ALL {
        for wanted in TableLockMode::ALL {
            let (a, b) = (f.begin(), f.begin());
            a.lock_table(id, held, WaitPolicy::Block).expect("free");
            let outcome = b.lock_table(id, wanted, WaitPolicy::NoWait);
            let conflict = held.conflicts() & wanted.bit() != 0;
            assert_eq!(
                outcome,
                if conflict {
                    Err(WriteError::WouldBlock)
                } else {
                    Ok(())
                },
                "{held:?} {wanted:?}"
            );
            assert_eq!(f.engine.locks().len(), if conflict { 1 } else { 2 });
            drop((a, b));
            assert!(f.engine.locks().is_empty());
        }
    }
}

#[test]
fn a_strong_table_lock_waits_for_weak_ones_and_holds_back_later_ones() {
    let f = Fixture::new();
    let id = f.table.id();
    let (reader, _) = f.session(1);
    let (ddl, ddl_bell) = f.session(2);
    let (late, late_bell) = f.session(3);
    reader
        .lock_table(id, TableLockMode::AccessShare, WaitPolicy::Block)
        .expect("free");
    let strong = ticket_of(ddl.lock_table(id, TableLockMode::AccessExclusive, WaitPolicy::Block));
    let weak = ticket_of(late.lock_table(id, TableLockMode::AccessShare, WaitPolicy::Block));
    assert_eq!(f.engine.blockers(2), [(1, reader.id())]);
    reader.commit().expect("nothing to log");
    assert!(ddl_bell.has_rung(strong) && !late_bell.has_rung(weak));
    ddl.lock_table(id, TableLockMode::AccessExclusive, WaitPolicy::Block)
        .expect("handed over");
    ddl.abort();
    assert!(late_bell.has_rung(weak));
    late.lock_table(id, TableLockMode::AccessShare, WaitPolicy::Block)
        .expect("handed over");
}

#[test]
fn advisory_locks_count_per_session_and_outlive_transactions() {
    let f = Fixture::new();
    let key = AdvisoryKey {
        database: 1,
        key: 42,
        two_parts: false,
    };
    let take = |transaction: &Transaction, scope| {
        transaction.lock_advisory(key, AdvisoryMode::Exclusive, scope, WaitPolicy::NoWait)
    };
    let (first, _) = f.session(1);
    take(&first, AdvisoryScope::Session).expect("free");
    take(&first, AdvisoryScope::Session).expect("again");
    take(&first, AdvisoryScope::Transaction).expect("a session does not stand in its own way");
    first.commit().expect("nothing to log");
    let (other, _) = f.session(2);
    assert_eq!(
        take(&other, AdvisoryScope::Transaction),
        Err(WriteError::WouldBlock)
    );
    let (second, _) = f.session(1);
    assert!(second.unlock_advisory(key, AdvisoryMode::Exclusive));
    assert_eq!(
        take(&other, AdvisoryScope::Transaction),
        Err(WriteError::WouldBlock)
    );
    assert!(second.unlock_advisory(key, AdvisoryMode::Exclusive));
    assert!(!second.unlock_advisory(key, AdvisoryMode::Exclusive));
    take(&other, AdvisoryScope::Transaction).expect("free");
}

#[test]
fn who_waits_for_a_row_that_is_moved_is_told_so() {
    let f = Fixture::new();
    f.load([(1, 10), (2, 20)]);
    let (moved, deleted) = (row_of(&f, 1), row_of(&f, 2));
    let (mover, waiter) = (f.begin(), f.begin());
    let snapshot = mover.begin_statement(Access::Write);
    let seen = mover.fetch(&f.table, moved, &snapshot).expect("it is there");
    mover.delete_moved(&f.table, &seen).expect("free");
    let seen = mover.fetch(&f.table, deleted, &snapshot).expect("it is there");
    mover.delete(&f.table, &seen).expect("free");
    ticket_of(lock(&f, &waiter, moved, RowLockStrength::Share));
    drop(snapshot);
    mover.commit().expect("nothing is in the way");
    for (row, expected) in [(moved, true), (deleted, false)] {
        let locked = lock(&f, &waiter, row, RowLockStrength::Share).expect("nobody holds it");
        assert!(locked.newest.is_none());
        assert_eq!(locked.moved, expected);
    }
}

#[test]
fn lockers_are_waited_for_and_newcomers_are_not() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let id = f.table.id();
    let lock = |transaction: &Transaction, mode| transaction.lock_table(id, mode, WaitPolicy::Block);
    let (reader, writer, waiter) = (f.begin(), f.begin(), f.begin());
    lock(&reader, TableLockMode::AccessShare).expect("free");
    lock(&writer, TableLockMode::RowExclusive).expect("weak");
    lock(&waiter, TableLockMode::ShareUpdateExclusive).expect("no conflict");
    assert_eq!(
        waiter.lockers(id, TableLockMode::Share).count(),
        1,
        "writers only"
    );
    let mut all = waiter.lockers(id, TableLockMode::AccessExclusive);
    assert_eq!(all.count(), 2, "not itself");
    ticket_of(waiter.wait_for_lockers(&mut all));
    // Nobody is kept out meanwhile, and who comes now is not waited for.
    let newcomer = f.begin();
    lock(&newcomer, TableLockMode::RowExclusive).expect("nothing is in its way");
    drop(reader);
    drop(writer);
    waiter.wait_for_lockers(&mut all).expect("both are over");
    assert_eq!(all.count(), 0);
}

#[test]
fn a_prepared_locker_is_waited_for() {
    let f = Fixture::new();
    let id = f.table.id();
    let writer = f.begin();
    f.add(&writer, 1, 10).expect("free");
    writer
        .lock_table(id, TableLockMode::RowExclusive, WaitPolicy::Block)
        .expect("free");
    writer.prepare("held", &[]).expect("prepared");
    let waiter = f.begin();
    let mut lockers = waiter.lockers(id, TableLockMode::Share);
    ticket_of(waiter.wait_for_lockers(&mut lockers));
    let allowed = |_: crate::Undecided<'_>| Ok::<(), ()>(());
    f.engine
        .finish_prepared("held", false, None, allowed)
        .expect("there");
    waiter.wait_for_lockers(&mut lockers).expect("it is over");
}
