//! A number for what of the settings shapes a plan: equal numbers, equal settings. Plans and those who run them are compared
//! for every statement, so that two numbers are compared and not two texts.

use std::collections::HashMap;

use parking_lot::RwLock;

/// What shapes a plan, as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PlanKey(u64);

/// Texts that have a number of their own to be found by. Whoever comes with another one gets a number each time: his plans
/// are shared by nobody, and are right all the same.
const TEXTS_MAX: usize = 16 << 10;
/// Longer texts are not kept, either.
const TEXT_BYTES_MAX: usize = 1 << 10;

#[derive(Default)]
struct Numbers {
    by_text: HashMap<Box<str>, PlanKey>,
    last: u64,
}

/// Of the process: the plans of a thread are those of several sessions and databases. Written when a setting takes a value
/// that it never had.
static NUMBERS: RwLock<Option<Numbers>> = RwLock::new(None);

impl PlanKey {
    pub(super) fn of(text: &str) -> PlanKey {
        if let Some(numbers) = &*NUMBERS.read()
            && let Some(known) = numbers.by_text.get(text)
        {
            return *known;
        }
        NUMBERS.write().get_or_insert_default().number(text)
    }
}

impl Numbers {
    fn number(&mut self, text: &str) -> PlanKey {
        // Somebody else may have come first.
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        self.last += 1;
        let key = PlanKey(self.last);
        if self.by_text.len() < TEXTS_MAX && text.len() <= TEXT_BYTES_MAX {
            self.by_text.insert(text.into(), key);
        }
        key
    }
}

/// For tests of what is kept by such keys.
impl Default for PlanKey {
    fn default() -> PlanKey {
        PlanKey::of("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_equal_numbers_up_to_the_bound() {
        let mut numbers = Numbers::default();
        let first = numbers.number("first");
        for number in 0..TEXTS_MAX {
            numbers.number(&number.to_string());
        }
        assert_eq!(numbers.number("first"), first);
        assert_eq!(numbers.by_text.len(), TEXTS_MAX);
        // Behind the bound each comes with a number that nobody had.
        let (one, other) = (numbers.number("behind"), numbers.number("behind"));
        assert!(one != other && one != first);
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        let mut numbers = Numbers::default();
        assert_ne!(numbers.number(&long), numbers.number(&long));
        assert!(numbers.by_text.is_empty());
    }
}
