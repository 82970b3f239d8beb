//! Bodies in SQL's own syntax: RETURN expression, and BEGIN ATOMIC .. END.
//!
//! They are kept as text, as PostgreSQL prints them, and executed from it. Leaves out: what PostgreSQL gains from keeping
//! the bound tree (names that follow renames, dependencies on what the body uses); statements that change rows.

use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{FunctionBody, deparse};
use mote_sql::routine::Routine;

const RETURN: &str = "RETURN ";
const BEGIN: &str = "BEGIN ATOMIC\n";
const END: &str = "END";

/// The text of a body as it is kept and shown.
pub fn text(body: &FunctionBody) -> SqlResult<String> {
    match body {
        FunctionBody::Return(expr) => Ok(format!("{RETURN}{}", deparse::expression(expr))),
        FunctionBody::Atomic(statements) => {
            let mut text = BEGIN.to_string();
            for statement in statements {
                let Some(query) = deparse::statement(statement)? else {
                    return Err(SqlError::unsupported(
                        "a statement that is no query in an SQL-standard body",
                    ));
                };
                // One blank in front of each line, as PostgreSQL's pg_get_functiondef shows it; the first has it.
                text.push_str(query.replace('\n', "\n ").trim_end());
                text.push_str(";\n");
            }
            text.push_str(END);
            Ok(text)
        }
    }
}

/// The statements of a routine's body as text.
pub(super) fn executable(routine: &Routine) -> String {
    // A body of the other kind is a string constant of CREATE FUNCTION, used as it is.
    if !routine.standard_body {
        return routine.body.clone();
    }
    if let Some(expression) = routine.body.strip_prefix(RETURN) {
        return format!("SELECT {expression}");
    }
    // What remains are statements with semicolons, as in a string body.
    let inside = routine.body.strip_prefix(BEGIN).unwrap_or(&routine.body);
    inside.strip_suffix(END).unwrap_or(inside).to_string()
}
