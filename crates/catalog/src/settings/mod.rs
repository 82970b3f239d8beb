//! Settings that SQL can see: SHOW, SET, RESET, pg_settings.
//!
//! Read `setting` for what one is, `table` and `advice` for what exists and what each one means, `server_facts` for how the
//! server was started, `statements` for those about statistics,
//! `foreign` for what does not exist, `names` for what may be set where, `value` for what a value may be, `file` for those
//! of the whole server, then this file for how values are kept: a session holds the text of every setting with where it is
//! from, plus the few that hot paths need in parsed form (`effective`). SET is transactional: an
//! abort brings back what stood before, SET LOCAL ends with the transaction.
//!
//! Source: PostgreSQL's guc.c and guc_tables.c; names, kinds, contexts, units and ranges are theirs.

mod advice;
mod characteristics;
mod date_style;
mod effective;
mod file;
mod foreign;
mod names;
mod plan_key;
mod seeded_random;
mod server_facts;
mod setting;
mod source;
mod statements;
mod table;
mod value;

use std::collections::BTreeMap;

use mote_common::{SqlError, SqlResult, error::state};

use names::{
    check_context, check_custom_name, check_standby_names, find, find_to_set, is_custom, to_keep_in_file,
};

pub use characteristics::{Characteristics, ISOLATION_HINT, isolation_named, isolation_text};
pub use effective::Effective;
pub use file::{FILE_NAME, FileLine, ServerSettings, SettingsFile, name_to_reset};
pub use plan_key::PlanKey;
pub use seeded_random::SeededRandom;
pub use setting::{Context, Kind, Setting};
pub use source::Source;
pub use statements::{QueryIds, StatementSettings, Track};
pub use table::{SETTINGS, lookup};
pub use value::{general, in_own_unit};
pub use value::{parse_bool, show_integer};

pub use mote_common::error::Severity;

/// One session's values.
pub struct Settings {
    values: Vec<String>,
    /// What RESET returns to: server defaults overlaid by what the startup packet asked for.
    defaults: Vec<String>,
    /// Where `values` and `defaults` are from.
    sources: Vec<Source>,
    default_sources: Vec<Source>,
    /// It has taken over the server's settings once.
    begun: bool,
    /// Settings with a dot in their name, which clients make up: in lower case, with what RESET returns to.
    custom: BTreeMap<String, Custom>,
    /// Values to bring back, newest last.
    undo: Vec<Undo>,
    pub effective: Effective,
    pub transaction: Characteristics,
    /// Where random() is, once the session has said where it begins. No transaction brings it back.
    pub random: Option<SeededRandom>,
}

#[derive(Default)]
struct Custom {
    value: String,
    default: String,
}

/// What a routine's own settings stand before: for `Settings::swap_back`.
#[derive(Clone, Debug)]
pub struct Swapped {
    value: String,
    source: Source,
}

/// Which setting, in the table or made up.
#[derive(Clone, PartialEq, Eq)]
enum Key {
    Known(usize),
    Custom(String),
}

struct Undo {
    setting: Key,
    value: String,
    source: Source,
    local: bool,
    savepoint_depth: u32,
}

impl Settings {
    pub fn new() -> Settings {
        let values: Vec<String> = SETTINGS.iter().map(|s| s.default.to_string()).collect();
        let effective = Effective::parse(&values).expect("the defaults of the table are valid");
        Settings {
            sources: vec![Source::Default; values.len()],
            default_sources: vec![Source::Default; values.len()],
            defaults: values.clone(),
            values,
            begun: false,
            custom: BTreeMap::new(),
            undo: Vec::new(),
            effective,
            transaction: Characteristics::default(),
            random: None,
        }
    }

    pub fn get(&self, name: &str) -> SqlResult<&str> {
        if is_custom(name)
            && let Some(custom) = self.custom.get(&name.to_ascii_lowercase())
        {
            return Ok(&custom.value);
        }
        Ok(self.value(find(name)?))
    }

    /// Value by position in [`SETTINGS`].
    pub fn value(&self, index: usize) -> &str {
        if SETTINGS[index].name == "seed" {
            return "unavailable";
        }
        let of_transaction = self.transaction.shown(SETTINGS[index].name);
        of_transaction.unwrap_or(&self.values[index])
    }

    pub fn default_value(&self, index: usize) -> &str {
        &self.defaults[index]
    }

    /// Where the value is from, by position in [`SETTINGS`].
    pub fn source(&self, index: usize) -> Source {
        self.sources[index]
    }

