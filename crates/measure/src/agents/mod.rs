//! Drivers on other hosts: each runs a share of a run's driver threads, and what all have counted is put together here.
//!
//! Read in this order: `form` (what was counted, as it crosses the network), [`Order`] and [`Answer`] (who says what),
//! [`Agent`] (one agent, as the run's own host sees it), [`Leader`] (the run's own host, as an agent sees it).
//!
//! A conversation is lines of JSON over TCP: an order with the share and the work; `ready` when the agent's terminals are
//! connected; `begin` when all agents' are; each second what was counted; at the end all of it. An agent's clock begins with
//! its order, and all get theirs at one time; what they count is moved by what the beginnings of the run differ, so
//! the series of several agents agree to the time that a message takes.
//!
//! Promise: histograms merge exactly (`form`). An agent whose leader is gone ends its work.

mod form;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::form::{CollectorForm, IntervalForm};
use super::collector::{Collector, Interval};
use super::outcome::RunOutcome;
use super::timeline::Timeline;
use mote_driver::Wait;

/// Orders of another version are refused: what agents count would be something else.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Of one message; a day's run has not so many beats.
const MESSAGE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Beats by which clocks of one run may differ at most.
const SHIFT_MAX: usize = 60_000;
/// Agents of one run.
const SHARES_MAX: usize = 1_000;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an agent may keep silent: while its terminals connect, and later, when it speaks every second.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How often an agent looks whether all of its terminals have connected.
const CONNECTED_LOOK: Duration = Duration::from_millis(2);

/// Which part of a run's driver threads an agent runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Share {
    /// From 0.
    pub number: usize,
    pub of: usize,
}

impl Share {
    pub const WHOLE: Share = Share { number: 0, of: 1 };

    /// The run's number of the share's own thread, where each share has `threads`, and how many there are in all.
    pub fn thread(self, own: usize, threads: usize) -> (usize, usize) {
        (self.number * threads + own, self.of * threads)
    }

    fn is_one(self) -> bool {
        self.of <= SHARES_MAX && self.number < self.of
    }

    /// How many of so many terminals, dealt out among all threads, are those of this share.
    pub fn terminals(self, terminals: usize, threads: usize) -> usize {
        let each = (0..threads).map(|own| {
            let (thread, of) = self.thread(own, threads);
            (thread..terminals).step_by(of).count()
        });
        each.sum()
    }
}

/// From the run's host to an agent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    Work {
        version: String,
        share: Share,
        /// Which workload knows what to do with the rest.
        workload: String,
        work: Value,
    },
    Begin,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Ready,
    /// When the run began, on the agent's clock.
    Begun {
        at_ns: u64,
    },
    Counted(IntervalForm),
    Done(Box<Finished>),
    Failed(String),
}

/// What an agent knows in the end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Finished {
    totals: CollectorForm,
    abandoned: usize,
    offered: u64,
    threads: usize,
    driver_cpu_s: f64,
    /// What the workload adds.
    report: Value,
}

impl Finished {
    pub fn of(outcome: &RunOutcome, threads: usize, report: Value) -> Finished {
        Finished {
            totals: CollectorForm::of(&outcome.totals),
            abandoned: outcome.abandoned,
            offered: outcome.offered.unwrap_or(0),
            threads,
            driver_cpu_s: outcome.driver_cpu_s,
            report,
        }
    }
}

/// What an agent's end brings the run beside its counts.
pub struct Away {
    pub threads: usize,
    pub driver_cpu_s: f64,
    pub report: Value,
}

/// One side of a conversation.
struct Line {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Line {
    fn new(stream: TcpStream) -> std::io::Result<Line> {
        stream.set_nodelay(true)?;
        Ok(Line {
            reader: BufReader::new(stream.try_clone()?),
            writer: stream,
        })
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), String> {
        let mut text = serde_json::to_vec(message).map_err(|error| error.to_string())?;
        text.push(b'\n');
        self.writer.write_all(&text).map_err(|error| error.to_string())
    }

