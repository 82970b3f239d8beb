//! The modules of a crate, at every depth: what each names and defines, and where a path leads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;

use crate::paths::{NamedPath, items, named_paths, test_modules, words};

/// From the root: `src/txn/commit.rs` is `["txn", "commit"]`, `src/txn/mod.rs` is `["txn"]`, the root nothing.
pub type ModulePath = Vec<String>;

/// What was read of one file.
#[derive(Debug)]
pub struct Module {
    pub file: PathBuf,
    pub paths: Vec<NamedPath>,
    items: BTreeSet<String>,
    words: BTreeSet<String>,
}

/// The modules of a crate by their paths, but those of tests.
#[derive(Debug, Default)]
pub struct Modules {
    by_path: BTreeMap<ModulePath, Module>,
}

/// A chain of re-exports that is longer names itself.
const REEXPORTS_MAX: usize = 8;

impl Modules {
    /// Reads all sources of the crate whose `src` is `root`.
    pub fn read(root: &Path) -> Modules {
        let mut files = Vec::new();
        collect(root, &mut files);
        let sources: Vec<(ModulePath, PathBuf, TokenStream)> = files
            .into_iter()
            .map(|file| (module_of(root, &file), tokens_of(&file), file))
            .map(|(own, tokens, file)| (own, file, tokens))
            .collect();
        let mut for_tests = BTreeSet::new();
        for (own, _, tokens) in &sources {
            let declared = test_modules(tokens.clone()).into_iter();
            for_tests.extend(declared.map(|name| [own.as_slice(), &[name]].concat()));
        }
        let is_for_tests = |own: &[String]| (1..=own.len()).any(|end| for_tests.contains(&own[..end]));
        let mut modules = Modules::default();
        for (own, file, tokens) in sources {
            if !is_for_tests(&own) {
                modules.add(own, file, tokens);
            }
        }
        modules
    }

    pub fn add(&mut self, own: ModulePath, file: PathBuf, tokens: TokenStream) {
        let mut all = BTreeSet::new();
        words(tokens.clone(), &mut all);
        let module = Module {
            file,
            paths: named_paths(tokens.clone()),
            items: items(tokens),
            words: all,
        };
        self.by_path.insert(own, module);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ModulePath, &Module)> {
        self.by_path.iter()
    }

    /// The modules that hold what a path names which is written in the module `own`; none: it is outside of the crate. A path
    /// with `*` names what the module has a word for.
    pub fn targets(&self, path: &NamedPath, own: &[String]) -> Vec<ModulePath> {
        let Some(named) = self.absolute(path, own) else {
            return Vec::new();
        };
        let target = self.resolve(&named, 0);
        let mut targets = Vec::new();
        if path.name.as_deref() == Some("*")
            && let Some(into) = self.by_path.get(own)
        {
            let known = self.known_by_use(&target).into_iter();
            let meant = known.filter(|name| into.words.contains(*name));
            targets.extend(meant.map(|name| self.resolve(&[&target[..], &[name.clone()][..]].concat(), 0)));
        }
        targets.push(target);
        targets
    }

    /// The names that a module only knows by a `use`.
    fn known_by_use(&self, own: &[String]) -> BTreeSet<&String> {
        let mut known = BTreeSet::new();
        for path in self.by_path.get(own).map_or(&[][..], |module| &module.paths) {
            match path.name.as_deref() {
                Some("*") => {
                    let all = self.absolute(path, own).map(|all| self.resolve(&all, 0));
                    let all = all.and_then(|all| self.by_path.get(&all));
                    known.extend(all.iter().flat_map(|all| &all.items));
                }
                _ => known.extend(&path.name),
            }
        }
        known
    }

    /// The path from the root.
    fn absolute(&self, path: &NamedPath, own: &[String]) -> Option<Vec<String>> {
        let segments = path.segments.as_slice();
        match segments.first()?.as_str() {
            "crate" => Some(segments[1..].to_vec()),
            "self" => Some([own, &segments[1..]].concat()),
            "super" => {
                let named = segments.iter().take_while(|segment| *segment == "super").count();
                // Inline modules are left first.
                let ups = named.checked_sub(path.inline_depth)?;
                let above = own.len().checked_sub(ups)?;
                Some([&own[..above], &segments[named..]].concat())
            }
            child => {
                let is_child = self.by_path.contains_key(&[own, &[child.to_string()]].concat());
                is_child.then(|| [own, segments].concat())
            }
        }
    }

