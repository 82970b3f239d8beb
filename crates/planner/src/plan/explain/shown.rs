//! A plan as it is shown: the one tree that every format renders.

use crate::plan::measured::Measurement;

use super::estimate::Estimate;

/// A node and what stands below it.
pub(super) struct Shown {
    /// The node's line in the text form.
    pub title: String,
    /// What the title says, piece by piece, for the other forms; the node's type is the first.
    pub attributes: Vec<(&'static str, Value)>,
    pub estimate: Estimate,
    /// None where nothing was measured.
    pub ran: Option<Measurement>,
    pub details: Vec<Detail>,
    pub inputs: Vec<Shown>,
    pub place: Place,
}

/// What a node is to the one above it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Outer,
    Inner,
    Member,
    /// By its name: "InitPlan 1", "CTE x".
    InitPlan(String),
    SubPlan(String),
}

/// One property of a node.
pub(super) struct Detail {
    pub name: &'static str,
    pub value: Value,
    pub line: Line,
}

/// How the text form shows a property.
pub(super) enum Line {
    /// `Name: value`.
    Plain,
    Own(String),
    Hidden,
}

pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Integer(u64),
    /// With so many digits behind the point.
    Decimal(f64, usize),
}

impl Detail {
    pub fn text(name: &'static str, text: impl Into<String>) -> Detail {
        Detail {
            name,
            value: Value::Text(text.into()),
            line: Line::Plain,
        }
    }

    pub fn texts(name: &'static str, texts: Vec<String>) -> Detail {
        Detail {
            name,
            value: Value::Texts(texts),
            line: Line::Plain,
        }
    }

    /// For the structured forms alone.
    pub fn hidden(name: &'static str, value: Value) -> Detail {
        Detail {
            name,
            value,
            line: Line::Hidden,
        }
    }
}
