//! The file BACKUP: what a base backup is, and a checksum of every byte in it.
//!
//! Text, so that people can read it; docs/formats/backup.md has the lines. It is written last: a directory without it is
//! no backup. Decoding takes untrusted bytes and never panics.

use std::fmt::Write;

use mote_common::Lsn;

pub const LABEL_PATH: &str = "BACKUP";
pub const BACKUP_FORMAT_VERSION: u32 = 1;
const TITLE: &str = "mote backup, format ";
/// Longest label, in bytes; PostgreSQL's MAXPGPATH.
pub const LABEL_BYTES_MAX: usize = 1024;

/// A file of the backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSum {
    pub path: String,
    pub bytes: u64,
    pub crc: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupLabel {
    /// The user's words, on one line.
    pub label: String,
    pub system_id: u64,
    /// Of the client's clock, microseconds since 1970 UTC.
    pub started_us: i64,
    pub finished_us: i64,
    pub segment_bytes: u64,
    /// From where the log is there.
    pub log_start: Lsn,
    /// The images hold nothing above: the earliest moment that can be restored.
    pub consistent: Lsn,
    /// Where the backup's own log ends.
    pub end: Lsn,
    pub files: Vec<FileSum>,
}

impl BackupLabel {
    pub fn encode(&self) -> Vec<u8> {
        let mut text = format!("{TITLE}{BACKUP_FORMAT_VERSION}\n");
        let one_line = self.label.replace(['\n', '\r'], " ");
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "label: {one_line}\nsystem id: {:016x}\nstarted: {}\nfinished: {}\nsegment bytes: {}\n\
             log start: {:016x}\nconsistent: {:016x}\nend: {:016x}\n",
            self.system_id,
            self.started_us,
            self.finished_us,
            self.segment_bytes,
            self.log_start.0,
            self.consistent.0,
            self.end.0,
        );
        for file in &self.files {
            let _ = writeln!(text, "file: {:08x} {} {}", file.crc, file.bytes, file.path);
        }
        let crc = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "crc: {crc:08x}");
        text.into_bytes()
    }

    pub fn decode(bytes: &[u8]) -> Result<BackupLabel, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_string())?;
        let rest = text
            .strip_prefix(TITLE)
            .ok_or_else(|| "this is no label of a backup of mote".to_string())?;
        let version = rest.split('\n').next().unwrap_or_default();
        if version != BACKUP_FORMAT_VERSION.to_string() {
            return Err(format!(
                "the backup has format {version}, this release reads format {BACKUP_FORMAT_VERSION}: use the release \
                 that wrote it"
            ));
        }
        let body = text
            .strip_suffix('\n')
            .and_then(|text| text.rfind('\n'))
            .map_or("", |at| &text[..=at]);
        if text[body.len()..] != format!("crc: {:08x}\n", crc32fast::hash(body.as_bytes())) {
            return Err("it fails its checksum".into());
        }
        decode_lines(body).ok_or_else(|| "it passes its checksum but makes no sense".to_string())
    }
}

fn decode_lines(body: &str) -> Option<BackupLabel> {
    // Not `lines()`, which also takes a carriage return away: a path may end with one.
    let mut lines = body.split_terminator('\n').skip(1);
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(": ");
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut label = BackupLabel {
        label: field("label")?.to_string(),
        system_id: hexadecimal(field("system id")?)?,
        started_us: field("started")?.parse().ok()?,
        finished_us: field("finished")?.parse().ok()?,
        segment_bytes: field("segment bytes")?.parse().ok()?,
        log_start: Lsn(hexadecimal(field("log start")?)?),
        consistent: Lsn(hexadecimal(field("consistent")?)?),
        end: Lsn(hexadecimal(field("end")?)?),
        files: Vec::new(),
    };
    if !label.segment_bytes.is_power_of_two() || label.end < label.log_start {
        return None;
    }
    for line in lines {
        let mut parts = line.strip_prefix("file: ")?.splitn(3, ' ');
        let (crc, bytes, path) = (parts.next()?, parts.next()?, parts.next()?);
        // Paths are the backup's own: nothing that leads out of its directory.
        if path.starts_with('/') || path.split('/').any(|part| part.is_empty() || part == "..") {
            return None;
        }
        label.files.push(FileSum {
            path: path.to_string(),
            bytes: bytes.parse().ok()?,
            crc: u32::from_str_radix(crc, 16).ok()?,
        });
    }
    Some(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    fn label() -> BackupLabel {
        let file = |path: &str, crc| FileSum {
            path: path.into(),
            bytes: 4096,
            crc,
        };
        BackupLabel {
            label: "nightly, before the upgrade".into(),
            system_id: 0xabc,
            started_us: -5,
            finished_us: 17,
            segment_bytes: 1 << 20,
            log_start: Lsn(1 << 20),
            consistent: Lsn(3 << 20),
            end: Lsn(5 << 20),
            files: vec![file("image/0000000000000001.img", 7), file("MANIFEST", u32::MAX)],
        }
    }

    #[test]
    fn labels_survive() {
        assert_eq!(BackupLabel::decode(&label().encode()), Ok(label()));
        let two_lines = BackupLabel {
            label: "a\nb".into(),
            ..label()
        };
        let read = BackupLabel::decode(&two_lines.encode()).expect("one line of it");
        assert_eq!(read.label, "a b");
    }

    #[test]
    fn a_carriage_return_at_the_end_of_a_path_stays() {
        let mut odd = label();
        odd.files[1].path = "odd\r".into();
        assert_eq!(BackupLabel::decode(&odd.encode()), Ok(odd));
    }

    #[test]
    fn every_change_is_found_and_nothing_panics() {
        let seed = 4;
        let mut prng = Prng::new(seed);
        let bytes = label().encode();
        for _ in 0..5_000 {
            let mut damaged = bytes.clone();
            let at = prng.below(bytes.len() as u64) as usize;
            damaged[at] ^= 1 << prng.below(8);
            assert!(BackupLabel::decode(&damaged).is_err(), "seed {seed}, byte {at}");
            damaged.truncate(prng.below(bytes.len() as u64) as usize);
            assert!(BackupLabel::decode(&damaged).is_err(), "seed {seed}, cut");
        }
    }

    #[test]
    fn a_later_format_and_paths_that_lead_out_are_refused() {
        let text = String::from_utf8(label().encode()).expect("text");
        let later = text.replacen("format 1", "format 2", 1);
        let error = BackupLabel::decode(later.as_bytes()).expect_err("refused");
        assert!(
            error.contains("format 2") && error.contains("format 1"),
            "{error}"
        );
        let mut evil = label();
        evil.files[0].path = "../../etc/passwd".into();
        assert!(BackupLabel::decode(&evil.encode()).is_err());
    }
}
