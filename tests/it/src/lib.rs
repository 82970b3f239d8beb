//! Integration tests that drive the mote binary as users do.
