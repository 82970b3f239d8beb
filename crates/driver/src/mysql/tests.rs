//! Conversations of fixed bytes: what the server is sent, and what the driver reads.

use super::*;
use crate::statement::{Definition, Format, Param, StatementId, StatementSet};
use crate::wire::{Frames, Row};

/// A translator behind the greeting of MariaDB 10.11, and the statements of its session prepared.
struct Conversation {
    translator: Translator,
    output: Vec<u8>,
    answer: Vec<u8>,
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(number);
    bytes.extend_from_slice(body);
    bytes
}

/// MariaDB 10.11.19's, with a nonce of our own.
fn greeting() -> Vec<u8> {
    let mut body = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x1f\0\0\0ABCDEFGH\0".to_vec();
    body.extend_from_slice(b"\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0");
    body.extend_from_slice(b"IJKLMNOPQRST\0mysql_native_password\0");
    body
}

impl Conversation {
    fn begin() -> Conversation {
        let target = Target::parse("mysql://bench:bench@127.0.0.1/shop").expect("valid");
        let mut talk = Conversation {
            translator: Translator::new(&target).expect("no settings"),
            output: Vec::new(),
            answer: Vec::new(),
        };
        talk.hear(0, &greeting());
        let login = std::mem::take(&mut talk.output);
        // Capabilities: what the driver relies on, and neither multiple statements nor the end without EOF packets.
        assert_eq!(login[..8], [86, 0, 0, 1, 0x8f, 0xa2, 0x08, 0]);
        // 16 MB, utf8mb4, 23 bytes of nothing, the user, and SHA1(password) xor SHA1(nonce, SHA1(SHA1(password))).
        assert_eq!(&login[36..43], b"bench\0\x14");
        assert_eq!(
            login[43..63],
            [
                86, 75, 152, 142, 97, 219, 101, 136, 50, 127, 2, 27, 104, 48, 119, 38, 33, 128, 70, 40
            ]
        );
        assert!(login.ends_with(b"shop\0mysql_native_password\0"));
        talk.hear(2, b"\0\0\0\x02\0\0\0");
        assert!(talk.output[4..].starts_with(b"\x03SET SESSION sql_mode"));
        talk.hear(1, b"\0\0\0\x02\0\0\0");
        assert_eq!(talk.kinds(), "SZ");
        talk.output.clear();
        talk
    }

    /// A packet of the server's.
    fn hear(&mut self, number: u8, body: &[u8]) {
        let bytes = packet(number, body);
        let length = self
            .translator
            .digest(&bytes, &mut self.output, &mut self.answer)
            .expect("understood");
        assert_eq!(length, bytes.len());
    }

    fn say(&mut self, messages: &[u8]) {
        self.output.clear();
        self.translator
            .accept(messages, &mut self.output, &mut self.answer)
            .expect("accepted");
    }

    /// The kinds of what the driver has to read; forgets it.
    fn kinds(&mut self) -> String {
        Frames(&std::mem::take(&mut self.answer))
            .map(|frame| frame.kind as char)
            .collect()
    }
}

/// A definition of a column of this type.
fn column(kind: u8) -> Vec<u8> {
    let mut body = b"\x03def\x04shop\x01t\x01t\x01c\x01c\x0c\x3f\0\x0b\0\0\0".to_vec();
    body.extend_from_slice(&[kind, 0, 0, 0, 0, 0]);
    body
}

const EOF: [u8; 5] = [END, 0, 0, 3, 0];

fn prepared(talk: &mut Conversation) -> StatementSet {
    let definition = |sql: &'static str, params: &'static [Param], results: &'static [Format]| Definition {
        sql: sql.into(),
        params: params.into(),
        results,
    };
    let set = StatementSet::new(vec![
        definition("BEGIN", &[], &[]),
        definition("COMMIT", &[], &[]),
        definition(
            "SELECT a, b, c FROM t WHERE d = $2 AND e = $1",
            &[Param::Text, Param::Int],
            &[Format::Binary, Format::Binary, Format::Text],
        ),
    ]);
    let mut parses = Vec::new();
    set.write_parses(&mut parses);
    wire::sync(&mut parses);
    talk.say(&parses);
    // Only the third is prepared.
    assert_eq!(
        &talk.output[4..],
        b"\x16SELECT a, b, c FROM t WHERE d = ? AND e = ?"
    );
    talk.hear(1, b"\0\x09\0\0\0\x03\0\x02\0\0\0\0");
    for number in 2..=8 {
        let body = if matches!(number, 4 | 8) {
            EOF.to_vec()
        } else {
            column(253)
        };
        talk.hear(number, &body);
    }
    assert_eq!(talk.kinds(), "Z");
    set
}

fn bind(set: &StatementSet, out: &mut Vec<u8>, id: u8) {
    let writer = set.bind(out, StatementId(id));
    let writer = if id == 2 {
        writer.text("x").int(258)
    } else {
        writer
    };
    set.end_bind(StatementId(id), writer);
}

