//! Plans as EXPLAIN shows them, in PostgreSQL's forms.
//!
//! Read in this order: this file (what may be asked for), `shown` (the tree that every format renders), `describe` and `title`
//! (which make it of a plan's nodes), `names`, `parameters` with `handed_on`, and `expression` (what stands in it), `estimate`,
//! then the renderers: `text`, and `document` with `structured` for JSON, XML and YAML.
//!
//! Source: PostgreSQL's explain.c.
//!
//! Leaves out: running a plan. What a run counted comes in as [`Measurements`] (`super::measured`).

mod describe;
mod document;
mod estimate;
mod expression;
mod handed_on;
mod names;
mod parameters;
mod shown;
mod structured;
mod text;
mod title;

use super::QueryPlan;
use super::measured::Measurements;

pub use expression::show;

/// What the user asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExplainOptions {
    pub analyze: bool,
    pub verbose: bool,
    pub costs: bool,
    pub settings: bool,
    pub buffers: bool,
    pub timing: bool,
    pub summary: bool,
    pub format: ExplainFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplainFormat {
    Text,
    Xml,
    Json,
    Yaml,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        ExplainOptions {
            analyze: false,
            verbose: false,
            costs: true,
            settings: false,
            buffers: false,
            timing: false,
            summary: false,
            format: ExplainFormat::Text,
        }
    }
}

/// What is told beside the plan's nodes.
#[derive(Clone, Default)]
pub struct About<'a> {
    /// None: the plan was not run.
    pub run: Option<&'a Measurements>,
    /// Settings that differ from their defaults and bear on plans; asked for by SETTINGS.
    pub settings: Vec<(String, String)>,
    /// The statement's number, where somebody asks for such.
    pub query_id: Option<i64>,
    pub planning_ns: u64,
    pub execution_ns: u64,
}

/// The rows of EXPLAIN's result: a line each in the text form, else all in one. A plan that was run is the measured one.
pub fn explain(plan: &QueryPlan, options: &ExplainOptions, about: &About<'_>) -> Vec<String> {
    let shown = describe::describe(plan, options, about.run);
    match options.format {
        ExplainFormat::Text => text::render(&shown, options, about),
        format => {
            let document = structured::document(&shown, options, about);
            let text = match format {
                ExplainFormat::Xml => document.xml(),
                ExplainFormat::Yaml => document.yaml(),
                ExplainFormat::Json | ExplainFormat::Text => document.json(),
            };
            vec![text]
        }
    }
}
