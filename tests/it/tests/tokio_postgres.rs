//! tokio-postgres: a driver that speaks the extended protocol only, binary in both directions.
//!
//! It asks the catalogs about types it does not know (arrays of domains and the like); everything here it knows.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt, TryStreamExt};
use mote_it::TestServer;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};
use tokio_postgres::{AsyncMessage, Client, Config, IsolationLevel, NoTls, SimpleQueryMessage};

/// A test that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        tokio::time::timeout(TIMEOUT, test).await.expect("the test hangs")
    });
}

fn config(server: &TestServer) -> Config {
    let mut config = server.config();
    config.application_name("mote-it");
    config
}

async fn connect(server: &TestServer) -> Client {
    let (client, connection) = config(server).connect(NoTls).await.expect("it connects");
    tokio::task::spawn_local(async move {
        // Its error is the error of every later call.
        let _ = connection.await;
    });
    client
}

/// What a query's first column is.
async fn one<T: for<'a> FromSql<'a>>(client: &Client, text: &str) -> T {
    client
        .query_one(text, &[])
        .await
        .unwrap_or_else(|e| panic!("{text}: {e:?}"))
        .get(0)
}

/// Sends a value as a parameter of its type, reads it back in binary, and compares with the server's own text.
async fn round_trip<T>(client: &Client, ty: &str, value: T, text: &str)
where
    T: for<'a> FromSql<'a> + ToSql + Sync + PartialEq + std::fmt::Debug,
{
    let query = format!("select $1::{ty}, $1::{ty}::text, $2::{ty}");
    let row = client
        .query_one(&query, &[&value, &None::<T>])
        .await
        .unwrap_or_else(|e| panic!("{ty}: {e:?}"));
    assert_eq!(row.get::<_, T>(0), value, "{ty}");
    assert_eq!(row.get::<_, String>(1), text, "{ty}");
    assert_eq!(row.get::<_, Option<T>>(2), None, "{ty}");
    let from_text: T = one(client, &format!("select '{}'::{ty}", text.replace('\'', "''"))).await;
    assert_eq!(from_text, value, "{ty} from text");
}

/// Bytes as they travel, for types that have no Rust counterpart here.
#[derive(Debug, PartialEq)]
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(raw.to_vec()))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Raw {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    to_sql_checked!();
}

#[test]
fn numbers_and_text_round_trip() {
    let server = TestServer::start("tp-types");
    run(async {
        let client = connect(&server).await;
        round_trip(&client, "bool", true, "true").await;
        round_trip(&client, "int2", i16::MIN, "-32768").await;
        round_trip(&client, "int4", i32::MAX, "2147483647").await;
        round_trip(&client, "int8", i64::MIN, "-9223372036854775808").await;
        round_trip(&client, "oid", 4_000_000_000u32, "4000000000").await;
        round_trip(&client, "float4", 1.5f32, "1.5").await;
        round_trip(
            &client,
            "float8",
            -2.2250738585072014e-308f64,
            "-2.2250738585072014e-308",
        )
        .await;
        round_trip(&client, "float8", f64::INFINITY, "Infinity").await;
        round_trip(
            &client,
            "text",
            "a'b\\c \u{1F980} ä".to_string(),
            "a'b\\c \u{1F980} ä",
        )
        .await;
        round_trip(&client, "text", String::new(), "").await;
        round_trip(&client, "varchar(5)", "abcde".to_string(), "abcde").await;
        round_trip(&client, "name", "relname".to_string(), "relname").await;
        round_trip(&client, "\"char\"", b'x' as i8, "x").await;
        round_trip(&client, "bytea", vec![0u8, 1, 254, 255], "\\x0001feff").await;
        round_trip(&client, "int4[]", vec![Some(1), None, Some(-3)], "{1,NULL,-3}").await;
        round_trip(
            &client,
            "text[]",
            vec!["a b".to_string(), "c,\"d\"".to_string(), String::new()],
            "{\"a b\",\"c,\\\"d\\\"\",\"\"}",
        )
        .await;
        round_trip(&client, "int8[]", Vec::<i64>::new(), "{}").await;
        round_trip(&client, "float8[]", vec![0.5f64], "{0.5}").await;
        round_trip(&client, "bool[]", vec![true, false], "{t,f}").await;
        let padded: String = one(&client, "select 'ab'::char(5)").await;
        assert_eq!(padded, "ab   ");
        assert!(one::<f64>(&client, "select 'NaN'::float8").await.is_nan());
    });
}

