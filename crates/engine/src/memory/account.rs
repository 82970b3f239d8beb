//! How an index asks for memory without knowing whose it is.

/// Where an index asks for its memory. Asked per node (4 KiB), never per entry.
pub trait MemoryAccount: Send + Sync {
    /// Takes `bytes` from the budget, or answers `false` and takes nothing.
    fn charge(&self, bytes: usize) -> bool;
    /// Gives `bytes` back.
    fn release(&self, bytes: usize);
}

/// An account without limit, for tests and tools.
#[derive(Debug, Default, Clone, Copy)]
pub struct UnlimitedMemory;

impl MemoryAccount for UnlimitedMemory {
    fn charge(&self, _bytes: usize) -> bool {
        true
    }

    fn release(&self, _bytes: usize) {}
}
