//! Comments: pieces of one long text that the specification's grammar makes (clauses 4.2.2.10 and 4.2.2.14).
//!
//! The specification takes pieces of 300 MB; here the text is shorter, which repeats words no more often in a comment and
//! saves the seconds that the longer one takes to make.

use std::sync::Arc;

use mote_common::prng::Prng;

use super::words::{
    ADJECTIVES, ADVERBS, AUXILIARIES, NOUN_PHRASES, NOUNS, PREPOSITIONS, SENTENCES, TERMINATORS,
    VERB_PHRASES, VERBS, Weighted,
};

/// How long the text is, in bytes.
const TEXT_BYTES: usize = 2 << 20;
/// The part of a seed that decides the text.
const TEXT_STREAM: u64 = 0x7e87;

/// The long text, shared by all that take comments from it.
#[derive(Clone)]
pub struct Text(Arc<str>);

impl Text {
    pub fn new(seed: u64) -> Text {
        let mut prng = Prng::fork(seed, TEXT_STREAM);
        let lists = Lists::new();
        let mut text = String::with_capacity(TEXT_BYTES + 256);
        while text.len() < TEXT_BYTES {
            lists.sentence(&mut prng, &mut text);
        }
        Text(text.into())
    }

    /// A piece of it, of `shortest` to `longest` letters.
    pub fn piece(&self, prng: &mut Prng, shortest: usize, longest: usize) -> &str {
        let length = prng.between(shortest as i64, longest as i64) as usize;
        let from = prng.below((self.0.len() - length) as u64) as usize;
        &self.0[from..from + length] // the words are ASCII
    }
}

/// A weighted list, ready to be drawn from.
struct List {
    words: &'static [Weighted],
    total: u64,
}

impl List {
    fn new(words: &'static [Weighted]) -> List {
        let total = words.iter().map(|(_, weight)| u64::from(*weight)).sum();
        List { words, total }
    }

    fn draw(&self, prng: &mut Prng) -> &'static str {
        let mut ticket = prng.below(self.total);
        for (word, weight) in self.words {
            match ticket.checked_sub(u64::from(*weight)) {
                Some(rest) => ticket = rest,
                None => return word,
            }
        }
        unreachable!("tickets are below the sum of the weights")
    }
}

struct Lists {
    sentences: List,
    noun_phrases: List,
    verb_phrases: List,
    nouns: List,
    verbs: List,
    adjectives: List,
    adverbs: List,
    prepositions: List,
    auxiliaries: List,
    terminators: List,
}

impl Lists {
    fn new() -> Lists {
        Lists {
            sentences: List::new(SENTENCES),
            noun_phrases: List::new(NOUN_PHRASES),
            verb_phrases: List::new(VERB_PHRASES),
            nouns: List::new(NOUNS),
            verbs: List::new(VERBS),
            adjectives: List::new(ADJECTIVES),
            adverbs: List::new(ADVERBS),
            prepositions: List::new(PREPOSITIONS),
            auxiliaries: List::new(AUXILIARIES),
            terminators: List::new(TERMINATORS),
        }
    }

    /// Appends a sentence and the space before the next one.
    fn sentence(&self, prng: &mut Prng, out: &mut String) {
        for part in self.sentences.draw(prng).chars() {
            match part {
                'N' => self.phrase(&self.noun_phrases, &self.nouns, prng, out),
                'V' => self.phrase(&self.verb_phrases, &self.verbs, prng, out),
                'P' => {
                    out.push_str(self.prepositions.draw(prng));
                    out.push_str(" the ");
                    self.phrase(&self.noun_phrases, &self.nouns, prng, out);
                }
                _ => {
                    out.pop(); // the end follows its word at once
                    out.push_str(self.terminators.draw(prng));
                    out.push(' ');
                }
            }
        }
    }

    /// Appends a phrase of one of `shapes` about one of `heads`, and a space.
    fn phrase(&self, shapes: &List, heads: &List, prng: &mut Prng, out: &mut String) {
        for part in shapes.draw(prng).chars() {
            let word = match part {
                'J' => self.adjectives.draw(prng),
                'D' => self.adverbs.draw(prng),
                'X' => self.auxiliaries.draw(prng),
                ',' => {
                    out.pop();
                    ","
                }
                _ => heads.draw(prng),
            };
            out.push_str(word);
            out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_have_their_lengths_and_the_phrases_that_queries_look_for() {
        let text = Text::new(3);
        assert!(text.0.is_ascii() && !text.0.contains(['\t', '\n', '\\']));
        assert!(!text.0.contains("  "));
        let mut prng = Prng::new(9);
        let mut special = 0;
        for _ in 0..20_000 {
            let piece = text.piece(&mut prng, 19, 78);
            assert!((19..=78).contains(&piece.len()));
            let after = piece.split_once("special").map(|(_, after)| after);
            special += after.is_some_and(|after| after.contains("requests")) as u32;
        }
        // About one order in a hundred, as from the specification's own program.
        assert!((100..400).contains(&special), "{special}, seed 3");
    }

    #[test]
    fn the_seed_decides_the_text() {
        assert!(Text::new(1).0 == Text::new(1).0 && Text::new(1).0 != Text::new(2).0);
    }
}
