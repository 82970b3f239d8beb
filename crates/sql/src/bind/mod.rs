//! From names to meaning: statement trees become typed expressions over numbered FROM items.
//!
//! Read in this order:
//!  1. `query`: the bound form, what comes out.
//!  2. this file: the binder's state, and the statement's entry.
//!  3. `scope`: which names are visible where.
//!  4. `coerce` with `modifier` and `user_cast`, `resolve`: conversions; the choice of operators and functions, by PostgreSQL's rules.
//!  5. `expression`, `call`, `aggregate`, `compare`, `subquery`: one expression form after the other.
//!  6. `from`, `select`, `group`, `window`, `set_operation`, `with`: the clauses of a query.
//!  7. `modify`, `conflict`, `updatable_view`, `merge`: INSERT, UPDATE, DELETE, MERGE.
//!  8. `parameter_names`, `routine`: names from around the statement; calls of users' functions.
//!  9. `relation_expression`, `domain`, `trigger`, `type_name`: defaults, checks, index expressions and WHEN; types by name.
//! 10. `array`, `record`, `subscript`, `polymorphic`: values made of others, and types that follow from arguments.
//! 11. `trace`: what became of each node of the tree, for who writes the query out again.
//!
//! Source: PostgreSQL's parser after its grammar (analyze.c, parse_clause.c, parse_expr.c, parse_coerce.c, parse_func.c, parse_oper.c).
//! Other than there views are bound where they are named, not by rules (rewriteHandler.c).
//!
//! Promises: no row is read, no expression evaluated, except that literals take their type here. Errors carry
//! PostgreSQL's SQLSTATE, wording and position. Leaves out: how to run it (`mote-planner`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::user::{is_composite, is_domain};
use mote_types::{ColumnType, oid};

use crate::access::{Dependency, RelationAccess, RelationLock};
use crate::catalog::inheritance::Expansion;
use crate::catalog::{CatalogView, Relation, RowCount};
use crate::expr::ConstantFolder;
use crate::expr::Expr;
use crate::routine::Routine;
use mote_grammar::ast;
use mote_grammar::ast::{Location, Name};

pub mod query;
mod record;

mod aggregate;
mod array;
mod call;
mod checks;
mod coerce;
mod compare;
mod conflict;
mod domain;
mod expression;
mod from;
mod group;
mod locking;
mod merge;
mod modifier;
mod modify;
mod parameter_names;
mod polymorphic;
mod pseudo_type;
mod relation_expression;
mod resolve;
mod routine;
mod scope;
mod select;
mod set_operation;
mod subquery;
mod subscript;
mod trace;
mod trigger;
mod type_name;
mod updatable_view;
mod view_origins;
pub mod user_cast;
mod window;
mod with;

pub use checks::bind_checks;
pub use coerce::literal_value;
pub use domain::{bind_domain_condition, column_default};
pub use from::from_location;
pub use parameter_names::{ParameterNames, ParameterReference};
pub use relation_expression::{
    RelationExpression, assignment_cast, bind_default, bind_expression_over_relation, bind_free_expression,
    bind_free_text, bind_partition_value, bind_written_expression, check_execute_argument,
};
pub use routine::{BoundCall, CallParameters, bind_call, row_columns};
pub use trace::{Trace, trace_query};
pub use trigger::{
    TriggerCondition, bind_insert_triggers, bind_routed_triggers, bind_stored_trigger_condition,
    bind_trigger_condition, bind_truncate_triggers, trigger_condition_columns,
};
pub use type_name::{
    array_element, named_type, parse_type_name, resolve_declared_type, resolve_type_name, type_of_text,
};
pub use updatable_view::updatable_columns;
pub use view_origins::view_origins;

use query::{Bound, BoundCte, BoundQuery, BoundStatement, ItemColumn, ItemKind, RangeItem};
use scope::Level;
pub use select::{conjuncts, items_of};
pub use select::{implied_name, is_ordered};

