//! TLS as clients see it: psql (libpq) with every mode, channel binding, certificates of clients, and certificates that
//! change under load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use mote_it::TestServer;
use mote_it::certificates::{Authority, ELLIPTIC, RSA, replace};
use mote_it::clients::{Said, client, program, run_with_input};
use mote_it::process::await_that;
use mote_it::server::{TemporaryDirectory, mote_binary};
use mote_it::wire::{self, RawClient, query, sqlstate};
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};

const ADVICE: &str = "install PostgreSQL's clients (apt-get install postgresql-client-15)";

/// psql as the superuser, with parameters of a connection string.
fn psql(server: &TestServer, parameters: &str, script: &str) -> Said {
    let connection = format!("dbname={} {parameters}", server.database());
    let mut command = client("psql", server);
    command.args(["-X", "-At", "-v", "ON_ERROR_STOP=1", "-d", &connection]);
    run_with_input(&mut command, script, ADVICE)
}

fn tls_options(authority: &Authority) -> [String; 4] {
    [
        "--tls-cert".into(),
        authority.file("server.crt"),
        "--tls-key".into(),
        authority.file("server.key"),
    ]
}

fn start(name: &str, authority: &Authority, more: &[&str]) -> TestServer {
    let mut options = tls_options(authority).to_vec();
    options.extend(more.iter().map(|option| (*option).to_string()));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    TestServer::start_with(name, &options)
}

#[test]
fn modes_of_libpq() {
    let authority = Authority::new("modes");
    authority.sign("server", "server", ELLIPTIC);
    let other = Authority::new("other");
    let server = start("modes", &authority, &[]);
    let encrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    let root = authority.file("root.crt");
    for (mode, expected) in [
        ("sslmode=disable".to_string(), "f\n"),
        ("sslmode=prefer".to_string(), "t\n"),
        ("sslmode=require".to_string(), "t\n"),
        (format!("sslmode=verify-ca sslrootcert={root}"), "t\n"),
        (format!("sslmode=verify-full sslrootcert={root}"), "t\n"),
        (
            format!("host=localhost sslmode=verify-full sslrootcert={root}"),
            "t\n",
        ),
    ] {
        assert_eq!(psql(&server, &mode, encrypted).good(), expected, "{mode}");
    }
    let stranger = format!("sslmode=verify-ca sslrootcert={}", other.file("root.crt"));
    let said = psql(&server, &stranger, "select 1").bad();
    assert!(said.contains("certificate verify failed"), "{said}");
    let facts = "select version, cipher, bits, client_dn from pg_stat_ssl where pid = pg_backend_pid()";
    let lines = |version: &str| {
        let mode =
            format!("sslmode=require ssl_max_protocol_version={version} ssl_min_protocol_version={version}");
        psql(&server, &mode, facts).good()
    };
    assert_eq!(lines("TLSv1.3"), "TLSv1.3|TLS_AES_256_GCM_SHA384|256|\n");
    assert_eq!(lines("TLSv1.2"), "TLSv1.2|ECDHE-ECDSA-AES256-GCM-SHA384|256|\n");
    server.stop();
}

#[test]
fn nothing_below_1_2() {
    let authority = Authority::new("old");
    authority.sign("server", "server", RSA);
    let server = start("old", &authority, &[]);
    let address = server.address.to_string();
    for (version, accepted) in [
        ("-tls1", false),
        ("-tls1_1", false),
        ("-tls1_2", true),
        ("-tls1_3", true),
    ] {
        let mut command = Command::new("openssl");
        let options = [
            "s_client",
            "-starttls",
            "postgres",
            "-cipher",
            "ALL:@SECLEVEL=0",
            version,
            "-connect",
        ];
        let said = run_with_input(command.args(options).arg(&address), "", "install openssl");
        let connected = said.out.contains("Cipher is ECDHE") || said.out.contains("Cipher is TLS_");
        assert_eq!(connected, accepted, "{version}: {}\n{}", said.out, said.err);
    }
    server.stop();
}

