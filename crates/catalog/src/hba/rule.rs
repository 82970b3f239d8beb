//! One rule: a line of pg_hba.conf read, and whether it is for a connection.

use std::net::IpAddr;

use super::Applicant;
use super::token::Word;

/// Which connections a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Local,
    Host,
    HostSsl,
    HostNoSsl,
    /// Matches nothing: there is no GSSAPI encryption.
    HostGss,
    HostNoGss,
}

const KINDS: [(&str, Kind); 6] = [
    ("local", Kind::Local),
    ("host", Kind::Host),
    ("hostssl", Kind::HostSsl),
    ("hostnossl", Kind::HostNoSsl),
    ("hostgssenc", Kind::HostGss),
    ("hostnogssenc", Kind::HostNoGss),
];

/// How a client proves who he is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Trust,
    Reject,
    /// SCRAM, or MD5 where the stored password is an MD5 hash.
    Md5,
    ScramSha256,
    Password,
    Peer,
    Cert,
}

const METHODS: [(&str, Method); 7] = [
    ("trust", Method::Trust),
    ("reject", Method::Reject),
    ("md5", Method::Md5),
    ("scram-sha-256", Method::ScramSha256),
    ("password", Method::Password),
    ("peer", Method::Peer),
    ("cert", Method::Cert),
];

/// Methods of PostgreSQL that are not here.
const METHODS_NOT_HERE: [&str; 7] = ["gss", "sspi", "pam", "bsd", "ldap", "radius", "ident"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// Of a `local` line.
    None,
    All,
    Network {
        address: IpAddr,
        mask: IpAddr,
    },
}

/// What is asked of the client's certificate besides the method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum ClientCertificate {
    NotNeeded,
    /// Signed by the authority.
    VerifyCa,
    /// And its common name is the user's.
    VerifyFull,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub kind: Kind,
    pub databases: Vec<Word>,
    pub users: Vec<Word>,
    pub address: Address,
    pub method: Method,
    pub client_certificate: ClientCertificate,
}

impl Kind {
    pub fn name(self) -> &'static str {
        name_of(&KINDS, self)
    }
}

impl Method {
    pub fn name(self) -> &'static str {
        name_of(&METHODS, self)
    }
}

fn name_of<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let found = names.iter().find(|(_, other)| *other == value);
    found.map_or("", |(name, _)| name)
}

