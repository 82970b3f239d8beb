//! What a server is started with.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mote_catalog::hba::Rules;
use mote_catalog::settings::FILE_NAME;

use crate::auth::AuthMethod;
use crate::capacity::Capacity;
use crate::tls::TlsFiles;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub data_directory: PathBuf,
    pub listen: SocketAddr,
    /// Directory of a Unix socket besides.
    pub socket_directory: Option<PathBuf>,
    /// Where no file of rules is given.
    pub auth: AuthMethod,
    /// Rules in the form of pg_hba.conf.
    pub hba_file: Option<PathBuf>,
    pub tls: Option<TlsFiles>,
    /// Clients of other machines may come without TLS.
    pub allow_unencrypted: bool,
    /// Event loops; 0 = one per core.
    pub workers: usize,
    /// Places for sessions, and for connections that have not authenticated yet.
    pub capacity: Capacity,
    /// A client has this long to authenticate.
    pub authentication_timeout: Duration,
    /// Log that is kept for a follower which is away.
    pub slot_log_bytes_max: u64,
    /// `synchronous_standby_names`: which followers commits wait for. None: as the data directory's settings say.
    pub synchronous_standby_names: Option<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            data_directory: PathBuf::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 5432)),
            socket_directory: None,
            auth: AuthMethod::Trust,
            hba_file: None,
            tls: None,
            allow_unencrypted: false,
            workers: 0,
            capacity: Capacity::default(),
            authentication_timeout: Duration::from_secs(60),
            slot_log_bytes_max: 16 << 30,
            synchronous_standby_names: None,
        }
    }
}

impl ServerConfig {
    /// What SHOW tells of how the server was started.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let shown = |path: &Path| path.display().to_string();
        let mut facts = vec![
            ("listen_addresses", self.listen.ip().to_string()),
            ("port", self.listen.port().to_string()),
            ("ssl", if self.tls.is_some() { "on" } else { "off" }.to_string()),
        ];
        if let Some(directory) = &self.socket_directory {
            facts.push(("unix_socket_directories", shown(directory)));
        }
        facts.push(("data_directory", shown(&self.data_directory)));
        facts.push(("config_file", shown(&self.data_directory.join(FILE_NAME))));
        facts.extend(self.hba_file.as_deref().map(|file| ("hba_file", shown(file))));
        facts
    }

    /// The rules of the file, read now; without one, those that the other options say.
    pub fn read_rules(&self) -> Result<Rules, String> {
        match &self.hba_file {
            None => Ok(Rules::parse(&self.rules_of_options())),
            Some(file) => match std::fs::read_to_string(file) {
                Ok(text) => Ok(Rules::parse(&text)),
                Err(error) => Err(format!("could not read {}: {error}", file.display())),
            },
        }
    }

    fn rules_of_options(&self) -> String {
        let method = self.auth.name();
        let local = "local all,replication all peer\n";
        let everywhere = format!("host all,replication all all {method}\n");
        if self.allow_unencrypted || self.listen.ip().is_loopback() || self.tls.is_none() {
            return format!("{local}{everywhere}");
        }
        format!(
            "{local}\
             host all,replication all 127.0.0.0/8 {method}\n\
             host all,replication all ::1/128 {method}\n\
             hostssl all,replication all all {method}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_catalog::hba::{Applicant, Method};

    #[test]
    fn without_a_file_the_options_decide() {
        let method = |config: &ServerConfig, address: Option<&str>, encrypted| {
            let rules = config.read_rules().expect("no file");
            assert_eq!(rules.mistake(), None);
            let applicant = Applicant {
                database: "d",
                user: "u",
                address: address.map(|address| address.parse().expect("an address")),
                encrypted,
                replicates: false,
            };
            rules.rule_for(applicant, &|_| false).map(|rule| rule.method)
        };
        let loopback = ServerConfig::default();
        assert_eq!(method(&loopback, None, false), Some(Method::Peer));
        assert_eq!(method(&loopback, Some("127.0.0.1"), false), Some(Method::Trust));
        let mut open = ServerConfig {
            listen: SocketAddr::from(([0, 0, 0, 0], 5432)),
            auth: AuthMethod::ScramSha256,
            tls: Some(TlsFiles {
                certificate: "c".into(),
                key: "k".into(),
                client_ca: None,
            }),
            ..ServerConfig::default()
        };
        assert_eq!(method(&open, Some("10.0.0.1"), false), None);
        assert_eq!(method(&open, Some("10.0.0.1"), true), Some(Method::ScramSha256));
        assert_eq!(method(&open, Some("127.0.0.1"), false), Some(Method::ScramSha256));
        open.allow_unencrypted = true;
        assert_eq!(method(&open, Some("10.0.0.1"), false), Some(Method::ScramSha256));
    }
}
