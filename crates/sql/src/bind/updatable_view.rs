//! Views that INSERT, UPDATE and DELETE may name: each row of such a view is one row of one table.
//!
//! The statement is bound against that table. The view stands in scope under its own name, its columns being expressions
//! over the table's row; its WHERE becomes the statement's. A view over a view is taken apart level by level.
//! A view WITH CHECK OPTION adds its condition to what new rows must meet; CASCADED speaks for the views behind it, too.
//! Leaves out: views with sub-queries among their columns, expressions and conditions of indexes in ON CONFLICT (0A000).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::Binder;
use super::query::FIRST_SYSTEM_COLUMN;
use super::scope::{Clause, Level, ScopeItem, ScopeSource};
use super::select::conjuncts;
use crate::access::{RelationLock, privilege};
use crate::catalog::{CatalogView, CheckOption, Relation, RelationKind};
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::{Assignment, FromItem, Name, QueryBody};

/// A view that a statement writes through.
pub(super) struct UpdatableView {
    name: String,
    /// The table behind it, as the statement's target.
    pub relation: Arc<Relation>,
    pub target: u16,
    columns: Vec<ViewColumn>,
    /// The WHERE of each view that has one, the innermost first: what the rows of the view meet.
    pub conditions: Vec<(String, Expr)>,
    /// What new rows must meet: WITH CHECK OPTION, by the names of the views.
    pub checks: Vec<(String, Expr)>,
}

struct ViewColumn {
    name: Name,
    value: Expr,
    /// The table's column that it is.
    position: Option<u16>,
}

/// What a statement does to a view, in the words of its errors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Insert,
    Update,
    Delete,
}

impl Change {
    fn refused(self, view: &str, why: &str) -> SqlError {
        let (verb, doing, event) = match self {
            Change::Insert => ("insert into", "inserting into", "INSERT"),
            Change::Update => ("update", "updating", "UPDATE"),
            Change::Delete => ("delete from", "deleting from", "DELETE"),
        };
        let hint = format!(
            "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
        );
        SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("cannot {verb} view \"{view}\""),
        )
        .detail(format!("{why} are not automatically updatable."))
        .hint(hint)
    }
}

impl Binder<'_> {
    /// Takes a view apart. `cascaded`: a view before it checks for this one, too.
    pub(super) fn updatable_view(
        &mut self,
        view: &Arc<Relation>,
        change: Change,
        privileges: u32,
        cascaded: bool,
    ) -> SqlResult<UpdatableView> {
        let text = view
            .view_query
            .as_deref()
            .ok_or_else(|| SqlError::internal(format!("view \"{}\" has no query", view.name)))?;
        let parsed = mote_grammar::parser::parse(text)?;
        let Some(ast::Statement::Query(query)) = parsed.first().map(|parsed| &parsed.statement) else {
            return Err(SqlError::internal(format!(
                "view \"{}\" does not hold a query",
                view.name
            )));
        };
        let levels = std::mem::take(&mut self.levels);
        let cte_names = std::mem::take(&mut self.cte_names);
        let outer_text = std::mem::take(&mut self.text);
        let names = self.names.take();
        let check_as = std::mem::replace(&mut self.check_as, view.owner);
        let taken = self.taken_apart(view, query, change, privileges, cascaded);
        self.check_as = check_as;
        self.names = names;
        self.text = outer_text;
        self.cte_names = cte_names;
        self.levels = levels;
        let taken = taken?;
        self.check_not_restricted(view)?;
        Ok(taken)
    }

    fn taken_apart(
        &mut self,
        view: &Arc<Relation>,
        query: &ast::Query,
        change: Change,
        privileges: u32,
        cascaded: bool,
    ) -> SqlResult<UpdatableView> {
        let option = view.check_option();
        let checks = cascaded || option.is_some();
        let cascaded = cascaded || option == Some(CheckOption::Cascaded);
        let refuse = |why: &str| change.refused(&view.name, why);
        let select = simple_select(query).map_err(refuse)?;
        let [FromItem::Relation(reference)] = select.from.as_slice() else {
            return Err(refuse("Views that do not select from a single table or view"));
        };
        let base = self.find_relation(&reference.name)?;
        // Whoever reads through the view needs the owner's leave to read what is behind it.
        let privileges = privileges | privilege::SELECT;
        let alias = reference
            .alias
            .as_ref()
            .map_or(&reference.name.name, |alias| &alias.name)
            .clone();
        let renames = (reference.alias.as_ref()).is_some_and(|alias| !alias.columns.is_empty());
        self.access(&base, RelationLock::RowExclusive, privileges);
        let (mut behind, scope) = match base.kind {
            RelationKind::Table => {
                let (target, _) = self.target_item(reference, &base)?;
                let behind = UpdatableView {
                    name: view.name.clone(),
                    relation: base,
                    target,
                    columns: Vec::new(),
                    conditions: Vec::new(),
                    checks: Vec::new(),
                };
                (behind, ScopeItem::item(alias, target))
            }
            RelationKind::View if renames => {
                return Err(SqlError::unsupported(
                    "writing through a view with column aliases over a view",
                ));
            }
            RelationKind::View => {
                let behind = self.updatable_view(&base, change, privileges, cascaded)?;
                let scope = behind.scope(alias);
                (behind, scope)
            }
            _ => return Err(refuse("Views that do not select from a single table or view")),
        };
        self.levels.push(Level::new(Clause::Select));
        self.level().items.push(scope);
        let targets = self.targets(&select.targets, true)?;
        let level = self.level();
        let why = if !level.aggregates.is_empty() {
            Some("Views that return aggregate functions")
        } else if !level.windows.is_empty() {
            Some("Views that return window functions")
        } else if !level.sets.is_empty() {
            Some("Views that return set-returning functions")
        } else {
            None
        };
        if let Some(why) = why {
            return Err(refuse(why));
        }
        if let Some(filter) = &select.filter {
            if checks && change != Change::Delete {
                // Bound for itself: a sub-query is planned where it stands.
                let condition = self.in_clause(Clause::Where, |this| this.condition(filter, "WHERE"))?;
                behind.checks.push((view.name.clone(), condition));
            }
            let filter = self.in_clause(Clause::Where, |this| this.condition(filter, "WHERE"))?;
            behind.conditions.push((view.name.clone(), filter));
        }
        self.levels.pop();
        let live = view.columns.iter().filter(|column| !column.dropped);
        let mut columns = Vec::with_capacity(targets.len());
        for (target, column) in targets.into_iter().zip(live) {
            if target.expr.contains_subplan() {
                return Err(SqlError::unsupported(
                    "writing through a view with sub-queries among its columns",
                ));
            }
            let position = match &target.expr {
                Expr::Variable { relation, column, .. }
                    if *relation == behind.target && *column < FIRST_SYSTEM_COLUMN =>
                {
                    Some(*column)
                }
                _ => None,
            };
            columns.push(ViewColumn {
                name: column.name.as_str().into(),
                value: target.expr,
                position,
            });
        }
        if change != Change::Delete && columns.iter().all(|column| column.position.is_none()) {
            return Err(refuse("Views that have no updatable columns"));
        }
        behind.columns = columns;
        behind.name.clone_from(&view.name);
        Ok(behind)
    }
}

