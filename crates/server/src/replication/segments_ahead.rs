//! The thread that makes a follower's next log segment ready while the one before is written.
//!
//! The zeros of a segment take some tenths of a second. The thread that takes the log made them itself where it came to a
//! segment's end, and commits of the primary that wait for this follower waited for that, each 64 MB.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use mote_log::intake::Ahead;

pub(super) struct SegmentsAhead {
    wanted: Option<SyncSender<Ahead>>,
    thread: Option<JoinHandle<()>>,
}

impl SegmentsAhead {
    pub fn start() -> io::Result<SegmentsAhead> {
        let (wanted, asked) = sync_channel::<Ahead>(1);
        let thread = std::thread::Builder::new()
            .name("mote-log-ahead".into())
            .spawn(move || asked.iter().for_each(|ahead| ahead.make()))?;
        Ok(SegmentsAhead {
            wanted: Some(wanted),
            thread: Some(thread),
        })
    }

    /// Returns at once. Where one waits already to be made, that is the same.
    pub fn make(&self, ahead: Ahead) {
        if let Some(wanted) = &self.wanted {
            let _ = wanted.try_send(ahead);
        }
    }
}

/// Nothing is made any more when this returns. Whoever ends it early has the intake give up before.
impl Drop for SegmentsAhead {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            // A panic of it was reported by the hook.
            let _ = thread.join();
        }
    }
}
