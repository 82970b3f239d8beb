//! Old versions, deleted rows and memory go when nobody can see them, and not before.

use super::*;
use mote_common::Lsn;

#[test]
fn chains_stay_short_whatever_is_updated_and_whoever_reads() {
    let f = Fixture::new();
    f.load([(1, 0)]);
    let row = f.primary.tree.get_first(&f.key(1)).expect("there");
    let mut readers: Vec<(Transaction, i64)> = Vec::new();
    for value in 1..2000 {
        let writer = f.begin();
        f.set(&writer, 1, value).expect("free");
        writer.commit().expect("logged");
        if value % 20 == 0 {
            f.engine.log().flush_step();
        }
        if value % 400 == 0 {
            let reader = f.begin_at(Isolation::RepeatableRead);
            assert_eq!(f.read(&reader, 1), Some(value));
            readers.push((reader, value));
        }
        // Between flushes each border of a block may become the next stable horizon.
        let horizons = f.engine.horizons();
        let borders = (horizons.tail.0.div_ceil(4096) - horizons.stable.0 / 4096) as usize;
        let (length, readers_now) = (f.chain_length(row), readers.len());
        assert!(
            length <= readers_now + borders + 4,
            "{length} versions, {readers_now} readers, {borders}"
        );
        if value % 20 == 1 {
            // Just flushed, as under threads: no more than the snapshots account for.
            assert!(
                length <= readers_now + 4,
                "{length} versions, {readers_now} readers"
            );
        }
        for (reader, seen) in &readers {
            assert_eq!(f.read(reader, 1), Some(*seen));
        }
    }
    drop(readers);
    f.settle();
    assert_eq!(f.chain_length(row), 1);
}

/// Says whom the engine asked.
#[derive(Default)]
struct Asked(Mutex<Vec<u32>>);

impl RevocationListener for Asked {
    fn revoked(&self, session: u32) {
        self.0.lock().push(session);
    }
}

#[test]
fn the_oldest_snapshot_is_revoked_when_memory_runs_out_and_no_other() {
    let f = Fixture::with(EngineConfig {
        memory_limit_bytes: 4 << 20,
        ..config()
    });
    let asked = Arc::new(Asked::default());
    f.engine.on_revocation(asked.clone());
    let snapshot_of = |session| {
        let options = BeginOptions {
            session,
            isolation: Isolation::RepeatableRead,
            ..BeginOptions::default()
        };
        let transaction = f.engine.begin_with(options).expect("a slot is free");
        transaction.begin_statement(Access::Write);
        transaction
    };
    let mut rows = 0;
    while f.engine.memory().used_bytes < f.engine.memory().limit_bytes * 45 / 100 {
        f.load((rows..rows + 500).map(|id| (id, 0)));
        rows += 500;
    }
    let mut sessions: Vec<Transaction> = Vec::new();
    let mut refused = 0;
    for round in 1..=4 {
        sessions.push(snapshot_of(round as u32));
        for first in (0..rows).step_by(500) {
            let writer = f.begin();
            let end = (first + 500).min(rows);
            let written = (first..end).try_for_each(|id| f.set(&writer, id, round));
            match written {
                Ok(()) => _ = writer.commit().expect("logged"),
                Err(WriteError::OutOfMemory) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
            f.engine.log().flush_step();
            f.engine.collect(100_000);
            // Asked once; until it lets go nobody else is asked.
            let revoked: Vec<bool> = sessions.iter().map(Transaction::is_revoked).collect();
            assert!(revoked.iter().skip(1).all(|revoked| !revoked), "{revoked:?}");
            if revoked.first() == Some(&true) {
                assert!(f.read(&sessions[0], 0).is_some(), "it reads until it lets go");
                sessions.remove(0).abort();
                f.settle();
            }
        }
    }
    let asked = asked.0.lock().clone();
    assert!(asked.len() >= 2, "{asked:?}");
    assert!(asked.is_sorted_by(|a, b| a < b), "oldest first: {asked:?}");
    assert_eq!(refused, 0, "writers went on");
}

#[test]
fn who_has_imported_a_revoked_snapshot_is_told_so() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let begin = |session| {
        let options = BeginOptions {
            session,
            isolation: Isolation::RepeatableRead,
            ..BeginOptions::default()
        };
        f.engine.begin_with(options).expect("a slot is free")
    };
    let (exporter, importer, other) = (begin(1), begin(2), begin(3));
    let snapshot = exporter.begin_statement(Access::Read);
    importer.import_snapshot(&snapshot);
    drop(snapshot);
    exporter.abort();
    f.load([(2, 20)]);
    other.begin_statement(Access::Read);
    assert_eq!(importer.snapshot().session(), 1, "under which it is registered");
    assert_eq!(f.engine.slots.revoke_oldest(Lsn::MAX), Some(1));
    assert!(importer.is_revoked() && !other.is_revoked());
    importer.abort();
    assert_eq!(f.engine.slots.revoke_oldest(Lsn::MAX), Some(3));
}