    /// Sets a value that the session begins with: it becomes the session's default too.
    pub fn set_initial(&mut self, name: &str, value: &str, source: Source) -> SqlResult<()> {
        if is_custom(name) {
            check_custom_name(name)?;
            let (value, default) = (value.to_string(), value.to_string());
            self.custom
                .insert(name.to_ascii_lowercase(), Custom { value, default });
            return Ok(());
        }
        let index = find_to_set(name)?;
        check_context(&SETTINGS[index], true)?;
        let value = self.canonical(index, name, value)?;
        self.check_among_statements(index, &value)?;
        self.replace(index, value.clone())?;
        self.defaults[index] = value;
        self.sources[index] = source;
        self.default_sources[index] = source;
        Ok(())
    }

    /// Begins with the server's settings.
    pub fn begin_with(&mut self, file: &SettingsFile) -> SqlResult<()> {
        self.follow(file).map(|_| ())
    }

    /// Takes over what the server's settings are by now, where nothing nearer to the session has set another value.
    /// Outside a transaction, which may have former values to bring back. Answers what the client must be told.
    pub fn follow(&mut self, file: &SettingsFile) -> SqlResult<Vec<Reported>> {
        debug_assert!(
            self.undo.is_empty(),
            "former values would come back over the new ones"
        );
        let mut changed = Vec::new();
        for (index, setting) in SETTINGS.iter().enumerate() {
            let (value, source) = match file.value(setting.name) {
                Some(value) => (self.canonical(index, setting.name, value)?, Source::File),
                None if self.default_sources[index] == Source::File => {
                    (setting.default.to_string(), Source::Default)
                }
                None => continue,
            };
            // What a session only gets when it begins stays as it was then.
            let late = self.begun && matches!(setting.context, Context::Backend | Context::SuperuserBackend);
            if late || self.default_sources[index] > Source::File {
                continue;
            }
            self.defaults[index].clone_from(&value);
            self.default_sources[index] = source;
            if self.sources[index] <= Source::File {
                self.replace(index, value)?;
                self.sources[index] = source;
                changed.extend(self.reported(index));
            }
        }
        self.begun = true;
        Ok(changed)
    }

    /// The own spelling of a setting that somebody wants to set later, in sessions to come. What no session may set to
    /// the value is refused.
    pub fn check_for_later(&self, name: &str, value: &str) -> SqlResult<String> {
        if is_custom(name) {
            check_custom_name(name)?;
            return Ok(name.to_string());
        }
        let index = find_to_set(name)?;
        check_context(&SETTINGS[index], false)?;
        let value = self.canonical(index, name, value)?;
        self.check_among_statements(index, &value)?;
        let mut values = self.values.clone();
        values[index] = value;
        Effective::parse(&values)?;
        Ok(SETTINGS[index].name.to_string())
    }

