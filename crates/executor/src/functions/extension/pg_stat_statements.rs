//! What pg_stat_statements shows and forgets. Who may see whose statements is decided here, not by the view.

use mote_catalog::privileges;
use mote_catalog::statement_statistics::{StatementRow, Times};
use mote_common::{Oid, SqlResult};
use mote_types::Datum;

use super::super::restricted::require_superuser;
use super::super::row_source::rows;
use super::super::{Body, CallSite, SetFunction, boolean, int8, oid};
use crate::runtime::Runtime;

/// Instead of the text of somebody else's statement.
const HIDDEN_TEXT: &str = "<insufficient privilege>";

pub(super) fn body(name: &str) -> Option<Body> {
    (name == "mote_reset_statements").then_some(Body::Runtime(reset))
}

pub(super) fn set_body(name: &str) -> Option<SetFunction> {
    Some(match name {
        "mote_statements" => |runtime, _, a| Ok(rows(statements(runtime, boolean(&a[0])))),
        "mote_statements_info" => |runtime, _, _| {
            let (drops, reset_us) = runtime.database().statement_statistics().about();
            let row = vec![Datum::Int8(drops as i64), Datum::TimestampTz(reset_us)];
            Ok(rows(vec![row]))
        },
        _ => return None,
    })
}

/// Statements of others are listed without text and number, unless the reader may read all statistics.
fn statements(runtime: &Runtime<'_, '_>, texts: bool) -> Vec<Vec<Datum>> {
    let session = runtime.session();
    let reader = session.identity().user_oid;
    let sees_all = privileges::reads_all_statistics(&session.catalog);
    let statements_max = session.settings.effective.statements.statements_max;
    let found = runtime.database().statement_statistics().rows(statements_max);
    let row = |row: StatementRow| statement(&row, sees_all || row.key.user == reader, texts);
    found.into_iter().map(row).collect()
}

fn statement(row: &StatementRow, visible: bool, texts: bool) -> Vec<Datum> {
    let StatementRow { key, text, counters } = row;
    let mut shown = vec![
        Datum::oid(key.user),
        Datum::oid(key.database),
        Datum::Bool(key.top_level),
        visible.then_some(key.query_id).map_or(Datum::Null, Datum::Int8),
        match (texts, visible) {
            (false, _) => Datum::Null,
            (true, true) => Datum::text(&**text),
            (true, false) => Datum::text(HIDDEN_TEXT),
        },
    ];
    for times in [&counters.plans, &counters.runs] {
        shown.extend(columns_of(times));
    }
    shown.push(Datum::Int8(counters.rows as i64));
    shown
}

/// Calls, then total, least, greatest and mean time in milliseconds, then the deviation.
fn columns_of(times: &Times) -> [Datum; 6] {
    [
        Datum::Int8(times.count as i64),
        Datum::Float8(times.total_ms),
        Datum::Float8(times.min_ms),
        Datum::Float8(times.max_ms),
        Datum::Float8(times.mean_ms),
        Datum::Float8(times.deviation_ms()),
    ]
}

/// Of a user, in a database, with a number: 0 stands for all.
fn reset(runtime: &mut Runtime<'_, '_>, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    let (user, database) = (Oid(oid(&arguments[0])), Oid(oid(&arguments[1])));
    let query_id = int8(&arguments[2]);
    let statistics = runtime.database().statement_statistics();
    // All of it: the time of the reset moves, too.
    if user == Oid::INVALID && database == Oid::INVALID && query_id == 0 {
        statistics.reset_all(runtime.database().now_us());
    } else {
        let is = |asked: Oid, own: Oid| asked == Oid::INVALID || asked == own;
        statistics.reset(|key| {
            is(user, key.user) && is(database, key.database) && (query_id == 0 || query_id == key.query_id)
        });
    }
    Ok(Datum::Null)
}
