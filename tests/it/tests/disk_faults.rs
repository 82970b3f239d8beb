//! A disk that fails or hangs under the real server, and what each level of `synchronous_commit` promises then.
//!
//! The faults come from a library of the test's own between server and C library (`disk_faults.c`, compiled here).

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{program, psql, psql_strict};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;
use mote_it::waiting::{await_suspended, pid};
use mote_it::wire::*;
use rustix::process::Signal;

/// How long an answer that must not come is waited for.
const SILENCE: Duration = Duration::from_millis(500);
const SIGABRT: i32 = 6;
/// For what takes a moment on an idle machine.
const LONG: Duration = Duration::from_secs(60);

struct FaultyDisk {
    directory: TemporaryDirectory,
}

impl FaultyDisk {
    fn new(name: &str) -> FaultyDisk {
        let disk = FaultyDisk {
            directory: TemporaryDirectory::new(name),
        };
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/disk_faults.c");
        let library = disk.library().display().to_string();
        let line = [
            "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", &library, source, "-ldl",
        ];
        let said = program("cc", &line, disk.directory.path(), "install a C compiler");
        assert!(said.ok, "{}", said.err);
        disk
    }

    fn library(&self) -> PathBuf {
        self.directory.path().join("disk_faults.so")
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn switch(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn server(&self, options: &[&str]) -> TestServer {
        let (library, fail, hold) = (self.library(), self.switch("fail"), self.switch("hold"));
        let hold_archive = self.switch("hold-archive");
        let environment: [(&str, &Path); 4] = [
            ("LD_PRELOAD", &library),
            ("MOTE_FAULT_SYNC", &fail),
            ("MOTE_FAULT_HOLD", &hold),
            ("MOTE_FAULT_HOLD_ARCHIVE", &hold_archive),
        ];
        TestServer::open_in(&self.data(), options, &environment).expect("it starts")
    }

    fn set(&self, name: &str) {
        std::fs::write(self.switch(name), "").expect("writable");
    }

    fn clear(&self, name: &str) {
        std::fs::remove_file(self.switch(name)).expect("set before");
    }
}

/// Answers of a session that inserts one row after the other, until one is not acknowledged.
fn insert_until_failure(client: &mut RawClient, from: u32, set_fault: impl FnOnce()) -> u32 {
    let mut set_fault = Some(set_fault);
    let mut acknowledged = from;
    loop {
        if acknowledged == from + 20
            && let Some(set) = set_fault.take()
        {
            set();
        }
        client.try_raw(&query(&format!("insert into t values ({acknowledged})")));
        let mut done = false;
        while let Some(message) = client.receive() {
            done |= message.kind == b'C';
            if message.kind == b'Z' || message.kind == b'E' {
                break;
            }
        }
        if !done {
            return acknowledged;
        }
        acknowledged += 1;
    }
}

#[test]
fn a_failed_sync_stops_the_server_and_nothing_acknowledged_is_lost() {
    let disk = FaultyDisk::new("failed-sync");
    let mut server = disk.server(&[]);
    psql_strict(&server, "create table t (id int primary key)").good();
    for round in 0..3 {
        let mut client = RawClient::connect(&server);
        let from = round * 1000;
        let end = insert_until_failure(&mut client, from, || disk.set("fail"));
        assert_eq!(
            end,
            from + 20,
            "an insert was acknowledged though its sync failed"
        );
        let status = server.await_failure();
        assert_eq!(status.signal(), Some(SIGABRT), "{status}");
        server.await_log("the log could not be written at");
        server.await_log("Input/output error");
        server.await_log("the state of the disk is unknown; start again to recover from the log");
        drop(server);
        // While the disk goes on failing there is no start that pretends.
        let refused = TestServer::open_in(
            &disk.data(),
            &[],
            &[
                ("LD_PRELOAD", &disk.library()),
                ("MOTE_FAULT_SYNC", &disk.switch("fail")),
            ],
        );
        let said = refused
            .err()
            .expect("a server does not start on a disk that does not sync");
        assert!(said.contains("Input/output error"), "{said}");
        disk.clear("fail");
        server = disk.server(&[]);
        let kept = psql(
            &server,
            &format!("select count(*) from t where id between {from} and {from} + 19"),
        )
        .good();
        assert_eq!(kept.trim(), "20");
        // The one without an answer may be there or not, and nothing that was never sent.
        let others = psql(&server, &format!("select count(*) from t where id > {end}")).good();
        assert_eq!(others.trim(), "0");
    }
    // A checkpoint's sync fails alike: the log is what stops the server, the image is only given up.
    server.assert_unharmed();
    server.stop();
}

#[test]
fn each_level_of_synchronous_commit_waits_for_what_it_says() {
    let disk = FaultyDisk::new("levels");
    let server = disk.server(&[]);
    psql_strict(&server, "create table t (id int primary key, level text)").good();
    let durable = ["on", "local", "remote_write", "remote_apply"];
    let mut waiting: Vec<RawClient> = durable.iter().map(|level| session(&server, level)).collect();
    let [mut off, mut reader] = [session(&server, "off"), session(&server, "off")];
    let mut careful = session(&server, "on");
    disk.set("hold");
    for (at, (client, level)) in waiting.iter_mut().zip(durable).enumerate() {
        client.raw(&query(&format!(
            "insert into t values ({}, '{level}')",
            100_000 + at
        )));
    }
    // Two rows to a transaction, so that half of one would be seen.
    let began = Instant::now();
    for id in 0..200 {
        let text = format!(
            "begin; insert into t values ({}, 'off'); insert into t values ({}, 'off'); commit",
            2 * id,
            2 * id + 1
        );
        let answer = off.query(&text);
        assert_eq!(error(&answer), None);
    }
    assert!(began.elapsed() < AT_ONCE, "off waits for the disk");
    // Another session at this level sees what was acknowledged. One that reads at `on` is not told of what a crash could
    // take back; and who writes at a durable level has no answer.
    assert_eq!(reader.rows("select count(*) from t where level = 'off'"), ["400"]);
    careful.raw(&query("select count(*) from t where level = 'off'"));
    std::thread::sleep(SILENCE);
    assert!(
        careful.is_silent(),
        "a session at on was told of what is not flushed"
    );
    for (client, level) in waiting.iter_mut().zip(durable) {
        assert!(
            client.is_silent(),
            "{level} was answered before anything was flushed"
        );
    }
    drop(server.kill());
    disk.clear("hold");
    let server = disk.server(&[]);
    let whole =
        "select count(*) from (select id / 2 from t where level = 'off' group by 1 having count(*) <> 2) h";
    assert_eq!(
        psql(&server, whole).good().trim(),
        "0",
        "half a transaction survived"
    );
    let left: u32 = psql(&server, "select count(*) from t")
        .good()
        .trim()
        .parse()
        .expect("a number");
    assert!(
        left < 400,
        "the log was held, and yet {left} rows were kept: the test holds nothing"
    );
    // Released, everybody is answered, and everything is there after the next crash.
    let mut waiting: Vec<RawClient> = durable.iter().map(|level| session(&server, level)).collect();
    disk.set("hold");
    for (at, client) in waiting.iter_mut().enumerate() {
        client.raw(&query(&format!(
            "insert into t values ({}, 'again')",
            200_000 + at
        )));
    }
    std::thread::sleep(SILENCE);
    disk.clear("hold");
    for client in &mut waiting {
        assert_eq!(tags(&client.until(b'Z')), ["INSERT 0 1"]);
    }
    drop(server.kill());
    let server = disk.server(&[]);
    assert_eq!(
        psql(&server, "select count(*) from t where level = 'again'")
            .good()
            .trim(),
        "4"
    );
    // An orderly end flushes what off has acknowledged.
    let mut off = session(&server, "off");
    assert_eq!(error(&off.query("insert into t values (300000, 'last')")), None);
    drop(off);
    server.stop();
    let server = disk.server(&[]);
    assert_eq!(
        psql(&server, "select count(*) from t where level = 'last'")
            .good()
            .trim(),
        "1"
    );
}

/// How long something may take that waits for nobody, on a busy machine. What waits for the disk waits until the test ends.
const AT_ONCE: Duration = Duration::from_secs(60);

/// The log's ring holds 16 MiB. With a disk that hangs it is full after so many of these.
const FILLING: usize = 40;

fn fill(client: &mut RawClient) {
    for _ in 0..FILLING {
        client.raw(&query(
            "insert into filling select g, repeat('x', 1000) from generate_series(1, 1000) g",
        ));
    }
}

/// Smaller and smaller frames, which still fit when the larger ones do not, and what answers them.
const FILLING_UP: [(&str, &str); 3] = [
    ("insert into filling values (0, repeat('y', 1000))", "INSERT 0 1"),
    ("insert into filling values (0, 'y')", "INSERT 0 1"),
    ("select setval('filling_up', 1)", "SELECT 1"),
];
const TIMES: usize = 2000;

/// Which of the writers beside a hung disk are cancelled there.
fn is_cancelled(text: &str) -> bool {
    text.starts_with("create") || text.starts_with("alter")
}

#[test]
fn a_disk_that_hangs_stops_nobody_but_writers() {
    let disk = FaultyDisk::new("hung-disk");
    let server = disk.server(&["--workers", "2"]);
    psql_strict(
        &server,
        "create table t (id int primary key, v int); insert into t select g, g from generate_series(1, 100) g;
         create table filling (id int, v text); create sequence s; create sequence filling_up;
         begin; create table prepared (i int); prepare transaction 'ddl'",
    )
    .good();
    let mut observer = RawClient::connect(&server);
    let mut reader = RawClient::connect(&server);
    let mut filler = RawClient::connect(&server);
    let filler_pid = pid(&mut filler);
    // It has sent some of its work to the log, and will want to say that it was for nothing.
    let mut large = RawClient::connect(&server);
    large.rows("begin");
    large.rows("insert into filling select g, repeat('y', 1000) from generate_series(1, 3000) g");
    disk.set("hold");
    fill(&mut filler);
    await_suspended(&mut observer, &filler_pid);
    let mut last_fillers = Vec::new();
    for (text, tag) in FILLING_UP {
        let mut client = RawClient::connect(&server);
        let pid = pid(&mut client);
        client.raw(&query(text).repeat(TIMES));
        await_suspended(&mut observer, &pid);
        last_fillers.push((client, tag));
    }
    // More of every kind than there are event loops, each waiting for room.
    let work = [
        "create table new (i int)",
        "select setval('s', 1000)",
        "alter table t add column w int default 7",
        "commit prepared 'ddl'",
        "update t set v = v + 1",
        "select pg_create_restore_point('here')",
    ];
    let mut writers: Vec<(RawClient, String, &str)> = Vec::new();
    for text in work {
        let mut client = RawClient::connect(&server);
        let pid = pid(&mut client);
        client.raw(&query(text));
        await_suspended(&mut observer, &pid);
        writers.push((client, pid, text));
    }
    let updater = writers.iter().find(|(.., text)| text.starts_with("update"));
    let updater_pid = updater.expect("it is one of them").1.clone();
    // Readers and logins go on. What DDL has locked they do not ask for.
    let began = Instant::now();
    for round in 0..20 {
        assert_eq!(reader.rows("select count(*) from filling where id < 0"), ["0"]);
        let mut login = RawClient::connect(&server);
        assert_eq!(
            login.rows(&format!("select {round} + 1")),
            [format!("{}", round + 1)]
        );
    }
    assert_eq!(tags(&large.query("rollback")), ["ROLLBACK"]);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // Whoever waits can be stopped, by the clock, too.
    let mut hasty = RawClient::connect(&server);
    hasty.rows("set statement_timeout = 200");
    let stopped_by_clock = [
        "create table hasty (i int)",
        // What it meets is not durable; it tells nobody.
        "update filling set v = '' where id > 0",
        "begin; savepoint s; lock table t in exclusive mode",
        "rollback; begin",
        "lock table t in exclusive mode",
    ];
    for text in stopped_by_clock {
        if text.starts_with("rollback") {
            assert_eq!(tags(&hasty.query(text)), ["ROLLBACK", "BEGIN"]);
            continue;
        }
        assert_eq!(
            error(&hasty.query(text)).as_deref(),
            Some("57014 canceling statement due to statement timeout"),
            "{text}"
        );
    }
    hasty.rows("rollback; reset statement_timeout; set lock_timeout = 50");
    for text in [
        "update t set v = 0 where id = 1",
        "select v from t for update nowait",
    ] {
        let answer = hasty.query(text);
        assert_eq!(sqlstate(&answer).as_deref(), Some("55P03"), "{text}");
    }
    for (client, pid, text) in writers.iter_mut().filter(|(.., text)| is_cancelled(text)) {
        assert_eq!(observer.rows(&format!("select pg_cancel_backend({pid})")), ["t"]);
        assert_eq!(
            error(&client.until(b'Z')).as_deref(),
            Some("57014 canceling statement due to user request"),
            "{text}"
        );
    }
    assert_eq!(
        observer.rows("select count(*) from pg_class where relname in ('new', 'hasty')"),
        ["0"]
    );
    assert_eq!(reader.rows("select v from t where id = 5"), ["5"]);
    await_suspended(&mut observer, &updater_pid);
    assert!(hasty.rows("select v from t for update skip locked").is_empty());
    // What a block was shown before its statement was stopped is due at the block's end.
    hasty.rows("begin");
    let shown = "select id from filling where id = 7 limit 1 for update";
    assert_eq!(hasty.rows(shown), ["7"]);
    assert_eq!(
        sqlstate(&hasty.query("lock table t in exclusive mode")).as_deref(),
        Some("55P03")
    );
    hasty.raw(&query("rollback"));
    for _ in 0..10 {
        assert_eq!(reader.rows("select v from t where id = 5"), ["5"]);
    }
    assert!(hasty.is_silent());
    assert!(began.elapsed() < 2 * AT_ONCE, "{:?}", began.elapsed());
    // All others are served when the disk is.
    disk.clear("hold");
    assert_eq!(tags(&hasty.until(b'Z')), ["ROLLBACK"]);
    for _ in 0..FILLING {
        assert_eq!(tags(&filler.until(b'Z')), ["INSERT 0 1000"]);
    }
    for (client, tag) in &mut last_fillers {
        for _ in 0..TIMES {
            assert_eq!(tags(&client.until(b'Z')), [*tag]);
        }
    }
    for (client, _, text) in writers.iter_mut().filter(|(.., text)| !is_cancelled(text)) {
        let answer = client.until(b'Z');
        assert_eq!(error(&answer), None, "{text}");
    }
    assert_eq!(
        reader.rows("select count(*), min(v) from t join prepared on false"),
        ["0|~"]
    );
    assert_eq!(
        reader.rows("select v, (select last_value from s) from t where id = 5"),
        ["6|1000"]
    );
    server.stop();
    let server = disk.server(&[]);
    assert_eq!(
        psql(&server, "select count(*) from filling").good().trim(),
        (FILLING * 1000 + 2 * TIMES).to_string()
    );
}

fn session(server: &TestServer, level: &str) -> RawClient {
    let mut client = RawClient::connect(server);
    assert_eq!(
        error(&client.query(&format!("set synchronous_commit = {level}"))),
        None
    );
    assert_eq!(client.rows("show synchronous_commit"), [level]);
    client
}

/// The archive's disk hangs: commits go on, whoever asks how far it is gets an answer, and what was kept meanwhile goes there when
/// the disk answers again.
#[test]
fn an_archive_that_hangs_delays_nobody_and_goes_on() {
    let disk = FaultyDisk::new("hanging-archive");
    let archive = disk.directory.path().join("archive");
    let archive = archive.display().to_string();
    let server = disk.server(&[
        "--archive-dir",
        &archive,
        "--archive-timeout",
        "0",
        "--log-segment-size",
        "4MB",
    ]);
    let value = |sql: &str| {
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| psql_strict(&server, sql).good().trim().to_string());
            let since = Instant::now();
            while !answer.is_finished() && since.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !answer.is_finished() {
                // Who waits for the archive gets his answer, and the test its end.
                let _ = std::fs::remove_file(disk.switch("hold-archive"));
                panic!("{sql}: no answer while the archive hangs");
            }
            answer.join().expect("no panic")
        })
    };
    value("create table t (id int, v text)");
    value("select pg_switch_wal()");
    await_that("the first log is archived", LONG, || {
        value("select archived_count > 0 from pg_stat_archiver") == "t"
    });
    disk.set("hold-archive");
    let before = value("select mote_archived_lsn()");
    value("select pg_switch_wal()");
    // The archiver is in its write by then.
    std::thread::sleep(Duration::from_millis(1500));
    for round in 0..4 {
        value(&format!(
            "insert into t select g, repeat(md5(g::text), 20) from generate_series({round} * 3000 + 1, {round} * 3000 + 3000) g"
        ));
        value("checkpoint");
        assert_eq!(value("select mote_archived_lsn()"), before);
        assert_eq!(value("select failed_count from pg_stat_archiver"), "0");
    }
    disk.clear("hold-archive");
    let end = value("select pg_switch_wal()");
    await_that("all of it is archived", LONG, || {
        value(&format!("select mote_archived_lsn() >= '{end}'")) == "t"
    });
    assert_eq!(value("select count(*) from t"), "12000");
}

