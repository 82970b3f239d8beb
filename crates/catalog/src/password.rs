//! Password verifiers in PostgreSQL's form: `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`.
//!
//! Passwords are never kept. A verifier given by a client (as pg_dumpall and psql's \password send it) is kept as is.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mote_common::env::real::fill_entropy;
use ring::{digest, hmac, pbkdf2};

/// PostgreSQL's default; more makes log-ins slower, not safer against an online guesser.
const ITERATIONS: u32 = 4096;

pub struct Verifier {
    pub iterations: u32,
    pub salt: Vec<u8>,
    pub stored_key: [u8; 32],
    pub server_key: [u8; 32],
}

impl Verifier {
    pub fn parse(text: &str) -> Option<Verifier> {
        let (iterations, rest) = text.strip_prefix("SCRAM-SHA-256$")?.split_once(':')?;
        let (salt, keys) = rest.split_once('$')?;
        let (stored, server) = keys.split_once(':')?;
        Some(Verifier {
            iterations: iterations.parse().ok().filter(|&n| n > 0)?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: STANDARD.decode(stored).ok()?.try_into().ok()?,
            server_key: STANDARD.decode(server).ok()?.try_into().ok()?,
        })
    }

    /// A stand-in for users that do not exist, so that the exchange takes the same course: `secret` and the name
    /// decide the salt, and no password matches.
    pub fn mock(name: &str, secret: &[u8; 32]) -> Verifier {
        let salt = digest::digest(&digest::SHA256, &[secret, name.as_bytes()].concat());
        Verifier {
            iterations: ITERATIONS,
            salt: salt.as_ref()[..16].to_vec(),
            stored_key: [0; 32],
            server_key: [0; 32],
        }
    }
}

/// What to store for a password as written in CREATE ROLE.
pub fn verifier_for(password: &str) -> String {
    if Verifier::parse(password).is_some() {
        return password.to_string();
    }
    let mut salt = [0u8; 16];
    fill_entropy(&mut salt);
    build(password, &salt, ITERATIONS)
}

fn build(password: &str, salt: &[u8], iterations: u32) -> String {
    let mut salted = [0u8; 32];
    let rounds = NonZeroU32::new(iterations).expect("never zero");
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        rounds,
        salt,
        password.as_bytes(),
        &mut salted,
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let client_key = hmac::sign(&key, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
    let server_key = hmac::sign(&key, b"Server Key");
    format!(
        "SCRAM-SHA-256${iterations}:{}${}:{}",
        STANDARD.encode(salt),
        STANDARD.encode(stored_key),
        STANDARD.encode(server_key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_are_kept_and_passwords_hashed() {
        let verifier = verifier_for("secret");
        assert!(Verifier::parse(&verifier).is_some());
        assert_eq!(verifier_for(&verifier), verifier);
        assert_ne!(verifier_for("secret"), verifier, "the salt is random");
        assert!(Verifier::parse("secret").is_none());
    }
}
