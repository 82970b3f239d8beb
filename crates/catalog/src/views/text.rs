//! Stored objects as the SQL that would make them: pg_get_indexdef, pg_get_constraintdef, pg_get_viewdef, ACL items.
//!
//! Expressions are kept as the deparser printed them, operators parenthesised; the pretty forms, which psql asks for,
//! leave the outermost parentheses away.

use mote_common::Oid;
use mote_grammar::ast::deparse::identifier;
use mote_sql::access::AclItem;
use mote_sql::builtin::operator::operators_of_function;
use mote_sql::catalog::trigger::{ConstraintTrigger, Trigger, TriggerTiming};
use mote_sql::catalog::{
    Column, Constraint, ConstraintKind, ForeignKey, IndexDescription, IndexKey, IndexKeyTarget,
    ReferentialAction, Relation,
};

use mote_planner::plan::deparse::deparse;
use mote_sql::expr::Expr;
use mote_types::catalog::extension::is_extension_type;
use mote_types::signature::OperatorClass;
use mote_types::{format_type, oid};

use super::builtin::operator_class;
use super::condition;
use super::facts::{Facts, KnownIndex};
use super::object_text;
use crate::catalog_store::SessionCatalog;
use crate::catalog_store::index_texts::mentions_user_type;
pub use crate::name_text::qualified;

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
        let (schema, bare) = crate::name_text::split_name(&name);
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
    shown_relations(facts.session.catalog, text)
}

/// The same of a whole query.
pub fn shown_relations(catalog: &SessionCatalog, text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(end) = rest.find(CAST) {
        let start = literal_start(rest, end);
        let name = rest[start..end].replace("''", "'");
        shown.push_str(&rest[..start]);
        shown.push_str(&shown_relation(catalog, &name).replace('\'', "''"));
        shown.push_str(CAST);
        rest = &rest[end + CAST.len()..];
    }
    shown.push_str(rest);
    shown
}

/// A column's default, or the expression that generates it, stored as it was written.
pub fn shown_default(facts: &Facts<'_>, relation: &Relation, column: &Column, text: &str) -> String {
    if column.generated.is_some() {
        let shown = condition::of_generated(facts, relation.oid, text);
        return shown.unwrap_or_else(|| shown_expression(facts, text));
    }
    if let Some(simple) = simple_default(column, text) {
        debug_assert!(
            condition::of_default(facts, column.ty, text).is_none_or(|spelled| spelled == simple),
            "{text} is shown as {simple}"
        );
        return shown_expression(facts, &simple);
    }
    let spelled = condition::of_default(facts, column.ty, text);
    shown_expression(facts, spelled.as_deref().unwrap_or(text))
}

/// What most defaults are, without binding them: clients ask for those of one table after the other, and each time all are made.
fn simple_default(column: &Column, text: &str) -> Option<String> {
    if column.domain.is_some() {
        return None;
    }
    let is_count = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_string = text.len() > 1
        && text.starts_with('\'')
        && text.ends_with('\'')
        && literal_start(text, text.len() - 1) == 1;
    let of_sequence = text
        .strip_prefix("nextval('")
        .and_then(|rest| rest.strip_suffix("'::regclass)"));
    match column.ty.oid {
        oid::INT4 | oid::INT8 if of_sequence.is_some_and(|name| !name.contains('\'')) => Some(text.into()),
        oid::INT2 | oid::INT4 | oid::INT8 if is_count && (text == "0" || !text.starts_with('0')) => {
            Some(text.into())
        }
        oid::BOOL if matches!(text, "true" | "false") => Some(text.into()),
        oid::TIMESTAMPTZ if matches!(text, "now()" | "CURRENT_TIMESTAMP") => Some(text.into()),
        oid::TEXT | oid::VARCHAR if is_string => Some(format!("{text}::{}", format_type(column.ty.oid, -1))),
        _ => None,
    }
}

/// The shortest name of the relation that `name` stands for; `name` itself if there is none.
fn shown_relation(catalog: &SessionCatalog, name: &str) -> String {
    use mote_sql::catalog::CatalogView;
    let (schema, bare) = crate::name_text::split_name(name);
    match catalog.relation_by_name(schema.as_deref(), &bare) {
        Some(relation) => {
            object_text::name(oid::REGCLASS, relation.oid, catalog).unwrap_or_else(|| name.to_string())
        }
        None => name.to_string(),
    }
}

