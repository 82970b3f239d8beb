//! The crates themselves: which uses which, read from their manifests, and how large each is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::arrows::CrateMap;

/// Lines of sources that one crate may have, tests aside: what is larger takes too long to build and to know.
pub const CRATE_LINES_MAX: usize = 30_000;

/// The crates that each crate names under `[dependencies]`, both without the prefix `mote-`.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reads the manifest of each folder of `crates`.
pub fn read(crates: &Path) -> Uses {
    let entries = std::fs::read_dir(crates).expect("the crates can be listed");
    let folders = entries.map(|entry| entry.expect("an entry").path());
    folders
        .map(|folder| {
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            let manifest = folder.join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest)
                .unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
            (name, uses(&text))
        })
        .collect()
}

/// What stands under `[dependencies]`; a crate that only tests use is no part of the architecture.
fn uses(manifest: &str) -> BTreeSet<String> {
    let section = manifest
        .split("\n[")
        .find_map(|section| section.strip_prefix("dependencies]"))
        .unwrap_or_default();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("mote-")?.split(['.', ' ', '=']).next())
        .map(String::from)
        .collect()
}

/// What a crate uses and none of what it uses does: the lines that a picture needs.
pub fn nearest<'a>(uses: &'a Uses, name: &str) -> BTreeSet<&'a str> {
    let mut behind = BTreeSet::new();
    for used in uses.get(name).into_iter().flatten() {
        add_all_below(uses, used, &mut behind);
    }
    let direct = uses.get(name).into_iter().flatten().map(String::as_str);
    direct.filter(|used| !behind.contains(used)).collect()
}

fn add_all_below<'a>(uses: &'a Uses, name: &str, found: &mut BTreeSet<&'a str>) {
    for used in uses.get(name).into_iter().flatten() {
        if found.insert(used) {
            add_all_below(uses, used, found);
        }
    }
}

/// A complaint if the crate is too large.
pub fn too_large(name: &str, map: &CrateMap) -> Option<String> {
    let lines: usize = map.files.iter().map(lines).sum();
    (lines > CRATE_LINES_MAX).then(|| {
        format!(
            "{name}: {lines} lines without its tests, {CRATE_LINES_MAX} are allowed: give a layer of it a crate of its own"
        )
    })
}

/// Lines before the module of tests that a file may end with.
fn lines(file: &PathBuf) -> usize {
    let text = std::fs::read_to_string(file).expect("a source can be read");
    let tests = text.find("\n#[cfg(test)]\nmod tests {");
    text[..tests.unwrap_or(text.len())].lines().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_tests_are_left_out() {
        let manifest = "[package]\nname = \"mote-x\"\n\n[dependencies]\nmote-a.workspace = true\nserde = \"1\"\n\
                        mote-b = { path = \"../b\" }\n\n[dev-dependencies]\nmote-c.workspace = true\n";
        assert_eq!(uses(manifest), ["a", "b"].map(String::from).into());
    }

    #[test]
    fn the_nearest_ones_lead_to_the_others() {
        let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let uses: Uses = [
            ("a".into(), set(&["b", "c", "d"])),
            ("b".into(), set(&["c"])),
            ("c".into(), set(&["d"])),
            ("d".into(), set(&[])),
        ]
        .into();
        assert_eq!(nearest(&uses, "a"), ["b"].into());
        assert_eq!(nearest(&uses, "d"), BTreeSet::new());
    }
}
