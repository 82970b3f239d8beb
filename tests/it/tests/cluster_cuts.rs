//! Cables between the nodes of a cluster that are cut, while clients go over TLS: who is cut off answers nobody, and nobody
//! else is disturbed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::certificates::{Authority, ELLIPTIC};
use mote_it::clients::{client, psql};
use mote_it::cluster::{Further, NAMES, Nodes};
use mote_it::nodes::{await_value, value};
use mote_it::process::await_that;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Three nodes that reach each other through cables, with certificates.
fn cluster(name: &str) -> (Nodes, Authority) {
    let authority = Authority::new(name);
    authority.sign("server", "server", ELLIPTIC);
    let options = [
        "--tls-cert".into(),
        authority.file("server.crt"),
        "--tls-key".into(),
        authority.file("server.key"),
    ];
    let further = Further {
        cuts: true,
        options: options.to_vec(),
        ..Further::default()
    };
    (Nodes::start_with(name, further), authority)
}

fn cut_off(nodes: &Nodes, index: usize) {
    let cuts = nodes.cuts.as_ref().expect("it has cables");
    let others = (0..NAMES.len()).filter(|other| *other != index);
    others.for_each(|other| cuts.cut(index, other));
}

fn mend(nodes: &Nodes) {
    nodes.cuts.as_ref().expect("it has cables").mend();
}

/// A session of psql over TLS that stays.
struct Session {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Session {
    fn open(server: &TestServer) -> Session {
        let mut command = client("psql", server);
        let connection = format!("dbname={} sslmode=require", server.database());
        command.args(["-X", "-At", "-d", &connection]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().expect("psql is installed");
        Session {
            questions: process.stdin.take().expect("piped"),
            answers: BufReader::new(process.stdout.take().expect("piped")),
            process,
        }
    }

    fn ask(&mut self, question: &str) {
        // A psql that has ended takes none, and its answers say so.
        let _ = writeln!(self.questions, "{question}").and_then(|()| self.questions.flush());
    }

    /// The next line; empty: the session has ended.
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a pipe can be read");
        line
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        let _ = (self.process.kill(), self.process.wait());
    }
}

#[test]
fn who_is_cut_off_answers_nothing_over_tls_once_another_leads() {
    let (nodes, _authority) = cluster("cluster-cut-tls");
    let leader = nodes.leader();
    value(nodes.node(leader), "create table t (id int)");
    value(nodes.node(leader), "insert into t values (1)");
    let mut session = Session::open(nodes.node(leader));
    session.ask("select ssl, count(t.*) from pg_stat_ssl, t where pid = pg_backend_pid() group by 1;");
    assert_eq!(session.answer(), "t|1\n");

    cut_off(&nodes, leader);
    let next = nodes.leader_but(Some(leader));
    await_that("the other one takes writes", TIMEOUT, || {
        psql(nodes.node(next), "insert into t values (2)").ok
    });
    session.ask("select 'answered by who was cut off';");
    assert_eq!(session.answer(), "", "{}", nodes.logs());

    mend(&nodes);
    nodes.settle();
    nodes.await_replay();
    for index in nodes.up() {
        await_value(
            nodes.node(index),
            "select bool_and(id in (1, 2)) and count(distinct id) = 2 from t",
            "t",
        );
    }
}

#[test]
fn a_follower_that_is_cut_off_disturbs_nobody_and_catches_up() {
    let (nodes, _authority) = cluster("cluster-cut-follower");
    let leader = nodes.leader();
    let term = nodes.record().expect("a record").term;
    let away = (leader + 1) % NAMES.len();
    value(nodes.node(leader), "create table t (id int)");
    let mut session = Session::open(nodes.node(leader));
    cut_off(&nodes, away);
    // Longer than anybody waits for a silent primary.
    let (since, mut rows) = (Instant::now(), 0);
    while since.elapsed() < Duration::from_secs(4) {
        rows += 1;
        session.ask(&format!("insert into t values ({rows}) returning id;"));
        assert_eq!(session.answer(), format!("{rows}\n"));
        assert_eq!(session.answer(), "INSERT 0 1\n");
    }
    mend(&nodes);
    nodes.await_replay();
    await_value(nodes.node(away), "select count(*) from t", &rows.to_string());
    session.ask("select 'the same session';");
    assert_eq!(session.answer(), "the same session\n");
    let record = nodes.record().expect("a record");
    assert_eq!(
        record.term,
        term,
        "the one that was cut off has disturbed the others\n{}",
        nodes.logs()
    );
}