/// What shapes a plan besides the statement, its parameter types and the catalog.
#[derive(Clone, Copy, Default)]
pub struct PlanSettings<'a> {
    /// The text the statement was parsed from: positions in errors count characters of it.
    pub text: &'a str,
    /// Computes immutable calls over constants; without it nothing is folded.
    pub folder: Option<&'a dyn ConstantFolder>,
    /// Names that a function brings along; they are the parameters then.
    pub names: Option<&'a dyn ParameterNames>,
    /// There are no parameters but those whose types are given.
    pub parameters_known: bool,
    /// Views of users may not be read: `restrict_nonsystem_relation_kind`.
    pub restricts_views: bool,
}

/// Query levels, views and expressions may nest this deep together before 54001.
const DEPTH_MAX: u32 = 1200;
/// What an expression or a query costs to bind, in units of `work`.
const NODE_UNITS: usize = 512;

/// Binds a query or a modifying statement.
pub fn bind_statement(
    statement: &ast::Statement,
    parameter_types: &[Oid],
    catalog: &dyn CatalogView,
    settings: &PlanSettings<'_>,
) -> SqlResult<Bound> {
    let mut binder = Binder::new(catalog, settings.text, parameter_types);
    binder.folder = settings.folder;
    binder.restricts_views = settings.restricts_views;
    binder.parameters_open = !settings.parameters_known;
    if let Some(names) = settings.names {
        binder = binder.with_names(names);
    }
    binder.bind(statement)
}

/// The state of binding one statement.
pub(crate) struct Binder<'a> {
    pub catalog: &'a dyn CatalogView,
    /// The statement's text, for positions of errors. Empty inside views.
    text: &'a str,
    /// Types of $1..; `UNKNOWN` until a context decides.
    parameters: Vec<ColumnType>,
    /// Parameters that got their type by a cast to a domain, which clients are told in its place.
    parameter_domains: Vec<(u16, Oid)>,
    /// Parameters that were declared may not be added to.
    parameters_open: bool,
    /// Names from around the statement.
    names: Option<&'a dyn ParameterNames>,
    items: Vec<RangeItem>,
    /// For each item how many levels were in sight when it was added: the last of them is the one it belongs to.
    item_levels: Vec<usize>,
    subqueries: Vec<Option<BoundQuery>>,
    ctes: Vec<BoundCte>,
    /// WITH names in sight, innermost last.
    cte_names: Vec<(Name, u16)>,
    /// References to recursive queries from inside of them, in the order they were met.
    recursive_references: Vec<(Name, Location)>,
    /// Items on a side of an outer join that it may extend with nulls: their whole row may be NULL.
    nullable_items: Vec<u16>,
    /// Query levels in sight, innermost last.
    levels: Vec<Level>,
    dependencies: Vec<Dependency>,
    accesses: Vec<RelationAccess>,
    /// Functions of users that are called.
    routines: Vec<Arc<Routine>>,
    /// Whose privileges count where we are: a view's owner inside the view.
    check_as: Oid,
    /// For what is matched with expressions of the catalog, which are folded.
    folder: Option<&'a dyn ConstantFolder>,
    restricts_views: bool,
    depth: u32,
    /// The deepest place since a WITH query was begun (`with`).
    deepest: u32,
    /// Pays for each expression and query, of which a text of megabytes has as many.
    work: Meter,
    /// Kept where somebody wants to know what became of the tree's nodes.
    trace: Option<Box<Trace>>,
}

/// What the values of a domain are.
fn domain_base(catalog: &dyn CatalogView, ty: Oid) -> Option<ColumnType> {
    if !is_domain(ty) {
        return None;
    }
    let known = catalog.user_type(ty)?;
    Some(ColumnType::new(known.domain.as_ref()?.base.oid))
}

