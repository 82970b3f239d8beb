//! Lines, fields and words of a file in pg_hba.conf's form.
//!
//! Blanks separate fields, commas the words of a field; `"` quotes (doubled within quotes: one), `#` begins a comment, a
//! backslash at a line's end continues it.

/// A word longer than this is a mistake.
const WORD_BYTES_MAX: usize = 10_240;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    pub text: String,
    /// Begins with a quote: no keyword.
    pub quoted: bool,
}

impl Word {
    pub fn is_keyword(&self, keyword: &str) -> bool {
        !self.quoted && self.text == keyword
    }
}

/// A line that has at least one field, or a mistake.
#[derive(Debug)]
pub struct Fields {
    pub number: i32,
    pub fields: Vec<Vec<Word>>,
    pub error: Option<String>,
}

pub fn lines(text: &str) -> Vec<Fields> {
    let mut found = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let mut line = line.to_string();
        while line.ends_with('\\') {
            line.pop();
            match lines.next() {
                Some((next, _)) => line.push_str(next),
                None => break,
            }
        }
        let (fields, error) = match fields(&line) {
            Ok(fields) => (fields, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        if !fields.is_empty() || error.is_some() {
            found.push(Fields {
                number,
                fields,
                error,
            });
        }
    }
    found
}

fn fields(line: &str) -> Result<Vec<Vec<Word>>, String> {
    let mut rest = line.chars().peekable();
    let mut fields = Vec::new();
    loop {
        let mut field = Vec::new();
        loop {
            let (word, goes_on) = word(&mut rest)?;
            let Some(word) = word else { break };
            if !word.quoted && word.text.len() > 1 && word.text.starts_with('@') {
                return Err(format!(
                    "secondary authentication files are not supported: \"{}\"",
                    word.text
                ));
            }
            field.push(word);
            if !goes_on {
                break;
            }
        }
        if field.is_empty() {
            return Ok(fields);
        }
        fields.push(field);
    }
}

/// The next word, and whether a comma after it says that its field goes on.
fn word(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<(Option<Word>, bool), String> {
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r');
    while rest.next_if(|&c| is_blank(c) || c == ',').is_some() {}
    let (mut text, mut inside, mut quoted, mut saw_quote) = (String::new(), false, false, false);
    // The quote just read may be the first of two, which stand for one.
    let mut may_double = false;
    let mut goes_on = false;
    while let Some(c) = rest.next_if(|&c| inside || !is_blank(c)) {
        match c {
            '#' if !inside => {
                rest.by_ref().for_each(drop);
                break;
            }
            ',' if !inside => {
                goes_on = true;
                break;
            }
            '"' => {
                if may_double {
                    text.push('"');
                }
                quoted |= !saw_quote && text.is_empty();
                saw_quote = true;
                may_double = inside && !may_double;
                inside = !inside;
                continue;
            }
            c => text.push(c),
        }
        may_double = false;
        if text.len() > WORD_BYTES_MAX {
            return Err("authentication file token too long".into());
        }
    }
    let found = saw_quote || !text.is_empty();
    Ok((found.then_some(Word { text, quoted }), goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields by `|`, words by `,`; quoted ones in angle brackets.
    fn shown(text: &str) -> Vec<String> {
        let word = |word: &Word| match word.quoted {
            true => format!("<{}>", word.text),
            false => word.text.clone(),
        };
        let field = |field: &Vec<Word>| field.iter().map(word).collect::<Vec<_>>().join(",");
        (lines(text).iter())
            .map(|line| {
                let fields: Vec<String> = line.fields.iter().map(field).collect();
                format!(
                    "{}:{}{}",
                    line.number,
                    fields.join("|"),
                    line.error.as_deref().unwrap_or("")
                )
            })
            .collect()
    }

    #[test]
    fn words_fields_and_lines() {
        for (text, expected) in [
            ("a b\tc", vec!["1:a|b|c"]),
            ("\n  # x\n a,b , c#d\n", vec!["3:a,b|c"]),
            ("a, b c", vec!["1:a,b|c"]),
            ("\"a b\",\"c\"\"d\" e\"f g\"", vec!["1:<a b>,<c\"d>|ef g"]),
            ("\"\" x", vec!["1:<>|x"]),
            ("a \\\r\nb", vec!["1:a|b"]),
            ("a \\\nb\nc", vec!["1:a|b", "3:c"]),
            (
                "@f",
                vec!["1:secondary authentication files are not supported: \"@f\""],
            ),
            ("\"@f\"", vec!["1:<@f>"]),
            ("a\\", vec!["1:a"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert!(shown(&"x".repeat(WORD_BYTES_MAX + 1))[0].contains("too long"));
    }
}
