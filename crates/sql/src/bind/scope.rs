//! Which names mean what: the visible FROM items of each query level, and look-up with PostgreSQL's errors.
//!
//! Invariants: levels are searched from the innermost outwards, and the first level that knows a name decides, also
//! when the name is ambiguous there. A `USING` join hides the unqualified columns of its sides and shows merged ones.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, oid};

use super::Binder;
use super::query::{CTID, ItemKind, TABLE_OID, WHOLE_ROW, XMAX, XMIN};
use crate::expr::{AggregateCall, Expr, Places};
use mote_grammar::ast::{ColumnReference, Location, Name, SortBy};

/// The clause an expression stands in: decides what is allowed there and what the errors say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clause {
    Select,
    From,
    FunctionInFrom,
    JoinOn,
    Where,
    GroupBy,
    Having,
    OrderBy,
    DistinctOn,
    Limit,
    Offset,
    Values,
    Update,
    Returning,
    /// WHEN .. AND of MERGE.
    MergeWhen,
    Window,
    Filter,
    ColumnDefault,
    Check,
    IndexExpression,
    IndexPredicate,
    Generated,
    PartitionKey,
    PartitionBound,
    TriggerWhen,
    /// ALTER COLUMN .. TYPE .. USING.
    Transform,
    CopyWhere,
    Call,
    Execute,
    /// Other places without a query around them.
    Other,
}

impl Clause {
    /// How PostgreSQL names the place in "... are not allowed in ...".
    pub fn name(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::From => "FROM",
            Clause::FunctionInFrom => "functions in FROM",
            Clause::JoinOn => "JOIN conditions",
            Clause::Where => "WHERE",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::DistinctOn => "DISTINCT ON",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values => "VALUES",
            Clause::Update => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::Window => "window definitions",
            Clause::Filter => "FILTER",
            Clause::ColumnDefault => "DEFAULT expressions",
            Clause::Check => "check constraints",
            Clause::IndexExpression => "index expressions",
            Clause::IndexPredicate => "index predicates",
            Clause::Generated => "column generation expressions",
            Clause::PartitionKey => "partition key expressions",
            Clause::PartitionBound => "partition bound",
            Clause::TriggerWhen => "trigger WHEN conditions",
            Clause::Transform => "transform expressions",
            Clause::CopyWhere => "COPY FROM WHERE conditions",
            Clause::Call => "CALL arguments",
            Clause::Execute => "EXECUTE parameters",
            Clause::Other => "this context",
        }
    }

    /// How PostgreSQL names a place without sub-queries.
    pub fn forbids_subqueries(self) -> Option<&'static str> {
        Some(match self {
            Clause::ColumnDefault => "DEFAULT expression",
            Clause::Check => "check constraint",
            Clause::Generated => "column generation expression",
            Clause::PartitionKey => "partition key expression",
            Clause::PartitionBound => "partition bound",
            Clause::TriggerWhen => "trigger WHEN condition",
            Clause::Transform => "transform expression",
            Clause::CopyWhere => "COPY FROM WHERE condition",
            Clause::Call => "CALL argument",
            Clause::Execute => "EXECUTE parameter",
            Clause::IndexExpression => "index expression",
            Clause::IndexPredicate => "index predicate",
            _ => return None,
        })
    }

    pub fn allows_aggregates(self) -> bool {
        matches!(
            self,
            Clause::Select | Clause::Having | Clause::OrderBy | Clause::DistinctOn | Clause::Window
        )
    }

    pub fn allows_windows(self) -> bool {
        matches!(self, Clause::Select | Clause::OrderBy | Clause::DistinctOn)
    }

    pub fn allows_sets(self) -> bool {
        matches!(
            self,
            Clause::Select | Clause::GroupBy | Clause::OrderBy | Clause::DistinctOn | Clause::FunctionInFrom
        )
    }
}

