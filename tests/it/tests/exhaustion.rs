//! What runs out: places for connections, memory, disk. Each is a clear error; nothing acknowledged is lost, and the
//! server goes on or stops with a reason.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{psql, psql_strict};
use mote_it::process::await_that;
use mote_it::small_disk::SmallDisk;
use mote_it::waiting::cancelled;
use mote_it::wire::*;

const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn connection_floods() {
    let mut server = TestServer::start_with("flood", &["--max-connections", "20"]);
    let mut bystander = RawClient::connect(&server);
    let mut open: Vec<RawClient> = (0..19).map(|_| RawClient::connect(&server)).collect();
    for _ in 0..5 {
        let mut client = RawClient::open(&server);
        client.start_up(&[("user", "postgres"), ("database", "postgres")]);
        let messages = client.until_closed();
        assert_eq!(
            error(&messages).as_deref(),
            Some("53300 sorry, too many clients already")
        );
    }
    let said = psql(&server, "select 1");
    assert!(
        said.err.contains("sorry, too many clients already"),
        "{}",
        said.err
    );
    assert_eq!(bystander.rows("select 1"), ["1"]);
    // Each that leaves makes room.
    open.truncate(10);
    await_that("the places of closed connections are free again", LONGEST, || {
        psql(&server, "select 1").ok
    });
    // Cancel requests are served even when all places are taken. Those of the connections that were closed above come free one
    // after the other.
    while open.len() < 19 {
        await_that("one more place is free", LONGEST, || {
            let mut client = RawClient::open(&server);
            client.start_up(&[("user", "postgres"), ("database", "postgres")]);
            let is_in = client.until(b'Z').last().is_some_and(|last| last.kind == b'Z');
            if is_in {
                open.push(client);
            }
            is_in
        });
    }
    bystander.raw(&query("select pg_sleep(30)"));
    assert_eq!(
        sqlstate(&cancelled(&server, &mut bystander)).as_deref(),
        Some("57014")
    );
    drop(open);
    drop(bystander);
    // Connections that never say anything, and ones that hang up at once.
    let silent: Vec<TcpStream> = (0..200)
        .filter_map(|_| TcpStream::connect(server.address).ok())
        .collect();
    drop(silent);
    for _ in 0..500 {
        drop(TcpStream::connect(server.address));
    }
    await_that("the flood leaves a place", LONGEST, || {
        psql(&server, "select 1").ok
    });
    server.assert_unharmed();
}

