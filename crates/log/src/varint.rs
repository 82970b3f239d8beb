//! Variable-length integers: seven bits a byte, lowest first, the high bit says that more follow. [`Cursor`] takes them, and
//! integers of fixed length, off a slice.
//!
//! Readers take untrusted bytes: they answer `None` for what ends early or does not fit, and never panic.

/// Appends `value`.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The longest form of a number.
pub const BYTES_MAX: usize = 10;

/// Appends `bytes` behind their length.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The bytes `put` would append.
pub fn size(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Signed values of small magnitude become small unsigned ones.
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Takes values off the front of a byte slice.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = (byte & 0x7f) as u64;
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub fn varint_u32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        if bytes > self.rest.len() {
            return None;
        }
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        Some(taken)
    }

    /// Bytes behind their length, as `put_bytes` wrote them.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.varint()?.try_into().ok()?;
        self.take(length)
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_and_sizes_agree() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put(&mut out, value);
                assert_eq!(out.len(), size(value), "{value}");
                assert_eq!(Cursor::new(&out).varint(), Some(value));
                assert_eq!(Cursor::new(&out[..out.len() - 1]).varint(), None);
                assert_eq!(unzigzag(zigzag(value as i64)), value as i64);
            }
        }
    }

    #[test]
    fn what_does_not_fit_64_bits_is_refused() {
        assert_eq!(Cursor::new(&[0xff; 11]).varint(), None);
        assert_eq!(
            Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).varint(),
            None
        );
    }
}
