//! Cancel and statement_timeout end what runs, whatever it is. The statements are those that the benchmark of neighbours
//! has, so that what is added there is covered here; and sorts, which spend their time where no row passes.
//!
//! Bounds are for a crowded machine and a debug build; the benchmark says how far below them an answer comes.

use std::time::{Duration, Instant};

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::waiting::{pid, without_time_limit};
use mote_it::wire::*;
use mote_workload::neighbours::HEAVY;

/// From the cancel, or from when the time is up, to the answer.
const SOON: Duration = Duration::from_secs(2);
const ROWS: i32 = 20_000;

/// Two sessions: one runs the statements, one cancels them.
struct World {
    _server: TestServer,
    client: RawClient,
    other: RawClient,
    pid: String,
}

fn start(name: &str) -> World {
    let server = TestServer::start_with(name, &["--workers", "1", "--memory", "2GB"]);
    let mut client = RawClient::connect(&server);
    let pid = pid(&mut client);
    World {
        other: RawClient::connect(&server),
        _server: server,
        client,
        pid,
    }
}

impl World {
    /// The statement ends by the time limit or before it.
    fn ends_in_time(&mut self, sql: &str, limit_ms: u64) {
        self.client.rows(&format!("set statement_timeout = {limit_ms}"));
        let began = Instant::now();
        let messages = self.client.query(sql);
        let took = began.elapsed();
        assert!(
            matches!(
                sqlstate(&messages).as_deref(),
                None | Some("57014" | "53200" | "54000")
            ),
            "{:?} from {sql}",
            error(&messages)
        );
        assert!(
            took < Duration::from_millis(limit_ms) + SOON,
            "{took:?} with a limit of {limit_ms} ms: {sql}"
        );
        without_time_limit(&mut self.client);
    }

    /// The statement ends when it is cancelled so long after its beginning, or before.
    fn ends_when_cancelled(&mut self, sql: &str, after: Duration) {
        self.client.raw(&query(sql));
        let began = Instant::now();
        // Meanwhile the other session is served by the same worker.
        while began.elapsed() < after && self.client.is_silent() {
            assert_eq!(self.other.rows("select 1"), ["1"]);
        }
        self.other
            .rows(&format!("select pg_cancel_backend({})", self.pid));
        let cancelled = Instant::now();
        let messages = self.client.until(b'Z');
        let took = cancelled.elapsed();
        assert!(took < SOON, "{took:?} after the cancel: {sql}");
        // A cancel that comes late meets an idle session, which forgets it, or what comes next.
        if sqlstate(&messages).is_none() {
            self.client.query("select 1");
        }
    }
}

#[test]
fn heavy_statements_end_when_they_are_told_to() {
    let mut world = start("ends-heavy");
    world.client.rows(&format!(
        "create table neighbours_rows (id int primary key, k int, t text); \
         insert into neighbours_rows select i, i % 1000, md5(i::text) from generate_series(1, {ROWS}) i"
    ));
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut prng = Prng::new(seed);
    for heavy in HEAVY {
        world.ends_in_time(heavy.sql, 100);
        let after = Duration::from_millis(20 + prng.below(380));
        world.ends_when_cancelled(heavy.sql, after);
    }
}

/// The rows are there within a second or so; to compare them takes many.
#[test]
fn sorts_end_when_they_are_told_to() {
    let mut world = start("ends-sorts");
    let rows = "(select array_fill(7, array[5000]) a offset 0) s, generate_series(1, 2500) i";
    for sql in [
        format!("select (a || i)[5001] from {rows} order by a || -i"),
        format!("select cardinality(array_agg(i order by a || -i)) from {rows}"),
        format!("select max(r) from (select rank() over (order by a || -i) r from {rows}) x"),
    ] {
        world.ends_in_time(&sql, 2000);
    }
    let printed = "select length(array_fill(123456, array[20000000])::text)";
    world.ends_in_time(printed, 1000);
    world.ends_when_cancelled(printed, Duration::from_millis(1500));
}
