//! Checkpoints and recovery as a user of the server meets them.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mote_it::clients::{client, program, psql, psql_strict};
use mote_it::server::{TestServer, mote_binary};

/// How often a recovery is watched until one takes long enough to be met.
const STARTS_MAX: usize = 20;

/// One value of a query.
fn value(server: &TestServer, sql: &str) -> String {
    psql_strict(server, sql).good().trim().to_string()
}

fn number(server: &TestServer, sql: &str) -> i64 {
    value(server, sql).parse().expect("a number")
}

/// Sends a start-up packet; the answer up to the end of the conversation or its first error.
fn knock(address: SocketAddr) -> Vec<u8> {
    use std::io::Read;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).expect("the port is open");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("settable");
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
    packet.extend_from_slice(body);
    stream.write_all(&packet).expect("sent");
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).expect("an answer");
    answer.truncate(read);
    answer
}

#[test]
fn clients_are_told_that_the_server_is_starting_and_the_door_never_closes() {
    let server = TestServer::start_with("starting", &["--checkpoint-log-size", "100GB"]);
    psql_strict(
        &server,
        "create table t (id int primary key, v text); create index on t (v); create index on t (upper(v)) where id > 1;
         insert into t select g, md5(g::text) from generate_series(1, 400000) g",
    )
    .good();
    let (data, _directory) = server.kill();
    // On a machine that stands still for a moment, recovery may be over before anybody has asked; then it is watched once more.
    let told = (0..STARTS_MAX).any(|_| refusals_of_a_start(&data) > 0);
    assert!(told, "recovery was over before anybody could ask");
}

/// Starts a server on the directory, knocks until it lets somebody in, and kills it: how often it was told that the server is
/// starting. No other answer is heard before.
fn refusals_of_a_start(data: &Path) -> u32 {
    let mut child = Command::new(mote_binary())
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--recovery-threads",
            "1",
            "--data",
        ])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let stderr = child.stderr.take().expect("piped above");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let opening = lines.next().expect("it says that it begins");
    let address: SocketAddr = opening
        .split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no address in {opening:?}"));
    let mut refused = 0;
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        // Never a closed port, never a half answer.
        let answer = knock(address);
        if answer.first() == Some(&b'R') {
            break;
        }
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains("C57P03\0") && text.contains("SFATAL\0"), "{text:?}");
        assert!(text.contains("Mthe database system is starting up\0"), "{text:?}");
        if refused == 0 {
            let ready = Command::new("pg_isready")
                .args(["-h", "127.0.0.1", "-p", &address.port().to_string()])
                .output()
                .expect("pg_isready is installed");
            let said = String::from_utf8_lossy(&ready.stdout).into_owned();
            // The latter if recovery ended meanwhile.
            assert!(
                said.contains("rejecting connections") || said.contains("accepting connections"),
                "{said}"
            );
        }
        refused += 1;
        assert!(Instant::now() < deadline, "it does not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("it runs");
    child.wait().expect("a child can be waited for");
    refused
}

