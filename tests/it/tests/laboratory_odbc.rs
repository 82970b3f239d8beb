//! The laboratory through drivers of ODBC (`make odbc`, since it needs them and a binary with that feature): order entry with all
//! its proofs, also after kill -9, against PostgreSQL 15 by psqlodbc, MariaDB by its own driver, and mote.

use std::process::Command;

use mote_it::TestServer;
use mote_it::clients::{Said, run_with_input};
use mote_it::server::mote_binary;
use mote_it::systems::SystemServer;

fn bench(arguments: &str, url: &str, more: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments.split_whitespace());
    command.args(["--target", &format!("odbc+{url}")]).args(more);
    run_with_input(&mut command, "", "the mote binary itself")
}

/// Order entry on a server that is killed and started again.
fn order_entry(server: &SystemServer, name: &str) {
    let restart = server.restart_command();
    let faults = ["--faults", "2s kill; 3s start", "--restart-with", &restart];
    let out = bench("tpcc -w 1 -c 4 -d 15 --warmup 1 -q", server.url(), &faults).good();
    assert!(out.contains(&format!("server {name} through ODBC")), "{out}");
    assert!(out.contains("client-bound: through ODBC"), "{out}");
    assert!(out.contains("acknowledged orders are missing"), "{out}");
    let conditions = out.lines().filter(|line| line.starts_with("PASS condition"));
    assert_eq!(conditions.count(), 12, "{out}");
}

#[test]
fn psqlodbc_keeps_what_postgres_acknowledged() {
    let server = SystemServer::start("pg15");
    order_entry(&server, "PostgreSQL");
    let out = bench("point --rows 1000 -c 4 -d 1 --warmup 0 -q", server.url(), &[]).good();
    assert!(out.contains("no errors"), "{out}");
    for workload in ["tpcb", "ycsb a --records 2000", "smallbank --customers 500"] {
        bench(&format!("{workload} -c 4 -d 1 --warmup 0 -q"), server.url(), &[]).good();
    }
}

#[test]
fn mariadbs_driver_keeps_what_it_acknowledged() {
    let server = SystemServer::start("mariadb");
    order_entry(&server, "MariaDB");
}

#[test]
fn mote_speaks_to_psqlodbc() {
    let server = TestServer::start_with("odbc", &[]);
    let url = server.url();
    let out = bench("smallbank --customers 500 -c 4 -d 1 --warmup 0 -q", &url, &[]).good();
    assert!(out.contains("client-bound: through ODBC"), "{out}");
    // What ODBC cannot say is refused by name, and so is what one server can do alone.
    let driver = bench("point --rows 10 -c 1 -d 1 -q", &format!("{url}?driver=None"), &[]).bad();
    assert!(
        driver.contains("08006") || driver.contains("IM002") || driver.contains("01000"),
        "{driver}"
    );
}
