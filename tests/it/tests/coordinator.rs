//! The record of a cluster, and its nodes, in a real etcd.

use std::collections::BTreeSet;

use mote_it::etcd::EtcdServer;
use mote_replication::NodeId;
use mote_replication::coordinator::Coordinator;
use mote_replication::record::Record;
use mote_replication::roster::{Entry, Roster};
use mote_server::etcd::Etcd;

fn client(server: &EtcdServer, rest: &str) -> Etcd {
    Etcd::new(&format!("{}{rest}", server.url())).expect("a sound address")
}

fn first() -> Record {
    Record {
        system_id: 7,
        term: 1,
        leader: NodeId(1),
        voters: BTreeSet::from([NodeId(2), NodeId(3)]),
        count: 1,
        changes: 0,
    }
}

#[test]
fn a_record_is_swapped_as_a_whole_by_one_of_several() {
    let server = EtcdServer::start();
    let mut etcd = client(&server, "/shop");
    assert_eq!(etcd.read(), Ok(None));
    let record = first();
    assert_eq!(etcd.swap(None, &record), Ok(true));
    assert_eq!(etcd.read(), Ok(Some(record.clone())));
    assert_eq!(etcd.swap(None, &record), Ok(true), "asked again");
    assert_eq!(etcd.swap(None, &record.succeeded_by(NodeId(2), 2)), Ok(false));
    assert_eq!(client(&server, "/other").read(), Ok(None), "another cluster");

    // Candidates with one expectation: one of them leads, and all read the same.
    let candidates: Vec<_> = (1..=3).map(|id| record.succeeded_by(NodeId(id), 2)).collect();
    let won: Vec<bool> = std::thread::scope(|scope| {
        let threads = candidates.iter().map(|next| {
            let (mut etcd, record) = (etcd.clone(), &record);
            scope.spawn(move || etcd.swap(Some(record), next).expect("etcd answers"))
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
    let winner = won.iter().position(|won| *won).expect("one has won");
    assert_eq!(etcd.read(), Ok(Some(candidates[winner].clone())));
}

#[test]
fn what_was_answered_outlives_etcd_and_its_absence_is_told() {
    let mut server = EtcdServer::start();
    let mut etcd = client(&server, ",127.0.0.1:1/shop");
    assert_eq!(etcd.swap(None, &first()), Ok(true));
    server.kill();
    let told = etcd.read().expect_err("nobody is there");
    assert!(told.0.contains("127.0.0.1:1"), "each endpoint is named: {told}");
    assert!(
        etcd.swap(Some(&first()), &first().succeeded_by(NodeId(2), 2))
            .is_err()
    );
    server.resume();
    assert_eq!(etcd.read(), Ok(Some(first())));
}

#[test]
fn nodes_are_found_by_name_and_the_last_directory_of_a_name_counts() {
    let server = EtcdServer::start();
    let mut etcd = client(&server, "/shop");
    assert_eq!(etcd.roster(), Ok(Roster::default()));
    let entry = |id: u64, port: u16| Entry {
        id: NodeId(id),
        host: "::1".into(),
        port,
    };
    // Neither the record nor another cluster, whose name begins alike, is among them.
    assert_eq!(etcd.swap(None, &first()), Ok(true));
    assert_eq!(client(&server, "/shop0").enter("z", &entry(9, 9)), Ok(()));
    for (name, node) in [
        ("b", entry(2, 5433)),
        ("a", entry(1, 5432)),
        ("b", entry(2, 5433)),
    ] {
        assert_eq!(etcd.enter(name, &node), Ok(()));
    }
    assert_eq!(etcd.enter("b", &entry(4, 5434)), Ok(()));
    let expected = [("a".to_string(), entry(1, 5432)), ("b".into(), entry(4, 5434))];
    assert_eq!(etcd.roster(), Ok(Roster(expected.into())));
    assert_eq!(etcd.read(), Ok(Some(first())));
}
