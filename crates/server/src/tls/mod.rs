//! TLS: who the server is, and records between a socket and a connection's buffers.
//!
//! `context`: certificate and key, read from files and read again on request; `channel`: one connection's encryption; `stream`:
//! the same for a stream of replication, of either side, when the log-in is over;
//! `certificate`: what we need to know of an X.509 certificate: names, serial number, hash for channel binding; `der`: the
//! encoding that certificates are written in.
//!
//! Source: PostgreSQL's be-secure.c, by what a client sees of it; the protocol itself is rustls's.
//!
//! Promises: no protocol below 1.2; no renegotiation, no tickets, no early data; a handshake's arithmetic runs beside the
//! event loops (docs/design/0028). Leaves out: who may connect (`auth`).

#[cfg(test)]
mod anybody;
mod certificate;
mod channel;
mod context;
mod der;
mod stream;

pub use channel::{Broken, Channel};
pub use context::{TlsContext, TlsError, TlsFiles};
pub use stream::EncryptedStream;
