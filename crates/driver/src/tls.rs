//! TLS for the driver: what `sslmode` asks for, and a stream that encrypts.
//!
//! `require` encrypts and believes any certificate, as libpq does; `verify-full` wants one that an authority of
//! `sslrootcert=FILE` has signed for the host's name. Nothing is encrypted without being asked for.
//!
//! Invariant: the stream never waits. Bytes that the socket does not take stay in its buffer and go with the next read or
//! write; a reader tries that before it says that there is nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// How a connection is encrypted.
#[derive(Clone, PartialEq, Debug)]
pub enum Encryption {
    None,
    /// With whoever answers.
    Require,
    /// With a server that an authority of this file has vouched for, by name.
    VerifyFull(PathBuf),
}

impl Encryption {
    /// For all connections of a target; `None` where nothing is encrypted.
    pub fn config(&self) -> Result<Option<Arc<ClientConfig>>, String> {
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match self {
            Encryption::None => return Ok(None),
            Encryption::Require => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
                .with_no_client_auth(),
            Encryption::VerifyFull(file) => {
                let unreadable = |error: String| format!("sslrootcert={}: {error}", file.display());
                let mut roots = RootCertStore::empty();
                let certificates =
                    CertificateDer::pem_file_iter(file).map_err(|error| unreadable(error.to_string()))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                    roots
                        .add(certificate)
                        .map_err(|error| unreadable(error.to_string()))?;
                }
                builder.with_root_certificates(roots).with_no_client_auth()
            }
        };
        Ok(Some(Arc::new(config)))
    }
}

/// Believes any certificate, and still wants the handshake to be signed with its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// An encrypted connection; the handshake happens with the first bytes.
pub struct TlsStream {
    connection: ClientConnection,
    stream: TcpStream,
}

impl TlsStream {
    pub fn new(stream: TcpStream, config: Arc<ClientConfig>, host: &str) -> io::Result<TlsStream> {
        let name = ServerName::try_from(host.to_string())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let connection = ClientConnection::new(config, name).map_err(invalid)?;
        Ok(TlsStream { connection, stream })
    }

    pub fn into_parts(self) -> (TcpStream, ClientConnection) {
        (self.stream, self.connection)
    }

    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }

    fn push(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Pieces(&mut self.stream)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A socket as rustls writes to it. Most requests are one record: the kernel takes one piece in less time without a list.
struct Pieces<'s>(&'s mut TcpStream);

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match pieces {
            [one] => self.0.write(one),
            _ => self.0.write_vectored(pieces),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.push()?;
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.connection.read_tls(&mut self.stream)? == 0 {
                return Ok(0);
            }
            if let Err(error) = self.connection.process_new_packets() {
                // The server hears why.
                let _ = self.push();
                return Err(invalid(error));
            }
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let taken = self.connection.writer().write(buffer)?;
        self.push()?;
        if taken == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()
    }
}