    fn hear<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T, String> {
        hear(&mut self.reader)
    }
}

fn hear<T: for<'a> Deserialize<'a>>(reader: &mut impl BufRead) -> Result<T, String> {
    let mut text = Vec::new();
    let count = reader
        .by_ref()
        .take(MESSAGE_BYTES_MAX)
        .read_until(b'\n', &mut text)
        .map_err(|error| error.to_string())?;
    if count == 0 {
        return Err("the connection has ended".into());
    }
    serde_json::from_slice(&text).map_err(|error| format!("what came is no message: {error}"))
}

/// From a driver thread, or from what listens to an agent.
pub(crate) enum Message {
    Interval(Interval),
    Done {
        totals: Box<Collector>,
        /// Terminals that were.
        abandoned: usize,
        /// Transactions that were due.
        offered: u64,
        away: Option<Away>,
    },
    Failed(String),
}

/// An agent that is there, before a run.
pub struct Agent {
    name: String,
    line: Line,
    order: Order,
}

impl Agent {
    /// `address` is HOST:PORT.
    pub fn connect(address: &str, share: Share, workload: &str, work: Value) -> Result<Agent, String> {
        let named = |error: std::io::Error| format!("agent {address}: {error}");
        let mut last = None;
        for place in address.to_socket_addrs().map_err(named)? {
            match TcpStream::connect_timeout(&place, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(SILENCE_MAX)).map_err(named)?;
                    return Ok(Agent {
                        name: address.to_string(),
                        line: Line::new(stream).map_err(named)?,
                        order: Order::Work {
                            version: VERSION.into(),
                            share,
                            workload: workload.into(),
                            work,
                        },
                    });
                }
                Err(error) => last = Some(named(error)),
            }
        }
        Err(last.unwrap_or_else(|| format!("agent {address}: the name has no address")))
    }

    /// Runs the agent's share, and tells the run what it hears, as if its threads were here.
    pub(super) fn lead(
        mut self,
        timeline: &Timeline,
        kinds: usize,
        run: &Sender<Message>,
    ) -> Result<(), String> {
        let name = self.name.clone();
        self.conversation(timeline, kinds, run)
            .map_err(|error| format!("agent {name}: {error}"))
    }

    fn conversation(
        &mut self,
        timeline: &Timeline,
        kinds: usize,
        run: &Sender<Message>,
    ) -> Result<(), String> {
        let Agent { line, order, .. } = self;
        line.say(order)?;
        match line.hear()? {
            Answer::Ready => {}
            Answer::Failed(why) => return Err(why),
            _ => return Err("it does not say that it is ready".into()),
        }
        timeline.ready(&Wait::Blocking);
        let Some(begin_ns) = timeline.begin_ns() else {
            return Err("another one could not begin".into());
        };
        line.say(&Order::Begin)?;
        let mut offset_ns = 0;
        loop {
            match line.hear()? {
                Answer::Begun { at_ns } => offset_ns = begin_ns as i64 - at_ns as i64,
                Answer::Counted(form) => {
                    let interval = form.interval(kinds, offset_ns)?;
                    // The receiver lives until all have ended.
                    let _ = run.send(Message::Interval(interval));
                }
                Answer::Done(finished) => {
                    let totals = finished.totals.collector(kinds, offset_ns)?;
                    let away = Away {
                        threads: finished.threads,
                        driver_cpu_s: finished.driver_cpu_s,
                        report: finished.report,
                    };
                    let _ = run.send(Message::Done {
                        totals: Box::new(totals),
                        abandoned: finished.abandoned,
                        offered: finished.offered,
                        away: Some(away),
                    });
                    return Ok(());
                }
                Answer::Failed(why) => return Err(why),
                Answer::Ready => return Err("it is ready twice".into()),
            }
            if timeline.stopped() {
                return Err("the run has ended before".into());
            }
        }
    }
}

/// The run's host, as an agent has it.
pub struct Leader {
    reader: Mutex<BufReader<TcpStream>>,
    /// Two threads speak.
    writer: Mutex<TcpStream>,
    /// Whether the host knows when the run began. Written once by the thread that says so, read by the one that counts:
    /// Release pairs with Acquire.
    begun: AtomicBool,
}

/// What an agent shall do.
pub struct Task {
    pub share: Share,
    pub workload: String,
    pub work: Value,
}

