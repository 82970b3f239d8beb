//! Transactions under the model checker: the commit step, the queues of locks, unique keys, pruning. The real code, in
//! schedules that a seed chooses (`sync`); `make model-check` runs them.

use super::*;
use crate::lock::{
    AdvisoryKey, AdvisoryMode, AdvisoryScope, LockTag, RowLockStrength, TableLockMode, WaitPolicy,
};
use crate::slots::slot::SnapshotEntry;
use mote_common::Lsn;
use mote_common::sync::model::{explore, in_one_step, spawn};
// The tests' own: no steps.
use parking_lot::Mutex as Record;

const ACCOUNTS: i32 = 3;
const BALANCE: i64 = 100;

fn bank() -> Arc<Fixture> {
    in_one_step(|| {
        let fixture = Fixture::with(super::prepared::mortal());
        fixture.load((0..ACCOUNTS).map(|id| (id, BALANCE)));
        Arc::new(fixture)
    })
}

/// Calls again until nobody is in the way; a deadlock is answered to the caller.
fn patiently<T>(bell: &Bell, mut request: impl FnMut() -> Result<T, WriteError>) -> Result<T, WriteError> {
    loop {
        match request() {
            Err(WriteError::MustWait(ticket)) => bell.wait(ticket),
            decided => return decided,
        }
    }
}

/// UPDATE .. SET value = value + by WHERE id = id, at READ COMMITTED.
fn change(f: &Fixture, transaction: &Transaction, bell: &Bell, id: i32, by: i64) -> Result<(), WriteError> {
    let snapshot = transaction.begin_statement(Access::Write);
    let seen = f.find(transaction, &snapshot, id).expect("accounts stay");
    let locked = patiently(bell, || {
        transaction.lock_row(
            &f.table,
            seen.row(),
            Some(&seen),
            RowLockStrength::NoKeyUpdate,
            WaitPolicy::Block,
        )
    })?;
    let newest = locked.newest.expect("accounts stay");
    let row = f.row(id, f.value(&newest) + by);
    transaction.update(&f.table, &newest, &row)
}

fn transfer(f: &Fixture, session: u32, from: i32, to: i32) {
    let (transaction, bell) = f.session(session);
    let done = change(f, &transaction, &bell, from, -1).and_then(|()| change(f, &transaction, &bell, to, 1));
    match done {
        Ok(()) => _ = transaction.commit().expect("the log takes it"),
        Err(WriteError::Deadlock(_)) => _ = transaction.abort(),
        Err(error) => panic!("a transfer cannot fail: {error:?}"),
    }
}

/// Transfers in opposite directions, a reader, and who flushes and collects beside them.
#[test]
fn money_is_neither_made_nor_lost() {
    explore(400, || {
        let f = bank();
        let mut threads = Vec::new();
        for (session, from, to) in [(1, 0, 1), (2, 1, 0), (3, 1, 2)] {
            let f = f.clone();
            threads.push(spawn(move || transfer(&f, session, from, to)));
        }
        let reader = f.clone();
        threads.push(spawn(move || {
            let transaction = reader.begin();
            let snapshot = transaction.begin_statement(Access::Write);
            let sum = || {
                (0..ACCOUNTS)
                    .map(|id| reader.find(&transaction, &snapshot, id))
                    .map(|row| reader.value(&row.expect("accounts stay")))
            };
            assert_eq!(sum().sum::<i64>(), ACCOUNTS as i64 * BALANCE);
            assert_eq!(sum().sum::<i64>(), ACCOUNTS as i64 * BALANCE);
        }));
        let background = f.clone();
        threads.push(spawn(move || {
            background.engine.log().flush_step();
            background.engine.collect(100);
        }));
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        let contents = f.contents();
        assert_eq!(
            contents.iter().map(|(_, value)| value).sum::<i64>(),
            ACCOUNTS as i64 * BALANCE
        );
        assert!(f.engine.locks().is_empty());
    });
}

