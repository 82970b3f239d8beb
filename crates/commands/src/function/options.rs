//! Clauses of CREATE and ALTER FUNCTION: language, body, volatility, cost, settings.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{CreateFunction, OptionValue, SetAction, SetVariable};

use super::super::set;
use super::invalid;
use mote_executor::context::StatementContext;

/// The clauses of CREATE and ALTER; None where one was not written.
#[derive(Default)]
pub(super) struct Options {
    pub language: Option<String>,
    pub body: Option<String>,
    /// AS has several strings: an object file and a symbol, for C.
    pub several_bodies: bool,
    pub volatility: Option<char>,
    pub strict: Option<bool>,
    pub security_definer: Option<bool>,
    pub leakproof: Option<bool>,
    pub parallel: Option<char>,
    pub cost: Option<f64>,
    pub rows: Option<f64>,
    /// SET; None for RESET. RESET ALL has the name `all`.
    pub settings: Vec<(String, Option<String>)>,
}

impl Options {
    /// The clauses of CREATE FUNCTION and PROCEDURE.
    pub fn read(create: &CreateFunction, context: &StatementContext<'_>) -> SqlResult<Options> {
        Options::from_list(&create.options, create.procedure, context)
    }

    /// The clauses of CREATE or ALTER; errors point at the clause.
    pub fn from_list(
        list: &[mote_grammar::ast::DefinitionOption],
        procedure: bool,
        context: &StatementContext<'_>,
    ) -> SqlResult<Options> {
        let mut options = Options::default();
        for option in list {
            let value = option.value.as_ref();
            // A procedure is not called from expressions: volatility, cost and the like mean nothing for it.
            let for_functions = !matches!(&*option.name, "as" | "language" | "security" | "set");
            if procedure && for_functions {
                return Err(invalid("invalid attribute in procedure definition"));
            }
            let place = |error: SqlError| error.at(option.location.position(&context.session.statement_text));
            options.take(&option.name, value).map_err(place)?;
        }
        Ok(options)
    }

    /// Takes up one clause, which may be written once.
    fn take(&mut self, name: &str, value: Option<&OptionValue>) -> SqlResult<()> {
        let conflicting = || SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options");
        fn once<T>(slot: &mut Option<T>, value: T, error: impl FnOnce() -> SqlError) -> SqlResult<()> {
            match slot.replace(value) {
                None => Ok(()),
                Some(_) => Err(error()),
            }
        }
        match (name, value) {
            ("language", Some(value)) => once(&mut self.language, word(value), conflicting),
            ("as", Some(value)) => {
                self.several_bodies = matches!(value, OptionValue::List(parts) if parts.len() > 1);
                once(&mut self.body, body_text(value)?, conflicting)
            }
            ("volatility", Some(value)) => once(
                &mut self.volatility,
                // The first letter is pg_proc.provolatile.
                word(value).chars().next().unwrap_or('v'),
                conflicting,
            ),
            ("strict", Some(value)) => once(&mut self.strict, flag(value), conflicting),
            ("security", Some(value)) => once(&mut self.security_definer, flag(value), conflicting),
            ("leakproof", Some(value)) => once(&mut self.leakproof, flag(value), conflicting),
            ("parallel", Some(value)) => {
                let parallel = match word(value).to_lowercase().as_str() {
                    "safe" => 's',
                    "restricted" => 'r',
                    "unsafe" => 'u',
                    _ => {
                        return Err(SqlError::new(
                            state::SYNTAX_ERROR,
                            "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE",
                        ));
                    }
                };
                once(&mut self.parallel, parallel, conflicting)
            }
            ("cost", Some(value)) => once(&mut self.cost, positive(value, "COST")?, conflicting),
            ("rows", Some(value)) => once(&mut self.rows, positive(value, "ROWS")?, conflicting),
            ("set", Some(OptionValue::Set(set))) => self.setting(set),
            (other, _) => Err(SqlError::unsupported(format_args!(
                "CREATE FUNCTION {}",
                other.to_uppercase()
            ))),
        }
    }

    /// SET and RESET. A value is tried now, on settings of nobody; the last one for a name counts.
    fn setting(&mut self, set: &SetVariable) -> SqlResult<()> {
        let (name, value) = match &set.action {
            SetAction::Value { name, values } => (name.to_string(), Some(set::join(name, values)?)),
            SetAction::Reset { name } | SetAction::Default { name } => (name.to_string(), None),
            SetAction::ResetAll => ("all".to_string(), None),
            _ => return Err(SqlError::unsupported("SET FROM CURRENT")),
        };
        if let Some(value) = &value {
            mote_catalog::settings::Settings::new().swap(&name, value)?;
        }
        self.settings.retain(|(known, _)| *known != name);
        self.settings.push((name, value));
        Ok(())
    }
}

/// A clause's word, in whatever form the grammar hands it on.
fn word(value: &OptionValue) -> String {
    match value {
        OptionValue::String(text) => text.to_string(),
        OptionValue::Name(name) => name.last().to_string(),
        OptionValue::Type(name) => name.name.last().to_string(),
        _ => String::new(),
    }
}

/// Whether a clause is positive.
fn flag(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Boolean(true) | OptionValue::Integer(1))
}

/// COST and ROWS: above zero, also if written with a fraction.
fn positive(value: &OptionValue, clause: &str) -> SqlResult<f64> {
    let number = match value {
        OptionValue::Integer(number) => f64::from(*number),
        OptionValue::Number(text) => text.parse().unwrap_or(0.0),
        _ => 0.0,
    };
    if number > 0.0 {
        return Ok(number);
    }
    Err(SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("{clause} must be positive"),
    ))
}

/// The first string of AS.
fn body_text(value: &OptionValue) -> SqlResult<String> {
    let first = match value {
        OptionValue::List(parts) => parts.first(),
        one => Some(one),
    };
    match first {
        Some(OptionValue::String(text)) => Ok(text.to_string()),
        _ => Err(SqlError::internal("AS has a text")),
    }
}
