//! LISTEN, UNLISTEN, NOTIFY: noted in the session, done at commit (`session::notifications` of mote-exec).
//!
//! All three are allowed in a READ ONLY transaction, since they write no rows, and roll back with a savepoint. A node
//! that follows has no commits of its own, by which messages are ordered.

use mote_common::SqlResult;
use mote_grammar::ast::{Listen, Notify, Unlisten};

use crate::utility::{Command, Issued};
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_executor::context::notifications::Interest;

impl Command for Listen {
    fn name(&self) -> &'static str {
        "LISTEN"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn runs_in_recovery(&self) -> bool {
        false
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        listen(&self.channel, context)
    }
}

impl Command for Notify {
    fn name(&self) -> &'static str {
        "NOTIFY"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn runs_in_recovery(&self) -> bool {
        false
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        notify(self, context)
    }
}

impl Command for Unlisten {
    fn name(&self) -> &'static str {
        "UNLISTEN"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        unlisten(self, context)
    }
}

/// LISTEN: from the commit on.
pub(super) fn listen(channel: &str, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    context.session.require_unrestricted("execute LISTEN")?;
    want(Interest::Listen(channel.to_string()), context);
    Ok(CommandTag::Word("LISTEN"))
}

/// UNLISTEN of a channel, or of all: from the commit on.
pub(super) fn unlisten(unlisten: &Unlisten, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    context.session.require_unrestricted("execute UNLISTEN")?;
    want(
        match unlisten {
            Unlisten::Name(channel) => Interest::Unlisten(channel.to_string()),
            Unlisten::All => Interest::UnlistenAll,
        },
        context,
    );
    Ok(CommandTag::Word("UNLISTEN"))
}

/// Notes a wish under the depth of savepoints, by which it is taken back.
fn want(interest: Interest, context: &mut StatementContext<'_>) {
    let session = &mut *context.session;
    session.notifications.want(session.savepoint_depth, interest);
}

/// NOTIFY. Equal messages of a transaction are sent once (`say`); 22023 for a channel or payload that is too long.
pub(super) fn notify(notify: &Notify, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let session = &mut *context.session;
    let payload = notify.payload.as_deref().unwrap_or_default();
    session
        .notifications
        .say(session.savepoint_depth, &notify.channel, payload)?;
    Ok(CommandTag::Word("NOTIFY"))
}
