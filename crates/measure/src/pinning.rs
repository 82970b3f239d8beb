//! Processors that a server or the driver is kept on, so that neither takes the other's.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Some processors of this machine, by number; never none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processors(Vec<usize>);

impl Processors {
    pub fn one(number: usize) -> Processors {
        Processors(vec![number])
    }

    /// Of `threads` threads this one, by number, stays on a processor of its own, if there are as many as this process may use: else
    /// nothing changes.
    pub fn spread(thread: usize, threads: usize) -> io::Result<()> {
        let set = sched_getaffinity(None)?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number));
        if set.count() as usize != threads {
            return Ok(());
        }
        allowed
            .nth(thread)
            .map_or(Ok(()), |number| Processors::one(number).keep_this_thread())
    }

    /// Lets this thread, and those that it will make, run on these only.
    pub fn keep_this_thread(&self) -> io::Result<()> {
        self.keep(None)
    }

    /// `None` is this thread.
    pub(super) fn keep(&self, thread: Option<Pid>) -> io::Result<()> {
        let mut set = CpuSet::new();
        self.0.iter().for_each(|number| set.set(*number));
        match sched_setaffinity(thread, &set) {
            // One that has ended meanwhile runs nowhere.
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// As in `0`, `0-3` or `0,2,4-7`.
impl FromStr for Processors {
    type Err = String;

    fn from_str(text: &str) -> Result<Processors, String> {
        let wrong = || format!("\"{text}\" names no processors: give numbers and ranges, as in 0-3,6");
        let number = |text: &str| {
            let number = text.trim().parse::<usize>().ok();
            number
                .filter(|number| *number < CpuSet::MAX_CPU)
                .ok_or_else(wrong)
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong());
            }
            all.extend(first..=last);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Processors(all))
    }
}

impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

/// Who runs where, as in `0-1:2-3`: the server before the colon, the driver behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pins {
    pub server: Processors,
    pub driver: Processors,
}

impl FromStr for Pins {
    type Err = String;

    fn from_str(text: &str) -> Result<Pins, String> {
        let (server, driver) = text
            .split_once(':')
            .ok_or_else(|| format!("\"{text}\" is not of the form SERVER:DRIVER, as in 0-1:2-3"))?;
        Ok(Pins {
            server: server.parse()?,
            driver: driver.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_read() {
        let read = |text: &str| text.parse::<Processors>().map(|read| read.to_string());
        assert_eq!(read("0"), Ok("0".into()));
        assert_eq!(read("4-6,1,5"), Ok("1,4,5,6".into()));
        for wrong in ["", "a", "3-1", "1,,2", "-1", "99999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let pins: Pins = "0-1:2".parse().expect("valid");
        assert_eq!(
            (pins.server.to_string(), pins.driver.to_string()),
            ("0,1".into(), "2".into())
        );
        assert!("0-1".parse::<Pins>().is_err() && "0:".parse::<Pins>().is_err());
    }

    #[test]
    fn as_many_threads_as_processors_have_one_each() {
        let count = std::thread::available_parallelism().expect("known").get();
        // Where a spread thread of so many runs, and on how many processors.
        let spread = |thread: usize, threads: usize| {
            let there = std::thread::spawn(move || {
                Processors::spread(thread, threads).expect("the processors are there");
                let set = sched_getaffinity(None).expect("readable");
                let first = (0..CpuSet::MAX_CPU).find(|number| set.is_set(*number));
                (first, set.count() as usize)
            });
            there.join().expect("no panic")
        };
        let places: Vec<_> = (0..count).map(|thread| spread(thread, count)).collect();
        assert!(places.iter().all(|(_, count)| *count == 1), "{places:?}");
        assert!(places.is_sorted_by(|a, b| a.0 < b.0), "{places:?}");
        assert_eq!(spread(0, count + 1).1, count);
    }

    #[test]
    fn a_thread_and_those_it_makes_stay_where_they_are_kept() {
        let allowed = std::thread::spawn(|| {
            Processors::one(0)
                .keep_this_thread()
                .expect("there is a first processor");
            std::thread::spawn(|| std::thread::available_parallelism().map_or(0, usize::from))
                .join()
                .expect("no panic")
        });
        assert_eq!(allowed.join().expect("no panic"), 1);
    }
}
