//! TPC-H's tables and its 22 queries, for comparing systems on statements that read much: own rows, own words.
//!
//! Read in this order: this file (sizes), `tables` (columns, keys, indexes), `rows` (what is in them), `text` and `words`
//! (comments), `queries`.
//!
//! Rows follow clause 4.2.3 of the specification: its sizes, distributions, sparse order keys and grammar of comments. They are
//! not those of the specification's program, so that the answers of its validation do not hold here: several systems are
//! compared with one another instead.
//!
//! Promises: a row follows from the scale, the seed and its key alone; nothing here speaks to a server.
//!
//! Leaves out: refresh functions, streams, and every figure of the specification (QphH). Nothing here is comparable with
//! published TPC results.
#![forbid(unsafe_code)]

mod queries;
mod rows;
pub mod tables;
mod text;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use mote_common::prng::Prng;

pub use self::queries::{Query, queries};
pub use self::tables::Table;
use self::text::Text;

/// The scales that there can be: smaller ones leave tables empty, larger ones need wider keys.
pub const SCALE_MIN: f64 = 0.001;
pub const SCALE_MAX: f64 = 300.0;
/// Fewer suppliers would give a part one of them twice.
const SUPPLIERS_MIN: i64 = 80;
/// The parts of a seed that decide who is complained about.
const REMARKS_STREAM: u64 = 0xbad;

/// What customers say of a supplier, in the comments that query 16 looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Remark {
    Complaints,
    Recommends,
}

/// The database of a scale: 1 is about a gigabyte of text.
#[derive(Clone)]
pub struct TpcH {
    pub scale: f64,
    pub seed: u64,
    text: Text,
    /// By supplier key.
    remarks: Arc<BTreeMap<i64, Remark>>,
    /// By days since the first of January 1992.
    dates: Arc<[String]>,
}

impl TpcH {
    pub fn new(scale: f64, seed: u64) -> TpcH {
        let mut made = TpcH {
            scale,
            seed,
            text: Text::new(seed),
            remarks: Arc::default(),
            dates: rows::dates().into(),
        };
        made.remarks = Arc::new(made.draw_remarks());
        made
    }

    /// Five of 10,000 suppliers are complained about, five others recommended.
    fn draw_remarks(&self) -> BTreeMap<i64, Remark> {
        let each = self.sized(5).max(1) as usize;
        let mut prng = Prng::fork(self.seed, REMARKS_STREAM);
        let mut remarks = BTreeMap::new();
        for remark in [Remark::Complaints, Remark::Recommends] {
            let there = remarks.len();
            while remarks.len() < there + each {
                let supplier = prng.between(1, self.suppliers());
                remarks.entry(supplier).or_insert(remark);
            }
        }
        remarks
    }

    /// So many at scale 1.
    fn sized(&self, at_one: i64) -> i64 {
        (self.scale * at_one as f64).round() as i64
    }

    fn suppliers(&self) -> i64 {
        self.sized(10_000).max(SUPPLIERS_MIN)
    }

    fn parts(&self) -> i64 {
        self.sized(200_000)
    }

    fn customers(&self) -> i64 {
        self.sized(150_000)
    }

    fn orders(&self) -> i64 {
        10 * self.customers()
    }

    fn clerks(&self) -> i64 {
        self.sized(1_000).max(1)
    }

    /// The suppliers of a part are those of `number` 0 to 3: all different, and each supplier has as many parts.
    fn supplier_of(&self, part: i64, number: i64) -> i64 {
        let suppliers = self.suppliers();
        (part + number * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1
    }
}
