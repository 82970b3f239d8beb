//! The arrows between the first-level modules of one crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;

use crate::paths::{NamedPath, named_paths, test_modules};

/// Who uses whom: for each arrow the files and paths it comes from.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// What was read of a crate.
#[derive(Debug)]
pub struct CrateMap {
    pub modules: BTreeSet<String>,
    pub arrows: Arrows,
    /// Its sources but those of tests.
    pub files: Vec<PathBuf>,
}

/// Reads all sources of the crate whose `src` is `root`.
pub fn read(root: &Path) -> CrateMap {
    let mut files = Vec::new();
    collect(root, &mut files);
    let modules: BTreeSet<String> = files
        .iter()
        .filter_map(|file| module_of(root, file).into_iter().next())
        .collect();
    let lib = root.join("lib.rs");
    let exports = exports(&lib, &modules);
    let mut map = CrateMap {
        modules,
        arrows: Arrows::new(),
        files: Vec::new(),
    };
    let sources: Vec<(&PathBuf, Vec<String>, TokenStream)> = files
        .iter()
        .map(|file| (file, module_of(root, file), tokens_of(file)))
        .collect();
    let mut for_tests = BTreeSet::new();
    for (_, own, tokens) in &sources {
        let declared = test_modules(tokens.clone()).into_iter();
        for_tests.extend(declared.map(|name| [own.as_slice(), &[name]].concat()));
    }
    let is_for_tests = |own: &[String]| (1..=own.len()).any(|end| for_tests.contains(&own[..end]));
    for (file, own, tokens) in sources.iter().filter(|(_, own, _)| !is_for_tests(own)) {
        map.files.push((*file).clone());
        if **file == lib {
            continue;
        }
        for path in named_paths(tokens.clone()) {
            let Some(target) = target(&path, own, &map.modules, &exports) else {
                continue;
            };
            if target != own[0] {
                let place = file
                    .strip_prefix(root)
                    .expect("below the root")
                    .display()
                    .to_string();
                let arrow = map.arrows.entry((own[0].clone(), target)).or_default();
                arrow.insert(format!("{place}: {}", path.segments.join("::")));
            }
        }
    }
    map
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

/// `src/txn/commit.rs` is `["txn", "commit"]`, `src/txn/mod.rs` is `["txn"]`, the root nothing.
fn module_of(root: &Path, file: &Path) -> Vec<String> {
    let below = file
        .strip_prefix(root)
        .expect("below the root")
        .with_extension("");
    let mut parts: Vec<String> = below
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] {
        parts.pop();
    }
    parts
}

/// Names that the crate's root re-exports, with the module each comes from.
fn exports(lib: &Path, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for path in named_paths(tokens_of(lib)) {
        let from = path
            .segments
            .iter()
            .find(|segment| *segment != "crate" && *segment != "self");
        if let (Some(name), Some(from)) = (path.reexported_as, from)
            && modules.contains(from)
        {
            exports.insert(name, from.clone());
        }
    }
    exports
}

/// The first-level module that a path leads to.
fn target(
    path: &NamedPath,
    own: &[String],
    modules: &BTreeSet<String>,
    exports: &BTreeMap<String, String>,
) -> Option<String> {
    let first = path.segments.first()?.as_str();
    let rest = match first {
        "crate" => path.segments.get(1)?,
        "super" => {
            let ups = path
                .segments
                .iter()
                .take_while(|segment| *segment == "super")
                .count();
            // Inline modules are left first.
            let ups = ups.checked_sub(path.inline_depth)?;
            if ups < own.len() {
                return None;
            }
            path.segments.get(ups + path.inline_depth)?
        }
        _ => return None,
    };
    match modules.contains(rest) {
        true => Some(rest.clone()),
        false => exports.get(rest).cloned(),
    }
}
