//! What runs out: places for connections, memory, disk. Each is a clear error; nothing acknowledged is lost, and the
//! server goes on or stops with a reason.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{program, psql, psql_strict};
use mote_it::server::TemporaryDirectory;
use mote_it::wire::*;

#[test]
fn connection_floods() {
    let mut server = TestServer::start_with("flood", &["--max-connections", "20"]);
    let mut bystander = RawClient::connect(&server);
    let mut open: Vec<RawClient> = (0..19).map(|_| RawClient::connect(&server)).collect();
    for _ in 0..5 {
        let mut client = RawClient::open(&server);
        client.start_up(&[("user", "postgres"), ("database", "postgres")]);
        let messages = client.until_closed();
        assert_eq!(
            error(&messages).as_deref(),
            Some("53300 sorry, too many clients already")
        );
    }
    let said = psql(&server, "select 1");
    assert!(
        said.err.contains("sorry, too many clients already"),
        "{}",
        said.err
    );
    assert_eq!(bystander.rows("select 1"), ["1"]);
    // Each that leaves makes room.
    open.truncate(10);
    let deadline = Instant::now() + Duration::from_secs(5);
    while !psql(&server, "select 1").ok {
        assert!(
            Instant::now() < deadline,
            "the places of closed connections are not free again"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Cancel requests are served even when all places are taken.
    while open.len() < 19 {
        open.push(RawClient::connect(&server));
    }
    bystander.raw(&query("select pg_sleep(30)"));
    std::thread::sleep(Duration::from_millis(100));
    let mut cancel = RawClient::open(&server);
    cancel.untyped(&[80_877_102u32.to_be_bytes().to_vec(), bystander.key_data.clone()].concat());
    assert_eq!(sqlstate(&bystander.until(b'Z')).as_deref(), Some("57014"));
    drop(open);
    drop(bystander);
    // Connections that never say anything, and ones that hang up at once.
    let silent: Vec<TcpStream> = (0..200)
        .filter_map(|_| TcpStream::connect(server.address).ok())
        .collect();
    drop(silent);
    for _ in 0..500 {
        drop(TcpStream::connect(server.address));
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    while !psql(&server, "select 1").ok {
        assert!(Instant::now() < deadline, "the flood left no place");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.assert_unharmed();
}

#[test]
fn memory_runs_out() {
    let mut server = TestServer::start_with("memory", &["--memory", "64MB"]);
    psql_strict(
        &server,
        "create table t (id int primary key, v text); insert into t values (0, 'first')",
    )
    .good();
    // Values that no compression or sharing makes small.
    let grow = "insert into t select g, repeat(md5(g::text), 32) from generate_series(1, 500000) g";
    let said = psql(&server, &format!("\\set VERBOSITY verbose\n{grow};"));
    assert!(said.err.starts_with("ERROR:  53200:"), "{}{}", said.out, said.err);
    // Reads, deletes and small writes go on once the failed statement has let its memory go.
    assert_eq!(psql(&server, "select count(*) from t").good().trim(), "1");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !psql_strict(&server, "insert into t values (-1, 'after')").ok {
        assert!(
            Instant::now() < deadline,
            "memory did not come back; {}",
            psql(&server, "insert into t values (-2, 'x')").err
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    server.assert_unharmed();
}

/// A mounted tmpfs, unmounted when dropped.
struct SmallDisk(TemporaryDirectory);

impl SmallDisk {
    /// None only where the environment says that a mount is impossible here; else a failed mount fails the test.
    fn mount(megabytes: u32) -> Option<SmallDisk> {
        let directory = TemporaryDirectory::new("small-disk");
        let path = directory.path().display().to_string();
        let size = format!("size={megabytes}m");
        let said = program(
            "mount",
            &["-t", "tmpfs", "-o", &size, "tmpfs", &path],
            Path::new("/"),
            "install mount",
        );
        if said.ok {
            return Some(SmallDisk(directory));
        }
        if std::env::var("MOTE_IT_NO_MOUNT").is_ok_and(|v| v == "1") {
            eprintln!("no mount is possible here, as MOTE_IT_NO_MOUNT says: the full disk was not tested");
            return None;
        }
        panic!(
            "mount failed: {}\nrun as root, or set MOTE_IT_NO_MOUNT=1 to go without this test",
            said.err
        );
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = self.0.path().display().to_string();
        let _ = program("umount", &["-l", &path], Path::new("/"), "install mount");
    }
}

#[test]
fn full_disk() {
    const DISK_MB: u32 = 96;
    let Some(disk) = SmallDisk::mount(DISK_MB) else {
        return;
    };
    let data = disk.0.path().join("data");
    let server = match TestServer::open(&data, &[]) {
        Ok(server) => server,
        // A log larger than the disk is refused at the start, in words.
        Err(said) => panic!("the server does not start on a disk of {DISK_MB} MB: {said}"),
    };
    psql_strict(&server, "create table t (id int primary key, v text)").good();
    // Each line is acknowledged before the next is sent.
    let mut acknowledged = 0;
    let mut client = RawClient::connect(&server);
    let mut failure = None;
    for id in 1..=400 {
        // 512 kB that do not compress.
        let insert = format!(
            "insert into t select {id}, string_agg(md5(({id} * 20000 + g)::text), '') from generate_series(1, 16000) g"
        );
        client.try_raw(&query(&insert));
        let messages = client.until(b'Z');
        match error(&messages) {
            None if tags(&messages) == ["INSERT 0 1"] => acknowledged = id,
            got => {
                failure = Some(got);
                break;
            }
        }
    }
    assert!(acknowledged > 0, "nothing fits on the disk");
    let failure = failure.expect("200 MB do not fit on the disk");
    let error = failure.expect("an insert that answers nothing else fails");
    assert!(error.starts_with("53100"), "{error}");
    // Readers go on, and so does the connection; writers are told every time.
    let mut server = server;
    assert_eq!(client.rows("select 40 + 2"), ["42"]);
    let count = psql(&server, "select count(*) from t").good();
    assert_eq!(count.trim(), acknowledged.to_string());
    let refused = psql_strict(&server, "insert into t select 1000, repeat('x', 10000000)").bad();
    assert!(refused.contains("No space left on device"), "{refused}");
    drop(client);
    // More space, and writing goes on by itself.
    let path = disk.0.path().display().to_string();
    let remount = program(
        "mount",
        &["-o", "remount,size=1g", &path],
        Path::new("/"),
        "install mount",
    );
    assert!(remount.ok, "{}", remount.err);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !psql_strict(&server, "insert into t values (401, repeat('r', 512000))").ok {
        assert!(Instant::now() < deadline, "writing does not go on");
        std::thread::sleep(Duration::from_millis(100));
    }
    acknowledged += 1;
    server.assert_unharmed();
    drop(server.kill());
    let mut server = TestServer::open(&data, &[]).expect("it recovers");
    let row = psql(
        &server,
        "select count(*), max(id), min(length(v)), max(length(v)) from t",
    )
    .good();
    let columns: Vec<u32> = row
        .trim()
        .split('|')
        .map(|c| c.parse().expect("a number"))
        .collect();
    assert_eq!(
        (columns[0], columns[1], columns[2], columns[3]),
        (acknowledged, 401, 512_000, 512_000)
    );
    psql_strict(&server, "insert into t values (100000, 'after')").good();
    server.assert_unharmed();
    server.stop();
}
