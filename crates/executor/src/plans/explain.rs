//! EXPLAIN: the plan of a statement as rows, and with ANALYZE the plan that counts what it does, for the client and for the
//! bodies of routines.
//!
//! CREATE TABLE AS and DECLARE CURSOR are explained by their query, EXECUTE by the plan of what was prepared.
//! Leaves out: running a measured plan (those who run the statement), ANALYZE of CREATE TABLE AS and WAL (0A000 by name).

use std::sync::Arc;

use mote_catalog::settings::SETTINGS;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::{DefinitionOption, Explain, OptionValue, Statement};
use mote_planner::plan::explain::{About, ExplainFormat, ExplainOptions, explain};
use mote_planner::plan::measured::measured;
use mote_planner::plan::{Plan, QueryPlan};
use mote_types::Datum;

use super::CachedPlan;
use crate::context::SessionState;
use crate::node::Program;

/// The form of a plan that counts what it does.
pub struct MeasuredPlan {
    pub query: QueryPlan,
    pub program: Arc<Program>,
}

impl MeasuredPlan {
    /// Compiled anew for each EXPLAIN: a measured program has nodes that the plan's own has not. `timed`: the clock is
    /// read around every call.
    pub fn of(plan: &CachedPlan, timed: bool) -> SqlResult<MeasuredPlan> {
        let query = measured(plan.query()?, timed);
        let program = Program::compile_measured(&plan.plan, &query, timed)?;
        Ok(MeasuredPlan {
            query,
            program: Arc::new(program),
        })
    }
}

/// The query whose plan stands for a statement.
pub fn query_explained(explained: &Statement) -> &Statement {
    match explained {
        Statement::CreateTableAs(create) => &create.source,
        Statement::DeclareCursor(declare) => &declare.query,
        other => other,
    }
}

/// EXPLAIN of what has no plan.
#[cold]
pub fn not_explained() -> SqlError {
    SqlError::unsupported("EXPLAIN of this statement")
}

impl SessionState {
    /// The rows of an EXPLAIN. `shown` is the plan, or its measured form.
    pub fn explanation(
        &self,
        plan: &Plan,
        shown: &QueryPlan,
        options: &ExplainOptions,
        mut about: About<'_>,
    ) -> SqlResult<Vec<Datum>> {
        // The plan tells of what the user may not read.
        mote_catalog::privileges::check_plan(&self.catalog, plan)?;
        if options.settings {
            about.settings = self.settings_of_plans();
        }
        let rows = explain(shown, options, &about).into_iter();
        Ok(rows.map(|row| Datum::Text(row.into())).collect())
    }

    /// What SETTINGS shows.
    fn settings_of_plans(&self) -> Vec<(String, String)> {
        // As PostgreSQL's EXPLAIN_SETTINGS does: only what bears on plans, and only where it is not the default.
        let all = SETTINGS.iter().enumerate();
        let changed = all.filter(|(index, setting)| {
            let bears = PLAN_SETTINGS.contains(&setting.name) || setting.name.starts_with("enable_");
            bears && self.settings.value(*index) != setting.default
        });
        let mut shown: Vec<(String, String)> = changed
            .map(|(index, setting)| (setting.name.to_owned(), self.settings.value(index).to_owned()))
            .collect();
        shown.sort();
        shown
    }
}

/// Settings that PostgreSQL lets bear on a plan, beside all that begin with `enable_`.
const PLAN_SETTINGS: [&str; 37] = [
    "constraint_exclusion",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "cursor_tuple_fraction",
    "effective_cache_size",
    "effective_io_concurrency",
    "force_parallel_mode",
    "from_collapse_limit",
    "geqo",
    "geqo_effort",
    "geqo_generations",
    "geqo_pool_size",
    "geqo_seed",
    "geqo_selection_bias",
    "geqo_threshold",
    "hash_mem_multiplier",
    "jit",
    "jit_above_cost",
    "jit_inline_above_cost",
    "jit_optimize_above_cost",
    "join_collapse_limit",
    "maintenance_io_concurrency",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "min_parallel_index_scan_size",
    "min_parallel_table_scan_size",
    "parallel_leader_participation",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "plan_cache_mode",
    "random_page_cost",
    "recursive_worktable_factor",
    "search_path",
    "seq_page_cost",
    "temp_buffers",
    "work_mem",
];

/// Reads the options of an EXPLAIN that stands in `text`.
pub fn read_options(statement: &Explain, text: &str) -> SqlResult<ExplainOptions> {
    let mut read = ExplainOptions::default();
    let (mut wal, mut timing, mut summary) = (false, None, None);
    // The last of several of one name counts.
    for option in &statement.options {
        match &*option.name {
            "analyze" => read.analyze = option.flag()?,
            "verbose" => read.verbose = option.flag()?,
            "costs" => read.costs = option.flag()?,
            "settings" => read.settings = option.flag()?,
            "buffers" => read.buffers = option.flag()?,
            "wal" => wal = option.flag()?,
            "timing" => timing = Some(option.flag()?),
            "summary" => summary = Some(option.flag()?),
            "format" => read.format = format(option, text)?,
            other => {
                let message = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(SqlError::new(state::SYNTAX_ERROR, message).at(option.location.position(text)));
            }
        }
    }
    if wal && !read.analyze {
        return Err(requires_analyze("WAL"));
    }
    // TIMING and SUMMARY go with ANALYZE unless they are given.
    read.timing = timing.unwrap_or(read.analyze);
    if read.timing && !read.analyze {
        return Err(requires_analyze("TIMING"));
    }
    read.summary = summary.unwrap_or(read.analyze);
    if wal {
        return Err(SqlError::unsupported("EXPLAIN WAL"));
    }
    // The run would have to make the table.
    if read.analyze
        && let Statement::CreateTableAs(_) = statement.statement
    {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE of CREATE TABLE AS"));
    }
    Ok(read)
}

#[cold]
fn requires_analyze(option: &str) -> SqlError {
    let message = format!("EXPLAIN option {option} requires ANALYZE");
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

fn format(option: &DefinitionOption, text: &str) -> SqlResult<ExplainFormat> {
    let word = match &option.value {
        Some(OptionValue::String(word)) => word.to_string(),
        Some(OptionValue::Boolean(value)) => value.to_string(),
        Some(OptionValue::Integer(value)) => value.to_string(),
        Some(OptionValue::Number(digits)) => digits.to_string(),
        Some(_) => String::new(),
        None => {
            let message = "format requires a parameter";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
    };
    format_named(&word).ok_or_else(|| {
        let message = format!("unrecognized value for EXPLAIN option \"format\": \"{word}\"");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message).at(option.location.position(text))
    })
}

fn format_named(word: &str) -> Option<ExplainFormat> {
    match word {
        "text" => Some(ExplainFormat::Text),
        "xml" => Some(ExplainFormat::Xml),
        "json" => Some(ExplainFormat::Json),
        "yaml" => Some(ExplainFormat::Yaml),
        _ => None,
    }
}
