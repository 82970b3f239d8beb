//! The arrows between the first-level modules of one crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::circles::{Circle, circles};
use crate::modules::Modules;

/// Who uses whom: for each arrow the files and paths it comes from.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// What was read of a crate.
#[derive(Debug, Default)]
pub struct CrateMap {
    pub modules: BTreeSet<String>,
    pub arrows: Arrows,
    /// Below the first level.
    pub circles: Vec<Circle>,
    /// Its sources but those of tests.
    pub files: Vec<PathBuf>,
}

/// Reads all sources of the crate whose `src` is `root`.
pub fn read(root: &Path) -> CrateMap {
    let modules = Modules::read(root);
    let mut map = CrateMap {
        modules: modules
            .iter()
            .filter_map(|(own, _)| own.first().cloned())
            .collect(),
        arrows: Arrows::new(),
        circles: circles(&modules),
        files: modules.iter().map(|(_, module)| module.file.clone()).collect(),
    };
    for (own, module) in modules.iter() {
        let named = module.paths.iter();
        for (path, target) in
            named.flat_map(|path| modules.targets(path, own).into_iter().map(move |t| (path, t)))
        {
            let (Some(from), Some(to)) = (own.first(), target.first()) else {
                continue;
            };
            if from != to {
                let place = module.file.strip_prefix(root).expect("below the root").display();
                let arrow = map.arrows.entry((from.clone(), to.clone())).or_default();
                arrow.insert(format!("{place}: {}", path.segments.join("::")));
            }
        }
    }
    map
}
