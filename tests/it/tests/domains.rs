//! Sessions that change a domain beside sessions that write its values, COPY into such columns, and what a restart
//! keeps of them.

use mote_it::TestServer;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

fn start(name: &str) -> (TestServer, RawClient, RawClient) {
    let server = TestServer::start(name);
    let mut first = RawClient::connect(&server);
    first.rows("create domain positive as int check (value > 0)");
    first.rows("create table t (id int primary key, p positive)");
    let second = RawClient::connect(&server);
    (server, first, second)
}

#[test]
fn a_new_rule_sees_rows_that_are_being_written() {
    let (server, mut writer, mut changer) = start("domains-writer-first");
    let mut observer = RawClient::connect(&server);
    let waiting = pid(&mut changer);
    writer.rows("begin; insert into t values (1, 7)");
    changer.raw(&query(
        "alter domain positive add constraint odd check (value <> 7)",
    ));
    await_lock(&mut observer, &waiting);
    writer.rows("commit");
    assert_eq!(
        error(&changer.until(b'Z')).as_deref(),
        Some("23514 column \"p\" of table \"t\" contains values that violate the new constraint")
    );
}

#[test]
fn who_waited_for_a_new_rule_keeps_it() {
    let (server, mut writer, mut changer) = start("domains-changer-first");
    let mut observer = RawClient::connect(&server);
    let waiting = pid(&mut writer);
    // A plan of the old rules.
    writer.rows("prepare p(int, int) as insert into t values ($1, $2)");
    writer.rows("execute p(1, 1)");
    writer.rows("prepare c(int) as select $1::positive");
    writer.rows("execute c(7)");
    changer.rows("begin; alter domain positive add constraint odd check (value <> 7)");
    writer.raw(&query("execute p(2, 7)"));
    await_lock(&mut observer, &waiting);
    changer.rows("commit");
    let expected = "23514 value for domain positive violates check constraint \"odd\"";
    assert_eq!(error(&writer.until(b'Z')).as_deref(), Some(expected));
    assert_eq!(error(&writer.query("execute c(7)")).as_deref(), Some(expected));
    writer.rows("execute p(2, 8)");
}

#[test]
fn a_new_table_waits_for_a_new_rule() {
    let (server, mut maker, mut changer) = start("domains-new-table");
    let mut observer = RawClient::connect(&server);
    let waiting = pid(&mut changer);
    maker.rows("begin; create table u (p positive); insert into u values (7)");
    changer.raw(&query(
        "alter domain positive add constraint odd check (value <> 7)",
    ));
    await_lock(&mut observer, &waiting);
    maker.rows("commit");
    assert_eq!(
        error(&changer.until(b'Z')).as_deref(),
        Some("23514 column \"p\" of table \"u\" contains values that violate the new constraint")
    );
}

#[test]
fn copy_keeps_the_rules() {
    let (_server, mut client, _) = start("domains-copy");
    client.rows("create domain code as text not null default 'none'; alter table t add column c code");
    let copy = |client: &mut RawClient, statement: &str, data: &str| {
        client.raw(&query(statement));
        client.until(b'G');
        client.send(b'd', data.as_bytes());
        client.send(b'c', b"");
        error(&client.until(b'Z'))
    };
    assert_eq!(copy(&mut client, "copy t (id, p) from stdin", "1\t5\n"), None);
    assert_eq!(
        copy(&mut client, "copy t (id, p) from stdin", "2\t0\n").as_deref(),
        Some("23514 value for domain positive violates check constraint \"positive_check\"")
    );
    assert_eq!(
        copy(&mut client, "copy t from stdin", "2\t1\t\\N\n").as_deref(),
        Some("23502 domain code does not allow null values")
    );
    assert_eq!(client.rows("select * from t"), ["1|5|none"]);
}

#[test]
fn rules_outlive_a_crash() {
    let (server, mut client, _) = start("domains-crash");
    client.rows("create domain two as positive default 2 check (value < 9); create table u (id int primary key, v two)");
    client.rows("create index on u (v); insert into u values (1), (2)");
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    let mut client = RawClient::connect(&server);
    assert_eq!(
        client.rows("select id from u where v = 2 order by id"),
        ["1", "2"]
    );
    for (value, rule) in [("0", "positive_check"), ("9", "two_check")] {
        let expected = format!("23514 value for domain two violates check constraint \"{rule}\"");
        let refused = client.query(&format!("insert into u values (3, {value})"));
        assert_eq!(error(&refused).as_deref(), Some(expected.as_str()));
    }
    client.rows("insert into u values (3)");
    assert_eq!(client.rows("select v from u where id = 3"), ["2"]);
}
