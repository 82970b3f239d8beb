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
//! Invariant: `Display` never shows the password, so a `Target` may go into reports.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;

use super::tls::Encryption;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which wire the server speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// Through ODBC only, as the next.
    Oracle,
    Db2,
}

impl System {
    const SCHEMES: [(&'static str, System); 6] = [
        ("postgres", System::Postgres),
        ("postgresql", System::Postgres),
        ("mysql", System::Mysql),
        ("mariadb", System::Mysql),
        ("oracle", System::Oracle),
        ("db2", System::Db2),
    ];

    fn scheme(self) -> &'static str {
        match self {
            System::Postgres => "postgres",
            System::Mysql => "mysql",
            System::Oracle => "oracle",
            System::Db2 => "db2",
        }
    }

    /// As Debian's packages odbc-postgresql and odbc-mariadb name them, and as the makers of the others do.
    fn odbc_driver(self) -> &'static str {
        match self {
            System::Postgres => "PostgreSQL Unicode",
            System::Mysql => "MariaDB Unicode",
            System::Oracle => "Oracle 19 ODBC driver",
            System::Db2 => "IBM DB2 ODBC DRIVER",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            System::Postgres => 5432,
            System::Mysql => 3306,
            System::Oracle => 1521,
            System::Db2 => 50_000,
        }
    }

    fn superuser(self) -> &'static str {
        match self {
            System::Postgres => "postgres",
            System::Mysql => "root",
            System::Oracle => "system",
            System::Db2 => "db2inst1",
        }
    }
}

/// Who answers in PostgreSQL's protocol, as far as tables are defined otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Product {
    PostgreSql,
    /// Its tables on disk, which are defined as PostgreSQL's.
    OpenGauss,
    /// Its tables in memory.
    OpenGaussMot,
    /// Tables in as many hash partitions, which it spreads over its shards.
    Klustron {
        partitions: u32,
    },
}

/// Of a table of Klustron, unless `?partitions=` says otherwise.
const PARTITIONS: u32 = 16;
/// More make a load of definitions.
const PARTITIONS_MAX: u32 = 1_000;

impl Product {
    const SCHEMES: [(&'static str, Product); 2] = [
        ("opengauss", Product::OpenGauss),
        (
            "klustron",
            Product::Klustron {
                partitions: PARTITIONS,
            },
        ),
    ];

    fn scheme(self) -> Option<&'static str> {
        match self {
            Product::PostgreSql => None,
            Product::OpenGauss | Product::OpenGaussMot => Some("opengauss"),
            Product::Klustron { .. } => Some("klustron"),
        }
    }

