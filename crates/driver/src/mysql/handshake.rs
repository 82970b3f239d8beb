//! The greeting, the answer to it, and the password: mysql_native_password, and caching_sha2_password as far as it goes
//! without encryption.

use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

use super::super::error::{DriverError, DriverResult};
use super::super::url::Target;
use super::{ERROR, OK, error, malformed};

/// What MariaDB puts before its version for old clients.
const OLD_PREFIX: &str = "5.5.5-";
const PACKET_BYTES_MAX: u32 = 16 << 20;
/// caching_sha2_password's words: the server knows the password, or wants to have it.
const KNOWN: u8 = 3;
const UNKNOWN: u8 = 4;

pub struct Handshake {
    user: String,
    password: String,
    database: String,
    greeted: bool,
    pub server_version: String,
}

pub enum Next {
    Send(Vec<u8>),
    Wait,
    Done,
}

impl Handshake {
    pub fn new(target: &Target) -> Handshake {
        Handshake {
            user: target.user.clone(),
            password: target.password.clone().unwrap_or_default(),
            database: target.database.clone(),
            greeted: false,
            server_version: String::new(),
        }
    }

    pub fn next(&mut self, body: &[u8]) -> DriverResult<Next> {
        match body.first() {
            Some(&ERROR) => Err(DriverError::Server(Box::new(error::decode(body)?))),
            _ if !self.greeted => self.greeting(body).map(Next::Send),
            Some(&OK) => Ok(Next::Done),
            // AuthMoreData.
            Some(1) => match body.get(1) {
                Some(&KNOWN) => Ok(Next::Wait),
                Some(&UNKNOWN) => Err(DriverError::protocol(
                    "the server wants the password encrypted; use an account with mysql_native_password, or let \
                     another client log in first",
                )),
                _ => Err(malformed()),
            },
            _ => self.switch(body).map(Next::Send),
        }
    }

    fn greeting(&mut self, body: &[u8]) -> DriverResult<Vec<u8>> {
        let greeting: HandshakePacket<'_> = ParseBuf(body).parse(()).map_err(|_| malformed())?;
        if !greeting
            .capabilities()
            .contains(CapabilityFlags::CLIENT_PROTOCOL_41)
        {
            return Err(DriverError::protocol("the server is older than MySQL 4.1"));
        }
        self.greeted = true;
        self.server_version = version(&greeting.server_version_str());
        // An account may have another method: then the server asks again.
        let plugin = match greeting.auth_plugin() {
            Some(AuthPlugin::CachingSha2Password) => AuthPlugin::CachingSha2Password,
            _ => AuthPlugin::MysqlNativePassword,
        };
        let scramble = self.scramble(&plugin, &greeting.nonce())?;
        // FOUND_ROWS: an UPDATE counts the rows that it found, as SQL has it, not those that it changed.
        let capabilities = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_LONG_PASSWORD
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_FOUND_ROWS
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_LOCAL_FILES;
        let response = HandshakeResponse::new(
            Some(scramble),
            (5, 5, 3),
            Some(self.user.as_bytes()),
            Some(self.database.as_bytes()),
            Some(plugin),
            capabilities,
            None,
            PACKET_BYTES_MAX,
        );
        let mut bytes = Vec::new();
        response.serialize(&mut bytes);
        Ok(bytes)
    }

    fn switch(&self, body: &[u8]) -> DriverResult<Vec<u8>> {
        let request: AuthSwitchRequest<'_> = ParseBuf(body).parse(()).map_err(|_| malformed())?;
        let nonce = request.plugin_data();
        self.scramble(&request.auth_plugin(), nonce.strip_suffix(&[0]).unwrap_or(nonce))
    }

    fn scramble(&self, plugin: &AuthPlugin<'_>, nonce: &[u8]) -> DriverResult<Vec<u8>> {
        let password = self.password.as_bytes();
        match plugin {
            AuthPlugin::MysqlNativePassword => {
                Ok(scramble_native(nonce, password).map_or(Vec::new(), |bytes| bytes.to_vec()))
            }
            AuthPlugin::CachingSha2Password => {
                let nonce = nonce.first_chunk::<20>().ok_or_else(malformed)?;
                Ok(scramble_sha256(nonce, password).map_or(Vec::new(), |bytes| bytes.to_vec()))
            }
            other => Err(DriverError::protocol(format!(
                "authentication by {} is not supported (mysql_native_password and caching_sha2_password are)",
                String::from_utf8_lossy(other.as_bytes())
            ))),
        }
    }
}

/// `5.5.5-10.11.19-MariaDB-0+deb12u1` as people know it.
fn version(text: &str) -> String {
    match text
        .strip_prefix(OLD_PREFIX)
        .unwrap_or(text)
        .split_once("-MariaDB")
    {
        Some((number, _)) => format!("MariaDB {number}"),
        None => format!("MySQL {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_name_the_system() {
        assert_eq!(version("5.5.5-10.11.19-MariaDB-0+deb12u1"), "MariaDB 10.11.19");
        assert_eq!(version("11.4.2-MariaDB"), "MariaDB 11.4.2");
        assert_eq!(version("8.0.36"), "MySQL 8.0.36");
    }
}
