//! What writes of a published table leave for subscribers, and that a restart steps over it.

use super::prepared::{crash, mortal};
use super::prepared_objects::widen;
use super::*;
use mote_common::{Lsn, Oid, TableId};
use mote_log::FrameKind;
use mote_log::range::LogRanges;
use mote_log::record::{CommitHeader, Malformed, Operation, OperationStream};
use mote_log::stream::FrameStream;
use mote_log::told::{Told as Operations, ToldRelation, ToldView};

fn told(f: &Fixture, old: OldRow) -> Arc<Told> {
    Arc::new(Told {
        views: vec![ToldView {
            oid: Oid(16400),
            name: format!("t{}", f.table.id().0),
            ..ToldView::default()
        }],
        old,
    })
}

fn update(f: &Fixture, transaction: &Transaction, told: &Arc<Told>, id: i32, to: (i32, i64)) {
    let snapshot = transaction.begin_statement(Access::Write);
    let version = f.find(transaction, &snapshot, id).expect("it is there");
    transaction.tell(&f.table, told);
    transaction
        .update_told(&f.table, &version, &f.row(to.0, to.1), told)
        .expect("nobody else writes");
}

fn delete(f: &Fixture, transaction: &Transaction, told: &Arc<Told>, id: i32) {
    let snapshot = transaction.begin_statement(Access::Write);
    let version = f.find(transaction, &snapshot, id).expect("it is there");
    transaction.tell(&f.table, told);
    transaction
        .delete_told(&f.table, &version, told, false)
        .expect("nobody else writes");
}

/// The operations of all commits behind `from`, in short words, and whether their frames are of the version for them.
fn logged(f: &Fixture, from: Lsn) -> (Vec<String>, bool) {
    f.engine.log().flush_step();
    let log = f.engine.log();
    let mut ranges = LogRanges::new(f.engine.disk(), log.system_id(), log.segment_bytes());
    let mut frames = FrameStream::new(from);
    let (mut words, mut tells) = (Vec::new(), false);
    let mut piece = vec![0; 64 << 10];
    while frames.fed_to() < log.flushed() {
        let length = (log.flushed().0 - frames.fed_to().0).min(piece.len() as u64) as usize;
        let read = ranges
            .read(frames.fed_to(), &mut piece[..length])
            .expect("the disk works");
        frames.feed(&piece[..read.expect("it is there")]);
        while let Some(frame) = frames.next_frame().expect("a sound log") {
            if frame.header.kind != FrameKind::Commit {
                continue;
            }
            tells |= frame.header.tells;
            let (header, body) = CommitHeader::decode(frame.payload).expect("a sound log");
            let mut stream = OperationStream::default();
            let fed = stream.feed_told::<Malformed>(body, |ordinal, body| {
                if !header.is_rolled_back(ordinal) {
                    words.push(word(body));
                }
                Ok(())
            });
            fed.expect("a sound log");
        }
    }
    (words, tells)
}

fn word(body: &[u8]) -> String {
    if let Some(told) = Operations::decode(body) {
        return match told {
            Operations::Relation { content, .. } => {
                let relation = ToldRelation::decode(content).expect("sound");
                format!("relation of {}", relation.storage.len())
            }
            Operations::OldRow { .. } => "old".into(),
            Operations::Truncate { tables, .. } => format!("truncate {}", tables.len()),
        };
    }
    match Operation::decode(body).expect("sound") {
        Operation::Insert { .. } => "insert",
        Operation::Update { .. } => "patch",
        Operation::UpdateWhole { .. } => "whole",
        Operation::Delete { .. } => "delete",
    }
    .into()
}

#[test]
fn a_table_without_publication_is_logged_as_ever() {
    let f = Fixture::new();
    let from = f.engine.log().flushed();
    f.load([(1, 10)]);
    let transaction = f.begin();
    f.set(&transaction, 1, 11).expect("free");
    f.remove(&transaction, 1).expect("free");
    transaction.commit().expect("the log takes it");
    assert_eq!(
        logged(&f, from),
        (vec!["insert".into(), "patch".into(), "delete".into()], false)
    );
}

