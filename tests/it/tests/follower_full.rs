//! A follower whose disk is full: it takes no more log and says so, its readers go on, and it catches up when there is room.

use mote_it::TestServer;
use mote_it::clients::psql;
use mote_it::nodes::{await_replay, await_value, compare, value};
use mote_it::small_disk::SmallDisk;

const STATE: [&str; 1] = ["select count(*), sum(a), md5(string_agg(b, '' order by a)) from t"];

fn fill(primary: &TestServer, from: u32, rows: u32) {
    let to = from + rows - 1;
    value(
        primary,
        &format!("insert into t select g, repeat(md5(g::text), 30) from generate_series({from}, {to}) g"),
    );
}

#[test]
fn a_follower_without_room_reads_on_and_catches_up() {
    let Some(disk) = SmallDisk::mount(200) else {
        return;
    };
    let primary = TestServer::start_with("follower-full", &["--log-segment-size", "4MB"]);
    value(&primary, "create table t (a int primary key, b text)");
    fill(&primary, 1, 1000);
    let options = ["--follow", &primary.url(), "--name", "b", "--memory", "256MB"];
    let follower =
        TestServer::open(&disk.data(), &options).unwrap_or_else(|said| panic!("no follower: {said}"));
    compare(&primary, &follower, &STATE);
    let pid = follower.pid();
    disk.fill();
    for from in [10_001, 20_001, 30_001, 40_001] {
        fill(&primary, from, 6000);
    }
    follower.await_log("there is no room for more log on the disk; tries again");
    await_value(&primary, "select count(*) from pg_stat_replication", "0");
    // Reads go on, of a moment that was.
    let count = value(
        &follower,
        "select count(*) >= 1000 and count(*) < 25000 and pg_is_in_recovery() from t",
    );
    assert_eq!(count, "t");
    assert!(psql(&follower, "checkpoint; select 1").ok);
    fill(&primary, 50_001, 10);
    disk.resize(200);
    await_replay(&primary, &follower);
    compare(&primary, &follower, &STATE);
    assert_eq!(follower.pid(), pid, "the same process");
    let said = follower.log();
    let told = said.matches("there is no room for more log").count();
    assert!(told < 5, "it is said {told} times:\n{said}");
    follower.stop();
}

#[test]
fn a_copy_that_finds_no_room_is_begun_anew_when_there_is_some() {
    let Some(disk) = SmallDisk::mount(12) else {
        return;
    };
    let primary = TestServer::start_with("follower-full-copy", &[]);
    value(&primary, "create table t (a int primary key, b text)");
    fill(&primary, 1, 30_000);
    let options = ["--follow", &primary.url(), "--name", "b", "--memory", "256MB"];
    for _ in 0..2 {
        let said = TestServer::open(&disk.data(), &options)
            .err()
            .expect("there is no room");
        assert!(said.contains("No space left on device"), "{said}");
    }
    disk.resize(400);
    let follower =
        TestServer::open(&disk.data(), &options).unwrap_or_else(|said| panic!("no follower: {said}"));
    compare(&primary, &follower, &STATE);
    follower.stop();
}
