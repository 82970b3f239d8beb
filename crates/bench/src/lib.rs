//! The laboratory.
#![forbid(unsafe_code)]
pub mod driver;
pub mod measure;
pub mod workload;
