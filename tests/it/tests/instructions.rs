//! How many instructions of the server a transaction takes: counted by valgrind, which does not depend on the machine's
//! load, and held against `instructions/recorded.txt`.
//!
//! The same pgbench script runs twice with different numbers of transactions and the same seed; the slope between the two
//! is a transaction's own share, without start, connection and preparation. What background threads do meanwhile is part
//! of it and below one percent. Kernel and disk are not.
//!
//! `MOTE_INSTRUCTIONS_WRITE=1` records what is found. A change that costs more than the tolerance says in
//! `docs/notebook/tried.md` what it buys.

use std::path::{Path, PathBuf};
use std::process::Command;

use mote_it::TestServer;
use mote_it::clients::{client, psql_strict, run_with_input};
use mote_it::server::{TemporaryDirectory, mote_binary};

const SCRIPTS: [(&str, &str); 4] = [
    ("new_order", include_str!("instructions/new_order.sql")),
    ("payment", include_str!("instructions/payment.sql")),
    ("point_select", include_str!("instructions/point_select.sql")),
    ("procedure_call", include_str!("instructions/procedure_call.sql")),
];
const RECORDED: &str = include_str!("instructions/recorded.txt");
/// The transactions of the two runs whose difference counts.
const RUNS: [u64; 2] = [100, 500];
/// Above the record, in percent. Repeated runs of one binary differ by less than one.
const TOLERANCE: u64 = 4;
/// The same for another compiler than the record's, whose code may be better or worse.
const TOLERANCE_OF_OTHER_COMPILER: u64 = 20;

/// A server under valgrind, which counts.
struct Counted {
    server: TestServer,
    counts: PathBuf,
}

impl Counted {
    fn start(directory: &Path) -> Counted {
        let counts = directory.join("counts");
        let mut command = Command::new("valgrind");
        command
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", counts.display()))
            .arg(mote_binary());
        let server = TestServer::open_command(command, &directory.join("data"), &["--workers", "1"]);
        Counted {
            server: server.unwrap_or_else(|said| panic!("no server under valgrind: {said}")),
            counts,
        }
    }

    /// The instructions of all threads since this was last asked. `part` counts the answers, from 1.
    fn taken(&self, part: usize) -> u64 {
        let asked = Command::new("callgrind_control")
            .arg("--dump")
            .arg(self.server.pid().to_string())
            .output()
            .expect("callgrind_control comes with valgrind");
        assert!(asked.status.success(), "{asked:?}");
        let file = format!("{}.{part}", self.counts.display());
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let totals = text.lines().find_map(|line| line.strip_prefix("totals: "));
        totals
            .and_then(|number| number.trim().parse().ok())
            .unwrap_or_else(|| panic!("{file} has no totals"))
    }

    fn run(&self, script: &Path, transactions: u64) {
        let mut pgbench = client("pgbench", &self.server);
        pgbench.args(["-n", "-M", "prepared", "--random-seed=7", "-c", "1", "-t"]);
        pgbench.arg(transactions.to_string()).arg("-f").arg(script);
        let said = run_with_input(&mut pgbench, "", "install postgresql-client").good();
        assert!(
            said.contains(&format!("{transactions}/{transactions}")),
            "not all of them were done: {said}"
        );
    }
}

fn compiler() -> String {
    let output = Command::new("rustc")
        .arg("--version")
        .output()
        .expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// `name instructions` per line, and the compiler's version behind `compiler`.
fn recorded(name: &str) -> Option<&'static str> {
    RECORDED
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

#[test]
fn transactions_take_no_more_instructions_than_recorded() {
    if cfg!(debug_assertions) && std::env::var_os("MOTE_BIN").is_none() {
        panic!("counts are those of a release binary: set MOTE_BIN");
    }
    let directory = TemporaryDirectory::new("instructions");
    let counted = Counted::start(directory.path());
    psql_strict(&counted.server, include_str!("instructions/schema.sql")).good();
    let mut part = 0;
    let mut taken = || {
        part += 1;
        counted.taken(part)
    };
    taken();
    let mut found = format!("compiler {}\n", compiler());
    let mut complaints = Vec::new();
    let tolerance = match recorded("compiler") == Some(&compiler()) {
        true => TOLERANCE,
        false => TOLERANCE_OF_OTHER_COMPILER,
    };
    for (name, text) in SCRIPTS {
        let script = directory.path().join(format!("{name}.sql"));
        std::fs::write(&script, text).expect("it can be written");
        // The first run plans and fills caches.
        counted.run(&script, RUNS[0]);
        taken();
        let [few, many] = RUNS.map(|transactions| {
            counted.run(&script, transactions);
            taken()
        });
        let each = (many - few) / (RUNS[1] - RUNS[0]);
        println!("{name}: {each} instructions");
        found.push_str(&format!("{name} {each}\n"));
        match recorded(name).and_then(|number| number.parse::<u64>().ok()) {
            Some(record) if each * 100 > record * (100 + tolerance) => {
                complaints.push(format!("{name}: {each} instructions, {record} are recorded"));
            }
            Some(_) => {}
            None => complaints.push(format!("{name}: {each} instructions, none are recorded")),
        }
    }
    if std::env::var_os("MOTE_INSTRUCTIONS_WRITE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/recorded.txt");
        std::fs::write(path, found).expect("it can be written");
        return;
    }
    assert!(complaints.is_empty(), "{complaints:#?}\n{found}");
}
