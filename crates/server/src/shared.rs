//! What every connection of a server can reach.

use std::sync::Arc;

use mote_catalog::database::Database;
use mote_catalog::password::Verifier;
use mote_common::Lsn;
use mote_common::env::Clock;
use mote_engine::Engine;

use crate::config::ServerConfig;
use crate::half_open::HalfOpen;
use crate::registry::Registry;
use crate::replication::hub::Hub;

/// What every connection can reach.
pub struct Shared {
    pub config: ServerConfig,
    pub database: Arc<Database>,
    pub registry: Arc<Registry>,
    pub half_open: Arc<HalfOpen>,
    /// Those who follow this node; `None`: it follows itself.
    pub(crate) hub: Option<Arc<Hub>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Salts the answers for users that do not exist.
    pub(crate) secret: [u8; 32],
}

impl Shared {
    pub fn engine(&self) -> &Arc<Engine> {
        self.database.engine()
    }

    pub fn stable(&self) -> Lsn {
        self.database.engine().horizons().stable
    }

    pub fn now_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }

    /// The verifier to run the exchange with, and whether it belongs to a user that may log in with a password.
    pub fn verifier(&self, user: &str) -> (Verifier, bool) {
        match self
            .database
            .password_verifier(user)
            .as_deref()
            .and_then(Verifier::parse)
        {
            Some(verifier) => (verifier, true),
            None => (Verifier::mock(user, &self.secret), false),
        }
    }
}
