//! Starting and stopping: the threads of a server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;

use mote_catalog::database::Database;
use mote_engine::HorizonListener;
use parking_lot::RwLock;

use crate::analyzer::Analyzer;
use crate::cluster::Seat;
use crate::config::ServerConfig;
use crate::half_open::HalfOpen;
use crate::lease::{Lease, LeaseListener};
use crate::net::acceptor::Acceptor;
use crate::net::crew::Crew;
use crate::net::homes::Homes;
use crate::net::inbox::{HorizonWaker, Inbox, LeaseWaker, Message};
use crate::net::long::LongStatements;
use crate::net::worker::Worker;
use crate::registry::Registry;
use crate::replication::hub::{Counting, Hub, HubThread};
use crate::replication::synchronous;
use crate::shared::Shared;
use crate::socket::Listener;
use crate::socket_file::SocketFile;
use crate::starting::{Ready, StartError, Starting};
use crate::stop::Stop;
use crate::tls::TlsContext;

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    inboxes: Vec<Arc<Inbox>>,
    stop: Arc<Stop>,
    crew: Arc<Crew>,
    acceptor: Option<JoinHandle<()>>,
    listeners: Arc<Vec<Listener>>,
    /// Tells the workers how far the log is.
    waker: Option<Arc<dyn HorizonListener>>,
    /// Tells them that they may answer again, or no more.
    lease_waker: Option<Arc<dyn LeaseListener>>,
    hub: Option<HubThread>,
    analyzer: Option<Analyzer>,
    /// Removed when nobody listens any more.
    socket_file: Option<SocketFile>,
}

impl Server {
    /// Starts the threads, on the socket that refused clients so far. The database is recovered and its background
    /// threads run already.
    pub fn start(
        database: Arc<Database>,
        config: ServerConfig,
        door: Starting,
    ) -> Result<Server, StartError> {
        Server::start_under(database, config, door, Arc::new(Lease::unbounded()), None)
    }

