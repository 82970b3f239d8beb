//! The frame: the unit in which the log is written, checked and read.
//!
//! A frame is a 48-byte header and a payload, padded with zeros to a multiple of 16 bytes. It names its own position, so
//! that an old frame in a recycled file is never taken for a new one, and the position up to which the log was durable
//! when it was filled, so that a reader can tell a torn tail from damage. `docs/formats/log.md` has the bytes.
//!
//! Leaves out: what the payload means (`record`), where frames stand in files (`segment`).

use mote_common::Lsn;

pub const FRAME_HEADER_BYTES: usize = 48;
/// Frames start and end on multiples of this.
pub const FRAME_ALIGNMENT: u64 = 16;
/// Header, payload and padding together.
pub const FRAME_BYTES_MAX: usize = 256 * 1024;
pub const PAYLOAD_BYTES_MAX: usize = FRAME_BYTES_MAX - FRAME_HEADER_BYTES;
/// The unit of flushing: a flush begins and ends on such a border, and no block is written twice.
pub const BLOCK_BYTES: u64 = 4096;

const MAGIC: [u8; 2] = *b"mL";
const FRAME_VERSION: u8 = 1;
/// Of a frame whose operations tell subscribers something besides the rows (`told`): releases that do not know these
/// operations refuse the log.
const FRAME_VERSION_TOLD: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// The operations of a transaction, or the rest of them; its end is the commit timestamp.
    Commit = 1,
    /// A part of the operations of a transaction that is still running.
    Fragment = 2,
    /// Ends a transaction that has sent fragments.
    Abort = 3,
    Prepare = 4,
    CommitPrepared = 5,
    RollbackPrepared = 6,
    /// A sequence may hand out values up to the one named here without logging again.
    Sequence = 7,
    /// Fills the log up to a block border; also seals a quiet log.
    Pad = 8,
    /// A commit that turned out not to be one (failed validation after its position was reserved).
    Void = 9,
    /// The first frame after a start: names the term and where the log of the term before ended.
    Term = 10,
    /// A name for this position, for point-in-time recovery; changes nothing.
    RestorePoint = 11,
}

impl FrameKind {
    pub fn from_byte(byte: u8) -> Option<FrameKind> {
        use FrameKind::*;
        [
            Commit,
            Fragment,
            Abort,
            Prepare,
            CommitPrepared,
            RollbackPrepared,
            Sequence,
            Pad,
            Void,
            Term,
            RestorePoint,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHeader {
    pub kind: FrameKind,
    /// Among its operations may be some for subscribers.
    pub tells: bool,
    pub payload_bytes: u32,
    /// Where this frame starts.
    pub lsn: Lsn,
    /// Everything below this was durable when the frame was filled.
    pub durable: Lsn,
    /// Microseconds since 1970, UTC; for point-in-time recovery.
    pub wall_us: i64,
    pub term: u32,
    pub payload_crc: u32,
}

/// Why 48 bytes are no frame header that this release reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// Zeros, garbage, or a header that fails its checksum.
    NotAFrame,
    /// Intact, but written by a release that knows more.
    Unknown { version: u8, kind: u8 },
}

impl FrameHeader {
    pub fn encode(&self) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[0..2].copy_from_slice(&MAGIC);
        bytes[2] = match self.tells {
            true => FRAME_VERSION_TOLD,
            false => FRAME_VERSION,
        };
        bytes[3] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.lsn.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.wall_us.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.term.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[0..40]);
        bytes[40..44].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header. A result says nothing yet about the payload.
    pub fn decode(bytes: &[u8; FRAME_HEADER_BYTES]) -> Result<FrameHeader, HeaderError> {
        if bytes[0..2] != MAGIC || u32_at(bytes, 40) != crc32fast::hash(&bytes[0..40]) {
            return Err(HeaderError::NotAFrame);
        }
        let kind = match (bytes[2], FrameKind::from_byte(bytes[3])) {
            (FRAME_VERSION | FRAME_VERSION_TOLD, Some(kind)) => kind,
            (version, _) => {
                return Err(HeaderError::Unknown {
                    version,
                    kind: bytes[3],
                });
            }
        };
        let payload_bytes = u32_at(bytes, 4);
        if payload_bytes as usize > PAYLOAD_BYTES_MAX {
            return Err(HeaderError::NotAFrame);
        }
        Ok(FrameHeader {
            kind,
            tells: bytes[2] == FRAME_VERSION_TOLD,
            payload_bytes,
            lsn: Lsn(u64_at(bytes, 8)),
            durable: Lsn(u64_at(bytes, 16)),
            wall_us: u64_at(bytes, 24) as i64,
            term: u32_at(bytes, 32),
            payload_crc: u32_at(bytes, 36),
        })
    }

    /// Where the next frame starts; for a commit, its timestamp.
    pub fn end(&self) -> Lsn {
        Lsn(self.lsn.0 + frame_bytes(self.payload_bytes as usize))
    }
}

/// The bytes a frame with this payload takes in the log.
pub fn frame_bytes(payload_bytes: usize) -> u64 {
    ((FRAME_HEADER_BYTES + payload_bytes) as u64).next_multiple_of(FRAME_ALIGNMENT)
}

/// The size of the PAD that brings `lsn` to a block border. At least a header, so it may fill one block more.
pub fn pad_bytes(lsn: u64) -> u64 {
    let rest = lsn.next_multiple_of(BLOCK_BYTES) - lsn;
    if rest == 0 || rest >= FRAME_HEADER_BYTES as u64 {
        rest
    } else {
        rest + BLOCK_BYTES
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were sliced"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were sliced"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> FrameHeader {
        FrameHeader {
            kind: FrameKind::Commit,
            tells: false,
            payload_bytes: 17,
            lsn: Lsn(4096),
            durable: Lsn(2048),
            wall_us: -5,
            term: 3,
            payload_crc: 9,
        }
    }

    #[test]
    fn a_header_survives_the_round_trip() {
        assert_eq!(FrameHeader::decode(&header().encode()), Ok(header()));
        assert_eq!(header().end(), Lsn(4096 + 80));
    }

    #[test]
    fn a_frame_that_tells_is_of_a_version_of_its_own() {
        let told = FrameHeader {
            tells: true,
            ..header()
        };
        assert_eq!((header().encode()[2], told.encode()[2]), (1, 2));
        assert_eq!(FrameHeader::decode(&told.encode()), Ok(told));
    }

    #[test]
    fn every_flipped_bit_of_the_checked_part_is_found() {
        for bit in 0..44 * 8 {
            let mut bytes = header().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                FrameHeader::decode(&bytes),
                Err(HeaderError::NotAFrame),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn a_frame_of_a_later_release_is_told_from_garbage() {
        let mut bytes = header().encode();
        bytes[3] = 200;
        let crc = crc32fast::hash(&bytes[0..40]);
        bytes[40..44].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(
            FrameHeader::decode(&bytes),
            Err(HeaderError::Unknown {
                version: 1,
                kind: 200
            })
        );
    }

    #[test]
    fn pads_end_on_block_borders_and_hold_a_header() {
        for lsn in (0..3 * BLOCK_BYTES).step_by(16) {
            let pad = pad_bytes(lsn);
            assert_eq!((lsn + pad) % BLOCK_BYTES, 0);
            assert!(pad == 0 && lsn % BLOCK_BYTES == 0 || pad >= FRAME_HEADER_BYTES as u64);
        }
    }
}
