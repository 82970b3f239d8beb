//! The start of a connection that may be encrypted: packets that ask for TLS or GSSAPI, a start-up packet, and whatever comes
//! instead, in pieces of any size, to the server's own channel, certificate reader and start-up packet.
//!
//! The first byte says who sends, the second how large the pieces are: bytes as they are; the same behind a request for TLS; a client
//! of rustls, with TLS 1.2 or 1.3, with a certificate or without, whose plaintext is the input; the same with one byte of its
//! ciphertext changed on the way, after which nothing may arrive but what it had said; a certificate. What the server sends goes
//! through a pair of sockets, since the channel writes to descriptors.
#![no_main]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, version};

// The server's own modules, without the server: that would be a hundred crates under a sanitizer. They name one module of the
// catalog's, which is here as well.
extern crate self as mote_catalog;

#[allow(dead_code)]
#[path = "../../crates/catalog/src/activity.rs"]
mod activity;

#[allow(dead_code)]
#[path = "../../crates/server/src/pgwire/frontend.rs"]
mod frontend;

mod pgwire {
    pub(crate) use crate::frontend;
}

#[allow(dead_code)]
#[path = "../../crates/server/src/start_up.rs"]
mod start_up;

#[allow(dead_code)]
#[path = "../../crates/server/src/tls/anybody.rs"]
mod anybody;
#[allow(dead_code)]
#[path = "../../crates/server/src/tls/certificate.rs"]
mod certificate;
#[allow(dead_code)]
#[path = "../../crates/server/src/tls/channel.rs"]
mod channel;
#[allow(dead_code)]
#[path = "../../crates/server/src/tls/context.rs"]
mod context;
#[allow(dead_code)]
#[path = "../../crates/server/src/tls/der.rs"]
mod der;

use anybody::Anybody;
use certificate::{Certificate, end_point_hash};
use channel::Channel;
use context::{TlsContext, TlsFiles};
use frontend::{CANCEL_REQUEST, Fields, GSSENC_REQUEST, ReadBuffer, SSL_REQUEST};
use start_up::{StartUp, switches};

const ROOT: &[u8] = include_bytes!("../tls/ca.pem");
/// Of the server and of the client, made for this alone; the key of the root is gone.
const PAIR: &[u8] = include_bytes!("../tls/pair.pem");
const KEY: &[u8] = include_bytes!("../tls/pair.key");

const GREETING: &[u8] = b"R\0\0\0\x08\0\0\0\0";

/// Read from files, as the server does it.
static CONTEXT: LazyLock<Arc<TlsContext>> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("mote-fuzz-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, contents: &[u8]| {
        let path = folder.join(name);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&path).and_then(|mut file| file.write_all(contents)).expect("a file");
        path
    };
    let files = TlsFiles {
        certificate: file("pair.pem", PAIR),
        key: file("pair.key", KEY),
        client_ca: Some(file("ca.pem", ROOT)),
    };
    let context = TlsContext::load(&files).expect("they fit");
    fs::remove_dir_all(&folder).expect("our own");
    Arc::new(context)
});

/// Old or new protocol, without or with a certificate.
static CLIENTS: LazyLock<[Arc<ClientConfig>; 4]> = LazyLock::new(|| {
    [(false, false), (false, true), (true, false), (true, true)].map(|(is_old, has_certificate)| {
        let versions = if is_old { [&version::TLS12] } else { [&version::TLS13] };
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&versions)
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody));
        Arc::new(if has_certificate {
            let certificate = CertificateDer::from_pem_slice(PAIR).expect("a certificate");
            let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
            builder.with_client_auth_cert(vec![certificate], key).expect("they fit")
        } else {
            builder.with_no_client_auth()
        })
    })
});

/// As far as a connection of the server's comes without a session.
struct Server {
    input: ReadBuffer,
    channel: Option<Channel>,
    socket: UnixStream,
    /// Where the client hears it.
    far: UnixStream,
    /// It takes no more.
    is_over: bool,
    /// Packets that it has taken from the channel.
    taken: Vec<u8>,
    has_begun: bool,
}

impl Server {
    fn new() -> Server {
        let (socket, far) = UnixStream::pair().expect("descriptors");
        socket.set_nonblocking(true).expect("a socket");
        far.set_nonblocking(true).expect("a socket");
        Server {
            input: ReadBuffer::default(),
            channel: None,
            socket,
            far,
            is_over: false,
            taken: Vec::new(),
            has_begun: false,
        }
    }

    fn send(&mut self) {
        if let Some(channel) = &mut self.channel {
            channel.send(&self.socket).expect("the other end is open");
        }
    }

    /// What the socket brings, as `wire` takes it.
    fn hear(&mut self, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        let space = self.input.space(bytes.len());
        let heard = match &mut self.channel {
            Some(channel) if channel.is_handshaking() => {
                channel.keep(bytes);
                channel.advance(space)
            }
            Some(channel) => channel.receive(bytes, space),
            None => {
                space.extend_from_slice(bytes);
                Ok(())
            }
        };
        self.send();
        self.is_over = heard.is_err();
        while !self.is_over && !self.has_begun && self.channel.as_ref().is_none_or(|c| !c.is_handshaking()) {
            match self.packet() {
                Ok(true) => {}
                Ok(false) => break,
                Err(()) => self.is_over = true,
            }
        }
    }

