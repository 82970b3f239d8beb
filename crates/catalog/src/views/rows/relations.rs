//! pg_class, pg_index, pg_sequence.

use mote_common::{Oid, SqlError, SqlResult};
use mote_sql::access::AclItem;
use mote_sql::access::privilege;
use mote_sql::catalog::index_method::IndexMethod;
use mote_sql::catalog::{ConstraintKind, IndexDescription, IndexKey, IndexKeyTarget, Relation, RelationKind};
use mote_types::Datum;
use mote_types::catalog::user::{composite_oid, number_of};

use crate::catalog_store::TypeEntry;
use crate::catalog_store::stored::{StoredKind, StoredRelation, StoredReplicaIdentity};
use crate::system_schemas::shown_as_view;
use crate::system_schemas::{CATALOG_SCHEMA, INFORMATION_SCHEMA};
use crate::views::all_relations;
use crate::views::builtin::{BOOTSTRAP_ROLE, HEAP, default_operator_class};
use crate::views::facts::{Facts, Known, KnownIndex, collation_of};
use crate::views::row::{NULL, int2_vector, oid_vector, row, text_array_or_null, xid};
use crate::views::rows::acl::acl;
use crate::views::rows::extensions;
use crate::views::text::{default_acl, shown_part};
use crate::views::view_tree;

/// Bits of pg_index.indoption.
const OPTION_DESCENDING: i16 = 1;
const OPTION_NULLS_FIRST: i16 = 2;
/// A page, for the sizes that PostgreSQL counts in pages.
const PAGE_BYTES: i64 = 8192;

/// What pg_class says about one relation.
struct Class<'f> {
    oid: Oid,
    name: &'f str,
    schema: Oid,
    owner: Oid,
    access_method: Oid,
    storage: Oid,
    rows: f32,
    kind: char,
    columns: i16,
    has_index: bool,
    checks: i16,
    has_rules: bool,
    populated: bool,
    has_triggers: bool,
    has_children: bool,
    persistence: char,
    acl: Datum,
    options: Datum,
    /// FOR VALUES of a partition; an index that is attached has none.
    partition: Option<Datum>,
    replica_identity: char,
}

impl Class<'_> {
    fn row(self) -> Vec<Datum> {
        let pages = (self.rows.max(0.0) as i64 * 64 / PAGE_BYTES) as i32;
        let is_table = matches!(self.kind, 'r' | 'm');
        row![
            self.oid,
            self.name,
            self.schema,
            row_type_of(self.oid, self.kind),
            Oid::INVALID,
            self.owner,
            self.access_method,
            self.storage,
            Oid::INVALID,
            pages,
            self.rows,
            0,
            Oid::INVALID,
            self.has_index,
            false,
            self.persistence,
            self.kind,
            self.columns,
            self.checks,
            self.has_rules,
            self.has_triggers,
            self.has_children,
            false,
            false,
            self.populated,
            self.replica_identity,
            self.partition.is_some(),
            Oid::INVALID,
            xid(if is_table { 3 } else { 0 }),
            xid(if is_table { 1 } else { 0 }),
            self.acl,
            self.options,
            self.partition.unwrap_or(NULL),
        ]
    }
}

pub fn class(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows: Vec<Vec<Datum>> = all_relations()
        .iter()
        .map(|relation| builtin_class(facts, relation))
        .collect();
    for known in facts.relations() {
        rows.push(user_class(facts, known));
    }
    for known in facts.indexes() {
        rows.push(index_class(facts, known));
    }
    rows.extend(facts.user_types().into_iter().filter_map(composite_class));
    Ok(rows)
}

/// The type of a relation's rows; zero where it has none.
fn row_type_of(relation: Oid, kind: char) -> Oid {
    match kind {
        'r' | 'p' | 'v' | 'm' | 'c' if relation >= Oid::FIRST_USER => {
            composite_oid(relation).unwrap_or(Oid::INVALID)
        }
        _ => Oid::INVALID,
    }
}

