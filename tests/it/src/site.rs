//! A server with an archive, as an operator has one: its backups, and what is restored from them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::TestServer;
use crate::clients::{Said, mote, psql_strict};
use crate::server::TemporaryDirectory;

/// How long the archiver may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// A server with an archive, and the places beside it.
pub struct Site {
    pub directory: TemporaryDirectory,
    pub server: TestServer,
}

impl Site {
    pub fn new(name: &str) -> Site {
        Site::with(name, &[])
    }

    /// With more options for the server.
    pub fn with(name: &str, more: &[&str]) -> Site {
        let directory = TemporaryDirectory::new(name);
        let archive = directory.path().join("archive");
        let options = ["--archive-dir", text(&archive), "--archive-timeout", "0"];
        let options = [&options[..], more].concat();
        let server = TestServer::open(&directory.path().join("data"), &options).expect("it starts");
        Site { directory, server }
    }

    pub fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    #[track_caller]
    pub fn value(&self, sql: &str) -> String {
        psql_strict(&self.server, sql).good().trim().to_string()
    }

    #[track_caller]
    pub fn backup(&self, name: &str) -> PathBuf {
        let to = self.place(name);
        let said = mote(&[
            "backup",
            "--target",
            &self.server.url(),
            "--to",
            text(&to),
            "--quiet",
        ]);
        assert!(said.ok, "{}\n{}", said.out, said.err);
        let said = mote(&["backup", "verify", text(&to)]);
        assert!(
            said.ok && said.out.contains("sound"),
            "{}\n{}",
            said.out,
            said.err
        );
        to
    }

    /// Has everything archived that was committed before.
    pub fn archive_all(&self) {
        let lsn = self.value("select pg_switch_wal()");
        let deadline = Instant::now() + TIMEOUT;
        while self.value(&format!("select mote_archived_lsn() >= '{lsn}'")) != "t" {
            assert!(Instant::now() < deadline, "nothing was archived");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn restore(&self, backup: &Path, name: &str, options: &[&str]) -> (PathBuf, Said) {
        let (data, archive) = (self.place(name), self.place("archive"));
        let mut arguments = vec![
            "restore",
            "--backup",
            text(backup),
            "--archive",
            text(&archive),
            "--data",
            text(&data),
        ];
        arguments.extend_from_slice(options);
        let said = mote(&arguments);
        (data, said)
    }

    /// Restores, starts a server on the result and asks it.
    #[track_caller]
    pub fn restored_value(&self, backup: &Path, name: &str, options: &[&str], sql: &str) -> String {
        let (data, said) = self.restore(backup, name, options);
        assert!(said.ok, "{options:?}: {}\n{}", said.out, said.err);
        let server = TestServer::open(&data, &[]).expect("a restored database starts");
        psql_strict(&server, sql).good().trim().to_string()
    }
}
