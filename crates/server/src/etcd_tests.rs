//! Against sockets that answer as a test says; etcd itself is asked in `tests/it`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;

/// Answers one request on each of as many connections as there are answers; tells what was asked.
fn answering(answers: Vec<(u16, &'static str)>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let host = listener.local_addr().expect("it is bound").to_string();
    let thread = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().expect("somebody connects");
            let mut reader = BufReader::new(stream.try_clone().expect("it can be cloned"));
            let (mut line, mut length) = (String::new(), 0);
            reader.read_line(&mut line).expect("a request line");
            let mut request = line.trim_end().to_string();
            loop {
                line.clear();
                reader.read_line(&mut line).expect("a header");
                match line.trim_end().split_once(": ") {
                    Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                        length = value.parse().expect("a number");
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            let mut content = vec![0; length];
            reader.read_exact(&mut content).expect("a body");
            request.push_str(&String::from_utf8_lossy(&content));
            asked.push(request);
            write!(
                stream,
                "HTTP/1.1 {status} So\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
            .expect("it is taken");
        }
        asked
    });
    (host, thread)
}

fn of(hosts: &[&str]) -> Etcd {
    Etcd::new(&format!("etcd://{}/shop", hosts.join(","))).expect("a sound address")
}

const NOTHING: &str = r#"{"header":{"revision":"1"}}"#;

#[test]
fn an_address_names_hosts_and_a_cluster() {
    let etcd = Etcd::new("etcd://a,b:1,[::1],[::1]:7/shop-1").expect("sound");
    let expected = [
        "http://a:2379",
        "http://b:1",
        "http://[::1]:2379",
        "http://[::1]:7",
    ];
    assert_eq!(etcd.endpoints, expected);
    assert_eq!(etcd.prefix, "/mote/shop-1/");
    let wrong = [
        "http://a/shop",
        "etcd://a",
        "etcd://a/",
        "etcd:///shop",
        "etcd://a,/shop",
        "etcd://a:b/shop",
        "etcd://a/sh/op",
        "etcd://a/sh op",
    ];
    for url in wrong {
        let error = Etcd::new(url).err().unwrap_or_else(|| panic!("{url} was taken"));
        assert!(error.contains("expected etcd://HOST:PORT"), "{error}");
    }
}

#[test]
fn endpoints_that_refuse_or_fail_are_passed_over_and_the_one_that_answers_is_kept() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let gone_host = gone.local_addr().expect("it is bound").to_string();
    drop(gone);
    let (ill, ill_asked) = answering(vec![(503, r#"{"error":"etcdserver: no leader","code":14}"#)]);
    let (sound, sound_asked) = answering(vec![(200, NOTHING), (200, NOTHING)]);
    let mut etcd = of(&[&gone_host, &ill, &sound]);
    assert_eq!(etcd.read(), Ok(None));
    assert_eq!(etcd.read(), Ok(None));
    assert_eq!(ill_asked.join().expect("it ends").len(), 1);
    let asked = sound_asked.join().expect("it ends");
    let key = STANDARD.encode("/mote/shop/record");
    assert_eq!(
        asked[0],
        format!("POST /v3/kv/range HTTP/1.1{{\"key\":\"{key}\"}}")
    );
    assert_eq!(asked.len(), 2);
}

#[test]
fn what_is_no_answer_is_told_and_not_guessed() {
    let bodies = [
        (200, "<html>"),
        (404, "{}"),
        (200, "{}"),
        (200, r#"{"header":{},"kvs":7}"#),
        (200, r#"{"header":{},"kvs":[{"value":"!"}]}"#),
        // "of another release", no record
        (
            200,
            r#"{"header":{},"kvs":[{"value":"b2YgYW5vdGhlciByZWxlYXNl"}]}"#,
        ),
    ];
    for answer in bodies {
        let (host, thread) = answering(vec![answer]);
        let told = of(&[&host]).read();
        assert!(told.is_err(), "{answer:?}: {told:?}");
        thread.join().expect("it ends");
    }
    let (host, thread) = answering(vec![(200, NOTHING)]);
    let record = Record {
        system_id: 1,
        term: 1,
        leader: mote_replication::NodeId(1),
        voters: Default::default(),
        count: 0,
        changes: 0,
    };
    let told = of(&[&host]).swap(None, &record);
    assert!(told.is_err(), "neither done nor refused: {told:?}");
    thread.join().expect("it ends");
}

/// Somebody who accepts and says nothing delays by a second, not for ever.
#[test]
fn silence_ends() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let host = silent.local_addr().expect("it is bound").to_string();
    let (sound, _) = answering(vec![(200, NOTHING)]);
    assert_eq!(of(&[&host, &sound]).read(), Ok(None));
}
