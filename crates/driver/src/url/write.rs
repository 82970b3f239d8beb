//! Targets as texts: what reports show, and what another process is handed.

use std::fmt;

use super::{Host, Target};
use crate::tls::Encryption;

impl Target {
    /// What [`Target::parse`] makes this of, password included: for another process of the same user, never for a report. Settings
    /// that were added since are not in it.
    pub fn secret_url(&self) -> String {
        let odbc = if self.odbc.is_some() { "odbc+" } else { "" };
        let mut url = format!("{odbc}{}://{}", self.scheme(), percent_encode(&self.user));
        if let Some(password) = &self.password {
            url += &format!(":{}", percent_encode(password));
        }
        url.push('@');
        let own = (&self.host, self.port);
        let others = self.others.iter().map(|place| (&place.host, place.port));
        let places = std::iter::once(own)
            .chain(others)
            .filter_map(|(host, port)| match host {
                Host::Name(name) if name.contains(':') => Some(format!("[{name}]:{port}")),
                Host::Name(name) => Some(format!("{}:{port}", percent_encode(name))),
                Host::SocketDirectory(_) => None,
            });
        url += &places.collect::<Vec<_>>().join(",");
        url += &format!("/{}", percent_encode(&self.database));
        let options: Vec<String> = self
            .options()
            .into_iter()
            .map(|(key, value)| format!("{key}={}", percent_encode(&value)))
            .collect();
        url + "?" + &options.join("&")
    }

    fn scheme(&self) -> &'static str {
        self.product.scheme().unwrap_or(self.system.scheme())
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = vec![("connect_timeout", self.connect_timeout.as_secs_f64().to_string())];
        if let Host::SocketDirectory(path) = &self.host {
            options.push(("host", path.display().to_string()));
            options.push(("port", self.port.to_string()));
        }
        let engine = self.engine.clone().map(|engine| ("engine", engine));
        let driver = self.odbc.clone().map(|driver| ("driver", driver));
        options.extend(engine.into_iter().chain(driver).chain(self.product.option()));
        if let Some(timeout) = self.answer_timeout {
            options.push(("answer_timeout", timeout.as_secs_f64().to_string()));
        }
        match &self.encryption {
            Encryption::None => {}
            Encryption::Require => options.push(("sslmode", "require".into())),
            Encryption::VerifyFull(file) => {
                options.push(("sslmode", "verify-full".into()));
                options.push(("sslrootcert", file.display().to_string()));
            }
        }
        options
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme();
        if self.odbc.is_some() {
            write!(f, "odbc+")?;
        }
        match &self.host {
            Host::Name(_) => {
                write!(f, "{scheme}://{}@", self.user)?;
                put_place(f, &self.host, self.port)?;
                for other in &self.others {
                    write!(f, ",")?;
                    put_place(f, &other.host, other.port)?;
                }
                write!(f, "/{}", self.database)
            }
            Host::SocketDirectory(path) => {
                let path = path.display();
                write!(
                    f,
                    "{scheme}://{}@/{}?host={path}&port={}",
                    self.user, self.database, self.port
                )
            }
        }
    }
}

fn put_place(f: &mut fmt::Formatter<'_>, host: &Host, port: u16) -> fmt::Result {
    match host {
        Host::Name(name) if name.contains(':') => write!(f, "[{name}]:{port}"),
        Host::Name(name) => write!(f, "{name}:{port}"),
        Host::SocketDirectory(path) => write!(f, "{}", path.display()),
    }
}

fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(byte as char);
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}
