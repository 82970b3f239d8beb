//! Simple-protocol statements that differ only in their literals share a plan: the lexer takes the literals out, and the
//! plan cache is asked for what remains. Such a statement reaches the grammar once, not once per set of values.
//!
//! Whatever goes wrong on this path (the remaining text does not plan, a string is no value of its parameter's type)
//! sends the statement down the ordinary one, so that errors and their positions are those of the original text.

use std::cell::RefCell;
use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_grammar::lexer::{Fingerprint, LiteralKind};
use mote_types::{ColumnType, Datum, input_text, oid};

use super::Session;
use mote_catalog::host::Host;
use mote_executor::plans::Prepared;
use mote_executor::plans::planning::parse_text;

// One for the thread: sessions on it run texts one after the other.
mote_common::per_thread! {
    static FINGERPRINT: RefCell<Fingerprint> = RefCell::new(Fingerprint::new());
}

impl Session {
    /// The statement's shared plan and its literals as parameters; None: run the text as it is.
    pub(super) fn stripped(
        &mut self,
        text: &str,
        host: &mut dyn Host,
    ) -> Option<(Arc<Prepared>, Vec<Datum>)> {
        // Taken out of its cell while planning may run: the buffer goes back afterwards.
        let mut fingerprint = FINGERPRINT.with(RefCell::take);
        let found = if fingerprint.fill(text) && !fingerprint.literals().is_empty() {
            self.find_stripped(text, &fingerprint, host)
        } else {
            None
        };
        FINGERPRINT.with(|kept| kept.replace(fingerprint));
        found
    }

    fn find_stripped(
        &mut self,
        text: &str,
        fingerprint: &Fingerprint,
        host: &mut dyn Host,
    ) -> Option<(Arc<Prepared>, Vec<Datum>)> {
        // Some(None): known as a text that cannot be shared, so that it is not tried again and again.
        let prepared = match self.state.cached(fingerprint.key(), &[]) {
            Some(known) => known?,
            None => {
                let planned = self.plan_stripped(fingerprint, host);
                self.state.remember(fingerprint.key(), &[], planned.clone());
                planned?
            }
        };
        // pg_stat_statements shows the first client's text, and its query id is that of the text as written.
        if self.state.identifies_statements() {
            prepared.identity_by(
                text.trim_matches(|c: char| c.is_ascii_whitespace() || c == ';'),
                host,
            );
        }
        // Not validated here: `query_prepared` does that.
        let plan = prepared.current();
        let parameters = self
            .literal_values(text, fingerprint, &plan.plan.parameters)
            .ok()?;
        Some((prepared, parameters))
    }

    /// None also for a plan that would have been another with the literals in it.
    fn plan_stripped(&mut self, fingerprint: &Fingerprint, host: &mut dyn Host) -> Option<Arc<Prepared>> {
        let types: Vec<Oid> = fingerprint
            .literals()
            .iter()
            .map(|literal| match literal.kind {
                LiteralKind::Int4(_) => oid::INT4,
                LiteralKind::Int8(_) => oid::INT8,
                LiteralKind::Numeric { .. } => oid::NUMERIC,
                // Of unknown type: the context decides, as for the literal itself.
                LiteralKind::String { .. } => Oid::INVALID,
            })
            .collect();
        let mut statements = parse_text(fingerprint.text(), host).ok()?;
        if statements.len() != 1 {
            return None;
        }
        // The client is warned each time, and of the places in its own text.
        if !statements[0].warnings.is_empty() {
            return None;
        }
        let statement = statements.pop().map(Arc::new);
        let prepared = self
            .state
            .plan_prepared(fingerprint.text().into(), statement, &types, host)
            .ok()?;
        let plan = &prepared.current().plan;
        // A statement that is no query has no parameters to give values to.
        let usable = plan.parameters.len() == types.len() && !plan.constants_matter;
        usable.then_some(prepared)
    }

    /// The literals as values of the parameters' types. An error sends the statement down the ordinary way.
    fn literal_values(
        &self,
        text: &str,
        fingerprint: &Fingerprint,
        types: &[ColumnType],
    ) -> SqlResult<Vec<Datum>> {
        let format = &self.state.settings.effective.format;
        let value = |(literal, ty): (&mote_grammar::lexer::Literal, &ColumnType)| match literal.kind {
            LiteralKind::Int4(n) => Ok(Datum::Int4(n)),
            LiteralKind::Int8(n) => Ok(Datum::Int8(n)),
            LiteralKind::Numeric { negative } => {
                let digits = literal.text(text);
                let signed = if negative {
                    format!("-{digits}")
                } else {
                    digits.to_string()
                };
                input_text(*ty, &signed, format)
            }
            LiteralKind::String { quotes } => {
                let inner = literal.text(text);
                if quotes {
                    input_text(*ty, &inner.replace("''", "'"), format)
                } else {
                    input_text(*ty, inner, format)
                }
            }
        };
        fingerprint.literals().iter().zip(types).map(value).collect()
    }
}
