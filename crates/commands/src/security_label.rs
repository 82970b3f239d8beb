//! SECURITY LABEL: refused as PostgreSQL refuses it while no module that judges labels is loaded.
//!
//! mote loads no modules, so there is no provider, and no object is looked for: PostgreSQL asks for the provider first.

use mote_catalog::tag::CommandTag;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_executor::context::StatementContext;
use mote_grammar::ast::SecurityLabel;

use crate::utility::{Command, Issued};

impl Command for SecurityLabel {
    fn name(&self) -> &'static str {
        "SECURITY LABEL"
    }

    fn run(&self, _: Issued<'_>, _: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        Err(no_provider(self.provider.as_deref()))
    }
}

/// 22023, in the words of ExecSecLabelStmt.
fn no_provider(named: Option<&str>) -> SqlError {
    let message = match named {
        Some(provider) => format!("security label provider \"{provider}\" is not loaded"),
        None => "no security label providers have been loaded".to_string(),
    };
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}
