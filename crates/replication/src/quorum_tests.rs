//! The horizon against its definition, tried out position by position.

use super::*;
use mote_common::prng::Prng;

const ME: NodeId = NodeId(0);

/// Are enough of the followers at `lsn`? By the words of the documentation, without sorting or counting down.
fn met(rule: &Rule, followers: &[(NodeId, &str, u64)], lsn: u64) -> bool {
    let at = |id: NodeId| followers.iter().find(|f| f.0 == id).expect("it is there").2 >= lsn;
    match rule {
        Rule::Voters { count, ids } => {
            let there = followers
                .iter()
                .filter(|f| f.0 != ME && ids.contains(&f.0) && f.2 >= lsn);
            there.count() >= *count
        }
        Rule::Names(names) => {
            let listed: Vec<(usize, NodeId)> = followers
                .iter()
                // Who has said nothing yet is not chosen, whatever his place in the list.
                .filter(|f| f.0 != ME && f.2 > 0)
                .filter_map(|f| Some((names.priority(f.1)?, f.0)))
                .collect();
            match names.method {
                Method::Any => listed.iter().filter(|(_, id)| at(*id)).count() >= names.count,
                // Everybody who is behind has as many preferred to him as are waited for.
                Method::First => {
                    listed.len() >= names.count
                        && listed.iter().filter(|(_, id)| !at(*id)).all(|behind| {
                            listed.iter().filter(|other| *other < behind).count() >= names.count
                        })
                }
            }
        }
    }
}

fn random_rule(prng: &mut Prng) -> Rule {
    let count = 1 + prng.below(3) as usize;
    if prng.chance(1, 3) {
        let ids = (0..6).filter(|_| prng.chance(1, 2)).map(NodeId).collect();
        return Rule::Voters { count, ids };
    }
    let mut names: Vec<String> = ["a", "B", "c", "*"].map(String::from).to_vec();
    prng.shuffle(&mut names);
    names.truncate(1 + prng.below(4) as usize);
    let method = if prng.chance(1, 2) {
        Method::First
    } else {
        Method::Any
    };
    Rule::Names(SyncNames { method, count, names })
}

#[test]
fn the_horizon_is_what_its_definition_says_and_never_falls() {
    let seed = 2026;
    let mut prng = Prng::new(seed);
    for round in 0..2000 {
        let term_end = prng.below(12);
        let rules: Vec<Rule> = (0..1 + prng.below(2)).map(|_| random_rule(&mut prng)).collect();
        let mut quorum = Quorum::new(ME, Lsn(term_end), rules.clone());
        let (mut local, mut highest) = (0, 0);
        let mut followers: Vec<(NodeId, &str, u64)> = Vec::new();
        for step in 1..30 {
            let id = NodeId(prng.below(6));
            let known = followers.iter().position(|f| f.0 == id);
            match prng.below(5) {
                0 => {
                    let name = ["a", "A", "b", "c", "d"][prng.below(5) as usize];
                    followers.retain(|f| f.0 != id);
                    followers.push((id, name, 0));
                    quorum.opened(id, name, id.0);
                }
                1 => {
                    followers.retain(|f| f.0 != id);
                    quorum.closed(id, id.0);
                }
                2 => {
                    local = local.max(prng.below(30));
                    quorum.flushed_here(Lsn(local));
                }
                _ => {
                    let at = prng.below(30);
                    let progress = Progress {
                        flushed: Lsn(at),
                        ..Progress::default()
                    };
                    assert_eq!(quorum.reported(id, id.0, progress, 0), known.is_some());
                    if let Some(known) = known {
                        followers[known].2 = followers[known].2.max(at);
                    }
                    // The horizon is counted when somebody reports.
                    quorum.flushed_here(Lsn(local));
                }
            }
            let agreed = (0..=local)
                .rev()
                .find(|lsn| *lsn >= term_end && rules.iter().all(|rule| met(rule, &followers, *lsn)));
            // Who goes away takes nothing back; what others then reach is counted at the next report.
            if matches!(quorum.levels().stable, stable if stable.0 > highest) {
                highest = quorum.levels().stable.0;
                assert_eq!(
                    Some(highest),
                    agreed,
                    "seed {seed}, round {round}, step {step}: {rules:?}"
                );
            }
            quorum.flushed_here(Lsn(local));
            highest = highest.max(agreed.unwrap_or(0));
            assert_eq!(
                quorum.levels().stable.0,
                highest,
                "seed {seed}, round {round}, step {step}: {rules:?}, {followers:?}, local {local}"
            );
        }
    }
}

fn any(count: usize, names: &[&str]) -> Rule {
    let names = names.iter().map(|name| name.to_string()).collect();
    Rule::Names(SyncNames {
        method: Method::Any,
        count,
        names,
    })
}

fn flushed(at: u64) -> Progress {
    Progress {
        received: Lsn(at + 5),
        flushed: Lsn(at),
        applied: Lsn(at - 5),
    }
}

#[test]
fn each_level_counts_its_own_and_none_passes_the_flush_here() {
    let mut quorum = Quorum::new(ME, Lsn(10), vec![any(1, &["b", "c"])]);
    quorum.opened(NodeId(2), "b", 1);
    assert!(quorum.reported(NodeId(2), 1, flushed(100), 7));
    assert_eq!(quorum.levels(), Levels::default(), "nothing is durable here");
    quorum.flushed_here(Lsn(102));
    let levels = quorum.levels();
    assert_eq!((levels.local, levels.received), (Lsn(102), Lsn(102)));
    assert_eq!((levels.stable, levels.applied), (Lsn(100), Lsn(95)));
    assert_eq!(quorum.answered_ns(), Some(7));
}

/// Design 0023, traces 1, 2 and 5.
#[test]
fn the_leader_old_terms_and_old_streams_do_not_count() {
    let ids = BTreeSet::from([ME, NodeId(2), NodeId(3)]);
    let mut quorum = Quorum::new(ME, Lsn(1000), vec![Rule::Voters { count: 1, ids }]);
    quorum.flushed_here(Lsn(2000));
    quorum.opened(ME, "me", 1);
    quorum.reported(ME, 1, flushed(2000), 0);
    assert_eq!(quorum.levels().stable, Lsn::ZERO, "the leader is no voter");
    quorum.opened(NodeId(2), "b", 2);
    quorum.reported(NodeId(2), 2, flushed(999), 0);
    assert_eq!(
        quorum.levels().stable,
        Lsn::ZERO,
        "the term's first frame is not there"
    );
    quorum.opened(NodeId(2), "b", 3);
    assert!(
        !quorum.reported(NodeId(2), 2, flushed(1500), 0),
        "an older stream"
    );
    quorum.closed(NodeId(2), 2);
    assert!(quorum.reported(NodeId(2), 3, flushed(1000), 0));
    assert_eq!(quorum.levels().stable, Lsn(1000));
}

#[test]
fn without_rules_the_flush_here_is_enough() {
    let mut quorum = Quorum::new(ME, Lsn(10), vec![]);
    quorum.flushed_here(Lsn(50));
    let levels = quorum.levels();
    assert_eq!(
        (levels.received, levels.stable, levels.applied),
        (Lsn(50), Lsn(50), Lsn(50))
    );
}
