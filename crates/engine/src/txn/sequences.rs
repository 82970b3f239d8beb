//! nextval and setval in a transaction: what they logged is something it has seen.

use super::transaction::Transaction;
use crate::sequence::{DrawnNumbers, Sequence, SequenceError};

impl Transaction {
    /// nextval: never given back, also by a rollback.
    pub fn sequence_next(&self, sequence: &Sequence) -> Result<i64, SequenceError> {
        self.sequence_draw(sequence, 1).map(|drawn| drawn.first)
    }

    /// Up to `count` numbers at a time, for a session that keeps some ahead.
    pub fn sequence_draw(&self, sequence: &Sequence, count: u64) -> Result<DrawnNumbers, SequenceError> {
        let wake = self.own_wake();
        let (drawn, logged_at) = sequence.draw(&**self.engine(), count, wake.as_ref())?;
        self.note_seen(logged_at);
        // Others have drawn the numbers before, and committed what they did before that.
        self.note_view();
        Ok(drawn)
    }

    /// setval: takes effect at once, also if the transaction rolls back.
    pub fn sequence_set(
        &self,
        sequence: &Sequence,
        value: i64,
        is_called: bool,
    ) -> Result<(), SequenceError> {
        let wake = self.own_wake();
        let logged_at = sequence.set(&**self.engine(), value, is_called, wake.as_ref())?;
        self.note_seen(logged_at);
        Ok(())
    }
}
