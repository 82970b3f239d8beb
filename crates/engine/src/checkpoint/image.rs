//! Segment images: the rows of one segment as of one timestamp, in append-only files.
//!
//! A file `image/<number>.img` is a header block and images one after another; each image is a 64-byte header, with its
//! own checksum and that of the rows, and the rows. `docs/formats/image.md` has the bytes. Decoding takes untrusted bytes
//! and never panics. Leaves out: which images are alive (`manifest`).

use std::fmt;
use std::io;
use std::sync::Arc;

use mote_common::env::{DIRECT_ALIGNMENT, Disk, File};
use mote_common::{Lsn, RowId, TableId};

use super::manifest::{ImageEntry, SegmentKey};
use mote_log::varint::{self, Cursor};

pub const IMAGE_DIRECTORY: &str = "image";
pub const IMAGE_FILE_HEADER_BYTES: u64 = 4096;
pub const IMAGE_HEADER_BYTES: usize = 64;
pub const IMAGE_FORMAT_VERSION: u32 = 1;
/// Images are synced in portions of this size, so that a flush of the log never queues behind a whole file.
const SYNC_BYTES: u64 = 4 << 20;
const FILE_MAGIC: [u8; 8] = *b"moteIMG\0";
const IMAGE_MAGIC: [u8; 4] = *b"mIMG";

/// One row of an image, and what `visit_segment` hands out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowImage<'a> {
    pub row: RowId,
    pub layout: u8,
    /// xmin for clients.
    pub revision: u16,
    pub commit_ts: Lsn,
    pub bytes: &'a [u8],
}

/// Collects one image in memory.
#[derive(Default)]
pub struct ImageBuilder {
    /// Room for the header, then rows.
    bytes: Vec<u8>,
    rows: u32,
}

impl ImageBuilder {
    pub fn new() -> ImageBuilder {
        ImageBuilder {
            bytes: vec![0; IMAGE_HEADER_BYTES],
            rows: 0,
        }
    }

    /// Makes it fit for the next image, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(IMAGE_HEADER_BYTES, 0);
        self.rows = 0;
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    pub fn push(&mut self, row: &RowImage<'_>) {
        self.bytes.extend_from_slice(&row.row.offset().to_le_bytes());
        self.bytes.push(row.layout);
        self.bytes.extend_from_slice(&row.revision.to_le_bytes());
        varint::put(&mut self.bytes, row.commit_ts.0);
        varint::put_bytes(&mut self.bytes, row.bytes);
        self.rows += 1;
    }

    /// The image, header included.
    pub fn finish(&mut self, key: SegmentKey, ts: Lsn) -> &[u8] {
        let rows_crc = crc32fast::hash(&self.bytes[IMAGE_HEADER_BYTES..]);
        let mut header = Vec::with_capacity(IMAGE_HEADER_BYTES);
        header.extend_from_slice(&IMAGE_MAGIC);
        header.extend_from_slice(&IMAGE_FORMAT_VERSION.to_le_bytes());
        header.extend_from_slice(&key.table.0.to_le_bytes());
        header.extend_from_slice(&key.segment.to_le_bytes());
        header.extend_from_slice(&ts.0.to_le_bytes());
        header.extend_from_slice(&(self.bytes.len() as u64).to_le_bytes());
        header.extend_from_slice(&self.rows.to_le_bytes());
        header.extend_from_slice(&rows_crc.to_le_bytes());
        let crc = crc32fast::hash(&header);
        header.extend_from_slice(&crc.to_le_bytes());
        self.bytes[..header.len()].copy_from_slice(&header);
        &self.bytes
    }
}

pub fn image_path(number: u64) -> String {
    format!("{IMAGE_DIRECTORY}/{number:016x}.img")
}

/// The number in an image file's name; `None` for other files.
pub fn parse_image_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".img")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (digits == format!("{number:016x}")).then_some(number)
}

/// An image file being written.
pub struct ImageFile {
    pub number: u64,
    file: Arc<dyn File>,
    end: u64,
    synced: u64,
}

