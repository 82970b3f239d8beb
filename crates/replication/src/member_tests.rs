//! The driver alone; what several of them do together is simulated (`sim/cluster`).

use mote_common::env::sim::{SimDisk, env};

use super::*;

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
const C: NodeId = NodeId(3);
const PATIENCE_NS: u64 = 1000;

fn record() -> Record {
    Record {
        system_id: 7,
        term: 4,
        leader: A,
        voters: BTreeSet::from([B, C]),
        count: 1,
        changes: 9,
    }
}

fn member(id: NodeId) -> Member {
    member_drawing(id, 1)
}

fn member_drawing(id: NodeId, seed: u64) -> Member {
    let world = env(&SimDisk::new(1), 1).0;
    let voter = Voter::open(&*world.disk, 7, 0, PATIENCE_NS).expect("the disk works");
    Member::new(id, voter, PATIENCE_NS, Prng::new(seed))
}

fn answer(id: NodeId) -> Answer {
    Answer {
        id,
        granted: true,
        promised: 5,
        last_term: 4,
        end: Lsn(100),
    }
}

/// Steps until something is to be done, answering looks at the record.
fn next(member: &mut Member, now_ns: &mut u64, stream: Option<u32>, found: &Record) -> Act {
    for _ in 0..1000 {
        match member.step(*now_ns, stream) {
            Some(Act::Read) => member.recorded(Ok(Some(found.clone())), *now_ns),
            Some(act) => return act,
            None => *now_ns += PATIENCE_NS / 100,
        }
    }
    panic!("nothing is done for {} patiences", 10);
}

/// A member that has been promised enough, and the swap that it asks for.
fn campaigns(member: &mut Member, now_ns: &mut u64) -> (Record, Record) {
    for firm in [false, true] {
        let ask = loop {
            match next(member, now_ns, None, &record()) {
                Act::Ask(ask) => break ask,
                Act::Follow(leader) => assert_eq!(leader, A),
                act => panic!("{act:?}"),
            }
        };
        assert_eq!((ask.term, ask.firm), (5, firm));
        let other = Ask { firm: !firm, ..ask };
        member.answered(&other, answer(C));
        member.answered(&ask, answer(B));
        assert_eq!(
            member.step(*now_ns, None),
            None,
            "C's answer was to another question"
        );
        member.answered(&ask, answer(C));
    }
    match member.step(*now_ns, None) {
        Some(Act::Swap { expected, next }) => (expected.expect("there is a record"), next),
        act => panic!("{act:?}"),
    }
}

#[test]
fn a_voter_that_hears_nobody_asks_twice_swaps_and_leads() {
    let (mut member, mut now_ns) = (member(B), 0);
    let (expected, next) = campaigns(&mut member, &mut now_ns);
    assert!(
        now_ns >= PATIENCE_NS,
        "the life before may have answered a heartbeat"
    );
    assert_eq!((&expected, &next), (&record(), &record().succeeded_by(B, 5)));
    let ask = Ask {
        term: 9,
        candidate: C,
        firm: true,
    };
    assert!(member.would_grant(&ask, now_ns));
    member.swapped(&expected, Ok(true), now_ns);
    assert_eq!(member.step(now_ns, None), None, "another swap's answer");
    member.swapped(&next, Ok(true), now_ns);
    assert!(!member.would_grant(&ask, now_ns), "it leads");
    assert_eq!(member.step(now_ns, None), Some(Act::Lead(next)));
}

/// The coordinator has it, but the node was not told: it finds itself recorded, and asks for a term above that.
#[test]
fn a_swap_without_an_answer_is_found_out() {
    let (mut member, mut now_ns) = (member(B), 0);
    let (_, made) = campaigns(&mut member, &mut now_ns);
    member.swapped(&made, Err(NoAnswer("lost".into())), now_ns);
    assert_eq!(
        next(&mut member, &mut now_ns, None, &made),
        Act::Ask(Ask {
            term: 6,
            candidate: B,
            firm: false
        })
    );
}

#[test]
fn a_node_follows_the_newer_leader_and_leaves_the_older_one() {
    let (mut member, mut now_ns) = (member(C), 0);
    assert_eq!(next(&mut member, &mut now_ns, None, &record()), Act::Follow(A));
    for _ in 0..500 {
        now_ns += PATIENCE_NS / 100;
        member.voter_mut().heard(now_ns);
        match member.step(now_ns, Some(4)) {
            Some(Act::Read) => member.recorded(Ok(Some(record())), now_ns),
            act => assert_eq!(act, None, "it has its stream"),
        }
    }
    let newer = record().succeeded_by(B, 5);
    assert_eq!(next(&mut member, &mut now_ns, Some(4), &newer), Act::Follow(B));
}

