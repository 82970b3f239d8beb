//! A connection's socket and its two buffers: bytes in, bytes out, and the gate that holds replies back.
//!
//! `output` is bounded: whoever appends rows or replies calls [`Wire::is_over_high_water`] and, above it, waits until
//! the client has taken all but [`OUTPUT_LOW_WATER_BYTES`]. Between the two marks nothing is written, so that a client
//! that reads slowly costs one `write` for each 192 KiB, not one for each row. Only a single row, notice or message that is
//! larger than the high water itself makes the buffer larger; the memory goes back once it has been sent.
//!
//! Nothing leaves but under the node's lease (`lease`): until it is back, replies are kept, within the same bounds.
//!
//! With TLS, a [`Channel`] stands between the buffers and the socket: `sent` counts what it has taken.
//!
//! Leaves out: what the bytes mean (`pgwire`), and suspending (`host`, `connection`).

use std::mem::MaybeUninit;
use std::sync::Arc;

use mote_catalog::activity::Activity;
use mote_catalog::signals::SessionSignals;
use mote_common::error::Severity;
use mote_common::{SqlError, SqlResult};
use mote_engine::{Awaited, Level, MemoryCharge, SessionMemory};
use mote_executor::memory;
use mote_types::ColumnType;
use mote_types::encoding::{Converter, Encoding};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::interruption::Interruption;
use crate::lease::Verdict;
use crate::pgwire::frontend::ReadBuffer;
use crate::pgwire::{backend, recode};
use crate::shared::Shared;
use crate::socket::Stream;
use crate::tls::{Broken, Channel};
use crate::waker::SessionWaker;

/// Read at least this much at a time.
const READ_BYTES: usize = 16 << 10;
/// Capacity that a buffer keeps while its connection works.
pub const BUFFER_KEPT_BYTES: usize = 256 << 10;
/// Capacity that a buffer keeps while its connection has nothing to do: there may be thousands of those.
const IDLE_BUFFER_BYTES: usize = 16 << 10;
/// A buffer that is larger is charged to the session's memory.
const UNCHARGED_BUFFER_BYTES: usize = 64 << 10;
/// Unsent bytes at which a statement waits for its client, and a client that pipelines is no longer read.
pub const OUTPUT_HIGH_WATER_BYTES: usize = 256 << 10;
/// Unsent bytes at which it goes on.
pub const OUTPUT_LOW_WATER_BYTES: usize = 64 << 10;

/// The socket, its buffers, and what the session's host needs.
pub struct Wire {
    pub stream: Stream,
    /// Where the client asked for TLS.
    channel: Option<Box<Channel>>,
    /// Nothing follows what stands in `output`.
    ending: bool,
    /// What is said needs a lease: from the start-up packet on, unless it asks for replication.
    pub leased: bool,
    pub shared: Arc<Shared>,
    pub waker: Arc<SessionWaker>,
    pub signals: Arc<SessionSignals>,
    pub activity: Arc<Activity>,
    pub input: ReadBuffer,
    pub output: Vec<u8>,
    /// What large buffers take, once there is a session to charge.
    memory: Option<Arc<SessionMemory>>,
    charge: Option<MemoryCharge>,
    /// How much of `output` was sent: less than half of it, or all of it and both are zero.
    sent: usize,
    /// No unsent byte leaves before the log has reached this.
    gate: Awaited,
    /// Unsent bytes hold something that no statement under way may keep back: a ReadyForQuery, a notice.
    pub due: bool,
    /// Since the last ReadyForQuery something was appended that may tell of what statements have found.
    pub answered: bool,
    /// The shape of the rows under way; here so that its memory is used again.
    pub result: ResultShape,
    /// Whether the socket had nothing more when it was last read, and what may end a function under way.
    pub interruption: Arc<Interruption>,
    /// The client is gone: nothing more is read or said.
    pub broken: bool,
    /// It went in order, having ended its side only: see [`Wire::take_orderly_end`].
    ended: bool,
    /// Where the client's text is not UTF-8.
    pub converter: Option<Converter>,
    /// Settings that have changed since the last ReadyForQuery, each once: the client is told before the next one.
    changed: Vec<(String, String)>,
}

/// How the rows of the running statement go out.
#[derive(Default)]
pub struct ResultShape {
    /// Formats of the result columns, as Bind asked for them; empty = text.
    pub formats: Vec<i16>,
    pub columns: Vec<ColumnType>,
    /// The only value of the only row answers a function call.
    pub of_call: bool,
}

