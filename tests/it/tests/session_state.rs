//! What a session keeps for itself: whom it acts as, settings that clients make up, prepared statements and cursors in
//! the catalog. Every expectation holds for PostgreSQL 15 too (`MOTE_IT_TARGET`).

use mote_it::TestServer;
use mote_it::wire::*;

const WHO: &str =
    "select session_user, current_user, current_setting('role'), current_setting('is_superuser')";

fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let client = RawClient::connect(&server);
    (server, client)
}

#[track_caller]
fn refused(client: &mut RawClient, text: &str, expected: &str) {
    assert_eq!(error(&client.query(text)).as_deref(), Some(expected), "{text}");
}

fn reported(messages: &[Message], name: &str) -> Option<String> {
    let of = |m: &Message| {
        let mut parts = m
            .body
            .split(|&b| b == 0)
            .map(|b| String::from_utf8_lossy(b).into_owned());
        (parts.next() == Some(name.to_string())).then(|| parts.next().unwrap_or_default())
    };
    messages
        .iter()
        .filter(|m| m.kind == b'S')
        .filter_map(of)
        .next_back()
}

/// Roles belong to the cluster: a name of this test's own.
fn as_user(server: &TestServer, user: &str) -> RawClient {
    let mut client = RawClient::open(server);
    client.start_up(&[("user", user), ("database", server.database())]);
    client.until(b'Z');
    client
}

#[test]
fn roles_that_a_session_takes_on() {
    let (server, mut client) = start("set-role");
    client.query("drop role if exists s1_team, s1_ann, s1_bob");
    client.rows("create role s1_team; create role s1_ann login in role s1_team; create role s1_bob login");
    client.rows("create table secret (id int); create table open_to_team (id int); grant select on open_to_team to s1_team");
    let su = server.user().to_string();
    assert_eq!(client.rows(WHO), [format!("{su}|{su}|none|on")]);
    let messages = client.query("set role s1_team");
    assert_eq!(reported(&messages, "is_superuser").as_deref(), Some("off"));
    assert_eq!(client.rows(WHO), [format!("{su}|s1_team|s1_team|off")]);
    assert_eq!(client.rows("show role"), ["s1_team"]);
    client.rows("select * from open_to_team");
    refused(
        &mut client,
        "select * from secret",
        "42501 permission denied for table secret",
    );
    refused(
        &mut client,
        "create role s1_more",
        "42501 permission denied to create role",
    );
    // The session's user decides what roles it may take on.
    client.rows("set role s1_bob");
    refused(
        &mut client,
        "select * from open_to_team",
        "42501 permission denied for table open_to_team",
    );
    let messages = client.query("reset role");
    assert_eq!(reported(&messages, "is_superuser").as_deref(), Some("on"));
    assert_eq!(client.rows(WHO), [format!("{su}|{su}|none|on")]);
    refused(
        &mut client,
        "set role s1_nobody",
        "22023 role \"s1_nobody\" does not exist",
    );
    client.rows("set role s1_ann");
    client.rows("set role none");
    // It follows the transaction.
    client.rows("begin; set role s1_ann; savepoint s; set local role s1_bob");
    assert_eq!(client.rows("select current_user"), ["s1_bob"]);
    client.rows("rollback to s");
    assert_eq!(client.rows("select current_user"), ["s1_ann"]);
    client.rows("rollback");
    assert_eq!(client.rows(WHO), [format!("{su}|{su}|none|on")]);
    client.rows("begin; set local role s1_ann; commit");
    assert_eq!(client.rows("select current_user"), [su.as_str()]);
    // What is created belongs to the current user.
    client.rows(
        "create schema s1_place authorization s1_ann; set role s1_ann; create table s1_place.own (id int)",
    );
    assert_eq!(
        client.rows("select tableowner from pg_tables where tablename = 'own'"),
        ["s1_ann"]
    );
    client.rows("reset role");
    // Another session user: its own memberships count then.
    let messages = client.query("set session authorization s1_ann");
    assert_eq!(
        reported(&messages, "session_authorization").as_deref(),
        Some("s1_ann")
    );
    assert_eq!(client.rows(WHO), ["s1_ann|s1_ann|none|off"]);
    client.rows("set role s1_team");
    assert_eq!(client.rows(WHO), ["s1_ann|s1_team|s1_team|off"]);
    refused(
        &mut client,
        "set role s1_bob",
        "42501 permission denied to set role \"s1_bob\"",
    );
    client.rows("set session authorization s1_bob");
    assert_eq!(client.rows(WHO), ["s1_bob|s1_bob|none|off"]);
    client.rows("reset session authorization");
    assert_eq!(client.rows(WHO), [format!("{su}|{su}|none|on")]);
    client.rows("set session authorization s1_ann");
    client.rows("reset all");
    assert_eq!(client.rows(WHO), ["s1_ann|s1_ann|none|off"]);
    client.rows("discard all");
    assert_eq!(client.rows(WHO), [format!("{su}|{su}|none|on")]);
    // Those who are no superusers.
    let mut ann = as_user(&server, "s1_ann");
    ann.rows("set role s1_team");
    ann.rows("set session authorization default");
    ann.rows("set session authorization s1_ann");
    refused(
        &mut ann,
        "set role s1_bob",
        "42501 permission denied to set role \"s1_bob\"",
    );
    refused(
        &mut ann,
        "set session authorization s1_bob",
        "42501 permission denied to set session authorization \"s1_bob\"",
    );
    assert_eq!(
        ann.rows("select set_config('role', 's1_team', false), current_user"),
        ["s1_team|s1_team"]
    );
    drop(ann);
    // A statement that was prepared runs in the name of whoever runs it.
    client.rows("prepare p as select count(*) from secret");
    assert_eq!(client.rows("execute p"), ["0"]);
    client.rows("set role s1_ann");
    refused(
        &mut client,
        "execute p",
        "42501 permission denied for table secret",
    );
    client.rows("reset role");
    client.rows(
        "drop table secret, open_to_team; drop schema s1_place cascade; drop role s1_team, s1_ann, s1_bob",
    );
}

