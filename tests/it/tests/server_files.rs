//! Files of the server that do not answer: COPY from and to a FIFO at whose other end nobody is, or nobody does anything.
//! Others are served meanwhile, and whoever waits can be cancelled.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::server::TemporaryDirectory;
use mote_it::waiting::{await_suspended, pid};
use mote_it::wire::*;

/// How soon a statement that waits for a file is gone once it was cancelled, on a machine that has time for it.
const CANCELLED_WITHIN: Duration = Duration::from_millis(100);
/// And on one that has not; also what everything else may take.
const LONGEST: Duration = Duration::from_secs(60);

fn fifo(directory: &TemporaryDirectory, name: &str) -> String {
    let path = directory.path().join(name);
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    path.to_str().expect("a plain path").to_string()
}

#[test]
fn files_that_do_not_answer_hold_up_their_own_statement_only() {
    let directory = TemporaryDirectory::new("server-files");
    let server = TestServer::start_with("server-files", &["--workers", "1"]);
    let mut observer = RawClient::connect(&server);
    assert_eq!(error(&observer.query("create table t (i int)")), None);
    let [unwritten, unread, silent, full] =
        ["unwritten", "unread", "silent", "full"].map(|name| fifo(&directory, name));
    // Opened for both directions: neither end waits for the other, and nobody does anything with it.
    let both = |path: &str| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(0x800); // O_NONBLOCK
        options.open(path).expect("a FIFO can be opened for both")
    };
    let _kept = [both(&silent), both(&full)];
    let statements = [
        format!("copy t from '{unwritten}'"),
        format!("copy t to '{unread}'"),
        format!("copy t from '{silent}'"),
        format!("copy (select repeat('x', 1000) from generate_series(1, 10000)) to '{full}'"),
    ];
    let mut parked = Vec::new();
    for text in &statements {
        let mut client = RawClient::connect(&server);
        let pid = pid(&mut client);
        client.raw(&query(text));
        await_suspended(&mut observer, &pid);
        parked.push((client, pid));
    }
    let began = Instant::now();
    for round in 0..20 {
        let mut login = RawClient::connect(&server);
        assert_eq!(login.rows(&format!("select {round}")), [round.to_string()]);
        assert_eq!(observer.rows("select count(*) from t"), ["0"]);
    }
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    let mut fastest = LONGEST;
    for ((mut client, pid), text) in parked.into_iter().zip(&statements) {
        let began = Instant::now();
        assert_eq!(observer.rows(&format!("select pg_cancel_backend({pid})")), ["t"]);
        let expected = "57014 canceling statement due to user request";
        assert_eq!(error(&client.until(b'Z')).as_deref(), Some(expected), "{text}");
        fastest = fastest.min(began.elapsed());
        assert_eq!(client.rows("select 1"), ["1"]);
    }
    // Some cancel meets the machine when it has time.
    let began = Instant::now();
    while fastest >= CANCELLED_WITHIN {
        assert!(began.elapsed() < LONGEST, "{fastest:?}");
        let mut client = RawClient::connect(&server);
        let pid = pid(&mut client);
        client.raw(&query(&statements[2]));
        await_suspended(&mut observer, &pid);
        let began = Instant::now();
        assert_eq!(observer.rows(&format!("select pg_cancel_backend({pid})")), ["t"]);
        assert_eq!(sqlstate(&client.until(b'Z')).as_deref(), Some("57014"));
        fastest = fastest.min(began.elapsed());
    }
}

/// What comes through a FIFO in pieces arrives whole, in both directions.
#[test]
fn fifos_carry_rows_in_both_directions() {
    let directory = TemporaryDirectory::new("server-files-fifo");
    let server = TestServer::start_with("server-files-fifo", &["--workers", "1"]);
    let mut client = RawClient::connect(&server);
    assert_eq!(error(&client.query("create table t (i int, v text)")), None);
    let path = fifo(&directory, "pipe");
    const ROWS: usize = 20_000;
    client.raw(&query(&format!("copy t from '{path}'")));
    let mut writer = OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("the server reads");
    for i in 0..ROWS {
        writeln!(writer, "{i}\trow {i}").expect("the server reads");
    }
    drop(writer);
    assert_eq!(tags(&client.until(b'Z')), [format!("COPY {ROWS}")]);
    client.raw(&query(&format!("copy (select * from t order by i) to '{path}'")));
    let mut written = String::new();
    let mut reader = OpenOptions::new()
        .read(true)
        .open(&path)
        .expect("the server writes");
    reader.read_to_string(&mut written).expect("the server writes");
    assert_eq!(tags(&client.until(b'Z')), [format!("COPY {ROWS}")]);
    let expected: String = (0..ROWS).map(|i| format!("{i}\trow {i}\n")).collect();
    assert_eq!(written, expected);
    drop(reader);
    // A reader that goes away is an error of the file.
    client.raw(&query(&format!(
        "copy (select repeat('x', 100000) from generate_series(1, 100)) to '{path}'"
    )));
    drop(
        OpenOptions::new()
            .read(true)
            .open(&path)
            .expect("the server writes"),
    );
    let message = error(&client.until(b'Z')).expect("nobody reads");
    assert!(
        message.starts_with("58030 could not write to COPY file"),
        "{message}"
    );
}
