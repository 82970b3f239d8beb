//! kill -9 between PREPARE and the decision: transfers between two tables by prepared transactions, decided late or not
//! at all, and what must be there after each restart.
//!
//! Each client keeps a ledger of what it was told. After a kill: a PREPARE that was answered is prepared, decided or, if
//! its decision was under way, either; an answered decision stands; the sum of all accounts never changes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict};
use mote_it::server::TemporaryDirectory;
use mote_it::storm::Storm;
use tokio_postgres::{Client, SimpleQueryMessage};

const KILLS: u64 = 8;
const CLIENTS: u64 = 4;
/// Commits and rollbacks that are answered in each life, at least.
const DECISIONS: u64 = 25;
const ACCOUNTS: u64 = 200;
const BALANCE: i64 = 1000;

/// What a client knows of a gid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// Sent, not answered.
    Preparing,
    Prepared,
    /// Sent, not answered: the row with the gid's number is there after a commit.
    Deciding,
    Committed,
    RolledBack,
}

#[derive(Default)]
struct Ledger {
    known: Mutex<BTreeMap<u64, Known>>,
}

impl Ledger {
    fn note(&self, number: u64, known: Known) {
        self.known
            .lock()
            .expect("no panic while held")
            .insert(number, known);
    }
}

#[test]
fn kills_between_prepare_and_decision() {
    let seed = mote_common::env::real::entropy_u64();
    eprintln!("seed {seed}");
    let directory = TemporaryDirectory::new("two-phase");
    let data = directory.path().join("data");
    let open = || TestServer::open(&data, &[]).unwrap_or_else(|said| panic!("no start: {said}"));
    let mut server = open();
    psql(
        &server,
        &format!(
            "create table a (id int primary key, v bigint not null);
             create table b (id int primary key, v bigint not null);
             create table done (gid bigint primary key);
             insert into a select g, {BALANCE} from generate_series(1, {ACCOUNTS}) g;
             insert into b select g, {BALANCE} from generate_series(1, {ACCOUNTS}) g;"
        ),
    )
    .good();
    let (ledger, storm) = (Ledger::default(), Storm::default());
    let mut prng = Prng::new(seed);
    let mut answered = 0;
    for kill in 0..KILLS {
        let life = Duration::from_millis(300 + prng.below(500));
        storm.until_killed(server, CLIENTS, life, DECISIONS, async |client, connection| {
            let first = (kill * CLIENTS + client) * 1_000_000;
            let prng = Prng::new(seed ^ first);
            transfer_until_killed(&connection, &storm, &ledger, first, prng).await
        });
        server = open();
        answered = check(&server, &ledger);
        if kill % 2 == 0 {
            // Also over a checkpoint, which would let the log go.
            psql(&server, "checkpoint").good();
        }
    }
    assert!(answered > 100, "only {answered} decisions were answered");
    // What is still open can be decided after all that.
    let open_gids = lines(&server, "select gid from pg_prepared_xacts order by gid");
    assert!(!open_gids.is_empty(), "no transaction was left prepared");
    for gid in open_gids {
        psql(&server, &format!("commit prepared '{gid}'")).good();
        ledger.note(gid.parse().expect("a number"), Known::Committed);
    }
    check(&server, &ledger);
    psql_strict(
        &server,
        "begin; lock table a, b, done in access exclusive mode nowait; commit",
    )
    .good();
}

fn lines(server: &TestServer, query: &str) -> Vec<String> {
    let said = psql(server, query).good();
    said.lines().map(|line| line.trim().to_string()).collect()
}

/// Compares the ledger with the database and brings it up to date. Answers how many decisions were answered so far.
fn check(server: &TestServer, ledger: &Ledger) -> usize {
    let numbers = |query: &str| -> Vec<u64> {
        let found = lines(server, query);
        found.iter().map(|line| line.parse().expect("a number")).collect()
    };
    let prepared = numbers("select gid from pg_prepared_xacts");
    let done = numbers("select gid from done");
    let mut known = ledger.known.lock().expect("no panic while held");
    for (number, state) in known.iter_mut() {
        let (is_prepared, is_done) = (prepared.contains(number), done.contains(number));
        let fine = match state {
            Known::Preparing => !is_done,
            Known::Prepared => is_prepared && !is_done,
            Known::Deciding => !(is_prepared && is_done),
            Known::Committed => !is_prepared && is_done,
            Known::RolledBack => !is_prepared && !is_done,
        };
        assert!(
            fine,
            "gid {number}: {state:?}, but prepared {is_prepared}, done {is_done}"
        );
        *state = match (is_prepared, is_done) {
            (true, _) => Known::Prepared,
            (_, true) => Known::Committed,
            _ => Known::RolledBack,
        };
    }
    for number in prepared.iter().chain(&done) {
        assert!(known.contains_key(number), "nobody prepared {number}");
    }
    let sum = lines(server, "select (select sum(v) from a) + (select sum(v) from b)");
    assert_eq!(sum, [(2 * ACCOUNTS as i64 * BALANCE).to_string()]);
    known.values().filter(|state| **state == Known::Committed).count()
}

async fn transfer_until_killed(
    client: &Client,
    storm: &Storm,
    ledger: &Ledger,
    first: u64,
    mut prng: Prng,
) -> Result<(), tokio_postgres::Error> {
    // Whoever is prepared and undecided keeps its rows: others must not wait for them for ever. Also where commits need
    // not be durable, two-phase commit is.
    let off = if first.is_multiple_of(2_000_000) {
        "off"
    } else {
        "on"
    };
    client
        .batch_execute(&format!(
            "set lock_timeout = '20ms'; set synchronous_commit = {off}"
        ))
        .await?;
    for number in first.. {
        if storm.is_over() {
            break;
        }
        let (from, to) = (1 + prng.below(ACCOUNTS), 1 + prng.below(ACCOUNTS));
        let work = format!(
            "begin; update a set v = v - 1 where id = {from}; update b set v = v + 1 where id = {to};
             insert into done values ({number})"
        );
        if let Err(error) = client.batch_execute(&work).await {
            if error.as_db_error().is_none() {
                return Ok(());
            }
            client.batch_execute("rollback").await?;
            continue;
        }
        ledger.note(number, Known::Preparing);
        client
            .batch_execute(&format!("prepare transaction '{number}'"))
            .await?;
        ledger.note(number, Known::Prepared);
        let (word, outcome) = match prng.below(20) {
            0 => continue,
            1..5 => ("rollback", Known::RolledBack),
            _ => ("commit", Known::Committed),
        };
        ledger.note(number, Known::Deciding);
        let said = client
            .simple_query(&format!("{word} prepared '{number}'"))
            .await?;
        assert!(matches!(said[..], [SimpleQueryMessage::CommandComplete(_)]));
        ledger.note(number, outcome);
        storm.count_commit();
    }
    Ok(())
}
