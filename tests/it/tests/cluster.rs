//! Three servers, one etcd: who leads, and what becomes of acknowledged rows when nodes die, stand still, or change.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{mote, psql_strict};
use mote_it::cluster::{Further, NAMES, Nodes};
use mote_it::nodes::{await_replay, await_value, value};
use mote_it::process::await_that;
use mote_it::wire::RawClient;
use mote_server::etcd::Etcd;
use rustix::process::Signal;
use tokio_postgres::{Client, NoTls};

const TIMEOUT: Duration = Duration::from_secs(60);
/// From the last acknowledged commit of one primary to the first of the next, on a machine that does other things, too.
const FAIL_OVER: Duration = Duration::from_secs(10);
/// How long a client asks one node before it turns to the next: a node that stands still says nothing.
const ANSWER: Duration = Duration::from_secs(3);

/// A pause that nobody asks for the reason of, and how many periods are looked at for one without a longer one.
const SHORT_PAUSE: Duration = Duration::from_secs(1);
const PERIODS_MAX: usize = 5;

/// All nodes show the same rows, and those that were acknowledged are among them.
fn compare(nodes: &Nodes, acknowledged: &BTreeSet<i64>) {
    let expected = value(nodes.node(nodes.leader()), "select count(*), sum(id) from t");
    for index in nodes.up() {
        await_value(nodes.node(index), "select count(*), sum(id) from t", &expected);
        let rows = value(nodes.node(index), "select id from t");
        let rows: BTreeSet<i64> = rows.lines().map(|row| row.parse().expect("a number")).collect();
        let lost: Vec<_> = acknowledged.difference(&rows).collect();
        assert!(lost.is_empty(), "{} lacks {lost:?}", NAMES[index]);
    }
}

/// A client that writes one row after the other, to whoever takes writes.
struct Writer {
    ports: [u16; 3],
    client: Option<Client>,
    next: i64,
    acknowledged: BTreeSet<i64>,
    last: Instant,
}

impl Writer {
    fn new(nodes: &Nodes) -> Writer {
        value(
            nodes.node(nodes.leader()),
            "create table t (id bigint primary key)",
        );
        Writer {
            ports: nodes.ports,
            client: None,
            next: 0,
            acknowledged: BTreeSet::new(),
            last: Instant::now(),
        }
    }

    /// One row, if somebody takes it.
    async fn write(&mut self) -> bool {
        let client = match self.client.take() {
            Some(client) => client,
            None => match connect(&self.ports).await {
                Some(client) => client,
                None => return false,
            },
        };
        self.next += 1;
        let insert = format!("insert into t values ({})", self.next);
        let written = tokio::time::timeout(ANSWER, client.batch_execute(&insert)).await;
        if !matches!(written, Ok(Ok(()))) {
            return false;
        }
        self.acknowledged.insert(self.next);
        self.last = Instant::now();
        self.client = Some(client);
        true
    }

    /// So long, and until a row is acknowledged at least.
    fn write_for(&mut self, time: Duration) {
        let (since, before) = (Instant::now(), self.acknowledged.len());
        block_on(async {
            while since.elapsed() < time || self.acknowledged.len() == before {
                self.write().await;
                assert!(since.elapsed() < time + TIMEOUT, "nobody takes writes");
            }
        });
    }

