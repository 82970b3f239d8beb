//! A cable between a server and whoever connects to it that does harm: it cuts in the middle of a record, changes bytes, lets
//! them trickle, says something of its own, or falls silent and stays open.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(2);

/// What happens to what the server says on one connection, behind so many bytes of it: counted from its beginning, or from when
/// the harm began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    None,
    /// Both directions end.
    Cut(usize),
    /// One bit of one byte is another one.
    Flip(usize),
    /// Bytes of nobody come between.
    Garbage(usize),
    /// Nothing comes any more, and nothing ends.
    Silence(usize),
    /// The rest comes in pieces of so many bytes.
    Trickle(usize, usize),
}

pub struct Tamper {
    pub address: SocketAddr,
    next: Arc<Mutex<Harm>>,
    connections: Arc<AtomicUsize>,
}

impl Tamper {
    /// Before a server that listens there.
    pub fn before(server: SocketAddr) -> Tamper {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (next, connections) = (Arc::new(Mutex::new(Harm::None)), Arc::new(AtomicUsize::new(0)));
        let (harms, count) = (next.clone(), connections.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::Relaxed);
                let harms = harms.clone();
                if let Ok(onward) = TcpStream::connect(server) {
                    connect(client, onward, &harms);
                }
            }
        });
        Tamper {
            address,
            next,
            connections,
        }
    }

    /// From now on, on connections that stand and on those that come.
    pub fn harm(&self, harm: Harm) {
        *self.next.lock().expect("unpoisoned") = harm;
    }

    /// How many have come.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Carries one connection in threads of its own. Their errors are the ends of the streams.
fn connect(client: TcpStream, server: TcpStream, harms: &Arc<Mutex<Harm>>) {
    let (Ok(mut asks), Ok(mut asked)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    thread::spawn(move || {
        let _ = std::io::copy(&mut asks, &mut asked);
        let _ = asked.shutdown(Shutdown::Both);
    });
    let harms = harms.clone();
    thread::spawn(move || {
        answer(server, &client, &harms);
        let _ = client.shutdown(Shutdown::Both);
    });
}

fn answer(mut server: TcpStream, mut client: &TcpStream, harms: &Mutex<Harm>) {
    let (mut bytes, mut passed, mut known) = (vec![0; 16 << 10], 0, Harm::None);
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        let harm = *harms.lock().expect("unpoisoned");
        if std::mem::replace(&mut known, harm) != harm {
            passed = 0;
        }
        let piece = &mut bytes[..count];
        // Within this piece, or behind it.
        let within = |at: usize| at.saturating_sub(passed).min(count);
        let written = match harm {
            Harm::Cut(at) if within(at) < count => {
                let _ = client.write_all(&piece[..within(at)]);
                let _ = server.shutdown(Shutdown::Both);
                return;
            }
            Harm::Flip(at) if at >= passed && within(at) < count => {
                piece[within(at)] ^= 1 << (at % 8);
                client.write_all(piece)
            }
            Harm::Garbage(at) if at >= passed && within(at) < count => client
                .write_all(&piece[..within(at)])
                .and_then(|()| client.write_all(&[0x17, 3, 3, 0, 40, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]))
                .and_then(|()| client.write_all(&piece[within(at)..])),
            Harm::Silence(at) if within(at) < count => {
                let _ = client.write_all(&piece[..within(at)]);
                while matches!(*harms.lock().expect("unpoisoned"), Harm::Silence(_)) {
                    thread::sleep(LOOK);
                }
                return;
            }
            Harm::Trickle(at, size) if within(at) < count => {
                let (whole, rest) = piece.split_at(within(at));
                client.write_all(whole).and_then(|()| {
                    rest.chunks(size).try_for_each(|chunk| {
                        thread::sleep(Duration::from_micros(200));
                        client.write_all(chunk)
                    })
                })
            }
            _ => client.write_all(piece),
        };
        passed += count;
        if written.is_err() {
            return;
        }
    }
}
