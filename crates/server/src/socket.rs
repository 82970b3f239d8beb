//! Sockets of clients: TCP, and Unix sockets on the same machine.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;

use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token, event};

/// A client's socket, which never blocks.
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Where clients come in.
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Stream {
    /// None: over a Unix socket, or the client has gone.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self {
            Stream::Tcp(stream) => stream.peer_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// Where the client found the server. None: at a Unix socket.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Stream::Tcp(stream) => stream.local_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    pub fn is_unix(&self) -> bool {
        matches!(self, Stream::Unix(_))
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl event::Source for Stream {
    fn register(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.register(registry, token, interest),
            Stream::Unix(stream) => stream.register(registry, token, interest),
        }
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.reregister(registry, token, interest),
            Stream::Unix(stream) => stream.reregister(registry, token, interest),
        }
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.deregister(registry),
            Stream::Unix(stream) => stream.deregister(registry),
        }
    }
}

impl Listener {
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Listener::Tcp(listener) => listener.set_nonblocking(true),
            Listener::Unix(listener) => listener.set_nonblocking(true),
        }
    }

    /// The next client and its address. None: it has gone already.
    pub fn accept(&self) -> io::Result<Option<(Stream, Option<SocketAddr>)>> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, address) = listener.accept()?;
                let ready = stream.set_nonblocking(true).and(stream.set_nodelay(true));
                Ok(ready
                    .ok()
                    .map(|()| (Stream::Tcp(TcpStream::from_std(stream)), Some(address))))
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                let ready = stream.set_nonblocking(true);
                Ok(ready
                    .ok()
                    .map(|()| (Stream::Unix(UnixStream::from_std(stream)), None)))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener) => listener.as_fd(),
        }
    }
}
