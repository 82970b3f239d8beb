//! The threads that run event loops and long statements, and the monitor that replaces one that is held up.
//!
//! Every thread has a [`Post`]. The monitor looks at all of them every four milliseconds (less often while nothing
//! happens). A thread that has been in the same run since the last look, and did not merely wait for a core, is held up
//! by something that cannot be interrupted: a function call, the planner, a page that must come from disk. If it owned
//! an event loop, another thread takes the loop over, with all other connections; the thread keeps the one it runs and
//! gives it back through the loop's inbox. See docs/design/0020.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use mote_common::work;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::fiber::Ran;
use super::long::{Long, LongStatements};
use super::post::Post;
use super::progress;
use super::worker::Worker;
use crate::net::inbox::Message;
use crate::suspension::{Reason, Suspend};

/// Time between two looks of the monitor while statements run: how long a session may keep an event loop.
const LOOK: Duration = Duration::from_millis(4);
/// The same while nothing happens.
const LOOK_IDLE: Duration = Duration::from_millis(32);
/// A thread that has used less processor time in a run than this was not held up by what it computes.
const HELD_UP: Duration = Duration::from_millis(1);
/// A thread seen so often held up in the same run steps back behind the others (about 20 ms).
const LOOKS_TO_LOWER: u32 = 5;

pub struct Crew {
    loops: Mutex<Loops>,
    bell: Condvar,
    watched: Mutex<Vec<Watched>>,
    pub long: Arc<LongStatements>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// All event loops have ended.
    ended: AtomicBool,
    /// Woken by that.
    monitor: OnceLock<Thread>,
}

#[derive(Default)]
struct Loops {
    /// Taken from a thread that was held up, and not run yet.
    handed: VecDeque<Box<Worker>>,
    /// Threads without a loop.
    spare: usize,
    /// Event loops that have not ended.
    open: usize,
}

/// What the monitor knows of a thread.
struct Watched {
    post: Arc<Post<Worker>>,
    runs: u64,
    /// Its processor time when the run was first seen.
    used: Duration,
    /// How often it was seen held up in the same run.
    looks: u32,
}

impl Watched {
    /// Whether the thread is held up in the run that it was in at the last look.
    fn is_held_up(&mut self) -> bool {
        let runs = self.post.runs();
        if runs.is_multiple_of(2) {
            self.runs = runs;
            return false;
        }
        let used = progress::processor_time(self.post.thread());
        if runs != self.runs {
            (self.runs, self.used, self.looks) = (runs, used, 0);
            return false;
        }
        // Where there are more threads than cores the kernel may not have run it meanwhile: that is nobody's fault, and
        // another thread would wait for a core, too.
        used.saturating_sub(self.used) >= HELD_UP || !progress::is_runnable(self.post.thread())
    }
}

impl Crew {
    pub fn new(long: Arc<LongStatements>) -> Arc<Crew> {
        Arc::new(Crew {
            loops: Mutex::default(),
            bell: Condvar::new(),
            watched: Mutex::default(),
            long,
            threads: Mutex::default(),
            ended: AtomicBool::new(false),
            monitor: OnceLock::new(),
        })
    }