impl ImageFile {
    pub fn create(disk: &dyn Disk, number: u64, system_id: u64) -> io::Result<ImageFile> {
        let path = image_path(number);
        if disk.exists(&path)? {
            // A round that failed, or a crash, left it: no manifest names it.
            disk.remove(&path)?;
        }
        let file = disk.create(&path)?;
        file.write_all_at(&encode_file_header(system_id, number), 0)?;
        Ok(ImageFile {
            number,
            file,
            end: IMAGE_FILE_HEADER_BYTES,
            synced: 0,
        })
    }

    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Appends an image; not durable before `sync`.
    pub fn append(&mut self, image: &[u8], ts: Lsn, rows: u32) -> io::Result<ImageEntry> {
        let offset = self.end;
        self.file.write_all_at(image, offset)?;
        self.end += image.len() as u64;
        if self.end - self.synced >= SYNC_BYTES {
            self.sync()?;
        }
        Ok(ImageEntry {
            ts,
            file: self.number,
            offset,
            bytes: image.len() as u64,
            rows,
        })
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced = self.end;
        Ok(())
    }
}

/// The first block of an image file.
pub fn encode_file_header(system_id: u64, number: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(IMAGE_FILE_HEADER_BYTES as usize);
    bytes.extend_from_slice(&FILE_MAGIC);
    bytes.extend_from_slice(&IMAGE_FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&system_id.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    let crc = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.resize(IMAGE_FILE_HEADER_BYTES as usize, 0);
    bytes
}

/// What is wrong with an image, with the place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageDamage {
    pub path: String,
    pub offset: u64,
    pub key: Option<SegmentKey>,
    pub what: String,
}

impl fmt::Display for ImageDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image damaged (file {}, byte {}", self.path, self.offset)?;
        if let Some(key) = self.key {
            write!(f, ", table {}, segment {}", key.table.0, key.segment)?;
        }
        write!(f, "): {}. Restore from a backup or promote a standby", self.what)
    }
}

impl std::error::Error for ImageDamage {}

/// Opens an image file and checks its header. Aligned reads go past the operating system's cache where they can.
pub fn open_image_file(disk: &dyn Disk, number: u64, system_id: u64) -> Result<Arc<dyn File>, ImageDamage> {
    let path = image_path(number);
    let damage = |what: String| ImageDamage {
        path: path.clone(),
        offset: 0,
        key: None,
        what,
    };
    let file = disk
        .open_to_read(&path)
        .map_err(|e| damage(format!("the file cannot be opened: {e}")))?;
    let expected = &encode_file_header(system_id, number)[..64];
    let mut found = [0; 64];
    let length = file.read_at(&mut found, 0).map_err(|e| damage(e.to_string()))?;
    if found[..8] == FILE_MAGIC && found[8..12] != expected[8..12] {
        return Err(damage(later_format(&found[8..12])));
    }
    if found[..length] != *expected {
        return Err(damage(
            "the file's header does not say what the manifest expects".into(),
        ));
    }
    Ok(file)
}

/// Reads bytes `start..end` of an image file into `buffer` and answers them. `first` is blamed when they cannot be had.
///
/// Whole blocks are read to an address that is a multiple of theirs, as direct access wants it.
pub fn read_images<'a>(
    file: &dyn File,
    (start, end): (u64, u64),
    first: (SegmentKey, &ImageEntry),
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], ImageDamage> {
    const BLOCK: usize = DIRECT_ALIGNMENT;
    let damage = |what: String| damage(first.0, first.1, what);
    let length = file.len().map_err(|e| damage(e.to_string()))?;
    if end > length || start > end {
        return Err(damage(format!("the file has {length} bytes, too few")));
    }
    let before = start as usize % BLOCK;
    let wanted = before + (end - start) as usize;
    let whole = wanted.next_multiple_of(BLOCK);
    if buffer.len() < whole + BLOCK {
        buffer.resize(whole + BLOCK, 0);
    }
    // At most one block: the buffer has that more than is read.
    let from = buffer.as_ptr().align_offset(BLOCK).min(BLOCK);
    let blocks = &mut buffer[from..from + whole];
    let read = file
        .read_at(blocks, start - before as u64)
        .map_err(|e| damage(e.to_string()))?;
    // The last block of the file may be cut off.
    if read < wanted {
        return Err(damage("the file ends within it".into()));
    }
    Ok(&blocks[before..wanted])
}