/// A snapshot sees a commit if and only if the commit's timestamp is not above its own, and goes on seeing the same.
#[test]
fn what_is_visible_is_what_the_log_says() {
    explore(600, || {
        let f = bank();
        let committed: Arc<Record<Vec<(i32, Lsn)>>> = Arc::default();
        let seen: Arc<Record<Vec<(Lsn, Vec<i32>)>>> = Arc::default();
        let mut threads = Vec::new();
        for id in 0..2 {
            let (f, committed) = (f.clone(), committed.clone());
            threads.push(spawn(move || {
                let transaction = f.begin();
                f.set(&transaction, id, BALANCE + 1).expect("a row of its own");
                let receipt = transaction.commit().expect("the log takes it");
                committed.lock().push((id, receipt.commit_ts.expect("it wrote")));
            }));
        }
        for _ in 0..2 {
            let (f, seen) = (f.clone(), seen.clone());
            threads.push(spawn(move || {
                let transaction = f.begin();
                let snapshot = transaction.begin_statement(Access::Write);
                let look = || {
                    let changed = (0..2).filter(|&id| {
                        let row = f.find(&transaction, &snapshot, id).expect("rows stay");
                        f.value(&row) != BALANCE
                    });
                    changed.collect::<Vec<i32>>()
                };
                let first = look();
                assert_eq!(first, look());
                seen.lock().push((snapshot.timestamp(), first));
            }));
        }
        let background = f.clone();
        threads.push(spawn(move || _ = background.engine.collect(100)));
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        let committed = committed.lock();
        for (at, seen) in seen.lock().iter() {
            for (id, ts) in committed.iter() {
                assert_eq!(seen.contains(id), ts <= at, "row {id} of {ts:?}, snapshot {at:?}");
            }
        }
    });
}

/// Nothing is acknowledged as durable that a crash would take.
#[test]
fn what_the_stable_horizon_has_passed_survives() {
    explore(200, || {
        let f = bank();
        let mut threads = Vec::new();
        for id in 0..2 {
            let f = f.clone();
            threads.push(spawn(move || {
                let transaction = f.begin();
                f.set(&transaction, id, BALANCE + 1).expect("a row of its own");
                let receipt = transaction.commit().expect("the log takes it");
                f.engine.log().horizons().stable >= receipt.gate()
            }));
        }
        let background = f.clone();
        let flusher = spawn(move || {
            background.engine.log().flush_step();
            background.engine.log().flush_step();
        });
        let stable: Vec<bool> = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect();
        flusher.join().expect("no panic");
        in_one_step(|| {
            let f = Arc::into_inner(f).expect("the threads are gone");
            for (id, value) in super::prepared::crash(f).contents() {
                let promised = usize::try_from(id).is_ok_and(|id| stable.get(id) == Some(&true));
                assert!(!promised || value == BALANCE + 1, "row {id} was durable");
            }
        });
    });
}

/// Of several that insert one key, one commits; the others learn of it, whatever the order.
#[test]
fn one_of_equal_keys_wins() {
    explore(400, || {
        let f = bank();
        let winners: Arc<Record<u32>> = Arc::default();
        let threads = [1, 2, 3].map(|session| {
            let (f, winners) = (f.clone(), winners.clone());
            spawn(move || {
                let (transaction, bell) = f.session(session);
                transaction.begin_statement(Access::Write);
                let row = f.row(77, session.into());
                match patiently(&bell, || transaction.insert(&f.table, &row)) {
                    Ok(_) if session == 3 => _ = transaction.abort(),
                    Ok(_) => {
                        transaction.commit().expect("the log takes it");
                        *winners.lock() += 1;
                    }
                    Err(WriteError::Duplicate { .. }) => _ = transaction.abort(),
                    Err(error) => panic!("an insert cannot fail so: {error:?}"),
                }
            })
        });
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(*winners.lock(), 1);
        assert_eq!(f.contents().iter().filter(|(id, _)| *id == 77).count(), 1);
    });
}

