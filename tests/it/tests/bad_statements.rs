//! Statements that must fail, each with PostgreSQL's SQLSTATE, message and position, and statements too deep or too long
//! for any stack. The list stands in `statements_that_fail.txt`.
//!
//! Where mote is wrong, a third line `known defect: STATE POSITION MESSAGE` says what it answers today, or
//! `known defect: no error`; that is asserted of mote, and what stands above of PostgreSQL.

use std::time::{Duration, Instant};

use mote_it::bystander::{finish, start};
use mote_it::server::is_oracle;
use mote_it::wire::*;

/// How a line begins that says what mote answers today instead.
const DEFECT: &str = "known defect: ";

/// WITH queries that each read the one before.
fn chain(many: usize) -> String {
    let queries: Vec<String> = (1..many)
        .map(|n| format!("c{n} as (select a + 1 as a from c{})", n - 1))
        .collect();
    format!(
        "with c0 as (select 1 as a), {} select a from c{}",
        queries.join(", "),
        many - 1
    )
}

/// The same, each reading it twice: those are computed once, and kept.
fn twice(many: usize) -> String {
    let queries: Vec<String> = (1..many)
        .map(|n| format!("c{n} as (select x.a from c{0} x, c{0} y where x.a = y.a)", n - 1))
        .collect();
    format!(
        "with c0 as (select 1 as a), {} select a from c{}",
        queries.join(", "),
        many - 1
    )
}

fn arms(many: usize) -> String {
    let arms: Vec<String> = (0..many).map(|n| format!("select {n} where false")).collect();
    arms.join(" union all ")
}

fn joins(many: usize) -> String {
    let joins: Vec<String> = (0..many)
        .map(|n| format!("left join kept k{n} on k{n}.id = 1"))
        .collect();
    format!("select 1 from kept {}", joins.join(" "))
}

/// SQLSTATE, message and position of statements that must fail.
#[test]
fn statements_that_must_fail() {
    let (server, bystander) = start("statements");
    let mut client = RawClient::connect(&server);
    client.rows(
        "create table t (id int primary key, s smallint, n numeric(5,2), v varchar(3), c char(2), r int references t);
         insert into t values (1, 1, 1, 'a', 'b', null)",
    );
    let mut wrong = Vec::new();
    let mut lines = include_str!("statements_that_fail.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .peekable();
    while let Some(line) = lines.next() {
        let message = lines.next().expect("a message below each statement").trim_start();
        let mut fields = line.splitn(3, ' ');
        let mut field = || fields.next().expect("state, position, statement");
        let (state, position, text) = (field(), field().parse::<usize>().ok(), field());
        let mut expect = Some((state.to_string(), message.to_string(), position));
        // Known defect: what mote answers today.
        if let Some(line) = lines.next_if(|line| line.trim_start().starts_with(DEFECT))
            && !is_oracle()
        {
            let today = &line.trim_start()[DEFECT.len()..];
            let parsed = (today != "no error").then(|| {
                let mut fields = today.splitn(3, ' ');
                let mut field = || fields.next().expect("state, position, message");
                let (state, position, message) = (field(), field().parse::<usize>().ok(), field());
                (state.to_string(), message.to_string(), position)
            });
            assert_ne!(parsed, expect, "{text}: PostgreSQL's answer is no defect");
            expect = parsed;
        }
        let messages = client.query(text);
        let got = messages.iter().find(|m| m.kind == b'E').map(|error| {
            let position = error.field(b'P').map(|p| p.parse::<usize>().expect("a number"));
            let field = |kind| error.field(kind).expect("every error has it");
            (field(b'C'), field(b'M'), position)
        });
        if got != expect {
            wrong.push(format!("{text}\n    expected {expect:?}\n    got      {got:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} statements:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(client.rows("select count(*) from t"), ["1"]);
    finish(server, bystander);
}

/// Arms of an OR, each of two tables. A debug build on a busy machine plans them in some seconds; with work that grows with their
/// square it would take minutes.
const ARMS: usize = 20_000;
const LINEAR_LONGEST: Duration = Duration::from_secs(60);

#[test]
fn deep_and_long_statements() {
    let (server, bystander) = start("deep");
    let mut client = RawClient::connect(&server);
    let nested = |depth: usize| format!("select {}1{}", "(".repeat(depth), ")".repeat(depth));
    let selects = |depth: usize| format!("{}select 1{}", "select (".repeat(depth), ")".repeat(depth));
    let nots = |depth: usize| format!("select {} true", "not ".repeat(depth));
    let sums = |depth: usize| format!("select 1{}", " + 1".repeat(depth));
    let cases = |depth: usize| {
        format!(
            "select {}0{}",
            "case when true then ".repeat(depth),
            " end".repeat(depth)
        )
    };
    for text in [
        nested(1_000),
        arms(1_000),
        selects(30),
        nots(300),
        sums(900),
        cases(100),
    ] {
        let messages = client.query(&text);
        assert_eq!(error(&messages), None, "{} bytes: {}", text.len(), &text[..40]);
    }
    // Far beyond any stack: an error or an answer, never a crash.
    for text in [
        nested(200_000),
        selects(50_000),
        nots(200_000),
        sums(500_000),
        cases(100_000),
    ] {
        let messages = client.query(&text);
        let state = sqlstate(&messages);
        assert!(
            matches!(
                state.as_deref(),
                None | Some("54001" | "54000" | "53200" | "42601")
            ),
            "{} bytes: {:?}",
            text.len(),
            error(&messages)
        );
        assert_eq!(messages.last().map(|m| m.kind), Some(b'Z'));
    }
    // What is long, and deep only by what it reads: WITH queries are put where they are read.
    for (many, text) in [
        (300, chain as fn(usize) -> String),
        (20_000, chain),
        (300, twice),
        (20_000, twice),
        (1_000, arms),
        (50_000, arms),
        (1_000, joins),
    ] {
        let (text, since) = (text(many), Instant::now());
        let messages = client.query(&text);
        let state = sqlstate(&messages);
        let allowed = many > 300 && matches!(state.as_deref(), Some("54001" | "54000"));
        assert!(
            state.is_none() || allowed,
            "{many}, {}: {:?}",
            &text[..40],
            error(&messages)
        );
        assert_eq!(messages.last().map(|m| m.kind), Some(b'Z'));
        assert!(
            since.elapsed() < LINEAR_LONGEST,
            "{many}, {}: {:?}",
            &text[..40],
            since.elapsed()
        );
    }
    let list = (0..100_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(
        client.rows(&format!("select count(*) from kept where id in ({list})")),
        ["1"]
    );
    let arms = (0..ARMS).map(|n| format!("(a.id = {n} and b.id = {})", n + 1));
    let arms = arms.collect::<Vec<_>>().join(" or ");
    let since = Instant::now();
    client.rows(&format!("explain select 1 from kept a, kept b where {arms}"));
    let spent = since.elapsed();
    assert!(spent < LINEAR_LONGEST, "{spent:?} for {ARMS} arms of an OR");
    finish(server, bystander);
}