/// A composite type has a row of pg_class, to which its attributes belong.
fn composite_class(entry: &TypeEntry) -> Option<Vec<Datum>> {
    let attributes = entry.stored.attributes.as_ref()?;
    let class = Class {
        oid: number_of(Oid(entry.stored.oid)),
        name: &entry.stored.name,
        schema: Oid(entry.stored.schema),
        owner: Oid(entry.stored.owner),
        access_method: Oid::INVALID,
        storage: Oid::INVALID,
        rows: 0.0,
        kind: 'c',
        columns: attributes.len() as i16,
        has_index: false,
        checks: 0,
        has_rules: false,
        populated: true,
        has_triggers: false,
        has_children: false,
        persistence: 'p',
        acl: NULL,
        options: NULL,
        partition: None,
        replica_identity: 'n',
    };
    Some(class.row())
}

fn builtin_class(facts: &Facts<'_>, relation: &Relation) -> Vec<Datum> {
    let view = shown_as_view(relation.oid);
    let class = Class {
        oid: relation.oid,
        name: &relation.name,
        schema: relation.schema_oid,
        owner: relation.owner,
        access_method: if view { Oid::INVALID } else { HEAP },
        storage: Oid::INVALID,
        rows: 0.0,
        kind: if view { 'v' } else { 'r' },
        columns: relation.columns.len() as i16,
        has_index: false,
        checks: 0,
        has_rules: view,
        populated: true,
        has_triggers: false,
        has_children: false,
        persistence: 'p',
        acl: builtin_acl(facts, relation),
        options: NULL,
        partition: None,
        replica_identity: 'n',
    };
    class.row()
}

/// Relations of pg_catalog that only superusers read.
const SECRET: [&str; 4] = ["pg_authid", "pg_file_settings", "pg_hba_file_rules", "pg_shadow"];

/// Everybody may read a built-in relation, unless it holds secrets.
fn builtin_acl(facts: &Facts<'_>, relation: &Relation) -> Datum {
    let mut items = default_acl("r", relation.owner).expect("tables are a kind of object");
    if !SECRET.contains(&relation.name.as_str()) {
        items.push(AclItem {
            grantee: Oid::INVALID,
            grantor: relation.owner,
            privileges: privilege::SELECT,
            grant_options: 0,
        });
    }
    acl(facts, &items)
}

/// pg_init_privs: the privileges that built-in objects have from the start.
pub fn initial_privileges(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    const CLASS: Oid = Oid(1259);
    const NAMESPACE: Oid = Oid(2615);
    let relations = all_relations()
        .iter()
        .map(|relation| row![relation.oid, CLASS, 0, 'i', builtin_acl(facts, relation)]);
    let schemas = [CATALOG_SCHEMA, INFORMATION_SCHEMA];
    let schemas = schemas.map(|schema| row![schema, NAMESPACE, 0, 'i', builtin_schema_acl(facts)]);
    let mut rows: Vec<Vec<Datum>> = relations.chain(schemas).collect();
    rows.extend(extensions::initial_privileges(facts));
    Ok(rows)
}

/// Everybody may use the built-in schemas.
pub fn builtin_schema_acl(facts: &Facts<'_>) -> Datum {
    let mut items = default_acl("n", BOOTSTRAP_ROLE).expect("schemas are a kind of object");
    items.push(AclItem {
        grantee: Oid::INVALID,
        grantor: BOOTSTRAP_ROLE,
        privileges: privilege::USAGE,
        grant_options: 0,
    });
    acl(facts, &items)
}

/// pg_rewrite: a view is its rule `_RETURN`. The rule has its view's number, which is unique here.
pub fn rewrite(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let views = facts
        .relations()
        .into_iter()
        .filter(|known| known.stored.kind.has_query());
    let rows = views.map(|Known { relation, .. }| {
        row![
            relation.oid,
            "_RETURN",
            relation.oid,
            '1',
            'O',
            true,
            "<>",
            view_tree::action(relation, facts.session.catalog)
        ]
    });
    Ok(rows.collect())
}

