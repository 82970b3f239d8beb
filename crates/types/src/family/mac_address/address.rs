//! The number behind an address: its forms and its bits.

use crate::input_errors::invalid_syntax;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// The bytes of `macaddr`.
const MASK: u64 = 0xFFFF_FFFF_FFFF;

/// `08:00:2b:01:02:03`, with dashes, or in groups of two or three bytes, or without separators.
pub fn parse(text: &str) -> SqlResult<u64> {
    let octets = FORMS.iter().find_map(|form| scanned(text, form));
    let octets = octets.ok_or_else(|| invalid_syntax("macaddr", text))?;
    if octets.iter().any(|octet| !(0..=0xFF).contains(octet)) {
        let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
        return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Ok(octets
        .iter()
        .fold(0, |address, octet| address << 8 | *octet as u64))
}

/// One of the patterns that PostgreSQL hands to C's sscanf.
struct Form {
    /// Of a byte, its sign counted.
    width: usize,
    /// Behind each byte but the last.
    separators: [Option<u8>; 5],
}

const fn form(width: usize, separators: [Option<u8>; 5]) -> Form {
    Form { width, separators }
}

const FORMS: [Form; 7] = [
    form(usize::MAX, [Some(b':'); 5]),
    form(usize::MAX, [Some(b'-'); 5]),
    form(2, [None, None, Some(b':'), None, None]),
    form(2, [None, None, Some(b'-'), None, None]),
    form(2, [None, Some(b'.'), None, Some(b'.'), None]),
    form(2, [None, Some(b'-'), None, Some(b'-'), None]),
    form(2, [None; 5]),
];

/// The six numbers, if the text is of this form to its end.
fn scanned(text: &str, form: &Form) -> Option<[i32; 6]> {
    let mut rest = text.as_bytes();
    let mut octets = [0; 6];
    for (position, octet) in octets.iter_mut().enumerate() {
        (*octet, rest) = hexadecimal(rest, form.width)?;
        if let Some(separator) = form.separators.get(position).copied().flatten() {
            rest = rest.strip_prefix(&[separator])?;
        }
    }
    rest.iter().all(|byte| is_blank(*byte)).then_some(octets)
}

/// sscanf's `%x`: blanks, and then at most `width` characters of a number with or without a sign and `0x`. What is too large
/// or negative becomes some number that is no byte.
fn hexadecimal(text: &[u8], width: usize) -> Option<(i32, &[u8])> {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    let text = &text[blanks..];
    let field = &text[..width.min(text.len())];
    let sign = usize::from(matches!(field.first(), Some(b'+' | b'-')));
    // Alone it is zero.
    let prefix = match field.get(sign..sign + 2) {
        Some([b'0', b'x' | b'X']) => 2,
        _ => 0,
    };
    let digits = &field[sign + prefix..];
    let count = digits
        .iter()
        .take_while(|digit| digit.is_ascii_hexdigit())
        .count();
    let value = match std::str::from_utf8(&digits[..count]) {
        Ok("") if prefix == 0 => return None,
        Ok("") => 0,
        Ok(digits) => u64::from_str_radix(digits, 16).unwrap_or(u64::MAX),
        Err(_) => return None,
    };
    let value = match field[0] {
        b'-' => value.wrapping_neg(),
        _ => value,
    };
    Some((value as i32, &text[sign + prefix + count..]))
}

/// C's isspace.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Six or eight bytes, with one separator wherever bytes meet. Six are widened as EUI-64 has it.
pub fn parse8(text: &str) -> SqlResult<u64> {
    let refused = || invalid_syntax("macaddr8", text);
    let mut rest = text.trim_ascii_start().as_bytes();
    let (mut address, mut count, mut separator) = (0u64, 0, None);
    while let [high, low, behind @ ..] = rest {
        let digit = |byte: u8| (byte as char).to_digit(16).ok_or_else(refused);
        let octet = digit(*high)? << 4 | digit(*low)?;
        count += 1;
        if count > 8 {
            return Err(refused());
        }
        address = address << 8 | octet as u64;
        rest = behind;
        if let [sign @ (b':' | b'-' | b'.'), behind @ ..] = rest {
            if *separator.get_or_insert(*sign) != *sign {
                return Err(refused());
            }
            rest = behind;
        }
        if (count == 6 || count == 8) && rest.first().is_some_and(u8::is_ascii_whitespace) {
            rest = rest.trim_ascii_start();
            if !rest.is_empty() {
                return Err(refused());
            }
        }
    }
    match count {
        6 => Ok(widened(address)),
        8 => Ok(address),
        _ => Err(refused()),
    }
}

/// A `macaddr` as a `macaddr8`: FF and FE in the middle.
pub fn widened(address: u64) -> u64 {
    (address & 0xFFFF_FF00_0000) << 16 | 0xFF_FE00_0000 | address & 0xFF_FFFF
}

pub fn narrowed(address: u64) -> SqlResult<u64> {
    if address & 0xFF_FF00_0000 == 0xFF_FE00_0000 {
        return Ok((address >> 16) & 0xFFFF_FF00_0000 | address & 0xFF_FFFF);
    }
    Err(SqlError::new(
        state::NUMERIC_VALUE_OUT_OF_RANGE,
        "macaddr8 data out of range to convert to macaddr",
    )
    .hint(
        "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
         xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
    ))
}

/// All bits turned, of the bytes that there are.
pub fn inverted(address: u64, wide: bool) -> u64 {
    if wide { !address } else { !address & MASK }
}

/// The manufacturer's three bytes.
pub fn manufacturer(address: u64, wide: bool) -> u64 {
    if wide {
        address & 0xFF_FFFF << 40
    } else {
        address & 0xFF_FFFF << 24
    }
}

/// The address as part of an IPv6 address.
pub fn with_seventh_bit(address: u64) -> u64 {
    address | 0x02 << 56
}

/// Six or eight bytes; six of them are widened if the address is to have eight.
pub fn receive(bytes: &[u8], wide: bool) -> SqlResult<u64> {
    let address = bytes.iter().fold(0, |address, byte| address << 8 | *byte as u64);
    match (wide, bytes.len()) {
        (false, 6) | (true, 8) => Ok(address),
        (true, 6) => Ok(widened(address)),
        _ => Err(SqlError::new(
            state::PROTOCOL_VIOLATION,
            "insufficient data left in message",
        )),
    }
}

pub fn write(address: u64, wide: bool, out: &mut Vec<u8>) {
    let bytes = address.to_be_bytes();
    let bytes = if wide { &bytes[..] } else { &bytes[2..] };
    for (position, byte) in bytes.iter().enumerate() {
        if position > 0 {
            out.push(b':');
        }
        out.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_are_one_address() {
        for text in [
            "08:00:2b:01:02:03",
            "08-00-2b-01-02-03",
            "08002b:010203",
            "08002b-010203",
            "0800.2b01.0203",
            "0800-2b01-0203",
            "08002b010203",
            " 8:0:2b:1:2:3 ",
        ] {
            assert_eq!(parse(text).unwrap(), 0x0800_2b01_0203, "{text}");
        }
        // A sign may begin a byte, and blanks may stand before one.
        assert_eq!(parse("+8: 0:2b:1:2:0x3 ").unwrap(), 0x0800_2b01_0203);
        let outside = parse("-8:0:2b:1:2:3").unwrap_err();
        assert!(outside.message().starts_with("invalid octet"));
        for text in [
            "0800:2b01:0203",
            "8 :0:2b:1:2:3",
            "not even close",
            "08:00:2b:01:02",
            "08:00:2b:01:02:0g",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(
            parse("100:0:0:0:0:0")
                .unwrap_err()
                .message()
                .starts_with("invalid octet")
        );
    }

    #[test]
    fn six_bytes_are_widened() {
        assert_eq!(parse8("08:00:2b:01:02:03").unwrap(), 0x0800_2bff_fe01_0203);
        assert_eq!(parse8("08002b01:02030405").unwrap(), 0x0800_2b01_0203_0405);
        assert_eq!(narrowed(0x0800_2bff_fe01_0203).unwrap(), 0x0800_2b01_0203);
        assert!(narrowed(1).is_err());
        assert!(parse8("08:00-2b:01:02:03:04:05").is_err());
    }
}
