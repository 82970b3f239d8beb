//! Domains: a base type with rules for its values.
//!
//! An expression has the base type, never the domain: operators, functions and storage are those of the base type. What
//! enters the domain, by a cast or into a column, goes through `Expr::Domain`, which holds the value to the rules.
//! Invariant: a plan that holds rules lists the domains as its dependencies.
//! Leaves out: making and changing domains (`mote_commands`).

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_types::ColumnType;

use super::Binder;
use super::relation_expression::{RelationExpression, parse_expression};
use super::scope::{Clause, Level};
use crate::access::Dependency;
use crate::catalog::{CatalogView, Column, Relation};
use crate::expr::{DomainExpr, DomainRule, DomainRules, Expr};

/// The name by which a rule calls the value.
const VALUE: &str = "value";

impl Binder<'_> {
    /// The value on its way into the domain.
    pub(super) fn into_domain(&mut self, argument: Expr, domain: Oid) -> SqlResult<Expr> {
        let ty = argument.ty();
        let rules = self.domain_rules(domain)?;
        Ok(Expr::Domain(Box::new(DomainExpr {
            argument,
            rules,
            ty,
            is_test: false,
        })))
    }

    /// Conditions that raise the error of a domain for a row with a value that breaks its rules.
    pub(super) fn domain_checks(&mut self, relation: &Relation) -> SqlResult<Vec<(String, Expr)>> {
        let mut checks = Vec::new();
        for (position, column) in relation.columns.iter().enumerate() {
            let Some(domain) = column.domain.filter(|_| !column.dropped) else {
                continue;
            };
            let argument = Expr::Column {
                index: position as u16,
                ty: column.ty,
            };
            let rules = self.domain_rules(domain)?;
            if rules.rules.is_empty() {
                continue;
            }
            let check = Expr::Domain(Box::new(DomainExpr {
                argument,
                rules,
                ty: ColumnType::BOOL,
                is_test: true,
            }));
            checks.push((column.name.clone(), check));
        }
        Ok(checks)
    }

    /// The rules of a domain and of those that it is made of: NOT NULL first, then the checks from the innermost outwards.
    fn domain_rules(&mut self, domain: Oid) -> SqlResult<Arc<DomainRules>> {
        let (mut levels, mut next) = (Vec::new(), domain);
        while next != Oid::INVALID {
            let known = self.catalog.user_type(next);
            let known = known.ok_or_else(|| SqlError::internal(format!("there is no domain {next}")))?;
            let described = known.domain.clone();
            let described =
                described.ok_or_else(|| SqlError::internal(format!("type {next} is no domain")))?;
            let dependency = Dependency {
                object: next,
                version: known.version,
            };
            if !self.dependencies.iter().any(|known| known.object == next) {
                self.dependencies.push(dependency);
            }
            next = described.of;
            levels.push((known, described));
        }
        let mut rules = Vec::new();
        if levels.iter().any(|(_, described)| described.not_null) {
            rules.push(DomainRule::NotNull);
        }
        for (_, described) in levels.iter().rev() {
            let mut checks: Vec<_> = described.checks.iter().collect();
            checks.sort_by(|a, b| a.name.cmp(&b.name));
            for check in checks {
                rules.push(DomainRule::Check {
                    name: check.name.clone(),
                    condition: self.rule_condition(&check.expression, described.base)?,
                });
            }
        }
        Ok(Arc::new(DomainRules {
            domain,
            schema: levels[0].0.schema.clone(),
            name: levels[0].0.name.clone(),
            rules,
        }))
    }

    fn rule_condition(&mut self, text: &str, base: ColumnType) -> SqlResult<Expr> {
        self.stored_expression(text, &value_row(base), RelationExpression::Check, None)
    }
}

/// The row over which a rule is bound: the value alone.
fn value_row(base: ColumnType) -> Arc<Relation> {
    Arc::new(Relation::of_columns("", vec![Column::new(VALUE, base)]))
}

/// Binds the condition of a rule as a statement gives it, to see that it can be.
pub fn bind_domain_condition(text: &str, base: ColumnType, catalog: &dyn CatalogView) -> SqlResult<Expr> {
    let mut binder = Binder::new(catalog, "", &[]);
    binder.parameters_open = false;
    binder.levels.push(Level::new(Clause::Check));
    let parsed = parse_expression(text)?;
    binder.relation_expression(&parsed, &value_row(base), RelationExpression::Check, None)
}

/// A column's default: its own, else that of its domain.
pub fn column_default(column: &Column, catalog: &dyn CatalogView) -> Option<String> {
    let of_domain = || {
        catalog
            .user_type(column.domain?)?
            .domain
            .as_ref()?
            .default
            .clone()
    };
    column.default.clone().or_else(of_domain)
}
