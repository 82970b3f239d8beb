//! A follower that was away for more log than its primary keeps: the primary's archive has it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mote_it::TestServer;
use mote_it::nodes::{await_value, compare, follow, follow_url, value};
use mote_it::process::await_that;
use mote_it::server::TemporaryDirectory;

const STATE: [&str; 1] = ["select count(*), sum(a), md5(string_agg(b, '' order by a)) from t"];
const SLOT: &str = "select wal_status from pg_replication_slots where slot_name = 'b'";

fn options(archive: &Path) -> Vec<String> {
    let archive = archive.display().to_string();
    [
        "--archive-dir",
        &archive,
        "--log-segment-size",
        "4MB",
        "--max-slot-log",
        "8MB",
    ]
    .map(String::from)
    .into()
}

fn start(name: &str, archive: &Path) -> TestServer {
    let options = options(archive);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    TestServer::start_with(name, &options)
}

fn fill(primary: &TestServer, from: u32, rows: u32) {
    let to = from + rows - 1;
    value(
        primary,
        &format!("insert into t select g, repeat(md5(g::text), 30) from generate_series({from}, {to}) g"),
    );
}

/// Writes until the slot is lost and what it kept is gone.
fn leave_behind(primary: &TestServer, mut from: u32) -> u32 {
    let oldest = oldest_log(primary);
    for _ in 0..4 {
        fill(primary, from, 6000);
        from += 6000;
        value(primary, "checkpoint");
    }
    await_value(primary, SLOT, "lost");
    await_that("what the slot kept is gone", Duration::from_secs(60), || {
        value(primary, "checkpoint");
        oldest_log(primary) > oldest
    });
    from
}

/// The name of the first segment that the server still has.
fn oldest_log(server: &TestServer) -> OsString {
    let log = std::fs::read_dir(server.data().join("log")).expect("it is there");
    let names = log.map(|entry| entry.expect("it is there").file_name());
    let segments = names.filter(|name| name.to_string_lossy().ends_with(".log"));
    segments.min().expect("there is a log")
}

/// The segments in the archive of the one database that it is for, oldest first.
fn archived_segments(archive: &Path) -> Vec<PathBuf> {
    let database = std::fs::read_dir(archive).expect("it is there").next();
    let database = database.expect("of one database").expect("it is there").path();
    let files = std::fs::read_dir(database).expect("it is there");
    let mut segments: Vec<_> = files
        .map(|entry| entry.expect("it is there").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "log"))
        .collect();
    segments.sort();
    segments
}

#[test]
fn the_log_of_a_lost_slot_comes_out_of_the_archive() {
    let archive = TemporaryDirectory::new("follower-archive-log");
    let primary = start("follower-archive", archive.path());
    value(&primary, "create table t (a int primary key, b text)");
    fill(&primary, 1, 1000);
    let data = TemporaryDirectory::new("follower-archive-b");
    let follower = follow(&primary, &data, "b");
    compare(&primary, &follower, &STATE);
    follower.stop();
    let from = leave_behind(&primary, 10_001);
    let follower = follow(&primary, &data, "b");
    compare(&primary, &follower, &STATE);
    await_value(&primary, "select state from pg_stat_replication", "streaming");
    // From here on the slot keeps the log again.
    await_value(&primary, SLOT, "reserved");
    fill(&primary, from, 10);
    compare(&primary, &follower, &STATE);
    // A primary that has started anew meanwhile knows what its archive has.
    follower.kill();
    let from = leave_behind(&primary, from + 10);
    let address = primary.address.to_string();
    let (place, _kept) = primary.stop();
    let options = options(archive.path());
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    options.extend(["--listen", &address]);
    let primary = TestServer::open(&place, &options).expect("it starts");
    let follower = follow(&primary, &data, "b");
    fill(&primary, from, 10);
    compare(&primary, &follower, &STATE);
}

#[test]
fn a_gap_in_the_archive_is_told_and_ends_when_it_is_filled() {
    let archive = TemporaryDirectory::new("follower-gap-log");
    let primary = start("follower-gap", archive.path());
    value(&primary, "create table t (a int primary key, b text)");
    let data = TemporaryDirectory::new("follower-gap-b");
    let follower = follow(&primary, &data, "b");
    compare(&primary, &follower, &STATE);
    follower.stop();
    leave_behind(&primary, 1);
    // The archiver is a thread of its own: the third segment may come later than the log that follows it.
    await_that(
        "three segments are in the archive alone",
        Duration::from_secs(60),
        || {
            value(&primary, "checkpoint");
            let segments = archived_segments(archive.path());
            let third = segments.get(2).and_then(|path| path.file_name());
            third.is_some_and(|name| *name < *oldest_log(&primary))
        },
    );
    let segments = archived_segments(archive.path());
    let (missing, aside) = (&segments[2], archive.path().join("aside"));
    std::fs::rename(missing, &aside).expect("renamed");
    let follower = follow_url(&primary.url(), &data, "b").expect("it serves what it has");
    follower.await_log("is not here any more");
    assert_eq!(value(&follower, "select count(*) from t"), "0");
    std::fs::rename(&aside, missing).expect("renamed");
    compare(&primary, &follower, &STATE);
}

