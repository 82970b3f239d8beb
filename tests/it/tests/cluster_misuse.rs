//! Commands of a cluster, used wrongly: each says what is wrong, and harms nothing.

use mote_it::clients::mote;
use mote_it::cluster::{NAMES, Nodes};
use mote_it::nodes::value;

#[test]
fn commands_that_are_used_wrongly_say_what_is_wrong() {
    let mut nodes = Nodes::start("cluster-misuse");
    let cluster = nodes.cluster();
    let leader = nodes.leader();
    let (first, second) = (NAMES[leader], NAMES[(leader + 1) % 3]);
    value(nodes.node(leader), "create table t (a int)");
    value(nodes.node(leader), "insert into t values (1)");
    nodes.await_replay();
    let before = nodes.record();
    let mut unlike = Vec::new();
    let other = cluster.replace("/shop", "/shopp");
    let data = nodes.directory().join(second).display().to_string();
    let url = nodes.node((leader + 1) % 3).url();
    let leads = nodes.node(leader).url();
    for (arguments, words) in [
        (
            vec!["switchover", "--cluster", &cluster, "--to", "d"],
            "the cluster has no node \"d\"",
        ),
        (
            vec!["switchover", "--cluster", &cluster, "--to", first],
            "leads already",
        ),
        (
            vec!["switchover", "--cluster", &cluster, "--to", ""],
            "the cluster has no node \"\"",
        ),
        (
            vec!["switchover", "--cluster", &other, "--to", second],
            "has no record",
        ),
        (
            vec!["switchover", "--cluster", "etcd://127.0.0.1/shop", "--to", second],
            "could not ask etcd",
        ),
        (
            vec![
                "switchover",
                "--cluster",
                &cluster,
                "--to",
                second,
                "--login",
                "postgres://nobody@any/postgres",
            ],
            "nobody",
        ),
        (
            vec![
                "switchover",
                "--cluster",
                &cluster,
                "--to",
                second,
                "--login",
                "postgres://p@/postgres?host=/tmp",
            ],
            "--login",
        ),
        (
            vec!["promote", "--url", &url],
            "mote switchover --cluster URL --to NAME",
        ),
        (
            vec!["promote", "--url", &leads],
            "primary already and takes writes; --url is the follower's",
        ),
        (
            vec!["promote", "--url", "postgres://postgres@127.0.0.1:1/postgres"],
            "if the server is stopped: mote promote --data DIR",
        ),
        (vec!["promote", "--data", &data], "a server has it open"),
        (
            vec!["cluster", "sync", "--cluster", &cluster, "--voters", "a,x"],
            "x",
        ),
        (
            vec!["cluster", "sync", "--cluster", &cluster, "--voters", ""],
            "has no node \"\"",
        ),
        (
            vec!["cluster", "sync", "--cluster", &other, "--wait-for", "1"],
            "has no record",
        ),
        (
            vec!["cluster", "sync", "--cluster", &cluster, "--wait-for", "9"],
            "cannot wait for 9 voters: the cluster has 2 that may vote beside its leader",
        ),
        (
            vec![
                "cluster",
                "sync",
                "--cluster",
                &cluster,
                "--wait-for",
                "2",
                "--voters",
                "a,b",
            ],
            "cannot wait for 2 voters: the cluster has 1 that may vote",
        ),
        (vec!["cluster", "status", "--cluster", &other], "has no record"),
    ] {
        let said = mote(&arguments);
        if said.ok || !said.err.contains(words) {
            unlike.push(format!("{arguments:?}: {said:?}"));
        }
    }
    assert!(unlike.is_empty(), "{}", unlike.join("\n"));
    assert_eq!(nodes.record(), before, "nothing has changed");
    assert!(
        !mote(&["cluster", "sync", "--cluster", &cluster])
            .good()
            .contains("wished"),
        "what is refused is not noted"
    );
    let leader = two_switchovers_at_once(&nodes, leader);
    value(nodes.node(leader), "insert into t values (2)");
    nodes.settle();
    // To one that is away.
    let away = (leader + 1) % 3;
    nodes.running[away].take().expect("it runs").kill();
    let said = mote(&["switchover", "--cluster", &cluster, "--to", NAMES[away]]).bad();
    println!("{said}");
    assert!(said.contains("does not have the end of the log"), "{said}");
    nodes.run(away);
    nodes.settle();
    // Without etcd nothing is changed, and everything goes on.
    nodes.etcd.kill();
    let leader = nodes.leader();
    for arguments in [
        vec![
            "switchover",
            "--cluster",
            &cluster,
            "--to",
            NAMES[(leader + 1) % 3],
        ],
        vec!["cluster", "sync", "--cluster", &cluster, "--wait-for", "2"],
        vec!["cluster", "status", "--cluster", &cluster],
    ] {
        let said = mote(&arguments).bad();
        println!("{arguments:?}: {said}");
        assert!(said.contains("etcd"), "{arguments:?}: {said}");
    }
    value(nodes.node(leader), "insert into t values (3)");
    nodes.etcd.resume();
    nodes.await_replay();
    for index in 0..3 {
        assert_eq!(value(nodes.node(index), "select count(*) from t"), "3");
    }
}

/// Of two at once one is carried out, or both one after the other; whoever is not is told that another one was under way, or that
/// its node does not follow the new leader yet, and never of a connection that broke. Answers who leads.
fn two_switchovers_at_once(nodes: &Nodes, mut leader: usize) -> usize {
    for pause_ms in [0, 0, 3, 10, 30] {
        let commands = [(1, 0), (2, pause_ms)].map(|(step, pause_ms)| {
            let (cluster, to) = (nodes.cluster(), NAMES[(leader + step) % 3]);
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(pause_ms));
                mote(&["switchover", "--cluster", &cluster, "--to", to])
            })
        });
        let said = commands.map(|command| command.join().expect("it ends"));
        println!("{said:?}");
        assert!(said.iter().any(|said| said.ok), "{said:?}");
        for said in said.iter().filter(|said| !said.ok) {
            let told = ["under way", "does not have the end of the log"];
            assert!(told.iter().any(|why| said.err.contains(why)), "{said:?}");
        }
        leader = nodes.leader();
        nodes.settle();
    }
    leader
}
