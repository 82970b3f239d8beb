//! Cables between the nodes of a cluster that can be cut: each node is reached by the others through a port of its own, and
//! says in its start-up packet who it is.
//!
//! While a cable is cut nothing passes, and nobody is told: what was sent arrives when it is whole again, as TCP's
//! repetitions would. Clients go directly.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(5);
/// A start-up packet of a node is far smaller.
const START_UP_BYTES_MAX: usize = 10_000;

/// The pairs (who asks, who is asked) that are cut.
type Cut = Arc<Mutex<BTreeSet<(usize, usize)>>>;

pub struct Cuts {
    ports: [u16; 3],
    cut: Cut,
}

impl Cuts {
    /// For nodes of these names that listen at these ports of this machine.
    pub fn between(names: [&'static str; 3], ports: [u16; 3]) -> Cuts {
        let cut = Cut::default();
        let mut index = 0;
        let reached = ports.map(|port| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
            let reached = listener.local_addr().expect("it is bound").port();
            let (cut, to) = (cut.clone(), index);
            index += 1;
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let cut = cut.clone();
                    std::thread::spawn(move || connect(stream, names, to, port, &cut));
                }
            });
            reached
        });
        Cuts { ports: reached, cut }
    }

    /// Where the others reach this node.
    pub fn port(&self, index: usize) -> u16 {
        self.ports[index]
    }

    /// Nothing passes between the two any more, whoever has connected.
    pub fn cut(&self, one: usize, other: usize) {
        let mut cut = self.cut.lock().expect("unpoisoned");
        cut.extend([(one, other), (other, one)]);
    }

    pub fn mend(&self) {
        self.cut.lock().expect("unpoisoned").clear();
    }
}

/// Carries one connection. Its errors are the ends of the streams.
fn connect(mut from: TcpStream, names: [&str; 3], to: usize, port: u16, cut: &Cut) {
    let Some(packet) = start_up(&mut from) else {
        return;
    };
    let who = names.iter().position(|name| is_named(&packet, name));
    let cable = who.map(|who| (who, to));
    wait(cut, cable);
    let Ok(mut onward) = TcpStream::connect(("127.0.0.1", port)) else {
        return;
    };
    let passed = onward.write_all(&packet);
    let (Ok(()), Ok(mut back), Ok(mut answers)) = (passed, from.try_clone(), onward.try_clone()) else {
        return;
    };
    let _ = (from.set_nodelay(true), onward.set_nodelay(true));
    let other = cut.clone();
    std::thread::spawn(move || carry(&mut answers, &mut back, &other, cable));
    carry(&mut from, &mut onward, cut, cable);
}

fn carry(from: &mut TcpStream, to: &mut TcpStream, cut: &Cut, cable: Option<(usize, usize)>) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        wait(cut, cable);
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            // Either may be closed already.
            let _ = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
            return;
        }
    }
}

fn wait(cut: &Cut, cable: Option<(usize, usize)>) {
    while cable.is_some_and(|cable| cut.lock().expect("unpoisoned").contains(&cable)) {
        std::thread::sleep(LOOK);
    }
}

fn start_up(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet).ok()?;
    let length = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]) as usize;
    if !(8..START_UP_BYTES_MAX).contains(&length) {
        return None;
    }
    packet.resize(length, 0);
    from.read_exact(&mut packet[4..]).ok()?;
    Some(packet)
}

fn is_named(packet: &[u8], name: &str) -> bool {
    let named = [b"application_name\0", name.as_bytes(), b"\0"].concat();
    packet.windows(named.len()).any(|window| window == named)
}
