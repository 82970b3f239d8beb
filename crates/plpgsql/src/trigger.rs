//! What a trigger function may ask: NEW, OLD and the TG_ variables.
//!
//! NEW and OLD are rows of the trigger's table, made by `compile` and filled by `language`; the rest stands here, by
//! name and type, in one order for the compiler and for the run. PostgreSQL computes them when they are read
//! (plpgsql_fulfill_promise, pl_exec.c); here all are computed per call.

use mote_types::{ColumnType, Datum, oid};

use mote_executor::context::calls::{TriggerCall, TriggerOperation, TriggerTiming};

/// The variables besides NEW and OLD.
pub const NAMES: &[(&str, ColumnType)] = &[
    ("tg_name", ColumnType::NAME),
    ("tg_when", ColumnType::TEXT),
    ("tg_level", ColumnType::TEXT),
    ("tg_op", ColumnType::TEXT),
    ("tg_relid", ColumnType::OID),
    ("tg_relname", ColumnType::NAME),
    ("tg_table_name", ColumnType::NAME),
    ("tg_table_schema", ColumnType::NAME),
    ("tg_nargs", ColumnType::INT4),
    ("tg_argv", ColumnType::new(oid::TEXT_ARRAY)),
];

/// Their values, in the order of [`NAMES`].
pub fn values(call: &TriggerCall<'_>) -> Vec<Datum> {
    let relation = call.relation;
    let timing = match call.timing {
        TriggerTiming::Before => "BEFORE",
        TriggerTiming::After => "AFTER",
        TriggerTiming::InsteadOf => "INSTEAD OF",
    };
    let operation = match call.operation {
        TriggerOperation::Insert => "INSERT",
        TriggerOperation::Update => "UPDATE",
        TriggerOperation::Delete => "DELETE",
        TriggerOperation::Truncate => "TRUNCATE",
    };
    let arguments: Vec<Datum> = call
        .arguments
        .iter()
        .map(|text| Datum::from(text.as_str()))
        .collect();
    // TG_ARGV counts from zero; without arguments it is NULL.
    let argv = match arguments.is_empty() {
        true => Datum::Null,
        false => {
            let mut argv = mote_types::Array::from_elements(oid::TEXT, arguments);
            argv.dims.iter_mut().for_each(|dim| dim.lower_bound = 0);
            Datum::Array(Box::new(argv))
        }
    };
    vec![
        Datum::from(call.name),
        Datum::from(timing),
        Datum::from(if call.for_each_row { "ROW" } else { "STATEMENT" }),
        Datum::from(operation),
        Datum::oid(relation.oid),
        // TG_RELNAME and TG_TABLE_NAME are the same; PostgreSQL keeps the former for old bodies.
        Datum::from(relation.name.as_str()),
        Datum::from(relation.name.as_str()),
        Datum::from(relation.schema.as_str()),
        Datum::Int4(call.arguments.len() as i32),
        argv,
    ]
}
