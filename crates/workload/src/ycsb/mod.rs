//! The Yahoo! Cloud Serving Benchmark's core workloads A to F (Cooper and others, 2010) over its JDBC schema: records of a
//! key and ten fields, single-statement transactions.
//!
//! Read in this order: `draw` (which record is asked for), `rows` (records that can tell whether they are whole), and this
//! file.
//!
//! | | operations | records |
//! |---|---|---|
//! | A | 50 % reads, 50 % updates of one field | zipfian |
//! | B | 95 % reads, 5 % updates | zipfian |
//! | C | reads | zipfian |
//! | D | 95 % reads, 5 % inserts | the latest |
//! | E | 95 % scans of 1 to 100 records, 5 % inserts | zipfian |
//! | F | 50 % reads, 50 % reads and an update of the same record | zipfian |
//!
//! As in the original, a read and its update in F are two transactions, and popular records lie anywhere among the keys.
//! Unlike it, the zipfian distribution covers the records that were loaded, not ten thousand million.

mod draw;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::prng::Prng;
use serde_json::{Value, json};

use self::draw::{Frontier, Zipf};
pub use self::rows::FIELD_BYTES_MIN;
use self::rows::{FIELDS, Records, broken_records, key, put_field};
use super::condition::{self, ConditionVerdict};
use super::contract::{Client, Done, Effect, Exchange, Workload};
use super::loader::Data;
use super::statements::statements;
use mote_driver::Format::Text as T;
use mote_driver::Param::{Int, Text};
use mote_driver::{Admin, DriverResult, StatementId, StatementSet};

/// Longest scan, in records.
const SCAN_MAX: i64 = 100;

statements! {
    BEGIN() -> [] "BEGIN";
    COMMIT() -> [] "COMMIT";
    ROLLBACK() -> [] "ROLLBACK";
    READ(Text) -> [T, T, T, T, T, T, T, T, T, T, T]
        "SELECT * FROM usertable WHERE ycsb_key = $1";
    SCAN(Text, Int) -> [T, T, T, T, T, T, T, T, T, T, T]
        "SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2";
    INSERT(Text, Text, Text, Text, Text, Text, Text, Text, Text, Text, Text) -> []
        "INSERT INTO usertable VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    UPDATE_0(Text, Text) -> [] "UPDATE usertable SET field0 = $1 WHERE ycsb_key = $2";
    UPDATE_1(Text, Text) -> [] "UPDATE usertable SET field1 = $1 WHERE ycsb_key = $2";
    UPDATE_2(Text, Text) -> [] "UPDATE usertable SET field2 = $1 WHERE ycsb_key = $2";
    UPDATE_3(Text, Text) -> [] "UPDATE usertable SET field3 = $1 WHERE ycsb_key = $2";
    UPDATE_4(Text, Text) -> [] "UPDATE usertable SET field4 = $1 WHERE ycsb_key = $2";
    UPDATE_5(Text, Text) -> [] "UPDATE usertable SET field5 = $1 WHERE ycsb_key = $2";
    UPDATE_6(Text, Text) -> [] "UPDATE usertable SET field6 = $1 WHERE ycsb_key = $2";
    UPDATE_7(Text, Text) -> [] "UPDATE usertable SET field7 = $1 WHERE ycsb_key = $2";
    UPDATE_8(Text, Text) -> [] "UPDATE usertable SET field8 = $1 WHERE ycsb_key = $2";
    UPDATE_9(Text, Text) -> [] "UPDATE usertable SET field9 = $1 WHERE ycsb_key = $2";
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Letter {
    /// Half updates
    A,
    /// Mostly reads
    B,
    /// Reads only
    C,
    /// Reads of the latest, with inserts
    D,
    /// Short scans, with inserts
    E,
    /// Reads and updates of what was read
    F,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    ReadUpdate,
}

impl Letter {
    fn name(self) -> &'static str {
        match self {
            Letter::A => "ycsb-a",
            Letter::B => "ycsb-b",
            Letter::C => "ycsb-c",
            Letter::D => "ycsb-d",
            Letter::E => "ycsb-e",
            Letter::F => "ycsb-f",
        }
    }

    /// Operations in the order of `kinds`, and the share of the first in percent.
    fn operations(self) -> (&'static [Operation], u64) {
        match self {
            Letter::A => (&[Operation::Read, Operation::Update], 50),
            Letter::B => (&[Operation::Read, Operation::Update], 95),
            Letter::C => (&[Operation::Read], 100),
            Letter::D => (&[Operation::Read, Operation::Insert], 95),
            Letter::E => (&[Operation::Scan, Operation::Insert], 95),
            Letter::F => (&[Operation::Read, Operation::ReadUpdate], 50),
        }
    }

    fn kinds(self) -> &'static [&'static str] {
        match self {
            Letter::A | Letter::B => &["READ", "UPDATE"],
            Letter::C => &["READ"],
            Letter::D => &["READ", "INSERT"],
            Letter::E => &["SCAN", "INSERT"],
            Letter::F => &["READ", "READ-UPDATE"],
        }
    }
}

