//! Statements on the wire, message by message: order of answers, formats, portals, errors. Every expectation holds for
//! PostgreSQL 15 too (`MOTE_IT_TARGET`).

use mote_it::TestServer;
use mote_it::wire::*;

const INT4: u32 = 23;
const INT8: u32 = 20;
const TEXT: u32 = 25;
const FLOAT8: u32 = 701;
const VARCHAR: u32 = 1043;
const TIMESTAMP: u32 = 1114;
const NUMERIC: u32 = 1700;

fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let client = RawClient::connect(&server);
    (server, client)
}

/// Parameters a ParameterDescription names.
fn parameter_types(messages: &[Message]) -> Vec<u32> {
    let body = &messages
        .iter()
        .find(|m| m.kind == b't')
        .expect("a ParameterDescription")
        .body;
    body[2..]
        .chunks(4)
        .map(|c| u32::from_be_bytes(c.try_into().expect("four bytes")))
        .collect()
}

fn described(messages: &[Message]) -> Vec<(String, u32, i16, i32, i16)> {
    messages
        .iter()
        .find(|m| m.kind == b'T')
        .expect("a RowDescription")
        .described()
}

#[test]
fn several_groups_before_one_sync() {
    let (_server, mut client) = start("groups");
    client.rows("create table t (id int primary key, v text)");
    // As pgjdbc does: BEGIN rides with the first statement, all in one write.
    let messages = client.exchange(&[
        parse("", "BEGIN", &[]),
        bind("", "", &[]),
        execute("", 0),
        parse("", "insert into t values ($1, $2)", &[INT4, TEXT]),
        bind("", "", &["1", "one"]),
        describe(b'P', ""),
        execute("", 1),
        bind("", "", &["2", "two"]),
        execute("", 1),
        parse("", "select id, v from t order by id", &[]),
        bind("", "", &[]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "12C12nC2C12TDDCZ");
    assert_eq!(tags(&messages), ["BEGIN", "INSERT 0 1", "INSERT 0 1", "SELECT 2"]);
    assert_eq!(text_rows(&messages), ["1|one", "2|two"]);
    assert_eq!(status(&messages), Some('T'));
    let messages = client.exchange(&[
        parse("", "COMMIT", &[]),
        bind("", "", &[]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(
        (tags(&messages), status(&messages)),
        (vec!["COMMIT".to_string()], Some('I'))
    );
}

#[test]
fn groups_without_a_block_commit_at_sync() {
    let (server, mut client) = start("implicit");
    client.rows("create table t (id int primary key)");
    let insert = |id: &str| {
        [
            parse("", "insert into t values ($1)", &[INT4]),
            bind("", "", &[id]),
            execute("", 0),
        ]
        .concat()
    };
    // The third fails: the first two belong to the same implicit transaction.
    let messages = client.exchange(&[insert("1"), insert("2"), insert("1"), insert("3"), sync()]);
    assert_eq!(kinds(&messages), "12C12C12EZ");
    assert_eq!(sqlstate(&messages).as_deref(), Some("23505"));
    assert_eq!(status(&messages), Some('I'));
    assert_eq!(client.rows("select count(*) from t"), ["0"]);
    client.exchange(&[insert("1"), insert("2"), sync()]);
    let mut other = RawClient::connect(&server);
    assert_eq!(other.rows("select count(*) from t"), ["2"]);
}

#[test]
fn named_statements_and_portals() {
    let (_server, mut client) = start("named");
    client.rows("create table t (id int primary key, v text); insert into t values (1,'a'),(2,'b'),(3,'c')");
    let messages = client.exchange(&[
        parse("S_1", "select v from t where id = $1", &[INT4]),
        describe(b'S', "S_1"),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "1tTZ");
    assert_eq!(parameter_types(&messages), [INT4]);
    for _ in 0..3 {
        let messages = client.exchange(&[bind("", "S_1", &["2"]), execute("", 0), sync()]);
        assert_eq!(kinds(&messages), "2DCZ");
        assert_eq!(text_rows(&messages), ["b"]);
    }
    // The same name twice; the statement stays what it was.
    let messages = client.exchange(&[parse("S_1", "select 1", &[]), sync()]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("42P05 prepared statement \"S_1\" already exists")
    );
    // Two named portals at once, in a block.
    client.rows("begin");
    let messages = client.exchange(&[
        bind("p1", "S_1", &["1"]),
        bind("p3", "S_1", &["3"]),
        describe(b'P', "p1"),
        execute("p3", 0),
        execute("p1", 0),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "22TDCDCZ");
    assert_eq!(text_rows(&messages), ["c", "a"]);
    let messages = client.exchange(&[bind("p1", "S_1", &["1"]), sync()]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("42P03 cursor \"p1\" already exists")
    );
    client.rows("rollback");
    // A portal ends with its transaction.
    let messages = client.exchange(&[execute("p1", 0), sync()]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("34000 portal \"p1\" does not exist")
    );
    // Close, twice: the second closes nothing and is no error.
    let messages = client.exchange(&[
        close(b'S', "S_1"),
        close(b'S', "S_1"),
        close(b'P', "nothing"),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "333Z");
    let messages = client.exchange(&[bind("", "S_1", &["1"]), sync()]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("26000 prepared statement \"S_1\" does not exist")
    );
    let messages = client.exchange(&[describe(b'S', "S_1"), sync()]);
    assert_eq!(sqlstate(&messages).as_deref(), Some("26000"));
    let messages = client.exchange(&[describe(b'P', "p9"), sync()]);
    assert_eq!(sqlstate(&messages).as_deref(), Some("34000"));
}

#[test]
fn protocol_and_sql_share_prepared_statements() {
    let (_server, mut client) = start("shared-names");
    client.rows("prepare double(int) as select $1 * 2");
    let messages = client.exchange(&[bind("", "double", &["21"]), execute("", 0), sync()]);
    assert_eq!(text_rows(&messages), ["42"]);
    client.exchange(&[parse("triple", "select $1::int * 3", &[]), sync()]);
    assert_eq!(client.rows("execute triple(14)"), ["42"]);
    assert_eq!(client.rows("deallocate triple"), Vec::<String>::new());
    let messages = client.exchange(&[bind("", "triple", &["1"]), sync()]);
    assert_eq!(sqlstate(&messages).as_deref(), Some("26000"));
}

#[test]
fn a_statement_outlives_changes_of_its_table() {
    let (_server, mut client) = start("replan");
    client.rows("create table t (id int primary key, v int); insert into t values (1, 10)");
    client.exchange(&[
        parse("read", "select v from t where id = $1", &[INT4]),
        parse("star", "select * from t", &[]),
        sync(),
    ]);
    client.rows("create index on t (v); alter table t add column w text default 'new'");
    let messages = client.exchange(&[bind("", "read", &["1"]), execute("", 0), sync()]);
    assert_eq!(text_rows(&messages), ["10"]);
    let messages = client.exchange(&[bind("", "star", &[]), execute("", 0), sync()]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("0A000 cached plan must not change result type")
    );
    client.rows("drop table t");
    let messages = client.exchange(&[bind("", "read", &["1"]), execute("", 0), sync()]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("42P01 relation \"t\" does not exist")
    );
}

/// Who wants one row of a query and never comes back has all rows written that its WITH query writes.
#[test]
fn row_limits_do_not_stop_writes_in_with() {
    let (_server, mut client) = start("limits-with");
    client.rows("create table t (id int primary key)");
    let messages = client.exchange(&[
        parse(
            "s",
            "with w as (insert into t select generate_series(1, 3) returning id) select id from w order by id",
            &[],
        ),
        bind("", "s", &[]),
        execute("", 1),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "12DsZ");
    assert_eq!(client.rows("select count(*) from t"), ["3"]);
    // Within a block the rest can be fetched.
    client.rows("delete from t");
    let messages = client.exchange(&[
        parse("", "BEGIN", &[]),
        bind("", "", &[]),
        execute("", 0),
        bind("c", "s", &[]),
        execute("c", 1),
        execute("c", 0),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "12C2DsDDCZ");
    assert_eq!(text_rows(&messages), ["1", "2", "3"]);
    client.rows("commit");
    assert_eq!(client.rows("select count(*) from t"), ["3"]);
}

#[test]
fn row_limits_suspend_portals() {
    let (_server, mut client) = start("limits");
    client.rows("create table t (id int primary key); insert into t select generate_series(1, 10)");
    let messages = client.exchange(&[
        parse("", "BEGIN", &[]),
        bind("", "", &[]),
        execute("", 0),
        parse("s", "select id from t order by id", &[]),
        bind("c", "s", &[]),
        execute("c", 4),
        execute("c", 4),
        execute("c", 4),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "12C12DDDDsDDDDsDDCZ");
    assert_eq!(tags(&messages), ["BEGIN", "SELECT 2"]);
    // Exactly all rows: the executor does not know that it is at the end.
    let messages = client.exchange(&[bind("d", "s", &[]), execute("d", 10), sync()]);
    assert_eq!(kinds(&messages), "2DDDDDDDDDDsZ");
    let messages = client.exchange(&[execute("d", 10), sync()]);
    assert_eq!(
        (kinds(&messages).as_str(), &tags(&messages)[0][..]),
        ("CZ", "SELECT 0")
    );
    // A portal keeps its snapshot over changes and over Sync.
    let messages = client.exchange(&[bind("e", "s", &[]), execute("e", 1), sync()]);
    assert_eq!(kinds(&messages), "2DsZ");
    client.rows("delete from t where id > 5");
    let messages = client.exchange(&[execute("e", 0), sync()]);
    assert_eq!(tags(&messages), ["SELECT 9"]);
    // FETCH and Execute move the same cursor.
    client.rows("declare k cursor for select generate_series(1, 5)");
    assert_eq!(client.rows("fetch 2 from k"), ["1", "2"]);
    let messages = client.exchange(&[execute("k", 2), sync()]);
    assert_eq!(text_rows(&messages), ["3", "4"]);
    assert_eq!(client.rows("fetch all from k"), ["5"]);
    client.rows("rollback");
}

#[test]
fn executing_a_finished_statement_again() {
    let (_server, mut client) = start("again");
    client.rows("create table t (id int primary key)");
    let messages = client.exchange(&[
        parse("", "insert into t values (1)", &[]),
        bind("", "", &[]),
        execute("", 0),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("55000 portal \"\" cannot be run")
    );
    assert_eq!(client.rows("select count(*) from t"), ["0"]);
}

#[test]
fn row_limit_of_one_on_updates_still_completes() {
    let (_server, mut client) = start("execute-one");
    client.rows(
        "create table t (id int primary key, v int); insert into t select g, 0 from generate_series(1, 5) g",
    );
    let run = |client: &mut RawClient, text: &str| {
        client.exchange(&[parse("", text, &[]), bind("", "", &[]), execute("", 1), sync()])
    };
    let messages = run(&mut client, "update t set v = 1");
    assert_eq!(
        (kinds(&messages).as_str(), &tags(&messages)[0][..]),
        ("12CZ", "UPDATE 5")
    );
    let messages = run(&mut client, "delete from t where id > 100");
    assert_eq!(tags(&messages), ["DELETE 0"]);
    // RETURNING is run whole before the first row leaves, so the limit does not cut the work.
    let messages = run(&mut client, "update t set v = v + 1 returning id");
    assert_eq!(kinds(&messages), "12DsZ");
    assert_eq!(client.rows("select sum(v) from t"), ["10"]);
}

#[test]
fn formats_mixed_in_one_bind() {
    let (_server, mut client) = start("formats");
    client.rows("create table t (a int, b varchar(10), c timestamp, d numeric(12,2), e float8)");
    // pgjdbc: int4, float8 and numeric binary, varchar and timestamp text, and no type for timestamps.
    let messages = client.exchange(&[
        parse(
            "i",
            "insert into t values ($1, $2, $3, $4, $5)",
            &[INT4, VARCHAR, 0, FLOAT8, FLOAT8],
        ),
        describe(b'S', "i"),
        bind_with(
            "",
            "i",
            &[1, 0, 0, 1, 1],
            &[
                Some(&7i32.to_be_bytes()),
                Some(b"seven"),
                Some(b"2024-02-29 12:34:56.789"),
                Some(&12.345f64.to_be_bytes()),
                Some(&0.1f64.to_be_bytes()),
            ],
            &[],
        ),
        execute("", 1),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "1tn2CZ");
    assert_eq!(
        parameter_types(&messages),
        [INT4, VARCHAR, TIMESTAMP, FLOAT8, FLOAT8]
    );
    assert_eq!(
        client.rows("select * from t"),
        ["7|seven|2024-02-29 12:34:56.789|12.35|0.1"]
    );
    // Results: mixed by column, in RowDescription and in rows.
    let messages = client.exchange(&[
        parse("", "select a, b, c, d, e from t where d = $1", &[NUMERIC]),
        bind_with("", "", &[0], &[Some(b"12.35")], &[1, 0, 1, 1, 1]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    let formats: Vec<i16> = described(&messages).iter().map(|c| c.4).collect();
    assert_eq!(formats, [1, 0, 1, 1, 1]);
    let row = messages.iter().find(|m| m.kind == b'D').expect("a row").columns();
    let column = |i: usize| row[i].clone().expect("not NULL");
    assert_eq!(column(0), 7i32.to_be_bytes());
    assert_eq!(column(1), b"seven");
    assert_eq!(column(2), 762_525_296_789_000i64.to_be_bytes());
    // digits 2, weight 0, positive, scale 2: 12 and 3500 of base 10,000
    assert_eq!(column(3), [0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x0d, 0xac]);
    assert_eq!(column(4), 0.1f64.to_be_bytes());
    // One format code for all, and a wrong number of codes.
    let messages = client.exchange(&[
        parse("", "select $1::int, $2::int", &[]),
        bind_with(
            "",
            "",
            &[1],
            &[Some(&1i32.to_be_bytes()), Some(&2i32.to_be_bytes())],
            &[0],
        ),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(text_rows(&messages), ["1|2"]);
    let messages = client.exchange(&[
        parse("", "select $1::int, $2::int, $3::int", &[]),
        bind_with("", "", &[1, 0], &[None, None, None], &[]),
        sync(),
    ]);
    let expect = "08P01 bind message has 2 parameter formats but 3 parameters";
    assert_eq!(error(&messages).as_deref(), Some(expect));
    let messages = client.exchange(&[
        parse("", "select 1, 2, 3", &[]),
        bind_with("", "", &[], &[], &[1, 0]),
        execute("", 0),
        sync(),
    ]);
    let expect = "08P01 bind message has 2 result formats but query has 3 columns";
    assert_eq!(error(&messages).as_deref(), Some(expect));
    let messages = client.exchange(&[
        parse("", "select $1::int", &[]),
        bind_with("", "", &[7], &[Some(b"1")], &[]),
        sync(),
    ]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("22023 unsupported format code: 7")
    );
    // One of a result is looked at when there is something to send.
    let messages = client.exchange(&[
        parse("", "select 1, 2", &[]),
        bind_with("", "", &[], &[], &[1, -1]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "12TEZ");
    assert_eq!(
        error(&messages).as_deref(),
        Some("22023 unsupported format code: -1")
    );
}

#[test]
fn types_of_parameters_are_inferred() {
    let (_server, mut client) = start("inferred");
    client.rows(
        "create table t (id int, big bigint, n numeric(12,2), c char(5), v varchar(10), at timestamp, f float8, b bool)",
    );
    let inferred = |client: &mut RawClient, text: &str| {
        let messages = client.exchange(&[parse("", text, &[]), describe(b'S', ""), sync()]);
        assert_eq!(error(&messages), None, "{text}");
        parameter_types(&messages)
    };
    let cases: &[(&str, &[u32])] = &[
        (
            "insert into t values ($1,$2,$3,$4,$5,$6,$7,$8)",
            &[23, 20, 1700, 1042, 1043, 1114, 701, 16],
        ),
        (
            "insert into t (v, id) values ($1, $2), ($3, $4)",
            &[1043, 23, 1043, 23],
        ),
        ("select $1 + 1", &[23]),
        ("select n - $1 from t", &[1700]),
        (
            "select * from t where id = $1 and c = $2 and v = $3",
            &[23, 1042, 1043],
        ),
        ("select * from t where big in ($1, $2)", &[20, 20]),
        ("select * from t where id = any($1)", &[1007]),
        (
            "select * from t where (id, v) in (($1, $2), ($3, $4))",
            &[23, 25, 23, 25],
        ),
        ("select * from t where v like $1", &[25]),
        (
            "update t set n = n + $1, at = $2 where id = $3 - 20",
            &[1700, 1114, 23],
        ),
        ("select $1", &[25]),
        ("select $1::date", &[1082]),
        ("select case when $1 then 1 end", &[16]),
        ("select coalesce(id, $1) from t limit $2 offset $3", &[23, 20, 20]),
        ("select id from t order by id limit $1", &[20]),
        ("select $2::int, $1::text", &[25, 23]),
    ];
    for (text, expect) in cases {
        // `v = $1` compares as text: varchar has no operators of its own, and the parameter becomes text or varchar.
        let types = inferred(&mut client, text);
        let same = types.len() == expect.len()
            && types
                .iter()
                .zip(*expect)
                .all(|(a, b)| a == b || (*a == 25 && *b == 1043));
        assert!(same, "{text}: {types:?}, expected {expect:?}");
    }
    let failing = |client: &mut RawClient, text: &str| {
        error(&client.exchange(&[parse("", text, &[]), sync()])).expect("an error")
    };
    assert_eq!(
        failing(&mut client, "select $2::int"),
        "42P18 could not determine data type of parameter $1"
    );
    assert_eq!(
        failing(&mut client, "select $0"),
        "42P02 there is no parameter $0"
    );
    assert_eq!(
        failing(&mut client, "select $1 is null"),
        "42P18 could not determine data type of parameter $1"
    );
}

#[test]
fn float8_into_numeric_columns() {
    let (_server, mut client) = start("float-numeric");
    client.rows("create table t (id int primary key, n numeric(12,2)); insert into t values (1, 10.00)");
    let update = "update t set n = n + $1 where id = $2";
    let messages = client.exchange(&[
        parse("", update, &[FLOAT8, INT4]),
        bind_with(
            "",
            "",
            &[1, 1],
            &[Some(&2.345f64.to_be_bytes()), Some(&1i32.to_be_bytes())],
            &[],
        ),
        execute("", 1),
        sync(),
    ]);
    assert_eq!(
        (error(&messages), tags(&messages)),
        (None, vec!["UPDATE 1".to_string()])
    );
    assert_eq!(client.rows("select n from t"), ["12.35"]);
    let messages = client.exchange(&[
        parse("", "select n - $1, n > $1 from t", &[FLOAT8]),
        bind_with("", "", &[1], &[Some(&0.35f64.to_be_bytes())], &[]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(described(&messages)[0].1, FLOAT8);
    assert_eq!(text_rows(&messages), ["12|t"]);
    let messages = client.exchange(&[
        parse("", update, &[FLOAT8, INT4]),
        bind_with(
            "",
            "",
            &[1, 1],
            &[Some(&1e12f64.to_be_bytes()), Some(&1i32.to_be_bytes())],
            &[],
        ),
        execute("", 1),
        sync(),
    ]);
    assert_eq!(error(&messages).as_deref(), Some("22003 numeric field overflow"));
}

#[test]
fn varchar_parameters_and_padded_columns() {
    let (_server, mut client) = start("padding");
    client.rows("create table t (c char(5) primary key, v varchar(5)); insert into t values ('ab', 'ab')");
    for (text, ty, value, expect) in [
        ("select count(*) from t where c = $1", VARCHAR, "ab", "0"),
        ("select count(*) from t where c = $1", 1042, "ab ", "1"),
        ("select count(*) from t where c = $1", 0, "ab  ", "1"),
        ("select count(*) from t where v = $1", VARCHAR, "ab", "1"),
        ("select count(*) from t where v = $1", TEXT, "ab ", "0"),
    ] {
        let messages = client.exchange(&[
            parse("", text, &[ty]),
            bind("", "", &[value]),
            execute("", 0),
            sync(),
        ]);
        let expect = if ty == VARCHAR && text.contains("c = ") {
            varchar_against_char(value)
        } else {
            expect
        };
        assert_eq!(text_rows(&messages), [expect], "{text} with {ty} {value:?}");
    }
    assert_eq!(
        client.rows("select c || '|', length(c), octet_length(c) from t"),
        ["ab||2|5"]
    );
}

/// char(n) meets varchar as text, without its padding.
fn varchar_against_char(value: &str) -> &'static str {
    if value.ends_with(' ') { "0" } else { "1" }
}

#[test]
fn empty_queries() {
    let (_server, mut client) = start("empty");
    for text in ["", ";", " -- nothing\n", "/* nothing */ ; ;"] {
        assert_eq!(kinds(&client.query(text)), "IZ", "{text:?}");
    }
    let messages = client.exchange(&[
        parse("", "", &[]),
        bind("", "", &[]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "12nIZ");
    assert_eq!(kinds(&client.query("select 1;;select 2")), "TDCTDCZ");
}

#[test]
fn several_statements_in_a_simple_query() {
    let (_server, mut client) = start("multi");
    client.rows("create table t (id int primary key)");
    // One implicit transaction: the failure takes the first insert with it, and the rest is not run.
    let messages =
        client.query("insert into t values (1); insert into t values (1); insert into t values (2)");
    assert_eq!(kinds(&messages), "CEZ");
    assert_eq!(client.rows("select count(*) from t"), ["0"]);
    // COMMIT inside divides it.
    let messages =
        client.query("insert into t values (1); begin; insert into t values (2); commit; select 1/0");
    assert_eq!(sqlstate(&messages).as_deref(), Some("22012"));
    assert_eq!(client.rows("select count(*) from t"), ["2"]);
    let messages = client.query("begin; select 1");
    assert_eq!(status(&messages), Some('T'));
    assert_eq!(status(&client.query("select nothing")), Some('E'));
    let messages = client.query("select 1");
    let expect = "25P02 current transaction is aborted, commands ignored until end of transaction block";
    assert_eq!(error(&messages).as_deref(), Some(expect));
    let messages = client.query("commit");
    assert_eq!(
        (tags(&messages), status(&messages)),
        (vec!["ROLLBACK".to_string()], Some('I'))
    );
    // A syntax error anywhere keeps all from running.
    assert_eq!(
        sqlstate(&client.query("insert into t values (50); selec 1")).as_deref(),
        Some("42601")
    );
    assert_eq!(client.rows("select count(*) from t where id = 50"), ["0"]);
    // The extended protocol takes one statement.
    let messages = client.exchange(&[parse("", "select 1; select 2", &[]), sync()]);
    let expect = "42601 cannot insert multiple commands into a prepared statement";
    assert_eq!(error(&messages).as_deref(), Some(expect));
}

#[test]
fn errors_skip_to_sync() {
    let (_server, mut client) = start("skip");
    client.rows("create table t (id int primary key)");
    let messages = client.exchange(&[
        parse("", "select * from missing", &[]),
        bind("", "", &[]),
        execute("", 0),
        parse("", "insert into t values (1)", &[]),
        bind("", "", &[]),
        execute("", 0),
        flush(),
        sync(),
        parse("", "select 7", &[]),
        bind("", "", &[]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&messages), "EZ");
    assert_eq!(text_rows(&client.until(b'Z')), ["7"]);
    assert_eq!(client.rows("select count(*) from t"), ["0"]);
    // In a block the failure lasts until ROLLBACK, which the extended protocol can send too.
    let run = |client: &mut RawClient, text: &str| {
        client.exchange(&[parse("", text, &[]), bind("", "", &[]), execute("", 0), sync()])
    };
    run(&mut client, "begin");
    assert_eq!(status(&run(&mut client, "select 1/0")), Some('E'));
    let messages = run(&mut client, "select 1");
    assert_eq!(
        (sqlstate(&messages).as_deref(), status(&messages)),
        (Some("25P02"), Some('E'))
    );
    let messages = run(&mut client, "rollback");
    assert_eq!(
        (tags(&messages), status(&messages)),
        (vec!["ROLLBACK".to_string()], Some('I'))
    );
}

#[test]
fn errors_carry_their_fields() {
    let (_server, mut client) = start("error-fields");
    client.rows("create schema s; create table s.t (id int constraint t_pk primary key, v text not null, check (id > 0))");
    let first = |client: &mut RawClient, text: &str| {
        let messages = client.query(text);
        messages
            .into_iter()
            .find(|m| m.kind == b'E')
            .unwrap_or_else(|| panic!("no error: {text}"))
    };
    let error = first(&mut client, "select wrong from s.t");
    assert_eq!(error.field(b'S').as_deref(), Some("ERROR"));
    assert_eq!(error.field(b'V').as_deref(), Some("ERROR"));
    assert_eq!(error.field(b'C').as_deref(), Some("42703"));
    assert_eq!(
        error.field(b'M').as_deref(),
        Some("column \"wrong\" does not exist")
    );
    assert_eq!(error.field(b'P').as_deref(), Some("8"));
    client.rows("insert into s.t values (1, 'a')");
    let error = first(&mut client, "insert into s.t values (1, 'b')");
    assert_eq!(error.field(b'C').as_deref(), Some("23505"));
    assert_eq!(
        error.field(b'M').as_deref(),
        Some("duplicate key value violates unique constraint \"t_pk\"")
    );
    assert_eq!(error.field(b'D').as_deref(), Some("Key (id)=(1) already exists."));
    assert_eq!(error.field(b's').as_deref(), Some("s"));
    assert_eq!(error.field(b't').as_deref(), Some("t"));
    assert_eq!(error.field(b'n').as_deref(), Some("t_pk"));
    let error = first(&mut client, "insert into s.t values (2, null)");
    assert_eq!(error.field(b'C').as_deref(), Some("23502"));
    assert_eq!(error.field(b'c').as_deref(), Some("v"));
    assert_eq!(
        error.field(b'D').as_deref(),
        Some("Failing row contains (2, null).")
    );
    let error = first(&mut client, "insert into s.t values (-1, 'x')");
    assert_eq!(error.field(b'n').as_deref(), Some("t_id_check"));
    // Positions count characters, not bytes.
    let error = first(&mut client, "select 'äöü', wrong");
    assert_eq!(error.field(b'P').as_deref(), Some("15"));
    let error = first(&mut client, "select nofunction(1)");
    assert!(
        error
            .field(b'H')
            .is_some_and(|h| h.contains("No function matches")),
        "{error:?}"
    );
}

#[test]
fn describe_tells_columns() {
    let (_server, mut client) = start("describe");
    client.rows(
        "create table t (a smallint, b varchar(7), c numeric(6,2), d char(3), e timestamp(3), f text[])",
    );
    let messages = client.exchange(&[
        parse("", "select *, 1 as one, a + 1 from t", &[]),
        describe(b'S', ""),
        sync(),
    ]);
    let columns = described(&messages);
    let shape: Vec<(&str, u32, i16, i32)> = columns.iter().map(|c| (c.0.as_str(), c.1, c.2, c.3)).collect();
    assert_eq!(
        shape,
        [
            ("a", 21, 2, -1),
            ("b", 1043, -1, 11),
            ("c", 1700, -1, (6 << 16 | 2) + 4),
            ("d", 1042, -1, 7),
            ("e", 1114, 8, 3),
            ("f", 1009, -1, -1),
            ("one", 23, 4, -1),
            ("?column?", 23, 4, -1),
        ]
    );
    // Utility statements have no columns, except those that show something.
    for (text, kind) in [
        ("begin", 'n'),
        ("create table u (a int)", 'n'),
        ("show timezone", 'T'),
        ("insert into t (a) values (1)", 'n'),
        ("insert into t (a) values (1) returning a", 'T'),
    ] {
        let messages = client.exchange(&[parse("", text, &[]), describe(b'S', ""), sync()]);
        assert_eq!(kinds(&messages), format!("1t{kind}Z"), "{text}");
    }
}

#[test]
fn command_tags() {
    let (_server, mut client) = start("tags");
    for (text, tag) in [
        ("create table t (id int primary key, v int)", "CREATE TABLE"),
        ("create table if not exists t (id int)", "CREATE TABLE"),
        ("create table u as select 1 as a", "SELECT 1"),
        ("create index t_v on t (v)", "CREATE INDEX"),
        ("alter table t add column w int", "ALTER TABLE"),
        ("insert into t values (1, 1), (2, 2)", "INSERT 0 2"),
        ("insert into t select 3, 3 where false", "INSERT 0 0"),
        ("update t set v = 3 where id = 1", "UPDATE 1"),
        ("delete from t where id = 9", "DELETE 0"),
        ("select * from t", "SELECT 2"),
        ("values (1), (2), (3)", "SELECT 3"),
        ("create view w as select 1 as a", "CREATE VIEW"),
        ("drop view w", "DROP VIEW"),
        ("create sequence s", "CREATE SEQUENCE"),
        ("drop sequence s", "DROP SEQUENCE"),
        ("create schema x", "CREATE SCHEMA"),
        ("create role r", "CREATE ROLE"),
        ("grant select on t to r", "GRANT"),
        ("revoke select on t from r", "REVOKE"),
        ("comment on table t is 'x'", "COMMENT"),
        ("begin", "BEGIN"),
        ("savepoint a", "SAVEPOINT"),
        ("rollback to a", "ROLLBACK"),
        ("release a", "RELEASE"),
        ("lock table t", "LOCK TABLE"),
        ("declare c cursor for select * from t", "DECLARE CURSOR"),
        ("fetch 1 from c", "FETCH 1"),
        ("move 1 in c", "MOVE 1"),
        ("close c", "CLOSE CURSOR"),
        ("end", "COMMIT"),
        ("start transaction read only", "START TRANSACTION"),
        ("abort", "ROLLBACK"),
        ("set work_mem = '8MB'", "SET"),
        ("reset work_mem", "RESET"),
        ("show work_mem", "SHOW"),
        ("prepare p as select 1", "PREPARE"),
        ("execute p", "SELECT 1"),
        ("deallocate p", "DEALLOCATE"),
        ("deallocate all", "DEALLOCATE ALL"),
        ("discard all", "DISCARD ALL"),
        ("explain select 1", "EXPLAIN"),
        ("truncate t", "TRUNCATE TABLE"),
        ("analyze t", "ANALYZE"),
        ("vacuum t", "VACUUM"),
        ("checkpoint", "CHECKPOINT"),
        ("drop index t_v", "DROP INDEX"),
        ("drop table t, u", "DROP TABLE"),
        ("drop role r", "DROP ROLE"),
        ("drop schema x", "DROP SCHEMA"),
    ] {
        let messages = client.query(text);
        assert_eq!(error(&messages), None, "{text}");
        assert_eq!(tags(&messages), [tag], "{text}");
    }
}

#[test]
fn bigint_counts_and_many_parameters() {
    let (_server, mut client) = start("many");
    let count = 5_000;
    let list = (1..=count)
        .map(|i| format!("${i}::int8"))
        .collect::<Vec<_>>()
        .join("+");
    let values: Vec<String> = (1..=count).map(|i| i.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let text = format!("select {}", &list);
    // Deep left-nested sums are legal SQL; PostgreSQL's stack bears about this many.
    let messages = client.exchange(&[
        parse("", &text, &[INT8]),
        bind("", "", &values),
        execute("", 0),
        sync(),
    ]);
    match error(&messages) {
        None => assert_eq!(text_rows(&messages), [(count * (count + 1) / 2).to_string()]),
        Some(error) => assert!(error.starts_with("54001"), "{error}"),
    }
    let list = (1..=count)
        .map(|i| format!("(${i}::int4)"))
        .collect::<Vec<_>>()
        .join(",");
    let text = format!("select sum(column1) from (values {list}) v");
    let messages = client.exchange(&[
        parse("", &text, &[]),
        bind("", "", &values),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(
        text_rows(&messages),
        [(count * (count + 1) / 2).to_string()],
        "{:?}",
        error(&messages)
    );
}

#[test]
fn a_nul_in_a_text_parameter_is_refused() {
    const BPCHAR: u32 = 1042;
    const NAME: u32 = 19;
    const TEXT_ARRAY: u32 = 1009;
    let (_server, mut client) = start("wire-nul");
    let text = "select octet_length($1::text)";
    let cases: [(u32, i16, &[u8]); 6] = [
        (TEXT, 0, b"a\0b"),
        (TEXT, 1, b"a\0b"),
        (BPCHAR, 0, b"a\0b"),
        (BPCHAR, 1, b"a\0b"),
        (NAME, 0, b"a\0b"),
        (TEXT_ARRAY, 0, b"{a\0b}"),
    ];
    for (ty, format, bytes) in cases {
        let messages = client.exchange(&[
            parse("", text, &[ty]),
            bind_with("", "", &[format], &[Some(bytes)], &[]),
            execute("", 0),
            sync(),
        ]);
        let refused = "22021 invalid byte sequence for encoding \"UTF8\": 0x00";
        assert_eq!(error(&messages).as_deref(), Some(refused), "{ty} {format}");
        let context = messages
            .iter()
            .find(|m| m.kind == b'E')
            .and_then(|m| m.field(b'W'));
        assert_eq!(
            context.as_deref(),
            Some("unnamed portal parameter $1"),
            "{ty} {format}"
        );
    }
    client.query("create table nul (a text)");
    client.send(b'Q', b"copy nul from stdin\0");
    client.until(b'G');
    client.send(b'd', b"a\0b\n");
    client.send(b'c', b"");
    assert_eq!(sqlstate(&client.until(b'Z')).as_deref(), Some("22021"));
}

#[test]
fn utility_statements_take_parameters_for_their_query() {
    let (_server, mut client) = start("wire-utility-parameters");
    let run = |client: &mut RawClient, text: &str, types: &[u32], values: &[&str]| {
        let messages = client.exchange(&[
            parse("", text, types),
            describe(b'S', ""),
            bind("", "", values),
            execute("", 0),
            sync(),
        ]);
        assert_eq!(error(&messages), None, "{text}");
        messages
    };
    client.query("begin");
    let declared = run(
        &mut client,
        "declare c cursor for select $1::int + g from generate_series(1, 3) g",
        &[],
        &["10"],
    );
    assert_eq!(parameter_types(&declared), [INT4]);
    assert_eq!(client.rows("fetch all from c"), ["11", "12", "13"]);
    run(
        &mut client,
        "create temp table made as select $1 as a, $2::int as b",
        &[TEXT, 0],
        &["it's", "7"],
    );
    assert_eq!(client.rows("select * from made"), ["it's|7"]);
    let explained = run(
        &mut client,
        "explain (costs off) select * from made where b = $1",
        &[],
        &["7"],
    );
    assert!(!text_rows(&explained).is_empty());
    client.query("commit");
}

#[test]
fn fetch_starts_a_portal_that_was_bound() {
    let (_server, mut client) = start("wire-fetch-bound");
    client.query("begin");
    let bound = client.exchange(&[
        parse("", "select generate_series(1, 20)", &[]),
        bind("p", "", &[]),
        sync(),
    ]);
    assert_eq!(error(&bound), None);
    assert_eq!(tags(&client.query("move forward 3 from p")), ["MOVE 3"]);
    assert_eq!(client.rows("fetch 2 from p"), ["4", "5"]);
    let executed = client.exchange(&[execute("p", 2), sync()]);
    assert_eq!(text_rows(&executed), ["6", "7"]);
    assert_eq!(tags(&client.query("move all from p")), ["MOVE 13"]);
    client.query("commit");
}

#[test]
fn a_simple_query_drops_the_unnamed_statement() {
    let (_server, mut client) = start("wire-unnamed");
    let parsed = [parse("", "select 1", &[]), parse("kept", "select 2", &[]), sync()];
    assert_eq!(error(&client.exchange(&parsed)), None);
    client.query("select 3");
    let again = client.exchange(&[bind("", "", &[]), execute("", 0), sync()]);
    assert_eq!(
        error(&again).as_deref(),
        Some("26000 unnamed prepared statement does not exist")
    );
    let kept = client.exchange(&[bind("", "kept", &[]), execute("", 0), sync()]);
    assert_eq!(text_rows(&kept), ["2"]);
}
