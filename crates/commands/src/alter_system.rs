//! ALTER SYSTEM: settings that all sessions begin with, in the server's file.
//!
//! What it changes is no part of the database: it is not in the log, a follower has settings of its own, and they are in
//! force when the server reads its file again.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{AlterSystem, SetAction, SetVariable};

use super::{refuse_block, set};
use mote_catalog::settings::{Settings, name_to_reset};
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_executor::server_files;

use crate::utility::{Command, Issued};

impl Command for AlterSystem {
    fn name(&self) -> &'static str {
        "ALTER SYSTEM"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(&self.0, issued.in_block, context)
    }
}

fn run(setting: &SetVariable, in_block: bool, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    require_superuser(&setting.action, context)?;
    let change = change(&setting.action)?;
    refuse_block("ALTER SYSTEM", in_block)?;
    let settings = context.database.server_settings().clone();
    server_files::elsewhere(
        move || {
            let named = change.as_ref().map(|(name, value)| (*name, value.as_deref()));
            settings.change(named)
        },
        context,
    )??;
    Ok(CommandTag::Word("ALTER SYSTEM"))
}

fn require_superuser(action: &SetAction, context: &StatementContext<'_>) -> SqlResult<()> {
    if context.session.identity().superuser {
        return Ok(());
    }
    let message = match action {
        SetAction::Value { name, .. } | SetAction::Default { name } | SetAction::Reset { name } => {
            format!("permission denied to set parameter \"{name}\"")
        }
        _ => "permission denied to perform ALTER SYSTEM RESET ALL".to_string(),
    };
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
}

/// The setting and its value, or none to take it out of the file; None takes all out.
type Change = Option<(&'static str, Option<String>)>;

fn change(action: &SetAction) -> SqlResult<Change> {
    match action {
        SetAction::Value { name, values } => {
            let value = set::join(name, values)?;
            let known = Settings::new().check_for_file(name, &value)?;
            if value.contains('\n') {
                let message = "parameter value for ALTER SYSTEM must not contain a newline";
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            Ok(Some((known, Some(value))))
        }
        SetAction::Default { name } | SetAction::Reset { name } => Ok(Some((name_to_reset(name)?, None))),
        SetAction::ResetAll => Ok(None),
        _ => Err(SqlError::unsupported("this form of ALTER SYSTEM")),
    }
}
