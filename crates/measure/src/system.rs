//! What the machine and the server's processes use up each second, from /proc and /sys: processors, memory, disks,
//! flushes, network.
//!
//! Counters are read at the seconds of the run's clock, and their differences are the series. Reading costs one pass over
//! /proc per second on the thread that otherwise waits for the drivers.
//! Leaves out: machines other than this one. A server elsewhere has no series of its own.

use std::fs;

use serde::Serialize;

use super::cpu::{self, ProcessTree};

const TICKS_PER_SECOND: f64 = 100.0;
/// /proc and /sys count sectors of this size, whatever the device's are.
const SECTOR_BYTES: u64 = 512;

/// One second of the machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SystemPoint {
    /// End of the interval, in seconds since the measured window began.
    pub second: f64,
    pub seconds: f64,
    /// Processors in use on the machine, those that waited for a disk, and how many there are.
    pub cpu_busy: f64,
    pub cpu_waiting: f64,
    pub cpus: f64,
    /// Processors used by the server's processes and by this one.
    pub server_cpu: Option<f64>,
    pub driver_cpu: f64,
    pub server_memory_bytes: Option<u64>,
    pub available_memory_bytes: u64,
    /// What the server's processes asked the disks for, where this user may look.
    pub server_read_bytes: Option<u64>,
    pub server_written_bytes: Option<u64>,
    /// All disks of the machine.
    pub disk_read_bytes: u64,
    pub disk_written_bytes: u64,
    pub disk_reads: u64,
    pub disk_writes: u64,
    pub disk_flushes: u64,
    /// Bytes received: over the loopback, and over all other interfaces.
    pub loopback_bytes: u64,
    pub network_bytes: u64,
}

/// What had been used up at one moment, which only grows, and what memory there was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    busy_s: f64,
    waiting_s: f64,
    server_cpu_s: Option<f64>,
    driver_cpu_s: f64,
    server_io: Option<(u64, u64)>,
    server_memory_bytes: Option<u64>,
    pub available_memory_bytes: u64,
    pub disk: DiskCounters,
    loopback_bytes: u64,
    network_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounters {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
}

impl Reading {
    pub fn read(server: Option<ProcessTree>) -> Reading {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (busy_s, waiting_s) = machine_cpu(&text("/proc/stat"));
        let (loopback_bytes, network_bytes) = received_bytes(&text("/proc/net/dev"));
        let mut disk = DiskCounters::default();
        for device in disks() {
            disk.add(parse_disk(&text(&format!("/sys/block/{device}/stat"))));
        }
        let usage = server.as_ref().and_then(ProcessTree::usage);
        Reading {
            busy_s,
            waiting_s,
            server_cpu_s: usage.as_ref().map(|usage| usage.cpu_s),
            driver_cpu_s: cpu::own_cpu_seconds(),
            server_io: usage.as_ref().and_then(|usage| usage.io_bytes),
            server_memory_bytes: usage.as_ref().map(|usage| usage.memory_bytes),
            available_memory_bytes: available_memory(&text("/proc/meminfo")),
            disk,
            loopback_bytes,
            network_bytes,
        }
    }

    /// What passed from `earlier` to this moment, and what there is of memory now.
    pub fn since(&self, earlier: &Reading, seconds: f64) -> SystemPoint {
        let per_second = |now: f64, before: f64| ((now - before) / seconds.max(1e-9)).max(0.0);
        let io = self.server_io.zip(earlier.server_io);
        let (disk, before) = (self.disk, earlier.disk);
        SystemPoint {
            second: 0.0,
            seconds,
            cpu_busy: per_second(self.busy_s, earlier.busy_s),
            cpu_waiting: per_second(self.waiting_s, earlier.waiting_s),
            cpus: std::thread::available_parallelism().map_or(1.0, |number| number.get() as f64),
            server_cpu: self
                .server_cpu_s
                .zip(earlier.server_cpu_s)
                .map(|(now, before)| per_second(now, before)),
            driver_cpu: per_second(self.driver_cpu_s, earlier.driver_cpu_s),
            server_memory_bytes: self.server_memory_bytes,
            available_memory_bytes: self.available_memory_bytes,
            // A process that ended takes its counters along until its parent has asked for them.
            server_read_bytes: io.map(|(now, before)| now.0.saturating_sub(before.0)),
            server_written_bytes: io.map(|(now, before)| now.1.saturating_sub(before.1)),
            // A disk that is taken away takes its counters along, too.
            disk_read_bytes: disk.read_bytes.saturating_sub(before.read_bytes),
            disk_written_bytes: disk.written_bytes.saturating_sub(before.written_bytes),
            disk_reads: disk.reads.saturating_sub(before.reads),
            disk_writes: disk.writes.saturating_sub(before.writes),
            disk_flushes: disk.flushes.saturating_sub(before.flushes),
            loopback_bytes: self.loopback_bytes.saturating_sub(earlier.loopback_bytes),
            network_bytes: self.network_bytes.saturating_sub(earlier.network_bytes),
        }
    }
}

