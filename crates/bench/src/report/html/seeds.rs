//! The page of the published experiments.

use serde_json::Value;

use super::{Card, card, circumstances, proven, settings_of, small_print, takes_part};
use crate::report::charts;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::section::{Finding, Section, Sourced, UNBOUNDED, Verdict};
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
    let mut cards = vec![(
        "proofs and experiments".to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    cards.extend(scores(sections, &names));
    cards.extend([
        card(
            "experiments with figures of this machine",
            format!(
                "{} of {}",
                sections.iter().filter(|section| !section.ours.is_empty()).count(),
                sections.len()
            ),
        ),
        card(
            "warehouses, on so many processors",
            format!(
                "{} / {}",
                document["settings"]["warehouses"], document["settings"]["processors"]
            ),
        ),
    ]);
    let cut = document["ended"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|end| end["state"] == "cut")
        .count();
    if cut > 0 {
        let label = "measurements cut when their share of the time was over: give more --budget".to_string();
        cards.push((label, cut.to_string(), Tone::Warn));
    }
    page.cards(&cards);
    state(&mut page, document);
    summary(&mut page, sections, &names);
    takes_part(&mut page, &systems);
    not_comparable(&mut page, document, sections, &systems);
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

/// For each system but the first: in how many figures the first one is better, undecided, worse.
fn scores(sections: &[&Section], names: &[&str]) -> Vec<Card> {
    let Some((first, others)) = names.split_first() else {
        return Vec::new();
    };
    let each = others.iter().filter_map(|other| {
        let all: Vec<&Finding> = findings(sections).filter(|(_, found)| found.system == **other).map(|(_, found)| found).collect();
        let count = |verdict: Verdict| all.iter().filter(|found| found.verdict() == verdict).count();
        let (better, worse) = (count(Verdict::Better), count(Verdict::Worse));
        let (undecided, once) = (count(Verdict::Undecided), count(Verdict::Once));
        let ahead = all.iter().filter(|found| found.verdict() == Verdict::Once && found.times > 1.0).count();
        let tone = match (better > worse, worse > better) {
            (true, _) => Tone::Good,
            (_, true) => Tone::Bad,
            _ => Tone::Warn,
        };
        let label = format!(
            "{first} beside {other}, figures surely better : surely worse; {undecided} undecided; of {once} told once {ahead} better"
        );
        (!all.is_empty()).then(|| (label, format!("{better} : {worse}"), tone))
    });
    each.collect()
}

fn findings<'a>(sections: &'a [&'a Section]) -> impl Iterator<Item = (&'a str, &'a Finding)> {
    sections.iter().flat_map(|section| {
        section
            .findings
            .iter()
            .map(|found| (section.name.as_str(), found))
    })
}

/// Who won, by how much, how sure: a line for each figure, a column for each system beside the first.
fn summary(page: &mut Page, sections: &[&Section], names: &[&str]) {
    let Some((first, others)) = names.split_first() else {
        return;
    };
    let mut lines: Vec<(&str, &str)> = Vec::new();
    for (section, found) in findings(sections) {
        if !lines.contains(&(section, &found.what)) {
            lines.push((section, &found.what));
        }
    }
    if lines.is_empty() {
        return;
    }
    let of = |line: &(&str, &str), other: &str| {
        findings(sections)
            .find(|(section, found)| (*section, found.what.as_str()) == *line && found.system == other)
            .map(|(_, found)| found)
    };
    page.heading(&format!("Who is better: {first} beside each other system"));
    let rows = lines.iter().map(|line| {
        let published = findings(sections).find(|(section, found)| (*section, found.what.as_str()) == *line);
        let published = published.and_then(|(_, found)| found.published);
        let mut row = vec![format!("{}  {}", line.0, line.1)];
        row.extend(
            others
                .iter()
                .map(|other| of(line, other).map_or("-".to_string(), Finding::says)),
        );
        row.insert(
            1,
            published.map_or("-".to_string(), |times| format!("{times:.1}")),
        );
        row
    });
    let columns: Vec<String> = others.iter().map(|other| format!("beside {other}")).collect();
    let mut header = vec!["figure", "published"];
    header.extend(columns.iter().map(String::as_str));
    page.table(&header, &rows.collect::<Vec<_>>());
    page.note(&format!(
        "A number says how many times as good {first}'s figure is: 2 is twice the throughput, or half the time. In brackets stands where \
         it lies with 99 %: an interval above 1 is better, below 1 worse, around 1 undecided. Intervals come from drawing a step's \
         seconds again; they know how a step varied within itself, not what differs from run to run (`mote bench versus` \
         interleaves rounds for that). \"once\" is one number of one run, without an interval. \
         Published is the memory engine beside the disk engine."
    ));
    let ratios: Vec<(String, f64, f64, f64)> = lines
        .iter()
        .flat_map(|line| {
            others
                .iter()
                .filter_map(move |other| Some((line, other, of(line, other)?)))
        })
        .filter_map(|(line, other, found)| {
            let (low, high) = found
                .interval
                .filter(|(low, high)| *low > 0.0 && *high < UNBOUNDED)?;
            Some((format!("{} {other}", line.0), found.times, low, high))
        })
        .collect();
    if !ratios.is_empty() {
        let mut chart = charts::whiskers(
            &format!("How many times as good as each other system {first} is"),
            "Figures with an interval, on a logarithmic axis. Right of 1 is better; where the bar holds 1, nothing is decided.",
            &ratios,
        );
        chart.option["xAxis"]["type"] = "log".into();
        page.charts(&[chart]);
    }
}

/// What must not be read out of the page.
fn not_comparable(page: &mut Page, document: &Value, sections: &[&Section], systems: &[&Value]) {
    page.heading("What is not comparable");
    let mut rows: Vec<Vec<String>> = vec![
        vec![
            "published".into(),
            "Those figures come from other and larger machines: compare ratios and shapes, not heights."
                .into(),
        ],
        vec![
            "machine".into(),
            "The driver and the servers share this machine's processors and disk.".into(),
        ],
    ];
    let setting = |system: &Value, names: &[&str]| {
        names
            .iter()
            .find_map(|name| system["server_settings"][*name].as_str())
            .map(str::to_string)
    };
    let told = |what: &[&str]| -> Vec<String> {
        let each = systems.iter().filter_map(|system| {
            Some(format!(
                "{} {}",
                system["name"].as_str()?,
                setting(system, what)?.to_lowercase().replace('-', " ")
            ))
        });
        each.collect()
    };
    let levels = told(&[
        "default_transaction_isolation",
        "transaction_isolation",
        "tx_isolation",
    ]);
    let kinds: std::collections::BTreeSet<&str> = levels
        .iter()
        .filter_map(|level| level.split_once(' '))
        .map(|(_, level)| level)
        .collect();
    if kinds.len() > 1 {
        rows.push(vec![
            "isolation".into(),
            format!("Systems run at their default levels: {}.", levels.join(", ")),
        ]);
    }
    let steps = document["steps"].as_array().into_iter().flatten();
    for step in steps.filter(|step| step["summary"]["durability"]["durable"] == false) {
        let at = format!(
            "{} at {} connections ({})",
            step["system"].as_str().unwrap_or_default(),
            step["connections"],
            step["ladder"].as_str().unwrap_or_default()
        );
        rows.push(vec![
            "NOT DURABLE".into(),
            format!("{at}: more commits than flushes of the disks allow."),
        ]);
    }
    for section in sections {
        rows.extend(
            section
                .limits
                .iter()
                .map(|limit| vec![section.name.clone(), limit.clone()]),
        );
    }
    page.table(&["what", "why"], &rows);
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