#[test]
fn other_types_in_binary() {
    let server = TestServer::start("tp-binary");
    run(async {
        let client = connect(&server).await;
        let hex = |text: &str| -> Vec<u8> {
            let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            digits
                .chunks(2)
                .map(|p| u8::from_str_radix(std::str::from_utf8(p).expect("ASCII"), 16).expect("hex"))
                .collect()
        };
        for (ty, text, bytes) in [
            ("numeric", "0", "0000 0000 0000 0000"),
            ("numeric", "-12345.6789", "0003 0001 4000 0004 0001 0929 1a85"),
            ("numeric", "0.0001", "0001 ffff 0000 0004 0001"),
            ("numeric", "1000000000000", "0001 0003 0000 0000 0001"),
            ("numeric", "1.50", "0002 0000 0000 0002 0001 1388"),
            ("numeric", "NaN", "0000 0000 c000 0000"),
            ("date", "2000-01-01", "00000000"),
            ("date", "1999-12-31", "ffffffff"),
            ("date", "infinity", "7fffffff"),
            ("time", "12:34:56.789", "0000000a 8be62608"),
            ("timestamp", "2000-01-01 00:00:01", "00000000 000f4240"),
            ("timestamp", "-infinity", "80000000 00000000"),
            (
                "timestamptz",
                "2000-01-01 00:00:00.000001+00",
                "00000000 00000001",
            ),
            (
                "interval",
                "1 year 2 mons 3 days 04:05:06",
                "00000003 6c8bc080 00000003 0000000e",
            ),
            (
                "uuid",
                "00112233-4455-6677-8899-aabbccddeeff",
                "00112233 44556677 8899aabb ccddeeff",
            ),
            ("json", "{\"a\":1}", "7b2261223a317d"),
            ("jsonb", "{\"a\": 1}", "01 7b2261223a20317d"),
            ("char(3)", "x  ", "782020"),
            (
                "numeric[]",
                "{1,NULL}",
                "00000001 00000001 000006a4 00000002 00000001 0000000a 0001 0000 0000 0000 0001 ffffffff",
            ),
            (
                "date[]",
                "{2000-01-02}",
                "00000001 00000000 0000043a 00000001 00000001 00000004 00000001",
            ),
            (
                "int4[]",
                "{{1,2},{3,4}}",
                "00000002 00000000 00000017 00000002 00000001 00000002 00000001 00000004 00000001 00000004 00000002 00000004 00000003 00000004 00000004",
            ),
            (
                "int4[]",
                "[0:1]={7,8}",
                "00000001 00000000 00000017 00000002 00000000 00000004 00000007 00000004 00000008",
            ),
        ] {
            let expect = Raw(hex(bytes));
            let sent: Raw = one(&client, &format!("select '{text}'::{ty}")).await;
            assert_eq!(sent, expect, "{ty} {text}");
            let row = client
                .query_one(&format!("select $1::{ty}, ($1::{ty})::text"), &[&expect])
                .await;
            let row = row.unwrap_or_else(|e| panic!("{ty} {text}: {e:?}"));
            assert_eq!(row.get::<_, Raw>(0), expect, "{ty} {text}");
            assert_eq!(row.get::<_, String>(1).trim_end(), text.trim_end(), "{ty}");
        }
        let at = UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
        round_trip(&client, "timestamptz", at, "2023-11-14 22:13:20.123456+00").await;
        round_trip(&client, "timestamp", at, "2023-11-14 22:13:20.123456").await;
        let now: SystemTime = one(&client, "select now()").await;
        let apart = SystemTime::now()
            .duration_since(now)
            .unwrap_or_else(|e| e.duration());
        assert!(
            apart < Duration::from_secs(60),
            "the server's clock is {apart:?} away"
        );
    });
}

