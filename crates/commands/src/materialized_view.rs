//! CREATE MATERIALIZED VIEW and REFRESH MATERIALIZED VIEW (docs/design/0045).
//!
//! Promises: the old rows are deleted and the new ones inserted as rows of one transaction, so that snapshots from before
//! it go on seeing what they saw; the query runs in the owner's name. Leaves out: what any table and any view can do
//! (rename, indexes, privileges, dependencies), which stands with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{Access, RowWriter, Table, TableDefinition, TableLockMode, WriteError};
use mote_grammar::ast::{
    AlterTableCommand, CreateTableAs, ParsedStatement, Persistence, Query, RefreshMaterializedView, Statement,
};
use mote_sql::catalog::Relation;
use mote_types::{Datum, Record};

use super::{columns, create_table, filling, in_use, internal, schema, temporary, truncate, view};
use crate::routine;
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredKind, StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;
use mote_copy::insert::Sink;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_executor::memory::Kept;
use mote_executor::node::modify::full_text;
use mote_executor::row_codec::RowCodec;
use mote_executor::runtime::{Runtime, Values};

pub(super) const TAG: &str = "CREATE MATERIALIZED VIEW";
const REFRESH: &str = "REFRESH MATERIALIZED VIEW";

impl Command for RefreshMaterializedView {
    fn name(&self) -> &'static str {
        REFRESH
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        refresh(self, context)
    }
}

/// CREATE MATERIALIZED VIEW: the table is made and written, then filled as REFRESH would.
pub(super) fn create(
    create: &CreateTableAs,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let query = defining_query(create)?;
    let too_many = "too many column names were specified";
    let meaning = view::meaning(query, &create.columns, too_many, text, context)?;
    // Its rows would outlive what they were made from.
    if temporary::reads_temporary(&meaning.depends_on, context) {
        return Err(unsupported(
            "materialized views must not use temporary tables or views",
        ));
    }
    let (schema_oid, _) = schema::schema_for_new(&create.name, create.persistence, context)?;
    if context.session.catalog.is_temporary_schema(schema_oid) {
        return Err(temporary_relation());
    }
    schema::reserve_name(schema_oid, &create.name.name, context)?;
    if schema::relation_exists(schema_oid, &create.name.name, context) {
        if create.if_not_exists {
            let message = format!("relation \"{}\" already exists, skipping", create.name.name);
            schema::notice(state::DUPLICATE_TABLE, message, context);
            return Ok(CommandTag::Word(TAG));
        }
        return Err(schema::already_exists(&create.name.name));
    }
    schema::require_free_row_type(schema_oid, &create.name.name, context)?;
    let owner = context.session.identity().user_oid;
    let kind = StoredKind::MaterializedView;
    let name = &create.name.name;
    let mut view = schema::new_relation(schema_oid, name, kind, owner.0, meaning.columns, context);
    view.view_query = Some(meaning.text);
    view.depends_on = meaning.depends_on;
    view.populated = create.with_data;
    view.options = create_table::storage_options(&create.options)?;
    let definition = TableDefinition::new(view.columns.iter().map(columns::column_storage).collect());
    view.table = schema::make_storage(&view, &definition, context)?.0;
    let oid = Oid(view.oid);
    write::put(StoredObject::Relation(view), context)?;
    if !create.with_data {
        return Ok(CommandTag::Word(TAG));
    }
    let statement = ParsedStatement {
        statement: create.source.clone(),
        range: 0..text.len(),
        warnings: Vec::new(),
    };
    // The query may call functions of others: they act in the owner's name, and cannot leave anything behind.
    routine::call::restricted(owner, context, |context| {
        let mut query = internal::Query::prepare(&statement, text, context)?;
        filling::fill(oid, &mut query, context)
    })
    .map(CommandTag::SelectInto)
}

/// A session's own would be made in a restricted operation, as PostgreSQL sees it.
fn temporary_relation() -> SqlError {
    let message = "cannot create temporary table within security-restricted operation";
    SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
}

/// 0A000 with these words.
fn unsupported(message: &'static str) -> SqlError {
    SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
}

/// The query, if it only reads and the clauses around it are possible.
fn defining_query(create: &CreateTableAs) -> SqlResult<&Query> {
    if create.persistence == Persistence::Unlogged {
        return Err(unsupported("materialized views cannot be unlogged"));
    }
    create_table::check_storage(create.tablespace.as_deref(), create.access_method.as_deref())?;
    let Statement::Query(query) = &create.source else {
        return Err(SqlError::internal("a materialized view has a query"));
    };
    let reads = |table: &mote_grammar::ast::CommonTable| matches!(table.statement, Statement::Query(_));
    match &query.with {
        Some(with) if !with.tables.iter().all(reads) => Err(unsupported(
            "materialized views must not use data-modifying statements in WITH",
        )),
        _ => Ok(query),
    }
}

