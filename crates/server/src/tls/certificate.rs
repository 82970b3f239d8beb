//! What we need to know of an X.509 certificate that somebody else has verified, or that is our own.

use ring::digest;

use super::der::{self, Reader};

/// Names and number, as pg_stat_ssl shows them.
#[derive(Clone, Debug)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    /// In decimal digits.
    pub serial: String,
    /// The first common name of the subject.
    pub common_name: Option<String>,
}

impl Certificate {
    pub fn read(der: &[u8]) -> Option<Certificate> {
        let mut body = Reader::new(der).open(der::SEQUENCE)?.open(der::SEQUENCE)?;
        body.expect(der::CONTEXT_0);
        let serial = body.expect(der::INTEGER)?;
        let _algorithm = body.expect(der::SEQUENCE)?;
        let issuer = body.open(der::SEQUENCE)?;
        let _validity = body.expect(der::SEQUENCE)?;
        let subject = body.open(der::SEQUENCE)?;
        Some(Certificate {
            subject: distinguished_name(subject),
            issuer: distinguished_name(issuer),
            serial: decimal(serial),
            common_name: attributes(subject)
                .find(|(kind, _)| *kind == COMMON_NAME)
                .map(|(_, value)| value),
        })
    }
}

/// id-at-commonName, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Attributes of names and how OpenSSL calls them.
const ATTRIBUTES: [(&[u8], &str); 10] = [
    (COMMON_NAME, "CN"),
    (&[0x55, 0x04, 0x04], "SN"),
    (&[0x55, 0x04, 0x05], "serialNumber"),
    (&[0x55, 0x04, 0x06], "C"),
    (&[0x55, 0x04, 0x07], "L"),
    (&[0x55, 0x04, 0x08], "ST"),
    (&[0x55, 0x04, 0x0a], "O"),
    (&[0x55, 0x04, 0x0b], "OU"),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01],
        "emailAddress",
    ),
    (
        &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x19],
        "DC",
    ),
];

/// The attributes of a name, in their order.
fn attributes(name: Reader<'_>) -> impl Iterator<Item = (&[u8], String)> {
    name.filter(|(tag, _)| *tag == der::SET)
        .flat_map(|(_, set)| Reader::new(set))
        .filter_map(|(_, attribute)| {
            let mut attribute = Reader::new(attribute);
            let kind = attribute.expect(der::OBJECT_IDENTIFIER)?;
            let (tag, value) = attribute.next()?;
            Some((kind, string(tag, value)?))
        })
}

/// None: not a string, or one with a zero in it, which others would read to its middle.
fn string(tag: u8, value: &[u8]) -> Option<String> {
    let text = match tag {
        der::UTF8_STRING | der::PRINTABLE_STRING | der::IA5_STRING => std::str::from_utf8(value).ok()?.into(),
        der::TELETEX_STRING => value.iter().map(|&byte| char::from(byte)).collect(),
        der::BMP_STRING => {
            let units = value
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).collect::<Result<String, _>>().ok()?
        }
        _ => return None,
    };
    (!text.contains('\0')).then_some(text)
}

/// As PostgreSQL shows it: `/C=DE/O=shop/CN=joe`.
fn distinguished_name(name: Reader<'_>) -> String {
    let mut shown = String::new();
    for (kind, value) in attributes(name) {
        let known = ATTRIBUTES.iter().find(|(other, _)| *other == kind);
        let label = known.map_or_else(|| dotted(kind), |(_, label)| (*label).to_string());
        shown.push_str(&format!("/{label}={value}"));
    }
    shown
}

/// An object identifier in digits.
fn dotted(identifier: &[u8]) -> String {
    let mut numbers: Vec<u64> = Vec::new();
    let mut number = 0u64;
    for &byte in identifier {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            match numbers.is_empty() {
                // The first two share a number.
                true => numbers.extend([(number / 40).min(2), number - (number / 40).min(2) * 40]),
                false => numbers.push(number),
            }
            number = 0;
        }
    }
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(".")
}