/// What the clients of a run share.
struct Common {
    letter: Letter,
    records: u64,
    field_bytes: usize,
    zipf: Zipf,
    /// Which records there are.
    frontier: Frontier,
    /// Makes every value of a field one of its own. Only uniqueness counts: Relaxed.
    versions: AtomicU64,
}

pub struct Ycsb {
    common: Arc<Common>,
    seed: u64,
}

impl Ycsb {
    pub fn new(letter: Letter, records: u64, field_bytes: usize, seed: u64) -> Ycsb {
        let common = Common {
            letter,
            records,
            field_bytes,
            zipf: Zipf::new(records),
            frontier: Frontier::new(records),
            versions: AtomicU64::new(1),
        };
        Ycsb {
            common: Arc::new(common),
            seed,
        }
    }
}

impl Workload for Ycsb {
    fn name(&self) -> &'static str {
        self.common.letter.name()
    }

    fn title(&self) -> String {
        format!("YCSB {:?}, {} records", self.common.letter, self.common.records)
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.common.letter.kinds()
    }

    fn writing(&self) -> &'static [usize] {
        match self.common.letter {
            Letter::C => &[],
            _ => &[1],
        }
    }

    fn settings(&self) -> Value {
        json!({"letter": format!("{:?}", self.common.letter), "records": self.common.records,
            "field_bytes": self.common.field_bytes, "fields": FIELDS, "zipfian_constant": draw::THETA})
    }

    fn data(&self) -> Box<dyn Data + '_> {
        Box::new(Records {
            records: self.common.records,
            field_bytes: self.common.field_bytes,
            seed: self.seed,
        })
    }

    fn statements(&self) -> StatementSet {
        statement_set()
    }

    /// Earlier runs may have inserted: the next number follows the highest, which every field begins with.
    fn prepare(&self, admin: &mut Admin) -> DriverResult<()> {
        let highest = admin.value("SELECT max(substr(field0, 1, 16)) FROM usertable")?;
        let next = highest.and_then(|digits| u64::from_str_radix(&digits, 16).ok());
        self.common
            .frontier
            .begin_at(next.map_or(0, |highest| highest + 1).max(self.common.records));
        Ok(())
    }

    fn client(&self, number: usize, seed: u64) -> Box<dyn Client> {
        Box::new(Caller {
            common: Arc::clone(&self.common),
            prng: Prng::fork(seed, 1_000 + number as u64),
            connection: number as u64,
            operation: Operation::Read,
            record: 0,
            field: 0,
            scan: 1,
            key: String::new(),
            value: String::new(),
        })
    }

    fn effect(&self, admin: &mut Admin) -> DriverResult<Effect> {
        Effect::of(&admin.query("SELECT count(*), 0 FROM usertable")?)
    }

    fn effect_says(&self) -> &'static str {
        "the number of records"
    }

    /// Computed here and not by the server: every value says which record and field it belongs to.
    fn conditions(&self, admin: &mut Admin, _: bool) -> Vec<ConditionVerdict> {
        let says = "every field of every record holds a whole value that was written for it";
        let broken = || broken_records(admin, self.common.field_bytes).map(Some);
        vec![condition::judge(1, says, broken)]
    }
}

struct Caller {
    common: Arc<Common>,
    prng: Prng,
    connection: u64,
    operation: Operation,
    record: u64,
    field: usize,
    scan: i32,
    key: String,
    value: String,
}

