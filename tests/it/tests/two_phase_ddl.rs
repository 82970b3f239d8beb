//! kill -9 while prepared transactions with schema changes wait for their decision: what they made, changed and dropped
//! is there after COMMIT PREPARED and not after ROLLBACK PREPARED, from another session and after restarts and
//! checkpoints, and nobody gets past their locks before.
//!
//! Each transaction leaves its number in `done`, makes the table `made_NUMBER` and changes its client's own table in one
//! of several ways. After a kill each number is prepared, done or neither, and all it changed agrees with that.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict, psql_with};
use mote_it::server::TemporaryDirectory;
use tokio_postgres::NoTls;

const KILLS: u64 = 5;
const CLIENTS: u64 = 3;
/// Numbers of a client within a round.
const NUMBERS: u64 = 1000;
const ROWS: u64 = 50;

/// What a transaction does to its client's own table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    AddColumn,
    CreateIndex,
    Truncate,
    DropColumn,
    Rename,
}

const CHANGES: [Change; 5] = [
    Change::AddColumn,
    Change::CreateIndex,
    Change::Truncate,
    Change::DropColumn,
    Change::Rename,
];

fn change_of(number: u64) -> Change {
    CHANGES[(number % CHANGES.len() as u64) as usize]
}

/// The table that a transaction changes: one of its own, which was there before.
fn own_table(number: u64) -> String {
    format!("own_{number}")
}

fn work(number: u64) -> String {
    let own = own_table(number);
    let change = match change_of(number) {
        Change::AddColumn => format!(
            "alter table {own} add column more int default {number};
             update {own} set more = 0 where id % 2 = 0"
        ),
        Change::CreateIndex => format!(
            "update {own} set v = v + 1 where id = 1;
             create unique index on {own} (v, id); update {own} set v = v - 1 where id = 1"
        ),
        Change::Truncate => format!("truncate {own}; insert into {own} values (1, 1, 'new')"),
        Change::DropColumn => format!("alter table {own} drop column t"),
        Change::Rename => format!("alter table {own} rename to {own}_renamed"),
    };
    format!(
        "begin; insert into done values ({number});
         create table made_{number} (id serial primary key, v text default 'x');
         insert into made_{number} (v) values ('a'), ('b');
         savepoint s; create table lost_{number} (id int); rollback to s;
         create index on made_{number} (upper(v)) where id > 0; {change}"
    )
}

/// What a client was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Preparing,
    Prepared,
    Deciding,
    Committed,
    RolledBack,
}

#[derive(Default)]
struct Ledger {
    known: Mutex<BTreeMap<u64, Known>>,
    stop: AtomicBool,
}

impl Ledger {
    fn note(&self, number: u64, known: Known) {
        let mut ledger = self.known.lock().expect("no panic while held");
        ledger.insert(number, known);
    }

    fn len(&self) -> usize {
        self.known.lock().expect("no panic while held").len()
    }
}

