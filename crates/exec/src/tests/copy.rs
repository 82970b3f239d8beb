//! COPY end to end in process.

use crate::embedded::LocalSession;
use crate::tests::support::session;

fn copied_out(session: &mut LocalSession, text: &str) -> String {
    let outcomes = session.query(text).expect(text);
    String::from_utf8(outcomes[0].copied_out.clone()).expect("text output")
}

/// Message and CONTEXT of a COPY that fails.
fn failure(session: &mut LocalSession, text: &str, data: &str) -> (String, String, String) {
    let error = session.copy_in(text, data.as_bytes()).expect_err(text);
    let fields = error.fields();
    (
        fields.state.to_string(),
        fields.message.clone(),
        fields.context.clone().unwrap_or_default(),
    )
}

#[test]
fn round_trip_in_all_formats() {
    let mut session = session();
    session
        .query("CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(8,2))")
        .expect("create");
    let outcomes = session
        .copy_in(
            "COPY t FROM STDIN",
            b"1\tone\\ttab\t1.50\n2\t\\N\t\\N\n3\tback\\\\slash\t-7\n\\.\n",
        )
        .expect("copy");
    assert_eq!(
        outcomes[0].tag.map(|tag| tag.to_string()).as_deref(),
        Some("COPY 3")
    );
    assert_eq!(
        copied_out(&mut session, "COPY t TO STDOUT"),
        "1\tone\\ttab\t1.50\n2\t\\N\t\\N\n3\tback\\\\slash\t-7.00\n"
    );
    assert_eq!(
        copied_out(
            &mut session,
            "COPY t TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (b))"
        ),
        "a,b,c\n1,\"one\ttab\",1.50\n2,,\n3,\"back\\slash\",-7.00\n"
    );
    let binary = session.query("COPY t TO STDOUT (FORMAT binary)").expect("binary")[0]
        .copied_out
        .clone();
    session
        .query("CREATE TABLE u (a int, b text, c numeric(8,2))")
        .expect("create");
    session
        .copy_in("COPY u FROM STDIN (FORMAT binary)", &binary)
        .expect("binary");
    assert_eq!(
        copied_out(&mut session, "COPY u TO STDOUT"),
        copied_out(&mut session, "COPY t TO STDOUT")
    );
    assert_eq!(
        copied_out(&mut session, "COPY (SELECT b, a FROM t WHERE a > 2) TO STDOUT"),
        "back\\\\slash\t3\n"
    );
}

#[test]
fn defaults_checks_and_where() {
    let mut session = session();
    session
        .query("CREATE TABLE t (a int, b text DEFAULT 'x', c int NOT NULL DEFAULT 7, CHECK (a < 100))")
        .expect("create");
    session
        .copy_in("COPY t (a) FROM STDIN WHERE a > 1", b"1\n2\n3\n")
        .expect("copy");
    assert_eq!(copied_out(&mut session, "COPY t TO STDOUT"), "2\tx\t7\n3\tx\t7\n");
    let (code, message, context) = failure(&mut session, "COPY t (a) FROM STDIN", "5\n100\n");
    assert_eq!(code, "23514");
    assert_eq!(
        message,
        "new row for relation \"t\" violates check constraint \"t_a_check\""
    );
    assert_eq!(context, "COPY t, line 2: \"100\"");
}

#[test]
fn malformed_input() {
    let mut session = session();
    session.query("CREATE TABLE t (a int, b text)").expect("create");
    let bad = "22P04".to_string();
    let csv = "COPY t FROM STDIN (FORMAT csv)";
    let plain = "COPY t FROM STDIN";
    let line = |text: &str| format!("COPY t, {text}");
    assert_eq!(
        failure(&mut session, plain, "1\ta\n2\n"),
        (
            bad.clone(),
            "missing data for column \"b\"".into(),
            line("line 2: \"2\"")
        )
    );
    assert_eq!(
        failure(&mut session, plain, "1\ta\tx\n"),
        (
            bad.clone(),
            "extra data after last expected column".into(),
            line("line 1: \"1\ta\tx\"")
        )
    );
    assert_eq!(
        failure(&mut session, csv, "1,a\n2,\"b\n"),
        (
            bad.clone(),
            "unterminated CSV quoted field".into(),
            line("line 2: \"2,\"b\n\"")
        )
    );
    assert_eq!(
        failure(&mut session, plain, "1\ta\nabc\tb\n"),
        (
            "22P02".into(),
            "invalid input syntax for type integer: \"abc\"".into(),
            line("line 2, column a: \"abc\"")
        )
    );
    assert_eq!(
        failure(&mut session, plain, "1\ta\n2\tb\r\n"),
        (
            bad,
            "literal carriage return found in data".into(),
            line("line 2")
        )
    );
    assert_eq!(
        session.rows("SELECT count(*) FROM t").expect("count"),
        [[Some("0".to_string())]]
    );
}

#[test]
fn line_ends_and_headers() {
    let mut session = session();
    session.query("CREATE TABLE t (a int, b text)").expect("create");
    session
        .copy_in(
            "COPY t FROM STDIN (FORMAT csv, HEADER match)",
            b"a,b\r\n1,\"x\ny\"\r\n2,z",
        )
        .expect("crlf");
    assert_eq!(copied_out(&mut session, "COPY t TO STDOUT"), "1\tx\\ny\n2\tz\n");
    let (_, message, _) = failure(
        &mut session,
        "COPY t FROM STDIN (FORMAT csv, HEADER match)",
        "a,c\n1,x\n",
    );
    assert_eq!(
        message,
        "column name mismatch in header line field 2: got \"c\", expected \"b\""
    );
}

/// A measurement, not a check: `MOTE_COPY_ROWS=2000000 cargo test --release copy_speed -- --nocapture`.
#[test]
fn copy_speed() {
    let rows: u32 = std::env::var("MOTE_COPY_ROWS")
        .ok()
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(1000);
    let mut session = session();
    session
        .query("CREATE TABLE t (a int PRIMARY KEY, b int, c text)")
        .expect("create");
    let data: String = (0..rows)
        .map(|n| format!("{n}\t{}\tname of {n}\n", n % 97))
        .collect();
    let start = std::time::Instant::now();
    session
        .copy_in("COPY t FROM STDIN", data.as_bytes())
        .expect("copy");
    println!("{:.0} rows/s", rows as f64 / start.elapsed().as_secs_f64());
    assert_eq!(
        session.rows("SELECT count(*) FROM t").expect("count"),
        [[Some(rows.to_string())]]
    );
}
