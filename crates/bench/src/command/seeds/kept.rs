//! What a run leaves in its directory while it goes on: the page, and the JSON from which a later run takes what was finished.

use std::path::Path;

use serde_json::{Value, json};

use super::measured::Measurements;
use super::plan::Plan;
use super::published::Published;
use super::sections;
use super::stage::{Ended, Stage, State};
use crate::command::systems::Systems;
use crate::report::section::Section;
use crate::report::{html, json};
use mote_workload::tpcc::DISCLAIMER;

const JSON: &str = "seeds.json";
const PAGE: &str = "index.html";

/// What an earlier run has finished in this directory.
#[derive(Default)]
pub struct Earlier {
    document: Value,
    ended: Vec<Ended>,
    /// The experiments whose figures it has: fewer than what was measured would yield, if fewer were asked for.
    shown: Vec<&'static str>,
}

impl Earlier {
    /// Nothing if there was no run. One of other systems or of another seed cannot be gone on with. What was measured, but not
    /// for all the experiments that are wanted now, is not finished.
    pub fn read(
        directory: &Path,
        systems: &[String],
        seed: u64,
        warehouses: Option<i32>,
        wants: impl Fn(&str) -> bool,
    ) -> Result<Earlier, String> {
        let path = directory.join(JSON);
        let failed = |error: String| format!("--resume: {}: {error}", path.display());
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Earlier::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let document: Value = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let ended: Vec<Ended> =
            serde_json::from_value(document["ended"].clone()).map_err(|error| failed(error.to_string()))?;
        let mut earlier = Earlier {
            document,
            ended: ended.into_iter().filter(|end| end.state == State::Done).collect(),
            shown: Vec::new(),
        };
        let is_shown = |name: &&str| earlier.section(name).is_some();
        earlier.shown = earlier.experiments().filter(is_shown).collect();
        let Earlier { ended, shown, .. } = &mut earlier;
        ended.retain(|end| {
            let mut experiments = end.stage.experiments().iter();
            experiments.all(|name| !wants(name) || shown.contains(name))
        });
        let settings = &earlier.document["settings"];
        if settings["asked"] != json!(systems) {
            return Err(failed(format!("it was of the systems {}", settings["asked"])));
        }
        if settings["seed"] != json!(seed) {
            return Err(failed(format!("its seed was {}", settings["seed"])));
        }
        if warehouses.is_some_and(|asked| Some(asked) != earlier.warehouses()) {
            return Err(failed(format!("it had {} warehouses", settings["warehouses"])));
        }
        Ok(earlier)
    }

    pub fn warehouses(&self) -> Option<i32> {
        self.document["settings"]["warehouses"]
            .as_i64()
            .map(|count| count as i32)
    }

    pub fn stages(&self) -> Vec<Stage> {
        self.ended.iter().map(|end| end.stage).collect()
    }

    /// Those that read what was measured.
    fn experiments(&self) -> impl Iterator<Item = &'static str> {
        self.ended.iter().flat_map(|end| end.stage.experiments()).copied()
    }

    fn has(&self, stage: Option<Stage>) -> bool {
        self.ended.iter().any(|end| Some(end.stage) == stage)
    }

    fn section(&self, name: &str) -> Option<Section> {
        let mut all = self.document["sections"].as_array()?.iter();
        Section::of_json(all.find(|section| section["name"] == name)?)
    }

    /// The elements of a list that belong to stages which were finished.
    fn kept<'a>(&'a self, list: &str) -> impl Iterator<Item = Value> + use<'a> {
        let all = self.document[list].as_array().into_iter().flatten();
        all.filter(|one| {
            let stage = serde_json::from_value(one["stage"].clone()).ok();
            stage.is_some() && self.has(stage)
        })
        .cloned()
    }
}

/// Everything that the page and the JSON are made from.
pub struct Report<'a> {
    pub published: &'a Published,
    pub plan: &'a Plan,
    pub earlier: &'a Earlier,
    pub directory: &'a Path,
}

