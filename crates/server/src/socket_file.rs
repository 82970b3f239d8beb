//! A Unix socket's file and its lock file, under PostgreSQL's names: `.s.PGSQL.PORT` and `.s.PGSQL.PORT.lock`.
//!
//! The lock file says which process listens, in its first line, so that neither we nor a PostgreSQL take the name away
//! from a server that runs. A file whose process has gone is taken over.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// How often a lock file that somebody left behind is removed before we give up.
const ATTEMPTS: u32 = 100;

/// Both files; dropped, they are removed.
pub struct SocketFile {
    socket: PathBuf,
    lock: PathBuf,
}

impl SocketFile {
    pub fn listen(directory: &Path, port: u16) -> io::Result<(UnixListener, SocketFile)> {
        let socket = directory.join(format!(".s.PGSQL.{port}"));
        let lock = directory.join(format!(".s.PGSQL.{port}.lock"));
        write_lock(&lock, &socket, directory, port)?;
        // From here on the lock is ours to remove.
        let file = SocketFile { socket, lock };
        match fs::remove_file(&file.socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&file.socket)?;
        // Whoever can reach the directory may knock; who may enter is asked then.
        fs::set_permissions(&file.socket, Permissions::from_mode(0o777))?;
        Ok((listener, file))
    }

    pub fn path(&self) -> &Path {
        &self.socket
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Left behind, they are taken over by the next start.
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock);
    }
}

fn write_lock(lock: &Path, socket: &Path, directory: &Path, port: u16) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(lock)
        {
            Ok(mut file) => {
                let (own, directory) = (std::process::id(), directory.display());
                return write!(file, "{own}\n\n\n{port}\n{directory}\n\n");
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if let Some(process) = owner(lock)?
            && is_running(process)
        {
            let message = format!("process {process} listens on {} already", socket.display());
            return Err(io::Error::new(ErrorKind::AddrInUse, message));
        }
        match fs::remove_file(lock) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Err(io::Error::new(
        ErrorKind::AddrInUse,
        format!("{} comes back whenever it is removed", lock.display()),
    ))
}

/// The process that a lock file names. None: nobody, or the file has gone.
fn owner(lock: &Path) -> io::Result<Option<i32>> {
    let text = match fs::read_to_string(lock) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A stand-alone server of PostgreSQL writes its number with a minus sign.
    let number: Option<i32> = text.lines().next().and_then(|line| line.trim().parse().ok());
    Ok(number.map(i32::abs).filter(|&number| number != 0))
}

/// Our own number in a file that we did not write is that of a former process: in a container they repeat.
fn is_running(process: i32) -> bool {
    let Some(pid) = rustix::process::Pid::from_raw(process) else {
        return false;
    };
    pid != rustix::process::getpid()
        && rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_over_from_those_that_have_gone() {
        let directory = std::env::temp_dir().join(format!("mote-socket-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        let lock = directory.join(".s.PGSQL.7.lock");
        let (_, file) = SocketFile::listen(&directory, 7).expect("free");
        let own = fs::read_to_string(&lock).expect("a lock file");
        assert!(own.starts_with(&format!("{}\n", std::process::id())));
        let socket = file.path().to_path_buf();
        drop(file);
        assert!(!socket.exists() && !lock.exists());
        // Process 1 runs always.
        fs::write(&lock, "1\n").expect("written");
        fs::write(&socket, "").expect("written");
        let refused = SocketFile::listen(&directory, 7).err().expect("in use");
        assert!(refused.to_string().contains("process 1 listens on"), "{refused}");
        assert!(lock.exists() && socket.exists(), "what is another's stays");
        fs::write(&lock, format!("{}\n", i32::MAX)).expect("written");
        drop(SocketFile::listen(&directory, 7).expect("taken over"));
        fs::remove_dir_all(&directory).expect("removed");
    }
}
