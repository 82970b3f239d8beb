//! A replication stream that is encrypted, in front of one that is not.
//!
//! Takes a connection over whose handshake is done, the server's side of it or the client's. What is encrypted and does not go
//! into the socket stays here; then nothing more is taken. So it holds the ciphertext of one call at most, and a piece of log
//! leaves in one system call as it does without encryption.
//!
//! A receive asks the socket until it is empty or the caller's buffer is full: whoever gets less than fits may wait for the
//! socket's next event. Only of a peer whose records are nearly empty it leaves some, which come with a later call.

use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use mote_common::env::net::{Received, Stream};
use rustls::Connection;

/// Ciphertext that is read at once.
const READ_BYTES: usize = 64 << 10;
/// Reads from the socket for one receive. Who fills a buffer of as many bytes needs two; records that carry next to nothing
/// could keep the caller for as long as they arrive.
const READS_MAX: usize = 8;

pub struct EncryptedStream {
    socket: Box<dyn Stream>,
    connection: Connection,
    /// Ciphertext; `used..filled` has arrived and is not decrypted yet.
    arrived: Vec<u8>,
    used: usize,
    filled: usize,
}

impl EncryptedStream {
    pub fn new(socket: Box<dyn Stream>, mut connection: Connection) -> EncryptedStream {
        // Bounded by what one call brings: `send` takes nothing while ciphertext waits.
        connection.set_buffer_limit(None);
        EncryptedStream {
            socket,
            connection,
            arrived: vec![0; READ_BYTES],
            used: 0,
            filled: 0,
        }
    }

    /// Sends ciphertext: until there is none (true), or the socket takes no more.
    fn push(&mut self) -> io::Result<bool> {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut Plain(&mut *self.socket))? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Decrypts some of what has arrived. An error is the peer's; it hears why.
    fn decrypt(&mut self) -> io::Result<()> {
        let mut rest = &self.arrived[self.used..self.filled];
        let taken = self.connection.read_tls(&mut rest)?;
        self.used += taken;
        match self.connection.process_new_packets() {
            // Before the close is seen everything is taken, and after it nobody asks.
            Ok(_) if taken == 0 => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "TLS takes no more bytes",
            )),
            Ok(_) => Ok(()),
            Err(error) => {
                // The stream is over in any case.
                let _ = self.push();
                Err(io::Error::new(io::ErrorKind::InvalidData, error))
            }
        }
    }
}

impl Stream for EncryptedStream {
    fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if !self.push()? || parts.iter().all(|part| part.is_empty()) {
            return Ok(0);
        }
        let taken = self.connection.writer().write_vectored(parts)?;
        self.push()?;
        Ok(taken)
    }

    fn holds(&self) -> bool {
        self.connection.wants_write()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let (mut done, mut emptied, mut reads) = (0, false, 0);
        while done < buffer.len() {
            match self.connection.reader().read(&mut buffer[done..]) {
                // The peer has said that it closes.
                Ok(0) if done == 0 => return Ok(Received::End),
                Ok(0) => break,
                Ok(bytes) => {
                    done += bytes;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if self.used == self.filled {
                if emptied || reads == READS_MAX {
                    break;
                }
                reads += 1;
                match self.socket.receive(&mut self.arrived)? {
                    Received::Bytes(bytes) => {
                        (self.used, self.filled) = (0, bytes);
                        emptied = bytes < self.arrived.len();
                    }
                    Received::End if done == 0 => return Ok(Received::End),
                    // An end is found again by the next call.
                    Received::End | Received::Nothing => break,
                }
            }
            self.decrypt()?;
        }
        // What the protocol itself answers, to a change of keys.
        self.push()?;
        Ok(match done {
            0 => Received::Nothing,
            bytes => Received::Bytes(bytes),
        })
    }

    fn set_deadline(&mut self, at_ns: Option<u64>) {
        self.socket.set_deadline(at_ns);
    }

    fn close(&mut self) {
        self.connection.send_close_notify();
        // A socket that is full or gone does not take that; the peer then sees a cut.
        let _ = self.push();
        self.socket.close();
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.descriptor()
    }
}

/// A stream as rustls writes to it. Zero: nothing fits now.
struct Plain<'s>(&'s mut dyn Stream);

impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
