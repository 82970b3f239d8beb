//! A table as something to be scanned.

use std::sync::Arc;

use crate::plan::node::{MemberNumber, ScanColumn};
use mote_sql::catalog::Relation;

/// A table to be scanned: itself, or one of those a parent's item stands for.
#[derive(Clone)]
pub(super) struct ScanSource {
    pub item: u16,
    pub member: MemberNumber,
    pub relation: Arc<Relation>,
    pub columns: Vec<ScanColumn>,
    pub alias: Option<Box<str>>,
}
