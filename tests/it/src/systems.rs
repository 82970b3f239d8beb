//! Another database system for a test that compares, as `scripts/systems.sh` starts it for the laboratory: durable, in a
//! temporary directory of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::clients::run_with_input;
use crate::postgres::free_port;
use crate::server::TemporaryDirectory;

/// A server that is stopped and removed with the value.
pub struct SystemServer {
    name: &'static str,
    directory: TemporaryDirectory,
    port: u16,
    url: String,
}

impl SystemServer {
    /// `name` is one that the program knows. Panics with its advice where the system is not installed.
    pub fn start(name: &'static str) -> SystemServer {
        let directory = TemporaryDirectory::new(name);
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), everybody).expect("the directory is ours");
        let mut server = SystemServer {
            name,
            directory,
            port: free_port(),
            url: String::new(),
        };
        server.url = server.tell("start").trim().to_string();
        server
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// A shell's command that starts it again after it was killed.
    pub fn restart_command(&self) -> String {
        format!(
            "SYSTEMS_DIRECTORY={} {}={} SYSTEMS_MEMORY=256MB {} start {}",
            self.directory.path().display(),
            self.port_variable(),
            self.port,
            program().display(),
            self.name
        )
    }

    fn port_variable(&self) -> String {
        format!("SYSTEMS_{}_PORT", self.name.to_ascii_uppercase())
    }

    fn tell(&self, what: &str) -> String {
        let mut command = Command::new(program());
        command
            .args([what, self.name])
            .env("SYSTEMS_DIRECTORY", self.directory.path())
            .env(self.port_variable(), self.port.to_string())
            .env("SYSTEMS_MEMORY", "256MB");
        run_with_input(&mut command, "", "scripts/systems.sh").good()
    }
}

impl Drop for SystemServer {
    fn drop(&mut self) {
        if !self.url.is_empty() && !std::thread::panicking() {
            self.tell("remove");
        } else {
            // A second panic would hide the first.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.tell("remove")));
        }
    }
}

fn program() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/systems.sh"))
}
