//! The page of the published experiments.

use serde_json::Value;

use super::{card, circumstances, server_settings};
use crate::report::page::{Page, Rendered, Tone};
use crate::report::section::Section;
use crate::report::table;
use crate::workload::tpcc::DISCLAIMER;

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
    let rows: Vec<Vec<String>> = systems
        .iter()
        .map(|system| {
            let text = |name: &str| system[name].as_str().unwrap_or_default().to_string();
            let what = match system["absent"].as_str() {
                Some(why) => format!("does not take part: {why}"),
                None => text("version"),
            };
            vec![text("name"), what]
        })
        .collect();
    page.table(&["system", "version"], &rows);
    for section in sections {
        page.heading(&format!("{}  {}", section.name, section.title));
        page.beside(
            |page| {
                for (published, source) in &section.published {
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
    page.heading("Proofs");
    let rows: Vec<Vec<String>> = proofs
        .iter()
        .map(|proof| {
            vec![
                proof["says"].as_str().unwrap_or_default().to_string(),
                table::pass(proof["pass"].as_bool().unwrap_or(false)).to_string(),
            ]
        })
        .collect();
    page.table(&["what", "verdict"], &rows);
    for system in &systems {
        server_settings(
            &mut page,
            system["name"].as_str().unwrap_or_default(),
            &system["server_settings"],
        );
    }
    circumstances(&mut page, document);
    page.finish(&[DISCLAIMER])
}
