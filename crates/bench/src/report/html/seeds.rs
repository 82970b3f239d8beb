//! The page of the published experiments.

use serde_json::Value;

use super::{card, circumstances, proven, settings_of, small_print, takes_part};
use crate::report::page::{Page, Rendered, Tone};
use crate::report::section::{Section, Sourced};
use crate::report::table;

/// The page of the published experiments.
pub fn seeds(document: &Value, sections: &[&Section]) -> Rendered {
    let systems: Vec<&Value> = document["systems"].as_array().into_iter().flatten().collect();
    let names: Vec<&str> = systems
        .iter()
        .filter_map(|system| system["name"].as_str())
        .collect();
    let lead = format!("Measured here beside what was published: {}", names.join(", "));
    let mut page = Page::new("Published experiments, repeated", &lead);
    let proofs: Vec<&Value> = document["proofs"].as_array().into_iter().flatten().collect();
    let pass = document["pass"].as_bool().unwrap_or(false);
    page.cards(&[
        (
            "proofs".to_string(),
            table::pass(pass).to_string(),
            Tone::passes(pass),
        ),
        card(
            "experiments with figures of this machine",
            format!(
                "{} of {}",
                sections.iter().filter(|section| !section.ours.is_empty()).count(),
                sections.len()
            ),
        ),
        card("warehouses", document["settings"]["warehouses"].to_string()),
        card("processors", document["settings"]["processors"].to_string()),
    ]);
    page.note(
        "Published figures come from other and larger machines: compare ratios and shapes, not heights. One pass, without \
         intervals; `mote bench versus` tells how sure a difference is.",
    );
    takes_part(&mut page, &systems);
    state(&mut page, document);
    for section in sections {
        page.heading(&format!("{}  {}", section.name, section.title));
        page.beside(
            |page| {
                for Sourced {
                    table: published,
                    source,
                } in &section.published
                {
                    page.subheading(&format!("published: {}", published.title));
                    let header: Vec<&str> = published.header.iter().map(String::as_str).collect();
                    page.table(&header, &published.rows);
                    page.note(source);
                }
            },
            |page| {
                for ours in &section.ours {
                    page.subheading(&ours.title);
                    let header: Vec<&str> = ours.header.iter().map(String::as_str).collect();
                    page.table(&header, &ours.rows);
                }
                for note in &section.notes {
                    page.note(note);
                }
            },
        );
        if !section.charts.is_empty() {
            page.charts(&section.charts);
        }
    }
    proven(&mut page, proofs.iter().copied());
    settings_of(&mut page, &systems);
    circumstances(&mut page, document);
    page.finish(&small_print())
}

/// What is missing on the page so far, and what failed, each by its name.
fn state(page: &mut Page, document: &Value) {
    let words = |list: &str| -> Vec<&str> {
        let all = document[list].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect()
    };
    let to_come = words("to_come");
    if !to_come.is_empty() {
        page.note(&format!("To come, not measured yet: {}.", to_come.join(", ")));
    }
    for failure in words("failed") {
        page.note(&format!("FAIL {failure}"));
    }
}
