//! PL/pgSQL: bodies compiled once per session, and run.
//!
//! Read in this order: `language` (the door), `code` (the compiled form: statements, names, expressions and their plans),
//! `compile`, `run` (frames, statements, loops, queries, cursors, errors); `trigger` and `conditions` are tables of names.
//! The parser is `mote_grammar::plpgsql`.
//!
//! Promises: SQL inside of a body goes through the ordinary binder, planner and executor (`mote_commands::routine::nested`);
//! an endless loop yields and can be cancelled; errors tell function, line and statement as PostgreSQL does; between two
//! statements of a body nothing of its transaction is held, so that a procedure can end it
//! (`mote_commands::utility::BodyContext`). Follows PostgreSQL's `pl_comp.c` and `pl_exec.c` in what a body means; a body
//! becomes a tree of resolved variables and plans, where PostgreSQL looks names up while it runs.

#![forbid(unsafe_code)]

mod code;
mod compile;
mod conditions;
mod language;
mod run;
mod trigger;

pub use language::PlPgSql;