impl Leader {
    /// Hears the order.
    pub fn hear(stream: TcpStream) -> Result<(Leader, Task), String> {
        let io = |error: std::io::Error| error.to_string();
        // Whoever connects and says nothing shall not keep others away for ever.
        stream.set_read_timeout(Some(SILENCE_MAX)).map_err(io)?;
        let Line { reader, writer } = Line::new(stream).map_err(io)?;
        let leader = Leader {
            reader: Mutex::new(reader),
            writer: Mutex::new(writer),
            begun: AtomicBool::new(false),
        };
        let refusal = match leader.order()? {
            Order::Work { version, .. } if version != VERSION => {
                format!("this agent is of version {VERSION}, the run's host of {version}")
            }
            Order::Work { share, .. } if !share.is_one() => "there is no such share".to_string(),
            Order::Work {
                share,
                workload,
                work,
                ..
            } => {
                // Until the end of the run nothing more may be said, and that is no silence.
                let socket = leader.writer.lock().expect("no panic while held");
                socket.set_read_timeout(None).map_err(io)?;
                drop(socket);
                let task = Task {
                    share,
                    workload,
                    work,
                };
                return Ok((leader, task));
            }
            Order::Begin => "nothing can begin without an order".to_string(),
        };
        leader.fail(&refusal);
        Err(refusal)
    }

    fn order(&self) -> Result<Order, String> {
        hear(&mut *self.reader.lock().expect("no panic while held"))
    }

    fn say(&self, answer: &Answer) -> Result<(), String> {
        let mut text = serde_json::to_vec(answer).map_err(|error| error.to_string())?;
        text.push(b'\n');
        let mut writer = self.writer.lock().expect("no panic while held");
        writer.write_all(&text).map_err(|error| error.to_string())
    }

    pub fn fail(&self, why: &str) {
        // Whoever has gone need not know.
        let _ = self.say(&Answer::Failed(why.to_string()));
    }

    /// Lets the run begin when its host says so: `timeline` has one participant more than the share has terminals. Then listens to
    /// the end of the conversation, and ends a run whose host has gone; [`Leader::release`] ends it from this side.
    pub fn attend(&self, timeline: &Timeline) {
        let reason = match self.begin(timeline) {
            Ok(()) => match self.order() {
                Ok(_) => "another order came in the middle of a run".to_string(),
                Err(error) => format!("the run's host has gone: {error}"),
            },
            Err(error) => error,
        };
        if !timeline.is_over() {
            timeline.fail(reason);
        }
    }

    fn begin(&self, timeline: &Timeline) -> Result<(), String> {
        while !timeline.waits_for_one() {
            if timeline.stopped() {
                return Ok(());
            }
            std::thread::sleep(CONNECTED_LOOK);
        }
        self.say(&Answer::Ready)?;
        let Order::Begin = self.order()? else {
            return Err("another order came in place of the begin".into());
        };
        timeline.ready(&Wait::Blocking);
        let at_ns = timeline.begin_ns().ok_or("the run could not begin")?;
        self.say(&Answer::Begun { at_ns })?;
        self.begun.store(true, Ordering::Release);
        Ok(())
    }

    /// One tick of this agent. What is counted before the run has begun is nothing.
    pub fn counted(&self, interval: &Interval) {
        if self.begun.load(Ordering::Acquire) {
            // Whether the host is still there is what `attend` looks after.
            let _ = self.say(&Answer::Counted(IntervalForm::of(interval)));
        }
    }

    pub fn done(&self, finished: Finished) -> Result<(), String> {
        self.say(&Answer::Done(Box::new(finished)))
    }

    /// Ends what is heard; what has been said still arrives.
    pub fn release(&self) {
        let writer = self.writer.lock().expect("no panic while held");
        // One that has ended already is what is wanted.
        let _ = writer.shutdown(Shutdown::Read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_every_terminal_once() {
        for (terminals, threads, of) in [(16, 1, 2), (10, 2, 3), (3, 1, 3), (100, 4, 5)] {
            let shares = (0..of).map(|number| Share { number, of });
            let sum: usize = shares.map(|share| share.terminals(terminals, threads)).sum();
            assert_eq!(sum, terminals);
        }
        assert_eq!(Share { number: 1, of: 2 }.thread(0, 2), (2, 4));
        assert_eq!(Share::WHOLE.terminals(7, 2), 7);
        let of = |number, of| Share { number, of }.is_one();
        assert!(of(1, 2) && !of(2, 2) && !of(0, 0) && !of(0, usize::MAX));
    }

    #[test]
    fn what_is_no_message_is_told_and_an_end_too() {
        let mut text = b"{\"Failed\":\"why\"}\nnonsense\n".as_slice();
        assert!(matches!(hear::<Answer>(&mut text), Ok(Answer::Failed(why)) if why == "why"));
        assert!(hear::<Answer>(&mut text).is_err_and(|error| error.contains("no message")));
        assert!(hear::<Answer>(&mut text).is_err_and(|error| error.contains("has ended")));
    }
}