/// A value of an enum: the driver knows the type's labels from pg_enum.
#[derive(Debug, PartialEq, Clone)]
struct Label(String);

impl<'a> FromSql<'a> for Label {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Label, Box<dyn std::error::Error + Sync + Send>> {
        let Kind::Enum(labels) = ty.kind() else {
            return Err("it is no enum".into());
        };
        let label = String::from_utf8(raw.to_vec())?;
        match labels.contains(&label) {
            true => Ok(Label(label)),
            false => Err(format!("{label} is none of {labels:?}").into()),
        }
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Enum(_))
    }
}

impl ToSql for Label {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Enum(_))
    }

    to_sql_checked!();
}

#[test]
fn enums_and_their_arrays() {
    let server = TestServer::start("tokio-enums");
    run(async {
        let client = connect(&server).await;
        let label = |label: &str| Label(label.to_string());
        let made = "create type mood as enum ('sad', 'ok', 'happy'); \
                    create table person (id int primary key, m mood, all_of mood[]); \
                    create index on person (m); create unique index on person (id) where m = 'ok'";
        client.batch_execute(made).await.expect("an enum and a table");
        let insert = "insert into person values ($1, $2, $3)";
        for (id, m) in [(1, "happy"), (2, "sad"), (3, "ok")] {
            let parameters: [&(dyn ToSql + Sync); 3] = [&id, &label(m), &vec![label(m), label("ok")]];
            client.execute(insert, &parameters).await.expect("a row");
        }
        let refused = client
            .execute(insert, &[&4, &label("glum"), &Vec::<Label>::new()])
            .await
            .expect_err("no such label");
        assert_eq!(refused.code(), Some(&SqlState::INVALID_TEXT_REPRESENTATION));
        let changed =
            "alter type mood add value 'glum' before 'sad'; alter type mood rename value 'ok' to 'fine'";
        client.batch_execute(changed).await.expect("other labels");
    });
    // What was committed is there after a crash, in the order that the labels have now.
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it starts again");
    run(async {
        let client = connect(&server).await;
        let label = |label: &str| Label(label.to_string());
        client
            .execute("insert into person values (4, 'glum', '{}')", &[])
            .await
            .expect("the new label");
        let text = "select m, all_of from person where m >= $1 order by m";
        let rows = client.query(text, &[&label("glum")]).await.expect("rows");
        let found: Vec<(Label, Vec<Label>)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let expect = [
            ("glum", vec![]),
            ("sad", vec!["sad", "fine"]),
            ("fine", vec!["fine", "fine"]),
            ("happy", vec!["happy", "fine"]),
        ];
        let expect = expect.map(|(m, all)| (label(m), all.into_iter().map(label).collect()));
        assert_eq!(found, expect);
        assert_eq!(
            one::<i64>(&client, "select count(*) from person where m = 'fine' and id > 0").await,
            1
        );
    });
}

