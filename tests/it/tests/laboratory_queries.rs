//! Commands of the laboratory that give several servers the same work: analytic queries, whose answers are compared, and
//! sysbench's transactions.

use std::process::Command;

use mote_it::TestServer;
use mote_it::clients::{Said, psql_strict, run_with_input};
use mote_it::server::mote_binary;

fn bench(arguments: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments);
    run_with_input(&mut command, "", "the mote binary itself")
}

/// Two databases of one server, as targets.
fn two_targets(server: &TestServer) -> [String; 2] {
    psql_strict(server, "CREATE DATABASE other;").good();
    let url = server.url();
    let (place, _) = url.rsplit_once('/').expect("a URL names its database");
    [format!("one={url}"), format!("two={place}/other")]
}

#[test]
fn queries_are_asked_and_a_wrong_answer_is_found() {
    let server = TestServer::start("tpch");
    let targets = two_targets(&server);
    let tpch = |more: &[&str]| {
        let mut arguments = vec!["tpch", "--scale", "0.001", "--runs", "1", "-q"];
        arguments.extend(["--target", &targets[0], "--target", &targets[1]]);
        arguments.extend(more);
        bench(&arguments)
    };
    let out = tpch(&[]).good();
    assert_eq!(
        out.matches(" same").count(),
        23,
        "22 answers and the verdict: {out}"
    );
    assert!(out.contains("geometric mean of one / two"), "{out}");
    psql_strict(
        &server,
        "UPDATE tpch.lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey = 1 AND l_linenumber = 1;",
    )
    .good();
    let said = tpch(&["--queries", "1,22"]);
    assert!(
        said.out.contains("DIFFERENT") && said.out.contains("query 1: two: row"),
        "{}",
        said.out
    );
    assert_eq!(said.out.matches("DIFFERENT").count(), 1, "{}", said.out);
    assert!(said.out.contains("FAIL"), "{}", said.out);
    // What cannot end in its time is no wrong answer.
    let out = tpch(&["--queries", "9", "--time-limit", "0.001"]).good();
    assert!(out.contains("did not end"), "{out}");
}

#[test]
fn sysbench_s_transactions_run_and_are_counted() {
    let server = TestServer::start("sysbench");
    let targets = two_targets(&server);
    let mut arguments = vec![
        "sysbench",
        "--workload",
        "all",
        "--tables",
        "2",
        "--rows",
        "500",
        "--threads",
        "4",
    ];
    arguments.extend(["-d", "1", "--warmup", "0.1", "-q"]);
    arguments.extend(["--target", &targets[0], "--target", &targets[1]]);
    let out = bench(&arguments).good();
    for mix in [
        "point-select",
        "read-only",
        "ranges",
        "read-write",
        "write-only",
        "update-non-index",
        "delete",
    ] {
        assert!(out.contains(&format!("{mix} ")), "{mix}: {out}");
    }
    assert_eq!(out.matches("PASS condition  1").count(), 2, "{out}");
}

#[test]
fn ch_s_queries_run_on_the_tables_of_order_entry_and_beside_it() {
    let server = TestServer::start("ch");
    let url = server.url();
    let mut arguments = vec!["ch", "--queries", "1,6,22", "--runs", "2", "-q", "--target", &url];
    arguments.extend(["--terminals", "2", "-d", "2"]);
    let out = bench(&arguments).good();
    assert!(out.contains("PASS every query is answered"), "{out}");
    assert!(
        out.contains("order entry with 2 terminals") && out.contains(" PASS\n"),
        "{out}"
    );
}

#[test]
fn the_speed_table_has_a_verdict_for_each_line() {
    let server = TestServer::start("speed");
    let targets = two_targets(&server);
    let html = std::env::temp_dir().join(format!("mote-it-{}-speed.html", std::process::id()));
    let html = html.to_str().expect("a path of letters");
    let mut arguments = vec![
        "speed",
        "--only",
        "tpch,planning,tls",
        "--scale",
        "0.001",
        "--rounds",
        "1",
    ];
    arguments.extend(["-q", "--html", html]);
    arguments.extend(["--target", &targets[0], "--target", &targets[1]]);
    let said = bench(&arguments);
    for line in [
        "TPC-H: queries that end",
        "TPC-H: geometric mean of speeds",
        "planning a six-way join, us",
        "not measured",
    ] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    let page = std::fs::read_to_string(html).expect("a page");
    assert!(page.contains("Multiples of the target"), "a chart");
    for path in [html.to_string(), html.replace(".html", ".md")] {
        std::fs::remove_file(&path).expect("it was written");
    }
}
