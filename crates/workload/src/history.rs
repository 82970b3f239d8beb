//! Transactions whose history is checked: lists that grow by unique values, registers that are overwritten by them.
//!
//! Blocking sessions on threads: what counts is how transactions interleave, not how fast they are. A client writes down
//! what it was told and nothing else; an attempt that failed stays in the history, since others must not see it.
//!
//! With followers of the server some clients read there, whole transactions long, and everything is one history: what a
//! follower shows must fit into the order of what its primary has told.
//!
//! Invariant: a transaction whose connection was lost before COMMIT was sent is aborted; after that, unknown.

mod exclusion;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mote_common::prng::Prng;

use crate::anomalies::check::Level;
use crate::anomalies::{Key, Operation, Outcome, Transaction, Value, value_of};
use mote_driver::{Admin, DriverError, DriverResult, Target};

/// A list is left for a new one after so many appends, so that reads stay short.
const LIST_MAX: u64 = 40;
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// Longer silence of one statement is reported as an error of this client.
const STATEMENT_TIMEOUT_MS: u32 = 20_000;
/// How long a follower may take until it shows the tables.
const FOLLOWED: Duration = Duration::from_secs(60);

pub use exclusion::Exclusion;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Lists that transactions read and append to: every dependency follows from what was read
    Append,
    /// Registers that transactions read and overwrite, often the one they have just read
    Register,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub workload: Workload,
    pub level: Level,
    /// Makes the transactions serial, whatever their level.
    pub exclusion: Option<Exclusion>,
    pub connections: usize,
    /// Keys in use at a time.
    pub keys: u64,
    /// Operations of a transaction: 1 to this many.
    pub operations_max: i64,
    pub duration: Duration,
    pub seed: u64,
    /// A random session's statement is cancelled this often.
    pub cancel_every: Option<Duration>,
}

impl Plan {
    /// What the history is judged by.
    pub fn judged_level(&self) -> Level {
        self.exclusion.map_or(self.level, |_| Level::Serializable)
    }
}

/// What ran.
pub struct Record {
    pub history: Vec<Transaction>,
    /// Errors by SQLSTATE.
    pub errors: BTreeMap<String, u64>,
    pub connections_lost: u64,
    pub cancels: u64,
}

/// What clients share. The server may move when it is killed and started again.
pub struct Stage {
    target: Mutex<Target>,
    /// Followers of it.
    readers: Vec<Target>,
    next_id: AtomicU64,
    /// By slot: appends so far, which decide the slot's current key.
    appends: Vec<AtomicU64>,
    /// By client: the server's process number of its session, 0 without one.
    pids: Vec<AtomicU32>,
}

