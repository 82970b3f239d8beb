//! Verdicts as text: a line while it runs, a summary, and the page `docs/conformance-isolation.md`.

use std::collections::BTreeMap;

use super::suite::{Outcome, Verdict};

/// One line of the terminal.
pub fn line(verdict: &Verdict) -> String {
    let counted = format!("{}/{}", verdict.identical_permutations, verdict.permutations);
    let (word, rest) = match &verdict.result {
        Outcome::Identical => ("identical", String::new()),
        Outcome::Unsupported(what) => ("unsupported", what.clone()),
        Outcome::Differs(wanted, got) => ("differs", format!("expected \"{wanted}\", got \"{got}\"")),
        Outcome::Failed(error) => ("failed", error.clone()),
    };
    format!("{:<36} {word:<12} {counted:>7}  {rest}", verdict.name)
        .trim_end()
        .to_string()
}

pub fn summary(verdicts: &[Verdict]) -> String {
    let count = |wanted: fn(&Outcome) -> bool| verdicts.iter().filter(|v| wanted(&v.result)).count();
    let permutations: usize = verdicts.iter().map(|v| v.permutations).sum();
    let identical: usize = verdicts.iter().map(|v| v.identical_permutations).sum();
    format!(
        "{} specifications: {} identical, {} differ, {} unsupported, {} failed; {identical} of {permutations} \
         permutations identical",
        verdicts.len(),
        count(|o| *o == Outcome::Identical),
        count(|o| matches!(o, Outcome::Differs(..))),
        count(|o| matches!(o, Outcome::Unsupported(_))),
        count(|o| matches!(o, Outcome::Failed(_))),
    )
}

/// What is not as the list of known differences says.
pub fn surprises(verdicts: &[Verdict], known: &BTreeMap<String, String>) -> Vec<String> {
    let surprise = |verdict: &Verdict| {
        let listed = known.contains_key(&verdict.name);
        match &verdict.result {
            Outcome::Identical if listed => Some("is identical now: drop it from the known differences"),
            Outcome::Differs(..) if !listed => Some("differs, and no reason is known"),
            Outcome::Failed(_) => Some("could not be run"),
            _ => None,
        }
        .map(|what| format!("{}: {what}", verdict.name))
    };
    verdicts.iter().filter_map(surprise).collect()
}

/// The page. It holds no times and no machine, so that it changes only when a verdict does.
pub fn page(verdicts: &[Verdict], known: &BTreeMap<String, String>) -> String {
    let mut page = String::from(
        "# PostgreSQL's isolation suite on mote\n\n\
         Written by `make conformance-isolation`; the reasons stand in `crates/conformance/known-differences.txt`.\n\
         *Identical*: every byte of the output is PostgreSQL's. *Permutations*: how many of the interleavings are, one by\n\
         one; an error in the setup ends a specification. *Unsupported*: the first thing that mote does not have.\n\n",
    );
    page.push_str(&summary(verdicts));
    page.push_str(".\n\n| specification | verdict | permutations | why |\n|---|---|---|---|\n");
    for verdict in verdicts {
        let reason = known.get(&verdict.name).cloned();
        let (word, why) = match &verdict.result {
            Outcome::Identical => ("identical", String::new()),
            Outcome::Unsupported(what) => ("unsupported", reason.unwrap_or_else(|| format!("`{what}`"))),
            Outcome::Differs(wanted, got) => {
                let shown = || format!("expected `{wanted}`, got `{got}`");
                ("differs", reason.unwrap_or_else(shown))
            }
            Outcome::Failed(error) => ("failed", error.clone()),
        };
        page.push_str(&format!(
            "| {} | {word} | {}/{} | {} |\n",
            verdict.name,
            verdict.identical_permutations,
            verdict.permutations,
            why.replace('|', "\\|")
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(name: &str, result: Outcome) -> Verdict {
        Verdict {
            name: name.into(),
            permutations: 3,
            identical_permutations: 2,
            result,
        }
    }

    #[test]
    fn known_differences_are_no_surprise_and_must_differ() {
        let known = BTreeMap::from([("a", "why"), ("b", "why")].map(|(k, v)| (k.to_string(), v.to_string())));
        let differs = || Outcome::Differs("x|".into(), "y".into());
        let verdicts = [
            verdict("a", differs()),
            verdict("b", Outcome::Identical),
            verdict("c", differs()),
            verdict("d", Outcome::Unsupported("z".into())),
        ];
        let found = surprises(&verdicts, &known);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("b: is identical now") && found[1].starts_with("c: differs"));
        let page = page(&verdicts, &known);
        assert!(page.contains("| a | differs | 2/3 | why |"));
        assert!(page.contains("| c | differs | 2/3 | expected `x\\|`, got `y` |"));
        assert!(page.contains("4 specifications: 1 identical, 2 differ, 1 unsupported, 0 failed"));
    }
}
