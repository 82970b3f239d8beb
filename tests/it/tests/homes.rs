//! Connections go to the event loop of the processor on which their bytes arrive (docs/design/0068), and nothing of theirs is lost on
//! the way: answers, open transactions, prepared statements, portals, notifications, cancels.
//!
//! Two clients' threads, each with half of the connections, change their processors with each other again and again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::wire::{RawClient, bind, error, execute, parse, sqlstate, sync, tags, text_rows};
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// So many that two loops may exchange some, and stay as full as each other.
const CLIENTS: usize = 24;
/// Longer than any move takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two processors that belong to different loops of two, if there are two.
fn processors() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).expect("readable");
    let mut numbers = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
    Some([numbers.next()?, numbers.next_back()?])
}

/// The calling thread runs there from now on.
fn stay_on(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).expect("it may run there");
}

/// By the server's descriptor of each socket that an event loop watches: the descriptor of that loop.
fn loops(server: &TestServer) -> HashMap<String, String> {
    let directory = format!("/proc/{}", server.pid());
    let sockets = |descriptor: &str| {
        std::fs::read_link(format!("{directory}/fd/{descriptor}"))
            .is_ok_and(|file| file.to_string_lossy().starts_with("socket:"))
    };
    let mut watched = HashMap::new();
    for entry in std::fs::read_dir(format!("{directory}/fdinfo")).expect("it runs") {
        let descriptor = entry
            .expect("readable")
            .file_name()
            .into_string()
            .expect("a number");
        let info = std::fs::read_to_string(format!("{directory}/fdinfo/{descriptor}")).unwrap_or_default();
        let targets = info.lines().filter_map(|line| line.strip_prefix("tfd:"));
        for target in targets.filter_map(|rest| rest.split_whitespace().next()) {
            if sockets(target) {
                watched.insert(target.to_string(), descriptor.clone());
            }
        }
    }
    watched
}

