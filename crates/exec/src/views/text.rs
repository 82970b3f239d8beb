//! Stored objects as the SQL that would make them: pg_get_indexdef, pg_get_constraintdef, pg_get_viewdef, ACL items.
//!
//! Expressions are kept as the deparser printed them, operators parenthesised; the pretty forms, which psql asks for,
//! leave the outermost parentheses away.

use mote_common::Oid;
use mote_sql::ast::deparse::identifier;
use mote_sql::catalog::{
    AclItem, Constraint, ConstraintKind, ForeignKey, IndexDescription, IndexKey, IndexKeyTarget,
    ReferentialAction, Relation,
};

use super::facts::{Facts, KnownIndex};
use super::names::class_name;

/// `schema.name`, quoted where needed.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// The name as it must be written in this session: with its schema unless the search path finds it.
pub fn visible_name(facts: &Facts<'_>, relation: &Relation) -> String {
    if facts.is_visible(relation.oid, relation.schema_oid, &relation.name) {
        return identifier(&relation.name);
    }
    qualified(&relation.schema, &relation.name)
}

/// How a constant that names a relation ends in a stored text.
const CAST: &str = "'::regclass";

/// The relations that a stored expression names by `regclass` constants.
pub fn named_relations(facts: &Facts<'_>, text: &str) -> Vec<Oid> {
    use mote_sql::catalog::CatalogView;
    let ends = text.match_indices(CAST).map(|(end, _)| end);
    let names = ends.map(|end| text[literal_start(text, end)..end].replace("''", "'"));
    let found = names.filter_map(|name| {
        let (schema, bare) = crate::expr::split_name(&name);
        facts.session.catalog.relation_by_name(schema.as_deref(), &bare)
    });
    found.map(|relation| relation.oid).collect()
}

/// Where the string literal that ends at `end` begins, behind its quote; a doubled quote belongs to it.
fn literal_start(text: &str, end: usize) -> usize {
    let mut before = end;
    while let Some(quote) = text[..before].rfind('\'') {
        if !text[..quote].ends_with('\'') {
            return quote + 1;
        }
        before = quote - 1;
    }
    0
}

/// A stored expression as this session would write it: stored texts name relations in full, and what the search path
/// finds is shown without its schema.
pub fn shown_expression(facts: &Facts<'_>, text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(end) = rest.find(CAST) {
        let start = literal_start(rest, end);
        let name = rest[start..end].replace("''", "'");
        shown.push_str(&rest[..start]);
        shown.push_str(&shown_relation(facts, &name).replace('\'', "''"));
        shown.push_str(CAST);
        rest = &rest[end + CAST.len()..];
    }
    shown.push_str(rest);
    shown
}

/// The shortest name of the relation that `name` stands for; `name` itself if there is none.
fn shown_relation(facts: &Facts<'_>, name: &str) -> String {
    use mote_sql::catalog::CatalogView;
    let (schema, bare) = crate::expr::split_name(name);
    match facts.session.catalog.relation_by_name(schema.as_deref(), &bare) {
        Some(relation) => class_name(facts, relation.oid).unwrap_or_else(|| name.to_string()),
        None => name.to_string(),
    }
}

/// Takes one pair of parentheses away if it encloses the whole text.
pub fn without_parentheses(text: &str) -> &str {
    match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) if is_balanced(inner) => inner,
        _ => text,
    }
}

/// Whether every parenthesis of the text closes inside of it. Quoted stretches do not count.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0i32;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth < 0 {
                    return false;
                }
            }
            _ => {}
        }
    }
    depth == 0
}

/// Whether the text is one function call, which an index key shows without parentheses around it.
fn is_call(text: &str) -> bool {
    let Some(open) = text.find('(') else { return false };
    let name = &text[..open];
    let plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '"'));
    !name.is_empty() && plain && text.ends_with(')') && is_balanced(&text[open + 1..text.len() - 1])
}

/// One key of an index, without its order.
pub fn index_key(relation: &Relation, key: &IndexKey, pretty: bool) -> String {
    match &key.target {
        IndexKeyTarget::Column(position) => column_name(relation, *position),
        IndexKeyTarget::Expression(text, _) if is_call(text) => text.clone(),
        IndexKeyTarget::Expression(text, _) => {
            let bare = without_parentheses(text);
            if pretty || bare == text {
                format!("({bare})")
            } else {
                format!("({text})")
            }
        }
    }
}

fn column_name(relation: &Relation, position: u16) -> String {
    relation
        .columns
        .get(position as usize)
        .map_or_else(String::new, |column| identifier(&column.name))
}

fn column_names(relation: &Relation, positions: &[u16]) -> String {
    let names: Vec<String> = positions
        .iter()
        .map(|&position| column_name(relation, position))
        .collect();
    names.join(", ")
}

