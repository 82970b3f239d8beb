//! RAISE, and GET DIAGNOSTICS. PostgreSQL: exec_stmt_raise and exec_stmt_getdiag (`pl_exec.c`).

use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult, SqlState};
use mote_grammar::plpgsql::tree::{DiagnosticsItem, RaiseLevel, RaiseOption};
use mote_types::{ColumnType, Datum};

use super::frame::{Frame, NULL_NOT_ALLOWED};
use crate::code::*;
use crate::conditions;
use mote_executor::context::StatementContext;

/// stacked_diagnostics_accessed_without_active_handler; PostgreSQL uses it for a bare RAISE, too.
const NOT_IN_A_HANDLER: SqlState = SqlState::new("0Z002");

/// What USING says.
#[derive(Default)]
struct Options {
    state: Option<SqlState>,
    message: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    column: Option<String>,
    constraint: Option<String>,
    data_type: Option<String>,
    table: Option<String>,
    schema: Option<String>,
}

impl<'c> Frame<'c> {
    /// RAISE: an error, or a notice that the client gets at once.
    pub fn raise(&mut self, raise: &'c Raise, context: &mut StatementContext<'_>) -> SqlResult<()> {
        if raise.again {
            let Some(error) = self.errors.last() else {
                let message = "RAISE without parameters cannot be used outside an exception handler";
                return Err(SqlError::new(NOT_IN_A_HANDLER, message));
            };
            // The error has the lines of its first way out. Nobody adds this function's a second time.
            self.raised_again = true;
            return Err(error.clone());
        }
        let message = match &raise.format {
            Some(format) => Some(self.formatted(format, &raise.arguments, context)?),
            None => None,
        };
        let options = self.options(raise, message, context)?;
        // ERRCODE of USING, the condition of RAISE itself, the default of the level.
        let state = options.state.or(raise.state).unwrap_or(match raise.level {
            RaiseLevel::Exception => state::RAISE_EXCEPTION,
            RaiseLevel::Warning => state::WARNING,
            _ => state::SUCCESSFUL_COMPLETION,
        });
        // A format or MESSAGE, else the condition's name, else the code.
        let message = options
            .message
            .clone()
            .or_else(|| raise.condition.clone())
            .unwrap_or_else(|| state.as_str().to_string());
        let mut error = SqlError::new(state, message);
        if let Some(detail) = options.detail {
            error = error.detail(detail);
        }
        if let Some(hint) = options.hint {
            error = error.hint(hint);
        }
        if let Some(column) = options.column {
            error = error.column(column);
        }
        if let Some(constraint) = options.constraint {
            error = error.constraint(constraint);
        }
        if let Some(data_type) = options.data_type {
            error = error.data_type(data_type);
        }
        error = error.relation_names(options.schema, options.table);
        let severity = match raise.level {
            RaiseLevel::Exception => return Err(error),
            RaiseLevel::Debug => Severity::Debug,
            RaiseLevel::Log => Severity::Log,
            RaiseLevel::Info => Severity::Info,
            RaiseLevel::Notice => Severity::Notice,
            RaiseLevel::Warning => Severity::Warning,
        };
        // A notice ends here, so that its context is complete now; an error gets its lines on the way out.
        let error = error.severity(severity).context(self.place());
        context.notice(error);
        Ok(())
    }

    /// Every % is the next argument, %% is one %.
    fn formatted(
        &mut self,
        format: &str,
        arguments: &'c [crate::code::expression::Expression],
        context: &mut StatementContext<'_>,
    ) -> SqlResult<String> {
        let mut message = String::with_capacity(format.len());
        let mut arguments = arguments.iter();
        let mut characters = format.chars().peekable();
        while let Some(c) = characters.next() {
            if c != '%' {
                message.push(c);
                continue;
            }
            if characters.peek() == Some(&'%') {
                characters.next();
                message.push('%');
                continue;
            }
            // The parser has counted the arguments.
            let argument = arguments
                .next()
                .ok_or_else(|| SqlError::internal("unexpected RAISE parameter list length"))?;
            let (value, ty) = self.evaluate(argument, context)?;
            // As PostgreSQL writes NULL, which elsewhere has no text.
            match value.is_null() {
                true => message.push_str("<NULL>"),
                false => message.push_str(&self.text_of(&value, ty, context)),
            }
        }
        Ok(message)
    }

