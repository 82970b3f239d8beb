//! Processor time and memory of a process and all its descendants, from /proc.
//!
//! PostgreSQL runs a process per connection, mote one process: the sum over the tree is comparable. The time of
//! children that have ended is in their parent's `cutime`, so the sum never goes back while sessions come and go.

use std::collections::{HashMap, HashSet};
use std::{fs, io};

use rustix::process::Pid;

use super::pinning::Processors;

/// Kernel clock ticks per second in /proc: USER_HZ, 100 on every Linux architecture.
const TICKS_PER_SECOND: f64 = 100.0;

struct ProcessStat {
    parent: u32,
    /// User and system time, own and of reaped children.
    ticks: u64,
    own_ticks: u64,
}

fn read_stat(pid: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command in parentheses may hold anything, so fields are counted from the last parenthesis.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    let own_ticks = number(11)? + number(12)?;
    Some(ProcessStat {
        parent: number(1)? as u32,
        ticks: own_ticks + number(13)? + number(14)?,
        own_ticks,
    })
}

fn all_pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Servers that are measured together at most.
const ROOTS_MAX: usize = 16;

/// The processes of a server, named by their root, or of several servers that are measured as one.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTree {
    /// The first `count` are meant.
    roots: [u32; ROOTS_MAX],
    count: usize,
}

impl ProcessTree {
    pub fn new(root: u32) -> Option<ProcessTree> {
        ProcessTree::of(&[root])
    }

    /// `None` if one of them is not there.
    pub fn of(servers: &[u32]) -> Option<ProcessTree> {
        let mut tree = ProcessTree {
            roots: [0; ROOTS_MAX],
            count: servers.len(),
        };
        tree.roots.get_mut(..servers.len())?.copy_from_slice(servers);
        servers
            .iter()
            .all(|root| read_stat(*root).is_some())
            .then_some(tree)
    }

    fn roots(&self) -> &[u32] {
        &self.roots[..self.count]
    }

    fn all_there(&self, members: &[(u32, ProcessStat)]) -> bool {
        let there = |root: &u32| members.iter().any(|(pid, _)| pid == root);
        self.roots().iter().all(there)
    }

    fn members(&self) -> Vec<(u32, ProcessStat)> {
        let mut stats: HashMap<u32, ProcessStat> = all_pids()
            .into_iter()
            .filter_map(|pid| Some((pid, read_stat(pid)?)))
            .collect();
        let mut members: HashSet<u32> = self.roots().iter().copied().collect();
        loop {
            let found: Vec<u32> = stats
                .iter()
                .filter(|(pid, stat)| !members.contains(pid) && members.contains(&stat.parent))
                .map(|(pid, _)| *pid)
                .collect();
            if found.is_empty() {
                break;
            }
            members.extend(found);
        }
        members
            .into_iter()
            .filter_map(|pid| Some((pid, stats.remove(&pid)?)))
            .collect()
    }

    /// All its processes, the root first: whoever is signalled cannot start another of them any more.
    pub fn pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.members().into_iter().map(|(pid, _)| pid).collect();
        pids.sort_by_key(|pid| (!self.roots().contains(pid), *pid));
        pids
    }

    /// Lets all its threads, and those that they will make, run on these only.
    pub fn pin(&self, processors: &Processors) -> io::Result<()> {
        for pid in self.pids() {
            for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let id = thread.file_name().to_str().and_then(|name| name.parse().ok());
                if let Some(id) = id.and_then(Pid::from_raw) {
                    processors.keep(Some(id))?;
                }
            }
        }
        Ok(())
    }

    /// Seconds of processor time since the processes began; `None` once the root has gone, and the sum with it.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let members = self.members();
        self.all_there(&members)
            .then(|| members.iter().map(|(_, stat)| stat.ticks as f64).sum::<f64>() / TICKS_PER_SECOND)
    }

    /// Everything about the tree in one pass; `None` once the root has gone. Cheap enough for every second: shared
    /// memory is taken as the largest that one process has touched, since dividing it exactly walks all page tables.
    pub fn usage(&self) -> Option<Usage> {
        let members = self.members();
        if !self.all_there(&members) {
            return None;
        }
        let (mut cpu_s, mut private, mut shared, mut io_bytes) = (0.0, 0, 0, Some((0, 0)));
        for (pid, stat) in &members {
            cpu_s += stat.ticks as f64 / TICKS_PER_SECOND;
            let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
            let (own, with_others) = parse_statm(&text);
            private += own;
            shared = with_others.max(shared);
            let io = fs::read_to_string(format!("/proc/{pid}/io")).ok();
            io_bytes = io_bytes
                .zip(io.as_deref().and_then(parse_io))
                .map(|(sum, io): ((u64, u64), _)| (sum.0 + io.0, sum.1 + io.1));
        }
        Some(Usage {
            cpu_s,
            memory_bytes: private + shared,
            io_bytes,
        })
    }

    /// Memory that belongs to the tree, shared pages counted once where the kernel says so (Pss).
    pub fn memory_bytes(&self) -> u64 {
        self.members()
            .iter()
            .map(|(pid, _)| proportional_set_bytes(*pid))
            .sum()
    }
}

