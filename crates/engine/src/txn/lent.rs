//! A large part of a transaction that a pool lends it: a transaction is moved from hand to hand, and this moves as a pointer.

use std::ops::{Deref, DerefMut};

/// There from the transaction's begin to its end. Nobody looks at it behind that.
pub(crate) struct Lent<T>(Option<Box<T>>);

const OVER: &str = "a transaction that is over has given its buffers back";

impl<T: Default> Lent<T> {
    pub(crate) fn filled() -> Lent<T> {
        Lent(Some(Box::default()))
    }
}

/// Nothing, which is what a transaction has that is over.
impl<T> Default for Lent<T> {
    fn default() -> Lent<T> {
        Lent(None)
    }
}

impl<T> Lent<T> {
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

impl<T> Deref for Lent<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().expect(OVER)
    }
}

impl<T> DerefMut for Lent<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_deref_mut().expect(OVER)
    }
}
