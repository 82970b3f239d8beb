//! Domains: CREATE DOMAIN and ALTER DOMAIN.
//!
//! A domain is stored as a type (`user_type` renames, moves and drops it) with its base type and its rules as text. Columns
//! name the domain beside the type of their values. A change of rules puts every table with such a column again, so that
//! plans and routes to partitions that hold the old rules are made anew.
//! Leaves out: how values are held to the rules (`mote_sql::bind`'s domain, `expr::domain`).

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{AdvisoryMode, TableLockMode};
use mote_grammar::ast::{
    AlterDomain, Constraint, ConstraintKind, CreateDomain, DomainChange, DropBehavior, Expr, QualifiedName,
    TypeName, deparse,
};
use mote_types::catalog::user::{domain_oid, is_domain};
use mote_types::{ColumnType, format_type, type_info};

use super::{columns, internal, qualify, schema, user_type};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{
    StoredDomain, StoredDomainCheck, StoredObject, StoredRelation, StoredUserType,
};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::{object_locks, write};
use mote_executor::context::StatementContext;

impl Command for CreateDomain {
    fn name(&self) -> &'static str {
        "CREATE DOMAIN"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

impl Command for AlterDomain {
    fn name(&self) -> &'static str {
        "ALTER DOMAIN"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

/// CREATE DOMAIN: PostgreSQL's DefineDomain (typecmds.c).
pub(super) fn create(create: &CreateDomain, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let name = schema::relation_name(&create.name);
    let (schema_oid, _) = schema::schema_for_creation(&name, context)?;
    user_type::claim_name(schema_oid, &name.name, context)?;
    if let Some(collation) = &create.collation {
        return Err(SqlError::unsupported(format_args!(
            "collation \"{}\"",
            collation.last()
        )));
    }
    let mut domain = base_of(&create.type_name, context)?;
    let mut rules = Rules {
        domain: &name.name,
        null: None,
        has_default: false,
    };
    for constraint in &create.constraints {
        rules.add(constraint, &mut domain, context)?;
    }
    let mut ty = user_type::new_type(domain_oid, schema_oid, &name.name, context)?;
    ty.domain = Some(domain);
    write::put(StoredObject::Type(ty), context)?;
    Ok(CommandTag::Word("CREATE DOMAIN"))
}

/// A domain over this type, without rules of its own. The default of a domain below is taken over.
fn base_of(type_name: &TypeName, context: &StatementContext<'_>) -> SqlResult<StoredDomain> {
    let catalog = &context.session.catalog;
    // PostgreSQL shows no place for these errors.
    let (base, of) = mote_sql::resolve_declared_type(type_name, catalog)?;
    // Pseudo-types have no values.
    if type_info(base.oid).is_some_and(|info| info.kind == b'p') {
        let message = format!("\"{}\" is not a valid base type for a domain", base.name());
        return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    }
    let below = of.and_then(|of| catalog.current().user_type(of).cloned());
    let below = below.and_then(|below| below.stored.domain.clone());
    Ok(StoredDomain {
        type_oid: base.oid.0,
        typmod: base.typmod,
        of: of.map_or(0, |of| of.0),
        not_null: false,
        default: below.and_then(|below| below.default),
        checks: Vec::new(),
    })
}

/// The type of the domain's values.
fn type_of(domain: &StoredDomain) -> ColumnType {
    ColumnType::with_typmod(Oid(domain.type_oid), domain.typmod)
}

/// The rules of CREATE DOMAIN, while they are read.
struct Rules<'a> {
    domain: &'a str,
    /// As declared: nothing, NULL or NOT NULL.
    null: Option<bool>,
    has_default: bool,
}

impl Rules<'_> {
    /// Reads one constraint into the domain.
    fn add(
        &mut self,
        constraint: &Constraint,
        domain: &mut StoredDomain,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let refused = |message: &str| Err(SqlError::new(state::SYNTAX_ERROR, message));
        refuse_options(constraint)?;
        match &constraint.kind {
            ConstraintKind::Null | ConstraintKind::NotNull { .. } => {
                let not_null = constraint.kind != ConstraintKind::Null;
                if self.null.is_some_and(|known| known == not_null) {
                    return refused("conflicting NULL/NOT NULL constraints");
                }
                self.null = Some(!not_null);
                domain.not_null = not_null;
            }
            ConstraintKind::Default(value) => {
                if self.has_default {
                    return refused("multiple default expressions");
                }
                self.has_default = true;
                domain.default = default_of(value, self.domain, type_of(domain), context)?;
            }
            ConstraintKind::Check(expression) => {
                let check = check_of(constraint, expression, self.domain, domain, context)?;
                domain.checks.push(check);
            }
            _ => return refused(kind_refused(&constraint.kind)),
        }
        Ok(())
    }
}

