//! PostgreSQL's frontend/backend protocol 3.0: framing only.
//!
//! `frontend` takes messages out of a connection's read buffer without copying them; `backend` appends messages to its
//! write buffer, `descriptions` keeps one kind of them; `recode` changes the encoding of their text for clients that do not use UTF-8. Only this folder knows message layouts. Leaves out: what a message means (`connection`), and the
//! text and binary forms of values (`mote_types::format`).
//!
//! Source: the chapter "Frontend/Backend Protocol" of PostgreSQL's documentation (version 3.0), pqcomm.c and pqformat.c.

pub mod backend;
pub mod descriptions;
pub mod frontend;
pub mod recode;
