//! A transaction's other servers, and its commit in two phases.
//!
//! PREPARE on every other server, one after the other; then the home's own part commits together with the verdict
//! (`decisions`); then COMMIT PREPARED on the others. With n servers that are 2 (n - 1) + 1 round trips and as many flushes.
//!
//! Invariants
//!  1. The home is told to commit only after every PREPARE was answered.
//!  2. A part that may be prepared is ended before its terminal goes on, however often its server is lost meanwhile; only the
//!     end of the run leaves one behind, for `decisions::recover`.
//!  3. Sessions are taken in the order of servers, so terminals that share them never wait for each other in a circle.

use std::rc::Rc;

use super::decisions::{self, Names};
use super::{Counts, shard_of, touched};
use crate::pool::Pool;
use crate::tpcc::input::Input;
use crate::tpcc::statements as st;
use mote_driver::session::Traffic;
use mote_driver::{DriverError, DriverResult, Session, Wait};
use mote_measure::Timeline;

/// How long a terminal waits before it looks for a lost server again.
const RECONNECT_PAUSE_NS: u64 = 50_000_000;

/// How far a branch has come.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    /// Nothing was sent.
    Idle,
    /// BEGIN was sent.
    Open,
    /// PREPARE was sent: whether it is prepared is unknown until it answers, and as long as no answer came.
    Preparing,
    Prepared,
}

struct Branch {
    session: Session,
    /// What had gone over its wire when the transaction took it.
    before: Traffic,
    stage: Stage,
}

/// What is known of the verdict.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// The home was not told to commit, or has said that it did not.
    RolledBack,
    /// The home was told to commit and has not answered.
    InDoubt,
    Committed,
}

/// The servers beside the home, for one terminal.
pub struct Branches {
    pools: Rc<[Pool]>,
    home: usize,
    /// By server; those that the transaction needs and are not its home.
    branches: Vec<Option<Branch>>,
    names: Names,
    gid: String,
    fate: Fate,
    pub counts: Counts,
}

impl Branches {
    pub fn new(pools: Rc<[Pool]>, names: Names) -> Branches {
        Branches {
            home: 0,
            branches: pools.iter().map(|_| None).collect(),
            pools,
            names,
            gid: String::new(),
            fate: Fate::RolledBack,
            counts: Counts::default(),
        }
    }

    /// Takes a session of every server that the transaction needs; returns the home's.
    pub fn acquire(&mut self, input: &Input, wait: &Wait<'_>) -> DriverResult<Session> {
        let servers = self.pools.len();
        let (mut home, mut needed) = (None, [false; SERVERS_MAX]);
        touched(input, |warehouse| {
            let server = shard_of(warehouse, servers);
            home.get_or_insert(server);
            needed[server] = true;
        });
        self.home = home.expect("every transaction has a warehouse");
        self.fate = Fate::RolledBack;
        let mut own = None;
        for server in (0..servers).filter(|server| needed[*server]) {
            match self.pools[server].acquire(wait) {
                Ok(session) if server == self.home => own = Some(session),
                Ok(session) => {
                    self.branches[server] = Some(Branch {
                        before: session.traffic,
                        session,
                        stage: Stage::Idle,
                    });
                }
                Err(error) => {
                    if let Some(own) = own {
                        self.pools[self.home].release(own, wait);
                    }
                    self.release(wait);
                    return Err(error);
                }
            }
        }
        Ok(own.expect("the home is needed"))
    }

    /// The home's pool, which its session goes back to.
    pub fn home_pool(&self) -> &Pool {
        &self.pools[self.home]
    }

    /// The session for a warehouse, in its transaction; `None` if the home has the warehouse.
    pub fn session(&mut self, warehouse: i32) -> Option<&mut Session> {
        let branch = self.branches[shard_of(warehouse, self.pools.len())].as_mut()?;
        if branch.stage == Stage::Idle {
            branch.session.send(st::BEGIN, |none| none);
            branch.stage = Stage::Open;
        }
        Some(&mut branch.session)
    }

    /// Sends what is queued for the other servers, each its own round trip.
    pub fn flush(&mut self, wait: &Wait<'_>) -> DriverResult<()> {
        for branch in self.open() {
            if branch.session.has_output() {
                branch.session.round_trip(wait)?;
            }
        }
        Ok(())
    }

    fn open(&mut self) -> impl Iterator<Item = &mut Branch> {
        let all = self.branches.iter_mut().flatten();
        all.filter(|branch| branch.stage != Stage::Idle)
    }

    /// Whether the transaction has come to other servers.
    pub fn is_distributed(&self) -> bool {
        let mut all = self.branches.iter().flatten();
        all.any(|branch| branch.stage != Stage::Idle)
    }

