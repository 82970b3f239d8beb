//! The names of `sync` under the model checker: each operation first asks shuttle's scheduler who goes on.
//!
//! Inside of an exploration one thread runs at a time, as a coroutine of one thread of the machine; so a lock is taken by
//! trying, and who does not get it lets others go on. Outside of an exploration (ordinary tests of the same build) there
//! are no steps, and the same types work as the real ones do.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

std::thread_local! {
    static EXPLORING: Cell<bool> = const { Cell::new(false) };
}

/// Not while a failed scenario unwinds: shuttle's state is gone by then, and what is dropped must not ask for it.
fn exploring() -> bool {
    EXPLORING.get() && !std::thread::panicking()
}

/// Steps are taken while it lives.
struct Exploration;

impl Exploration {
    fn begin() -> Exploration {
        EXPLORING.set(true);
        Exploration
    }
}

impl Drop for Exploration {
    fn drop(&mut self) {
        EXPLORING.set(false);
    }
}

/// Another thread may go on here.
fn step() {
    if exploring() {
        // No time passes: it is shuttle's name for a plain point of choice.
        shuttle::thread::sleep(Duration::ZERO);
    }
}

/// This thread cannot go on until another one has.
fn give_way() {
    if exploring() {
        shuttle::thread::yield_now();
    } else {
        std::thread::yield_now();
    }
}

pub mod thread {
    pub fn yield_now() {
        super::give_way();
    }
}

pub mod hint {
    pub fn spin_loop() {
        super::give_way();
    }
}

/// Explorations.
pub mod model {
    use super::{EXPLORING, Exploration};
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    use shuttle::{Config, Runner};

    pub use shuttle::thread::spawn;

    /// Does something without steps: what a scenario finds when it begins.
    pub fn in_one_step<R>(set_up: impl FnOnce() -> R) -> R {
        EXPLORING.set(false);
        let result = set_up();
        EXPLORING.set(true);
        result
    }

    /// Bugs that need more changes of the running thread than this at exact places are left to the random scheduler.
    const PREEMPTIONS: usize = 3;
    const STACK_BYTES: usize = 1 << 20;

    /// Runs `scenario` under many schedules: half of them random, half with few changes of thread (Burckhardt et al.,
    /// "A randomized scheduler with probabilistic guarantees of finding bugs", 2010). A failure prints its schedule.
    /// `MOTE_MODEL_SCHEDULES` overrides how many.
    pub fn explore(schedules: usize, scenario: impl Fn() + Send + Sync + Clone + 'static) {
        let schedules = match std::env::var("MOTE_MODEL_SCHEDULES") {
            Ok(wanted) => wanted.parse().expect("MOTE_MODEL_SCHEDULES is a number"),
            Err(_) => schedules,
        };
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.silence_warnings = true;
        let seed = std::env::var("MOTE_MODEL_SEED").map_or(1, |seed| seed.parse().expect("a number"));
        println!("seed {seed}, {schedules} schedules");
        let exploration = Exploration::begin();
        let random = RandomScheduler::new_from_seed(seed, schedules.div_ceil(2));
        Runner::new(random, config.clone()).run(scenario.clone());
        let few_changes = PctScheduler::new_from_seed(seed, PREEMPTIONS, schedules / 2);
        Runner::new(few_changes, config).run(scenario);
        drop(exploration);
    }
}

/// A key for each thread of an exploration, another for threads of the machine.
pub struct Local<T: 'static> {
    pub explored: &'static shuttle::thread::LocalKey<T>,
    pub real: &'static std::thread::LocalKey<T>,
}

impl<T: 'static> Local<T> {
    pub fn with<R>(&'static self, use_it: impl FnOnce(&T) -> R) -> R {
        if exploring() {
            self.explored.with(use_it)
        } else {
            self.real.with(use_it)
        }
    }

    pub fn try_with<R>(&'static self, use_it: impl FnOnce(&T) -> R) -> Result<R, ()> {
        if exploring() {
            self.explored.try_with(use_it).map_err(drop)
        } else {
            self.real.try_with(use_it).map_err(drop)
        }
    }
}

/// `thread_local!` under the model checker.
#[macro_export]
macro_rules! model_checked_local {
    (static $name:ident: $type:ty = const { $init:expr };) => {
        $crate::sync::thread_local! { static $name: $type = $init; }
    };
    (static $name:ident: $type:ty = $init:expr;) => {
        static $name: $crate::sync::Local<$type> = {
            $crate::sync::shuttle::thread_local! { static EXPLORED: $type = $init; }
            std::thread_local! { static REAL: $type = $init; }
            $crate::sync::Local {
                explored: &EXPLORED,
                real: &REAL,
            }
        };
    };
}
pub use model_checked_local as thread_local;
/// For the macro.
pub use shuttle;

