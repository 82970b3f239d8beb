//! The modules of every crate keep their order: no arrow runs up but those that `layers.txt` owns up to, and below the first
//! level no files or folders of a folder use one another in a circle but those for which it has a reason.
//!
//! A debt that is paid must be struck, so that the list only shrinks. `MOTE_LAYERS_WRITE=1 cargo test -p mote-layers`
//! writes the table of ARCHITECTURE.md anew; `MOTE_LAYERS_SHOW=exec` prints the arrows of a crate with their places.

use std::path::{Path, PathBuf};

use mote_layers::{arrows, circles, crates as manifests, documents, habits, order};

const BEGIN: &str = "<!-- layers: written by the test of tests/layers -->\n";
const END: &str = "<!-- layers end -->";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn crates() -> Vec<(String, order::Order, arrows::CrateMap)> {
    let text = include_str!("../layers.txt");
    let orders = order::parse(text);
    let mut names: Vec<String> = std::fs::read_dir(top().join("crates"))
        .expect("the crates can be listed")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| top().join("crates").join(name).join("src/lib.rs").exists())
        .collect();
    names.sort();
    for name in orders.keys() {
        assert!(
            names.contains(name),
            "layers.txt names the crate `{name}`, which is not there"
        );
    }
    let read = |name: String| {
        let map = arrows::read(&top().join("crates").join(&name).join("src"));
        let order = orders.get(&name).cloned().unwrap_or_default();
        (name, order, map)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn no_arrow_runs_up() {
    let shown = std::env::var("MOTE_LAYERS_SHOW").unwrap_or_default();
    let mut complaints = Vec::new();
    for (name, order, map) in crates() {
        assert!(map.modules.len() > 1, "{name}: too few modules were found");
        if name == shown {
            for ((from, to), places) in &map.arrows {
                println!(
                    "{from} -> {to}\n    {}",
                    places.iter().cloned().collect::<Vec<_>>().join("\n    ")
                );
            }
        }
        complaints.extend(order.complaints(&name, &map));
        complaints.extend(manifests::too_large(&name, &map));
        let root = std::fs::read_to_string(top().join("crates").join(&name).join("src/lib.rs"));
        complaints.extend(habits::unsafe_not_forbidden(
            &name,
            &map,
            &root.expect("a crate has a root"),
        ));
        complaints.extend(habits::wide_functions(&name, &map));
    }
    assert!(
        complaints.is_empty(),
        "{} complaints\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

#[test]
fn the_picture_is_true() {
    let path = top().join("ARCHITECTURE.md");
    let page = std::fs::read_to_string(&path).expect("ARCHITECTURE.md is there");
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("ARCHITECTURE.md has the mark of the layers");
    let (shown, after) = rest.split_once(END).expect("the mark has an end");
    let picture = order::picture(&crates(), &manifests::read(&top().join("crates")));
    if std::env::var_os("MOTE_LAYERS_WRITE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{picture}{END}{after}")).expect("it can be written");
        return;
    }
    assert!(
        shown == picture,
        "ARCHITECTURE.md shows other layers than the code has: MOTE_LAYERS_WRITE=1 cargo test -p mote-layers"
    );
}

#[test]
fn an_arrow_up_is_seen() {
    let order = &order::parse("[x]\nupper\nlower\n")["x"];
    let mut map = arrows::CrateMap {
        modules: ["upper", "lower"].map(String::from).into(),
        ..Default::default()
    };
    map.arrows.entry(("upper".into(), "lower".into())).or_default();
    assert!(order.complaints("x", &map).is_empty());
    map.arrows.entry(("lower".into(), "upper".into())).or_default();
    assert_eq!(order.complaints("x", &map).len(), 1);
}

#[test]
fn a_circle_needs_a_reason_and_must_be_there() {
    let map = |circles| arrows::CrateMap {
        modules: ["a".to_string()].into(),
        circles,
        ..Default::default()
    };
    let circle = || circles::Circle {
        folder: "a".into(),
        members: ["x", "y"].map(String::from).into(),
        arrows: Vec::new(),
    };
    let without = &order::parse("[c]\na\n")["c"];
    assert_eq!(without.complaints("c", &map(vec![circle()])).len(), 1);
    assert!(without.complaints("c", &map(Vec::new())).is_empty());
    let argued = &order::parse("[c]\na\ncircle: a: y x: they are one\n")["c"];
    assert!(argued.complaints("c", &map(vec![circle()])).is_empty());
    assert_eq!(argued.complaints("c", &map(Vec::new())).len(), 1);
    assert!(std::panic::catch_unwind(|| order::parse("[c]\na\ncircle: a: y x:\n")).is_err());
}

/// What was tried and what was found on a day keeps the names of that day.
const DATED: [&str; 4] = [
    "docs/notebook/",
    "docs/clients.md",
    "docs/conformance-",
    "CHANGELOG.md",
];

#[test]
fn the_documents_name_what_exists() {
    let sources = documents::Sources::read(&top());
    let mut complaints = Vec::new();
    for path in sources.documents() {
        let about_the_project = path.starts_with("docs/") || !path.contains('/');
        if !about_the_project || DATED.iter().any(|dated| path.starts_with(dated)) {
            continue;
        }
        let text = std::fs::read_to_string(top().join(path)).expect("it can be read");
        let missing = sources.missing(&text);
        complaints.extend(missing.iter().map(|named| format!("{path}: `{named}`")));
    }
    // What stands at the head of a file is read as a document, too.
    for path in sources
        .files()
        .filter(|path| path.ends_with(".rs") && path.starts_with("crates/"))
    {
        let text = std::fs::read_to_string(top().join(path)).expect("it can be read");
        let head: String = text
            .lines()
            .filter_map(|line| Some(line.strip_prefix("//!")?.to_string() + "\n"))
            .collect();
        let missing = sources.missing(&head);
        complaints.extend(missing.iter().map(|named| format!("{path}: `{named}`")));
    }
    assert!(
        complaints.is_empty(),
        "nothing has these names:\n{}",
        complaints.join("\n")
    );
}
