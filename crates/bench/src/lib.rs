//! The laboratory.
#![forbid(unsafe_code)]
pub mod driver;
