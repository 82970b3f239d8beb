//! SCRAM-SHA-256, the client's side (RFC 5802, RFC 7677), without channel binding.
//!
//! Passwords are used as they are: SASLprep leaves ASCII alone, and that is what benchmark accounts have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2, rand};

use super::error::{DriverError, DriverResult};

/// One exchange, between its first and its last message.
pub struct Exchange {
    client_nonce: String,
    first_bare: String,
    server_signature: Vec<u8>,
}

impl Exchange {
    pub fn new() -> DriverResult<Exchange> {
        let mut nonce = [0u8; 18];
        rand::SecureRandom::fill(&rand::SystemRandom::new(), &mut nonce)
            .map_err(|_| DriverError::protocol("the operating system gives no random bytes"))?;
        Ok(Exchange::with_nonce(BASE64.encode(nonce)))
    }

    fn with_nonce(client_nonce: String) -> Exchange {
        let first_bare = format!("n=,r={client_nonce}");
        Exchange {
            client_nonce,
            first_bare,
            server_signature: Vec::new(),
        }
    }

    pub fn client_first(&self) -> String {
        format!("n,,{}", self.first_bare)
    }

    /// Answers the server's first message with the proof of the password.
    pub fn client_final(&mut self, password: &str, server_first: &str) -> DriverResult<String> {
        let bad = || DriverError::protocol("malformed SCRAM server-first message");
        let (mut nonce, mut salt, mut iterations) = (None, None, None);
        for part in server_first.split(',') {
            match part.split_once('=') {
                Some(("r", value)) => nonce = Some(value),
                Some(("s", value)) => salt = BASE64.decode(value).ok(),
                Some(("i", value)) => iterations = value.parse().ok(),
                _ => return Err(bad()),
            }
        }
        let nonce = nonce
            .filter(|nonce| nonce.starts_with(&self.client_nonce))
            .ok_or_else(bad)?;
        let salt = salt.ok_or_else(bad)?;
        let iterations = iterations.ok_or_else(bad)?;

        let mut salted = [0u8; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            iterations,
            &salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, &client_key);
        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{server_first},{without_proof}", self.first_bare);
        let signature = sign(stored_key.as_ref(), auth_message.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        self.server_signature = sign(&sign(&salted, b"Server Key"), auth_message.as_bytes());
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }

    /// Checks that the server knows the password too.
    pub fn verify_server(&self, server_final: &str) -> DriverResult<()> {
        let given = server_final
            .strip_prefix("v=")
            .and_then(|signature| BASE64.decode(signature).ok());
        if given.as_deref() != Some(self.server_signature.as_slice()) {
            return Err(DriverError::protocol("the server's SCRAM signature is wrong"));
        }
        Ok(())
    }
}

fn sign(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
        .as_ref()
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677 section 3, whose user name differs from ours only in the bare first message.
    #[test]
    fn rfc_7677_example() {
        let mut exchange = Exchange::with_nonce("rOprNGfwEbeRWgbNEkqO".into());
        exchange.first_bare = "n=user,r=rOprNGfwEbeRWgbNEkqO".into();
        let server_first =
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let answer = exchange
            .client_final("pencil", server_first)
            .expect("well formed");
        assert!(
            answer.ends_with("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
            "{answer}"
        );
        exchange
            .verify_server("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
            .expect("the server's proof");
        assert!(exchange.verify_server("v=AAAA").is_err());
    }
}
