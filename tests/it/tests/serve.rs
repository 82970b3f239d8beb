//! `mote serve`: start, stop, lock, versions, passwords, and recovery of everything that was acknowledged.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{mote, psql, psql_as, psql_strict};
use mote_it::server::{TemporaryDirectory, mote_binary};
use mote_it::wire::*;
use rustix::process::Signal;

/// How long a writer may wait for its first answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What `mote serve` says when it refuses to start.
#[track_caller]
fn refusal(data: &Path, options: &[&str]) -> String {
    let started = Instant::now();
    match TestServer::open(data, options) {
        Ok(_) => panic!("the server started"),
        Err(said) => {
            assert!(
                started.elapsed() < Duration::from_secs(30),
                "it took {:?} to refuse",
                started.elapsed()
            );
            assert!(!said.contains("panicked at"), "{said}");
            said
        }
    }
}

#[test]
fn stops_cleanly_and_starts_again() {
    let server = TestServer::start_with("restart", &[]);
    psql_strict(
        &server,
        "create table t (id int primary key, v text); insert into t values (1, 'one')",
    )
    .good();
    server.await_log("mote: listening on 127.0.0.1:");
    let (data, _directory) = server.stop_with(Signal::TERM);
    let server = TestServer::open(&data, &[]).expect("it starts again");
    assert_eq!(
        psql_strict(&server, "select * from t; insert into t values (2, 'two')").good(),
        "1|one\nINSERT 0 1\n"
    );
    let (data, _) = server.stop_with(Signal::INT);
    let server = TestServer::open(&data, &["--workers", "1"]).expect("it starts with other options");
    assert_eq!(psql_strict(&server, "select count(*) from t").good(), "2\n");
    server.stop();
}

#[test]
fn sessions_are_told_of_a_stop() {
    let mut server = TestServer::start_with("sessions-stop", &[]);
    psql_strict(&server, "create table t (id int primary key)").good();
    let mut idle = RawClient::connect(&server);
    let mut open = RawClient::connect(&server);
    open.rows("begin; insert into t values (1)");
    let mut busy = RawClient::connect(&server);
    busy.raw(&query("select pg_sleep(60)"));
    let mut silent = RawClient::open(&server);
    std::thread::sleep(Duration::from_millis(100));
    server.signal(Signal::TERM);
    for client in [&mut idle, &mut open, &mut busy] {
        let expect = "57P01 terminating connection due to administrator command";
        assert_eq!(error(&client.until_closed()).as_deref(), Some(expect));
    }
    silent.until_closed();
    server.await_end();
    server.await_log("mote: stopped");
    let data = server.data().to_path_buf();
    let again = TestServer::open(&data, &[]).expect("it starts again");
    assert_eq!(
        psql(&again, "select count(*) from t").good(),
        "0\n",
        "an open transaction must not survive"
    );
}

/// Whoever has not logged in holds nobody up.
#[test]
fn a_stop_waits_for_no_log_in() {
    let mut server = TestServer::start("half-open");
    let mut silent = RawClient::open(&server);
    let mut half = RawClient::open(&server);
    half.raw(&[0, 0, 0, 60, 0, 3]);
    let mut declined = RawClient::open(&server);
    declined.untyped(&SSL_REQUEST.to_be_bytes());
    assert_eq!(declined.read_byte(), Some(b'N'));
    server.signal(Signal::TERM);
    let began = Instant::now();
    server.await_end();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    for client in [&mut silent, &mut half, &mut declined] {
        let said = error(&client.until_closed());
        assert_eq!(
            said.as_deref(),
            Some("57P03 the database system is shutting down")
        );
    }
}

#[test]
fn who_has_ended_its_side_is_answered_still() {
    let mut server = TestServer::start("half-closed");
    let mut client = RawClient::connect(&server);
    client.raw(&query(
        "select repeat('x', 3000000); select repeat('y', 100000) from generate_series(1, 50)",
    ));
    client.finish_writing();
    // The server has read the end by the time that anything is taken.
    std::thread::sleep(Duration::from_millis(300));
    let messages = client.until_closed();
    assert_eq!(text_rows(&messages).len(), 51);
    assert_eq!(messages.last().map(|message| message.kind), Some(b'Z'));
    server.assert_unharmed();
}

