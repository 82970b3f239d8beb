//! A session on the wire: start-up, settings, notices, cancel, flow of bytes, and its end. Every expectation holds for
//! PostgreSQL 15 too (`MOTE_IT_TARGET`), except where a test says what differs.

use mote_it::TestServer;
use mote_it::server::is_oracle;
use mote_it::waiting::{await_suspended, cancelled, pid, without_time_limit};
use mote_it::wire::*;

fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let client = RawClient::connect(&server);
    (server, client)
}

#[test]
fn start_up_reports_what_drivers_need() {
    let server = TestServer::start("startup");
    let mut client = RawClient::open(&server);
    // As pgjdbc begins: an offer of encryption, then its settings.
    client.untyped(&SSL_REQUEST.to_be_bytes());
    assert_eq!(client.read_byte(), Some(b'N'));
    if !is_oracle() {
        // Debian's PostgreSQL would begin to speak GSSAPI.
        client.untyped(&80_877_104u32.to_be_bytes());
        assert_eq!(client.read_byte(), Some(b'N'));
    }
    client.start_up(&[
        ("user", server.user()),
        ("database", server.database()),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO"),
        ("TimeZone", "Europe/Berlin"),
        ("extra_float_digits", "2"),
        ("application_name", "conformance"),
        ("options", "-c statement_timeout=12345"),
    ]);
    let messages = client.until(b'Z');
    let kinds = kinds(&messages);
    assert!(kinds.starts_with('R') && kinds.ends_with("KZ"), "{kinds}");
    let reported: Vec<(String, String)> = messages
        .iter()
        .filter(|m| m.kind == b'S')
        .map(name_and_value)
        .collect();
    let value = |name: &str| reported.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!(value("client_encoding"), Some("UTF8"));
    assert_eq!(value("server_encoding"), Some("UTF8"));
    assert_eq!(value("integer_datetimes"), Some("on"));
    assert_eq!(value("standard_conforming_strings"), Some("on"));
    assert_eq!(value("TimeZone"), Some("Europe/Berlin"));
    assert_eq!(value("application_name"), Some("conformance"));
    assert_eq!(value("is_superuser"), Some("on"));
    assert_eq!(value("session_authorization"), Some("postgres"));
    assert!(value("DateStyle").is_some_and(|v| v.starts_with("ISO")));
    assert!(
        value("server_version").is_some_and(|v| v.starts_with("15")),
        "{reported:?}"
    );
    assert!(value("IntervalStyle").is_some());
    assert_eq!(client.rows("show statement_timeout"), ["12345ms"]);
    assert_eq!(client.rows("show extra_float_digits"), ["2"]);
}

#[test]
fn unknown_start_up_parameters_and_databases_and_roles() {
    let server = TestServer::start("startup-unknown");
    let attempt = |parameters: &[(&str, &str)]| {
        let mut client = RawClient::open(&server);
        client.start_up(parameters);
        client.until(b'Z')
    };
    let (user, database) = (("user", server.user()), ("database", server.database()));
    let messages = attempt(&[user, database, ("no_such_setting", "1")]);
    let expect = "42704 unrecognized configuration parameter \"no_such_setting\"";
    assert_eq!(error(&messages).as_deref(), Some(expect));
    assert_eq!(
        messages
            .iter()
            .find(|m| m.kind == b'E')
            .and_then(|m| m.field(b'S'))
            .as_deref(),
        Some("FATAL")
    );
    let messages = attempt(&[user, ("database", "nowhere")]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("3D000 database \"nowhere\" does not exist")
    );
    let messages = attempt(&[("user", "nobody"), database]);
    assert_eq!(
        error(&messages).as_deref(),
        Some("28000 role \"nobody\" does not exist")
    );
    let messages = attempt(&[database]);
    let expect = "28000 no PostgreSQL user name specified in startup packet";
    assert_eq!(error(&messages).as_deref(), Some(expect));
    let messages = attempt(&[user, database, ("TimeZone", "Mars/Olympus")]);
    assert_eq!(sqlstate(&messages).as_deref(), Some("22023"));
}