impl<'a> Binder<'a> {
    pub fn new(catalog: &'a dyn CatalogView, text: &'a str, parameter_types: &[Oid]) -> Binder<'a> {
        let mut parameter_domains = Vec::new();
        let known = |(index, oid): (usize, &Oid)| match domain_base(catalog, *oid) {
            _ if *oid == Oid::INVALID => ColumnType::UNKNOWN,
            Some(base) => {
                parameter_domains.push((index as u16, *oid));
                base
            }
            None => ColumnType::new(*oid),
        };
        let parameters = parameter_types.iter().enumerate().map(known).collect();
        Binder {
            catalog,
            text,
            parameters,
            parameter_domains,
            parameters_open: true,
            names: None,
            items: Vec::with_capacity(4),
            item_levels: Vec::with_capacity(4),
            subqueries: Vec::new(),
            ctes: Vec::new(),
            cte_names: Vec::new(),
            recursive_references: Vec::new(),
            nullable_items: Vec::new(),
            levels: Vec::with_capacity(2),
            dependencies: Vec::new(),
            accesses: Vec::new(),
            routines: Vec::new(),
            check_as: Oid::INVALID,
            folder: None,
            restricts_views: false,
            depth: 0,
            deepest: 0,
            work: Meter::default(),
            trace: None,
        }
    }

    /// The names around the statement are its parameters, and there are no others.
    fn with_names(mut self, names: &'a dyn ParameterNames) -> Binder<'a> {
        self.parameters = names.types().to_vec();
        self.parameters_open = false;
        self.names = Some(names);
        self
    }

    /// Binds a query or a modifying statement.
    pub fn bind(mut self, statement: &ast::Statement) -> SqlResult<Bound> {
        let statement = match statement {
            ast::Statement::Query(query) => BoundStatement::Query(self.query(query)?),
            other => BoundStatement::Modify(Box::new(self.modifying_statement(other)?)),
        };
        if let Some(index) = self.parameters.iter().position(|ty| ty.oid == oid::UNKNOWN) {
            return Err(undetermined_parameter(index));
        }
        Ok(Bound {
            statement,
            items: self.items,
            subqueries: self.subqueries,
            ctes: self.ctes,
            parameters: self.parameters,
            parameter_domains: self.parameter_domains,
            dependencies: self.dependencies,
            accesses: self.accesses,
            routines: self.routines,
        })
    }

    /// INSERT, UPDATE, DELETE, also inside WITH; MERGE.
    fn modifying_statement(&mut self, statement: &ast::Statement) -> SqlResult<query::BoundModify> {
        match statement {
            ast::Statement::Insert(insert) => self.insert(insert),
            ast::Statement::Update(update) => self.update(update),
            ast::Statement::Delete(delete) => self.delete(delete),
            ast::Statement::Merge(merge) => self.merge(merge),
            _ => Err(SqlError::internal(
                "only queries and modifying statements are bound",
            )),
        }
    }

    /// Counts nesting; every recursion of the binder passes through here.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        self.depth += 1;
        self.reach(self.depth)?;
        self.work.keep(NODE_UNITS, size_of::<Expr>())?;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Notes how deep the statement is at its deepest place.
    fn reach(&mut self, depth: u32) -> SqlResult<()> {
        if depth > DEPTH_MAX {
            return Err(SqlError::new(
                state::STATEMENT_TOO_COMPLEX,
                "stack depth limit exceeded",
            ));
        }
        self.deepest = self.deepest.max(depth);
        Ok(())
    }

    fn position(&self, location: Location) -> u32 {
        match self.text {
            // Inside of a view or a stored expression: no place in the statement.
            "" => 0,
            text => location.position(text),
        }
    }

    /// An error at a place of the text.
    fn error(
        &self,
        state: mote_common::SqlState,
        location: Location,
        message: impl Into<String>,
    ) -> SqlError {
        SqlError::new(state, message).at(self.position(location))
    }

    fn add_item(&mut self, alias: Name, kind: ItemKind, columns: Vec<ItemColumn>) -> SqlResult<u16> {
        let number = u16::try_from(self.items.len())
            .ok()
            .filter(|number| *number < 0xFFF0);
        let number = number
            .ok_or_else(|| SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many range table entries"))?;
        self.items.push(RangeItem {
            alias,
            kind,
            columns,
            expansion: None,
            row: ColumnType::RECORD,
        });
        self.item_levels.push(self.levels.len());
        Ok(number)
    }

    /// An item for a table, and for all tables below it unless the statement says ONLY.
    fn relation_range_item(
        &mut self,
        alias: Name,
        relation: &Arc<Relation>,
        columns: Vec<ItemColumn>,
        only: bool,
        lock: RelationLock,
    ) -> SqlResult<u16> {
        if only || relation.children.is_empty() {
            self.catalog.note_rows(relation);
            return self.add_item(alias, ItemKind::Relation(Arc::clone(relation)), columns);
        }
        let catalog = self.catalog;
        // Privileges are asked of the parent alone.
        let expansion = Expansion::of(relation, catalog, &mut |table| self.access(table, lock, 0))?;
        // What the parent's item is guessed to hold is what all of them hold.
        let mut seen = Relation::clone(relation);
        seen.statistics = relation.inherited_statistics.clone();
        let members = expansion.members.iter();
        seen.rows = RowCount::new(
            members
                .map(|member| {
                    catalog.note_rows(&member.relation);
                    member.relation.rows.get()
                })
                .sum(),
        );
        let item = self.add_item(alias, ItemKind::Relation(Arc::new(seen)), columns)?;
        self.items[item as usize].expansion = Some(Arc::new(expansion));
        Ok(item)
    }

    /// An item for rows that a query level computes.
    fn computed_item(&mut self) -> SqlResult<u16> {
        self.add_item("".into(), ItemKind::Computed, Vec::new())
    }

    /// What is bound was kept by the catalog, and what it names may have changed since.
    fn is_inside_view(&self) -> bool {
        self.check_as != Oid::INVALID
    }

    /// Notes the dependency on a relation, its lock and the privileges to check.
    fn access(&mut self, relation: &Relation, lock: RelationLock, privileges: u32) {
        if !self.dependencies.iter().any(|known| known.object == relation.oid) {
            self.dependencies.push(Dependency {
                object: relation.oid,
                version: relation.version,
            });
            // A row within a row may have got other attributes.
            for column in relation.columns.iter().filter(|column| !column.dropped) {
                if is_composite(column.ty.element().unwrap_or(column.ty).oid) {
                    self.depend_on_type(column.ty);
                }
            }
        }
        let check_as = self.check_as;
        let known = self.accesses.iter_mut();
        match known
            .into_iter()
            .find(|known| known.relation == relation.oid && known.check_as == check_as)
        {
            Some(known) => {
                known.lock = known.lock.max(lock);
                known.privileges |= privileges;
            }
            None => self.accesses.push(RelationAccess {
                relation: relation.oid,
                lock,
                privileges,
                check_as,
            }),
        }
    }

    /// Number of columns of an item, dropped ones included.
    fn column_count(&self, item: u16) -> usize {
        let item = &self.items[item as usize];
        match &item.kind {
            ItemKind::Relation(relation) => relation.columns.len(),
            _ => item.columns.len(),
        }
    }

    /// Name and type of a column; `None` for a dropped one.
    fn column(&self, item: u16, position: usize) -> Option<(&str, ColumnType)> {
        let item = &self.items[item as usize];
        if let ItemKind::Relation(relation) = &item.kind {
            let column = &relation.columns[position];
            if column.dropped {
                return None;
            }
            let renamed = item.columns.get(position).map(|column| &*column.name);
            return Some((renamed.unwrap_or(&column.name), column.ty));
        }
        item.columns
            .get(position)
            .map(|column| (&*column.name, column.ty))
    }

    fn variable(&self, item: u16, position: usize, location: Location) -> Expr {
        let ty = self
            .column(item, position)
            .map_or(ColumnType::UNKNOWN, |column| column.1);
        Expr::Variable {
            relation: item,
            column: position as u16,
            ty,
            location: location.0,
        }
    }

    /// Base table and attribute number behind an output expression.
    fn origin(&self, expr: &Expr) -> (Oid, i16) {
        let Expr::Variable { relation, column, .. } = expr else {
            return (Oid::INVALID, 0);
        };
        if *column >= query::FIRST_SYSTEM_COLUMN {
            return (Oid::INVALID, 0);
        }
        let item = &self.items[*relation as usize];
        match &item.kind {
            ItemKind::Relation(relation) => (relation.oid, *column as i16 + 1),
            _ => item
                .columns
                .get(*column as usize)
                .map_or((Oid::INVALID, 0), |column| column.origin),
        }
    }
}

pub fn undetermined_parameter(index: usize) -> SqlError {
    SqlError::new(
        state::INDETERMINATE_DATATYPE,
        format!("could not determine data type of parameter ${}", index + 1),
    )
}

/// A type's name in messages, which never show a modifier.
pub fn type_label(oid: Oid) -> String {
    // A modifier of -1 would print `bpchar` for `character`; PostgreSQL's messages do not.
    mote_types::format_type(oid, -2)
}