    /// Takes a packet before the session's start, as `log_in` does. False: none is whole.
    fn packet(&mut self) -> Result<bool, ()> {
        let Some(body) = self.input.peek_startup().map_err(drop)? else { return Ok(false) };
        let packet = self.input.unread()[body.clone()].to_vec();
        if self.channel.is_some() {
            self.taken.extend_from_slice(&self.input.unread()[..body.end]);
        }
        self.input.consume(body.end);
        match Fields::new(&packet).i32().map_err(drop)? as u32 {
            SSL_REQUEST | GSSENC_REQUEST if self.channel.is_none() && !self.input.unread().is_empty() => Err(()),
            SSL_REQUEST if self.channel.is_none() => {
                self.channel = Some(Channel::new(CONTEXT.clone()).map_err(drop)?);
                // What follows is for the channel.
                Ok(false)
            }
            GSSENC_REQUEST if self.channel.is_none() => Ok(true),
            CANCEL_REQUEST => Err(()),
            _ => {
                self.begin(&packet);
                self.has_begun = true;
                Ok(true)
            }
        }
    }

    /// What the server makes of a start-up packet, and of the channel that it came through; then it answers.
    fn begin(&mut self, packet: &[u8]) {
        if let Ok(start) = StartUp::read(packet) {
            assert!(!start.user.is_empty() && !start.database().is_empty());
            assert!(start.logical <= start.replication);
            drop(switches(&start.options));
        }
        if let Some(channel) = &mut self.channel {
            let facts = channel.facts();
            assert!(!facts.cipher.is_empty() && facts.bits >= 128);
            assert_eq!(facts.client_dn.is_some(), channel.client().is_some());
            assert_eq!(channel.take(GREETING), GREETING.len());
        }
        self.send();
    }

    /// Ciphertext for the client.
    fn told(&mut self) -> Vec<u8> {
        self.send();
        let mut bytes = Vec::new();
        // Ends with an error: the socket has no end, and does not block.
        drop(self.far.read_to_end(&mut bytes));
        bytes
    }
}

fn packet(code: u32, rest: &[u8]) -> Vec<u8> {
    let length = rest.len() as u32 + 8;
    [&length.to_be_bytes()[..], &code.to_be_bytes(), rest].concat()
}

/// A client that keeps to the protocol says `plaintext`; `change` is where in its stream a byte becomes another.
fn client(config: &Arc<ClientConfig>, plaintext: &[u8], piece: usize, change: Option<(usize, u8)>) {
    let mut server = Server::new();
    server.hear(&packet(SSL_REQUEST, &[]));
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = ClientConnection::new(config.clone(), name).expect("a client");
    let (mut sent, mut said, mut heard) = (0, 0, Vec::new());
    // With TLS 1.3 the client is done before the server: nothing but a round without a byte is an end.
    loop {
        let mut moved = false;
        if !client.is_handshaking() && said < plaintext.len() {
            said += client.writer().write(&plaintext[said..]).expect("memory");
        }
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).expect("memory");
        }
        if let Some((at, mask)) = change
            && let Some(byte) = at.checked_sub(sent).and_then(|at| bytes.get_mut(at))
        {
            *byte ^= mask;
        }
        sent += bytes.len();
        for some in bytes.chunks(piece) {
            server.hear(some);
            moved = true;
        }
        let told = server.told();
        let mut rest = &told[..];
        while !rest.is_empty() {
            moved = true;
            if client.read_tls(&mut rest).is_err() || client.process_new_packets().is_err() {
                break;
            }
        }
        // Ends with an error, as there may be more.
        drop(client.reader().read_to_end(&mut heard));
        if !moved {
            break;
        }
    }
    let arrived = [&server.taken, server.input.unread()].concat();
    let changed = change.is_some_and(|(at, mask)| mask != 0 && at < sent);
    if changed {
        assert!(plaintext.starts_with(&arrived), "nobody has said that");
    } else if !server.is_over {
        assert_eq!(said, plaintext.len(), "the handshake ends");
        assert_eq!(arrived, plaintext, "all that was said arrives");
        assert_eq!(server.has_begun, heard == GREETING);
    } else {
        // A packet that is none: what came in pieces behind it was not taken.
        assert!(!server.has_begun);
    }
    if let Some(channel) = &mut server.channel {
        channel.close();
    }
    server.send();
}

fuzz_target!(|input: &[u8]| {
    let [who, piece, rest @ ..] = input else { return };
    let piece = usize::from(*piece) + 1;
    let config = &CLIENTS[usize::from(who / 8 % 4)];
    match who % 8 {
        0..=2 => {
            let mut server = Server::new();
            if who % 8 > 0 {
                server.hear(&packet(SSL_REQUEST, &[]));
            }
            for some in rest.chunks(piece) {
                server.hear(some);
            }
            drop(server.told());
        }
        3 | 4 => client(config, rest, piece, None),
        5 | 6 => {
            let [low, high, mask, rest @ ..] = rest else { return };
            let at = usize::from(u16::from_le_bytes([*low, *high]));
            client(config, rest, piece, Some((at, *mask)));
        }
        _ => {
            if let Some(certificate) = Certificate::read(rest) {
                assert!(certificate.serial.bytes().all(|digit| digit.is_ascii_digit()));
                let name = certificate.common_name.as_deref().unwrap_or_default();
                assert!(!name.contains('\0') && !certificate.subject.contains('\0'));
            }
            drop(end_point_hash(rest));
        }
    }
});