/// Tells the threads to stop, also when a check fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One of the two threads: what its connections do all the time, until it is told to stop. Answers how many rounds it was.
fn work(
    clients: &mut [RawClient],
    group: usize,
    phase: &AtomicUsize,
    over: &AtomicBool,
    places: [usize; 2],
) -> u64 {
    let mut rounds = 0;
    for client in clients.iter_mut() {
        client.exchange(&[parse("double", "select $1::int * 2", &[]), sync()]);
        client.rows("begin; insert into kept values (1)");
    }
    while !over.load(Ordering::Relaxed) {
        stay_on(places[(phase.load(Ordering::Relaxed) + group) % 2]);
        rounds += 1;
        let doubled = (rounds * 2).to_string();
        for client in clients.iter_mut() {
            let number = rounds.to_string();
            let answer = client.exchange(&[bind("", "double", &[&number]), execute("", 0), sync()]);
            assert_eq!(text_rows(&answer), [doubled.as_str()]);
        }
        // All at once, so that replies leave together.
        for client in clients.iter_mut() {
            client.send(b'Q', b"insert into kept values (1)\0");
        }
        for client in clients.iter_mut() {
            assert_eq!(tags(&client.until(b'Z')), ["INSERT 0 1"]);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    for client in clients.iter_mut() {
        assert_eq!(tags(&client.query("commit")), ["COMMIT"]);
    }
    rounds
}

/// What watches what, once nothing has moved for a while. Some may go to and fro for ever: that is waited for no longer than a second.
fn settled(server: &TestServer) -> HashMap<String, String> {
    let began = Instant::now();
    let mut before = loops(server);
    loop {
        std::thread::sleep(Duration::from_millis(150));
        let now = loops(server);
        if now == before || began.elapsed() > Duration::from_secs(1) {
            return now;
        }
        before = now;
    }
}

/// Waits until at least a third of what was watched is watched by another loop: the balance may keep some back.
fn await_moves(server: &TestServer, before: &HashMap<String, String>) {
    let began = Instant::now();
    loop {
        let now = loops(server);
        let moved = before
            .iter()
            .filter(|(socket, home)| now.get(*socket).is_some_and(|other| other != *home));
        let moved = moved.count();
        if moved >= CLIENTS / 3 {
            return;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{moved} of {} have moved",
            before.len()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn connections_follow_their_clients_and_lose_nothing() {
    let Some(places) = processors() else {
        eprintln!("one processor: no connection has anywhere to go");
        return;
    };
    let server = TestServer::start_with("homes", &["--workers", "2"]);
    let mut setup = RawClient::connect(&server);
    setup.rows("create table kept (n int)");
    let mut clients: Vec<RawClient> = (0..CLIENTS).map(|_| RawClient::connect(&server)).collect();
    // Those that say nothing belong where the last bytes came from, and are told all the same.
    let mut listener = RawClient::connect(&server);
    listener.query("listen news");
    let (phase, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (first, second) = clients.split_at_mut(CLIENTS / 2);
    let rounds = std::thread::scope(|scope| {
        let (phase, over) = (&phase, &over);
        let first = scope.spawn(move || work(first, 0, phase, over, places));
        let second = scope.spawn(move || work(second, 1, phase, over, places));
        let ends = Ends(over);
        for turn in 1..=5 {
            let before = settled(&server);
            phase.fetch_add(1, Ordering::Relaxed);
            stay_on(places[turn % 2]);
            setup.query(&format!("notify news, '{turn}'"));
            let told = listener.receive().expect("the server stays");
            assert_eq!(told.kind, b'A');
            await_moves(&server, &before);
        }
        drop(ends);
        [first, second].map(|thread| thread.join().expect("nothing was lost"))
    });
    let expected = (CLIENTS / 2) as u64 * (rounds[0] + rounds[1] + 2);
    assert_eq!(setup.rows("select count(*) from kept"), [expected.to_string()]);
    // Who has moved is still found by those who want to end what it does.
    let sleeper = &mut clients[0];
    let pid = sleeper.rows("select pg_backend_pid()").remove(0);
    sleeper.send(b'Q', b"select pg_sleep(60)\0");
    let began = Instant::now();
    while setup
        .rows(&format!(
            "select pg_cancel_backend({pid}) from pg_stat_activity where pid = {pid} and state = 'active'"
        ))
        .is_empty()
    {
        assert!(began.elapsed() < PATIENCE, "it never slept");
    }
    assert_eq!(sqlstate(&sleeper.until(b'Z')).as_deref(), Some("57014"));
    setup.rows(&format!("select pg_terminate_backend({pid})"));
    let farewell = sleeper.until_closed();
    assert!(
        error(&farewell).is_some_and(|text| text.contains("terminating connection")),
        "{farewell:?}"
    );
}

/// Which clients are on the loop that has fewer of them.
fn of_fewer(server: &TestServer, clients: &mut [RawClient]) -> Vec<usize> {
    let by_inode = peers_by_inode(server);
    let mut by_loop: HashMap<String, Vec<u16>> = HashMap::new();
    for (socket, home) in loops(server) {
        let file = std::fs::read_link(format!("/proc/{}/fd/{socket}", server.pid())).expect("it is open");
        let inode = file
            .to_string_lossy()
            .trim_matches(|c: char| !c.is_ascii_digit())
            .to_string();
        by_loop.entry(home).or_default().extend(by_inode.get(&inode));
    }
    let fewer = by_loop
        .into_values()
        .min_by_key(Vec::len)
        .expect("there are loops");
    let own = "select client_port from pg_stat_activity where pid = pg_backend_pid()";
    let ports: Vec<u16> = (clients.iter_mut())
        .map(|client| client.rows(own).remove(0).parse().expect("a port"))
        .collect();
    (0..ports.len())
        .filter(|client| fewer.contains(&ports[*client]))
        .collect()
}

/// The ports of the server's peers, by the inodes of its sockets.
fn peers_by_inode(server: &TestServer) -> HashMap<String, u16> {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("readable");
    let own: u16 = server.port().parse().expect("a number");
    let port = |address: &str| {
        let (_, port) = address.split_once(':').expect("address and port");
        u16::from_str_radix(port, 16).expect("a number")
    };
    let rows = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|fields| port(fields[1]) == own)
        .map(|fields| (fields[9].to_string(), port(fields[2])))
        .collect()
}

/// Loops end at different moments: what one holds that belongs to another stays where it is when that one has ended.
#[test]
fn every_client_hears_that_the_server_stops() {
    let Some(places) = processors() else {
        eprintln!("one processor: no connection has anywhere to go");
        return;
    };
    // The processors are busy with other things, so that loops stand still at any moment.
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ends = Ends(&over);
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        (0..10).for_each(|round| stop_while_some_are_astray(places[round % 2]));
        drop(ends);
    });
}

fn stop_while_some_are_astray(processor: usize) {
    let mut server = TestServer::start_with("homes-stop", &["--workers", "2"]);
    // All bytes arrive on one processor: the balance keeps nearly half of the connections on the loop of the other.
    stay_on(processor);
    let mut clients: Vec<RawClient> = (0..40).map(|_| RawClient::connect(&server)).collect();
    for _ in 0..10 {
        for client in &mut clients {
            client.rows("select 1");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Some of these are busy for a moment, so that their loop ends later than the one that they belong to.
    let astray = of_fewer(&server, &mut clients);
    for client in astray.iter().step_by(2) {
        clients[*client].send(b'Q', b"select count(*) from generate_series(1, 600)\0");
    }
    server.signal(Signal::TERM);
    for client in &mut clients {
        let last = client.until_closed();
        assert_eq!(sqlstate(&last).as_deref(), Some("57P01"), "{last:?}");
    }
    server.await_end();
}