/// pg_get_expr in the pretty form, of what stands in the catalog in the plain one.
pub fn pretty_expression(plain: &str) -> String {
    condition::pretty(plain).unwrap_or_else(|| without_parentheses(plain).to_string())
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

/// Whether the expression is one call, which an index key shows without parentheses around it.
fn is_call(expr: &Expr) -> bool {
    match expr {
        Expr::Call { function, .. } => operators_of_function(*function).next().is_none(),
        Expr::Coalesce { .. } | Expr::MinMax { .. } | Expr::NullIf { .. } => true,
        _ => false,
    }
}

/// One key of an index, without its order.
pub fn index_key(relation: &Relation, key: &IndexKey, pretty: bool) -> String {
    match &key.target {
        IndexKeyTarget::Column(position) => column_name(relation, *position),
        IndexKeyTarget::Expression(text, expr) => {
            let shown = shown_part(relation, text, expr, pretty);
            if is_call(expr) {
                shown
            } else {
                format!("({shown})")
            }
        }
    }
}

/// An expression that is a key, in the pretty form.
pub fn expression_key(expr: &Expr, names: &[String]) -> String {
    let shown = deparse(expr, names, true);
    if is_call(expr) {
        shown
    } else {
        format!("({shown})")
    }
}

/// Operators over values of extensions are shown with their schema, where that is not searched.
fn has_extension_type(expr: &Expr) -> bool {
    expr.any(&mut |part| is_extension_type(part.ty().oid))
}

/// An expression of an index: as it is kept, with the names that its types and values have now; or with the parentheses left out that it can do without.
pub fn shown_part(relation: &Relation, text: &str, expr: &Expr, pretty: bool) -> String {
    match pretty {
        false if !mentions_user_type(text) && !has_extension_type(expr) => text.to_string(),
        _ => deparse(expr, &relation.quoted_column_names(), pretty),
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

/// What follows a key: collation, operator class, order.
fn properties(key: &IndexKey) -> String {
    let mut shown = String::new();
    if let Some(collation) = &key.collation {
        shown.push_str(&format!(" COLLATE {}", quoted_always(collation)));
    }
    if let Some(class) = key.operator_class.and_then(operator_class) {
        shown.push_str(&format!(" {}", class_name(class)));
    }
    shown.push_str(order(key));
    shown
}

/// One of an extension is in the schema of its type.
fn class_name(class: &OperatorClass) -> String {
    let ty = format_type(class.input, -1);
    let schema = ty.rfind('.').filter(|_| is_extension_type(class.input));
    format!("{}{}", schema.map_or("", |dot| &ty[..=dot]), class.name)
}

/// Collations have capitals, or are keywords.
fn quoted_always(name: &str) -> String {
    let shown = identifier(name);
    match shown.starts_with('"') || name != "default" {
        true => shown,
        false => format!("\"{name}\""),
    }
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
    // Partitions have indexes of their own.
    let on = if table.is_partitioned() {
        format!("ONLY {on}")
    } else {
        on
    };
    create_index(known, &on, pretty)
}

fn create_index(KnownIndex { table, index }: KnownIndex<'_>, on: &str, pretty: bool) -> String {
    let keys: Vec<String> = index
        .keys
        .iter()
        .map(|key| index_key(table, key, pretty) + &properties(key))
        .collect();
    let mut text = format!(
        "CREATE {}INDEX {} ON {on} USING {} ({})",
        if index.unique { "UNIQUE " } else { "" },
        identifier(&index.name),
        index.method.name(),
        keys.join(", ")
    );
    text.push_str(&included(table, index));
    if index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    text.push_str(&index_options(&index.options));
    if let Some((predicate, expr)) = &index.predicate {
        text.push_str(" WHERE ");
        text.push_str(&shown_part(table, predicate, expr, pretty));
    }
    text
}

/// Storage parameters; values that are no plain words are quoted.
fn index_options(options: &[String]) -> String {
    let shown = options.iter().filter_map(|option| {
        let (name, value) = option.split_once('=')?;
        Some(match identifier(value) == value {
            true => format!("{}={value}", identifier(name)),
            false => format!("{}='{}'", identifier(name), value.replace('\'', "''")),
        })
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", shown.join(", ")),
    }
}

fn included(table: &Relation, index: &IndexDescription) -> String {
    if index.include.is_empty() {
        return String::new();
    }
    format!(" INCLUDE ({})", column_names(table, &index.include))
}

/// CREATE TRIGGER.
pub fn trigger_definition(facts: &Facts<'_>, table: &Relation, trigger: &Trigger, pretty: bool) -> String {
    let constraint = if trigger.constraint.is_some() {
        "CONSTRAINT "
    } else {
        ""
    };
    let timing = match trigger.timing {
        TriggerTiming::Before => "BEFORE",
        TriggerTiming::After => "AFTER",
        TriggerTiming::InsteadOf => "INSTEAD OF",
    };
    let mut events = Vec::new();
    if trigger.events.insert {
        events.push("INSERT".to_string());
    }
    if trigger.events.delete {
        events.push("DELETE".to_string());
    }
    if trigger.events.update {
        events.push(match trigger.columns.is_empty() {
            true => "UPDATE".to_string(),
            false => format!("UPDATE OF {}", column_names(table, &trigger.columns)),
        });
    }
    if trigger.events.truncate {
        events.push("TRUNCATE".to_string());
    }
    let on = match pretty {
        true => visible_name(facts, table),
        false => qualified(&table.schema, &table.name),
    };
    let mut text = format!(
        "CREATE {constraint}TRIGGER {} {timing} {} ON {on} ",
        identifier(&trigger.name),
        events.join(" OR ")
    );
    if let Some(constraint) = trigger.constraint {
        text.push_str(&deferral(facts, constraint));
    }
    if trigger.old_table.is_some() || trigger.new_table.is_some() {
        text.push_str("REFERENCING ");
    }
    for (word, name) in [("OLD", &trigger.old_table), ("NEW", &trigger.new_table)] {
        if let Some(name) = name {
            text.push_str(&format!("{word} TABLE AS {} ", identifier(name)));
        }
    }
    text.push_str(match trigger.for_each_row {
        true => "FOR EACH ROW ",
        false => "FOR EACH STATEMENT ",
    });
    if let Some(condition) = &trigger.condition {
        let bare = without_parentheses(condition);
        let shown = condition::of_trigger(facts, table.oid, condition, pretty);
        let shown = shown.unwrap_or_else(|| match pretty || bare == condition {
            true => bare.to_string(),
            false => format!("({bare})"),
        });
        text.push_str(&format!("WHEN ({shown}) "));
    }
    text + &trigger_call(facts, trigger)
}

/// What pg_get_constraintdef shows of a constraint trigger.
pub fn constraint_trigger_definition(constraint: ConstraintTrigger) -> &'static str {
    match (constraint.deferrable, constraint.initially_deferred) {
        (_, true) => "TRIGGER DEFERRABLE INITIALLY DEFERRED",
        (true, false) => "TRIGGER DEFERRABLE",
        (false, false) => "TRIGGER",
    }
}

/// What stands behind the timing of a constraint trigger.
fn deferral(facts: &Facts<'_>, constraint: ConstraintTrigger) -> String {
    let referenced = constraint.referenced.and_then(|oid| facts.relation(oid));
    let from = referenced.map(|other| format!("FROM {} ", visible_name(facts, other.relation)));
    let not = if constraint.deferrable { "" } else { "NOT " };
    let initially = match constraint.initially_deferred {
        true => "DEFERRED",
        false => "IMMEDIATE",
    };
    format!(
        "{}{not}DEFERRABLE INITIALLY {initially} ",
        from.unwrap_or_default()
    )
}

/// `EXECUTE FUNCTION f('a')`.
pub fn trigger_call(facts: &Facts<'_>, trigger: &Trigger) -> String {
    let function = facts
        .catalog
        .routine(trigger.function)
        .map(|entry| &entry.described);
    let name = match function {
        Some(function) if facts.schema_is_searched(function.schema_oid) => identifier(&function.name),
        Some(function) => qualified(&function.schema, &function.name),
        None => trigger.function.to_string(),
    };
    let arguments: Vec<String> = trigger.arguments.iter().map(|text| literal(text)).collect();
    format!("EXECUTE FUNCTION {name}({})", arguments.join(", "))
}

/// A text as a string literal.
fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
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
            let shown = condition::of_table(facts, table.oid, expression, pretty);
            let only = if constraint.no_inherit { " NO INHERIT" } else { "" };
            format!("{}{only}", check(shown, expression, pretty))
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

/// CHECK with its condition: `shown`, or as it was written.
pub fn check(shown: Option<String>, written: &str, pretty: bool) -> String {
    match (shown, pretty) {
        (Some(shown), _) => format!("CHECK ({shown})"),
        (None, true) => format!("CHECK ({})", without_parentheses(written)),
        (None, false) => format!("CHECK (({}))", without_parentheses(written)),
    }
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
    if !key.on_delete_columns.is_empty() {
        text.push_str(&format!(" ({})", column_names(table, &key.on_delete_columns)));
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

/// What holds of an object of this kind while nothing was granted: the letters are those of acldefault.
pub fn default_acl(kind: &str, owner: Oid) -> Option<Vec<AclItem>> {
    use mote_sql::access::privilege::*;
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
            name: None,
            ty: mote_types::ColumnType::TEXT,
            collation: None,
            operator_class: None,
            descending,
            nulls_first,
        }
    }

    use mote_common::SqlResult;
    use mote_types::Datum;

    /// For texts in which nothing has to be evaluated.
    struct NoLiterals;

    impl mote_sql::expr::ConstantFolder for NoLiterals {
        fn fold(&self, _: &Expr) -> Option<Datum> {
            None
        }
    }

    impl crate::catalog_store::index_texts::Evaluation for NoLiterals {
        fn literal(&self, cast: &Expr) -> SqlResult<Datum> {
            unreachable!("{cast:?}")
        }

        fn key_provider(&self) -> std::sync::Arc<dyn mote_engine::KeyExpressionProvider> {
            unreachable!("no key is asked for")
        }
    }

    #[test]
    fn indexes_over_expressions() {
        let catalog = &crate::catalog_store::index_texts::Builtins;
        let table = crate::views::relation_by_name("pg_catalog", "pg_namespace").expect("exists");
        let texts = ["lower((nspname)::text)", "((oid)::bigint + 1)"];
        let bound =
            crate::catalog_store::index_texts::bind(&texts, Some("(oid > 5)"), &table, catalog, &NoLiterals)
                .expect("binds");
        let expression = |number: usize| {
            IndexKeyTarget::Expression(texts[number].into(), bound.expressions[number].clone())
        };
        let mut pattern = key(IndexKeyTarget::Column(1), false, true);
        pattern.operator_class = Some(Oid(4217));
        pattern.collation = Some("C".into());
        let index = IndexDescription {
            oid: Oid(20_000),
            name: "An index".into(),
            index: mote_common::IndexId(1),
            method: mote_sql::catalog::index_method::IndexMethod::Btree,
            keys: vec![
                key(expression(0), false, false),
                key(expression(1), true, false),
                pattern,
            ],
            include: vec![2],
            unique: true,
            immediate: true,
            primary: false,
            nulls_not_distinct: true,
            predicate: Some(("(oid > 5)".into(), bound.predicate.clone().expect("bound"))),
            valid: true,
            clustered: false,
            parent: None,
            options: vec!["fillfactor=70".into(), "deduplicate_items=off".into()],
        };
        let known = KnownIndex {
            table: &table,
            index: &index,
        };
        assert_eq!(
            create_index(known, "s.t", false),
            "CREATE UNIQUE INDEX \"An index\" ON s.t USING btree (lower((nspname)::text), (((oid)::bigint + 1)) DESC \
             NULLS LAST, nspname COLLATE \"C\" text_pattern_ops NULLS FIRST) INCLUDE (nspowner) NULLS NOT DISTINCT \
             WITH (fillfactor='70', deduplicate_items=off) WHERE (oid > 5)"
        );
        assert_eq!(
            create_index(known, "t", true),
            "CREATE UNIQUE INDEX \"An index\" ON t USING btree (lower(nspname::text), (oid::bigint + 1) DESC NULLS LAST, \
             nspname COLLATE \"C\" text_pattern_ops NULLS FIRST) INCLUDE (nspowner) NULLS NOT DISTINCT \
             WITH (fillfactor='70', deduplicate_items=off) WHERE oid > '5'::oid"
        );
        assert_eq!(index_column(known, 4, false).as_deref(), Some("nspowner"));
        assert_eq!(index_column(known, 5, false), None);
    }
}