impl Report<'_> {
    /// The wanted sections as far as they are measured, and those that an earlier run has left.
    pub fn sections(&self, systems: &Systems, measured: &Measurements) -> Vec<Section> {
        let made = sections::all(self.published, self.plan, systems, measured);
        let is_wanted = |section: &Section| {
            self.plan.wants(&section.name) || self.earlier.shown.contains(&&*section.name)
        };
        let wanted = made.into_iter().filter(is_wanted);
        wanted
            .map(|mut section| {
                let stage = Stage::of(&section.name);
                match measured.ended.iter().find(|end| Some(end.stage) == stage) {
                    Some(end) => section.notes.extend(end.says.iter().cloned()),
                    None if self.earlier.has(stage) => {
                        let mut before = self.earlier.section(&section.name).unwrap_or(section);
                        let note = "Measured by an earlier run that this one went on with.";
                        if !before.notes.iter().any(|one| one == note) {
                            before.notes.push(note.into());
                        }
                        return before;
                    }
                    None => {
                        section.ours.clear();
                        section.charts.clear();
                        section.findings.clear();
                        section.limits.clear();
                        section.notes = vec!["To come: it has not been measured yet.".into()];
                    }
                }
                section
            })
            .collect()
    }

    /// What failed, by name; empty if all is well so far.
    pub fn failures(&self, measured: &Measurements) -> Vec<String> {
        let failed = measured.ended.iter().filter(|end| end.state == State::Failed);
        let failed =
            failed.map(|end| format!("{}: {}", end.stage.experiments().join(", "), end.says.join("; ")));
        let proofs = measured.proofs.iter().filter(|proof| !proof.proof.pass);
        let earlier = self.earlier.kept("proofs").filter(|proof| proof["pass"] != true);
        failed
            .chain(proofs.map(|proof| proof.proof.says.clone()))
            .chain(earlier.map(|proof| proof["says"].as_str().unwrap_or_default().to_string()))
            .collect()
    }

    /// Writes both files.
    pub fn write(&self, systems: &Systems, measured: &Measurements) -> Result<(), String> {
        let sections = self.sections(systems, measured);
        let failures = self.failures(measured);
        let begun = |stage: Stage| measured.ended.iter().any(|end| end.stage == stage);
        let to_come: Vec<&str> = sections
            .iter()
            .filter(|section| {
                Stage::of(&section.name).is_some_and(|stage| !begun(stage) && !self.earlier.has(Some(stage)))
            })
            .map(|section| section.name.as_str())
            .collect();
        let with_earlier =
            |list: &str, now: Vec<Value>| -> Vec<Value> { self.earlier.kept(list).chain(now).collect() };
        let document = json!({
            "experiment": "seeds",
            "disclaimer": DISCLAIMER,
            "environment": json::environment(),
            "settings": self.plan,
            "systems": systems.describe(),
            "sections": sections.iter().map(Section::json).collect::<Vec<_>>(),
            "ended": self.earlier.ended.iter().chain(&measured.ended).collect::<Vec<_>>(),
            "to_come": to_come,
            "steps": with_earlier("steps", measured.steps_json()),
            "fail_overs": with_earlier("fail_overs", staged(Stage::FailOvers, &measured.fail_overs)),
            "restarts": with_earlier("restarts", staged(Stage::ColdStarts, &measured.restarts)),
            "copies": with_earlier("copies", staged(Stage::Ingest, &measured.copies)),
            "shards": with_earlier("shards", staged(Stage::Shards, &measured.shards)),
            "proofs": with_earlier("proofs", measured.proofs.iter().map(|proof| json!(proof)).collect()),
            "failed": failures,
            "pass": failures.is_empty(),
        });
        // A reader, and a run that goes on, never sees half a file.
        let (half, path) = (self.directory.join("seeds.json.part"), self.directory.join(JSON));
        json::write(&half, &document)?;
        std::fs::rename(&half, &path).map_err(|error| format!("{}: {error}", path.display()))?;
        let sections: Vec<&Section> = sections.iter().collect();
        html::seeds(&document, &sections).deliver(&Some(self.directory.join(PAGE)))
    }

    pub fn page(&self) -> std::path::PathBuf {
        self.directory.join(PAGE)
    }
}

