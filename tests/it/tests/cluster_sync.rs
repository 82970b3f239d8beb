//! `mote cluster sync`: whom commits wait for, as an operator wishes.

use std::time::Duration;

use mote_it::clients::mote;
use mote_it::cluster::{NAMES, Nodes};
use mote_it::nodes::value;
use mote_it::process::await_that;
use tokio_postgres::NoTls;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Far longer than a commit takes.
const UNANSWERED: Duration = Duration::from_millis(1500);

fn sync(nodes: &Nodes, options: &[&str]) -> String {
    let cluster = nodes.cluster();
    mote(
        &[
            &["cluster", "sync", "--cluster", &cluster, "--timeout", "60s"],
            options,
        ]
        .concat(),
    )
    .good()
}

#[test]
fn commits_wait_for_as_many_as_an_operator_wishes() {
    let mut nodes = Nodes::start("cluster-sync");
    let leader = nodes.leader();
    let others: Vec<usize> = (0..NAMES.len()).filter(|index| *index != leader).collect();
    let names = others
        .iter()
        .map(|index| NAMES[*index])
        .collect::<Vec<_>>()
        .join(", ");
    let leads = format!("\"{}\" leads, and commits wait for any", NAMES[leader]);
    assert_eq!(sync(&nodes, &[]).trim(), format!("{leads} 1 of {names}"));
    assert_eq!(
        sync(&nodes, &["--wait-for", "2"]).trim(),
        format!("{leads} 2 of {names}")
    );
    assert!(sync(&nodes, &[]).contains("it is wished to wait for 2"));
    value(nodes.node(leader), "create table t (id int)");

    // One is away: a commit waits for it until nobody wishes that any more.
    nodes.running[others[0]].take().expect("it runs").kill();
    let config = nodes.node(leader).config();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let commit = runtime.spawn(async move {
        let (client, connection) = config.connect(NoTls).await.expect("it leads");
        tokio::spawn(connection);
        client.batch_execute("insert into t values (1)").await
    });
    std::thread::sleep(UNANSWERED);
    assert!(!commit.is_finished(), "a commit counts that one of two has");
    assert_eq!(
        sync(&nodes, &["--default"]).trim(),
        format!("{leads} 1 of {names}")
    );
    await_that("the commit counts", TIMEOUT, || commit.is_finished());
    runtime.block_on(commit).expect("no panic").expect("it counts");

    // Who may not vote follows on.
    nodes.run(others[0]);
    let voters = format!("{},{}", NAMES[leader], NAMES[others[1]]);
    let said = sync(&nodes, &["--voters", &voters]);
    assert_eq!(said.trim(), format!("{leads} 1 of {}", NAMES[others[1]]));
    nodes.await_replay();
    assert_eq!(value(nodes.node(others[0]), "select count(*) from t"), "1");
    let said = mote(&[
        "cluster",
        "sync",
        "--cluster",
        &nodes.cluster(),
        "--voters",
        "a,z",
    ])
    .bad();
    assert!(said.contains("the cluster has no node \"z\""), "{said}");
}
