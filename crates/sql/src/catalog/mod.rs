//! What the binder and planner know about the database: relations, columns, indexes, constraints, functions.
//!
//! Read in this order: this file (descriptions of stored objects and the [`CatalogView`] door), then `partition`
//! with `partition_match` and `partition_hash`, `inheritance`, `trigger`, `index_method`, `statistics`, `array_names`, `published`
//! (what subscribers are told). `crate::builtin` has the signatures that are constants of the binary.
//!
//! Promises: descriptions are immutable and shared by `Arc`; a changed object is a new description with a higher
//! `version`. A layer above (`mote_catalog`) owns the store and hands in a view; nothing here does I/O or sees a row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::{IndexId, Oid, TableId};
use mote_types::catalog::user::{UserType, composite_oid, is_composite, is_user_type, number_of};
use mote_types::datum::RowType;
use mote_types::{ColumnType, oid};

pub mod array_names;
pub mod index_method;
pub mod inheritance;
pub mod trigger;
pub mod partition;
mod partition_hash;
pub mod partition_match;
pub mod published;
pub mod statistics;

use crate::access::AclItem;
use crate::builtin::cast::CastUse;
use crate::expr::Expr;
use crate::routine;
use index_method::IndexMethod;
use partition::{PartitionBound, PartitionLevel, PartitionScheme};
use statistics::TableStatistics;

/// What kind of relation a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelationKind {
    Table,
    View,
    /// The rows that its query had at the last REFRESH: read as a table, changed by nobody else.
    MaterializedView,
    Index,
    Sequence,
    /// Rows are produced by code: pg_catalog, information_schema, statistics.
    Virtual,
}

impl RelationKind {
    /// Rows in a table of the engine.
    pub fn has_rows(self) -> bool {
        matches!(self, RelationKind::Table | RelationKind::MaterializedView)
    }

    /// What messages call it.
    pub fn word(self) -> &'static str {
        match self {
            RelationKind::View => "view",
            RelationKind::MaterializedView => "materialized view",
            RelationKind::Sequence => "sequence",
            RelationKind::Index => "index",
            RelationKind::Table | RelationKind::Virtual => "table",
        }
    }
}

/// A relation as the binder sees it.
#[derive(Clone, Debug)]
pub struct Relation {
    pub oid: Oid,
    pub schema_oid: Oid,
    pub schema: String,
    pub name: String,
    pub kind: RelationKind,
    pub owner: Oid,
    /// Storage in the engine; `TableId(0)` where the relation has none.
    pub table: TableId,
    /// In attribute order, dropped ones included (attribute number = position + 1).
    pub columns: Vec<Column>,
    pub indexes: Vec<IndexDescription>,
    /// Checks, unique and primary keys, and foreign keys *of* this relation.
    pub constraints: Vec<Constraint>,
    /// Tables that this one inherits from, by INHERITS or as their partition, in the order they were named.
    pub parents: Vec<Oid>,
    /// Tables that inherit from this one directly, in the order of their OIDs. Who expands a parent depends on every
    /// relation it passes, so that a new child makes plans of its parent stale.
    pub children: Vec<Oid>,
    /// PARTITION BY: how rows go to the children. A table that has it stores no row itself.
    pub partitioning: Option<Arc<PartitionScheme>>,
    /// PARTITION OF: what every row must meet, from the parent upwards. Empty for other tables.
    pub partition_levels: Vec<PartitionLevel>,
    /// The bound of a partition among its siblings.
    pub partition_bound: Option<PartitionBound>,
    /// Foreign keys of other relations that point here: (relation, constraint).
    pub referenced_by: Vec<(Oid, Oid)>,
    /// The text of the defining query of a view.
    pub view_query: Option<String>,
    /// False for a materialized view without rows to read: whoever reads it is refused.
    pub populated: bool,
    /// In the order of their names.
    pub triggers: Vec<Arc<trigger::Trigger>>,
    /// When foreign keys are looked after, at this end of them: PostgreSQL has triggers for it.
    pub foreign_key_firing: trigger::TriggerFiring,
    pub rows: RowCount,
    /// Of the values in its own rows, and in those of the tables below as well; None: nobody has looked.
    pub statistics: Option<Arc<TableStatistics>>,
    pub inherited_statistics: Option<Arc<TableStatistics>>,
    pub temporary: bool,
    pub acl: Vec<AclItem>,
    pub comment: Option<String>,
    /// What publications make of it; None: none has it.
    pub published: Option<Arc<published::Published>>,
    /// Storage options such as fillfactor: accepted hints, shown in the catalog, without effect.
    pub options: Vec<String>,
    /// Grows with every change of this object; cached plans compare it.
    pub version: u64,
}