#[test]
fn kills_around_prepared_schema_changes() {
    let seed = mote_common::env::real::entropy_u64();
    eprintln!("seed {seed}");
    let directory = TemporaryDirectory::new("two-phase-ddl");
    let data = directory.path().join("data");
    let open = || TestServer::open(&data, &[]).unwrap_or_else(|said| panic!("no start: {said}"));
    let mut server = open();
    psql_strict(&server, "create table done (gid bigint primary key)").good();
    let ledger = Ledger::default();
    let mut prng = Prng::new(seed);
    let mut undecided = 0;
    for kill in 0..KILLS {
        ledger.stop.store(false, Ordering::SeqCst);
        let address = format!(
            "host={} port={} user={} dbname={}",
            server.address.ip(),
            server.address.port(),
            server.user(),
            server.database()
        );
        let killed = server;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (ledger, address) = (&ledger, &address);
                let first = (kill * CLIENTS + client) * NUMBERS;
                scope.spawn(move || run_client(address, ledger, first, Prng::new(seed ^ first)));
            }
            // Counted, not timed: however fast or slow the machine is, there is something to find, and not too much.
            let enough = ledger.len() + 5 + prng.below(12) as usize;
            let deadline = Instant::now() + Duration::from_secs(60);
            while ledger.len() < enough && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(Duration::from_millis(prng.below(20)));
            drop(killed.kill());
            ledger.stop.store(true, Ordering::SeqCst);
        });
        server = open();
        undecided += check(&server, &ledger);
        if prng.chance(1, 2) {
            psql(&server, "checkpoint").good();
        }
        // Some are decided now, by a session that knows nothing of them; the others live through the next kill.
        let gids = lines(&server, "select gid from pg_prepared_xacts order by gid");
        for gid in gids {
            if prng.chance(1, 2) {
                decide(&server, &ledger, &gid, prng.chance(1, 2));
            }
        }
        check(&server, &ledger);
    }
    for gid in lines(&server, "select gid from pg_prepared_xacts order by gid") {
        decide(&server, &ledger, &gid, prng.chance(1, 2));
    }
    check(&server, &ledger);
    assert!(undecided > 0, "no transaction was left prepared");
    let done = lines(&server, "select count(*) from done");
    assert_ne!(done, ["0"], "nothing was committed");
    // All locks are gone, and new objects have names and numbers of their own.
    psql_strict(
        &server,
        "begin; lock table done in access exclusive mode nowait; create table last (id serial primary key);
         insert into last default values; commit",
    )
    .good();
    server.stop();
    check(&open(), &ledger);
}

fn decide(server: &TestServer, ledger: &Ledger, gid: &str, commit: bool) {
    let number = gid.parse().expect("a number");
    let (word, known) = match commit {
        true => ("commit", Known::Committed),
        false => ("rollback", Known::RolledBack),
    };
    psql_strict(server, &format!("{word} prepared '{gid}'")).good();
    ledger.note(number, known);
}

fn lines(server: &TestServer, query: &str) -> Vec<String> {
    let said = psql(server, query).good();
    said.lines().map(|line| line.trim().to_string()).collect()
}

/// Compares the ledger with the database and brings it up to date. Answers how many transactions are prepared.
fn check(server: &TestServer, ledger: &Ledger) -> usize {
    let numbers = |query: &str| -> Vec<u64> {
        let found = lines(server, query);
        found.iter().map(|line| line.parse().expect("a number")).collect()
    };
    let prepared = numbers("select gid from pg_prepared_xacts");
    let done = numbers("select gid from done");
    let mut known = ledger.known.lock().expect("no panic while held");
    let mut script = String::from("set lock_timeout = '20ms';\n");
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
        script.push_str(&questions(*number, is_prepared));
    }
    // Errors are answers, too.
    let said = psql_with(server, &["-At", "-v", "VERBOSITY=sqlstate"], &script);
    let answers = format!("{}{}", said.out, said.err);
    for (number, state) in known.iter() {
        expect(*number, *state, &said.out, &answers);
    }
    prepared.len()
}

/// What tells whether the transaction's changes are there; each answer begins with its number.
fn questions(number: u64, is_prepared: bool) -> String {
    let own = own_table(number);
    let mut script = format!(
        "select '{number} made', count(*) from pg_class where relname = 'made_{number}';
         select '{number} lost', count(*) from pg_class where relname = 'lost_{number}';
         select '{number} columns', string_agg(attname::text, ' ' order by attnum) from pg_attribute
             where attrelid = (select oid from pg_class where relname in ('{own}', '{own}_renamed'))
             and attnum > 0 and not attisdropped;
         select '{number} indexes', count(*) from pg_index
             where indrelid = (select oid from pg_class where relname in ('{own}', '{own}_renamed'));
         select '{number} renamed', count(*) from pg_class where relname = '{own}_renamed';\n"
    );
    if is_prepared {
        // Its locks: the table it changes, and the name it has taken.
        script.push_str(&format!(
            "update {own} set v = v where id = 3 returning '{number} written';
             create table made_{number} (a int);\n"
        ));
    } else {
        script.push_str(&format!(
            "select '{number} rows', count(*), sum(v) from {own};
             select '{number} renamed rows', count(*), sum(v) from {own}_renamed;
             select '{number} made rows', string_agg(v, '' order by id) from made_{number} where upper(v) in ('A', 'B')
                 and id > 0;
             insert into made_{number} (v) values ('c') returning '{number} next', id > 2;
             delete from made_{number} where v = 'c';\n"
        ));
    }
    script
}

