//! Who is at the other end of a Unix socket: the kernel knows the process, the system knows its user's name.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::ptr;

/// Room for a user's entry; the system's own recommendation is a tenth of it.
const ENTRY_BYTES: usize = 16 << 10;

/// The operating system's name of the user whose process connected. It may ask a directory service, and wait for it.
pub fn user(socket: &impl AsFd) -> Option<String> {
    let credentials = rustix::net::sockopt::socket_peercred(socket).ok()?;
    user_name(credentials.uid.as_raw())
}

fn user_name(uid: u32) -> Option<String> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0 as libc::c_char; ENTRY_BYTES];
    let mut found = ptr::null_mut();
    // SAFETY: `entry`, `buffer` with its true length, and `found` are ours for the time of the call, which writes to
    // nothing else.
    let failed = unsafe {
        libc::getpwuid_r(
            uid,
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        )
    };
    if failed != 0 || found.is_null() {
        return None;
    }
    // SAFETY: without a failure and with an entry found, `found` points to `entry`, filled; its name is a string that
    // ends with a zero in `buffer`, and both live to the end of this function.
    let name = unsafe { CStr::from_ptr((*found).pw_name) };
    name.to_str().ok().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_process_is_its_users() {
        let (one, _other) = UnixStream::pair().expect("sockets");
        let own = std::process::Command::new("id")
            .arg("-un")
            .output()
            .expect("id runs");
        let own = String::from_utf8(own.stdout).expect("a name");
        assert_eq!(user(&one).as_deref(), Some(own.trim()));
        assert_eq!(user_name(0).as_deref(), Some("root"));
        assert_eq!(user_name(u32::MAX - 7), None);
    }
}