/// How many rows a relation had when somebody last looked: statements that are planned look anew
/// ([`CatalogView::note_rows`]). All who hold the description share it.
#[derive(Debug)]
pub struct RowCount(AtomicU64);

impl RowCount {
    pub fn new(rows: f64) -> RowCount {
        RowCount(AtomicU64::new(rows.to_bits()))
    }

    // Relaxed: a guess that nothing else depends on.

    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    pub fn note(&self, rows: f64) {
        self.0.store(rows.to_bits(), Ordering::Relaxed);
    }
}

impl Clone for RowCount {
    fn clone(&self) -> RowCount {
        RowCount::new(self.get())
    }
}

impl Relation {
    /// A partitioned table: has no rows of its own.
    pub fn is_partitioned(&self) -> bool {
        self.partitioning.is_some()
    }

    /// The type of the relation's rows.
    pub fn row_type(&self) -> RowType {
        let mut row = RowType {
            of: composite_oid(self.oid)
                .filter(|_| self.has_row_type())
                .unwrap_or(Oid::INVALID),
            ..RowType::default()
        };
        for (column, number) in self.columns.iter().zip(1..).filter(|(column, _)| !column.dropped) {
            row.types.push(column.ty);
            row.names.push(column.name.as_str().into());
            row.numbers.push(number);
        }
        row
    }

    /// Sequences have none, nor have relations whose rows are made by code: PostgreSQL's have, but whoever looks through
    /// pg_type would pay for hundreds of types that nobody uses.
    fn has_row_type(&self) -> bool {
        match self.kind {
            RelationKind::Table | RelationKind::View | RelationKind::MaterializedView => true,
            RelationKind::Virtual | RelationKind::Index | RelationKind::Sequence => false,
        }
    }

    /// The type of the relation's rows as one value: `record` where it has no row type of its own.
    pub fn row_value_type(&self) -> ColumnType {
        let named = composite_oid(self.oid).filter(|_| self.has_row_type());
        ColumnType::new(named.unwrap_or(oid::RECORD))
    }

    /// Its CHECK constraints and the texts of their conditions, in the order in which rows are tried: that of their names, so
    /// that the same one is named whenever a row violates several.
    pub fn check_constraints(&self) -> Vec<(&Constraint, &str)> {
        let checks = self
            .constraints
            .iter()
            .filter_map(|constraint| match &constraint.kind {
                ConstraintKind::Check(text) => Some((constraint, text.as_str())),
                _ => None,
            });
        let mut checks: Vec<_> = checks.collect();
        checks.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        checks
    }

    /// WITH CHECK OPTION of a view.
    pub fn check_option(&self) -> Option<CheckOption> {
        let value = self
            .options
            .iter()
            .find_map(|option| option.strip_prefix("check_option="))?;
        Some(match value {
            "local" => CheckOption::Local,
            _ => CheckOption::Cascaded,
        })
    }

    /// A partition of a partitioned table.
    pub fn is_partition(&self) -> bool {
        self.partition_bound.is_some()
    }
}

/// Whose conditions rows written through a view must meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckOption {
    /// The view's own.
    Local,
    /// And those of the views it reads.
    Cascaded,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// The type of the values: below the domain, if there is one.
    pub ty: ColumnType,
    pub domain: Option<Oid>,
    pub not_null: bool,
    pub dropped: bool,
    /// The default, as text (for the catalog, re-bound at plan time).
    pub default: Option<String>,
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS (text) STORED.
    pub generated: Option<String>,
    /// The sequence that DROP COLUMN takes along (serial, identity).
    pub owned_sequence: Option<Oid>,
    pub comment: Option<String>,
    pub inheritance: Inheritance,
    /// How much ANALYZE is to find out; None: as default_statistics_target says.
    pub statistics_target: Option<i32>,
    /// `attstorage`, where ALTER TABLE has set it.
    pub storage: Option<char>,
}