/// `SELECT last_value, log_cnt, is_called FROM sequence`.
pub fn sequence_state(facts: &Facts<'_>, relation: Oid) -> SqlResult<Vec<Vec<Datum>>> {
    let sequence = facts
        .relation(relation)
        .and_then(|known| known.stored.sequence.as_ref())
        .and_then(|stored| facts.engine.sequence(mote_engine::SequenceId(stored.id)));
    match sequence {
        Some(sequence) => {
            let (value, is_called) = sequence.peek();
            Ok(vec![row![value, 0i64, is_called]])
        }
        None => Err(SqlError::internal(format!(
            "relation {relation} has no rows to read"
        ))),
    }
}

/// pg_class.relkind.
pub fn kind_letter(kind: RelationKind) -> char {
    match kind {
        RelationKind::Table => 'r',
        RelationKind::View => 'v',
        RelationKind::MaterializedView => 'm',
        RelationKind::Index => 'i',
        RelationKind::Sequence => 'S',
        RelationKind::Virtual => 'v',
    }
}

/// Rows of the partitions of a table.
fn rows_below(facts: &Facts<'_>, relation: &Relation) -> i64 {
    let children = relation.children.iter();
    let rows = children
        .filter_map(|child| facts.catalog.relation(*child))
        .map(|child| match child.described.is_partitioned() {
            true => rows_below(facts, &child.described),
            false => facts.rows_of(&child.described),
        });
    rows.sum()
}

fn user_class(facts: &Facts<'_>, Known { relation, stored }: Known<'_>) -> Vec<Datum> {
    let foreign =
        |constraint: &mote_sql::catalog::Constraint| matches!(constraint.kind, ConstraintKind::ForeignKey(_));
    let check =
        |constraint: &&mote_sql::catalog::Constraint| matches!(constraint.kind, ConstraintKind::Check(_));
    let class = Class {
        oid: relation.oid,
        name: &relation.name,
        schema: relation.schema_oid,
        owner: relation.owner,
        access_method: if stored.kind.has_rows() && !relation.is_partitioned() {
            HEAP
        } else {
            Oid::INVALID
        },
        storage: if stored.kind == StoredKind::View || relation.is_partitioned() {
            Oid::INVALID
        } else {
            relation.oid
        },
        rows: match stored.kind {
            // Unknown until ANALYZE has looked at the whole.
            StoredKind::Table if relation.is_partitioned() && relation.inherited_statistics.is_none() => -1.0,
            StoredKind::Table if relation.is_partitioned() => rows_below(facts, relation) as f32,
            StoredKind::Table | StoredKind::MaterializedView => facts.rows_of(relation) as f32,
            StoredKind::View => 0.0,
            StoredKind::Sequence => 1.0,
        },
        kind: if relation.is_partitioned() {
            'p'
        } else {
            kind_letter(relation.kind)
        },
        columns: relation.columns.len() as i16,
        has_index: !relation.indexes.is_empty(),
        checks: relation.constraints.iter().filter(check).count() as i16,
        has_rules: stored.kind.has_query(),
        populated: stored.populated,
        has_triggers: !relation.triggers.is_empty()
            || relation.constraints.iter().any(foreign)
            || !relation.referenced_by.is_empty(),
        has_children: !relation.children.is_empty(),
        persistence: persistence(stored),
        acl: acl(facts, &relation.acl),
        options: text_array_or_null(&relation.options),
        partition: super::partitions::bound_text(facts, relation).map(Datum::from),
        replica_identity: replica_identity(stored),
    };
    class.row()
}

/// pg_class.relpersistence; an index has its table's.
fn persistence(stored: &StoredRelation) -> char {
    match (stored.temporary, stored.unlogged) {
        (true, _) => 't',
        (false, true) => 'u',
        (false, false) => 'p',
    }
}

/// pg_class.relreplident.
fn replica_identity(stored: &StoredRelation) -> char {
    match stored.replica_identity {
        _ if !stored.kind.has_rows() => 'n',
        StoredReplicaIdentity::Default => 'd',
        StoredReplicaIdentity::Full => 'f',
        StoredReplicaIdentity::Nothing => 'n',
        StoredReplicaIdentity::Index(_) => 'i',
    }
}

