//! The paths that a file names, as written, with the module they are written in.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path such as `crate::txn::Snapshot`, and how many inline modules of the file stand around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    pub segments: Vec<String>,
    /// `super` means one module less for each.
    pub inline_depth: usize,
    /// What a `use` calls it here, `*` if that is everything below it. None: a path in the code.
    pub name: Option<String>,
    /// A `pub use`.
    pub public: bool,
}

/// All paths of a file that begin with `crate`, `super` or `self`, and everything that `use` names.
pub fn named_paths(source: TokenStream) -> Vec<NamedPath> {
    let mut found = Vec::new();
    walk(source, 0, &mut found);
    found
}

/// The modules in files of their own that a file declares for tests only: `#[cfg(test)] mod name;`.
pub fn test_modules(source: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = source.into_iter().collect();
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| is_test_attribute(&tokens, at)) {
        let item = &tokens[at + 2..after_item(&tokens, at + 2)];
        let module = item
            .iter()
            .position(|token| matches!(token, TokenTree::Ident(word) if *word == "mod"));
        if let Some(TokenTree::Ident(name)) = module.and_then(|module| item.get(module + 1)) {
            found.push(name.to_string());
        }
    }
    found
}

fn walk(stream: TokenStream, depth: usize, found: &mut Vec<NamedPath>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    let mut public = false;
    while at < tokens.len() {
        if is_test_attribute(&tokens, at) {
            at = after_item(&tokens, at + 2);
            continue;
        }
        match &tokens[at] {
            TokenTree::Ident(word) if *word == "use" && !is_path_part(&tokens, at) => {
                let end = position_of(&tokens, at, ';');
                use_tree(&tokens[at + 1..end], &[], depth, public, found);
                at = end;
            }
            TokenTree::Ident(word) if *word == "mod" => {
                // `mod name { .. }`: one module deeper. `mod name;` is another file.
                if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                    walk(body.stream(), depth + 1, found);
                    at += 2;
                }
            }
            TokenTree::Ident(word)
                if (*word == "crate" || *word == "super") && !is_path_part(&tokens, at) =>
            {
                let (segments, end) = segments_from(&tokens, at);
                if segments.len() > 1 {
                    found.push(NamedPath {
                        segments,
                        inline_depth: depth,
                        name: None,
                        public: false,
                    });
                }
                at = end - 1;
            }
            TokenTree::Group(group) => walk(group.stream(), depth, found),
            _ => {}
        }
        public = match &tokens[at.min(tokens.len() - 1)] {
            TokenTree::Ident(word) => *word == "pub",
            // `pub(crate)` stays public for this purpose.
            TokenTree::Group(group) => public && group.delimiter() == Delimiter::Parenthesis,
            _ => false,
        };
        at += 1;
    }
}

/// `#[cfg(test)]` and what contains it, such as `#[cfg(all(test, unix))]`.
fn is_test_attribute(tokens: &[TokenTree], at: usize) -> bool {
    let (TokenTree::Punct(hash), Some(TokenTree::Group(attribute))) = (&tokens[at], tokens.get(at + 1))
    else {
        return false;
    };
    if hash.as_char() != '#' || attribute.delimiter() != Delimiter::Bracket {
        return false;
    }
    let mut inside = attribute.stream().into_iter();
    let is_cfg = matches!(inside.next(), Some(TokenTree::Ident(word)) if word == "cfg");
    let Some(TokenTree::Group(condition)) = inside.next() else {
        return false;
    };
    is_cfg && requires_test(condition.stream())
}

fn requires_test(condition: TokenStream) -> bool {
    let mut negated = false;
    for token in condition {
        match token {
            TokenTree::Ident(word) if word == "test" => return true,
            TokenTree::Ident(word) => negated = word == "not",
            TokenTree::Group(group) if !negated && requires_test(group.stream()) => return true,
            _ => {}
        }
    }
    false
}

/// Behind the item that begins at `at`: its `;` or its braces.
fn after_item(tokens: &[TokenTree], mut at: usize) -> usize {
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return at + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Whether the word is the continuation of a path (`std::crate_name`) rather than its beginning.
fn is_path_part(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    at > 1 && tokens[at - 2..at].iter().all(is_colon)
}

fn position_of(tokens: &[TokenTree], from: usize, wanted: char) -> usize {
    let is_wanted = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == wanted);
    let found = tokens[from..].iter().position(is_wanted);
    found.map_or(tokens.len(), |found| from + found)
}

/// The segments of the path that begins at `at`, and where it ends.
fn segments_from(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        segments.push(word.to_string());
        at += 1;
        let colons = tokens[at..].iter().take(2);
        if colons
            .filter(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ':'))
            .count()
            < 2
        {
            break;
        }
        at += 2;
    }
    (segments, at)
}

