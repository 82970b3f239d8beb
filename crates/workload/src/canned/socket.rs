//! Where the canned server is reached: over TCP, or by a Unix socket, which costs both sides less of the kernel.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

pub enum Listener {
    Tcp(TcpListener),
    /// With its file, which goes when the listener does.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    pub fn tcp(address: SocketAddr) -> io::Result<Listener> {
        TcpListener::bind(address).map(Listener::Tcp)
    }

    /// `.s.PGSQL.<port>` in that directory, as clients of PostgreSQL look for it. A file that nobody answers behind is taken over.
    pub fn unix(directory: &Path, port: u16) -> io::Result<Listener> {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        if path.exists() && std::os::unix::net::UnixStream::connect(&path).is_err() {
            std::fs::remove_file(&path)?;
        }
        Ok(Listener::Unix(UnixListener::bind(&path)?, path))
    }

    /// Of TCP, the one that the system has chosen for port 0.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(..) => None,
        }
    }

    pub fn source(&mut self) -> &mut dyn Source {
        match self {
            Listener::Tcp(listener) => listener,
            Listener::Unix(listener, _) => listener,
        }
    }

    /// The next client, if one waits.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match self {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }),
            Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // It may be gone already; whoever comes next takes over what is left.
            let _ = std::fs::remove_file(path);
        }
    }
}

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(bytes),
            Stream::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
