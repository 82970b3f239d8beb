//! Programs that run as long as this one: each with its output in a file, ended with it whatever ends it.
//!
//! The kernel kills a child whose parent is gone (PR_SET_PDEATHSIG), but the child itself must have asked for that. So each is
//! started through this binary's own hidden command, which asks and then becomes the program. What is asked for belongs to
//! the thread that started the child: that thread must live as long as the children shall.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};

/// Between two looks at a child that is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Run a program that ends with the process that started it
#[derive(Args)]
pub struct ChildArguments {
    /// The process that it ends with
    #[arg(long)]
    parent: i32,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Becomes the program; returns where that fails.
pub fn become_child(arguments: &ChildArguments) -> ExitCode {
    let failed = |error: &dyn std::fmt::Display| {
        eprintln!("mote: {error}");
        ExitCode::FAILURE
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return failed(&error);
    }
    // Gone before it was asked for.
    if getppid().map(Pid::as_raw_pid) != Some(arguments.parent) {
        return failed(&"the process that started this one has ended");
    }
    let [program, rest @ ..] = &*arguments.program else {
        return failed(&"no program was named");
    };
    failed(&Command::new(program).args(rest).exec())
}

/// A program under way. Dropping it kills it.
pub struct Running {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Running {
    /// Starts a program whose output goes behind what stands in `log`.
    pub fn start(program: &Path, arguments: &[OsString], log: &Path) -> io::Result<Running> {
        let log = File::options().create(true).append(true).open(log)?;
        let child = Command::new(std::env::current_exe()?)
            .args(["cluster", "child", "--parent"])
            .arg(std::process::id().to_string())
            .arg("--")
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C is for this process, which ends the others in order.
            .process_group(0)
            .spawn()?;
        Ok(Running { child, ended: None })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // An error: it cannot be asked, so it is taken for running.
            self.ended = self.child.try_wait().unwrap_or_default();
        }
        self.ended
    }

    /// Asks it to end.
    pub fn ask_to_end(&mut self) {
        if self.ended().is_none()
            && let Some(pid) = Pid::from_raw(self.child.id() as i32)
        {
            // Not reaped yet, so the number is its own; a failure means that it has just ended.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Waits for its end; false: it still runs.
    pub fn wait_until(&mut self, deadline: Instant) -> bool {
        while self.ended().is_none() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended().is_none() {
            // Both fail only where it has ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A program of the search path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}
