use super::*;

#[test]
fn some_dozens_of_clusters() {
    let mut total = ClusterReport::default();
    for seed in 0..40 {
        let report = run_cluster(seed, ClusterOptions::default());
        total.add(&report.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
    }
    // Without these the checks would mean little.
    assert!(total.acknowledged > 1000 && total.promotions > 150, "{total:?}");
    assert!(total.cuts > 20 && total.power_failures > 200, "{total:?}");
    assert!(total.failures_in_flush > 5 && total.abandoned > 50, "{total:?}");
    assert!(total.served > 5000 && total.voter_changes > 30, "{total:?}");
    assert!(total.records_rebuilt > 3 && total.slots > 100, "{total:?}");
    assert!(
        total.full > 5 && total.hung > 5 && total.set_back > 3,
        "{total:?}"
    );
}

/// Log was let go of that a node needed: of a slot that was told too low, of one that began at log that a power failure took, of a
/// leader's own that was told as none before anything of its term was stable (5000432), of one that was told higher by a leader of
/// whose term nothing came to be stable (5001184). 133660: a leader whose next segment
/// could not be prepared while nothing waited to be flushed led on and took no commit. Elections have been drawn otherwise
/// since the first three: what those were found by stands in `slots`, `primary_tests` and here in `leading`.
#[test]
fn seeds_that_failed_once_hold() {
    let options = ClusterOptions {
        further_troubles: false,
        ..ClusterOptions::default()
    };
    for seed in [131_789, 133_660, 133_853] {
        let report = run_cluster(seed, options);
        report.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    for seed in [5_000_432, 5_001_184, 2_014_577] {
        let report = run_cluster(seed, ClusterOptions::default());
        report.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn a_cluster_seed_repeats() {
    for seed in 0..4 {
        let figures = || {
            let report = run_cluster(seed, ClusterOptions::default());
            format!(
                "{:?}",
                report.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
            )
        };
        assert_eq!(figures(), figures(), "seed {seed}");
    }
}

/// Within a thousand seeds from the first; most of them are within a dozen. `MOTE_SIM_FIRST` looks elsewhere, for when the
/// simulation draws otherwise than before.
fn is_found(planted: Planted, first: u64) {
    // A cluster that a fault keeps from healing has lost nothing.
    let (seed, error) = find(planted, None, first, |error| !error.contains("is not whole"));
    println!("{planted:?}: seed {seed}: {error}");
}

/// The first of a thousand seeds at which the fault shows in a way that counts.
fn find(planted: Planted, trace: Option<Trace>, first: u64, counts: impl Fn(&str) -> bool) -> (u64, String) {
    let options = ClusterOptions {
        nodes: trace.map_or(3, Trace::nodes),
        planted,
        trace,
        ..ClusterOptions::default()
    };
    let elsewhere = std::env::var("MOTE_SIM_FIRST").ok();
    let first = elsewhere.map_or(first, |first| first.parse().expect("a number"));
    let mut seeds = first..first + 1000;
    let found = seeds.find_map(|seed| match run_cluster(seed, options) {
        Err(error) if counts(&error) => Some((seed, error)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{planted:?} was not found"))
}

#[test]
fn acknowledging_before_the_sync_is_found() {
    is_found(Planted::AcknowledgesBeforeSync, 0);
}

#[test]
fn a_leader_among_the_voters_is_found() {
    is_found(Planted::LeaderIsAVoter, 0);
}

/// Three changes of leaders and a power failure must fall into some milliseconds, in the order of a trace. It is found by what
/// it loses: the next leader lacks log that was stable.
#[test]
fn counting_old_terms_is_found() {
    is_found_by_loss(Planted::OldTermsCount, Trace::OldTerms);
}

/// Found by what it loses, too.
fn is_found_by_loss(planted: Planted, trace: Trace) {
    let (seed, error) = find(planted, Some(trace), 0, |error| {
        error.contains("but the log was stable up to")
            || error.contains("was acknowledged and is gone")
            || error.contains("that was stable with other bytes")
    });
    println!("{planted:?}: seed {seed}: {error}");
}

/// What each trace does to the protocol as it is.
#[test]
fn the_traces_of_the_design_lose_nothing() {
    for (number, trace) in Trace::ALL {
        let options = ClusterOptions {
            nodes: trace.nodes(),
            steps: 4_000,
            trace: Some(trace),
            ..ClusterOptions::default()
        };
        let mut total = ClusterReport::default();
        for seed in 0..8 {
            let report = run_cluster(seed, options);
            total.add(&report.unwrap_or_else(|error| panic!("trace {number}, seed {seed}: {error}")));
        }
        println!("trace {number}: {total:?}");
        assert!(
            total.played >= 8 && total.acknowledged > 200,
            "trace {number}: {total:?}"
        );
    }
}

#[test]
fn some_clusters_of_four_and_five() {
    for nodes in [4, 5] {
        let mut total = ClusterReport::default();
        for seed in 0..15 {
            let options = ClusterOptions {
                nodes,
                ..ClusterOptions::default()
            };
            let report = run_cluster(seed, options);
            total.add(&report.unwrap_or_else(|error| panic!("{nodes} nodes, seed {seed}: {error}")));
        }
        assert!(
            total.acknowledged > 300 && total.promotions > 50,
            "{nodes}: {total:?}"
        );
    }
}

#[test]
fn a_successor_that_counts_itself_is_found() {
    is_found_by_loss(Planted::LeaderIsAVoter, Trace::Successor);
}

#[test]
fn the_word_of_a_lost_directory_is_found() {
    is_found_by_loss(Planted::KeepsItsNumber, Trace::Amnesia);
}

#[test]
fn counting_former_voters_is_found_by_its_trace() {
    is_found_by_loss(Planted::CountsFormerVoters, Trace::Voters);
}

/// A leader whose machine has slept believes in the lease that it had, while another one serves.
#[test]
fn a_clock_that_stops_in_suspend_is_found() {
    let found = find(Planted::ClockStopsInSuspend, Some(Trace::Suspend), 0, |error| {
        error.contains("serve at one moment")
    });
    println!("ClockStopsInSuspend: seed {}: {}", found.0, found.1);
}

#[test]
fn promoting_without_promises_is_found() {
    is_found(Planted::PromotesWithoutPromises, 0);
}

#[test]
fn keeping_log_for_nobody_is_found() {
    is_found(Planted::KeepsLogForNobody, 0);
}

#[test]
fn answering_slots_at_once_is_found() {
    let told = "leads without the slot";
    let (seed, error) = find(Planted::AnswersSlotsAtOnce, None, 0, |error| error.contains(told));
    println!("AnswersSlotsAtOnce: seed {seed}: {error}");
}

#[test]
fn counting_former_voters_is_found() {
    is_found(Planted::CountsFormerVoters, 0);
}