// The atomics are counters and hints on their own; nothing else is read through them: Relaxed everywhere.
impl Stage {
    pub fn new(plan: &Plan, target: Target, readers: Vec<Target>) -> Stage {
        Stage {
            target: Mutex::new(target),
            readers,
            next_id: AtomicU64::new(1),
            appends: (0..plan.keys).map(|_| AtomicU64::new(0)).collect(),
            pids: (0..plan.connections).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    pub fn target(&self) -> Target {
        self.target.lock().expect("no panic while it is held").clone()
    }

    /// The follower that this client reads from, if there are any and it is its turn: each server has the same number.
    fn reader_of(&self, client: usize) -> Option<&Target> {
        self.readers
            .get((client % (self.readers.len() + 1)).checked_sub(1)?)
    }

    pub fn moved(&self, target: Target) {
        *self.target.lock().expect("no panic while it is held") = target;
    }
}

/// Makes the tables, and waits until all of `readers` show them.
pub fn set_up(plan: &Plan, target: &Target, readers: &[Target]) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    admin.execute("drop table if exists history_lists")?;
    admin.execute("drop table if exists history_registers")?;
    admin.execute("create table history_lists (k bigint primary key, v text not null)")?;
    admin.execute(
        "create table history_registers (k bigint primary key, v bigint not null, before bigint not null)",
    )?;
    Exclusion::set_up(&mut admin)?;
    for key in 0..plan.keys {
        admin.execute(&format!("insert into history_registers values ({key}, 0, 0)"))?;
    }
    if readers.is_empty() {
        return Ok(());
    }
    admin.execute("drop table if exists history_begun")?;
    admin.execute("create table history_begun (run text)")?;
    let run = admin.value("insert into history_begun values (clock_timestamp()::text) returning run")?;
    readers.iter().try_for_each(|reader| await_run(reader, &run))
}

fn await_run(reader: &Target, run: &Option<String>) -> DriverResult<()> {
    let since = Instant::now();
    loop {
        let found = Admin::connect(reader).and_then(|mut admin| admin.value("select run from history_begun"));
        match found {
            Ok(found) if found == *run => return Ok(()),
            Err(error) if since.elapsed() >= FOLLOWED => return Err(error),
            Ok(_) if since.elapsed() >= FOLLOWED => {
                return Err(DriverError::protocol(format!(
                    "{reader} does not follow the target"
                )));
            }
            _ => std::thread::sleep(RECONNECT_PAUSE),
        }
    }
}

/// Runs the clients; `meanwhile` runs beside them and may restart the server. Then everything is read once more.
pub fn run(
    plan: &Plan,
    stage: &Stage,
    meanwhile: impl FnOnce(Instant) -> Result<(), String>,
) -> Result<Record, String> {
    let deadline = Instant::now() + plan.duration;
    let (clients, cancels, outcome) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.connections)
            .map(|number| scope.spawn(move || Client::new(plan, stage, number).run(deadline)))
            .collect();
        let canceller = plan
            .cancel_every
            .map(|period| scope.spawn(move || cancel(plan, stage, period, deadline)));
        let outcome = meanwhile(deadline);
        let clients: Vec<Client<'_>> = clients
            .into_iter()
            .map(|client| client.join().expect("a client does not panic"))
            .collect();
        let cancels = canceller.map_or(0, |thread| thread.join().expect("the canceller does not panic"));
        (clients, cancels, outcome)
    });
    outcome?;
    let mut record = Record {
        history: Vec::new(),
        errors: BTreeMap::new(),
        connections_lost: 0,
        cancels,
    };
    for client in clients {
        record.history.extend(client.history);
        record.connections_lost += client.connections_lost;
        for (state, count) in client.errors {
            *record.errors.entry(state).or_default() += count;
        }
    }
    record.history.sort_by_key(|transaction| transaction.id);
    let last =
        read_everything(plan, stage).map_err(|error| format!("cannot read the final state: {error}"))?;
    record.history.push(last);
    Ok(record)
}

struct Client<'a> {
    plan: &'a Plan,
    stage: &'a Stage,
    number: usize,
    prng: Prng,
    history: Vec<Transaction>,
    errors: BTreeMap<String, u64>,
    connections_lost: u64,
}

/// What a client is about to do.
enum Step {
    Read(Key),
    Write(Key),
}

