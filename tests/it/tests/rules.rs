//! Who may connect: rules in a file, Unix sockets and peers, MD5 hashes.

use std::path::Path;

use mote_it::TestServer;
use mote_it::clients::{Said, client, psql, psql_as, run_with_input};
use mote_it::server::TemporaryDirectory;
use rustix::process::Signal;

const ADVICE: &str = "install PostgreSQL's clients (apt-get install postgresql-client-15)";

/// psql through the Unix socket in the directory.
fn through_socket(server: &TestServer, directory: &Path, user: &str, script: &str) -> Said {
    let mut command = client("psql", server);
    command
        .env("PGHOST", directory)
        .env("PGUSER", user)
        .args(["-X", "-At", "-v", "ON_ERROR_STOP=1"]);
    run_with_input(&mut command, script, ADVICE)
}

fn own_user() -> String {
    let said = run_with_input(std::process::Command::new("id").arg("-un"), "", ADVICE).good();
    said.trim().to_string()
}

#[test]
fn peers_are_their_users() {
    let directory = TemporaryDirectory::new("peers");
    let sockets = directory.path().display().to_string();
    let server = TestServer::start_with("peers", &["--socket-dir", &sockets]);
    let user = own_user();
    psql(&server, &format!("create role \"{user}\" superuser login")).good();
    let script = "select current_user, client_addr, client_port from pg_stat_activity \
                  where pid = pg_backend_pid()";
    assert_eq!(
        through_socket(&server, directory.path(), &user, script).good(),
        format!("{user}||-1\n")
    );
    let said = through_socket(&server, directory.path(), "nobody-else", "select 1").bad();
    assert!(
        said.contains("Peer authentication failed for user \"nobody-else\""),
        "{said}"
    );
    // A large result, and an encryption that is not offered here.
    let rows = through_socket(
        &server,
        directory.path(),
        &user,
        "select repeat('x', 1000) from generate_series(1, 2000)",
    );
    assert_eq!(rows.good().len(), 2000 * 1001);
    let socket = directory.path().join(format!(".s.PGSQL.{}", server.port()));
    let lock = directory.path().join(format!(".s.PGSQL.{}.lock", server.port()));
    assert!(socket.exists() && lock.exists());
    server.stop();
    assert!(!socket.exists() && !lock.exists(), "what was made is removed");
}

#[test]
fn rules_are_read_again() {
    let directory = TemporaryDirectory::new("rules");
    let file = directory.path().join("hba");
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    write(
        "# who may come\n\
         host all joe 127.0.0.1/32 reject\n\
         host \"all\" ann 127.0.0.0 255.0.0.0 scram-sha-256\n\
         host all +staff,postgres all trust\n",
    );
    let path = file.display().to_string();
    let server = TestServer::start_with("rules", &["--hba-file", &path]);
    psql(&server, "create role joe login; create role ann login; create role staff; create role eve login in role staff").good();
    let ask = |user: &str| psql_as(&server, user, "", "select current_user");
    let said = ask("joe").bad();
    assert!(
        said.contains(
            "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"joe\", database \"postgres\", no encryption"
        ),
        "{said}"
    );
    let said = ask("ann").bad();
    assert!(
        said.contains(
            "no pg_hba.conf entry for host \"127.0.0.1\", user \"ann\", database \"postgres\", no encryption"
        ),
        "{said}"
    );
    assert_eq!(ask("eve").good(), "eve\n");
    let shown = "select line_number, type, database, user_name, address, netmask, auth_method, options, error \
                 from pg_hba_file_rules order by 1";
    assert_eq!(
        psql(&server, shown).good(),
        "2|host|{all}|{joe}|127.0.0.1|255.255.255.255|reject||\n\
         3|host|{all}|{ann}|127.0.0.0|255.0.0.0|scram-sha-256||\n\
         4|host|{all}|{+staff,postgres}|all||trust||\n"
    );
    let said = psql_as(&server, "eve", "", "select * from pg_hba_file_rules").bad();
    assert!(
        said.contains("permission denied for view pg_hba_file_rules"),
        "{said}"
    );
    // A mistake: seen, and the former rules stay.
    write("host all all all trust\nhost all all nowhere\n");
    server.signal(Signal::HUP);
    server.await_log("the former rules for connections stay in force: line 2: ");
    ask("joe").bad();
    assert_eq!(
        psql(&server, shown).good(),
        "1|host|{all}|{all}|all||trust||\n\
         2||||||||host names are not supported as addresses: \"nowhere\"\n"
    );
    write("host all all all trust\n");
    psql(&server, "select pg_reload_conf()").good();
    mote_it::process::await_that("the new rules", std::time::Duration::from_secs(60), || {
        ask("joe").ok
    });
    server.stop();
}

#[test]
fn rules_with_a_mistake_end_the_start() {
    let directory = TemporaryDirectory::new("wrong-rules");
    let file = directory.path().join("hba");
    let data = directory.path().join("data");
    std::fs::write(&file, "local all all trust\nhosts all all all trust\n").expect("written");
    let path = file.display().to_string();
    let said = TestServer::open(&data, &["--hba-file", &path])
        .err()
        .expect("it should not start");
    assert!(
        said.contains("line 2: invalid connection type \"hosts\""),
        "{said}"
    );
    assert!(!data.exists());
}

/// Hashes that came from elsewhere let their roles in where the method is md5, and only there.
#[test]
fn hashes_of_md5() {
    let directory = TemporaryDirectory::new("md5");
    let file = directory.path().join("hba");
    std::fs::write(
        &file,
        "host all postgres all trust\nhost one all all md5\nhost two all all scram-sha-256\nhost three all all password\n",
    )
    .expect("written");
    let path = file.display().to_string();
    let server = TestServer::start_with("md5", &["--hba-file", &path]);
    psql(
        &server,
        "create role joe login password 'md5c59ec932d911ffdf487595b5a2adf973';
         create role ann login password 'correct horse';
         create role bob login;
         select rolname, left(rolpassword, 13) from pg_authid where rolname in ('ann', 'bob', 'joe') order by 1",
    )
    .good();
    for database in ["one", "two", "three"] {
        psql(&server, &format!("create database {database}")).good();
    }
    let ask = |database: &str, user: &str, password: &str| {
        let mut command = client("psql", &server);
        command
            .env("PGDATABASE", database)
            .env("PGUSER", user)
            .env("PGPASSWORD", password)
            .args(["-X", "-At"]);
        run_with_input(&mut command, "select current_user", ADVICE)
    };
    for (database, user, password, let_in) in [
        ("one", "joe", "secret", true),
        ("one", "joe", "guess", false),
        ("one", "ann", "correct horse", true),
        ("one", "bob", "x", false),
        ("two", "joe", "secret", false),
        ("two", "ann", "correct horse", true),
        ("two", "ann", "wrong", false),
        ("three", "joe", "secret", true),
        ("three", "joe", "guess", false),
        ("three", "ann", "correct horse", true),
        ("three", "ann", "wrong", false),
        ("three", "bob", "x", false),
        ("three", "nobody", "x", false),
    ] {
        let said = ask(database, user, password);
        assert_eq!(said.ok, let_in, "{user} in {database}: {}", said.err);
        if !let_in {
            let expected = format!("password authentication failed for user \"{user}\"");
            assert!(said.err.contains(&expected), "{}", said.err);
        }
    }
    server.stop();
}
