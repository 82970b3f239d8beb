//! ALTER SYSTEM: settings in the server's file, which sessions begin with and follow.

use mote_it::TestServer;
use mote_it::wire::{self, RawClient};
use rustix::process::Signal;

const FILE: &str = "mote.auto.conf";

fn one(client: &mut RawClient, text: &str) -> String {
    client.rows(text).concat()
}

/// Has the files read again, and waits until they were.
fn reload(client: &mut RawClient, ask: impl FnOnce(&mut RawClient)) {
    let before = one(client, "select pg_conf_load_time()");
    ask(client);
    while one(client, "select pg_conf_load_time()") == before {}
}

fn by_function(client: &mut RawClient) {
    assert_eq!(one(client, "select pg_reload_conf()"), "t");
}

#[test]
fn sessions_begin_with_them_and_follow_them() {
    let server = TestServer::start("server_settings");
    let mut control = RawClient::connect(&server);
    let mut follower = RawClient::connect(&server);
    let mut chooser = RawClient::connect(&server);
    let mut busy = RawClient::connect(&server);
    chooser.query("set work_mem = '3MB'");
    busy.query("begin; set local lock_timeout = '1s'");
    control.query("alter system set work_mem = '8MB'");
    control.query("alter system set search_path = 'it''s', \"B\"");
    assert_eq!(one(&mut follower, "show work_mem"), "1GB", "not before a reload");
    reload(&mut control, by_function);
    let source = "select setting || ' ' || source from pg_settings where name = 'work_mem'";
    assert_eq!(one(&mut follower, source), "8192 configuration file");
    assert_eq!(one(&mut follower, "show search_path"), "\"it's\", \"B\"");
    assert_eq!(one(&mut chooser, source), "3072 session");
    chooser.query("reset work_mem");
    assert_eq!(one(&mut chooser, source), "8192 configuration file");
    assert_eq!(
        one(&mut busy, "show work_mem"),
        "1GB",
        "a block goes on with what it has"
    );
    busy.query("rollback");
    assert_eq!(one(&mut busy, source), "8192 configuration file");
    assert_eq!(
        one(&mut RawClient::connect(&server), source),
        "8192 configuration file"
    );
    let place = "select sourcefile || ' ' || sourceline from pg_settings where name = 'work_mem'";
    assert_eq!(one(&mut control, place), "mote.auto.conf 2");

    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("the server starts again");
    let mut control = RawClient::connect(&server);
    assert_eq!(one(&mut control, source), "8192 configuration file");
    control.query("alter system reset work_mem");
    reload(&mut control, |_| server.signal(Signal::HUP));
    assert_eq!(one(&mut control, source), "1048576 default");
}

/// Monitors ask for it before anything else; no file says it, and no reload forgets it.
#[test]
fn how_the_server_was_started_is_shown() {
    let server = TestServer::start("server_facts");
    let mut client = RawClient::connect(&server);
    let facts = |client: &mut RawClient| {
        let names = [
            "port",
            "listen_addresses",
            "ssl",
            "fsync",
            "data_directory",
            "config_file",
        ];
        names.map(|name| one(client, &format!("show {name}")))
    };
    let shown = facts(&mut client);
    assert_eq!(shown[..4], [server.port().as_str(), "127.0.0.1", "off", "on"]);
    let file = std::path::Path::new(&shown[5]);
    assert!(file.is_absolute() && file.starts_with(&shown[4]), "{shown:?}");
    for (name, value, expected) in [
        ("fsync", "off", "0A000"),
        ("port", "1", "0A000"),
        ("data_checksums", "off", "55P02"),
        ("data_directory", "'/'", "55P02"),
    ] {
        let said = client.query(&format!("alter system set {name} = {value}"));
        assert_eq!(wire::sqlstate(&said).as_deref(), Some(expected), "{name}");
    }
    client.query("alter system set work_mem = '8MB'");
    reload(&mut client, by_function);
    assert_eq!(one(&mut client, "show work_mem"), "8MB");
    assert_eq!(facts(&mut client), shown);
    assert_eq!(facts(&mut RawClient::connect(&server)), shown);
    server.stop();
}

#[test]
fn a_file_with_a_mistake_changes_nothing() {
    let server = TestServer::start("server_settings_mistake");
    let mut control = RawClient::connect(&server);
    let file = server.data().join(FILE);
    std::fs::write(&file, "work_mem = 9MB\nlock_timeout = soon\nwork_mem = 7MB\n")
        .expect("the file is written");
    reload(&mut control, by_function);
    assert_eq!(one(&mut control, "show work_mem"), "1GB");
    assert_eq!(
        control.rows("select sourceline, name, setting, applied, error from pg_file_settings"),
        [
            "1|work_mem|9MB|f|~",
            "2|lock_timeout|soon|f|invalid value for parameter \"lock_timeout\": \"soon\"",
            "3|work_mem|7MB|t|~",
        ]
    );
    std::fs::write(&file, "work_mem = 9MB\n").expect("the file is written");
    reload(&mut control, by_function);
    assert_eq!(one(&mut control, "show work_mem"), "9MB");
}

/// ALTER ROLE ALL: sessions of every role begin with it in every database, unless something nearer says otherwise.
#[test]
fn sessions_begin_with_what_is_set_for_all_roles() {
    let server = TestServer::start("all_roles");
    let mut admin = RawClient::connect(&server);
    let begins_with = || one(&mut RawClient::connect(&server), "show work_mem");
    let before = begins_with();
    admin.query("alter role all set work_mem = '5MB'");
    assert_eq!(begins_with(), "5MB");
    let source = "select source from pg_settings where name = 'work_mem'";
    assert_eq!(one(&mut RawClient::connect(&server), source), "global");
    let database = server.database();
    admin.query(&format!("alter database {database} set work_mem = '6MB'"));
    assert_eq!(begins_with(), "6MB");
    admin.query(&format!("alter database {database} reset work_mem"));
    assert_eq!(begins_with(), "5MB");
    let rows = "select setdatabase, setrole, setconfig from pg_db_role_setting";
    assert_eq!(one(&mut admin, rows), "0|0|{work_mem=5MB}");
    admin.query("alter role all reset all");
    assert_eq!(begins_with(), before);
}
