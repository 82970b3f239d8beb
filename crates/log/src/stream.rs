//! Frames out of log bytes that pass by: for backups, archives, restores, followers and subscribers' decoders, which see each
//! byte once.
//!
//! The rules are the reader's (`reader`): both checksums fit, a frame names its own position, its term is that of the
//! frame before, and only a TERM frame changes the term - behind a cut, on the next block border. What `reader` decides
//! about the end of a log is left to the caller here, who knows whether the bytes should go on.
//!
//! Takes untrusted bytes: answers errors, never panics.

use mote_common::Lsn;

use super::frame::*;
use super::reader::{Frame, TermStart};

/// No frame stands where one should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameFault {
    pub lsn: Lsn,
    pub what: String,
}

/// Reads frames from bytes fed in order.
pub struct FrameStream {
    position: Lsn,
    term: Option<u32>,
    /// Bytes from `base` on; frames below `position` are used up.
    bytes: Vec<u8>,
    base: u64,
}

enum Step {
    Frame(FrameHeader),
    /// The bytes end within what may be a frame.
    Short,
    No(String),
}

impl FrameStream {
    /// `start` is the start of a frame.
    pub fn new(start: Lsn) -> FrameStream {
        FrameStream {
            position: start,
            term: None,
            bytes: Vec::new(),
            base: start.0,
        }
    }

    /// Goes on behind a frame of `term` that ends at `position`, with bytes from the start of that block.
    pub fn resume(position: Lsn, term: Option<u32>) -> FrameStream {
        FrameStream {
            position,
            term,
            bytes: Vec::new(),
            base: position.0 / BLOCK_BYTES * BLOCK_BYTES,
        }
    }

    /// No frame stands between here and `lsn`, where a term begins: what a torn flush left there is not looked at. It
    /// could name a length that is yet to come, and the frames behind it would not be seen until then.
    pub fn skip_to(&mut self, lsn: Lsn) {
        debug_assert!(self.position <= lsn);
        self.position = lsn;
    }

    /// The end of the last frame returned.
    pub fn position(&self) -> Lsn {
        self.position
    }

    pub fn term(&self) -> Option<u32> {
        self.term
    }

    /// Where the bytes fed so far end.
    pub fn fed_to(&self) -> Lsn {
        Lsn(self.base + self.bytes.len() as u64)
    }

    /// The bytes behind those fed before.
    pub fn feed(&mut self, bytes: &[u8]) {
        // The padding of the last frame may still be to come.
        let used = ((self.position.0 - self.base) as usize).min(self.bytes.len());
        self.bytes.drain(..used);
        self.base += used as u64;
        self.bytes.extend_from_slice(bytes);
    }

    /// What was fed and is not used up: the bytes from `position` on.
    pub fn rest(&self) -> &[u8] {
        let used = (self.position.0 - self.base) as usize;
        self.bytes.get(used..).unwrap_or_default()
    }

