//! The door of a server that is not ready yet: whoever knocks while the database recovers is told 57P03.
//!
//! One thread answers everybody: a start-up packet gets PostgreSQL's "the database system is starting up", a request for
//! encryption is declined first (or, where TLS is on, answered in the same words: a client that was declined would give
//! up for good), everything else is hung up on. When recovery is over the same listening socket goes to
//! [`crate::Server`], so that no client finds the port closed in between. Leaves out: sessions, passwords.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mote_catalog::hba::Rules;
use mote_common::env::descriptors;
use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::auth::AuthMethod;
use crate::config::ServerConfig;
use crate::pgwire::frontend::{Fields, GSSENC_REQUEST, ReadBuffer, SSL_REQUEST, STARTUP_BYTES_MAX};
use crate::pgwire::{backend, frontend};
use crate::socket::{Listener, Stream};
use crate::socket_file::SocketFile;
use crate::stop::Stop;
use crate::tls::{TlsContext, TlsError};

/// A client that says nothing may be hung up on after this, if others wait for its place.
const GUEST_GRACE: Duration = Duration::from_millis(250);
/// How long a client may take for its start-up packet.
const GUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the thread looks whether a client has had its time.
const LOOK: rustix::time::Timespec = rustix::time::Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// Trust beyond loopback would let anybody in.
    Unprotected(SocketAddr),
    /// What is said on the way could be read.
    Unencrypted(SocketAddr),
    Listen(SocketAddr, io::Error),
    ListenUnix(PathBuf, io::Error),
    Tls(TlsError),
    Rules(String),
    Settings(String),
    Thread(io::Error),
    /// What a primary keeps for its followers cannot be read or written.
    Replication(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Unprotected(address) => write!(
                f,
                "will not listen on {address}: it can be reached from other machines, and connections are not \
                 authenticated. Use --auth scram-sha-256 (and give roles passwords), or a loopback address."
            ),
            StartError::Unencrypted(address) => write!(
                f,
                "will not listen on {address}: it can be reached from other machines, and connections are not encrypted. \
                 Give --tls-cert and --tls-key, or say --allow-unencrypted."
            ),
            StartError::ListenUnix(directory, error) => {
                write!(
                    f,
                    "could not make a Unix socket in {}: {error}",
                    directory.display()
                )
            }
            StartError::Tls(error) => error.fmt(f),
            StartError::Settings(error) => f.write_str(error),
            StartError::Rules(error) => write!(f, "the rules for connections cannot be used: {error}"),
            StartError::Listen(address, error) => write!(f, "could not listen on {address}: {error}"),
            StartError::Replication(error) => write!(f, "could not begin to serve followers: {error}"),
            StartError::Thread(error) => write!(f, "could not start a thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// What the server takes over.
pub(crate) struct Ready {
    pub address: SocketAddr,
    pub listeners: Arc<Vec<Listener>>,
    pub socket_file: Option<SocketFile>,
    pub tls: Option<TlsContext>,
    pub rules: Rules,
}

/// Listens and refuses, until [`Starting::finish`] or drop.
pub struct Starting {
    listeners: Arc<Vec<Listener>>,
    socket_file: Option<SocketFile>,
    address: SocketAddr,
    /// Read at the start, so that a mistake in them is met before recovery.
    tls: Option<TlsContext>,
    rules: Rules,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Starting {
    pub fn listen(config: &ServerConfig) -> Result<Starting, StartError> {
        if !config.listen.ip().is_loopback() {
            if config.auth == AuthMethod::Trust && config.hba_file.is_none() {
                return Err(StartError::Unprotected(config.listen));
            }
            if config.tls.is_none() && !config.allow_unencrypted {
                return Err(StartError::Unencrypted(config.listen));
            }
        }
        let tls = config.tls.as_ref().map(TlsContext::load).transpose();
        let tls = tls.map_err(StartError::Tls)?;
        let rules = config.read_rules().map_err(StartError::Rules)?;
        if let Some(mistake) = rules.mistake() {
            return Err(StartError::Rules(mistake));
        }
        let failed = |error| StartError::Listen(config.listen, error);
        let listener = TcpListener::bind(config.listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut listeners = vec![Listener::Tcp(listener)];
        let mut socket_file = None;
        if let Some(directory) = &config.socket_directory {
            let failed = |error| StartError::ListenUnix(directory.clone(), error);
            let (listener, file) = SocketFile::listen(directory, address.port()).map_err(failed)?;
            listeners.push(Listener::Unix(listener));
            socket_file = Some(file);
        }
        for listener in &listeners {
            listener.set_nonblocking().map_err(failed)?;
        }
        let ready = Ready {
            address,
            listeners: Arc::new(listeners),
            socket_file,
            tls,
            rules,
        };
        Starting::again(config, ready)
    }

    /// On sockets that a server listened on before.
    pub(crate) fn again(config: &ServerConfig, ready: Ready) -> Result<Starting, StartError> {
        let Ready {
            address,
            listeners,
            socket_file,
            tls,
            rules,
        } = ready;
        let stop = Arc::new(Stop::new().map_err(StartError::Thread)?);
        let (doors, ended) = (listeners.clone(), stop.clone());
        let encrypts = tls.is_some();
        let maximum = config.capacity.half_open_max;
        let thread = std::thread::Builder::new()
            .name("mote-starting".into())
            .spawn(move || refuse_all(&doors, encrypts, maximum, &ended))
            .map_err(StartError::Thread)?;
        Ok(Starting {
            listeners,
            socket_file,
            address,
            tls,
            rules,
            stop,
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the refusing; clients that come from now on wait for the server.
    pub(crate) fn finish(mut self) -> Ready {
        self.join();
        Ready {
            address: self.address,
            listeners: self.listeners.clone(),
            socket_file: self.socket_file.take(),
            tls: self.tls.take(),
            rules: std::mem::take(&mut self.rules),
        }
    }

    /// The file of the Unix socket, where there is one.
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket_file.as_ref().map(SocketFile::path)
    }

    fn join(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the hook; here we only wait for its end.
            let _ = thread.join();
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.join();
    }
}

/// A client that has not been told yet.
struct Guest {
    stream: Stream,
    /// It could have TLS, later.
    encrypts: bool,
    input: ReadBuffer,
    deadline: Instant,
}

/// Listens to `maximum` clients at a time; more wait in the kernel's queue.
fn refuse_all(listeners: &[Listener], encrypts: bool, maximum: usize, stop: &Stop) {
    let mut guests: VecDeque<Guest> = VecDeque::new();
    while !stop.is_raised() {
        let full = guests.len() >= maximum;
        if full && guests.front().is_some_and(Guest::had_its_time) {
            guests.pop_front();
            continue;
        }
        let mut ready = vec![stop.poll_fd()];
        if !full {
            ready.extend(
                listeners
                    .iter()
                    .map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)),
            );
        }
        ready.extend(
            guests
                .iter()
                .map(|guest| PollFd::from_borrowed_fd(guest.stream.as_fd(), PollFlags::IN)),
        );
        if rustix::event::poll(&mut ready, Some(&LOOK)).is_err() {
            continue;
        }
        if !full {
            guests.extend(listeners.iter().filter_map(|listener| accept(listener, encrypts)));
        }
        guests.retain_mut(Guest::listen_to);
    }
    // Who has asked meanwhile is answered: a socket closed over what was not read resets the connection, and the client, instead
    // of the answer after which it asks another node, finds that the server has gone.
    guests.retain_mut(Guest::listen_to);
    // Whoever has not said anything yet learns it unasked.
    guests.iter_mut().for_each(Guest::refuse);
}

/// The next client, if there is one. Failures leave it to the next turn.
fn accept(listener: &Listener, encrypts: bool) -> Option<Guest> {
    let (stream, _) = match listener.accept() {
        Ok(accepted) => accepted?,
        Err(error) => {
            if descriptors::are_exhausted(&error) {
                // The listener stays ready: without a pause the loop would spin.
                std::thread::sleep(GUEST_GRACE);
            }
            return None;
        }
    };
    let encrypts = encrypts && !stream.is_unix();
    Some(Guest {
        stream,
        encrypts,
        input: ReadBuffer::default(),
        deadline: Instant::now() + GUEST_TIMEOUT,
    })
}

impl Guest {
    fn had_its_time(&self) -> bool {
        self.deadline.saturating_duration_since(Instant::now()) + GUEST_GRACE <= GUEST_TIMEOUT
    }

    /// False: done with.
    fn listen_to(&mut self) -> bool {
        let mut chunk = [0; 1024];
        match rustix::io::read(&self.stream, &mut chunk) {
            Ok(0) => return false,
            Ok(count) => self.input.space(count).extend_from_slice(&chunk[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return false,
        }
        if self.input.unread().len() > STARTUP_BYTES_MAX {
            return false;
        }
        match self.answer() {
            Ok(more) => more && Instant::now() < self.deadline,
            Err(_) => false,
        }
    }

    /// Answers what is complete; false when there is nothing more to say.
    fn answer(&mut self) -> SqlResult<bool> {
        while let Some(body) = self.input.peek_startup()? {
            let code = Fields::new(&self.input.unread()[body.clone()]).i32()? as u32;
            self.input.consume(body.end);
            match code {
                SSL_REQUEST if self.encrypts => {
                    self.refuse();
                    return Ok(false);
                }
                SSL_REQUEST | GSSENC_REQUEST => self.send(b"N"),
                frontend::CANCEL_REQUEST => return Ok(false),
                _ => {
                    self.refuse();
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn refuse(&mut self) {
        let error = SqlError::new(state::CANNOT_CONNECT_NOW, "the database system is starting up")
            .severity(Severity::Fatal);
        let mut out = Vec::new();
        backend::error_response(&mut out, &error);
        self.send(&out);
    }

    /// A few bytes into an empty socket: what does not fit goes to a client that does not read.
    fn send(&mut self, bytes: &[u8]) {
        let _ = rustix::io::write(&self.stream, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};

    fn start() -> Starting {
        let config = ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ..ServerConfig::default()
        };
        Starting::listen(&config).expect("a port is free")
    }

    fn told(stream: &mut TcpStream) -> Vec<u8> {
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("settable");
        let mut said = Vec::new();
        stream.read_to_end(&mut said).expect("an answer, then the end");
        said
    }

    fn is_57p03(said: &[u8]) -> bool {
        let text = String::from_utf8_lossy(said);
        said.first() == Some(&b'E')
            && text.contains("SFATAL\0")
            && text.contains("C57P03\0")
            && text.contains("Mthe database system is starting up\0")
    }

    #[test]
    fn everybody_is_told_and_nobody_delays_the_others() {
        let starting = start();
        let connect = || TcpStream::connect(starting.address()).expect("the port is open");
        let mut silent = connect();
        let mut slow = connect();
        slow.write_all(&[0, 0, 0]).expect("sent");
        let mut encrypted = connect();
        encrypted
            .write_all(&[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
            .expect("sent");
        let mut answer = [0];
        encrypted.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer, *b"N");
        let packet = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
        for mut stream in [encrypted, connect()] {
            stream.write_all(packet).expect("sent");
            assert!(is_57p03(&told(&mut stream)));
        }
        let mut nonsense = connect();
        nonsense.write_all(&[0xff; 2000]).expect("sent");
        // Hung up, maybe with a reset since it said more than was read.
        nonsense
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("settable");
        assert!(matches!(nonsense.read(&mut [0; 16]), Ok(0) | Err(_)));
        let gone = connect();
        gone.shutdown(Shutdown::Both).expect("connected");
        drop(starting);
        assert!(is_57p03(&told(&mut silent)));
        assert!(is_57p03(&told(&mut slow)));
    }
}
