//! CREATE VIEW.
//!
//! A view is the text of its query. Names in it are completed with their schemas when the view is made, so that it means
//! the same under every search_path; the relations it reads are noted, so that none of them is dropped under it.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    ColumnReference, CreateView, DefinitionOption, Expr, ExprKind, FromItem, JoinCondition, Location, Name,
    OptionValue, ParsedStatement, Persistence, Query, QueryBody, RelationReference, Select, Statement,
    Target, ViewCheckOption, With, deparse,
};
use mote_grammar::rewrite;
use mote_planner::plan::{OutputColumn, Plan};
use mote_sql::catalog::CatalogView;
use mote_types::oid;

use super::{composite_type, internal, qualify, schema, temporary, view_columns};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::SessionCatalog;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredInheritance, StoredKind, StoredObject, StoredRelation,
};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateView {
    fn name(&self) -> &'static str {
        "CREATE VIEW"
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, issued.text, context)
    }
}

const TAG: CommandTag = CommandTag::Word("CREATE VIEW");

/// CREATE VIEW and CREATE OR REPLACE VIEW: PostgreSQL's DefineView.
pub(super) fn create(
    create: &CreateView,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let options = options(create)?;
    let too_many = "CREATE VIEW specifies more column names than columns";
    // Planned before its name is reserved: a query that does not bind locks nothing.
    let Meaning {
        columns,
        depends_on,
        text: query_text,
    } = meaning(&create.query, &create.columns, too_many, text, context)?;
    let mut persistence = create.persistence;
    if persistence == Persistence::Unlogged {
        let message = "views cannot be unlogged because they do not have storage";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    // What reads the session's own tables can only live in the session.
    if persistence == Persistence::Permanent && temporary::reads_temporary(&depends_on, context) {
        let message = format!("view \"{}\" will be a temporary view", create.name.name);
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        persistence = Persistence::Temporary;
    }
    let (schema_oid, _) = schema::schema_for_new(&create.name, persistence, context)?;
    schema::reserve_name(schema_oid, &create.name.name, context)?;
    let catalog = context.session.catalog.current();
    let existing = catalog.name(schema_oid, &create.name.name);
    let Some(existing) = existing else {
        if schema::relation_exists(schema_oid, &create.name.name, context) {
            return Err(schema::already_exists(&create.name.name));
        }
        schema::require_free_row_type(schema_oid, &create.name.name, context)?;
        let owner = context.session.identity().user_oid.0;
        let mut view = schema::new_relation(
            schema_oid,
            &create.name.name,
            StoredKind::View,
            owner,
            columns,
            context,
        );
        view.view_query = Some(query_text);
        view.depends_on = depends_on;
        view.options = options;
        return store(view, context);
    };
    if !create.or_replace {
        return Err(schema::already_exists(&create.name.name));
    }
    let not_a_view = || {
        SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a view", create.name.name),
        )
    };
    let entry = catalog.relation(existing).ok_or_else(not_a_view)?;
    if entry.stored.kind != StoredKind::View {
        return Err(not_a_view());
    }
    schema::require_owner(&entry.stored, context)?;
    let entry = schema::lock_entry(entry, TableLockMode::AccessExclusive, context)?;
    let entry = entry.ok_or_else(|| schema::undefined_table(&create.name))?;
    // Whoever reads the view has bound its columns by position, name and type.
    check_replacement(&entry.stored.columns, &columns)?;
    for column in &columns {
        composite_type::refuse_own_rows(entry.stored.oid, Oid(column.type_oid), context)?;
    }
    // A view that would read itself, through others too.
    if depends_on.contains(&existing.0) {
        return Err(SqlError::new(
            state::INVALID_OBJECT_DEFINITION,
            format!(
                "infinite recursion detected in rules for relation \"{}\"",
                create.name.name
            ),
        ));
    }
    let mut view = entry.stored.clone();
    view.columns = columns;
    view.view_query = Some(query_text);
    view.depends_on = depends_on;
    view.options = options;
    store(view, context)
}

/// What a view is kept as.
pub(super) struct Meaning {
    pub columns: Vec<StoredColumn>,
    pub depends_on: Vec<u32>,
    /// The query, with the names of the columns and the schemas of what it reads.
    pub text: String,
}

