//! An engine that begins a term which a cluster has given to it: what it has recovered counts when others have that, too.

use mote_common::Lsn;

use super::prepared::{crash_with, mortal};
use super::*;
use crate::checkpoint::CheckpointOutcome;
use crate::log::Agreed;

fn leading(term: u32) -> EngineConfig {
    EngineConfig {
        leads_term: Some(term),
        ..mortal()
    }
}

/// Others have everything below.
fn agree(f: &Fixture, lsn: Lsn) {
    f.engine.log().set_agreed(Some(Agreed {
        received: lsn,
        flushed: lsn,
        applied: lsn,
    }));
}

/// Rows 1 to 3, which others have, and changes that they do not have; the primary crashes.
fn half_agreed() -> (Fixture, Lsn) {
    let f = Fixture::with(mortal());
    f.load([(1, 10), (2, 20), (3, 30)]);
    let agreed = f.engine.log().flushed();
    agree(&f, agreed);
    let transaction = f.begin();
    f.set(&transaction, 1, 11).expect("free");
    f.remove(&transaction, 2).expect("free");
    f.add(&transaction, 4, 40).expect("a new key");
    transaction.commit().expect("the log takes it");
    f.engine.log().flush_step();
    (f, agreed)
}

const ALL: [(i32, i64); 3] = [(1, 11), (3, 30), (4, 40)];

#[test]
fn what_was_recovered_is_whole_at_once_and_stable_when_others_have_the_term() {
    let (f, agreed) = half_agreed();
    let before = f.engine.log().flushed();
    let f = crash_with(f, leading(7));
    let log = f.engine.log().clone();
    assert_eq!(log.term(), 7);
    assert_eq!(log.stable(), agreed, "nothing was vouched for beyond that");
    assert_eq!(f.contents(), ALL);
    // An image as of the stable horizon would lack rows 1 and 2.
    let step = || f.engine.checkpoint_step().expect("the disk works");
    assert_eq!(step(), CheckpointOutcome::Waits);
    f.load([(5, 50)]);
    agree(&f, before);
    assert!(log.stable() >= before && log.stable() < log.flushed());
    log.set_agreed(None);
    assert!(matches!(step(), CheckpointOutcome::Started { .. }));
    f.engine.checkpoint().expect("the disk works");
    let f = crash_with(f, leading(9));
    let mut all = ALL.to_vec();
    all.push((5, 50));
    assert_eq!(f.contents(), all);
    assert_eq!(f.engine.log().term(), 9);
}

/// What others lack is lost with this node alone: it follows, and holds it back.
#[test]
fn a_node_that_led_recovers_as_a_follower_to_what_was_stable() {
    let (f, agreed) = half_agreed();
    let f = crash_with(f, leading(7));
    assert_eq!(f.contents(), ALL);
    let following = EngineConfig {
        following: true,
        ..mortal()
    };
    let f = crash_with(f, following);
    assert_eq!(f.contents(), [(1, 10), (2, 20), (3, 30)]);
    assert_eq!(f.engine.log().stable(), agreed);
}

#[test]
fn a_term_that_has_begun_is_not_begun_again() {
    let (f, _) = half_agreed();
    let f = crash_with(f, leading(7));
    let disk = f.disk.crash();
    drop(f);
    for term in [1, 7] {
        let (world, _) = env(&disk, 1);
        let opened = Engine::open(world, leading(term), Arc::new(HalfOfEven));
        let error = opened.err().expect("refused").to_string();
        assert!(error.contains("term 7 has begun"), "{error}");
    }
    assert_eq!(open_with(&disk, leading(8)).log().term(), 8);
}