fn decimal(bytes: &[u8]) -> String {
    // Digits from the least; a serial number has twenty bytes at most.
    let mut digits = vec![0u8];
    for &byte in bytes {
        let mut carry = u32::from(byte);
        for digit in &mut digits {
            carry += u32::from(*digit) * 256;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    digits
        .iter()
        .rev()
        .map(|&digit| char::from(b'0' + digit))
        .collect()
}

/// `tls-server-end-point` (RFC 5929): the certificate hashed as its signature hashes, but by SHA-256 at least. None where
/// the signature does not say how: then there is no such binding.
pub fn end_point_hash(certificate: &[u8]) -> Option<Vec<u8>> {
    let mut parts = Reader::new(certificate).open(der::SEQUENCE)?;
    let _body = parts.expect(der::SEQUENCE)?;
    let algorithm = parts.open(der::SEQUENCE)?.expect(der::OBJECT_IDENTIFIER)?;
    Some(
        digest::digest(hash_of_signature(algorithm)?, certificate)
            .as_ref()
            .to_vec(),
    )
}

fn hash_of_signature(algorithm: &[u8]) -> Option<&'static digest::Algorithm> {
    /// 1.2.840.113549.1.1: of RSA.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    /// 1.2.840.10045.4: of ECDSA.
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    if let Some(of_rsa) = algorithm.strip_prefix(RSA) {
        return match of_rsa {
            // MD5 and SHA-1 count as SHA-256.
            [4 | 5 | 11] => Some(&digest::SHA256),
            [12] => Some(&digest::SHA384),
            [13] => Some(&digest::SHA512),
            _ => None,
        };
    }
    match algorithm.strip_prefix(ECDSA)? {
        [1] | [3, 2] => Some(&digest::SHA256),
        [3, 3] => Some(&digest::SHA384),
        [3, 4] => Some(&digest::SHA512),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(decimal(&[]), "0");
        assert_eq!(decimal(&[0, 255]), "255");
        assert_eq!(decimal(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), "18446744073709551616");
        assert_eq!(
            dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01]),
            "1.2.840.113549.1.9.1"
        );
        assert_eq!(dotted(&[0x55, 0x04, 0x0c]), "2.5.4.12");
    }

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, content.len() as u8], content].concat()
    }

    fn attribute(kind: &[u8], tag: u8, value: &str) -> Vec<u8> {
        let parts = [
            element(der::OBJECT_IDENTIFIER, kind),
            element(tag, value.as_bytes()),
        ]
        .concat();
        element(der::SET, &element(der::SEQUENCE, &parts))
    }

    #[test]
    fn names() {
        let name = [
            attribute(&[0x55, 0x04, 0x0a], der::PRINTABLE_STRING, "shop"),
            attribute(COMMON_NAME, der::UTF8_STRING, "jörg"),
            attribute(COMMON_NAME, der::UTF8_STRING, "second"),
            attribute(COMMON_NAME, der::UTF8_STRING, "a\0b"),
        ]
        .concat();
        assert_eq!(
            distinguished_name(Reader::new(&name)),
            "/O=shop/CN=jörg/CN=second"
        );
        let mut all = attributes(Reader::new(&name)).filter(|(kind, _)| *kind == COMMON_NAME);
        assert_eq!(all.next().map(|(_, value)| value).as_deref(), Some("jörg"));
    }

    #[test]
    fn hashes_follow_the_signature() {
        let certificate = |algorithm: &[u8]| {
            let algorithm = element(der::SEQUENCE, &element(der::OBJECT_IDENTIFIER, algorithm));
            element(der::SEQUENCE, &[element(der::SEQUENCE, &[]), algorithm].concat())
        };
        let length = |algorithm: &[u8]| end_point_hash(&certificate(algorithm)).map(|hash| hash.len());
        let rsa = |last| [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
        assert_eq!(
            (length(&rsa(5)), length(&rsa(12)), length(&rsa(13))),
            (Some(32), Some(48), Some(64))
        );
        assert_eq!(length(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 3, 3]), Some(48));
        // Ed25519 signs without a hash of its own.
        assert_eq!(length(&[0x2b, 0x65, 0x70]), None);
    }
}