/// A promoted server on the archive of the one whose place it takes: that one may have archived what was cut.
#[test]
fn a_promoted_server_does_not_mix_its_log_into_its_predecessors_archive() {
    let archive = TemporaryDirectory::new("follower-shared-log");
    let primary = start("follower-shared", archive.path());
    value(&primary, "create table t (a int primary key, b text)");
    let data = TemporaryDirectory::new("follower-shared-b");
    let follower = follow(&primary, &data, "b");
    fill(&primary, 1, 1000);
    compare(&primary, &follower, &STATE);
    follower.stop();
    // What the follower never gets.
    fill(&primary, 10_001, 12_000);
    await_that("it is archived", Duration::from_secs(60), || {
        archived_segments(archive.path()).len() >= 3
    });
    let (_, _kept) = primary.kill();
    let before: Vec<_> = archived_segments(archive.path());
    let contents = |paths: &[PathBuf]| -> Vec<Vec<u8>> {
        paths
            .iter()
            .map(|path| std::fs::read(path).expect("it is there"))
            .collect()
    };
    let kept = contents(&before);
    let promoted = mote_it::clients::mote(&[
        "promote",
        "--data",
        &mote_it::nodes::place(&data).display().to_string(),
    ]);
    promoted.good();
    let options = options(archive.path());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut server = TestServer::open(&mote_it::nodes::place(&data), &options).expect("it starts");
    fill(&server, 50_001, 12_000);
    server.await_log("holds another history of this database");
    assert_eq!(
        contents(&before),
        kept,
        "its predecessor's segments are as they were"
    );
    assert_eq!(
        value(
            &server,
            "select last_archived_wal is null, failed_count > 0 from pg_stat_archiver"
        ),
        "t|t"
    );
    server.assert_unharmed();
    // With an archive of its own it goes on.
    let (place, _own) = server.stop();
    let own = TemporaryDirectory::new("follower-shared-own");
    let options = self::options(own.path());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = TestServer::open(&place, &options).expect("it starts");
    fill(&server, 90_001, 6000);
    await_that("it is archived", Duration::from_secs(60), || {
        value(&server, "select archived_count > 0 from pg_stat_archiver") == "t"
    });
}

/// What becomes of a segment in an archive.
enum Harm {
    Flipped,
    Short,
    Empty,
    OfAnotherSystem,
    OfAnotherPlace,
}

/// The segment as it was, and as somebody or something left it.
fn harmed(good: &[u8], other: &[u8], harm: &Harm) -> Vec<u8> {
    let mut bytes = good.to_vec();
    match harm {
        Harm::Flipped => bytes[good.len() / 2] ^= 4,
        Harm::Short => bytes.truncate(good.len() / 2 + 100),
        Harm::Empty => bytes.clear(),
        // Of the header behind its first words.
        Harm::OfAnotherSystem => bytes[16] ^= 1,
        Harm::OfAnotherPlace => bytes = other.to_vec(),
    }
    bytes
}

/// Nothing wrong is applied, somebody says which file it is, and the follower goes on when it is mended.
#[test]
fn a_damaged_segment_in_the_archive_is_told_and_its_follower_waits_for_a_good_one() {
    let archive = TemporaryDirectory::new("follower-damage-log");
    let mut primary = start("follower-damage", archive.path());
    value(&primary, "create table t (a int primary key, b text)");
    let data = TemporaryDirectory::new("follower-damage-b");
    let follower = follow(&primary, &data, "b");
    compare(&primary, &follower, &STATE);
    follower.stop();
    leave_behind(&primary, 1);
    await_that(
        "four segments are in the archive alone",
        Duration::from_secs(60),
        || {
            value(&primary, "checkpoint");
            let segments = archived_segments(archive.path());
            let fourth = segments.get(3).and_then(|path| path.file_name());
            fourth.is_some_and(|name| *name < *oldest_log(&primary))
        },
    );
    let segments = archived_segments(archive.path());
    let place = &segments[2];
    let name = place
        .file_name()
        .expect("it has one")
        .to_string_lossy()
        .into_owned();
    let (good, other) = (
        std::fs::read(place).expect("it is there"),
        std::fs::read(&segments[3]).expect("it is there"),
    );
    let replace = |bytes: &[u8]| {
        let aside = archive.path().join("aside");
        std::fs::write(&aside, bytes).expect("written");
        std::fs::rename(&aside, place).expect("renamed");
    };
    // Each time from the same place: what it has taken meanwhile is taken from it.
    let kept = TemporaryDirectory::new("follower-damage-kept");
    let copy = |from: &Path, to: &Path| {
        // It may not be there.
        let _ = std::fs::remove_dir_all(to);
        let (from, to) = (from.display().to_string(), to.display().to_string());
        mote_it::clients::program("cp", &["-a", &from, &to], Path::new("/"), "it is everywhere").good();
    };
    let own = mote_it::nodes::place(&data);
    copy(&own, &kept.path().join("data"));
    for harm in [
        Harm::Flipped,
        Harm::Short,
        Harm::Empty,
        Harm::OfAnotherSystem,
        Harm::OfAnotherPlace,
    ] {
        copy(&kept.path().join("data"), &own);
        replace(&harmed(&good, &other, &harm));
        let before = primary.log().len();
        let follower = follow_url(&primary.url(), &data, "b").expect("it serves what it has");
        await_that("somebody names the segment", Duration::from_secs(30), || {
            primary.log()[before..].contains(&name) || follower.log().contains("archive")
        });
        let rows: u64 = value(&follower, "select count(*) from t")
            .parse()
            .expect("a number");
        assert!(rows < 24_000, "{rows}");
        replace(&good);
        compare(&primary, &follower, &STATE);
        println!("{}\n{}", &primary.log()[before..], follower.log());
        follower.stop();
    }
    primary.assert_unharmed();
}
