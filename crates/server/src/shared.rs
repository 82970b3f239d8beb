//! What every connection of a server can reach.

use std::sync::Arc;

use mote_catalog::database::Database;
use mote_catalog::password::{Secret, Verifier};
use mote_common::Lsn;
use mote_common::env::Clock;
use mote_engine::{Engine, Level};
use parking_lot::RwLock;

use crate::cluster::Seat;
use crate::config::ServerConfig;
use crate::half_open::HalfOpen;
use crate::lease::Lease;
use crate::registry::Registry;
use crate::replication::hub::Hub;
use crate::replication::synchronous;
use crate::tls::TlsContext;

/// What every connection can reach.
pub struct Shared {
    pub config: ServerConfig,
    pub database: Arc<Database>,
    pub registry: Arc<Registry>,
    pub half_open: Arc<HalfOpen>,
    /// Until when replies may leave.
    pub(crate) lease: Arc<Lease>,
    /// This node's place in its cluster; `None`: it is in none.
    pub(crate) seat: Option<Arc<Seat>>,
    /// Those who follow this node; `None`: it follows itself.
    pub(crate) hub: Option<Arc<Hub>>,
    /// For connections that begin now; None: TLS is not on.
    pub(crate) tls: RwLock<Option<Arc<TlsContext>>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Salts the answers for users that do not exist.
    pub(crate) secret: [u8; 32],
}

impl Shared {
    pub fn engine(&self) -> &Arc<Engine> {
        self.database.engine()
    }

    /// How far the log is at this level of `synchronous_commit`.
    pub fn reached(&self, level: Level) -> Lsn {
        self.database.engine().log().reached(level)
    }

    pub fn now_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }

    pub(crate) fn tls(&self) -> Option<Arc<TlsContext>> {
        self.tls.read().clone()
    }

    /// What the user's password is checked against, if he may log in with one.
    pub fn secret_of(&self, user: &str) -> Option<Secret> {
        Secret::parse(&self.database.password_verifier(user)?)
    }

    /// A verifier that no password fits, the same for a user at any time.
    pub fn mock_verifier(&self, user: &str) -> Verifier {
        Verifier::mock(user, &self.secret)
    }

    /// Reads settings, certificate, key and rules again. What cannot be used leaves the former in force, and the log says why.
    pub(crate) fn reload(&self) {
        match self.config.tls.as_ref().map(TlsContext::load).transpose() {
            Ok(context) => *self.tls.write() = context.map(Arc::new),
            Err(error) => eprintln!("mote: TLS goes on with the former certificate: {error}"),
        }
        let rules = self.config.read_rules();
        if let Err(error) = rules.and_then(|rules| self.database.hba().replace(rules)) {
            eprintln!("mote: the former rules for connections stay in force: {error}");
        }
        if let Err(error) = self.database.server_settings().reload() {
            eprintln!("mote: the former settings stay in force: {error}");
        }
        match synchronous::read(self.config.synchronous_standby_names.as_deref(), &self.database) {
            Ok(synchronous) => {
                if let Some(hub) = &self.hub {
                    hub.wait_for(synchronous);
                }
            }
            Err(error) => eprintln!("mote: commits wait for whom they did before: {error}"),
        }
        self.database.note_reload();
    }
}