/// More than the buffers hold, both ways, in messages larger than a record.
#[test]
fn large_results_and_copies() {
    let authority = Authority::new("large");
    authority.sign("server", "server", ELLIPTIC);
    let server = start("large", &authority, &[]);
    let digest = psql(
        &server,
        "sslmode=require",
        "create table t (n int, s text);
         insert into t select n, repeat(md5(n::text), 20) from generate_series(1, 5000) n;
         insert into t values (0, repeat('x', 3000000));
         select md5(string_agg(s, ',' order by n)) from t",
    )
    .good();
    let directory = TemporaryDirectory::new("large-copy");
    let file = directory.path().join("rows");
    psql(
        &server,
        "sslmode=require",
        &format!("\\copy t to {}", file.display()),
    )
    .good();
    let script = format!(
        "create table u (n int, s text);\n\\copy u from {}\nselect md5(string_agg(s, ',' order by n)) from u",
        file.display()
    );
    let back = psql(&server, "sslmode=require", &script).good();
    assert_eq!(back.lines().last(), digest.lines().last());
    server.stop();
}

#[test]
fn scram_is_bound_to_the_channel() {
    let directory = TemporaryDirectory::new("binding-password");
    let file = directory.path().join("password");
    std::fs::write(&file, "correct horse\n").expect("written");
    let file = file.display().to_string();
    for (name, key) in [("elliptic", ELLIPTIC), ("rsa", RSA)] {
        let authority = Authority::new(name);
        authority.sign("server", "server", key);
        let options = ["--auth", "scram-sha-256", "--password-file", &file];
        let server = start(&format!("binding-{name}"), &authority, &options);
        let ask = |parameters: &str| psql(&server, parameters, "select 1");
        let right = "password='correct horse'";
        assert_eq!(
            ask(&format!("{right} sslmode=require channel_binding=require")).good(),
            "1\n"
        );
        assert_eq!(
            ask(&format!("{right} sslmode=require channel_binding=disable")).good(),
            "1\n"
        );
        let wrong = ask("password=wrong sslmode=require channel_binding=require").bad();
        assert!(
            wrong.contains("password authentication failed for user"),
            "{wrong}"
        );
        let plain = ask(&format!("{right} sslmode=disable channel_binding=require")).bad();
        assert!(plain.contains("channel binding"), "{plain}");
        server.stop();
    }
}

#[test]
fn certificates_of_clients() {
    let authority = Authority::new("clients");
    authority.sign("server", "server", ELLIPTIC);
    authority.sign("joe", "joe", ELLIPTIC);
    authority.sign("ann", "ann", RSA);
    let stranger = Authority::new("stranger");
    stranger.sign("joe", "joe", ELLIPTIC);
    let rules = authority.path("rules");
    std::fs::write(
        &rules,
        "hostssl all joe,ann all cert\nhostssl all bob all trust clientcert=verify-ca\nhost all postgres all trust\n",
    )
    .expect("written");
    let (roots, rules) = (authority.file("root.crt"), rules.display().to_string());
    let server = start(
        "clients",
        &authority,
        &["--tls-client-ca", &roots, "--hba-file", &rules],
    );
    psql(
        &server,
        "",
        "create role joe login; create role ann login; create role bob login",
    )
    .good();
    let as_user = |user: &str, holder: &Authority, certificate: &str| {
        let (certificate, key) = (
            holder.file(&format!("{certificate}.crt")),
            holder.file(&format!("{certificate}.key")),
        );
        let parameters = format!("user={user} sslmode=require sslcert={certificate} sslkey={key}");
        psql(
            &server,
            &parameters,
            "select current_user, client_dn, client_serial > 0, issuer_dn from pg_stat_ssl where pid = pg_backend_pid()",
        )
    };
    assert_eq!(
        as_user("joe", &authority, "joe").good(),
        "joe|/O=shop/CN=joe|t|/CN=clients\n"
    );
    assert_eq!(
        as_user("ann", &authority, "ann").good(),
        "ann|/O=shop/CN=ann|t|/CN=clients\n"
    );
    assert_eq!(
        as_user("bob", &authority, "joe").good(),
        "bob|/O=shop/CN=joe|t|/CN=clients\n"
    );
    let said = as_user("ann", &authority, "joe").bad();
    assert!(
        said.contains("certificate authentication failed for user \"ann\""),
        "{said}"
    );
    let said = psql(&server, "user=bob sslmode=require sslcert=/none", "select 1").bad();
    assert!(
        said.contains("connection requires a valid client certificate"),
        "{said}"
    );
    let said = as_user("joe", &stranger, "joe").bad();
    assert!(said.contains("unknown ca") || said.contains("alert"), "{said}");
    let said = psql(&server, "user=joe sslmode=disable", "select 1").bad();
    assert!(
        said.contains("no pg_hba.conf entry for host \"127.0.0.1\", user \"joe\""),
        "{said}"
    );
    server.stop();
}

