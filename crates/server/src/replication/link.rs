//! A connection on which START_REPLICATION was answered, on its way to the thread that goes on with it.
//!
//! Whoever has connected or accepted it hands over the socket and, where the two sides encrypt, the state of that: what follows
//! belongs to the same conversation.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use mote_common::env::Clock;
use mote_common::env::net::Stream;
use mote_common::env::net::real::{adopt, adopt_unix};
use rustls::Connection;

use crate::tls::EncryptedStream;

pub struct Link {
    socket: Socket,
    encryption: Option<Box<Connection>>,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Link {
    pub fn tcp(stream: TcpStream) -> Link {
        Link {
            socket: Socket::Tcp(stream),
            encryption: None,
        }
    }

    pub fn unix(stream: UnixStream) -> Link {
        Link {
            socket: Socket::Unix(stream),
            encryption: None,
        }
    }

    /// From here on its bytes are what `encryption` makes of the messages.
    pub fn encrypted(self, encryption: impl Into<Connection>) -> Link {
        Link {
            encryption: Some(Box::new(encryption.into())),
            ..self
        }
    }

    /// As a stream whose events `registry` tells.
    pub(super) fn watched(
        self,
        clock: &Arc<dyn Clock>,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Box<dyn Stream>> {
        let stream = self.open(clock)?;
        if let Some(descriptor) = stream.descriptor() {
            let interest = Interest::READABLE | Interest::WRITABLE;
            registry.register(&mut SourceFd(&descriptor.as_raw_fd()), token, interest)?;
        }
        Ok(stream)
    }

    fn open(self, clock: &Arc<dyn Clock>) -> io::Result<Box<dyn Stream>> {
        let stream = match self.socket {
            Socket::Tcp(stream) => adopt(stream, clock)?,
            Socket::Unix(stream) => adopt_unix(stream, clock)?,
        };
        Ok(match self.encryption {
            None => stream,
            Some(encryption) => Box::new(EncryptedStream::new(stream, *encryption)),
        })
    }
}
