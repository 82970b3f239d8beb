//! Real clients, as programs.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::TestServer;

/// What a client printed, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub out: String,
    pub err: String,
    pub ok: bool,
}

impl Said {
    fn of(output: Output) -> Said {
        Said {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            ok: output.status.success(),
        }
    }

    /// Standard output of a run that must have ended well.
    #[track_caller]
    pub fn good(self) -> String {
        assert!(self.ok, "the client failed:\n{}\n{}", self.out, self.err);
        self.out
    }
}

fn client(program: &str, server: &TestServer) -> Command {
    let mut command = Command::new(program);
    command
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", server.port())
        .env("PGUSER", "postgres")
        .env("PGDATABASE", "postgres")
        .env("PGCONNECT_TIMEOUT", "10")
        .env_remove("PGSERVICE");
    command
}

/// Feeds a script to psql: unaligned, tuples only, no start-up file.
pub fn psql(server: &TestServer, script: &str) -> Said {
    psql_with(server, &["-At"], script)
}

pub fn psql_with(server: &TestServer, options: &[&str], script: &str) -> Said {
    let mut child = client("psql", server)
        .arg("-X")
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql is installed (postgresql-client)");
    // psql may end before it has read everything: the pipe then breaks, and its exit status tells.
    let _ = child.stdin.take().expect("piped above").write_all(script.as_bytes());
    Said::of(child.wait_with_output().expect("a child can be waited for"))
}

pub fn pgbench(server: &TestServer, options: &[&str]) -> Said {
    Said::of(
        client("pgbench", server)
            .args(options)
            .stdin(Stdio::null())
            .output()
            .expect("pgbench is installed (postgresql-contrib)"),
    )
}

/// The mote binary itself, as a client: `mote bench ..`.
pub fn mote(arguments: &[&str]) -> Said {
    let output = Command::new(crate::server::mote_binary()).args(arguments).stdin(Stdio::null()).output();
    Said::of(output.expect("the binary runs"))
}
