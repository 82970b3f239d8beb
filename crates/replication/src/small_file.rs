//! Files of a few bytes that must never be half written: written anew beside the old one, synced, renamed over it.

use std::io;

use mote_common::env::Disk;

pub(crate) const DIRECTORY: &str = "replication";
const MAGIC: [u8; 8] = *b"moteREP\0";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;

/// What `replication/NAME` holds is `payload` when this returns.
pub(crate) fn write(disk: &dyn Disk, system_id: u64, name: &str, payload: &[u8]) -> io::Result<()> {
    write_version(disk, system_id, name, VERSION, payload)
}

/// The same for a form of the file that earlier releases do not read.
pub(crate) fn write_version(
    disk: &dyn Disk,
    system_id: u64,
    name: &str,
    version: u32,
    payload: &[u8],
) -> io::Result<()> {
    disk.create_dir_all(DIRECTORY)?;
    let (path, new) = (format!("{DIRECTORY}/{name}"), format!("{DIRECTORY}/{name}.new"));
    if disk.exists(&new)? {
        disk.remove(&new)?;
    }
    let mut checked = system_id.to_le_bytes().to_vec();
    checked.extend_from_slice(payload);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&checked).to_le_bytes());
    bytes.extend_from_slice(&checked);
    let file = disk.create(&new)?;
    file.write_all_at(&bytes, 0)?;
    file.sync_data()?;
    disk.rename(&new, &path)?;
    disk.sync_dir(DIRECTORY)
}

/// `None`: there is no such file. Damage is an error: what was promised must not be forgotten.
pub(crate) fn read(disk: &dyn Disk, system_id: u64, name: &str) -> io::Result<Option<Vec<u8>>> {
    read_version(disk, system_id, name, VERSION)
}

/// The same of any version up to `newest`; later ones extend the earlier.
pub(crate) fn read_version(
    disk: &dyn Disk,
    system_id: u64,
    name: &str,
    newest: u32,
) -> io::Result<Option<Vec<u8>>> {
    let path = format!("{DIRECTORY}/{name}");
    if !disk.exists(&path)? {
        return Ok(None);
    }
    let file = disk.open(&path)?;
    let mut bytes = vec![0; file.len()? as usize];
    let read = file.read_at(&mut bytes, 0)?;
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {what}"));
    if read < bytes.len() || read < HEADER_BYTES || bytes[..8] != MAGIC {
        return Err(damaged("this is no replication file of mote"));
    }
    let version = bytes[8..12]
        .try_into()
        .map(u32::from_le_bytes)
        .unwrap_or_default();
    if !(VERSION..=newest).contains(&version) {
        return Err(damaged("written by another release"));
    }
    if bytes[12..16] != crc32fast::hash(&bytes[16..]).to_le_bytes() {
        return Err(damaged("it fails its checksum"));
    }
    if bytes[16..HEADER_BYTES] != system_id.to_le_bytes() {
        return Err(damaged("it belongs to another system"));
    }
    Ok(Some(bytes.split_off(HEADER_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::sim::{SimDisk, env};

    #[test]
    fn a_file_is_the_old_one_or_the_new_one_and_a_strangers_is_refused() {
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            write(&*env(&disk, 1).0.disk, 7, "x", b"old").expect("the disk works");
            write(&*env(&disk, 1).0.disk, 7, "x", b"newer").expect("the disk works");
            let crashed = disk.crash();
            let world = env(&crashed, 1).0;
            assert_eq!(
                read(&*world.disk, 7, "x").expect("sound"),
                Some(b"newer".to_vec())
            );
            assert_eq!(read(&*world.disk, 7, "y").expect("sound"), None);
            let stranger = read(&*world.disk, 8, "x").expect_err("another system's");
            assert!(stranger.to_string().contains("another system"), "{stranger}");
            assert!(crashed.flip_bit("replication/x", seed % 29, 2));
            assert!(read(&*world.disk, 7, "x").is_err(), "byte {}", seed % 29);
        }
    }
}
