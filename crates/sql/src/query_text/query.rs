//! Queries: which names their columns show, FROM, the clauses above.

use mote_common::Oid;
use mote_grammar::ast::*;
use mote_types::ColumnType;

use super::Writer;
use super::constant::{cast, node};
use crate::bind::query::ItemKind;
use crate::bind::{from_location, implied_name};
use crate::expr::Expr as Bound;

/// What is known of a query's columns from outside.
#[derive(Clone, Copy)]
pub(super) struct Shown<'s> {
    /// Those of the view, wherever in a set operation they are made.
    pub names: Option<&'s [Name]>,
    /// What literals become.
    pub types: Option<&'s [ColumnType]>,
    /// Whoever reads the query can name its columns.
    pub always_named: bool,
}

pub(super) const INNER: Shown<'static> = Shown {
    names: None,
    types: None,
    always_named: true,
};

pub(super) const IN_EXPRESSION: Shown<'static> = Shown {
    always_named: false,
    ..INNER
};

/// The name of an output column that nothing names.
const NAMELESS: &str = "?column?";

impl Writer<'_> {
    pub fn query(&mut self, query: &Query, shown: &Shown<'_>) -> Option<Query> {
        let items = match &query.body {
            QueryBody::Select(select) => self.items(&select.from)?,
            _ => Vec::new(),
        };
        self.names.enter(&items);
        let known = self.names.ctes.len();
        let result = self.inside(query, shown);
        self.names.ctes.truncate(known);
        self.names.leave();
        result
    }

    fn inside(&mut self, query: &Query, shown: &Shown<'_>) -> Option<Query> {
        let with = match &query.with {
            Some(with) => Some(self.with(with)?),
            None => None,
        };
        let (body, order_by) = match &query.body {
            QueryBody::Select(select) => self.select(select, &query.order_by, shown)?,
            QueryBody::Values(rows) => {
                let rows = rows.iter().map(|row| self.row_of_values(row, shown.types));
                let body = QueryBody::Values(rows.collect::<Option<_>>()?);
                // Its columns are not to be named in the text.
                (query.order_by.is_empty() || self.only_positions(&query.order_by)).then_some(())?;
                (body, query.order_by.clone())
            }
            QueryBody::SetOperation { first, rest } => {
                let body = self.set_operation(first, rest, shown)?;
                (body, self.positions(&query.order_by, first, shown)?)
            }
        };
        let limit = match &query.limit {
            Some(limit) => Some(Limit {
                count: match limit.count.kind {
                    ExprKind::Constant(Constant::Null) => limit.count.clone(),
                    _ => self.expr(&limit.count)?,
                },
                with_ties: limit.with_ties,
            }),
            None => None,
        };
        let offset = match &query.offset {
            Some(offset) => Some(self.expr(offset)?),
            None => None,
        };
        Some(Query {
            with,
            body,
            order_by,
            limit,
            offset,
            locking: self.locking(query)?,
            location: query.location,
        })
    }

    fn with(&mut self, with: &With) -> Option<With> {
        let mut tables = Vec::with_capacity(with.tables.len());
        if with.recursive {
            self.names
                .ctes
                .extend(with.tables.iter().map(|table| table.name.clone()));
        }
        for table in &with.tables {
            let Statement::Query(inner) = &table.statement else {
                return None;
            };
            let inner = self.query(inner, &INNER)?;
            tables.push(CommonTable {
                statement: Statement::Query(Box::new(inner)),
                ..table.clone()
            });
            self.names.ctes.push(table.name.clone());
        }
        Some(With {
            tables,
            ..with.clone()
        })
    }

    /// Only the first arm of a set operation names the columns for who stands outside.
    fn set_operation(&mut self, first: &Query, rest: &[SetArm], shown: &Shown<'_>) -> Option<QueryBody> {
        let later = Shown {
            always_named: false,
            ..*shown
        };
        let first = Box::new(self.query(first, shown)?);
        let arm = |arm: &SetArm| {
            Some(SetArm {
                query: self.query(&arm.query, &later)?,
                ..arm.clone()
            })
        };
        let rest = rest.iter().map(arm).collect::<Option<Vec<_>>>()?;
        Some(QueryBody::SetOperation { first, rest })
    }

    fn only_positions(&self, sorts: &[SortBy]) -> bool {
        let is_position = |sort: &SortBy| matches!(sort.value.kind, ExprKind::Constant(Constant::Integer(_)));
        sorts.iter().all(is_position)
    }

    /// ORDER BY above a set operation: columns by their positions.
    fn positions(&self, sorts: &[SortBy], first: &Query, shown: &Shown<'_>) -> Option<Vec<SortBy>> {
        let names = match (sorts.is_empty() || self.only_positions(sorts), shown.names) {
            (true, _) => Vec::new(),
            (false, Some(names)) => names.to_vec(),
            (false, None) => output_names(leftmost(first)?, self)?,
        };
        let position = |sort: &SortBy| {
            let place = match &sort.value.kind {
                ExprKind::Constant(Constant::Integer(place)) => *place,
                ExprKind::Column(column) => {
                    let [name] = column.parts.as_slice() else {
                        return None;
                    };
                    // By the names of the query, which are the view's unless those were given apart.
                    let written = output_names(leftmost(first)?, self)?;
                    let found = written.iter().position(|known| known == name);
                    found.or_else(|| names.iter().position(|known| known == name))? as i32 + 1
                }
                _ => return None,
            };
            Some(SortBy {
                value: node(ExprKind::Constant(Constant::Integer(place))),
                ..sort.clone()
            })
        };
        sorts.iter().map(position).collect()
    }

    fn row_of_values(&mut self, row: &[Expr], types: Option<&[ColumnType]>) -> Option<Vec<Expr>> {
        let value = |(position, expr): (usize, &Expr)| {
            let ty = types.and_then(|types| types.get(position)).copied();
            self.output(expr, ty)
        };
        row.iter().enumerate().map(value).collect()
    }

    fn select(
        &mut self,
        select: &Select,
        order_by: &[SortBy],
        shown: &Shown<'_>,
    ) -> Option<(QueryBody, Vec<SortBy>)> {
        let outputs = self.outputs(select, shown)?;
        let mut from = Vec::with_capacity(select.from.len());
        for item in &select.from {
            from.push(self.from_item(item)?);
        }
        let mut sorted = Vec::with_capacity(order_by.len());
        for sort in order_by {
            sorted.push(SortBy {
                value: self.sort_value(&sort.value, &outputs, true)?,
                ..sort.clone()
            });
        }
        let distinct = match &select.distinct {
            Some(Distinct::On(exprs)) => {
                let exprs = exprs.iter().map(|expr| self.sort_value(expr, &outputs, true));
                Some(Distinct::On(exprs.collect::<Option<_>>()?))
            }
            other => other.clone(),
        };
        let group_by = select
            .group_by
            .iter()
            .map(|element| self.grouping(element, &outputs));
        let group_by = group_by.collect::<Option<_>>()?;
        let filter = self.optional(select.filter.as_ref())?;
        let having = self.optional(select.having.as_ref())?;
        let mut windows = Vec::with_capacity(select.windows.len());
        for window in &select.windows {
            windows.push(NamedWindow {
                name: window.name.clone(),
                specification: self.window(&window.specification)?,
            });
        }
        let targets = outputs.into_iter().map(|output| output.target).collect();
        let select = Select {
            distinct,
            targets,
            from,
            filter,
            group_by,
            group_distinct: select.group_distinct,
            having,
            windows,
        };
        Some((QueryBody::Select(Box::new(select)), sorted))
    }

    /// None inside: there is none.
    pub(super) fn optional(&mut self, expr: Option<&Expr>) -> Option<Option<Expr>> {
        match expr {
            Some(expr) => self.expr(expr).map(Some),
            None => Some(None),
        }
    }

    fn outputs(&mut self, select: &Select, shown: &Shown<'_>) -> Option<Vec<Output>> {
        let mut outputs: Vec<Output> = Vec::with_capacity(select.targets.len());
        for target in &select.targets {
            let star = match &target.value.kind {
                ExprKind::Column(column) => column.star,
                ExprKind::Indirection { steps, .. } => matches!(steps.as_slice(), [IndirectionStep::Star]),
                _ => false,
            };
            if star {
                let trace = self.trace;
                for (name, bound) in trace.star(target.value.location)? {
                    let value = self.column(bound)?;
                    outputs.push(self.target(value, name.clone(), outputs.len(), shown));
                }
                continue;
            }
            let name = written_name(target);
            let ty = shown.types.and_then(|types| types.get(outputs.len())).copied();
            let value = self.output(&target.value, ty)?;
            outputs.push(self.target(value, name, outputs.len(), shown));
        }
        Some(outputs)
    }

    /// AS is shown unless the column has the name by itself.
    fn target(&self, value: Expr, written: Name, position: usize, shown: &Shown<'_>) -> Output {
        let given = shown.names.and_then(|names| names.get(position));
        let wanted = given.unwrap_or(&written);
        let own = match &value.kind {
            ExprKind::Column(column) if !column.star => column.parts.last().map(|name| &**name),
            _ if shown.always_named => None,
            _ => Some(NAMELESS),
        };
        let name = (own != Some(wanted)).then(|| wanted.clone());
        Output {
            written,
            target: Target {
                name,
                value,
                location: Location::NONE,
            },
        }
    }

    /// A column of the result; a literal has the type that the result has, or is a text.
    fn output(&mut self, expr: &Expr, ty: Option<ColumnType>) -> Option<Expr> {
        let trace = self.trace;
        let untyped = trace.expr(expr)?.ty().oid == mote_types::oid::UNKNOWN;
        let written = self.expr_of(expr, ty.filter(|_| untyped))?;
        match trace.expr(expr)? {
            // A whole row at the top shows its type.
            Bound::Variable { .. } | Bound::Row { .. } if is_star(&written) => {
                cast(written, trace.expr(expr)?.ty())
            }
            _ => Some(written),
        }
    }

    /// What ORDER BY, GROUP BY and DISTINCT ON point at.
    fn sort_value(&mut self, expr: &Expr, outputs: &[Output], names_first: bool) -> Option<Expr> {
        if let ExprKind::Constant(Constant::Integer(place)) = &expr.kind {
            let place = usize::try_from(*place).ok()?.checked_sub(1)?;
            return Some(outputs.get(place)?.target.value.clone());
        }
        if let ExprKind::Column(column) = &expr.kind
            && let ([name], false) = (column.parts.as_slice(), column.star)
            && (names_first || self.trace.expr(expr).is_none())
            && let Some(output) = outputs.iter().find(|output| output.written == *name)
        {
            return Some(output.target.value.clone());
        }
        self.expr(expr)
    }

    fn grouping(&mut self, element: &GroupingElement, outputs: &[Output]) -> Option<GroupingElement> {
        let mut list = |elements: &[GroupingElement]| {
            let elements = elements.iter().map(|element| self.grouping(element, outputs));
            elements.collect::<Option<Vec<_>>>()
        };
        Some(match element {
            GroupingElement::Empty => GroupingElement::Empty,
            GroupingElement::Rollup(elements) => GroupingElement::Rollup(list(elements)?),
            GroupingElement::Cube(elements) => GroupingElement::Cube(list(elements)?),
            GroupingElement::Sets(elements) => GroupingElement::Sets(list(elements)?),
            GroupingElement::Expr(expr) => GroupingElement::Expr(match &expr.kind {
                // Several keys that stand together.
                ExprKind::Row { fields, form } => {
                    let fields = fields.iter().map(|field| self.sort_value(field, outputs, false));
                    node(ExprKind::Row {
                        fields: fields.collect::<Option<_>>()?,
                        form: *form,
                    })
                }
                _ => self.sort_value(expr, outputs, false)?,
            }),
        })
    }

    /// Each table that is locked has a clause.
    fn locking(&mut self, query: &Query) -> Option<Vec<Locking>> {
        let mut clauses = Vec::new();
        for locking in &query.locking {
            let QueryBody::Select(select) = &query.body else {
                return None;
            };
            if !locking.of.is_empty() {
                clauses.push(locking.clone());
                continue;
            }
            for (item, _) in self.items(&select.from)? {
                let name = RelationName {
                    catalog: None,
                    schema: None,
                    name: self.names.of_item(item)?.clone(),
                    location: Location::NONE,
                };
                clauses.push(Locking {
                    of: vec![name],
                    ..locking.clone()
                });
            }
        }
        Some(clauses)
    }

    /// The items of a FROM list and their names, in the order of the text. None: a join has an alias, whose columns are its own.
    fn items(&self, from: &[FromItem]) -> Option<Vec<(u16, Name)>> {
        let mut items = Vec::new();
        for item in from {
            self.items_of(item, &mut items)?;
        }
        Some(items)
    }

    fn items_of(&self, item: &FromItem, items: &mut Vec<(u16, Name)>) -> Option<()> {
        if let FromItem::Join(join) = item {
            let aliased = matches!(&join.condition, JoinCondition::Using { alias: Some(_), .. });
            if aliased || join.alias.is_some() {
                return None;
            }
            self.items_of(&join.left, items)?;
            return self.items_of(&join.right, items);
        }
        let number = self.trace.item(from_location(item))?;
        let name = self.trace.range.get(number as usize)?.alias.clone();
        items.push((number, name));
        Some(())
    }

    fn from_item(&mut self, item: &FromItem) -> Option<FromItem> {
        match item {
            FromItem::Join(join) => self.join(join),
            FromItem::Relation(relation) => self.relation(relation),
            FromItem::Subquery {
                query,
                lateral,
                alias,
                location,
            } => {
                let number = self.trace.item(*location)?;
                let query = self.query(query, &INNER)?;
                let name = self.names.of_item(number)?.clone();
                Some(FromItem::Subquery {
                    query: Box::new(query),
                    lateral: *lateral,
                    alias: alias.as_ref().map(|alias| Alias {
                        name,
                        columns: alias.columns.clone(),
                    }),
                    location: *location,
                })
            }
            FromItem::Function(function) => self.function_item(function),
        }
    }

    fn join(&mut self, join: &Join) -> Option<FromItem> {
        let left = self.from_item(&join.left)?;
        let right = self.from_item(&join.right)?;
        let condition = match &join.condition {
            JoinCondition::On(condition) => JoinCondition::On(self.expr(condition)?),
            JoinCondition::Natural => match self.trace.natural(from_location(&join.right))? {
                [] => return None,
                columns => JoinCondition::Using {
                    columns: columns.to_vec(),
                    alias: None,
                },
            },
            other => other.clone(),
        };
        Some(FromItem::Join(Box::new(Join {
            kind: join.kind,
            left,
            right,
            condition,
            alias: None,
        })))
    }

    fn relation(&mut self, relation: &RelationReference) -> Option<FromItem> {
        let number = self.trace.item(relation.name.location)?;
        let shown = self.names.of_item(number)?.clone();
        let columns = relation.alias.as_ref().map_or(&[][..], |alias| &alias.columns);
        let written = &relation.name;
        let needs_alias = shown != written.name || relation.alias.is_some();
        let alias = needs_alias.then(|| Alias {
            name: shown,
            columns: columns.to_vec(),
        });
        let name = RelationName {
            schema: self.schema_shown(written),
            ..written.clone()
        };
        if relation.sample.is_some() {
            return None;
        }
        Some(FromItem::Relation(RelationReference {
            name,
            alias,
            ..relation.clone()
        }))
    }

    /// The schema, where the bare name would find something else.
    fn schema_shown(&self, name: &RelationName) -> Option<Name> {
        let schema = name.schema.as_ref()?;
        let bare = self.catalog.relation_by_name(None, &name.name);
        let full = self.catalog.relation_by_name(Some(schema), &name.name);
        let oid =
            |found: Option<std::sync::Arc<crate::catalog::Relation>>| found.map_or(Oid::INVALID, |it| it.oid);
        let hidden = self.names.ctes.contains(&name.name) || oid(bare) != oid(full);
        hidden.then(|| schema.clone())
    }

    /// A call in FROM. `unnest` of several arrays is several calls, of which none has the place of the whole.
    fn source(&mut self, call: &Expr) -> Option<Expr> {
        match &call.kind {
            ExprKind::Function(written) if written.name.last() == "unnest" && written.arguments.len() > 1 => {
                let mut spelled = (**written).clone();
                for argument in &mut spelled.arguments {
                    argument.value = self.expr(&argument.value)?;
                }
                Some(node(ExprKind::Function(Box::new(spelled))))
            }
            _ => self.expr(call),
        }
    }

    /// A function in FROM always shows the names of its columns.
    fn function_item(&mut self, function: &TableFunction) -> Option<FromItem> {
        let trace = self.trace;
        let number = trace.item(function.location)?;
        let item = trace.range.get(number as usize)?;
        let ItemKind::Function(known) = &item.kind else {
            return None;
        };
        let reads_others = |call: &Bound| call.any(&mut |expr| matches!(expr, Bound::Variable { .. }));
        let lateral = function.lateral || known.calls.iter().any(reads_others);
        let mut functions = Vec::with_capacity(function.functions.len());
        for part in &function.functions {
            functions.push(TableFunctionItem {
                call: self.source(&part.call)?,
                column_definitions: part.column_definitions.clone(),
            });
        }
        let defined = !function.column_definitions.is_empty();
        let columns = item.columns.iter().map(|column| column.name.clone());
        Some(FromItem::Function(Box::new(TableFunction {
            functions,
            lateral,
            alias: Some(Alias {
                name: self.names.of_item(number)?.clone(),
                columns: if defined { Vec::new() } else { columns.collect() },
            }),
            ..function.clone()
        })))
    }
}

/// A column of a SELECT: the name that the query gives it, and how it is shown.
struct Output {
    written: Name,
    target: Target,
}

fn is_star(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Column(column) if column.star)
}

fn written_name(target: &Target) -> Name {
    let implied = || implied_name(&target.value);
    target
        .name
        .clone()
        .or_else(implied)
        .unwrap_or_else(|| NAMELESS.into())
}

/// The SELECT that names a query's columns.
fn leftmost(query: &Query) -> Option<&Select> {
    match &query.body {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation { first, .. } => leftmost(first),
        QueryBody::Values(_) => None,
    }
}

fn output_names(select: &Select, writer: &Writer<'_>) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    for target in &select.targets {
        match &target.value.kind {
            ExprKind::Column(column) if column.star => {
                let columns = writer.trace.star(target.value.location)?;
                names.extend(columns.iter().map(|(name, _)| name.clone()));
            }
            _ => names.push(written_name(target)),
        }
    }
    Some(names)
}
