//! The text form: a line for each node and property, indented by its place in the tree.

use std::fmt::Write;

use crate::plan::measured::Measurement;

use super::shown::{Detail, Line, Place, Shown, Value};
use super::{About, ExplainOptions};

pub(super) fn render(root: &Shown, options: &ExplainOptions, about: &About<'_>) -> Vec<String> {
    let mut renderer = Renderer {
        options,
        lines: Vec::new(),
    };
    renderer.node(root, 0, "");
    let mut lines = renderer.lines;
    if options.settings && !about.settings.is_empty() {
        let settings = about.settings.iter();
        let settings: Vec<String> = settings
            .map(|(name, value)| format!("{name} = '{value}'"))
            .collect();
        lines.push(format!("Settings: {}", settings.join(", ")));
    }
    if let Some(query_id) = about.query_id.filter(|_| options.verbose) {
        lines.push(format!("Query Identifier: {query_id}"));
    }
    if options.summary {
        lines.push(format!(
            "Planning Time: {:.3} ms",
            milliseconds(about.planning_ns)
        ));
    }
    let Some(run) = about.run else { return lines };
    for trigger in &run.triggers {
        let name = &trigger.name;
        let mut line = match trigger.constraint {
            true if !options.verbose => format!("Trigger for constraint {name}"),
            true => format!("Trigger {name} for constraint {name}"),
            false => format!("Trigger {name}"),
        };
        let one_table = run
            .triggers
            .iter()
            .all(|other| other.relation == trigger.relation);
        if options.verbose || !one_table {
            let _ = write!(line, " on {}", trigger.relation);
        }
        match run.timed {
            true => {
                let time = milliseconds(trigger.total_ns);
                let _ = write!(line, ": time={time:.3} calls={}", trigger.calls);
            }
            false => {
                let _ = write!(line, ": calls={}", trigger.calls);
            }
        }
        lines.push(line);
    }
    if options.summary {
        lines.push(format!(
            "Execution Time: {:.3} ms",
            milliseconds(about.execution_ns)
        ));
    }
    lines
}

pub(super) fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

struct Renderer<'a> {
    options: &'a ExplainOptions,
    lines: Vec<String>,
}

impl Renderer<'_> {
    fn node(&mut self, node: &Shown, indent: usize, arrow: &str) {
        let mut line = format!("{}{arrow}{}", " ".repeat(indent), node.title);
        if self.options.costs {
            // Costs are PostgreSQL's only in kind: a hundred rows read are one.
            let (cost, rows) = (node.estimate.cost / 100.0, node.estimate.rows);
            let _ = write!(line, "  (cost=0.00..{cost:.2} rows={rows:.0} width=0)");
        }
        if let Some(ran) = &node.ran {
            let _ = write!(line, " ({})", self.actual(ran));
        }
        self.lines.push(line);
        let inner = indent + arrow.len() + 2;
        for detail in &node.details {
            if let Some(line) = detail_line(detail) {
                self.lines.push(format!("{}{line}", " ".repeat(inner)));
            }
        }
        for input in &node.inputs {
            match &input.place {
                Place::InitPlan(name) | Place::SubPlan(name) => {
                    self.lines.push(format!("{}{name}", " ".repeat(inner)));
                    self.node(input, inner + 2, "->  ");
                }
                Place::Root | Place::Outer | Place::Inner | Place::Member => self.node(input, inner, "->  "),
            }
        }
    }

    fn actual(&self, ran: &Measurement) -> String {
        if ran.loops == 0 {
            return "never executed".to_owned();
        }
        let loops = ran.loops as f64;
        let rows = ran.rows as f64 / loops;
        let mut text = "actual".to_owned();
        if self.options.timing {
            let (startup, total) = (milliseconds(ran.startup_ns), milliseconds(ran.total_ns));
            let _ = write!(text, " time={:.3}..{:.3}", startup / loops, total / loops);
        }
        let _ = write!(text, " rows={rows:.0} loops={}", ran.loops);
        text
    }
}

fn detail_line(detail: &Detail) -> Option<String> {
    let value = match &detail.line {
        Line::Hidden => return None,
        Line::Own(line) => return Some(line.clone()),
        Line::Plain => match &detail.value {
            Value::Text(text) => text.clone(),
            Value::Texts(texts) => texts.join(", "),
            Value::Integer(value) => value.to_string(),
            Value::Decimal(value, digits) => format!("{value:.digits$}"),
        },
    };
    Some(format!("{}: {value}", detail.name))
}
