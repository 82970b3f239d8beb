//! Settings of the whole server: a file in the data directory that ALTER SYSTEM writes.
//!
//! [`SettingsFile`] is a file that was read, in the form of postgresql.auto.conf: `name = 'value'` in each line, `#` begins a
//! comment, of two lines for one name the later counts. [`ServerSettings`] keeps two of them: the one on the disk, and the
//! one in force, which is taken over at the start and on a reload.
//!
//! Promises: a file with any mistake is refused as a whole, and the former settings stay in force. The file is written anew
//! beside the old one, synced and renamed over it. Leaves out: what a value may be (`value`), and what sessions make of it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::env::Disk;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use parking_lot::{Mutex, RwLock};

use super::{SETTINGS, Settings, lookup};

/// In the data directory.
pub const FILE_NAME: &str = "mote.auto.conf";
const NEW_NAME: &str = "mote.auto.conf.new";
const HEAD: &str =
    "# ALTER SYSTEM writes this file and takes over what stands in it; comments are lost then.\n";
/// A file that is longer is none of ours.
const BYTES_MAX: u64 = 1 << 20;

/// A line that is not empty.
#[derive(Clone, Debug)]
pub struct FileLine {
    pub number: i32,
    /// As it is written; empty where the line cannot be read.
    pub name: String,
    pub value: String,
    /// What is wrong with it.
    pub error: Option<String>,
    /// A later line for the same setting counts instead.
    pub overruled: bool,
}

/// A file that was read.
#[derive(Clone, Debug, Default)]
pub struct SettingsFile {
    lines: Vec<FileLine>,
    /// By the table's own names: the line that counts.
    values: BTreeMap<&'static str, usize>,
}

impl SettingsFile {
    pub fn parse(text: &str) -> SettingsFile {
        let base = Settings::new();
        let mut file = SettingsFile::default();
        for (at, line) in text.lines().enumerate() {
            let number = i32::try_from(at + 1).unwrap_or(i32::MAX);
            let read = match split(line) {
                Ok(None) => continue,
                Ok(Some((name, value))) => file.checked(&base, name, value),
                Err(error) => Err((String::new(), String::new(), error)),
            };
            let (name, value, error) = match read {
                Ok((name, value)) => (name, value, None),
                Err((name, value, error)) => (name, value, Some(error)),
            };
            file.lines.push(FileLine {
                number,
                name,
                value,
                error,
                overruled: false,
            });
        }
        file
    }

    /// Takes a line's setting up if it can be obeyed.
    fn checked(
        &mut self,
        base: &Settings,
        name: String,
        value: String,
    ) -> Result<(String, String), (String, String, String)> {
        match base.check_for_file(&name, &value) {
            Ok(known) => {
                if let Some(former) = self.values.insert(known, self.lines.len()) {
                    self.lines[former].overruled = true;
                }
                Ok((name, value))
            }
            Err(error) => Err((name, value, error.message().to_string())),
        }
    }

    pub fn lines(&self) -> &[FileLine] {
        &self.lines
    }

    /// The line that counts for a setting of the table.
    pub fn line(&self, name: &str) -> Option<&FileLine> {
        self.values.get(name).map(|&at| &self.lines[at])
    }

    /// The value of a setting of the table, if the file has one.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.line(name).map(|line| &*line.value)
    }

    /// Some line cannot even be read: what it was meant to say would be lost in a new file.
    fn is_unreadable(&self) -> bool {
        self.lines.iter().any(|line| line.name.is_empty())
    }

    /// Why it cannot be used: the first line with a mistake.
    fn mistake(&self) -> Option<String> {
        let wrong = self.lines.iter().find(|line| line.error.is_some())?;
        let error = wrong.error.as_deref().unwrap_or_default();
        Some(format!("{FILE_NAME} line {}: {error}", wrong.number))
    }

    /// The text of the file with one setting changed or taken out, or, for no name, without any.
    fn text_with(&self, change: Option<(&str, Option<&str>)>) -> String {
        let mut text = HEAD.to_string();
        let Some((changed, value)) = change else {
            return text;
        };
        // Lines with a value that cannot be obeyed stay: it is for the user to correct them.
        let kept = self
            .lines
            .iter()
            .filter(|line| !line.overruled && !line.name.eq_ignore_ascii_case(changed));
        let kept = kept.map(|line| (line.name.as_str(), line.value.as_str()));
        for (name, value) in kept.chain(value.map(|value| (changed, value))) {
            text.push_str(&format!(
                "{name} = '{}'\n",
                value.replace('\\', "\\\\").replace('\'', "''")
            ));
        }
        text
    }
}