impl Wire {
    pub fn new(stream: Stream, shared: Arc<Shared>, waker: Arc<SessionWaker>) -> Wire {
        let signals = Arc::new(SessionSignals::default());
        let interruption = Arc::new(Interruption::new(signals.clone(), shared.clock.clone()));
        Wire {
            stream,
            channel: None,
            ending: false,
            leased: false,
            shared,
            waker,
            signals,
            activity: Arc::default(),
            input: ReadBuffer::default(),
            output: Vec::new(),
            memory: None,
            charge: None,
            sent: 0,
            gate: Awaited::NOTHING,
            due: false,
            answered: false,
            result: ResultShape::default(),
            interruption,
            broken: false,
            ended: false,
            converter: None,
            changed: Vec::new(),
        }
    }

    /// Reads once. True if bytes arrived.
    pub fn fill(&mut self) -> bool {
        if self.interruption.is_drained() || self.broken {
            return false;
        }
        if self.channel.is_some() {
            return self.fill_decrypted();
        }
        let space = self.input.space(READ_BYTES);
        let room = space.capacity() - space.len();
        loop {
            match recv(&self.stream, spare_capacity(space), RecvFlags::empty()) {
                Ok((_, 0)) => {
                    self.end_of_input();
                    return false;
                }
                Ok((_, n)) => {
                    // A short read empties a socket; the next byte raises a new event.
                    self.interruption.set_drained(n < room);
                    return true;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.interruption.set_drained(true);
                    return false;
                }
                Err(_) => {
                    self.broken = true;
                    return false;
                }
            }
        }
    }

    /// The client sends nothing more. Whatever waits for it learns that it is gone.
    fn end_of_input(&mut self) {
        self.broken = true;
        self.ended = true;
    }

    /// Whether the client has ended its side in order. It may still read: what it asked for before is said, if it takes it, and with
    /// TLS that we have ended, too.
    pub fn take_orderly_end(&mut self) -> bool {
        let ended = std::mem::take(&mut self.ended);
        self.broken &= !ended;
        ended
    }

    /// Sends what the gate, the lease and the socket allow.
    pub fn flush(&mut self) {
        self.settle_gate();
        let says_nothing = self.output.is_empty() && self.channel.is_none();
        if says_nothing || !self.has_lease() {
            return;
        }
        if let Some(mut channel) = self.channel.take() {
            self.flush_encrypted(&mut channel);
            self.channel = Some(channel);
            return;
        }
        if !self.gate.is_nothing() {
            return;
        }
        while !self.broken && self.sent < self.output.len() {
            match send(&self.stream, &self.output[self.sent..], SendFlags::NOSIGNAL) {
                Ok(n) => self.sent += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.compact(),
                Err(_) => self.broken = true,
            }
        }
        self.emptied();
    }

    /// Whether anything may leave now. Asked here, behind whatever the bytes tell: what was true under the lease is a right
    /// answer however late it comes.
    #[inline]
    fn has_lease(&mut self) -> bool {
        match self.shared.lease.judge(&*self.shared.clock) {
            Verdict::Leave => true,
            verdict => self.without_lease(verdict),
        }
    }

    #[cold]
    fn without_lease(&mut self, verdict: Verdict) -> bool {
        let replicates = !self.leased && !self.shared.lease.is_deposed();
        if replicates || verdict == Verdict::Leave {
            return true;
        }
        if verdict == Verdict::HangUp {
            self.broken = true;
            self.signals.request_termination();
        }
        false
    }

    fn emptied(&mut self) {
        self.output.clear();
        self.due = false;
        self.sent = 0;
        self.give_back_surplus();
    }

    /// Forgets what was sent, once that is at least half: each byte is moved once at most.
    fn compact(&mut self) {
        if self.sent >= self.output.len() - self.sent {
            self.output.drain(..self.sent);
            self.sent = 0;
            self.give_back_surplus();
        }
    }

    /// After a large row: the buffer gets its usual size again.
    fn give_back_surplus(&mut self) {
        if self.output.capacity() > 2 * BUFFER_KEPT_BYTES && self.output.len() <= OUTPUT_LOW_WATER_BYTES {
            self.output.shrink_to(BUFFER_KEPT_BYTES);
        }
    }

