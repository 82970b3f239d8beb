//! Starting and stopping: threads, and what all of them share.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use mote_common::Lsn;
use mote_common::env::Clock;
use mote_engine::Engine;
use mote_exec::database::Database;
use mote_exec::password::Verifier;

use crate::config::ServerConfig;
use crate::half_open::HalfOpen;
use crate::net::acceptor::Acceptor;
use crate::net::crew::Crew;
use crate::net::long::LongStatements;
use crate::net::waker::{HorizonWaker, Inbox, Message};
use crate::net::worker::Worker;
use crate::registry::Registry;
use crate::starting::Starting;

/// What every connection can reach.
pub struct Shared {
    pub config: ServerConfig,
    pub database: Arc<Database>,
    pub registry: Arc<Registry>,
    pub half_open: Arc<HalfOpen>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Salts the answers for users that do not exist.
    secret: [u8; 32],
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

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// Trust beyond loopback would let anybody in.
    Unprotected(SocketAddr),
    Listen(SocketAddr, io::Error),
    Thread(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Unprotected(address) => write!(
                f,
                "will not listen on {address}: it can be reached from other machines, and connections are not \
                 authenticated. Use --auth scram-sha-256 (and give roles passwords), or a loopback address."
            ),
            StartError::Listen(address, error) => write!(f, "could not listen on {address}: {error}"),
            StartError::Thread(error) => write!(f, "could not start a thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    inboxes: Vec<Arc<Inbox>>,
    stop: Arc<AtomicBool>,
    crew: Arc<Crew>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the threads, on the socket that refused clients so far. The database is recovered and its background
    /// threads run already.
    pub fn start(
        database: Arc<Database>,
        config: ServerConfig,
        door: Starting,
    ) -> Result<Server, StartError> {
        let address = door.address();
        let listener = door.finish();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = if config.workers == 0 {
            cores
        } else {
            config.workers
        };
        let mut secret = [0u8; 32];
        mote_common::env::real::fill_entropy(&mut secret);
        let clock = database.clock().clone();
        let capacity = config.capacity;
        let shared = Arc::new(Shared {
            config,
            database,
            registry: Arc::new(Registry::new(capacity.sessions_max)),
            half_open: Arc::new(HalfOpen::new(
                capacity.half_open_max,
                capacity.half_open_per_address_max(),
            )),
            clock,
            secret,
        });
        let long = Arc::new(LongStatements::new(count));
        let workers: io::Result<Vec<Box<Worker>>> = (0..count)
            .map(|_| Worker::new(shared.clone(), long.clone()).map(Box::new))
            .collect();
        let workers = workers.map_err(StartError::Thread)?;
        let mut server = Server {
            shared: shared.clone(),
            address,
            inboxes: workers.iter().map(|worker| worker.inbox()).collect(),
            stop: Arc::new(AtomicBool::new(false)),
            crew: Crew::new(long),
            acceptor: None,
        };
        shared.engine().on_horizon(Arc::new(HorizonWaker {
            workers: server.inboxes.clone(),
            database: Arc::downgrade(&shared.database),
            generation: AtomicU64::new(0),
        }));
        server.crew.start(workers).map_err(StartError::Thread)?;
        let (inboxes, stop) = (server.inboxes.clone(), server.stop.clone());
        let acceptor = std::thread::Builder::new()
            .name("acceptor".into())
            .spawn(move || Acceptor::new(listener, inboxes, stop, shared).run());
        server.acceptor = Some(acceptor.map_err(StartError::Thread)?);
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all sessions (57P01), waits for the threads. The database stays open for the caller to close.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.shared.database.sessions().terminate_all();
        for inbox in &self.inboxes {
            inbox.send(Message::Stop);
        }
        if self.acceptor.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("mote: the acceptor ended in a panic");
        }
        self.crew.join();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
