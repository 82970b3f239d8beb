//! A session in process that prepares statements once and runs them with values.

use mote_common::Oid;
use mote_common::error::state;
use mote_types::{ColumnType, Datum, oid};

use super::support::session;

#[test]
fn prepared_statements_take_and_give_values() {
    let mut session = session();
    session
        .query("create table t (k int primary key, v text)")
        .unwrap();
    let (types, columns) = session
        .prepare("put", "insert into t values ($1, $2)", &[])
        .unwrap();
    assert_eq!(types, [ColumnType::new(oid::INT4), ColumnType::new(oid::TEXT)]);
    assert!(columns.is_none());
    for k in 1..=3 {
        let outcome = session.execute("put", &[Datum::Int4(k), Datum::Null]).unwrap();
        assert_eq!(
            outcome.tag.map(|tag| tag.to_string()).as_deref(),
            Some("INSERT 0 1")
        );
    }
    let (_, columns) = session
        .prepare("get", "select k, v from t where k > $1 order by k", &[])
        .unwrap();
    assert_eq!(columns.map(|columns| columns.len()), Some(2));
    let outcome = session.execute("get", &[Datum::Int4(1)]).unwrap();
    let keys: Vec<String> = outcome.rows.iter().map(|row| format!("{row:?}")).collect();
    assert_eq!(keys, ["[Int4(2), Null]", "[Int4(3), Null]"]);
}

#[test]
fn values_of_another_type_or_number_are_refused() {
    let mut session = session();
    session
        .prepare("s", "select $1 + 1", &[Oid(oid::INT8.0)])
        .unwrap();
    let wrong = session.execute("s", &[Datum::Int4(1)]).unwrap_err();
    assert_eq!(wrong.state(), state::DATATYPE_MISMATCH);
    let none = session.execute("s", &[]).unwrap_err();
    assert_eq!(none.state(), state::PROTOCOL_VIOLATION);
    let outcome = session.execute("s", &[Datum::Int8(41)]).unwrap();
    assert_eq!(format!("{:?}", outcome.rows), "[[Int8(42)]]");
}

#[test]
fn a_block_spans_texts_and_prepared_statements() {
    let mut session = session();
    session.query("create table t (k int primary key)").unwrap();
    session.prepare("put", "insert into t values ($1)", &[]).unwrap();
    session.query("begin").unwrap();
    session.execute("put", &[Datum::Int4(1)]).unwrap();
    // An error ends the block, as on the wire.
    session.execute("put", &[Datum::Int4(1)]).unwrap_err();
    assert_eq!(
        session
            .execute("put", &[Datum::Int4(2)])
            .unwrap_err()
            .state()
            .to_string(),
        "25P02"
    );
    session.query("rollback").unwrap();
    assert_eq!(
        session.rows("select count(*) from t").unwrap(),
        [[Some("0".to_string())]]
    );
}