#[test]
fn settings_that_clients_make_up() {
    let (server, mut client) = start("custom-settings");
    refused(
        &mut client,
        "show my.tenant",
        "42704 unrecognized configuration parameter \"my.tenant\"",
    );
    assert_eq!(
        client.rows("select current_setting('my.tenant', true) is null"),
        ["t"]
    );
    client.rows("set my.tenant = 'acme'");
    assert_eq!(
        client.rows("select current_setting('my.tenant'), current_setting('MY.Tenant', true)"),
        ["acme|acme"]
    );
    assert_eq!(client.rows("show my.tenant"), ["acme"]);
    client.rows("begin; set local my.tenant = 'other'; set my.second.level to eight");
    assert_eq!(
        client.rows("select current_setting('my.tenant'), current_setting('my.second.level')"),
        ["other|eight"]
    );
    client.rows("rollback");
    assert_eq!(
        client.rows("select current_setting('my.tenant'), current_setting('my.second.level')"),
        ["acme|"]
    );
    assert_eq!(client.rows("select set_config('my.tenant', 'x', true)"), ["x"]);
    assert_eq!(client.rows("show my.tenant"), ["acme"]);
    assert_eq!(
        client.rows("select set_config('my.third', 'y', false), current_setting('my.third')"),
        ["y|y"]
    );
    assert_eq!(
        client.rows("select count(*) from pg_settings where name like 'my.%'"),
        ["0"]
    );
    client.rows("reset my.tenant");
    assert_eq!(client.rows("show my.tenant"), [""]);
    client.rows("reset all");
    assert_eq!(client.rows("show my.third"), [""]);
    refused(
        &mut client,
        "set my.list to 1, 2",
        "22023 SET my.list takes only one argument",
    );
    let invalid = client.query("select set_config('my.1', 'x', false)");
    assert_eq!(
        error(&invalid).as_deref(),
        Some("42602 invalid configuration parameter name \"my.1\"")
    );
    let mut other = RawClient::open(&server);
    other.start_up(&[
        ("user", server.user()),
        ("database", server.database()),
        ("options", "-c my.start=1"),
    ]);
    other.until(b'Z');
    other.rows("set my.start = 2; reset my.start");
    assert_eq!(other.rows("show my.start"), ["1"]);
}

#[test]
fn settings_of_a_failed_block_go_with_its_failure() {
    let (_server, mut client) = start("failed-settings");
    let name = |messages: &[Message]| reported(messages, "application_name");
    client.rows("set application_name = 'before'");
    assert_eq!(
        name(&client.query("begin; set application_name = 'inside'")).as_deref(),
        Some("inside")
    );
    assert_eq!(name(&client.query("select 1 / 0")).as_deref(), Some("before"));
    assert_eq!(name(&client.query("select 1")), None);
    assert_eq!(name(&client.query("rollback")), None);
    // A savepoint keeps what was set before it, whichever one is gone back to.
    client.rows(
        "begin; set application_name = 'outer'; savepoint a; set application_name = 'middle'; savepoint b",
    );
    client.rows("set local application_name = 'inner'");
    assert_eq!(name(&client.query("select 1 / 0")).as_deref(), Some("middle"));
    assert_eq!(name(&client.query("rollback to b")), None);
    assert_eq!(client.rows("show application_name"), ["middle"]);
    assert_eq!(name(&client.query("rollback to a")).as_deref(), Some("outer"));
    client.rows("commit");
    assert_eq!(client.rows("show application_name"), ["outer"]);
}

