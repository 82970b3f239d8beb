//! pgcrypto's digests, keyed digests and random bytes; `password` has its hashes of passwords.

use std::borrow::Cow;

use hmac::{KeyInit, Mac, SimpleHmac};
use md5::Md5;
use mote_common::env::real::fill_entropy;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_types::Datum;
use sha1::Sha1;
use sha2::digest::block_api::BlockSizeUser;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::Body;
use crate::argument::{bytes, int4, text};
use crate::bytes::{digest, digested};
use crate::password;

/// The SQLSTATE that pgcrypto gives its own refusals.
const EXTERNAL_ROUTINE_INVOCATION: SqlState = SqlState::new("39000");
const RANDOM_BYTES_MAX: i32 = 1024;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "mote_digest" => Body::Pure(|a| hash(bytes(&a[0]), text(&a[1])).map(Datum::bytea)),
        "mote_hmac" => Body::Pure(|a| keyed(bytes(&a[0]), bytes(&a[1]), text(&a[2])).map(Datum::bytea)),
        "mote_crypt" => Body::Pure(|a| password::crypt(text(&a[0]), text(&a[1])).map(Datum::from)),
        "mote_gen_salt" => Body::Pure(|a| password::salt(text(&a[0]), int4(&a[1])).map(Datum::from)),
        "mote_random_bytes" => Body::Pure(|a| {
            let length = int4(&a[0]);
            if !(1..=RANDOM_BYTES_MAX).contains(&length) {
                return Err(SqlError::new(EXTERNAL_ROUTINE_INVOCATION, "Length not in range"));
            }
            let mut random = vec![0; length as usize];
            fill_entropy(&mut random);
            Ok(Datum::bytea(random))
        }),
        _ => return None,
    })
}

fn unknown(algorithm: &str) -> SqlError {
    let message = format!("Cannot use \"{algorithm}\": No such hash algorithm");
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// digest(): by the algorithm's name in any case.
fn hash(data: &[u8], algorithm: &str) -> SqlResult<Vec<u8>> {
    match algorithm.to_ascii_lowercase().as_str() {
        "md5" => digest::<Md5>(data),
        "sha1" => digest::<Sha1>(data),
        "sha224" => digest::<Sha224>(data),
        "sha256" => digest::<Sha256>(data),
        "sha384" => digest::<Sha384>(data),
        "sha512" => digest::<Sha512>(data),
        _ => Err(unknown(algorithm)),
    }
}

/// hmac(): the keyed digest of RFC 2104.
fn keyed(data: &[u8], key: &[u8], algorithm: &str) -> SqlResult<Vec<u8>> {
    match algorithm.to_ascii_lowercase().as_str() {
        "md5" => hmac::<Md5>(data, key),
        "sha1" => hmac::<Sha1>(data, key),
        "sha224" => hmac::<Sha224>(data, key),
        "sha256" => hmac::<Sha256>(data, key),
        "sha384" => hmac::<Sha384>(data, key),
        "sha512" => hmac::<Sha512>(data, key),
        _ => Err(unknown(algorithm)),
    }
}

fn hmac<D: Digest + BlockSizeUser>(data: &[u8], key: &[u8]) -> SqlResult<Vec<u8>> {
    // A key that is longer than a block stands for its digest.
    let short = match key.len() > D::block_size() {
        true => Cow::Owned(digest::<D>(key)?),
        false => Cow::Borrowed(key),
    };
    let mut mac = SimpleHmac::<D>::new_from_slice(&short).expect("a key of any length is taken");
    for chunk in digested(data) {
        mac.update(chunk?);
    }
    Ok(mac.finalize().into_bytes().to_vec())
}
