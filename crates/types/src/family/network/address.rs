//! An address with the length of its network prefix: the value behind `inet` and `cidr`.
//!
//! Invariants
//!  1. The bytes that stand for an address (`to_datum`) sort as addresses do: family, network, prefix length, address. A
//!     network sorts before the networks and addresses inside of it, since its missing bits are zeros there.
//!  2. Addresses of one family take the same number of bytes, and the family comes first: no value is a prefix of another.
//!  3. A `cidr` has no bits behind its prefix; who makes one masks them (`network`) or refuses them (`is_network`).

use crate::datum::Datum;
use mote_common::SqlError;
use mote_common::error::state;
use std::net::IpAddr;

/// PostgreSQL's numbers of the families, on the wire and here.
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub v6: bool,
    /// Length of the network prefix.
    pub bits: u8,
    /// The address; IPv4 has its 32 bits at the bottom.
    pub number: u128,
}

impl Address {
    /// Bits of an address of this family.
    pub fn width(self) -> u8 {
        if self.v6 { 128 } else { 32 }
    }

    pub fn family(self) -> u8 {
        if self.v6 { FAMILY_V6 } else { FAMILY_V4 }
    }

    pub fn of_family(family: u8) -> Option<bool> {
        match family {
            FAMILY_V4 => Some(false),
            FAMILY_V6 => Some(true),
            _ => None,
        }
    }

    fn all_bits(self) -> u128 {
        u128::MAX >> (128 - self.width())
    }

    /// The bits behind the prefix.
    pub fn host_mask(self) -> u128 {
        self.all_bits().checked_shr(self.bits as u32).unwrap_or(0)
    }

    pub fn is_network(self) -> bool {
        self.number & self.host_mask() == 0
    }

    /// The network that the address is in.
    pub fn network(self) -> Address {
        self.with_number(self.number & !self.host_mask())
    }

    pub fn with_number(self, number: u128) -> Address {
        Address { number, ..self }
    }

    /// An address by itself, all of it prefix.
    pub fn alone(self, number: u128) -> Address {
        Address {
            number,
            bits: self.width(),
            ..self
        }
    }

    pub fn net_mask(self) -> u128 {
        self.all_bits() & !self.host_mask()
    }

    pub fn inverted(self) -> Address {
        self.with_number(!self.number & self.all_bits())
    }

    /// With another prefix length; -1 stands for the longest.
    pub fn with_bits(self, bits: i32) -> Result<Address, SqlError> {
        let width = self.width();
        let known = if bits == -1 { width as i32 } else { bits };
        match u8::try_from(known) {
            Ok(bits) if bits <= width => Ok(Address { bits, ..self }),
            _ => Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("invalid mask length: {bits}"),
            )),
        }
    }

    /// The address that many further on (or back).
    pub fn moved(self, by: i64) -> Option<Address> {
        let distance = by.unsigned_abs() as u128;
        let moved = match by < 0 {
            true => self.number.checked_sub(distance),
            false => self.number.checked_add(distance),
        };
        moved
            .filter(|number| *number <= self.all_bits())
            .map(|number| self.with_number(number))
    }

    /// How far it is from the other address, of the same family, to this one.
    pub fn distance(self, other: Address) -> Option<i64> {
        i64::try_from(self.number.wrapping_sub(other.number) as i128).ok()
    }

    /// How many leading bits two addresses of a family have in common, at most those of the shorter prefix.
    pub fn common_bits(self, other: Address) -> u8 {
        let unused = 128 - self.width() as u32;
        let common = (self.number ^ other.number).leading_zeros() - unused;
        (common as u8).min(self.bits).min(other.bits)
    }

    /// True if both have the same leading bits, as many as the shorter prefix has.
    pub fn overlaps(self, other: Address) -> bool {
        self.v6 == other.v6 && self.common_bits(other) == self.bits.min(other.bits)
    }

    /// A host as the system names it, without a prefix length of its own.
    pub fn of_host(ip: IpAddr) -> Address {
        let (v6, number) = match ip {
            IpAddr::V4(ip) => (false, u32::from(ip) as u128),
            IpAddr::V6(ip) => (true, u128::from(ip)),
        };
        let bits = if v6 { 128 } else { 32 };
        Address { v6, bits, number }
    }

    /// The bytes that rows and indexes hold.
    pub fn to_datum(self) -> Datum {
        let network = self.network().number.to_be_bytes();
        let number = self.number.to_be_bytes();
        let from = (128 - self.width() as usize) / 8;
        let mut bytes = Vec::with_capacity(2 + 2 * (16 - from));
        bytes.push(self.family());
        bytes.extend_from_slice(&network[from..]);
        bytes.push(self.bits);
        bytes.extend_from_slice(&number[from..]);
        Datum::Bytea(bytes.into_boxed_slice())
    }

    /// Reads what `to_datum` made.
    pub fn of(datum: &Datum) -> Address {
        let Datum::Bytea(bytes) = datum else {
            panic!(
                "an address is held as bytes, not as {}: the binder resolves argument types",
                datum.variant_name()
            )
        };
        let v6 = bytes[0] == FAMILY_V6;
        let width = if v6 { 16 } else { 4 };
        let number = bytes[2 + width..]
            .iter()
            .fold(0, |number, byte| number << 8 | *byte as u128);
        Address {
            v6,
            bits: bytes[1 + width],
            number,
        }
    }
}