#[test]
fn newer_minor_protocols_are_negotiated_down() {
    let server = TestServer::start("negotiate");
    let mut client = RawClient::open(&server);
    let parameters = [
        ("user", server.user()),
        ("database", server.database()),
        ("_pq_.not_yet_invented", "on"),
    ];
    client.start_up_version(196_610, &parameters);
    let messages = client.until(b'Z');
    let negotiate = messages
        .iter()
        .find(|m| m.kind == b'v')
        .expect("NegotiateProtocolVersion");
    // Newest minor version, number of options not recognised, their names.
    let expect = [&[0, 0, 0, 0, 0, 0, 0, 1][..], b"_pq_.not_yet_invented\0"].concat();
    // The first field is the minor version alone, or the whole version: PostgreSQL sends the latter.
    assert_eq!(negotiate.body[4..], expect[4..]);
    assert_eq!(negotiate.body[2..4], [0, 0]);
    assert_eq!(client.rows("select 1"), ["1"]);

    let mut client = RawClient::open(&server);
    client.start_up_version(4 << 16, &parameters);
    let messages = client.until_closed();
    let expect = "0A000 unsupported frontend protocol 4.0: server supports 3.0 to 3.0";
    assert_eq!(error(&messages).as_deref(), Some(expect));
}

#[test]
fn flush_sends_what_is_there() {
    let (_server, mut client) = start("flush");
    client.raw(&[parse("", "select 1", &[]), flush()].concat());
    assert_eq!(client.receive().map(|m| m.kind), Some(b'1'));
    client.raw(&[bind("", "", &[]), execute("", 0), flush()].concat());
    assert_eq!(kinds(&client.until(b'C')), "2DC");
    client.raw(&sync());
    assert_eq!(kinds(&client.until(b'Z')), "Z");
}