/// `a::{self, b, c::d as e}`: each path of it.
fn use_tree(tokens: &[TokenTree], before: &[String], depth: usize, public: bool, found: &mut Vec<NamedPath>) {
    for part in tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ',')) {
        let (mut own, end) = segments_from(part, 0);
        if !before.is_empty() && own == ["self"] {
            own.clear();
        }
        let segments: Vec<String> = before.iter().cloned().chain(own).collect();
        if let Some(TokenTree::Group(group)) = part.get(end) {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            use_tree(&inner, &segments, depth, public, found);
        } else if !part.is_empty() && !segments.is_empty() {
            found.push(NamedPath {
                name: match (part.get(end), part.get(end + 1)) {
                    (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(alias))) if *word == "as" => {
                        Some(alias.to_string())
                    }
                    (Some(TokenTree::Punct(star)), _) if star.as_char() == '*' => Some("*".into()),
                    _ => segments.last().cloned(),
                },
                segments,
                inline_depth: depth,
                public,
            });
        }
    }
}

/// What a file defines at its top.
pub fn items(source: TokenStream) -> BTreeSet<String> {
    const KINDS: [&str; 9] = [
        "fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod",
    ];
    let tokens: Vec<TokenTree> = source.into_iter().collect();
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(kind), TokenTree::Ident(name)] => Some((kind.to_string(), name.to_string())),
        _ => None,
    });
    pairs
        // Not the `fn` of a `const fn`.
        .filter(|(kind, name)| KINDS.contains(&kind.as_str()) && !KINDS.contains(&name.as_str()))
        .map(|(_, name)| name)
        .collect()
}

/// All words of a file.
pub fn words(source: TokenStream, found: &mut BTreeSet<String>) {
    for token in source {
        match token {
            TokenTree::Ident(word) => _ = found.insert(word.to_string()),
            TokenTree::Group(group) => words(group.stream(), found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        let tokens = source.parse().expect("it is Rust");
        named_paths(tokens)
            .into_iter()
            .map(|path| path.segments.join("::"))
            .collect()
    }

    #[test]
    fn uses_are_taken_apart() {
        assert_eq!(
            paths("use crate::a::{self, b, c::{d as e, f}}; pub use super::g::*;"),
            [
                "crate::a",
                "crate::a::b",
                "crate::a::c::d",
                "crate::a::c::f",
                "super::g"
            ]
        );
    }

    #[test]
    fn paths_in_the_code_count_and_strings_do_not() {
        assert_eq!(
            paths("fn f(x: crate::a::B) { let y = \"crate::no::no\"; /* crate::c::d */ g(super::h::i()) }"),
            ["crate::a::B", "super::h::i"]
        );
    }

    #[test]
    fn tests_do_not_count() {
        assert_eq!(
            paths("#[cfg(test)] mod tests { use crate::a::b; } #[cfg(not(test))] use crate::c::d;"),
            ["crate::c::d"]
        );
        assert_eq!(
            paths("#[cfg(test)] use crate::a::b; use crate::c::d;"),
            ["crate::c::d"]
        );
    }

    #[test]
    fn modules_for_tests_are_known() {
        let tokens = "mod a; #[cfg(test)] pub(crate) mod b; #[cfg(test)] mod c { }"
            .parse()
            .expect("it is Rust");
        assert_eq!(test_modules(tokens), ["b", "c"]);
    }

    #[test]
    fn an_inline_module_is_one_deeper() {
        let tokens = "mod m { use super::a::b; }".parse().expect("it is Rust");
        assert_eq!(named_paths(tokens)[0].inline_depth, 1);
    }

    #[test]
    fn what_a_use_makes_known_is_told() {
        let tokens = "pub use engine::{Engine, Config as Settings}; use log::Log; pub use disk::*; fn f() { super::g() }"
            .parse()
            .expect("it is Rust");
        let known: Vec<_> = named_paths(tokens)
            .into_iter()
            .map(|path| (path.name, path.public))
            .collect();
        let used = |name: &str, public| (Some(name.to_string()), public);
        assert_eq!(
            known,
            [
                used("Engine", true),
                used("Settings", true),
                used("Log", false),
                used("*", true),
                (None, false)
            ]
        );
    }

    #[test]
    fn items_are_found() {
        let tokens = "pub struct A { b: u8 } const fn c() { fn no() {} } mod d { enum E {} } type F = A;"
            .parse()
            .expect("it is Rust");
        assert_eq!(items(tokens), ["A", "F", "c", "d"].map(String::from).into());
    }
}
