//! File descriptors of the process: its limit, and the errors of those who get none.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Where the system sets no limit.
const UNLIMITED: u64 = 1 << 30;

/// Raises the soft limit to the hard one and answers what may be open at a time. The usual soft limit of 1,024 is for
/// programs that call `select`.
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Where that is refused, what is allowed already has to do.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(UNLIMITED)
}

/// Whether an error says that the process (EMFILE) or the machine (ENFILE) has no descriptor left: it says nothing about
/// the disk, and goes away when somebody closes a file.
pub fn are_exhausted(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart() {
        for (errno, expected) in [(Errno::MFILE, true), (Errno::NFILE, true), (Errno::NOSPC, false)] {
            assert_eq!(are_exhausted(&io::Error::from(errno)), expected, "{errno}");
        }
        assert!(!are_exhausted(&io::Error::other("too many open files")));
    }

    #[test]
    fn the_limit_is_the_hard_one() {
        let limit = raise_limit();
        assert_eq!(limit, getrlimit(Resource::Nofile).maximum.unwrap_or(UNLIMITED));
    }
}