    /// The deepest module on the path. What that only knows by a `use` is where the `use` has it from.
    fn resolve(&self, path: &[String], reexports: usize) -> ModulePath {
        let is_module = |end: &usize| self.by_path.contains_key(&path[..*end]);
        let end = (1..=path.len()).take_while(is_module).last().unwrap_or(0);
        let (own, rest) = path.split_at(end);
        let (Some(module), Some(name)) = (self.by_path.get(own), rest.first()) else {
            return own.to_vec();
        };
        if module.items.contains(name) {
            return own.to_vec();
        }
        self.made_known(own, rest, own, reexports)
            .unwrap_or_else(|| own.to_vec())
    }

    /// Where what `rest` names in the module `own` is; None: it is not known there to the module `to`, which sees what is
    /// private if it stands below.
    fn made_known(
        &self,
        own: &[String],
        rest: &[String],
        to: &[String],
        reexports: usize,
    ) -> Option<ModulePath> {
        let (module, name) = (self.by_path.get(own)?, rest.first()?);
        if reexports == REEXPORTS_MAX {
            return None;
        }
        let uses = |wanted: &str| {
            let seen = module
                .paths
                .iter()
                .filter(|path| path.public || to.starts_with(own));
            let meant = seen.filter(|path| path.name.as_deref() == Some(wanted));
            meant
                .filter_map(|path| self.absolute(path, own))
                .collect::<Vec<_>>()
        };
        if let Some(from) = uses(name).first() {
            return Some(self.resolve(&[from.as_slice(), &rest[1..]].concat(), reexports + 1));
        }
        uses("*").iter().find_map(|from| {
            let here = [from.as_slice(), &rest[..1]].concat();
            let items = self.by_path.get(from).map(|module| &module.items);
            if self.by_path.contains_key(&here) || items.is_some_and(|items| items.contains(name)) {
                return Some(self.resolve(&[from.as_slice(), rest].concat(), reexports + 1));
            }
            self.made_known(from, rest, own, reexports + 1)
        })
    }
}

fn tokens_of(file: &Path) -> TokenStream {
    let text = std::fs::read_to_string(file).expect("a source can be read");
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    entries.sort();
    for path in entries {
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        if stem == "tests" || stem.ends_with("_tests") || stem == "main" {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module_of(root: &Path, file: &Path) -> ModulePath {
    let below = file
        .strip_prefix(root)
        .expect("below the root")
        .with_extension("");
    let mut parts: ModulePath = below
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] {
        parts.pop();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(sources: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::default();
        for (own, source) in sources {
            let own = own.split('/').filter(|part| !part.is_empty());
            let tokens = source.parse().expect("it is Rust");
            modules.add(own.map(String::from).collect(), PathBuf::new(), tokens);
        }
        modules
    }

    #[test]
    fn a_path_leads_where_the_item_is() {
        let modules = modules(&[
            ("", "mod a; pub use a::b::B;"),
            ("a", "mod b; mod c; pub use b::B; use c::*; struct Own;"),
            ("a/b", "pub struct B;"),
            ("d", "use crate::a::*; type T = C;"),
            ("e", "mod f; mod g; pub use f::*; pub use g::*;"),
            // What f uses for itself does not come from there.
            ("e/f", "use super::G;"),
            ("e/g", "pub struct G;"),
            (
                "a/c",
                "pub struct C; use super::{B, C, Own, b, b::X}; fn f() { crate::B; std::mem::drop(1) }",
            ),
        ]);
        let own = ["a".to_string(), "c".to_string()];
        let paths = &modules.by_path[own.as_slice()].paths;
        let targets: Vec<String> = paths
            .iter()
            .flat_map(|path| modules.targets(path, &own))
            .map(|target| target.join("/"))
            .collect();
        assert_eq!(targets, ["a/b", "a/c", "a", "a/b", "a/b", "a/b"]);
        let own = ["e".to_string(), "f".to_string()];
        let [through_glob] = &modules.by_path[own.as_slice()].paths[..] else {
            panic!("one path");
        };
        assert_eq!(
            modules.targets(through_glob, &own),
            [["e", "g"].map(String::from)]
        );
        let own = ["d".to_string()];
        let glob = &modules.by_path[own.as_slice()].paths[0];
        assert_eq!(
            modules.targets(glob, &own),
            [vec!["a".to_string(), "c".into()], vec!["a".into()]]
        );
    }
}