/// A renewed certificate is for connections that begin afterwards; the others lose nothing. One that cannot be used is for
/// nobody.
#[test]
fn certificates_change_under_load() {
    let authority = Authority::new("rotation");
    authority.sign("server", "server", ELLIPTIC);
    authority.sign("next", "next", RSA);
    let server = start("rotation", &authority, &[]);
    let (stop, served) = (AtomicBool::new(false), AtomicU32::new(0));
    let subject = || {
        let options = [
            "s_client",
            "-starttls",
            "postgres",
            "-connect",
            &server.address.to_string(),
        ];
        let said = program("openssl", &options, std::path::Path::new("/"), "install openssl");
        let line = said.out.lines().find(|line| line.starts_with("subject="));
        // OpenSSL 3.2 writes no blanks around the equals sign.
        line.unwrap_or_default().replace(' ', "")
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    psql(&server, "sslmode=require", "select 1; select 2").good();
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let long = scope.spawn(|| {
            let script =
                "create temp table t (n int);\n".to_string() + &"insert into t values (1);\n".repeat(2000);
            psql(&server, "sslmode=require", &(script + "select count(*) from t")).good()
        });
        assert!(subject().contains("CN=server"), "{}", subject());
        replace(&authority.path("next.key"), &authority.path("server.key"));
        replace(&authority.path("next.crt"), &authority.path("server.crt"));
        server.signal(Signal::HUP);
        await_that("the next certificate", Duration::from_secs(60), || {
            subject().contains("CN=next")
        });
        std::fs::write(authority.path("server.crt"), "no certificate").expect("written");
        server.signal(Signal::HUP);
        server.await_log("TLS goes on with the former certificate");
        assert!(subject().contains("CN=next"));
        assert!(long.join().expect("no panic").ends_with("\n2000\n"));
        let before = served.load(Ordering::Relaxed);
        await_that("more connections", Duration::from_secs(60), || {
            served.load(Ordering::Relaxed) > before + 2
        });
        stop.store(true, Ordering::Relaxed);
    });
    server.stop();
}

#[test]
fn what_is_not_tls_harms_nobody() {
    let authority = Authority::new("noise");
    authority.sign("server", "server", ELLIPTIC);
    let mut server = start("noise", &authority, &["--authentication-timeout", "2s"]);
    let ask = |raw: &mut RawClient| {
        raw.untyped(&wire::SSL_REQUEST.to_be_bytes());
        assert_eq!(raw.read_byte(), Some(b'S'));
    };
    // Sent before the answer: it would have been read as if it had come encrypted.
    let mut early = RawClient::open(&server);
    early.raw(&[&[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f][..], b"\0\0\0\x08\0\x03\0\0"].concat());
    assert_eq!(sqlstate(&early.until_closed()).as_deref(), Some("08P01"));
    let mut noise = RawClient::open(&server);
    ask(&mut noise);
    noise.try_raw(&[0x55; 4096]);
    while noise.read_byte().is_some() {}
    // Begins a record and says no more: the time to authenticate ends it.
    let mut slow = RawClient::open(&server);
    ask(&mut slow);
    slow.raw(&[22, 3, 1, 2, 0, 1]);
    while slow.read_byte().is_some() {}
    server.assert_unharmed();
    server.stop();
}