    /// From here on buffers are charged to the session.
    pub fn charge_to(&mut self, memory: Arc<SessionMemory>) {
        self.memory = Some(memory);
    }

    /// Charges what the buffers take above the little that each connection has. A message is copied out of its buffer, so
    /// it counts twice.
    pub fn charge_buffers(&mut self) -> SqlResult<()> {
        let large = |capacity: usize| {
            if capacity > UNCHARGED_BUFFER_BYTES {
                capacity
            } else {
                0
            }
        };
        let bytes = large(self.output.capacity()) + 2 * large(self.input.capacity());
        let charged = self.charge.as_ref().map_or(0, MemoryCharge::bytes);
        match &self.memory {
            Some(memory) if bytes != charged => {
                memory::resize(&mut self.charge, bytes, memory, "a message or a result")
            }
            _ => Ok(()),
        }
    }

    /// Appends a message that has text of users in it.
    pub fn send(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> SqlResult<()> {
        let start = self.output.len();
        append(&mut self.output);
        match self.converter {
            None => Ok(()),
            Some(converter) => recode::sent(&mut self.output, start, converter),
        }
    }

    /// The same, where nobody can be told that the client's encoding lacks a character: a warning goes out instead.
    pub fn send_or_warn(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        if let Err(error) = self.send(append) {
            backend::error_response(&mut self.output, &error.severity(Severity::Warning));
        }
    }

    /// Appends an error. As in PostgreSQL, one that the client's encoding cannot show gives way to the error about that.
    pub fn send_error(&mut self, error: &SqlError) {
        let severity = error.fields().severity;
        if let Err(other) = self.send(|out| backend::error_response(out, error)) {
            backend::error_response(&mut self.output, &other.severity(severity));
        }
    }

    /// The client is to be told of a setting.
    pub fn note_parameter_status(&mut self, name: &str, value: &str) {
        if name == "client_encoding" {
            let encoding = Encoding::from_name(value).map(Encoding::converter);
            self.converter = encoding.and_then(Result::ok).flatten();
        }
        match self.changed.iter_mut().find(|(known, _)| known == name) {
            Some((_, last)) => value.clone_into(last),
            None => self.changed.push((name.to_owned(), value.to_owned())),
        }
    }

    /// What a statement changed and its transaction took back is told as what it is now.
    pub fn send_changed_settings(&mut self) {
        for (name, value) in std::mem::take(&mut self.changed) {
            self.send_or_warn(|out| backend::parameter_status(out, &name, &value));
        }
    }

    /// Takes back what was appended since the buffer was `length` bytes long.
    pub fn take_back(&mut self, length: usize) {
        self.output.truncate(length);
        self.output.shrink_to(BUFFER_KEPT_BYTES);
    }

    /// The connection has nothing to do: buffers that a large message or result needed go.
    pub fn rest(&mut self) {
        self.input.shrink(IDLE_BUFFER_BYTES);
        if self.output.is_empty() && self.output.capacity() > UNCHARGED_BUFFER_BYTES {
            self.output = Vec::with_capacity(IDLE_BUFFER_BYTES);
        }
        // Less than before: never refused.
        let _ = self.charge_buffers();
    }

    /// So much is unsent, or was sent and stands in the buffer still, that it must be flushed before more is appended.
    #[inline]
    pub fn is_over_high_water(&self) -> bool {
        self.output.len() >= OUTPUT_HIGH_WATER_BYTES
    }

    pub fn unsent_bytes(&self) -> usize {
        let encrypted = self.channel.as_ref().is_some_and(|channel| channel.has_unsent());
        // How many those are is not known; that there are some is what matters at the end.
        self.output.len() - self.sent + usize::from(encrypted)
    }

    /// What has not been sent leaves no sooner than that.
    pub fn hold_back(&mut self, until: Awaited) {
        self.gate = self.gate.and(until);
        if !self.gate.is_nothing() && self.shared.engine().log().has_quorum() {
            self.activity.hold_back(self.gate);
            if matches!(until.level, Level::RemoteWrite | Level::RemoteApply) {
                self.shared.engine().log().wait_eagerly();
            }
        }
    }

    /// Lifts the gate if the log has reached it.
    pub fn settle_gate(&mut self) {
        if self.gate.is_nothing() || self.shared.reached(self.gate.level) < self.gate.lsn {
            return;
        }
        if self.gate.level < Level::On {
            // Told before it is stable: who hears of it shall see it. Costs nothing where it is stable already.
            self.shared.engine().raise_acked(self.gate.lsn);
        }
        self.gate = Awaited::NOTHING;
    }

    /// What this connection waits for. The log is not looked at again: it may have moved since the last flush kept the
    /// bytes back, and then somebody still has to send them.
    pub fn pending_gate(&self) -> Awaited {
        self.gate
    }
}

/// TLS.
impl Wire {
    /// From here on everything is encrypted, beginning with the handshake. What was said before has left.
    pub fn encrypt(&mut self, channel: Channel) {
        self.channel = Some(Box::new(channel));
    }

