//! What the documents name must exist: paths and items in back quotes.
//!
//! A path is looked for as it stands, below `crates/` and `docs/`, as `crate/module` for `crates/crate/src/module`, and as the
//! end of any path; the ending `.rs` and its like may be left out. Of an item `Type::method` every part must occur in the
//! sources, or name a file of them. Exact enough to find a file that moved or a name that changed; says nothing about the sentence around it.

use std::collections::BTreeSet;
use std::path::Path;

const ENDINGS: [&str; 6] = ["", ".rs", ".md", ".sql", ".sh", ".txt"];

/// Paths from the top, with `/`, of files and folders; and the words of all sources.
pub struct Sources {
    paths: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Sources {
    pub fn read(top: &Path) -> Sources {
        let mut sources = Sources {
            paths: BTreeSet::new(),
            words: BTreeSet::new(),
        };
        sources.collect(top, "");
        sources
    }

    fn collect(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            // What a build, a run or git leaves is no part of the project.
            if matches!(
                name.as_str(),
                "target" | ".git" | "bench-results" | "node_modules"
            ) {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.collect(&entry.path(), &format!("{path}/"));
            } else if [".rs", ".sh", ".toml", ".py", ".sql"]
                .iter()
                .any(|end| name.ends_with(end))
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                self.words.extend(words.map(str::to_string));
                // A file is a module, which no source need name: that of a test is none's.
                let module = name.strip_suffix(".rs");
                self.words.extend(module.map(str::to_string));
            }
            self.paths.insert(path);
        }
    }

    /// All documents, by their paths from the top.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        let paths = self.paths.iter().map(String::as_str);
        paths.filter(|path| path.ends_with(".md"))
    }

    /// All files, by their paths from the top.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    fn has_path(&self, named: &str) -> bool {
        let named = named.trim_end_matches('/');
        let (first, rest) = named.split_once('/').unwrap_or((named, ""));
        let places = [
            named.to_string(),
            format!("crates/{named}"),
            format!("docs/{named}"),
            format!("crates/{first}/src/{rest}"),
        ];
        let stands = |place: &String| {
            ENDINGS
                .iter()
                .any(|end| self.paths.contains(&format!("{place}{end}")))
        };
        let ends = |end: &str| {
            let tail = format!("/{named}{end}");
            self.paths.iter().any(|path| path.ends_with(&tail))
        };
        places.iter().any(stands) || ENDINGS.iter().any(|end| ends(end))
    }

    /// What `text` names in back quotes that is nowhere.
    pub fn missing(&self, text: &str) -> Vec<String> {
        let mut fenced = false;
        let mut missing = BTreeSet::new();
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                continue;
            }
            if fenced {
                continue;
            }
            let quoted = line.split('`').skip(1).step_by(2);
            missing.extend(quoted.filter(|named| !self.knows(named)).map(str::to_string));
        }
        missing.into_iter().collect()
    }

    fn knows(&self, named: &str) -> bool {
        if is_path(named) {
            return self.has_path(named);
        }
        match is_item(named) {
            true => named
                .trim_end_matches("()")
                .split("::")
                .all(|part| self.words.contains(part)),
            false => true,
        }
    }
}

/// `folder/file`, in lower case: a part in capitals stands for a name.
fn is_path(named: &str) -> bool {
    // PostgreSQL's own tree, and what a build makes.
    let foreign = ["target/", "src/", "contrib/", "etc/"]
        .iter()
        .any(|start| named.starts_with(start));
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c == '.')
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c))
    };
    !foreign && named.contains('/') && named.trim_end_matches('/').split('/').all(part)
}

/// `Type::method`, with `()` or without.
fn is_item(named: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let named = named.trim_end_matches("()");
    named.contains("::") && named.split("::").all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_is_found() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sources = Sources::read(&top);
        // In two parts, since this file is one of the sources.
        let gone = ["Sources::gone", "_long_ago()"].concat();
        let text = "`layers/src/documents`, `tests/layers/src/documents.rs`, `layers.txt`, `Sources::read`, `a / b`\n\
                    `layers/src/gone.rs`, `catalog/src/extensions/NAME`\n```\n`no/where`\n```\n";
        let text = format!("{text}`{gone}`");
        assert_eq!(sources.missing(&text), [gone, "layers/src/gone.rs".into()]);
    }
}
