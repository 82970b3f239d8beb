//! The tree as a document for JSON, XML and YAML: the same properties under PostgreSQL's names, absent only where there is
//! no true value.

use crate::plan::measured::TriggerRun;

use super::document::Document;
use super::shown::{Place, Shown, Value};
use super::text::milliseconds;
use super::{About, ExplainOptions};

/// What BUFFERS counts: rows and indexes live in memory, no node ever touches a block.
const BLOCKS: [&str; 10] = [
    "Shared Hit Blocks",
    "Shared Read Blocks",
    "Shared Dirtied Blocks",
    "Shared Written Blocks",
    "Local Hit Blocks",
    "Local Read Blocks",
    "Local Dirtied Blocks",
    "Local Written Blocks",
    "Temp Read Blocks",
    "Temp Written Blocks",
];

type Fields = Vec<(&'static str, Document)>;

pub(super) fn document(root: &Shown, options: &ExplainOptions, about: &About<'_>) -> Document {
    let mut fields = vec![("Plan", node(root, options))];
    if options.settings && !about.settings.is_empty() {
        let settings = about.settings.iter();
        let settings = settings.map(|(name, value)| (name.clone(), Document::Text(value.clone())));
        fields.push(("Settings", Document::Map(settings.collect())));
    }
    if let Some(query_id) = about.query_id.filter(|_| options.verbose) {
        fields.push(("Query Identifier", Document::Plain(query_id.to_string())));
    }
    if options.buffers {
        let mut planning = Fields::new();
        blocks(&mut planning);
        fields.push(("Planning", Document::Object(planning)));
    }
    if options.summary {
        fields.push(("Planning Time", decimal(milliseconds(about.planning_ns), 3)));
    }
    if let Some(run) = about.run {
        let triggers = run.triggers.iter().map(|run| trigger(run, options));
        fields.push(("Triggers", Document::List("Trigger", triggers.collect())));
        if options.summary {
            fields.push(("Execution Time", decimal(milliseconds(about.execution_ns), 3)));
        }
    }
    Document::List("Query", vec![Document::Object(fields)])
}

fn node(shown: &Shown, options: &ExplainOptions) -> Document {
    let mut attributes = shown.attributes.iter();
    let mut fields = Fields::new();
    // PostgreSQL tells what a node is, then where it stands, then what it works on.
    let first = attributes
        .as_slice()
        .iter()
        .take_while(|(name, _)| matches!(*name, "Node Type" | "Strategy" | "Partial Mode" | "Operation"))
        .count();
    fields.extend(
        attributes
            .by_ref()
            .take(first)
            .map(|(name, of)| (*name, value(of))),
    );
    place(&shown.place, &mut fields);
    fields.push(("Parallel Aware", plain(false)));
    fields.push(("Async Capable", plain(false)));
    fields.extend(attributes.map(|(name, of)| (*name, value(of))));
    if options.costs {
        fields.push(("Startup Cost", decimal(0.0, 2)));
        fields.push(("Total Cost", decimal(shown.estimate.cost / 100.0, 2)));
        fields.push(("Plan Rows", decimal(shown.estimate.rows, 0)));
        fields.push(("Plan Width", plain(0)));
    }
    if let Some(ran) = &shown.ran {
        let loops = ran.loops.max(1) as f64;
        if options.timing {
            fields.push((
                "Actual Startup Time",
                decimal(milliseconds(ran.startup_ns) / loops, 3),
            ));
            fields.push((
                "Actual Total Time",
                decimal(milliseconds(ran.total_ns) / loops, 3),
            ));
        }
        fields.push(("Actual Rows", decimal(ran.rows as f64 / loops, 0)));
        fields.push(("Actual Loops", plain(ran.loops)));
    }
    fields.extend(
        shown
            .details
            .iter()
            .map(|detail| (detail.name, value(&detail.value))),
    );
    if options.buffers {
        blocks(&mut fields);
    }
    if !shown.inputs.is_empty() {
        let inputs = shown.inputs.iter().map(|input| node(input, options));
        fields.push(("Plans", Document::List("Plan", inputs.collect())));
    }
    Document::Object(fields)
}

fn place(place: &Place, fields: &mut Fields) {
    let (relationship, name) = match place {
        Place::Root => return,
        Place::Outer => ("Outer", None),
        Place::Inner => ("Inner", None),
        Place::Member => ("Member", None),
        Place::InitPlan(name) => ("InitPlan", Some(name)),
        Place::SubPlan(name) => ("SubPlan", Some(name)),
    };
    fields.push(("Parent Relationship", Document::Text(relationship.to_owned())));
    if let Some(name) = name {
        fields.push(("Subplan Name", Document::Text(name.clone())));
    }
}

fn trigger(run: &TriggerRun, options: &ExplainOptions) -> Document {
    let text = |text: &String| Document::Text(text.clone());
    let mut fields = vec![("Trigger Name", text(&run.name))];
    if run.constraint {
        fields.push(("Constraint Name", text(&run.name)));
    }
    fields.push(("Relation", text(&run.relation)));
    if options.timing {
        fields.push(("Time", decimal(milliseconds(run.total_ns), 3)));
    }
    fields.push(("Calls", plain(run.calls)));
    Document::Object(fields)
}

fn blocks(fields: &mut Fields) {
    fields.extend(BLOCKS.map(|name| (name, plain(0))));
}

fn value(value: &Value) -> Document {
    match value {
        Value::Text(text) => Document::Text(text.clone()),
        Value::Texts(texts) => {
            let texts = texts.iter().cloned().map(Document::Text);
            Document::List("Item", texts.collect())
        }
        Value::Integer(value) => plain(value),
        Value::Decimal(value, digits) => decimal(*value, *digits),
    }
}

fn plain(value: impl ToString) -> Document {
    Document::Plain(value.to_string())
}

fn decimal(value: f64, digits: usize) -> Document {
    Document::Plain(format!("{value:.digits$}"))
}
