//! What another thread of this process does: whether it computes, waits for something, or waits for a core only.
//!
//! The monitor asks where a session has not given its thread back. A thread that the kernel merely did not run is no reason
//! to start another one, which would wait for a core as well.

use std::time::Duration;

use rustix::thread::Pid;

/// Processor time of a thread since it started; zero where it has ended.
pub fn processor_time(thread: Pid) -> Duration {
    // Linux's number of a thread's processor clock: the thread inverted, above three bits of which 4 says "of a thread" and
    // 2 "as the scheduler counts" (include/linux/posix-timers_types.h).
    let clock: libc::clockid_t = (!thread.as_raw_nonzero().get() << 3) | 4 | 2;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time`, which is ours, or refuses the clock and leaves it alone.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The thread could go on if it had a core, or has one. False where the kernel does not tell: then it counts as held up.
pub fn is_runnable(thread: Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", thread.as_raw_nonzero());
    // "TID (name) STATE ..": a name may hold parentheses, but not what follows the last one.
    std::fs::read_to_string(path).is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('R'))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_waits_is_told_from_one_that_computes() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let waits = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).expect("somebody listens");
            let _ = ended.recv();
        });
        let thread = told.recv().expect("the thread runs");
        while is_runnable(thread) {
            std::thread::yield_now();
        }
        let before = processor_time(thread);
        assert!(before > Duration::ZERO);
        let own = processor_time(rustix::thread::gettid());
        while processor_time(rustix::thread::gettid()) < own + Duration::from_millis(2) {}
        assert!(is_runnable(rustix::thread::gettid()));
        assert_eq!(processor_time(thread), before);
        drop(end);
        waits.join().expect("no panic");
    }
}
