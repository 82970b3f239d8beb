//! The ledger: what the client knows to be committed, written outside the server, and its proof after a crash.
//!
//! Text, one record per line, so that it can be read by eye and joined by other tools:
//!   `mote-ledger 1`                       format
//!   `D w d first`                         the run's first order number in each district
//!   `A w d o c lines cents`               an acknowledged new order
//!   `U w d o`                             COMMIT was sent, the answer was lost: the order may or may not exist; o is 0
//!                                         where the answer would have told the number
//!   `E abandoned`                         the run ended; so many transactions got no answer at all
//! A ledger without `E` belongs to a driver that was itself killed; then orders without a record are no proof of
//! anything, and are only reported.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

use serde::Serialize;

use mote_driver::{Admin, DriverError, DriverResult};

const FORMAT: &str = "mote-ledger 1";

/// (warehouse, district, order).
pub type OrderKey = (i32, i32, i32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderFacts {
    pub customer: i32,
    pub lines: i32,
    pub amount_cents: i64,
}

/// The writing side, shared by all driver threads. The first write error is kept and reported at the end.
pub struct LedgerWriter {
    file: Mutex<(BufWriter<File>, Option<io::Error>)>,
}

impl LedgerWriter {
    pub fn create(path: &Path, first_orders: &[(i32, i32, i32)]) -> io::Result<LedgerWriter> {
        let mut file = BufWriter::with_capacity(64 * 1024, File::create(path)?);
        writeln!(file, "{FORMAT}")?;
        for (w, d, first) in first_orders {
            writeln!(file, "D {w} {d} {first}")?;
        }
        file.flush()?;
        Ok(LedgerWriter {
            file: Mutex::new((file, None)),
        })
    }

    fn write(&self, line: std::fmt::Arguments<'_>) {
        let mut guard = self.file.lock().expect("no panic while held");
        if let Err(error) = guard.0.write_fmt(line) {
            guard.1.get_or_insert(error);
        }
    }

    pub fn acknowledged(&self, (w, d, o): OrderKey, facts: OrderFacts) {
        let OrderFacts {
            customer,
            lines,
            amount_cents,
        } = facts;
        self.write(format_args!("A {w} {d} {o} {customer} {lines} {amount_cents}\n"));
    }

    pub fn unknown(&self, (w, d, o): OrderKey) {
        self.write(format_args!("U {w} {d} {o}\n"));
    }

    /// Hands buffered records to the kernel: they survive the driver's death, not the machine's.
    pub fn flush(&self) {
        let mut guard = self.file.lock().expect("no panic while held");
        if let Err(error) = guard.0.flush() {
            guard.1.get_or_insert(error);
        }
    }

    pub fn finish(&self, abandoned: usize) -> io::Result<()> {
        self.write(format_args!("E {abandoned}\n"));
        let mut guard = self.file.lock().expect("no panic while held");
        if let Some(error) = guard.1.take() {
            return Err(error);
        }
        guard.0.flush()?;
        guard.0.get_ref().sync_all()
    }
}

#[derive(Default, Debug)]
pub struct Ledger {
    pub first_orders: HashMap<(i32, i32), i32>,
    pub acknowledged: HashMap<OrderKey, OrderFacts>,
    /// Order numbers that were acknowledged twice: the server gave a number out again, so the first order is lost.
    pub reissued: Vec<OrderKey>,
    pub unknown: HashSet<OrderKey>,
    /// Orders in doubt whose numbers nobody knows.
    pub unnumbered: usize,
    /// `None` when the driver did not live to write it.
    pub abandoned: Option<usize>,
}

impl Ledger {
    pub fn read(path: &Path) -> Result<Ledger, String> {
        let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ledger::parse(BufReader::new(file)).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub fn parse(input: impl BufRead) -> Result<Ledger, String> {
        let mut ledger = Ledger::default();
        let mut lines = input.lines().enumerate().peekable();
        match lines.next() {
            Some((_, Ok(line))) if line == FORMAT => {}
            _ => return Err(format!("does not begin with \"{FORMAT}\"")),
        }
        while let Some((number, line)) = lines.next() {
            let line = line.map_err(|error| error.to_string())?;
            let parsed = ledger.record(&line);
            // The last line of a killed driver may be cut off; anywhere else damage is an error.
            if parsed.is_none() && lines.peek().is_some() {
                return Err(format!("line {}: \"{line}\" is not a record", number + 1));
            }
        }
        Ok(ledger)
    }

    fn record(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let fields: Vec<i64> = rest
            .split(' ')
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        let small = |value: i64| i32::try_from(value).ok();
        match (kind, fields.as_slice()) {
            ("D", &[w, d, first]) => {
                self.first_orders.insert((small(w)?, small(d)?), small(first)?);
            }
            ("A", &[w, d, o, customer, lines, amount_cents]) => {
                let facts = OrderFacts {
                    customer: small(customer)?,
                    lines: small(lines)?,
                    amount_cents,
                };
                let key = (small(w)?, small(d)?, small(o)?);
                if self.acknowledged.insert(key, facts).is_some() {
                    self.reissued.push(key);
                }
            }
            ("U", &[_, _, 0]) => self.unnumbered += 1,
            ("U", &[w, d, o]) => {
                self.unknown.insert((small(w)?, small(d)?, small(o)?));
            }
            ("E", &[abandoned]) => self.abandoned = usize::try_from(abandoned).ok(),
            _ => return None,
        }
        Some(())
    }
}

/// What comparing a ledger with a database found.
#[derive(Default, Debug, Serialize)]
pub struct LedgerVerdict {
    pub acknowledged: usize,
    /// Acknowledged orders that the database does not have. Each one is a lost transaction.
    pub missing: Vec<OrderKey>,
    /// Order numbers that were acknowledged twice; the first order of each is lost.
    pub reissued: Vec<OrderKey>,
    /// Acknowledged orders that the database has with another customer, number of lines or amount.
    pub different: Vec<OrderKey>,
    /// Orders of the database whose lines do not add up: half transactions.
    pub half: Vec<OrderKey>,
    /// Orders whose acknowledgement was lost and that exist.
    pub unknown_committed: usize,
    pub unknown_absent: usize,
    /// Orders of the database that nobody asked for, as far as the ledger knows.
    pub unaccounted: Vec<OrderKey>,
    pub unaccounted_allowed: Option<usize>,
}

impl LedgerVerdict {
    pub fn pass(&self) -> bool {
        let accounted = self
            .unaccounted_allowed
            .is_none_or(|allowed| self.unaccounted.len() <= allowed);
        let kept = self.missing.is_empty() && self.reissued.is_empty();
        kept && self.different.is_empty() && self.half.is_empty() && accounted
    }
}

/// Reads the run's orders from the database, all its servers, and compares them with the ledger.
pub fn verify(ledger: &Ledger, servers: &mut [Admin]) -> DriverResult<LedgerVerdict> {
    let mut orders = HashMap::new();
    for server in servers {
        read_orders(ledger, server, &mut orders)?;
    }
    Ok(compare(ledger, &orders))
}

/// An order as the database has it: what its header says and what its lines say.
#[derive(Clone, Copy, Default)]
struct StoredOrder {
    customer: i32,
    lines_announced: i32,
    lines_found: i32,
    amount_cents: i64,
}

fn read_orders(
    ledger: &Ledger,
    admin: &mut Admin,
    orders: &mut HashMap<OrderKey, StoredOrder>,
) -> DriverResult<()> {
    let lowest = ledger.first_orders.values().min().copied().unwrap_or(1);
    let in_run = |key: &OrderKey| {
        ledger
            .first_orders
            .get(&(key.0, key.1))
            .is_none_or(|first| key.2 >= *first)
    };
    let headers =
        format!("SELECT o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt FROM bmsql_oorder WHERE o_id >= {lowest}");
    admin.query_each(&headers, |row, _| {
        let key = (parsed(row.text()?)?, parsed(row.text()?)?, parsed(row.text()?)?);
        if in_run(&key) {
            let order = orders.entry(key).or_default();
            (order.customer, order.lines_announced) = (parsed(row.text()?)?, parsed(row.text()?)?);
        }
        Ok(())
    })?;
    let lines = format!(
        "SELECT ol_w_id, ol_d_id, ol_o_id, count(*), sum(ol_amount) FROM bmsql_order_line WHERE ol_o_id >= {lowest} \
         GROUP BY ol_w_id, ol_d_id, ol_o_id"
    );
    admin.query_each(&lines, |row, _| {
        let key = (parsed(row.text()?)?, parsed(row.text()?)?, parsed(row.text()?)?);
        if in_run(&key) {
            let order = orders.entry(key).or_default();
            order.lines_found = parsed(row.text()?)?;
            order.amount_cents = (parsed::<f64>(row.text()?)? * 100.0).round() as i64;
        }
        Ok(())
    })
}

fn parsed<T: std::str::FromStr>(text: &str) -> DriverResult<T> {
    text.parse()
        .map_err(|_| DriverError::protocol(format!("\"{text}\" is not a number")))
}

fn compare(ledger: &Ledger, orders: &HashMap<OrderKey, StoredOrder>) -> LedgerVerdict {
    let mut verdict = LedgerVerdict {
        acknowledged: ledger.acknowledged.len(),
        reissued: ledger.reissued.clone(),
        unaccounted_allowed: ledger.abandoned.map(|abandoned| abandoned + ledger.unnumbered),
        ..LedgerVerdict::default()
    };
    for (key, facts) in &ledger.acknowledged {
        match orders.get(key) {
            None => verdict.missing.push(*key),
            Some(order) => {
                let stored = OrderFacts {
                    customer: order.customer,
                    lines: order.lines_announced,
                    amount_cents: order.amount_cents,
                };
                if stored != *facts {
                    verdict.different.push(*key);
                }
            }
        }
    }
    for (key, order) in orders {
        if order.lines_announced != order.lines_found {
            verdict.half.push(*key);
        }
        if !ledger.acknowledged.contains_key(key) && !ledger.unknown.contains(key) {
            verdict.unaccounted.push(*key);
        }
    }
    // An order number that was lost with its transaction is given out again: only one that nobody had acknowledged
    // to them counts as the unknown one.
    let open = || {
        ledger
            .unknown
            .iter()
            .filter(|key| !ledger.acknowledged.contains_key(key))
    };
    verdict.unknown_committed = open().filter(|key| orders.contains_key(key)).count();
    verdict.unknown_absent = open().count() - verdict.unknown_committed;
    for list in [
        &mut verdict.missing,
        &mut verdict.different,
        &mut verdict.half,
        &mut verdict.unaccounted,
    ] {
        list.sort_unstable();
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "mote-ledger 1\nD 1 1 3001\nA 1 1 3001 7 5 1234\nA 1 1 3002 8 6 99\nU 1 1 3003\nE 0\n";

    fn stored(customer: i32, lines: i32, amount_cents: i64) -> StoredOrder {
        StoredOrder {
            customer,
            lines_announced: lines,
            lines_found: lines,
            amount_cents,
        }
    }

    #[test]
    fn parses_and_tolerates_only_a_torn_end() {
        let ledger = Ledger::parse(TEXT.as_bytes()).expect("well formed");
        assert_eq!(ledger.acknowledged.len(), 2);
        assert_eq!(ledger.abandoned, Some(0));
        let torn =
            Ledger::parse("mote-ledger 1\nA 1 1 3001 7 5 1234\nA 1 1 30".as_bytes()).expect("torn end");
        assert_eq!((torn.acknowledged.len(), torn.abandoned), (1, None));
        assert!(Ledger::parse("mote-ledger 1\nA 1 1 30\nE 0\n".as_bytes()).is_err());
        assert!(Ledger::parse("other\n".as_bytes()).is_err());
    }

    #[test]
    fn an_order_number_given_out_twice_is_a_lost_order() {
        let text = format!("{}A 1 1 3001 9 5 77\nE 0\n", TEXT.trim_end_matches("E 0\n"));
        let ledger = Ledger::parse(text.as_bytes()).expect("well formed");
        let orders = HashMap::from([((1, 1, 3001), stored(9, 5, 77)), ((1, 1, 3002), stored(8, 6, 99))]);
        let verdict = compare(&ledger, &orders);
        assert_eq!(verdict.reissued, vec![(1, 1, 3001)]);
        assert!(verdict.missing.is_empty() && verdict.different.is_empty() && !verdict.pass());
    }

    #[test]
    fn finds_each_kind_of_damage() {
        let ledger = Ledger::parse(TEXT.as_bytes()).expect("well formed");
        let good = HashMap::from([
            ((1, 1, 3001), stored(7, 5, 1234)),
            ((1, 1, 3002), stored(8, 6, 99)),
        ]);
        let check = |change: &dyn Fn(&mut HashMap<OrderKey, StoredOrder>)| {
            let mut orders = good.clone();
            change(&mut orders);
            compare(&ledger, &orders)
        };
        assert!(check(&|_| {}).pass());
        assert_eq!(
            check(&|orders| _ = orders.remove(&(1, 1, 3002))).missing,
            vec![(1, 1, 3002)]
        );
        assert_eq!(
            check(&|orders| _ = orders.insert((1, 1, 3002), stored(9, 6, 99)))
                .different
                .len(),
            1
        );
        assert_eq!(
            check(&|orders| _ = orders.insert((1, 1, 3009), stored(9, 6, 99)))
                .unaccounted
                .len(),
            1
        );
        let unnumbered = TEXT.replace("U 1 1 3003", "U 1 1 0");
        let unnumbered = Ledger::parse(unnumbered.as_bytes()).expect("well formed");
        let mut orders = good.clone();
        orders.insert((1, 1, 3003), stored(9, 6, 99));
        assert!(compare(&unnumbered, &orders).pass());
        orders.insert((1, 1, 3004), stored(9, 6, 99));
        assert!(!compare(&unnumbered, &orders).pass());
        let half = check(&|orders| orders.get_mut(&(1, 1, 3001)).expect("present").lines_found = 4);
        assert!(!half.pass());
        assert_eq!(half.half, vec![(1, 1, 3001)]);
        let lucky = check(&|orders| _ = orders.insert((1, 1, 3003), stored(9, 6, 99)));
        assert!(lucky.pass());
        assert_eq!(lucky.unknown_committed, 1);
    }
}