/// Table locks, strong and weak, by the lock table and past it: who conflicts is never inside at once, and nobody is
/// forgotten in a queue (who waits for ever exceeds the checker's steps).
#[test]
fn locks_exclude_each_other_and_wake_everybody() {
    const WISHES: [[TableLockMode; 2]; 3] = [
        [TableLockMode::RowExclusive, TableLockMode::AccessShare],
        [TableLockMode::ShareRowExclusive, TableLockMode::RowExclusive],
        [TableLockMode::RowExclusive, TableLockMode::AccessExclusive],
    ];
    explore(600, || {
        let f = bank();
        let inside: Arc<Record<Vec<(usize, TableLockMode)>>> = Arc::default();
        let threads = [0, 1, 2].map(|number| {
            let (f, inside) = (f.clone(), inside.clone());
            spawn(move || {
                for mode in WISHES[number] {
                    let (transaction, bell) = f.session(number as u32 + 1);
                    patiently(&bell, || {
                        transaction.lock_table(f.table.id(), mode, WaitPolicy::Block)
                    })
                    .expect("one lock each: no deadlock");
                    for (other, held) in inside.lock().iter() {
                        assert!(
                            held.bit() & mode.conflicts() == 0,
                            "{number} {mode:?}, {other} {held:?}"
                        );
                    }
                    inside.lock().push((number, mode));
                    mote_common::sync::thread::yield_now();
                    inside.lock().retain(|(owner, _)| *owner != number);
                    transaction.commit().expect("nothing to log");
                }
            })
        });
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        let left: Vec<LockTag> = f.engine.locks().iter().map(|lock| lock.tag).collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

/// Row locks move from the version into the lock table when they are contended; nobody slips in between.
#[test]
fn row_locks_are_handed_over_one_by_one() {
    use crate::lock::RowLockStrength::*;
    explore(600, || {
        let f = bank();
        let row = in_one_step(|| f.primary.tree.get_first(&f.key(0)).expect("loaded"));
        let inside: Arc<Record<Vec<(u32, RowLockStrength)>>> = Arc::default();
        let threads = [(1, Update), (2, KeyShare), (3, NoKeyUpdate)].map(|(session, strength)| {
            let (f, inside) = (f.clone(), inside.clone());
            spawn(move || {
                let (transaction, bell) = f.session(session);
                transaction.begin_statement(Access::Write);
                let lock = || {
                    transaction
                        .lock_row(&f.table, row, None, strength, WaitPolicy::Block)
                        .map(drop)
                };
                patiently(&bell, lock).expect("one lock each: no deadlock");
                for (other, held) in inside.lock().iter() {
                    assert!(
                        !held.conflicts_with(strength),
                        "{session} {strength:?}, {other} {held:?}"
                    );
                }
                inside.lock().push((session, strength));
                mote_common::sync::thread::yield_now();
                inside.lock().retain(|(owner, _)| *owner != session);
                transaction.commit().expect("nothing to log");
            })
        });
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        assert!(f.engine.locks().is_empty());
    });
}

/// UPDATE .. SET value = value + 1 WHERE id = id, at SERIALIZABLE, in a statement that begins again where it may.
fn increment(f: &Fixture, transaction: &Transaction, bell: &Bell, id: i32) -> Result<(), WriteError> {
    loop {
        let start = transaction.statement_start().expect("it notes its reads");
        let attempt = || {
            let snapshot = transaction.begin_statement(Access::Write);
            let seen = f.find(transaction, &snapshot, id).expect("accounts stay");
            transaction.update(&f.table, &seen, &f.row(id, f.value(&seen) + 1))
        };
        match patiently(bell, attempt) {
            Err(WriteError::Serialization) if transaction.take_later_snapshot(&start) => {}
            decided => return decided,
        }
    }
}

/// Serializable transactions that read one account's value and increment another: no increment is lost, and the last
/// committed one has seen the account it read as it ends.
#[test]
fn later_snapshots_lose_no_increment_and_no_read() {
    explore(400, || {
        let f = bank();
        let commits: Arc<Record<Vec<(Lsn, i32, i32, i64)>>> = Arc::default();
        let mut threads = Vec::new();
        for (session, read, written) in [(1, 0, 1), (2, 1, 1), (3, 1, 0)] {
            let (f, commits) = (f.clone(), commits.clone());
            threads.push(spawn(move || {
                let options = BeginOptions {
                    isolation: Isolation::Serializable,
                    session,
                    ..BeginOptions::default()
                };
                let transaction = f.engine.begin_with(options).expect("a slot is free");
                let bell = Arc::new(Bell::default());
                transaction.set_wake(bell.clone());
                let value = f.read(&transaction, read).expect("accounts stay");
                match increment(&f, &transaction, &bell, written) {
                    Ok(()) => {
                        if let Ok(receipt) = transaction.commit() {
                            let ts = receipt.commit_ts.expect("it wrote");
                            commits.lock().push((ts, read, written, value));
                        }
                    }
                    Err(WriteError::Serialization | WriteError::ReadConflict | WriteError::Deadlock(_)) => {
                        transaction.abort();
                    }
                    Err(error) => panic!("an increment answered {error:?}"),
                }
            }));
        }
        let collector = f.clone();
        threads.push(spawn(move || {
            collector.engine.log().flush_step();
            collector.engine.collect(100);
        }));
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        let mut commits = std::mem::take(&mut *commits.lock());
        commits.sort();
        let mut model = [BALANCE; ACCOUNTS as usize];
        for (_, read, written, value) in commits {
            assert_eq!(model[read as usize], value, "what was read holds at the commit");
            model[written as usize] += 1;
        }
        let expected: Vec<(i32, i64)> = (0..).zip(model).collect();
        assert_eq!(f.contents(), expected);
    });
}

/// How a transaction keeps others out while it counts.
#[derive(Clone, Copy)]
enum Exclusion {
    Table,
    Key,
    /// The lock of another row.
    Guard,
}

/// Reads with a plain statement under the lock, and writes what it read and one more.
fn count_under(f: &Fixture, session: u32, exclusion: Exclusion) {
    let (transaction, bell) = f.session(session);
    transaction.begin_statement(Access::Write);
    let locked = patiently(&bell, || match exclusion {
        Exclusion::Table => transaction.lock_table(f.table.id(), TableLockMode::Exclusive, WaitPolicy::Block),
        Exclusion::Key => transaction.lock_advisory(
            AdvisoryKey {
                database: 1,
                key: 42,
                two_parts: false,
            },
            AdvisoryMode::Exclusive,
            AdvisoryScope::Transaction,
            WaitPolicy::Block,
        ),
        Exclusion::Guard => {
            let guard = f.primary.tree.get_first(&f.key(0)).expect("accounts stay");
            let locked =
                transaction.lock_row(&f.table, guard, None, RowLockStrength::Update, WaitPolicy::Block);
            locked.map(|_| ())
        }
    });
    locked.expect("one lock each");
    let snapshot = transaction.begin_statement(Access::Read);
    let value = f.value(&f.find(&transaction, &snapshot, 1).expect("accounts stay"));
    drop(snapshot);
    f.set(&transaction, 1, value + 1).expect("others are kept out");
    transaction.commit().expect("the log takes it");
}

/// Who gets a lock sees, in a plain read, the commits of all who had it before.
#[test]
fn counters_under_locks_lose_nothing() {
    for exclusion in [Exclusion::Table, Exclusion::Key, Exclusion::Guard] {
        explore(200, move || {
            let f = bank();
            let mut threads: Vec<_> = (1..4)
                .map(|session| {
                    let f = f.clone();
                    spawn(move || count_under(&f, session, exclusion))
                })
                .collect();
            let flusher = f.clone();
            threads.push(spawn(move || _ = flusher.engine.log().flush_step()));
            threads
                .into_iter()
                .for_each(|thread| thread.join().expect("no panic"));
            assert_eq!(f.contents()[1], (1, BALANCE + 3));
        });
    }
}

/// A weak lock on a table that was locked strongly when its asker began: granted with or without a wait, it tells of
/// the strong holder's commit. And a strong lock tells of the weak holders' before it.
#[test]
fn weak_and_strong_table_locks_tell_each_other() {
    explore(600, || {
        let f = bank();
        let table = f.table.id();
        let (holder, _) = in_one_step(|| {
            let session = f.session(1);
            session
                .0
                .lock_table(table, TableLockMode::AccessExclusive, WaitPolicy::Block)
                .expect("free");
            session
        });
        let strong = f.clone();
        let mut threads = vec![spawn(move || {
            strong.set(&holder, 1, 7).expect("others are kept out");
            holder.commit().expect("the log takes it");
        })];
        let reader = f.clone();
        threads.push(spawn(move || {
            let (transaction, bell) = reader.session(2);
            let lock = || transaction.lock_table(table, TableLockMode::AccessShare, WaitPolicy::Block);
            patiently(&bell, lock).expect("one lock each");
            let snapshot = transaction.begin_statement(Access::Read);
            let version = reader.find(&transaction, &snapshot, 1).expect("accounts stay");
            assert_eq!(reader.value(&version), 7);
        }));
        let writer = f.clone();
        threads.push(spawn(move || {
            let (transaction, bell) = writer.session(3);
            let lock = || transaction.lock_table(table, TableLockMode::RowExclusive, WaitPolicy::Block);
            patiently(&bell, lock).expect("one lock each");
            writer.set(&transaction, 2, 9).expect("nobody else writes it");
            transaction.commit().expect("the log takes it");
        }));
        let counter = f.clone();
        threads.push(spawn(move || {
            let (transaction, bell) = counter.session(4);
            let lock = || transaction.lock_table(table, TableLockMode::Exclusive, WaitPolicy::Block);
            patiently(&bell, lock).expect("one lock each");
            let plain = {
                let snapshot = transaction.begin_statement(Access::Read);
                counter.value(&counter.find(&transaction, &snapshot, 2).expect("accounts stay"))
            };
            assert_eq!(counter.read(&transaction, 2), Some(plain), "no writer is left");
        }));
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        assert!(f.engine.locks().is_empty());
    });
}

/// The last clone of the shared entry goes on another thread while its session registers another snapshot there.
#[test]
fn who_joins_an_entry_is_registered() {
    explore(600, || {
        let entry = Arc::new(SnapshotEntry::default());
        entry.join(Lsn(5));
        let clone = entry.clone();
        let other = spawn(move || clone.release_joinable());
        entry.join(Lsn(7));
        assert!(
            entry
                .kept()
                .is_some_and(|(from, is_range)| is_range && from <= Lsn(7))
        );
        other.join().expect("no panic");
        assert!(entry.kept().is_some());
        entry.release_joinable();
        assert!(entry.is_free() && entry.kept().is_none());
    });
}

#[test]
fn clones_that_go_together_leave_nothing_behind() {
    explore(600, || {
        let entry = Arc::new(SnapshotEntry::default());
        entry.announce(Lsn(5));
        entry.begin();
        entry.acquire();
        let threads = [(); 2].map(|()| {
            let entry = entry.clone();
            spawn(move || entry.release())
        });
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert!(entry.is_free() && entry.kept().is_none());
    });
}
