//! Ranges and multiranges in memory. What can be done to them is in `family::range`, their order in `compare`.

use mote_common::SqlResult;
use mote_common::work::{self, Bulk, Meter};

use super::{Datum, ELEMENT_COST};
use crate::oid::Oid;

/// A range of values of one type. It does not know its own type, of which there may be several over one subtype.
#[derive(Clone, Debug)]
pub struct Range {
    pub subtype: Oid,
    /// None: the empty range.
    pub span: Option<Span>,
}

/// A set of values of one type, as the fewest spans: they are in order, and neither overlap nor touch.
#[derive(Clone, Debug)]
pub struct Multirange {
    pub subtype: Oid,
    pub spans: Bulk<Span>,
}

/// A range that is not empty: `lower` lies before `upper`, or both are one value that belongs to it.
#[derive(Clone, Debug)]
pub struct Span {
    pub lower: Bound,
    pub upper: Bound,
}

/// Where a span ends on one side.
#[derive(Clone, Debug)]
pub struct Bound {
    /// None: it does not end there.
    pub value: Option<Datum>,
    /// The value belongs to the span. Never set where there is none.
    pub inclusive: bool,
}

impl Bound {
    pub const NONE: Bound = Bound {
        value: None,
        inclusive: false,
    };

    /// A bound at a value; NULL stands for none.
    pub fn new(value: Datum, inclusive: bool) -> Bound {
        match value {
            Datum::Null => Bound::NONE,
            value => Bound {
                value: Some(value),
                inclusive,
            },
        }
    }

    /// The value as a function gives it.
    pub fn to_datum(&self) -> SqlResult<Datum> {
        self.value.as_ref().map_or(Ok(Datum::Null), Datum::try_clone)
    }

    fn try_clone(&self) -> SqlResult<Bound> {
        Ok(Bound {
            value: self.value.as_ref().map(Datum::try_clone).transpose()?,
            inclusive: self.inclusive,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Datum::heap_bytes)
    }
}

impl Span {
    pub fn try_clone(&self) -> SqlResult<Span> {
        Ok(Span {
            lower: self.lower.try_clone()?,
            upper: self.upper.try_clone()?,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.lower.heap_bytes() + self.upper.heap_bytes()
    }
}

impl Multirange {
    pub(super) fn try_clone(&self) -> SqlResult<Multirange> {
        let mut spans = work::list(self.spans.len())?;
        let mut meter = Meter::default();
        for span in &self.spans {
            let copy = span.try_clone()?;
            meter.keep(ELEMENT_COST, copy.heap_bytes().min(work::GRAIN_BYTES))?;
            spans.push(copy);
        }
        Ok(Multirange {
            subtype: self.subtype,
            spans: spans.into(),
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let spans: usize = self.spans.iter().map(Span::heap_bytes).sum();
        size_of::<Multirange>() + self.spans.capacity() * size_of::<Span>() + spans
    }
}

impl Range {
    pub(super) fn try_clone(&self) -> SqlResult<Range> {
        Ok(Range {
            subtype: self.subtype,
            span: self.span.as_ref().map(Span::try_clone).transpose()?,
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Range>() + self.span.as_ref().map_or(0, Span::heap_bytes)
    }
}
