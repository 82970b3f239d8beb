//! Locks that make a history serial: each transaction begins with one that keeps all others out.
//!
//! Whoever gets the lock must see what everybody did who had it before, in plain reads at READ COMMITTED, too; so the history
//! is judged as if the level were SERIALIZABLE. A server that hands locks over before others can see their holder's commit
//! loses updates here.

use mote_driver::{Admin, DriverResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Exclusion {
    /// LOCK TABLE of a table that nobody reads
    Table,
    /// pg_advisory_xact_lock
    Advisory,
    /// pg_try_advisory_xact_lock, until it answers true
    TryAdvisory,
    /// pg_advisory_lock, unlocked in the same message as COMMIT
    AdvisorySession,
    /// FOR UPDATE of a row that nobody changes
    Row,
    /// The same for whoever finds it unlocked
    SkipLocked,
}

const TABLE: &str = "history_guard";
const KEY: u32 = 1_752_790_121;

impl Exclusion {
    pub(super) fn set_up(admin: &mut Admin) -> DriverResult<()> {
        admin.execute(&format!("drop table if exists {TABLE}"))?;
        admin.execute(&format!("create table {TABLE} (k bigint primary key)"))?;
        admin.execute(&format!("insert into {TABLE} values (0)"))
    }

    /// Before BEGIN.
    pub(super) fn before(self, admin: &mut Admin) -> DriverResult<()> {
        match self {
            Exclusion::AdvisorySession => admin.execute(&format!("select pg_advisory_lock({KEY})")),
            _ => Ok(()),
        }
    }

    /// After BEGIN.
    pub(super) fn within(self, admin: &mut Admin) -> DriverResult<()> {
        match self {
            Exclusion::Table => admin.execute(&format!("lock table {TABLE} in exclusive mode")),
            Exclusion::Advisory => admin.execute(&format!("select pg_advisory_xact_lock({KEY})")),
            Exclusion::TryAdvisory => until(admin, "t", &format!("select pg_try_advisory_xact_lock({KEY})")),
            Exclusion::AdvisorySession => Ok(()),
            Exclusion::Row => admin.execute(&format!("select k from {TABLE} where k = 0 for update")),
            Exclusion::SkipLocked => until(
                admin,
                "0",
                &format!("select k from {TABLE} where k = 0 for update skip locked"),
            ),
        }
    }

    /// How the transaction commits: nothing may stand between the commit and the lock's release.
    pub(super) fn commit(self) -> String {
        match self {
            Exclusion::AdvisorySession => format!("commit; select pg_advisory_unlock({KEY})"),
            _ => "commit".to_string(),
        }
    }

    /// After any other end.
    pub(super) fn release(self, admin: &mut Admin) -> DriverResult<()> {
        match self {
            Exclusion::AdvisorySession => admin.execute("select pg_advisory_unlock_all()"),
            _ => Ok(()),
        }
    }
}

fn until(admin: &mut Admin, answer: &str, text: &str) -> DriverResult<()> {
    while admin.value(text)?.as_deref() != Some(answer) {}
    Ok(())
}
