//! The server under test when none is named: a child process with its data in a directory of its own.
//!
//! A process apart from the driver, so that its processor time can be told from the driver's, and so that it can be
//! killed like any other server. [`EmbeddedServer`] is the seam for callers that start it otherwise.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Starts servers for experiments.
pub trait EmbeddedServer {
    /// Starts one on a free port. `data` of `None` means a temporary directory that goes when the server stops;
    /// `arguments` are more options of the server's command line.
    fn start(&self, data: Option<&Path>, arguments: &[String]) -> Result<Box<dyn RunningServer>, String>;
}

pub trait RunningServer: Send {
    /// `postgres://...`
    fn url(&self) -> &str;
    /// The root of its processes.
    fn pid(&self) -> u32;
    /// What is worth saying about where it keeps its data.
    fn remarks(&self) -> &[String];
    /// Shuts down in order and removes what was temporary. Dropping does the same without reporting problems.
    fn stop(self: Box<Self>) -> Result<(), String>;
    /// Ends it at once, as a crash would, and leaves its data.
    fn kill(self: Box<Self>) -> Result<(), String>;
    /// The same, for one that will be started again.
    fn crash(&mut self) -> Result<(), String>;
    /// Ends it in order, for one that will be started again.
    fn terminate(&mut self) -> Result<(), String>;
    /// Starts a server that has ended again, on its data and at its address.
    fn start_again(&mut self) -> Result<(), String>;
}

/// What every server says on standard error when it accepts connections; the address follows.
const LISTENING: &str = "mote: listening on ";
/// A server with much to recover takes its time; one that dies is noticed at once.
const START_TIMEOUT: Duration = Duration::from_secs(3600);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Spawns `<program> serve --data DIR --listen 127.0.0.1:0`, or where the caller's options say.
pub struct SpawnedServer {
    pub program: PathBuf,
}

impl SpawnedServer {
    /// The binary that is running now, which is server and laboratory in one.
    pub fn this_binary() -> io::Result<SpawnedServer> {
        Ok(SpawnedServer {
            program: std::env::current_exe()?,
        })
    }
}

impl EmbeddedServer for SpawnedServer {
    fn start(&self, data: Option<&Path>, arguments: &[String]) -> Result<Box<dyn RunningServer>, String> {
        let temporary = data.is_none().then(temporary_directory);
        let directory = data
            .map(Path::to_path_buf)
            .or_else(|| temporary.clone())
            .expect("one of the two is there");
        fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--data").arg(&directory);
        if !arguments.iter().any(|argument| argument == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(arguments);
        let started = ListeningProcess::spawn(command);
        if let (Err(_), Some(directory)) = (&started, &temporary) {
            // The reason why it did not start matters more than what could not be removed.
            let _ = fs::remove_dir_all(directory);
        }
        let mut process = started?;
        process.temporary = temporary;
        if is_in_memory(&directory) {
            process.remarks.push(format!(
                "the server's data lies in {}, which is memory: durable commits cost nothing there",
                directory.display()
            ));
        }
        Ok(Box::new(process))
    }
}

/// A name that is free; nothing is created.
pub(crate) fn temporary_directory() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0); // only makes names differ: Relaxed
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("mote-bench-{}-{number}", std::process::id()))
}

/// Whether a directory is on tmpfs.
fn is_in_memory(directory: &Path) -> bool {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    rustix::fs::statfs(directory).is_ok_and(|status| status.f_type == TMPFS_MAGIC)
}

/// A child that announces its address on standard error.
pub struct ListeningProcess {
    child: Child,
    program: OsString,
    arguments: Vec<OsString>,
    url: String,
    temporary: Option<PathBuf>,
    remarks: Vec<String>,
}

impl ListeningProcess {
    /// Spawns and waits for the announcement.
    pub fn spawn(mut command: Command) -> Result<ListeningProcess, String> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let (executable, arguments) = (
            command.get_program().to_os_string(),
            command.get_args().map(OsStr::to_os_string).collect(),
        );
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let stderr = child.stderr.take().expect("standard error is piped");
        let (sender, receiver) = mpsc::channel();
        // Reads to the end of the child's life, so that the child never blocks on a full pipe.
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line); // nobody listens any more once the address is known
            }
        });
        let mut process = ListeningProcess {
            child,
            program: executable,
            arguments,
            url: String::new(),
            temporary: None,
            remarks: Vec::new(),
        };
        let deadline = Instant::now() + START_TIMEOUT;
        let mut said = Vec::new();
        loop {
            match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => match line.split_once(LISTENING) {
                    Some((_, address)) => {
                        process.url = format!("postgres://{}/postgres", address.trim());
                        return Ok(process);
                    }
                    None => said.push(line),
                },
                Err(_) => {
                    let said = said[said.len().saturating_sub(10)..].join("\n  ");
                    return Err(format!(
                        "{program} did not say that it is listening. It said:\n  {said}"
                    ));
                }
            }
        }
    }

    fn shut_down(&mut self) -> Result<(), String> {
        let result = self.terminate();
        if let Some(directory) = self.temporary.take() {
            fs::remove_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        }
        result
    }
}

impl RunningServer for ListeningProcess {
    fn url(&self) -> &str {
        &self.url
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn stop(mut self: Box<Self>) -> Result<(), String> {
        self.shut_down()
    }

    fn kill(mut self: Box<Self>) -> Result<(), String> {
        self.crash()
    }

    fn crash(&mut self) -> Result<(), String> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed
            .map(|_| ())
            .map_err(|error| format!("cannot kill the server: {error}"))
    }

    fn terminate(&mut self) -> Result<(), String> {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return Ok(());
        }
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).map_err(|error| format!("cannot signal the server: {error}"))?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map_err(|error| format!("cannot kill the server: {error}"))?;
        Err(format!(
            "the server did not stop within {} s and was killed",
            STOP_TIMEOUT.as_secs()
        ))
    }

    fn start_again(&mut self) -> Result<(), String> {
        let address = self.url.trim_start_matches("postgres://");
        let address = address.split_once('/').map_or(address, |(address, _)| address);
        let mut command = Command::new(&self.program);
        let mut is_address = false;
        for argument in &self.arguments {
            command.arg(if is_address { OsStr::new(address) } else { argument });
            is_address = argument == "--listen";
        }
        let mut started = ListeningProcess::spawn(command)?;
        // What is left in `started` is the process that has ended, and no directory to remove.
        std::mem::swap(&mut self.child, &mut started.child);
        Ok(())
    }
}

impl Drop for ListeningProcess {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            eprintln!("mote bench: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn waits_for_the_announcement_and_stops() {
        let script = "echo starting >&2; echo 'mote: listening on 127.0.0.1:7' >&2; exec sleep 60";
        let process = ListeningProcess::spawn(shell(script)).expect("announces");
        assert_eq!(process.url(), "postgres://127.0.0.1:7/postgres");
        Box::new(process).stop().expect("stops on SIGTERM");
    }

    #[test]
    fn tells_what_a_failed_server_said() {
        let error = ListeningProcess::spawn(shell("echo 'no such directory' >&2; exit 1")).err();
        assert!(error.is_some_and(|error| error.contains("no such directory")));
    }
}
