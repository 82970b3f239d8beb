//! ANALYZE that nobody asked for: which tables are due, and a round over them (docs/design/0049).
//!
//! A table is due when more rows than `autovacuum_analyze_threshold` and `autovacuum_analyze_scale_factor` of those there
//! were have changed since it was analyzed. Nobody counts changes: rows carry the timestamp of their commit, and a sample
//! tells how many are newer. Leaves out: the thread, and when it wakes (`mote-server`).

use std::collections::HashMap;
use std::sync::Arc;

use mote_common::{Lsn, Oid, SqlResult, TableId};
use mote_engine::{Access, BeginOptions, Table, Transaction};
use mote_grammar::ast::deparse::identifier;

use crate::embedded::LocalSession;
use mote_catalog::catalog_store::{Catalog, RelationEntry};
use mote_catalog::database::{Database, builtin};
use mote_catalog::settings::in_own_unit;
use mote_catalog::signals::SessionSignals;
use mote_catalog::write_error;

/// Rows that are looked at to find out how many have changed: a tenth of a table is told from a twentieth.
const SAMPLED: u64 = 1000;

/// Rounds over all tables of all databases.
pub struct Rounds {
    database: Arc<Database>,
    /// The last change of a table that was found not to be due: what has not changed since is not looked at again.
    looked_at: HashMap<Oid, Lsn>,
}

/// Somebody wants rounds to end: told of the session that is at work, so that it can be cancelled.
pub trait Ending {
    fn is_wanted(&self) -> bool;
    fn at_work(&self, signals: Option<Arc<SessionSignals>>);
}

/// As the server's file says.
struct Rule {
    threshold: f64,
    scale_factor: f64,
}

impl Rounds {
    pub fn new(database: &Arc<Database>) -> Rounds {
        Rounds {
            database: database.clone(),
            looked_at: HashMap::new(),
        }
    }

    /// Analyzes what is due. A table that somebody has locked, or whose ANALYZE fails, is left for the next round.
    pub fn run(&mut self, ending: &dyn Ending) -> SqlResult<()> {
        let setting = |name: &str| self.database.server_settings().value(name);
        if setting("autovacuum") != "on" || self.database.is_following() {
            return Ok(());
        }
        let number = |name: &str, usual: f64| setting(name).parse().unwrap_or(usual);
        let rule = Rule {
            threshold: number("autovacuum_analyze_threshold", 50.0),
            scale_factor: number("autovacuum_analyze_scale_factor", 0.1),
        };
        let catalog = self.database.catalog().committed();
        self.looked_at
            .retain(|table, _| catalog.relation(*table).is_some());
        self.database
            .upkeep()
            .forget(|table| catalog.relation(table).is_none());
        let mut sessions: HashMap<Oid, LocalSession> = HashMap::new();
        for entry in catalog.relations() {
            if ending.is_wanted() {
                break;
            }
            if !entry.stored.kind.has_rows() || entry.described.partitioning.is_some() {
                continue;
            }
            if is_left_alone(entry) || !self.is_due(entry, &catalog, &rule)? {
                continue;
            }
            let Some((database, text)) = statement(entry, &catalog) else {
                continue;
            };
            let session = match sessions.entry(database) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(open(&self.database, database, &catalog)?)
                }
            };
            ending.at_work(Some(session.signals()));
            // An error is told by nobody's statement; the table is as due as it was.
            let _ = session.query(&text);
            ending.at_work(None);
        }
        Ok(())
    }

    fn is_due(&mut self, entry: &RelationEntry, catalog: &Catalog, rule: &Rule) -> SqlResult<bool> {
        let oid = Oid(entry.stored.oid);
        let Some(table) = self.database.engine().table(TableId(entry.stored.table)) else {
            return Ok(false);
        };
        let known = catalog.statistics_of(oid).map(|known| &known.stored);
        let (since, rows) = known.map_or((Lsn::ZERO, 0.0), |known| (Lsn(known.analyzed_at), known.rows));
        let changes = (0..table.segment_count()).map(|segment| table.segment_last_change(segment));
        let last = changes.max().unwrap_or(Lsn::ZERO);
        let live = table.row_count_estimate() as f64;
        // Of a table that was truncated nothing is left to be newer.
        let unchanged = last <= since && live >= rows;
        if unchanged || self.looked_at.get(&oid) == Some(&last) {
            return Ok(false);
        }
        let newer = self.newer_rows(&table, since, u64::from(oid.0), live)?;
        let due = newer + (rows - live).max(0.0) > rule.threshold + rule.scale_factor * rows;
        if !due {
            self.looked_at.insert(oid, last);
        }
        Ok(due)
    }

    /// Rows that were written behind `since`, nearly.
    fn newer_rows(&self, table: &Table, since: Lsn, seed: u64, live: f64) -> SqlResult<f64> {
        let engine = self.database.engine();
        let transaction: Transaction = engine
            .begin_with(BeginOptions::default())
            .map_err(write_error::begin_error)?;
        let snapshot = transaction.begin_statement(Access::Read);
        let (mut seen, mut newer) = (0u64, 0u64);
        for row in table.sample(SAMPLED, seed) {
            if let Some(version) = transaction.fetch(table, row, &snapshot) {
                seen += 1;
                newer += u64::from(version.is_newer_than(since));
            }
        }
        drop(snapshot);
        transaction.abort();
        Ok(newer as f64 / seen.max(1) as f64 * live)
    }
}

/// Its owner wants to analyze it himself.
fn is_left_alone(entry: &RelationEntry) -> bool {
    let mut options = entry
        .stored
        .options
        .iter()
        .filter_map(|option| option.split_once('='));
    let said = options.find(|(name, _)| *name == "autovacuum_enabled");
    said.is_some_and(|(_, value)| mote_catalog::settings::parse_bool(value) == Some(false))
}

/// The table's database, and what to say there.
fn statement(entry: &RelationEntry, catalog: &Catalog) -> Option<(Oid, String)> {
    let schema = &catalog.schemas.get(&Oid(entry.stored.schema))?.object;
    let (schema_name, name) = (identifier(&schema.name), identifier(&entry.stored.name));
    Some((
        Oid(schema.database),
        format!("ANALYZE (SKIP_LOCKED) {schema_name}.{name}"),
    ))
}

/// A session of the first role, whatever it is called now.
fn open(database: &Arc<Database>, which: Oid, catalog: &Catalog) -> SqlResult<LocalSession> {
    let missing = || mote_common::SqlError::internal("the catalog names no such database or role");
    let name = &catalog.databases.get(&which).ok_or_else(missing)?.object.name;
    let role = &catalog
        .roles
        .get(&builtin::SUPERUSER)
        .ok_or_else(missing)?
        .object
        .name;
    let mut session = LocalSession::open(database, role, name)?;
    session.session().state.is_unattended = true;
    Ok(session)
}

/// How long to wait between rounds, in seconds.
pub fn seconds_between_rounds(database: &Database) -> u64 {
    let text = database.server_settings().value("autovacuum_naptime");
    in_own_unit(&text, "s").parse().unwrap_or(60)
}

#[cfg(test)]
mod tests;
