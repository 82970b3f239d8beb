//! TCP sockets behind [`Network`], and Unix sockets that somebody else has connected.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

use super::super::Clock;
use super::{Deadline, Listener, Network, Received, Stream};

/// The machine's network; deadlines are judged by `clock`.
pub fn network(clock: Arc<dyn Clock>) -> Arc<dyn Network> {
    Arc::new(RealNetwork { clock })
}

/// A connection that somebody else has accepted or made.
pub fn adopt(stream: TcpStream, clock: &Arc<dyn Clock>) -> io::Result<Box<dyn Stream>> {
    stream.set_nonblocking(true)?;
    let peer = stream.peer_addr()?;
    Ok(Box::new(RealStream::new(stream, peer, clock)?))
}

/// The same between two processes of this machine.
pub fn adopt_unix(stream: UnixStream, clock: &Arc<dyn Clock>) -> io::Result<Box<dyn Stream>> {
    stream.set_nonblocking(true)?;
    Ok(Box::new(RealStream {
        socket: Socket::Unix(stream),
        peer: None,
        deadline: Deadline::none(clock),
    }))
}

struct RealNetwork {
    clock: Arc<dyn Clock>,
}

impl Network for RealNetwork {
    fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn Listener>> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let clock = self.clock.clone();
        Ok(Box::new(RealListener { listener, clock }))
    }

    fn connect(&self, to: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let family = match to {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        // The standard library connects before it lets anybody make the socket nonblocking.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        match connect(&socket, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let stream = TcpStream::from(socket);
        Ok(Box::new(RealStream::new(stream, to, &self.clock)?))
    }
}

struct RealListener {
    listener: TcpListener,
    clock: Arc<dyn Clock>,
}

impl Listener for RealListener {
    fn accept(&mut self) -> io::Result<Option<Box<dyn Stream>>> {
        match self.listener.accept() {
            Ok((stream, peer)) => {
                stream.set_nonblocking(true)?;
                Ok(Some(Box::new(RealStream::new(stream, peer, &self.clock)?)))
            }
            // A connection that was given up before it was accepted is nobody's.
            Err(error) if is_for_later(&error) || error.kind() == io::ErrorKind::ConnectionAborted => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.listener.as_fd())
    }
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

struct RealStream {
    socket: Socket,
    peer: Option<SocketAddr>,
    deadline: Deadline,
}

impl RealStream {
    fn new(stream: TcpStream, peer: SocketAddr, clock: &Arc<dyn Clock>) -> io::Result<RealStream> {
        // A flush's range must not wait for the answer to the last one.
        stream.set_nodelay(true)?;
        Ok(RealStream {
            socket: Socket::Tcp(stream),
            peer: Some(peer),
            deadline: Deadline::none(clock),
        })
    }
}

impl Stream for RealStream {
    fn send(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.deadline.check()?;
        let sent = match &mut self.socket {
            Socket::Tcp(stream) => stream.write_vectored(parts),
            Socket::Unix(stream) => stream.write_vectored(parts),
        };
        match sent {
            Err(error) if is_for_later(&error) => Ok(0),
            sent => sent,
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        self.deadline.check()?;
        let received = match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        };
        match received {
            Ok(0) if !buffer.is_empty() => Ok(Received::End),
            Ok(bytes) => Ok(Received::Bytes(bytes)),
            Err(error) if is_for_later(&error) => Ok(Received::Nothing),
            Err(error) => Err(error),
        }
    }

    fn set_deadline(&mut self, at_ns: Option<u64>) {
        self.deadline.at_ns = at_ns;
    }

    fn close(&mut self) {
        // Fails where the connection is gone already, which is what was wanted.
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        })
    }
}

/// Nothing now, but nothing is wrong. A socket that still connects says so, too.
fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    /// Waits until the descriptor is ready: what a caller does between two steps.
    fn ready(descriptor: Option<BorrowedFd<'_>>, flags: PollFlags) {
        let descriptor = descriptor.expect("a socket has one");
        let mut polled = [PollFd::from_borrowed_fd(descriptor, flags)];
        assert_eq!(poll(&mut polled, None).expect("poll works"), 1);
    }

    fn world() -> Arc<dyn Network> {
        network(super::super::super::real::env(std::path::Path::new("/")).clock)
    }

    fn localhost() -> SocketAddr {
        "127.0.0.1:0".parse().expect("an address")
    }

    #[test]
    fn bytes_go_both_ways_in_order_and_the_end_is_told() {
        let net = world();
        let mut listener = net.listen(localhost()).expect("a port is free");
        let mut client = net
            .connect(listener.address().expect("it has one"))
            .expect("it listens");
        ready(listener.descriptor(), PollFlags::IN);
        let mut server = listener.accept().expect("accepting").expect("somebody is there");
        ready(client.descriptor(), PollFlags::OUT);
        let parts = [io::IoSlice::new(b"one "), io::IoSlice::new(b"two")];
        assert_eq!(client.send(&parts).expect("room"), 7);
        ready(server.descriptor(), PollFlags::IN);
        let mut buffer = [0; 16];
        assert_eq!(server.receive(&mut buffer).expect("bytes"), Received::Bytes(7));
        assert_eq!(&buffer[..7], b"one two");
        assert_eq!(server.receive(&mut buffer).expect("open"), Received::Nothing);
        client.close();
        ready(server.descriptor(), PollFlags::IN);
        assert_eq!(
            server.receive(&mut buffer).expect("closed in order"),
            Received::End
        );
    }

    #[test]
    fn a_full_socket_takes_nothing_and_waits_for_nobody() {
        let net = world();
        let mut listener = net.listen(localhost()).expect("a port is free");
        let mut client = net
            .connect(listener.address().expect("it has one"))
            .expect("it listens");
        ready(listener.descriptor(), PollFlags::IN);
        let _server = listener.accept().expect("accepting").expect("somebody is there");
        ready(client.descriptor(), PollFlags::OUT);
        let block = vec![7; 1 << 20];
        let mut sent = 0;
        loop {
            match client.send(&[io::IoSlice::new(&block)]).expect("it is open") {
                0 => break,
                bytes => sent += bytes,
            }
            assert!(sent < 1 << 30, "nobody reads, and yet all is taken");
        }
    }

    #[test]
    fn a_refused_connection_and_a_passed_deadline_are_told() {
        let net = world();
        let address = {
            let listener = net.listen(localhost()).expect("a port is free");
            listener.address().expect("it has one")
        };
        if let Ok(mut stream) = net.connect(address) {
            ready(stream.descriptor(), PollFlags::OUT | PollFlags::HUP);
            let error = stream.receive(&mut [0; 8]).expect_err("nobody listens");
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        }
        let listener = net.listen(localhost()).expect("a port is free");
        let mut stream = net
            .connect(listener.address().expect("it has one"))
            .expect("it listens");
        stream.set_deadline(Some(0));
        let error = stream.receive(&mut [0; 8]).expect_err("the time is over");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