/// parking_lot's mutex, taken by trying.
#[derive(Default, Debug)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

pub struct MutexGuard<'a, T: ?Sized>(parking_lot::MutexGuard<'a, T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(parking_lot::Mutex::new(value))
    }

    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        step();
        loop {
            if let Some(guard) = self.0.try_lock() {
                return MutexGuard(guard);
            }
            give_way();
        }
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        step();
        self.0.try_lock().map(MutexGuard)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// parking_lot's lock, taken by trying.
#[derive(Default, Debug)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(parking_lot::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    pub fn read(&self) -> parking_lot::RwLockReadGuard<'_, T> {
        step();
        loop {
            if let Some(guard) = self.0.try_read() {
                return guard;
            }
            give_way();
        }
    }

    pub fn write(&self) -> parking_lot::RwLockWriteGuard<'_, T> {
        step();
        loop {
            if let Some(guard) = self.0.try_write() {
                return guard;
            }
            give_way();
        }
    }
}

/// A signal counts its calls; who waits looks until the count has moved.
#[derive(Default, Debug)]
pub struct Condvar(atomic::AtomicU64);

/// Looks of a waiter with a time limit before it is over.
const LOOKS_MAX: u32 = 100_000;

#[derive(Clone, Copy)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar(atomic::AtomicU64::new(0))
    }

    pub fn notify_one(&self) {
        self.notify_all();
    }

    pub fn notify_all(&self) {
        self.0.fetch_add(1, atomic::Ordering::SeqCst);
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> WaitTimeoutResult {
        // A real wait of this length has many looks too; without a limit of their number it would never end.
        self.look(guard, if limit.is_zero() { 1 } else { LOOKS_MAX })
    }

    fn look<T>(&self, guard: &mut MutexGuard<'_, T>, looks: u32) -> WaitTimeoutResult {
        let before = self.0.load(atomic::Ordering::SeqCst);
        let moved = parking_lot::MutexGuard::unlocked(&mut guard.0, || {
            (0..looks).any(|_| {
                give_way();
                self.0.load(atomic::Ordering::SeqCst) != before
            })
        });
        WaitTimeoutResult(!moved)
    }
}

pub mod atomic {
    //! The standard atomics, of the same size, with a step before each operation.

    use super::step;
    pub use std::sync::atomic::Ordering;

    pub fn fence(_: Ordering) {
        // Steps are sequentially consistent.
        step();
    }

    macro_rules! atomic {
        ($name:ident $(<$parameter:ident>)?, $value:ty) => {
            #[repr(transparent)]
            pub struct $name $(<$parameter>)? (std::sync::atomic::$name $(<$parameter>)?);

            impl $(<$parameter>)? Default for $name $(<$parameter>)? {
                fn default() -> Self {
                    Self(Default::default())
                }
            }

            impl $(<$parameter>)? std::fmt::Debug for $name $(<$parameter>)? {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.fmt(f)
                }
            }

            #[allow(dead_code)]
            impl $(<$parameter>)? $name $(<$parameter>)? {
                pub const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                pub fn load(&self, order: Ordering) -> $value {
                    step();
                    self.0.load(order)
                }

                pub fn store(&self, value: $value, order: Ordering) {
                    step();
                    self.0.store(value, order)
                }

                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.swap(value, order)
                }

                pub fn compare_exchange(
                    &self,
                    old: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    step();
                    self.0.compare_exchange(old, new, success, failure)
                }

                pub fn compare_exchange_weak(
                    &self,
                    old: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(old, new, success, failure)
                }

                pub fn fetch_update(
                    &self,
                    set: Ordering,
                    fetch: Ordering,
                    mut change: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut old = self.load(fetch);
                    while let Some(new) = change(old) {
                        match self.compare_exchange(old, new, set, fetch) {
                            Ok(old) => return Ok(old),
                            Err(now) => old = now,
                        }
                    }
                    Err(old)
                }

                pub fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }

                pub fn into_inner(self) -> $value {
                    self.0.into_inner()
                }
            }
        };
    }

    macro_rules! number {
        ($name:ident, $value:ty) => {
            atomic!($name, $value);
            number!($name, $value: fetch_add, fetch_sub, fetch_or, fetch_and, fetch_max, fetch_min);
        };
        ($name:ident, $value:ty: $($operation:ident),*) => {
            #[allow(dead_code)]
            impl $name {
                $(pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.$operation(value, order)
                })*
            }
        };
    }

    atomic!(AtomicBool, bool);
    atomic!(AtomicPtr<T>, *mut T);
    number!(AtomicU8, u8);
    number!(AtomicU32, u32);
    number!(AtomicU64, u64);
    number!(AtomicI64, i64);
    number!(AtomicUsize, usize);
}