#[test]
fn stop_of_a_loaded_server_loses_nothing() {
    let server = TestServer::start_with("busy-stop", &[]);
    psql_strict(&server, "create table t (id bigint primary key, w int)").good();
    let acknowledged = insert_until(&server, Duration::from_millis(500), || {
        server.signal(Signal::TERM)
    });
    let mut server = server;
    server.await_end();
    let data = server.data().to_path_buf();
    assert_all_there(
        &TestServer::open(&data, &[]).expect("it starts again"),
        &acknowledged,
    );
}

/// Four writers insert; `end` ends their connections when each of them has had an answer and `work` is over. How many
/// rows each of them was told are in.
fn insert_until(server: &TestServer, work: Duration, end: impl FnOnce()) -> Vec<u64> {
    let ending = AtomicBool::new(false);
    let (started, starts) = mpsc::channel();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|w| {
                let (client, started, ending) = (RawClient::connect(server), started.clone(), &ending);
                scope.spawn(move || insert_until_hung_up(client, w, started, ending))
            })
            .collect();
        // On a busy machine a writer may come to its first row after everybody else is done.
        for _ in 0..4 {
            starts.recv_timeout(TIMEOUT).expect("every writer gets an answer");
        }
        std::thread::sleep(work);
        // Relaxed: the writers look at it only once the server has gone, which `end` causes.
        ending.store(true, Ordering::Relaxed);
        end();
        writers
            .into_iter()
            .map(|w| w.join().expect("writers do not panic"))
            .collect()
    })
}

/// Inserts w, w+10, .. one by one until the connection ends; how many were acknowledged.
fn insert_until_hung_up(
    mut client: RawClient,
    w: u64,
    started: mpsc::Sender<()>,
    ended_on_purpose: &AtomicBool,
) -> u64 {
    let mut done = 0;
    client.exchange(&[parse("i", "insert into t values ($1, $2)", &[20, 23]), sync()]);
    loop {
        let id = (done * 10 + w).to_string();
        client.try_raw(&[bind("", "i", &[&id, &w.to_string()]), execute("", 0), sync()].concat());
        let messages = client.until(b'Z');
        if tags(&messages) != ["INSERT 0 1"] || messages.last().map(|m| m.kind) != Some(b'Z') {
            assert!(ended_on_purpose.load(Ordering::Relaxed), "{messages:?}");
            return done;
        }
        if done == 0 {
            started.send(()).expect("the test waits for it");
        }
        done += 1;
    }
}

/// Every acknowledged row of every writer, and at most one more each.
#[track_caller]
fn assert_all_there(server: &TestServer, acknowledged: &[u64]) {
    for (w, count) in acknowledged.iter().enumerate() {
        assert!(*count > 0, "writer {w} did nothing");
        let out = psql_strict(server, &format!("select count(*), max(id) from t where w = {w}")).good();
        let (rows, highest) = out.trim().split_once('|').expect("two columns");
        let (rows, highest): (u64, u64) = (
            rows.parse().expect("a number"),
            highest.parse().expect("a number"),
        );
        assert!(
            rows == *count || rows == count + 1,
            "writer {w}: {count} acknowledged, {rows} there"
        );
        assert_eq!(highest, (rows - 1) * 10 + w as u64, "writer {w}: a gap");
    }
}

#[test]
fn kill_loses_nothing_that_was_acknowledged() {
    let directory = TemporaryDirectory::new("kill");
    let data = directory.path().join("data");
    for round in 0..5 {
        let server = TestServer::open(&data, &[]).expect("it recovers");
        psql_strict(
            &server,
            "drop table if exists t; create table t (id bigint primary key, w int); create index on t (w)",
        )
        .good();
        let acknowledged = insert_until(&server, Duration::from_millis(100 + 70 * round), || {
            server.signal(Signal::KILL)
        });
        drop(server);
        let again = TestServer::open(&data, &[]).expect("it recovers");
        assert_all_there(&again, &acknowledged);
        // The rebuilt index agrees with the rows.
        let by_index = "set enable_seqscan = off; select sum(id) from t where w = 2";
        let by_scan =
            "set enable_indexscan = off; set enable_bitmapscan = off; select sum(id) from t where w = 2";
        assert_eq!(
            psql(&again, by_index).out.lines().last(),
            psql(&again, by_scan).out.lines().last()
        );
        drop(again.kill());
    }
}

