//! The server: sockets, PostgreSQL's wire protocol, one event loop a core.
//!
//! Read in this order:
//!  1. `config`, `server`: what a server is started with; start, stop; `shared`: what every connection can reach;
//!     `starting`: what clients hear during recovery.
//!  2. `net`: acceptor, workers (an epoll loop each, and threads that run them), coroutines on pooled stacks. `suspension`, `waker`:
//!     how a session gives its thread back, and how others wake it.
//!  3. `pgwire`: messages in, messages out.
//!  4. `socket`, `socket_file`: TCP and Unix sockets; `tls`: encryption; `wire`: a socket and its bounded buffers;
//!     `connection`: one client's conversation: start-up, authentication, simple and extended protocol, COPY.
//!     `start_up`: the packet that begins it.
//!  5. `host`: what the SQL session asks of its connection; `interruption`: what may end or delay what runs.
//!  6. `replication`: the primary's and the follower's side of a log on several servers.
//!     `cluster`: who of several leads, and how this node takes part in that.
//!     `etcd`: where the nodes of a cluster have recorded who leads; `lease`: until when a node may answer its clients.
//!     `analyzer`: ANALYZE by itself.
//!  7. `auth`: passwords and peers; `capacity`, `half_open`, `registry`: how many may connect, and who is counted where.
//!
//! Promises: a statement runs as plain code in a coroutine; a wait suspends the session, never the thread; a statement that
//! takes long lets others run after each slice, and goes on on threads of its own (docs/design/0020);
//! replies that tell of a commit leave when the log's horizon allows; nothing a client sends can panic the server.
//! Leaves out: SQL (exec), rows (engine).

mod analyzer;
mod auth;
mod capacity;
pub mod cluster;
mod config;
mod connection;
pub mod etcd;
mod half_open;
mod host;
mod interruption;
pub mod lease;
mod net;
mod pgwire;
mod registry;
pub mod replication;
mod server;
mod socket;
mod socket_file;
mod shared;
mod start_up;
mod starting;
mod stop;
mod suspension;
mod tls;
mod waker;
mod wire;

pub use auth::AuthMethod;
pub use capacity::{Capacity, CapacityError};
pub use config::ServerConfig;
pub use net::freeing::free_elsewhere;
pub use server::Server;
pub use starting::{StartError, Starting};
pub use tls::{TlsError, TlsFiles};
