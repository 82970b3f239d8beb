//! Backup, archive, restore and check through the commands, as an operator uses them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{mote, psql, psql_strict};
use mote_it::server::{TemporaryDirectory, mote_binary};
use mote_it::site::{Site, text};
use mote_it::small_disk::SmallDisk;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn every_moment_comes_back_exactly() {
    let site = Site::new("pitr");
    const ROWS: &str = "select string_agg(id::text, ',' order by id) from t";
    site.value("create table t (id int primary key, note text)");
    site.value("insert into t values (1, 'before the backup')");
    let backup = site.backup("base");
    site.value("insert into t values (2, 'after it')");
    let lsn = site.value("select pg_current_wal_lsn()");
    site.value("insert into t values (3, 'three')");
    site.value("select pg_create_restore_point('before the mistake')");
    std::thread::sleep(Duration::from_millis(20));
    let time = site.value("select clock_timestamp()");
    std::thread::sleep(Duration::from_millis(20));
    site.value("delete from t where id < 3");
    site.value("create table u as select 7 as seven");
    site.archive_all();

    let own = site.restored_value(&backup, "own", &["--to-lsn", &lsn], ROWS);
    assert_eq!(own, "1,2");
    let named = site.restored_value(&backup, "named", &["--to-name", "before the mistake"], ROWS);
    assert_eq!(named, "1,2,3");
    let timed = site.restored_value(&backup, "timed", &["--to-time", &time], ROWS);
    assert_eq!(timed, "1,2,3");
    let latest = site.restored_value(
        &backup,
        "latest",
        &[],
        "select count(*) || ' ' || (select seven from u) from t",
    );
    assert_eq!(latest, "1 7");
    // Indexes are there, and the new history goes on.
    let data = site.place("latest");
    let server = TestServer::open(&data, &[]).expect("it starts again");
    let refused = psql(&server, "insert into t values (3, 'again')");
    assert!(refused.err.contains("duplicate key"), "{}", refused.err);
    psql_strict(&server, "insert into t values (4, 'new history')").good();
}

#[test]
fn what_cannot_be_restored_is_refused_before_anything_is_written() {
    let site = Site::new("refusals");
    site.value("create table t (id int)");
    let early = site.value("select pg_current_wal_lsn()");
    site.value("insert into t select generate_series(1, 1000)");
    site.value("checkpoint");
    let backup = site.backup("base");
    site.archive_all();
    let refused = |options: &[&str]| {
        let (data, said) = site.restore(&backup, "nowhere", options);
        assert!(!said.ok && !data.exists(), "{options:?}");
        said.err
    };
    let said = refused(&["--to-lsn", &early]);
    assert!(said.contains("lies before the backup's own moment"), "{said}");
    let said = refused(&["--to-time", "2000-01-01"]);
    assert!(
        said.contains("lies before the backup's own moment") || said.contains("was not reached"),
        "{said}"
    );
    let said = refused(&["--to-time", "2999-01-01"]);
    assert!(said.contains("was not reached"), "{said}");
    let said = refused(&["--to-name", "never made"]);
    assert!(said.contains("restore point \"never made\""), "{said}");
    let said = refused(&["--to-lsn", "no position"]);
    assert!(said.contains("pg_lsn"), "{said}");

    let other = Site::new("refusals-other");
    other.value("create table t (id int)");
    other.archive_all();
    let data = site.place("mixed");
    let archive = other.place("archive");
    let said = mote(&[
        "restore",
        "--backup",
        text(&backup),
        "--archive",
        text(&archive),
        "--data",
        text(&data),
    ]);
    assert!(
        !said.ok && said.err.contains("belongs to another database"),
        "{}",
        said.err
    );
    // A backup is not served, nor written over, nor is half a one restored.
    let said = TestServer::open(&backup, &[]).err().expect("refused");
    assert!(said.contains("is a base backup"), "{said}");
    let said = mote(&["backup", "--target", &site.server.url(), "--to", text(&backup)]);
    assert!(!said.ok && said.err.contains("is not empty"), "{}", said.err);
    std::fs::remove_file(backup.join("BACKUP")).expect("it is there");
    let (_, said) = site.restore(&backup, "half", &[]);
    assert!(!said.ok && said.err.contains("was not finished"), "{}", said.err);
}

