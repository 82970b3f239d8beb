//! State of a thread that code of a session may use: [`per_thread!`].
//!
//! A suspended session may be resumed on another thread (docs/design/0020). The compiler does not know that: it takes the
//! address of a `thread_local!` for a constant of the function that uses it, and where such a use is inlined into a
//! function that suspends in between, the second use would touch the first thread's value. Therefore every access goes
//! through a function that is never inlined and in which nothing suspends.
//!
//! Promises: no code that can run in a session uses `std::thread_local!` directly; `tests/it/tests/thread_locals.rs` looks for it.

/// Declares a thread's value, reached by `NAME.with(|value| ..)`. The closure must not suspend the session, and what it
/// returns must not share anything that only one thread may touch (no `Rc`).
#[macro_export]
macro_rules! per_thread {
    ($(#[$note:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;) => {
        $crate::per_thread! { @declare $(#[$note])* $vis $name, $type, { $init } }
    };
    ($(#[$note:meta])* $vis:vis static $name:ident: $type:ty = const $init:block;) => {
        $crate::per_thread! { @declare $(#[$note])* $vis $name, $type, { const $init } }
    };
    (@declare $(#[$note:meta])* $vis:vis $name:ident, $type:ty, { $($init:tt)* }) => {
        $(#[$note])*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        $vis struct $name;

        #[allow(dead_code)]
        impl $name {
            /// Never inlined: see `mote_common::per_thread`.
            #[inline(never)]
            $vis fn with<R>(&self, work: impl FnOnce(&$type) -> R) -> R {
                Self::key().with(work)
            }

            /// An error if the thread is ending and the value is gone.
            #[inline(never)]
            $vis fn try_with<R>(&self, work: impl FnOnce(&$type) -> R) -> Result<R, ::std::thread::AccessError> {
                Self::key().try_with(work)
            }

            #[inline(always)]
            fn key() -> &'static ::std::thread::LocalKey<$type> {
                ::std::thread_local! { static KEY: $type = $($init)*; }
                &KEY
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    crate::per_thread! {
        static COUNT: Cell<u32> = const { Cell::new(7) };
    }
    crate::per_thread! {
        static NAMES: Cell<Vec<u32>> = Cell::new(vec![1]);
    }

    #[test]
    fn each_thread_has_its_own() {
        COUNT.with(|count| count.set(count.get() + 1));
        NAMES.with(|names| names.set(vec![2, 3]));
        let other = std::thread::spawn(|| (COUNT.with(Cell::get), NAMES.with(Cell::take)));
        assert_eq!(other.join().expect("no panic"), (7, vec![1]));
        assert_eq!((COUNT.with(Cell::get), NAMES.with(Cell::take)), (8, vec![2, 3]));
    }
}
