//! Who says whether a transaction over several servers has committed: one row of `bench_decision` on its home server.
//!
//! The home's own part of the transaction inserts the verdict "commit" and commits with it, after every other server has
//! prepared its part. Whoever finds a prepared part whose coordinator does not answer inserts the verdict "abort" under the same
//! key. The key is the judge: of the two inserts one succeeds, whichever comes first, and the other waits for it and fails.
//! So a verdict is never changed, and a part without one can always be ended.
//!
//! A verdict may go once no server has a prepared part of its transaction and nobody can make one: after a run.

use serde::Serialize;

use mote_driver::{Admin, DriverError, DriverResult, Reply, Session, Wait, wire};

pub const TABLE: &str = "bench_decision";

pub const CREATE: &str =
    "CREATE TABLE bench_decision (gid varchar(200) PRIMARY KEY, verdict varchar(6) NOT NULL)";

/// What every name of a transaction begins with.
const PREFIX: &str = "mote-bench";

const UNIQUE_VIOLATION: &str = "23505";
const NO_SUCH_TRANSACTION: &str = "42704";

/// Makes the names of one terminal's transactions, unlike those of any other terminal and run.
pub struct Names {
    run: u64,
    terminal: usize,
    last: u64,
}

impl Names {
    pub fn new(run: u64, terminal: usize) -> Names {
        Names {
            run,
            terminal,
            last: 0,
        }
    }

    /// Its home is the first thing that a name tells: whoever finds the transaction knows whom to ask.
    pub fn next(&mut self, home: usize) -> String {
        self.last += 1;
        format!(
            "{PREFIX} {home} {:016x} {} {}",
            self.run, self.terminal, self.last
        )
    }
}

/// The home server in a name, which is only then one of ours.
fn home_of(gid: &str) -> Option<usize> {
    gid.strip_prefix(PREFIX)?.split(' ').nth(1)?.parse().ok()
}

/// One text of SQL, one round trip. Names hold no quotes.
pub fn ask<'a>(session: &'a mut Session, sql: &str, wait: &Wait<'_>) -> DriverResult<Reply<'a>> {
    wire::query(session.output(), sql);
    session.exchange(wait)
}

/// What commits the home's part, and with it the whole transaction.
pub fn commit_statement(gid: &str) -> String {
    format!("INSERT INTO {TABLE} (gid, verdict) VALUES ('{gid}', 'commit'); COMMIT")
}

/// Whether a transaction has committed, asked at its home. If nothing is decided yet, it is decided now that it has not.
pub fn has_committed(home: &mut Session, gid: &str, wait: &Wait<'_>) -> DriverResult<bool> {
    let abort = format!("INSERT INTO {TABLE} (gid, verdict) VALUES ('{gid}', 'abort')");
    match ask(home, &abort, wait) {
        Ok(_) => return Ok(false),
        Err(error) if error.sqlstate() == UNIQUE_VIOLATION => {}
        Err(error) => return Err(error),
    }
    let look = format!("SELECT verdict FROM {TABLE} WHERE gid = '{gid}'");
    let verdict = ask(home, &look, wait)?.row("the verdict")?.text()?;
    match verdict {
        "commit" => Ok(true),
        "abort" => Ok(false),
        other => Err(DriverError::protocol(format!("\"{other}\" is no verdict"))),
    }
}

/// Ends a prepared part. One that is not there has been ended before, or was never prepared.
pub fn finish(session: &mut Session, gid: &str, commits: bool, wait: &Wait<'_>) -> DriverResult<()> {
    let what = if commits { "COMMIT" } else { "ROLLBACK" };
    match ask(session, &format!("{what} PREPARED '{gid}'"), wait) {
        Ok(_) => Ok(()),
        Err(error) if error.sqlstate() == NO_SUCH_TRANSACTION => Ok(()),
        Err(error) => Err(error),
    }
}

/// Prepared parts that were found without a driver, and ended.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Recovered {
    pub committed: u64,
    pub rolled_back: u64,
}

/// Ends every part that a driver has left behind. No other driver may run on these servers.
pub fn recover(servers: &mut [Admin]) -> DriverResult<Recovered> {
    let mut recovered = Recovered::default();
    for number in 0..servers.len() {
        let found = servers[number].query(&format!(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND gid LIKE '{PREFIX} %' ORDER BY gid"
        ))?;
        for gid in found.into_iter().flatten().flatten() {
            let home = home_of(&gid).filter(|home| *home < servers.len());
            let home = home.ok_or_else(|| {
                DriverError::protocol(format!("\"{gid}\" was prepared by a run over other servers"))
            })?;
            let commits = has_committed(servers[home].session(), &gid, &Wait::Blocking)?;
            finish(servers[number].session(), &gid, commits, &Wait::Blocking)?;
            match commits {
                true => recovered.committed += 1,
                false => recovered.rolled_back += 1,
            }
        }
    }
    Ok(recovered)
}

/// After [`recover`], when no session of the run is left.
pub fn forget(servers: &mut [Admin]) -> DriverResult<()> {
    servers
        .iter_mut()
        .try_for_each(|server| server.execute(&format!("DELETE FROM {TABLE}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_home_and_differ() {
        let (mut one, mut other) = (Names::new(7, 1), Names::new(7, 2));
        let names = [one.next(3), one.next(3), other.next(3)];
        assert!(names.iter().all(|name| home_of(name) == Some(3)), "{names:?}");
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2]);
        assert_eq!(home_of("another's transaction"), None);
        assert_eq!(home_of("mote-bench"), None);
    }
}
