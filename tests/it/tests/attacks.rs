//! A server with little memory and few descriptors, and clients that mean it no good. It must not end, hang, or keep a
//! descriptor; a session that does nothing wrong must not notice.

use std::net::TcpStream;
use std::time::Duration;

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::process::await_that;
use mote_it::wire::*;

const LONGEST: Duration = Duration::from_secs(60);
const OPTIONS: [&str; 4] = ["--memory", "64MB", "--authentication-timeout", "10s"];
const OPEN_FILES: u64 = 128;

/// A server, a bystander with an open transaction, and how many descriptors that takes.
struct Scene {
    server: TestServer,
    bystander: RawClient,
    descriptors: usize,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let server = TestServer::start_limited(name, &OPTIONS, OPEN_FILES);
        let mut bystander = RawClient::connect(&server);
        bystander.rows("create table kept (id int primary key); create table t (id int, v text)");
        bystander.rows("begin; insert into kept values (1)");
        let descriptors = server.open_descriptors();
        Scene {
            server,
            bystander,
            descriptors,
        }
    }

    #[track_caller]
    fn end(mut self) {
        await_that("all descriptors are closed", LONGEST, || {
            self.server.open_descriptors() <= self.descriptors + 3 // the log's, a checkpoint's
        });
        self.bystander.rows("commit");
        assert_eq!(self.bystander.rows("select count(*) from kept"), ["1"]);
        self.server.assert_unharmed();
    }
}

fn seed() -> u64 {
    let seed = mote_common::env::real::entropy_u64();
    eprintln!("seed {seed}");
    seed
}

#[test]
fn garbage() {
    let scene = Scene::new("garbage");
    let mut prng = Prng::new(seed());
    for round in 0..400 {
        let mut client = match round % 2 {
            0 => RawClient::open(&scene.server),
            _ => RawClient::connect(&scene.server),
        };
        let length = prng.below(3000) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| prng.below(256) as u8).collect();
        if round % 4 == 1 {
            // A message that is framed well, with nonsense inside.
            let kinds = b"QPBDECSHFdcfp";
            bytes = framed(kinds[prng.below(kinds.len() as u64) as usize], &bytes);
        }
        client.try_raw(&bytes);
        drop(client);
    }
    scene.end();
}

#[test]
fn lengths_that_promise_too_much() {
    let scene = Scene::new("lengths");
    for length in [0u32, 3, 4, 10_001, 1 << 28, (1 << 28) + 1, u32::MAX / 2, u32::MAX] {
        let mut start = RawClient::open(&scene.server);
        start.try_raw(&length.to_be_bytes());
        start.try_raw(&[0, 3, 0, 0]);
        for kind in b"QPBdp" {
            let mut client = RawClient::connect(&scene.server);
            client.try_raw(&[&[*kind][..], &length.to_be_bytes(), b"select"].concat());
        }
    }
    scene.end();
}

#[test]
fn start_up_packets_in_pieces() {
    let scene = Scene::new("start-pieces");
    let packet = start_up(PROTOCOL, &[("user", "postgres"), ("database", "postgres")]);
    let mut clients: Vec<RawClient> = (0..10).map(|_| RawClient::open(&scene.server)).collect();
    for byte in &packet {
        clients.iter_mut().for_each(|client| client.raw(&[*byte]));
    }
    for client in &mut clients {
        assert_eq!(status(&client.until(b'Z')), Some('I'));
    }
    // And ones that stop in the middle.
    for length in 0..packet.len() {
        RawClient::open(&scene.server).try_raw(&packet[..length]);
    }
    drop(clients);
    scene.end();
}

#[test]
fn ten_thousand_come_and_go() {
    let scene = Scene::new("come-and-go");
    for round in 0..10_000 {
        match round % 10 {
            0 => drop(RawClient::connect(&scene.server)),
            1 => RawClient::open(&scene.server).start_up(&[("user", "postgres"), ("database", "postgres")]),
            _ => drop(TcpStream::connect(scene.server.address)),
        }
    }
    scene.end();
}

#[test]
fn cancel_requests_in_floods() {
    let mut scene = Scene::new("cancel-flood");
    let mut prng = Prng::new(seed());
    let mut key = scene.bystander.key_data.clone();
    for _ in 0..2000 {
        key[4 + prng.below(4) as usize] ^= 1 << prng.below(8);
        if key == scene.bystander.key_data {
            continue;
        }
        RawClient::open(&scene.server).untyped(&[80_877_102u32.to_be_bytes().to_vec(), key.clone()].concat());
    }
    assert_eq!(scene.bystander.rows("select 1"), ["1"]);
    scene.end();
}

#[test]
fn statements_that_are_too_much() {
    let scene = Scene::new("too-much");
    let deep = |open: &str, close: &str, n: usize| format!("select {}1{}", open.repeat(n), close.repeat(n));
    let statements = [
        deep("(", ")", 100_000),
        deep("abs(", ")", 20_000),
        deep("(select ", ")", 20_000),
        format!("select {}1", "- ".repeat(100_000)),
        format!("select 1 {}", "+ 1".repeat(100_000)),
        format!("select {}", vec!["1"; 100_000].join(",")),
        format!("select '{}'", "x".repeat(20 << 20)),
        format!("insert into t values {}", vec!["(1, 'x')"; 20_000].join(",")),
        format!("select 1 in ({})", vec!["1"; 10_000].join(",")),
        "x".repeat(65 << 20),
    ];
    for statement in statements {
        let mut client = RawClient::connect(&scene.server);
        client.try_raw(&query(&statement));
        // An answer or a closed connection, whatever it says.
        let mut last = None;
        while let Some(message) = client.receive() {
            last = Some(message.kind);
            if message.kind == b'Z' {
                break;
            }
        }
        assert!(
            matches!(last, Some(b'Z' | b'E')),
            "{last:?}: {}",
            &statement[..40]
        );
    }
    // The most parameters that the protocol can say.
    let mut client = RawClient::connect(&scene.server);
    let list: Vec<String> = (1..=65_535).map(|n| format!("${n}::int4")).collect();
    let values = vec!["7"; 65_535];
    let messages = client.exchange(&[
        parse("", &format!("select 7 in ({})", list.join(",")), &[]),
        bind("", "", &values),
        execute("", 0),
        sync(),
    ]);
    match error(&messages) {
        None => assert_eq!(text_rows(&messages), ["t"]),
        Some(error) => assert!(error.starts_with("53200") || error.starts_with("54"), "{error}"),
    }
    drop(client);
    scene.end();
}

#[test]
fn clients_that_vanish() {
    let scene = Scene::new("vanish");
    let line = format!("1\t{}\n", "x".repeat(1000));
    for round in 0..30 {
        let mut client = RawClient::connect(&scene.server);
        match round % 5 {
            0 => {
                client.raw(&query("copy t from stdin"));
                client.until(b'G');
                client.raw(&framed(b'd', line.repeat(round * 20).as_bytes()));
            }
            1 => client.raw(&query(
                "copy (select repeat('x', 1000) from generate_series(1, 100000)) to stdout",
            )),
            2 => client.raw(&query("select repeat('x', 1000) from generate_series(1, 100000)")),
            3 => client.raw(&query(
                "begin; insert into t values (1, 'x'); select pg_sleep(0.01)",
            )),
            _ => {
                let portals: Vec<u8> = (0..500).flat_map(|n| bind(&format!("p{n}"), "", &[])).collect();
                client.raw(&[query("begin"), parse("", "select 1", &[]), portals, flush()].concat());
            }
        }
    }
    scene.end();
}
