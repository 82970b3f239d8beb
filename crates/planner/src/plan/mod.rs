//! Plans: immutable, shareable, free of session state. Read `node`, then this file; `walk` visits nodes without
//! naming every form, `explain` and `deparse` show them, `measured` makes those that count what they do. Their
//! expressions are those of `mote_sql::expr`.
//!
//! Whoever keeps plans (`mote_executor::plans`) finds them by statement text, parameter types, database, user and the settings
//! that change meaning. A plan lists the objects it depends on with their versions, the table locks it needs and the privileges
//! to check at execution.

pub mod deparse;
pub mod explain;
pub mod measured;
pub mod node;
pub mod walk;

use std::sync::Arc;

use mote_common::Oid;
use mote_types::{ColumnType, oid};

use mote_grammar::ast::{Explain, OptionValue, Statement, UnsupportedStatement};
use mote_sql::access::{Command, Dependency, RelationAccess};
use mote_sql::routine::Routine;
use node::Node;

/// A statement ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub body: PlanBody,
    /// Types of $1.., as declared or inferred.
    pub parameters: Vec<ColumnType>,
    /// Parameters that clients are told to be of a domain: their place, and which.
    pub parameter_domains: Vec<(u16, Oid)>,
    /// Columns of the result; empty where the statement returns no rows. Shared: a description of them is asked for with
    /// every execution by many drivers.
    pub output: Arc<[OutputColumn]>,
    /// True where the statement yields a row set (SELECT, RETURNING, SHOW, EXPLAIN, ...), even of zero columns.
    pub returns_rows: bool,
    pub dependencies: Vec<Dependency>,
    pub relations: Vec<RelationAccess>,
    /// A partial or expression index was out of reach that constants in place of parameters might have opened.
    pub constants_matter: bool,
    /// Functions of users that it calls: EXECUTE is checked each time the plan runs.
    pub routines: Vec<Arc<Routine>>,
}

impl Plan {
    /// Of a statement that does nothing: an empty text.
    pub fn empty() -> Plan {
        Plan {
            body: PlanBody::Utility(Arc::new(Statement::Unsupported(UnsupportedStatement(
                "empty statement",
            )))),
            parameters: Vec::new(),
            parameter_domains: Vec::new(),
            output: Arc::default(),
            returns_rows: false,
            dependencies: Vec::new(),
            relations: Vec::new(),
            constants_matter: false,
            routines: Vec::new(),
        }
    }

    /// Types of $1.., as clients are told: of a domain by its name, where the values are those of its base type.
    pub fn told_parameters(&self) -> Vec<Oid> {
        let mut told: Vec<Oid> = self.parameters.iter().map(|ty| ty.oid).collect();
        for &(index, domain) in &self.parameter_domains {
            told[usize::from(index)] = domain;
        }
        told
    }
}

#[derive(Clone, Debug)]
pub enum PlanBody {
    Query(Box<QueryPlan>),
    /// Everything that is not SELECT, INSERT, UPDATE, DELETE, VALUES or MERGE: executed from its tree.
    Utility(Arc<Statement>),
}

#[derive(Clone, Debug)]
pub struct QueryPlan {
    pub root: Node,
    pub command: Command,
    /// Takes the tail snapshot (writes or locks rows) instead of the acknowledged one.
    pub writes: bool,
    /// As long as it has written and answered nothing it can begin again: it calls nothing volatile, fires no triggers.
    pub restartable: bool,
    /// It may call code of users: functions, triggers, conditions of domains.
    pub calls_code: bool,
    pub subplans: Vec<Node>,
    /// WITH queries by number. Data-modifying ones run to completion even if nobody reads them.
    pub ctes: Vec<CtePlan>,
    /// How many exec parameters the executor must provide.
    pub exec_parameters: u16,
    /// Number of leading columns of the root's rows that are results; hidden ones (row marks) follow.
    pub visible_columns: u16,
    /// Planner's guess, for EXPLAIN.
    pub estimated_rows: f64,
}

#[derive(Clone, Debug)]
pub struct CtePlan {
    pub name: String,
    pub node: Node,
    pub modifies: bool,
}

/// One field of a RowDescription.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    pub name: String,
    pub ty: ColumnType,
    /// The base table and attribute number if the column is one, else zero.
    pub table: Oid,
    pub attribute: i16,
}

/// The one column of an EXPLAIN. Its type is that of the last format asked for.
pub fn explained_column(explain: &Explain) -> OutputColumn {
    let mut formats = explain.options.iter().filter(|option| &*option.name == "format");
    let ty = match formats.next_back().and_then(|option| option.value.as_ref()) {
        Some(OptionValue::String(word)) if &**word == "json" => ColumnType::new(oid::JSON),
        _ => ColumnType::TEXT,
    };
    OutputColumn {
        name: "QUERY PLAN".to_owned(),
        ty,
        table: Oid::INVALID,
        attribute: 0,
    }
}