/// Where a column or a constraint comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inheritance {
    /// Defined by the table itself, not (only) by its parents.
    pub local: bool,
    /// Direct parents that have it.
    pub parents: u16,
}

impl Inheritance {
    /// Of a table without parents.
    pub const LOCAL: Inheritance = Inheritance {
        local: true,
        parents: 0,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    Always,
    ByDefault,
}

#[derive(Clone, Debug)]
pub struct IndexDescription {
    pub oid: Oid,
    pub name: String,
    pub index: IndexId,
    pub method: IndexMethod,
    pub keys: Vec<IndexKey>,
    /// Non-key columns of INCLUDE: kept for the catalog, read from the row.
    pub include: Vec<u16>,
    pub unique: bool,
    /// False for a deferrable key: between two checks several rows may have it.
    pub immediate: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
    /// Partial index: the predicate's text and its bound, folded form over the relation's columns (position = attribute - 1).
    pub predicate: Option<(String, Expr)>,
    /// False while CREATE INDEX CONCURRENTLY is under way: maintained, not read; and of a partitioned table as long as
    /// a partition has no index that is attached to it.
    pub valid: bool,
    /// The table was last clustered on it.
    pub clustered: bool,
    /// The index of the parent table that this one is attached to.
    pub parent: Option<Oid>,
    /// Storage parameters, `name=value`: kept and shown, without effect.
    pub options: Vec<String>,
}

impl Relation {
    /// Columns and nothing else: what expressions can be bound over.
    pub fn of_columns(name: &str, columns: Vec<Column>) -> Relation {
        Relation {
            oid: Oid::INVALID,
            schema_oid: Oid::INVALID,
            schema: String::new(),
            name: name.to_owned(),
            kind: RelationKind::Table,
            owner: Oid::INVALID,
            table: TableId(0),
            columns,
            indexes: Vec::new(),
            constraints: Vec::new(),
            parents: Vec::new(),
            children: Vec::new(),
            partitioning: None,
            partition_levels: Vec::new(),
            partition_bound: None,
            referenced_by: Vec::new(),
            view_query: None,
            populated: true,
            triggers: Vec::new(),
            foreign_key_firing: trigger::TriggerFiring::Origin,
            rows: RowCount::new(0.0),
            statistics: None,
            inherited_statistics: None,
            temporary: false,
            acl: Vec::new(),
            comment: None,
            published: None,
            options: Vec::new(),
            version: 0,
        }
    }