#[test]
fn prepared_statements_and_inferred_types() {
    let server = TestServer::start("tp-prepared");
    run(async {
        let client = connect(&server).await;
        client
            .batch_execute("create table t (id int8 primary key, v varchar(20), n numeric(8,2))")
            .await
            .expect("DDL");
        let insert = client
            .prepare("insert into t (id, v) values ($1, $2)")
            .await
            .expect("it prepares");
        assert_eq!(insert.params(), [Type::INT8, Type::VARCHAR]);
        assert!(insert.columns().is_empty());
        for id in 0..100i64 {
            assert_eq!(
                client
                    .execute(&insert, &[&id, &format!("value {id}")])
                    .await
                    .expect("it inserts"),
                1
            );
        }
        let select = client
            .prepare("select id, v, n from t where id between $1 and $2 order by id")
            .await
            .expect("it prepares");
        let columns: Vec<(&str, &Type)> = select.columns().iter().map(|c| (c.name(), c.type_())).collect();
        assert_eq!(
            columns,
            [("id", &Type::INT8), ("v", &Type::VARCHAR), ("n", &Type::NUMERIC)]
        );
        let rows = client
            .query(&select, &[&10i64, &19i64])
            .await
            .expect("it selects");
        assert_eq!(rows.len(), 10);
        assert_eq!(rows[9].get::<_, &str>("v"), "value 19");
        let any = client
            .query(
                "select id from t where id = any($1) order by 1",
                &[&vec![5i64, 7, 5000]],
            )
            .await;
        assert_eq!(
            any.expect("it selects")
                .iter()
                .map(|r| r.get::<_, i64>(0))
                .collect::<Vec<_>>(),
            [5, 7]
        );
        assert_eq!(
            client
                .execute("update t set v = $1 where id > $2", &[&"x", &50i64])
                .await
                .expect("it updates"),
            49
        );
        let gone = client
            .query_opt("delete from t where id = $1 returning v", &[&0i64])
            .await
            .expect("it deletes");
        assert_eq!(gone.map(|r| r.get::<_, String>(0)), Some("value 0".to_string()));
        assert!(
            client
                .query_opt("delete from t where id = $1 returning v", &[&0i64])
                .await
                .expect("it runs")
                .is_none()
        );
        let typed = client
            .prepare_typed("select $1 + 1", &[Type::INT8])
            .await
            .expect("it prepares");
        assert_eq!(
            client
                .query_one(&typed, &[&41i64])
                .await
                .expect("it runs")
                .get::<_, i64>(0),
            42
        );
    });
}

#[test]
fn parameters_declared_as_rows_of_a_table() {
    let server = TestServer::start("tp-rows");
    run(async {
        let client = connect(&server).await;
        client
            .batch_execute("create table \"Rows.of\" (\"Id\" int)")
            .await
            .expect("it is made");
        for ty in ["\"Rows.of\"", "\"Rows.of\"[]"] {
            // What the server names as the type of a parameter it takes back as one, as JDBC's driver sends it.
            let described = client
                .prepare(&format!("select $1::{ty}"))
                .await
                .expect("it prepares");
            let declared = described.params()[0].clone();
            let typed = client
                .prepare_typed(&format!("select $1::{ty}"), std::slice::from_ref(&declared))
                .await
                .expect("it prepares");
            assert_eq!(typed.params(), [declared]);
        }
        let unknown = Type::new("nothing".into(), 2_000_000_000, Kind::Simple, String::new());
        let refused = client.prepare_typed("select $1", &[unknown]).await.err();
        assert_eq!(
            refused.and_then(|error| error.code().cloned()),
            Some(SqlState::UNDEFINED_OBJECT)
        );
    });
}