#[test]
fn files_that_cannot_be_used_end_the_start() {
    let authority = Authority::new("files");
    authority.sign("server", "server", ELLIPTIC);
    authority.sign("other", "other", ELLIPTIC);
    let directory = TemporaryDirectory::new("tls-files");
    let data = directory.path().join("data");
    let refusal = |certificate: &str, key: &str| {
        let (certificate, key) = (authority.file(certificate), authority.file(key));
        let options = ["--tls-cert", &certificate, "--tls-key", &key];
        TestServer::open(&data, &options)
            .err()
            .expect("it should not start")
    };
    assert!(refusal("none.crt", "server.key").contains("could not read"));
    assert!(refusal("server.key", "server.key").contains("holds no certificate"));
    assert!(refusal("server.crt", "server.crt").contains("can be read by others"));
    assert!(refusal("server.crt", "other.key").contains("cannot be used"));
    assert!(!data.exists(), "a mistake leaves nothing behind");
}

/// A client of our own, with its start-up sent.
fn encrypted(
    server: &TestServer,
    authority: &Authority,
    version: &'static SupportedProtocolVersion,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut stream = TcpStream::connect(server.address).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a timeout can be set");
    stream
        .write_all(&wire::untyped(&wire::SSL_REQUEST.to_be_bytes()))
        .expect("the server reads");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("the server answers");
    assert_eq!(answer, *b"S");
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_file(authority.path("root.crt")).expect("a certificate");
    roots.add(root).expect("an authority");
    let config = ClientConfig::builder_with_protocol_versions(&[version])
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(config.into(), name).expect("a client");
    let mut stream = StreamOwned::new(connection, stream);
    let parameters = [("user", server.user()), ("database", server.database())];
    stream
        .write_all(&wire::start_up(wire::PROTOCOL, &parameters))
        .expect("the server reads");
    stream
}

/// The end that TLS has is the end of the session, though the client keeps its socket; what was asked before it is answered.
#[test]
fn a_client_that_says_good_bye_is_gone() {
    let authority = Authority::new("good-bye");
    authority.sign("server", "server", ELLIPTIC);
    let server = start("good-bye", &authority, &[]);
    let mut watcher = RawClient::connect(&server);
    watcher.rows("create table t (a int)");
    for version in [&TLS12, &TLS13] {
        for (last, answered) in [
            ("begin; lock table t; select 'locked'", "locked"),
            ("select repeat('x', 3000000) || 'end'", "end"),
            ("copy t from stdin", ""),
        ] {
            let mut client = encrypted(&server, &authority, version);
            client.write_all(&query(last)).expect("the server reads");
            client.flush().expect("the server reads");
            client.conn.send_close_notify();
            client
                .conn
                .complete_io(&mut client.sock)
                .expect("the server reads");
            let mut said = Vec::new();
            client
                .read_to_end(&mut said)
                .expect("the server says good-bye, too");
            let found = said
                .windows(answered.len().max(1))
                .any(|part| part == answered.as_bytes());
            assert!(found || answered.is_empty(), "{last}: {} bytes", said.len());
            let others = "select count(*) from pg_stat_activity where backend_type = 'client backend'";
            await_that("the session ends", Duration::from_secs(10), || {
                watcher.rows(others) == ["1"]
            });
            watcher.rows("truncate t");
            drop(client);
        }
    }
    server.stop();
}

/// The laboratory's own driver, which has nothing of libpq.
#[test]
fn the_laboratory_over_tls() {
    let authority = Authority::new("laboratory");
    authority.sign("server", "server", ELLIPTIC);
    let other = Authority::new("stranger");
    let server = start("laboratory", &authority, &[]);
    let point = |options: &str| {
        let url = format!("{}?{options}", server.url());
        let mut command = Command::new(mote_binary());
        command.args([
            "bench", "point", "--rows", "1000", "-c", "8", "-d", "1", "--warmup", "0", "-q",
        ]);
        command.args(["--target", &url]);
        run_with_input(&mut command, "", "the mote binary itself")
    };
    let root = authority.file("root.crt");
    for mode in [
        "sslmode=require".to_string(),
        format!("sslmode=verify-full&sslrootcert={root}"),
    ] {
        let said = point(&mode).good();
        assert!(said.contains("no errors"), "{mode}: {said}");
    }
    let stranger = format!("sslmode=verify-full&sslrootcert={}", other.file("root.crt"));
    let said = point(&stranger).bad();
    assert!(said.contains("UnknownIssuer"), "{said}");
    server.stop();
}
