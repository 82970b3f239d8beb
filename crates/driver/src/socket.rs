//! A connected socket, of whichever kind, and how it is made without stopping the loop of fibers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustls::ClientConnection;

use super::fiber::Wait;
use super::tls::TlsStream;
use super::url::{Host, Target};
use super::wire;

pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
    /// Somebody else has it.
    Given,
}

/// A socket, for whoever goes on with other messages than the driver's, and what encrypts it.
pub enum Handed {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(TcpStream, Box<ClientConnection>),
}

impl Socket {
    /// `None`: it was given before.
    pub fn hand_over(&mut self) -> Option<Handed> {
        Some(match std::mem::replace(self, Socket::Given) {
            Socket::Tcp(stream) => Handed::Tcp(stream),
            Socket::Unix(stream) => Handed::Unix(stream),
            Socket::Tls(stream) => {
                let (stream, connection) = stream.into_parts();
                Handed::Tls(stream, Box::new(connection))
            }
            Socket::Given => return None,
        })
    }

    /// Connects and registers the socket. A fiber's loop goes on meanwhile. One that blocks waits for the log-in's answers no
    /// longer than for the connection ([`Socket::set_read_timeout`]).
    pub fn connect(target: &Target, wait: &Wait<'_>) -> io::Result<(Socket, Option<usize>)> {
        #[cfg(feature = "odbc")]
        if target.odbc.is_some() {
            let stream = super::odbc::connect(target)?;
            stream.set_nonblocking(matches!(wait, Wait::Fiber(_)))?;
            let token = wait.register(stream.as_raw_fd())?;
            return Ok((Socket::Unix(stream), token));
        }
        match &target.host {
            Host::SocketDirectory(directory) => {
                // The kernel connects it at once, or says that it cannot.
                let stream = UnixStream::connect(directory.join(format!(".s.PGSQL.{}", target.port)))?;
                stream.set_nonblocking(matches!(wait, Wait::Fiber(_)))?;
                stream.set_read_timeout(Some(target.connect_timeout))?;
                let token = wait.register(stream.as_raw_fd())?;
                Ok((Socket::Unix(stream), token))
            }
            Host::Name(name) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{name} has no address"));
                for address in target.addresses()? {
                    let connected = match wait {
                        Wait::Blocking => TcpStream::connect_timeout(address, target.connect_timeout)
                            .map(|stream| (stream, None)),
                        Wait::Fiber(_) => connect_in_fiber(*address, target.connect_timeout, wait),
                    };
                    match connected {
                        Ok((stream, token)) => {
                            stream.set_nodelay(true)?;
                            if matches!(wait, Wait::Blocking) {
                                stream.set_read_timeout(Some(target.connect_timeout))?;
                            }
                            let Some(config) = target.tls() else {
                                return Ok((Socket::Tcp(stream), token));
                            };
                            ask_for_tls(&stream, token, target.connect_timeout, wait)?;
                            let stream = TlsStream::new(stream, config, name)?;
                            return Ok((Socket::Tls(Box::new(stream)), token));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Tls(stream) => stream.read(buffer),
            Socket::Given => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Of a socket that blocks; `None`: without end. Not zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
            Socket::Tls(stream) => stream.set_read_timeout(timeout),
            Socket::Given => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    pub fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(buffer),
            Socket::Unix(stream) => stream.write(buffer),
            Socket::Tls(stream) => stream.write(buffer),
            Socket::Given => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// Begins to connect and lets the loop run until the kernel has done it.
fn connect_in_fiber(
    address: SocketAddr,
    timeout: Duration,
    wait: &Wait<'_>,
) -> io::Result<(TcpStream, Option<usize>)> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    let token = wait.register(stream.as_raw_fd())?;
    let deadline = wait.deadline(Some(timeout));
    loop {
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if stream.peer_addr().is_ok() {
            return Ok((stream, token));
        }
        if !wait.socket(token, deadline) {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "no connection within the timeout",
            ));
        }
    }
}

/// The server's answer to SSLRequest. One that starts, or is full, answers with an error.
fn judge_answer(mut stream: &TcpStream, answer: u8) -> io::Result<()> {
    /// Of a longer one the beginning is told.
    const ERROR_BYTES_MAX: usize = 8 << 10;
    match answer {
        b'S' => Ok(()),
        b'N' => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the server does not encrypt connections; sslmode=disable goes without",
        )),
        b'E' => {
            // Sent in one piece with its first byte, so it is here, or nobody waits for it.
            let mut said = [0; ERROR_BYTES_MAX];
            let length = stream.read(&mut said).unwrap_or(0);
            let error = wire::decode_error(said[..length].get(4..).unwrap_or_default());
            Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                format!(
                    "asked for TLS, the server answered: {} {}",
                    error.sqlstate, error.message
                ),
            ))
        }
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the answer to a request for TLS is none of PostgreSQL's protocol",
        )),
    }
}

/// SSLRequest, and its answer of one byte. Behind that byte nothing may stand yet, so no more than it is read.
fn ask_for_tls(
    mut stream: &TcpStream,
    token: Option<usize>,
    timeout: Duration,
    wait: &Wait<'_>,
) -> io::Result<()> {
    let mut request = Vec::new();
    wire::put_i32(&mut request, 8);
    wire::put_i32(&mut request, wire::SSL_REQUEST);
    // A new connection has room for eight bytes.
    stream.write_all(&request)?;
    let deadline = wait.deadline(Some(timeout));
    let mut answer = [0];
    loop {
        match stream.read(&mut answer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return judge_answer(stream, answer[0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // A socket that blocks has waited for as long as it may.
                if matches!(wait, Wait::Blocking) || !wait.socket(token, deadline) {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "no answer within the timeout",
                    ));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What is said of a server that answers SSLRequest so.
    fn asked_for_tls(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let stream = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (mut server, _) = listener.accept().expect("somebody connects");
        server.write_all(answer).expect("it is open");
        let timeout = Duration::from_secs(5);
        stream.set_read_timeout(Some(timeout)).expect("it is open");
        match ask_for_tls(&stream, None, timeout, &Wait::Blocking) {
            Ok(()) => "encrypts".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_server_says_why_it_does_not_encrypt() {
        let starts = b"E\0\0\0\x32SFATAL\0C57P03\0Mthe database system is starting up\0\0";
        assert_eq!(
            asked_for_tls(starts),
            "asked for TLS, the server answered: 57P03 the database system is starting up"
        );
        assert_eq!(asked_for_tls(b"S"), "encrypts");
        assert!(asked_for_tls(b"N").contains("does not encrypt"));
        assert!(asked_for_tls(b"HTTP/1.1 400").contains("none of PostgreSQL's protocol"));
    }
}
