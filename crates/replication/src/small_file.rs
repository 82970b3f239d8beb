//! Files of a few bytes that must never be half written: written anew beside the old one, synced, renamed over it.

use std::io;

use mote_common::env::Disk;

pub(crate) const DIRECTORY: &str = "replication";
const MAGIC: [u8; 8] = *b"moteREP\0";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;

/// What `replication/NAME` holds is `payload` when this returns.
pub(crate) fn write(disk: &dyn Disk, name: &str, payload: &[u8]) -> io::Result<()> {
    disk.create_dir_all(DIRECTORY)?;
    let (path, new) = (format!("{DIRECTORY}/{name}"), format!("{DIRECTORY}/{name}.new"));
    if disk.exists(&new)? {
        disk.remove(&new)?;
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    let file = disk.create(&new)?;
    file.write_all_at(&bytes, 0)?;
    file.sync_data()?;
    disk.rename(&new, &path)?;
    disk.sync_dir(DIRECTORY)
}

/// `None`: there is no such file. Damage is an error: what was promised must not be forgotten.
pub(crate) fn read(disk: &dyn Disk, name: &str) -> io::Result<Option<Vec<u8>>> {
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
    if bytes[8..12] != VERSION.to_le_bytes() {
        return Err(damaged("written by another release"));
    }
    let payload = bytes.split_off(HEADER_BYTES);
    if bytes[12..] != crc32fast::hash(&payload).to_le_bytes() {
        return Err(damaged("it fails its checksum"));
    }
    Ok(Some(payload))
}
