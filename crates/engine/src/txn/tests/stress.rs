//! Many threads, one truth: what must hold whatever the interleaving.

use super::*;
use crate::lock::{RowLockStrength, WaitPolicy};
use mote_common::prng::Prng;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ACCOUNTS: i32 = 24;
const START: i64 = 1000;

/// Changes an account by `amount` as READ COMMITTED does: wait, lock the newest version, go on from that.
fn change(
    f: &Fixture,
    transaction: &Transaction,
    bell: &Bell,
    id: i32,
    amount: i64,
) -> Result<(), WriteError> {
    let snapshot = transaction.begin_statement(Access::Write);
    let Some(seen) = f.find(transaction, &snapshot, id) else {
        return Err(WriteError::Deleted);
    };
    loop {
        let locked = transaction.lock_row(
            &f.table,
            seen.row(),
            Some(&seen),
            RowLockStrength::NoKeyUpdate,
            WaitPolicy::Block,
        );
        match locked {
            Ok(locked) => {
                let newest = locked.newest.ok_or(WriteError::Deleted)?;
                let value = f.value(&newest);
                return transaction.update(&f.table, &newest, &f.row(id, value + amount));
            }
            Err(WriteError::MustWait(ticket)) => bell.wait(ticket),
            Err(error) => return Err(error),
        }
    }
}

#[test]
fn transfers_between_accounts_keep_the_sum() {
    let f = Fixture::new();
    f.engine.start_background().expect("threads start");
    f.load((0..ACCOUNTS).map(|id| (id, START)));
    let (done, victims, committed) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let f = &f;
        let reader = {
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let contents = f.contents();
                    assert_eq!(contents.len(), ACCOUNTS as usize);
                    assert_eq!(
                        contents.iter().map(|(_, value)| value).sum::<i64>(),
                        START * ACCOUNTS as i64
                    );
                }
            })
        };
        let writers: Vec<_> = (0..4u32)
            .map(|thread| {
                let (victims, committed) = (&victims, &committed);
                scope.spawn(move || {
                    let mut prng = Prng::fork(77, thread as u64);
                    for _ in 0..1500 {
                        let (transaction, bell) = f.session(thread + 1);
                        let from = prng.below(ACCOUNTS as u64) as i32;
                        let to = (from + 1 + prng.below(ACCOUNTS as u64 - 1) as i32) % ACCOUNTS;
                        let moved = change(f, &transaction, &bell, from, -7)
                            .and_then(|()| change(f, &transaction, &bell, to, 7));
                        match moved {
                            Ok(()) if prng.chance(1, 10) => _ = transaction.abort(),
                            Ok(()) => {
                                transaction.commit().expect("logged");
                                committed.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(WriteError::Deadlock(_)) => {
                                victims.fetch_add(1, Ordering::Relaxed);
                                transaction.abort();
                            }
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                })
            })
            .collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().expect("no panic in a writer"));
        done.store(true, Ordering::Relaxed);
        reader.join().expect("no panic in the reader");
    });
    assert!(committed.load(Ordering::Relaxed) > 3000);
    assert!(f.engine.locks().is_empty(), "{:?}", f.engine.locks());
    f.engine.stop();
    let (id, index, disk) = (f.table.id(), f.primary.id, f.disk.clone());
    let before = f.contents_of_stopped();
    drop(f);
    let engine = open(&disk);
    let table = engine.table(id).expect("recovered");
    let primary = table.index(index).expect("loaded");
    let f = Fixture {
        engine,
        table,
        primary,
        disk,
    };
    assert_eq!(f.contents(), before);
}

#[test]
fn keys_inserted_moved_and_deleted_by_many_threads_stay_unique() {
    let f = Fixture::new();
    f.engine.start_background().expect("threads start");
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let f = &f;
            scope.spawn(move || {
                let mut prng = Prng::fork(99, thread as u64);
                for _ in 0..2000 {
                    let (transaction, bell) = f.session(thread + 1);
                    let id = prng.below(40) as i32;
                    let to = prng.below(40) as i32;
                    let kind = prng.below(3);
                    let result = loop {
                        let result = match kind {
                            0 => f.add(&transaction, id, 0).map(|_| ()),
                            1 => f.remove(&transaction, id),
                            _ => {
                                let snapshot = transaction.begin_statement(Access::Write);
                                match f.find(&transaction, &snapshot, id) {
                                    None => Ok(()),
                                    Some(seen) => transaction.update(&f.table, &seen, &f.row(to, 0)),
                                }
                            }
                        };
                        match result {
                            Err(WriteError::MustWait(ticket)) => bell.wait(ticket),
                            result => break result,
                        }
                    };
                    match result {
                        Ok(()) if prng.chance(1, 5) => _ = transaction.abort(),
                        Ok(()) => _ = transaction.commit().expect("logged"),
                        Err(
                            WriteError::Duplicate { .. }
                            | WriteError::Deleted
                            | WriteError::Changed
                            | WriteError::Deadlock(_),
                        ) => _ = transaction.abort(),
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
    let contents = f.contents();
    let mut keys: Vec<i32> = contents.iter().map(|&(id, _)| id).collect();
    keys.dedup();
    assert_eq!(keys.len(), contents.len(), "a key is there twice");
    assert!(f.engine.locks().is_empty());
    f.engine.stop();
    f.settle();
    assert_eq!(f.primary.tree.len_estimate(), contents.len());
    f.primary.tree.check().expect("the tree is sound");
}

impl Fixture {
    /// What the table holds, read past the transaction layer of a stopped engine.
    fn contents_of_stopped(&self) -> Vec<(i32, i64)> {
        let mut contents = Vec::new();
        for segment in 0..self.table.segment_count() {
            let table: &dyn crate::checkpoint::TableSource = &*self.table;
            table.visit_segment(segment, mote_common::Lsn::MAX, &mut |image| {
                let view = self.table.view(image.layout, image.bytes);
                contents.push((view.fixed4(0) as i32, view.fixed8(1) as i64));
            });
        }
        contents.sort_unstable();
        contents
    }
}
