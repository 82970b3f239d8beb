//! One connection's encryption: ciphertext of the socket on one side, plaintext of the connection's buffers on the other.
//!
//! The caller reads and waits; nothing here blocks. Ciphertext that the socket does not take stays here, up to
//! [`CIPHERTEXT_BYTES_MAX`]; beyond it no more plaintext is taken.

use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use mote_catalog::activity::Encryption;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustls::{CipherSuite, ProtocolVersion, ServerConnection};

use super::certificate::Certificate;
use super::context::TlsContext;

/// Encrypted bytes that wait for the socket; records of 16 KiB fill it.
const CIPHERTEXT_BYTES_MAX: usize = 64 << 10;

pub struct Channel {
    context: Arc<TlsContext>,
    connection: ServerConnection,
    /// Came from the socket during the handshake and waits for it to go on.
    untouched: Vec<u8>,
    /// The client has said that nothing more follows.
    is_closed: bool,
}

/// The other side broke the protocol, or we could not go on. It has been told by an alert, which waits to be sent.
#[derive(Debug)]
pub struct Broken;

impl Channel {
    pub fn new(context: Arc<TlsContext>) -> Result<Channel, Broken> {
        let mut connection = ServerConnection::new(context.config.clone()).map_err(|_| Broken)?;
        connection.set_buffer_limit(Some(CIPHERTEXT_BYTES_MAX));
        Ok(Channel {
            context,
            connection,
            untouched: Vec::new(),
            is_closed: false,
        })
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The client has said that nothing more follows: behind what arrived before, this is the end of the connection, whether
    /// or not the socket is closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// For whoever goes on with the socket.
    pub fn into_connection(self) -> ServerConnection {
        self.connection
    }

    pub fn context(&self) -> &TlsContext {
        &self.context
    }

    /// Keeps ciphertext of the handshake for [`Channel::advance`].
    pub fn keep(&mut self, ciphertext: &[u8]) {
        self.untouched.extend_from_slice(ciphertext);
    }

    /// Goes on with the handshake: signatures and key exchange, hundreds of microseconds. Plaintext that came with its end
    /// goes to `plaintext`.
    pub fn advance(&mut self, plaintext: &mut Vec<u8>) -> Result<(), Broken> {
        let ciphertext = std::mem::take(&mut self.untouched);
        self.receive(&ciphertext, plaintext)
    }

    pub fn receive(&mut self, mut ciphertext: &[u8], plaintext: &mut Vec<u8>) -> Result<(), Broken> {
        while !ciphertext.is_empty() {
            let before = ciphertext.len();
            self.connection.read_tls(&mut ciphertext).map_err(|_| Broken)?;
            let state = self.connection.process_new_packets().map_err(|_| Broken)?;
            let mut arrived = state.plaintext_bytes_to_read();
            self.is_closed |= state.peer_has_closed();
            let mut reader = self.connection.reader();
            while arrived > 0 {
                let record = reader.fill_buf().map_err(|_| Broken)?;
                let length = record.len();
                plaintext.extend_from_slice(record);
                reader.consume(length);
                arrived -= length;
            }
            // After a closing alert nothing more is taken.
            if ciphertext.len() == before {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Encrypts as much as there is room for; how much that was.
    pub fn take(&mut self, plaintext: &[u8]) -> usize {
        // Writing to memory does not fail.
        self.connection.writer().write(plaintext).unwrap_or(0)
    }

    /// Ciphertext waits for the socket.
    pub fn has_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    /// Sends ciphertext: until there is none (true), or the socket takes no more.
    pub fn send(&mut self, socket: &impl AsFd) -> Result<bool, Errno> {
        let mut socket = Socket(socket);
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut socket) {
                Ok(_) => {}
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    Some(Errno::AGAIN) => return Ok(false),
                    other => return Err(other.unwrap_or(Errno::IO)),
                },
            }
        }
        Ok(true)
    }

    /// Tells the client that nothing more follows, so that it can tell the end from a cut.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// The client's certificate, which the handshake has verified.
    pub fn client(&self) -> Option<Certificate> {
        Certificate::read(self.connection.peer_certificates()?.first()?)
    }

    /// What pg_stat_ssl tells.
    pub fn facts(&self) -> Encryption {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLSv1.2",
        };
        let suite = self
            .connection
            .negotiated_cipher_suite()
            .map(|suite| suite.suite());
        let (cipher, bits) = suite.map_or(("", 0), cipher);
        let client = self.client();
        Encryption {
            version,
            cipher,
            bits,
            client_dn: client.as_ref().map(|client| client.subject.clone()),
            client_serial: client.as_ref().map(|client| client.serial.clone()),
            issuer_dn: client.map(|client| client.issuer),
        }
    }
}

/// OpenSSL's name of a cipher suite, and the bits of its key.
fn cipher(suite: CipherSuite) -> (&'static str, i32) {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => ("TLS_AES_256_GCM_SHA384", 256),
        CipherSuite::TLS13_AES_128_GCM_SHA256 => ("TLS_AES_128_GCM_SHA256", 128),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => ("TLS_CHACHA20_POLY1305_SHA256", 256),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => ("ECDHE-ECDSA-AES256-GCM-SHA384", 256),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => ("ECDHE-ECDSA-AES128-GCM-SHA256", 128),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => ("ECDHE-ECDSA-CHACHA20-POLY1305", 256),
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => ("ECDHE-RSA-AES256-GCM-SHA384", 256),
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => ("ECDHE-RSA-AES128-GCM-SHA256", 128),
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => ("ECDHE-RSA-CHACHA20-POLY1305", 256),
        // The provider has no other.
        _ => ("", 0),
    }
}

/// A socket as rustls writes to it.
struct Socket<'s, S: AsFd>(&'s S);

impl<S: AsFd> Write for Socket<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    /// Most answers are one record: the kernel takes one piece in less time by `send`.
    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match pieces {
            [one] => self.write(one),
            _ => Ok(rustix::io::writev(self.0, pieces)?),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
