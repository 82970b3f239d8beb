//! FROM: relations, views, derived tables, functions, joins; LATERAL and merged columns.
//!
//! Invariant: while an item is bound, the level shows exactly the items to its left that LATERAL may reach; a join's
//! condition sees the join's own two sides and nothing else of its level.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::user::{is_composite, is_row};
use mote_types::{ColumnType, Datum};

use super::Binder;
use super::query::{FromJoin, FromTree, FunctionItem, ItemColumn, ItemKind};
use super::scope::{Clause, ScopeItem, ScopeSource};
use crate::access::{RelationLock, privilege};
use crate::builtin::function::{makes_rows_of_json, only_output};
use crate::catalog::{Relation, RelationKind};
use crate::expr::Expr;
use mote_grammar::ast;
use mote_grammar::ast::{Alias, ExprKind, FromItem, JoinCondition, Location, Name, RelationName};

type BoundItem = (FromTree, Vec<ScopeItem>);

impl Binder<'_> {
    /// Binds a FROM list into the innermost level.
    pub(super) fn from_clause(&mut self, items: &[FromItem]) -> SqlResult<Vec<FromTree>> {
        let mut trees = Vec::with_capacity(items.len());
        for item in items {
            let (tree, scope) = self.from_item(item)?;
            for new in &scope {
                if let Some(alias) = new.alias.as_deref().filter(|_| new.qualified) {
                    self.forbid_duplicate_alias(&self.levels[self.levels.len() - 1].items, alias)?;
                }
            }
            self.level().items.extend(scope);
            trees.push(tree);
        }
        Ok(trees)
    }

    fn from_item(&mut self, item: &FromItem) -> SqlResult<BoundItem> {
        let bound = self.deeper(|this| match item {
            FromItem::Relation(reference) => this.relation_item(reference),
            FromItem::Subquery {
                query,
                lateral,
                alias,
                location,
            } => this.derived_table(query, *lateral, alias.as_ref(), *location),
            FromItem::Function(function) => this.table_function(function),
            FromItem::Join(join) => this.join(join),
        })?;
        if let (true, FromTree::Item(number)) = (self.trace.is_some(), &bound.0) {
            self.trace_item(from_location(item), *number);
        }
        Ok(bound)
    }

    /// Finds a relation by name, or says that it does not exist.
    pub(super) fn find_relation(&self, name: &RelationName) -> SqlResult<Arc<Relation>> {
        if let Some(catalog) = name.catalog.as_deref()
            && catalog != self.catalog.database_name()
        {
            let schema = name.schema.as_deref().unwrap_or("public");
            let message = format!(
                "cross-database references are not implemented: \"{catalog}.{schema}.{}\"",
                name.name
            );
            return Err(self.error(state::FEATURE_NOT_SUPPORTED, name.location, message));
        }
        if let Some(relation) = self.catalog.relation_by_name(name.schema.as_deref(), &name.name) {
            return Ok(relation);
        }
        if let Some(kind) = self.catalog.rowless_by_name(name.schema.as_deref(), &name.name) {
            return Err(self.rowless(name, kind));
        }
        let message = match &name.schema {
            Some(schema) => format!("relation \"{schema}.{}\" does not exist", name.name),
            None => format!("relation \"{}\" does not exist", name.name),
        };
        Err(self.error(state::UNDEFINED_TABLE, name.location, message))
    }

    /// `"i" is an index`: it has a name among relations, and no rows.
    pub(super) fn rowless(&self, name: &RelationName, kind: &str) -> SqlError {
        let message = format!("\"{}\" is {kind}", name.name);
        self.error(state::WRONG_OBJECT_TYPE, name.location, message)
    }

    fn relation_item(&mut self, reference: &ast::RelationReference) -> SqlResult<BoundItem> {
        if reference.sample.is_some() {
            return Err(SqlError::unsupported("TABLESAMPLE"));
        }
        let name = &reference.name;
        let alias = reference.alias.as_ref();
        if name.schema.is_none()
            && let Some(number) = self
                .cte_names
                .iter()
                .rev()
                .find(|(known, _)| *known == name.name)
                .map(|c| c.1)
        {
            return self.cte_item(number, name, alias);
        }
        let relation = self.find_relation(name)?;
        if relation.kind == RelationKind::Index {
            return Err(self.rowless(name, "an index"));
        }
        self.access(&relation, RelationLock::AccessShare, privilege::SELECT);
        let shown: Name = alias.map_or_else(|| name.name.clone(), |alias| alias.name.clone());
        if relation.kind == RelationKind::View {
            return self.view(&relation, shown, alias, name.location);
        }
        let columns = self.renamed_relation_columns(&relation, alias, name.location)?;
        let lock = RelationLock::AccessShare;
        let item = self.relation_range_item(shown.clone(), &relation, columns, reference.only, lock)?;
        Ok((FromTree::Item(item), vec![ScopeItem::item(shown, item)]))
    }

    /// Column aliases over a relation: empty where there are none.
    pub(in crate::bind) fn renamed_relation_columns(
        &self,
        relation: &Relation,
        alias: Option<&Alias>,
        location: Location,
    ) -> SqlResult<Vec<ItemColumn>> {
        let Some(alias) = alias.filter(|alias| !alias.columns.is_empty()) else {
            return Ok(Vec::new());
        };
        let live = relation.columns.iter().filter(|column| !column.dropped).count();
        self.check_alias_count(alias, live, location)?;
        let mut names = alias.columns.iter();
        let rename = |(position, column): (usize, &crate::catalog::Column)| {
            let renamed = if column.dropped { None } else { names.next() };
            let name = renamed.cloned().unwrap_or_else(|| column.name.as_str().into());
            ItemColumn {
                name,
                ty: column.ty,
                origin: (relation.oid, position as i16 + 1),
            }
        };
        Ok(relation.columns.iter().enumerate().map(rename).collect())
    }

    fn check_alias_count(&self, alias: &Alias, available: usize, location: Location) -> SqlResult<()> {
        if alias.columns.len() <= available {
            return Ok(());
        }
        let message = format!(
            "table \"{}\" has {available} columns available but {} columns specified",
            alias.name,
            alias.columns.len()
        );
        Err(self.error(state::INVALID_COLUMN_REFERENCE, location, message))
    }

    /// `restrict_nonsystem_relation_kind`: pg_dump does not run what users have put into views.
    pub(super) fn check_not_restricted(&self, view: &Relation) -> SqlResult<()> {
        if !self.restricts_views || view.oid < Oid::FIRST_USER {
            return Ok(());
        }
        let message = format!("access to non-system view \"{}\" is restricted", view.name);
        Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
    }

    /// A view's query takes the place of its name; what it reads is checked against the view's owner.
    fn view(
        &mut self,
        relation: &Relation,
        shown: Name,
        alias: Option<&Alias>,
        location: Location,
    ) -> SqlResult<BoundItem> {
        self.check_not_restricted(relation)?;
        let text = relation
            .view_query
            .as_deref()
            .ok_or_else(|| SqlError::internal(format!("view \"{}\" has no query", relation.name)))?;
        let parsed = mote_grammar::parser::parse(text)?;
        let Some(ast::Statement::Query(query)) = parsed.first().map(|parsed| &parsed.statement) else {
            return Err(SqlError::internal(format!(
                "view \"{}\" does not hold a query",
                relation.name
            )));
        };
        let levels = std::mem::take(&mut self.levels);
        let cte_names = std::mem::take(&mut self.cte_names);
        let outer_text = std::mem::take(&mut self.text);
        let names = self.names.take();
        let trace = self.trace.take();
        let check_as = std::mem::replace(&mut self.check_as, relation.owner);
        let bound = self.query(query);
        self.trace = trace;
        self.names = names;
        self.check_as = check_as;
        self.text = outer_text;
        self.cte_names = cte_names;
        self.levels = levels;
        let mut bound = bound?;
        // The view's columns bear the names it was created with.
        let live = relation.columns.iter().filter(|column| !column.dropped);
        for (target, column) in bound.targets.iter_mut().zip(live) {
            target.name = column.name.as_str().into();
        }
        for (position, target) in bound.targets.iter_mut().enumerate() {
            target.origin = (relation.oid, position as i16 + 1);
        }
        let bound = self.query_item(bound, shown, alias, location)?;
        if let (FromTree::Item(item), _) = &bound {
            self.items[*item as usize].row = relation.row_value_type();
        }
        Ok(bound)
    }

    /// A bound query as a FROM item.
    pub(super) fn query_item(
        &mut self,
        bound: super::query::BoundQuery,
        shown: Name,
        alias: Option<&Alias>,
        location: Location,
    ) -> SqlResult<BoundItem> {
        if let Some(alias) = alias {
            self.check_alias_count(alias, bound.targets.len(), location)?;
        }
        let renamed = |position: usize| alias.and_then(|alias| alias.columns.get(position));
        let column = |(position, target): (usize, &super::query::BoundTarget)| ItemColumn {
            name: renamed(position).unwrap_or(&target.name).clone(),
            ty: target.expr.ty(),
            origin: target.origin,
        };
        let columns = bound.targets.iter().enumerate().map(column).collect();
        let item = self.add_item(shown.clone(), ItemKind::Subquery(Some(Box::new(bound))), columns)?;
        Ok((FromTree::Item(item), vec![ScopeItem::item(shown, item)]))
    }

    fn derived_table(
        &mut self,
        query: &ast::Query,
        lateral: bool,
        alias: Option<&Alias>,
        location: Location,
    ) -> SqlResult<BoundItem> {
        let hidden = match lateral {
            true => None,
            false => Some(std::mem::take(&mut self.level().items)),
        };
        let bound = self.query(query);
        if let Some(hidden) = hidden {
            self.level().items = hidden;
        }
        let shown = alias.map_or_else(|| "".into(), |alias| alias.name.clone());
        let (tree, mut scope) = self.query_item(bound?, shown, alias, location)?;
        if alias.is_none() {
            scope[0].alias = None;
        }
        Ok((tree, scope))
    }

    fn cte_item(&mut self, number: u16, name: &RelationName, alias: Option<&Alias>) -> SqlResult<BoundItem> {
        let cte = &mut self.ctes[number as usize];
        cte.references += 1;
        let recursive = matches!(cte.statement, super::query::BoundCteStatement::Pending);
        if recursive {
            if cte.references > 1 {
                let message = "must not appear more than once";
                return Err(self.misplaced_recursion(&name.name, name.location, message));
            }
            self.recursive_references.push((name.name.clone(), name.location));
        }
        self.reach(self.depth + self.ctes[number as usize].levels)?;
        let cte = &self.ctes[number as usize];
        let available = cte.columns.len();
        let column = |(position, (name, ty)): (usize, &(Name, ColumnType))| ItemColumn {
            name: alias
                .and_then(|alias| alias.columns.get(position))
                .unwrap_or(name)
                .clone(),
            ty: *ty,
            origin: (Oid::INVALID, 0),
        };
        let columns: Vec<_> = cte.columns.iter().enumerate().map(column).collect();
        if let Some(alias) = alias {
            self.check_alias_count(alias, available, name.location)?;
        }
        let kind = if recursive {
            ItemKind::WorkTable(number)
        } else {
            ItemKind::Cte(number, Vec::new())
        };
        let shown: Name = alias.map_or_else(|| name.name.clone(), |alias| alias.name.clone());
        let item = self.add_item(shown.clone(), kind, columns)?;
        Ok((FromTree::Item(item), vec![ScopeItem::item(shown, item)]))
    }

    fn table_function(&mut self, function: &ast::TableFunction) -> SqlResult<BoundItem> {
        let mut calls = Vec::new();
        let mut columns: Vec<ItemColumn> = Vec::new();
        let mut widths = Vec::new();
        let alias = function.alias.as_ref();
        let single = function.functions.len() == 1 && !function.rows_from;
        for part in &function.functions {
            let definitions = match function.column_definitions.is_empty() {
                true => &part.column_definitions,
                false => &function.column_definitions,
            };
            for call in spread_unnest(&part.call) {
                let mut bound = self.in_clause(Clause::FunctionInFrom, |this| this.settled(&call))?;
                let name = function_column_name(&call);
                let output = output_name(&bound);
                let name = output.clone().unwrap_or(name);
                let new = self.function_columns(&bound, &name, definitions, call.location)?;
                if !definitions.is_empty() {
                    self.describe_record(&mut bound, &new)?;
                }
                // A single scalar function's column takes the alias's name, unless its result has one.
                let rename = single && new.len() == 1 && !is_row(bound.ty().oid) && output.is_none();
                widths.push(new.iter().map(|column| column.ty).collect::<Vec<_>>());
                columns.extend(new.into_iter().map(|mut column| {
                    if let Some(alias) = alias.filter(|_| rename) {
                        column.name = alias.name.clone();
                    }
                    column
                }));
                calls.push(bound);
            }
        }
        if function.ordinality {
            let name = "ordinality".into();
            columns.push(ItemColumn {
                name,
                ty: ColumnType::INT8,
                origin: (Oid::INVALID, 0),
            });
        }
        if let Some(alias) = alias {
            self.check_alias_count(alias, columns.len(), function.location)?;
            for (column, name) in columns.iter_mut().zip(&alias.columns) {
                column.name = name.clone();
            }
        }
        let first = function
            .functions
            .first()
            .map(|part| function_column_name(&part.call));
        let shown: Name = alias
            .map(|alias| alias.name.clone())
            .or(first)
            .unwrap_or_else(|| "".into());
        let kind = FunctionItem {
            calls,
            columns: widths,
            ordinality: function.ordinality,
        };
        let row = match kind.calls.as_slice() {
            [only] if !kind.ordinality && is_row(only.ty().oid) => only.ty(),
            _ => ColumnType::RECORD,
        };
        let item = self.add_item(shown.clone(), ItemKind::Function(Box::new(kind)), columns)?;
        self.items[item as usize].row = row;
        Ok((FromTree::Item(item), vec![ScopeItem::item(shown, item)]))
    }

    /// The columns that one function call in FROM yields.
    fn function_columns(
        &mut self,
        call: &Expr,
        name: &Name,
        definitions: &[ast::ColumnDefinition],
        location: Location,
    ) -> SqlResult<Vec<ItemColumn>> {
        let column = |name: &str, ty| ItemColumn {
            name: name.into(),
            ty,
            origin: (Oid::INVALID, 0),
        };
        if !is_row(call.ty().oid) {
            if !definitions.is_empty() {
                let message = "a column definition list is only allowed for functions returning \"record\"";
                return Err(self.error(state::SYNTAX_ERROR, location, message));
            }
            return Ok(vec![column(name, call.ty())]);
        }
        if !definitions.is_empty() && is_composite(call.ty().oid) {
            let message =
                "a column definition list is redundant for a function returning a named composite type";
            return Err(self.error(state::SYNTAX_ERROR, location, message));
        }
        if !definitions.is_empty() {
            let mut columns = Vec::with_capacity(definitions.len());
            for definition in definitions {
                let ty = match &definition.type_name {
                    Some(name) => self.type_name(name)?,
                    None => return Err(SqlError::internal("a column definition has a type")),
                };
                if columns
                    .iter()
                    .any(|known: &ItemColumn| known.name == definition.name)
                {
                    let message = format!("column name \"{}\" specified more than once", definition.name);
                    return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
                }
                columns.push(column(&definition.name, ty));
            }
            return Ok(columns);
        }
        match self.record_columns(call) {
            Some(columns) => Ok(columns.into_iter().map(|(name, ty)| column(&name, ty)).collect()),
            None => Err(self.error(
                state::SYNTAX_ERROR,
                location,
                "a column definition list is required for functions returning \"record\"",
            )),
        }
    }

    /// Tells a function what the column definition list of the query says of its record.
    fn describe_record(&self, call: &mut Expr, columns: &[ItemColumn]) -> SqlResult<()> {
        match call {
            Expr::Routine(call) => {
                let column = |column: &ItemColumn| (column.name.to_string(), column.ty);
                call.columns = Some(columns.iter().map(column).collect());
            }
            // As a row of NULLs behind the arguments.
            Expr::Call {
                function, arguments, ..
            } if makes_rows_of_json(function.signature().body) => {
                for column in columns {
                    self.refuse_domains_within(column.ty.element().unwrap_or(column.ty).oid)?;
                }
                let null = |column: &ItemColumn| Expr::Constant(Datum::Null, column.ty);
                arguments.push(Expr::Row {
                    fields: columns.iter().map(null).collect(),
                    names: columns.iter().map(|column| column.name.clone()).collect(),
                    ty: ColumnType::RECORD,
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn join(&mut self, join: &ast::Join) -> SqlResult<BoundItem> {
        let nullable_left = matches!(join.kind, ast::JoinKind::Right | ast::JoinKind::Full);
        let nullable_right = matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Full);
        let place = "within an outer join";
        let (left, left_scope) = match nullable_left {
            true => self.without_recursion(place, |this| this.from_item(&join.left))?,
            false => self.from_item(&join.left)?,
        };
        // The left side is in reach of LATERAL on the right, except below RIGHT and FULL joins.
        let forbidden = matches!(join.kind, ast::JoinKind::Right | ast::JoinKind::Full);
        let before = self.level().items.len();
        let marked = left_scope.into_iter().map(|item| ScopeItem {
            lateral_forbidden: forbidden,
            ..item
        });
        self.level().items.extend(marked);
        let right = match nullable_right {
            true => self.without_recursion(place, |this| this.from_item(&join.right)),
            false => self.from_item(&join.right),
        };
        let mut left_scope = self.level().items.split_off(before);
        let (right, right_scope) = right?;
        left_scope
            .iter_mut()
            .for_each(|item| item.lateral_forbidden = false);
        for item in &right_scope {
            if let Some(alias) = item.alias.as_deref().filter(|_| item.qualified) {
                self.forbid_duplicate_alias(&left_scope, alias)?;
            }
        }
        let kind = match join.kind {
            ast::JoinKind::Inner => FromJoin::Inner,
            ast::JoinKind::Left => FromJoin::Left,
            ast::JoinKind::Right => FromJoin::Right,
            ast::JoinKind::Full => FromJoin::Full,
        };
        let tree = |condition| FromTree::Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            condition,
        };
        match &join.condition {
            JoinCondition::None => self.finish_join(tree(Vec::new()), left_scope, right_scope, None, join),
            JoinCondition::On(expr) => {
                let split = left_scope.len();
                let both: Vec<_> = left_scope.into_iter().chain(right_scope).collect();
                let outer = std::mem::replace(&mut self.level().items, both);
                let condition = self.in_clause(Clause::JoinOn, |this| this.condition(expr, "JOIN/ON"));
                let mut left_scope = std::mem::replace(&mut self.level().items, outer);
                let right_scope = left_scope.split_off(split);
                let condition = super::select::conjuncts(condition?);
                self.finish_join(tree(condition), left_scope, right_scope, None, join)
            }
            JoinCondition::Using { columns, alias } => {
                let merged = self.merge_columns(columns, &left_scope, &right_scope, kind, join)?;
                let (condition, merged) = merged;
                let using_alias = alias.as_ref().map(|alias| (alias.name.clone(), merged.clone()));
                let (tree, mut scope) =
                    self.finish_join(tree(condition), left_scope, right_scope, Some(merged), join)?;
                // An alias of the whole join hides it like the tables inside.
                if let Some((name, merged)) = using_alias.filter(|_| join.alias.is_none()) {
                    self.forbid_duplicate_alias(&scope, &name)?;
                    scope.push(ScopeItem {
                        alias: Some(name),
                        source: ScopeSource::Join(merged),
                        qualified: true,
                        unqualified: false,
                        lateral_only: false,
                        lateral_forbidden: false,
                    });
                }
                Ok((tree, scope))
            }
            JoinCondition::Natural => {
                let names = |scope: &[ScopeItem], this: &Self| {
                    let mut columns = Vec::new();
                    for item in scope.iter().filter(|item| item.unqualified) {
                        this.push_columns(item, Location::NONE, &mut columns);
                    }
                    columns.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
                };
                let right_names: HashSet<Name> = names(&right_scope, self).into_iter().collect();
                let common = names(&left_scope, self)
                    .into_iter()
                    .filter(|name| right_names.contains(name));
                let common: Vec<Name> = common.collect();
                self.trace_natural(from_location(&join.right), &common);
                let (condition, merged) =
                    self.merge_columns(&common, &left_scope, &right_scope, kind, join)?;
                self.finish_join(tree(condition), left_scope, right_scope, Some(merged), join)
            }
        }
    }

    /// The condition and the merged columns of USING and NATURAL.
    fn merge_columns(
        &mut self,
        names: &[Name],
        left: &[ScopeItem],
        right: &[ScopeItem],
        kind: FromJoin,
        join: &ast::Join,
    ) -> SqlResult<(Vec<Expr>, Vec<(Name, Expr)>)> {
        let mut condition = Vec::with_capacity(names.len());
        let mut merged = Vec::with_capacity(names.len());
        let mut met = HashSet::with_capacity(names.len());
        let left = self.join_side("left", left);
        let right = self.join_side("right", right);
        for name in names {
            if !met.insert(name) {
                let message = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
            }
            let (a, b) = (left.column(name)?, right.column(name)?);
            let place = from_location(&join.left);
            let test = self.operator("=", Some((a.clone(), place)), (b.clone(), place), place)?;
            let test = self.coerce_boolean(test, "JOIN/USING", place)?;
            condition.push(test);
            let expr = match kind {
                FromJoin::Right => b,
                FromJoin::Full => {
                    let (arguments, ty) = self.unify(vec![(a, place), (b, place)], "JOIN/USING")?;
                    Expr::Coalesce { arguments, ty }
                }
                _ => a,
            };
            merged.push((name.clone(), expr));
        }
        Ok((condition, merged))
    }

    fn join_side(&self, side: &'static str, scope: &[ScopeItem]) -> JoinSide {
        let mut columns = Vec::new();
        for item in scope.iter().filter(|item| item.unqualified) {
            self.push_columns(item, Location::NONE, &mut columns);
        }
        let mut by_name = HashMap::with_capacity(columns.len());
        for (name, expr) in columns {
            let known = by_name.entry(name);
            known.and_modify(|found| *found = None).or_insert(Some(expr));
        }
        JoinSide { side, by_name }
    }

    /// From here on, above the join, the rows of its nullable sides may be missing.
    fn note_nullable(&mut self, join: &FromTree) {
        let FromTree::Join {
            kind, left, right, ..
        } = join
        else {
            return;
        };
        let nullable = &mut self.nullable_items;
        if matches!(kind, FromJoin::Right | FromJoin::Full) {
            left.for_each_item(&mut |item| nullable.push(item));
        }
        if matches!(kind, FromJoin::Left | FromJoin::Full) {
            right.for_each_item(&mut |item| nullable.push(item));
        }
    }

    /// The scope a join leaves behind.
    fn finish_join(
        &mut self,
        tree: FromTree,
        left: Vec<ScopeItem>,
        right: Vec<ScopeItem>,
        merged: Option<Vec<(Name, Expr)>>,
        join: &ast::Join,
    ) -> SqlResult<BoundItem> {
        self.note_nullable(&tree);
        let mut scope: Vec<ScopeItem> = left.into_iter().chain(right).collect();
        if merged.is_none() && join.alias.is_none() {
            return Ok((tree, scope));
        }
        let mut columns = merged.unwrap_or_default();
        let is_merged: HashSet<Name> = columns.iter().map(|(name, _)| name.clone()).collect();
        let mut all = Vec::new();
        for item in scope.iter().filter(|item| item.unqualified) {
            self.push_columns(item, Location::NONE, &mut all);
        }
        columns.extend(all.into_iter().filter(|(name, _)| !is_merged.contains(name)));
        if let Some(alias) = &join.alias {
            self.check_alias_count(alias, columns.len(), Location::NONE)?;
            for (column, name) in columns.iter_mut().zip(&alias.columns) {
                column.0 = name.clone();
            }
            // An alias of a join hides the tables inside it.
            scope.clear();
        }
        scope.iter_mut().for_each(|item| item.unqualified = false);
        scope.push(ScopeItem {
            alias: join.alias.as_ref().map(|alias| alias.name.clone()),
            source: ScopeSource::Join(columns),
            qualified: join.alias.is_some(),
            unqualified: true,
            lateral_only: false,
            lateral_forbidden: false,
        });
        Ok((tree, scope))
    }
}

/// The columns that one side of a join offers to USING.
struct JoinSide {
    side: &'static str,
    /// None: several have this name.
    by_name: HashMap<Name, Option<Expr>>,
}

impl JoinSide {
    fn column(&self, name: &str) -> SqlResult<Expr> {
        let side = self.side;
        match self.by_name.get(name) {
            Some(Some(expr)) => Ok(expr.clone()),
            Some(None) => Err(SqlError::new(
                state::AMBIGUOUS_COLUMN,
                format!("common column name \"{name}\" appears more than once in {side} table"),
            )),
            None => Err(SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
            )),
        }
    }
}

/// `unnest(a, b)` means `ROWS FROM (unnest(a), unnest(b))`.
fn spread_unnest(call: &ast::Expr) -> Vec<ast::Expr> {
    if let ExprKind::Function(function) = &call.kind
        && function.name.last() == "unnest"
        && function.arguments.len() > 1
    {
        let one = |argument: &ast::Argument| {
            let single = ast::FunctionCall {
                arguments: vec![argument.clone()],
                ..(**function).clone()
            };
            ast::Expr {
                kind: ExprKind::Function(Box::new(single)),
                location: call.location,
            }
        };
        return function.arguments.iter().map(one).collect();
    }
    vec![call.clone()]
}

/// The name of a function's one OUT parameter.
fn output_name(call: &Expr) -> Option<Name> {
    match call {
        Expr::Routine(call) => {
            let mut outputs = call.routine.outputs();
            let only = outputs.next().filter(|only| !only.name.is_empty())?;
            outputs.next().is_none().then(|| only.name.as_str().into())
        }
        Expr::Call { function, .. } => only_output(function.signature().body).map(Name::from),
        _ => None,
    }
}

fn function_column_name(call: &ast::Expr) -> Name {
    super::select::implied_name(call).unwrap_or_else(|| "?column?".into())
}

/// Where an item of FROM begins.
pub fn from_location(item: &FromItem) -> Location {
    match item {
        FromItem::Relation(reference) => reference.name.location,
        FromItem::Subquery { location, .. } => *location,
        FromItem::Function(function) => function.location,
        FromItem::Join(join) => from_location(&join.left),
    }
}
