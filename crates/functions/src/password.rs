//! Hashes of passwords in the forms of crypt(3): Blowfish (`$2a$`, Provos and Mazieres 1999) and MD5 (`$1$`, Kamp 1994).
//!
//! Both are slow on purpose; the work is paid for round by round, so that others run beside it and it can be cancelled.
//! Leaves out: DES, traditional and extended, which is refused by name.

use blowfish::Blowfish;
use md5::{Digest, Md5};
use mote_common::env::real::fill_entropy;
use mote_common::error::state;
use mote_common::work;
use mote_common::{SqlError, SqlResult};

use crate::bytes::digested;

/// The digits of base 64 in the two forms.
const BLOWFISH_DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const MD5_DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Of a password, its end included, Blowfish takes no more.
const BLOWFISH_KEY_BYTES: usize = 72;
/// Units of work of one expansion of a key.
const EXPANSION_UNITS: usize = 20_000;
const MD5_ROUNDS: usize = 1000;
const MD5_SALT_BYTES: usize = 8;
/// Units of work of a round over a short password.
const ROUND_UNITS: usize = 256;

fn invalid(message: &str) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// gen_salt. `rounds` 0: the usual number.
pub fn salt(kind: &str, rounds: i32) -> SqlResult<String> {
    let incorrect = || Err(invalid("gen_salt: Incorrect number of rounds"));
    match kind.to_ascii_lowercase().as_str() {
        "bf" => {
            let cost = if rounds == 0 { 6 } else { rounds };
            if !(4..=31).contains(&cost) {
                return incorrect();
            }
            let mut random = [0; 16];
            fill_entropy(&mut random);
            Ok(format!("$2a${cost:02}${}", blowfish_text(&random)))
        }
        "md5" => {
            if rounds != 0 && rounds != MD5_ROUNDS as i32 {
                return incorrect();
            }
            let mut random = [0; 6];
            fill_entropy(&mut random);
            let mut salt = String::from("$1$");
            for three in random.chunks_exact(3) {
                md5_digits(&mut salt, [three[2], three[1], three[0]], 4);
            }
            Ok(salt)
        }
        "des" | "xdes" => Err(SqlError::unsupported(format_args!("gen_salt('{kind}')"))),
        _ => Err(invalid("gen_salt: Unknown salt algorithm")),
    }
}

/// The hash of a password, as the salt, or a hash that began with it, asks for.
pub fn crypt(password: &str, salt: &str) -> SqlResult<String> {
    if salt.starts_with("$2a$") {
        return blowfish(password.as_bytes(), salt);
    }
    match salt.strip_prefix("$1$") {
        Some(salt) => md5(password.as_bytes(), salt.as_bytes()),
        None if salt.len() < 2 => Err(invalid("invalid salt")),
        None => Err(SqlError::unsupported("crypt() with DES")),
    }
}

/// `$2a$`, two digits of cost, `$`, 22 digits of salt.
fn blowfish(password: &[u8], setting: &str) -> SqlResult<String> {
    let error = || invalid("invalid salt");
    let setting = setting.as_bytes();
    let cost = match setting.get(4..7) {
        Some([tens @ b'0'..=b'3', ones @ b'0'..=b'9', b'$']) => (tens - b'0') * 10 + (ones - b'0'),
        _ => return Err(error()),
    };
    if !(4..=31).contains(&cost) {
        return Err(error());
    }
    let salt = blowfish_salt(setting.get(7..29).ok_or_else(error)?).ok_or_else(error)?;
    let key: Vec<u8> = password
        .iter()
        .chain(&[0])
        .copied()
        .take(BLOWFISH_KEY_BYTES)
        .collect();
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for _ in 0..1u64 << cost {
        work::spend(2 * EXPANSION_UNITS)?;
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
    }
    let mut hash = Vec::with_capacity(24);
    for pair in b"OrpheanBeholderScryDoubt".chunks_exact(8) {
        let word = |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let halves = (0..64).fold([word(0), word(4)], |halves, _| state.bc_encrypt(halves));
        hash.extend(halves.iter().flat_map(|half| half.to_be_bytes()));
    }
    // The last byte has never been shown.
    Ok(format!(
        "$2a${cost:02}${}{}",
        blowfish_text(&salt),
        blowfish_text(&hash[..23])
    ))
}

/// Six bits a digit, the highest first; the last digit has what is left, above zeros.
fn blowfish_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=three.len() {
            text.push(char::from(
                BLOWFISH_DIGITS[(bits >> (18 - 6 * digit)) as usize & 63],
            ));
        }
    }
    text
}

