//! Text of addresses, both ways: what PostgreSQL's `inet_net_pton`, `inet_net_ntop` and `inet_cidr_ntop` accept and write.

use super::address::Address;
use crate::input_errors::invalid_syntax;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::io::Write;

/// An `inet`: four octets or a whole IPv6 address, fewer octets with a prefix length.
pub fn parse_inet(text: &str) -> SqlResult<Address> {
    read(text, false).ok_or_else(|| invalid_syntax("inet", text))
}

/// A `cidr`: missing octets are zeros, a missing prefix length follows from the octets or the old classes of networks.
pub fn parse_cidr(text: &str) -> SqlResult<Address> {
    let address = read(text, true).ok_or_else(|| invalid_syntax("cidr", text))?;
    if address.is_network() {
        return Ok(address);
    }
    Err(SqlError::new(
        state::INVALID_TEXT_REPRESENTATION,
        format!("invalid cidr value: \"{text}\""),
    )
    .detail("Value has bits set to right of mask."))
}

fn read(text: &str, is_network: bool) -> Option<Address> {
    let cursor = Cursor {
        bytes: text.as_bytes(),
        at: 0,
    };
    match (text.contains(':'), is_network) {
        (true, _) => read_v6(cursor),
        (false, true) => read_network_v4(cursor),
        (false, false) => read_v4(cursor),
    }
}

/// What is left of a text; behind its end there are zeros.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && !self.at_end();
        self.at += found as usize;
        found
    }

    /// A decimal number that is not above `most`.
    fn number(&mut self, most: u32) -> Option<u32> {
        if !self.peek().is_ascii_digit() {
            return None;
        }
        let mut value = 0;
        while self.peek().is_ascii_digit() {
            value = value * 10 + (self.peek() - b'0') as u32;
            if value > most {
                return None;
            }
            self.at += 1;
        }
        Some(value)
    }

    /// What ends an IPv4 address: nothing, or a slash and the prefix length. The outer `None` refuses.
    fn prefix_length(&mut self) -> Option<Option<u8>> {
        if self.at_end() {
            return Some(None);
        }
        if !self.skip(b'/') {
            return None;
        }
        let bits = self.number(32)?;
        self.at_end().then_some(Some(bits as u8))
    }
}

fn v4(octets: &[u8], bits: u8) -> Address {
    let octet = |place: usize| octets.get(place).copied().unwrap_or(0) as u128;
    Address {
        v6: false,
        bits,
        number: (0..4).fold(0, |number, place| number << 8 | octet(place)),
    }
}

fn read_v4(mut cursor: Cursor<'_>) -> Option<Address> {
    let mut octets = Vec::with_capacity(4);
    while cursor.peek().is_ascii_digit() {
        let octet = cursor.number(255)?;
        if octets.len() == 4 {
            return None;
        }
        octets.push(octet as u8);
        if !cursor.skip(b'.') {
            break;
        }
    }
    let bits = match cursor.prefix_length()? {
        _ if octets.is_empty() => return None,
        Some(bits) => bits,
        None if octets.len() == 4 => 32,
        None => return None,
    };
    // The prefix may end inside of the octet behind the last one.
    (bits as usize / 8 <= octets.len()).then(|| v4(&octets, bits))
}