    fn option(self) -> Option<(&'static str, String)> {
        match self {
            Product::PostgreSql | Product::OpenGauss => None,
            Product::OpenGaussMot => Some(("engine", "mot".into())),
            Product::Klustron { partitions } => Some(("partitions", partitions.to_string())),
        }
    }
}

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
    pub fn parse(text: &str) -> Result<Target, String> {
        let (through_odbc, text) = match text.strip_prefix("odbc+") {
            Some(_) if !cfg!(feature = "odbc") => {
                return Err("this program was built without ODBC: cargo build --features odbc".into());
            }
            Some(rest) => (true, rest),
            None => (false, text),
        };
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
        let Place { host, port, resolved } = places.next().expect("a split has a first part")?;
        let others = places.collect::<Result<Vec<Place>, String>>()?;
        if system != System::Postgres && !others.is_empty() {
            return Err("several hosts are for PostgreSQL's protocol".into());
        }
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

    /// What connections are encrypted with, if they are.
    pub fn tls(&self) -> Option<Arc<ClientConfig>> {
        self.certificates.0.clone()
    }

    fn set_option(&mut self, key: &str, value: String) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_url_makes_the_same_target() {
        for text in [
            "postgres://anna:p%40s%2Fs@db.example:6000/my%20shop?connect_timeout=2.5&answer_timeout=3",
            "postgres://a:5432,[::1]:5433/d?sslmode=require",
            "postgres:///shop?host=/tmp/x%20y&port=6001",
            "mysql://bench:b%3Aench@127.0.0.1:3310/bench?engine=rocksdb",
            "opengauss://gaussdb:p@h/bench?engine=mot",
            "klustron://abc@h:5401/bench?partitions=8",
        ] {
            let target = Target::parse(text).expect("valid");
            let again = Target::parse(&target.secret_url()).expect("what was written");
            assert_eq!(again, target, "{}", target.secret_url());
        }
    }

    #[test]
    fn full_url() {
        let target =
            Target::parse("postgres://anna:p%40ss@db.example:6000/shop?sslmode=disable").expect("valid");
        assert_eq!(target.host, Host::Name("db.example".into()));
        assert_eq!(
            (target.port, target.user.as_str(), target.database.as_str()),
            (6000, "anna", "shop")
        );
        assert_eq!(target.password.as_deref(), Some("p@ss"));
        assert!(!target.to_string().contains("p@ss"));
    }

    #[test]
    fn defaults_and_sockets() {
        let target = Target::parse("postgres://127.0.0.1").expect("valid");
        assert_eq!(
            (target.port, target.user.as_str(), target.database.as_str()),
            (5432, "postgres", "postgres")
        );
        assert!(target.is_local());
        let socket = Target::parse("postgres:///bench?host=/tmp&port=5433").expect("valid");
        assert_eq!(socket.host, Host::SocketDirectory("/tmp".into()));
        assert_eq!(socket.port, 5433);
        let v6 = Target::parse("postgres://u@[::1]:7000/d").expect("valid");
        assert_eq!(v6.to_string(), "postgres://u@[::1]:7000/d");
    }

    #[test]
    fn a_primary_and_its_standby() {
        let text = "postgres://u@a:6000,[::1]:6001,b/d";
        let pair = Target::parse(text).expect("valid");
        assert_eq!(pair.to_string(), "postgres://u@a:6000,[::1]:6001,b:5432/d");
        let others: Vec<String> = pair.others().map(|other| other.to_string()).collect();
        assert_eq!(others, ["postgres://u@[::1]:6001/d", "postgres://u@b:5432/d"]);
        let first = Target::parse("postgres://u@a:6000/d").expect("valid");
        let other = Target::parse("postgres://v@b/e").expect("valid");
        assert_eq!(
            first.with_other(&other).to_string(),
            "postgres://u@a:6000,b:5432/d"
        );
        assert!(Target::parse("mysql://a,b/d").is_err());
        let elsewhere = pair.at("::1", 7000);
        assert_eq!(elsewhere.to_string(), "postgres://u@[::1]:7000/d");
        let address: SocketAddr = "[::1]:7000".parse().expect("an address");
        assert_eq!(elsewhere.addresses().expect("a number"), [address]);
    }

    #[test]
    fn other_systems() {
        let target = Target::parse("mysql://bench:b@127.0.0.1/shop?engine=rocksdb").expect("valid");
        assert_eq!((target.system, target.port), (System::Mysql, 3306));
        assert_eq!(target.engine.as_deref(), Some("rocksdb"));
        assert_eq!(target.to_string(), "mysql://bench@127.0.0.1:3306/shop");
        assert_eq!(Target::parse("mariadb://h/d").expect("valid").user, "root");
        let in_memory = Target::parse("opengauss://h/d?engine=mot").expect("valid");
        assert_eq!(
            (in_memory.system, in_memory.product),
            (System::Postgres, Product::OpenGaussMot)
        );
        assert_eq!(in_memory.to_string(), "opengauss://postgres@h:5432/d");
        let spread = Target::parse("klustron://h/d").expect("valid");
        assert_eq!(
            spread.product,
            Product::Klustron {
                partitions: PARTITIONS
            }
        );
        for alone in ["oracle://h/d", "db2://h/d"] {
            let refused = Target::parse(alone).expect_err("no wire");
            assert!(refused.contains("odbc+"), "{refused}");
        }
    }

    #[test]
    fn timeouts_and_addresses() {
        let target =
            Target::parse("postgres://127.0.0.1:7/d?connect_timeout=2.5&answer_timeout=1").expect("valid");
        assert_eq!(target.connect_timeout, Duration::from_millis(2_500));
        assert_eq!(target.answer_timeout, Some(Duration::from_secs(1)));
        assert_eq!(
            target.addresses().expect("a number"),
            ["127.0.0.1:7".parse::<SocketAddr>().expect("an address")]
        );
        let plain = Target::parse("postgres://127.0.0.1:7/d").expect("valid");
        assert_eq!(
            (plain.connect_timeout, plain.answer_timeout),
            (CONNECT_TIMEOUT, None)
        );
        for wrong in ["connect_timeout=0", "answer_timeout=soon", "answer_timeout=-1"] {
            assert!(
                Target::parse(&format!("postgres://h/d?{wrong}")).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn refuses_what_it_would_ignore() {
        assert!(Target::parse("oracle://x").is_err());
        assert!(Target::parse("postgres://h/d?engine=rocksdb").is_err());
        assert!(Target::parse("mysql://h/d?engine=a%20b").is_err());
        assert!(Target::parse("opengauss://h/d?engine=rocksdb").is_err());
        assert!(Target::parse("klustron://h/d?partitions=0").is_err());
        assert!(Target::parse("postgres://h/d?partitions=4").is_err());
        assert!(Target::parse("mysql:///d?host=/tmp").is_err());
        for wrong in [
            "postgres://h/d?sslmode=verify-ca",
            "postgres://h/d?sslmode=verify-full",
            "postgres://h/d?sslmode=verify-full&sslrootcert=/nowhere",
            "postgres://h/d?sslrootcert=/nowhere",
            "postgres:///d?host=/tmp&sslmode=require",
            "mysql://h/d?sslmode=require",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Target::parse("postgres://h/d?sslmode=require").is_ok_and(|target| target.tls().is_some()));
        let plain = Target::parse("postgres://h/d").expect("a URL");
        assert!(plain.over_tls().is_ok_and(|target| target.tls().is_some()));
        let socket = Target::parse("postgres:///d?host=/tmp").expect("a URL");
        assert!(socket.over_tls().is_err());
        assert!(Target::parse("postgres://h/d?application=x").is_err());
        assert!(Target::parse("postgres://h:port/d").is_err());
    }
}
