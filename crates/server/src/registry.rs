//! Counts connections, those still starting up included. Sessions by number stand in `exec::session::SessionDirectory`.

use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
pub struct Registry {
    connections: AtomicUsize,
}

impl Registry {
    pub fn connection_opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
