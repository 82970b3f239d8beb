//! A self-contained HTML page: figures, tables, and charts that are declared as JSON and drawn by the script inside. Its words
//! and tables are kept as Markdown too, for places where a page cannot be put.
//!
//! Nothing on a page comes from a network. Text is escaped where it enters; a chart's JSON cannot end its element.
//! Leaves out: what stands on which page (`html`), and what a chart looks like (`charts`).

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::board;

pub(crate) const CHARTS_SCRIPT: &str = include_str!("../../assets/echarts.min.js");
pub(crate) const PAGE_SCRIPT: &str = include_str!("../../assets/page.js");
pub(crate) const STYLE: &str = include_str!("../../assets/page.css");

/// How a figure or a cell stands out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Bad,
    Warn,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Warn => "warn",
        }
    }

    /// What a verdict's word deserves.
    fn of(word: &str) -> Tone {
        match word {
            "PASS" | "faster" | "yes" => Tone::Good,
            "FAIL" | "slower" | "NO" => Tone::Bad,
            "NOTE" | "note" | "undecided" => Tone::Warn,
            _ if word.starts_with("better ") => Tone::Good,
            _ if word.starts_with("worse ") => Tone::Bad,
            _ if word.starts_with("undecided ") => Tone::Warn,
            _ => Tone::Plain,
        }
    }

    pub fn passes(pass: bool) -> Tone {
        if pass { Tone::Good } else { Tone::Bad }
    }
}

/// A page in both of its forms.
pub struct Rendered {
    pub html: String,
    /// Without the charts, and without what is folded away.
    pub markdown: String,
}

impl Rendered {
    /// Writes the page if a file is asked for, and shows it to whoever looks at the live page.
    pub fn deliver(&self, path: &Option<PathBuf>) -> Result<(), String> {
        board::publish(&self.html);
        path.as_deref().map_or(Ok(()), |path| self.write(path))
    }

    /// Writes the page, and its Markdown beside it under the same name.
    fn write(&self, path: &Path) -> Result<(), String> {
        let written = std::fs::write(path, &self.html);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        let beside = path.with_extension("md");
        std::fs::write(&beside, &self.markdown).map_err(|error| format!("{}: {error}", beside.display()))
    }
}

/// Whether a page has readers: a file is asked for, or somebody may look at the live page.
pub fn is_wanted(path: &Option<PathBuf>) -> bool {
    path.is_some() || board::here().is_some()
}

pub struct Page {
    body: String,
    markdown: String,
    title: String,
    charts: usize,
}

impl Page {
    pub fn new(title: &str, lead: &str) -> Page {
        let mut page = Page {
            body: String::new(),
            markdown: format!("# {title}\n\n{lead}\n"),
            title: escape(title),
            charts: 0,
        };
        let heading = format!("<h1>{}</h1><p class=lead>{}</p>\n", page.title, escape(lead));
        page.put(&heading);
        page
    }

    fn put(&mut self, html: &str) {
        self.body.push_str(html);
    }

    pub fn heading(&mut self, text: &str) {
        self.put(&format!("\n<h2>{}</h2>\n", escape(text)));
        self.say(&format!("## {text}"));
    }

    pub fn subheading(&mut self, text: &str) {
        self.put(&format!("<h3>{}</h3>\n", escape(text)));
        self.say(&format!("### {text}"));
    }

    pub fn note(&mut self, text: &str) {
        self.put(&format!("<p class=note>{}</p>\n", escape(text)));
        self.say(text);
    }

    pub fn warning(&mut self, text: &str) {
        self.put(&format!("<p class=warn>{}</p>\n", escape(text)));
        self.say(&format!("**Warning:** {text}"));
    }

    /// What nobody shall overlook.
    pub fn stamp(&mut self, text: &str) {
        self.put(&format!("<p class=stamp>{}</p>\n", escape(text)));
        self.say(&format!("**{text}**"));
    }