/// What a process tree has used up, and the memory that it holds.
pub struct Usage {
    pub cpu_s: f64,
    pub memory_bytes: u64,
    /// Read from and written to disks; `None` where this user may not look.
    pub io_bytes: Option<(u64, u64)>,
}

/// Bytes of resident pages that belong to the process alone, and of those that it shares.
fn parse_statm(text: &str) -> (u64, u64) {
    let mut fields = text
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (fields.next().unwrap_or(0), fields.next().unwrap_or(0));
    let page = rustix::param::page_size() as u64;
    (resident.saturating_sub(shared) * page, shared * page)
}

fn parse_io(text: &str) -> Option<(u64, u64)> {
    let number = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    Some((number("read_bytes:")?, number("write_bytes:")?))
}

fn proportional_set_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("Pss:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Seconds of processor time of this process alone: the driver's own cost.
pub fn own_cpu_seconds() -> f64 {
    read_stat(std::process::id()).map_or(0.0, |stat| stat.own_ticks as f64 / TICKS_PER_SECOND)
}

/// Whether a process still holds files and sockets. One that was killed gives them up before anybody has buried it.
pub fn holds_files(pid: u32) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut entries| entries.next().is_some())
}

/// The process that listens on a TCP port of this machine: the lowest pid that holds the listening socket, which is
/// the postmaster for PostgreSQL. Needs the right to read the server's /proc/<pid>/fd.
pub fn listener_of(port: u16) -> Option<u32> {
    let inodes: HashSet<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| {
            table
                .lines()
                .filter_map(|line| listening_inode(line, port))
                .collect::<Vec<_>>()
        })
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let mut pids = all_pids();
    pids.sort_unstable();
    pids.into_iter().find(|pid| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        descriptors
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|link| link.to_str().is_some_and(|link| inodes.contains(link)))
    })
}

/// The socket inode of a /proc/net/tcp line that is in state LISTEN on `port`.
fn listening_inode(line: &str, port: u16) -> Option<String> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let local_port = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
    (local_port == port && *fields.get(3)? == "0A").then(|| fields.get(9).map(|inode| inode.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_line_with_a_nasty_name() {
        let stat = parse_stat("42 (a) b) S 7 1 1 0 -1 0 1 2 3 4 100 20 3 4 20 0 1 0 5").expect("well formed");
        assert_eq!((stat.parent, stat.own_ticks, stat.ticks), (7, 120, 127));
        assert!(parse_stat("42 (short) S 7").is_none());
    }

    #[test]
    fn memory_and_disk_lines() {
        let page = rustix::param::page_size() as u64;
        assert_eq!(parse_statm("900 50 20 1 0 3 0"), (30 * page, 20 * page));
        let io = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        assert_eq!(parse_io(io), Some((5, 6)));
        assert_eq!(parse_io("rchar: 1\n"), None);
    }

    #[test]
    fn finds_this_process_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        assert_eq!(listener_of(port), Some(std::process::id()));
        let tree = ProcessTree::new(std::process::id()).expect("this process lives");
        assert!(tree.memory_bytes() > 0);
        assert!(tree.cpu_seconds().is_some());
    }
}