#[test]
fn messages_may_arrive_in_pieces() {
    let (_server, mut client) = start("pieces");
    let bytes = [
        parse("", "select $1::text", &[]),
        bind("", "", &["in pieces"]),
        execute("", 0),
        sync(),
    ]
    .concat();
    for byte in bytes {
        client.raw(&[byte]);
    }
    assert_eq!(text_rows(&client.until(b'Z')), ["in pieces"]);
    // A large value, and a large answer; `slow_reader` has clients that do not read.
    let large = "x".repeat(3 << 20);
    let messages = client.exchange(&[
        parse("", "select $1::text || $1::text", &[]),
        bind("", "", &[&large]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(text_rows(&messages)[0].len(), 6 << 20);
}

#[test]
fn pipelining_client_that_reads_late() {
    let (_server, mut client) = start("late-reader");
    // 40 MB of answers before the first is read: neither side may wait for the other forever.
    let groups = 400;
    let group = [
        parse("", "select repeat('x', 100000)", &[]),
        bind("", "", &[]),
        execute("", 0),
        sync(),
    ]
    .concat();
    let mut writer = client.duplicate();
    let sender = std::thread::spawn(move || {
        for _ in 0..groups {
            writer.raw(&group);
        }
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    for _ in 0..groups {
        let messages = client.until(b'Z');
        assert_eq!(kinds(&messages), "12DCZ");
    }
    sender.join().expect("the writer is not blocked for good");
    assert_eq!(client.rows("select 1"), ["1"]);
}

#[test]
fn cancel_request() {
    let (server, mut client) = start("cancel");
    let own = pid(&mut client);
    client.raw(&query("select pg_sleep(30)"));
    let mut observer = RawClient::connect(&server);
    await_suspended(&mut observer, &own);
    // A wrong key does nothing; the right one ends the statement. Neither is answered.
    let mut wrong = client.key_data.clone();
    wrong[7] ^= 1;
    for key in [wrong, client.key_data.clone()] {
        await_suspended(&mut observer, &own);
        let mut other = RawClient::open(&server);
        other.untyped(&[80_877_102u32.to_be_bytes().to_vec(), key].concat());
        assert_eq!(other.receive(), None);
    }
    let messages = client.until(b'Z');
    assert_eq!(
        error(&messages).as_deref(),
        Some("57014 canceling statement due to user request")
    );
    assert_eq!(client.rows("select 1"), ["1"]);
    // A cancel that comes too late must not hit the next statement.
    let mut other = RawClient::open(&server);
    other.untyped(&[80_877_102u32.to_be_bytes().to_vec(), client.key_data.clone()].concat());
    assert_eq!(other.receive(), None);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(client.rows("select 2"), ["2"]);
}

#[test]
fn cancel_ends_waits_for_locks_and_long_work() {
    let (server, mut holder) = start("cancel-lock");
    holder.rows("create table t (id int primary key, v int); insert into t values (1, 0)");
    holder.rows("begin; update t set v = 1");
    let mut client = RawClient::connect(&server);
    for text in [
        "update t set v = 2",
        "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b where a + b < 0",
    ] {
        client.raw(&query(text));
        let messages = cancelled(&server, &mut client);
        assert_eq!(sqlstate(&messages).as_deref(), Some("57014"), "{text}");
    }
    holder.rows("commit");
    client.rows("set statement_timeout = 100; set lock_timeout = 0");
    let messages = client.query("select pg_sleep(20)");
    assert_eq!(
        error(&messages).as_deref(),
        Some("57014 canceling statement due to statement timeout")
    );
    without_time_limit(&mut client);
    client.rows("set lock_timeout = '100ms'");
    holder.rows("begin; update t set v = 3");
    let messages = client.query("update t set v = 4");
    assert_eq!(
        error(&messages).as_deref(),
        Some("55P03 canceling statement due to lock timeout")
    );
    holder.rows("rollback");
}

#[test]
fn a_lost_client_rolls_back() {
    let (server, mut client) = start("lost");
    client.rows("create table t (id int primary key)");
    client.rows("begin; insert into t values (1)");
    drop(client);
    let mut other = RawClient::connect(&server);
    // The insert waits for the lost session's fate, and then succeeds.
    assert_eq!(tags(&other.query("insert into t values (1)")), ["INSERT 0 1"]);
    // Terminate ends the connection without an answer.
    other.send(b'X', b"");
    assert_eq!(other.receive(), None);
}

#[test]
fn settings_are_reported_when_they_change() {
    let (_server, mut client) = start("report");
    let reported = |messages: &[Message]| -> Vec<(String, String)> {
        messages
            .iter()
            .filter(|m| m.kind == b'S')
            .map(name_and_value)
            .collect()
    };
    let messages = client.query("set application_name = 'renamed'");
    assert_eq!(
        reported(&messages),
        [("application_name".to_string(), "renamed".to_string())]
    );
    let messages = client.query("begin; set local timezone = 'Asia/Tokyo'");
    assert_eq!(
        reported(&messages),
        [("TimeZone".to_string(), "Asia/Tokyo".to_string())]
    );
    let messages = client.query("rollback");
    assert_eq!(
        reported(&messages).len(),
        1,
        "the old value comes back: {messages:?}"
    );
    assert_eq!(reported(&client.query("set work_mem = '8MB'")), []);
}

#[test]
fn notices_arrive_in_place() {
    let (_server, mut client) = start("notices");
    let messages = client.query("drop table if exists missing");
    assert_eq!(kinds(&messages), "NCZ");
    let notice = &messages[0];
    assert_eq!(notice.field(b'S').as_deref(), Some("NOTICE"));
    assert_eq!(notice.field(b'C').as_deref(), Some("00000"));
    assert_eq!(
        notice.field(b'M').as_deref(),
        Some("table \"missing\" does not exist, skipping")
    );
    let messages = client.query("commit");
    assert_eq!(kinds(&messages), "NCZ");
    assert_eq!(messages[0].field(b'C').as_deref(), Some("25P01"));
    assert_eq!(
        messages[0].field(b'M').as_deref(),
        Some("there is no transaction in progress")
    );
    client.query("begin");
    let messages = client.query("begin");
    assert_eq!(
        messages[0].field(b'M').as_deref(),
        Some("there is already a transaction in progress")
    );
    client.query("rollback");
    client.query("set client_min_messages = error");
    assert_eq!(kinds(&client.query("drop table if exists missing")), "CZ");
}

#[test]
fn a_cancel_of_an_idle_session_is_for_no_later_statement() {
    let (server, mut client) = start("idle-cancel");
    let pid = pid(&mut client);
    let mut other = RawClient::connect(&server);
    let cancelled = other.rows(&format!("select pg_cancel_backend({pid})"));
    assert_eq!(cancelled, ["t"]);
    assert_eq!(client.rows("select pg_sleep(0.05) is null"), ["f"]);
    assert_eq!(
        client.rows("select count(*) from generate_series(1, 100000)"),
        ["100000"]
    );
}

#[test]
fn a_call_of_no_function_is_an_error_of_its_own() {
    let (_server, mut client) = start("function-call");
    client.send(b'F', &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    let messages = client.until(b'Z');
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_deref()),
        ("EZ", Some("42883"))
    );
    assert_eq!(client.rows("select 1"), ["1"]);
}

fn name_and_value(message: &Message) -> (String, String) {
    let mut parts = message
        .body
        .split(|&b| b == 0)
        .map(|p| String::from_utf8_lossy(p).into_owned());
    (parts.next().expect("a name"), parts.next().expect("a value"))
}

/// Of a setting that changed the client is told before ReadyForQuery, once, and of its last value.
#[test]
fn changed_settings_are_told_before_the_server_is_ready() {
    let (_server, mut client) = start("changed_settings");
    let said = client.query("set application_name = 'one'; select 1; set application_name = 'two'");
    assert_eq!(kinds(&said), "CTDCCSZ");
    let told = said
        .iter()
        .find(|message| message.kind == b'S')
        .expect("a setting");
    assert_eq!(told.body, b"application_name\0two\0");
    let said = client.exchange(&[
        parse("", "set datestyle = german", &[]),
        bind("", "", &[]),
        execute("", 0),
        parse("", "select 1", &[]),
        sync(),
    ]);
    assert_eq!(kinds(&said), "12C1SZ");
}

/// What a failed block is asked is refused as such, portals that it had included.
#[test]
fn portals_of_a_failed_block() {
    let (_server, mut client) = start("failed_portals");
    client.query("begin");
    client.exchange(&[
        parse("", "select generate_series(1, 3)", &[]),
        bind("known", "", &[]),
        execute("known", 1),
        sync(),
    ]);
    client.query("select 1 / 0");
    let mut run = |portal: &str| sqlstate(&client.exchange(&[execute(portal, 1), sync()]));
    assert_eq!(run("known").as_deref(), Some("25P02"));
    assert_eq!(run("unknown").as_deref(), Some("34000"));
    client.query("rollback");
    let said = client.exchange(&[execute("known", 1), sync()]);
    assert_eq!(sqlstate(&said).as_deref(), Some("34000"));
}

/// A setting that there is not is missed before SHOW is run.
#[test]
fn show_of_an_unknown_setting_cannot_be_prepared() {
    let (_server, mut client) = start("show_unknown");
    let said = client.exchange(&[parse("", "show no_such_setting", &[]), describe(b'S', ""), sync()]);
    assert_eq!(sqlstate(&said).as_deref(), Some("42704"));
    assert_eq!(kinds(&said), "EZ");
}

/// The limit runs from the first message to the end of an Execute or to Sync, over the client's own pauses too.
#[test]
fn statement_timeout_runs_on_between_messages() {
    let (server, mut client) = start("timeout_between_messages");
    let mut clock = RawClient::connect(&server);
    let mut pause = || clock.rows("select pg_sleep(2.2) is null");
    // Far more than an exchange takes, also on a machine that stands still for a second.
    client.rows("set statement_timeout = '2s'");
    let timeout = Some("57014 canceling statement due to statement timeout");

    client.raw(&[parse("a", "select 1", &[]), flush()].concat());
    client.until(b'1');
    pause();
    client.raw(&[describe(b'S', "a"), sync()].concat());
    let messages = client.until(b'Z');
    assert_eq!(kinds(&messages), "EZ");
    assert_eq!(error(&messages).as_deref(), timeout);

    // After Sync, and after an Execute, the next message has the whole time.
    pause();
    let executed = [
        parse("b", "select 1", &[]),
        bind("", "b", &[]),
        execute("", 0),
        flush(),
    ];
    client.raw(&executed.concat());
    client.until(b'C');
    pause();
    client.raw(&[bind("", "b", &[]), execute("", 0), sync()].concat());
    assert_eq!(kinds(&client.until(b'Z')), "2DCZ");

    // A portal that was suspended goes on with what is left.
    let suspended = [
        parse("c", "select generate_series(1, 3)", &[]),
        bind("", "c", &[]),
        execute("", 1),
        flush(),
    ];
    client.raw(&suspended.concat());
    client.until(b's');
    pause();
    client.raw(&[execute("", 1), sync()].concat());
    assert_eq!(error(&client.until(b'Z')).as_deref(), timeout);

    client.rows("set statement_timeout = 0");
    client.raw(&[parse("d", "select 1", &[]), flush()].concat());
    client.until(b'1');
    pause();
    assert_eq!(kinds(&client.exchange(&[describe(b'S', "d"), sync()])), "tTZ");
}
