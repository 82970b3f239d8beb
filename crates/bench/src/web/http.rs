//! As much of HTTP/1.1 as one page needs: GET and HEAD, one answer for each connection.
//!
//! Bounds: [`CLIENTS_MAX`] at a time, others are told 503 at once; a request of [`REQUEST_MAX`] bytes within [`REQUEST_TIME`];
//! an answer within [`ANSWER_TIME`]. What passes a bound costs its connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::record;
use crate::board::Board;
use crate::report::page::{CHARTS_SCRIPT, PAGE_SCRIPT, STYLE};

const CLIENTS_MAX: usize = 8;
/// Bytes.
const REQUEST_MAX: usize = 8 << 10;
const REQUEST_TIME: Duration = Duration::from_secs(3);
const ANSWER_TIME: Duration = Duration::from_secs(20);

const PAGE: &str = include_str!("../../assets/live.html");
const LIVE_SCRIPT: &str = include_str!("../../assets/live.js");

/// The live page runs the scripts that this server has, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A report carries its scripts and styles in itself.
const REPORT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers until the process ends.
pub fn serve(listener: &TcpListener, port: u16, board: &'static Board) {
    // Each client's thread holds one more; nothing lies behind it.
    let places = Arc::new(());
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // No descriptor was free, most likely; somebody will close one.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if Arc::strong_count(&places) > CLIENTS_MAX {
            refuse(&stream);
            continue;
        }
        let place = Arc::clone(&places);
        let answer = move || {
            // Whoever goes away has no use for an answer.
            let _ = one(&stream, port, board);
            let _ = stream.shutdown(Shutdown::Both);
            drop(place);
        };
        // Without a thread its connection closes.
        drop(
            std::thread::Builder::new()
                .name("live-client".into())
                .spawn(answer),
        );
    }
}

/// Tells that there is no room, if that can be told without waiting.
fn refuse(mut stream: &TcpStream) {
    if stream.set_nonblocking(true).is_ok() {
        let _ = stream
            .write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
}

fn one(stream: &TcpStream, port: u16, board: &Board) -> io::Result<()> {
    let head = read_head(stream)?;
    let answer = match head {
        Some(head) => answer(&head, port, board),
        None => Answer::text(431, "the request is too long"),
    };
    let written = write_within(stream, &answer.bytes(), ANSWER_TIME);
    // Not before it is on its way: the process may be gone the moment after.
    if answer.is_end {
        stream.shutdown(Shutdown::Write)?;
        board.end_was_seen();
    }
    written
}

/// The request up to its empty line; `None` if it is longer than a request may be.
fn read_head(mut stream: &TcpStream) -> io::Result<Option<String>> {
    let until = Instant::now() + REQUEST_TIME;
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&part[..count]),
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
        if head.len() > REQUEST_MAX {
            return Ok(None);
        }
    }
}

fn write_within(mut stream: &TcpStream, mut bytes: &[u8], time: Duration) -> io::Result<()> {
    let until = Instant::now() + time;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

struct Answer {
    status: u16,
    kind: &'static str,
    policy: &'static str,
    body: Vec<u8>,
    /// HEAD asks for none of the body.
    is_head: bool,
    /// All that there is to see of a command that has ended.
    is_end: bool,
}

impl Answer {
    fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer {
            status: 200,
            kind,
            policy: POLICY,
            body: body.into(),
            is_head: false,
            is_end: false,
        }
    }

    fn text(status: u16, what: &str) -> Answer {
        Answer {
            status,
            ..Answer::of("text/plain; charset=utf-8", what)
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            _ => "Request Header Fields Too Large",
        };
        let mut out = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nContent-Security-Policy: {}\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
            self.status,
            self.kind,
            self.body.len(),
            self.policy
        )
        .into_bytes();
        if !self.is_head {
            out.extend_from_slice(&self.body);
        }
        out
    }
}