/// The reverse for 22 digits; the last four bits of these count for nothing.
fn blowfish_salt(digits: &[u8]) -> Option<[u8; 16]> {
    let mut bits = 0u128;
    for (at, digit) in digits.iter().enumerate() {
        let value = BLOWFISH_DIGITS.iter().position(|known| known == digit)? as u128;
        bits = match at {
            21 => bits << 2 | value >> 4,
            _ => bits << 6 | value,
        };
    }
    Some(bits.to_be_bytes())
}

/// The MD5 form: 1,000 rounds of digests over password, salt and the last digest.
fn md5(password: &[u8], salt: &[u8]) -> SqlResult<String> {
    let end = salt.iter().position(|&byte| byte == b'$').unwrap_or(salt.len());
    let salt = &salt[..end.min(MD5_SALT_BYTES)];
    let first = md5_of(&[password, salt, password])?;
    let mut hasher = Md5::new();
    absorb(&mut hasher, &[password, b"$1$", salt])?;
    let mut work = work::Meter::default();
    for chunk in password.chunks(16) {
        work.tick(2 * chunk.len())?;
        hasher.update(&first[..chunk.len()]);
    }
    // One byte per bit of the length: zero, or the password's first. That is how the form is defined.
    let mut bits = password.len();
    while bits != 0 {
        match bits & 1 {
            1 => hasher.update([0]),
            _ => hasher.update(&password[..1]),
        }
        bits >>= 1;
    }
    let mut last = hasher.finalize();
    for round in 0..MD5_ROUNDS {
        work.tick(ROUND_UNITS)?;
        let (begin, end) = match round % 2 {
            1 => (password, &last[..]),
            _ => (&last[..], password),
        };
        let salt = if round % 3 == 0 { b"" } else { salt };
        let middle = if round % 7 == 0 { b"" } else { password };
        last = md5_of(&[begin, salt, middle, end])?;
    }
    let mut text = format!("$1${}$", String::from_utf8_lossy(salt));
    for [high, middle, low] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        md5_digits(&mut text, [last[high], last[middle], last[low]], 4);
    }
    md5_digits(&mut text, [0, 0, last[11]], 2);
    Ok(text)
}

fn md5_of(parts: &[&[u8]]) -> SqlResult<md5::digest::Output<Md5>> {
    let mut hasher = Md5::new();
    absorb(&mut hasher, parts)?;
    Ok(hasher.finalize())
}

/// Digests what may be long in portions that are paid for.
fn absorb(hasher: &mut Md5, parts: &[&[u8]]) -> SqlResult<()> {
    for chunk in parts.iter().copied().flat_map(digested) {
        hasher.update(chunk?);
    }
    Ok(())
}

/// Digits of 24 bits, the lowest first.
fn md5_digits(text: &mut String, [high, middle, low]: [u8; 3], digits: usize) {
    let bits = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
    for digit in 0..digits {
        text.push(char::from(MD5_DIGITS[(bits >> (6 * digit)) as usize & 63]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_crypt() {
        for (password, hash) in [
            ("pw", "$1$abcdefgh$IQtUouv7y7Q9dRWkQEPCc."),
            ("", "$1$$qRPK7m23GJusamGpoGLby/"),
            (&"x".repeat(100), "$1$ab$s5cdzXI1VZ8fHADCvf1uE1"),
            (
                "pw",
                "$2a$06$abcdefghijklmnopqrstuuXOw8daVruAKMR3X3ty3bsuEmsp0E2Ba",
            ),
            (
                &"x".repeat(100),
                "$2a$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i",
            ),
        ] {
            assert_eq!(crypt(password, hash).unwrap(), hash);
        }
    }

    #[test]
    fn salts_fit_their_hashes() {
        for kind in ["bf", "md5"] {
            let salt = salt(kind, 0).unwrap();
            let hash = crypt("secret", &salt).unwrap();
            assert!(hash.starts_with(&salt[..salt.len() - 1]), "{salt} {hash}");
            assert_eq!(crypt("secret", &hash).unwrap(), hash);
            assert_ne!(crypt("Secret", &hash).unwrap(), hash);
        }
    }

    #[test]
    fn salts_without_sense_are_refused() {
        for salt in [
            "",
            "$2a$",
            "$2a$03$abcdefghijklmnopqrstuu",
            "$2a$06$short",
            "$2a$40$abcdefghijklmnopqrstuu",
        ] {
            assert_eq!(crypt("x", salt).unwrap_err().message(), "invalid salt", "{salt}");
        }
    }
}