/// `too_many`: what is wrong with more names than the query has columns.
pub(super) fn meaning(
    written: &Query,
    names: &[Name],
    too_many: &'static str,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<Meaning> {
    let mut query = written.clone();
    let catalog = &context.session.catalog;
    // Names are completed in a copy; the query as written is planned, so that errors point into it.
    rewrite::query(&mut query, &mut Qualify { catalog });
    let statement = ParsedStatement {
        statement: Statement::Query(Box::new(written.clone())),
        range: 0..text.len(),
        warnings: Vec::new(),
    };
    let plan = internal::plan(&statement, text, context)?;
    // Fewer names than columns are fine: the rest keep those of the query.
    if names.len() > plan.output.len() {
        return Err(SqlError::new(state::SYNTAX_ERROR, too_many));
    }
    let columns = columns_of(&plan.output, names)?;
    // Behind the plan, by which all of `*` is known to exist.
    expand_stars(&mut query, None, context)?;
    if !names.is_empty() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        view_columns::name(&mut query, &names);
    }
    Ok(Meaning {
        columns,
        depends_on: dependencies(&plan, context),
        text: deparse::query(&query)?,
    })
}

/// Writes the view, and then asks whether its check option can be kept: the binder must find it.
fn store(view: StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let oid = Oid(view.oid);
    let checks = view.options.iter().any(|option| option.starts_with(CHECK_OPTION));
    write::put(StoredObject::Relation(view), context)?;
    if checks {
        check_updatable(oid, context)?;
    }
    Ok(TAG)
}

/// What a view with a check option must be.
pub(super) fn check_updatable(view: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(view) = context.session.catalog.relation(view) else {
        return Ok(());
    };
    let columns = internal::on_large_stack(context, |session| {
        mote_sql::bind::updatable_columns(&view, &session.catalog)
    });
    // The binder's refusal tells in its detail why, which becomes the hint here.
    let why = match columns {
        Ok(columns) if columns.contains(&true) => return Ok(()),
        Ok(_) => "Views that have no updatable columns are not automatically updatable.".to_string(),
        Err(error) => match &error.fields().detail {
            Some(why) => why.to_string(),
            None => return Err(error),
        },
    };
    let message = "WITH CHECK OPTION is supported only on automatically updatable views";
    Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).hint(why))
}

/// The one option that views have, as the catalog keeps it.
const CHECK_OPTION: &str = "check_option=";