fn by_name<T: Copy>(names: &[(&'static str, T)], name: &str) -> Option<T> {
    let found = names.iter().find(|(other, _)| *other == name);
    found.map(|(_, value)| *value)
}

impl Rule {
    /// The rule, with a warning if it cannot match; or what is wrong.
    pub(super) fn read(fields: &[Vec<Word>]) -> Result<(Rule, Option<String>), String> {
        let mut fields = fields.iter();
        let first = fields.next().map(Vec::as_slice).unwrap_or_default();
        let word = one(first, "multiple values specified for connection type")?;
        let kind = by_name(&KINDS, &word.text)
            .ok_or_else(|| format!("invalid connection type \"{}\"", word.text))?;
        let databases = fields.next().ok_or("end-of-line before database specification")?;
        let users = fields.next().ok_or("end-of-line before role specification")?;
        let address = match kind {
            Kind::Local => Address::None,
            _ => read_address(&mut fields)?,
        };
        let method = fields.next().ok_or("end-of-line before authentication method")?;
        let method = one(method, "multiple values specified for authentication type")?;
        let mut rule = Rule {
            kind,
            databases: databases.clone(),
            users: users.clone(),
            address,
            method: read_method(&method.text, kind)?,
            client_certificate: ClientCertificate::NotNeeded,
        };
        if rule.method == Method::Cert {
            rule.client_certificate = ClientCertificate::VerifyFull;
        }
        for option in fields.flatten() {
            rule.read_option(&option.text)?;
        }
        let warning = (kind == Kind::HostGss).then(|| {
            "hostgssenc record cannot match because GSSAPI is not supported by this build".to_string()
        });
        Ok((rule, warning))
    }

    fn read_option(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option
            .split_once('=')
            .ok_or_else(|| format!("authentication option not in name=value format: {option}"))?;
        match name {
            "clientcert" if self.kind != Kind::HostSsl => {
                Err("clientcert can only be configured for \"hostssl\" rows".into())
            }
            "clientcert" => {
                self.client_certificate = match value {
                    "verify-full" => ClientCertificate::VerifyFull,
                    "verify-ca" if self.method == Method::Cert => {
                        return Err(
                            "clientcert can only be set to \"verify-full\" when using \"cert\" authentication"
                                .into(),
                        );
                    }
                    "verify-ca" => ClientCertificate::VerifyCa,
                    _ => return Err(format!("invalid value for clientcert: \"{value}\"")),
                };
                Ok(())
            }
            "clientname" if self.kind != Kind::HostSsl => {
                Err("clientname can only be configured for \"hostssl\" rows".into())
            }
            "clientname" if value == "CN" => Ok(()),
            "map" | "clientname" => Err(format!("authentication option \"{option}\" is not supported")),
            _ => Err(format!("unrecognized authentication option name: \"{name}\"")),
        }
    }

    pub(super) fn is_for(&self, applicant: Applicant<'_>, is_member: &dyn Fn(&str) -> bool) -> bool {
        let by_connection = match (self.kind, applicant.address) {
            (Kind::Local, None) => true,
            (Kind::Local, _) | (_, None) | (Kind::HostGss, _) => false,
            (Kind::HostSsl, _) => applicant.encrypted,
            (Kind::HostNoSsl, _) => !applicant.encrypted,
            (Kind::Host | Kind::HostNoGss, _) => true,
        };
        by_connection
            && applicant.address.is_none_or(|address| self.address.has(address))
            && self
                .databases
                .iter()
                .any(|word| is_database(word, applicant, is_member))
            && self
                .users
                .iter()
                .any(|word| is_user(word, applicant.user, is_member))
    }

    /// As pg_hba_file_rules shows them.
    pub fn options(&self) -> Vec<String> {
        match self.client_certificate {
            ClientCertificate::NotNeeded => Vec::new(),
            ClientCertificate::VerifyCa => vec!["clientcert=verify-ca".into()],
            ClientCertificate::VerifyFull => vec!["clientcert=verify-full".into()],
        }
    }
}

fn is_database(word: &Word, applicant: Applicant<'_>, is_member: &dyn Fn(&str) -> bool) -> bool {
    if applicant.replicates {
        return word.is_keyword("replication");
    }
    if word.quoted {
        return word.text == applicant.database;
    }
    match word.text.as_str() {
        "all" => true,
        "sameuser" => applicant.database == applicant.user,
        "samerole" | "samegroup" => is_member(applicant.database),
        "replication" => false,
        name => name == applicant.database,
    }
}

fn is_user(word: &Word, user: &str, is_member: &dyn Fn(&str) -> bool) -> bool {
    match word.text.strip_prefix('+') {
        Some(role) if !word.quoted => is_member(role),
        _ => word.is_keyword("all") || word.text == user,
    }
}

impl Address {
    /// Address and mask as pg_hba_file_rules shows them.
    pub fn shown(self) -> (Option<String>, Option<String>) {
        match self {
            Address::None => (None, None),
            Address::All => (Some("all".into()), None),
            Address::Network { address, mask } => (Some(address.to_string()), Some(mask.to_string())),
        }
    }

    fn has(self, client: IpAddr) -> bool {
        match (self, client) {
            (Address::None, _) => false,
            (Address::All, _) => true,
            (
                Address::Network {
                    address: IpAddr::V4(address),
                    mask: IpAddr::V4(mask),
                },
                IpAddr::V4(client),
            ) => address & mask == client & mask,
            (
                Address::Network {
                    address: IpAddr::V6(address),
                    mask: IpAddr::V6(mask),
                },
                IpAddr::V6(client),
            ) => address & mask == client & mask,
            _ => false,
        }
    }
}

fn one<'w>(words: &'w [Word], otherwise: &str) -> Result<&'w Word, String> {
    match words {
        [word] => Ok(word),
        _ => Err(otherwise.into()),
    }
}

fn read_address<'f>(fields: &mut impl Iterator<Item = &'f Vec<Word>>) -> Result<Address, String> {
    let field = fields
        .next()
        .ok_or("end-of-line before IP address specification")?;
    let word = one(field, "multiple values specified for host address")?;
    if word.is_keyword("all") {
        return Ok(Address::All);
    }
    if word.is_keyword("samehost") || word.is_keyword("samenet") {
        return Err(format!("address \"{}\" is not supported", word.text));
    }
    let (text, bits) = match word.text.split_once('/') {
        Some((text, bits)) => (text, Some(bits)),
        None => (word.text.as_str(), None),
    };
    let address: IpAddr = text.parse().map_err(|_| match bits {
        Some(_) => format!(
            "specifying both host name and CIDR mask is invalid: \"{}\"",
            word.text
        ),
        None => format!("host names are not supported as addresses: \"{text}\""),
    })?;
    let mask = match bits {
        Some(bits) => {
            mask_of(address, bits).ok_or_else(|| format!("invalid CIDR mask in address \"{}\"", word.text))?
        }
        None => {
            let field = fields.next().ok_or("end-of-line before netmask specification")?;
            let word = one(field, "multiple values specified for netmask")?;
            let mask: IpAddr =
                (word.text.parse()).map_err(|_| format!("invalid IP mask \"{}\"", word.text))?;
            if mask.is_ipv4() != address.is_ipv4() {
                return Err("IP address and mask do not match".into());
            }
            mask
        }
    };
    Ok(Address::Network { address, mask })
}

