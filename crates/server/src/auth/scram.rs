//! SCRAM-SHA-256, the server's side (RFC 5802, RFC 7677), with channel binding where the connection is encrypted.
//!
//! ```text
//! client-first   n,,n=<ignored>,r=<client nonce>
//! server-first   r=<client nonce + server nonce>,s=<salt>,i=<iterations>
//! client-final   c=<what client-first began with, and the channel>,r=<nonce>,p=<proof>
//! server-final   v=<server signature>
//! ```
//! `n` is `y` or `p=tls-server-end-point` of a client that can bind; then the channel is the server's certificate as hashed
//! in `tls/certificate`: somebody in between has another certificate, and no proof for it.
//!
//! proof = ClientKey XOR HMAC(StoredKey, AuthMessage); StoredKey = SHA256(ClientKey).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mote_catalog::password::Verifier;
use mote_common::env::real::fill_entropy;
use mote_common::{SqlError, SqlResult, error::state};
use ring::{digest, hmac};

use crate::pgwire::frontend::protocol_violation;

pub struct Exchange {
    verifier: Verifier,
    nonce: String,
    client_first_bare: String,
    server_first: String,
    /// What `c=` must hold: what the client said about channel binding, and the channel it is bound to.
    binding: Vec<u8>,
}

/// What the connection offers to bind an exchange to, and whether the client chose to.
#[derive(Clone, Copy)]
pub enum Binding<'a> {
    /// Nothing to bind to.
    None,
    /// The client chose SCRAM-SHA-256 though it was offered SCRAM-SHA-256-PLUS.
    NotChosen,
    /// The hash of the server's certificate.
    EndPoint(&'a [u8]),
}

const END_POINT: &str = "tls-server-end-point";

impl Exchange {
    /// Takes the client's first message; returns the exchange and the server's first message.
    pub fn start(
        client_first: &str,
        verifier: Verifier,
        offered: Binding<'_>,
    ) -> SqlResult<(Exchange, String)> {
        let malformed = || protocol_violation("malformed SCRAM message");
        let mut parts = client_first.splitn(3, ',');
        let flag = parts.next().ok_or_else(malformed)?;
        let authorization = parts.next().ok_or_else(malformed)?;
        let bare = parts.next().ok_or_else(malformed)?;
        let channel = channel_of(flag, offered)?;
        if !authorization.is_empty() {
            return Err(SqlError::unsupported("SCRAM authorization identity"));
        }
        let client_nonce = bare
            .split(',')
            .find_map(|part| part.strip_prefix("r="))
            .filter(|n| !n.is_empty())
            .ok_or_else(malformed)?;
        let mut random = [0u8; 18];
        fill_entropy(&mut random);
        let nonce = format!("{client_nonce}{}", STANDARD.encode(random));
        let server_first = format!(
            "r={nonce},s={},i={}",
            STANDARD.encode(&verifier.salt),
            verifier.iterations
        );
        let exchange = Exchange {
            verifier,
            nonce,
            client_first_bare: bare.to_string(),
            server_first: server_first.clone(),
            binding: [flag.as_bytes(), b",,", channel].concat(),
        };
        Ok((exchange, server_first))
    }

    /// Takes the client's final message; returns the server's, or 28P01 without a reason.
    pub fn finish(self, client_final: &str, user: &str) -> SqlResult<String> {
        let malformed = || protocol_violation("malformed SCRAM message");
        let (without_proof, proof) = client_final.rsplit_once(",p=").ok_or_else(malformed)?;
        let mut parts = without_proof.split(',');
        let binding = parts
            .next()
            .and_then(|p| p.strip_prefix("c="))
            .ok_or_else(malformed)?;
        let nonce = parts
            .next()
            .and_then(|p| p.strip_prefix("r="))
            .ok_or_else(malformed)?;
        if binding != STANDARD.encode(&self.binding) {
            return Err(match self.binding.first() {
                Some(b'p') => SqlError::new(
                    state::INVALID_AUTHORIZATION_SPECIFICATION,
                    "SCRAM channel binding check failed",
                ),
                _ => protocol_violation("unexpected SCRAM channel-binding attribute in client-final-message"),
            });
        }
        if nonce != self.nonce {
            return Err(protocol_violation("invalid SCRAM response").detail("Nonce does not match."));
        }
        let proof: [u8; 32] = STANDARD
            .decode(proof)
            .ok()
            .and_then(|p| p.try_into().ok())
            .ok_or_else(malformed)?;
        let auth_message = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let stored = hmac::Key::new(hmac::HMAC_SHA256, &self.verifier.stored_key);
        let signature = hmac::sign(&stored, auth_message.as_bytes());
        let mut client_key = proof;
        client_key
            .iter_mut()
            .zip(signature.as_ref())
            .for_each(|(k, s)| *k ^= s);
        let computed = digest::digest(&digest::SHA256, &client_key);
        // All 32 bytes are looked at, so that the time taken says nothing.
        let different = computed
            .as_ref()
            .iter()
            .zip(&self.verifier.stored_key)
            .fold(0, |d, (a, b)| d | (a ^ b));
        if different != 0 {
            return Err(wrong_password(user));
        }
        let server = hmac::Key::new(hmac::HMAC_SHA256, &self.verifier.server_key);
        let signature = hmac::sign(&server, auth_message.as_bytes());
        Ok(format!("v={}", STANDARD.encode(signature)))
    }
}

