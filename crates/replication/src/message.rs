//! What nodes say to each other, in bytes. `docs/formats/replication.md` draws them.
//!
//! The payloads `w`, `k` and `r` are PostgreSQL's, in its byte order, each in a CopyData frame; the rest is mote's. Takes
//! untrusted bytes: answers `None`, never panics, allocates no more than the message is long.

use mote_common::Lsn;
use mote_log::TermMark;

use crate::NodeId;

/// Of what is said here. Another version is refused.
pub const PROTOCOL_VERSION: u16 = 2;
/// Terms that a hello names at most.
pub const MARKS_MAX: usize = 64;
pub const NAME_BYTES_MAX: usize = 63;
/// Nodes that one message asks to keep log for: those with slots, and the primary itself.
pub const KEPT_MAX: usize = 65;
const TEXT_BYTES_MAX: usize = 1000;

/// A node wants the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    pub version: u16,
    pub system_id: u64,
    pub id: NodeId,
    pub name: String,
    /// It takes nothing of a lower term.
    pub promised: u32,
    /// Where its frames end, all of them on its disk: a slot may begin there. Up to where it knows them to be stable.
    pub end: Lsn,
    pub stable: Lsn,
    /// Its newest terms.
    pub marks: Vec<TermMark>,
}

/// The primary sends from the block of `cut` on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub system_id: u64,
    pub id: NodeId,
    pub term: u32,
    /// The follower keeps its log below, and nothing else.
    pub cut: Lsn,
    pub stable: Lsn,
    /// The terms that end behind `cut`.
    pub marks: Vec<TermMark>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Reason {
    Version = 1,
    WrongSystem = 2,
    TermTooLow = 3,
    NameTaken = 4,
    Diverged = 5,
    MissingPosition = 6,
    WouldLose = 7,
    NotPrimary = 8,
    SameDirectory = 9,
}

impl Reason {
    fn from_byte(byte: u8) -> Option<Reason> {
        use Reason::*;
        [
            Version,
            WrongSystem,
            TermTooLow,
            NameTaken,
            Diverged,
            MissingPosition,
            WouldLose,
            NotPrimary,
            SameDirectory,
        ]
        .into_iter()
        .find(|reason| *reason as u8 == byte)
    }
}

/// No log for you: why, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub reason: Reason,
    /// The refuser's term.
    pub term: u32,
    pub text: String,
}

/// How far a follower is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    pub received: Lsn,
    pub flushed: Lsn,
    pub applied: Lsn,
}

/// Would you refuse every term below this one?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    pub term: u32,
    pub candidate: NodeId,
    /// The answer binds. Else it is only asked whether it would be granted.
    pub firm: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    pub id: NodeId,
    pub granted: bool,
    /// The highest term promised so far.
    pub promised: u32,
    /// Of its last frame, and where its durable frames end.
    pub last_term: u32,
    pub end: Lsn,
}

/// A node that may need the log from `position` on, whoever leads by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptFor {
    pub name: String,
    /// Zero: nothing is kept yet.
    pub position: Lsn,
    /// What it needs is not kept any more.
    pub lost: bool,
    /// A subscriber of changes, not a node.
    pub logical: Option<Logical>,
}

/// What a subscriber's slot keeps besides the position from which the log must be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logical {
    /// The database's OID.
    pub database: u32,
    /// The subscriber has every transaction that ends up to here.
    pub confirmed: Lsn,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    Hello(Hello),
    Start(Start),
    Refused(Refusal),
    /// Whole blocks of the log.
    Wal {
        from: Lsn,
        stable: Lsn,
        sent_us: i64,
        bytes: &'a [u8],
    },
    /// `beat` comes back in the answer: what is granted by it is counted from when it was sent.
    /// `eager`: some commit here waits for what followers have received or applied, so each change of that is to be
    /// reported at once.
    Beat {
        stable: Lsn,
        beat_ns: u64,
        eager: bool,
    },
    Report {
        progress: Progress,
        beat_ns: u64,
    },
    /// For whom followers keep log, too: all there are, so that whoever leads next has what they need.
    Keep(Vec<KeptFor>),
    /// The primary has let another node lead, which the coordinator's record names by now.
    HandedOver,
    Ask(Ask),
    Answer(Answer),
}

/// What stands in front of the log's bytes in a `w` message.
pub fn wal_header(from: Lsn, stable: Lsn, sent_us: i64) -> [u8; 25] {
    let mut bytes = [0; 25];
    bytes[0] = b'w';
    bytes[1..9].copy_from_slice(&from.0.to_be_bytes());
    bytes[9..17].copy_from_slice(&stable.0.to_be_bytes());
    bytes[17..].copy_from_slice(&sent_us.to_be_bytes());
    bytes
}

