//! Habits of the house that a compiler does not ask for: who forbids `unsafe`, and how many parameters a function may have.

use std::path::PathBuf;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::arrows::CrateMap;

/// A function that needs more lacks a type for what goes together.
pub const PARAMETERS_MAX: usize = 8;

/// Functions that may have more, each argued in docs/design/0041.
const WIDE: [&str; 1] = ["types/src/catalog/builtin.rs: base"];

/// A crate without `unsafe` says that it wants none.
pub fn unsafe_not_forbidden(name: &str, map: &CrateMap, root: &str) -> Option<String> {
    let uses_it = map.files.iter().any(|file| has_unsafe(tokens(file)));
    let forbids = root.contains("#![forbid(unsafe_code)]");
    match (uses_it, forbids) {
        (false, false) => Some(format!(
            "{name}: no `unsafe` in it, so its root says #![forbid(unsafe_code)]"
        )),
        _ => None,
    }
}

/// Functions with more than [`PARAMETERS_MAX`] parameters.
pub fn wide_functions(name: &str, map: &CrateMap) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in &map.files {
        let mut found = Vec::new();
        functions(tokens(file), &mut found);
        for (function, parameters) in found {
            let shown = file.display().to_string();
            let place = match shown.rsplit_once(&format!("/{name}/src/")) {
                Some((_, below)) => format!("{name}/src/{below}: {function}"),
                None => format!("{shown}: {function}"),
            };
            if parameters > PARAMETERS_MAX && !WIDE.contains(&place.as_str()) {
                complaints.push(format!(
                    "{place} has {parameters} parameters, {PARAMETERS_MAX} are allowed: give what goes together a type"
                ));
            }
        }
    }
    complaints
}

fn tokens(file: &PathBuf) -> TokenStream {
    let text = std::fs::read_to_string(file).expect("a source can be read");
    text.parse().expect("it is Rust")
}

fn has_unsafe(stream: TokenStream) -> bool {
    stream.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "unsafe",
        TokenTree::Group(group) => has_unsafe(group.stream()),
        _ => false,
    })
}

/// The functions of a stream, at any depth, with their numbers of parameters; `self` counts.
fn functions(stream: TokenStream, found: &mut Vec<(String, usize)>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => functions(group.stream(), found),
            TokenTree::Ident(word) if *word == "fn" => {
                let Some(TokenTree::Ident(name)) = tokens.get(at + 1) else {
                    continue; // The type of a pointer.
                };
                let list = parameter_list(&tokens[at + 2..]);
                found.push((name.to_string(), list.map_or(0, parameters)));
            }
            _ => {}
        }
    }
}

/// The parentheses behind a function's name and its generic parameters, which may have parentheses of their own.
fn parameter_list(tokens: &[TokenTree]) -> Option<TokenStream> {
    let mut depth = 0usize;
    let mut before = ' ';
    for token in tokens {
        match token {
            TokenTree::Group(group) if depth == 0 && group.delimiter() == Delimiter::Parenthesis => {
                return Some(group.stream());
            }
            TokenTree::Punct(punct) => {
                match punct.as_char() {
                    '<' => depth += 1,
                    '>' if before != '-' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                before = punct.as_char();
            }
            _ => before = ' ',
        }
    }
    None
}

/// Commas that separate parameters; those between `<` and `>` separate types.
fn parameters(list: TokenStream) -> usize {
    let (mut depth, mut count, mut open) = (0usize, 0, false);
    let mut before = ' ';
    for token in list {
        let sign = match &token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match sign {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                count += 1;
                open = false;
                before = sign;
                continue;
            }
            _ => {}
        }
        open = true;
        before = sign;
    }
    count + usize::from(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted() {
        let source =
            "fn f<A: Fn(u8, u8)>(self, a: B<C, D>, b: fn(E, F) -> G<H, I>,) {} fn g() { fn h(a: u8) {} }";
        let mut found = Vec::new();
        functions(source.parse().expect("it is Rust"), &mut found);
        found.sort();
        assert_eq!(
            found,
            [("f".to_string(), 3), ("g".to_string(), 0), ("h".to_string(), 1)]
        );
    }

    #[test]
    fn unsafe_is_seen() {
        assert!(has_unsafe(
            "fn f() { g(|| unsafe { h() }) }".parse().expect("it is Rust")
        ));
        assert!(!has_unsafe(
            "fn f() { \"unsafe\" } // unsafe".parse().expect("it is Rust")
        ));
    }
}
