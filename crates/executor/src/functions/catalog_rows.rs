//! Rows of relations whose rows are made by code, for scans of them and for the functions that PostgreSQL's views read.
//!
//! There `pg_settings` selects from `pg_show_all_settings()`, and clients that want its rows call the function; here the
//! relation has the rows, and the function is the relation by its other name.

use mote_common::{Oid, SqlResult};
use mote_engine::Snapshot;
use mote_types::Datum;

use super::row_source::rows;
use super::{RowSource, SetFunction};
use crate::context::StatementContext;
use crate::large_object;
use crate::runtime::Runtime;
use mote_catalog::views::{Source, TABLES, relation_by_name};

/// Rows of the relation as this statement may see them, pg_largeobject's from the snapshot.
pub fn made(
    relation: Oid,
    snapshot: &Snapshot,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<Vec<Datum>>> {
    let source = Source {
        session: context.session.reader(),
        transaction: context.transaction,
        engine: context.database.engine(),
        directory: context.database.sessions(),
        upkeep: context.database.upkeep(),
        cluster: context.database.cluster(),
        hba: context.database.hba(),
        server_settings: context.database.server_settings(),
        shared_resets: context.database.shared_resets(),
    };
    let mut rows = TABLES.rows(relation, &source, context.host)?;
    // Behind the catalog's own: these are rows of tables, which only a running statement can read.
    large_object::shown::append(relation, &mut rows, snapshot, context)?;
    Ok(rows)
}

/// The function that a view of pg_catalog reads in PostgreSQL.
pub fn set_body(name: &str) -> Option<SetFunction> {
    Some(match name {
        "pg_show_all_settings" => |runtime, _, _| of_view(runtime, "pg_settings", &[]),
        "pg_show_all_file_settings" => |runtime, _, _| of_view(runtime, "pg_file_settings", &[]),
        "pg_hba_file_rules" => |runtime, _, _| of_view(runtime, "pg_hba_file_rules", &[]),
        "pg_lock_status" => |runtime, _, _| of_view(runtime, "pg_locks", &[]),
        "pg_timezone_abbrevs" => |runtime, _, _| of_view(runtime, "pg_timezone_abbrevs", &[]),
        "pg_timezone_names" => |runtime, _, _| of_view(runtime, "pg_timezone_names", &[]),
        // What is installed the views find out by a join.
        "pg_available_extensions" => {
            |runtime, _, _| of_view(runtime, "pg_available_extensions", &["installed_version"])
        }
        "pg_available_extension_versions" => {
            |runtime, _, _| of_view(runtime, "pg_available_extension_versions", &["installed"])
        }
        _ => return None,
    })
}

/// The rows of a view, but for the columns that it adds to those of its function.
fn of_view(runtime: &mut Runtime<'_, '_>, view: &str, added: &[&str]) -> SqlResult<Box<dyn RowSource>> {
    let relation = relation_by_name("pg_catalog", view).expect("a view of the catalog");
    let snapshot = runtime.snapshot();
    let mut made = made(relation.oid, snapshot, runtime.context())?;
    let is_added = |position: &usize| added.contains(&relation.columns[*position].name.as_str());
    let left_out: Vec<usize> = (0..relation.columns.len()).filter(is_added).collect();
    for row in &mut made {
        for &position in left_out.iter().rev() {
            row.remove(position);
        }
    }
    Ok(rows(made))
}
