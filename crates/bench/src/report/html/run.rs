//! The page of one run.

use serde_json::Value;

use super::{audit, card, circumstances, conditions, cpu_cards, pictures, small_print, tables, validity};
use crate::report::charts;
use crate::report::page::{Page, Rendered, Tone};
use crate::report::proofs::Proofs;
use crate::report::summary::Summary;
use crate::report::table::{self, grouped, milliseconds};
use mote_measure::RunOutcome;
use mote_workload::tpcc::Experiment;
use mote_workload::tpcc::mix::{KIND_NAMES, Kind};

/// The page of a TPC-C experiment. `document` is what the JSON report says.
pub fn tpcc(experiment: &Experiment, summary: &Summary, document: &Value) -> Rendered {
    let lead = format!(
        "{} at {}: {} warehouses, {} terminals on {} connections, {:.0} s measured",
        experiment.server_version,
        experiment.target,
        experiment.warehouses,
        experiment.terminals,
        experiment.settings.connections,
        summary.measured_s
    );
    let mut page = Page::new("Order entry (TPC-C derived)", &lead);
    let mut cards = vec![
        (
            "everything proven".to_string(),
            table::pass(experiment.pass()).to_string(),
            Tone::passes(experiment.pass()),
        ),
        card(
            "new orders per minute (NOPM)",
            grouped(summary.first_kind_per_minute()),
        ),
        card(
            "transactions per minute",
            grouped(summary.transactions_per_s * 60.0),
        ),
        card("new order, p99 in ms", milliseconds(summary.kinds[0].p99_ms)),
    ];
    cards.extend(cpu_cards(summary));
    if let Some(rate) = summary.first_kind_per_server_cpu_s {
        cards.push(card("new orders per server CPU second", grouped(rate)));
    }
    page.cards(&cards);
    validity(&mut page, summary, &document["remarks"]);
    if let Some(outcome) = &experiment.outcome {
        pictures(&mut page, KIND_NAMES, Some(Kind::Delivery as usize), outcome);
    }
    if let Some(classes) = &experiment.think_times {
        page.charts(&[charts::think_times(classes)]);
    }
    tables(&mut page, summary);
    if let Some(kept) = &experiment.kept {
        page.heading("What was acknowledged");
        let lost = kept.missing.len() + kept.reissued.len();
        page.table(
            &[
                "orders acknowledged",
                "of them lost",
                "answers lost",
                "half orders",
                "verdict",
            ],
            &[vec![
                grouped(kept.acknowledged as f64),
                lost.to_string(),
                (kept.unknown_committed + kept.unknown_absent).to_string(),
                kept.half.len().to_string(),
                table::pass(kept.pass()).to_string(),
            ]],
        );
    }
    conditions(
        &mut page,
        "Consistency conditions (clause 3.3.2)",
        &experiment.conditions,
    );
    audit(
        &mut page,
        "Inputs and shares (clauses 5.2 and 9.2.2.5)",
        &experiment.audit,
    );
    circumstances(&mut page, document);
    page.finish(&small_print())
}

/// The page of any experiment but TPC-C.
pub fn simple(
    document: &Value,
    kinds: &[&str],
    summary: &Summary,
    outcome: &RunOutcome,
    proven: &Proofs,
) -> Rendered {
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_string();
    let pass = document["pass"].as_bool().unwrap_or(false);
    let lead = format!(
        "{} at {}: {:.0} s measured",
        text("server_version"),
        text("target"),
        summary.measured_s
    );
    let title = match document["title"].as_str() {
        Some(title) => title.to_string(),
        None => format!("Experiment: {}", text("experiment")),
    };
    let mut page = Page::new(&title, &lead);
    let mut cards = vec![
        (
            "everything proven".to_string(),
            table::pass(pass).to_string(),
            Tone::passes(pass),
        ),
        card("transactions per second", grouped(summary.transactions_per_s)),
    ];
    let busiest = summary.kinds.iter().max_by_key(|kind| kind.count);
    if let Some(kind) = busiest {
        cards.push(card(
            &format!("{}, p50 in ms", kind.name),
            milliseconds(kind.p50_ms),
        ));
        cards.push(card(
            &format!("{}, p99 in ms", kind.name),
            milliseconds(kind.p99_ms),
        ));
    }
    cards.extend(cpu_cards(summary));
    page.cards(&cards);
    validity(&mut page, summary, &document["remarks"]);
    pictures(&mut page, kinds, None, outcome);
    tables(&mut page, summary);
    if let Some((of, tally)) = &proven.tally {
        page.heading("What was acknowledged");
        page.table(
            &["what", "verdict", "found"],
            &[vec![
                of.to_string(),
                table::pass(tally.pass()).to_string(),
                tally.says(),
            ]],
        );
    }
    conditions(&mut page, "Conditions on the data", &proven.conditions);
    audit(&mut page, "Shares that are expected", &proven.audit);
    circumstances(&mut page, document);
    page.finish(&[])
}