    /// What USING says, each option once. `message` is that of the format, which counts as MESSAGE.
    fn options(
        &mut self,
        raise: &'c Raise,
        message: Option<String>,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Options> {
        let mut options = Options {
            message,
            ..Options::default()
        };
        for (option, value) in &raise.options {
            let (value, ty) = self.evaluate(value, context)?;
            if value.is_null() {
                return Err(SqlError::new(
                    NULL_NOT_ALLOWED,
                    "RAISE statement option cannot be null",
                ));
            }
            let text = self.text_of(&value, ty, context);
            if *option == RaiseOption::ErrorCode {
                // Also beside a condition: two sources for one code.
                if options.state.is_some() || raise.condition.is_some() {
                    return Err(specified_twice("ERRCODE"));
                }
                options.state = Some(state_of(&text)?);
                continue;
            }
            let (slot, name) = match option {
                RaiseOption::Message => (&mut options.message, "MESSAGE"),
                RaiseOption::Detail => (&mut options.detail, "DETAIL"),
                RaiseOption::Hint => (&mut options.hint, "HINT"),
                RaiseOption::Column => (&mut options.column, "COLUMN"),
                RaiseOption::Constraint => (&mut options.constraint, "CONSTRAINT"),
                RaiseOption::DataType => (&mut options.data_type, "DATATYPE"),
                RaiseOption::Table => (&mut options.table, "TABLE"),
                _ => (&mut options.schema, "SCHEMA"),
            };
            if slot.replace(text).is_some() {
                return Err(specified_twice(name));
            }
        }
        Ok(options)
    }

    /// GET DIAGNOSTICS, or with `stacked` about the error whose handler runs: the innermost one.
    pub fn get_diagnostics(
        &mut self,
        stacked: bool,
        items: &'c [(Target, DiagnosticsItem)],
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        if stacked && self.errors.is_empty() {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(SqlError::new(NOT_IN_A_HANDLER, message));
        }
        for (target, item) in items {
            let (value, ty) = match item {
                DiagnosticsItem::RowCount => (Datum::Int8(self.row_count as i64), ColumnType::INT8),
                item => (Datum::from(self.diagnostic(*item)), ColumnType::TEXT),
            };
            self.assign(target, value, ty, context)?;
        }
        Ok(())
    }

    /// One item as a text, empty where the error lacks it. PG_CONTEXT, and whatever is asked without an error, is the
    /// place in this function: the callers' lines are not known here.
    fn diagnostic(&self, item: DiagnosticsItem) -> String {
        let Some(error) = self.errors.last().filter(|_| item != DiagnosticsItem::Context) else {
            return self.place();
        };
        let fields = error.fields();
        let text = match item {
            DiagnosticsItem::RowCount | DiagnosticsItem::Context => None,
            DiagnosticsItem::ExceptionContext => fields.context.clone(),
            DiagnosticsItem::ExceptionDetail => fields.detail.clone(),
            DiagnosticsItem::ExceptionHint => fields.hint.clone(),
            DiagnosticsItem::ReturnedState => Some(fields.state.as_str().to_string()),
            DiagnosticsItem::ColumnName => fields.column.clone(),
            DiagnosticsItem::ConstraintName => fields.constraint.clone(),
            DiagnosticsItem::DataTypeName => fields.data_type.clone(),
            DiagnosticsItem::MessageText => Some(fields.message.clone()),
            DiagnosticsItem::TableName => fields.table.clone(),
            DiagnosticsItem::SchemaName => fields.schema.clone(),
        };
        text.unwrap_or_default()
    }
}

fn specified_twice(option: &str) -> SqlError {
    SqlError::new(
        state::SYNTAX_ERROR,
        format!("RAISE option already specified: {option}"),
    )
}

/// ERRCODE takes a code or a condition's name.
// Five digits or capitals are a code, whether a condition has it or not.
fn state_of(text: &str) -> SqlResult<SqlState> {
    let is_code = text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    if is_code {
        return Ok(SqlState::new(text));
    }
    conditions::codes(text).first().copied().ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("unrecognized exception condition \"{text}\""),
        )
    })
}
