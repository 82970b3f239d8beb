//! Rows that code makes (pg_catalog, information_schema), kept for one run of a statement.
//!
//! A sub-query or a lateral item that reads a catalog runs once for every row around it. The catalog is the same each time,
//! as a statement sees one state of it in PostgreSQL: so its rows are made once for all scans of the run, and from the second
//! search on for a value of a column they are found by a table of the column's values.

use std::sync::Arc;

use hashbrown::HashMap;
use mote_common::Oid;
use mote_types::Datum;

pub type Rows = Vec<Vec<Datum>>;

/// Of all relations that the run has read.
#[derive(Default)]
pub struct MadeRows(Vec<Made>);

struct Made {
    relation: Oid,
    rows: Arc<Rows>,
    searched: Vec<Searched>,
}

/// A column in which values are looked for.
struct Searched {
    attribute: u16,
    /// Made at the second search: one alone reads the rows as fast.
    places: Option<Arc<Places>>,
}

/// Where the rows of each value stand, in their order.
#[derive(Default)]
pub struct Places {
    numbers: HashMap<i64, Vec<u32>>,
    texts: HashMap<Box<str>, Vec<u32>>,
}

/// What equality compares: integers of all widths and OIDs by number, texts by their bytes.
enum Key<'d> {
    Number(i64),
    Text(&'d str),
}

fn key(value: &Datum) -> Option<Key<'_>> {
    Some(match value {
        Datum::Int2(number) => Key::Number((*number).into()),
        Datum::Int4(number) => Key::Number((*number).into()),
        Datum::Int8(number) => Key::Number(*number),
        Datum::Oid(number) => Key::Number((*number).into()),
        Datum::Text(text) => Key::Text(text),
        _ => return None,
    })
}

impl Places {
    fn of(rows: &Rows, attribute: u16) -> Places {
        let mut places = Places::default();
        for (place, row) in (0..).zip(rows) {
            // NULL equals nothing.
            match key(&row[usize::from(attribute)]) {
                Some(Key::Number(number)) => places.numbers.entry(number).or_default().push(place),
                Some(Key::Text(text)) => places.texts.entry(text.into()).or_default().push(place),
                None => {}
            }
        }
        places
    }

    /// The rows whose column has this value.
    pub fn find(&self, value: &Datum) -> &[u32] {
        let found = match key(value) {
            Some(Key::Number(number)) => self.numbers.get(&number),
            Some(Key::Text(text)) => self.texts.get(text),
            None => None,
        };
        found.map_or(&[], Vec::as_slice)
    }
}

impl MadeRows {
    pub fn get(&self, relation: Oid) -> Option<Arc<Rows>> {
        let made = self.0.iter().find(|made| made.relation == relation)?;
        Some(Arc::clone(&made.rows))
    }

    pub fn keep(&mut self, relation: Oid, rows: Rows) -> Arc<Rows> {
        let rows = Arc::new(rows);
        self.0.push(Made {
            relation,
            rows: Arc::clone(&rows),
            searched: Vec::new(),
        });
        rows
    }

    /// Where the values of a column stand; None at the first search, and of rows that are not kept.
    pub fn search(&mut self, relation: Oid, attribute: u16) -> Option<Arc<Places>> {
        let made = self.0.iter_mut().find(|made| made.relation == relation)?;
        let known = made
            .searched
            .iter_mut()
            .find(|column| column.attribute == attribute);
        let Some(column) = known else {
            made.searched.push(Searched {
                attribute,
                places: None,
            });
            return None;
        };
        let rows = &made.rows;
        let places = column
            .places
            .get_or_insert_with(|| Arc::new(Places::of(rows, attribute)));
        Some(Arc::clone(places))
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_from_the_second_search_on() {
        let row = |number: Datum, text: &str| vec![number, Datum::text(text)];
        let mut made = MadeRows::default();
        assert!(made.search(Oid(1), 0).is_none());
        made.keep(
            Oid(1),
            vec![
                row(Datum::Oid(7), "a"),
                row(Datum::Int2(-1), "b"),
                row(Datum::Null, "a"),
                row(Datum::Int8(7), "c"),
            ],
        );
        assert!(made.search(Oid(1), 0).is_none());
        let numbers = made.search(Oid(1), 0).expect("the second search");
        assert_eq!(numbers.find(&Datum::Int4(7)), [0, 3]);
        assert_eq!(numbers.find(&Datum::Int4(-1)), [1]);
        assert_eq!(numbers.find(&Datum::Null), [] as [u32; 0]);
        assert!(made.search(Oid(1), 1).is_none());
        let texts = made.search(Oid(1), 1).expect("the second search");
        assert_eq!(texts.find(&Datum::text("a")), [0, 2]);
        assert_eq!(texts.find(&Datum::text("z")), [] as [u32; 0]);
    }
}
