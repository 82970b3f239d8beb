//! What of a row an error may show.
//!
//! Errors quote the row that a constraint refuses. Who may not read the table sees no more of it than what the statement
//! itself gave: defaults, what triggers made of the row, and the rows that are there already stay hidden. Without the
//! right to read, and without given columns, the detail is left out (PostgreSQL's ExecBuildSlotValueDescription).

use std::sync::Arc;

use mote_common::Oid;
use mote_sql::access::privilege;
use mote_sql::catalog::Relation;
use mote_types::Datum;

use super::{in_root, shown};
use crate::runtime::Runtime;
use mote_catalog::privileges::has_privileges;

/// What of the rows of one relation a statement's errors may show.
pub struct Disclosure {
    /// The relation that the statement names: the written one or one above it. Rows are shown in its columns, all of
    /// them to those who may read it.
    named: Arc<Relation>,
    /// Positions of the columns of it that the statement gives values to.
    given: Box<[u16]>,
}

impl Disclosure {
    pub fn new(named: &Arc<Relation>, given: &[u16]) -> Disclosure {
        Disclosure {
            named: Arc::clone(named),
            given: given.into(),
        }
    }

    /// `Failing row contains (..).`, if anything of it may be shown.
    #[cold]
    pub fn failing_row(
        &self,
        relation: &Relation,
        row: &[Datum],
        runtime: &Runtime<'_, '_>,
    ) -> Option<String> {
        let all = may_read(self.named.oid, runtime);
        let row = in_root(row, relation, &self.named);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (position, (column, value)) in self.named.columns.iter().zip(&row).enumerate() {
            if !column.dropped && (all || self.given.contains(&(position as u16))) {
                names.push(column.name.as_str());
                values.push(shown(value, column.ty, runtime.format()));
            }
        }
        let values = values.join(", ");
        match (all, names.is_empty()) {
            (true, _) => Some(format!("Failing row contains ({values}).")),
            (false, true) => None,
            (false, false) => Some(format!(
                "Failing row contains ({}) = ({values}).",
                names.join(", ")
            )),
        }
    }
}

/// May the current user read all columns of the relation?
pub fn may_read(relation: Oid, runtime: &Runtime<'_, '_>) -> bool {
    let session = runtime.session();
    let reads = |relation: &Relation| {
        has_privileges(
            &session.catalog,
            relation,
            session.identity().user_oid,
            privilege::SELECT,
        )
    };
    session.identity().superuser
        || session
            .catalog
            .entry(relation)
            .is_some_and(|entry| reads(&entry.described))
}
