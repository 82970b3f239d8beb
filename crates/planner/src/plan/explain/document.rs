//! A structured document, and its three spellings: JSON, XML and YAML, laid out as PostgreSQL lays them out.

use std::fmt::Write;

pub(super) enum Document {
    Text(String),
    /// Digits, `true` or `false`: never quoted.
    Plain(String),
    /// With the name that XML gives each element.
    List(&'static str, Vec<Document>),
    Object(Vec<(&'static str, Document)>),
    /// An object whose names are not ours.
    Map(Vec<(String, Document)>),
}

const XML_NAMESPACE: &str = "http://www.postgresql.org/2009/explain";

impl Document {
    pub fn json(&self) -> String {
        let mut text = String::new();
        self.write_json(0, &mut text);
        text
    }

    pub fn yaml(&self) -> String {
        let mut text = String::new();
        self.write_yaml(0, &mut text);
        text.trim_start_matches('\n').to_owned()
    }

    pub fn xml(&self) -> String {
        let mut text = format!("<explain xmlns=\"{XML_NAMESPACE}\">");
        if let Document::List(_, queries) = self {
            queries
                .iter()
                .for_each(|query| query.write_xml("Query", 1, &mut text));
        }
        text.push_str("\n</explain>");
        text
    }

    fn fields(&self) -> Option<Vec<(&str, &Document)>> {
        match self {
            Document::Object(fields) => Some(fields.iter().map(|(name, value)| (*name, value)).collect()),
            Document::Map(fields) => Some(fields.iter().map(|(name, value)| (&**name, value)).collect()),
            _ => None,
        }
    }

    fn write_json(&self, depth: usize, text: &mut String) {
        match self {
            Document::Text(value) => quote(value, text),
            Document::Plain(value) => text.push_str(value),
            Document::List(_, items) if items.iter().all(Document::is_scalar) => {
                text.push('[');
                for (position, item) in items.iter().enumerate() {
                    text.push_str(if position > 0 { ", " } else { "" });
                    item.write_json(depth, text);
                }
                text.push(']');
            }
            Document::List(_, items) => {
                text.push('[');
                for (position, item) in items.iter().enumerate() {
                    text.push_str(if position > 0 { "," } else { "" });
                    new_line(depth + 1, text);
                    item.write_json(depth + 1, text);
                }
                new_line(depth, text);
                text.push(']');
            }
            Document::Object(_) | Document::Map(_) => {
                text.push('{');
                for (position, (name, value)) in self.fields().into_iter().flatten().enumerate() {
                    text.push_str(if position > 0 { "," } else { "" });
                    new_line(depth + 1, text);
                    quote(name, text);
                    text.push_str(": ");
                    value.write_json(depth + 1, text);
                }
                new_line(depth, text);
                text.push('}');
            }
        }
    }

    /// A scalar goes on the line of its name, everything else begins a new one.
    fn write_yaml(&self, depth: usize, text: &mut String) {
        match self {
            Document::Text(value) => quote(value, text),
            Document::Plain(value) => text.push_str(value),
            Document::List(_, items) => {
                for item in items {
                    new_line(depth, text);
                    text.push_str("- ");
                    item.write_yaml_fields(depth + 1, true, text);
                }
            }
            Document::Object(_) | Document::Map(_) => self.write_yaml_fields(depth, false, text),
        }
    }

    /// `begun`: the first field stands behind the dash of a list.
    fn write_yaml_fields(&self, depth: usize, begun: bool, text: &mut String) {
        let Some(fields) = self.fields() else {
            return self.write_yaml(depth, text);
        };
        for (position, (name, value)) in fields.into_iter().enumerate() {
            if position > 0 || !begun {
                new_line(depth, text);
            }
            let _ = write!(text, "{name}: ");
            value.write_yaml(depth + 1, text);
        }
    }

    fn write_xml(&self, name: &str, depth: usize, text: &mut String) {
        let tag = name.replace([' ', '/'], "-");
        new_line(depth, text);
        match self {
            Document::Text(value) | Document::Plain(value) => {
                let _ = write!(text, "<{tag}>{}</{tag}>", escaped(value));
            }
            Document::List(item, items) => {
                let _ = write!(text, "<{tag}>");
                items.iter().for_each(|one| one.write_xml(item, depth + 1, text));
                new_line(depth, text);
                let _ = write!(text, "</{tag}>");
            }
            Document::Object(_) | Document::Map(_) => {
                let _ = write!(text, "<{tag}>");
                for (name, value) in self.fields().into_iter().flatten() {
                    value.write_xml(name, depth + 1, text);
                }
                new_line(depth, text);
                let _ = write!(text, "</{tag}>");
            }
        }
    }

    fn is_scalar(&self) -> bool {
        matches!(self, Document::Text(_) | Document::Plain(_))
    }
}

fn new_line(depth: usize, text: &mut String) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

fn quote(value: &str, text: &mut String) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(text, "\\u{:04x}", c as u32);
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

fn escaped(value: &str) -> String {
    value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\r', "&#x0d;")
}
