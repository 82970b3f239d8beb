//! What the system knows of a server's process: memory, descriptors, calls.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::TestServer;

impl TestServer {
    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.pid()))
    }

    /// A number that a line of a file in /proc gives.
    #[track_caller]
    fn proc_number(&self, file: &str, name: &str) -> u64 {
        let text = std::fs::read_to_string(self.proc(file)).expect("the server runs");
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number.expect("the kernel tells").parse().expect("a number")
    }

    /// Memory that the process has touched and not given back.
    pub fn resident_bytes(&self) -> u64 {
        self.proc_number("status", "VmRSS:") * 1024
    }

    /// How often the process called write and its kin.
    pub fn write_calls(&self) -> u64 {
        self.proc_number("io", "syscw:")
    }

    /// Processor time of all threads so far.
    pub fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(self.proc("stat")).expect("the server runs");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.map(|field| field.parse::<u64>().expect("a number")).sum();
        Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    pub fn open_descriptors(&self) -> usize {
        let entries = std::fs::read_dir(self.proc("fd")).expect("the server runs");
        entries.count()
    }

    /// Changes the limit of open files of the running server; the hard limit stays.
    pub fn limit_descriptors(&self, limit: u64) {
        let pid = Pid::from_raw(self.pid() as i32).expect("a process number");
        let limits = std::fs::read_to_string(self.proc("limits")).expect("the server runs");
        let files = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max open files"));
        let hard = files
            .and_then(|rest| rest.split_whitespace().nth(1))
            .expect("the kernel tells");
        let wanted = Rlimit {
            current: Some(limit),
            maximum: Some(hard.parse().expect("a number")),
        };
        prlimit(Some(pid), Resource::Nofile, wanted).expect("the server is ours");
    }
}

/// How long threads may go on after a SIGSTOP: one of them takes the signal, and the others learn of it when the system gives
/// that one a core.
const STOP_LONGEST: Duration = Duration::from_secs(60);

/// Waits until all threads of a process stand still that was sent a SIGSTOP.
#[track_caller]
pub fn await_standstill(pid: u32) {
    await_that("a stopped process stands still", STOP_LONGEST, || is_stopped(pid));
}

fn is_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    threads.is_ok_and(|mut threads| {
        threads.all(|thread| {
            let stat = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("stat")));
            // The name before the state may have brackets and blanks.
            stat.is_ok_and(|stat| {
                stat.rsplit(") ")
                    .next()
                    .is_some_and(|state| state.starts_with('T'))
            })
        })
    })
}

/// Waits until something holds; panics with what was expected if it does not in time.
#[track_caller]
pub fn await_that(what: &str, longest: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + longest;
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
