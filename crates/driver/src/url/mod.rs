//! Where the server is: `postgres://user:password@host:port/database`, or `?host=/dir` for a Unix socket; `mysql://` and
//! `mariadb://` for the wire of those, where `?engine=NAME` names the engine of the tables that are made. `odbc+` before any of
//! them goes through a driver of ODBC, `?driver=NAME` through that one; `odbc+oracle://` and `odbc+db2://` have no other way.
//! `opengauss://` (`?engine=mot` for its tables in memory) and `klustron://` (`?partitions=N`) speak PostgreSQL's protocol and define
//! tables otherwise.
//!
//! Several hosts, as in `postgres://a:5432,b:5433/database`, are a primary and its standbys: the first that takes writes is
//! used.
//!
//! `?sslmode=require` and `?sslmode=verify-full&sslrootcert=FILE` encrypt (`tls`).
//!
//! `?connect_timeout=SECONDS` (10) bounds the connection, and once more the log-in; `?answer_timeout=SECONDS` (none) each
//! answer behind it.
//!
//! Read `system` (what the scheme says), `parse` and `write` (from a text and back to one); this file has what is asked of a target.
//!
//! Invariant: `Display` never shows the password, so a `Target` may go into reports.

mod parse;
mod system;
#[cfg(test)]
mod tests;
mod write;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;

pub use system::{Product, System};

use super::tls::Encryption;

#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    pub system: System,
    pub product: Product,
    pub host: Host,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// Settings that connections ask for when they start, beyond the driver's own.
    pub settings: Vec<(&'static str, String)>,
    /// The driver of ODBC that connections go through, if they do.
    pub odbc: Option<String>,
    /// Of the tables that are made, where the system has several.
    pub engine: Option<String>,
    /// For a connection, and again for what follows until it can be used.
    pub connect_timeout: Duration,
    /// For each answer, in measured work; a connection that keeps silent longer counts as lost.
    pub answer_timeout: Option<Duration>,
    encryption: Encryption,
    certificates: Certificates,
    /// Where the same data are too, and may be written when this server is gone.
    others: Vec<Place>,
    resolved: Resolved,
}

#[derive(Clone, PartialEq, Debug)]
struct Place {
    host: Host,
    port: u16,
    resolved: Resolved,
}

/// The addresses of a name, which is looked up once: a look-up blocks, and sessions are opened where nothing may.
#[derive(Clone, Default, Debug)]
struct Resolved(Arc<OnceLock<Vec<SocketAddr>>>);

/// What encrypts, read once from the files that the options name; they tell targets apart.
#[derive(Clone, Default, Debug)]
struct Certificates(Option<Arc<ClientConfig>>);

impl PartialEq for Certificates {
    fn eq(&self, _: &Certificates) -> bool {
        true
    }
}

/// What has been looked up makes no target another one.
impl PartialEq for Resolved {
    fn eq(&self, _: &Resolved) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Host {
    Name(String),
    /// The directory that holds `.s.PGSQL.<port>`.
    SocketDirectory(PathBuf),
}

impl Target {
    /// The encryption is decided; what it needs is read.
    fn read_certificates(&mut self) -> Result<(), String> {
        if matches!(&self.encryption, Encryption::VerifyFull(file) if file.as_os_str().is_empty()) {
            return Err("sslmode=verify-full needs sslrootcert=FILE".into());
        }
        if self.encryption != Encryption::None && matches!(self.host, Host::SocketDirectory(_)) {
            return Err("Unix sockets are not encrypted".into());
        }
        self.certificates = Certificates(self.encryption.config()?);
        Ok(())
    }

    /// What connections are encrypted with, if they are.
    pub fn tls(&self) -> Option<Arc<ClientConfig>> {
        self.certificates.0.clone()
    }

    /// The same server, reached over TLS without a look at its certificate.
    pub fn over_tls(&self) -> Result<Target, String> {
        self.with_sslmode("require", None)
    }

    /// The same server, reached as `?sslmode=` and `?sslrootcert=` in its URL would have it.
    pub fn with_sslmode(&self, sslmode: &str, sslrootcert: Option<&str>) -> Result<Target, String> {
        let mut target = self.clone();
        target.set_option("sslmode", sslmode.into())?;
        if let Some(file) = sslrootcert {
            target.set_option("sslrootcert", file.into())?;
        }
        target.read_certificates()?;
        Ok(target)
    }

    /// The same, with its files of certificates read anew: who connects for months sees roots change.
    pub fn renewed(&self) -> Result<Target, String> {
        let mut target = self.clone();
        target.read_certificates()?;
        Ok(target)
    }

    /// The others, each alone.
    pub fn others(&self) -> impl Iterator<Item = Target> + '_ {
        self.others.iter().map(|place| Target {
            host: place.host.clone(),
            port: place.port,
            resolved: place.resolved.clone(),
            others: Vec::new(),
            ..self.clone()
        })
    }

    /// The same with one server more.
    pub fn with_other(&self, other: &Target) -> Target {
        let mut both = self.clone();
        both.others.push(Place {
            host: other.host.clone(),
            port: other.port,
            resolved: other.resolved.clone(),
        });
        both
    }

    /// Another server with the same users and databases.
    pub fn at(&self, host: &str, port: u16) -> Target {
        Target {
            host: Host::Name(host.to_string()),
            port,
            // The addresses of the name before are no business of this one.
            resolved: Resolved::default(),
            others: Vec::new(),
            ..self.clone()
        }
    }

    pub fn addresses(&self) -> io::Result<&[SocketAddr]> {
        let Host::Name(name) = &self.host else {
            return Ok(&[]);
        };
        let known = &self.resolved.0;
        if known.get().is_none() {
            let found = (name.as_str(), self.port).to_socket_addrs()?.collect();
            // Another thread may have been faster, with the same answer.
            let _ = known.set(found);
        }
        Ok(known.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// Whether the server's processes can be looked up in this machine's /proc.
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::SocketDirectory(_) => true,
            Host::Name(name) => name == "localhost" || name == "::1" || name.starts_with("127."),
        }
    }
}