fn order(key: &IndexKey) -> &'static str {
    match (key.descending, key.nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// What pg_get_indexdef shows for one column, counted from 1; key columns come before included ones.
pub fn index_column(known: KnownIndex<'_>, column: usize, pretty: bool) -> Option<String> {
    let KnownIndex { table, index } = known;
    let position = column.checked_sub(1)?;
    match index.keys.get(position) {
        Some(key) => Some(index_key(table, key, pretty)),
        None => Some(column_name(
            table,
            *index.include.get(position - index.keys.len())?,
        )),
    }
}

/// CREATE INDEX. The pretty form names the schema only where the session needs it.
pub fn index_definition(facts: &Facts<'_>, known: KnownIndex<'_>, pretty: bool) -> String {
    let table = known.table;
    let on = if pretty {
        visible_name(facts, table)
    } else {
        qualified(&table.schema, &table.name)
    };
    create_index(known, &on, pretty)
}

fn create_index(KnownIndex { table, index }: KnownIndex<'_>, on: &str, pretty: bool) -> String {
    let keys: Vec<String> = index
        .keys
        .iter()
        .map(|key| index_key(table, key, pretty) + order(key))
        .collect();
    let mut text = format!(
        "CREATE {}INDEX {} ON {on} USING btree ({})",
        if index.unique { "UNIQUE " } else { "" },
        identifier(&index.name),
        keys.join(", ")
    );
    text.push_str(&included(table, index));
    if index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if let Some((predicate, _)) = &index.predicate {
        let bare = without_parentheses(predicate);
        let shown = if pretty {
            bare.to_string()
        } else {
            format!("({bare})")
        };
        text.push_str(&format!(" WHERE {shown}"));
    }
    text
}

fn included(table: &Relation, index: &IndexDescription) -> String {
    if index.include.is_empty() {
        return String::new();
    }
    format!(" INCLUDE ({})", column_names(table, &index.include))
}

/// What follows `CONSTRAINT name` in ALTER TABLE ADD.
pub fn constraint_definition(
    facts: &Facts<'_>,
    table: &Relation,
    constraint: &Constraint,
    pretty: bool,
) -> String {
    let mut text = match &constraint.kind {
        ConstraintKind::Check(expression) => {
            let bare = without_parentheses(expression);
            if pretty {
                format!("CHECK ({bare})")
            } else {
                format!("CHECK (({bare}))")
            }
        }
        ConstraintKind::PrimaryKey { index } => format!("PRIMARY KEY{}", key_columns(table, *index)),
        ConstraintKind::Unique { index } => format!("UNIQUE{}", key_columns(table, *index)),
        ConstraintKind::ForeignKey(key) => foreign_key(facts, table, key),
    };
    if constraint.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if constraint.initially_deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    if !constraint.validated {
        text.push_str(" NOT VALID");
    }
    text
}

/// ` (a, b) INCLUDE (c)` of a key's index.
fn key_columns(table: &Relation, index: Oid) -> String {
    let Some(index) = table.indexes.iter().find(|candidate| candidate.oid == index) else {
        return String::new();
    };
    let keys: Vec<String> = index.keys.iter().map(|key| index_key(table, key, true)).collect();
    let nulls = if index.nulls_not_distinct {
        " NULLS NOT DISTINCT"
    } else {
        ""
    };
    format!("{nulls} ({}){}", keys.join(", "), included(table, index))
}

fn foreign_key(facts: &Facts<'_>, table: &Relation, key: &ForeignKey) -> String {
    let (name, columns) = match facts.relation(key.referenced) {
        Some(other) => (
            visible_name(facts, other.relation),
            column_names(other.relation, &key.referenced_columns),
        ),
        None => (key.referenced.to_string(), String::new()),
    };
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {name}({columns})",
        column_names(table, &key.columns)
    );
    if key.match_full {
        text.push_str(" MATCH FULL");
    }
    for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        if action != ReferentialAction::NoAction {
            text.push_str(&format!(" ON {event} {}", action_name(action)));
        }
    }
    text
}

