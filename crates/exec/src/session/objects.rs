//! Gathers a session's prepared statements and cursors for a statement that reads pg_prepared_statements or pg_cursors.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::MemoryCharge;

use super::{Portal, Session};
use mote_catalog::views::{CursorFacts, PreparedFacts, SessionObjects};
use mote_executor::memory;
use mote_executor::plans::Prepared;

/// The unnamed statement is charged only if it is larger: most are run once and small.
const UNNAMED_BYTES_FREE: usize = 64 << 10;

/// A prepared statement under a name; the statement itself may be shared with other sessions.
pub(super) struct NamedStatement {
    pub(super) prepared: Arc<Prepared>,
    /// What it takes; also held by the portals that run it. None: the unnamed statement, of which there is one.
    pub(super) charge: Option<Arc<MemoryCharge>>,
    made_us: i64,
    /// By PREPARE rather than by a message.
    from_sql: bool,
    /// How often it was run.
    pub(super) runs: u64,
}

impl Session {
    pub(super) fn named_statement(
        &self,
        name: &str,
        prepared: Arc<Prepared>,
        from_sql: bool,
    ) -> SqlResult<NamedStatement> {
        let bytes = size_of::<NamedStatement>() + name.len() + prepared.bytes;
        let charge = match name {
            "" if bytes <= UNNAMED_BYTES_FREE => None,
            _ => {
                let charge = memory::charge(&self.state.memory, bytes, "a prepared statement")?;
                Some(Arc::new(charge))
            }
        };
        Ok(NamedStatement {
            prepared,
            charge,
            made_us: self.state.clock_us(),
            from_sql,
            runs: 0,
        })
    }

    /// Gathers what a statement that reads these relations is about to show.
    pub(super) fn gather_objects(&mut self) {
        let statements = self.statements.iter().filter(|(name, _)| !name.is_empty());
        let prepared = statements.map(|(name, named)| PreparedFacts {
            name: name.to_string(),
            text: named.prepared.text.clone(),
            made_us: named.made_us,
            parameters: named.prepared.told_parameters(),
            from_sql: named.from_sql,
            runs: named.runs,
        });
        let cursors = self
            .holdings
            .portals
            .iter()
            .map(|(name, portal)| cursor_facts(name, portal));
        self.state.objects = SessionObjects {
            prepared: prepared.collect(),
            cursors: cursors.collect(),
        };
    }
}

fn cursor_facts(name: &str, portal: &Portal) -> CursorFacts {
    CursorFacts {
        name: name.to_string(),
        text: portal.prepared.text.clone(),
        made_us: portal.made_us,
        holdable: portal.cursor.as_ref().is_some_and(|cursor| cursor.hold),
        binary: portal.cursor.as_ref().is_some_and(|cursor| cursor.binary),
        scrollable: portal
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.is_scrollable()),
    }
}
