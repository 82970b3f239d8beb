//! A network between two nodes that the laboratory can cut: a proxy on this machine that one of them takes for the other.
//!
//! A cut loses packets, it closes nothing: both sides keep their connections and hear no more of each other, new ones are
//! not answered, and what was sent meanwhile arrives when the network is whole again. TCP between real machines would send it
//! again with growing pauses, up to as long as the cut has lasted; here it arrives at once.
//!
//! Invariant: nothing passes in either direction between [`Link::cut`] and [`Link::heal`], but what the kernel had taken from
//! the proxy before.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

const BUFFER_BYTES: usize = 64 * 1024;
/// Two threads carry each connection; more than this many connections at a time are refused.
const CONNECTIONS_MAX: usize = 4_000;

/// Ends with its connections when it is dropped.
pub struct Link {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    cut: bool,
    ended: bool,
    next: u64,
    /// Both ends of every connection, so that the end of the link ends them.
    open: Vec<(u64, [TcpStream; 2])>,
}

impl Link {
    /// Listens on an address of its own; who connects there is carried to the first of `upstream` that answers.
    pub fn to(upstream: Vec<SocketAddr>) -> Result<Link, String> {
        let listener =
            TcpListener::bind("127.0.0.1:0").map_err(|error| format!("no address is free: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let state = Arc::new(State::default());
        let accepting = Arc::clone(&state);
        std::thread::Builder::new()
            .name("link".into())
            .spawn(move || accept(&listener, &upstream, &accepting))
            .map_err(|error| format!("no thread for the link: {error}"))?;
        Ok(Link { address, state })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn cut(&self) {
        self.state.lock().cut = true;
    }

    pub fn heal(&self) {
        self.state.lock().cut = false;
        self.state.changed.notify_all();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let mut inner = self.state.lock();
        inner.ended = true;
        for stream in inner.open.drain(..).flat_map(|(_, ends)| ends) {
            // One that is closed already is what is wanted.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(inner);
        self.state.changed.notify_all();
        // Rouses the thread that accepts, which then sees that the link has ended.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic while held")
    }

    /// Waits while the network is cut; false if the link has ended.
    fn passes(&self) -> bool {
        let mut inner = self.lock();
        while inner.cut && !inner.ended {
            inner = self.changed.wait(inner).expect("no panic while held");
        }
        !inner.ended
    }

    /// Notes a connection; `None` if there are too many, or no more shall be.
    fn opened(&self, ends: [TcpStream; 2]) -> Option<u64> {
        let mut inner = self.lock();
        if inner.ended || inner.open.len() >= CONNECTIONS_MAX {
            return None;
        }
        inner.next += 1;
        let number = inner.next;
        inner.open.push((number, ends));
        Some(number)
    }

    fn closed(&self, number: u64) {
        self.lock().open.retain(|(other, _)| *other != number);
    }
}

fn accept(listener: &TcpListener, upstream: &[SocketAddr], state: &Arc<State>) {
    loop {
        let Ok((near, _)) = listener.accept() else {
            // Out of descriptors, or the other side has gone again.
            std::thread::sleep(std::time::Duration::from_millis(10));
            continue;
        };
        // Who connects while the network is cut is connected by this machine's kernel, and hears nothing until it is whole.
        if !state.passes() {
            return;
        }
        let state = Arc::clone(state);
        let upstream = upstream.to_vec();
        let carried = std::thread::Builder::new()
            .name("link".into())
            .spawn(move || carry(near, &upstream, &state));
        // Without a thread the connection is closed, as by a server that has no room.
        drop(carried);
    }
}

/// Carries one connection until both directions have ended.
fn carry(near: TcpStream, upstream: &[SocketAddr], state: &Arc<State>) {
    let Ok(far) = TcpStream::connect(upstream) else {
        return;
    };
    for stream in [&near, &far] {
        // Without it the proxy only gets slower.
        let _ = stream.set_nodelay(true);
    }
    let ends = near.try_clone().and_then(|near| Ok([near, far.try_clone()?]));
    let Some(number) = ends.ok().and_then(|ends| state.opened(ends)) else {
        return;
    };
    std::thread::scope(|scope| {
        scope.spawn(|| pump(&far, &near, state));
        pump(&near, &far, state);
    });
    state.closed(number);
}

/// One direction, to its end. An end passes like any byte; an error ends both directions.
fn pump(mut from: &TcpStream, mut to: &TcpStream, state: &State) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let whole = loop {
        let count = match from.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break false,
        };
        if !state.passes() {
            break false;
        }
        if count == 0 {
            break true;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break false;
        }
    };
    // Whoever is gone already needs no word.
    if whole {
        let _ = to.shutdown(Shutdown::Write);
    } else {
        let _ = state.passes();
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// How long an answer that comes is waited for, and one that must not come.
    const LONGEST: Duration = Duration::from_secs(60);
    const SILENCE: Duration = Duration::from_millis(200);

    /// Sends back what it gets.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free address");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || {
                    let (mut reader, mut writer) = (&stream, &stream);
                    // Ends with the other side.
                    let _ = std::io::copy(&mut reader, &mut writer);
                });
            }
        });
        address
    }

    fn client(link: &Link) -> TcpStream {
        let stream = TcpStream::connect(link.address()).expect("the link listens");
        stream.set_read_timeout(Some(LONGEST)).expect("not zero");
        stream
    }

    fn heard(mut stream: &TcpStream) -> u8 {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it is sent back");
        byte[0]
    }

    fn hears_nothing(mut stream: &TcpStream) -> bool {
        stream.set_read_timeout(Some(SILENCE)).expect("not zero");
        let read = stream.read(&mut [0]);
        stream.set_read_timeout(Some(LONGEST)).expect("not zero");
        read.is_err()
    }

    #[test]
    fn a_cut_holds_both_old_and_new_connections_and_loses_nothing() {
        let link = Link::to(vec![echo()]).expect("a link");
        let mut old = client(&link);
        old.write_all(b"a").expect("sent");
        assert_eq!(heard(&old), b'a');
        link.cut();
        let mut new = client(&link);
        old.write_all(b"b").expect("sent");
        new.write_all(b"c").expect("sent");
        assert!(hears_nothing(&old) && hears_nothing(&new));
        link.heal();
        assert_eq!((heard(&old), heard(&new)), (b'b', b'c'));
    }

    #[test]
    fn the_end_of_a_side_and_of_the_link_reach_the_other() {
        let link = Link::to(vec![echo()]).expect("a link");
        let mut stream = client(&link);
        stream.write_all(b"x").expect("sent");
        stream.shutdown(Shutdown::Write).expect("connected");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("the other side ends too");
        assert_eq!(all, b"x");
        let other = client(&link);
        (&other).write_all(b"y").expect("sent");
        assert_eq!(heard(&other), b'y');
        link.cut();
        drop(link);
        let mut rest = Vec::new();
        // Ended or reset, but not silent.
        let ended = (&other).read_to_end(&mut rest);
        let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(ended.map_or_else(is_reset, |count| count == 0));
    }
}
