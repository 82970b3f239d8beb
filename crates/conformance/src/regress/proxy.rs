//! Stands between psql and a server, passes everything on, and tells what the server said.
//!
//! psql does not print SQLSTATEs, does not say that it waits for COPY data, and on SIGINT ends a script. All three are
//! on the wire. Only the server's side is read: it begins with a typed message, since psql is told not to ask for
//! encryption.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use mote_driver::wire;

/// What happened in a session; what psql prints comes through the same channel.
#[derive(Debug)]
pub enum Event {
    Output(Vec<u8>),
    OutputEnd,
    /// The server asks for the data of a COPY.
    CopyIn,
    Ready,
    /// SQLSTATE and message of an error.
    Error(String, String),
    /// A setting the server reports.
    Setting(String, String),
}

const CANCEL_REQUEST: i32 = 80_877_102;

pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    /// Process number and secret of the latest session: psql's `\c` makes a new one.
    key: Mutex<Option<Vec<u8>>>,
    /// Both ends of every connection, so that they can be ended.
    streams: Mutex<Vec<TcpStream>>,
    /// Set before the listener is woken for the last time; the lock of `streams` orders it with what is ended.
    closing: AtomicBool,
}

impl Proxy {
    pub fn start(server: SocketAddr, events: Sender<Event>) -> Result<Proxy, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("proxy: {error}"))?;
        let port = listener
            .local_addr()
            .map_err(|error| format!("proxy: {error}"))?
            .port();
        let shared = Arc::new(Shared {
            server,
            key: Mutex::new(None),
            streams: Mutex::new(Vec::new()),
            closing: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Acquire: pairs with `drop`, whose connection is the last one.
                if accepting.closing.load(Ordering::Acquire) {
                    break;
                }
                // A client whose server cannot be reached sees its connection end.
                let _ = accepting.clone().connect(client, events.clone());
            }
        });
        Ok(Proxy { port, shared })
    }

    /// Asks the server to cancel what the session does, as PQcancel would.
    pub fn cancel(&self) {
        let key = self.shared.key.lock().expect("no panic under the lock").clone();
        if let (Some(key), Ok(mut stream)) = (key, TcpStream::connect(self.shared.server)) {
            let mut packet = 16i32.to_be_bytes().to_vec();
            packet.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
            packet.extend_from_slice(&key);
            let _ = stream.write_all(&packet); // A server that is gone has nothing to cancel.
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Release: pairs with the accepting thread's load.
        self.shared.closing.store(true, Ordering::Release);
        for stream in self
            .shared
            .streams
            .lock()
            .expect("no panic under the lock")
            .drain(..)
        {
            let _ = stream.shutdown(Shutdown::Both); // It may have ended by itself.
        }
        let _ = TcpStream::connect(("127.0.0.1", self.port)); // Wakes the accepting thread.
    }
}

impl Shared {
    fn connect(self: Arc<Self>, client: TcpStream, events: Sender<Event>) -> std::io::Result<()> {
        let server = TcpStream::connect(self.server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        {
            let mut streams = self.streams.lock().expect("no panic under the lock");
            streams.extend([client.try_clone()?, server.try_clone()?]);
        }
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server); // Ends with either of them.
            let _ = to_server.shutdown(Shutdown::Both);
        });
        std::thread::spawn(move || {
            let _ = self.pass_answers(&server, &client, &events);
            let _ = client.shutdown(Shutdown::Both);
        });
        Ok(())
    }

    /// Every event is told before psql can react to it.
    fn pass_answers(
        &self,
        mut server: &TcpStream,
        mut client: &TcpStream,
        events: &Sender<Event>,
    ) -> std::io::Result<()> {
        let mut unread: Vec<u8> = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = server.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            unread.extend_from_slice(&buffer[..count]);
            let mut read = 0;
            while let Ok(Some((frame, length))) = wire::frame(&unread[read..]) {
                if let Some(event) = self.event(frame) {
                    let _ = events.send(event); // The session may have been given up.
                }
                read += length;
            }
            unread.drain(..read);
            client.write_all(&buffer[..count])?;
        }
    }

    fn event(&self, frame: wire::Frame<'_>) -> Option<Event> {
        match frame.kind {
            b'K' => {
                *self.key.lock().expect("no panic under the lock") = Some(frame.body.to_vec());
                None
            }
            b'G' => Some(Event::CopyIn),
            b'Z' => Some(Event::Ready),
            b'E' => {
                let error = wire::decode_error(frame.body);
                Some(Event::Error(error.sqlstate, error.message))
            }
            b'S' => {
                let mut parts = frame.body.split(|byte| *byte == 0);
                let mut text = || {
                    parts
                        .next()
                        .map(|part| String::from_utf8_lossy(part).into_owned())
                };
                Some(Event::Setting(text()?, text()?))
            }
            _ => None,
        }
    }
}