#[test]
fn transactions() {
    let server = TestServer::start("tp-transactions");
    run(async {
        let mut client = connect(&server).await;
        let other = connect(&server).await;
        client
            .batch_execute("create table t (id int primary key)")
            .await
            .expect("DDL");
        let transaction = client.transaction().await.expect("BEGIN");
        transaction
            .execute("insert into t values (1)", &[])
            .await
            .expect("it inserts");
        assert_eq!(one::<i64>(&other, "select count(*) from t").await, 0);
        transaction.commit().await.expect("COMMIT");
        assert_eq!(one::<i64>(&other, "select count(*) from t").await, 1);
        // Dropped: rolled back. Nested: savepoints.
        let mut transaction = client.transaction().await.expect("BEGIN");
        transaction
            .execute("insert into t values (2)", &[])
            .await
            .expect("it inserts");
        {
            let inner = transaction.savepoint("nested").await.expect("SAVEPOINT");
            inner
                .execute("insert into t values (3)", &[])
                .await
                .expect("it inserts");
            let error = inner
                .execute("insert into t values (1)", &[])
                .await
                .expect_err("a duplicate");
            assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
            inner.rollback().await.expect("ROLLBACK TO");
        }
        transaction
            .execute("insert into t values (4)", &[])
            .await
            .expect("the block goes on");
        transaction.commit().await.expect("COMMIT");
        drop(client.transaction().await.expect("BEGIN"));
        assert_eq!(
            one::<String>(&client, "select string_agg(id::text, ',' order by id) from t").await,
            "1,2,4"
        );
        // Isolation levels and access modes.
        for (level, name) in [
            (IsolationLevel::ReadCommitted, "read committed"),
            (IsolationLevel::RepeatableRead, "repeatable read"),
        ] {
            let transaction = client
                .build_transaction()
                .isolation_level(level)
                .start()
                .await
                .expect("BEGIN");
            let shown: String = transaction
                .query_one("show transaction_isolation", &[])
                .await
                .expect("it shows")
                .get(0);
            assert_eq!(shown, name);
            transaction.rollback().await.expect("ROLLBACK");
        }
        let transaction = client
            .build_transaction()
            .read_only(true)
            .start()
            .await
            .expect("BEGIN");
        let error = transaction
            .execute("insert into t values (9)", &[])
            .await
            .expect_err("read only");
        assert_eq!(error.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));
        let message = error
            .as_db_error()
            .expect("from the server")
            .message()
            .to_string();
        assert_eq!(message, "cannot execute INSERT in a read-only transaction");
        transaction.rollback().await.expect("ROLLBACK");
        // Two at repeatable read on one row: the second is told to try again.
        let first = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .start()
            .await
            .expect("BEGIN");
        first.query("select * from t", &[]).await.expect("a snapshot");
        other
            .execute("update t set id = 40 where id = 4", &[])
            .await
            .expect("it updates");
        let error = first
            .execute("update t set id = 41 where id = 4", &[])
            .await
            .expect_err("it changed");
        assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
    });
}

#[test]
fn pipelining() {
    let server = TestServer::start("tp-pipeline");
    run(async {
        let client = connect(&server).await;
        client
            .batch_execute("create table t (id int primary key)")
            .await
            .expect("DDL");
        let insert = client
            .prepare("insert into t values ($1)")
            .await
            .expect("it prepares");
        // All requests are on their way before the first answer is read; a failing one fails alone.
        let one_insert = |id: i32| {
            let (client, insert) = (&client, &insert);
            async move { client.execute(insert, &[&id]).await.is_ok() }
        };
        let outcomes = join_all((0..200).map(|id| one_insert(id % 150))).await;
        assert_eq!(outcomes.iter().filter(|ok| **ok).count(), 150);
        assert_eq!(one::<i64>(&client, "select count(*) from t").await, 150);
    });
}