#[test]
fn memory_runs_out() {
    let mut server = TestServer::start_with("memory", &["--memory", "64MB"]);
    psql_strict(
        &server,
        "create table t (id int primary key, v text); insert into t values (0, 'first')",
    )
    .good();
    // Values that no compression or sharing makes small.
    let grow = "insert into t select g, repeat(md5(g::text), 32) from generate_series(1, 500000) g";
    let said = psql(&server, &format!("\\set VERBOSITY verbose\n{grow};"));
    assert!(said.err.starts_with("ERROR:  53200:"), "{}{}", said.out, said.err);
    // Reads, deletes and small writes go on once the failed statement has let its memory go.
    assert_eq!(psql(&server, "select count(*) from t").good().trim(), "1");
    let deadline = Instant::now() + LONGEST;
    while !psql_strict(&server, "insert into t values (-1, 'after')").ok {
        assert!(
            Instant::now() < deadline,
            "memory did not come back; {}",
            psql(&server, "insert into t values (-2, 'x')").err
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    server.assert_unharmed();
}

#[test]
fn full_disk() {
    const DISK_MB: u32 = 96;
    let Some(disk) = SmallDisk::mount(DISK_MB) else {
        return;
    };
    let data = disk.data();
    let server = match TestServer::open(&data, &[]) {
        Ok(server) => server,
        // A log larger than the disk is refused at the start, in words.
        Err(said) => panic!("the server does not start on a disk of {DISK_MB} MB: {said}"),
    };
    psql_strict(&server, "create table t (id int primary key, v text)").good();
    // Each line is acknowledged before the next is sent.
    let mut acknowledged = 0;
    let mut client = RawClient::connect(&server);
    let mut failure = None;
    for id in 1..=400 {
        // 512 kB that do not compress.
        let insert = format!(
            "insert into t select {id}, string_agg(md5(({id} * 20000 + g)::text), '') from generate_series(1, 16000) g"
        );
        client.try_raw(&query(&insert));
        let messages = client.until(b'Z');
        match error(&messages) {
            None if tags(&messages) == ["INSERT 0 1"] => acknowledged = id,
            got => {
                failure = Some(got);
                break;
            }
        }
    }
    assert!(acknowledged > 0, "nothing fits on the disk");
    let failure = failure.expect("200 MB do not fit on the disk");
    let error = failure.expect("an insert that answers nothing else fails");
    assert!(error.starts_with("53100"), "{error}");
    // Readers go on, and so does the connection; writers are told every time.
    let mut server = server;
    assert_eq!(client.rows("select 40 + 2"), ["42"]);
    let count = psql(&server, "select count(*) from t").good();
    assert_eq!(count.trim(), acknowledged.to_string());
    let refused = psql_strict(&server, "insert into t select 1000, repeat('x', 10000000)").bad();
    assert!(refused.contains("No space left on device"), "{refused}");
    drop(client);
    // More space, and writing goes on by itself.
    disk.resize(1024);
    let deadline = Instant::now() + LONGEST;
    while !psql_strict(&server, "insert into t values (401, repeat('r', 512000))").ok {
        assert!(Instant::now() < deadline, "writing does not go on");
        std::thread::sleep(Duration::from_millis(100));
    }
    acknowledged += 1;
    server.assert_unharmed();
    drop(server.kill());
    let mut server = TestServer::open(&data, &[]).expect("it recovers");
    let row = psql(
        &server,
        "select count(*), max(id), min(length(v)), max(length(v)) from t",
    )
    .good();
    let columns: Vec<u32> = row
        .trim()
        .split('|')
        .map(|c| c.parse().expect("a number"))
        .collect();
    assert_eq!(
        (columns[0], columns[1], columns[2], columns[3]),
        (acknowledged, 401, 512_000, 512_000)
    );
    psql_strict(&server, "insert into t values (100000, 'after')").good();
    server.assert_unharmed();
    server.stop();
}

#[test]
fn who_keeps_too_much_log_is_given_up_and_nobody_else() {
    let options = [
        ["--max-log-kept", "32MB"],
        ["--log-segment-size", "4MB"],
        ["--checkpoint-log-size", "1GB"],
    ];
    let mut server = TestServer::start_with("kept", options.concat().as_slice());
    psql_strict(&server, "create table t (who text, v text)").good();
    let insert = |who: &str, rows: u32| {
        format!("insert into t select '{who}', repeat(md5(g::text), 32) from generate_series(1, {rows}) g")
    };
    // Two whose changes have gone into the log, one whose changes have not, and one in two phases.
    let mut sessions: Vec<RawClient> = Vec::new();
    for (who, rows) in [
        ("writes", 2000),
        ("commits", 2000),
        ("small", 1),
        ("prepares", 2000),
    ] {
        let mut client = RawClient::connect(&server);
        client.rows("begin");
        client.rows(&insert(who, rows));
        sessions.push(client);
    }
    let mut others = RawClient::connect(&server);
    for _ in 0..12 {
        others.rows(&insert("others", 4000));
    }
    assert_eq!(sqlstate(&others.query("checkpoint")), None);
    let kept = others.rows("select log_file_bytes >> 20 from mote_stat_checkpoint");
    let kept: u64 = kept[0].parse().expect("a number");
    assert!(kept <= 32, "{kept} MB of log are kept");
    let expected = "53400 the log is not kept any longer for this transaction";
    let answer = sessions[0].query(&insert("writes", 2000));
    assert_eq!(error(&answer).as_deref(), Some(expected));
    let told = answer
        .iter()
        .find(|message| message.kind == b'E')
        .expect("an error");
    let detail = told.field(b'D').expect("a detail");
    assert!(
        detail.starts_with("Its first change lies ")
            && detail.ends_with("an open transaction may keep 32 MB."),
        "{detail}"
    );
    assert!(
        told.field(b'H')
            .is_some_and(|hint| hint.contains("--max-log-kept"))
    );
    assert_eq!(sqlstate(&sessions[0].query("select 1")).as_deref(), Some("25P02"));
    assert_eq!(tags(&sessions[0].query("rollback")), ["ROLLBACK"]);
    assert_eq!(error(&sessions[1].query("commit")).as_deref(), Some(expected));
    assert_eq!(tags(&sessions[2].query("commit")), ["COMMIT"]);
    assert_eq!(
        error(&sessions[3].query("prepare transaction 'p'")).as_deref(),
        Some(expected)
    );
    // One that alone writes more than may be kept.
    let answer = others.query(&insert("large", 40_000));
    assert_eq!(error(&answer).as_deref(), Some(expected));
    // They can all go on.
    for client in &mut sessions {
        client.rows(&insert("after", 1));
    }
    let count = "select who, count(*) from t group by who order by who";
    let rows = ["after|4", "others|48000", "small|1"];
    assert_eq!(others.rows(count), rows);
    server.assert_unharmed();
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(RawClient::connect(&server).rows(count), rows);
    server.stop();
}