fn refresh(refresh: &RefreshMaterializedView, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let name = &refresh.name;
    // Whoever may not shall not make others wait behind him.
    let entry = schema::find_relation(name, context)?.ok_or_else(|| schema::undefined_table(name))?;
    if !entry.stored.kind.has_rows() {
        return Err(schema::wrong_kind(
            &entry.stored.name,
            "table or materialized view",
        ));
    }
    schema::require_owner(&entry.stored, context)?;
    // CONCURRENTLY keeps writers and other refreshes out, and lets readers go on.
    let mode = match refresh.concurrently {
        true => TableLockMode::Exclusive,
        false => TableLockMode::AccessExclusive,
    };
    let entry = schema::lock_relation(name, mode, context)?.ok_or_else(|| schema::undefined_table(name))?;
    // Asked again under the lock: the owner may have changed.
    schema::require_owner(&entry.stored, context)?;
    let mut view = entry.stored.clone();
    check_refresh(refresh, &view, context)?;
    in_use::refuse_table("REFRESH MATERIALIZED VIEW", &view, context)?;
    // The rows are made from the newest data, also in REPEATABLE READ.
    internal::require_newest(context)?;
    if !refresh.with_data {
        view.populated = false;
        // WITH NO DATA: new storage without rows, as TRUNCATE gives.
        truncate::renew(view, context)?;
        return Ok(CommandTag::Word(REFRESH));
    }
    if !view.populated {
        view.populated = true;
        write::put(StoredObject::Relation(view.clone()), context)?;
    }
    let text = view.view_query.clone().unwrap_or_default();
    let statement = internal::parse(&text, context)?;
    routine::call::restricted(Oid(view.owner), context, |context| {
        let mut query = internal::Query::prepare(&statement, &text, context)?;
        match refresh.concurrently {
            true => Stored::of(&view, context)?.change_to(&mut query, context),
            false => {
                Stored::of(&view, context)?.delete_all(context)?;
                filling::fill(Oid(view.oid), &mut query, context)
                    .map(|_| ())
                    .map_err(|error| as_index_build(error, &view))
            }
        }
    })?;
    Ok(CommandTag::Word(REFRESH))
}