    /// The figures that the page is about.
    pub fn cards(&mut self, cards: &[(String, String, Tone)]) {
        let rows: Vec<Vec<String>> = cards
            .iter()
            .map(|(label, value, _)| vec![label.clone(), value.clone()])
            .collect();
        self.say_table(&["figure", "value"], &rows);
        self.put("<div class=cards>");
        for (label, value, tone) in cards {
            self.put(&format!(
                "<div class=card><b class='{}'>{}</b><small>{}</small></div>",
                tone.class(),
                escape(value),
                escape(label)
            ));
        }
        self.put("</div>\n");
    }

    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        self.say_table(header, rows);
        self.put_table(header, rows);
    }

    fn say(&mut self, paragraph: &str) {
        write!(self.markdown, "\n{paragraph}\n").expect("writing to a String cannot fail");
    }

    fn say_table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let cell = |text: &str| text.replace('|', "\\|");
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut text = line(&mut header.iter().map(|title| cell(title)));
        text += &line(&mut header.iter().map(|_| "---".to_string()));
        for row in rows {
            text += &line(&mut row.iter().map(|value| cell(value)));
        }
        self.say(text.trim_end());
    }

    fn put_table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        // A column of sentences is read from the left, also where one of them is short.
        let is_text = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            column > 0 && cells.map(|cell| cell.chars().count()).max().unwrap_or(0) > 40
        };
        let texts: Vec<bool> = (0..header.len()).map(is_text).collect();
        self.put("<div class=scroll><table><tr>");
        for (title, is_text) in header.iter().zip(&texts) {
            let class = if *is_text { "text" } else { "" };
            self.put(&format!("<th class='{class}'>{}</th>", escape(title)));
        }
        self.put("</tr>\n");
        for row in rows {
            self.put("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let is_text = texts.get(column).copied().unwrap_or(false);
                let class = if is_text { "text" } else { Tone::of(cell).class() };
                self.put(&format!("<td class='{class}'>{}</td>", escape(cell)));
            }
            self.put("</tr>\n");
        }
        self.put("</table></div>\n");
    }

    /// A table that is there for those who ask.
    pub fn folded_table(&mut self, title: &str, header: &[&str], rows: &[Vec<String>]) {
        self.put(&format!("<details><summary>{}</summary>", escape(title)));
        self.put_table(header, rows);
        self.put("</details>\n");
    }

    pub fn command(&mut self, command: &str) {
        self.put(&format!("<pre>{}</pre>\n", escape(command)));
        self.say(&format!("```\n{command}\n```"));
    }

    /// Two columns where there is room, the right one wider, and one after the other where there is none.
    pub fn beside(&mut self, left: impl FnOnce(&mut Page), right: impl FnOnce(&mut Page)) {
        self.put("<div class='pair uneven'><section>");
        left(self);
        self.put("</section><section>");
        right(self);
        self.put("</section></div>\n");
    }

    /// Charts side by side where there is room.
    pub fn charts(&mut self, charts: &[Chart]) {
        self.put("<div class=pair>");
        for chart in charts {
            self.charts += 1;
            // A script element may end, or change how it is read, at any `<`; JSON may write it as an escape.
            let json = chart.option.to_string().replace('<', "\\u003c");
            self.put(&format!(
                "<section><h3>{}</h3><div class=chart role=img aria-label='{}'><script type='application/json'>{json}</script></div>",
                escape(&chart.title),
                escape(&chart.title)
            ));
            if !chart.note.is_empty() {
                self.put(&format!("<p class=note>{}</p>\n", escape(&chart.note)));
            }
            self.put("</section>\n");
        }
        self.put("</div>\n");
    }

    /// The end: small print, and the scripts if there is something to draw.
    pub fn finish(mut self, small_print: &[&str]) -> Rendered {
        self.put("<footer>");
        for line in small_print {
            self.put(&format!("<p>{}</p>", escape(line)));
            self.say(line);
        }
        if self.charts > 0 {
            self.put("<p>Charts: Apache ECharts 5.6.0, Apache License 2.0.</p>");
        }
        self.put("</footer>\n");
        let mut html = String::with_capacity(self.body.len() + CHARTS_SCRIPT.len() + 20_000);
        let written = write!(
            html,
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
             <meta name=viewport content='width=device-width,initial-scale=1'>\
             <link rel=icon href='data:,'><title>{}</title>\n<style>{STYLE}</style></head><body>\n{}",
            self.title, self.body
        );
        written.expect("writing to a String cannot fail");
        if self.charts > 0 {
            for script in [CHARTS_SCRIPT, PAGE_SCRIPT] {
                html.push_str("<script>");
                html.push_str(script);
                html.push_str("</script>\n");
            }
        }
        html.push_str("</body></html>\n");
        Rendered {
            html,
            markdown: self.markdown,
        }
    }
}

/// A chart as ECharts' option.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Chart {
    pub title: String,
    /// How to read it.
    pub note: String,
    pub option: Value,
}

/// Text as HTML shows it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_escapes_from_its_place() {
        let mut page = Page::new("a <b>", "x & 'y'");
        page.table(&["<i>"], &[vec!["<script>alert(1)</script>".into()]]);
        page.charts(&[Chart {
            title: "</script>".into(),
            note: String::new(),
            option: json!({"x": "</script><script>alert(2)</script>"}),
        }]);
        page.table(&["a", "b"], &[vec!["x | y".into(), "1".into()]]);
        page.folded_table("more", &["c"], &[vec!["folded".into()]]);
        let Rendered { html, markdown } = page.finish(&["<end>"]);
        assert!(
            markdown.contains("# a <b>\n") && markdown.contains("| x \\| y | 1 |"),
            "{markdown}"
        );
        assert!(!markdown.contains("folded") && html.contains("folded"));
        assert!(!html.contains("<script>alert"));
        assert!(html.contains("a &lt;b&gt;") && html.contains("&lt;end&gt;"));
        // The script's own text must not end its element early.
        assert!(!CHARTS_SCRIPT.contains("</script") && !PAGE_SCRIPT.contains("</script"));
        for outside in ["src=", "href='http", "@import", "url(http"] {
            let own = html.replace(CHARTS_SCRIPT, "");
            assert!(!own.contains(outside), "{outside}");
        }
        assert!(html.len() < 2_000_000);
    }

    #[test]
    fn a_page_without_charts_carries_no_script() {
        assert!(Page::new("x", "").finish(&[]).html.len() < 20_000);
    }
}