    /// Names of the columns as SQL writes them.
    pub fn quoted_column_names(&self) -> Vec<String> {
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.map(mote_grammar::ast::deparse::identifier).collect()
    }
}

impl Column {
    /// A column that may be NULL and has no default.
    pub fn new(name: &str, ty: ColumnType) -> Column {
        Column {
            name: name.to_owned(),
            ty,
            domain: None,
            not_null: false,
            dropped: false,
            default: None,
            identity: None,
            generated: None,
            owned_sequence: None,
            comment: None,
            inheritance: Inheritance::LOCAL,
            statistics_target: None,
            storage: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct IndexKey {
    pub target: IndexKeyTarget,
    /// The name in the index's own list of columns, where it is not the column's.
    pub name: Option<String>,
    pub ty: ColumnType,
    /// Those that were written: the order is the same with any of them.
    pub collation: Option<String>,
    pub operator_class: Option<Oid>,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Debug)]
pub enum IndexKeyTarget {
    /// Position of the column: attribute number - 1.
    Column(u16),
    /// An expression: its text, and its bound form over the relation's columns, folded as the planner folds a query's.
    Expression(String, Expr),
}

#[derive(Clone, Debug)]
pub struct Constraint {
    pub oid: Oid,
    pub name: String,
    pub kind: ConstraintKind,
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub validated: bool,
    pub inheritance: Inheritance,
    /// CHECK .. NO INHERIT: of this table only.
    pub no_inherit: bool,
    /// The constraint of the parent table that this key, or foreign key, of a partition belongs to.
    pub parent: Option<Oid>,
}

#[derive(Clone, Debug)]
pub enum ConstraintKind {
    /// Text of the expression.
    Check(String),
    Unique {
        index: Oid,
    },
    PrimaryKey {
        index: Oid,
    },
    ForeignKey(ForeignKey),
}

/// Column lists are positions (attribute number - 1) and of equal length.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    pub columns: Vec<u16>,
    pub referenced: Oid,
    pub referenced_columns: Vec<u16>,
    /// The unique index of the referenced relation that proves existence.
    pub referenced_index: Oid,
    pub on_update: ReferentialAction,
    pub on_delete: ReferentialAction,
    pub match_full: bool,
    /// The columns that ON DELETE SET NULL or SET DEFAULT names; none: all of the key.
    pub on_delete_columns: Vec<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// What CREATE CAST has said of two types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserCast {
    /// None: by the text, WITH INOUT.
    pub function: Option<Oid>,
    pub context: CastUse,
}

/// The door through which binder and planner see the catalog: latest committed state plus the session's own changes.
pub trait CatalogView {
    /// Unqualified names go through the search path.
    fn relation_by_name(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>>;
    /// What else has the name of a relation, and no rows to read: `an index`, `a composite type`.
    fn rowless_by_name(&self, _schema: Option<&str>, _name: &str) -> Option<&'static str> {
        None
    }
    fn relation(&self, oid: Oid) -> Option<Arc<Relation>>;
    /// A statement over the relation is about to be planned: renews what is known of its rows.
    fn note_rows(&self, _relation: &Relation) {}
    /// The relation that owns the index of this name or oid.
    fn relation_of_index(&self, oid: Oid) -> Option<Arc<Relation>>;
    /// The functions and procedures of users with this name: of one schema, or along the search path, those of earlier
    /// schemas first.
    fn routines_named(&self, _schema: Option<&str>, _name: &str) -> Vec<Arc<routine::Routine>> {
        Vec::new()
    }
    fn routine(&self, _oid: Oid) -> Option<Arc<routine::Routine>> {
        None
    }
    /// The type of users with this name: of one schema, or the first along the search path. Arrays have no names here.
    fn user_type_named(&self, _schema: Option<&str>, _name: &str) -> Option<Arc<UserType>> {
        None
    }
    fn user_type(&self, _oid: Oid) -> Option<Arc<UserType>> {
        None
    }
    /// Whether a type of an extension is in `schema`, or, without one, where the search path finds it.
    fn has_extension_type(&self, ty: Oid, schema: Option<&str>) -> bool {
        self.user_type(ty).is_some_and(|found| match schema {
            Some(schema) => found.schema == schema,
            None => self.search_path().contains(&found.schema),
        })
    }
    /// The attributes of a composite type or of the row type of a relation.
    fn row_type(&self, ty: Oid) -> Option<Arc<RowType>> {
        if !is_composite(ty) {
            return None;
        }
        match self.user_type(ty) {
            Some(known) => known.row.clone(),
            None => Some(Arc::new(self.relation(number_of(ty))?.row_type())),
        }
    }
    /// The version of a relation, routine or type.
    fn version_of(&self, object: Oid) -> Option<u64> {
        if is_composite(object) && self.user_type(object).is_none() {
            return self.relation(number_of(object)).map(|relation| relation.version);
        }
        if is_user_type(object) {
            return self.user_type(object).map(|ty| ty.version);
        }
        match self.relation(object) {
            Some(relation) => Some(relation.version),
            None => self.routine(object).map(|routine| routine.version),
        }
    }
    /// The cast that a user made between two types.
    fn cast(&self, _source: Oid, _target: Oid) -> Option<UserCast> {
        None
    }
    fn schema_exists(&self, name: &str) -> bool;
    /// Effective search path, implicit pg_catalog included where PostgreSQL would search it.
    fn search_path(&self) -> Vec<String>;
    /// What may stand before a schema's name; nothing may, where a text is not a session's.
    fn database_name(&self) -> String {
        String::new()
    }
}
