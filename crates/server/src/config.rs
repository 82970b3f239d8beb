//! What a server is started with.

use std::net::SocketAddr;
use std::time::Duration;

use crate::auth::AuthMethod;
use crate::capacity::Capacity;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    pub auth: AuthMethod,
    /// Event loops; 0 = one per core.
    pub workers: usize,
    /// Places for sessions, and for connections that have not authenticated yet.
    pub capacity: Capacity,
    /// A client has this long to authenticate.
    pub authentication_timeout: Duration,
    /// Log that is kept for a follower which is away.
    pub slot_log_bytes_max: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 5432)),
            auth: AuthMethod::Trust,
            workers: 0,
            capacity: Capacity::default(),
            authentication_timeout: Duration::from_secs(60),
            slot_log_bytes_max: 16 << 30,
        }
    }
}
