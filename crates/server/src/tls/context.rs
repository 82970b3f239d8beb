//! Certificate and key of the server, and whom it believes about clients.
//!
//! A context is read from files at once or not at all; connections keep the one they began with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, version};

use super::certificate::end_point_hash;

/// Where certificate and key are, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The server's certificate, followed by those between it and a root.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Roots that certificates of clients must lead to; None: clients are not asked for any.
    pub client_ca: Option<PathBuf>,
}

pub struct TlsContext {
    pub config: Arc<ServerConfig>,
    /// What binds a SCRAM exchange to this server's certificate; shared by its connections.
    pub end_point_hash: Option<Arc<[u8]>>,
    pub verifies_clients: bool,
}

/// Why a context could not be read; names the file.
#[derive(Debug)]
pub struct TlsError(String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl TlsContext {
    pub fn load(files: &TlsFiles) -> Result<TlsContext, TlsError> {
        let chain = certificates(&files.certificate)?;
        refuse_open_key(&files.key)?;
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|e| unreadable(&files.key, &e, "key"))?;
        let end_point_hash = end_point_hash(&chain[0]).map(Arc::from);
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| TlsError(format!("TLS could not be set up: {error}")))?;
        let builder = match &files.client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(file)?), provider)
                    .allow_unauthenticated()
                    .build();
                let refused = |error| TlsError(format!("{} cannot be used: {error}", file.display()));
                builder.with_client_cert_verifier(verifier.map_err(refused)?)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            TlsError(format!(
                "certificate {certificate} and key {key} cannot be used: {error}"
            ))
        })?;
        // As PostgreSQL: no session is resumed. A ticket would outlive a change of the certificate or of the roots.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(TlsContext {
            config: Arc::new(config),
            end_point_hash,
            verifies_clients: files.client_ca.is_some(),
        })
    }
}

/// At least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |error: pem::Error| unreadable(file, &error, "certificate");
    let found = CertificateDer::pem_file_iter(file).map_err(unreadable)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(unreadable)?;
    match found.is_empty() {
        true => Err(unreadable(pem::Error::NoItemsFound)),
        false => Ok(found),
    }
}

fn roots(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(file)? {
        store
            .add(certificate)
            .map_err(|error| TlsError(format!("{} cannot be used: {error}", file.display())))?;
    }
    Ok(store)
}

fn unreadable(file: &Path, error: &pem::Error, what: &str) -> TlsError {
    let file = file.display();
    TlsError(match error {
        pem::Error::Io(error) => format!("could not read {file}: {error}"),
        pem::Error::NoItemsFound => {
            format!("{file} holds no {what} in PEM that can be used without a passphrase")
        }
        other => format!("could not read {file}: {other:?}"),
    })
}

/// PostgreSQL's rule: a key that others may read is no secret.
fn refuse_open_key(key: &Path) -> Result<(), TlsError> {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(key)
        .map_err(|error| TlsError(format!("could not read {}: {error}", key.display())))?;
    let forbidden = if facts.uid() == 0 { 0o037 } else { 0o077 };
    if facts.mode() & forbidden == 0 {
        return Ok(());
    }
    Err(TlsError(format!(
        "private key {} can be read by others. It must have permissions 0600 or less, or 0640 if root owns it.",
        key.display()
    )))
}
