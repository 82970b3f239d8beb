//! SELECT, VALUES, set operations, WITH, FROM, windows, locking clauses.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};

use super::convert::{Converter, uncast};
use super::precision::Told;
use crate::ast::*;

/// PostgreSQL's bits of a window frame.
mod frame_bit {
    pub const NONDEFAULT: i32 = 0x00001;
    pub const RANGE: i32 = 0x00002;
    pub const ROWS: i32 = 0x00004;
    pub const BETWEEN: i32 = 0x00010;
    pub const START_UNBOUNDED_PRECEDING: i32 = 0x00020;
    pub const END_UNBOUNDED_FOLLOWING: i32 = 0x00100;
    pub const START_CURRENT_ROW: i32 = 0x00200;
    pub const END_CURRENT_ROW: i32 = 0x00400;
    pub const START_OFFSET_PRECEDING: i32 = 0x00800;
    pub const END_OFFSET_PRECEDING: i32 = 0x01000;
    pub const EXCLUDE_CURRENT_ROW: i32 = 0x08000;
    pub const EXCLUDE_GROUP: i32 = 0x10000;
    pub const EXCLUDE_TIES: i32 = 0x20000;
}

impl Converter<'_> {
    pub(super) fn query(&mut self, node: &nodes::SelectStmt) -> SqlResult<Query> {
        self.deeper(|this| this.query_here(node))
    }

    fn query_here(&mut self, node: &nodes::SelectStmt) -> SqlResult<Query> {
        let with = self.with(node.with_clause())?;
        let body = if node.op != raw::SetOperation::SETOP_NONE {
            self.set_operation(node)?
        } else if !node.values_lists().is_empty() {
            self.check_into(node)?;
            QueryBody::Values(self.each(node.values_lists(), |this, row| match row {
                Node::NodeList(row) => this.exprs(row),
                other => Err(this.unexpected(other, "VALUES")),
            })?)
        } else {
            QueryBody::Select(Box::new(self.select(node)?))
        };
        let limit = match node.limit_count() {
            Node::None => None,
            count => Some(Limit {
                count: self.expr(count)?,
                with_ties: node.limit_option == raw::LimitOption::LIMIT_OPTION_WITH_TIES,
            }),
        };
        let location = body_location(&body);
        Ok(Query {
            with,
            body,
            order_by: self.sort_list(uncast(node.sort_clause()))?,
            limit,
            offset: self.optional(node.limit_offset())?,
            locking: self.each(uncast(node.locking_clause()), Self::locking)?,
            location,
        })
    }

    fn set_operation(&mut self, node: &nodes::SelectStmt) -> SqlResult<QueryBody> {
        // The grammar nests a chain to the left: down to its first arm, then back.
        let mut links = Vec::new();
        let mut chain = node;
        let first = loop {
            let (Some(left), Some(right)) = (chain.larg(), chain.rarg()) else {
                return Err(SqlError::internal(
                    "the grammar left out an arm of a set operation",
                ));
            };
            links.push((set_operator(chain.op), chain.all, right));
            if left.op == raw::SetOperation::SETOP_NONE || has_clauses_above(left) {
                break left;
            }
            chain = left;
        };
        let first = Box::new(self.query(first)?);
        let mut rest = Vec::with_capacity(links.len());
        for (operator, all, right) in links.into_iter().rev() {
            let query = self.query(right)?;
            rest.push(SetArm { operator, all, query });
        }
        Ok(QueryBody::SetOperation { first, rest })
    }

    /// INTO belongs to the leftmost SELECT of the whole statement, which turns it into CREATE TABLE AS.
    fn check_into(&mut self, node: &nodes::SelectStmt) -> SqlResult<()> {
        let allowed = std::mem::take(&mut self.into_allowed);
        match node.into_clause() {
            Some(into) if !allowed => {
                let location = into.rel().map_or(-1, |relation| relation.location);
                Err(self.error(
                    state::SYNTAX_ERROR,
                    "SELECT ... INTO is not allowed here",
                    location,
                ))
            }
            _ => Ok(()),
        }
    }

    fn select(&mut self, node: &nodes::SelectStmt) -> SqlResult<Select> {
        self.check_into(node)?;
        let distinct = match node.distinct_clause().first() {
            None => None,
            Some(Node::None) => Some(Distinct::All),
            Some(_) => Some(Distinct::On(self.exprs(node.distinct_clause())?)),
        };
        Ok(Select {
            distinct,
            targets: self.targets(uncast(node.target_list()))?,
            from: self.from_list(node.from_clause())?,
            filter: self.optional(node.where_clause())?,
            group_by: self.each(node.group_clause(), Self::grouping_element)?,
            group_distinct: node.group_distinct,
            having: self.optional(node.having_clause())?,
            windows: self.each(node.window_clause(), |this, window| match window {
                Node::WindowDef(window) => Ok(NamedWindow {
                    name: window.name().unwrap_or_default().into(),
                    specification: this.window_specification(window, None)?,
                }),
                other => Err(this.unexpected(other, "WINDOW")),
            })?,
        })
    }

    pub(super) fn targets(&mut self, list: &NodeList) -> SqlResult<Vec<Target>> {
        self.each(list, |this, node| match node {
            Node::ResTarget(target) => Ok(Target {
                name: target.name().map(Name::from),
                value: this.expr(target.val())?,
                location: Location(target.location),
            }),
            other => Err(this.unexpected(other, "a target list")),
        })
    }

    fn grouping_element(&mut self, node: Node<'_>) -> SqlResult<GroupingElement> {
        use raw::GroupingSetKind::*;
        let Node::GroupingSet(set) = node else {
            return Ok(GroupingElement::Expr(self.expr(node)?));
        };
        self.deeper(|this| {
            let content = this.each(set.content(), Self::grouping_element)?;
            Ok(match set.kind {
                GROUPING_SET_EMPTY => GroupingElement::Empty,
                GROUPING_SET_ROLLUP => GroupingElement::Rollup(content),
                GROUPING_SET_CUBE => GroupingElement::Cube(content),
                _ => GroupingElement::Sets(content),
            })
        })
    }

    pub(super) fn with(&mut self, node: Option<&nodes::WithClause>) -> SqlResult<Option<With>> {
        let Some(node) = node else { return Ok(None) };
        let into_allowed = std::mem::take(&mut self.into_allowed);
        let tables = self.each(uncast(node.ctes()), |this, table| match table {
            Node::CommonTableExpr(table) => this.common_table(table),
            other => Err(this.unexpected(other, "WITH")),
        })?;
        self.into_allowed = into_allowed;
        Ok(Some(With {
            recursive: node.recursive,
            tables,
            location: Location(node.location),
        }))
    }

    fn common_table(&mut self, node: &nodes::CommonTableExpr) -> SqlResult<CommonTable> {
        if let Some(search) = node.search_clause() {
            return Err(self.unsupported("SEARCH in WITH RECURSIVE", search.location));
        }
        if let Some(cycle) = node.cycle_clause() {
            return Err(self.unsupported("CYCLE in WITH RECURSIVE", cycle.location));
        }
        let statement = match node.ctequery() {
            Node::SelectStmt(select) => Statement::Query(Box::new(self.query(select)?)),
            other => self.deeper(|this| this.statement(other))?,
        };
        Ok(CommonTable {
            name: node.ctename().unwrap_or_default().into(),
            columns: self.names(node.aliascolnames())?,
            materialized: match node.ctematerialized {
                raw::CTEMaterialize::CTEMaterializeAlways => Materialization::Always,
                raw::CTEMaterialize::CTEMaterializeNever => Materialization::Never,
                _ => Materialization::Default,
            },
            statement,
            location: Location(node.location),
        })
    }

    pub(super) fn from_list(&mut self, list: &NodeList) -> SqlResult<Vec<FromItem>> {
        self.each(list, Self::from_item)
    }

    pub(super) fn from_item(&mut self, node: Node<'_>) -> SqlResult<FromItem> {
        self.deeper(|this| match node {
            Node::RangeVar(relation) => Ok(FromItem::Relation(this.relation_reference(relation)?)),
            Node::RangeTableSample(sample) => this.table_sample(sample),
            Node::RangeSubselect(subselect) => this.from_subquery(subselect),
            Node::RangeFunction(function) => this.table_function(function),
            Node::JoinExpr(join) => this.join(join),
            Node::RangeTableFunc(table) => Err(this.unsupported("XMLTABLE", table.location)),
            Node::JsonTable(table) => Err(this.unsupported("JSON_TABLE", table.location)),
            other => Err(this.unexpected(other, "FROM")),
        })
    }

    fn table_sample(&mut self, node: &nodes::RangeTableSample) -> SqlResult<FromItem> {
        let Node::RangeVar(relation) = node.relation() else {
            return Err(self.unexpected(node.relation(), "TABLESAMPLE"));
        };
        let mut relation = self.relation_reference(relation)?;
        relation.sample = Some(Box::new(TableSample {
            method: self.qualified_name(node.method(), node.location)?,
            arguments: self.exprs(node.args())?,
            repeatable: self.optional(node.repeatable())?,
            location: Location(node.location),
        }));
        Ok(FromItem::Relation(relation))
    }

    fn from_subquery(&mut self, node: &nodes::RangeSubselect) -> SqlResult<FromItem> {
        let Node::SelectStmt(select) = node.subquery() else {
            return Err(self.unexpected(node.subquery(), "FROM"));
        };
        let query = Box::new(self.query(select)?);
        let location = query.location;
        Ok(FromItem::Subquery {
            query,
            lateral: node.lateral,
            alias: self.alias(node.alias())?,
            location,
        })
    }

    fn table_function(&mut self, node: &nodes::RangeFunction) -> SqlResult<FromItem> {
        let functions = self.each(node.functions(), |this, item| {
            // Each item is a pair: the call and its column definition list.
            let Node::NodeList(pair) = item else {
                return Err(this.unexpected(item, "FROM"));
            };
            let call = this.expr(pair.first().unwrap_or(Node::None))?;
            let column_definitions = match pair.get(1) {
                Some(Node::NodeList(columns)) => this.column_definitions(columns)?,
                _ => Vec::new(),
            };
            Ok(TableFunctionItem {
                call,
                column_definitions,
            })
        })?;
        let location = functions
            .first()
            .map_or(Location::NONE, |item| item.call.location);
        Ok(FromItem::Function(Box::new(TableFunction {
            functions,
            rows_from: node.is_rowsfrom,
            lateral: node.lateral,
            ordinality: node.ordinality,
            alias: self.alias(node.alias())?,
            column_definitions: self.column_definitions(uncast(node.coldeflist()))?,
            location,
        })))
    }

    fn column_definitions(&mut self, list: &NodeList) -> SqlResult<Vec<ColumnDefinition>> {
        self.each(list, |this, node| match node {
            Node::ColumnDef(column) => this.column_definition(column, Told::Once),
            other => Err(this.unexpected(other, "a column definition list")),
        })
    }

    fn join(&mut self, node: &nodes::JoinExpr) -> SqlResult<FromItem> {
        let kind = match node.jointype {
            raw::JoinType::JOIN_LEFT => JoinKind::Left,
            raw::JoinType::JOIN_RIGHT => JoinKind::Right,
            raw::JoinType::JOIN_FULL => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        let left = self.from_item(node.larg())?;
        let right = self.from_item(node.rarg())?;
        let condition = if node.is_natural {
            JoinCondition::Natural
        } else if !node.using_clause().is_empty() {
            JoinCondition::Using {
                columns: self.names(uncast(node.using_clause()))?,
                alias: self.alias(node.join_using_alias())?,
            }
        } else {
            match node.quals() {
                Node::None => JoinCondition::None,
                condition => JoinCondition::On(self.expr(condition)?),
            }
        };
        Ok(FromItem::Join(Box::new(Join {
            kind,
            left,
            right,
            condition,
            alias: self.alias(node.alias())?,
        })))
    }

    pub(super) fn sort_list(&mut self, list: &NodeList) -> SqlResult<Vec<SortBy>> {
        self.each(list, |this, node| match node {
            Node::SortBy(sort) => this.sort_by(sort),
            other => Err(this.unexpected(other, "ORDER BY")),
        })
    }

    fn sort_by(&mut self, node: &nodes::SortBy) -> SqlResult<SortBy> {
        let value = self.expr(node.node())?;
        let direction = match node.sortby_dir {
            raw::SortByDir::SORTBY_USING => {
                SortDirection::Using(self.operator(node.use_op(), node.location)?)
            }
            other => sort_direction(other),
        };
        Ok(SortBy {
            value,
            direction,
            nulls: nulls_order(node.sortby_nulls),
            location: Location(node.location),
        })
    }

    fn locking(&mut self, node: Node<'_>) -> SqlResult<Locking> {
        use raw::LockClauseStrength::*;
        let Node::LockingClause(clause) = node else {
            return Err(self.unexpected(node, "FOR UPDATE"));
        };
        Ok(Locking {
            strength: match clause.strength {
                LCS_FORKEYSHARE => LockStrength::KeyShare,
                LCS_FORSHARE => LockStrength::Share,
                LCS_FORNOKEYUPDATE => LockStrength::NoKeyUpdate,
                _ => LockStrength::Update,
            },
            of: self.relation_list(clause.locked_rels())?,
            wait: match clause.wait_policy {
                raw::LockWaitPolicy::LockWaitSkip => LockWait::SkipLocked,
                raw::LockWaitPolicy::LockWaitError => LockWait::NoWait,
                _ => LockWait::Block,
            },
        })
    }

    /// `same` is the window named by a bare `OVER name`; in a WINDOW clause the node's name is its own.
    pub(super) fn window_specification(
        &mut self,
        node: &nodes::WindowDef,
        same: Option<&str>,
    ) -> SqlResult<WindowSpecification> {
        let base = match (same, node.refname()) {
            (Some(name), _) => Some(WindowBase::Same(name.into())),
            (None, Some(name)) => Some(WindowBase::Refined(name.into())),
            (None, None) => None,
        };
        Ok(WindowSpecification {
            base,
            partition_by: self.exprs(node.partition_clause())?,
            order_by: self.sort_list(uncast(node.order_clause()))?,
            frame: self.window_frame(node)?,
            location: Location(node.location),
        })
    }

    fn window_frame(&mut self, node: &nodes::WindowDef) -> SqlResult<Option<WindowFrame>> {
        use frame_bit::*;
        let has = |bit: i32| node.frame_options & bit != 0;
        if !has(NONDEFAULT) {
            return Ok(None);
        }
        let start = if has(START_UNBOUNDED_PRECEDING) {
            FrameBound::UnboundedPreceding
        } else if has(START_CURRENT_ROW) {
            FrameBound::CurrentRow
        } else if has(START_OFFSET_PRECEDING) {
            FrameBound::Preceding(self.expr(node.start_offset())?)
        } else {
            FrameBound::Following(self.expr(node.start_offset())?)
        };
        let end = if has(END_UNBOUNDED_FOLLOWING) {
            FrameBound::UnboundedFollowing
        } else if has(END_CURRENT_ROW) {
            FrameBound::CurrentRow
        } else if has(END_OFFSET_PRECEDING) {
            FrameBound::Preceding(self.expr(node.end_offset())?)
        } else {
            FrameBound::Following(self.expr(node.end_offset())?)
        };
        let unit = match (has(ROWS), has(RANGE)) {
            (true, _) => FrameUnit::Rows,
            (false, true) => FrameUnit::Range,
            (false, false) => FrameUnit::Groups,
        };
        let exclude = if has(EXCLUDE_CURRENT_ROW) {
            FrameExclusion::CurrentRow
        } else if has(EXCLUDE_GROUP) {
            FrameExclusion::Group
        } else if has(EXCLUDE_TIES) {
            FrameExclusion::Ties
        } else {
            FrameExclusion::None
        };
        Ok(Some(WindowFrame {
            unit,
            between: has(BETWEEN),
            start,
            end,
            exclude,
        }))
    }
}