#[test]
fn the_old_row_stands_before_what_needs_it() {
    let f = Fixture::with(mortal());
    f.load([(1, 10), (2, 20), (3, 30)]);
    let key = told(&f, OldRow::Key(f.primary.id));
    let from = f.engine.log().flushed();
    let transaction = f.begin();
    update(&f, &transaction, &key, 1, (1, 11));
    update(&f, &transaction, &key, 1, (9, 11));
    delete(&f, &transaction, &key, 2);
    let whole = told(&f, OldRow::Whole);
    update(&f, &transaction, &whole, 3, (3, 31));
    transaction.commit().expect("the log takes it");
    let expected = [
        "relation of 3",
        "whole",
        "old",
        "whole",
        "old",
        "delete",
        "relation of 3",
        "old",
        "whole",
    ];
    assert_eq!(logged(&f, from), (expected.map(String::from).to_vec(), true));
    assert_eq!(f.contents(), [(3, 31), (9, 11)]);
    // Recovery steps over it all.
    let again = crash(f);
    assert_eq!(again.contents(), [(3, 31), (9, 11)]);
}

#[test]
fn a_savepoint_takes_the_description_back_and_the_next_write_repeats_it() {
    let f = Fixture::new();
    f.load([(1, 10)]);
    let key = told(&f, OldRow::Key(f.primary.id));
    let from = f.engine.log().flushed();
    let transaction = f.begin();
    let savepoint = transaction.savepoint();
    update(&f, &transaction, &key, 1, (1, 11));
    transaction.rollback_to(savepoint);
    // Of another plan, which says the same.
    update(&f, &transaction, &key, 1, (1, 12));
    update(&f, &transaction, &told(&f, OldRow::Key(f.primary.id)), 1, (1, 13));
    transaction.tell_truncate(0, &[f.table.id(), TableId(77)]);
    transaction.commit().expect("the log takes it");
    let expected = ["relation of 3", "whole", "whole", "truncate 2"];
    assert_eq!(logged(&f, from), (expected.map(String::from).to_vec(), true));
}

/// The rows behind it stand otherwise, though subscribers are told of the same columns.
#[test]
fn a_table_with_another_layout_is_described_anew() {
    let f = Fixture::with(mortal());
    f.load([(1, 10), (2, 20)]);
    let key = told(&f, OldRow::Key(f.primary.id));
    let from = f.engine.log().flushed();
    let transaction = f.begin();
    delete(&f, &transaction, &key, 1);
    widen(&f, &transaction);
    delete(&f, &transaction, &key, 2);
    transaction.commit().expect("the log takes it");
    let (words, _) = logged(&f, from);
    let about_rows = ["relation of 3", "relation of 4", "old"];
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| about_rows.contains(word))
        .collect();
    assert_eq!(words, ["relation of 3", "old", "relation of 4", "old"]);
}

/// The next write of a table that is published no more says nothing by itself.
#[test]
fn a_table_that_leaves_its_publications_is_described_without_any() {
    let f = Fixture::with(mortal());
    f.load([(1, 10), (2, 20)]);
    let key = told(&f, OldRow::Key(f.primary.id));
    let from = f.engine.log().flushed();
    let transaction = f.begin();
    update(&f, &transaction, &key, 1, (1, 11));
    let savepoint = transaction.savepoint();
    transaction.tell_no_more();
    f.set(&transaction, 2, 21).expect("free");
    update(&f, &transaction, &key, 1, (1, 12));
    transaction.rollback_to(savepoint);
    transaction.tell_no_more();
    f.set(&transaction, 2, 22).expect("free");
    transaction.commit().expect("the log takes it");
    let expected = ["relation of 3", "whole", "relation of 0", "patch"];
    assert_eq!(logged(&f, from), (expected.map(String::from).to_vec(), true));
}
