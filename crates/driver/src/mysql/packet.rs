//! Packets: three bytes of length, one that counts the packets of a command, and the body.

use super::super::error::{DriverError, DriverResult};

const HEADER: usize = 4;
/// A packet of this length says that another follows.
const BODY_MAX: usize = 0xff_ffff;

/// The number of the next packet, which both sides count from the command on.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Sequence(u8);

impl Sequence {
    /// Appends a packet with the body that `fill` writes.
    pub fn packet(&mut self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) -> DriverResult<()> {
        let at = out.len();
        out.extend_from_slice(&[0, 0, 0, self.0]);
        fill(out);
        let length = out.len() - at - HEADER;
        if length >= BODY_MAX {
            return Err(DriverError::protocol(
                "packets of 16 MB and more are not supported",
            ));
        }
        out[at..at + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
        self.0 = self.0.wrapping_add(1);
        Ok(())
    }
}

/// The body of the packet at the front and its whole length; `None` when it has not arrived completely.
pub fn split<'a>(bytes: &'a [u8], sequence: &mut Sequence) -> DriverResult<Option<(&'a [u8], usize)>> {
    let Some(&[a, b, c, number]) = bytes.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length == BODY_MAX {
        return Err(DriverError::protocol(
            "packets of 16 MB and more are not supported",
        ));
    }
    if bytes.len() < HEADER + length {
        return Ok(None);
    }
    *sequence = Sequence(number.wrapping_add(1));
    Ok(Some((&bytes[HEADER..HEADER + length], HEADER + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_and_wait_for_the_rest() {
        let (mut out, mut ours) = (Vec::new(), Sequence::default());
        ours.packet(&mut out, |out| out.extend_from_slice(b"abc"))
            .expect("short");
        ours.packet(&mut out, |_| {}).expect("short");
        assert_eq!(out, [3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 1]);
        let mut theirs = Sequence::default();
        for cut in 0..7 {
            assert!(split(&out[..cut], &mut theirs).expect("a prefix").is_none());
        }
        let first = split(&out, &mut theirs).expect("whole");
        assert_eq!(first, Some((&b"abc"[..], 7)));
        assert_eq!(theirs, Sequence(1));
        assert!(split(&[0xff, 0xff, 0xff, 0], &mut theirs).is_err());
    }
}
