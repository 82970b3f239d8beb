//! The laboratory's live page, as a browser sees it: the record grows while a run goes on, the report comes at its end, and nobody
//! who looks keeps the command from ending.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mote_it::server::mote_binary;
use serde_json::Value;

/// Long enough for a machine under load; what is waited for comes in seconds.
const PATIENCE: Duration = Duration::from_secs(300);

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command and the address that it says on standard error after `marker`.
fn start(arguments: &[&str], marker: &str) -> (Running, String) {
    let mut child = Command::new(mote_binary())
        .arg("bench")
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the mote binary starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped"))
        .lines()
        .map_while(Result::ok);
    let address = lines.find_map(|line| line.split_once(marker).map(|(_, rest)| rest.trim().to_string()));
    // Who writes to a pipe that nobody reads waits.
    std::thread::spawn(move || lines.for_each(drop));
    (Running(child), address.expect("it says where it listens"))
}

/// Status and body.
fn get(address: &str, path: &str, host: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    let status = said.split(' ').nth(1).and_then(|word| word.parse().ok());
    let body = said.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status.expect("HTTP"), body.to_string()))
}

fn record(address: &str) -> Value {
    let (status, body) = get(address, "/record", address).expect("it answers");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

fn wait_for(what: &str, address: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let record = record(address);
        if holds(&record) {
            return record;
        }
        assert!(Instant::now() < deadline, "{what} did not come: {record}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_run_is_seen_while_it_goes_on_and_its_report_at_the_end() {
    let (_server, target) = start(&["canned", "--listen", "127.0.0.1:0"], "listening on ");
    let url = format!("postgres://me:secret@{target}/x");
    let arguments = [
        "point",
        "--no-load",
        "-q",
        "-c",
        "2",
        "-d",
        "6",
        "--warmup",
        "1",
        "--target",
        &url,
        "--web=0",
    ];
    let (mut run, page) = start(&arguments, "live page: ");
    let address = page
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_string();
    let (status, shell) = get(&address, "/", &address).expect("it answers");
    assert!(status == 200 && shell.contains("/live.js"), "{shell}");
    assert_eq!(
        get(&address, "/record", "elsewhere.example")
            .expect("it answers")
            .0,
        403
    );
    let seconds = |record: &Value| {
        let series = &record["charts"][0]["option"]["xAxis"]["data"];
        series.as_array().map_or(0, Vec::len)
    };
    let first = wait_for("a second of the run", &address, |record| seconds(record) > 0);
    let later = wait_for("more of it", &address, |record| {
        seconds(record) > seconds(&first) + 1
    });
    assert_eq!(later["ended"], Value::Null);
    let title = later["title"].as_str().expect("text");
    assert!(title.contains("me:***@") && !title.contains("secret"), "{title}");
    assert_eq!(get(&address, "/report", &address).expect("it answers").0, 404);
    wait_for("the end", &address, |record| {
        record["ended"] == true && record["reports"] == 1
    });
    // Somebody has looked lately, so that the command waits for him.
    let (status, report) = get(&address, "/report", &address).expect("it still answers");
    assert!(status == 200 && report.contains("One-row selects by key"));
    assert!(!report.contains("secret"), "a report is shared");
    assert!(run.0.wait().expect("it ends").success());
    assert!(get(&address, "/", &address).is_err(), "nobody listens any more");
}

#[test]
fn what_is_no_port_of_this_machine_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let ran = Command::new(mote_binary())
        .args(["bench", "point", &format!("--web={port}")])
        .output()
        .expect("the mote binary itself");
    assert_eq!(ran.status.code(), Some(2));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains(&format!("--web: 127.0.0.1:{port}")), "{said}");
}
