//! What SQL means: names become numbered columns, expressions get types.
//!
//! Read in this order:
//!  1. `builtin`, `routine`: signatures of functions, operators and casts; functions of users.
//!  2. `expr`: typed expressions, and what can be said of them without a row.
//!  3. `catalog`: what is known about the database, behind a trait.
//!  4. `bind`: from the statement tree to the bound form. `clause` and `access` are what a plan takes over from it.
//!  5. `query_text`: a query's tree with all in it that binding has found out, as PostgreSQL shows it.
//!
//! Promises: nothing here is tied to a session; errors carry PostgreSQL's SQLSTATE, wording and position.
//! Leaves out: text and trees (`mote-grammar`), plans (`mote-planner`), rows, I/O.

#![forbid(unsafe_code)]

pub mod access;
pub mod bind;
pub mod builtin;
pub mod catalog;
pub mod clause;
pub mod expr;
pub mod query_text;
pub mod routine;

pub use bind::{
    ParameterNames, ParameterReference, PlanSettings, RelationExpression, TriggerCondition, bind_checks,
    bind_default, bind_domain_condition, bind_expression_over_relation, bind_free_expression,
    bind_insert_triggers, bind_partition_value, bind_routed_triggers, bind_stored_trigger_condition,
    bind_trigger_condition, bind_truncate_triggers, bind_written_expression, check_execute_argument,
    column_default, parse_type_name, resolve_declared_type, resolve_type_name, trigger_condition_columns,
    type_of_text,
};
