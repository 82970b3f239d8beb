//! Followers and the nodes of a cluster over TLS and over Unix sockets: copies, streams, changes of the primary.
//!
//! The primaries' rules let in nobody who does not encrypt: what goes over is encrypted, or there is nothing.

use mote_it::TestServer;
use mote_it::certificates::{Authority, ELLIPTIC};
use mote_it::clients::{mote, psql};
use mote_it::cluster::{Further, NAMES, Nodes};
use mote_it::nodes::{await_value, compare, follow_url, place, value};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use std::time::Duration;

const ENCRYPTED_ONLY: &str = "hostssl all,replication all all trust\n";
const TIMEOUT: Duration = Duration::from_secs(60);

/// What it takes to let in only those who encrypt.
fn options(authority: &Authority) -> Vec<String> {
    authority.sign("server", "server", ELLIPTIC);
    let rules = authority.path("rules");
    std::fs::write(&rules, ENCRYPTED_ONLY).expect("written");
    [
        ("--tls-cert", authority.file("server.crt")),
        ("--tls-key", authority.file("server.key")),
        ("--hba-file", rules.display().to_string()),
    ]
    .into_iter()
    .flat_map(|(option, value)| [option.to_string(), value])
    .collect()
}

fn start(name: &str, authority: &Authority, more: &[&str]) -> TestServer {
    let options = options(authority);
    let options: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    TestServer::start_with(name, &options)
}

fn verified(primary: &TestServer, authority: &Authority) -> String {
    format!(
        "{}?sslmode=verify-full&sslrootcert={}",
        primary.url(),
        authority.file("root.crt")
    )
}

const STATE: [&str; 2] = [
    "select count(*), sum(a), md5(string_agg(b, '' order by a)) from t",
    "select relname from pg_class where relnamespace = 'public'::regnamespace order by 1",
];

fn fill(primary: &TestServer, from: u32, rows: u32) {
    let to = from + rows - 1;
    value(
        primary,
        &format!("insert into t select g, repeat(md5(g::text), 8) from generate_series({from}, {to}) g"),
    );
}

#[test]
fn a_follower_copies_and_streams_over_tls() {
    let authority = Authority::new("follower-tls");
    let primary = start("follower-tls", &authority, &["--log-segment-size", "4MB"]);
    value(&primary, "create table t (a int primary key, b text)");
    fill(&primary, 1, 1000);
    let data = TemporaryDirectory::new("follower-tls-b");
    let require = format!("{}?sslmode=require", primary.url());
    let follower = follow_url(&require, &data, "b").unwrap_or_else(|said| panic!("no follower: {said}"));
    compare(&primary, &follower, &STATE);
    await_value(
        &primary,
        "select application_name, state, client_addr from pg_stat_replication",
        "b|streaming|127.0.0.1",
    );
    // Single commits, each seen on the follower when it is answered, and frames of many records.
    value(
        &primary,
        "alter system set synchronous_standby_names = 'b'; select pg_reload_conf()",
    );
    await_value(&primary, "show synchronous_standby_names", "b");
    for a in 1001..=1100 {
        let insert = format!("set synchronous_commit = remote_apply; insert into t values ({a}, 'one')");
        value(&primary, &insert);
        assert_eq!(value(&follower, "select max(a) from t"), a.to_string());
    }
    fill(&primary, 2001, 40_000);
    compare(&primary, &follower, &STATE);
    value(
        &primary,
        "alter system reset synchronous_standby_names; select pg_reload_conf()",
    );
    await_value(&primary, "show synchronous_standby_names", "");
    // What was written while it was away comes out of files, to a follower that believes its authority alone.
    follower.kill();
    fill(&primary, 50_001, 40_000);
    let follower = follow_url(&verified(&primary, &authority), &data, "b").expect("it goes on");
    compare(&primary, &follower, &STATE);
    // The primary dies, and the follower finds it again.
    let address = primary.address.to_string();
    let (place_of_primary, _kept) = primary.kill();
    let options = options(&authority);
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    options.extend(["--listen", &address]);
    let primary = TestServer::open(&place_of_primary, &options).expect("it recovers");
    fill(&primary, 100_001, 10);
    compare(&primary, &follower, &STATE);
    follower.stop();
    primary.stop();
}