    /// Prepares everywhere and commits at home. The other parts are committed by [`Branches::settle`].
    pub fn commit(&mut self, home: &mut Session, wait: &Wait<'_>) -> DriverResult<()> {
        self.gid = self.names.next(self.home);
        let prepare = format!("PREPARE TRANSACTION '{}'", self.gid);
        for branch in self.open() {
            branch.stage = Stage::Preparing;
            let reply = decisions::ask(&mut branch.session, &prepare, wait);
            match reply {
                // In a failed block it answers ROLLBACK without an error.
                Ok(reply) if reply.ended_with(b"PREPARE TRANSACTION\0") => branch.stage = Stage::Prepared,
                Ok(_) => {
                    branch.stage = Stage::Open;
                    return Err(DriverError::protocol(
                        "PREPARE TRANSACTION was answered by another command",
                    ));
                }
                Err(error) => {
                    if !error.is_fatal() {
                        branch.stage = Stage::Open;
                    }
                    return Err(error);
                }
            }
        }
        self.fate = Fate::InDoubt;
        match decisions::ask(home, &decisions::commit_statement(&self.gid), wait) {
            Ok(reply) if reply.ended_with(b"COMMIT\0") => {
                self.fate = Fate::Committed;
                self.counts.distributed += 1;
                Ok(())
            }
            Ok(_) => {
                self.fate = Fate::RolledBack;
                Err(DriverError::protocol("COMMIT was not answered by COMMIT"))
            }
            Err(error) => {
                if !error.is_fatal() {
                    self.fate = Fate::RolledBack;
                }
                Err(error)
            }
        }
    }

    /// Ends every part as the home has decided and gives the sessions back. The home's own session must have gone back before.
    pub fn settle(&mut self, timeline: &Timeline, traffic: &mut Traffic, wait: &Wait<'_>) {
        let prepared = |branch: &Branch| matches!(branch.stage, Stage::Preparing | Stage::Prepared);
        let any_prepared = self.branches.iter().flatten().any(prepared);
        if any_prepared {
            let verdict = match self.fate {
                Fate::Committed => Some(true),
                Fate::RolledBack => Some(false),
                Fate::InDoubt => self.ask_home(timeline, wait),
            };
            if let Some(commits) = verdict {
                self.counts.undone += !commits as u64;
                self.finish(commits, timeline, wait);
            }
        }
        for branch in self.branches.iter_mut().flatten() {
            let session = &mut branch.session;
            if session.is_usable() && session.in_transaction() {
                session.discard_output();
                session.send(st::ROLLBACK, |none| none);
                if session.round_trip(wait).is_err() {
                    session.abandon();
                }
            }
            session.discard_output();
            traffic.add(session.traffic.since(branch.before));
        }
        self.release(wait);
    }

    /// What the home has decided; `None` if it does not answer before the run ends.
    fn ask_home(&mut self, timeline: &Timeline, wait: &Wait<'_>) -> Option<bool> {
        let gid = self.gid.clone();
        patiently(&self.pools[self.home], timeline, wait, |session| {
            decisions::has_committed(session, &gid, wait)
        })
    }

    fn finish(&mut self, commits: bool, timeline: &Timeline, wait: &Wait<'_>) {
        let gid = std::mem::take(&mut self.gid);
        for (branch, pool) in self.branches.iter_mut().zip(self.pools.iter()) {
            let prepared = |branch: &mut Branch| matches!(branch.stage, Stage::Preparing | Stage::Prepared);
            let Some(mut own) = branch.take_if(prepared) else {
                continue;
            };
            let done = own.session.is_usable()
                && match decisions::finish(&mut own.session, &gid, commits, wait) {
                    Ok(()) => true,
                    Err(_) => {
                        own.session.abandon();
                        false
                    }
                };
            if done {
                own.stage = Stage::Idle;
                *branch = Some(own);
                continue;
            }
            // Makes room for another connection to the same server.
            pool.release(own.session, wait);
            let finished = patiently(pool, timeline, wait, |session| {
                decisions::finish(session, &gid, commits, wait)
            });
            self.counts.finished_late += finished.is_some() as u64;
        }
    }

    fn release(&mut self, wait: &Wait<'_>) {
        for (branch, pool) in self.branches.iter_mut().zip(self.pools.iter()) {
            if let Some(branch) = branch.take() {
                pool.release(branch.session, wait);
            }
        }
    }
}

/// More servers than any run has.
pub const SERVERS_MAX: usize = 16;

/// Does it on new connections until one answers; `None` if the run ends before.
fn patiently<T>(
    pool: &Pool,
    timeline: &Timeline,
    wait: &Wait<'_>,
    mut work: impl FnMut(&mut Session) -> DriverResult<T>,
) -> Option<T> {
    while !timeline.stopped() {
        if let Ok(mut session) = pool.acquire(wait) {
            let worked = work(&mut session);
            if worked.is_err() {
                session.abandon();
            }
            pool.release(session, wait);
            if let Ok(worked) = worked {
                return Some(worked);
            }
        }
        wait.until(timeline.now_ns() + RECONNECT_PAUSE_NS);
    }
    None
}