/// One query level while its clauses are bound.
pub(super) struct Level {
    pub items: Vec<ScopeItem>,
    /// The target of MERGE where WHEN NOT MATCHED is bound: known, and out of reach.
    pub hidden: Option<ScopeItem>,
    pub clause: Clause,
    /// Aggregates met so far: columns of `aggregate_item`.
    pub aggregates: Vec<AggregateCall>,
    /// Where they are among them.
    pub aggregate_places: Places,
    pub aggregate_item: Option<u16>,
    /// The arguments of each GROUPING(): columns of `aggregate_item` too.
    pub groupings: Vec<Vec<(Expr, Location)>>,
    /// Inside the arguments of an aggregate.
    pub in_aggregate: bool,
    pub in_window: bool,
    pub windows: Vec<super::query::BoundWindow>,
    pub named_windows: Vec<(Name, mote_grammar::ast::WindowSpecification)>,
    pub sets: Vec<Expr>,
    /// Where the calls of set-returning functions stand, in the order they were met.
    pub set_calls: Vec<Location>,
    pub set_item: Option<u16>,
    /// The target of INSERT where RETURNING is bound, which may ask whether ON CONFLICT has updated the row.
    pub inserted: Option<u16>,
}

impl Level {
    pub fn new(clause: Clause) -> Level {
        Level {
            items: Vec::new(),
            hidden: None,
            clause,
            aggregates: Vec::new(),
            aggregate_places: Places::default(),
            aggregate_item: None,
            groupings: Vec::new(),
            in_aggregate: false,
            in_window: false,
            windows: Vec::new(),
            named_windows: Vec::new(),
            sets: Vec::new(),
            set_calls: Vec::new(),
            set_item: None,
            inserted: None,
        }
    }
}

/// What stands behind a name of FROM.
pub(super) struct ScopeItem {
    /// `None` for a join without an alias.
    pub alias: Option<Name>,
    pub source: ScopeSource,
    /// `alias.column` finds it.
    pub qualified: bool,
    /// A bare column name finds it.
    pub unqualified: bool,
    /// To the left of a LATERAL item being bound.
    pub lateral_only: bool,
    /// Not reachable from LATERAL because of the kind of the join above both.
    pub lateral_forbidden: bool,
}

pub(super) enum ScopeSource {
    Item(u16),
    /// A join with merged columns or an alias: names and expressions.
    Join(Vec<(Name, Expr)>),
}

impl ScopeItem {
    pub fn item(alias: Name, item: u16) -> ScopeItem {
        ScopeItem {
            alias: Some(alias),
            source: ScopeSource::Item(item),
            qualified: true,
            unqualified: true,
            lateral_only: false,
            lateral_forbidden: false,
        }
    }
}

