//! Rows of a segment image behind right checksums: decoded, or refused in words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mote_common::{Lsn, TableId};
use mote_engine::checkpoint::image::{IMAGE_HEADER_BYTES, ImageBuilder, decode_image};
use mote_engine::checkpoint::{ImageEntry, SegmentKey};

fuzz_target!(|input: &[u8]| {
    let (count, rows) = match input {
        [low, high, rest @ ..] => (u16::from_le_bytes([*low, *high]), rest),
        _ => return,
    };
    let key = SegmentKey {
        table: TableId(5),
        segment: 3,
    };
    // A builder's own header, with the rows exchanged and the checksums put right.
    let mut image = ImageBuilder::new().finish(key, Lsn(1 << 40)).to_vec();
    image.truncate(IMAGE_HEADER_BYTES);
    image.extend_from_slice(rows);
    let total = image.len() as u64;
    let (header, rows) = image.split_at_mut(IMAGE_HEADER_BYTES);
    header[24..32].copy_from_slice(&total.to_le_bytes());
    header[32..36].copy_from_slice(&u32::from(count).to_le_bytes());
    header[36..40].copy_from_slice(&crc32fast::hash(rows).to_le_bytes());
    let crc = crc32fast::hash(&header[..40]);
    header[40..44].copy_from_slice(&crc.to_le_bytes());
    let entry = ImageEntry {
        ts: Lsn(1 << 40),
        file: 1,
        offset: 4096,
        bytes: total,
        rows: u32::from(count),
    };
    match decode_image(&image, key, &entry) {
        Ok(rows) => assert_eq!(rows.len(), usize::from(count)),
        Err(damage) => drop(damage.to_string()),
    }
});