/// The channel that the client's flag asks to bind to; empty: to none.
fn channel_of<'a>(flag: &str, offered: Binding<'a>) -> SqlResult<&'a [u8]> {
    let malformed = |detail: String| protocol_violation("malformed SCRAM message").detail(detail);
    match (flag, offered) {
        ("n" | "y", Binding::EndPoint(_)) => Err(malformed(
            "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data."
                .into(),
        )),
        ("n", _) | ("y", Binding::None) => Ok(&[]),
        // Somebody in between has taken the offer out.
        ("y", Binding::NotChosen) => Err(SqlError::new(
            state::INVALID_AUTHORIZATION_SPECIFICATION,
            "SCRAM channel binding negotiation error",
        )
        .detail(
            "The client supports SCRAM channel binding but thinks the server does not.  \
             However, this server does support channel binding.",
        )),
        (flag, offered) => match (flag.strip_prefix("p="), offered) {
            (None, _) => Err(malformed(format!(
                "Unexpected channel-binding flag \"{}\".",
                flag.chars().next().unwrap_or('\0').escape_default()
            ))),
            (Some(END_POINT), Binding::EndPoint(hash)) => Ok(hash),
            (Some(kind), Binding::EndPoint(_)) => Err(protocol_violation(format!(
                "unsupported SCRAM channel-binding type \"{}\"",
                kind.escape_default()
            ))),
            (Some(_), _) => Err(malformed(
                "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel \
                 binding data."
                    .into(),
            )),
        },
    }
}

/// PostgreSQL's words; they do not tell a wrong password from an unknown user.
pub fn wrong_password(user: &str) -> SqlError {
    SqlError::new(
        state::INVALID_PASSWORD,
        format!("password authentication failed for user \"{user}\""),
    )
    .severity(mote_common::error::Severity::Fatal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_catalog::password::verifier_for;
    use ring::pbkdf2;
    use std::num::NonZeroU32;

    /// The client's half, for the test: proof for a password.
    fn respond(password: &str, client_first_bare: &str, server_first: &str, binding: &[u8]) -> String {
        let field = |name: &str| {
            server_first
                .split(',')
                .find_map(|p| p.strip_prefix(name))
                .unwrap()
        };
        let mut salted = [0u8; 32];
        let salt = STANDARD.decode(field("s=")).unwrap();
        let rounds = NonZeroU32::new(field("i=").parse().unwrap()).unwrap();
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            rounds,
            &salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &salted), b"Client Key");
        let stored = digest::digest(&digest::SHA256, client_key.as_ref());
        let without_proof = format!("c={},r={}", STANDARD.encode(binding), field("r="));
        let auth = format!("{client_first_bare},{server_first},{without_proof}");
        let signature = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, stored.as_ref()),
            auth.as_bytes(),
        );
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(a, b)| a ^ b)
            .collect();
        format!("{without_proof},p={}", STANDARD.encode(proof))
    }

    fn exchange(password: &str) -> SqlResult<String> {
        let verifier = Verifier::parse(&verifier_for("secret")).unwrap();
        let (exchange, server_first) = Exchange::start("n,,n=,r=abc", verifier, Binding::None)?;
        exchange.finish(&respond(password, "n=,r=abc", &server_first, b"n,,"), "joe")
    }

    #[test]
    fn an_exchange_is_bound_to_the_channel_it_began_on() {
        let bound = |flag: &str, offered: Binding<'_>, binding: &[u8]| {
            let verifier = Verifier::parse(&verifier_for("secret")).unwrap();
            let (exchange, server_first) = Exchange::start(&format!("{flag},,n=,r=abc"), verifier, offered)?;
            exchange.finish(&respond("secret", "n=,r=abc", &server_first, binding), "joe")
        };
        let message = |result: SqlResult<String>| result.map(|_| ()).map_err(|e| e.message().to_string());
        let flag = "p=tls-server-end-point";
        let here = Binding::EndPoint(b"hash");
        assert_eq!(
            message(bound(flag, here, b"p=tls-server-end-point,,hash")),
            Ok(())
        );
        assert_eq!(
            message(bound(flag, here, b"p=tls-server-end-point,,other")),
            Err("SCRAM channel binding check failed".into())
        );
        assert_eq!(message(bound("n", Binding::NotChosen, b"n,,")), Ok(()));
        assert_eq!(message(bound("y", Binding::None, b"y,,")), Ok(()));
        assert_eq!(
            message(bound("y", Binding::NotChosen, b"y,,")),
            Err("SCRAM channel binding negotiation error".into())
        );
        assert_eq!(
            message(bound("p=tls-unique", here, b"p=tls-unique,,")),
            Err("unsupported SCRAM channel-binding type \"tls-unique\"".into())
        );
        for (flag, offered) in [
            (flag, Binding::NotChosen),
            ("n", here),
            ("y", here),
            ("x", Binding::None),
        ] {
            assert_eq!(
                message(bound(flag, offered, b"")),
                Err("malformed SCRAM message".into()),
                "{flag}"
            );
        }
        assert_eq!(
            message(bound("y", Binding::None, b"n,,")),
            Err("unexpected SCRAM channel-binding attribute in client-final-message".into()),
        );
    }

    #[test]
    fn right_and_wrong_passwords() {
        assert!(exchange("secret").unwrap().starts_with("v="));
        assert_eq!(exchange("guess").unwrap_err().state(), state::INVALID_PASSWORD);
    }

    #[test]
    fn malformed_messages_are_refused() {
        let verifier = || Verifier::parse(&verifier_for("x")).unwrap();
        for bad in ["", "n", "n,,", "p=tls-unique,,n=,r=a", "n,,n=,r="] {
            assert!(Exchange::start(bad, verifier(), Binding::None).is_err(), "{bad}");
        }
    }
}
