//! Settings that roles and databases keep for sessions to come.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::SetAction;

use crate::set;
use mote_catalog::settings;
use mote_catalog::settings::Settings;
use mote_executor::context::StatementContext;

/// SET and RESET of what sessions begin with.
pub(crate) fn change_settings(
    settings: &mut Vec<(String, String)>,
    action: &SetAction,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if let SetAction::Value { name, .. } | SetAction::Default { name } | SetAction::Reset { name } = action {
        // Who may not set it for himself may not for others either.
        Settings::check_may_set(name, context.session.identity().superuser)?;
    }
    match action {
        SetAction::Value { name, values } => {
            let value = set::join(name, values)?;
            // Who a session is, is not looked at now: the role may be made later (`log_in` leaves these out).
            let name = match settings::is_identity(name) {
                true => name.to_string(),
                false => context.session.settings.check_for_later(name, &value)?,
            };
            let others = |(known, _): &(String, String)| !known.eq_ignore_ascii_case(&name);
            settings.retain(others);
            settings.push((name, value));
        }
        SetAction::Default { name } | SetAction::Reset { name } => {
            require_setting(name)?;
            settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        }
        SetAction::ResetAll => settings.clear(),
        SetAction::FromCurrent { name } => {
            let value = context.session.settings.get(name)?.to_string();
            let name = context.session.settings.check_for_later(name, &value)?;
            settings.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            settings.push((name, value));
        }
        _ => return Err(SqlError::unsupported("this form of SET for sessions to come")),
    }
    Ok(())
}

/// 42704 for a name that no setting has; one with a dot may be anybody's.
fn require_setting(name: &str) -> SqlResult<()> {
    if name.contains('.') {
        return Ok(());
    }
    settings::lookup(name).map(|_| ()).ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{name}\""),
        )
    })
}