#[test]
fn statements_are_sent_one_after_the_other() {
    let mut talk = Conversation::begin();
    let set = prepared(&mut talk);
    let mut batch = Vec::new();
    bind(&set, &mut batch, 0);
    bind(&set, &mut batch, 2);
    wire::sync(&mut batch);
    talk.say(&batch);
    assert_eq!(talk.output, packet(0, b"\x03BEGIN"));
    talk.output.clear();
    talk.hear(1, b"\0\0\0\x03\0\0\0");
    // Identifier 9, one execution, no NULL, types int and text: the second parameter comes first.
    let execute = b"\x17\x09\0\0\0\0\x01\0\0\0\0\x01\x03\0\xfd\0\x02\x01\0\0\x01x";
    assert_eq!(talk.output, packet(0, execute));
    talk.hear(1, &[3]);
    for (number, kind) in [(2, 3), (3, 246), (4, 253)] {
        talk.hear(number, &column(kind));
    }
    talk.hear(5, &EOF);
    talk.hear(6, b"\0\0\x2a\0\0\0\x0512.34\x02ab");
    talk.hear(7, b"\0\x10\x07\0\0\0\x010");
    talk.hear(8, &EOF);
    let answer = std::mem::take(&mut talk.answer);
    let frames: Vec<_> = Frames(&answer).collect();
    let kinds: String = frames.iter().map(|frame| frame.kind as char).collect();
    assert_eq!(kinds, "CDDCZ");
    assert_eq!(
        (frames[0].body, frames[3].body, frames[4].body),
        (&b"BEGIN\0"[..], &b"SELECT 2\0"[..], &b"T"[..])
    );
    let mut row = Row::new(frames[1].body);
    assert_eq!(
        (
            row.int().expect("int"),
            row.numeric().expect("numeric"),
            row.text().expect("text")
        ),
        (42, 12.34, "ab")
    );
    let mut row = Row::new(frames[2].body);
    assert_eq!(
        (row.int().expect("int"), row.numeric().expect("numeric")),
        (7, 0.0)
    );
    assert_eq!(row.bytes().expect("there"), None);
}

#[test]
fn nothing_follows_a_failed_statement() {
    let mut talk = Conversation::begin();
    let set = prepared(&mut talk);
    let mut batch = Vec::new();
    for id in [0, 2, 1] {
        bind(&set, &mut batch, id);
    }
    wire::sync(&mut batch);
    talk.say(&batch);
    talk.hear(1, b"\0\0\0\x03\0\0\0");
    talk.output.clear();
    talk.hear(1, b"\xff\xbd\x04#40001Deadlock found");
    assert!(talk.output.is_empty(), "the COMMIT is not sent");
    let answer = std::mem::take(&mut talk.answer);
    let frames: Vec<_> = Frames(&answer).collect();
    assert_eq!(
        frames.iter().map(|frame| frame.kind as char).collect::<String>(),
        "CEZ"
    );
    assert_eq!(
        (
            wire::decode_error(frames[1].body).sqlstate.as_str(),
            frames[2].body
        ),
        ("40P01", &b"E"[..])
    );
    // Whoever commits nevertheless hears that the server has rolled back.
    let mut batch = Vec::new();
    bind(&set, &mut batch, 1);
    wire::sync(&mut batch);
    talk.say(&batch);
    talk.hear(1, b"\0\0\0\x02\0\0\0");
    let answer = std::mem::take(&mut talk.answer);
    let frames: Vec<_> = Frames(&answer).collect();
    assert_eq!((frames[0].body, frames[1].body), (&b"ROLLBACK\0"[..], &b"I"[..]));
}

#[test]
fn rows_are_loaded_and_all_of_them() {
    let mut talk = Conversation::begin();
    for (warnings, kinds) in [(0, "CZ"), (1, "EZ")] {
        let mut query = Vec::new();
        wire::query(&mut query, "COPY t (a) FROM STDIN");
        talk.say(&query);
        assert!(talk.output[4..].starts_with(b"\x03LOAD DATA LOCAL INFILE 'rows' INTO TABLE t "));
        talk.hear(1, b"\xfbrows");
        assert_eq!(talk.kinds(), "G");
        let mut rows = Vec::new();
        wire::message(&mut rows, b'd', |out| out.extend_from_slice(b"1\n2\n"));
        wire::message(&mut rows, b'c', |_| {});
        talk.say(&rows);
        assert_eq!(talk.output, [packet(2, b"1\n2\n"), packet(3, b"")].concat());
        talk.hear(4, &[0, 2, 0, 2, 0, warnings, 0]);
        assert_eq!(talk.kinds(), kinds);
    }
}

#[test]
fn texts_are_answered_as_text() {
    let mut talk = Conversation::begin();
    let mut query = Vec::new();
    wire::query(&mut query, "SELECT a, b FROM t");
    talk.say(&query);
    talk.hear(1, &[2]);
    talk.hear(2, &column(3));
    talk.hear(3, &column(253));
    talk.hear(4, &EOF);
    talk.hear(5, b"\x0242\xfb");
    talk.hear(6, &EOF);
    let answer = std::mem::take(&mut talk.answer);
    let mut row = Row::new(Frames(&answer).next().expect("a row").body);
    assert_eq!(
        (row.text().expect("text"), row.bytes().expect("there")),
        ("42", None)
    );
    assert_eq!(
        Frames(&answer)
            .map(|frame| frame.kind as char)
            .collect::<String>(),
        "DCZ"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut talk = Conversation::begin();
    let mut query = Vec::new();
    wire::query(&mut query, "VACUUM ANALYZE");
    talk.say(&query);
    assert!(talk.output.is_empty());
    assert_eq!(talk.kinds(), "EZ");
    // A file that nobody offered.
    let mut query = Vec::new();
    wire::query(&mut query, "SELECT 1");
    talk.say(&query);
    let request = packet(1, b"\xfb/etc/passwd");
    assert!(
        talk.translator
            .digest(&request, &mut Vec::new(), &mut Vec::new())
            .is_err()
    );
    // Unasked.
    let mut talk = Conversation::begin();
    assert!(
        talk.translator
            .digest(&packet(0, &[0, 0, 0]), &mut Vec::new(), &mut Vec::new())
            .is_err()
    );
}