pub fn action_name(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// pg_get_viewdef.
pub fn view_definition(relation: &Relation) -> Option<String> {
    let query = relation.view_query.as_ref()?;
    // PostgreSQL's text begins with the blank that its deparser puts before every clause.
    let space = if query.starts_with(' ') { "" } else { " " };
    Some(format!("{space}{};", query.trim_end_matches(';')))
}

/// What holds of an object of this kind while nothing was granted: the letters are those of acldefault.
pub fn default_acl(kind: &str, owner: Oid) -> Option<Vec<AclItem>> {
    use mote_sql::plan::privilege::*;
    const TABLE: u32 = INSERT | SELECT | UPDATE | DELETE | TRUNCATE | REFERENCES | TRIGGER;
    const SET_AND_ALTER_SYSTEM: u32 = 0b11 << 12;
    let (everybody, owners) = match kind {
        "c" => (0, 0),
        "r" => (0, TABLE),
        "s" => (0, SELECT | UPDATE | USAGE),
        "d" => (TEMPORARY | CONNECT, CREATE | TEMPORARY | CONNECT),
        "f" => (EXECUTE, EXECUTE),
        "l" | "T" => (USAGE, USAGE),
        "L" => (0, SELECT | UPDATE),
        "n" => (0, USAGE | CREATE),
        "p" => (0, SET_AND_ALTER_SYSTEM),
        "t" => (0, CREATE),
        "F" | "S" => (0, USAGE),
        _ => return None,
    };
    let item = |grantee, privileges| AclItem {
        grantee,
        grantor: owner,
        privileges,
        grant_options: 0,
    };
    let both = [item(Oid::INVALID, everybody), item(owner, owners)];
    Some(both.into_iter().filter(|item| item.privileges != 0).collect())
}

/// Privileges by the letters of `aclitem`, in the order of their bits.
const PRIVILEGE_LETTERS: &str = "arwdDxtXUCTcsA";

/// `grantee=letters/grantor`, with `*` behind a letter that may be passed on.
pub fn acl_item(facts: &Facts<'_>, item: &AclItem) -> String {
    let name = |oid: Oid| facts.role_name(oid).map_or_else(|| oid.to_string(), identifier);
    let grantee = if item.grantee == Oid::INVALID {
        String::new()
    } else {
        name(item.grantee)
    };
    let mut letters = String::new();
    for (bit, letter) in PRIVILEGE_LETTERS.chars().enumerate() {
        if item.privileges & 1 << bit != 0 {
            letters.push(letter);
            if item.grant_options & 1 << bit != 0 {
                letters.push('*');
            }
        }
    }
    format!("{grantee}={letters}/{}", name(item.grantor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enclosing_parentheses_are_taken_away() {
        assert_eq!(without_parentheses("(a > 0)"), "a > 0");
        assert_eq!(without_parentheses("(a) + (b)"), "(a) + (b)");
        assert_eq!(without_parentheses("((a + b) * c)"), "(a + b) * c");
        assert_eq!(without_parentheses("(a = ')(')"), "a = ')('");
        assert_eq!(without_parentheses("now()"), "now()");
    }

    fn key(target: IndexKeyTarget, descending: bool, nulls_first: bool) -> IndexKey {
        IndexKey {
            target,
            ty: mote_types::ColumnType::TEXT,
            descending,
            nulls_first,
        }
    }

    #[test]
    fn indexes_over_expressions() {
        let bound =
            || mote_sql::plan::expr::Expr::Constant(mote_types::Datum::Null, mote_types::ColumnType::TEXT);
        let expression = |text: &str| IndexKeyTarget::Expression(text.into(), bound());
        let table = crate::views::relation_by_name("pg_catalog", "pg_namespace").expect("exists");
        let index = IndexDescription {
            oid: Oid(20_000),
            name: "An index".into(),
            index: mote_common::IndexId(1),
            keys: vec![
                key(expression("lower(nspname)"), false, false),
                key(expression("(oid + 1)"), true, false),
                key(IndexKeyTarget::Column(1), false, true),
            ],
            include: vec![2],
            unique: true,
            primary: false,
            nulls_not_distinct: true,
            predicate: Some(("(oid > 5)".into(), bound())),
            valid: true,
        };
        let known = KnownIndex {
            table: &table,
            index: &index,
        };
        assert_eq!(
            create_index(known, "s.t", false),
            "CREATE UNIQUE INDEX \"An index\" ON s.t USING btree (lower(nspname), ((oid + 1)) DESC NULLS LAST, \
             nspname NULLS FIRST) INCLUDE (nspowner) NULLS NOT DISTINCT WHERE (oid > 5)"
        );
        assert_eq!(
            create_index(known, "t", true),
            "CREATE UNIQUE INDEX \"An index\" ON t USING btree (lower(nspname), (oid + 1) DESC NULLS LAST, \
             nspname NULLS FIRST) INCLUDE (nspowner) NULLS NOT DISTINCT WHERE oid > 5"
        );
        assert_eq!(index_column(known, 4, false).as_deref(), Some("nspowner"));
        assert_eq!(index_column(known, 5, false), None);
    }

    #[test]
    fn calls_are_told_from_expressions() {
        assert!(is_call("lower(name)"));
        assert!(is_call("pg_catalog.lower((a || b))"));
        assert!(!is_call("(lower(a) || b)"));
        assert!(!is_call("lower(a) || lower(b)"));
    }
}