    /// The name under which a setting goes to the server's file, if the server can obey the value there.
    pub fn check_for_file(&self, name: &str, value: &str) -> SqlResult<&'static str> {
        let setting = to_keep_in_file(name)?;
        let index = find(name)?;
        let value = self.canonical(index, name, value)?;
        let mut values = self.values.clone();
        values[index] = value;
        Effective::parse(&values)?;
        Ok(setting.name)
    }

    /// The transaction has begun where no statement of its own sets it: its characteristics cannot change any more.
    fn check_among_statements(&self, index: usize, value: &str) -> SqlResult<()> {
        let refuse = |what: &str| {
            Err(SqlError::new(
                state::ACTIVE_SQL_TRANSACTION,
                format!("SET TRANSACTION {what} must be called before any query"),
            ))
        };
        match SETTINGS[index].name {
            "transaction_isolation" if value != isolation_text(self.transaction.isolation) => {
                refuse("ISOLATION LEVEL")
            }
            "transaction_deferrable" => refuse("[NOT] DEFERRABLE"),
            _ => Ok(()),
        }
    }

    /// Refuses settings that only superusers may change to others.
    pub fn check_may_set(name: &str, superuser: bool) -> SqlResult<()> {
        let restricted = |index: usize| {
            matches!(
                SETTINGS[index].context,
                Context::Superuser | Context::SuperuserBackend
            )
        };
        match table::lookup(name) {
            Some(index) if restricted(index) && !superuser => Err(SqlError::new(
                state::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to set parameter \"{}\"", SETTINGS[index].name),
            )),
            _ => Ok(()),
        }
    }

    /// SET and SET LOCAL. Returns the setting and its new text when the client tracks it (ParameterStatus).
    pub fn set(&mut self, name: &str, value: &str, local: bool, depth: u32) -> SqlResult<Option<Reported>> {
        if is_custom(name) {
            return self.set_custom(name, value, local, depth).map(|()| None);
        }
        let index = find_to_set(name)?;
        check_context(&SETTINGS[index], false)?;
        let value = self.canonical(index, name, value)?;
        self.assign(index, value, Source::Session, local, depth)?;
        Ok(self.reported(index))
    }

    fn assign(
        &mut self,
        index: usize,
        value: String,
        source: Source,
        local: bool,
        depth: u32,
    ) -> SqlResult<()> {
        let old = self.values[index].clone();
        self.replace(index, value)?;
        self.undo.push(Undo {
            setting: Key::Known(index),
            value: old,
            source: std::mem::replace(&mut self.sources[index], source),
            local,
            savepoint_depth: depth,
        });
        Ok(())
    }

    /// A name that was never set begins as the empty text, which is what an abort leaves behind, as in PostgreSQL.
    fn set_custom(&mut self, name: &str, value: &str, local: bool, depth: u32) -> SqlResult<()> {
        check_custom_name(name)?;
        let name = name.to_ascii_lowercase();
        let custom = self.custom.entry(name.clone()).or_default();
        let old = std::mem::replace(&mut custom.value, value.to_string());
        self.undo.push(Undo {
            setting: Key::Custom(name),
            value: old,
            source: Source::Session,
            local,
            savepoint_depth: depth,
        });
        Ok(())
    }

    /// The value as it is kept and shown.
    fn canonical(&self, index: usize, name: &str, value: &str) -> SqlResult<String> {
        let setting = &SETTINGS[index];
        if setting.name == "DateStyle" {
            let current = (self.effective.format.date_style, self.effective.format.date_order);
            return date_style::canonical(value, current, &self.defaults[index]);
        }
        if setting.name == "synchronous_standby_names" {
            check_standby_names(value)?;
        }
        value::canonical(setting, name, value)
    }

    /// What RESET returns to.
    pub fn default_of(&self, name: &str) -> SqlResult<String> {
        if is_custom(name)
            && let Some(custom) = self.custom.get(&name.to_ascii_lowercase())
        {
            return Ok(custom.default.clone());
        }
        Ok(self.defaults[find(name)?].clone())
    }

    /// Sets a value that the session itself decides: user names, the current transaction's characteristics.
    pub fn set_fact(&mut self, name: &str, value: &str) {
        let index = lookup(name).expect("facts are in the table");
        self.values[index] = value.to_string();
        self.defaults[index] = value.to_string();
    }

    /// RESET of a setting that no other follows from.
    pub fn reset(&mut self, name: &str, depth: u32) -> SqlResult<Option<Reported>> {
        let value = self.default_of(name)?;
        let reported = self.set(name, &value, false, depth)?;
        self.note_reset(name);
        Ok(reported)
    }

    /// What was set last is what `default_of` said: the value is from where the default is.
    pub fn note_reset(&mut self, name: &str) {
        if let Some(index) = lookup(name) {
            self.sources[index] = self.default_sources[index];
        }
    }

    /// RESET ALL and DISCARD ALL: every setting a session may change.
    pub fn reset_all(&mut self, depth: u32) -> Vec<Reported> {
        let mut reported = Vec::new();
        let custom: Vec<(String, String)> = (self.custom.iter())
            .map(|(name, custom)| (name.clone(), custom.default.clone()))
            .collect();
        for (name, default) in custom {
            self.set_custom(&name, &default, false, depth)
                .expect("a known name is valid");
        }
        for (index, setting) in SETTINGS.iter().enumerate() {
            if matches!(setting.context, Context::Superuser | Context::User) && !setting.keeps_on_reset_all {
                let value = self.defaults[index].clone();
                let source = self.default_sources[index];
                if (&value, source) != (&self.values[index], self.sources[index]) {
                    let changed = self.assign(index, value, source, false, depth);
                    changed.expect("a default is valid");
                    reported.extend(self.reported(index));
                }
            }
        }
        reported
    }

    /// How many values there are to bring back: for `swap_back`.
    pub fn undo_mark(&self) -> usize {
        self.undo.len()
    }

    /// Sets a value for as long as a routine runs; answers with the former one, for `swap_back`.
    pub fn swap(&mut self, name: &str, value: &str) -> SqlResult<Swapped> {
        if is_custom(name) {
            check_custom_name(name)?;
            let custom = self.custom.entry(name.to_ascii_lowercase()).or_default();
            let value = std::mem::replace(&mut custom.value, value.to_string());
            return Ok(Swapped {
                value,
                source: Source::Session,
            });
        }
        let index = find(name)?;
        let value = self.canonical(index, name, value)?;
        let old = self.values[index].clone();
        self.replace(index, value)?;
        let source = std::mem::replace(&mut self.sources[index], Source::Session);
        Ok(Swapped { value: old, source })
    }

    /// Ends what `swap` began. What the routine set of this name since `mark` ends with it.
    pub fn swap_back(&mut self, name: &str, old: Swapped, mark: usize) {
        let key = match is_custom(name) {
            true => Key::Custom(name.to_ascii_lowercase()),
            false => match find(name) {
                Ok(index) => Key::Known(index),
                Err(_) => return,
            },
        };
        let mut position = 0;
        self.undo.retain(|undo| {
            position += 1;
            position <= mark || undo.setting != key
        });
        self.bring_back(&key, old.value, old.source);
    }

    /// Brings back what was set since `mark`. Returns what the client must be told.
    pub fn undo_to(&mut self, mark: usize) -> Vec<Reported> {
        let mut changed = Vec::new();
        while self.undo.len() > mark
            && let Some(undo) = self.undo.pop()
        {
            self.bring_back(&undo.setting, undo.value, undo.source);
            changed.push(undo.setting);
        }
        self.reported_of(&changed)
    }

    /// True if the transaction changed settings.
    #[inline]
    pub fn has_undo(&self) -> bool {
        !self.undo.is_empty()
    }

    /// The transaction ended. Returns what the client must be told.
    pub fn end_transaction(&mut self, committed: bool) -> Vec<Reported> {
        self.revert(|undo| !committed || undo.local)
    }

    /// ROLLBACK TO SAVEPOINT: reverts what was set at `depth` or deeper.
    pub fn rollback_to(&mut self, depth: u32) -> Vec<Reported> {
        let keep = self
            .undo
            .iter()
            .take_while(|undo| undo.savepoint_depth < depth)
            .count();
        let mut tail = self.undo.split_off(keep);
        let mut changed = Vec::new();
        while let Some(undo) = tail.pop() {
            self.bring_back(&undo.setting, undo.value, undo.source);
            changed.push(undo.setting);
        }
        self.reported_of(&changed)
    }

    /// RELEASE: what was set since belongs to the savepoint around it, of which `depth` are open now.
    pub fn release_to(&mut self, depth: u32) {
        for undo in &mut self.undo {
            undo.savepoint_depth = undo.savepoint_depth.min(depth);
        }
    }

    fn revert(&mut self, which: impl Fn(&Undo) -> bool) -> Vec<Reported> {
        let mut changed = Vec::new();
        // A plain SET after a SET LOCAL of the same name wins over the local's former value.
        let mut kept: Vec<Key> = Vec::new();
        while let Some(undo) = self.undo.pop() {
            if which(&undo) {
                if !kept.contains(&undo.setting) {
                    self.bring_back(&undo.setting, undo.value, undo.source);
                    changed.push(undo.setting);
                }
            } else {
                kept.push(undo.setting);
            }
        }
        self.reported_of(&changed)
    }

    fn bring_back(&mut self, setting: &Key, value: String, source: Source) {
        match setting {
            Key::Known(index) => {
                self.replace(*index, value).expect("a former value is valid");
                self.sources[*index] = source;
            }
            Key::Custom(name) => self.custom.entry(name.clone()).or_default().value = value,
        }
    }

    fn reported_of(&self, changed: &[Key]) -> Vec<Reported> {
        let known = changed.iter().filter_map(|key| match key {
            Key::Known(index) => Some(*index),
            Key::Custom(_) => None,
        });
        known.filter_map(|index| self.reported(index)).collect()
    }

    fn replace(&mut self, index: usize, value: String) -> SqlResult<()> {
        if SETTINGS[index].name == "seed" {
            self.random = value.parse().ok().map(SeededRandom::new);
            return Ok(());
        }
        let old = std::mem::replace(&mut self.values[index], value);
        if SETTINGS[index].effective {
            match Effective::parse(&self.values) {
                Ok(effective) => self.effective = effective,
                Err(error) => {
                    self.values[index] = old;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn reported(&self, index: usize) -> Option<Reported> {
        SETTINGS[index].reported.then(|| Reported {
            name: SETTINGS[index].name,
            value: self.values[index].clone(),
        })
    }

    /// All settings the client tracks, for the start of a session.
    pub fn all_reported(&self) -> Vec<Reported> {
        (0..SETTINGS.len())
            .filter_map(|index| self.reported(index))
            .collect()
    }

    /// A setting and its value, if the client tracks it.
    pub fn report_of(&self, name: &str) -> Option<Reported> {
        self.reported(lookup(name)?)
    }

    /// Settings that change how a statement is planned: part of the key of cached plans.
    #[inline]
    pub fn plan_key(&self) -> PlanKey {
        self.effective.plan_key
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}

/// A setting the client is told of.
pub struct Reported {
    pub name: &'static str,
    pub value: String,
}

/// Splits `a, "B c", "$user"` into names: unquoted ones folded to lower case.
pub fn parse_name_list(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut characters = quoted.char_indices().peekable();
            let mut end = quoted.len();
            while let Some((at, c)) = characters.next() {
                if c != '"' {
                    name.push(c);
                } else if characters.peek().is_some_and(|&(_, next)| next == '"') {
                    name.push('"');
                    characters.next();
                } else {
                    end = at + 1;
                    break;
                }
            }
            names.push(name);
            rest = quoted[end..].trim_start();
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let name = rest[..end].trim();
            if !name.is_empty() {
                names.push(name.to_lowercase());
            }
            rest = &rest[end..];
        }
        rest = rest.trim_start().strip_prefix(',').unwrap_or("").trim_start();
    }
    names
}

/// Whether neither SHOW ALL nor pg_settings has a setting: who the session is, and what is set more than shown.
pub fn is_unlisted(setting: &str) -> bool {
    is_identity(setting) || matches!(setting, "is_superuser" | "seed")
}

/// Whether a setting tells of the server's files: not everybody may know where they are.
pub fn names_files(setting: &str) -> bool {
    ["data_directory", "config_file", "hba_file"]
        .iter()
        .any(|name| setting.eq_ignore_ascii_case(name))
}

/// Whether a setting says who the session acts as.
pub fn is_identity(setting: &str) -> bool {
    setting.eq_ignore_ascii_case("role") || setting.eq_ignore_ascii_case("session_authorization")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_lists() {
        assert_eq!(parse_name_list("\"$user\", public"), ["$user", "public"]);
        assert_eq!(parse_name_list("A, \"B\"\"c\",d"), ["a", "B\"c", "d"]);
        assert_eq!(parse_name_list(""), Vec::<String>::new());
    }

    #[test]
    fn set_is_transactional() {
        let mut settings = Settings::new();
        settings.set("application_name", "one", false, 0).unwrap();
        settings.end_transaction(true);
        settings.set("application_name", "two", false, 0).unwrap();
        settings.end_transaction(false);
        assert_eq!(settings.get("application_name").unwrap(), "one");
        settings.set("application_name", "local", true, 0).unwrap();
        settings.end_transaction(true);
        assert_eq!(settings.get("application_name").unwrap(), "one");
    }

    #[test]
    fn made_up_settings_follow_the_transaction() {
        let mut settings = Settings::new();
        settings.set("My.Custom", "1", false, 0).unwrap();
        settings.end_transaction(true);
        settings.set("my.custom", "2", false, 0).unwrap();
        settings.end_transaction(false);
        assert_eq!(settings.get("MY.CUSTOM").unwrap(), "1");
        settings.set("my.other", "x", true, 0).unwrap();
        settings.end_transaction(true);
        assert_eq!(settings.get("my.other").unwrap(), "");
        assert!(settings.get("my.unknown").is_err());
        assert!(settings.set("my.1", "x", false, 0).is_err());
        settings.reset_all(0);
        assert_eq!(settings.get("my.custom").unwrap(), "");
    }

    #[test]
    fn savepoints_revert() {
        let mut settings = Settings::new();
        settings.set("statement_timeout", "1s", false, 0).unwrap();
        settings.set("statement_timeout", "2s", false, 1).unwrap();
        settings.rollback_to(1);
        assert_eq!(settings.effective.statement_timeout_ms, 1000);
    }

    #[test]
    fn values_are_checked() {
        let mut settings = Settings::new();
        let error = |r: SqlResult<Option<Reported>>| r.err().unwrap().message().to_string();
        assert_eq!(
            error(settings.set("statement_timeout", "abc", false, 0)),
            "invalid value for parameter \"statement_timeout\": \"abc\""
        );
        assert_eq!(
            error(settings.set("no_such", "1", false, 0)),
            "unrecognized configuration parameter \"no_such\""
        );
        assert_eq!(
            error(settings.set("server_version", "1", false, 0)),
            "parameter \"server_version\" cannot be changed"
        );
    }
}