fn expect(number: u64, state: Known, output: &str, everything: &str) {
    let is_there = |line: &str| output.lines().any(|said| said == line);
    let must = |line: String| {
        assert!(
            is_there(&line),
            "{line:?} is missing after {state:?}:\n{everything}"
        )
    };
    let done = state == Known::Committed;
    let change = change_of(number);
    let has = |which: Change| u64::from(done && change == which);
    must(format!("{number} made|{}", u64::from(done)));
    must(format!("{number} lost|0"));
    let columns = match change {
        Change::AddColumn if done => "id v t more",
        Change::DropColumn if done => "id v",
        _ => "id v t",
    };
    must(format!("{number} columns|{columns}"));
    must(format!("{number} indexes|{}", 1 + has(Change::CreateIndex)));
    must(format!("{number} renamed|{}", has(Change::Rename)));
    if state == Known::Prepared {
        assert!(
            !is_there(&format!("{number} written")),
            "{number}: the table it has locked was changed"
        );
        return;
    }
    let (rows, sum) = match change {
        Change::Truncate if done => (1, 1),
        _ => (ROWS, ROWS * (ROWS + 1) / 2),
    };
    let name = match change {
        Change::Rename if done => "renamed rows",
        _ => "rows",
    };
    must(format!("{number} {name}|{rows}|{sum}"));
    assert_eq!(is_there(&format!("{number} made rows|ab")), done, "{number}");
    assert_eq!(is_there(&format!("{number} next|t")), done, "{number}");
}

fn run_client(address: &str, ledger: &Ledger, first: u64, mut prng: Prng) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    // Ends when the server is gone.
    let _ = runtime.block_on(change_until_killed(address, ledger, first, &mut prng));
}

async fn change_until_killed(
    address: &str,
    ledger: &Ledger,
    first: u64,
    prng: &mut Prng,
) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(connection);
    for number in first..first + NUMBERS {
        if ledger.stop.load(Ordering::SeqCst) {
            break;
        }
        let own = own_table(number);
        client
            .batch_execute(&format!(
                "create table {own} (id int primary key, v int, t text);
                 insert into {own} select g, g, 'x' from generate_series(1, {ROWS}) g"
            ))
            .await
            .inspect_err(|error| assert!(error.as_db_error().is_none(), "{number}: {error:?}"))?;
        client
            .batch_execute(&work(number))
            .await
            .inspect_err(|error| assert!(error.as_db_error().is_none(), "{number}: {error:?}"))?;
        ledger.note(number, Known::Preparing);
        client
            .batch_execute(&format!("prepare transaction '{number}'"))
            .await?;
        ledger.note(number, Known::Prepared);
        let (word, outcome) = match prng.below(10) {
            0..2 => continue,
            2..5 => ("rollback", Known::RolledBack),
            _ => ("commit", Known::Committed),
        };
        ledger.note(number, Known::Deciding);
        client
            .batch_execute(&format!("{word} prepared '{number}'"))
            .await
            .inspect_err(|error| assert!(error.as_db_error().is_none(), "{number}: {error:?}"))?;
        ledger.note(number, outcome);
    }
    Ok(())
}
