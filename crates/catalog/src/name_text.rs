//! Names as text: what functions and `reg*` types are given.

/// Splits `schema.name` at the first point outside of quotes; unquoted parts are folded to lower case.
pub fn split_name(text: &str) -> (Option<String>, String) {
    let mut parts: Vec<String> = vec![String::new()];
    let mut quoted = false;
    let mut characters = text.trim().chars().peekable();
    while let Some(c) = characters.next() {
        let part = parts.last_mut().expect("there is always a part");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c if quoted => part.push(c),
            // Other letters than ASCII's stay as they are.
            c => part.push(c.to_ascii_lowercase()),
        }
    }
    let name = parts.pop().unwrap_or_default();
    (parts.pop(), name)
}