#[test]
fn only_superusers_back_up_and_sessions_hold_one_backup() {
    let site = Site::new("privileges");
    site.value("create role plain login");
    let address = site.server.address;
    let said = mote(&[
        "backup",
        "--target",
        &format!("postgres://plain@{address}/postgres"),
        "--to",
        text(&site.place("stolen")),
    ]);
    assert!(
        !said.ok
            && said
                .err
                .contains("permission denied for function mote_backup_start"),
        "{}",
        said.err
    );
    assert!(!site.place("stolen").exists());
    let said = psql(
        &site.server,
        "select length(mote_backup_start()) > 50; select mote_backup_start();",
    );
    assert!(
        said.err
            .contains("a backup is already in progress in this session"),
        "{}",
        said.err
    );
    for (sql, error) in [
        ("select mote_backup_stop()", "backup is not in progress"),
        (
            "select mote_backup_read('MANIFEST', 0, 10)",
            "backup is not in progress",
        ),
        (
            "select length(mote_backup_start()); select mote_backup_read('../../etc/passwd', 0, 10)",
            "is not part of this backup",
        ),
        (
            "select length(mote_backup_start()); select mote_backup_read('MANIFEST', 0, 1000000000)",
            "requested length must be between 0 and 8388608",
        ),
        (
            "select length(mote_backup_start()); select mote_backup_read('MANIFEST', -1, 10)",
            "requested offset cannot be negative",
        ),
        (
            "select pg_create_restore_point(repeat('x', 64))",
            "value too long for restore point (maximum 63 characters)",
        ),
    ] {
        let said = psql(&site.server, sql);
        assert!(said.err.contains(error), "{sql}: {}", said.err);
    }
}

#[test]
fn prepared_transactions_come_back_undecided_or_as_they_were_decided() {
    let site = Site::new("prepared");
    site.value("create table t (id int primary key)");
    site.value("begin; insert into t values (1); prepare transaction 'early'");
    let backup = site.backup("base");
    site.value("begin; insert into t values (2); prepare transaction 'late'");
    let undecided = site.value("select pg_current_wal_lsn()");
    site.value("commit prepared 'early'");
    site.value("rollback prepared 'late'");
    site.archive_all();
    let decided = site.restored_value(
        &backup,
        "decided",
        &[],
        "select string_agg(id::text, ',') || ' ' || (select count(*) from pg_prepared_xacts) from t",
    );
    assert_eq!(decided, "1 0");
    let open = site.restored_value(
        &backup,
        "undecided",
        &["--to-lsn", &undecided],
        "select string_agg(gid, ',' order by gid) || ' ' || (select count(*) from t) from pg_prepared_xacts",
    );
    assert_eq!(open, "early,late 0");
    let server = TestServer::open(&site.place("undecided"), &[]).expect("it starts again");
    psql_strict(&server, "commit prepared 'late'").good();
    assert_eq!(psql_strict(&server, "select id from t").good().trim(), "2");
}