/// Reads one image into `buffer`: its rows, checked.
pub fn read_image<'a>(
    file: &dyn File,
    key: SegmentKey,
    entry: &ImageEntry,
    buffer: &'a mut Vec<u8>,
) -> Result<Vec<RowImage<'a>>, ImageDamage> {
    let end = entry.offset.saturating_add(entry.bytes);
    let bytes = read_images(file, (entry.offset, end), (key, entry), buffer)?;
    decode_image(bytes, key, entry)
}

/// Checks an image in memory: its header, its checksums, each row's frame.
pub fn verify_image(image: &[u8], key: SegmentKey, entry: &ImageEntry) -> Result<(), String> {
    decode_image(image, key, entry)
        .map(|_| ())
        .map_err(|damage| damage.what)
}

/// The rows of an image, checked against what the manifest says of it.
pub fn decode_image<'a>(
    bytes: &'a [u8],
    key: SegmentKey,
    entry: &ImageEntry,
) -> Result<Vec<RowImage<'a>>, ImageDamage> {
    let rows = check_header(bytes, key, entry).map_err(|what| damage(key, entry, what))?;
    let mut cursor = Cursor::new(rows);
    // No more than bytes: the count may be anything.
    let mut found = Vec::with_capacity((entry.rows as usize).min(rows.len()));
    while !cursor.is_empty() {
        let row = decode_row(&mut cursor, key.segment)
            .ok_or_else(|| damage(key, entry, format!("row {} makes no sense", found.len())))?;
        found.push(row);
    }
    if found.len() != entry.rows as usize {
        return Err(damage(
            key,
            entry,
            format!("{} rows, expected {}", found.len(), entry.rows),
        ));
    }
    Ok(found)
}

fn damage(key: SegmentKey, entry: &ImageEntry, what: String) -> ImageDamage {
    ImageDamage {
        path: image_path(entry.file),
        offset: entry.offset,
        key: Some(key),
        what,
    }
}

fn later_format(version: &[u8]) -> String {
    let version = version
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes));
    format!("image format {version}; this release reads format {IMAGE_FORMAT_VERSION}")
}

fn check_header<'a>(bytes: &'a [u8], key: SegmentKey, entry: &ImageEntry) -> Result<&'a [u8], String> {
    let Some((header, rows)) = bytes.split_first_chunk::<IMAGE_HEADER_BYTES>() else {
        return Err("too short for a header".into());
    };
    let mut expected = Vec::with_capacity(IMAGE_HEADER_BYTES);
    expected.extend_from_slice(&IMAGE_MAGIC);
    expected.extend_from_slice(&IMAGE_FORMAT_VERSION.to_le_bytes());
    expected.extend_from_slice(&key.table.0.to_le_bytes());
    expected.extend_from_slice(&key.segment.to_le_bytes());
    expected.extend_from_slice(&entry.ts.0.to_le_bytes());
    expected.extend_from_slice(&entry.bytes.to_le_bytes());
    expected.extend_from_slice(&entry.rows.to_le_bytes());
    expected.extend_from_slice(&crc32fast::hash(rows).to_le_bytes());
    let crc = crc32fast::hash(&expected);
    expected.extend_from_slice(&crc.to_le_bytes());
    let checked = expected.len();
    if header[..4] == IMAGE_MAGIC && header[4..8] != expected[4..8] {
        return Err(later_format(&header[4..8]));
    }
    if header[..36] != expected[..36] {
        return Err("the header does not say what the manifest expects".into());
    }
    if header[..checked] != expected[..] {
        return Err("the checksum does not fit".into());
    }
    Ok(rows)
}