/// Which columns of a view can be written, by their order; Err tells why rows of it cannot be written at all.
pub fn updatable_columns(view: &Arc<Relation>, catalog: &dyn CatalogView) -> Result<Vec<bool>, SqlError> {
    let mut binder = Binder::new(catalog, "", &[]);
    // DELETE asks for no column.
    let taken = binder.updatable_view(view, Change::Delete, 0, false)?;
    let writable = |column: &ViewColumn| column.position.is_some();
    Ok(taken.columns.iter().map(writable).collect())
}

/// The SELECT of a view whose rows are rows of what it reads; Err: what stands in the way.
fn simple_select(query: &ast::Query) -> Result<&ast::Select, &'static str> {
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::SetOperation { .. } => return Err("Views containing UNION, INTERSECT, or EXCEPT"),
        QueryBody::Values(_) => return Err("Views that do not select from a single table or view"),
    };
    if select.distinct.is_some() {
        return Err("Views containing DISTINCT");
    }
    if !select.group_by.is_empty() {
        return Err("Views containing GROUP BY");
    }
    if select.having.is_some() {
        return Err("Views containing HAVING");
    }
    if query.with.is_some() {
        return Err("Views containing WITH");
    }
    if query.limit.is_some() || query.offset.is_some() {
        return Err("Views containing LIMIT or OFFSET");
    }
    Ok(select)
}

impl UpdatableView {
    /// What rows of the view meet, for a statement that looks for them.
    pub fn into_filter(self) -> impl Iterator<Item = Expr> {
        self.conditions
            .into_iter()
            .flat_map(|(_, condition)| conjuncts(condition))
    }

    /// The view under its name in the statement.
    pub fn scope(&self, alias: Name) -> ScopeItem {
        let columns = self.columns.iter();
        ScopeItem {
            source: ScopeSource::Join(
                columns
                    .map(|column| (column.name.clone(), column.value.clone()))
                    .collect(),
            ),
            ..ScopeItem::item(alias, self.target)
        }
    }