impl<'a> Client<'a> {
    fn new(plan: &'a Plan, stage: &'a Stage, number: usize) -> Client<'a> {
        Client {
            plan,
            stage,
            number,
            prng: Prng::fork(plan.seed, number as u64),
            history: Vec::new(),
            errors: BTreeMap::new(),
            connections_lost: 0,
        }
    }

    fn run(mut self, deadline: Instant) -> Client<'a> {
        while Instant::now() < deadline {
            match self.connect() {
                Ok(mut admin) => {
                    while Instant::now() < deadline && self.transaction(&mut admin) {}
                    self.stage.pids[self.number].store(0, Ordering::Relaxed);
                }
                Err(_) => std::thread::sleep(RECONNECT_PAUSE),
            }
        }
        self
    }

    fn connect(&mut self) -> DriverResult<Admin> {
        let reader = self.stage.reader_of(self.number);
        let mut admin = Admin::connect(&reader.cloned().unwrap_or_else(|| self.stage.target()))?;
        admin.execute(&format!("set statement_timeout = {STATEMENT_TIMEOUT_MS}"))?;
        // Random orders of keys deadlock often, and PostgreSQL waits a second before it looks. Not everybody may set it.
        match admin.execute("set deadlock_timeout = '20ms'") {
            Err(error) if error.is_fatal() => return Err(error),
            _ => {}
        }
        if reader.is_some() {
            // A number of another server, which nobody shall cancel on this one.
            return Ok(admin);
        }
        let pid = admin.value("select pg_backend_pid()")?.unwrap_or_default();
        self.stage.pids[self.number].store(pid.parse().unwrap_or(0), Ordering::Relaxed);
        Ok(admin)
    }

    /// One attempt; false if the session is lost.
    fn transaction(&mut self, admin: &mut Admin) -> bool {
        let mut transaction = Transaction {
            id: self.stage.next_id.fetch_add(1, Ordering::Relaxed),
            operations: Vec::new(),
            outcome: Outcome::Aborted,
            is_final: false,
        };
        let mut usable = true;
        let mut failed = |client: &mut Self, error: DriverError| {
            usable = !error.is_fatal();
            client.connections_lost += u64::from(error.is_fatal());
            *client.errors.entry(error.sqlstate().to_string()).or_default() += 1;
        };
        match self.attempt(admin, &mut transaction) {
            Ok(()) if self.prng.between(1, 20) == 1 => {
                if let Err(error) = admin.execute("rollback") {
                    failed(self, error);
                }
            }
            Ok(()) => match admin.execute(&self.commit()) {
                Ok(()) => transaction.outcome = Outcome::Committed,
                Err(error) => {
                    if !matches!(error, DriverError::Server(_)) || error.is_fatal() {
                        transaction.outcome = Outcome::Unknown;
                    }
                    failed(self, error);
                }
            },
            Err(error) => failed(self, error),
        }
        self.history.push(transaction);
        let over = |admin: &mut Admin| {
            admin.execute("rollback")?;
            self.plan
                .exclusion
                .map_or(Ok(()), |exclusion| exclusion.release(admin))
        };
        usable && over(admin).is_ok()
    }

    fn commit(&self) -> String {
        self.plan
            .exclusion
            .map_or_else(|| "commit".to_string(), Exclusion::commit)
    }

    fn attempt(&mut self, admin: &mut Admin, transaction: &mut Transaction) -> DriverResult<()> {
        let reads_only = match self.stage.reader_of(self.number) {
            Some(_) => " read only",
            None => "",
        };
        let begin = format!("begin isolation level {}{reads_only}", self.plan.level.sql());
        match self.plan.exclusion {
            None => admin.execute(&begin)?,
            Some(exclusion) => {
                exclusion.before(admin)?;
                admin.execute(&begin)?;
                exclusion.within(admin)?;
            }
        }
        let mut writes = 0;
        for step in self.steps() {
            let done = match step {
                Step::Read(key) => self.read(admin, key)?,
                Step::Write(key) => {
                    writes += 1;
                    self.write(admin, key, value_of(transaction.id, writes - 1))?
                }
            };
            transaction.operations.push(done);
        }
        Ok(())
    }

    /// A third of the transactions only reads, a third writes what it has read, the rest mixes.
    fn steps(&mut self) -> Vec<Step> {
        let count = self.prng.between(1, self.plan.operations_max);
        let style = match self.stage.reader_of(self.number) {
            Some(_) => 0,
            None => self.prng.between(0, 2),
        };
        let mut steps = Vec::new();
        for _ in 0..count {
            let slot = self.prng.between(0, self.plan.keys as i64 - 1) as u64;
            let key = self.current_key(slot);
            match style {
                0 => steps.push(Step::Read(key)),
                1 => steps.extend([Step::Read(key), Step::Write(key)]),
                _ if self.prng.between(0, 1) == 0 => steps.push(Step::Read(key)),
                _ => steps.push(Step::Write(key)),
            }
        }
        steps
    }

    /// Registers stay; lists are replaced when they are long.
    fn current_key(&self, slot: u64) -> Key {
        match self.plan.workload {
            Workload::Register => slot,
            Workload::Append => {
                let appends = self.stage.appends[slot as usize].load(Ordering::Relaxed);
                slot + self.plan.keys * (appends / LIST_MAX)
            }
        }
    }

    fn read(&self, admin: &mut Admin, key: Key) -> DriverResult<Operation> {
        match self.plan.workload {
            Workload::Append => {
                let text = admin.value(&format!("select v from history_lists where k = {key}"))?;
                let list = parse_list(&text.unwrap_or_default())?;
                Ok(Operation::ReadList { key, list })
            }
            Workload::Register => {
                let text = admin.value(&format!("select v from history_registers where k = {key}"))?;
                let value = parse(&text.unwrap_or_default())?;
                Ok(Operation::ReadRegister { key, value })
            }
        }
    }

    fn write(&self, admin: &mut Admin, key: Key, value: Value) -> DriverResult<Operation> {
        match self.plan.workload {
            Workload::Append => {
                self.stage.appends[(key % self.plan.keys) as usize].fetch_add(1, Ordering::Relaxed);
                admin.execute(&format!(
                    "insert into history_lists values ({key}, '{value}') \
                     on conflict (k) do update set v = history_lists.v || ',{value}'"
                ))?;
                Ok(Operation::Append { key, value })
            }
            Workload::Register => {
                let text = admin.value(&format!(
                    "update history_registers set before = v, v = {value} where k = {key} returning before"
                ))?;
                let replaced = parse(&text.unwrap_or_default())?;
                Ok(Operation::Write { key, value, replaced })
            }
        }
    }
}