#[test]
fn a_signal_during_recovery_ends_it_and_the_next_start_has_everything() {
    let server = TestServer::start_with("interrupted", &["--checkpoint-log-size", "100GB"]);
    psql_strict(
        &server,
        "create table t (id int primary key, v text);
         insert into t select g, md5(g::text) from generate_series(1, 100000) g",
    )
    .good();
    let (data, _directory) = server.kill();
    for pause_ms in [0, 30, 100, 300] {
        let mut child = Command::new(mote_binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let stderr = child.stderr.take().expect("piped above");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        lines.next().expect("it says that it begins");
        std::thread::sleep(Duration::from_millis(pause_ms));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        // Whether it met recovery or the server behind it: a clean end.
        let said: Vec<String> = lines.collect();
        let status = child.wait().expect("a child can be waited for");
        assert!(status.success(), "{status}: {said:?}");
    }
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(number(&server, "select count(*) from t"), 100_000);
    server.stop();
}

#[test]
fn checkpoints_come_by_log_size_and_by_time_and_tell_what_they_do() {
    let server = TestServer::start_with(
        "automatic",
        &["--checkpoint-log-size", "4MB", "--checkpoint-interval", "1h"],
    );
    let rounds = "select checkpoints from mote_stat_checkpoint";
    psql_strict(&server, "create table t (id int primary key, v text)").good();
    psql_strict(
        &server,
        "insert into t select g, repeat('x', 500) from generate_series(1, 20000) g",
    )
    .good();
    await_rounds(&server, 1);
    let row = value(
        &server,
        "select running, failures, last_error is null, segments_done = segments_total, bytes_written > 0,
                live_image_bytes > 10000000, covered_lsn <= log_stable_lsn, started_at <= finished_at
         from mote_stat_checkpoint",
    );
    assert!(row.starts_with("f|0|t|t|"), "{row}");
    let (data, _directory) = server.stop();
    // By time: nothing but the time has passed.
    let server = TestServer::open(
        &data,
        &["--checkpoint-interval", "2s", "--checkpoint-log-size", "1TB"],
    )
    .expect("it starts");
    assert!(number(&server, "select image_rows from mote_stat_recovery") > 0);
    psql_strict(&server, "update t set v = 'y' where id = 7").good();
    await_rounds(&server, 1);
    // Nothing changes, nothing is written: two intervals pass without a round, once what came with the start and the update is
    // written.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut settled = number(&server, rounds);
    loop {
        std::thread::sleep(Duration::from_secs(5));
        let now = number(&server, rounds);
        if now == settled {
            break;
        }
        assert!(Instant::now() < deadline, "{now} rounds, and nothing changes");
        settled = now;
    }
    server.stop();
}

#[track_caller]
fn await_rounds(server: &TestServer, rounds: i64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while number(server, "select checkpoints from mote_stat_checkpoint") < rounds {
        assert!(
            Instant::now() < deadline,
            "no checkpoint: {}",
            psql(server, "select * from mote_stat_checkpoint").good()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn unchanged_segments_are_not_written_again_and_the_disk_holds_about_the_data() {
    let server = TestServer::start_with("disk-use", &["--checkpoint-log-size", "100GB"]);
    psql_strict(
        &server,
        "create table t (id int primary key, v text);
         insert into t select g, repeat('x', 300) from generate_series(1, 100000) g;
         checkpoint",
    )
    .good();
    let images = "select images_total from mote_stat_checkpoint";
    let before = number(&server, images);
    psql_strict(&server, "update t set v = 'changed' where id = 1; checkpoint").good();
    let written = number(&server, images) - before;
    assert!((1..=2).contains(&written), "{written} images for one row");
    // Many rounds over all of it: old images go with the files they are in.
    for round in 0..6 {
        psql_strict(
            &server,
            &format!("update t set v = repeat('{round}', 300) where id % 3 = {round} % 3; checkpoint"),
        )
        .good();
        let live = number(&server, "select live_image_bytes from mote_stat_checkpoint") as u64;
        let used: u64 = std::fs::read_dir(server.data().join("image"))
            .expect("there are images")
            .map(|entry| entry.expect("readable").metadata().expect("there").len())
            .sum();
        assert!(
            used <= live + live / 2,
            "round {round}: {used} bytes of files for {live} of images"
        );
        let log = number(&server, "select log_file_bytes from mote_stat_checkpoint");
        assert!(log <= 4 * (64 << 20), "the log is not let go: {log} bytes");
    }
    server.stop();
}

#[test]
fn checkpoints_beside_ddl_and_truncate_over_a_kill() {
    let server = TestServer::start_with("ddl", &["--checkpoint-log-size", "1MB"]);
    let url = (server.address, server.data().to_path_buf());
    psql_strict(
        &server,
        "create table keep (id int primary key, v text);
         insert into keep select g, g::text from generate_series(1, 3000) g",
    )
    .good();
    let deadline = Instant::now() + Duration::from_secs(8);
    let mut rounds = 0i32;
    std::thread::scope(|scope| {
        let server = &server;
        scope.spawn(move || {
            while Instant::now() < deadline {
                psql_strict(server, "checkpoint").good();
            }
        });
        while Instant::now() < deadline || rounds < 3 {
            rounds += 1;
            psql_strict(
                server,
                &format!(
                    "create table t{rounds} (id int primary key, v text);
                     insert into t{rounds} select g, repeat('x', 100) from generate_series(1, 5000) g;
                     create index on t{rounds} (v);
                     alter table t{rounds} add column n int default {rounds};
                     truncate t{rounds};
                     insert into t{rounds} select g, 'new' from generate_series(1, {rounds}) g;
                     begin; truncate keep; rollback;
                     update keep set v = '{rounds}' where id % 7 = 0;
                     drop table if exists t{};",
                    (rounds - 2).max(0)
                ),
            )
            .good();
        }
    });
    let look = "select count(*), count(distinct v), max(v::int) from keep";
    let before = value(&server, look);
    let (data, _directory) = server.kill();
    assert_eq!(data, url.1);
    let mut server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(value(&server, look), before);
    for round in [rounds - 1, rounds] {
        let row = value(&server, &format!("select count(*), min(n), max(v) from t{round}"));
        assert_eq!(row, format!("{round}|{round}|new"));
    }
    let gone = psql_strict(&server, &format!("select 1 from t{}", rounds - 2)).bad();
    assert!(gone.contains("does not exist"), "{gone}");
    server.assert_unharmed();
    server.stop();
}

#[test]
fn casts_of_users_are_there_after_a_kill() {
    let server = TestServer::start("casts");
    psql_strict(
        &server,
        "create type mood as enum ('sad', 'ok');
         create function number_of(mood) returns int language sql as $$ select 7 $$;
         create cast (mood as int) with function number_of(mood) as implicit;
         create cast (varchar as mood) with inout as implicit;
         create cast (mood as bigint) with inout;
         drop cast (mood as bigint);
         create view v as select m + 1 as n from (values ('ok'::varchar::mood)) t(m)",
    )
    .good();
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(value(&server, "select n from v"), "8");
    assert_eq!(
        number(&server, "select count(*) from pg_cast where oid >= 16384"),
        2
    );
    // A number that is free: the casts' own were counted.
    psql_strict(
        &server,
        "create cast (mood as bigint) with inout; drop type mood cascade",
    )
    .good();
    assert_eq!(
        number(&server, "select count(*) from pg_cast where oid >= 16384"),
        0
    );
}

#[test]
fn a_transaction_larger_than_the_log_buffer_goes_through_and_comes_back() {
    const ROWS: u64 = 12_000;
    let server = TestServer::start_with(
        "large-copy",
        &["--log-buffer", "4MB", "--checkpoint-log-size", "16MB"],
    );
    psql_strict(&server, "create table t (id int primary key, v text)").good();
    // 96 MB in one COPY, 24 times the buffer, while others commit and checkpoints go on.
    let line = "x".repeat(8_000);
    let mut copy = client("psql", &server)
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "copy t from stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql runs");
    let mut stdin = copy.stdin.take().expect("piped above");
    let feeder = std::thread::spawn(move || {
        for id in 0..ROWS {
            writeln!(stdin, "{id}\t{line}").expect("psql reads on");
        }
    });
    psql_strict(&server, "create table small (id int)").good();
    let mut beside = 0;
    while !feeder.is_finished() {
        let waited = Instant::now();
        psql_strict(&server, &format!("insert into small values ({beside})")).good();
        assert!(waited.elapsed() < Duration::from_secs(60), "others starve");
        beside += 1;
    }
    feeder.join().expect("psql read everything");
    let output = copy.wait_with_output().expect("a child can be waited for");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &["--log-buffer", "4MB"]).expect("it recovers");
    assert_eq!(
        value(&server, "select count(*), sum(length(v)) from t"),
        format!("{ROWS}|{}", ROWS * 8_000)
    );
    assert_eq!(number(&server, "select count(*) from small"), beside);
    server.stop();
}

#[test]
fn help_names_every_setting_with_its_default() {
    let help = program(
        &mote_binary().display().to_string(),
        &["serve", "--help"],
        std::path::Path::new("/"),
        "build the binary",
    )
    .good();
    for words in [
        "--log-buffer",
        "--checkpoint-log-size",
        "--checkpoint-interval",
        "--checkpoint-rate",
        "--checkpoint-threads",
        "--recovery-threads",
        "[default: 1GB]",
        "[default: 5min]",
        "[default: 100MB]",
        "[default: 16MB]",
    ] {
        assert!(help.contains(words), "{words} is missing:\n{help}");
    }
}
