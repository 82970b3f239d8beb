//! The thread that frees what sessions discard (`mote_common::work`), at the priority of long statements: nobody waits for
//! it. It lives as long as the process, since what is freed belongs to no server.

use std::io;

use mote_common::work;

use super::post::lower_priority;

pub fn free_elsewhere() -> io::Result<()> {
    let free = || {
        lower_priority(None);
        work::free_discarded()
    };
    std::thread::Builder::new()
        .name("free".into())
        .spawn(free)
        .map(drop)
}
