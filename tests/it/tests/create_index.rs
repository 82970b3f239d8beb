//! CREATE INDEX and who waits for it. Every expectation holds for PostgreSQL 15 too (`MOTE_IT_TARGET`), except where a
//! test says what differs.

use mote_it::TestServer;
use mote_it::server::is_oracle;
use mote_it::wire::*;

fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let mut client = RawClient::connect(&server);
    client.rows("create table t (id int primary key, v int); insert into t select g, g % 100 from generate_series(1, 3000) g");
    (server, client)
}

#[test]
fn a_plain_build_stops_writers_and_no_readers() {
    let (server, mut builder) = start("index-plain");
    let mut other = RawClient::connect(&server);
    builder.rows("begin; create index on t (v)");
    other.rows("set lock_timeout = '100ms'");
    assert_eq!(other.rows("select count(*) from t where v = 5"), ["30"]);
    assert_eq!(
        sqlstate(&other.query("insert into t values (0, 0)")).as_deref(),
        Some("55P03")
    );
    builder.rows("commit");
    assert_eq!(tags(&other.query("insert into t values (0, 0)")), ["INSERT 0 1"]);
}

/// Of two that build at the same time none loses its index.
#[test]
fn two_builds_of_one_table_both_count() {
    let (server, mut one) = start("index-two");
    let mut two = RawClient::connect(&server);
    one.rows("begin; create index first on t (v)");
    two.raw(&query("create index second on t (v)"));
    std::thread::sleep(std::time::Duration::from_millis(200));
    one.rows("commit");
    assert_eq!(tags(&two.until(b'Z')), ["CREATE INDEX"]);
    let names = "select indexname from pg_indexes where tablename = 't' order by 1";
    assert_eq!(one.rows(names), ["first", "second", "t_pkey"]);
    assert_eq!(one.rows("drop index first"), [""; 0]);
    assert_eq!(two.rows(names), ["second", "t_pkey"]);
}

#[test]
fn a_concurrent_build_stops_nobody() {
    let (server, mut builder) = start("index-concurrent");
    let mut writer = RawClient::connect(&server);
    let mut other = RawClient::connect(&server);
    other.rows("set lock_timeout = '5s'");
    // The unique build cannot end before this writer, who does not know the index.
    writer.rows("begin; update t set v = -1 where id = 7");
    builder.raw(&query("create unique index concurrently made on t (v, id)"));
    for round in 0..50 {
        let messages = other.query(&format!(
            "insert into t values ({}, 1); update t set v = v + 1 where id = {}; delete from t where id = {}",
            10_000 + round,
            100 + round,
            200 + round
        ));
        assert_eq!(tags(&messages), ["INSERT 0 1", "UPDATE 1", "DELETE 1"]);
    }
    assert_eq!(
        other.rows("select count(*) from t where v = 1 and id >= 10000"),
        ["50"]
    );
    writer.rows("commit");
    assert_eq!(tags(&builder.until(b'Z')), ["CREATE INDEX"]);
    // It is used, and right.
    let through_index = "set enable_seqscan = off; select count(*), sum(id) from t where v = 1";
    let through_table = "select count(*), sum(id) from t where v + 0 = 1";
    assert_eq!(other.rows(through_index), other.rows(through_table));
    assert_eq!(
        other.rows("select indisvalid from pg_index where indexrelid = 'made'::regclass"),
        ["t"]
    );
}

#[test]
fn a_concurrent_build_that_fails_can_be_repeated() {
    let (server, mut builder) = start("index-duplicates");
    let messages = builder.query("create unique index concurrently made on t (v)");
    assert_eq!(
        error(&messages).as_deref(),
        Some("23505 could not create unique index \"made\"")
    );
    if is_oracle() {
        // PostgreSQL leaves it behind, invalid.
        builder.rows("drop index made");
    }
    let mut writer = RawClient::connect(&server);
    assert_eq!(tags(&writer.query("insert into t values (0, 5)")), ["INSERT 0 1"]);
    assert_eq!(
        tags(&builder.query("create unique index concurrently made on t (v, id)")),
        ["CREATE INDEX"]
    );
    // Cancelled while it waits for a writer, it leaves nothing either.
    writer.rows("begin; update t set v = -1 where id = 7");
    builder.rows("set statement_timeout = '300ms'");
    let messages = builder.query("create unique index concurrently other on t (id, v)");
    assert_eq!(sqlstate(&messages).as_deref(), Some("57014"));
    writer.rows("commit");
    builder.rows("set statement_timeout = 0");
    if is_oracle() {
        builder.rows("drop index other");
    }
    assert_eq!(
        builder.rows("select count(*) from pg_class where relname = 'other'"),
        ["0"]
    );
}

#[test]
fn what_is_concurrent_is_no_part_of_a_block() {
    let (_server, mut client) = start("index-block");
    client.rows("create index made on t (v)");
    for (statement, word) in [
        ("create index concurrently on t (v)", "CREATE INDEX CONCURRENTLY"),
        ("drop index concurrently made", "DROP INDEX CONCURRENTLY"),
    ] {
        client.rows("begin");
        assert_eq!(
            error(&client.query(statement)),
            Some(format!("25001 {word} cannot run inside a transaction block"))
        );
        client.rows("rollback");
    }
    let messages = client.query("drop index concurrently made, t_pkey");
    assert_eq!(
        error(&messages).as_deref(),
        Some("0A000 DROP INDEX CONCURRENTLY does not support dropping multiple objects")
    );
    let messages = client.query("drop index concurrently made cascade");
    assert_eq!(
        error(&messages).as_deref(),
        Some("0A000 DROP INDEX CONCURRENTLY does not support CASCADE")
    );
    assert_eq!(
        tags(&client.query("drop index concurrently made")),
        ["DROP INDEX"]
    );
}

/// A value too long for a key is refused by the build as by a row that is written. PostgreSQL compresses keys: its values are random.
#[test]
fn a_build_refuses_keys_that_are_too_long() {
    let (_server, mut client) = start("index-long-keys");
    client.rows(
        "create table long (id int, v text); insert into long select 1, string_agg(md5(i::text), '') from generate_series(1, 300) i",
    );
    let field = |messages: &[Message], kind: u8| {
        let error = messages.iter().find(|message| message.kind == b'E');
        error.and_then(|error| error.field(kind)).unwrap_or_default()
    };
    for statement in [
        "create index long_v on long (v)",
        "create index concurrently long_v on long (v)",
        "create unique index long_v on long (id, v)",
        "create index long_v on long (upper(v))",
        "alter table long add constraint long_v unique (v)",
    ] {
        let refused = client.query(statement);
        assert_eq!(sqlstate(&refused).as_deref(), Some("54000"), "{statement}");
        let message = field(&refused, b'M');
        assert!(
            message.starts_with("index row size ") && message.contains(" maximum "),
            "{statement}: {message}"
        );
        assert!(
            message.ends_with(" for index \"long_v\""),
            "{statement}: {message}"
        );
        assert_eq!(
            (field(&refused, b't').as_str(), field(&refused, b'n').as_str()),
            ("long", "long_v"),
            "{statement}"
        );
        // CONCURRENTLY leaves an index that is not valid.
        client.rows("drop index if exists long_v");
    }
    client.rows("create index long_v on long (v) where id > 1");
    let refused = client.query("update long set id = 2");
    assert_eq!(sqlstate(&refused).as_deref(), Some("54000"));
    assert_eq!(client.rows("select id, length(v) from long"), ["1|9600"]);
    client.rows("drop index long_v; create index on long (md5(v))");
}
