//! LISTEN, UNLISTEN, NOTIFY: noted in the session, done at commit.

use mote_common::SqlResult;
use mote_grammar::ast::{Notify, Unlisten};

use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;
use mote_executor::context::notifications::Interest;

pub(super) fn listen(channel: &str, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    want(Interest::Listen(channel.to_string()), context);
    Ok(CommandTag::Word("LISTEN"))
}

pub(super) fn unlisten(unlisten: &Unlisten, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    want(
        match unlisten {
            Unlisten::Name(channel) => Interest::Unlisten(channel.to_string()),
            Unlisten::All => Interest::UnlistenAll,
        },
        context,
    );
    Ok(CommandTag::Word("UNLISTEN"))
}

fn want(interest: Interest, context: &mut StatementContext<'_>) {
    let session = &mut *context.session;
    session.notifications.want(session.savepoint_depth, interest);
}

pub(super) fn notify(notify: &Notify, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let session = &mut *context.session;
    let payload = notify.payload.as_deref().unwrap_or_default();
    session
        .notifications
        .say(session.savepoint_depth, &notify.channel, payload)?;
    Ok(CommandTag::Word("NOTIFY"))
}
