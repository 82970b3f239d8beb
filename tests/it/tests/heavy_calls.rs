//! Single calls of functions that would take seconds or gigabytes: each ends by the statement's time limit, by the
//! server's memory limit, by PostgreSQL's own limit of a value, or with its result; others are served meanwhile, and the
//! process stays within its memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::waiting::without_time_limit;
use mote_it::wire::*;

/// The server's limit, and what its process may take: a tenth more, and what it has besides data.
const MEMORY_BYTES: u64 = 512 << 20;
const PROCESS_BYTES: u64 = MEMORY_BYTES / 10 * 11 + (128 << 20);
/// What a statement may take beyond its limit of 200 ms, on a busy machine and in a debug build.
const PATIENCE: Duration = Duration::from_secs(4);

const CALLS: &[&str] = &[
    "select length(repeat('x', 1000000000))",
    "select length(repeat('äöü', 300000000))",
    "select length(repeat('x', 300000000) || repeat('y', 300000000))",
    "select length(lpad('x', 200000000, 'abc'))",
    "select length(rpad('x', 200000000, 'ä'))",
    "select length(reverse(repeat('x', 200000000)))",
    "select length(upper(repeat('ä', 100000000)))",
    "select length(initcap(repeat('ab ', 60000000)))",
    "select length(translate(repeat('abc', 60000000), 'abc', 'xyz'))",
    "select length(translate(repeat('abc', 60000000), 'abcdefghijklmnopq', 'xyz'))",
    "select length(replace(repeat('x', 100000000), 'x', 'yy'))",
    "select length(overlay(repeat('x', 100000000) placing 'abc' from 50000000))",
    "select split_part(repeat('a,', 100000000), ',', 99999999)",
    "select split_part(repeat('a,', 100000000), ',', -99999999)",
    "select position('ab' in repeat('a', 300000000))",
    "select position(repeat('a', 50000000) || 'b' in repeat('a', 100000000))",
    "select length(substr(repeat('ä', 100000000), 10, 90000000))",
    "select length(btrim(repeat(' ', 200000000)))",
    "select length(format('%1000000000s', 'x'))",
    "select length(quote_literal(repeat('''', 200000000)))",
    "select length(concat_ws(',', repeat('x', 200000000), repeat('y', 200000000)))",
    "select length(normalize(repeat('ä', 50000000), NFD))",
    "select length('x'::char(10000000)::text || repeat('x', 100000000)::char(10000000))",
    "select position(repeat('0', 40000000)::varbit || b'1' in repeat('0', 80000000)::varbit)",
    "select length((repeat('01', 40000000)::bit(80000000) >> 3)::text)",
    "select md5(repeat('x', 300000000))",
    "select length(sha512(repeat('x', 300000000)::bytea))",
    "select crypt(repeat('x', 100000000), '$1$abcdefgh')",
    "select crypt('x', '$2a$31$abcdefghijklmnopqrstuu')",
    "select hmac('x', repeat('x', 300000000), 'sha1')",
    "select length(encode(repeat('x', 200000000)::bytea, 'hex'))",
    "select length(encode(repeat('x', 200000000)::bytea, 'base64'))",
    "select length(decode(repeat('ab', 100000000), 'hex'))",
    "select length(decode(repeat('abcd', 50000000), 'base64'))",
    "select length(string_agg(repeat('x', 100000000), ',')) from generate_series(1, 20)",
    "select length(string_agg(md5(i::text), ',')) from generate_series(1, 50000000) i",
    "select cardinality(string_to_array(repeat('a,', 20000000), ','))",
    "select cardinality(string_to_array(repeat('x', 50000000), null))",
    "select count(*) from unnest(string_to_array(repeat('a,', 20000000), ','))",
    "select count(*) from string_to_table(repeat('a,', 20000000), ',')",
    "select cardinality(array_fill(1, array[100000000]))",
    "select cardinality(array_cat(array_fill(1, array[20000000]), array_fill(2, array[20000000])))",
    "select length(array_to_string(array_fill('abcdefgh'::text, array[10000000]), ','))",
    "select array_fill(1, array[10000000]) @> array_fill(2, array[10000000])",
    "select length(array_fill(1, array[20000000])::text)",
    "select cardinality(('{' || repeat('1,', 20000000) || '1}')::int[])",
    "select jsonb_path_exists(to_jsonb(array_fill(1, array[20000])), '$[*] ? ($[*] == 2)')",
    "select length((repeat('7', 100000000))::numeric::text)",
    "select length(regexp_replace(repeat('x', 50000000), 'x', 'yy', 'g'))",
    "select count(*) from regexp_split_to_table(repeat('a,', 10000000), ',')",
    "select count(*) from regexp_matches(repeat('ab', 10000000), 'a(b)', 'g')",
    "select repeat('a', 200000) like '%' || repeat('a', 100000) || 'b%'",
    "select repeat('ab', 20000000) like '%a%b%a%c'",
    "select repeat('ab', 20000000) ilike '%A%B%A%C'",
    "select length(jsonb_build_array(repeat('x', 200000000))::text)",
    "select jsonb_array_length(('[' || repeat('1,', 20000000) || '1]')::jsonb)",
    "select ('[' || repeat('1,', 20000000) || '1]')::json -> 19999999",
    "select length(json_agg(i)::text) from generate_series(1, 20000000) i",
    "select length(jsonb_pretty(('[' || repeat('[1],', 5000000) || '1]')::jsonb))",
    "select length(to_json(repeat('\"', 200000000))::text)",
    "select length(sqrt(1e131071::numeric)::text)",
    "select length(factorial(30000)::text)",
    "select length((repeat('7', 65000)::numeric * repeat('8', 65000)::numeric)::text)",
    "select length(div(repeat('7', 131000)::numeric, repeat('3', 65000)::numeric)::text)",
    "select length(exp(5999.123456789::numeric)::text)",
    "select length(ln(repeat('7', 131000)::numeric)::text)",
    "select length(power(1.0000000001, 2000000000)::text)",
    "select length(gcd(repeat('7', 100000)::numeric, repeat('3', 99999)::numeric)::text)",
    "select length(to_char(repeat('7', 100000)::numeric, repeat('9', 100000)))",
    "select length(to_char(now(), repeat('YYYY', 10000000)))",
    "select count(*) from generate_subscripts(array_fill(1, array[50000000]), 1)",
    "select length(max(x)) from (select repeat('x', 50000000) || i from generate_series(1, 9) i) t(x)",
    "do $$ declare x text := 'x'; begin loop x := x || x; end loop; end $$",
    "do $$ declare x text := repeat('x', 100000000); begin loop x := reverse(x); end loop; end $$",
    "do $$ declare a int[] := '{}'; begin loop a := a || 1; end loop; end $$",
    "do $$ declare x text := repeat('ä', 10000000); n int; begin loop n := length(substr(x, 5000000)); end loop; end $$",
];

