//! What a subscriber sends before its stream begins: commands that make slots and ask for changes, with their options; and what
//! the log says to subscribers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mote_log::told::{Told, ToldRelation};

// The server's own modules, without the server: that would be a hundred crates under a sanitizer.
#[allow(dead_code)]
#[path = "../../crates/server/src/replication/logical/options.rs"]
mod options;
#[allow(dead_code)]
#[path = "../../crates/server/src/replication/logical/syntax.rs"]
mod syntax;

fuzz_target!(|input: &[u8]| {
    if let Some(Told::Relation { content, .. }) = Told::decode(input)
        && let Some(relation) = ToldRelation::decode(content)
    {
        let places = relation.views.iter().flat_map(|view| &view.columns);
        assert!(places.into_iter().all(|column| (column.position as usize) < relation.storage.len()));
        let again = ToldRelation::decode(&relation.encode());
        assert_eq!(again.as_ref(), Some(&relation));
    }
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(made) = syntax::create_slot(text) {
        assert!(made.options.len() <= text.len());
    }
    if let Ok(Some(start)) = syntax::start_logical(text)
        && let Ok(asked) = options::read(&start.options)
    {
        assert!((1..=3).contains(&asked.protocol) && !asked.publications.is_empty());
        assert!(asked.publications.iter().all(|name| !name.is_empty() && name.len() <= text.len()));
    }
});