impl Client for Caller {
    fn draw(&mut self) -> usize {
        let common = Arc::clone(&self.common);
        let (operations, first_percent) = common.letter.operations();
        let kind = (self.prng.below(100) >= first_percent) as usize;
        self.operation = operations[kind];
        self.record = match self.operation {
            Operation::Insert => common.frontier.next(),
            _ if common.letter == Letter::D => {
                let newest = common.frontier.readable() - 1;
                newest.saturating_sub(common.zipf.rank(&mut self.prng))
            }
            _ => common.zipf.scattered(&mut self.prng),
        };
        self.field = self.prng.below(FIELDS as u64) as usize;
        self.scan = self.prng.between(1, SCAN_MAX) as i32;
        kind
    }

    fn attempt(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        self.key.clear();
        key(&mut self.key, self.record);
        let found = match self.operation {
            Operation::Read => self.read(exchange)?,
            Operation::Scan => {
                let reply = exchange.run(SCAN, |v| v.text(&self.key).int(self.scan))?;
                reply.first_row().is_some()
            }
            Operation::Insert => {
                self.insert(exchange)?;
                true
            }
            Operation::Update => self.update(exchange)?,
            Operation::ReadUpdate => self.read(exchange)? && self.update(exchange)?,
        };
        Ok(if found { Done::Committed } else { Done::Nothing })
    }

    /// An insert that failed leaves a gap, which readers of the latest records need not wait for.
    fn settled(&mut self) {
        if self.operation == Operation::Insert {
            self.common.frontier.settle(self.record);
        }
    }
}

impl Caller {
    fn read(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<bool> {
        let reply = exchange.run(READ, |v| v.text(&self.key))?;
        Ok(reply.first_row().is_some())
    }

    fn update(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<bool> {
        self.new_value(self.field);
        let statement = StatementId(UPDATE_0.0 + self.field as u8);
        // It changes no number of records: its answer's loss leaves nothing in doubt that is counted.
        let reply = exchange.run(statement, |v| v.text(&self.value).text(&self.key))?;
        Ok(reply.affected() == 1)
    }

    fn insert(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<()> {
        let effect = Effect { rows: 1, amount: 0 };
        let (key, mut value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
        let sent = exchange.alone(INSERT, effect, |v| {
            (0..FIELDS).fold(v.text(&key), |v, field| {
                value.clear();
                put_field(
                    &mut value,
                    self.record,
                    field,
                    self.version(),
                    self.common.field_bytes,
                );
                v.text(&value)
            })
        });
        let sent = sent.map(|_| ());
        (self.key, self.value) = (key, value);
        sent
    }

    fn new_value(&mut self, field: usize) {
        let version = self.version();
        self.value.clear();
        put_field(
            &mut self.value,
            self.record,
            field,
            version,
            self.common.field_bytes,
        );
    }

    fn version(&self) -> u64 {
        let number = self.common.versions.fetch_add(1, Ordering::Relaxed);
        number << 16 | (self.connection & 0xffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_letter_s() {
        for (letter, expect) in [
            (Letter::A, 0.5),
            (Letter::B, 0.05),
            (Letter::C, 0.0),
            (Letter::E, 0.05),
        ] {
            let ycsb = Ycsb::new(letter, 1_000, 100, 1);
            let mut client = ycsb.client(0, 7);
            let second: usize = (0..20_000).map(|_| client.draw()).sum();
            assert!(
                (second as f64 / 20_000.0 - expect).abs() < 0.01,
                "{letter:?}, seed 7"
            );
            assert!(ycsb.writing().iter().all(|kind| *kind < ycsb.kinds().len()));
        }
    }

    #[test]
    fn the_latest_records_are_read_most() {
        let ycsb = Ycsb::new(Letter::D, 10_000, 100, 1);
        let mut caller = Caller {
            common: Arc::clone(&ycsb.common),
            prng: Prng::new(9),
            connection: 0,
            operation: Operation::Read,
            record: 0,
            field: 0,
            scan: 1,
            key: String::new(),
            value: String::new(),
        };
        let mut newest = 0;
        for _ in 0..10_000 {
            if caller.draw() == 0 {
                newest += (caller.record >= ycsb.common.frontier.readable() - 100) as u32;
            }
            caller.settled();
        }
        assert!(newest > 4_000, "{newest}, seed 9");
    }
}
