//! The store that keeps a cluster's record: what the nodes ask of it, and what an answer means.
//!
//! Nothing of it is on a commit's path, and it need not be there while the quorum answers. Who asks over a network
//! (`mote_server::etcd`) may get no answer to a swap that was made: the outcome is then unknown, and is read back.

use crate::record::Record;

/// No answer, or none that can be used; a change that was asked for may have been made, or may be made later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoAnswer(pub String);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// Reads see every swap that was answered before they began.
pub trait Coordinator {
    /// `None`: nobody has recorded anything yet.
    fn read(&mut self) -> Result<Option<Record>, NoAnswer>;

    /// Puts `next` in the place of `expected`. False: something else stands there. Asked again with the same records the
    /// answer is the same: what stands there already was put.
    fn swap(&mut self, expected: Option<&Record>, next: &Record) -> Result<bool, NoAnswer>;
}