/// A server that is to stop does not wait for it for ever, and what it has not got goes there after the next start.
#[test]
fn an_archive_that_hangs_does_not_keep_a_server_from_its_end() {
    let disk = FaultyDisk::new("hanging-archive-stop");
    let archive = disk.directory.path().join("archive");
    let archive = archive.display().to_string();
    let options = ["--archive-dir", &archive, "--archive-timeout", "0"];
    let mut server = disk.server(&options);
    let value = |server: &TestServer, sql: &str| psql_strict(server, sql).good().trim().to_string();
    value(&server, "create table t (a int); select pg_switch_wal()");
    await_that("the first log is archived", LONG, || {
        value(&server, "select archived_count > 0 from pg_stat_archiver") == "t"
    });
    disk.set("hold-archive");
    value(&server, "insert into t values (1)");
    let end = value(&server, "select pg_current_wal_flush_lsn()");
    server.signal(Signal::TERM);
    await_that("the server ends", LONG, || !server.is_running());
    assert!(
        server.log().contains("the server stops without it"),
        "{}",
        server.log()
    );
    disk.clear("hold-archive");
    drop(server);
    let server = disk.server(&options);
    assert_eq!(value(&server, "select a from t"), "1");
    value(&server, "select pg_switch_wal()");
    await_that("the rest is archived", LONG, || {
        value(&server, &format!("select mote_archived_lsn() >= '{end}'")) == "t"
    });
}
