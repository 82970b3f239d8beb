//! A follower's stream over a cable that does harm, encrypted and in the clear; clients that begin to encrypt and fall silent;
//! certificates that change while streams run. The seed is printed; `MOTE_IT_SEED` repeats a run.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mote_common::env::real::entropy_u64;
use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::certificates::{Authority, ELLIPTIC, replace};
use mote_it::nodes::{await_value, compare, follow_url, value};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use mote_it::tamper::{Harm, Tamper};

const TIMEOUT: Duration = Duration::from_secs(60);
const STATE: [&str; 1] = ["select count(*), sum(a), md5(string_agg(b, '' order by a)) from t"];
const ROUNDS: u64 = 14;

fn encrypting(name: &str, authority: &Authority) -> TestServer {
    authority.sign("server", "server", ELLIPTIC);
    TestServer::start_with(
        name,
        &[
            "--tls-cert",
            &authority.file("server.crt"),
            "--tls-key",
            &authority.file("server.key"),
            "--log-segment-size",
            "4MB",
        ],
    )
}

fn seeded() -> Prng {
    let seed =
        std::env::var("MOTE_IT_SEED").map_or_else(|_| entropy_u64(), |seed| seed.parse().expect("a number"));
    println!("seed {seed}");
    Prng::new(seed)
}

fn fill(primary: &TestServer, from: u64, rows: u64) {
    let to = from + rows - 1;
    value(
        primary,
        &format!("insert into t select g, repeat(md5(g::text), 8) from generate_series({from}, {to}) g"),
    );
}

/// Somewhere in the handshake, in the log-in, at the beginning of the stream, or in its midst.
fn any_harm(prng: &mut Prng, encrypted: bool) -> Harm {
    let reach = [8, 300, 3000, 200_000][prng.below(4) as usize];
    let at = prng.below(reach) as usize;
    match prng.below(5) {
        0 => Harm::Cut(at),
        // In the clear nothing tells a bit that is another one from what was said, but for the log itself.
        1 if encrypted => Harm::Flip(at),
        2 if encrypted => Harm::Garbage(at),
        3 => Harm::Silence(at),
        _ => Harm::Trickle(at, 20 + prng.below(700) as usize),
    }
}

