//! pg_get_keywords: the words of PostgreSQL 15's grammar, from `keywords.txt` (word, category, bare label).

use mote_types::Datum;

use super::RowSource;
use super::row_source::rows;

/// Rows of word, category, bare label, and the two in words.
pub fn keywords() -> Box<dyn RowSource> {
    let listed = include_str!("keywords.txt").lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let (word, category, bare) = (fields.next()?, fields.next()?, fields.next()? == "t");
        let meaning = match category {
            "U" => "unreserved",
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            _ => "reserved",
        };
        let label = if bare { "can be bare label" } else { "requires AS" };
        Some(vec![
            Datum::from(word),
            Datum::from(category),
            Datum::Bool(bare),
            Datum::from(meaning),
            Datum::from(label),
        ])
    });
    rows(listed.collect())
}