impl Message<'_> {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        match self {
            Message::Hello(hello) => hello.put(&mut out),
            Message::Start(start) => start.put(&mut out),
            Message::Refused(refusal) => {
                out.byte(b'e').byte(refusal.reason as u8).u32(refusal.term);
                out.text(&refusal.text, TEXT_BYTES_MAX);
            }
            Message::Wal {
                from,
                stable,
                sent_us,
                bytes,
            } => {
                out.0.extend_from_slice(&wal_header(*from, *stable, *sent_us));
                out.0.extend_from_slice(bytes);
            }
            Message::Beat {
                stable,
                beat_ns,
                eager,
            } => {
                out.byte(b'k').lsn(*stable).u64(*beat_ns).byte(u8::from(*eager));
            }
            Message::Report { progress, beat_ns } => {
                out.byte(b'r').lsn(progress.received).lsn(progress.flushed);
                out.lsn(progress.applied).u64(*beat_ns).byte(0);
            }
            Message::HandedOver => _ = out.byte(b'o'),
            Message::Keep(kept) => {
                // A kind of its own: a release that knows no subscribers must not take their slots for nodes'.
                let logical = kept.iter().any(|one| one.logical.is_some());
                out.byte(if logical { b'L' } else { b'l' }).kept(kept, logical);
            }
            Message::Ask(ask) => {
                out.byte(b'a').u32(ask.term).u64(ask.candidate.0);
                out.byte(ask.firm as u8);
            }
            Message::Answer(answer) => {
                out.byte(b'p').u64(answer.id.0).byte(answer.granted as u8);
                out.u32(answer.promised).u32(answer.last_term).lsn(answer.end);
            }
        }
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Option<Message<'_>> {
        let (&kind, rest) = bytes.split_first()?;
        let mut from = Reader(rest);
        let message = match kind {
            b'h' => Message::Hello(Hello::take(&mut from)?),
            b's' => Message::Start(Start::take(&mut from)?),
            b'e' => Message::Refused(Refusal {
                reason: Reason::from_byte(from.byte()?)?,
                term: from.u32()?,
                text: from.text(TEXT_BYTES_MAX)?,
            }),
            b'w' => Message::Wal {
                from: from.lsn()?,
                stable: from.lsn()?,
                sent_us: from.u64()? as i64,
                bytes: std::mem::take(&mut from.0),
            },
            b'k' => Message::Beat {
                stable: from.lsn()?,
                beat_ns: from.u64()?,
                eager: from.flag()?,
            },
            b'r' => {
                let progress = Progress {
                    received: from.lsn()?,
                    flushed: from.lsn()?,
                    applied: from.lsn()?,
                };
                let (beat_ns, _reply) = (from.u64()?, from.flag()?);
                Message::Report { progress, beat_ns }
            }
            b'o' => Message::HandedOver,
            b'l' => Message::Keep(from.kept(false)?),
            b'L' => Message::Keep(from.kept(true)?),
            b'a' => Message::Ask(Ask {
                term: from.u32()?,
                candidate: NodeId(from.u64()?),
                firm: from.flag()?,
            }),
            b'p' => Message::Answer(Answer {
                id: NodeId(from.u64()?),
                granted: from.flag()?,
                promised: from.u32()?,
                last_term: from.u32()?,
                end: from.lsn()?,
            }),
            _ => return None,
        };
        from.0.is_empty().then_some(message)
    }
}

impl Hello {
    fn put(&self, out: &mut Writer) {
        out.byte(b'h')
            .u16(self.version)
            .u64(self.system_id)
            .u64(self.id.0);
        out.text(&self.name, NAME_BYTES_MAX).u32(self.promised);
        out.lsn(self.end).lsn(self.stable).marks(&self.marks);
    }

    fn take(from: &mut Reader<'_>) -> Option<Hello> {
        Some(Hello {
            version: from.u16()?,
            system_id: from.u64()?,
            id: NodeId(from.u64()?),
            name: from.text(NAME_BYTES_MAX)?,
            promised: from.u32()?,
            end: from.lsn()?,
            stable: from.lsn()?,
            marks: from.marks()?,
        })
    }
}

impl Start {
    fn put(&self, out: &mut Writer) {
        out.byte(b's').u64(self.system_id).u64(self.id.0).u32(self.term);
        out.lsn(self.cut).lsn(self.stable).marks(&self.marks);
    }

