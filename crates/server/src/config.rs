//! What a server is started with.

use std::net::SocketAddr;

use crate::auth::AuthMethod;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    pub auth: AuthMethod,
    /// Event loops; 0 = one per core.
    pub workers: usize,
    /// Sessions at a time; one more is refused with 53300.
    pub connections_max: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 5432)),
            auth: AuthMethod::Trust,
            workers: 0,
            connections_max: 2000,
        }
    }
}
