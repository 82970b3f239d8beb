//! What clients are asked for where no rule says otherwise.

/// How clients prove who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthMethod {
    /// Anybody is who they say: only ever on loopback.
    Trust,
    /// SCRAM-SHA-256 with the role's stored verifier.
    ScramSha256,
    /// The same, and MD5 for roles whose stored password is an MD5 hash.
    Md5,
}

impl AuthMethod {
    /// As pg_hba.conf calls it.
    pub fn name(self) -> &'static str {
        match self {
            AuthMethod::Trust => "trust",
            AuthMethod::ScramSha256 => "scram-sha-256",
            AuthMethod::Md5 => "md5",
        }
    }
}
