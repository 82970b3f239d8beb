//! X5, X6, X9 and X13: standbys, restarts, and warehouses that several servers share.

use super::super::measured::{Ladder, Step};
use super::super::pairs::DECIDED_AFTER_S;
use super::{Maker, number, p90, ratio, sentence};
use crate::report::Summary;
use crate::report::charts;
use crate::report::section::Section;

impl Maker<'_> {
    pub(super) fn x5(&self, section: &mut Section) {
        if self.not_run(section, self.plan.fail_over_connections > 0) {
            return;
        }
        let seconds = |value: Option<f64>| {
            value.map_or("not within the run".to_string(), |value| format!("{value:.2}"))
        };
        let rows = self.measured.fail_overs.iter().map(|found| {
            vec![
                found.system.clone(),
                seconds(found.recovery.outage_s),
                seconds(found.recovery.first_answer_s),
                seconds(found.recovery.recovered_s),
                format!("{} of {}", found.missing, found.acknowledged),
            ]
        });
        let header = [
            "system",
            "silent, s",
            "answer after, s",
            "90 % after, s",
            "orders lost",
        ];
        let rows: Vec<Vec<String>> = rows.collect();
        if !rows.is_empty() {
            let title = format!(
                "{} connections; SIGKILL to the primary, its synchronous standby promoted {DECIDED_AFTER_S} s later",
                self.plan.fail_over_connections
            );
            self.table(section, &title, &header, rows);
            section.notes.push(
                "Seconds count from the kill to the first answer and to 90 % of the former rate, and include the one in which \
                 nobody has decided yet; clients turn to the standby by themselves. Lost are acknowledged orders that it \
                 does not have: commits wait for the standby, so there must be none. `mote bench failover` repeats it, also \
                 for servers that hang and for a switchover."
                    .into(),
            );
        }
        for (system, why) in &self.measured.not_failed_over {
            section
                .notes
                .push(format!("{system} did not fail over: {}", sentence(why)));
        }
    }

    pub(super) fn x6(&self, section: &mut Section) {
        if self.not_run(section, !self.plan.cold_start_warehouses.is_empty()) {
            return;
        }
        let rows = self.measured.cold_starts.iter().map(|start| {
            let gigabytes = start.figures.image_bytes / 1e9;
            vec![
                format!("{gigabytes:.2}"),
                format!("{:.2}", start.seconds),
                number(Some(gigabytes / start.seconds)),
                number(Some(gigabytes / start.seconds / (50.0 / 20.0))),
            ]
        });
        self.table(
            section,
            "mote, first answer after a cold start",
            &["GB of checkpoint", "seconds", "GB/s", "of the published 2.5 GB/s"],
            rows.collect(),
        );
        let rows = self.measured.restarts.iter().map(|restart| {
            let megabytes = restart.data_bytes.map(|bytes| bytes / 1e6);
            vec![
                restart.system.clone(),
                number(megabytes),
                format!("{:.2}", restart.first_answer_s),
                format!("{:.2}", restart.all_read_s),
                number(megabytes.map(|size| size / restart.all_read_s)),
            ]
        });
        let header = [
            "system",
            "data, MB",
            "first answer, s",
            "every row read once, s",
            "MB/s until then",
        ];
        let title = format!(
            "restart of {} warehouse(s), stopped in order, files forgotten by the kernel",
            self.plan.warehouses
        );
        self.table(section, &title, &header, rows.collect());
        for (system, why) in &self.measured.not_restarted {
            section
                .notes
                .push(format!("{system} was not started anew: {}", sentence(why)));
        }
        section.notes.push(
            "The first table is mote by size (`mote bench coldstart` says what a start is made of). A system that reads rows from disk when \
             they are wanted answers before it has read any; one that holds them in memory answers when it has read all. So the \
             second table tells both moments; rows are read by one connection, a sum over each table."
                .into(),
        );
        self.scale(section, "50 to 250 GB");
    }

    pub(super) fn x9(&self, section: &mut Section) {
        if self.not_run(section, self.plan.standby_connections > 0) {
            return;
        }
        let rows = self.systems.iter().filter_map(|system| {
            let alone = self.measured.of(Ladder::Alone, system).next()?;
            let with = self.measured.of(Ladder::WithStandby, system).next()?;
            let nopm = |step: &Step| Some(step.summary.first_kind_per_minute());
            let lost = ratio(nopm(with), nopm(alone)).map(|ratio| 100.0 * (1.0 - ratio));
            Some(vec![
                system.to_string(),
                number(nopm(alone)),
                number(nopm(with)),
                lost.map_or("-".to_string(), |percent| format!("{percent:.1}")),
            ])
        });
        let header = ["system", "NOPM alone", "NOPM with a standby", "lost, %"];
        let title = format!(
            "{} connections; with a standby every commit waits for its disk, too",
            self.plan.standby_connections
        );
        let rows: Vec<Vec<String>> = rows.collect();
        if !rows.is_empty() {
            self.table(section, &title, &header, rows);
            section.notes.push(
                "Primary and standby share this machine's processors and disk, so a standby costs more here than on a host of \
                 its own. One run of each; `mote bench replication` takes turns and tells how sure the difference is."
                    .into(),
            );
        }
        for (system, why) in &self.measured.no_standby {
            section
                .notes
                .push(format!("{system} was not measured: {}", sentence(why)));
        }
    }

    pub(super) fn x13(&self, section: &mut Section) {
        if self.not_run(section, self.plan.shard_connections > 0) {
            return;
        }
        let first = self.measured.shards.first().map(|step| &step.summary);
        let p90 = |summary: &Summary| p90(summary, "NEW_ORDER");
        let mut rows: Vec<Vec<String>> = Vec::new();
        for step in &self.measured.shards {
            let (own, own_p90) = (step.summary.first_kind_per_minute(), p90(&step.summary));
            rows.push(vec![
                format!("{} server(s), the driver coordinates", step.servers),
                number(Some(own)),
                number(ratio(Some(own), first.map(Summary::first_kind_per_minute))),
                number(own_p90),
                number(ratio(own_p90, first.and_then(p90))),
                format!("{:.1}", step.distributed_percent()),
            ]);
        }
        let mut engine = vec!["a distributed engine in front of them".to_string()];
        engine.resize(6, "not built".to_string());
        rows.push(engine);
        let header = [
            "mote over",
            "NOPM",
            "of one server",
            "new-order p90, ms",
            "of one server",
            "in two phases, %",
        ];
        let title = format!(
            "{} warehouses dealt out, {} terminals",
            self.plan.shard_warehouses(),
            self.plan.shard_connections
        );
        self.table(section, &title, &header, rows);
        let points = |value: &dyn Fn(&Summary) -> f64| {
            let each = self.measured.shards.iter();
            let each = each.map(|step| (step.servers as f64, value(&step.summary)));
            vec![("mote".to_string(), each.collect::<Vec<_>>())]
        };
        section.charts.push(charts::ladder(
            "New orders per minute",
            "servers",
            "NOPM",
            &points(&Summary::first_kind_per_minute),
        ));
        section.charts.push(charts::ladder(
            "New order, 90th percentile",
            "servers",
            "ms",
            &points(&|summary| p90(summary).unwrap_or(f64::NAN)),
        ));
        section.notes.push(format!(
            "All servers share this machine's {} processors and its disk, which one server uses by itself: throughput cannot grow \
             here, and what it loses is what two phases cost. `mote bench shards --target A --target B` runs over machines of \
             their own. The published system has one compute node in front of its shards.",
            self.plan.processors
        ));
    }
}