    /// Writes until a row is acknowledged; answers how long that was after the last one before.
    fn write_again(&mut self) -> Duration {
        let (last, since) = (self.last, Instant::now());
        block_on(async {
            while !self.write().await {
                assert!(since.elapsed() < TIMEOUT, "nobody takes writes");
            }
        });
        self.last - last
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

async fn connect(ports: &[u16; 3]) -> Option<Client> {
    for port in ports {
        let mut config = tokio_postgres::Config::new();
        config
            .host("127.0.0.1")
            .port(*port)
            .user("postgres")
            .dbname("postgres");
        let connected = async {
            let (client, connection) = config.connect(NoTls).await.ok()?;
            tokio::spawn(connection);
            let row = client.query_one("select pg_is_in_recovery()", &[]).await.ok()?;
            (!row.get::<_, bool>(0)).then_some(client)
        };
        if let Ok(Some(client)) = tokio::time::timeout(ANSWER, connected).await {
            return Some(client);
        }
    }
    None
}

#[test]
fn who_is_killed_is_succeeded_and_comes_back_as_a_follower() {
    let mut nodes = Nodes::start("cluster-kill");
    let mut writer = Writer::new(&nodes);
    for round in 0..3 {
        writer.write_for(Duration::from_millis(500));
        let leader = nodes.leader();
        nodes.running[leader].take().expect("it runs").kill();
        let pause = writer.write_again();
        eprintln!("round {round}: {pause:?} from the last acknowledged row to the next");
        assert!(pause < FAIL_OVER, "{pause:?}\n{}", nodes.logs());
        assert_ne!(nodes.leader(), leader);
        writer.write_for(Duration::from_millis(300));
        nodes.run(leader);
        compare(&nodes, &writer.acknowledged);
        nodes.settle();
    }
    // All of them at once: whoever led has all that counts.
    for index in 0..3 {
        nodes.running[index].take().expect("it runs").kill();
    }
    for index in 0..3 {
        nodes.run(index);
    }
    writer.client = None;
    writer.write_again();
    compare(&nodes, &writer.acknowledged);
}

/// Whoever may lead next has been told of it before it is answered.
#[test]
fn a_slot_that_was_answered_is_at_whoever_leads_next() {
    let mut nodes = Nodes::start("cluster-slot");
    nodes.settle();
    for round in 0..2 {
        let leader = nodes.leader();
        let mut client = RawClient::connect(nodes.node(leader));
        let name = format!("round_{round}");
        let make = format!("select slot_name from pg_create_logical_replication_slot('{name}', 'pgoutput')");
        assert_eq!(client.rows(&make), std::slice::from_ref(&name));
        nodes.running[leader].take().expect("it runs").kill();
        let next = nodes.leader_but(Some(leader));
        let there = format!("select count(*) from pg_replication_slots where slot_name = '{name}'");
        assert_eq!(value(nodes.node(next), &there), "1", "{}", nodes.logs());
        nodes.run(leader);
        nodes.settle();
    }
}

#[test]
fn who_stood_still_answers_nothing_that_was_asked_after_its_successor_began() {
    let mut nodes = Nodes::start("cluster-stop");
    let mut writer = Writer::new(&nodes);
    writer.write_for(Duration::from_millis(500));
    let leader = nodes.leader();
    let deposed = nodes.node(leader).config();
    let (client, _task) = block_on(async {
        let (client, connection) = deposed.connect(NoTls).await.expect("it leads");
        (client, tokio::spawn(connection))
    });
    nodes.node(leader).signal(Signal::STOP);
    writer.client = None;
    let pause = writer.write_again();
    eprintln!("{pause:?} from the last acknowledged row to the next");
    assert!(pause < FAIL_OVER, "{pause:?}");
    // Asked of a session that was open when the node still led.
    let asked = block_on(async {
        let answer = tokio::spawn(async move {
            let question = client.query("select count(*) from t", &[]);
            tokio::time::timeout(TIMEOUT, question).await
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        nodes.node(leader).signal(Signal::CONT);
        answer.await.expect("no panic")
    });
    let asked = asked.expect("the connection ends, or the answer comes");
    assert!(
        asked.is_err(),
        "{asked:?} was answered by a node that was deposed"
    );
    nodes.node(leader).await_log("starts anew");
    writer.write_for(Duration::from_millis(500));
    assert_ne!(nodes.leader_but(Some(leader)), leader);
    compare(&nodes, &writer.acknowledged);
    assert!(nodes.running[leader].as_mut().expect("it runs").is_running());
}

#[test]
fn a_store_that_is_gone_disturbs_nobody() {
    let mut nodes = Nodes::start("cluster-store");
    let mut writer = Writer::new(&nodes);
    writer.write_for(Duration::from_millis(300));
    let record = nodes.record();
    nodes.etcd.kill();
    // Whoever needed the store would find nobody to lead until it is back. The machine may stand still for a second, now and
    // then; what a node does would come again in each of these periods, which are longer than anything nodes do periodically.
    let mut pauses = Vec::new();
    while pauses.last().is_none_or(|longest| *longest >= SHORT_PAUSE) {
        let (mut longest, since) = (Duration::ZERO, Instant::now());
        while since.elapsed() < Duration::from_secs(4) {
            longest = longest.max(writer.write_again());
        }
        eprintln!("longest pause {longest:?}");
        pauses.push(longest);
        let is_short = pauses.len() <= PERIODS_MAX && longest < FAIL_OVER;
        assert!(is_short, "{pauses:?}\n{}", nodes.logs());
    }
    // A node that starts meanwhile waits for its primary, and finds it when the store is back.
    let follower = (nodes.leader() + 1) % 3;
    nodes.running[follower].take().expect("it runs").kill();
    nodes.run(follower);
    writer.write_again();
    nodes.etcd.resume();
    compare(&nodes, &writer.acknowledged);
    assert_eq!(nodes.record(), record);
}

#[test]
fn a_record_that_the_store_has_lost_is_written_again_by_who_leads() {
    let mut nodes = Nodes::start("cluster-forgets");
    let mut writer = Writer::new(&nodes);
    writer.write_for(Duration::from_millis(300));
    let record = nodes.record();
    nodes.etcd.forget();
    await_that("the record is there again", TIMEOUT, || nodes.record() == record);
    writer.write_for(Duration::from_millis(300));
    // Nodes are found again, too: the next one can be elected, and followed.
    let mut etcd = Etcd::new(&nodes.cluster()).expect("a sound address");
    await_that("all nodes have entered again", TIMEOUT, || {
        etcd.roster().is_ok_and(|roster| roster.0.len() == NAMES.len())
    });
    let leader = nodes.leader();
    nodes.running[leader].take().expect("it runs").kill();
    writer.write_again();
    nodes.run(leader);
    compare(&nodes, &writer.acknowledged);
    nodes.settle();
}

#[test]
fn a_node_lets_another_lead_and_refuses_to_be_promoted() {
    let nodes = Nodes::start("cluster-switchover");
    let mut writer = Writer::new(&nodes);
    let refused = psql_strict(nodes.node((nodes.leader() + 1) % 3), "select pg_promote()").bad();
    assert!(refused.contains("is a node of a cluster"), "{refused}");
    for _ in 0..2 {
        writer.write_for(Duration::from_millis(300));
        let leader = nodes.leader();
        let next = (leader + 1) % 3;
        let said = mote(&[
            "switchover",
            "--cluster",
            &format!("{}/shop", nodes.etcd.url()),
            "--to",
            NAMES[next],
        ]);
        eprintln!("{}", said.good());
        writer.client = None;
        let pause = writer.write_again();
        eprintln!("{pause:?} from the last acknowledged row to the next");
        assert!(pause < FAIL_OVER, "{pause:?}");
        assert_eq!(nodes.leader(), next);
        compare(&nodes, &writer.acknowledged);
        nodes.settle();
    }
}

#[test]
fn a_directory_of_a_cluster_is_nobody_elses() {
    let mut nodes = Nodes::start("cluster-directory");
    let follower = (nodes.leader() + 1) % 3;
    let (data, _) = nodes.running[follower].take().expect("it runs").stop();
    let shown = data.display().to_string();
    let said = TestServer::open(&data, &[]).err().expect("it is refused");
    assert!(said.contains("belongs to a cluster"), "{said}");
    let said = mote(&["promote", "--data", &shown]).bad();
    assert!(said.contains("belongs to a cluster"), "{said}");
    // Another database's directory has no place in the cluster.
    let other = TestServer::start_with("cluster-other", &[]);
    let (data, directory) = other.stop();
    let options = nodes.options(follower);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let said = TestServer::open(&data, &options).err().expect("it is refused");
    assert!(said.contains("another database than the cluster's"), "{said}");
    drop(directory);
}

/// Log for some segments; and what was written before is in images on every node that runs, so that nobody needs the log for
/// itself.
fn write_much_and_checkpoint(nodes: &Nodes) {
    let leader = nodes.leader();
    for _ in 0..3 {
        let rows = "select g, repeat(md5(g::text), 60) from generate_series(1, 5000) g";
        value(nodes.node(leader), &format!("insert into ballast {rows}"));
        for index in nodes.up() {
            if index != leader {
                await_replay(nodes.node(leader), nodes.node(index));
            }
            value(nodes.node(index), "checkpoint");
        }
    }
}

fn switch_to(nodes: &Nodes, next: usize) {
    let cluster = nodes.cluster();
    await_that("the other one leads", TIMEOUT, || {
        let said = mote(&["switchover", "--cluster", &cluster, "--to", NAMES[next]]);
        said.ok || said.err.contains("leads already")
    });
}

#[test]
fn a_node_that_was_away_finds_its_log_at_whoever_leads_by_then() {
    let mut nodes = Nodes::start_with("cluster-away", Further::default());
    let mut writer = Writer::new(&nodes);
    value(
        nodes.node(nodes.leader()),
        "create table ballast (id int, v text)",
    );
    writer.write_for(Duration::from_millis(200));
    for round in 0..2 {
        let leader = nodes.leader();
        let (away, next) = ((leader + 1) % 3, (leader + 2) % 3);
        nodes.running[away].take().expect("it runs").kill();
        write_much_and_checkpoint(&nodes);
        if round == 1 {
            // What is kept stands on the disk.
            nodes.running[next].take().expect("it runs").kill();
            nodes.run(next);
            nodes.leader();
        }
        switch_to(&nodes, next);
        writer.client = None;
        writer.write_again();
        write_much_and_checkpoint(&nodes);
        nodes.run(away);
        compare(&nodes, &writer.acknowledged);
        nodes.settle();
    }
}

#[test]
fn log_that_nobody_keeps_any_more_is_named_with_what_to_do() {
    let further = Further {
        options: vec!["--max-slot-log".into(), "12MB".into()],
        ..Further::default()
    };
    let mut nodes = Nodes::start_with("cluster-lost", further);
    let mut writer = Writer::new(&nodes);
    value(
        nodes.node(nodes.leader()),
        "create table ballast (id int, v text)",
    );
    writer.write_for(Duration::from_millis(200));
    let leader = nodes.leader();
    let (away, next) = ((leader + 1) % 3, (leader + 2) % 3);
    nodes.running[away].take().expect("it runs").kill();
    write_much_and_checkpoint(&nodes);
    let slots = format!(
        "select wal_status from pg_replication_slots where slot_name = '{}'",
        NAMES[away]
    );
    await_value(nodes.node(leader), &slots, "lost");
    switch_to(&nodes, next);
    writer.client = None;
    writer.write_again();
    write_much_and_checkpoint(&nodes);
    await_value(nodes.node(next), &slots, "lost");
    nodes.run(away);
    nodes.node(away).await_log("is not here any more");
    nodes
        .node(away)
        .await_log("start the follower on an empty directory");
}