fn read_network_v4(mut cursor: Cursor<'_>) -> Option<Address> {
    let hexadecimal = matches!(cursor.bytes, [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit());
    let octets = match hexadecimal {
        true => hexadecimal_octets(&mut cursor),
        false => decimal_octets(&mut cursor)?,
    };
    if octets.len() > 4 {
        return None;
    }
    let bits = cursor.prefix_length()?.unwrap_or_else(|| class_bits(&octets));
    Some(v4(&octets, bits))
}

fn hexadecimal_octets(cursor: &mut Cursor<'_>) -> Vec<u8> {
    cursor.at = 2;
    let mut octets = Vec::new();
    let mut high = None;
    while let Some(digit) = (cursor.peek() as char).to_digit(16) {
        match high.take() {
            None => high = Some(digit as u8),
            Some(high) => octets.push(high << 4 | digit as u8),
        }
        cursor.at += 1;
    }
    octets.extend(high.map(|high| high << 4));
    octets
}

fn decimal_octets(cursor: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let mut octets = vec![cursor.number(255)? as u8];
    while cursor.skip(b'.') {
        octets.push(cursor.number(255)? as u8);
    }
    Some(octets)
}

/// The prefix of a network that was written without one: that of its class, or all of its octets.
fn class_bits(octets: &[u8]) -> u8 {
    let class = match octets[0] {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    let bits = class.max(octets.len() as u8 * 8);
    // Multicast is a network of four bits.
    if bits == 8 && octets[0] == 224 { 4 } else { bits }
}

/// Words of an IPv6 address while they are read.
#[derive(Default)]
struct Words {
    bytes: Vec<u8>,
    /// Where `::` stands.
    gap: Option<usize>,
}

impl Words {
    fn push(&mut self, word: u32) -> Option<()> {
        self.bytes.extend_from_slice(&(word as u16).to_be_bytes());
        (self.bytes.len() <= 16).then_some(())
    }

    /// The sixteen bytes, with zeros in the gap, which stands for one word at least.
    fn number(mut self) -> Option<u128> {
        if let Some(gap) = self.gap {
            if self.bytes.len() == 16 {
                return None;
            }
            let behind = self.bytes.split_off(gap);
            self.bytes.resize(16 - behind.len(), 0);
            self.bytes.extend(behind);
        }
        let bytes: [u8; 16] = self.bytes.try_into().ok()?;
        Some(u128::from_be_bytes(bytes))
    }
}

fn read_v6(mut cursor: Cursor<'_>) -> Option<Address> {
    let mut words = Words::default();
    if cursor.skip(b':') && cursor.peek() != b':' {
        return None;
    }
    let mut bits = 128;
    let mut word: Option<u32> = None;
    let (mut start, mut digits) = (cursor.at, 0);
    while !cursor.at_end() {
        let byte = cursor.peek();
        cursor.at += 1;
        match byte {
            _ if byte.is_ascii_hexdigit() => {
                digits += 1;
                if digits > 4 {
                    return None;
                }
                let digit = (byte as char).to_digit(16)?;
                word = Some(word.unwrap_or(0) << 4 | digit);
            }
            b':' => {
                start = cursor.at;
                match word.take() {
                    None if words.gap.is_some() => return None,
                    None => words.gap = Some(words.bytes.len()),
                    Some(_) if cursor.at_end() => return None,
                    Some(value) => words.push(value)?,
                }
                digits = 0;
            }
            b'.' if words.bytes.len() <= 12 => {
                cursor.at = start;
                bits = embedded_v4(&mut cursor, &mut words)?.unwrap_or(bits);
                word = None;
            }
            b'/' => bits = v6_prefix_length(&mut cursor)?,
            _ => return None,
        }
    }
    if let Some(value) = word {
        words.push(value)?;
    }
    Some(Address {
        v6: true,
        bits,
        number: words.number()?,
    })
}

/// The last four bytes as IPv4 writes them, to the end of the text. Octets that are missing are zeros.
fn embedded_v4(cursor: &mut Cursor<'_>, words: &mut Words) -> Option<Option<u8>> {
    let from = words.bytes.len();
    let mut bits = None;
    loop {
        words.bytes.push(decimal_without_zeros(cursor, 255)?);
        if words.bytes.len() > from + 4 {
            return None;
        }
        if cursor.at_end() {
            break;
        }
        if cursor.skip(b'/') {
            bits = Some(v6_prefix_length(cursor)?);
            break;
        }
        if !cursor.skip(b'.') {
            return None;
        }
    }
    words.bytes.resize(from + 4, 0);
    Some(bits)
}

fn v6_prefix_length(cursor: &mut Cursor<'_>) -> Option<u8> {
    let bits = decimal_without_zeros(cursor, 128)?;
    cursor.at_end().then_some(bits)
}

/// A number without zeros in front of it.
fn decimal_without_zeros(cursor: &mut Cursor<'_>, most: u32) -> Option<u8> {
    let start = cursor.at;
    let value = cursor.number(most)?;
    let padded = cursor.bytes[start] == b'0' && cursor.at > start + 1;
    (!padded).then_some(value as u8)
}

fn octets(address: Address) -> [u8; 4] {
    (address.number as u32).to_be_bytes()
}

fn words_of(number: u128) -> [u16; 8] {
    std::array::from_fn(|place| (number >> (112 - 16 * place)) as u16)
}

/// The address, with its prefix length unless that is all of it.
pub fn write_inet(address: Address, out: &mut Vec<u8>) {
    write_host(address, out);
    if address.bits != address.width() {
        let _ = write!(out, "/{}", address.bits);
    }
}

/// The address and the prefix length, which the casts to strings and `cidr` always show.
pub fn write_cidr(address: Address, out: &mut Vec<u8>) {
    write_host(address, out);
    let _ = write!(out, "/{}", address.bits);
}

/// The address without its prefix length.
pub fn write_host(address: Address, out: &mut Vec<u8>) {
    if !address.v6 {
        return write_octets(&octets(address), out);
    }
    let words = words_of(address.number);
    let (start, length) = longest_gap(&words);
    let end = start + length;
    let embeds_v4 =
        start == 0 && (length == 6 || length == 7 && words[7] != 1 || length == 5 && words[5] == 0xffff);
    for (place, word) in words.iter().enumerate() {
        if (start..end).contains(&place) {
            if place == start {
                out.push(b':');
            }
            continue;
        }
        if place != 0 {
            out.push(b':');
        }
        if place == 6 && embeds_v4 {
            return write_octets(&octets(address), out);
        }
        let _ = write!(out, "{word:x}");
    }
    if length > 0 && end == words.len() {
        out.push(b':');
    }
}

fn write_octets(octets: &[u8], out: &mut Vec<u8>) {
    for (place, octet) in octets.iter().enumerate() {
        let dot = if place > 0 { "." } else { "" };
        let _ = write!(out, "{dot}{octet}");
    }
}

/// Start and length of the first of the longest runs of zeros, of two words at least.
fn longest_gap(words: &[u16; 8]) -> (usize, usize) {
    let (mut best, mut start) = ((0, 0), 0);
    for (place, word) in words.iter().enumerate() {
        if *word != 0 {
            start = place + 1;
        } else if place + 1 - start > best.1 {
            best = (start, place + 1 - start);
        }
    }
    if best.1 >= 2 { best } else { (0, 0) }
}

/// A network in its shortest form: `10.1/16`, `10:23::/64`.
pub fn write_abbreviated(network: Address, out: &mut Vec<u8>) {
    match network.v6 {
        true => write_abbreviated_v6(network, out),
        false if network.bits == 0 => out.push(b'0'),
        false => {
            let shown = network.bits.div_ceil(8) as usize;
            write_octets(&octets(network.network())[..shown], out);
        }
    }
    let _ = write!(out, "/{}", network.bits);
}

/// PostgreSQL writes the words that the prefix reaches, two at least, and its search for the longest run of zeros goes on
/// counting behind a shorter one: clients compare these texts, so both are kept.
fn write_abbreviated_v6(network: Address, out: &mut Vec<u8>) {
    if network.bits == 0 {
        return out.extend_from_slice(b"::");
    }
    let words = words_of(network.network().number);
    let shown = (network.bits.div_ceil(16) as usize).max(2);
    let (start, length) = counted_gap(&words[..shown]);
    let embeds_v4 = length != shown
        && start == 0
        && (length == 6 || length == 5 && words[5] == 0xffff || {
            let [high, low] = words[7].to_be_bytes();
            length == 7 && high != 0 && low != 1
        });
    let begun = out.len();
    for (place, word) in words[..shown].iter().enumerate() {
        if length != 0 && (start..start + length).contains(&place) {
            if place == start {
                out.push(b':');
            }
            if place == shown - 1 {
                out.push(b':');
            }
        } else if embeds_v4 && place > 5 {
            let [high, low] = word.to_be_bytes();
            let _ = write!(out, "{}{high}", if place == 6 { ':' } else { '.' });
            // The last octet may be left out.
            if place != 7 || network.bits > 120 {
                let _ = write!(out, ".{low}");
            }
        } else {
            let colon = if out.len() > begun { ":" } else { "" };
            let _ = write!(out, "{colon}{word:x}");
        }
    }
}

/// Start and length of the longest run of zeros, as `inet_cidr_ntop` counts.
fn counted_gap(words: &[u16]) -> (usize, usize) {
    let (mut best, mut start, mut length) = ((0, 0), 0, 0);
    for (place, word) in words.iter().enumerate() {
        if *word == 0 {
            if length == 0 {
                start = place;
            }
            length += 1;
        } else if length > best.1 {
            best = (start, length);
            length = 0;
        }
    }
    if length > best.1 { (start, length) } else { best }
}