    pub fn channel(&self) -> Option<&Channel> {
        self.channel.as_deref()
    }

    /// For whoever goes on with the socket, once everything was sent.
    pub fn give_up_channel(&mut self) -> Option<Channel> {
        self.channel.take().map(|channel| *channel)
    }

    pub fn is_handshaking(&self) -> bool {
        self.channel().is_some_and(Channel::is_handshaking)
    }

    /// Goes on with the handshake; see [`Channel::advance`].
    pub fn advance_handshake(&mut self) {
        self.decrypt(|channel, plaintext| channel.advance(plaintext));
        self.flush();
    }

    /// The end of the conversation: an encrypted client is told, so that nobody in between can feign it.
    pub fn end(&mut self) {
        self.ending = true;
        self.flush();
    }

    /// Reads until plaintext has arrived; during the handshake, once. True if anything did.
    fn fill_decrypted(&mut self) -> bool {
        let mut chunk = [MaybeUninit::uninit(); READ_BYTES];
        while !self.broken && !self.interruption.is_drained() {
            if self.channel().is_some_and(Channel::is_closed) {
                self.end_of_input();
                return false;
            }
            let arrived = match recv(&self.stream, &mut chunk[..], RecvFlags::empty()) {
                Ok(((arrived, _), _)) if !arrived.is_empty() => arrived,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    self.interruption.set_drained(true);
                    return false;
                }
                Ok(_) => {
                    self.end_of_input();
                    return false;
                }
                Err(_) => {
                    self.broken = true;
                    return false;
                }
            };
            // A short read empties a socket; the next byte raises a new event.
            self.interruption.set_drained(arrived.len() < READ_BYTES);
            if let Some(channel) = &mut self.channel
                && channel.is_handshaking()
            {
                channel.keep(arrived);
                return true;
            }
            let decrypted = self.decrypt(|channel, plaintext| channel.receive(arrived, plaintext));
            if self.channel().is_some_and(Channel::is_closed) {
                // No event tells of this end: the next read must find it.
                self.interruption.set_drained(false);
            }
            if decrypted {
                return true;
            }
        }
        false
    }

    /// Moves what `receive` decrypts to `input`. True if that is anything. A client that breaks the protocol is told by an
    /// alert and is as good as gone.
    fn decrypt(&mut self, receive: impl FnOnce(&mut Channel, &mut Vec<u8>) -> Result<(), Broken>) -> bool {
        let Some(mut channel) = self.channel.take() else {
            return false;
        };
        let space = self.input.space(0);
        let before = space.len();
        let received = receive(&mut channel, space);
        let arrived = space.len() > before;
        if received.is_err() {
            // It may be gone already.
            let _ = channel.send(&self.stream);
            self.broken = true;
        }
        self.channel = Some(channel);
        arrived
    }

    /// Hands plaintext over as the gate allows, ciphertext as the socket does. What was encrypted had left the gate.
    fn flush_encrypted(&mut self, channel: &mut Channel) {
        let may_leave = self.gate.is_nothing();
        loop {
            if may_leave && self.sent < self.output.len() {
                self.sent += channel.take(&self.output[self.sent..]);
            }
            let taken = may_leave && self.sent == self.output.len();
            if taken && std::mem::take(&mut self.ending) {
                channel.close();
            }
            match channel.send(&self.stream) {
                Ok(true) if taken => return self.emptied(),
                Ok(true) if !may_leave => return,
                Ok(true) => {}
                Ok(false) => return self.compact(),
                Err(_) => {
                    self.broken = true;
                    return self.emptied();
                }
            }
        }
    }
}
