//! A backup's label with a right checksum, and a backup made of nothing else: read, or refused in words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mote_common::env::Disk;
use mote_common::env::sim::SimDisk;
use mote_engine::backup::{BackupLabel, LABEL_PATH, verify_backup};

fuzz_target!(|input: &[u8]| {
    drop(BackupLabel::decode(input));
    let mut bytes = input.to_vec();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    let crc = format!("crc: {:08x}\n", crc32fast::hash(&bytes));
    bytes.extend_from_slice(crc.as_bytes());
    if let Ok(label) = BackupLabel::decode(&bytes) {
        let again = BackupLabel::decode(&label.encode()).expect("what was read can be written");
        assert_eq!(again.encode(), label.encode());
    }
    let disk = SimDisk::new(1);
    let file = disk.create(LABEL_PATH).expect("a new disk");
    file.write_all_at(&bytes, 0).expect("there is room");
    drop(verify_backup(&disk, &mut |_| Ok(())));
});