/// Each with the stage that it belongs to.
fn staged(stage: Stage, list: &[impl serde::Serialize]) -> Vec<Value> {
    let each = list.iter().map(|one| {
        let mut value = json!(one);
        value["stage"] = json!(stage);
        value
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::seeds::plan;
    use crate::report::section::Table;

    fn plan_of(only: &[&str], finished: Vec<Stage>) -> Plan {
        Plan {
            only: only.iter().map(|name| name.to_string()).collect(),
            asked: vec!["mote".into()],
            finished,
            budget_s: 1.0,
            processors: 1,
            warehouses: 1,
            ladder: Vec::new(),
            side_by_side: Vec::new(),
            warmup_s: 1.0,
            duration_s: 1.0,
            ingest_connections: 0,
            window_connections: 0,
            standby_connections: 0,
            fail_over_connections: 0,
            shard_connections: 0,
            cold_start_warehouses: Vec::new(),
            seed: 1,
        }
    }

    fn measured_before(name: &str) -> Section {
        let ours = Table {
            title: "measured before".into(),
            header: Vec::new(),
            rows: Vec::new(),
        };
        Section {
            name: name.into(),
            title: String::new(),
            published: Vec::new(),
            ours: vec![ours],
            findings: Vec::new(),
            limits: Vec::new(),
            notes: Vec::new(),
            charts: Vec::new(),
        }
    }

    #[test]
    fn a_run_of_other_experiments_keeps_what_an_earlier_one_has_measured() {
        let directory = std::env::temp_dir().join(format!("mote-bench-kept-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a temporary directory");
        let done = |stage: Stage| json!({"stage": stage, "state": "done", "says": [], "seconds": 1.0});
        let document = json!({
            "settings": {"asked": ["mote"], "seed": 1, "warehouses": 1},
            "ended": [done(Stage::SideBySide), done(Stage::Ingest)],
            "sections": [measured_before("X8").json(), measured_before("X10").json()],
        });
        json::write(&directory.join(JSON), &document).expect("it is ours");
        let published = Published::read();
        let systems = Systems {
            present: Vec::new(),
            absent: Vec::new(),
        };
        // What a run asks for: what it takes over, and the sections with figures of the earlier one.
        let taken = |only: &[&str]| {
            let names: Vec<String> = only.iter().map(|name| name.to_string()).collect();
            let wants = |name: &str| plan::wants(&names, name);
            let earlier = Earlier::read(&directory, &["mote".into()], 1, None, wants).expect("it is whole");
            let plan = plan_of(only, earlier.stages());
            let report = Report {
                published: &published,
                plan: &plan,
                earlier: &earlier,
                directory: &directory,
            };
            let sections = report.sections(&systems, &Measurements::default()).into_iter();
            let names = sections.map(|section| {
                let is_before = section.ours.iter().any(|table| table.title == "measured before");
                (section.name, is_before)
            });
            (earlier.stages(), names.collect::<Vec<_>>())
        };
        let shown = |all: &[(&str, bool)]| -> Vec<(String, bool)> {
            all.iter()
                .map(|(name, before)| (name.to_string(), *before))
                .collect()
        };
        let both = vec![Stage::SideBySide, Stage::Ingest];
        let others = shown(&[("X6", false), ("X8", true), ("X10", true)]);
        assert_eq!(taken(&["X6"]), (both.clone(), others));
        assert_eq!(taken(&["X10"]), (both, shown(&[("X8", true), ("X10", true)])));
        // X11 reads what X10 reads, and was not asked for then: both are measured again.
        let again = shown(&[("X8", true), ("X10", false), ("X11", false)]);
        assert_eq!(taken(&["X11"]), (vec![Stage::Ingest], again));
        std::fs::remove_dir_all(&directory).expect("it is ours");
    }
}