impl DiskCounters {
    fn add(&mut self, other: DiskCounters) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.flushes += other.flushes;
    }
}

/// Reads the counters at every second of the run's clock.
pub struct SystemWatch {
    server: Option<ProcessTree>,
    tick_ns: u64,
    last_ns: u64,
    last: Reading,
    /// By the time of their end on the run's clock.
    points: Vec<(u64, SystemPoint)>,
}

impl SystemWatch {
    pub fn start(server: Option<ProcessTree>, now_ns: u64, tick_ns: u64) -> SystemWatch {
        SystemWatch {
            server,
            tick_ns,
            last_ns: now_ns,
            last: Reading::read(server),
            points: Vec::new(),
        }
    }

    /// Reads if a second has passed; answers when the next one will have.
    pub fn observe(&mut self, now_ns: u64) -> u64 {
        if now_ns / self.tick_ns > self.last_ns / self.tick_ns {
            self.take(now_ns);
        }
        (self.last_ns / self.tick_ns + 1) * self.tick_ns
    }

    fn take(&mut self, now_ns: u64) {
        let now = Reading::read(self.server);
        let seconds = now_ns.saturating_sub(self.last_ns) as f64 / 1e9;
        self.points.push((now_ns, now.since(&self.last, seconds)));
        (self.last_ns, self.last) = (now_ns, now);
    }

    /// How many seconds have been read.
    pub fn seen(&self) -> usize {
        self.points.len()
    }

    /// The last second, on the clock of a window that begins at `from`.
    pub fn latest(&self, from: u64) -> Option<SystemPoint> {
        let (at_ns, point) = self.points.last()?;
        Some(SystemPoint {
            second: (*at_ns as f64 - from as f64) / 1e9,
            ..point.clone()
        })
    }

    /// The series from the run's begin to its end, the last reading being that of now.
    pub fn finish(mut self, now_ns: u64, begin_ns: u64, window: (u64, u64)) -> Vec<SystemPoint> {
        self.take(now_ns);
        let inside = self.points.into_iter().filter(|(at_ns, point)| {
            *at_ns > begin_ns && at_ns.saturating_sub((point.seconds * 1e9) as u64) <= window.1
        });
        inside
            .map(|(at_ns, point)| SystemPoint {
                second: (at_ns as f64 - window.0 as f64) / 1e9,
                ..point
            })
            .collect()
    }
}

/// Whole disks: partitions, loop devices and what is stacked on disks would count twice.
fn disks() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = devices.filter_map(|device| device.file_name().into_string().ok());
    names
        .filter(|name| {
            let stacked = ["loop", "ram", "zram", "dm-", "md", "sr", "fd"];
            !stacked.iter().any(|prefix| name.starts_with(prefix))
        })
        .collect()
}

/// Whether a durable write shows as a flush on all disks that hold data: they have a cache that forgets, and no write that
/// goes past it (FUA). Otherwise durable writes may come without flushes.
pub fn disks_need_flushes() -> bool {
    let disks = disks();
    let says = |disk: &str, what: &str| {
        fs::read_to_string(format!("/sys/block/{disk}/queue/{what}"))
            .unwrap_or_default()
            .trim()
            .to_string()
    };
    let used = disks.iter().filter(|disk| {
        parse_disk(&fs::read_to_string(format!("/sys/block/{disk}/stat")).unwrap_or_default()).writes > 0
    });
    let mut used = used.peekable();
    used.peek().is_some()
        && used.all(|disk| says(disk, "write_cache") == "write back" && says(disk, "fua") == "0")
}

