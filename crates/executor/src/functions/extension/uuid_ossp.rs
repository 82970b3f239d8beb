//! uuid-ossp's identifiers by time (version 1) and by name (3 and 5), in the layout of RFC 4122.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use md5::{Digest, Md5};
use mote_common::SqlResult;
use mote_common::env::real::fill_entropy;
use mote_common::work;
use mote_types::Datum;
use sha1::Sha1;

use super::super::{Body, int4, text};

/// From 1582-10-15 to 1970-01-01 in steps of 100 ns.
const GREGORIAN_TO_UNIX: u64 = 0x01b2_1dd2_1381_4000;

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "mote_uuid_by_time" => Body::Runtime(|runtime, _, _| {
            let steps = runtime.session().clock.wall_us().max(0) as u64 * 10 + GREGORIAN_TO_UNIX;
            Ok(Datum::Uuid(by_time(steps)))
        }),
        "mote_uuid_by_name" => Body::Pure(|a| match &a[1] {
            Datum::Uuid(space) => by_name(int4(&a[0]), space, text(&a[2]).as_bytes()).map(Datum::Uuid),
            _ => Ok(Datum::Null),
        }),
        _ => return None,
    })
}

/// Clock sequence and node, which nobody else has: at random, with the bit that says so, instead of a network's address.
static NODE: LazyLock<[u8; 8]> = LazyLock::new(|| {
    let mut node = [0; 8];
    fill_entropy(&mut node);
    node[0] = node[0] & 0x3f | 0x80;
    node[2] |= 1;
    node
});

/// `steps` of 100 ns since 1582; the same is given out once.
fn by_time(steps: u64) -> [u8; 16] {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only that every call gets a number of its own matters.
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        Some(steps.max(last + 1))
    });
    let steps = steps.max(last.unwrap_or_default() + 1);
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&(steps as u32).to_be_bytes());
    uuid[4..6].copy_from_slice(&((steps >> 32) as u16).to_be_bytes());
    uuid[6..8].copy_from_slice(&((steps >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes());
    uuid[8..].copy_from_slice(&*NODE);
    uuid
}

/// Version 3 by MD5, 5 by SHA-1, over the name space and the name.
fn by_name(version: i32, space: &[u8; 16], name: &[u8]) -> SqlResult<[u8; 16]> {
    work::spend(2 * name.len())?;
    let hash = match version {
        3 => Md5::new()
            .chain_update(space)
            .chain_update(name)
            .finalize()
            .to_vec(),
        _ => Sha1::new()
            .chain_update(space)
            .chain_update(name)
            .finalize()
            .to_vec(),
    };
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&hash[..16]);
    // The version and the variant take the places of hash bits.
    uuid[6] = uuid[6] & 0x0f | (version as u8) << 4;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_given_out_twice() {
        let steps = GREGORIAN_TO_UNIX;
        let (one, other) = (by_time(steps), by_time(steps));
        assert_ne!(one, other);
        assert_eq!((one[6] >> 4, one[8] >> 6), (1, 2));
    }
}
