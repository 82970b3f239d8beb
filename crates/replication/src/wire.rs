//! Messages over a stream: CopyData frames in, CopyData frames out, with bounded buffers.
//!
//! What does not fit into the socket waits in `output`, which takes one piece of log and some small messages and then no
//! more: whoever sends asks `is_idle` first, and draws the log from files later instead of queueing it here.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

use mote_common::Lsn;
use mote_common::env::net::{Received, Stream};

use crate::message::{Message, wal_header};

/// Log bytes in one message at most.
pub const PIECE_BYTES_MAX: usize = 128 << 10;
const PAYLOAD_BYTES_MAX: usize = PIECE_BYTES_MAX + 4096;
/// Small messages are dropped or wait beyond this.
const OUTPUT_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 4096;
const HEADER_BYTES: usize = 5;
const READ_BYTES: usize = 64 << 10;

/// One end of a replication stream.
pub struct Wire {
    stream: Box<dyn Stream>,
    /// Grows to what was needed once, so that no read has to clear it.
    input: Vec<u8>,
    /// Of `input`, bytes that have arrived, and of these the ones that were read as messages.
    filled: usize,
    used: usize,
    output: Vec<u8>,
    sent: usize,
    ended: bool,
    /// The last read did not fill its buffer.
    drained: bool,
}

impl Wire {
    pub fn new(stream: Box<dyn Stream>) -> Wire {
        Wire {
            stream,
            input: Vec::new(),
            filled: 0,
            used: 0,
            output: Vec::new(),
            sent: 0,
            ended: false,
            drained: false,
        }
    }

    /// From this moment on the stream is given up.
    pub fn set_deadline(&mut self, at_ns: u64) {
        self.stream.set_deadline(Some(at_ns));
    }

    /// `None`: a process of the same machine.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.stream.peer()
    }

    /// Nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.output.is_empty() && !self.stream.holds()
    }

    /// Puts a small message behind what waits, and sends what goes. False: there was no room, or it is too large.
    pub fn say(&mut self, message: &Message<'_>) -> io::Result<bool> {
        let payload = message.encode();
        if payload.len() > PAYLOAD_BYTES_MAX || self.output.len() + payload.len() > OUTPUT_BYTES_MAX {
            return Ok(false);
        }
        self.output.extend_from_slice(&copy_data(payload.len()));
        self.output.extend_from_slice(&payload);
        self.flush()?;
        Ok(true)
    }

    /// Sends one piece of log straight from where it lies; what the socket does not take is kept. Only when idle.
    pub fn send_log(&mut self, from: Lsn, stable: Lsn, sent_us: i64, parts: [&[u8]; 2]) -> io::Result<()> {
        let length = parts[0].len() + parts[1].len();
        assert!(self.is_idle() && length <= PIECE_BYTES_MAX);
        let mut head = [0; HEADER_BYTES + 25];
        head[..HEADER_BYTES].copy_from_slice(&copy_data(25 + length));
        head[HEADER_BYTES..].copy_from_slice(&wal_header(from, stable, sent_us));
        let all = [&head[..], parts[0], parts[1]];
        let mut sent = self.stream.send(&all.map(IoSlice::new))?;
        for part in all {
            let skipped = sent.min(part.len());
            self.output.extend_from_slice(&part[skipped..]);
            sent -= skipped;
        }
        Ok(())
    }

    /// Sends what waits, as far as it goes.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.output.len() {
            let sent = self.stream.send(&[IoSlice::new(&self.output[self.sent..])])?;
            if sent == 0 {
                return Ok(());
            }
            self.sent += sent;
        }
        self.output.clear();
        self.sent = 0;
        if self.stream.holds() {
            self.stream.send(&[])?;
        }
        Ok(())
    }

    /// Reads what has arrived, up to some messages. False: nothing came.
    pub fn fill(&mut self) -> io::Result<bool> {
        self.input.copy_within(self.used..self.filled, 0);
        let before = self.filled - self.used;
        (self.filled, self.used) = (before, 0);
        if self.ended || before >= HEADER_BYTES + PAYLOAD_BYTES_MAX {
            return Ok(false);
        }
        if self.input.len() < before + READ_BYTES {
            self.input.resize(before + READ_BYTES, 0);
        }
        let received = self.stream.receive(&mut self.input[before..before + READ_BYTES]);
        let bytes = match received {
            Ok(Received::Bytes(bytes)) => bytes,
            _ => 0,
        };
        self.filled += bytes;
        self.drained = bytes < READ_BYTES;
        self.ended |= received? == Received::End;
        Ok(bytes > 0)
    }

    /// The last read took all that had arrived.
    pub fn was_drained(&self) -> bool {
        self.drained
    }

    /// An error if the peer sends no more: for who has read all messages.
    pub fn expect_open(&self) -> io::Result<()> {
        match self.ended {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => Ok(()),
        }
    }

    /// The next message that was read; `None`: none is complete. Bytes that are no message end the stream, as its end does.
    pub fn next_message(&mut self) -> io::Result<Option<Message<'_>>> {
        let rest = &self.input[self.used..self.filled];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return match self.ended {
                true => Err(io::ErrorKind::UnexpectedEof.into()),
                false => Ok(None),
            };
        };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let payload = length.wrapping_sub(4);
        if header[0] != b'd' || payload > PAYLOAD_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no message of replication",
            ));
        }
        if rest.len() < payload {
            return match self.ended {
                true => Err(io::ErrorKind::UnexpectedEof.into()),
                false => Ok(None),
            };
        }
        self.used += HEADER_BYTES + payload;
        match Message::decode(&rest[..payload]) {
            Some(message) => Ok(Some(message)),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no message of replication",
            )),
        }
    }

    /// What is held for a peer that does not take it.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.output.len() - self.sent
    }

    pub fn close(&mut self) {
        self.stream.close();
    }
}

/// Tag and length in front of a payload, as PostgreSQL's CopyData has them.
fn copy_data(payload: usize) -> [u8; HEADER_BYTES] {
    let mut bytes = [b'd', 0, 0, 0, 0];
    bytes[1..].copy_from_slice(&(payload as u32 + 4).to_be_bytes());
    bytes
}
