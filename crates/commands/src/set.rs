//! SET, RESET, SHOW.
//!
//! The values and what they take back at the end of a transaction live in `mote_catalog::settings`; here stands what
//! a statement may set, and that the client is told of settings that it watches. PostgreSQL: guc_funcs.c.

use std::sync::Arc;

use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{SetAction, SetValue, SetVariable, ShowVariable, TransactionModes};
use mote_planner::plan::OutputColumn;
use mote_types::Datum;
use mote_types::datetime::parse_time_zone;

use crate::utility::{Command, Issued, OwnSession, SessionCommand, SessionContext, text_column};
use mote_catalog::host::Host;
use mote_catalog::privileges::sees_files;
use mote_catalog::settings::{self, SETTINGS, Settings};
use mote_catalog::settings::{is_identity, is_unlisted, names_files};
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;

impl Command for SetVariable {
    fn name(&self) -> &'static str {
        "SET"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    // A client's SET acts on the session: role and transaction modes among what it can set.
    fn run_on_session(&self, context: SessionContext<'_>) -> SqlResult<Option<CommandTag>> {
        set(context.session, self, context.host).map(Some)
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        set_within(self, context)
    }
}

impl SessionCommand for ShowVariable {
    fn name(&self) -> &'static str {
        "SHOW"
    }

    fn columns(&self, session: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        if let ShowVariable::Name(name) = self {
            // There must be one of the name when the statement is described already.
            session.state().settings.get(name)?;
        }
        Ok(Some(show_columns(self).into()))
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        show(context.session, self, context.host)
    }
}

/// SET and RESET of a client.
pub(super) fn set(
    session: &mut dyn OwnSession,
    set: &SetVariable,
    host: &mut dyn Host,
) -> SqlResult<CommandTag> {
    let reset = CommandTag::Word("RESET");
    match &set.action {
        SetAction::Value { name, values } => {
            // PostgreSQL warns and sets it all the same: for the implicit transaction.
            if set.local && !session.in_block() {
                warn_outside_block("SET LOCAL", host);
            }
            let text = join(name, values)?;
            assign(session, name, &text, set.local, host)?;
            Ok(CommandTag::Word("SET"))
        }
        // SET .. TO DEFAULT and RESET do the same under two tags.
        SetAction::Default { name } => {
            let text = session.state().settings.default_of(name)?;
            assign(session, name, &text, set.local, host)?;
            session.state_mut().settings.note_reset(name);
            Ok(CommandTag::Word("SET"))
        }
        SetAction::Reset { name } => {
            let text = session.state().settings.default_of(name)?;
            assign(session, name, &text, set.local, host)?;
            session.state_mut().settings.note_reset(name);
            Ok(reset)
        }
        SetAction::ResetAll => {
            // By the depth of savepoints a rollback knows what to take back.
            let depth = session.state().savepoint_depth;
            let reported = session.state_mut().settings.reset_all(depth);
            session.settings_changed(reported, host);
            Ok(reset)
        }
        SetAction::Transaction(modes) => {
            if !session.in_block() {
                warn_outside_block("SET TRANSACTION", host);
                return Ok(CommandTag::Word("SET"));
            }
            session.set_characteristics(modes)?;
            Ok(CommandTag::Word("SET"))
        }
        // Defaults of later transactions; the one that runs keeps its own.
        SetAction::SessionCharacteristics(modes) => {
            session_characteristics(session, modes, host)?;
            Ok(CommandTag::Word("SET"))
        }
        SetAction::FromCurrent { .. } => Err(SqlError::unsupported("SET FROM CURRENT")),
        SetAction::TransactionSnapshot(id) => {
            if !session.in_block() {
                warn_outside_block("SET TRANSACTION", host);
            }
            session.import_snapshot(id)?;
            Ok(CommandTag::Word("SET"))
        }
    }
}

/// SET inside of a function: settings alone, who the session is and how its transaction runs stay as they are.
pub(super) fn set_within(set: &SetVariable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let (name, text, tag) = match &set.action {
        SetAction::Value { name, values } => (name, join(name, values)?, "SET"),
        SetAction::Default { name } => (name, context.session.settings.default_of(name)?, "SET"),
        SetAction::Reset { name } => (name, context.session.settings.default_of(name)?, "RESET"),
        _ => return Err(SqlError::unsupported("this form of SET in a function")),
    };
    // A function acts in somebody's name: it cannot change who that is.
    if is_identity(name) || name.starts_with("transaction_") {
        return Err(SqlError::unsupported(format_args!("SET {name} in a function")));
    }
    Settings::check_may_set(name, context.session.identity().superuser)?;
    let depth = context.session.savepoint_depth;
    let reported = context.session.settings.set(name, &text, set.local, depth)?;
    if !matches!(set.action, SetAction::Value { .. }) {
        context.session.settings.note_reset(name);
    }
    context.session.settings_changed();
    if let Some(setting) = reported {
        context.host.parameter_status(setting.name, &setting.value);
    }
    Ok(CommandTag::Word(tag))
}

/// SET LOCAL and SET TRANSACTION outside of a block: their effect ends with the statement.
fn warn_outside_block(command: &str, host: &mut dyn Host) {
    host.notice(
        SqlError::new(
            state::NO_ACTIVE_SQL_TRANSACTION,
            format!("{command} can only be used in transaction blocks"),
        )
        .severity(Severity::Warning),
    );
}

