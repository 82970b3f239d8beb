//! Queries: clauses, FROM, windows.

use super::{ITEM_INDENT, QUERY_INDENT, Writer};
use crate::ast::*;

impl Writer {
    /// `( SELECT ..)`.
    pub(super) fn subquery(&mut self, query: &Query) {
        self.push("(");
        self.query(query);
        self.push(")");
    }

    pub(super) fn query(&mut self, query: &Query) {
        self.indent += QUERY_INDENT;
        if let Some(with) = &query.with {
            self.with(with);
        }
        match &query.body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.push(" VALUES ");
                self.list(rows, |this, row| {
                    this.push("(");
                    this.row_of_values(row);
                    this.push(")");
                });
            }
            QueryBody::SetOperation { first, rest } => self.set_operation(first, rest),
        }
        if !query.order_by.is_empty() {
            self.clause(1, " ORDER BY ");
            self.sort_list(&query.order_by);
        }
        if let Some(offset) = &query.offset {
            self.clause(0, " OFFSET ");
            self.expr(offset);
        }
        if let Some(limit) = &query.limit {
            self.limit(limit);
        }
        query.locking.iter().for_each(|locking| self.locking(locking));
        self.indent -= QUERY_INDENT;
    }

    fn row_of_values(&mut self, row: &[Expr]) {
        let separator = if self.spelled_out { "," } else { ", " };
        for (index, value) in row.iter().enumerate() {
            self.push(if index > 0 { separator } else { "" });
            self.expr(value);
        }
    }

    /// A sort or group key: PostgreSQL sets calls apart, and in its pretty form all but columns.
    fn key(&mut self, value: &Expr) {
        let apart = match &value.kind {
            ExprKind::Function(_) => true,
            ExprKind::Constant(_) | ExprKind::Column(_) => false,
            ExprKind::Cast { operand, target } => {
                let is_literal = matches!(operand.kind, ExprKind::Constant(_));
                !is_literal && (self.pretty || !is_text(target))
            }
            _ => self.pretty,
        };
        match self.spelled_out && apart {
            true => {
                self.push("(");
                self.expr(value);
                self.push(")");
            }
            false => self.expr(value),
        }
    }

    fn keys(&mut self, values: &[Expr]) {
        self.list(values, |this, value| this.key(value));
    }

    /// Starts a clause's line.
    fn clause(&mut self, extra: usize, text: &str) {
        self.line(self.indent - QUERY_INDENT + extra, text);
    }

    fn limit(&mut self, limit: &Limit) {
        if limit.with_ties {
            self.clause(0, " FETCH FIRST (");
            self.expr(&limit.count);
            self.push(") ROWS WITH TIES");
            return;
        }
        self.clause(0, " LIMIT ");
        match &limit.count.kind {
            ExprKind::Constant(Constant::Null) => self.push("ALL"),
            // As an operand of the conversion to bigint.
            ExprKind::ScalarQuery(_) if self.pretty => {
                self.push("(");
                self.expr(&limit.count);
                self.push(")");
            }
            _ => self.expr(&limit.count),
        }
    }

    fn locking(&mut self, locking: &Locking) {
        self.clause(
            0,
            match locking.strength {
                LockStrength::KeyShare => " FOR KEY SHARE",
                LockStrength::Share => " FOR SHARE",
                LockStrength::NoKeyUpdate => " FOR NO KEY UPDATE",
                LockStrength::Update => " FOR UPDATE",
            },
        );
        if !locking.of.is_empty() {
            self.push(" OF ");
            self.list(&locking.of, |this, relation| this.relation_name(relation));
        }
        self.push(match locking.wait {
            LockWait::Block => "",
            LockWait::SkipLocked => " SKIP LOCKED",
            LockWait::NoWait => " NOWAIT",
        });
    }

    fn with(&mut self, with: &With) {
        self.push(if with.recursive {
            " WITH RECURSIVE "
        } else {
            " WITH "
        });
        self.list(&with.tables, |this, table| {
            this.name(&table.name);
            this.column_names(&table.columns);
            this.push(match table.materialized {
                Materialization::Default => " AS (",
                Materialization::Always => " AS MATERIALIZED (",
                Materialization::Never => " AS NOT MATERIALIZED (",
            });
            this.line(this.indent, "");
            // PostgreSQL has no views with anything but queries in them.
            match &table.statement {
                Statement::Query(query) => this.query(query),
                _ => this.refused = Some("the text of a data-modifying statement in WITH"),
            }
            this.line(this.indent, ")");
        });
        self.clause(0, "");
    }

    fn column_names(&mut self, columns: &[Name]) {
        if !columns.is_empty() {
            self.push("(");
            self.names(columns);
            self.push(")");
        }
    }

    /// Where the operator changes, what stands to the left of it goes in parentheses, as PostgreSQL writes it.
    fn set_operation(&mut self, first: &Query, rest: &[SetArm]) {
        let changes = |pair: &[SetArm]| (pair[0].operator, pair[0].all) != (pair[1].operator, pair[1].all);
        for _ in rest.windows(2).filter(|pair| changes(pair)) {
            self.push("(");
            self.indent += QUERY_INDENT;
            if self.spelled_out {
                self.clause(0, "");
            }
        }
        self.arm(first);
        for (position, arm) in rest.iter().enumerate() {
            if position > 0 && changes(&rest[position - 1..=position]) {
                self.indent -= QUERY_INDENT;
                if self.spelled_out {
                    self.clause(0, ") ");
                } else {
                    self.push(")");
                    self.clause(0, "");
                }
            } else {
                self.clause(0, "");
            }
            self.push(match arm.operator {
                SetOperator::Union => "UNION",
                SetOperator::Intersect => "INTERSECT",
                SetOperator::Except => "EXCEPT",
            });
            self.push(if arm.all { " ALL" } else { "" });
            if self.spelled_out && is_plain_set_operation(&arm.query) {
                self.push(" (");
                self.indent += QUERY_INDENT;
                self.clause(0, "");
                self.indent -= QUERY_INDENT;
                self.query(&arm.query);
                self.clause(0, ")");
                continue;
            }
            self.clause(0, "");
            self.arm(&arm.query);
        }
    }

    /// An arm with clauses or operations of its own goes in parentheses.
    fn arm(&mut self, query: &Query) {
        let plain = has_no_clauses(query) && !matches!(query.body, QueryBody::SetOperation { .. });
        if self.spelled_out && !plain {
            self.indent -= QUERY_INDENT;
            self.subquery(query);
            self.indent += QUERY_INDENT;
        } else if plain {
            self.indent -= QUERY_INDENT;
            self.query(query);
            self.indent += QUERY_INDENT;
        } else {
            self.subquery(query);
        }
    }

    fn select(&mut self, select: &Select) {
        self.push(" SELECT ");
        match &select.distinct {
            None => {}
            Some(Distinct::All) => self.push("DISTINCT "),
            Some(Distinct::On(exprs)) => {
                self.push("DISTINCT ON (");
                self.keys(exprs);
                self.push(") ");
            }
        }
        let mut above_is_long = false;
        for (index, target) in select.targets.iter().enumerate() {
            if index == 0 {
                self.target(target);
                continue;
            }
            let written = std::mem::take(&mut self.out);
            self.target(target);
            let own = std::mem::replace(&mut self.out, written);
            self.push(", ");
            let line = self.out.len() - self.out.rfind('\n').map_or(0, |end| end + 1);
            let starts_a_line = own.starts_with('\n');
            if !starts_a_line && (line + own.len() > self.width || above_is_long) {
                self.clause(ITEM_INDENT, "");
            }
            if starts_a_line {
                self.out.truncate(self.out.trim_end_matches(' ').len());
            }
            above_is_long = own.trim_start_matches('\n').contains('\n');
            self.push(&own);
        }
        if !select.from.is_empty() {
            self.clause(2, " FROM ");
            for (index, item) in select.from.iter().enumerate() {
                if index > 0 {
                    self.push(",");
                    self.clause(ITEM_INDENT, "");
                }
                self.from_item(item);
            }
        }
        if let Some(filter) = &select.filter {
            self.clause(1, " WHERE ");
            self.expr(filter);
        }
        if !select.group_by.is_empty() {
            self.clause(
                1,
                if select.group_distinct {
                    " GROUP BY DISTINCT "
                } else {
                    " GROUP BY "
                },
            );
            self.list(&select.group_by, |this, element| this.grouping_element(element));
        }
        if let Some(having) = &select.having {
            self.clause(0, " HAVING ");
            self.expr(having);
        }
        if !select.windows.is_empty() {
            self.clause(if self.spelled_out { 1 } else { 0 }, " WINDOW ");
            self.list(&select.windows, |this, window| {
                this.name(&window.name);
                this.push(" AS ");
                this.window(&window.specification);
            });
        }
    }

    fn target(&mut self, target: &Target) {
        self.expr(&target.value);
        if let Some(name) = &target.name {
            self.push(" AS ");
            self.name(name);
        }
    }

    fn grouping_element(&mut self, element: &GroupingElement) {
        let (word, elements) = match element {
            GroupingElement::Expr(expr) => return self.grouping_key(expr),
            GroupingElement::Empty => return self.push("()"),
            GroupingElement::Rollup(elements) => ("ROLLUP(", elements),
            GroupingElement::Cube(elements) => ("CUBE(", elements),
            GroupingElement::Sets(elements) => ("GROUPING SETS (", elements),
        };
        self.push(word);
        let apart = self.spelled_out && word.starts_with("GROUPING");
        self.list(elements, |this, element| match element {
            // Each is a set.
            GroupingElement::Expr(expr) if apart && !matches!(expr.kind, ExprKind::Row { .. }) => {
                this.push("(");
                this.key(expr);
                this.push(")");
            }
            element => this.grouping_element(element),
        });
        self.push(")");
    }

    /// Several keys may stand together.
    fn grouping_key(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Row {
                fields,
                form: RowForm::Implicit,
            } => {
                self.push("(");
                self.keys(fields);
                self.push(")");
            }
            _ => self.key(expr),
        }
    }

    fn relation_name(&mut self, name: &RelationName) {
        for qualifier in [&name.catalog, &name.schema].into_iter().flatten() {
            self.name(qualifier);
            self.push(".");
        }
        self.name(&name.name);
    }

    fn alias(&mut self, alias: Option<&Alias>) {
        if let Some(alias) = alias {
            self.push(" ");
            self.name(&alias.name);
            self.column_names(&alias.columns);
        }
    }

    fn from_item(&mut self, item: &FromItem) {
        match item {
            FromItem::Relation(relation) => self.relation(relation),
            FromItem::Subquery {
                query,
                lateral,
                alias,
                ..
            } => {
                self.push(if *lateral { "LATERAL " } else { "" });
                self.subquery(query);
                self.alias(alias.as_ref());
            }
            FromItem::Function(function) => self.table_function(function),
            FromItem::Join(join) => self.join(join),
        }
    }

    fn relation(&mut self, relation: &RelationReference) {
        self.push(if relation.only { "ONLY " } else { "" });
        self.relation_name(&relation.name);
        self.alias(relation.alias.as_ref());
        if let Some(sample) = &relation.sample {
            self.push(" TABLESAMPLE ");
            self.dotted(&sample.method.parts);
            self.push(" (");
            self.exprs(&sample.arguments);
            self.push(")");
            if let Some(seed) = &sample.repeatable {
                self.push(" REPEATABLE (");
                self.expr(seed);
                self.push(")");
            }
        }
    }

    fn table_function(&mut self, function: &TableFunction) {
        self.push(if function.lateral { "LATERAL " } else { "" });
        self.push(if function.rows_from { "ROWS FROM(" } else { "" });
        self.list(&function.functions, |this, item| {
            this.expr(&item.call);
            if !item.column_definitions.is_empty() {
                this.push(" AS ");
                this.column_definitions(&item.column_definitions);
            }
        });
        self.push(if function.rows_from { ")" } else { "" });
        self.push(if function.ordinality {
            " WITH ORDINALITY"
        } else {
            ""
        });
        self.alias(function.alias.as_ref());
        if !function.column_definitions.is_empty() {
            // Without an alias the word AS cannot be left out.
            self.push(if function.alias.is_some() { "" } else { " AS " });
            self.column_definitions(&function.column_definitions);
        }
    }

    fn column_definitions(&mut self, columns: &[ColumnDefinition]) {
        self.push("(");
        self.list(columns, |this, column| {
            this.name(&column.name);
            if let Some(type_name) = &column.type_name {
                this.push(" ");
                this.type_name(type_name);
            }
            if let Some(collation) = &column.collation {
                this.push(" COLLATE ");
                this.dotted(&collation.parts);
            }
        });
        self.push(")");
    }

    fn join(&mut self, join: &Join) {
        let open = !self.pretty || join.alias.is_some();
        self.push(if open { "(" } else { "" });
        self.from_item(&join.left);
        let natural = if join.condition == JoinCondition::Natural {
            "NATURAL "
        } else {
            ""
        };
        self.clause(ITEM_INDENT, " ");
        self.push(natural);
        self.push(match (join.kind, &join.condition) {
            (JoinKind::Inner, JoinCondition::None) => "CROSS JOIN ",
            (JoinKind::Inner, _) => "JOIN ",
            (JoinKind::Left, _) => "LEFT JOIN ",
            (JoinKind::Right, _) => "RIGHT JOIN ",
            (JoinKind::Full, _) => "FULL JOIN ",
        });
        let apart = self.pretty && matches!(&join.right, FromItem::Join(right) if right.alias.is_none());
        self.push(if apart { "(" } else { "" });
        self.from_item(&join.right);
        self.push(if apart { ")" } else { "" });
        match &join.condition {
            JoinCondition::None | JoinCondition::Natural => {}
            JoinCondition::On(condition) => {
                self.push(if self.pretty { " ON " } else { " ON (" });
                self.expr(condition);
                self.push(if self.pretty { "" } else { ")" });
            }
            JoinCondition::Using { columns, alias } => {
                self.push(" USING ");
                self.column_names(columns);
                if let Some(alias) = alias {
                    self.push(" AS ");
                    self.name(&alias.name);
                }
            }
        }
        self.push(if open { ")" } else { "" });
        self.alias(join.alias.as_ref());
    }

    pub(super) fn sort_list(&mut self, list: &[SortBy]) {
        self.list(list, |this, sort| {
            this.key(&sort.value);
            match &sort.direction {
                SortDirection::Default | SortDirection::Ascending => {}
                SortDirection::Descending => this.push(" DESC"),
                SortDirection::Using(operator) => {
                    this.push(" USING ");
                    this.operator(operator);
                }
            }
            this.push(match sort.nulls {
                NullsOrder::Default => "",
                NullsOrder::First => " NULLS FIRST",
                NullsOrder::Last => " NULLS LAST",
            });
        });
    }

    pub(super) fn window(&mut self, window: &WindowSpecification) {
        if let Some(WindowBase::Same(name)) = &window.base {
            return self.name(name);
        }
        self.push("(");
        let start = self.out.len();
        if let Some(WindowBase::Refined(name)) = &window.base {
            self.name(name);
        }
        self.window_part(start, "PARTITION BY ", !window.partition_by.is_empty());
        self.keys(&window.partition_by);
        self.window_part(start, "ORDER BY ", !window.order_by.is_empty());
        self.sort_list(&window.order_by);
        if let Some(frame) = &window.frame {
            self.window_part(start, "", true);
            self.frame(frame);
        }
        self.push(")");
    }

    fn window_part(&mut self, start: usize, word: &str, present: bool) {
        if present {
            self.push(if self.out.len() > start { " " } else { "" });
            self.push(word);
        }
    }

    fn frame(&mut self, frame: &WindowFrame) {
        self.push(match frame.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        });
        self.push(if frame.between { "BETWEEN " } else { "" });
        self.frame_bound(&frame.start);
        if frame.between {
            self.push(" AND ");
            self.frame_bound(&frame.end);
        }
        self.push(match frame.exclude {
            FrameExclusion::None => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        });
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.push("UNBOUNDED PRECEDING"),
            FrameBound::CurrentRow => self.push("CURRENT ROW"),
            FrameBound::UnboundedFollowing => self.push("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding(offset) => {
                self.expr(offset);
                self.push(" PRECEDING");
            }
            FrameBound::Following(offset) => {
                self.expr(offset);
                self.push(" FOLLOWING");
            }
        }
    }
}

/// Nothing stands above its body.
fn has_no_clauses(query: &Query) -> bool {
    query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty()
}

fn is_plain_set_operation(query: &Query) -> bool {
    has_no_clauses(query) && matches!(query.body, QueryBody::SetOperation { .. })
}

/// A conversion to a text is none of PostgreSQL's calls.
fn is_text(target: &TypeName) -> bool {
    matches!(target.name.last(), "text" | "varchar" | "name") && target.modifiers.is_empty()
}
