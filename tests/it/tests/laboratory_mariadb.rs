//! The laboratory on MariaDB's wire (`make mariadb`, since it needs MariaDB's server): order entry with all its proofs, also
//! after kill -9, one-row selects, and the workloads of the contract.

use std::process::Command;

use mote_it::clients::{Said, run_with_input};
use mote_it::server::mote_binary;
use mote_it::systems::SystemServer;

fn bench(arguments: &str, url: &str, more: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments.split_whitespace());
    command.args(["--target", url]).args(more);
    run_with_input(&mut command, "", "the mote binary itself")
}

#[test]
fn order_entry_keeps_what_it_acknowledged_when_the_server_is_killed() {
    let mariadb = SystemServer::start("mariadb");
    let restart = mariadb.restart_command();
    let faults = ["--faults", "2s kill; 3s start", "--restart-with", &restart];
    let out = bench("tpcc -w 1 -c 8 -d 20 --warmup 1 -q", mariadb.url(), &faults).good();
    assert!(out.contains("server MariaDB "), "{out}");
    assert!(out.contains("acknowledged orders are missing"), "{out}");
    let conditions = out.lines().filter(|line| line.starts_with("PASS condition"));
    assert_eq!(conditions.count(), 12, "{out}");
    // Every level that the laboratory names exists there.
    for level in ["read-committed", "serializable"] {
        let run = format!("tpcc -w 1 -c 2 -d 1 --warmup 0 -q --load never --isolation {level}");
        let out = bench(&run, mariadb.url(), &[]);
        assert!(out.out.contains("PASS condition 12"), "{}{}", out.out, out.err);
    }
}

#[test]
fn other_workloads_prove_themselves() {
    let mariadb = SystemServer::start("mariadb");
    let out = bench("point -c 4 -d 1 --warmup 0 -q", mariadb.url(), &[]).good();
    assert!(out.contains("no errors"), "{out}");
    for workload in ["tpcb", "ycsb a --records 2000", "smallbank"] {
        let run = format!("{workload} -c 4 -d 1 --warmup 0 -q");
        bench(&run, mariadb.url(), &[]).good();
    }
}