#[test]
fn everything_of_a_schema_survives_a_kill() {
    let server = TestServer::start_with("schema", &[]);
    let schema = "
        create schema shop;
        create role clerk login password 'secret';
        create table shop.customer (id serial primary key, name varchar(20) not null, c char(4) default 'none',
            balance numeric(12,2) check (balance > -100), at timestamptz default '2024-01-01', j jsonb, a int[], b bytea);
        create table shop.orders (id bigint generated always as identity, customer int references shop.customer on delete cascade);
        create index on shop.customer (nothing);
    ";
    // The last statement fails (no such column): everything before it stands.
    assert!(
        psql(&server, schema)
            .err
            .contains("column \"nothing\" does not exist")
    );
    psql_strict(&server, "
        create index by_name on shop.customer (name desc);
        create sequence shop.s start 100;
        insert into shop.customer (name, balance, j, a, b) values ('Ann', 12.5, '{\"k\": [1, null]}', '{1,2,null}', '\\x00ff'), ('Bob', 1, null, null, null);
        insert into shop.orders (customer) values (1), (1), (2);
        select nextval('shop.s'), nextval('shop.s');
        alter table shop.customer add column extra text default 'e';
        alter table shop.customer alter column c type varchar(9);
        alter table shop.customer rename column c to code;
        create view shop.rich as select name from shop.customer where balance > 10;
        grant select on shop.customer to clerk;
        comment on table shop.customer is 'people';
        begin; drop table shop.orders; rollback;
        update shop.customer set extra = 'changed' where id = 2;
        delete from shop.orders where id = 2;
    ").good();
    let look = "
        select * from shop.customer order by id;
        select * from shop.orders order by id;
        select * from shop.rich;
        select obj_description('shop.customer'::regclass);
        select conname, contype from pg_constraint where conrelid = 'shop.customer'::regclass order by 1;
        select indexdef from pg_indexes where schemaname = 'shop' order by 1;
        select has_table_privilege('clerk', 'shop.customer', 'select'), has_table_privilege('clerk', 'shop.customer', 'insert');
    ";
    let before = psql_strict(&server, look).good();
    assert!(
        before.contains("1|Ann|none|12.50|2024-01-01 00:00:00+00|{\"k\": [1, null]}|{1,2,NULL}|\\x00ff|e\n"),
        "{before}"
    );
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(psql_strict(&server, look).good(), before);
    // Sequences never give a value twice; constraints still hold; identity goes on.
    let next: i64 = psql_strict(&server, "select nextval('shop.s')")
        .good()
        .trim()
        .parse()
        .expect("a number");
    assert!(next > 101, "{next}");
    let out = psql(
        &server,
        "
        insert into shop.customer (name, balance) values ('C', -100);
        insert into shop.orders (customer) values (77);
        insert into shop.customer (id, name) values (1, 'D');
        delete from shop.customer where id = 1;
        select count(*) from shop.orders;
        insert into shop.orders (customer) values (2) returning id > 3;
    ",
    );
    let errors: Vec<&str> = out.err.lines().filter(|l| l.starts_with("ERROR")).collect();
    assert_eq!(errors.len(), 3, "{}", out.err);
    assert_eq!(out.out, "DELETE 1\n1\nt\nINSERT 0 1\n");
    // And once more after a checkpoint.
    psql_strict(&server, "checkpoint").good();
    let before = psql_strict(&server, look).good();
    let (data, _) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    assert_eq!(psql_strict(&server, look).good(), before);
    server.stop();
}

#[test]
fn large_and_half_transactions_over_a_kill() {
    let server = TestServer::start_with("half", &[]);
    psql_strict(&server, "create table t (id int primary key, v text)").good();
    // A large one that commits, one that is open, one that rolled a savepoint back.
    psql_strict(
        &server,
        "insert into t select g, repeat('x', 200) from generate_series(1, 50000) g",
    )
    .good();
    let mut open = RawClient::connect(&server);
    open.rows("begin");
    open.rows("insert into t select g, repeat('y', 200) from generate_series(100001, 130000) g");
    psql_strict(&server, "begin; insert into t values (60001, 'a'); savepoint s; insert into t select g, 'b' from generate_series(60002, 70000) g;
        rollback to s; insert into t values (60003, 'c'); commit").good();
    psql_strict(
        &server,
        "delete from t where id <= 10; update t set v = 'new' where id = 11",
    )
    .good();
    let (data, _directory) = server.kill();
    let server = TestServer::open(&data, &[]).expect("it recovers");
    let out = psql_strict(&server, "select count(*), count(*) filter (where id > 100000), string_agg(v, ',' order by id) filter (where length(v) < 10) from t").good();
    assert_eq!(out.trim(), "49992|0|new,a,c");
    server.stop();
}

#[test]
fn one_server_per_directory() {
    let server = TestServer::start_with("twice", &[]);
    let said = refusal(server.data(), &[]);
    assert!(
        said.contains("mote: ")
            && (said.contains("in use") || said.contains("lock") || said.contains("another")),
        "{said}"
    );
    assert_eq!(psql(&server, "select 1").good(), "1\n");
    // The lock ends with its holder, however that ends.
    let (data, _directory) = server.kill();
    TestServer::open(&data, &[])
        .expect("a dead server holds no lock")
        .stop();
}

#[test]
fn address_in_use() {
    let server = TestServer::start_with("address", &[]);
    let directory = TemporaryDirectory::new("address-two");
    let said = refusal(
        &directory.path().join("data"),
        &["--listen", &server.address.to_string()],
    );
    assert!(said.contains("ddress") && said.contains("in use"), "{said}");
}

#[test]
fn other_addresses_need_passwords() {
    let directory = TemporaryDirectory::new("loopback");
    let data = directory.path().join("data");
    let said = refusal(&data, &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("loopback") || said.contains("password"), "{said}");
    let said = refusal(&data, &["--listen", "0.0.0.0:0", "--auth", "trust"]);
    assert!(said.contains("loopback") || said.contains("password"), "{said}");
    // Refused before anything was created, so that a mistake leaves nothing behind.
    let file = directory.path().join("password");
    std::fs::write(&file, "correct horse\n").expect("a temporary file can be written");
    let file = file.display().to_string();
    let options = [
        "--listen",
        "0.0.0.0:0",
        "--auth",
        "scram-sha-256",
        "--password-file",
        &file,
    ];
    let said = refusal(&data, &options);
    assert!(
        said.contains("not encrypted") && said.contains("--allow-unencrypted"),
        "{said}"
    );
    let options = [&options[..], &["--allow-unencrypted"]].concat();
    let server = TestServer::open(&data, &options).expect("with passwords it may listen anywhere");
    server.stop();
}

#[test]
fn passwords() {
    let directory = TemporaryDirectory::new("passwords");
    let data = directory.path().join("data");
    let file = directory.path().join("password");
    std::fs::write(&file, "correct horse\n").expect("a temporary file can be written");
    let file = file.display().to_string();
    let options = ["--auth", "scram-sha-256", "--password-file", &file];
    let server = TestServer::open(&data, &options).expect("it starts");
    assert_eq!(
        psql_as(&server, "postgres", "correct horse", "select current_user").good(),
        "postgres\n"
    );
    for (user, password) in [
        ("postgres", "wrong"),
        ("postgres", "correct horse "),
        ("nobody", "correct horse"),
    ] {
        let said = psql_as(&server, user, password, "select 1").bad();
        assert!(
            said.contains(&format!("password authentication failed for user \"{user}\"")),
            "{said}"
        );
    }
    let said = psql_as(&server, "postgres", "", "select 1").bad();
    assert!(said.contains("no password supplied"), "{said}");
    assert_eq!(
        scram_refusal(&server, "postgres"),
        "28P01 password authentication failed for user \"postgres\""
    );
    // Roles with and without a password; a changed one counts at once; letters beyond ASCII.
    let script = "create role ann login password 'ä ß 🦀'; create role bob login; create role team";
    psql_as(&server, "postgres", "correct horse", script).good();
    assert_eq!(
        psql_as(&server, "ann", "ä ß 🦀", "select current_user").good(),
        "ann\n"
    );
    assert!(
        psql_as(&server, "bob", "", "select 1").err.contains("password"),
        "bob has none"
    );
    assert!(
        psql_as(&server, "bob", "x", "select 1")
            .bad()
            .contains("password authentication failed")
    );
    psql_as(&server, "ann", "ä ß 🦀", "alter role ann password 'second'").good();
    psql_as(&server, "ann", "ä ß 🦀", "select 1").bad();
    assert_eq!(psql_as(&server, "ann", "second", "select 1").good(), "1\n");
    psql_as(
        &server,
        "postgres",
        "correct horse",
        "alter role team password 'x'",
    )
    .good();
    let said = psql_as(&server, "team", "x", "select 1").bad();
    assert!(
        said.contains("role \"team\" is not permitted to log in"),
        "{said}"
    );
    // Passwords are stored as verifiers, and survive.
    let stored = "select left(rolpassword, 14) from pg_authid where rolname = 'ann'";
    assert_eq!(
        psql_as(&server, "postgres", "correct horse", stored).good(),
        "SCRAM-SHA-256$\n"
    );
    drop(server.kill());
    let server = TestServer::open(&data, &["--auth", "scram-sha-256"]).expect("the file is needed once");
    assert_eq!(psql_as(&server, "ann", "second", "select 1").good(), "1\n");
    psql_as(&server, "ann", "wrong", "select 1").bad();
    server.stop();
}

/// The error after a well-formed exchange with a wrong proof.
fn scram_refusal(server: &TestServer, user: &str) -> String {
    let mut client = RawClient::open(server);
    client.start_up(&[("user", user), ("database", "postgres")]);
    let offer = client.receive().expect("AuthenticationSASL");
    assert_eq!((offer.kind, &offer.body[..4]), (b'R', &[0, 0, 0, 10][..]));
    assert!(offer.body[4..].starts_with(b"SCRAM-SHA-256\0"));
    let first = b"n,,n=,r=rOprNGfwEbeRWgbNEkqO";
    let body = [b"SCRAM-SHA-256\0", &(first.len() as u32).to_be_bytes()[..], first].concat();
    client.send(b'p', &body);
    let challenge = client.receive().expect("AuthenticationSASLContinue");
    assert_eq!(challenge.body[..4], [0, 0, 0, 11]);
    let challenge = String::from_utf8(challenge.body[4..].to_vec()).expect("text");
    let nonce = challenge
        .split(',')
        .next()
        .expect("a nonce")
        .strip_prefix("r=")
        .expect("a nonce")
        .to_string();
    let proof = "A".repeat(43) + "=";
    client.send(b'p', format!("c=biws,r={nonce},p={proof}").as_bytes());
    error(&client.until_closed()).expect("an error")
}

#[test]
fn nobody_gets_in_before_authentication() {
    let directory = TemporaryDirectory::new("before");
    let file = directory.path().join("password");
    std::fs::write(&file, "secret\n").expect("a temporary file can be written");
    let file = file.display().to_string();
    let options = ["--auth", "scram-sha-256", "--password-file", &file];
    let mut server = TestServer::open(&directory.path().join("data"), &options).expect("it starts");
    for bytes in [
        query("select 1"),
        framed(b'p', b"PLAIN\0\0\0\0\0"),
        framed(b'p', b""),
        framed(b'p', &[0xff; 40]),
    ] {
        let mut client = RawClient::open(&server);
        client.start_up(&[("user", "postgres"), ("database", "postgres")]);
        assert_eq!(client.receive().map(|m| m.kind), Some(b'R'));
        client.try_raw(&bytes);
        let messages = client.until_closed();
        assert_eq!(kinds(&messages), "E", "{bytes:?}");
    }
    assert!(server.is_running());
    assert_eq!(psql_as(&server, "postgres", "secret", "select 1").good(), "1\n");
}

#[test]
fn directories_of_other_versions_and_strangers() {
    let server = TestServer::start_with("versions", &[]);
    psql_strict(
        &server,
        "create table t (id int primary key); insert into t values (1); checkpoint",
    )
    .good();
    let (data, _directory) = server.stop();
    // Every file that says what it is: another version in it must be refused in words, and nothing is changed.
    let mut files = Vec::new();
    list_files(&data, &mut files);
    assert!(!files.is_empty(), "the directory is empty");
    let mut refused = 0;
    for file in &files {
        let bytes = std::fs::read(file).expect("our own file");
        if bytes.len() < 16 {
            continue;
        }
        let mut changed = bytes.clone();
        // Format: magic, then the version.
        changed[8] = changed[8].wrapping_add(77);
        std::fs::write(file, &changed).expect("our own file");
        match TestServer::open(&data, &[]) {
            Ok(server) => {
                // Not every file is needed: a recycled log segment holds nothing. But nothing may be missing.
                assert_eq!(
                    psql(&server, "select * from t").good(),
                    "1\n",
                    "{} was damaged",
                    file.display()
                );
                drop(server.kill());
            }
            Err(said) => {
                refused += 1;
                assert!(
                    said.contains("mote: ") && !said.contains("panicked at"),
                    "{}: {said}",
                    file.display()
                );
                assert!(said.trim().len() > 20, "{}: {said}", file.display());
                assert_eq!(
                    std::fs::read(file).expect("our own file"),
                    changed,
                    "{} was rewritten",
                    file.display()
                );
                std::fs::write(file, &bytes).expect("our own file");
            }
        }
    }
    assert!(refused > 0, "no damaged file was noticed: {files:?}");
    let server = TestServer::open(&data, &[]).expect("the restored directory is as it was");
    assert_eq!(psql(&server, "select * from t").good(), "1\n");
    server.stop();

    // A directory of something else is left alone.
    let directory = TemporaryDirectory::new("stranger");
    std::fs::write(directory.path().join("thesis.tex"), "years of work")
        .expect("a temporary file can be written");
    std::fs::write(directory.path().join("PG_VERSION"), "15\n").expect("a temporary file can be written");
    let said = refusal(directory.path(), &[]);
    assert!(said.contains("mote: "), "{said}");
    let mut left = Vec::new();
    list_files(directory.path(), &mut left);
    assert_eq!(left.len(), 2, "{left:?}");
}

fn list_files(directory: &Path, into: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("our own directory") {
        let path = entry.expect("our own directory").path();
        if path.is_dir() {
            list_files(&path, into)
        } else {
            into.push(path)
        }
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let directory = TemporaryDirectory::new("arguments");
    let data = directory.path().join("data");
    for (options, words) in [
        (&["--listen", "nonsense"][..], "nonsense"),
        (&["--memory", "lots"], "size"),
        (&["--memory", "1kB"], "64MB"),
        (&["--max-connections", "many"], "max-connections"),
        (&["--auth", "ident"], "trust"),
        (&["--password-file", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["--no-such-option"], "--no-such-option"),
    ] {
        let said = refusal(&data, options);
        assert!(said.contains(words), "{options:?}: {said}");
    }
    let said = refusal(Path::new("/proc/nothing/here"), &[]);
    assert!(said.contains("/proc/nothing/here"), "{said}");
    let help = mote(&["serve", "--help"]).good();
    for words in ["--data", "--listen", "--auth", "--memory", "--max-connections"] {
        assert!(help.contains(words), "{help}");
    }
    assert!(mote(&["--version"]).good().starts_with("mote "));
    let bare = Command::new(mote_binary())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    assert!(!bare.status.success());
}

#[test]
fn another_superuser() {
    let directory = TemporaryDirectory::new("superuser");
    let server =
        TestServer::open(&directory.path().join("data"), &["--superuser", "root"]).expect("it starts");
    assert_eq!(
        psql_as(&server, "root", "", "select current_user, usesuper from pg_user").good(),
        "root|t\n"
    );
    let said = psql(&server, "select 1").bad();
    assert!(said.contains("role \"postgres\" does not exist"), "{said}");
}
