//! A connection that is running: a coroutine on a pooled stack. Any thread may resume it, one at a time.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::connection::Connection;
use crate::suspension::{STACK_BYTES, Suspend};

/// What came of running a connection.
pub enum Ran {
    Suspended(Fiber, Suspend),
    /// It has consumed its input, or is over.
    Returned(Box<Connection>, DefaultStack),
}

pub struct Fiber(Coroutine<(), Suspend, Box<Connection>, DefaultStack>);

// SAFETY: corosensei asks that everything on a suspended stack may go to another thread. A stack is suspended in
// `suspension::suspend` alone, below `Connection::serve`, so what lies on it are frames of `server`, of `exec` and of what `exec` uses:
//  - `Connection`, and with it the session, is `Send` (`assert_send` below); what else the frames own or borrow was made
//    by this fiber and goes along with it, so that `Cell`s and `&`-references among them stay with one thread at a time.
//    Nobody shares an `Rc`: no such crate has one.
//  - What belongs to a thread is an epoch guard (asserted there), a lock's guard (no lock is held across a
//    suspension: rule 2 of ARCHITECTURE.md), and the addresses of thread-local values (`mote_common::per_thread`).
// The thread that resumes next received the fiber through a lock or an atomic with Acquire: it sees what the former did.
unsafe impl Send for Fiber {}

const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Connection>();
    assert_send::<DefaultStack>();
};

impl Fiber {
    pub fn new(mut connection: Box<Connection>, stack: DefaultStack) -> Fiber {
        Fiber(Coroutine::with_stack(stack, move |yielder, ()| {
            connection.serve(yielder);
            connection
        }))
    }

    pub fn resume(mut self) -> Ran {
        match self.0.resume(()) {
            CoroutineResult::Yield(suspend) => Ran::Suspended(self, suspend),
            CoroutineResult::Return(connection) => Ran::Returned(connection, self.0.into_stack()),
        }
    }
}

/// A stack from the system.
pub fn new_stack() -> std::io::Result<DefaultStack> {
    DefaultStack::new(STACK_BYTES)
}
