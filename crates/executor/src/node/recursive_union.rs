//! WITH RECURSIVE: the base query, then rounds of the step query over the rows of the round before.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_common::work::Bulk;
use mote_planner::plan::node::{Node, Renewed};
use mote_types::Datum;

use super::grouping::RowSet;
use super::{NodeProgram, Operator, compile_node, copy_row};
use crate::runtime::Runtime;
use crate::runtime::WorkMemory;

/// The two halves of a recursive query.
pub struct Program {
    cte: usize,
    /// UNION rather than UNION ALL: rows of all rounds are compared, which is what ends a cycle.
    distinct: bool,
    base: NodeProgram,
    step: NodeProgram,
    /// WITH queries and sub-plans inside the step that read the work table: what they keep is of one round.
    renewed: Renewed,
}

impl Program {
    pub fn compile(
        cte: u16,
        distinct: bool,
        base: &Node,
        step: &Node,
        renewed: &Renewed,
    ) -> SqlResult<Arc<Program>> {
        let (base, step) = (compile_node(base)?, compile_node(step)?);
        Ok(Arc::new(Program {
            cte: cte as usize,
            distinct,
            base,
            step,
            renewed: renewed.clone(),
        }))
    }

    /// The step begins anew, and with it what it has read the round's rows through.
    fn begin_round(&self, step: &mut dyn Operator, runtime: &mut Runtime<'_, '_>) {
        step.reset();
        for &cte in &self.renewed.ctes {
            runtime.values.ctes[cte as usize].reset();
        }
        for &subplan in &self.renewed.subplans {
            runtime.values.subplans[subplan as usize].reset();
        }
    }
}

/// The running round, and what its rows are compared with.
pub struct State {
    program: Arc<Program>,
    base: Box<dyn Operator>,
    step: Box<dyn Operator>,
    /// The base query is through.
    in_step: bool,
    /// Rows of the running round: the next round's work table.
    produced: Bulk<Vec<Datum>>,
    /// UNION: all rows that went out so far, of every round.
    seen: RowSet,
    row: Vec<Datum>,
    /// Of `produced`.
    memory: WorkMemory,
    /// Of the work table, which the step reads meanwhile.
    read_memory: WorkMemory,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            base: program.base.instantiate(),
            step: program.step.instantiate(),
            program,
            in_step: false,
            produced: Vec::new().into(),
            seen: RowSet::default(),
            row: Vec::new(),
            memory: WorkMemory::default(),
            read_memory: WorkMemory::default(),
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        loop {
            let source = if self.in_step {
                &mut self.step
            } else {
                &mut self.base
            };
            if source.next(runtime)? {
                runtime.burn(1)?;
                if self.program.distinct && !self.seen.insert(source.row(), runtime)?.1 {
                    continue;
                }
                copy_row(source.row(), &mut self.row);
                // What counts against work_mem is one round; `seen` accounts for itself.
                self.memory.charge_row(&self.row, runtime)?;
                self.produced.push(self.row.clone());
                return Ok(true);
            }
            // A round that adds nothing is the last one.
            if self.produced.is_empty() {
                return Ok(false);
            }
            // The round's rows take the place of those of the round before, which nobody reads any more, and so does
            // what is charged for them.
            runtime.values.work_tables[self.program.cte].rows = std::mem::take(&mut self.produced);
            self.read_memory = std::mem::take(&mut self.memory);
            self.in_step = true;
            self.program.begin_round(self.step.as_mut(), runtime);
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.base.reset();
        self.step.reset();
        self.in_step = false;
        self.produced.clear();
        self.seen.clear();
        self.memory.clear();
        self.read_memory.clear();
    }
}

/// Reads the rows of the previous round.
pub mod work_table_scan {
    use super::*;

    /// A reader of the work table.
    pub struct Program {
        cte: usize,
    }

    impl Program {
        pub fn compile(cte: u16) -> Arc<Program> {
            Arc::new(Program { cte: cte as usize })
        }
    }

    /// Where one reader of the round's rows stands.
    pub struct State {
        program: Arc<Program>,
        position: usize,
        row: Vec<Datum>,
    }

    impl State {
        pub fn new(program: Arc<Program>) -> State {
            State {
                program,
                position: 0,
                row: Vec::new(),
            }
        }
    }

    impl Operator for State {
        fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
            runtime.burn(1)?;
            let table = &runtime.values.work_tables[self.program.cte];
            let Some(row) = table.rows.get(self.position) else {
                return Ok(false);
            };
            copy_row(row, &mut self.row);
            self.position += 1;
            Ok(true)
        }

        fn row(&self) -> &[Datum] {
            &self.row
        }

        fn reset(&mut self) {
            self.position = 0;
        }
    }
}
