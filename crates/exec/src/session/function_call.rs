//! The function call message: one function, named by its OID, runs without a statement. libpq's large objects use it.
//!
//! It is a SELECT of that call, so that privileges, nulls, transactions and plans that stay are those of any statement.

use std::fmt::Write;
use std::sync::Arc;

use mote_catalog::host::Host;
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_executor::plans::Prepared;
use mote_sql::builtin::function::{AGGREGATES, FUNCTIONS, WINDOWS};
use mote_sql::catalog::CatalogView;
use mote_sql::routine::RoutineKind;
use mote_types::{ColumnType, Datum};

use super::Session;

/// A function that is about to be called.
pub struct CalledFunction {
    prepared: Arc<Prepared>,
    pub arguments: Vec<ColumnType>,
}

/// What the message's OID stands for.
struct Named {
    schema: String,
    name: String,
    arguments: Vec<Oid>,
    /// Neither a procedure nor one that yields sets.
    plain: bool,
}

impl Session {
    /// Finds a function and plans its call.
    pub fn called_function(&mut self, function: Oid, host: &mut dyn Host) -> SqlResult<CalledFunction> {
        // Named by OID: the client has looked it up by itself, as libpq does for large objects.
        let named = self.function_named(function).ok_or_else(|| {
            let message = format!("function with OID {function} does not exist");
            SqlError::new(state::UNDEFINED_FUNCTION, message)
        })?;
        // PostgreSQL: HandleFunctionRequest in fastpath.c.
        if !named.plain {
            let message = format!("cannot call function \"{}\" via fastpath interface", named.name);
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        // The text depends on nothing but the function, so that the plan is found in the cache.
        let prepared = self.prepare(&call_text(&named), &named.arguments, host)?;
        Ok(CalledFunction {
            prepared,
            arguments: named.arguments.into_iter().map(ColumnType::new).collect(),
        })
    }

    fn function_named(&self, function: Oid) -> Option<Named> {
        // First: most calls are of these, and their OIDs are never a user's.
        if let Some(named) = built_in(function) {
            return Some(named);
        }
        let catalog = self.state.catalog.current();
        let routine = self.state.catalog.routine(function)?;
        let schema = catalog.schemas.get(&routine.schema_oid)?;
        let inputs = routine
            .arguments
            .iter()
            .filter(|argument| argument.mode.is_input());
        Some(Named {
            schema: schema.object.name.clone(),
            name: routine.name.clone(),
            arguments: inputs.map(|argument| argument.ty.ty.oid).collect(),
            plain: routine.kind == RoutineKind::Function && !routine.returns_set,
        })
    }

    /// Calls it as a statement of its own: a transaction that it begins ends with it.
    pub fn call_function(
        &mut self,
        function: CalledFunction,
        arguments: Vec<Datum>,
        host: &mut dyn Host,
    ) -> SqlResult<()> {
        self.follow_server_settings(host)?;
        self.start_statement(&function.prepared.text);
        self.query_prepared(function.prepared, arguments, true, host)
    }
}

fn built_in(function: Oid) -> Option<Named> {
    let named = |name: &str, arguments: &[Oid], plain| Named {
        schema: "pg_catalog".into(),
        name: name.into(),
        arguments: arguments.to_vec(),
        plain,
    };
    if let Some(found) = FUNCTIONS.iter().find(|signature| signature.oid == function) {
        return Some(named(found.name, found.arguments, !found.returns_set));
    }
    let aggregates = AGGREGATES.iter().map(|signature| (signature.oid, signature.name));
    let windows = WINDOWS.iter().map(|signature| (signature.oid, signature.name));
    let mut others = aggregates.chain(windows);
    others
        .find(|(oid, _)| *oid == function)
        .map(|(_, name)| named(name, &[], false))
}

/// `SELECT "schema"."name"($1, $2)`
fn call_text(named: &Named) -> String {
    let quoted = |name: &str| name.replace('"', "\"\"");
    let mut text = format!(
        "SELECT \"{}\".\"{}\"(",
        quoted(&named.schema),
        quoted(&named.name)
    );
    for number in 1..=named.arguments.len() {
        let comma = if number > 1 { ", " } else { "" };
        let _ = write!(text, "{comma}${number}");
    }
    text.push(')');
    text
}