#[test]
fn who_does_not_encrypt_or_finds_nobody_who_does_is_told() {
    let authority = Authority::new("follower-words");
    let primary = start("follower-words", &authority, &[]);
    let stranger = Authority::new("stranger");
    let plain = TestServer::start_with("follower-words-plain", &[]);
    let unencrypted = format!("{}?sslmode=require", plain.url());
    for (url, expected) in [
        (
            primary.url(),
            "no pg_hba.conf entry for host \"127.0.0.1\", user \"postgres\", database",
        ),
        (
            primary.url(),
            "no encryption; add sslmode=require or sslmode=verify-full to the URL",
        ),
        (verified(&primary, &stranger), "invalid peer certificate"),
        (unencrypted, "the server does not encrypt connections"),
    ] {
        let data = TemporaryDirectory::new("follower-words-b");
        let said = follow_url(&url, &data, "b").err().expect("nobody is followed");
        assert!(said.contains(expected), "{url}: {said}");
    }
    // One that follows already, of a primary that asks for encryption from now on, is told the same and goes on when it may.
    let data = TemporaryDirectory::new("follower-words-c");
    let follower = follow_url(&plain.url(), &data, "c").expect("it follows");
    value(&plain, "create table t (a int)");
    compare(&plain, &follower, &["select a from t"]);
    follower.stop();
    let address = plain.address.to_string();
    let (place_of_primary, _kept) = plain.stop();
    let options = options(&authority);
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    options.extend(["--listen", &address]);
    let primary = TestServer::open(&place_of_primary, &options).expect("it starts");
    value(&primary, "insert into t values (1)");
    let follower = follow_url(&primary.url(), &data, "c").expect("it serves what it has");
    follower.await_log("no encryption; add sslmode=require or sslmode=verify-full to the URL");
    assert_eq!(value(&follower, "select count(*) from t"), "0");
    follower.stop();
    let follower = follow_url(&verified(&primary, &authority), &data, "c").expect("it follows");
    compare(&primary, &follower, &["select a from t"]);
}

#[test]
fn a_cluster_whose_nodes_encrypt() {
    let authority = Authority::new("cluster-tls");
    let mut options = options(&authority);
    options.extend([
        "--cluster-sslmode".into(),
        "verify-full".into(),
        "--cluster-sslrootcert".into(),
        authority.file("root.crt"),
    ]);
    let further = Further {
        options,
        ..Further::default()
    };
    let mut nodes = Nodes::start_with("cluster-tls", further);
    let first = nodes.leader();
    value(nodes.node(first), "create table t (a int primary key, b text)");
    fill(nodes.node(first), 1, 20_000);
    nodes.await_replay();
    // Killed: promises are asked for, and streams begun, between the other two.
    nodes.running[first].take().expect("it runs").kill();
    let second = nodes.leader_but(Some(first));
    await_that("the next one takes writes", TIMEOUT, || {
        psql(nodes.node(second), "insert into t values (0, 'next')")
            .out
            .trim_end()
            == "INSERT 0 1"
    });
    nodes.run(first);
    nodes.settle();
    fill(nodes.node(second), 100_000, 10);
    nodes.await_replay();
    for index in 0..NAMES.len() {
        let count = value(nodes.node(index), "select count(*), min(b) > '' from t");
        assert_eq!(count, "20011|t", "{}", nodes.logs());
    }
    // Commands log in as they are told, at whichever node it is.
    let (cluster, to) = (nodes.cluster(), NAMES[first]);
    let login = format!(
        "postgres://postgres@any/postgres?sslmode=verify-full&sslrootcert={}",
        authority.file("root.crt")
    );
    let said = mote(&["switchover", "--cluster", &cluster, "--to", to]).bad();
    assert!(said.contains("add sslmode=require"), "{said}");
    mote(&["switchover", "--cluster", &cluster, "--to", to, "--login", &login]).good();
    assert_eq!(nodes.leader(), first);
    let status = mote(&["cluster", "status", "--cluster", &cluster, "--login", &login]).good();
    assert!(!status.contains("no encryption"), "{status}");
}

#[test]
fn a_mistake_in_how_nodes_encrypt_is_told_at_the_start() {
    let data = TemporaryDirectory::new("cluster-tls-mistake");
    let begun = |more: &[&str]| {
        let mut options = vec![
            "--listen",
            "127.0.0.1:5439",
            "--cluster",
            "etcd://127.0.0.1:1/shop",
            "--name",
            "a",
        ];
        options.extend(more);
        TestServer::open(&place(&data), &options)
            .err()
            .expect("it does not start")
    };
    let said = begun(&["--cluster-sslmode", "verify-full"]);
    assert!(
        said.contains("--cluster-sslmode: sslmode=verify-full needs sslrootcert"),
        "{said}"
    );
    let said = begun(&["--cluster-sslmode", "sometimes"]);
    assert!(said.contains("--cluster-sslmode: sslmode=sometimes"), "{said}");
}

#[test]
fn a_follower_over_a_unix_socket() {
    let directory = TemporaryDirectory::new("follower-socket");
    let rules = directory.path().join("rules");
    std::fs::write(
        &rules,
        "local all,replication all trust\nhost all all all trust\n",
    )
    .expect("written");
    let (sockets, rules) = (
        directory.path().display().to_string(),
        rules.display().to_string(),
    );
    let primary = TestServer::start_with(
        "follower-socket",
        &["--socket-dir", &sockets, "--hba-file", &rules],
    );
    value(&primary, "create table t (a int primary key, b text)");
    let url = format!(
        "postgres://postgres@/postgres?host={sockets}&port={}",
        primary.port()
    );
    let data = TemporaryDirectory::new("follower-socket-b");
    let follower = follow_url(&url, &data, "b").unwrap_or_else(|said| panic!("no follower: {said}"));
    fill(&primary, 1, 5000);
    compare(&primary, &follower, &STATE);
    await_value(
        &primary,
        "select client_addr is null, client_port, state from pg_stat_replication",
        "t|-1|streaming",
    );
    assert_eq!(
        value(
            &follower,
            "select sender_host, sender_port from pg_stat_wal_receiver"
        ),
        format!("{sockets}|{}", primary.port())
    );
}