    fn take(from: &mut Reader<'_>) -> Option<Start> {
        Some(Start {
            system_id: from.u64()?,
            id: NodeId(from.u64()?),
            term: from.u32()?,
            cut: from.lsn()?,
            stable: from.lsn()?,
            marks: from.marks()?,
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, value: u8) -> &mut Writer {
        self.0.push(value);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn lsn(&mut self, value: Lsn) -> &mut Writer {
        self.u64(value.0)
    }

    /// Cut to `most` bytes, at a character.
    fn text(&mut self, text: &str, most: usize) -> &mut Writer {
        let text = &text[..text.floor_char_boundary(most)];
        self.u16(text.len() as u16);
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    fn marks(&mut self, marks: &[TermMark]) {
        self.u16(marks.len().min(MARKS_MAX) as u16);
        // The newest ones tell where logs part.
        for mark in &marks[marks.len().saturating_sub(MARKS_MAX)..] {
            self.u32(mark.term).lsn(mark.start);
            self.lsn(mark.previous_end).u64(mark.nonce);
        }
    }

    fn kept(&mut self, kept: &[KeptFor], logical: bool) {
        let kept = &kept[..kept.len().min(KEPT_MAX)];
        self.u16(kept.len() as u16);
        for one in kept {
            self.text(&one.name, NAME_BYTES_MAX).lsn(one.position);
            self.byte(one.lost as u8);
            if logical {
                self.byte(one.logical.is_some() as u8);
                if let Some(logical) = one.logical {
                    self.u32(logical.database).lsn(logical.confirmed);
                }
            }
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    fn lsn(&mut self) -> Option<Lsn> {
        self.u64().map(Lsn)
    }

    fn text(&mut self, most: usize) -> Option<String> {
        let length = usize::from(self.u16()?);
        let (text, rest) = self.0.split_at_checked(length).filter(|_| length <= most)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn marks(&mut self) -> Option<Vec<TermMark>> {
        let count = usize::from(self.u16()?);
        if count > MARKS_MAX {
            return None;
        }
        let mark = |_| {
            Some(TermMark {
                term: self.u32()?,
                start: self.lsn()?,
                previous_end: self.lsn()?,
                nonce: self.u64()?,
            })
        };
        (0..count).map(mark).collect()
    }

    fn kept(&mut self, logical: bool) -> Option<Vec<KeptFor>> {
        let count = usize::from(self.u16()?);
        if count > KEPT_MAX {
            return None;
        }
        let one = |_| {
            Some(KeptFor {
                name: self.text(NAME_BYTES_MAX)?,
                position: self.lsn()?,
                lost: self.flag()?,
                logical: match logical && self.flag()? {
                    true => Some(Logical {
                        database: self.u32()?,
                        confirmed: self.lsn()?,
                    }),
                    false => None,
                },
            })
        };
        (0..count).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    fn examples() -> Vec<Message<'static>> {
        let mark = TermMark {
            term: 3,
            start: Lsn(8192),
            previous_end: Lsn(8000),
            nonce: u64::MAX,
        };
        let progress = Progress {
            received: Lsn(3),
            flushed: Lsn(2),
            applied: Lsn(1),
        };
        vec![
            Message::Hello(Hello {
                version: PROTOCOL_VERSION,
                system_id: 5,
                id: NodeId(9),
                name: "bär".into(),
                promised: 4,
                end: Lsn(77),
                stable: Lsn(70),
                marks: vec![mark, mark],
            }),
            Message::Start(Start {
                system_id: 5,
                id: NodeId(1),
                term: 4,
                cut: Lsn(60),
                stable: Lsn(60),
                marks: vec![mark],
            }),
            Message::Refused(Refusal {
                reason: Reason::Diverged,
                term: 8,
                text: "clone it anew".into(),
            }),
            Message::Wal {
                from: Lsn(4096),
                stable: Lsn(4000),
                sent_us: -1,
                bytes: b"log",
            },
            Message::Beat {
                stable: Lsn(1),
                beat_ns: 2,
                eager: true,
            },
            Message::Report { progress, beat_ns: 9 },
            Message::HandedOver,
            Message::Keep(vec![
                KeptFor {
                    name: "c".into(),
                    position: Lsn(4096),
                    lost: false,
                    logical: None,
                },
                KeptFor {
                    name: "dö".into(),
                    position: Lsn::ZERO,
                    lost: true,
                    logical: None,
                },
            ]),
            Message::Keep(vec![
                KeptFor {
                    name: "c".into(),
                    position: Lsn(4096),
                    lost: false,
                    logical: None,
                },
                KeptFor {
                    name: "sub".into(),
                    position: Lsn(8192),
                    lost: false,
                    logical: Some(Logical {
                        database: 16384,
                        confirmed: Lsn(9000),
                    }),
                },
            ]),
            Message::Ask(Ask {
                term: 7,
                candidate: NodeId(2),
                firm: true,
            }),
            Message::Answer(Answer {
                id: NodeId(3),
                granted: true,
                promised: 7,
                last_term: 6,
                end: Lsn(99),
            }),
        ]
    }

    #[test]
    fn messages_survive_the_round_trip_and_no_prefix_is_one() {
        for message in examples() {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message.clone()));
            for length in 0..bytes.len() {
                let cut = Message::decode(&bytes[..length]);
                // Log of any length is log.
                assert!(
                    cut.is_none() || matches!(cut, Some(Message::Wal { .. })),
                    "{message:?}"
                );
            }
        }
    }

    #[test]
    fn mutated_messages_never_panic_and_are_read_as_they_are_written() {
        let seed = 41;
        let mut prng = Prng::new(seed);
        for message in examples() {
            let good = message.encode();
            for _ in 0..2000 {
                let mut bytes = good.clone();
                for _ in 0..1 + prng.below(4) {
                    let at = prng.below(bytes.len() as u64) as usize;
                    bytes[at] = prng.next_u64() as u8;
                }
                bytes.truncate(1 + prng.below(bytes.len() as u64) as usize);
                if let Some(read) = Message::decode(&bytes) {
                    assert_eq!(Message::decode(&read.encode()), Some(read.clone()), "seed {seed}");
                }
            }
        }
    }
}
