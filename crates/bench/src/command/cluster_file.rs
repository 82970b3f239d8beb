//! A cluster file: a primary and a standby that somebody else has set up, and the commands that start and stop them.
//!
//! ```text
//! # a comment
//! primary       = postgres://postgres@127.0.0.1:5432/postgres
//! standby       = postgres://postgres@127.0.0.1:5433/postgres
//! start-primary = pg_ctl -D /srv/a -w start
//! stop-primary  = pg_ctl -D /srv/a -m fast -w stop
//! start-standby = ./copy-and-follow.sh
//! stop-standby  = pg_ctl -D /srv/b -m fast -w stop
//! ```
//!
//! Commands are run by `sh -c`, must return once they have done it, and do nothing where it is done already. `start-standby`
//! makes a new copy if the standby has been promoted.

use std::path::Path;

#[derive(Debug, PartialEq, Default)]
pub struct ClusterFile {
    pub primary: String,
    pub standby: String,
    pub start_primary: Option<String>,
    pub stop_primary: Option<String>,
    pub start_standby: Option<String>,
    pub stop_standby: Option<String>,
}

impl ClusterFile {
    pub fn read(path: &Path) -> Result<ClusterFile, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        ClusterFile::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<ClusterFile, String> {
        let mut file = ClusterFile::default();
        let (mut primary, mut standby) = (None, None);
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = line
                .split_once('=')
                .ok_or_else(|| format!("line {number} is not of the form KEY = VALUE"))?;
            let place = match key.trim() {
                "primary" => &mut primary,
                "standby" => &mut standby,
                "start-primary" => &mut file.start_primary,
                "stop-primary" => &mut file.stop_primary,
                "start-standby" => &mut file.start_standby,
                "stop-standby" => &mut file.stop_standby,
                other => return Err(format!("line {number}: there is no key \"{other}\"")),
            };
            if place.replace(value.trim().to_string()).is_some() {
                return Err(format!("line {number}: \"{}\" stands twice", key.trim()));
            }
        }
        file.primary = primary.ok_or("it names no primary")?;
        file.standby = standby.ok_or("it names no standby")?;
        if file.start_standby.is_some() != file.stop_standby.is_some() {
            return Err("start-standby and stop-standby come together".into());
        }
        Ok(file)
    }

    /// For those that have ended the primary.
    pub fn start_primary(&self) -> Result<&str, String> {
        self.start_primary
            .as_deref()
            .ok_or_else(|| "the cluster file has no start-primary".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_and_its_commands() {
        let text = "# two servers\nprimary = postgres://a/x?connect_timeout=2\n\nstandby=postgres://b/x\n\
                    start-standby = copy --to b\n stop-standby = ssh b stop\n";
        let file = ClusterFile::parse(text).expect("valid");
        assert_eq!(file.primary, "postgres://a/x?connect_timeout=2");
        assert_eq!(file.standby, "postgres://b/x");
        assert_eq!(file.start_standby.as_deref(), Some("copy --to b"));
        assert!(file.start_primary().is_err());
        for (wrong, says) in [
            ("primary = x", "names no standby"),
            ("standby = x", "names no primary"),
            ("primary = x\nprimary = y", "line 2: \"primary\" stands twice"),
            ("primry = x", "line 1: there is no key \"primry\""),
            ("primary", "line 1 is not of the form"),
            ("primary = a\nstandby = b\nstart-standby = c", "come together"),
        ] {
            let error = ClusterFile::parse(wrong).expect_err(wrong);
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
