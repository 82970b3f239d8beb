//! A URL and its options, read. What it does not know it refuses.

use std::path::PathBuf;
use std::time::Duration;

use super::system::PARTITIONS_MAX;
use super::{Certificates, Host, Place, Product, Resolved, System, Target};
use crate::tls::Encryption;

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

impl Target {
    pub fn parse(text: &str) -> Result<Target, String> {
        let (through_odbc, text) = match text.strip_prefix("odbc+") {
            Some(_) if !cfg!(feature = "odbc") => {
                return Err("this program was built without ODBC: cargo build --features odbc".into());
            }
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (system, product, rest) = scheme_of(text, through_odbc)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, address) = match authority.rsplit_once('@') {
            Some((credentials, address)) => (credentials, address),
            None => ("", authority),
        };
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(percent_decode(password)?)),
            None => (credentials, None),
        };
        let (Place { host, port, resolved }, others) = places_of(address, system)?;
        let user = if user.is_empty() {
            system.superuser().to_string()
        } else {
            percent_decode(user)?
        };
        let database = percent_decode(database)?;
        let mut target = Target {
            system,
            product,
            host,
            port,
            database: if database.is_empty() {
                user.clone()
            } else {
                database
            },
            user,
            password,
            settings: Vec::new(),
            odbc: through_odbc.then(|| system.odbc_driver().to_string()),
            engine: None,
            connect_timeout: CONNECT_TIMEOUT,
            answer_timeout: None,
            encryption: Encryption::None,
            certificates: Certificates::default(),
            others,
            resolved,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            target.set_option(key, percent_decode(value)?)?;
        }
        if target.odbc.is_some() && (target.encryption != Encryption::None || !target.others.is_empty()) {
            return Err(
                "through ODBC there is one host, and the driver's own settings decide on encryption".into(),
            );
        }
        target.read_certificates()?;
        Ok(target)
    }

    /// As `?key=value` in a URL.
    pub(super) fn set_option(&mut self, key: &str, value: String) -> Result<(), String> {
        match key {
            "engine" if self.system == System::Mysql && is_name(&value) => self.engine = Some(value),
            "engine" if self.product == Product::OpenGauss && value == "mot" => {
                self.product = Product::OpenGaussMot;
            }
            "partitions" if matches!(self.product, Product::Klustron { .. }) => {
                let partitions = value.parse().ok().filter(|n| (1..=PARTITIONS_MAX).contains(n));
                let partitions = partitions.ok_or_else(|| {
                    format!("\"{value}\" is not a number of partitions from 1 to {PARTITIONS_MAX}")
                })?;
                self.product = Product::Klustron { partitions };
            }
            "host" if value.starts_with('/') && self.system == System::Mysql => {
                return Err("MySQL's Unix sockets are not supported; name a host".into());
            }
            "host" if value.starts_with('/') && self.system != System::Postgres => {
                return Err("Unix sockets are for PostgreSQL's protocol; name a host".into());
            }
            "host" if value.starts_with('/') => self.host = Host::SocketDirectory(PathBuf::from(value)),
            "host" => self.host = Host::Name(value),
            "port" => self.port = value.parse().map_err(|_| format!("\"{value}\" is not a port"))?,
            "driver" if self.odbc.is_some() => self.odbc = Some(value),
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "connect_timeout" => self.connect_timeout = seconds(&value)?,
            "answer_timeout" => self.answer_timeout = Some(seconds(&value)?),
            "sslmode" | "sslrootcert" if self.system != System::Postgres => {
                return Err(format!("{key} is for PostgreSQL's protocol"));
            }
            "sslmode" => self.set_sslmode(&value)?,
            "sslrootcert" => match &mut self.encryption {
                Encryption::VerifyFull(file) => *file = PathBuf::from(value),
                _ => return Err("sslrootcert comes behind sslmode=verify-full".into()),
            },
            _ => return Err(format!("unknown connection option \"{key}\"")),
        }
        Ok(())
    }

    /// As `?sslmode=` in a URL.
    fn set_sslmode(&mut self, mode: &str) -> Result<(), String> {
        self.encryption = match mode {
            // Whoever leaves it open is not encrypted.
            "disable" | "allow" | "prefer" => Encryption::None,
            "require" => Encryption::Require,
            "verify-full" => Encryption::VerifyFull(PathBuf::new()),
            _ => {
                return Err(format!(
                    "sslmode={mode}: this driver knows disable, require and verify-full"
                ));
            }
        };
        Ok(())
    }
}

/// Who is meant by what stands before `://`, and what stands behind it.
fn scheme_of(text: &str, through_odbc: bool) -> Result<(System, Product, &str), String> {
    let known = |(scheme, rest)| {
        let product = Product::SCHEMES.iter().find(|(name, _)| *name == scheme);
        if let Some((_, product)) = product {
            return Some((System::Postgres, *product, rest));
        }
        let mut systems = System::SCHEMES.iter();
        Some((
            systems.find(|(name, _)| *name == scheme)?.1,
            Product::PostgreSql,
            rest,
        ))
    };
    let (system, product, rest) = text
        .split_once("://")
        .and_then(known)
        .ok_or_else(|| format!("\"{text}\" begins neither with postgres:// nor with mysql://"))?;
    if matches!(system, System::Oracle | System::Db2) && !through_odbc {
        return Err(format!(
            "\"{text}\": this system is reached through ODBC: odbc+{}://",
            system.scheme()
        ));
    }
    Ok((system, product, rest))
}

/// The hosts of a URL: the first one, and the others.
fn places_of(address: &str, system: System) -> Result<(Place, Vec<Place>), String> {
    let mut places = address.split(',').map(|address| {
        let (host, port) = split_port(address, system.default_port())?;
        let host = if host.is_empty() {
            "127.0.0.1".to_string()
        } else {
            percent_decode(host)?
        };
        Ok(Place {
            host: Host::Name(host),
            port,
            resolved: Resolved::default(),
        })
    });
    let first = places.next().expect("a split has a first part")?;
    let others = places.collect::<Result<Vec<Place>, String>>()?;
    if system != System::Postgres && !others.is_empty() {
        return Err("several hosts are for PostgreSQL's protocol".into());
    }
    Ok((first, others))
}

/// A word that can stand in SQL as it is.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Splits `host:port` and `[v6]:port`.
fn split_port(address: &str, default: u16) -> Result<(&str, u16), String> {
    let (host, port) = match address.strip_prefix('[') {
        Some(v6) => {
            let (host, rest) = v6.split_once(']').ok_or("missing ] after an IPv6 address")?;
            (host, rest.strip_prefix(':').unwrap_or(""))
        }
        None => address.rsplit_once(':').unwrap_or((address, "")),
    };
    if port.is_empty() {
        return Ok((host, default));
    }
    Ok((
        host,
        port.parse().map_err(|_| format!("\"{port}\" is not a port"))?,
    ))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok();
    let positive = number.filter(|number| *number > 0.0);
    positive
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .ok_or_else(|| format!("\"{text}\" is not a number of seconds"))
}

fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| (b as char).to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err(format!("bad percent escape in \"{text}\"")),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("\"{text}\" is not UTF-8"))
}
