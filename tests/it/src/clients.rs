//! Real clients, as programs: psql, pgbench, java, and the mote binary itself.

use std::io::Write;
use std::path::Path;
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

    /// Standard error of a run that must have failed.
    #[track_caller]
    pub fn bad(self) -> String {
        assert!(
            !self.ok,
            "the client should have failed:\n{}\n{}",
            self.out, self.err
        );
        self.err
    }
}

/// A client program, told by libpq's environment variables where the server is.
pub fn client(program: &str, server: &TestServer) -> Command {
    let mut command = Command::new(program);
    command
        .env("PGHOST", server.address.ip().to_string())
        .env("PGPORT", server.port())
        .env("PGUSER", server.user())
        .env("PGDATABASE", server.database())
        .env("PGCONNECT_TIMEOUT", "10")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("PGSERVICE")
        .env_remove("PGPASSWORD")
        .env_remove("PSQLRC");
    command
}

/// Runs a command with a text as its input.
pub fn run_with_input(command: &mut Command, input: &str, advice: &str) -> Said {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{:?}: {error}; {advice}", command.get_program()));
    let mut stdin = child.stdin.take().expect("piped above");
    let input = input.to_string();
    // From a thread of its own: the client may fill its output's pipe before it has read everything. It may also end
    // before it has read everything: the pipe then breaks, and its exit status tells.
    let feeder = std::thread::spawn(move || {
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().expect("a child can be waited for");
    feeder.join().expect("writing to a pipe does not panic");
    Said::of(output)
}

const PSQL_ADVICE: &str = "install postgresql-client";

/// Feeds a script to psql: unaligned, tuples only, no start-up file. It ends with 0 even if a statement failed.
pub fn psql(server: &TestServer, script: &str) -> Said {
    psql_with(server, &["-At"], script)
}

/// psql that stops at the first error.
pub fn psql_strict(server: &TestServer, script: &str) -> Said {
    psql_with(server, &["-At", "-v", "ON_ERROR_STOP=1"], script)
}

pub fn psql_with(server: &TestServer, options: &[&str], script: &str) -> Said {
    run_with_input(
        client("psql", server).arg("-X").args(options),
        script,
        PSQL_ADVICE,
    )
}

/// psql with a password in its environment, as another role.
pub fn psql_as(server: &TestServer, user: &str, password: &str, script: &str) -> Said {
    let mut command = client("psql", server);
    command.env("PGUSER", user).env("PGPASSWORD", password).args([
        "-X",
        "-At",
        "-w",
        "-v",
        "ON_ERROR_STOP=1",
    ]);
    run_with_input(&mut command, script, PSQL_ADVICE)
}

pub fn pgbench(server: &TestServer, options: &[&str]) -> Said {
    run_with_input(
        client("pgbench", server).args(options),
        "",
        "install postgresql-15",
    )
}

/// A program that is not about one server: javac, mvn, mount.
pub fn program(name: &str, arguments: &[&str], directory: &Path, advice: &str) -> Said {
    run_with_input(
        Command::new(name).args(arguments).current_dir(directory),
        "",
        advice,
    )
}

/// The mote binary itself, as a client: `mote bench ..`.
pub fn mote(arguments: &[&str]) -> Said {
    let output = Command::new(crate::server::mote_binary())
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    Said::of(output.expect("the binary runs"))
}