/// What PostgreSQL says of constraints that only tables have.
fn kind_refused(kind: &ConstraintKind) -> &'static str {
    match kind {
        ConstraintKind::Unique(_) => "unique constraints not possible for domains",
        ConstraintKind::PrimaryKey(_) => "primary key constraints not possible for domains",
        ConstraintKind::Exclude(_) => "exclusion constraints not possible for domains",
        ConstraintKind::ForeignKey(_) => "foreign key constraints not possible for domains",
        ConstraintKind::Identity { .. } => "specifying GENERATED not supported for domains",
        ConstraintKind::Generated { .. } => "specifying GENERATED not supported for domains",
        _ => "unrecognized constraint subtype",
    }
}

/// Options of constraints that have no meaning without a table.
fn refuse_options(constraint: &Constraint) -> SqlResult<()> {
    if constraint.deferrable || constraint.initially_deferred {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "specifying constraint deferrability not supported for domains",
        ));
    }
    if constraint.no_inherit {
        return Err(SqlError::new(
            state::INVALID_OBJECT_DEFINITION,
            "check constraints for domains cannot be marked NO INHERIT",
        ));
    }
    if constraint.not_enforced {
        return Err(SqlError::unsupported("NOT ENFORCED"));
    }
    Ok(())
}

/// The text of a default; none for NULL.
fn default_of(
    value: &Expr,
    domain: &str,
    ty: ColumnType,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<String>> {
    let text = columns::default_text(value, domain, ty, context)?;
    // DEFAULT NULL undoes the default of the domain below.
    Ok((!text.eq_ignore_ascii_case("null")).then_some(text))
}

/// A CHECK, bound over VALUE for its errors, with a name that the domain has not.
fn check_of(
    constraint: &Constraint,
    expression: &Expr,
    name: &str,
    domain: &StoredDomain,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredDomainCheck> {
    let text = qualify::kept_text(expression, &context.session.catalog);
    let base = type_of(domain);
    // VALUE has the base type: the rules of the domain itself are not assumed.
    internal::on_large_stack(context, |session| {
        mote_sql::bind_domain_condition(&text, base, &session.catalog)
    })?;
    let taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let chosen = match &constraint.name {
        Some(given) if taken(given) => {
            let message = format!("constraint \"{given}\" for domain \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
        }
        Some(given) => given.to_string(),
        None => free_name(name, taken),
    };
    Ok(StoredDomainCheck {
        oid: context.database.catalog().allocate_oid().0,
        name: chosen,
        expression: text,
        validated: !constraint.not_valid,
        comment: None,
    })
}

/// `name_check`, `name_check1`, ..
fn free_name(domain: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = format!("{domain}_check");
    let numbered = (1..).map(|number| format!("{plain}{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !taken(name)).expect("some number is free")
}

/// The domain of this name, for its owner, locked against other changes.
fn to_change(
    name: &QualifiedName,
    context: &mut StatementContext<'_>,
) -> SqlResult<(StoredUserType, StoredDomain)> {
    let ty = user_type::to_change(name, context)?;
    match ty.domain.clone() {
        Some(domain) => Ok((ty, domain)),
        None => Err(not_a_domain(&ty)),
    }
}

/// 42809 for a type that is none.
fn not_a_domain(ty: &StoredUserType) -> SqlError {
    let message = format!("{} is not a domain", format_type(Oid(ty.oid), -1));
    SqlError::new(state::WRONG_OBJECT_TYPE, message)
}

/// 42704 in the words of ALTER DOMAIN.
fn missing_check(constraint: &str, ty: &StoredUserType) -> SqlError {
    let domain = format_type(Oid(ty.oid), -1);
    let message = format!("constraint \"{constraint}\" of domain \"{domain}\" does not exist");
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

/// The same in the words of RENAME and COMMENT.
fn unknown_check(constraint: &str, ty: &StoredUserType) -> SqlError {
    let domain = format_type(Oid(ty.oid), -1);
    let message = format!("constraint \"{constraint}\" for domain {domain} does not exist");
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

/// ALTER DOMAIN. A rule is looked for in the rows that exist before it is written.
pub(super) fn alter(alter: &AlterDomain, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let (mut ty, mut domain) = to_change(&alter.name, context)?;
    match &alter.change {
        DomainChange::SetDefault(value) => {
            domain.default = default_of(value, &ty.name, type_of(&domain), context)?;
        }
        DomainChange::DropDefault => domain.default = None,
        DomainChange::SetNotNull => {
            if !domain.not_null {
                validate(&ty, None, context)?;
            }
            domain.not_null = true;
        }
        DomainChange::DropNotNull => domain.not_null = false,
        DomainChange::Add(constraint) => add_check(constraint, &ty, &mut domain, context)?,
        DomainChange::Drop {
            constraint,
            if_exists,
            behavior: DropBehavior::Restrict | DropBehavior::Cascade,
        } => drop_check(constraint, *if_exists, &ty, &mut domain, context)?,
        DomainChange::Validate(constraint) => {
            let at = domain.checks.iter().position(|check| check.name == **constraint);
            let at = at.ok_or_else(|| missing_check(constraint, &ty))?;
            if !domain.checks[at].validated {
                validate(&ty, Some(&domain.checks[at].expression), context)?;
                domain.checks[at].validated = true;
            }
        }
    }
    ty.domain = Some(domain);
    put(ty, context)?;
    Ok(CommandTag::Word("ALTER DOMAIN"))
}

/// ADD CONSTRAINT; with NOT VALID rows that exist are left alone.
fn add_check(
    constraint: &Constraint,
    ty: &StoredUserType,
    domain: &mut StoredDomain,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    refuse_options(constraint)?;
    let ConstraintKind::Check(expression) = &constraint.kind else {
        return Err(SqlError::new(state::SYNTAX_ERROR, kind_refused(&constraint.kind)));
    };
    let check = check_of(constraint, expression, &ty.name, domain, context)?;
    if check.validated {
        validate(ty, Some(&check.expression), context)?;
    }
    domain.checks.push(check);
    Ok(())
}

/// DROP CONSTRAINT.
fn drop_check(
    constraint: &str,
    if_exists: bool,
    ty: &StoredUserType,
    domain: &mut StoredDomain,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let before = domain.checks.len();
    domain.checks.retain(|check| check.name != *constraint);
    if domain.checks.len() < before {
        return Ok(());
    }
    let missing = missing_check(constraint, ty);
    if !if_exists {
        return Err(missing);
    }
    let message = format!("{}, skipping", missing.message());
    schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
    Ok(())
}

/// ALTER DOMAIN .. RENAME CONSTRAINT.
pub(super) fn rename_constraint(
    name: &QualifiedName,
    old: &str,
    new: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let (mut ty, mut domain) = to_change(name, context)?;
    if domain.checks.iter().any(|check| check.name == *new) {
        let message = format!("constraint \"{new}\" for domain \"{}\" already exists", ty.name);
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    let found = domain.checks.iter_mut().find(|check| check.name == *old);
    found.ok_or_else(|| unknown_check(old, &ty))?.name = new.to_string();
    ty.domain = Some(domain);
    put(ty, context)?;
    Ok(CommandTag::Word("ALTER DOMAIN"))
}

/// COMMENT ON CONSTRAINT .. ON DOMAIN.
pub(super) fn comment_on_constraint(
    domain_name: &QualifiedName,
    constraint: &str,
    text: Option<String>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let (mut ty, mut domain) = to_change(domain_name, context)?;
    let found = domain.checks.iter_mut().find(|check| check.name == *constraint);
    found.ok_or_else(|| unknown_check(constraint, &ty))?.comment = text;
    ty.domain = Some(domain);
    write::put(StoredObject::Type(ty), context)
}

/// Stores a domain, and once more the tables and domains that plans may know its rules by.
fn put(ty: StoredUserType, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let tables = tables_of(Oid(ty.oid), context);
    write::put(StoredObject::Type(ty), context)?;
    for entry in tables {
        write::put(StoredObject::Relation(entry.stored.clone()), context)?;
    }
    Ok(())
}

/// True if values of `domain` are values of `wanted`.
pub(super) fn is_made_of(domain: Oid, wanted: Oid, context: &StatementContext<'_>) -> bool {
    let catalog = context.session.catalog.current();
    let mut next = domain;
    while is_domain(next) {
        if next == wanted {
            return true;
        }
        let stored = catalog
            .user_type(next)
            .and_then(|entry| entry.stored.domain.as_ref());
        next = stored.map_or(Oid::INVALID, |stored| Oid(stored.of));
    }
    false
}

/// Tables with a column of the domain, or of one that is made of it, in order of making.
fn tables_of(domain: Oid, context: &StatementContext<'_>) -> Vec<Arc<RelationEntry>> {
    let catalog = context.session.catalog.current();
    let mut found: Vec<_> = catalog
        .relations()
        .filter(|entry| !columns_of(&entry.stored, domain, context).is_empty())
        .cloned()
        .collect();
    found.sort_by_key(|entry| entry.stored.oid);
    found
}

/// Positions of a table's columns that are of the domain, or of one made of it.
fn columns_of(table: &StoredRelation, domain: Oid, context: &StatementContext<'_>) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    let of = |known: u32| is_made_of(Oid(known), domain, context);
    columns
        .filter(|(_, column)| !column.dropped && column.domain.is_some_and(of))
        .map(|(position, _)| position)
        .collect()
}

/// Every row that exists must keep a new rule: the condition, or NOT NULL. Writers are kept away until the rule is in
/// force.
fn validate(
    ty: &StoredUserType,
    condition: Option<&str>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let domain = Oid(ty.oid);
    // Nobody makes another table with the domain meanwhile.
    object_locks::lock_type(domain, AdvisoryMode::Exclusive, context)?;
    // Share keeps writers out and lets readers in. The caller holds the locks until its rule is committed.
    for entry in tables_of(domain, context) {
        let Some(entry) = schema::lock_entry(&entry, TableLockMode::Share, context)? else {
            continue;
        };
        for position in columns_of(&entry.stored, domain, context) {
            validate_column(&entry.stored, position, condition, context)?;
        }
    }
    Ok(())
}

/// Looks for a value in one column that breaks the rule.
fn validate_column(
    table: &StoredRelation,
    position: usize,
    condition: Option<&str>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let column = &table.columns[position].name;
    let quoted = deparse::identifier(column);
    let broken = match condition {
        None => format!("{quoted} IS NULL"),
        // The condition is over VALUE: the column gets this name in a sub-query. NULL is no violation.
        Some(condition) => format!("NOT (SELECT ({condition}) FROM (SELECT t.{quoted} AS value) v)"),
    };
    let text = format!(
        "SELECT 1 FROM {} t WHERE {broken} LIMIT 1",
        schema::own_rows(table, context)
    );
    if internal::first_row(&text, context)?.is_none() {
        return Ok(());
    }
    let (code, what) = match condition {
        None => (state::NOT_NULL_VIOLATION, "contains null values"),
        Some(_) => (
            state::CHECK_VIOLATION,
            "contains values that violate the new constraint",
        ),
    };
    let message = format!("column \"{column}\" of table \"{}\" {what}", table.name);
    Err(SqlError::new(code, message)
        .table(schema::schema_name(table, context), table.name.as_str())
        .column(column.as_str()))
}
