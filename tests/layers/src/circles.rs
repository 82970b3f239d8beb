//! Circles among the files and folders of one folder, at every depth.
//!
//! Each folder is a graph of its direct children: an arrow goes from the child whose file (or any file below it) names
//! something to the child that holds it. What the folder's own `mod.rs` holds belongs to the folder: a child may use it, and
//! it uses the children. What it only re-exports belongs to the child that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::Modules;

/// Children of a folder that all use one another, perhaps through others of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Circle {
    /// From the crate's root: `node/modify`.
    pub folder: String,
    pub members: BTreeSet<String>,
    /// The arrows between the members, each with a place it comes from.
    pub arrows: Vec<String>,
}

/// For each arrow between children of a folder, a place where it comes from.
type Arrows<'m> = BTreeMap<(&'m str, String), String>;

/// All circles of a crate below its root.
pub fn circles(modules: &Modules) -> Vec<Circle> {
    let mut folders: BTreeMap<&[String], Arrows<'_>> = BTreeMap::new();
    for (own, module) in modules.iter() {
        let named = module.paths.iter();
        for (path, target) in
            named.flat_map(|path| modules.targets(path, own).into_iter().map(move |t| (path, t)))
        {
            let common = own.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if common == 0 || common == own.len() || common == target.len() {
                continue;
            }
            let arrow = (own[common].as_str(), target[common].clone());
            let place = format!("{}: {}", own.join("/"), path.segments.join("::"));
            let arrows = folders.entry(&own[..common]).or_default();
            arrows.entry(arrow).or_insert(place);
        }
    }
    let folders = folders.iter();
    folders
        .flat_map(|(folder, arrows)| circles_of(&folder.join("/"), arrows))
        .collect()
}

fn circles_of(folder: &str, arrows: &Arrows<'_>) -> Vec<Circle> {
    let mut circles: Vec<Circle> = Vec::new();
    let children: BTreeSet<&str> = arrows.keys().map(|(from, _)| *from).collect();
    for child in children {
        if circles.iter().any(|circle| circle.members.contains(child)) {
            continue;
        }
        let back = |other: &String| reached(other, arrows).contains(child);
        let members: BTreeSet<String> = reached(child, arrows).into_iter().filter(back).collect();
        if !members.is_empty() {
            circles.push(Circle {
                folder: folder.to_string(),
                arrows: arrows
                    .iter()
                    .filter(|((from, to), _)| members.contains(*from) && members.contains(to))
                    .map(|((from, to), place)| format!("{from} -> {to} ({place})"))
                    .collect(),
                members,
            });
        }
    }
    circles
}

/// What a child uses, and what that uses.
fn reached(child: &str, arrows: &Arrows<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![child.to_string()];
    while let Some(from) = open.pop() {
        for (_, to) in arrows.keys().filter(|(other, _)| *other == from) {
            if found.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn found(sources: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
        let mut modules = Modules::default();
        // The folders, which every module stands in.
        for (own, source) in [("a", ""), ("a/x", "")].iter().chain(sources) {
            let own = own.split('/').map(String::from).collect();
            modules.add(own, PathBuf::new(), source.parse().expect("it is Rust"));
        }
        let circles = circles(&modules).into_iter();
        circles
            .map(|circle| (circle.folder, circle.members.into_iter().collect()))
            .collect()
    }

    #[test]
    fn a_circle_is_found_at_its_depth() {
        let through = [
            ("a/x/one", "use super::two::T; use crate::a::y::Y;"),
            ("a/x/two", "use super::three::U; pub struct T;"),
            ("a/x/three", "fn f() { super::one::g() }"),
            ("a/y", "pub struct Y;"),
        ];
        let members = ["one", "three", "two"].map(String::from).to_vec();
        assert_eq!(found(&through), [("a/x".to_string(), members)]);
        let files_below = [
            ("a/x/one", "use crate::a::y::Y;"),
            ("a/x/two", "pub struct T;"),
            ("a/y", "use super::x::two::T;"),
        ];
        let members = ["x", "y"].map(String::from).to_vec();
        assert_eq!(found(&files_below), [("a".to_string(), members)]);
    }

    #[test]
    fn a_folder_and_its_children_form_none() {
        let sources = [
            ("a", "mod one; mod two; pub use two::T; pub struct Own;"),
            ("a/one", "use super::{Own, T};"),
            ("a/two", "use super::Own; pub struct T;"),
        ];
        assert_eq!(found(&sources), []);
    }
}
