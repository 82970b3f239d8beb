//! The first copy of another server's database, into a directory that is a follower's or nothing at any moment.
//!
//! What makes a directory start is its MANIFEST: it is written last, when the directory says already that it follows, and whose
//! terms its log has. A file `COPYING` stands there from before the first byte on until then: who finds it begins anew, and removes
//! what a copy that ended early has left. Nothing is removed from a directory without it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use mote_common::env::{Disk, real};
use mote_engine::backup::{BackupSink, DirectorySink, LABEL_PATH};
use mote_engine::checkpoint::Manifest;
use mote_engine::checkpoint::image::IMAGE_DIRECTORY;
use mote_engine::checkpoint::manifest::MANIFEST_PATH;
use mote_log::segment::LOG_DIRECTORY;
use mote_replication::history::History;
use mote_replication::node;

pub const COPYING: &str = "COPYING";
const PARTS: [&str; 3] = [LOG_DIRECTORY, IMAGE_DIRECTORY, "replication"];

/// A copy that ended early stands there, and nobody goes on with it.
pub fn is_unfinished(data: &Path) -> bool {
    data.join(COPYING).exists() && !data.join(MANIFEST_PATH).exists()
}

/// What to say to who wants something else there.
pub fn unfinished(data: &Path) -> String {
    format!(
        "{} holds an unfinished copy of another server's database. Start it with --follow or --cluster, or empty it",
        data.display()
    )
}

/// The directory has a database: nothing is unfinished any more.
pub fn is_done(data: &Path) -> Result<(), String> {
    match std::fs::remove_file(data.join(COPYING)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!(
            "could not remove {COPYING} from {}: {error}",
            data.display()
        )),
        _ => Ok(()),
    }
}

pub struct Copying<'d> {
    data: &'d Path,
    disk: Arc<dyn Disk>,
    /// Nobody else begins here meanwhile.
    _lock: Box<dyn Send + Sync>,
}

impl<'d> Copying<'d> {
    pub fn begin(data: &'d Path) -> Result<Copying<'d>, String> {
        let disk = real::disk(data);
        let lock = disk.lock_exclusive("LOCK").map_err(|error| {
            format!(
                "the data directory is in use by another process: {error}; stop that one first ({})",
                data.display()
            )
        })?;
        let failed = |error: io::Error| format!("could not write into {}: {error}", data.display());
        if disk.exists(COPYING).map_err(failed)? {
            for part in PARTS {
                match std::fs::remove_dir_all(data.join(part)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                    _ => {}
                }
            }
        } else if let Some(part) = PARTS.iter().find(|part| holds_files(&data.join(part))) {
            return Err(format!(
                "{} has no {MANIFEST_PATH}, and files in {part}: they are not overwritten. Name an empty or a new directory",
                data.display()
            ));
        } else {
            disk.create(COPYING)
                .and_then(|file| file.sync_data())
                .and_then(|()| disk.sync_dir(""))
                .map_err(failed)?;
        }
        Ok(Copying {
            data,
            disk,
            _lock: lock,
        })
    }

    /// Where the database's files go.
    pub fn sink(&self) -> Result<Sink<'_>, String> {
        Ok(Sink {
            files: DirectorySink::create(&*self.disk).map_err(|error| self.failed(&error))?,
            disk: &*self.disk,
            held: None,
            manifest: Vec::new(),
        })
    }

    /// The directory is a node's when this returns: of the database that `manifest` tells of, whose log has the terms of `history`.
    pub fn finish(self, manifest: &[u8], history: &History, part: node::Part) -> Result<(), String> {
        let manifest =
            Manifest::decode(manifest).map_err(|error| format!("{}: {error}", self.data.display()))?;
        let noted = node::note_terms(&*self.disk, manifest.system_id, history)
            .and_then(|()| node::set_part(&*self.disk, manifest.system_id, part))
            .and_then(|()| manifest.write(&*self.disk));
        noted.map_err(|error| self.failed(&error))?;
        is_done(self.data)
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("could not write into {}: {error}", self.data.display())
    }
}

fn holds_files(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

/// Takes a backup's files, and holds back the one that would make the directory start. It gets no label: with one it would be a
/// backup, to which no server may write.
pub struct Sink<'c> {
    files: DirectorySink<'c>,
    disk: &'c dyn Disk,
    /// The content of a file that is not written here, and whether it is the manifest.
    held: Option<(bool, Vec<u8>)>,
    pub manifest: Vec<u8>,
}

impl BackupSink for Sink<'_> {
    fn begin(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        match path {
            MANIFEST_PATH | LABEL_PATH => {
                self.held = Some((path == MANIFEST_PATH, Vec::with_capacity(bytes as usize)));
                Ok(())
            }
            _ => self.files.begin(path, bytes),
        }
    }

    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        match &mut self.held {
            Some((_, held)) => {
                held.extend_from_slice(data);
                Ok(())
            }
            None => self.files.write(data),
        }
    }

    fn zeros(&mut self, bytes: u64) -> io::Result<()> {
        match &mut self.held {
            Some((_, held)) => {
                held.resize(held.len() + bytes as usize, 0);
                Ok(())
            }
            None => self.files.zeros(bytes),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match self.held.take() {
            Some((true, manifest)) => self.manifest = manifest,
            Some((false, _)) => {}
            None => self.files.end()?,
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.disk.sync_dir(IMAGE_DIRECTORY)?;
        self.disk.sync_dir(LOG_DIRECTORY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Directory(std::path::PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("mote-copying-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("the temporary directory can be written");
            Directory(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            // Left-overs are the temporary directory's business.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn put(sink: &mut Sink<'_>, path: &str, bytes: &[u8]) {
        sink.begin(path, bytes.len() as u64).expect("written");
        sink.write(bytes).expect("written");
        sink.end().expect("written");
    }

    #[test]
    fn what_ended_early_is_begun_anew_and_nothing_else_is_removed() {
        let directory = Directory::new("anew");
        let data = &directory.0;
        for _ in 0..2 {
            let copying = Copying::begin(data).expect("an empty directory, or one of a copy");
            let mut sink = copying.sink().expect("it has room");
            put(&mut sink, "log/0000000000001000.log", b"log");
            put(&mut sink, MANIFEST_PATH, b"manifest");
            put(&mut sink, LABEL_PATH, b"label");
            sink.finish().expect("synced");
            assert_eq!(sink.manifest, b"manifest");
            // As if it were killed.
            assert!(is_unfinished(data));
            assert!(!data.join(MANIFEST_PATH).exists() && !data.join(LABEL_PATH).exists());
            assert!(Copying::begin(data).is_err(), "it is in use");
        }
        std::fs::remove_file(data.join(COPYING)).expect("it was there");
        let refused = Copying::begin(data)
            .err()
            .expect("whose log this is nobody knows");
        assert!(refused.contains("not overwritten"), "{refused}");
        assert!(data.join("log/0000000000001000.log").exists());
    }
}
