//! What a command that acts on the session asks of it: its settings, its prepared statements, its cursors.
//!
//! The session implements it (`session::own` of mote-exec), so that commands need not know what a session is made of.
//! One method per statement, since such a statement is nothing but a change of the session.

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::settings::Reported;
use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_executor::context::SessionState;
use mote_grammar::ast::{
    AlterTable, ClosePortal, Deallocate, DeclareCursor, Discard, Execute, Explain, Fetch, Prepare,
    TransactionModes,
};
use mote_planner::plan::OutputColumn;

/// The session that a command was given to.
pub trait OwnSession {
    /// Settings, catalog and identity, to look at.
    fn state(&self) -> &SessionState;

    fn state_mut(&mut self) -> &mut SessionState;

    /// Inside a transaction block?
    fn in_block(&self) -> bool;

    /// Tells the client, and refreshes what is derived from settings.
    fn settings_changed(&mut self, reported: Vec<Reported>, host: &mut dyn Host);

    /// SET TRANSACTION, before the first query.
    fn set_characteristics(&mut self, modes: &TransactionModes) -> SqlResult<()>;

    /// Makes the settings show how the transaction runs.
    fn note_characteristics(&mut self);

    /// SET TRANSACTION SNAPSHOT.
    fn import_snapshot(&mut self, id: &str) -> SqlResult<()>;

    /// PREPARE: 42P05 if the name is taken.
    fn prepare_statement(
        &mut self,
        prepare: &Prepare,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag>;

    /// EXECUTE: the rows go to the host, as those of the statement itself.
    fn execute_statement(
        &mut self,
        execute: &Execute,
        text: &str,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag>;

    /// The columns of EXECUTE. None also for a name that is not there: it is missed when the statement runs.
    fn describe_execute(&self, execute: &Execute) -> SqlResult<Option<Arc<[OutputColumn]>>>;

    /// DEALLOCATE: 26000 if there is no such statement.
    fn deallocate(&mut self, deallocate: &Deallocate) -> SqlResult<CommandTag>;

    /// DECLARE CURSOR: the query is started, its rows come with FETCH.
    fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag>;

    /// FETCH and MOVE.
    fn fetch(&mut self, fetch: &Fetch, host: &mut dyn Host) -> SqlResult<CommandTag>;

    /// The columns of FETCH, as for EXECUTE; MOVE has none.
    fn describe_fetch(&self, fetch: &Fetch) -> SqlResult<Option<Arc<[OutputColumn]>>>;

    /// CLOSE: 34000 if there is no such cursor.
    fn close_cursor(&mut self, close: &ClosePortal) -> SqlResult<CommandTag>;

    /// EXPLAIN; with ANALYZE the statement runs with all its effects.
    fn explain(&mut self, explain: &Explain, text: &Arc<str>, host: &mut dyn Host) -> SqlResult<CommandTag>;

    /// DISCARD; ALL is refused within a block.
    fn discard(&mut self, discard: Discard, host: &mut dyn Host) -> SqlResult<CommandTag>;

    /// DETACH PARTITION .. CONCURRENTLY. None: not such a statement, or inside a block.
    fn detach_concurrently(
        &mut self,
        alter: &AlterTable,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>>;
}