    /// The view's columns over another row of the table.
    pub fn scope_of(&self, alias: Name, item: u16) -> ScopeItem {
        let columns = self.columns.iter().map(|column| {
            let mut value = column.value.clone();
            value.rewrite(&mut |inner| match inner {
                Expr::Variable {
                    relation,
                    column,
                    ty,
                    location,
                } if *relation == self.target => Some(Expr::Variable {
                    relation: item,
                    column: *column,
                    ty: *ty,
                    location: *location,
                }),
                _ => None,
            });
            (column.name.clone(), value)
        });
        ScopeItem {
            source: ScopeSource::Join(columns.collect()),
            ..ScopeItem::item(alias, item)
        }
    }

    /// An ON CONFLICT clause in the table's names, as far as it names columns to find an index by and to set.
    pub fn conflict_behind(
        &self,
        conflict: &ast::OnConflict,
        binder: &Binder<'_>,
    ) -> SqlResult<ast::OnConflict> {
        let mut conflict = conflict.clone();
        if let Some(ast::ConflictTarget::Constraint(name)) = &conflict.target {
            let message = format!("constraint \"{name}\" for table \"{}\" does not exist", self.name);
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        }
        if let Some(ast::ConflictTarget::Index {
            elements,
            filter,
            location,
        }) = &mut conflict.target
        {
            if filter.is_some() {
                return Err(SqlError::unsupported(
                    "the condition of an index in ON CONFLICT of a view",
                ));
            }
            for element in elements {
                self.element_behind(&mut element.value, *location, binder)?;
            }
        }
        if let ast::ConflictAction::Update { assignments, .. } = &mut conflict.action {
            *assignments = self.assignments_behind("insert into", assignments, binder)?;
        }
        Ok(conflict)
    }

    fn element_behind(
        &self,
        element: &mut ast::Expr,
        location: ast::Location,
        binder: &Binder<'_>,
    ) -> SqlResult<()> {
        let ast::ExprKind::Column(reference) = &mut element.kind else {
            return Err(SqlError::unsupported("an expression in ON CONFLICT of a view"));
        };
        let Some(name) = reference.parts.last_mut() else {
            return Ok(());
        };
        let Some(found) = self.columns.iter().find(|column| column.name == *name) else {
            let message = format!("column \"{name}\" does not exist");
            return Err(binder.error(state::UNDEFINED_COLUMN, location, message));
        };
        match found.position {
            Some(position) => *name = self.relation.columns[position as usize].name.as_str().into(),
            None => return Err(SqlError::unsupported("an expression in ON CONFLICT of a view")),
        }
        Ok(())
    }

    /// An INSERT whose ON CONFLICT is in the table's names.
    pub fn insert_behind(&self, insert: &ast::Insert, binder: &Binder<'_>) -> SqlResult<ast::Insert> {
        let mut behind = insert.clone();
        if let Some(conflict) = &insert.on_conflict {
            behind.on_conflict = Some(self.conflict_behind(conflict, binder)?);
        }
        Ok(behind)
    }

    /// The table's columns that an INSERT without a list of columns gives values for; `width` of them, where that is known.
    pub fn all_columns(&self, width: Option<usize>) -> SqlResult<Vec<usize>> {
        let mut positions = Vec::with_capacity(self.columns.len());
        for column in self.columns.iter().take(width.unwrap_or(self.columns.len())) {
            match column.position {
                Some(position) => positions.push(position as usize),
                // A query may well have fewer columns than the view.
                None if width.is_none() => break,
                None => return Err(self.not_a_column("insert into", &column.name)),
            }
        }
        Ok(positions)
    }

    /// The name that a column of the view has in the table.
    pub fn column_behind(
        &self,
        verb: &str,
        column: &ast::ColumnTarget,
        binder: &Binder<'_>,
    ) -> SqlResult<Name> {
        let name = &column.name;
        let found = self.columns.iter().find(|known| known.name == *name);
        let Some(found) = found else {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
            return Err(binder.error(state::UNDEFINED_COLUMN, column.location, message));
        };
        match found.position {
            Some(position) => Ok(self.relation.columns[position as usize].name.as_str().into()),
            None => Err(self.not_a_column(verb, name)),
        }
    }

    /// A SET list in the table's names.
    pub fn assignments_behind(
        &self,
        verb: &str,
        assignments: &[Assignment],
        binder: &Binder<'_>,
    ) -> SqlResult<Vec<Assignment>> {
        let mut assignments = assignments.to_vec();
        for assignment in &mut assignments {
            let columns = match assignment {
                Assignment::Single { column, .. } => std::slice::from_mut(column),
                Assignment::Multiple { columns, .. } => columns.as_mut_slice(),
            };
            for column in columns {
                column.name = self.column_behind(verb, column, binder)?;
            }
        }
        Ok(assignments)
    }

    #[cold]
    fn not_a_column(&self, verb: &str, column: &str) -> SqlError {
        SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            format!("cannot {verb} column \"{column}\" of view \"{}\"", self.name),
        )
        .detail("View columns that are not columns of their base relation are not updatable.")
    }
}
