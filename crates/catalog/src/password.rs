//! Password verifiers in PostgreSQL's form: `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`, or `md5` and the 32 digits
//! of MD5(password + name), which are taken from elsewhere but never made here.
//!
//! Passwords are never kept. A verifier given by a client (as pg_dumpall and psql's \password send it) is kept as is.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use mote_common::env::real::fill_entropy;
use ring::{digest, hmac, pbkdf2};

/// PostgreSQL's default; more makes log-ins slower, not safer against an online guesser.
const ITERATIONS: u32 = 4096;

/// What a role's password is checked against.
pub enum Secret {
    Scram(Verifier),
    /// With its `md5`.
    Md5(String),
}

impl Secret {
    pub fn parse(text: &str) -> Option<Secret> {
        if is_md5(text) {
            return Some(Secret::Md5(text.to_string()));
        }
        Verifier::parse(text).map(Secret::Scram)
    }

    /// Whether this is the password of the user, as said in clear. Takes as long as the verifier's iterations.
    pub fn is_of(&self, password: &str, user: &str) -> bool {
        match self {
            Secret::Md5(stored) => *stored == md5_hash(password.as_bytes(), user.as_bytes()),
            Secret::Scram(verifier) => {
                let Some(iterations) = NonZeroU32::new(verifier.iterations.min(ITERATIONS_MAX)) else {
                    return false;
                };
                keys(password, &verifier.salt, iterations).1 == verifier.server_key
            }
        }
    }
}

fn is_md5(text: &str) -> bool {
    let digits = text.strip_prefix("md5").unwrap_or_default();
    digits.len() == 32
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// `md5` and the digits of MD5(text + salt).
pub fn md5_hash(text: &[u8], salt: &[u8]) -> String {
    let hash = Md5::new().chain_update(text).chain_update(salt).finalize();
    let mut shown = String::from("md5");
    for byte in hash {
        shown.push_str(&format!("{byte:02x}"));
    }
    shown
}

/// A verifier that asks for more, about half a second, fits no password said in clear: its owner may not make the server
/// work for hours.
const ITERATIONS_MAX: u32 = 1_000_000;

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
    if Secret::parse(password).is_some() {
        return password.to_string();
    }
    let mut salt = [0u8; 16];
    fill_entropy(&mut salt);
    build(password, &salt, ITERATIONS)
}

fn build(password: &str, salt: &[u8], iterations: u32) -> String {
    let rounds = NonZeroU32::new(iterations).expect("never zero");
    let (stored_key, server_key) = keys(password, salt, rounds);
    format!(
        "SCRAM-SHA-256${iterations}:{}${}:{}",
        STANDARD.encode(salt),
        STANDARD.encode(stored_key),
        STANDARD.encode(server_key)
    )
}

/// StoredKey and ServerKey.
fn keys(password: &str, salt: &[u8], rounds: NonZeroU32) -> ([u8; 32], [u8; 32]) {
    let mut salted = [0u8; 32];
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
    let bytes = |hash: &[u8]| hash.try_into().expect("SHA-256 has 32 bytes");
    (bytes(stored_key.as_ref()), bytes(server_key.as_ref()))
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

    #[test]
    fn passwords_in_clear_fit_either_form() {
        let md5 = "md5c59ec932d911ffdf487595b5a2adf973";
        for stored in [md5.to_string(), verifier_for("secret")] {
            let secret = Secret::parse(&stored).expect("a verifier");
            assert!(secret.is_of("secret", "joe") && !secret.is_of("guess", "joe"));
        }
        assert!(!Secret::parse(md5).expect("a hash").is_of("secret", "ann"));
        assert_eq!(verifier_for(md5), md5);
        assert_ne!(verifier_for("md5short"), "md5short");
    }
}
