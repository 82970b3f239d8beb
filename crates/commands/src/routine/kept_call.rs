//! CALL as it was bound and compiled last: a client that calls a procedure again and again has it bound once.
//!
//! A call is known by the place of its statement's tree, which is held, and good as long as nothing has changed that binding
//! asks: the catalog, the user, the settings that shape plans, the session's temporary objects, the types of parameters.
//! EXECUTE is checked by whoever calls.

use std::sync::Arc;

use mote_catalog::settings::PlanKey;
use mote_common::{Oid, SqlResult};
use mote_executor::context::SessionState;
use mote_executor::expr::{Expression, compile};
use mote_grammar::ast::{FunctionCall, Statement};
use mote_sql::bind::BoundCall;
use mote_types::ColumnType;

/// Calls that a session keeps. At the bound all are dropped, and bound again as they come.
const CALLS_MAX: usize = 64;

/// What binding depends on, besides the tree.
#[derive(PartialEq, Eq)]
struct Conditions {
    generation: u64,
    user: Oid,
    plan_key: PlanKey,
    temporary: u64,
    parameters: Vec<Oid>,
}

impl Conditions {
    /// None: the transaction has changed the catalog itself, and may take that back.
    fn of(session: &SessionState, parameters: &[Oid]) -> Option<Conditions> {
        (!session.catalog.has_changes()).then(|| Conditions {
            generation: session.catalog.generation(),
            user: session.identity().user_oid,
            plan_key: session.settings.plan_key(),
            temporary: session.catalog.temporary_stamp(),
            parameters: parameters.to_vec(),
        })
    }
}

/// A procedure with its arguments compiled.
pub struct CompiledCall {
    pub bound: BoundCall,
    pub arguments: Vec<Expression>,
    pub types: Vec<ColumnType>,
}

impl CompiledCall {
    pub fn new(bound: BoundCall) -> SqlResult<CompiledCall> {
        Ok(CompiledCall {
            arguments: bound.arguments.iter().map(compile).collect::<SqlResult<_>>()?,
            types: bound.arguments.iter().map(mote_sql::expr::Expr::ty).collect(),
            bound,
        })
    }
}

struct Kept {
    /// Held, so that no other tree comes to lie where it lies.
    statement: Arc<Statement>,
    conditions: Conditions,
    call: Arc<CompiledCall>,
}

/// The calls of a session.
#[derive(Default)]
pub struct KeptCalls(Vec<Kept>);

impl KeptCalls {
    /// What a call was compiled to, if that still holds.
    pub fn find(
        &self,
        call: &FunctionCall,
        parameters: &[Oid],
        session: &SessionState,
    ) -> Option<Arc<CompiledCall>> {
        let is_it = |kept: &&Kept| is_tree_of(&kept.statement, call);
        let kept = self.0.iter().find(is_it)?;
        let conditions = Conditions::of(session, parameters)?;
        (kept.conditions == conditions).then(|| kept.call.clone())
    }

    /// Keeps a call whose tree is `statement`.
    pub fn keep(
        &mut self,
        statement: Arc<Statement>,
        parameters: &[Oid],
        call: &Arc<CompiledCall>,
        session: &SessionState,
    ) {
        let Some(conditions) = Conditions::of(session, parameters) else {
            return;
        };
        self.0.retain(|kept| !Arc::ptr_eq(&kept.statement, &statement));
        if self.0.len() >= CALLS_MAX {
            self.0.clear();
        }
        self.0.push(Kept {
            statement,
            conditions,
            call: call.clone(),
        });
    }
}

/// Whether a statement is this very call.
pub fn is_tree_of(statement: &Statement, call: &FunctionCall) -> bool {
    matches!(statement, Statement::Call(known) if std::ptr::eq(&**known, call))
}
