//! A port before a server behind which an answer stops halfway: so many bytes pass, the rest when the valve is opened. What a
//! client does in the middle of a long answer is then tried in that middle, however fast the machine is.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::process::await_that;

const LONGEST: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);

#[derive(Default)]
struct State {
    /// Bytes that the server has answered, of all connections.
    answered_bytes: AtomicUsize,
    open: AtomicBool,
}

pub struct Valve {
    pub address: SocketAddr,
    state: Arc<State>,
    limit_bytes: usize,
}

impl Valve {
    /// Before a server at `server`; lets so many bytes of answers pass.
    pub fn before(server: SocketAddr, limit_bytes: usize) -> Valve {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(State::default());
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(onward) = TcpStream::connect(server) {
                    connect(client, onward, &own, limit_bytes);
                }
            }
        });
        Valve {
            address,
            state,
            limit_bytes,
        }
    }

    /// Waits until an answer stands before the valve.
    #[track_caller]
    pub fn await_stop(&self) {
        await_that(
            "the server has answered more than the valve lets through",
            LONGEST,
            || self.state.answered_bytes.load(Ordering::Relaxed) > self.limit_bytes,
        );
    }

    pub fn open(&self) {
        self.state.open.store(true, Ordering::Relaxed);
    }
}

/// Carries one connection in threads of its own. Their errors are the ends of the streams.
fn connect(client: TcpStream, server: TcpStream, state: &Arc<State>, limit_bytes: usize) {
    let (Ok(mut asks), Ok(mut asked)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        let _ = std::io::copy(&mut asks, &mut asked);
        let _ = asked.shutdown(Shutdown::Both);
        let _ = ended.send(());
    });
    let state = Arc::clone(state);
    thread::spawn(move || answer(server, client, &state, limit_bytes, &end));
}

fn answer(
    mut server: TcpStream,
    mut client: TcpStream,
    state: &State,
    limit_bytes: usize,
    end: &mpsc::Receiver<()>,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        let answered = state.answered_bytes.fetch_add(count, Ordering::Relaxed) + count;
        while answered > limit_bytes && !state.open.load(Ordering::Relaxed) {
            // A client that goes away in the meantime is not waited for.
            if end.recv_timeout(LOOK).is_ok() {
                let _ = client.shutdown(Shutdown::Both);
                return;
            }
        }
        if client.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}
