//! No code that a session can run uses `thread_local!` itself: see `mote_common::per_thread`.

use std::path::{Path, PathBuf};

/// Sessions run code of these crates.
const CRATES: [&str; 13] = [
    "common", "types", "grammar", "sql", "planner", "log", "engine", "catalog", "executor", "commands",
    "plpgsql", "exec", "server",
];
/// The wrapper, the model checker's own threads, and the allocator's count, which says why.
const ALLOWED: [&str; 3] = [
    "common/src/per_thread.rs",
    "common/src/sync/stepping.rs",
    "common/src/heap.rs",
];

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            // What only tests run is not suspended.
            if path.file_name().is_some_and(|name| name != "tests") {
                sources(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn thread_locals_are_reached_through_the_wrapper() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut files = Vec::new();
    for name in CRATES {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(
        files.len() > 300,
        "the sources are elsewhere: {} found",
        files.len()
    );
    let mut wrong = Vec::new();
    for path in files {
        if ALLOWED.iter().any(|allowed| path.ends_with(allowed)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        for (number, line) in text.lines().enumerate() {
            let code = line.trim_start();
            let own = code.contains("thread_local!") && !code.contains("sync::thread_local!");
            if (own || code.contains("std::rc::")) && !code.starts_with("//") {
                wrong.push(format!("{}:{}: {code}", path.display(), number + 1));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "a suspended session may be resumed elsewhere: {wrong:#?}"
    );
}
