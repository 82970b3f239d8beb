//! A disk that can be made full, and have space again: a tmpfs of the test's own.

use std::path::{Path, PathBuf};

use crate::clients::program;
use crate::server::TemporaryDirectory;

/// A mounted tmpfs, unmounted when dropped.
pub struct SmallDisk(TemporaryDirectory);

impl SmallDisk {
    /// None only where the environment says that a mount is impossible here; else a failed mount fails the test.
    pub fn mount(megabytes: u32) -> Option<SmallDisk> {
        let directory = TemporaryDirectory::new("small-disk");
        let path = directory.path().display().to_string();
        let size = format!("size={megabytes}m");
        let said = run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &path]);
        if said.ok {
            return Some(SmallDisk(directory));
        }
        if std::env::var("MOTE_IT_NO_MOUNT").is_ok_and(|v| v == "1") {
            eprintln!("no mount is possible here, as MOTE_IT_NO_MOUNT says: the full disk was not tested");
            return None;
        }
        panic!(
            "mount failed: {}\nrun as root, or set MOTE_IT_NO_MOUNT=1 to go without this test",
            said.err
        );
    }

    pub fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    /// Gives the disk another size.
    pub fn resize(&self, megabytes: u32) {
        self.remount(&format!("{megabytes}m"));
    }

    /// Leaves no byte of space, and takes none away that is in use.
    pub fn fill(&self) {
        // A tmpfs is not made smaller than what it holds, and what it holds may change between look and mount.
        for _ in 0..100 {
            let said = rustix::fs::statvfs(self.0.path()).expect("the disk is mounted");
            let used = (said.f_blocks - said.f_bfree) * said.f_frsize;
            let path = self.0.path().display().to_string();
            let option = format!("remount,size={}k", used.div_ceil(1024).max(4));
            if run("mount", &["-o", &option, &path]).ok {
                return;
            }
        }
        panic!("the disk could not be filled");
    }

    fn remount(&self, size: &str) {
        let path = self.0.path().display().to_string();
        let said = run("mount", &["-o", &format!("remount,size={size}"), &path]);
        assert!(said.ok, "{}", said.err);
    }
}

fn run(name: &str, arguments: &[&str]) -> crate::clients::Said {
    program(name, arguments, Path::new("/"), "install mount")
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = self.0.path().display().to_string();
        // What stays mounted is the temporary directory's business.
        let _ = run("umount", &["-l", &path]);
    }
}