/// Sets one setting: those of the transaction go another way.
fn assign(
    session: &mut dyn OwnSession,
    name: &str,
    value: &str,
    local: bool,
    host: &mut dyn Host,
) -> SqlResult<()> {
    match name {
        "transaction_isolation" | "transaction_read_only" | "transaction_deferrable" => {
            return assign_characteristic(session, name, value);
        }
        _ => {}
    }
    // Some are for superusers, some for nobody while the server runs.
    Settings::check_may_set(name, session.state().identity().superuser)?;
    let depth = session.state().savepoint_depth;
    let state = session.state_mut();
    let mut reported = Vec::new();
    // The role must exist, and the session's user be its member.
    if is_identity(name) {
        let value = state.check_identity(name, value)?;
        reported.extend(state.settings.set(name, &value, local, depth)?);
        if !name.eq_ignore_ascii_case("role") {
            // Another session user begins as itself.
            reported.extend(state.settings.set("role", "none", local, depth)?);
        }
    } else {
        reported.extend(state.settings.set(name, value, local, depth)?);
    }
    session.settings_changed(reported, host);
    Ok(())
}

/// `SET transaction_isolation = ..`, which is SET TRANSACTION under another name.
fn assign_characteristic(session: &mut dyn OwnSession, name: &str, value: &str) -> SqlResult<()> {
    let mut modes = TransactionModes::default();
    let flag = || {
        settings::parse_bool(value).ok_or_else(|| {
            SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("parameter \"{name}\" requires a Boolean value"),
            )
        })
    };
    match name {
        "transaction_read_only" => modes.read_only = Some(flag()?),
        "transaction_deferrable" => modes.deferrable = Some(flag()?),
        _ => {
            let level = settings::isolation_named(value).ok_or_else(|| {
                SqlError::new(
                    state::INVALID_PARAMETER_VALUE,
                    format!("invalid value for parameter \"transaction_isolation\": \"{value}\""),
                )
                .hint(settings::ISOLATION_HINT)
            })?;
            modes.isolation = Some(level);
        }
    }
    session.set_characteristics(&modes)
}

/// SET SESSION CHARACTERISTICS sets the default_transaction_* of the session.
fn session_characteristics(
    session: &mut dyn OwnSession,
    modes: &TransactionModes,
    host: &mut dyn Host,
) -> SqlResult<()> {
    let flag = |on: bool| if on { "on" } else { "off" };
    if let Some(level) = modes.isolation {
        let text = settings::isolation_text(level);
        assign(session, "default_transaction_isolation", text, false, host)?;
    }
    if let Some(read_only) = modes.read_only {
        assign(
            session,
            "default_transaction_read_only",
            flag(read_only),
            false,
            host,
        )?;
    }
    if let Some(deferrable) = modes.deferrable {
        assign(
            session,
            "default_transaction_deferrable",
            flag(deferrable),
            false,
            host,
        )?;
    }
    Ok(())
}

/// Lists become one text; search_path keeps quotes where a name needs them.
pub(super) fn join(name: &str, values: &[SetValue]) -> SqlResult<String> {
    // Settings with a dot are placeholders: nobody knows whether they are lists.
    if values.len() > 1 && name.contains('.') {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("SET {name} takes only one argument"),
        ));
    }
    let mut parts = Vec::with_capacity(values.len());
    for value in values {
        parts.push(match value {
            SetValue::Integer(n) => n.to_string(),
            SetValue::Number(n) => n.to_string(),
            // Each element is a name by itself: quoted, it stays one.
            SetValue::String(text) if name == "search_path" => mote_grammar::ast::deparse::identifier(text),
            SetValue::String(text) => text.to_string(),
            // SET TIME ZONE INTERVAL '..'.
            SetValue::Typed { text, type_name } => {
                let ty = mote_types::parse_type(&mote_grammar::ast::deparse::type_name(type_name))?;
                let format = mote_types::FormatSettings::default();
                let interval = mote_types::input_text(ty, text, &format)?;
                let shown = mote_types::format::output_to_string(&interval, ty, &format);
                // SHOW gives the zone's own name.
                parse_time_zone(&format!("INTERVAL '{shown}'"))?
                    .name()
                    .to_string()
            }
        });
    }
    Ok(parts.join(", "))
}

/// The columns of SHOW: one with the setting's name, as it is spelled in the list of settings.
pub(super) fn show_columns(show: &ShowVariable) -> Vec<OutputColumn> {
    match show {
        ShowVariable::All => ["name", "setting", "description"].map(text_column).to_vec(),
        ShowVariable::Name(name) => {
            let shown = settings::lookup(name).map_or(&**name, |index| SETTINGS[index].name);
            vec![text_column(shown)]
        }
    }
}

/// SHOW.
pub(super) fn show(
    session: &mut dyn OwnSession,
    show: &ShowVariable,
    host: &mut dyn Host,
) -> SqlResult<CommandTag> {
    session.note_characteristics();
    let columns = show_columns(show);
    let text = |value: &str| Datum::Text(value.into());
    let rows: Vec<Vec<Datum>> = match show {
        ShowVariable::Name(name) => vec![vec![text(session.state().shown_setting(name)?)]],
        ShowVariable::All => {
            let settings = &session.state().settings;
            let sees_files = sees_files(&session.state().catalog);
            // SHOW ALL leaves out who the session is, and what its user may not know.
            let listed = SETTINGS
                .iter()
                .enumerate()
                .filter(|(_, s)| !is_unlisted(s.name) && (sees_files || !names_files(s.name)));
            listed
                .map(|(i, s)| [s.name, settings.value(i), s.description].map(text).to_vec())
                .collect()
        }
    };
    host.start_rows(&columns)?;
    let format = session.state().settings.effective.format.clone();
    for row in rows {
        host.row(&row, &format)?;
    }
    Ok(CommandTag::Word("SHOW"))
}
