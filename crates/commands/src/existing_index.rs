//! ADD PRIMARY KEY and UNIQUE `USING INDEX`: a key made of an index that is there, which takes no look at the rows.
//!
//! PostgreSQL: transformIndexConstraint (parse_utilcmd.c), ATExecAddIndexConstraint (tablecmds.c).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::Constraint;
use mote_sql::catalog::index_method::IndexMethod;

use super::{not_null, schema};
use mote_catalog::catalog_store::stored::{
    StoredConstraint, StoredConstraintKind, StoredIndex, StoredIndexKey, StoredRelation,
};
use mote_executor::context::StatementContext;

/// Makes the index a key, under the constraint's name.
pub(super) fn add(
    constraint: &Constraint,
    index: &str,
    primary: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let place = constraint.location.position(&context.session.statement_text);
    let position = match find(index, table, context) {
        // As in PostgreSQL, that what is named is no index has no place.
        Err(error) if error.state() != state::WRONG_OBJECT_TYPE => return Err(error.at(place)),
        found => found?,
    };
    require_fit(constraint, &table.indexes[position], table).map_err(|error| error.at(place))?;
    if table.partitioning.is_some() {
        let message = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    if constraint.deferrable {
        // Its index finds duplicates later than one that is there.
        return Err(SqlError::unsupported("USING INDEX of a deferrable key"));
    }
    let name = match &constraint.name {
        Some(name) if **name != *index => renamed(position, name, table, context)?,
        _ => index.to_string(),
    };
    if primary {
        become_primary(position, table, context)?;
    }
    let oid = table.indexes[position].oid;
    table.constraints.push(StoredConstraint::new(
        context.database.catalog().allocate_oid().0,
        name,
        match primary {
            true => StoredConstraintKind::PrimaryKey { index: oid },
            false => StoredConstraintKind::Unique { index: oid },
        },
    ));
    Ok(())
}

fn not_prepared(message: String) -> SqlError {
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// Where the index is among those of the table.
fn find(index: &str, table: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<usize> {
    let found = table.indexes.iter().position(|known| known.name == index);
    if let Some(position) = found {
        return Ok(position);
    }
    let catalog = context.session.catalog.current();
    let Some(named) = catalog.name(Oid(table.schema), index) else {
        let message = format!("index \"{index}\" does not exist");
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    Err(match catalog.index_owner(named) {
        Some(_) => not_prepared(format!(
            "index \"{index}\" does not belong to table \"{}\"",
            table.name
        )),
        None => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{index}\" is not an index")),
    })
}

/// Refuses an index that does not say of the rows what a key says.
fn require_fit(constraint: &Constraint, index: &StoredIndex, table: &StoredRelation) -> SqlResult<()> {
    const KIND: SqlState = state::WRONG_OBJECT_TYPE;
    let name = &index.name;
    let is_taken = table.constraints.iter().any(|known| {
        matches!(known.kind, StoredConstraintKind::PrimaryKey { index: own } | StoredConstraintKind::Unique { index: own } if own == index.oid)
    });
    if is_taken {
        let message = format!("index \"{name}\" is already associated with a constraint");
        return Err(not_prepared(message));
    }
    if !index.valid {
        return Err(not_prepared(format!("index \"{name}\" is not valid")));
    }
    let unfit = |message: String| {
        Err(SqlError::new(KIND, message)
            .detail("Cannot create a primary key or unique constraint using such an index."))
    };
    if !index.unique {
        return unfit(format!("\"{name}\" is not a unique index"));
    }
    if index.keys.iter().any(|key| key.column.is_none()) {
        return unfit(format!("index \"{name}\" contains expressions"));
    }
    if index.predicate.is_some() {
        return unfit(format!("\"{name}\" is a partial index"));
    }
    if index.deferrable && !constraint.deferrable {
        return Err(SqlError::new(KIND, format!("\"{name}\" is a deferrable index"))
            .detail("Cannot create a non-deferrable constraint using a deferrable index."));
    }
    if index.method()? != IndexMethod::Btree {
        return Err(SqlError::new(KIND, format!("index \"{name}\" is not a btree")));
    }
    let is_other = |key: &StoredIndexKey| {
        key.collation.is_some() || key.operator_class.is_some() || key.descending || key.nulls_first
    };
    match index.keys.iter().position(is_other) {
        None => Ok(()),
        Some(position) => {
            let number = position + 1;
            unfit(format!(
                "index \"{name}\" column number {number} does not have default sorting behavior"
            ))
        }
    }
}

/// A key and its index bear one name.
fn renamed(
    position: usize,
    name: &str,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<String> {
    let schema_oid = Oid(table.schema);
    let message = format!(
        "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{name}\"",
        table.indexes[position].name
    );
    schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
    schema::reserve_name(schema_oid, name, context)?;
    if schema::relation_exists(schema_oid, name, context) {
        return Err(schema::already_exists(name));
    }
    table.indexes[position].name = name.to_string();
    Ok(name.to_string())
}

/// The columns of a primary key become NOT NULL, for which the rows are looked through.
fn become_primary(
    position: usize,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if table.indexes.iter().any(|index| index.primary) {
        let message = format!(
            "multiple primary keys for table \"{}\" are not allowed",
            table.name
        );
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let keys: Vec<u16> = table.indexes[position]
        .keys
        .iter()
        .filter_map(|key| key.column)
        .collect();
    for column in keys {
        if !table.columns[column as usize].not_null {
            not_null::set_not_null(table, column, context)?;
        }
    }
    table.indexes[position].primary = true;
    Ok(())
}
