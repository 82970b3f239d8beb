//! The terminals of a run: who they are, and what each driver thread has of them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use mote_common::prng::Prng;

use super::input::Source;
use super::input_audit::InputAudit;
use super::mix::Mix;
use super::random::NurandConstants;
use super::settings::Settings;
use super::shards::branches::Branches;
use super::shards::decisions::Names;
use super::terminal::{DeliveryWorker, Runner, Shared, Terminal};
use super::transactions::Scratch;
use super::transactions::delivery::Delivered;
use super::transactions::new_order::OrderProgress;
use crate::pool::Pool;
use mote_driver::{FiberLoop, StatementSet, Target};
use mote_measure::{ThreadContext, Timeline};

/// Background workers for deliveries, per driver thread of a keyed run.
const DELIVERY_WORKERS: usize = 4;
pub const TERMINALS_PER_WAREHOUSE: usize = 10;

/// Makes the terminals of each driver thread.
pub struct Crew<'a> {
    pub targets: &'a [Target],
    pub statements: Arc<StatementSet>,
    pub settings: &'a Settings,
    pub shared: Arc<Shared>,
    pub terminals: usize,
    pub first_warehouse: i32,
    pub warehouses: i32,
    pub constants: NurandConstants,
    /// Unlike that of any other run.
    pub run: u64,
}

impl Crew<'_> {
    /// On a clock that begins when so many terminals are connected.
    pub fn timeline(&self, participants: usize) -> Arc<Timeline> {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        Arc::new(Timeline::new(
            participants,
            nanoseconds(self.settings.warmup_s),
            nanoseconds(self.settings.duration_s),
        ))
    }

    pub fn populate(&self, context: &ThreadContext, fibers: &mut FiberLoop) -> std::io::Result<()> {
        let keyed = self.settings.pace.is_some();
        let deliveries = keyed.then(|| Rc::new(RefCell::new(VecDeque::new())));
        let sessions = self.settings.connections.div_ceil(context.threads).max(1);
        let common_pools = self.pools(sessions);
        for number in (context.thread..self.terminals).step_by(context.threads) {
            let pools = if keyed {
                Rc::clone(&common_pools)
            } else {
                self.pools(1)
            };
            let terminal = Terminal {
                runner: self.runner(context, pools, number),
                source: Source {
                    prng: Prng::fork(self.settings.seed, 1_000 + number as u64),
                    constants: self.constants,
                    first: self.first_warehouse,
                    warehouses: self.warehouses,
                },
                mix: Mix::new(self.settings.mix),
                warehouse: self.first_warehouse + (number % self.warehouses as usize) as i32,
                district: home_district(number, self.warehouses as usize),
                deliveries: deliveries.clone(),
            };
            fibers.spawn(move |wait| terminal.run(wait))?;
        }
        for worker in 0..DELIVERY_WORKERS {
            let Some(queue) = deliveries.clone() else { break };
            let number = self.terminals + worker * context.threads + context.thread;
            let worker = DeliveryWorker {
                runner: self.runner(context, Rc::clone(&common_pools), number),
                queue,
            };
            fibers.spawn(move |wait| worker.run(wait))?;
        }
        Ok(())
    }

    /// One pool for each server.
    fn pools(&self, capacity: usize) -> Rc<[Pool]> {
        let pools = self.targets.iter().map(|target| {
            let mut target = target.clone();
            let level = self.settings.isolation.map(|level| level.name().to_string());
            target
                .settings
                .extend(level.map(|level| ("default_transaction_isolation", level)));
            Pool::new(target, Arc::clone(&self.statements), capacity)
        });
        pools.collect()
    }

    /// `number` is unlike that of any other terminal or worker.
    fn runner(&self, context: &ThreadContext, pools: Rc<[Pool]>, number: usize) -> Runner {
        let several = pools.len() > 1;
        Runner {
            context: context.clone(),
            shared: Arc::clone(&self.shared),
            branches: several.then(|| Branches::new(Rc::clone(&pools), Names::new(self.run, number))),
            pools,
            scratch: Scratch::default(),
            progress: OrderProgress::default(),
            delivered: Delivered::default(),
            audit: InputAudit::default(),
        }
    }
}

/// The terminals of one warehouse have different districts, ten of them all; those of the next warehouse begin with the
/// next one, so that few terminals do not all look at the first district.
fn home_district(terminal: usize, warehouses: usize) -> i32 {
    let (round, warehouse) = (terminal / warehouses, terminal % warehouses);
    ((round + warehouse) % TERMINALS_PER_WAREHOUSE) as i32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_terminals_of_a_warehouse_have_ten_districts() {
        for warehouses in [1, 3, 10, 17] {
            for warehouse in 0..warehouses {
                let districts =
                    (0..10).map(|round| home_district(round * warehouses + warehouse, warehouses));
                let districts: std::collections::BTreeSet<i32> = districts.collect();
                assert_eq!(
                    districts.into_iter().collect::<Vec<_>>(),
                    (1..=10).collect::<Vec<_>>()
                );
            }
        }
        let few: std::collections::BTreeSet<i32> = (0..16).map(|number| home_district(number, 20)).collect();
        assert_eq!(few.len(), 10);
    }
}