/// WITH (..) and WITH CHECK OPTION, which say the same.
fn options(create: &CreateView) -> SqlResult<Vec<String>> {
    let mut options = view_options(&create.options)?;
    let option = match create.check_option {
        ViewCheckOption::None => return Ok(options),
        ViewCheckOption::Local => "local",
        ViewCheckOption::Cascaded => "cascaded",
    };
    if !options.is_empty() {
        let message = "parameter \"check_option\" specified more than once";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    options.push(format!("{CHECK_OPTION}{option}"));
    Ok(options)
}

/// Options of a view as they are kept: there is one.
pub(super) fn view_options(options: &[DefinitionOption]) -> SqlResult<Vec<String>> {
    let mut kept: Vec<String> = Vec::new();
    for option in options {
        match &*option.name {
            "check_option" => {}
            "security_barrier" | "security_invoker" => {
                return Err(SqlError::unsupported(format_args!(
                    "the view option \"{}\"",
                    option.name
                )));
            }
            other => {
                let message = format!("unrecognized parameter \"{other}\"");
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
        }
        if !kept.is_empty() {
            let message = "parameter \"check_option\" specified more than once";
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
        let value = match &option.value {
            Some(OptionValue::String(value)) => value.to_string(),
            Some(OptionValue::Boolean(value)) => value.to_string(),
            _ => "true".to_string(),
        };
        if !["local", "cascaded"].contains(&&*value) {
            let message = format!("invalid value for enum option \"check_option\": {value}");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message)
                .detail("Valid values are \"local\" and \"cascaded\"."));
        }
        kept.push(format!("{CHECK_OPTION}{value}"));
    }
    Ok(kept)
}

/// Columns of a view or of CREATE TABLE AS: the query's, renamed as far as names are given.
pub(super) fn columns_of(output: &[OutputColumn], names: &[Name]) -> SqlResult<Vec<StoredColumn>> {
    let mut columns: Vec<StoredColumn> = Vec::with_capacity(output.len());
    for (position, column) in output.iter().enumerate() {
        let name = names.get(position).map_or(column.name.as_str(), |name| name);
        if columns.iter().any(|known| known.name == name) {
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        // Types that a column cannot have.
        let pseudo = column.ty.oid == oid::RECORD || column.ty.oid == oid::VOID;
        if pseudo {
            return Err(SqlError::new(
                state::INVALID_TABLE_DEFINITION,
                format!("column \"{name}\" has pseudo-type {}", column.ty.name()),
            ));
        }
        // A literal in the query is a text in the view.
        let ty = if column.ty.oid == oid::UNKNOWN {
            mote_types::ColumnType::new(oid::TEXT)
        } else {
            column.ty
        };
        columns.push(StoredColumn {
            name: name.to_string(),
            type_oid: ty.oid.0,
            typmod: ty.typmod,
            domain: None,
            not_null: false,
            dropped: false,
            default: None,
            identity_always: None,
            generated: None,
            owned_sequence: None,
            comment: None,
            inheritance: StoredInheritance::default(),
            statistics_target: None,
            storage: None,
        });
    }
    Ok(columns)
}

/// OR REPLACE may add columns at the end and change nothing else about them.
fn check_replacement(old: &[StoredColumn], new: &[StoredColumn]) -> SqlResult<()> {
    let invalid = |message: String| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    // More columns may come at the end.
    if new.len() < old.len() {
        return invalid("cannot drop columns from view".into());
    }
    for (old, new) in old.iter().zip(new) {
        if old.name != new.name {
            return invalid(format!(
                "cannot change name of view column \"{}\" to \"{}\"",
                old.name, new.name
            ))
            .map_err(|error: SqlError| {
                error.hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
            });
        }
        if (old.type_oid, old.typmod) != (new.type_oid, new.typmod) {
            let name = |column: &StoredColumn| {
                mote_types::ColumnType::with_typmod(Oid(column.type_oid), column.typmod).name()
            };
            return invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                name(old),
                name(new)
            ));
        }
    }
    Ok(())
}

/// Views are taken apart when they are bound, so that the plan knows what they read; materialized ones are not.
fn dependencies(plan: &Plan, context: &StatementContext<'_>) -> Vec<u32> {
    // Of the system's objects nothing can be dropped.
    let users = plan.dependencies.iter().map(|dependency| dependency.object);
    let mut found: Vec<u32> = users
        .filter(|object| *object >= Oid::FIRST_USER)
        .map(|object| object.0)
        .collect();
    // A materialized view stands for what it was made from.
    for entry in found
        .clone()
        .into_iter()
        .filter_map(|oid| context.session.catalog.entry(Oid(oid)))
    {
        if entry.stored.kind == StoredKind::MaterializedView {
            let through = entry.stored.depends_on.iter().copied();
            let new: Vec<u32> = through.filter(|oid| !found.contains(oid)).collect();
            found.extend(new);
        }
    }
    found
}

/// Writes out what `*` stands for now: columns that are added later are not part of the view.
fn expand_stars(
    query: &mut Query,
    outer: Option<&With>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Names of CTEs hide relations; those of the nearest WITH count.
    let with = query.with.clone();
    let with = with.as_ref().or(outer);
    match &mut query.body {
        QueryBody::Values(_) => Ok(()),
        QueryBody::SetOperation { first, rest } => {
            expand_stars(first, with, context)?;
            rest.iter_mut()
                .try_for_each(|arm| expand_stars(&mut arm.query, with, context))
        }
        QueryBody::Select(select) => {
            let mut targets = Vec::with_capacity(select.targets.len());
            for target in std::mem::take(&mut select.targets) {
                match &target.value.kind {
                    ExprKind::Column(column) if column.star => {
                        expand_star(column.parts.clone(), &select.from, with, context, &mut targets)?;
                    }
                    _ => targets.push(target),
                }
            }
            select.targets = targets;
            Ok(())
        }
    }
}