/// Name and value of a line; None for one without any.
fn split(line: &str) -> Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))
        .unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let (value, rest) = match rest.strip_prefix('\'') {
        Some(quoted) => unquote(quoted)?,
        None => {
            let end = rest
                .find(|c: char| c.is_whitespace() || c == '#')
                .unwrap_or(rest.len());
            (rest[..end].to_string(), &rest[end..])
        }
    };
    let rest = rest.trim_start();
    if name.is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
        return Err("syntax error".to_string());
    }
    Ok(Some((name.to_string(), value)))
}

/// The text up to the closing quote, and what follows. Quotes are doubled in it or stand, as backslashes do, behind a
/// backslash.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '\'' if characters.next_if(|&(_, next)| next == '\'').is_some() => value.push('\''),
            '\'' => return Ok((value, &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, escaped @ ('\\' | '\''))) => value.push(escaped),
                _ => return Err("syntax error".to_string()),
            },
            other => value.push(other),
        }
    }
    Err("syntax error".to_string())
}

/// The settings of a server: what its file says and what is in force.
pub struct ServerSettings {
    disk: Arc<dyn Disk>,
    /// As read or written last. Held locked while the file changes, by threads that may wait for a disk; whoever may not
    /// reads `on_disk`.
    changing: Mutex<()>,
    on_disk: RwLock<Arc<SettingsFile>>,
    in_force: RwLock<Arc<SettingsFile>>,
    /// How often `in_force` was replaced.
    generation: AtomicU64,
}

impl ServerSettings {
    /// Reads the file, if there is one.
    pub fn open(disk: Arc<dyn Disk>) -> Result<ServerSettings, String> {
        let file = Arc::new(read(&*disk).map_err(|error| format!("{FILE_NAME}: {error}"))?);
        match file.mistake() {
            Some(mistake) => Err(mistake),
            None => Ok(ServerSettings {
                disk,
                changing: Mutex::new(()),
                on_disk: RwLock::new(file.clone()),
                in_force: RwLock::new(file),
                generation: AtomicU64::new(0),
            }),
        }
    }

    /// Another number after every reload. Acquire pairs with Release in `reload`: who sees the number sees the settings.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub fn in_force(&self) -> Arc<SettingsFile> {
        self.in_force.read().clone()
    }

    /// The file as it was read or written last, mistakes included.
    pub fn on_disk(&self) -> Arc<SettingsFile> {
        self.on_disk.read().clone()
    }

    /// What is in force of a setting of the table that no session changes: the file's value or the table's.
    pub fn value(&self, name: &str) -> String {
        let default = || {
            lookup(name)
                .map_or("", |index| SETTINGS[index].default)
                .to_string()
        };
        self.in_force().value(name).map_or_else(default, str::to_string)
    }

    /// Reads the file again. A file with a mistake, or that cannot be read, leaves the former settings in force.
    /// Waits for the disk.
    pub fn reload(&self) -> Result<(), String> {
        let _alone = self.changing.lock();
        let file = Arc::new(read(&*self.disk).map_err(|error| format!("{FILE_NAME}: {error}"))?);
        *self.on_disk.write() = file.clone();
        if let Some(mistake) = file.mistake() {
            return Err(mistake);
        }
        *self.in_force.write() = file;
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// ALTER SYSTEM: changes a setting in the file, takes it out (no value), or takes all out (no name). Nothing is in
    /// force before a reload. Refused where the file has a line that cannot be read, but for taking all out. Waits for
    /// the disk.
    pub fn change(&self, change: Option<(&str, Option<&str>)>) -> SqlResult<()> {
        let _alone = self.changing.lock();
        // Somebody may have edited it meanwhile.
        let before = match change {
            Some(_) => read(&*self.disk).map_err(|error| not_written(&error))?,
            None => SettingsFile::default(),
        };
        if before.is_unreadable() {
            return Err(SqlError::new(
                state::CONFIG_FILE_ERROR,
                format!("could not parse contents of file \"{FILE_NAME}\""),
            ));
        }
        self.replace(&before.text_with(change))
            .map_err(|error| not_written(&error))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        if self.disk.exists(NEW_NAME)? {
            self.disk.remove(NEW_NAME)?;
        }
        let file = self.disk.create(NEW_NAME)?;
        file.write_all_at(text.as_bytes(), 0)?;
        file.sync_data()?;
        self.disk.rename(NEW_NAME, FILE_NAME)?;
        self.disk.sync_dir("")?;
        *self.on_disk.write() = Arc::new(SettingsFile::parse(text));
        Ok(())
    }
}