#[test]
fn memory_returns_to_its_baseline_after_churn() {
    let f = Fixture::new();
    f.load((0..100).map(|id| (id, 0)));
    f.settle();
    let used = |f: &Fixture| f.engine.memory().version_bytes;
    let baseline = used(&f);
    for round in 0..20 {
        f.load((1000..1500).map(|id| (id, round)));
        let writer = f.begin();
        for id in 0..100 {
            f.set(&writer, id, round).expect("free");
        }
        writer.commit().expect("logged");
        let loser = f.begin();
        for id in 2000..2100 {
            f.add(&loser, id, 0).expect("free");
        }
        loser.abort();
        let cleaner = f.begin();
        for id in 1000..1500 {
            f.remove(&cleaner, id).expect("free");
        }
        cleaner.commit().expect("logged");
        f.settle();
        assert_eq!(used(&f), baseline, "round {round}");
        assert_eq!(f.engine.collector_backlog(), 0);
        assert_eq!(f.primary.tree.len_estimate(), 100);
    }
    // Row ids were used again: the table did not grow beyond one round.
    assert!(f.table.segment_count() == 1);
    assert_eq!(f.table.row_count_estimate(), 100);
    f.primary.tree.check().expect("the tree is sound");
}

#[test]
fn a_deleted_row_stays_for_old_snapshots_and_its_id_is_not_reused_before() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let row = f.primary.tree.get_first(&f.key(1)).expect("there");
    let reader = f.begin_at(Isolation::RepeatableRead);
    assert_eq!(f.read(&reader, 1), Some(10));
    let cleaner = f.begin();
    f.remove(&cleaner, 1).expect("free");
    cleaner.commit().expect("logged");
    f.settle();
    assert_eq!(f.read(&reader, 1), Some(10));
    let writer = f.begin();
    assert_ne!(f.add(&writer, 2, 20), Ok(row));
    writer.commit().expect("logged");
    drop(reader);
    f.settle();
    assert_eq!(f.primary.tree.get_first(&f.key(1)), None);
    let writer = f.begin();
    // Behind the ids that nobody has had.
    let reused = (3..2_000).any(|id| f.add(&writer, id, 0) == Ok(row));
    assert!(reused);
}

#[test]
fn a_deleted_row_with_changed_keys_leaves_no_entry_behind() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let holder = f.begin_at(Isolation::RepeatableRead);
    holder.begin_statement(Access::Write);
    for (from, to) in [(1, 2), (2, 3)] {
        let writer = f.begin();
        let snapshot = writer.begin_statement(Access::Write);
        let seen = f.find(&writer, &snapshot, from).expect("there");
        writer.update(&f.table, &seen, &f.row(to, 10)).expect("free");
        drop(snapshot);
        writer.commit().expect("logged");
    }
    let cleaner = f.begin();
    f.remove(&cleaner, 3).expect("free");
    cleaner.commit().expect("logged");
    f.settle();
    drop(holder);
    f.settle();
    assert_eq!(f.primary.tree.len_estimate(), 0);
    assert!(f.table.is_empty());
}

#[test]
fn at_the_limit_writes_are_refused_and_deletes_and_rollback_still_run() {
    let f = Fixture::with(EngineConfig {
        memory_limit_bytes: 2 << 20,
        ..config()
    });
    let writer = f.begin();
    let mut id = 0;
    let refused = loop {
        match f.add(&writer, id, 0) {
            Ok(_) => id += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, WriteError::OutOfMemory);
    assert!(id > 5000, "{id} rows");
    for id in 0..100 {
        f.remove(&writer, id).expect("from the reserve");
    }
    writer.abort();
    f.settle();
    assert_eq!(f.engine.memory().version_bytes / 4096, 0);
    f.load([(1, 1)]);
}

#[test]
fn snapshots_beyond_the_exact_ones_still_protect() {
    let f = Fixture::new();
    f.load([(1, 0)]);
    let reader = f.begin();
    let mut snapshots = Vec::new();
    for value in 1..20 {
        let snapshot = reader.begin_statement(Access::Write);
        assert_eq!(
            f.find(&reader, &snapshot, 1).map(|row| f.value(&row)),
            Some(value - 1)
        );
        snapshots.push(snapshot);
        let writer = f.begin();
        f.set(&writer, 1, value).expect("free");
        writer.commit().expect("logged");
        f.settle();
    }
    for (value, snapshot) in snapshots.iter().enumerate() {
        assert_eq!(
            f.find(&reader, snapshot, 1).map(|row| f.value(&row)),
            Some(value as i64)
        );
    }
    reader.commit().expect("nothing to log");
    // They outlive their transaction without losing what they see.
    f.settle();
    let other = f.begin();
    assert_eq!(f.find(&other, &snapshots[7], 1).map(|row| f.value(&row)), Some(7));
    drop(snapshots);
    f.settle();
    let row = f.primary.tree.get_first(&f.key(1)).expect("there");
    assert_eq!(f.chain_length(row), 1);
}
