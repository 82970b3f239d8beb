//! Threads that do not interrupt others: Linux's SCHED_BATCH.
//!
//! A thread that is woken may take the processor from the one that runs there. Where threads wake each other for every message
//! and share too few processors, each is then interrupted for one message, instead of leaving several for the others. A
//! thread of this policy waits until a processor is free, or its turn has come; else it is scheduled like any other.
//!
//! Source: sched(7). Kept here because rustix has no call for it.

/// Makes the calling thread, and threads it starts from here on, let whoever runs go on. Where the system refuses, or has no such
/// policy, nothing changes.
#[cfg(target_os = "linux")]
pub fn interrupt_nobody() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads the parameters, which live to its end. Pid 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
}

#[cfg(not(target_os = "linux"))]
pub fn interrupt_nobody() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_the_threads_own() {
        // SAFETY: the call takes no pointers; pid 0 is the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let there = std::thread::spawn(move || {
            interrupt_nobody();
            policy()
        });
        assert_eq!(there.join().expect("no panic"), libc::SCHED_BATCH);
        assert_eq!(policy(), before);
    }
}