fn index_class(facts: &Facts<'_>, KnownIndex { table, index }: KnownIndex<'_>) -> Vec<Datum> {
    let class = Class {
        oid: index.oid,
        name: &index.name,
        schema: table.schema_oid,
        owner: table.owner,
        access_method: index.method.oid(),
        storage: if table.is_partitioned() {
            Oid::INVALID
        } else {
            index.oid
        },
        rows: facts.rows_of(table) as f32,
        kind: if table.is_partitioned() { 'I' } else { 'i' },
        columns: (index.keys.len() + index.include.len()) as i16,
        has_index: false,
        checks: 0,
        has_rules: false,
        populated: true,
        has_triggers: false,
        has_children: false,
        persistence: facts
            .relation(table.oid)
            .map_or('p', |known| persistence(known.stored)),
        acl: NULL,
        options: text_array_or_null(&index.options),
        partition: index.parent.map(|_| NULL),
        replica_identity: 'n',
    };
    class.row()
}

pub fn index(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(facts.indexes().map(|known| index_row(facts, known)).collect())
}

fn index_row(facts: &Facts<'_>, KnownIndex { table, index }: KnownIndex<'_>) -> Vec<Datum> {
    let expressions: Vec<String> = index
        .keys
        .iter()
        .filter_map(|key| expression(table, key))
        .collect();
    let predicate = index.predicate.as_ref();
    let identity = facts
        .relation(table.oid)
        .map(|known| known.stored.replica_identity);
    let is_identity = identity == Some(StoredReplicaIdentity::Index(index.oid.0));
    row![
        index.oid,
        table.oid,
        (index.keys.len() + index.include.len()) as i16,
        index.keys.len() as i16,
        index.unique,
        index.nulls_not_distinct,
        index.primary,
        false,
        index.immediate,
        index.clustered,
        index.valid,
        false,
        true,
        true,
        is_identity,
        int2_vector(attribute_numbers(index)),
        oid_vector(index.keys.iter().map(collation_of_key)),
        oid_vector(index.keys.iter().map(|key| class_of(key, index.method))),
        int2_vector(index.keys.iter().map(options)),
        if expressions.is_empty() {
            NULL
        } else {
            Datum::from(expressions.join(", "))
        },
        predicate.map(|(text, expr)| Datum::from(shown_part(table, text, expr, false))),
    ]
}

fn expression(table: &Relation, key: &IndexKey) -> Option<String> {
    match &key.target {
        IndexKeyTarget::Column(_) => None,
        IndexKeyTarget::Expression(text, expr) => Some(shown_part(table, text, expr, false)),
    }
}

fn class_of(key: &IndexKey, method: IndexMethod) -> Oid {
    key.operator_class
        .unwrap_or_else(|| default_operator_class(method, key.ty.oid))
}

/// The collation that is written, or that of the key's type.
pub fn collation_of_key(key: &IndexKey) -> Oid {
    let written = key
        .collation
        .as_deref()
        .and_then(crate::views::names::collation_oid);
    written.unwrap_or_else(|| collation_of(key.ty))
}

fn options(key: &IndexKey) -> i16 {
    let descending = if key.descending { OPTION_DESCENDING } else { 0 };
    descending | if key.nulls_first { OPTION_NULLS_FIRST } else { 0 }
}

/// Columns of an index by attribute number, 0 for an expression, included ones last.
pub fn attribute_numbers(index: &IndexDescription) -> impl Iterator<Item = i16> + '_ {
    let keys = index.keys.iter().map(|key| match key.target {
        IndexKeyTarget::Column(position) => position as i16 + 1,
        IndexKeyTarget::Expression(..) => 0,
    });
    keys.chain(index.include.iter().map(|&position| position as i16 + 1))
}

pub fn sequence(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let sequences = facts.relations_of_kind(StoredKind::Sequence).filter_map(|known| {
        let sequence = known.stored.sequence.as_ref()?;
        Some(row![
            known.relation.oid,
            Oid(sequence.type_oid),
            sequence.start,
            sequence.increment,
            sequence.maximum,
            sequence.minimum,
            sequence.cache,
            sequence.cycle,
        ])
    });
    Ok(sequences.collect())
}
