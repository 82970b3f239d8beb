//! Who may connect: the method for a connection, and the SCRAM exchange.
//!
//! Leaves out: privileges on objects, which the plan names and the executor checks.

pub mod scram;

/// How clients prove who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthMethod {
    /// Anybody is who they say: only ever on loopback.
    Trust,
    /// SCRAM-SHA-256 with the role's stored verifier.
    ScramSha256,
}
