//! Long chains of set operations, and what else is long without being deep.
//!
//! A chain of one operation is one list from the parser to the plan; where the operation changes, plans nest, as deep as
//! statements may be. PostgreSQL nests them all, and answers 54001 where its stack ends.

use mote_it::TestServer;
use mote_it::wire::*;

fn chain(many: usize, operators: &[&str]) -> String {
    let mut text = "select 0 as n".to_string();
    for n in 1..many {
        text += &format!(" {} select {n}", operators[n % operators.len()]);
    }
    text
}

fn counted(client: &mut RawClient, query: &str) -> Vec<String> {
    client.rows(&format!("select count(*), min(n), max(n) from ({query}) s"))
}

/// Nothing but an answer or PostgreSQL's word for too much, and the session goes on.
fn holds_out(client: &mut RawClient, text: &str) -> Option<String> {
    let messages = client.query(text);
    let state = sqlstate(&messages);
    assert!(
        matches!(state.as_deref(), None | Some("54000" | "54001")),
        "{}: {:?}",
        &text[..60],
        error(&messages)
    );
    assert_eq!(client.rows("select 1"), ["1"]);
    state
}

#[test]
fn a_thousand_arms_are_answered() {
    let server = TestServer::start("set_chains");
    let mut client = RawClient::connect(&server);
    assert_eq!(
        counted(&mut client, &chain(1_000, &["union all"])),
        ["1000|0|999"]
    );
    assert_eq!(counted(&mut client, &chain(1_000, &["union"])), ["1000|0|999"]);
    let mixed = chain(1_000, &["union all", "union"]);
    assert_eq!(counted(&mut client, &mixed), ["1000|0|999"]);
    assert_eq!(counted(&mut client, &chain(1_000, &["except"])), ["1|0|0"]);
    assert_eq!(counted(&mut client, &chain(1_000, &["except all"])), ["1|0|0"]);
    assert_eq!(counted(&mut client, &chain(1_000, &["intersect"])), ["0|~|~"]);
    let same = vec!["select 7 as n"; 1_000].join(" intersect all ");
    assert_eq!(counted(&mut client, &same), ["1|7|7"]);
    // INTERSECT goes first: (0 but not (1 and 2)) and 3, but not (4 and 5), and 6, ..
    let mixed = chain(999, &["union all", "except", "intersect"]);
    assert_eq!(counted(&mut client, &mixed), ["333|0|996"]);
}

#[test]
fn a_long_chain_is_a_query_like_any_other() {
    let server = TestServer::start("set_chains_used");
    let mut client = RawClient::connect(&server);
    let text = chain(1_000, &["union all"]);
    client.rows(&format!("create view long as {text}"));
    assert_eq!(client.rows("select count(*), sum(n) from long"), ["1000|499500"]);
    assert_eq!(client.rows("select n from long where n = 500"), ["500"]);
    client.rows(&format!(
        "create view long_except as {}",
        chain(1_000, &["except"])
    ));
    assert_eq!(client.rows("select * from long_except"), ["0"]);
    client.rows(&format!(
        "create view long_mixed as {}",
        chain(200, &["except", "union"])
    ));
    assert_eq!(
        client.rows("select count(*), max(n) from long_mixed"),
        ["101|199"]
    );
    client.rows(&format!("prepare p as {text}"));
    assert_eq!(client.rows("execute p").len(), 1_000);
    assert!(client.rows(&format!("explain {text}")).len() > 1_000);
    client.rows("create table kept (n int)");
    client.rows(&format!("insert into kept {text}"));
    assert_eq!(client.rows("select count(*), sum(n) from kept"), ["1000|499500"]);
    client.rows(&format!(
        "create function arms() returns bigint language sql as $$ select count(*) from ({text}) s $$"
    ));
    assert_eq!(client.rows("select arms()"), ["1000"]);
    let recursive = format!(
        "with recursive r(n) as ({text} union all select n + 1000 from r where n < 1000) select count(*) from r"
    );
    assert_eq!(client.rows(&recursive), ["2000"]);
}

#[test]
fn ten_thousand_arms_are_answered_or_refused() {
    let server = TestServer::start("set_chains_longer");
    let mut client = RawClient::connect(&server);
    for (operators, answer) in [
        (&["union all"][..], "10000|0|9999"),
        (&["union"], "10000|0|9999"),
        (&["union all", "union"], "10000|0|9999"),
        (&["except"], "1|0|0"),
        (&["except all"], "1|0|0"),
        (&["intersect"], "0|~|~"),
        (&["intersect all"], "0|~|~"),
    ] {
        let text = chain(10_000, operators);
        assert_eq!(counted(&mut client, &text), [answer], "{operators:?}");
    }
    for operators in [["except", "union all"], ["except", "except all"]] {
        let text = chain(10_000, &operators);
        assert_eq!(
            holds_out(&mut client, &text).as_deref(),
            Some("54001"),
            "{operators:?}"
        );
    }
    holds_out(&mut client, &chain(100_000, &["union all"]));
    // As deep as a chain may nest.
    for many in [650, 690, 710, 1_100, 1_210] {
        let text = chain(many, &["except", "except all"]);
        holds_out(&mut client, &text);
        let view = format!("create view v{many} as {text}");
        if holds_out(&mut client, &view).is_none() {
            let read = format!("select * from (select n from v{many} where n >= 0 offset 0) as s order by n");
            holds_out(&mut client, &read);
        }
    }
}

#[test]
fn long_values_and_many_parentheses_are_answered() {
    let server = TestServer::start("set_chains_values");
    let mut client = RawClient::connect(&server);
    let rows: Vec<String> = (0..10_000).map(|n| format!("({n}, 'x{n}')")).collect();
    let values = format!("values {}", rows.join(", "));
    assert_eq!(client.rows(&values).len(), 10_000);
    assert_eq!(
        client.rows(&format!("select count(*), max(column1) from ({values}) v")),
        ["10000|9999"]
    );
    for many in [1_000, 2_000, 4_000] {
        let (open, close) = ("(".repeat(many), ")".repeat(many));
        assert_eq!(client.rows(&format!("select {open}1{close}")), ["1"], "{many}");
        assert_eq!(client.rows(&format!("{open}select 1{close}")), ["1"], "{many}");
    }
    holds_out(
        &mut client,
        &format!("select {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
    );
}