fn parse_disk(stat: &str) -> DiskCounters {
    let fields: Vec<u64> = stat
        .split_ascii_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    DiskCounters {
        reads: field(0),
        read_bytes: field(2) * SECTOR_BYTES,
        writes: field(4),
        written_bytes: field(6) * SECTOR_BYTES,
        flushes: field(15),
    }
}

/// Seconds that processors worked and waited for disks, from the first line of /proc/stat.
fn machine_cpu(stat: &str) -> (f64, f64) {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    let tick = |index: usize| ticks.get(index).copied().unwrap_or(0.0);
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already
    let busy: f64 = [0, 1, 2, 5, 6, 7].into_iter().map(tick).sum();
    (busy / TICKS_PER_SECOND, tick(4) / TICKS_PER_SECOND)
}

/// Bytes received over the loopback and over everything else.
fn received_bytes(table: &str) -> (u64, u64) {
    let (mut loopback, mut others) = (0, 0);
    for line in table.lines().skip(2) {
        let Some((name, numbers)) = line.split_once(':') else {
            continue;
        };
        let received = numbers
            .split_ascii_whitespace()
            .next()
            .and_then(|field| field.parse::<u64>().ok());
        *if name.trim() == "lo" {
            &mut loopback
        } else {
            &mut others
        } += received.unwrap_or(0);
    }
    (loopback, others)
}

fn available_memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find(|line| line.starts_with("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(
            machine_cpu("cpu  100 50 25 9000 700 5 10 10 33 0\ncpu0 1 1 1"),
            (2.0, 7.0)
        );
        let table = "Inter-|   Receive\n face |bytes\n    lo: 500 1 0\n  eth0: 70 2 0\n  eth1:30 2 0\n";
        assert_eq!(received_bytes(table), (500, 100));
        let disk = parse_disk("10 1 20 3 40 5 60 7 0 8 9 0 0 0 0 11 12");
        let expected = DiskCounters {
            reads: 10,
            read_bytes: 20 * 512,
            writes: 40,
            written_bytes: 60 * 512,
            flushes: 11,
        };
        assert_eq!(disk, expected);
        assert_eq!(available_memory("MemTotal: 9 kB\nMemAvailable:    3 kB\n"), 3072);
    }

    #[test]
    fn counters_that_fall_are_no_use_at_all() {
        let disk = DiskCounters {
            reads: 5,
            read_bytes: 5,
            writes: 5,
            written_bytes: 5,
            flushes: 5,
        };
        let earlier = Reading {
            disk,
            loopback_bytes: 5,
            server_io: Some((5, 5)),
            ..Reading::default()
        };
        let point = Reading {
            server_io: Some((0, 0)),
            ..Reading::default()
        }
        .since(&earlier, 1.0);
        let fallen = [
            point.disk_reads,
            point.disk_read_bytes,
            point.disk_writes,
            point.disk_written_bytes,
            point.disk_flushes,
            point.loopback_bytes,
        ];
        assert_eq!(fallen, [0; 6]);
        assert_eq!(
            (point.server_read_bytes, point.server_written_bytes),
            (Some(0), Some(0))
        );
    }

    /// The collector against the truth that this process makes itself: a second of a busy processor, and a megabyte written.
    #[test]
    fn sees_what_this_process_does() {
        let own = ProcessTree::new(std::process::id());
        let before = Reading::read(own);
        let path = std::env::temp_dir().join(format!("mote-bench-collector-{}", std::process::id()));
        let mut file = fs::File::create(&path).expect("a temporary file");
        file.write_all(&vec![1u8; 1 << 20]).expect("written");
        file.sync_all().expect("synced");
        fs::remove_file(&path).expect("it is ours");
        let started = cpu::own_cpu_seconds();
        while cpu::own_cpu_seconds() < started + 0.3 {
            std::hint::black_box(std::collections::BTreeMap::from([(1, 2)]));
        }
        let point = Reading::read(own).since(&before, 1.0);
        assert!(point.driver_cpu >= 0.29, "{point:?}");
        assert!(point.server_cpu.is_some_and(|cores| cores >= 0.29), "{point:?}");
        assert!(point.cpu_busy >= 0.25, "{point:?}");
        assert!(
            point.server_memory_bytes.is_some_and(|bytes| bytes > 1 << 20),
            "{point:?}"
        );
        assert!(point.available_memory_bytes > 1 << 20);
    }
}