fn answer(head: &str, port: u16, board: &Board) -> Answer {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(value.trim())
    });
    let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    match host {
        None => return Answer::text(400, "no Host"),
        Some(host) if names.iter().all(|name| !name.eq_ignore_ascii_case(host)) => {
            return Answer::text(403, "this page has another address");
        }
        Some(_) => {}
    }
    if method != "GET" && method != "HEAD" {
        return Answer::text(405, "GET and HEAD");
    }
    let mut answer = match path.split('?').next().unwrap_or_default() {
        "/" => Answer::of("text/html; charset=utf-8", PAGE),
        "/page.css" => Answer::of("text/css; charset=utf-8", STYLE),
        "/charts.js" => Answer::of("text/javascript; charset=utf-8", CHARTS_SCRIPT),
        "/page.js" => Answer::of("text/javascript; charset=utf-8", PAGE_SCRIPT),
        "/live.js" => Answer::of("text/javascript; charset=utf-8", LIVE_SCRIPT),
        "/record" => Answer::of("application/json", record::of(board).to_string()),
        "/report" => report(board),
        _ => Answer::text(404, "there is no such page"),
    };
    answer.is_head = method == "HEAD";
    answer
}

fn report(board: &Board) -> Answer {
    let (report, ended) = {
        let state = board.state();
        (state.report.clone(), state.ended.is_some())
    };
    let Some(report) = report else {
        return Answer::text(404, "no report has been written yet");
    };
    Answer {
        policy: REPORT_POLICY,
        is_end: ended,
        ..Answer::of("text/html; charset=utf-8", report.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> String {
        let board = Board::new("bench <b>");
        String::from_utf8(answer(head, 80, &board).bytes()).expect("text")
    }

    #[test]
    fn only_this_page_is_read_and_only_by_its_own_name() {
        let get = |path: &str| asked(&format!("GET {path} HTTP/1.1\r\nhost: localhost:80\r\n\r\n"));
        let page = get("/");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("/live.js"));
        for header in [
            "default-src 'none'",
            "nosniff",
            "X-Frame-Options: DENY",
            "no-store",
            "no-referrer",
        ] {
            assert!(page.contains(header), "{header}");
        }
        assert!(get("/record").contains("\"title\":\"bench <b>\""));
        for path in ["/etc/passwd", "/../Cargo.toml", "/report", "*", ""] {
            assert!(get(path).starts_with("HTTP/1.1 404"), "{path}");
        }
        let foreign = asked("GET /record HTTP/1.1\r\nHost: evil.example:80\r\n\r\n");
        assert!(foreign.starts_with("HTTP/1.1 403") && !foreign.contains("title"));
        assert!(asked("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400"));
        assert!(asked("POST / HTTP/1.1\r\nHost: localhost:80\r\n\r\n").starts_with("HTTP/1.1 405"));
        let head = asked("HEAD /record HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n") && !head.contains("Content-Length: 0"));
    }

    /// Clients that connect and say nothing, or never end, cost the others nothing.
    #[test]
    fn silent_clients_do_not_keep_others_out_for_long() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let board: &'static Board = Box::leak(Box::new(Board::new("x")));
        std::thread::spawn(move || serve(&listener, address.port(), board));
        let ask = |path: &str| -> io::Result<String> {
            let mut stream = TcpStream::connect(address)?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
            let mut said = String::new();
            stream.read_to_string(&mut said).map(|_| said)
        };
        assert!(ask("/").expect("an answer").starts_with("HTTP/1.1 200"));
        let silent: Vec<TcpStream> = (0..4 * CLIENTS_MAX)
            .map(|_| TcpStream::connect(address).expect("accepted"))
            .collect();
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if ask("/record").is_ok_and(|said| said.starts_with("HTTP/1.1 200")) {
                break;
            }
            assert!(Instant::now() < until, "nobody was answered any more");
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(silent);
        let mut long = TcpStream::connect(address).expect("accepted");
        // The connection may be reset before all of it is sent.
        let _ = long.write_all(&vec![b'x'; 4 * REQUEST_MAX]);
        let mut said = Vec::new();
        let _ = long.read_to_end(&mut said);
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 431"));
    }
}
