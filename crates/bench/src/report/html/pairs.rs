//! The pages of a primary and its standby: what it costs, and how it takes over.

use serde_json::Value;

use super::{circumstances, proven, settings_of, small_print, takes_part};
use crate::report::charts;
use crate::report::page::{Chart, Page, Rendered, Tone};
use crate::report::pairs::{Cost, Reached, TARGET_HEADER, TakeOver, Target};
use crate::report::table;

/// The page of `mote bench replication`.
pub fn replication(document: &Value, costs: &[Cost], targets: &[Target]) -> Rendered {
    let mut page = Page::new(
        "What a synchronous standby costs",
        "Order entry without a standby and with one whose disk every commit waits for, in turn",
    );
    verdicts(&mut page, document, targets);
    let names: Vec<String> = costs
        .iter()
        .map(|cost| format!("{} at {}", cost.system, cost.connections))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let whiskers = costs.iter().zip(&names).map(|(cost, name)| {
        let nopm = &cost.nopm;
        (name.to_string(), nopm.ratio, nopm.low, nopm.high)
    });
    let of = |value: &dyn Fn(&Cost) -> Option<f64>| costs.iter().map(value).collect::<Vec<_>>();
    let arms = |title, unit, alone: &dyn Fn(&Cost) -> Option<f64>, with: &dyn Fn(&Cost) -> Option<f64>| {
        let both = [
            ("alone".to_string(), of(alone)),
            ("with a standby".to_string(), of(with)),
        ];
        charts::bars(title, unit, &names, &both, None)
    };
    page.charts(&[
        charts::whiskers(
            "NOPM with a standby, multiples of without",
            "Bars reach from the lowest to the highest ratio of a round.",
            &whiskers.collect::<Vec<_>>(),
        ),
        arms(
            "New orders per minute",
            "NOPM",
            &|cost| Some(cost.nopm.alone),
            &|cost| Some(cost.nopm.with),
        ),
        arms(
            "Processor time of the primary per transaction",
            "us",
            &|cost| cost.cpu_us.as_ref().map(|cpu| cpu.alone),
            &|cost| cost.cpu_us.as_ref().map(|cpu| cpu.with),
        ),
        charts::bars(
            "How far the standby is behind",
            "ms",
            &names,
            &[
                (
                    "p50".to_string(),
                    of(&|cost| cost.behind.map(|behind| behind.p50_ms)),
                ),
                (
                    "p99".to_string(),
                    of(&|cost| cost.behind.map(|behind| behind.p99_ms)),
                ),
            ],
            None,
        ),
    ]);
    let rows: Vec<Vec<String>> = costs.iter().map(Cost::row).collect();
    page.table(&Cost::HEADER, &rows);
    page.note(&format!(
        "Medians of {} round(s). Ratios are those of one round's two runs; from the lowest to the highest they hold the true \
         median with {:.1} %. Behind is how old the oldest change was that a reader of the standby did not see yet, looked at \
         every 10 ms. Primary, standby and driver share this machine: a standby takes processor time and a part of the disk \
         here that it would have for itself on a host of its own.",
        document["settings"]["rounds"],
        100.0 * document["confidence"].as_f64().unwrap_or(0.0)
    ));
    ending(page, document)
}

/// The page of `mote bench failover`; pictures are those of the longest silence of each kind.
pub fn failover(document: &Value, taken: &[TakeOver], targets: &[Target], pictures: &[Chart]) -> Rendered {
    let mut page = Page::new(
        "When a primary goes and its standby takes over",
        "Order entry on a primary whose commits wait for a standby; killed, stopped, or ended in order",
    );
    verdicts(&mut page, document, targets);
    let names: Vec<String> = taken
        .iter()
        .map(|one| format!("{}, {}", one.system, one.fault))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of = |value: &dyn Fn(&TakeOver) -> Option<f64>| taken.iter().map(value).collect::<Vec<_>>();
    page.charts(&[
        charts::bars(
            "Without an answer",
            "s",
            &names,
            &[
                ("median".to_string(), of(&TakeOver::silent_median_s)),
                ("worst".to_string(), of(&TakeOver::silent_worst_s)),
            ],
            None,
        ),
        charts::bars(
            "From the decision to the first answer, worst",
            "s",
            &names,
            &[("worst".to_string(), of(&|one| one.after_decision_worst_s))],
            None,
        ),
    ]);
    let rows: Vec<Vec<String>> = taken.iter().map(TakeOver::row).collect();
    page.table(&TakeOver::HEADER, &rows);
    page.note(&format!(
        "Silent: from the last answer before to the first after, on all connections together, in steps of 10 ms. The laboratory \
         decides {} s after a fault, in the place of an operator or a cluster manager; of a switchover everything counts from \
         the order. Orders lost are those that were acknowledged and that the new primary does not have.",
        document["settings"]["decide_after_s"]
    ));
    page.heading("The longest of each");
    page.charts(pictures);
    ending(page, document)
}

fn verdicts(page: &mut Page, document: &Value, targets: &[Target]) {
    let pass = document["pass"].as_bool().unwrap_or(false);
    let mut cards = vec![(
        "proofs and targets".to_string(),
        table::pass(pass).to_string(),
        Tone::passes(pass),
    )];
    cards.extend(targets.iter().map(|target| {
        let tone = match target.reached {
            Reached::Met => Tone::Good,
            Reached::Missed => Tone::Bad,
            Reached::Undecided => Tone::Warn,
        };
        let measured = target
            .measured
            .map_or("never".to_string(), |measured| format!("{measured:.3}"));
        (
            format!("{} ({})", target.what, target.reached.word()),
            measured,
            tone,
        )
    }));
    page.cards(&cards);
    if !targets.is_empty() {
        let rows: Vec<Vec<String>> = targets.iter().map(Target::row).collect();
        page.table(&TARGET_HEADER, &rows);
    }
}

fn ending(mut page: Page, document: &Value) -> Rendered {
    let list = |name: &str| document[name].as_array().into_iter().flatten();
    proven(&mut page, list("proofs"));
    let systems: Vec<&Value> = list("systems").collect();
    page.heading("Systems");
    takes_part(&mut page, &systems);
    settings_of(&mut page, &systems);
    circumstances(&mut page, document);
    page.finish(&small_print())
}