fn read(disk: &dyn Disk) -> io::Result<SettingsFile> {
    if !disk.exists(FILE_NAME)? {
        return Ok(SettingsFile::default());
    }
    let file = disk.open(FILE_NAME)?;
    let length = file.len()?;
    if length > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too long"));
    }
    let mut bytes = vec![0; length as usize];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    let text = String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(SettingsFile::parse(&text))
}

/// The table's own name of a setting that ALTER SYSTEM RESET names.
pub fn name_to_reset(name: &str) -> SqlResult<&'static str> {
    super::to_keep_in_file(name).map(|setting| setting.name)
}

/// Why the file could not be written.
fn not_written(error: &io::Error) -> SqlError {
    SqlError::new(
        state::IO_ERROR,
        format!("could not write file \"{FILE_NAME}\": {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::env::real;

    #[test]
    fn lines_are_read_in_all_their_forms() {
        let file = SettingsFile::parse(
            "# head\n\nwork_mem = '8MB'\nDateStyle german # later\nsearch_path = 'it''s, \\\\'\nWORK_MEM=9MB\n",
        );
        assert_eq!(file.mistake(), None);
        assert_eq!(file.value("work_mem"), Some("9MB"));
        assert_eq!(file.value("DateStyle"), Some("german"));
        assert_eq!(file.value("search_path"), Some("it's, \\"));
        assert!(file.lines()[0].overruled);
        assert_eq!(file.line("work_mem").map(|line| line.number), Some(6));
    }

    #[test]
    fn mistakes_are_told_by_line() {
        for (text, told) in [
            ("work_mem = '1", "line 1: syntax error"),
            ("= 1", "line 1: syntax error"),
            ("\nwork_mem = 1 2", "line 2: syntax error"),
            ("nosuch = 1", "unrecognized configuration parameter \"nosuch\""),
            (
                "work_mem = abc",
                "invalid value for parameter \"work_mem\": \"abc\"",
            ),
            (
                "server_version = 1",
                "parameter \"server_version\" cannot be changed",
            ),
        ] {
            let mistake = SettingsFile::parse(text).mistake().unwrap_or_default();
            assert!(mistake.contains(told), "{text}: {mistake}");
        }
    }

    #[test]
    fn a_change_is_on_the_disk_and_in_force_after_a_reload() {
        let directory = std::env::temp_dir().join(format!("mote-settings-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let disk = real::env(&directory).disk;
        let settings = ServerSettings::open(disk.clone()).unwrap();
        settings
            .change(Some(("search_path", Some("it's, \"B\\\""))))
            .unwrap();
        settings.change(Some(("work_mem", Some("8MB")))).unwrap();
        assert_eq!(settings.value("work_mem"), "1GB");
        settings.reload().unwrap();
        assert_eq!(settings.value("work_mem"), "8MB");
        assert_eq!(settings.value("search_path"), "it's, \"B\\\"");
        settings.change(Some(("work_mem", None))).unwrap();
        let again = ServerSettings::open(disk).unwrap();
        assert_eq!(again.value("work_mem"), "1GB");
        assert_eq!(again.value("search_path"), "it's, \"B\\\"");
        std::fs::write(directory.join(FILE_NAME), "work_mem = abc").unwrap();
        settings.reload().unwrap_err();
        assert_eq!(settings.value("work_mem"), "8MB");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn lines_with_mistakes_are_not_lost() {
        let directory = std::env::temp_dir().join(format!("mote-settings-edited-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let settings = ServerSettings::open(real::env(&directory).disk).unwrap();
        let path = directory.join(FILE_NAME);
        std::fs::write(&path, "nosuch = 1\nwork_mem = abc\nWork_Mem = '8 pints'\n").unwrap();
        settings.change(Some(("search_path", Some("a")))).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            format!("{HEAD}nosuch = '1'\nwork_mem = 'abc'\nWork_Mem = '8 pints'\nsearch_path = 'a'\n")
        );
        settings.change(Some(("work_mem", Some("8MB")))).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            format!("{HEAD}nosuch = '1'\nsearch_path = 'a'\nwork_mem = '8MB'\n")
        );
        let unreadable = "work_mem = '8MB\nsearch_path = a\n";
        std::fs::write(&path, unreadable).unwrap();
        let error = settings.change(Some(("work_mem", None))).unwrap_err();
        assert_eq!(error.state(), state::CONFIG_FILE_ERROR);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), unreadable);
        settings.change(None).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), HEAD);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
