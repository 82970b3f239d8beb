//! X12: the same work within a small and within the whole working set.

use super::super::measured::Ladder;
use super::{Maker, number, p90, ratio};
use crate::report::section::Section;
use crate::report::{Summary, table};

/// Of a loaded warehouse, about, on any system.
const WAREHOUSE_MB: f64 = 100.0;

impl Maker<'_> {
    pub(super) fn x12(&self, section: &mut Section) {
        if self.not_run(section, self.plan.window_connections > 0) {
            return;
        }
        let (small, all) = (
            self.plan.window_warehouses() as usize,
            self.plan.warehouses as usize,
        );
        if small == all {
            section
                .notes
                .push("Not measured: one warehouse has no smaller working set.".into());
            return;
        }
        let rows = self.systems.iter().filter_map(|system| {
            // Each window is measured twice, so that what the machine does in between hits both alike.
            let mean = |window: usize, of: &dyn Fn(&Summary) -> Option<f64>| {
                let steps = self.measured.of(Ladder::Window, system);
                let turns = steps.filter(|step| step.connections == window);
                let values: Option<Vec<f64>> = turns.map(|step| of(&step.summary)).collect();
                let values = values.filter(|values| !values.is_empty())?;
                Some(values.iter().sum::<f64>() / values.len() as f64)
            };
            let own_nopm = |summary: &Summary| Some(summary.first_kind_per_minute());
            let change = |of: &dyn Fn(&Summary) -> Option<f64>| {
                let change = ratio(mean(all, of), mean(small, of)).map(|ratio| 100.0 * (ratio - 1.0));
                change.map_or("-".to_string(), |percent| format!("{percent:+.1}"))
            };
            mean(small, &own_nopm)?;
            Some(vec![
                system.to_string(),
                self.fast_memory(system)
                    .map_or("-".into(), |bytes| table::grouped(bytes / 1e6)),
                number(mean(small, &own_nopm)),
                number(mean(all, &own_nopm)),
                change(&own_nopm),
                change(&|summary| p90(summary, "weighted")),
            ])
        });
        let inside = format!("NOPM in {small} warehouses");
        let whole = format!("NOPM in {all}");
        let header = [
            "system",
            "fast memory, MB",
            inside.as_str(),
            whole.as_str(),
            "throughput, change %",
            "weighted p90, change %",
        ];
        let megabytes = |warehouses: usize| table::grouped(warehouses as f64 * WAREHOUSE_MB);
        let title = format!(
            "{} connection(s), working set of about {} MB and of {}",
            self.plan.window_connections,
            megabytes(small),
            megabytes(all)
        );
        self.table(section, &title, &header, rows.collect());
        section.notes.push(
            "The fast memory is what a system says of its buffers (shared_buffers, innodb_buffer_pool_size): systems that the \
             laboratory starts were started anew with buffers for the small working set. mote has its data in \
             memory, and the processor's cache before it. What is outside of a system's buffers may still be in the kernel's cache; \
             SYSTEMS_CGROUP=DIR starts servers in a cgroup whose limit bounds that, too. Within fewer warehouses terminals wait \
             more for each other's rows, which works the other way."
                .into(),
        );
    }

    /// Bytes of the memory that is faster than where the rest of the data lies.
    fn fast_memory(&self, system: &str) -> Option<f64> {
        let settings = &self.measured.window_settings;
        let settings = &settings.iter().find(|(name, _)| name == system)?.1;
        let text = |name: &str| settings[name].as_str();
        if let Some(pool) = text("innodb_buffer_pool_size") {
            return pool.parse().ok();
        }
        match text("shared_buffers") {
            // As pg_settings has it: a number of blocks, and their size.
            Some(blocks) if !system.starts_with("mote") => {
                let (count, unit) = blocks.split_once(" x ")?;
                let unit = unit.strip_suffix("kB")?;
                Some(count.parse::<f64>().ok()? * 1024.0 * unit.parse::<f64>().unwrap_or(1.0))
            }
            _ => processor_cache(),
        }
    }
}

/// The largest cache of the first processor.
fn processor_cache() -> Option<f64> {
    let sizes = (0..8).filter_map(|level| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.trim().strip_suffix('K')?.parse::<f64>().ok()? * 1024.0)
    });
    sizes.reduce(f64::max)
}