#[test]
fn portals_stream_rows() {
    let server = TestServer::start("tp-portals");
    run(async {
        let mut client = connect(&server).await;
        let transaction = client.transaction().await.expect("BEGIN");
        let portal = transaction
            .bind("select g from generate_series(1, 1050) g", &[])
            .await
            .expect("a portal");
        let mut seen = 0;
        loop {
            let rows = transaction.query_portal(&portal, 100).await.expect("more rows");
            assert!(
                rows.iter()
                    .enumerate()
                    .all(|(i, r)| r.get::<_, i32>(0) == seen + i as i32 + 1)
            );
            seen += rows.len() as i32;
            if rows.len() < 100 {
                break;
            }
        }
        assert_eq!(seen, 1050);
        transaction.commit().await.expect("COMMIT");
        // A large answer that is read row by row, and one that is abandoned half-way.
        let no_parameters: [&(dyn ToSql + Sync); 0] = [];
        let stream = client
            .query_raw(
                "select g, repeat('x', 100) from generate_series(1, 20000) g",
                no_parameters,
            )
            .await;
        let rows: Vec<_> = stream.expect("rows").try_collect().await.expect("all rows");
        assert_eq!(rows.len(), 20_000);
        {
            let stream = client
                .query_raw("select g from generate_series(1, 20000) g", no_parameters)
                .await;
            let mut stream = pin!(stream.expect("rows"));
            assert!(stream.next().await.is_some_and(|row| row.is_ok()));
        }
        assert_eq!(one::<i32>(&client, "select 1").await, 1);
    });
}

#[test]
fn copy_in_and_out() {
    let server = TestServer::start("tp-copy");
    run(async {
        let client = connect(&server).await;
        client
            .batch_execute("create table t (id int primary key, v text)")
            .await
            .expect("DDL");
        let sink = client.copy_in("copy t from stdin").await.expect("COPY begins");
        let mut sink = pin!(sink);
        for chunk in 0..50 {
            let text: String = (0..100)
                .map(|i| format!("{}\tvalue {i}\n", chunk * 100 + i))
                .collect();
            sink.send(Bytes::from(text)).await.expect("sent");
        }
        assert_eq!(sink.as_mut().finish().await.expect("COPY ends"), 5_000);
        // Dropped without an end: CopyFail, and nothing stays.
        {
            let sink = client.copy_in("copy t from stdin").await.expect("COPY begins");
            let mut sink = pin!(sink);
            sink.send(Bytes::from_static(b"9999\tx\n")).await.expect("sent");
        }
        assert_eq!(one::<i64>(&client, "select count(*) from t").await, 5_000);
        let stream = client
            .copy_out("copy (select id from t where id < 1000 order by id) to stdout")
            .await;
        let chunks: Vec<Bytes> = stream.expect("COPY begins").try_collect().await.expect("data");
        let bytes = chunks.concat();
        let expect: String = (0..1000).map(|n| format!("{n}\n")).collect();
        assert_eq!(String::from_utf8(bytes).expect("text"), expect);
        let sink = client.copy_in("copy t from stdin").await.expect("COPY begins");
        let mut sink = pin!(sink);
        sink.send(Bytes::from_static(b"1\tduplicate\n"))
            .await
            .expect("sent");
        let error = sink.as_mut().finish().await.expect_err("a duplicate");
        assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
        // PostgreSQL adds the line's text where it did not insert rows in bulk.
        let place = error.as_db_error().expect("from the server").where_();
        assert!(
            place.is_some_and(|place| place.starts_with("COPY t, line 1")),
            "{place:?}"
        );
    });
}

