//! Recovery of tables that are large enough to be worth several threads: the same with one and with many.

use super::*;
use crate::slots::slot::SlotTable;
use mote_common::prng::Prng;

/// Everything in an index, in order.
fn entries(index: &TableIndex) -> Vec<(Vec<u8>, RowId)> {
    index.tree.check().expect("the tree is sound");
    let mut cursor = index.tree.cursor(KeyRange::all(), Direction::Forward);
    let mut entries = Vec::new();
    while let Some((key, row)) = cursor.next(&index.tree) {
        entries.push((key.to_vec(), row));
    }
    entries
}

/// Texts that differ early, late, in length alone, or not at all; with zeros, which keys escape.
fn text(prng: &mut Prng) -> Vec<u8> {
    let mut text = match prng.below(4) {
        0 => Vec::new(),
        1 => vec![0; prng.below(20) as usize],
        2 => b"the same beginning of more than sixteen bytes ".to_vec(),
        _ => vec![b'a' + prng.below(3) as u8; prng.below(40) as usize],
    };
    text.extend((0..prng.below(4)).map(|_| prng.below(3) as u8));
    text
}

#[test]
fn threads_change_nothing() {
    let seed = 11;
    let mut prng = Prng::new(seed);
    let f = Fixture::new();
    let transaction = f.begin();
    transaction.begin_statement(Access::Write);
    for column in [(2, KeyClass::Variable), (1, KeyClass::Signed8)] {
        let mut definition = index_on(&f.table, column.0, column.1, false);
        definition.columns[0].nullable = column.0 == 2;
        let mut build = transaction.create_index(&definition).expect("made");
        assert_eq!(transaction.build_index(&mut build, 1000), Ok(BuildProgress::Done));
    }
    transaction.commit().expect("logged");
    let (mut writer, mut id) = (RowWriter::new(f.table.newest_layout()), 0);
    for _ in 0..30 {
        let transaction = f.begin();
        transaction.begin_statement(Access::Write);
        for _ in 0..1_000 {
            // Keys that do not come in row-id order.
            id += 1;
            writer.clear();
            writer.set_fixed4(0, (id as u32).wrapping_mul(0x9e37_79b1) >> 1);
            writer.set_fixed8(1, prng.below(50));
            match prng.below(10) {
                0 => writer.set_null(2),
                _ => writer.set_variable(2, &text(&mut prng)),
            }
            let row = writer.finish().expect("small");
            // The odd duplicate of the scrambled number is no matter.
            let _ = transaction.insert(&f.table, row);
        }
        transaction.commit().expect("logged");
        f.engine.log().flush_step();
        f.engine.log().prepare_step();
    }
    // Half of it in images, half in the log: a checkpoint between two kinds of changes.
    f.engine.checkpoint().expect("the disk takes it");
    let contents = f.contents();
    let transaction = f.begin();
    for (id, value) in contents.iter().step_by(7) {
        if value % 2 == 0 {
            f.remove(&transaction, *id).expect("free");
        } else {
            f.set(&transaction, *id, value + 1000).expect("free");
        }
    }
    transaction.commit().expect("logged");
    f.settle();
    let (contents, table, disk) = (f.contents(), f.table.id(), f.disk.clone());
    assert!(contents.len() > 20_000, "{}", contents.len());
    let before: Vec<_> = f.table.indexes().iter().map(|index| entries(index)).collect();
    f.engine.stop();
    drop(f);
    for threads in [1, 2, 5] {
        let config = EngineConfig {
            recovery_threads: threads,
            ..config()
        };
        let engine = open_with(&disk, config);
        let stats = engine.recovery_stats();
        assert!(stats.image_rows > 20_000 && stats.operations > 1_000, "{stats:?}");
        let table = engine.table(table).expect("recovered");
        let mut indexes = table.indexes();
        indexes.sort_by_key(|index| index.id);
        for (index, before) in indexes.iter().zip(&before) {
            assert!(entries(index) == *before, "{threads} threads, seed {seed}");
        }
        let f = Fixture {
            primary: indexes[0].clone(),
            table,
            engine,
            disk: disk.clone(),
        };
        assert!(f.contents() == contents, "{threads} threads, seed {seed}");
        assert_eq!(f.table.row_count_estimate(), contents.len() as u64);
        // Row ids of rows that are gone are given out again, and those of others are not.
        let transaction = f.begin();
        f.add(&transaction, -1, 1).expect("free");
        transaction.abort();
        f.engine.stop();
    }
}

#[test]
fn a_start_that_fails_hands_its_slots_on() {
    // As many as no other test has.
    let config = EngineConfig {
        transactions_max: 64 * 91,
        ..config()
    };
    let slots = config.transactions_max;
    let disk = SimDisk::new(1);
    drop(open_with(&disk, config.clone()));
    assert_eq!(SlotTable::retired(slots), 1);
    disk.flip_bit("MANIFEST", 0, 0);
    for _ in 0..3 {
        let (world, _) = env(&disk, 1);
        assert!(Engine::open(world, config.clone(), Arc::new(HalfOfEven)).is_err());
        assert_eq!(SlotTable::retired(slots), 1);
    }
}