fn parse(text: &str) -> DriverResult<Value> {
    text.parse()
        .map_err(|_| DriverError::protocol(format!("\"{text}\" is not a value of this workload")))
}

fn parse_list(text: &str) -> DriverResult<Vec<Value>> {
    text.split(',')
        .filter(|part| !part.is_empty())
        .map(parse)
        .collect()
}

/// Cancels what a random client runs; how often.
fn cancel(plan: &Plan, stage: &Stage, period: Duration, deadline: Instant) -> u64 {
    let mut prng = Prng::fork(plan.seed, u64::MAX);
    let mut count = 0;
    let mut admin = None;
    while Instant::now() < deadline {
        std::thread::sleep(period);
        if admin.is_none() {
            admin = Admin::connect(&stage.target()).ok();
        }
        let victim = prng.between(0, plan.connections as i64 - 1) as usize;
        let pid = stage.pids[victim].load(Ordering::Relaxed);
        let Some(session) = &mut admin else { continue };
        if pid != 0 {
            match session.execute(&format!("select pg_cancel_backend({pid})")) {
                Ok(()) => count += 1,
                Err(error) if error.is_fatal() => admin = None,
                Err(_) => {}
            }
        }
    }
    count
}

/// The state after everybody has ended, as one more transaction.
fn read_everything(plan: &Plan, stage: &Stage) -> DriverResult<Transaction> {
    let mut admin = Admin::connect(&stage.target())?;
    let mut operations = Vec::new();
    match plan.workload {
        Workload::Append => {
            for row in admin.query("select k, v from history_lists order by k")? {
                let (key, list) = (text(&row, 0), text(&row, 1));
                operations.push(Operation::ReadList {
                    key: parse(&key)?,
                    list: parse_list(&list)?,
                });
            }
        }
        Workload::Register => {
            for row in admin.query("select k, v from history_registers order by k")? {
                let (key, value) = (parse(&text(&row, 0))?, parse(&text(&row, 1))?);
                operations.push(Operation::ReadRegister { key, value });
            }
        }
    }
    Ok(Transaction {
        id: stage.next_id.fetch_add(1, Ordering::Relaxed),
        operations,
        outcome: Outcome::Committed,
        is_final: true,
    })
}

fn text(row: &[Option<String>], column: usize) -> String {
    row.get(column).cloned().flatten().unwrap_or_default()
}