    /// The next frame; `None` when more bytes are needed to tell.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameFault> {
        let header = match self.step() {
            Step::Frame(header) => header,
            Step::Short => return Ok(None),
            Step::No(what) => {
                return Err(FrameFault {
                    lsn: self.position,
                    what,
                });
            }
        };
        self.position = header.end();
        self.term = Some(header.term);
        let payload = self
            .slice(
                header.lsn.0 + FRAME_HEADER_BYTES as u64,
                header.payload_bytes as usize,
            )
            .expect("the step saw the payload");
        Ok(Some(Frame { header, payload }))
    }

    fn step(&self) -> Step {
        let here = match self.candidate(self.position) {
            Step::Frame(header) if self.continues(&header) => return Step::Frame(header),
            Step::Frame(header) => format!("the frame is of term {}", header.term),
            Step::Short => return Step::Short,
            Step::No(what) => what,
        };
        // A torn tail was cut inside a block: the next term begins at the block's end and says where the cut is.
        let border = Lsn(self.position.0.next_multiple_of(BLOCK_BYTES));
        if border == self.position {
            return Step::No(here);
        }
        match self.candidate(border) {
            Step::Frame(header) if self.begins_term(&header) => Step::Frame(header),
            Step::Short => Step::Short,
            _ => Step::No(here),
        }
    }

    fn continues(&self, header: &FrameHeader) -> bool {
        match self.term {
            None => true,
            Some(term) if header.kind == FrameKind::Term => header.term > term,
            Some(term) => header.term == term,
        }
    }

    fn begins_term(&self, header: &FrameHeader) -> bool {
        let payload = self.slice(
            header.lsn.0 + FRAME_HEADER_BYTES as u64,
            header.payload_bytes as usize,
        );
        header.kind == FrameKind::Term
            && self.term.is_none_or(|term| header.term > term)
            && payload
                .and_then(TermStart::decode)
                .map(|start| start.previous_end)
                == Some(self.position)
    }

    fn candidate(&self, lsn: Lsn) -> Step {
        let Some(bytes) = self
            .slice(lsn.0, FRAME_HEADER_BYTES)
            .and_then(|bytes| bytes.first_chunk())
        else {
            return Step::Short;
        };
        let header = match FrameHeader::decode(bytes) {
            Ok(header) if header.lsn == lsn => header,
            Err(HeaderError::Unknown { version, kind }) if bytes[8..16] == lsn.0.to_le_bytes() => {
                return Step::No(format!(
                    "frame version {version}, kind {kind}: written by a later release; use that release instead"
                ));
            }
            _ => return Step::No("no frame stands here".into()),
        };
        match self.slice(lsn.0 + FRAME_HEADER_BYTES as u64, header.payload_bytes as usize) {
            None => Step::Short,
            Some(payload) if crc32fast::hash(payload) == header.payload_crc => Step::Frame(header),
            Some(_) => Step::No("the frame's payload fails its checksum".into()),
        }
    }

    fn slice(&self, lsn: u64, length: usize) -> Option<&[u8]> {
        let from = usize::try_from(lsn.checked_sub(self.base)?).ok()?;
        self.bytes.get(from..from.checked_add(length)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    fn frame(kind: FrameKind, term: u32, lsn: u64, payload: &[u8]) -> Vec<u8> {
        let header = FrameHeader {
            kind,
            tells: false,
            payload_bytes: payload.len() as u32,
            lsn: Lsn(lsn),
            durable: Lsn(4096),
            wall_us: 7,
            term,
            payload_crc: crc32fast::hash(payload),
        };
        let mut bytes = header.encode().to_vec();
        bytes.extend_from_slice(payload);
        bytes.resize(frame_bytes(payload.len()) as usize, 0);
        bytes
    }

    /// Commits, a cut, a new term, more commits.
    fn log() -> Vec<u8> {
        let mut bytes = Vec::new();
        for i in 0..20u8 {
            let at = 4096 + bytes.len() as u64;
            bytes.extend(frame(FrameKind::Commit, 1, at, &vec![i; i as usize * 9]));
        }
        let cut = 4096 + bytes.len() as u64;
        bytes.extend_from_slice(&[0x55; 31]);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES as usize), 0);
        let start = TermStart {
            previous_end: Lsn(cut),
            system_id: 3,
            nonce: 9,
        };
        bytes.extend(frame(
            FrameKind::Term,
            2,
            4096 + bytes.len() as u64,
            &start.encode(),
        ));
        for i in 0..20u8 {
            let at = 4096 + bytes.len() as u64;
            bytes.extend(frame(FrameKind::Commit, 2, at, &[i]));
        }
        bytes
    }

    fn read(bytes: &[u8], portions: &mut dyn FnMut() -> usize) -> Result<(usize, Lsn), FrameFault> {
        let mut stream = FrameStream::new(Lsn(4096));
        let (mut frames, mut at) = (0, 0);
        loop {
            while stream.next_frame()?.is_some() {
                frames += 1;
            }
            if at == bytes.len() {
                return Ok((frames, stream.position()));
            }
            let to = (at + portions()).min(bytes.len());
            stream.feed(&bytes[at..to]);
            at = to;
        }
    }

    #[test]
    fn frames_come_out_whatever_the_portions() {
        let log = log();
        let end = Lsn(4096 + log.len() as u64);
        for seed in 0..30 {
            let mut prng = Prng::new(seed);
            let found = read(&log, &mut || 1 + prng.below(700) as usize);
            assert_eq!(found, Ok((41, end)), "seed {seed}");
        }
    }

    #[test]
    fn damage_ends_the_stream_where_it_is() {
        let seed = 9;
        let mut prng = Prng::new(seed);
        let log = log();
        for _ in 0..500 {
            let mut damaged = log.clone();
            let at = prng.below(log.len() as u64) as usize;
            damaged[at] ^= 1 << prng.below(8);
            // A flip in padding or behind a cut harms nothing; any other is found, or takes the end.
            match read(&damaged, &mut || 4096) {
                Ok((frames, _)) => assert!(frames <= 41, "seed {seed}, byte {at}"),
                Err(fault) => assert!(
                    fault.lsn <= Lsn(4096 + at as u64),
                    "seed {seed}, byte {at}: {fault:?}"
                ),
            }
        }
    }
}