/// What must be the case, above all for CONCURRENTLY.
fn check_refresh(
    refresh: &RefreshMaterializedView,
    view: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if view.kind != StoredKind::MaterializedView {
        let message = format!("\"{}\" is not a materialized view", view.name);
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    if !refresh.concurrently {
        return Ok(());
    }
    let prerequisite = |message: String| SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    if !view.populated {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(unsupported(message));
    }
    if !refresh.with_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    // PostgreSQL matches old and new rows by such an index. Here rows are compared by their bytes; the index is asked
    // for all the same.
    let tells_apart = |index: &mote_catalog::catalog_store::stored::StoredIndex| {
        index.unique && index.valid && !index.deferrable && index.is_plain()
    };
    if !view.indexes.iter().any(tells_apart) {
        let name = schema::qualified_name(view, context);
        return Err(prerequisite(format!(
            "cannot refresh materialized view \"{name}\" concurrently"
        ))
        .hint(
            "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
        ));
    }
    Ok(())
}

/// PostgreSQL builds the indexes over the new rows; here each row is put into them. The message is the same.
fn as_index_build(error: SqlError, view: &StoredRelation) -> SqlError {
    let fields = error.fields();
    // What the query calls may have met a key of another table.
    let of_view = fields.table.as_deref() == Some(view.name.as_str());
    let (Some(index), true) = (
        &fields.constraint,
        error.state() == state::UNIQUE_VIOLATION && of_view,
    ) else {
        return error;
    };
    let message = format!("could not create unique index \"{index}\"");
    let mut built = SqlError::new(state::UNIQUE_VIOLATION, message).constraint(index.to_string());
    if let Some(key) = fields
        .detail
        .as_ref()
        .and_then(|detail| detail.strip_suffix(" already exists."))
    {
        built = built.detail(format!("{key} is duplicated."));
    }
    match (&fields.schema, &fields.table) {
        (Some(schema), Some(table)) => built.table(schema.to_string(), table.to_string()),
        _ => built,
    }
}

/// The rows of a materialized view, which the caller has locked.
struct Stored {
    relation: Arc<Relation>,
    table: Arc<Table>,
}

impl Stored {
    /// Of a view as it is under the lock.
    fn of(view: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<Stored> {
        let lost = || SqlError::internal("a materialized view has its storage");
        Ok(Stored {
            relation: context.relation(Oid(view.oid)).ok_or_else(lost)?,
            table: context
                .database
                .engine()
                .table(TableId(view.table))
                .ok_or_else(lost)?,
        })
    }

    /// Deletes all rows.
    fn delete_all(&self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        self.delete_unless(context, |_| false)
    }

    /// Deletes the rows that are not to be kept, by their bytes.
    fn delete_unless(
        &self,
        context: &mut StatementContext<'_>,
        mut keep: impl FnMut(&[u8]) -> bool,
    ) -> SqlResult<()> {
        let snapshot = context.transaction.begin_statement(Access::Write);
        let newest = self.table.newest_layout().number();
        let mut scan = self.table.scan();
        loop {
            context.burn(1)?;
            let transaction = context.transaction;
            let Some(version) = scan.next(&self.table, transaction, &snapshot) else {
                return Ok(());
            };
            // Rows of another layout may be equal and have other bytes: they are written anew.
            if version.layout() == newest && keep(version.bytes()) {
                continue;
            }
            // The lock keeps all others from locking or writing rows.
            match transaction.delete(&self.table, &version) {
                Ok(()) => {}
                Err(WriteError::MustWait(_)) => {
                    return Err(SqlError::internal("a row of a materialized view is locked"));
                }
                Err(error) => return Err(write_error::sql_error(error, &self.relation)),
            }
        }
    }

    /// Deletes what the query no longer yields and inserts what it yields anew; rows that stay are not touched.
    fn change_to(&self, query: &mut internal::Query, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let mut new = self.rows_of(query, context)?;
        self.delete_unless(context, |row| new.take(row))?;
        self.insert(new, context)
    }

    /// The rows of the query, counted. Two equal ones without NULL are refused, as in PostgreSQL.
    fn rows_of(&self, query: &mut internal::Query, context: &mut StatementContext<'_>) -> SqlResult<NewRows> {
        let codec = RowCodec::new(&self.relation);
        let layout = self.table.newest_layout().clone();
        let mut writer = RowWriter::new(&layout);
        let mut scratch = Vec::new();
        let mut new = NewRows::default();
        query.run(context, &mut |context, row| {
            let bytes = codec.write_row(row, &mut writer, &mut scratch)?;
            let repeated = new.add(bytes, context)?;
            if repeated && !row.iter().any(Datum::is_null) {
                return Err(self.duplicate(row, context));
            }
            Ok(())
        })?;
        Ok(new)
    }

    /// 21000, with the row.
    fn duplicate(&self, row: &[Datum], context: &StatementContext<'_>) -> SqlError {
        let record = Datum::Record(Box::new(Record {
            ty: Arc::new(self.relation.row_type()),
            fields: row.to_vec(),
        }));
        let ty = self.relation.row_value_type();
        let shown = full_text(&record, ty, &context.session.settings.effective.format);
        let message = format!(
            "new data for materialized view \"{}\" contains duplicate rows without any null columns",
            self.relation.name
        );
        SqlError::new(state::CARDINALITY_VIOLATION, message).detail(format!("Row: {shown}"))
    }

    /// Inserts each row as often as it came.
    fn insert(&self, new: NewRows, context: &mut StatementContext<'_>) -> SqlResult<()> {
        let codec = RowCodec::new(&self.relation);
        let layout = self.table.newest_layout().clone();
        let mut writer = RowWriter::new(&layout);
        let given: Vec<usize> = (0..self.relation.columns.len()).collect();
        let catalog = &context.session.catalog;
        let mut sink = Sink::new(&self.relation, Arc::clone(&self.table), &given, None, catalog)?;
        let mut values = Values::default();
        let mut row = Vec::new();
        let snapshot = context.transaction.snapshot();
        for (bytes, count) in new.rows {
            row.clear();
            codec.read_row(&self.table.view(layout.number(), &bytes), &mut row);
            for _ in 0..count {
                let mut runtime = Runtime::new(context, &snapshot, &mut values);
                runtime.burn(1)?;
                sink.insert(&mut row, &mut writer, &mut runtime)?;
            }
        }
        Ok(())
    }
}

/// The query's rows in their stored form, each with how often it came.
#[derive(Default)]
struct NewRows {
    rows: BTreeMap<Box<[u8]>, u32>,
    kept: Kept,
}

/// A row's entry in the map, without its bytes.
const ENTRY_BYTES: usize = 32;

impl NewRows {
    /// True if the row was there before.
    fn add(&mut self, bytes: &[u8], context: &StatementContext<'_>) -> SqlResult<bool> {
        // As versions are padded.
        let mut padded = Vec::with_capacity(bytes.len().next_multiple_of(8));
        padded.extend_from_slice(bytes);
        padded.resize(bytes.len().next_multiple_of(8), 0);
        if let Some(count) = self.rows.get_mut(padded.as_slice()) {
            *count += 1;
            return Ok(true);
        }
        let memory = &context.session.memory;
        self.kept.add(
            padded.len() + ENTRY_BYTES,
            memory,
            "new rows of a materialized view",
        )?;
        self.rows.insert(padded.into(), 1);
        Ok(false)
    }

    /// One of these rows is there already; false if there is none left.
    fn take(&mut self, bytes: &[u8]) -> bool {
        match self.rows.get_mut(bytes) {
            Some(count @ 2..) => *count -= 1,
            Some(_) => {
                self.rows.remove(bytes);
            }
            None => return false,
        }
        true
    }
}

/// What ALTER TABLE and ALTER MATERIALIZED VIEW may do to one: nothing that concerns what the query says.
pub(super) fn check_alter(command: &AlterTableCommand, view: &StoredRelation) -> SqlResult<()> {
    let action = match command {
        AlterTableCommand::ChangeOwner(_)
        | AlterTableCommand::SetOptions(_)
        | AlterTableCommand::ResetOptions(_)
        | AlterTableCommand::SetStatistics { .. }
        | AlterTableCommand::SetColumnOptions { .. }
        | AlterTableCommand::ResetColumnOptions { .. }
        | AlterTableCommand::SetStorage { .. }
        | AlterTableCommand::SetCompression { .. }
        | AlterTableCommand::SetTablespace(_)
        | AlterTableCommand::SetAccessMethod(_)
        | AlterTableCommand::ClusterOn(_)
        | AlterTableCommand::SetWithoutCluster
        | AlterTableCommand::Unsupported(_) => return Ok(()),
        AlterTableCommand::AddColumn { .. } => "ADD COLUMN",
        AlterTableCommand::DropColumn { .. } => "DROP COLUMN",
        AlterTableCommand::SetDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        AlterTableCommand::DropDefault { .. } => "ALTER COLUMN ... DROP DEFAULT",
        AlterTableCommand::SetNotNull { .. } => "ALTER COLUMN ... SET NOT NULL",
        AlterTableCommand::DropNotNull { .. } => "ALTER COLUMN ... DROP NOT NULL",
        AlterTableCommand::SetType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        AlterTableCommand::SetExpression { .. } => "ALTER COLUMN ... SET EXPRESSION",
        AlterTableCommand::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        AlterTableCommand::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        AlterTableCommand::SetIdentity { .. } => "ALTER COLUMN ... SET",
        AlterTableCommand::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        AlterTableCommand::AddConstraint(_) => "ADD CONSTRAINT",
        AlterTableCommand::AlterConstraint(_) => "ALTER CONSTRAINT",
        AlterTableCommand::ValidateConstraint { .. } => "VALIDATE CONSTRAINT",
        AlterTableCommand::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterTableCommand::EnableTrigger { .. } => "ENABLE TRIGGER",
        AlterTableCommand::DisableTrigger { .. } => "DISABLE TRIGGER",
        AlterTableCommand::SetLogged => "SET LOGGED",
        AlterTableCommand::SetUnlogged => "SET UNLOGGED",
        AlterTableCommand::Inherit(_) => "INHERIT",
        AlterTableCommand::NoInherit(_) => "NO INHERIT",
        AlterTableCommand::AttachPartition { .. } => "ATTACH PARTITION",
        AlterTableCommand::DetachPartition { .. } => "DETACH PARTITION",
        AlterTableCommand::ReplicaIdentity(_) => return Ok(()),
        AlterTableCommand::EnableRowSecurity => "ENABLE ROW SECURITY",
        AlterTableCommand::DisableRowSecurity => "DISABLE ROW SECURITY",
        AlterTableCommand::ForceRowSecurity => "FORCE ROW SECURITY",
        AlterTableCommand::NoForceRowSecurity => "NO FORCE ROW SECURITY",
    };
    let message = format!(
        "ALTER action {action} cannot be performed on relation \"{}\"",
        view.name
    );
    Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(view.kind.not_supported()))
}