#[test]
fn a_backup_streams_as_a_tar_archive() {
    let site = Site::new("tar");
    site.value("create table t as select generate_series(1, 5000) as id");
    site.value("checkpoint");
    let to = site.place("unpacked");
    std::fs::create_dir(&to).expect("a new directory");
    let mut backup = Command::new(mote_binary())
        .args([
            "backup",
            "--target",
            &site.server.url(),
            "--to",
            "-",
            "--label",
            "as tar",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let unpacked = Command::new("tar")
        .args(["-x", "-C", text(&to)])
        .stdin(backup.stdout.take().expect("piped above"))
        .status()
        .expect("tar runs");
    assert!(unpacked.success() && backup.wait().expect("a child can be waited for").success());
    let said = mote(&["backup", "verify", text(&to)]);
    assert!(
        said.ok && said.out.contains("as tar"),
        "{}\n{}",
        said.out,
        said.err
    );
    let rows = site.restored_value(&to, "restored", &[], "select count(*) from t");
    assert_eq!(rows, "5000");
}

/// A backup that takes long enough to be disturbed.
fn slow_backup(site: &Site, to: &Path) -> Child {
    let child = Command::new(mote_binary())
        .args([
            "backup",
            "--target",
            &site.server.url(),
            "--to",
            text(to),
            "--throttle",
            "1MB",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let deadline = Instant::now() + TIMEOUT;
    while !to.join("image").exists() {
        assert!(Instant::now() < deadline, "the backup did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn fill(site: &Site) {
    site.value("create table wide as select g as id, repeat(md5(g::text), 20) as pad from generate_series(1, 12000) g");
    site.value("checkpoint");
}

/// TPC-C for some seconds, with a ledger of what was acknowledged.
fn tpcc(site: &Site, seconds: &str, ledger: Option<&Path>) -> Child {
    let mut command = Command::new(mote_binary());
    command
        .args([
            "bench",
            "tpcc",
            "--target",
            &site.server.url(),
            "--warehouses",
            "1",
        ])
        .args(["--connections", "4", "--warmup", "0", "--duration", seconds])
        .args(["--no-check", "--quiet"]);
    if let Some(ledger) = ledger {
        command.arg("--ledger").arg(ledger);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs")
}

/// Starts a server on the directory and proves TPC-C's consistency, and the ledger if there is one.
#[track_caller]
fn verify(data: &Path, ledger: Option<&Path>) {
    let server = TestServer::open(data, &[]).expect("a restored database starts");
    let url = server.url();
    let mut arguments = vec!["bench", "verify", "--target", &url];
    match ledger {
        Some(ledger) => arguments.extend(["--ledger", text(ledger)]),
        None => arguments.push("--check-only"),
    }
    let said = mote(&arguments);
    assert!(said.ok, "{}\n{}", said.out, said.err);
}

#[test]
fn a_backup_under_load_is_consistent_and_with_the_archive_loses_nothing() {
    let site = Site::new("tpcc");
    let loaded = tpcc(&site, "1", None).wait().expect("a child can be waited for");
    assert!(loaded.success());
    // The moment lies in the load, which on a busy machine must be a longer one: the backup alone is consistent as of its end.
    let under_load = |seconds: &str| {
        let ledger = site.place(&format!("ledger-{seconds}.txt"));
        let mut load = tpcc(&site, seconds, Some(&ledger));
        std::thread::sleep(Duration::from_secs(2));
        site.value("checkpoint");
        let backup = site.backup(&format!("under-load-{seconds}"));
        let ended = load.try_wait().expect("a child can be waited for");
        ended.is_none().then_some((load, backup, ledger))
    };
    let (mut load, backup, ledger) = ["8", "32", "128"]
        .into_iter()
        .find_map(under_load)
        .expect("the load outlasts the backup");
    let (data, said) = site.restore(&backup, "own", &["--to-lsn", &end_of(&backup)]);
    assert!(said.ok, "{}", said.err);
    verify(&data, None);
    assert!(load.wait().expect("a child can be waited for").success());
    site.archive_all();
    let (data, said) = site.restore(&backup, "all", &[]);
    assert!(said.ok, "{}", said.err);
    verify(&data, Some(&ledger));
    let checked = mote(&["check", text(&data), "--foreign-keys", "--memory", "2GB"]);
    assert!(checked.ok, "{}\n{}", checked.out, checked.err);
}

/// Where the backup's own log ends, as its label tells.
fn end_of(backup: &Path) -> String {
    let label = std::fs::read_to_string(backup.join("BACKUP")).expect("readable");
    let end = label.lines().find_map(|line| line.strip_prefix("end: "));
    let lsn = u64::from_str_radix(end.expect("every label has it"), 16).expect("hexadecimal");
    format!("{:X}/{:X}", lsn >> 32, lsn as u32)
}

#[test]
fn killing_either_side_of_a_backup_harms_nothing() {
    let mut site = Site::new("kill");
    fill(&site);
    // The client dies: the server lets go of what it held, and goes on.
    let to = site.place("client-killed");
    let mut client = slow_backup(&site, &to);
    client.kill().expect("it runs");
    client.wait().expect("a child can be waited for");
    assert!(!to.join("BACKUP").exists());
    for _ in 0..3 {
        site.value("update wide set id = id + 1");
        site.value("checkpoint");
    }
    site.server.assert_unharmed();
    site.backup("after");
    // The server dies: the client says so and leaves nothing that looks like a backup.
    let to = site.place("server-killed");
    let mut client = slow_backup(&site, &to);
    let Site { directory, server } = site;
    let (data, _) = server.kill();
    let ended = client.wait().expect("a child can be waited for");
    assert!(!ended.success() && !to.join("BACKUP").exists());
    let archive = directory.path().join("archive");
    let server = TestServer::open(&data, &["--archive-dir", text(&archive)]).expect("it recovers");
    let count = psql(&server, "select count(*), min(id) from wide").good();
    assert_eq!(count.trim(), "12000|4");
    let site = Site { directory, server };
    let backup = site.backup("again");
    let rows = site.restored_value(&backup, "restored", &[], "select count(*), min(id) from wide");
    assert_eq!(rows, "12000|4");
}

#[test]
fn a_failing_archive_is_seen_and_catches_up() {
    let site = Site::new("archive");
    site.value("create table t (id int)");
    site.archive_all();
    let backup = site.backup("base");
    let (archive, away) = (site.place("archive"), site.place("away"));
    std::fs::rename(&archive, &away).expect("it is there");
    std::fs::write(&archive, "in the way").expect("written");
    fill(&site);
    site.value("insert into t values (1)");
    site.value("select pg_switch_wal()");
    // 12,000 rows of 640 bytes do not fill a segment; more of them do, and the archiver notices.
    for _ in 0..8 {
        site.value("insert into wide select * from wide limit 12000");
    }
    site.server.await_log("could not be archived");
    let failed = site.value("select failed_count > 0, last_failed_wal is not null from pg_stat_archiver");
    assert_eq!(failed, "t|t");
    std::fs::remove_file(&archive).expect("it is there");
    std::fs::rename(&away, &archive).expect("it is there");
    let deadline = Instant::now() + TIMEOUT;
    while !site.server.log().contains("takes log again") {
        assert!(
            Instant::now() < deadline,
            "no second attempt:\n{}",
            site.server.log()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    site.archive_all();
    let rows = site.restored_value(&backup, "restored", &[], "select count(*) from t");
    assert_eq!(rows, "1");
}

/// The archive's disk is full: commits go on, the view says what is wrong, and all of it is archived when there is room again.
#[test]
fn an_archive_on_a_full_disk_delays_nobody_and_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(10) else {
        return;
    };
    let directory = TemporaryDirectory::new("full-archive");
    std::fs::create_dir(disk.data()).expect("it is empty");
    std::os::unix::fs::symlink(disk.data(), directory.path().join("archive")).expect("it is new");
    let archive = directory.path().join("archive");
    let options = [
        "--archive-dir",
        text(&archive),
        "--archive-timeout",
        "0",
        "--log-segment-size",
        "4MB",
    ];
    let server = TestServer::open(&directory.path().join("data"), &options).expect("it starts");
    let site = Site { directory, server };
    let backup = site.backup("base");
    site.value("create table t (id int primary key, v text)");
    for round in 0..10 {
        site.value(&format!(
            "insert into t select g, repeat(md5(g::text), 30) from generate_series({round} * 2000 + 1, {round} * 2000 + 2000) g"
        ));
        site.value("checkpoint");
    }
    site.server.await_log("could not be archived");
    site.server.await_log("No space left on device");
    let failed = site.value("select failed_count > 0, last_failed_wal is not null from pg_stat_archiver");
    assert_eq!(failed, "t|t");
    site.value("insert into t values (0, 'while it is full')");
    disk.resize(100);
    site.archive_all();
    site.server.await_log("takes log again");
    let state = "select count(*), md5(string_agg(v, '' order by id)) from t";
    let rows = site.value(state);
    assert!(rows.starts_with("20001|"), "{rows}");
    assert_eq!(site.restored_value(&backup, "restored", &[], state), rows);
}

#[test]
fn damage_to_a_backup_is_named_with_its_file() {
    let site = Site::new("damage");
    site.value("create table t as select generate_series(1, 5000) as id");
    site.value("checkpoint");
    site.value("insert into t values (0)");
    let backup = site.backup("base");
    for (file, offset) in [
        ("image", 4096 + 200),
        ("log", 4096 + 20),
        ("MANIFEST", 100),
        ("BACKUP", 30),
    ] {
        let path = first_file(&backup.join(file));
        let mut bytes = std::fs::read(&path).expect("readable");
        // Log below the backup's start is zeros: the last block that was written counts.
        let at = match file {
            "log" => bytes.iter().rposition(|&byte| byte != 0).expect("frames"),
            _ => offset,
        };
        bytes[at] ^= 4;
        std::fs::write(&path, &bytes).expect("written");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let said = mote(&["backup", "verify", text(&backup)]);
        assert!(!said.ok && said.err.contains(name), "{file}: {}", said.err);
        let data = site.place("never");
        let said = mote(&["restore", "--backup", text(&backup), "--data", text(&data)]);
        assert!(
            !said.ok && said.err.contains(name) && !data.exists(),
            "{file}: {}",
            said.err
        );
        bytes[at] ^= 4;
        std::fs::write(&path, &bytes).expect("written");
    }
    let said = mote(&["backup", "verify", text(&backup), "--quiet"]);
    assert!(said.ok, "{}", said.err);
}

/// The path itself, or the first file in the directory that it names.
fn first_file(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_path_buf();
    }
    let entries = std::fs::read_dir(path).expect("readable");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files.into_iter().next().expect("there is a file")
}

/// Damage in the midst of an archive is not taken for its end: less than everything would come back, and nobody would be told.
#[test]
fn damage_to_an_archive_is_refused_before_anything_is_written() {
    let site = Site::with("archive-damage", &["--log-segment-size", "4MB"]);
    site.value("create table t (id int primary key, note text)");
    let backup = site.backup("base");
    for from in [1, 6001, 12_001] {
        let to = from + 5999;
        site.value(&format!(
            "insert into t select g, repeat(md5(g::text), 30) from generate_series({from}, {to}) g"
        ));
        site.value("checkpoint");
    }
    site.archive_all();
    let mut segments = Vec::new();
    for database in std::fs::read_dir(site.place("archive")).expect("it is there") {
        let files = std::fs::read_dir(database.expect("it is there").path()).expect("it is there");
        segments.extend(files.map(|file| file.expect("it is there").path()));
    }
    segments.retain(|path| path.extension().is_some_and(|kind| kind == "log"));
    segments.sort();
    assert!(segments.len() >= 4, "{segments:?}");
    let place = &segments[2];
    let good = std::fs::read(place).expect("it is there");
    let other = std::fs::read(&segments[1]).expect("it is there");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 4;
    let mut header = good.clone();
    header[16] ^= 1;
    let mut zeroed = good.clone();
    zeroed[good.len() / 3..].fill(0);
    for (what, bytes) in [
        ("a flipped bit", Some(flipped)),
        ("another system's", Some(header)),
        ("another segment", Some(other)),
        ("a short one", Some(good[..good.len() / 2].to_vec())),
        ("an empty one", Some(Vec::new())),
        ("one that ends early", Some(zeroed)),
        ("none", None),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(place, bytes).expect("written"),
            None => std::fs::remove_file(place).expect("removed"),
        }
        let (data, said) = site.restore(&backup, "nowhere", &[]);
        println!("{what}: {}", said.err);
        assert!(!said.ok && !data.exists(), "{what}: {}{}", said.out, said.err);
        std::fs::write(place, &good).expect("written");
    }
    let count = site.restored_value(&backup, "whole", &[], "select count(*) from t");
    assert_eq!(count, "18000");
}