/// The grammar keeps no place for a query: its first output column stands for it.
fn body_location(body: &QueryBody) -> Location {
    match body {
        QueryBody::Select(select) => select
            .targets
            .first()
            .map_or(Location::NONE, |target| target.location),
        QueryBody::Values(rows) => rows
            .first()
            .and_then(|row| row.first())
            .map_or(Location::NONE, |expr| expr.location),
        QueryBody::SetOperation { first, .. } => first.location,
    }
}

fn set_operator(operator: raw::SetOperation::Type) -> SetOperator {
    match operator {
        raw::SetOperation::SETOP_UNION => SetOperator::Union,
        raw::SetOperation::SETOP_INTERSECT => SetOperator::Intersect,
        _ => SetOperator::Except,
    }
}

/// Parentheses stand around it, since a clause belongs to it alone.
fn has_clauses_above(node: &nodes::SelectStmt) -> bool {
    node.with_clause().is_some()
        || !uncast(node.sort_clause()).is_empty()
        || !uncast(node.locking_clause()).is_empty()
        || !matches!(node.limit_count(), Node::None)
        || !matches!(node.limit_offset(), Node::None)
}

pub(super) fn sort_direction(direction: raw::SortByDir::Type) -> SortDirection {
    match direction {
        raw::SortByDir::SORTBY_ASC => SortDirection::Ascending,
        raw::SortByDir::SORTBY_DESC => SortDirection::Descending,
        _ => SortDirection::Default,
    }
}

pub(super) fn nulls_order(nulls: raw::SortByNulls::Type) -> NullsOrder {
    match nulls {
        raw::SortByNulls::SORTBY_NULLS_FIRST => NullsOrder::First,
        raw::SortByNulls::SORTBY_NULLS_LAST => NullsOrder::Last,
        _ => NullsOrder::Default,
    }
}
