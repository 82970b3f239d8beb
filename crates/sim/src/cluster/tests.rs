use super::*;

#[test]
fn some_dozens_of_clusters() {
    let mut total = ClusterReport::default();
    for seed in 0..40 {
        let report = run_cluster(seed, ClusterOptions::default());
        total.add(&report.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
    }
    // Without these the checks would mean little.
    assert!(total.acknowledged > 1000 && total.promotions > 200, "{total:?}");
    assert!(total.cuts > 20 && total.power_failures > 200, "{total:?}");
    assert!(total.failures_in_flush > 5 && total.abandoned > 100, "{total:?}");
    assert!(total.served > 5000 && total.voter_changes > 30, "{total:?}");
    assert!(total.records_rebuilt > 3, "{total:?}");
}

/// Log was let go of that a node needed: of a slot that was told too low, and of one that began at log that a power failure took.
/// 133660: a leader whose next segment could not be prepared while nothing waited to be flushed led on and took no commit.
#[test]
fn seeds_that_failed_once_hold() {
    for seed in [131_789, 133_660, 133_853] {
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
    let (seed, error) = find(Planted::OldTermsCount, Some(Trace::OldTerms), 0, |error| {
        error.contains("but the log was stable up to") || error.contains("was acknowledged and is gone")
    });
    println!("seed {seed}: {error}");
}

/// What the trace does to the protocol as it is.
#[test]
fn some_dozens_of_clusters_follow_the_trace_of_old_terms() {
    let options = ClusterOptions {
        trace: Some(Trace::OldTerms),
        ..ClusterOptions::default()
    };
    let mut total = ClusterReport::default();
    for seed in 0..40 {
        total.add(&run_cluster(seed, options).unwrap_or_else(|error| panic!("seed {seed}: {error}")));
    }
    // Each attempt changes leaders three times.
    assert!(total.promotions > 240 && total.acknowledged > 1000, "{total:?}");
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
fn counting_former_voters_is_found() {
    is_found(Planted::CountsFormerVoters, 0);
}