fn resident_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = text
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .expect("Linux says it");
    let kib: u64 = line
        .split_ascii_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    kib << 10
}

#[test]
fn heavy_calls_end_in_time_and_within_memory() {
    let limit = MEMORY_BYTES.to_string();
    let server = TestServer::start_with("heavy-calls", &["--memory", &limit, "--workers", "1"]);
    let done = Arc::new(AtomicBool::new(false));
    let most = Arc::new(AtomicU64::new(0));
    let slowest_ms = Arc::new(AtomicU64::new(0));
    let watching = {
        let (pid, done, most) = (server.pid(), done.clone(), most.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(resident_bytes(pid), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        })
    };
    // The one worker serves this session, too.
    let bystanding = {
        let (mut bystander, done, slowest_ms) =
            (RawClient::connect(&server), done.clone(), slowest_ms.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                assert_eq!(bystander.rows("select 1"), ["1"]);
                slowest_ms.fetch_max(start.elapsed().as_millis() as u64, Ordering::Relaxed);
            }
        })
    };
    let mut client = RawClient::connect(&server);
    client.rows("create extension pgcrypto");
    let mut failures = Vec::new();
    for call in CALLS {
        client.rows("set statement_timeout = '200ms'");
        slowest_ms.store(0, Ordering::Relaxed);
        let start = Instant::now();
        let messages = client.query(call);
        let took = start.elapsed();
        let said = error(&messages);
        let waited_ms = slowest_ms.load(Ordering::Relaxed);
        println!(
            "{took:>10.1?} bystander {waited_ms:>5} ms  {}  {call}",
            said.as_deref().unwrap_or("a result")
        );
        let state = sqlstate(&messages);
        let good = matches!(
            state.as_deref(),
            None | Some("57014" | "53200" | "54000" | "XX000" | "22003" | "22001")
        );
        if !good || took > PATIENCE + Duration::from_millis(200) || waited_ms > PATIENCE.as_millis() as u64 {
            failures.push(format!("{took:?} {said:?} {call}"));
        }
        // What ends a call leaves the session in order.
        without_time_limit(&mut client);
        assert_eq!(client.rows("select 2"), ["2"]);
    }
    done.store(true, Ordering::Relaxed);
    watching.join().expect("the watcher does not panic");
    bystanding.join().expect("the bystander was served");
    let most = most.load(Ordering::Relaxed);
    println!("at most {} MiB resident", most >> 20);
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(most <= PROCESS_BYTES, "{} MiB resident", most >> 20);
    server.stop();
}

/// A cancel request reaches a call that has no other place to look for it.
#[test]
fn a_call_is_cancelled_and_terminated() {
    let server = TestServer::start_with("heavy-cancel", &["--workers", "1"]);
    let heavy =
        "select length(reverse(repeat(x, 50000000))) from generate_series(1, 1000) i, concat('a', i) x";
    let mut victim = RawClient::connect(&server);
    for _ in 0..3 {
        victim.raw(&query(heavy));
        let mut other = RawClient::connect(&server);
        wait_until_active(&mut other, "reverse");
        let start = Instant::now();
        let mut cancel = RawClient::open(&server);
        cancel.untyped(&[80_877_102u32.to_be_bytes().to_vec(), victim.key_data.clone()].concat());
        assert_eq!(sqlstate(&victim.until(b'Z')).as_deref(), Some("57014"));
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    }
    victim.raw(&query(heavy));
    let mut other = RawClient::connect(&server);
    wait_until_active(&mut other, "reverse");
    other.rows("select pg_terminate_backend(pid) from pg_stat_activity where query like '%(reverse(%' and pid <> pg_backend_pid()");
    assert_eq!(sqlstate(&victim.until_closed()).as_deref(), Some("57P01"));
    server.stop();
}

/// Until another session runs a statement with this word.
fn wait_until_active(client: &mut RawClient, word: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let count = format!(
        "select count(*) from pg_stat_activity \
         where state = 'active' and query like '%({word}(%' and pid <> pg_backend_pid()"
    );
    while client.rows(&count) != ["1"] {
        assert!(Instant::now() < deadline, "the statement was never seen to run");
    }
}
