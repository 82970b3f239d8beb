//! pg_prepared_statements and pg_cursors: what the session itself has under a name.

use mote_common::SqlResult;
use mote_types::{Datum, oid};

use crate::views::facts::Facts;
use crate::views::row::row;

pub fn prepared_statements(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let statements = facts.session.objects.prepared.iter().map(|statement| {
        let types = statement.parameters.iter().map(|&ty| Datum::oid(ty)).collect();
        row![
            &statement.name,
            &*statement.text,
            Datum::TimestampTz(statement.made_us),
            Datum::array(oid::REGTYPE, types),
            statement.from_sql,
            // Every plan is good for all values of the parameters.
            statement.runs as i64,
            0i64,
        ]
    });
    Ok(statements.collect())
}

pub fn cursors(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let cursors = facts.session.objects.cursors.iter().map(|cursor| {
        row![
            &cursor.name,
            &*cursor.text,
            cursor.holdable,
            cursor.binary,
            cursor.scrollable,
            Datum::TimestampTz(cursor.made_us),
        ]
    });
    Ok(cursors.collect())
}
