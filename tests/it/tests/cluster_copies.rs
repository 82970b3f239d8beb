//! A node's directory that was copied, and names that are given twice.

use std::path::Path;
use std::time::Duration;

use mote_it::TestServer;
use mote_it::clients::{mote, program};
use mote_it::cluster::Nodes;
use mote_it::nodes::{await_replay, await_value, compare, follow, follow_url, place, value};
use mote_it::postgres::free_port;
use mote_it::server::TemporaryDirectory;

fn copy(from: &Path, to: &Path) {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    program("cp", &["-a", &from, &to], Path::new("/"), "it is everywhere").good();
}

/// Of node `index`, with another name and at a port of its own.
fn options(nodes: &Nodes, index: usize, name: &str) -> Vec<String> {
    let mut options = nodes.options(index);
    for (option, value) in [
        ("--name", name.to_string()),
        ("--listen", format!("127.0.0.1:{}", free_port())),
    ] {
        let at = options
            .iter()
            .position(|known| known == option)
            .expect("it is there");
        options[at + 1] = value;
    }
    options
}

fn refused(data: &Path, options: &[String]) -> String {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let started = TestServer::open(data, &options);
    started.err().expect("it does not start")
}

#[test]
fn a_copied_directory_or_a_second_node_of_a_name_is_refused() {
    let nodes = Nodes::start("cluster-copies");
    let leader = nodes.leader();
    value(nodes.node(leader), "create table t (a int primary key)");
    nodes.await_replay();
    let before = nodes.record();
    let follower = (leader + 1) % 3;
    let name = mote_it::cluster::NAMES[follower];
    // As somebody makes a copy of a machine: while the node runs, or stands still.
    let copied = nodes.directory().join("copy");
    copy(&nodes.directory().join(name), &copied);
    for as_name in ["d", name] {
        let said = refused(&copied, &options(&nodes, follower, as_name));
        assert!(said.contains("is a copy of the directory of the node"), "{said}");
        assert!(said.contains("start it on an empty directory"), "{said}");
    }
    let said = refused(&nodes.directory().join("empty"), &options(&nodes, follower, name));
    assert!(
        said.contains(&format!("the cluster's node \"{name}\" runs already")),
        "{said}"
    );
    assert!(said.contains("another --name"), "{said}");
    for a in 0..20 {
        value(nodes.node(leader), &format!("insert into t values ({a})"));
    }
    nodes.await_replay();
    assert_eq!(nodes.record(), before, "nobody came, went or was elected");
    let status = mote(&["cluster", "status", "--cluster", &nodes.cluster()]).good();
    assert!(!status.contains("\nd "), "{status}");
}

/// Without a cluster it is the primary that sees both.
#[test]
fn a_copy_of_a_followers_directory_does_not_take_its_stream() {
    let primary = TestServer::start("follower-copies");
    value(&primary, "create table t (a int primary key)");
    let (data, copied) = (
        TemporaryDirectory::new("follower-copies-b"),
        TemporaryDirectory::new("follower-copies-c"),
    );
    let follower = follow(&primary, &data, "b");
    await_replay(&primary, &follower);
    follower.stop();
    copy(&place(&data), &place(&copied));
    let follower = follow(&primary, &data, "b");
    await_value(&primary, "select state from pg_stat_replication", "streaming");
    for name in ["c", "b"] {
        let second = follow_url(&primary.url(), &copied, name).expect("it serves what it has");
        second.await_log("a copy of that of \"b\"");
        for a in 0..10 {
            value(
                &primary,
                &format!("insert into t select coalesce(max(a), 0) + 1 + {a} from t"),
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        compare(&primary, &follower, &["select count(*), sum(a) from t"]);
        assert!(!follower.log().contains("tries again"), "{}", follower.log());
        second.stop();
    }
    // Who comes instead of the other has the stream.
    follower.stop();
    let second = follow_url(&primary.url(), &copied, "b").expect("it follows");
    compare(&primary, &second, &["select count(*), sum(a) from t"]);
}
