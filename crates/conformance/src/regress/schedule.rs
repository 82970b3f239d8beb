//! `parallel_schedule`: the files in their order, and what a file needs before it.
//!
//! Nearly every file needs `test_setup` alone or with `create_index`; further needs stand in the schedule's comments,
//! as in `# geometry depends on point, lseg`.

use std::collections::BTreeMap;

/// Without it many later files have no indexes.
const INDEXES: &str = "create_index";
const SETUP: &str = "test_setup";

#[derive(Debug, Default)]
pub struct Schedule {
    pub files: Vec<String>,
    needs: BTreeMap<String, Vec<String>>,
}

impl Schedule {
    pub fn parse(text: &str) -> Schedule {
        let mut schedule = Schedule::default();
        for line in text.lines() {
            if let Some(names) = line.strip_prefix("test:") {
                schedule
                    .files
                    .extend(names.split_whitespace().map(str::to_string));
            } else if let Some((name, needs)) = line
                .strip_prefix("# ")
                .and_then(|line| line.split_once(" depends on "))
            {
                let needs = needs.split(", ").map(str::to_string).collect::<Vec<_>>();
                schedule.needs.entry(name.to_string()).or_default().extend(needs);
            }
        }
        // Comments speak in prose too: what names no file is none of a file's needs.
        let files = schedule.files.clone();
        schedule
            .needs
            .values_mut()
            .for_each(|needs| needs.retain(|need| files.contains(need)));
        schedule
    }

    /// What must run so that `names` mean something, in the order of the schedule.
    pub fn with_needs(&self, names: &[String]) -> Result<Vec<String>, String> {
        let mut wanted: Vec<String> = Vec::new();
        let mut open: Vec<String> = names.to_vec();
        while let Some(name) = open.pop() {
            let at = self
                .place(&name)
                .ok_or_else(|| format!("the schedule has no file \"{name}\""))?;
            if wanted.contains(&name) {
                continue;
            }
            if self.place(INDEXES).is_some_and(|index| index < at) {
                open.push(INDEXES.to_string());
            }
            open.extend(self.needs.get(&name).into_iter().flatten().cloned());
            wanted.push(name);
        }
        let needed = |name: &&String| name.as_str() == SETUP || wanted.contains(name);
        Ok(self.files.iter().filter(needed).cloned().collect())
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# required setup steps\ntest: test_setup\n# geometry depends on point, line\n\
                        test: point line\ntest: geometry  horology\n# Note: many files depend on create_index\n\
                        test: create_index\ntest: join\n# some depend on it\n";

    #[test]
    fn a_file_brings_what_it_needs_in_the_order_of_the_schedule() {
        let schedule = Schedule::parse(TEXT);
        assert_eq!(schedule.files.len(), 7);
        let needs = |name: &str| schedule.with_needs(&[name.to_string()]);
        assert_eq!(
            needs("geometry").unwrap(),
            ["test_setup", "point", "line", "geometry"]
        );
        assert_eq!(needs("join").unwrap(), ["test_setup", "create_index", "join"]);
        assert_eq!(needs("test_setup").unwrap(), ["test_setup"]);
        assert!(needs("joins").unwrap_err().contains("\"joins\""));
    }
}
