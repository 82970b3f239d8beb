//! Sections in which a panic must end the process: what it would leave half done is shared, and others would go on with it.
//!
//! Use: `let critical = AbortOnPanic("while ..");` at the start, `std::mem::forget(critical)` at the end.

/// Dropped by unwinding only. Holds what was under way.
pub struct AbortOnPanic(pub &'static str);

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        eprintln!("mote: panic {}: this cannot be gone on with", self.0);
        std::process::abort();
    }
}