/// Trace 13: a leader that stands still takes every connection and answers none, so a turn in which promises are not asked
/// for costs as long as a stream may be silent.
#[test]
fn who_misses_its_leader_asks_at_once_and_then_at_every_second_turn() {
    for seed in 0..100 {
        let (mut node, mut now_ns) = (member_drawing(B, seed), 0);
        assert_eq!(next(&mut node, &mut now_ns, None, &record()), Act::Follow(A));
        node.voter_mut().heard(now_ns);
        assert!(
            !matches!(node.step(now_ns, Some(4)), Some(Act::Ask(_))),
            "it has its stream"
        );
        now_ns += PATIENCE_NS;
        let turns = [(); 6].map(|()| {
            let act = next(&mut node, &mut now_ns, None, &record());
            now_ns += 2 * PATIENCE_NS;
            matches!(act, Act::Ask(_))
        });
        assert_eq!(turns, [true, false, true, false, true, false], "seed {seed}");
    }
}

/// Whoever was recorded just now is about to lead: it is asked for its log before anybody is asked against it.
#[test]
fn a_leader_that_was_just_recorded_is_sought_first() {
    let (mut node, mut now_ns) = (member(B), 0);
    assert_eq!(next(&mut node, &mut now_ns, None, &record()), Act::Follow(A));
    now_ns += PATIENCE_NS;
    let newer = record().succeeded_by(C, 5);
    assert_eq!(next(&mut node, &mut now_ns, None, &newer), Act::Follow(C));
    let Act::Ask(ask) = next(&mut node, &mut now_ns, None, &newer) else {
        panic!("it is free, and has no stream of it");
    };
    assert_eq!(ask.term, 6);
}

#[test]
fn who_is_no_voter_never_asks() {
    let (mut member, mut now_ns) = (member(NodeId(9)), 10 * PATIENCE_NS);
    for _ in 0..20 {
        assert_eq!(next(&mut member, &mut now_ns, None, &record()), Act::Follow(A));
    }
}

#[test]
fn who_hears_of_another_leader_looks_at_once_and_often() {
    let mut node = member(B);
    assert_eq!(node.step(0, Some(4)), Some(Act::Read));
    node.recorded(Ok(Some(record())), 0);
    assert_eq!(node.step(1, Some(4)), None);
    node.hurry(2);
    let mut reads = 0;
    for now_ns in 2..PATIENCE_NS {
        if node.step(now_ns, None) == Some(Act::Read) {
            reads += 1;
            node.recorded(Err(NoAnswer("it is away".into())), now_ns);
        }
    }
    assert!((25..=51).contains(&reads), "{reads}");
}

/// Asks of `node`, which is recorded as the leader and has answered itself.
fn asks_alone(node: &mut Member, now_ns: &mut u64) -> Ask {
    let ask = match next(node, now_ns, None, &record()) {
        Act::Ask(ask) => ask,
        act => panic!("{act:?}"),
    };
    assert_eq!((ask.term, ask.firm), (5, false));
    node.answered(&ask, answer(A));
    ask
}

/// Trace 16, and 7: its own word is enough, but others may know of a term that the record does not know of.
#[test]
fn who_has_just_started_hears_the_others_before_its_own_word_is_enough() {
    let (mut node, mut now_ns) = (member(A), 0);
    let ask = asks_alone(&mut node, &mut now_ns);
    assert_eq!(node.step(now_ns, None), None);
    let firm = Some(Act::Ask(Ask { firm: true, ..ask }));
    assert_eq!(node.step(now_ns + PATIENCE_NS / 2, None), firm);

    // All have answered: nobody is waited for.
    let (mut node, mut now_ns) = (member(A), 0);
    let ask = asks_alone(&mut node, &mut now_ns);
    for id in [B, C] {
        let granted = false;
        node.answered(
            &ask,
            Answer {
                granted,
                ..answer(id)
            },
        );
    }
    assert_eq!(node.step(now_ns, None), firm);

    // One has frames of a term that was recorded after this record.
    let (mut node, mut now_ns) = (member(A), 0);
    let ask = asks_alone(&mut node, &mut now_ns);
    let last_term = 5;
    node.answered(
        &ask,
        Answer {
            last_term,
            ..answer(C)
        },
    );
    assert_eq!(node.step(now_ns + PATIENCE_NS / 2, None), None);
}

#[test]
fn a_record_of_the_past_is_not_campaigned_under_after_a_restart_either() {
    let world = env(&SimDisk::new(1), 1).0;
    let mut voter = Voter::open(&*world.disk, 7, 0, PATIENCE_NS).expect("the disk works");
    let newer = record().succeeded_by(B, 5);
    voter.note_seen(&*world.disk, &newer).expect("the disk works");
    for id in [A, B] {
        let voter = Voter::open(&*world.disk, 7, 0, PATIENCE_NS).expect("the disk works");
        let mut node = Member::new(id, voter, PATIENCE_NS, Prng::new(1));
        let mut now_ns = 10 * PATIENCE_NS;
        for _ in 0..20 {
            assert_eq!(next(&mut node, &mut now_ns, None, &record()), Act::Follow(A));
        }
    }
}