fn mask_of(address: IpAddr, bits: &str) -> Option<IpAddr> {
    let bits: u32 = bits.parse().ok()?;
    match address {
        IpAddr::V4(_) if bits <= 32 => Some(IpAddr::from(
            u32::MAX.checked_shl(32 - bits).unwrap_or(0).to_be_bytes(),
        )),
        IpAddr::V6(_) if bits <= 128 => Some(IpAddr::from(
            u128::MAX.checked_shl(128 - bits).unwrap_or(0).to_be_bytes(),
        )),
        _ => None,
    }
}

fn read_method(name: &str, kind: Kind) -> Result<Method, String> {
    // On local connections "ident" means "peer", for files of older servers.
    let name = match (name, kind) {
        ("ident", Kind::Local) => "peer",
        (name, _) => name,
    };
    if METHODS_NOT_HERE.contains(&name) {
        return Err(format!(
            "invalid authentication method \"{name}\": not supported by this build"
        ));
    }
    let method =
        by_name(&METHODS, name).ok_or_else(|| format!("invalid authentication method \"{name}\""))?;
    match (method, kind) {
        (Method::Peer, Kind::Local) | (Method::Cert, Kind::HostSsl) => Ok(method),
        (Method::Peer, _) => Err("peer authentication is only supported on local sockets".into()),
        (Method::Cert, _) => Err("cert authentication is only supported on hostssl connections".into()),
        _ => Ok(method),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rules;

    /// PostgreSQL 15's words where it has the same mistake.
    #[test]
    fn mistakes() {
        for (line, expected) in [
            ("all all all trust", "invalid connection type \"all\""),
            (
                "local,host all all trust",
                "multiple values specified for connection type",
            ),
            ("local", "end-of-line before database specification"),
            ("local all", "end-of-line before role specification"),
            ("local all all", "end-of-line before authentication method"),
            (
                "host all all 10.0.0.1",
                "end-of-line before netmask specification",
            ),
            (
                "host all all 10.0.0.1 ::1 trust",
                "IP address and mask do not match",
            ),
            (
                "host all all 10.0.0.1/33 trust",
                "invalid CIDR mask in address \"10.0.0.1/33\"",
            ),
            (
                "host all all db/8 trust",
                "specifying both host name and CIDR mask is invalid: \"db/8\"",
            ),
            (
                "host all all db trust",
                "host names are not supported as addresses: \"db\"",
            ),
            (
                "host all all samenet trust",
                "address \"samenet\" is not supported",
            ),
            (
                "host all all all peer",
                "peer authentication is only supported on local sockets",
            ),
            (
                "host all all all cert",
                "cert authentication is only supported on hostssl connections",
            ),
            (
                "host all all all ldap",
                "invalid authentication method \"ldap\": not supported by this build",
            ),
            ("host all all all none", "invalid authentication method \"none\""),
            (
                "host all all all trust x",
                "authentication option not in name=value format: x",
            ),
            (
                "host all all all trust x=1",
                "unrecognized authentication option name: \"x\"",
            ),
            (
                "host all all all trust clientcert=verify-ca",
                "clientcert can only be configured for \"hostssl\" rows",
            ),
            (
                "hostssl all all all trust clientcert=1",
                "invalid value for clientcert: \"1\"",
            ),
            (
                "local all all peer map=m",
                "authentication option \"map=m\" is not supported",
            ),
        ] {
            let rules = Rules::parse(line);
            assert_eq!(rules.lines()[0].error.as_deref(), Some(expected), "{line}");
            assert!(rules.mistake().is_some(), "{line}");
        }
        let encrypted_by_gssapi = Rules::parse("hostgssenc all all all trust");
        assert!(encrypted_by_gssapi.mistake().is_none() && encrypted_by_gssapi.lines()[0].error.is_some());
    }
}