#[test]
fn date_style_keeps_what_is_not_said() {
    let (_server, mut client) = start("datestyle");
    for (text, shown) in [
        ("iso", "ISO, MDY"),
        ("dmy", "ISO, DMY"),
        ("ISO", "ISO, DMY"),
        ("'iso, ymd'", "ISO, YMD"),
        ("european", "ISO, DMY"),
        ("default", "ISO, MDY"),
    ] {
        let messages = client.query(&format!("set datestyle to {text}"));
        assert_eq!(error(&messages), None, "{text}");
        assert_eq!(client.rows("show datestyle"), [shown], "{text}");
    }
    refused(
        &mut client,
        "set datestyle to nonsense",
        "22023 invalid value for parameter \"DateStyle\": \"nonsense\"",
    );
}

#[test]
fn prepared_statements_are_shown() {
    let (server, mut client) = start("prepared-shown");
    let shown = "select name, statement, parameter_types, from_sql, generic_plans + custom_plans, \
                 prepare_time <= clock_timestamp() and prepare_time > now() - interval '1 minute' \
                 from pg_prepared_statements order by name";
    assert_eq!(client.rows(shown), [""; 0]);
    client.rows("prepare one (int, text) as select $1 + 1, $2");
    client.rows("execute one (1, 'a'); execute one (2, 'b')");
    client.exchange(&[
        parse("two", "select $1::regclass", &[]),
        bind("", "two", &["pg_class"]),
        execute("", 0),
        sync(),
    ]);
    client.exchange(&[parse("", "select 'unnamed'", &[]), sync()]);
    assert_eq!(
        client.rows(shown),
        [
            "one|prepare one (int, text) as select $1 + 1, $2|{integer,text}|t|2|t",
            "two|select $1::regclass|{regclass}|f|1|t"
        ]
    );
    let mut other = RawClient::connect(&server);
    assert_eq!(other.rows(shown), [""; 0]);
    client.rows("deallocate one");
    client.exchange(&[close(b'S', "two"), sync()]);
    assert_eq!(client.rows(shown), [""; 0]);
}

#[test]
fn cursors_are_shown() {
    let (_server, mut client) = start("cursors-shown");
    let shown = "select name, statement, is_holdable, is_binary, creation_time between now() and clock_timestamp() \
                 from pg_cursors order by name";
    assert_eq!(client.rows(shown), [""; 0]);
    client.rows("begin");
    client.rows("declare a cursor for select 1");
    client.rows("declare b binary cursor for select 2");
    client.exchange(&[parse("", "select 3", &[]), bind("portal", "", &[]), sync()]);
    assert_eq!(
        client.rows(shown),
        [
            "a|declare a cursor for select 1|f|f|t",
            "b|declare b binary cursor for select 2|f|t|t",
            "portal|select 3|f|f|t"
        ]
    );
    client.rows("close a");
    assert_eq!(
        client.rows("select name from pg_cursors order by 1"),
        ["b", "portal"]
    );
    client.rows("commit");
    assert_eq!(client.rows("select count(*) from pg_cursors"), ["0"]);
}

/// A default keeps to its sequence through new names and places of it, also where pg_dump has put it together again.
#[test]
fn defaults_follow_their_sequences() {
    let (_server, mut client) = start("sequence-names");
    client.rows("create schema s1; create sequence numbers; create sequence s1.\"Odd's\"");
    client.rows(
        "create table t (a int default nextval('numbers'), b int default nextval('s1.\"Odd''s\"'::regclass) + 100, c serial)",
    );
    client.rows(
        "create table restored (id int not null); create sequence restored_id_seq owned by restored.id",
    );
    client.rows(
        "alter table only restored alter column id set default nextval('public.restored_id_seq'::regclass)",
    );
    assert_eq!(
        client.rows("select pg_get_serial_sequence('restored', 'id'), pg_get_serial_sequence('t', 'c')"),
        ["public.restored_id_seq|public.t_c_seq"]
    );
    let insert = "insert into t default values returning a, b, c";
    assert_eq!(client.rows(insert), ["1|101|1"]);
    client.rows("alter sequence numbers rename to \"More numbers\"");
    client.rows("alter sequence \"More numbers\" set schema s1");
    client.rows("alter sequence s1.\"Odd's\" rename to odd");
    client.rows("alter sequence t_c_seq rename to renamed; alter sequence restored_id_seq rename to other");
    assert_eq!(client.rows(insert), ["2|102|2"]);
    client.rows("alter schema s1 rename to \"S 2\"");
    assert_eq!(client.rows(insert), ["3|103|3"]);
    assert_eq!(
        client.rows("insert into restored default values returning id"),
        ["1"]
    );
    client.rows("alter table t set schema \"S 2\"; alter table restored set schema \"S 2\"");
    assert_eq!(
        client.rows("insert into \"S 2\".t default values returning a, b, c"),
        ["4|104|4"]
    );
    assert_eq!(
        client.rows("insert into \"S 2\".restored default values returning id"),
        ["2"]
    );
    let refused = client.query("drop sequence \"S 2\".\"More numbers\"");
    assert_eq!(sqlstate(&refused).as_deref(), Some("2BP01"));
}