/// The columns of `*` or `qualifier.*`. A bare `*` over several items becomes that of each, so that equal names stay apart;
/// over USING and NATURAL joins, whose columns are merged, it becomes plain names.
fn expand_star(
    qualifier: Vec<Name>,
    from: &[FromItem],
    with: Option<&With>,
    context: &mut StatementContext<'_>,
    targets: &mut Vec<Target>,
) -> SqlResult<()> {
    if qualifier.is_empty() {
        let mut names = Vec::new();
        // Each item by itself, so that columns of the same name are told apart by their qualifier.
        if from.iter().all(|item| item_names(item, &mut names)) {
            return names
                .into_iter()
                .try_for_each(|name| expand_star(vec![name], from, with, context, targets));
        }
    }
    let column = |parts: Vec<Name>, star: bool| Target {
        name: None,
        value: Expr {
            kind: ExprKind::Column(ColumnReference { parts, star }),
            location: Location::NONE,
        },
        location: Location::NONE,
    };
    // `SELECT qualifier.* FROM ..` is planned for the names of its output: no other way knows them all.
    let select = Select {
        distinct: None,
        targets: vec![column(qualifier.clone(), true)],
        from: from.to_vec(),
        filter: None,
        group_by: Vec::new(),
        group_distinct: false,
        having: None,
        windows: Vec::new(),
    };
    let query = Query {
        with: with.cloned(),
        body: QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        offset: None,
        locking: Vec::new(),
        location: Location::NONE,
    };
    let statement = ParsedStatement {
        statement: Statement::Query(Box::new(query)),
        range: 0..0,
        warnings: Vec::new(),
    };
    let plan = internal::plan(&statement, "", context)?;
    for output in plan.output.iter() {
        let mut parts = qualifier.clone();
        parts.push(output.name.as_str().into());
        targets.push(column(parts, false));
    }
    Ok(())
}

/// The names by which an item's columns can be qualified, in the order of `*`. False where columns are merged.
fn item_names(item: &FromItem, names: &mut Vec<Name>) -> bool {
    match item {
        FromItem::Relation(reference) => {
            names.push(
                reference
                    .alias
                    .as_ref()
                    .map_or(&reference.name.name, |alias| &alias.name)
                    .clone(),
            );
            true
        }
        FromItem::Subquery {
            alias: Some(alias), ..
        } => {
            names.push(alias.name.clone());
            true
        }
        FromItem::Function(function) => match &function.alias {
            Some(alias) => {
                names.push(alias.name.clone());
                true
            }
            None => false,
        },
        FromItem::Subquery { alias: None, .. } => false,
        FromItem::Join(join) => match (&join.alias, &join.condition) {
            (Some(alias), _) => {
                names.push(alias.name.clone());
                true
            }
            (None, JoinCondition::None | JoinCondition::On(_)) => {
                item_names(&join.left, names) && item_names(&join.right, names)
            }
            (None, JoinCondition::Using { .. } | JoinCondition::Natural) => false,
        },
    }
}

/// Completes names of relations with the schema they are found in.
struct Qualify<'a> {
    catalog: &'a SessionCatalog,
}

impl rewrite::Names for Qualify<'_> {
    fn relation(&mut self, reference: &mut RelationReference) {
        // Names of WITH never get here (`rewrite`).
        if reference.name.schema.is_none()
            && let Some(relation) = self.catalog.relation_by_name(None, &reference.name.name)
        {
            reference.name.schema = Some(relation.schema.as_str().into());
        }
    }

    fn expression(&mut self, expr: &mut Expr) {
        qualify::qualify_call(expr, self.catalog);
    }
}

/// Of the relations that a view depends on, one that it reads itself rather than through another one of them.
pub(super) fn read_directly<'a>(
    view: &StoredRelation,
    candidates: impl Iterator<Item = &'a StoredRelation> + Clone,
) -> Option<&'a StoredRelation> {
    let mut read = candidates
        .clone()
        .filter(|candidate| view.depends_on.contains(&candidate.oid));
    let through_other = |candidate: &StoredRelation| {
        candidates
            .clone()
            .any(|other| view.depends_on.contains(&other.oid) && other.depends_on.contains(&candidate.oid))
    };
    read.find(|candidate| !through_other(candidate))
}