    /// Starts an event loop on each of these, a thread for long statements each, and the monitor.
    #[allow(clippy::vec_box)] // loops are handed from thread to thread as they are: as pointers
    pub fn start(self: &Arc<Crew>, workers: Vec<Box<Worker>>) -> io::Result<()> {
        let count = workers.len();
        for worker in workers {
            self.loops.lock().open += 1;
            self.start_loop_thread(Some(worker))
                .inspect_err(|_| self.loop_ended())?;
        }
        for _ in 0..count {
            self.start_long_thread()?;
        }
        let crew = self.clone();
        self.spawn("monitor", move || crew.watch())
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        threads.push(std::thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }

    /// Waits for all threads. The event loops were told to stop.
    pub fn join(&self) {
        loop {
            let Some(thread) = self.threads.lock().pop() else {
                return;
            };
            if thread.join().is_err() {
                eprintln!("mote: a thread ended in a panic");
            }
        }
    }

    fn start_loop_thread(self: &Arc<Crew>, worker: Option<Box<Worker>>) -> io::Result<()> {
        let crew = self.clone();
        self.spawn("worker", move || crew.run_loops(worker))
    }

    fn start_long_thread(self: &Arc<Crew>) -> io::Result<()> {
        let crew = self.clone();
        self.spawn("long-statements", move || {
            let post = crew.watch_over();
            crew.long.serve(&post);
            crew.forget(&post);
        })
    }

    /// The calling thread's post, which the monitor looks at from now on.
    fn watch_over(&self) -> Arc<Post<Worker>> {
        let post = Arc::new(Post::new());
        self.watched.lock().push(Watched {
            post: post.clone(),
            runs: 0,
            used: Duration::ZERO,
            looks: 0,
        });
        post
    }

    fn forget(&self, post: &Arc<Post<Worker>>) {
        self.watched
            .lock()
            .retain(|watched| !Arc::ptr_eq(&watched.post, post));
    }

    /// The life of a thread that runs event loops.
    fn run_loops(&self, first: Option<Box<Worker>>) {
        let post = self.watch_over();
        let mut next = first.or_else(|| self.spare_waits());
        while let Some(worker) = next {
            if self.run_loop(worker, &post) {
                self.loop_ended();
            }
            // A lowered thread may not run a loop again, and cannot be raised.
            next = if post.is_lowered() {
                None
            } else {
                self.spare_waits()
            };
        }
        self.forget(&post);
    }

    /// Runs an event loop; false: it was taken from this thread.
    fn run_loop(&self, mut worker: Box<Worker>, post: &Post<Worker>) -> bool {
        let inbox = worker.inbox();
        while let Some((place, fiber)) = worker.next() {
            post.leave(worker);
            let ran = fiber.resume();
            match post.come_back() {
                Some(own) => {
                    worker = own;
                    worker.ran(place, ran);
                }
                None => {
                    match ran {
                        Ran::Suspended(
                            fiber,
                            Suspend {
                                reason: Reason::Yield(interruption) | Reason::Aside(interruption),
                                ..
                            },
                        ) => {
                            self.long.push(Long {
                                fiber,
                                place,
                                inbox,
                                interruption,
                            });
                        }
                        ran => inbox.send(Message::Back(place, ran)),
                    }
                    return false;
                }
            }
        }
        true
    }

    /// A thread without a loop waits for one. None: there will be none.
    fn spare_waits(&self) -> Option<Box<Worker>> {
        let mut loops = self.loops.lock();
        loops.spare += 1;
        let next = loop {
            if let Some(worker) = loops.handed.pop_front() {
                break Some(worker);
            }
            if loops.open == 0 {
                break None;
            }
            if self.bell.wait_for(&mut loops, work::TRIM_INTERVAL).timed_out() {
                MutexGuard::unlocked(&mut loops, work::trim_thread);
            }
        };
        loops.spare -= 1;
        next
    }

    fn loop_ended(&self) {
        let open = {
            let mut loops = self.loops.lock();
            loops.open -= 1;
            loops.open
        };
        if open == 0 {
            self.ended.store(true, Ordering::Release); // pairs with the Acquire in `watch`
            self.bell.notify_all();
            self.long.end();
            if let Some(monitor) = self.monitor.get() {
                monitor.unpark();
            }
        }
    }

    /// The monitor's life.
    fn watch(self: &Arc<Crew>) {
        let mut pause = LOOK;
        // Who ends the loops at this very moment may miss it: then the first look is waited for.
        let _ = self.monitor.set(std::thread::current());
        while !self.ended.load(Ordering::Acquire) {
            std::thread::park_timeout(pause);
            pause = if self.look() {
                LOOK
            } else {
                LOOK_IDLE.min(pause * 2)
            };
        }
    }

    /// Looks at all threads; false if none has run anything since the last look.
    fn look(self: &Arc<Crew>) -> bool {
        let (mut active, mut held_up) = (false, false);
        let mut taken = Vec::new();
        for watched in self.watched.lock().iter_mut() {
            let before = watched.runs;
            let is_held_up = watched.is_held_up();
            active |= watched.runs % 2 == 1 || watched.runs != before;
            if !is_held_up {
                continue;
            }
            watched.looks += 1;
            // The run may have ended since, and this be the loop as left for another: then it moves without need.
            taken.extend(watched.post.take());
            held_up = true;
            if watched.looks == LOOKS_TO_LOWER {
                watched.post.lower(watched.runs);
            }
        }
        for worker in taken {
            self.hand_over(worker);
        }
        if held_up && self.long.is_waiting() {
            self.report(self.start_long_thread());
        }
        active
    }

    /// Gives a loop to a thread that has none.
    fn hand_over(self: &Arc<Crew>, worker: Box<Worker>) {
        let short_of_threads = {
            let mut loops = self.loops.lock();
            loops.handed.push_back(worker);
            loops.handed.len() > loops.spare
        };
        self.bell.notify_one();
        if short_of_threads {
            self.report(self.start_loop_thread(None));
        }
    }

    /// Without a new thread the loop waits for the next one that comes back.
    fn report(&self, started: io::Result<()>) {
        if let Err(error) = started {
            eprintln!("mote: could not start a thread: {error}");
        }
    }
}
