//! Several servers that are given the same work in turn.

use super::args::{ContendersArgs, TargetArgs};
use super::{Subject, quiet::Quiet};
use crate::server::EmbeddedServer;
use mote_driver::Admin;
use mote_driver::url::System;

/// What `--target` calls a server of the experiment's own.
const OWN: &str = "mote";

/// A server that takes part.
pub(super) struct Contender {
    pub name: String,
    pub version: String,
    pub subject: Subject,
}

impl Contender {
    /// Makes the schema if need be, and lets all connections from now on find their tables there.
    pub fn search_in(&mut self, schema: &str) -> Result<(), String> {
        let target = &mut self.subject.target;
        Admin::connect(target)
            .and_then(|mut admin| admin.execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}")))
            .map_err(|error| format!("{}: cannot make the schema {schema}: {error}", self.name))?;
        self.search_everywhere();
        self.subject
            .target
            .settings
            .push(("search_path", schema.to_string()));
        Ok(())
    }

    /// Takes `search_in` back.
    pub fn search_everywhere(&mut self) {
        self.subject
            .target
            .settings
            .retain(|(name, _)| *name != "search_path");
    }
}

/// Starts or finds all that were asked for: one server of the experiment's own if none was.
pub(super) fn open(
    args: &ContendersArgs,
    embedded: &dyn EmbeddedServer,
    quiet: &Quiet,
) -> Result<Vec<Contender>, String> {
    let own = [OWN.to_string()];
    let asked = if args.target.is_empty() {
        &own[..]
    } else {
        &args.target
    };
    let owned = asked.iter().filter(|text| *text == OWN).count();
    if owned > 1 {
        return Err("there is one server of the experiment's own at most".into());
    }
    if owned == 0 && (args.data.is_some() || !args.serve_option.is_empty()) {
        return Err("--data and --serve-option are for the experiment's own server, --target mote".into());
    }
    let mut contenders: Vec<Contender> = Vec::new();
    for text in asked {
        let contender = one(text, args, embedded)?;
        if contenders.iter().any(|other| other.name == contender.name) {
            return Err(format!(
                "two servers are called {}: --target NAME=URL",
                contender.name
            ));
        }
        quiet.say(&format!("{}: {}", contender.name, contender.version));
        contenders.push(contender);
    }
    Ok(contenders)
}

fn one(text: &str, args: &ContendersArgs, embedded: &dyn EmbeddedServer) -> Result<Contender, String> {
    // A URL has an equals sign among its options only.
    let named = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty() && !name.contains(':'));
    let target = match (text == OWN, named) {
        (true, _) => TargetArgs {
            target: None,
            data: args.data.clone(),
            serve_option: args.serve_option.clone(),
            ..TargetArgs::server("")
        },
        (false, Some((_, url))) => TargetArgs::server(url),
        (false, None) => TargetArgs::server(text),
    };
    let failed = |error: String| format!("{text}: {error}");
    let subject = Subject::new(&target, embedded).map_err(failed)?;
    if subject.target.system != System::Postgres {
        return Err(failed("this experiment speaks PostgreSQL's wire".into()));
    }
    let admin = Admin::connect(&subject.target).map_err(|error| failed(error.to_string()))?;
    let name = match (text == OWN, named) {
        (true, _) => OWN.to_string(),
        (false, Some((name, _))) => name.to_string(),
        (false, None) => format!("port {}", subject.target.port),
    };
    Ok(Contender {
        name,
        version: admin.server_version().to_string(),
        subject,
    })
}

pub(super) fn stop(contenders: Vec<Contender>) -> Result<(), String> {
    contenders
        .into_iter()
        .try_for_each(|contender| contender.subject.stop())
}

/// The middle one of an odd number, the mean of the two in the middle of an even one.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Of all that are there; `None` if none is.
pub(super) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_and_means() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert!(geometric_mean(&[2.0, 8.0]).is_some_and(|mean| (mean - 4.0).abs() < 1e-12));
        assert_eq!(geometric_mean(&[]), None);
    }
}