    /// The same, of a node that answers its clients only as long as `lease` lets it; in a cluster as its `seat` says.
    pub fn start_under(
        database: Arc<Database>,
        config: ServerConfig,
        door: Starting,
        lease: Arc<Lease>,
        seat: Option<Arc<Seat>>,
    ) -> Result<Server, StartError> {
        let door = door.finish();
        database.hba().replace(door.rules).map_err(StartError::Rules)?;
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
        let hub = match database.is_following() {
            true => None,
            false => Some(
                HubThread::start(
                    &database,
                    config.slot_log_bytes_max,
                    counting(&database, &config, &lease, seat.as_deref())?,
                )
                .map_err(StartError::Replication)?,
            ),
        };
        let shared = Arc::new(Shared {
            hub: hub.as_ref().map(HubThread::hub),
            // Where it listens, which `listen` leaves to the system where it says port 0.
            config: ServerConfig {
                listen: door.address,
                ..config
            },
            database,
            registry: Arc::new(Registry::new(capacity.sessions_max)),
            half_open: Arc::new(HalfOpen::new(
                capacity.half_open_max,
                capacity.half_open_per_address_max(),
            )),
            lease,
            seat: seat.clone(),
            tls: RwLock::new(door.tls.map(Arc::new)),
            clock,
            secret,
        });
        let long = Arc::new(LongStatements::new(count));
        let workers: io::Result<Vec<Box<Worker>>> = (0..count)
            .map(|_| Worker::new(shared.clone(), long.clone()).map(Box::new))
            .collect();
        let mut workers = workers.map_err(StartError::Thread)?;
        if let Some(homes) = Homes::find(workers.iter().map(|worker| worker.inbox()).collect()) {
            let homes = Arc::new(homes);
            for (number, worker) in workers.iter_mut().enumerate() {
                worker.set_homes(homes.clone(), number);
            }
        }
        let mut server = Server {
            shared: shared.clone(),
            address: door.address,
            inboxes: workers.iter().map(|worker| worker.inbox()).collect(),
            stop: Arc::new(Stop::new().map_err(StartError::Thread)?),
            crew: Crew::new(long),
            acceptor: None,
            listeners: door.listeners.clone(),
            waker: None,
            lease_waker: None,
            hub,
            analyzer: None,
            socket_file: door.socket_file,
        };
        let waker: Arc<dyn HorizonListener> = Arc::new(HorizonWaker {
            workers: server.inboxes.clone(),
            database: Arc::downgrade(&shared.database),
            generation: AtomicU64::new(0),
        });
        shared.engine().on_horizon(waker.clone());
        server.waker = Some(waker);
        let lease_waker: Arc<dyn LeaseListener> = Arc::new(LeaseWaker {
            workers: server.inboxes.clone(),
        });
        shared.lease.listen(lease_waker.clone());
        server.lease_waker = Some(lease_waker);
        server.crew.start(workers).map_err(StartError::Thread)?;
        server.analyzer = Some(Analyzer::start(&shared.database).map_err(StartError::Thread)?);
        let (inboxes, stop) = (server.inboxes.clone(), server.stop.clone());
        let acceptor = std::thread::Builder::new()
            .name("acceptor".into())
            .spawn(move || Acceptor::new(door.listeners, inboxes, stop, shared).run());
        server.acceptor = Some(acceptor.map_err(StartError::Thread)?);
        if let (Some(seat), Some(hub)) = (seat, &server.hub) {
            seat.leads(hub.hub());
        }
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads certificate, key, rules and settings again, soon; the log tells what could not be used.
    pub fn reload(&self) {
        self.shared.database.ask_reload();
    }

    /// Ends all sessions as [`stop`](Server::stop) does, and keeps the sockets: who connects from now on is told that the
    /// server starts, until another one listens there.
    pub fn begin_anew(mut self) -> Result<Starting, StartError> {
        let socket_file = self.socket_file.take();
        self.stop();
        let config = &self.shared.config;
        let tls = config.tls.as_ref().map(TlsContext::load).transpose();
        let ready = Ready {
            address: self.address,
            listeners: self.listeners.clone(),
            socket_file,
            tls: tls.map_err(StartError::Tls)?,
            rules: config.read_rules().map_err(StartError::Rules)?,
        };
        Starting::again(config, ready)
    }

    /// Ends all sessions, and goes on serving those who follow. Waits for the threads.
    pub fn end_sessions(&mut self) {
        self.stop.raise();
        self.shared.half_open.close();
        self.shared.database.sessions().terminate_all();
        for inbox in &self.inboxes {
            inbox.send(Message::Stop);
        }
        if self.acceptor.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("mote: the acceptor ended in a panic");
        }
        self.crew.join();
        drop(self.analyzer.take());
    }

    /// Those who follow this node, if it leads.
    pub fn hub(&self) -> Option<Arc<Hub>> {
        self.hub.as_ref().map(HubThread::hub)
    }

    /// Ends all sessions (57P01), waits for the threads. The database stays open for the caller to close.
    pub fn stop(&mut self) {
        self.end_sessions();
        drop(self.hub.take());
        if let Some(waker) = self.lease_waker.take() {
            self.shared.lease.forget(&waker);
        }
        if let Some(waker) = self.waker.take() {
            self.shared.engine().forget_listener(&waker);
        }
        self.socket_file = None;
    }
}

/// Whose reports commits wait for.
fn counting(
    database: &Database,
    config: &ServerConfig,
    lease: &Arc<Lease>,
    seat: Option<&Seat>,
) -> Result<Counting, StartError> {
    match seat {
        Some(seat) => Ok(Counting::Record {
            name: seat.name().into(),
            rules: seat.rules(),
            lease: lease.clone(),
            patience_ns: seat.patience().as_nanos() as u64,
        }),
        None => synchronous::read(config.synchronous_standby_names.as_deref(), database)
            .map(Counting::Names)
            .map_err(StartError::Settings),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
