//! EvalPlanQual: the rows that a re-run of a plan tree holds in place.

use mote_common::RowId;
use mote_planner::plan::node::{MemberNumber, ScanId};

/// What a row mark names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Which table of a parent's scan the row is in; 0 for a table alone.
    pub member: MemberNumber,
    pub row: RowId,
}

/// The rows that scans yield instead of scanning, while EvalPlanQual re-runs a plan tree.
pub struct Recheck {
    pub rows: Vec<RecheckRow>,
}

/// One scan's row in a recheck.
#[derive(Clone, Copy)]
pub struct RecheckRow {
    pub scan: ScanId,
    /// None: the null-extended side of an outer join, or another table of the parent: the scan yields nothing.
    pub mark: Option<Mark>,
    /// True for the row this transaction has just locked: its newest version counts, not the snapshot's.
    pub newest: bool,
}

impl Recheck {
    /// What stands in place of a scan's rows; None: the scan is not among the marked ones and runs as ever.
    pub fn find(&self, scan: ScanId, member: MemberNumber) -> Option<RecheckRow> {
        let mut found = self.rows.iter().find(|row| row.scan == scan).copied()?;
        // A parent is scanned by one scan per table, under one scan id: only the marked table yields the row.
        found.mark = found.mark.filter(|mark| mark.member == member);
        Some(found)
    }

    /// Whether a scan's row is held in place.
    pub fn holds(&self, scan: ScanId) -> bool {
        self.rows.iter().any(|row| row.scan == scan)
    }
}