fn harms(primary: &TestServer, authority: Option<&Authority>, name: &str) {
    let mut prng = seeded();
    let cable = Tamper::before(primary.address);
    let security = authority.map_or(String::new(), |authority| {
        format!("&sslmode=verify-full&sslrootcert={}", authority.file("root.crt"))
    });
    let url = format!(
        "postgres://postgres@{}/postgres?connect_timeout=2{security}",
        cable.address
    );
    value(primary, "create table t (a int primary key, b text)");
    let data = TemporaryDirectory::new(name);
    let mut follower = follow_url(&url, &data, "b").unwrap_or_else(|said| panic!("no follower: {said}"));
    let mut next = 1;
    for round in 0..ROUNDS {
        let harm = any_harm(&mut prng, authority.is_some());
        println!("round {round}: {harm:?}");
        let before = cable.connections();
        cable.harm(harm);
        fill(primary, next, 300);
        next += 300;
        // Those that come now meet it, too.
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(700) && cable.connections() < before + 2 {
            let asked = Instant::now();
            value(primary, &format!("insert into t values ({next}, 'one')"));
            assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
            next += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
        cable.harm(Harm::None);
        compare(primary, &follower, &STATE);
    }
    await_value(
        primary,
        "select count(*) from pg_stat_replication where state = 'streaming'",
        "1",
    );
    follower.assert_unharmed();
}

#[test]
fn an_encrypted_stream_over_a_cable_that_does_harm_ends_equal() {
    let authority = Authority::new("tamper-tls");
    let mut primary = encrypting("tamper-tls", &authority);
    harms(&primary, Some(&authority), "tamper-tls-b");
    primary.assert_unharmed();
}

#[test]
fn a_stream_in_the_clear_over_a_cable_that_does_harm_ends_equal() {
    let mut primary = TestServer::start_with("tamper-plain", &["--log-segment-size", "4MB"]);
    harms(&primary, None, "tamper-plain-b");
    primary.assert_unharmed();
}

/// They ask for TLS and say no more, or say nonsense: they are closed in time, and streams and sessions go on meanwhile.
#[test]
fn clients_that_begin_to_encrypt_and_fall_silent_hold_nobody_up() {
    let authority = Authority::new("tamper-stall");
    authority.sign("server", "server", ELLIPTIC);
    let mut primary = TestServer::start_with(
        "tamper-stall",
        &[
            "--tls-cert",
            &authority.file("server.crt"),
            "--tls-key",
            &authority.file("server.key"),
            "--authentication-timeout",
            "3s",
        ],
    );
    value(&primary, "create table t (a int primary key, b text)");
    let data = TemporaryDirectory::new("tamper-stall-b");
    let url = format!("{}?sslmode=require", primary.url());
    let follower = follow_url(&url, &data, "b").expect("it follows");
    value(
        &primary,
        "alter system set synchronous_standby_names = 'b'; select pg_reload_conf()",
    );
    await_value(&primary, "show synchronous_standby_names", "b");
    let begun = Instant::now();
    let mut stalled = Vec::new();
    for number in 0..60_u8 {
        let mut client = TcpStream::connect(primary.address).expect("it listens");
        client
            .set_read_timeout(Some(TIMEOUT))
            .expect("a timeout can be set");
        client.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).expect("it reads");
        let mut answer = [0];
        client.read_exact(&mut answer).expect("it answers");
        assert_eq!(answer, *b"S");
        // A part of a ClientHello, as long as it says it is or not; or no record at all.
        let head = match number % 3 {
            0 => vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc],
            1 => vec![0x16, 3, 1, 0x40, 0, number],
            _ => vec![number; 300],
        };
        let _ = client.write_all(&head);
        stalled.push(client);
        if number % 10 == 0 {
            let asked = Instant::now();
            value(&primary, &format!("insert into t values ({number}, 'one')"));
            assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        }
    }
    for mut client in stalled {
        // An alert may come before the end.
        let _ = client.read_to_end(&mut Vec::new());
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    compare(&primary, &follower, &STATE);
    primary.assert_unharmed();
}

#[test]
fn a_certificate_that_changes_leaves_streams_as_they_are_and_counts_from_the_next_one_on() {
    let authority = Authority::new("tamper-renew");
    let mut primary = encrypting("tamper-renew", &authority);
    value(&primary, "create table t (a int primary key, b text)");
    let cable = Tamper::before(primary.address);
    let root = authority.path("trusted.crt");
    std::fs::copy(authority.path("root.crt"), &root).expect("copied");
    let url = format!(
        "postgres://postgres@{}/postgres?sslmode=verify-full&sslrootcert={}",
        cable.address,
        root.display()
    );
    let data = TemporaryDirectory::new("tamper-renew-b");
    let follower = follow_url(&url, &data, "b").expect("it follows");
    fill(&primary, 1, 100);
    compare(&primary, &follower, &STATE);
    let connections = cable.connections();
    // Of another authority, whom the follower does not believe.
    let other = Authority::new("tamper-renew-other");
    other.sign("server", "server", ELLIPTIC);
    for file in ["server.key", "server.crt"] {
        replace(&other.path(file), &authority.path(file));
    }
    value(&primary, "select pg_reload_conf()");
    fill(&primary, 1001, 100);
    compare(&primary, &follower, &STATE);
    assert_eq!(cable.connections(), connections, "the stream goes on");
    cable.harm(Harm::Cut(0));
    fill(&primary, 2001, 100);
    follower.await_log("unexpected end of file");
    cable.harm(Harm::None);
    follower.await_log("invalid peer certificate");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(value(&follower, "select count(*) from t"), "200");
    // It reads its roots anew each time.
    replace(&other.path("root.crt"), &root);
    compare(&primary, &follower, &STATE);
    await_that("and it streams", TIMEOUT, || {
        value(&primary, "select state from pg_stat_replication") == "streaming"
    });
    primary.assert_unharmed();
}