fn decode_row<'a>(cursor: &mut Cursor<'a>, segment: u32) -> Option<RowImage<'a>> {
    let offset = cursor.u16()?;
    if offset as u32 >= RowId::SEGMENT_ROWS {
        return None;
    }
    let layout = cursor.byte()?;
    let revision = cursor.u16()?;
    let commit_ts = Lsn(cursor.varint()?);
    Some(RowImage {
        row: RowId::new(segment, offset),
        layout,
        revision,
        commit_ts,
        bytes: cursor.bytes()?,
    })
}

/// For messages of others about a row.
pub fn describe_row(table: TableId, row: RowId) -> String {
    format!("row ({},{}) of table {}", row.segment(), row.offset(), table.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::sim::SimDisk;
    use mote_common::prng::Prng;

    const KEY: SegmentKey = SegmentKey {
        table: TableId(4),
        segment: 9,
    };

    fn rows() -> Vec<(u16, Vec<u8>)> {
        (0..100).map(|i| (i * 7, vec![i as u8; i as usize * 3])).collect()
    }

    fn write(disk: &SimDisk) -> (ImageFile, ImageEntry) {
        let mut file = ImageFile::create(disk, 3, 77).expect("created");
        let mut builder = ImageBuilder::new();
        for (offset, bytes) in &rows() {
            let row = RowId::new(KEY.segment, *offset);
            builder.push(&RowImage {
                row,
                layout: 2,
                revision: 5,
                commit_ts: Lsn(40),
                bytes,
            });
        }
        let count = builder.rows();
        let entry = file
            .append(builder.finish(KEY, Lsn(50)), Lsn(50), count)
            .expect("written");
        (file, entry)
    }

    fn read(disk: &SimDisk, entry: &ImageEntry) -> Result<Vec<(u16, Vec<u8>)>, ImageDamage> {
        let file = open_image_file(disk, 3, 77)?;
        let mut bytes = Vec::new();
        let rows = read_image(&*file, KEY, entry, &mut bytes)?;
        let known = |row: &RowImage<'_>| (row.layout, row.revision, row.commit_ts) == (2, 5, Lsn(40));
        assert!(rows.iter().all(known));
        Ok(rows
            .iter()
            .map(|row| (row.row.offset(), row.bytes.to_vec()))
            .collect())
    }

    #[test]
    fn rows_survive() {
        let disk = SimDisk::new(1);
        let (_, entry) = write(&disk);
        assert_eq!(read(&disk, &entry).expect("whole"), rows());
        assert_eq!(parse_image_name("0000000000000003.img"), Some(3));
        assert_eq!(parse_image_name("3.img"), None);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let seed = 2;
        let mut prng = Prng::new(seed);
        let disk = SimDisk::new(seed);
        let (_, entry) = write(&disk);
        for _ in 0..400 {
            let offset = entry.offset + prng.below(entry.bytes);
            // The rest of the image header is reserved and unchecked.
            if (44..64).contains(&(offset - entry.offset)) {
                continue;
            }
            let bit = prng.below(8) as u8;
            assert!(disk.flip_bit(&image_path(3), offset, bit));
            let damage = read(&disk, &entry).expect_err("the flip is found");
            assert!(damage.to_string().contains("table 4, segment 9"), "{damage}");
            disk.flip_bit(&image_path(3), offset, bit);
        }
        for wrong in [
            ImageEntry { ts: Lsn(51), ..entry },
            ImageEntry {
                offset: entry.offset + 1,
                ..entry
            },
            ImageEntry {
                bytes: u64::MAX,
                ..entry
            },
            ImageEntry { bytes: 3, ..entry },
        ] {
            assert!(read(&disk, &wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn random_rows_with_a_right_checksum_never_panic() {
        let seed = 5;
        let mut prng = Prng::new(seed);
        for round in 0..3_000 {
            let bytes: Vec<u8> = (0..prng.below(60)).map(|_| prng.below(20) as u8).collect();
            let mut cursor = Cursor::new(&bytes);
            while !cursor.is_empty() && decode_row(&mut cursor, 1).is_some() {}
            assert!(round < 3_000, "seed {seed}");
        }
    }
}
