//! The session as commands see it.
//!
//! Nothing but the way from the trait to the session's own methods: what each one does stands with the statements
//! (`transaction`, `statements`, `cursor`, `explain`, `detach`).

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

use super::Session;
use mote_commands::utility::OwnSession;

impl OwnSession for Session {
    fn state(&self) -> &SessionState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    fn in_block(&self) -> bool {
        Session::in_block(self)
    }

    fn settings_changed(&mut self, reported: Vec<Reported>, host: &mut dyn Host) {
        Session::settings_changed(self, reported, host)
    }

    fn set_characteristics(&mut self, modes: &TransactionModes) -> SqlResult<()> {
        Session::set_characteristics(self, modes)
    }

    fn note_characteristics(&mut self) {
        Session::note_characteristics(self)
    }

    fn import_snapshot(&mut self, id: &str) -> SqlResult<()> {
        Session::import_snapshot(self, id)
    }

    fn prepare_statement(
        &mut self,
        prepare: &Prepare,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        Session::prepare_statement(self, prepare, text, host)
    }

    fn execute_statement(
        &mut self,
        execute: &Execute,
        text: &str,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        Session::execute_statement(self, execute, text, host)
    }

    fn describe_execute(&self, execute: &Execute) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        Session::describe_execute(self, execute)
    }

    fn deallocate(&mut self, deallocate: &Deallocate) -> SqlResult<CommandTag> {
        Session::deallocate(self, deallocate)
    }

    fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        Session::declare_cursor(self, declare, text, host)
    }

    fn fetch(&mut self, fetch: &Fetch, host: &mut dyn Host) -> SqlResult<CommandTag> {
        Session::fetch(self, fetch, host)
    }

    fn describe_fetch(&self, fetch: &Fetch) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        Session::describe_fetch(self, fetch)
    }

    fn close_cursor(&mut self, close: &ClosePortal) -> SqlResult<CommandTag> {
        Session::close_cursor(self, close)
    }

    fn explain(&mut self, explain: &Explain, text: &Arc<str>, host: &mut dyn Host) -> SqlResult<CommandTag> {
        Session::explain(self, explain, text, host)
    }

    fn discard(&mut self, discard: Discard, host: &mut dyn Host) -> SqlResult<CommandTag> {
        Session::discard(self, discard, host)
    }

    fn detach_concurrently(
        &mut self,
        alter: &AlterTable,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        Session::detach_concurrently(self, alter, text, host)
    }
}