impl Binder<'_> {
    pub(super) fn level(&mut self) -> &mut Level {
        self.levels
            .last_mut()
            .expect("expressions are bound inside a level")
    }

    /// The clause of the innermost level.
    pub(super) fn clause(&self) -> Option<Clause> {
        self.levels.last().map(|level| level.clause)
    }

    /// Runs `work` with another clause on record.
    pub(super) fn in_clause<T>(&mut self, clause: Clause, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.level().clause, clause);
        let result = work(self);
        self.level().clause = before;
        result
    }

    /// The column of this name in one scope item, if there is exactly one.
    fn column_of(&self, item: &ScopeItem, name: &str, location: Location) -> SqlResult<Option<Expr>> {
        let mut found = None;
        match &item.source {
            ScopeSource::Item(number) => {
                for position in 0..self.column_count(*number) {
                    if self
                        .column(*number, position)
                        .is_some_and(|column| column.0 == name)
                    {
                        if found.is_some() {
                            return Err(self.ambiguous(name, location));
                        }
                        found = Some(self.variable(*number, position, location));
                    }
                }
            }
            ScopeSource::Join(columns) => {
                for (column, expr) in columns {
                    if **column == *name {
                        if found.is_some() {
                            return Err(self.ambiguous(name, location));
                        }
                        found = Some(expr.clone());
                    }
                }
            }
        }
        Ok(found)
    }

    fn system_column(&self, item: &ScopeItem, name: &str, location: Location) -> SqlResult<Option<Expr>> {
        let ScopeSource::Item(number) = item.source else {
            return Ok(None);
        };
        if !matches!(self.items[number as usize].kind, ItemKind::Relation(_)) {
            return Ok(None);
        }
        let (column, ty) = match name {
            "ctid" => (CTID, oid::TID),
            "xmin" => (XMIN, oid::XID),
            "tableoid" => (TABLE_OID, oid::OID),
            "xmax" if self.levels.iter().any(|level| level.inserted == Some(number)) => (XMAX, oid::XID),
            "xmax" | "cmin" | "cmax" => {
                return Err(SqlError::unsupported(format_args!("system column \"{name}\"")));
            }
            _ => return Ok(None),
        };
        let ty = ColumnType::new(ty);
        Ok(Some(Expr::Variable {
            relation: number,
            column,
            ty,
            location: location.0,
        }))
    }

    fn ambiguous(&self, name: &str, location: Location) -> SqlError {
        let message = format!("column reference \"{name}\" is ambiguous");
        self.error(state::AMBIGUOUS_COLUMN, location, message)
    }

    fn check_lateral(&self, item: &ScopeItem, location: Location) -> SqlResult<()> {
        if !item.lateral_forbidden {
            return Ok(());
        }
        let alias = item.alias.as_deref().unwrap_or("unnamed_join");
        let message = format!("invalid reference to FROM-clause entry for table \"{alias}\"");
        Err(self
            .error(state::INVALID_COLUMN_REFERENCE, location, message)
            .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."))
    }

    /// A bare column name.
    pub(super) fn unqualified_column(&self, name: &str, location: Location) -> SqlResult<Option<Expr>> {
        for level in self.levels.iter().rev() {
            let mut found = None;
            for item in level.items.iter().filter(|item| item.unqualified) {
                if let Some(expr) = self.column_of(item, name, location)? {
                    self.check_lateral(item, location)?;
                    if found.is_some() {
                        return Err(self.ambiguous(name, location));
                    }
                    found = Some(expr);
                }
            }
            if found.is_none() {
                for item in level.items.iter().filter(|item| item.unqualified) {
                    if let Some(expr) = self.system_column(item, name, location)? {
                        if found.is_some() {
                            return Err(self.ambiguous(name, location));
                        }
                        found = Some(expr);
                    }
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The item a qualifier names: (level from the innermost, position).
    fn qualified_item(&self, name: &str, location: Location) -> SqlResult<Option<&ScopeItem>> {
        for level in self.levels.iter().rev() {
            let mut named = level
                .items
                .iter()
                .filter(|item| item.qualified && item.alias.as_deref() == Some(name));
            if let Some(item) = named.next() {
                if named.next().is_some() {
                    let message = format!("table reference \"{name}\" is ambiguous");
                    return Err(self.error(state::DUPLICATE_ALIAS, location, message));
                }
                self.check_lateral(item, location)?;
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn missing_table(&self, name: &str, location: Location) -> SqlError {
        // The item may exist and yet be out of reach: hidden by an alias, or to the right of a non-LATERAL one.
        let hidden = self
            .levels
            .iter()
            .rev()
            .flat_map(|level| &level.items)
            .find(|item| match item.source {
                ScopeSource::Item(number) => match &self.items[number as usize].kind {
                    ItemKind::Relation(relation) => relation.name == name,
                    _ => false,
                },
                ScopeSource::Join(_) => false,
            });
        if let Some(item) = hidden {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            let alias = item.alias.as_deref().unwrap_or(name);
            return self
                .error(state::UNDEFINED_TABLE, location, message)
                .hint(format!(
                    "Perhaps you meant to reference the table alias \"{alias}\"."
                ));
        }
        let exists = self.items.iter().any(|item| *item.alias == *name);
        if exists {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            return self.error(state::UNDEFINED_TABLE, location, message).hint(format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            ));
        }
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        self.error(state::UNDEFINED_TABLE, location, message)
    }

    /// A column reference that is not a star.
    pub(super) fn column_reference(
        &mut self,
        reference: &ColumnReference,
        location: Location,
    ) -> SqlResult<Expr> {
        if self.names.is_none() {
            return self.column_or_row(reference, location);
        }
        let missing = [state::UNDEFINED_COLUMN, state::UNDEFINED_TABLE];
        let (column, error) = match self.column_or_row(reference, location) {
            Ok(column) => (Some(column), None),
            Err(error) if missing.contains(&error.state()) => (None, Some(error)),
            Err(error) => return Err(error),
        };
        let settled = self.settle_conflict(reference.parts.as_slice(), column, location)?;
        match (settled, error) {
            (Some(expr), _) => Ok(expr),
            (None, Some(error)) => Err(error),
            (None, None) => Err(SqlError::internal("a name is found or an error")),
        }
    }

    fn column_or_row(&mut self, reference: &ColumnReference, location: Location) -> SqlResult<Expr> {
        match reference.parts.as_slice() {
            [name] => {
                if let Some(expr) = self.unqualified_column(name, location)? {
                    return Ok(expr);
                }
                if let Some(item) = self.qualified_item(name, location)? {
                    return self.whole_row(item, location);
                }
                Err(self.undefined_column(None, name, location))
            }
            [table, name] => self.qualified_column(table, name, location),
            [schema, table, name] => {
                self.check_schema(schema, table, location)?;
                self.qualified_column(table, name, location)
            }
            [_, schema, table, name] => {
                self.check_schema(schema, table, location)?;
                self.qualified_column(table, name, location)
            }
            _ => Err(self.error(
                state::SYNTAX_ERROR,
                location,
                format!(
                    "improper qualified name (too many dotted names): {}",
                    reference.parts.join(".")
                ),
            )),
        }
    }

    fn check_schema(&self, schema: &str, table: &str, location: Location) -> SqlResult<()> {
        let matches = match self.qualified_item(table, location)?.map(|item| &item.source) {
            Some(ScopeSource::Item(number)) => match &self.items[*number as usize].kind {
                ItemKind::Relation(relation) => relation.schema == schema,
                _ => false,
            },
            _ => false,
        };
        if matches {
            Ok(())
        } else {
            Err(self.missing_table(table, location))
        }
    }

    fn qualified_column(&mut self, table: &str, name: &str, location: Location) -> SqlResult<Expr> {
        let Some(item) = self.qualified_item(table, location)? else {
            return Err(self.missing_table(table, location));
        };
        if let Some(expr) = self.column_of(item, name, location)? {
            return Ok(expr);
        }
        if let Some(expr) = self.system_column(item, name, location)? {
            return Ok(expr);
        }
        let row = self.whole_row(item, location)?;
        if let Some(expr) = self.function_of_row(row, name, location)? {
            return Ok(expr);
        }
        Err(self.undefined_column(Some(table), name, location))
    }

    /// `alias.*` as one value.
    pub(super) fn whole_row_of(&mut self, qualifier: &str, location: Location) -> SqlResult<Expr> {
        match self.qualified_item(qualifier, location)? {
            Some(item) => self.whole_row(item, location),
            None => match self.named_variable(&[qualifier.into()])? {
                Some(row) => Ok(row),
                None => Err(self.missing_table(qualifier, location)),
            },
        }
    }

    /// The row of an item as one value.
    fn whole_row(&self, item: &ScopeItem, location: Location) -> SqlResult<Expr> {
        match &item.source {
            ScopeSource::Item(number) => match &self.items[*number as usize].kind {
                ItemKind::Relation(relation) => Ok(Expr::Variable {
                    relation: *number,
                    column: WHOLE_ROW,
                    ty: relation.row_value_type(),
                    location: location.0,
                }),
                // A function that yields one scalar column means that column when named alone.
                ItemKind::Function(_) if self.column_count(*number) == 1 => {
                    Ok(self.variable(*number, 0, location))
                }
                _ if self.nullable_items.contains(number) => Ok(Expr::Variable {
                    relation: *number,
                    column: WHOLE_ROW,
                    ty: self.items[*number as usize].row,
                    location: location.0,
                }),
                // Always there: its columns say all.
                _ => {
                    let positions = 0..self.column_count(*number);
                    let fields = positions.clone();
                    let fields = fields.map(|position| self.variable(*number, position, location));
                    let names =
                        positions.filter_map(|position| Some(self.column(*number, position)?.0.into()));
                    Ok(Expr::Row {
                        fields: fields.collect(),
                        names: names.collect(),
                        ty: self.items[*number as usize].row,
                    })
                }
            },
            ScopeSource::Join(columns) => {
                let (names, fields) = columns.iter().cloned().unzip();
                Ok(Expr::Row {
                    fields,
                    names,
                    ty: ColumnType::RECORD,
                })
            }
        }
    }

    /// All columns a star stands for, with their names.
    pub(super) fn star_columns(
        &self,
        qualifier: Option<&str>,
        location: Location,
    ) -> SqlResult<Vec<(Name, Expr)>> {
        let mut columns = Vec::new();
        match qualifier {
            Some(name) => match self.qualified_item(name, location)? {
                Some(item) => self.push_columns(item, location, &mut columns),
                None => match self.variable_columns(name, location)? {
                    Some(fields) => columns = fields,
                    None => return Err(self.missing_table(name, location)),
                },
            },
            None => {
                let level = self.levels.last().expect("a star stands inside a level");
                let visible = level
                    .items
                    .iter()
                    .filter(|item| item.unqualified && !item.lateral_only);
                let mut any = false;
                for item in visible {
                    any = true;
                    self.push_columns(item, location, &mut columns);
                }
                if !any {
                    return Err(self.error(
                        state::SYNTAX_ERROR,
                        location,
                        "SELECT * with no tables specified is not valid",
                    ));
                }
            }
        }
        Ok(columns)
    }

    /// Appends the visible columns of one scope item.
    pub(super) fn push_columns(&self, item: &ScopeItem, location: Location, columns: &mut Vec<(Name, Expr)>) {
        match &item.source {
            ScopeSource::Item(number) => {
                for position in 0..self.column_count(*number) {
                    if let Some((name, _)) = self.column(*number, position) {
                        columns.push((name.into(), self.variable(*number, position, location)));
                    }
                }
            }
            ScopeSource::Join(merged) => columns.extend(merged.iter().cloned()),
        }
    }

    pub(super) fn undefined_column(&self, table: Option<&str>, name: &str, location: Location) -> SqlError {
        let message = match table {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = self.error(state::UNDEFINED_COLUMN, location, message);
        if let Some(table) = self.hiding_table(name) {
            return error.hint(format!(
                "There is a column named \"{name}\" in table \"{table}\", but it cannot be referenced from this part of the query."
            ));
        }
        match self.similar_column(table, name) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// The item out of reach that has a column of this name.
    fn hiding_table(&self, name: &str) -> Option<&str> {
        let hidden = self.levels.iter().rev().filter_map(|level| level.hidden.as_ref());
        let mut having =
            hidden.filter(|item| matches!(self.column_of(item, name, Location::NONE), Ok(Some(_))));
        having.next()?.alias.as_deref()
    }

    /// PostgreSQL's "Perhaps you meant": the nearest column names within a distance, at most two of them.
    fn similar_column(&self, table: Option<&str>, name: &str) -> Option<String> {
        let mut best = name.len() / 2 + 1;
        let mut nearest: Vec<String> = Vec::new();
        for item in self.levels.iter().rev().flat_map(|level| &level.items) {
            let Some(alias) = item.alias.as_deref() else {
                continue;
            };
            let penalty = table.map_or(0, |table| edit_distance(table, alias));
            let mut columns = Vec::new();
            self.push_columns(item, Location::NONE, &mut columns);
            for (column, _) in columns {
                let distance = edit_distance(name, &column) + penalty;
                if distance < best {
                    best = distance;
                    nearest.clear();
                }
                if distance == best && distance <= name.len() / 2 && distance <= 3 {
                    nearest.push(format!("\"{alias}.{column}\""));
                }
            }
        }
        match nearest.as_slice() {
            [one] => Some(format!("Perhaps you meant to reference the column {one}.")),
            [one, two] => Some(format!(
                "Perhaps you meant to reference the column {one} or the column {two}."
            )),
            _ => None,
        }
    }

    /// Items that the FROM clause of the innermost level shows so far become visible to LATERAL.
    pub(super) fn forbid_duplicate_alias(&self, items: &[ScopeItem], alias: &str) -> SqlResult<()> {
        let taken = |item: &ScopeItem| item.qualified && item.alias.as_deref() == Some(alias);
        if items.iter().any(taken) {
            return Err(SqlError::new(
                state::DUPLICATE_ALIAS,
                format!("table name \"{alias}\" specified more than once"),
            ));
        }
        Ok(())
    }

    /// The bare column name of an ORDER BY or GROUP BY item, if it is one.
    pub(super) fn bare_name(expr: &mote_grammar::ast::Expr) -> Option<&Name> {
        match &expr.kind {
            mote_grammar::ast::ExprKind::Column(reference)
                if !reference.star && reference.parts.len() == 1 =>
            {
                reference.parts.first()
            }
            _ => None,
        }
    }

    pub(super) fn sort_location(sort: &SortBy) -> Location {
        sort.value.location
    }
}

/// Levenshtein distance with unit costs, over bytes.
fn edit_distance(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