#[test]
fn errors_and_notices() {
    let server = TestServer::start("tp-errors");
    run(async {
        let (client, mut connection) = config(&server).connect(NoTls).await.expect("it connects");
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::task::spawn_local(async move {
            while let Some(Ok(message)) = poll_fn(|c| connection.poll_message(c)).await {
                if let AsyncMessage::Notice(notice) = message {
                    // The test may have ended.
                    let _ = sender.send(notice);
                }
            }
        });
        client
            .batch_execute("drop table if exists missing")
            .await
            .expect("a notice is no error");
        let notice = receiver.try_recv().expect("a notice");
        assert_eq!(notice.severity(), "NOTICE");
        assert_eq!(notice.message(), "table \"missing\" does not exist, skipping");
        client
            .batch_execute("create table t (id int constraint positive check (id > 0))")
            .await
            .expect("DDL");
        let error = client
            .execute("insert into t values ($1)", &[&-1i32])
            .await
            .expect_err("a check");
        let error = error.as_db_error().expect("from the server");
        assert_eq!(error.code(), &SqlState::CHECK_VIOLATION);
        assert_eq!(
            (error.table(), error.schema(), error.constraint()),
            (Some("t"), Some("public"), Some("positive"))
        );
        let error = client
            .prepare("select\n  1 + + 'x' from")
            .await
            .expect_err("syntax");
        let error = error.as_db_error().expect("from the server");
        assert_eq!(error.code(), &SqlState::SYNTAX_ERROR);
        assert_eq!(
            error.position(),
            Some(&tokio_postgres::error::ErrorPosition::Original(24))
        );
        // A simple query tells tags, columns and rows; a failing statement ends the list.
        let messages = client
            .simple_query("insert into t values (1), (2); select id, null from t order by id")
            .await;
        let rows: Vec<(Option<String>, Option<String>)> = messages
            .expect("it runs")
            .iter()
            .filter_map(|m| match m {
                SimpleQueryMessage::Row(r) => Some((r.get(0).map(String::from), r.get(1).map(String::from))),
                _ => None,
            })
            .collect();
        assert_eq!(rows, [(Some("1".into()), None), (Some("2".into()), None)]);
        let error = client
            .simple_query("select 1; select 1/0; select 2")
            .await
            .expect_err("a division");
        assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
        assert_eq!(one::<i32>(&client, "select 1").await, 1);
    });
}

#[test]
fn cancellation() {
    let server = TestServer::start("tp-cancel");
    run(async {
        let client = connect(&server).await;
        let token = client.cancel_token();
        let observer = connect(&server).await;
        let canceller = tokio::task::spawn_local(async move {
            // A request that comes before the statement is for none.
            let sleeping = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
            while one::<i64>(&observer, sleeping).await == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            token.cancel_query(NoTls).await.expect("the request is sent");
        });
        let error = client
            .batch_execute("select pg_sleep(30)")
            .await
            .expect_err("it is cancelled");
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
        canceller.await.expect("it ended");
        assert_eq!(one::<i32>(&client, "select 1").await, 1);
    });
}

#[test]
fn hundreds_of_sessions() {
    let server = TestServer::start("tp-sessions");
    run(async {
        let count = if mote_it::server::is_oracle() { 50 } else { 300 };
        let first = connect(&server).await;
        first
            .batch_execute("create table t (id int primary key, n int); insert into t values (1, 0)")
            .await
            .expect("DDL");
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(connect(&server).await);
        }
        // All want the same row: each waits its turn.
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|client| {
                tokio::task::spawn_local(async move {
                    client
                        .execute("update t set n = n + 1 where id = 1", &[])
                        .await
                        .expect("it updates")
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.expect("it ended"), 1);
        }
        assert_eq!(one::<i32>(&first, "select n from t").await, count);
    });
}

/// The connection hands notifications on while the client does nothing.
#[test]
fn notifications_arrive_by_themselves() {
    let server = TestServer::start("tokio_notify");
    run(async {
        let (listener, mut connection) = config(&server).connect(NoTls).await.expect("it connects");
        let (sender, mut arrived) = tokio::sync::mpsc::unbounded_channel();
        tokio::task::spawn_local(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                if let Ok(AsyncMessage::Notification(notification)) = message {
                    let _ = sender.send(notification);
                }
            }
        });
        listener.batch_execute("LISTEN driver").await.expect("it listens");
        let notifier = connect(&server).await;
        let notify = notifier.prepare("SELECT pg_notify($1, $2)").await.expect("known");
        for payload in ["one", "two"] {
            notifier
                .execute(&notify, &[&"driver", &payload])
                .await
                .expect("valid");
        }
        for payload in ["one", "two"] {
            let notification = arrived.recv().await.expect("it arrives");
            assert_eq!(
                (notification.channel(), notification.payload()),
                ("driver", payload)
            );
        }
    });
}
