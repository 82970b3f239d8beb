//! The deadlock search: does a wait that is just beginning close a cycle?
//!
//! Waits are edges from a party to everybody in its way: holders that conflict, and earlier waiters that conflict. Since
//! each wait is checked when it begins, under the lock table's mutex, there was no cycle before, and a new one goes
//! through the new wait: one search from it decides, and its transaction is the only victim.
//!
//! Most waits cannot close a cycle, and a glance says so ([`LockTable::may_close_cycle`]): the search visits every pair of
//! waiters of a queue, which for n sessions that want one row would be n^2 steps under the mutex for each of them.
//!
//! An edge to an earlier waiter is soft: nobody holds anything there yet, only the order of a queue is in the way. As in
//! PostgreSQL, a cycle with soft edges is untied by letting the later waiter go first, where that leaves no other cycle.

use super::manager::LockTable;
use super::owner::{Owner, Party};
use super::ticket::{DeadlockEdge, DeadlockReport, LockTag, Ticket};
use hashbrown::HashSet;

/// Changes of order that are tried for one deadlock; beyond it the wait that closes the cycle is refused.
const REORDERINGS_MAX: usize = 64;

impl LockTable {
    /// Who keeps the waiter with this ticket from being granted.
    pub(super) fn in_the_way(&self, tag: LockTag, ticket: Ticket) -> Vec<Owner> {
        let Some(queue) = self.queues.get(&tag) else {
            return Vec::new();
        };
        let Some(position) = queue.waiters.iter().position(|waiter| waiter.ticket == ticket) else {
            return Vec::new();
        };
        let waiter = &queue.waiters[position];
        let conflicts = waiter.mode.conflicts();
        let holders = queue
            .holders
            .iter()
            .filter(|holder| holder.modes & conflicts != 0)
            .map(|holder| holder.owner);
        let earlier = queue.waiters.iter().take(position);
        let earlier = earlier
            .filter(|earlier| earlier.mode.bit() & conflicts != 0)
            .map(|earlier| earlier.owner);
        holders
            .chain(earlier)
            .filter(|owner| !owner.is_same_party(&waiter.owner))
            .collect()
    }

    /// The cycle through the wait of `start`, if there is one.
    pub(super) fn find_cycle(&self, start: Owner) -> Option<DeadlockReport> {
        let mut visited = HashSet::new();
        let mut path = Vec::new();
        self.search(start, start.party(), &mut visited, &mut path)
            .then_some(DeadlockReport { cycle: path })
    }

    /// Can the wait of `start` be part of a cycle? False is certain; true asks for the search.
    ///
    /// A cycle needs an edge that ends at `start`: `start` holds something of a queue that can be reached from its own
    /// wait, or somebody reached waits behind it in its own queue. Queues are reached through their holders only: whoever
    /// waits in a queue in front of somebody leads to that queue's holders again. Each queue is looked at once.
    fn may_close_cycle(&self, start: Owner) -> bool {
        let Some(&(first, _)) = self.waiting.get(&start.party()) else {
            return false;
        };
        let mut reached = vec![first];
        let mut next = 0;
        while let Some(tag) = reached.get(next) {
            next += 1;
            for holder in self.queues.get(tag).into_iter().flat_map(|queue| &queue.holders) {
                if holder.owner.is_same_party(&start) {
                    return true;
                }
                match self.waiting.get(&holder.owner.party()) {
                    Some((tag, _)) if *tag == first => return true,
                    Some((tag, _)) if !reached.contains(tag) => reached.push(*tag),
                    _ => {}
                }
            }
        }
        false
    }

    /// Unties every cycle through the wait of `start` by changing the order of queues. The queues that changed; where no
    /// order helps, nothing changes and the cycle is returned.
    pub(super) fn untie(&mut self, start: Owner) -> Result<Vec<LockTag>, DeadlockReport> {
        if !self.may_close_cycle(start) {
            return Ok(Vec::new());
        }
        let mut changed = Vec::new();
        let mut tries_left = REORDERINGS_MAX;
        self.untie_all(&mut vec![start], &mut tries_left, &mut changed)?;
        Ok(changed)
    }

    /// `suspects`: whoever's wait may be part of a cycle.
    fn untie_all(
        &mut self,
        suspects: &mut Vec<Owner>,
        tries_left: &mut usize,
        changed: &mut Vec<LockTag>,
    ) -> Result<(), DeadlockReport> {
        let Some(report) = suspects.iter().find_map(|owner| self.find_cycle(*owner)) else {
            return Ok(());
        };
        // The farthest edge first: whoever closes the cycle is the last to gain by it.
        for edge in report.cycle.iter().rev() {
            let Some((later, earlier)) = self.soft_edge(edge) else {
                continue;
            };
            if *tries_left == 0 {
                break;
            }
            *tries_left -= 1;
            let owner = self.reorder(edge.tag, later, earlier);
            suspects.push(owner);
            if self.untie_all(suspects, tries_left, changed).is_ok() {
                changed.push(edge.tag);
                return Ok(());
            }
            suspects.pop();
            self.reorder(edge.tag, earlier, later);
        }
        Err(report)
    }

    /// The places in the queue of the edge's two parties, later and earlier, if only the order makes the one wait.
    fn soft_edge(&self, edge: &DeadlockEdge) -> Option<(usize, usize)> {
        let queue = self.queues.get(&edge.tag)?;
        let place = |session: u32, transaction| {
            let at = |owner: &Owner| owner.session == session && owner.id == transaction;
            queue.waiters.iter().position(|waiter| at(&waiter.owner))
        };
        let later = place(edge.session, edge.transaction)?;
        let earlier = place(edge.blocked_by_session, edge.blocked_by_transaction)?;
        let blocker = &queue.waiters[earlier].owner;
        let conflicts = edge.mode.conflicts();
        let holds = |holder: &super::manager::Holder| {
            holder.modes & conflicts != 0 && holder.owner.is_same_party(blocker)
        };
        (earlier < later && !queue.holders.iter().any(holds)).then_some((later, earlier))
    }

    /// Moves a waiter from one place of a queue to another; who it is.
    fn reorder(&mut self, tag: LockTag, from: usize, to: usize) -> Owner {
        let queue = self.queues.get_mut(&tag).expect("an edge names a queue");
        let waiter = queue.waiters.remove(from).expect("an edge names its waiters");
        let owner = waiter.owner;
        queue.waiters.insert(to, waiter);
        owner
    }

    /// Depth first. The depth is bounded by the number of sessions that wait at once.
    fn search(
        &self,
        owner: Owner,
        target: Party,
        visited: &mut HashSet<Party>,
        path: &mut Vec<DeadlockEdge>,
    ) -> bool {
        let Some(&(tag, ticket)) = self.waiting.get(&owner.party()) else {
            return false;
        };
        let Some(queue) = self.queues.get(&tag) else {
            return false;
        };
        let Some(waiter) = queue.waiters.iter().find(|waiter| waiter.ticket == ticket) else {
            return false;
        };
        for blocker in self.in_the_way(tag, ticket) {
            path.push(DeadlockEdge {
                session: waiter.owner.session,
                transaction: waiter.owner.id,
                tag,
                mode: waiter.mode,
                blocked_by_session: blocker.session,
                blocked_by_transaction: blocker.id,
                blocker_holds: queue.holders.iter().any(|holder| holder.owner == blocker),
                label: 0,
            });
            if blocker.party() == target
                || visited.insert(blocker.party()) && self.search(blocker, target, visited, path)
            {
                return true;
            }
            path.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::manager::{Holder, Waiter};
    use crate::lock::ticket::{AdvisoryKey, AdvisoryMode, LockMode, Wake};
    use mote_common::Lsn;
    use mote_common::prng::Prng;
    use std::sync::Arc;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(&self, _ticket: Ticket) {}
    }

    fn any_tag(random: &mut Prng, tags: u64) -> LockTag {
        LockTag::Advisory(AdvisoryKey {
            database: 1,
            key: random.below(tags),
            two_parts: false,
        })
    }

    fn any_mode(random: &mut Prng) -> LockMode {
        LockMode::Advisory(match random.chance(1, 2) {
            true => AdvisoryMode::Shared,
            false => AdvisoryMode::Exclusive,
        })
    }

    /// Some parties hold things at random, and each waits for one thing: cycles included.
    fn any_table(random: &mut Prng, parties: u32, tags: u64) -> LockTable {
        let mut table = LockTable::default();
        let wake: Arc<dyn Wake> = Arc::new(Nobody);
        for session in 1..=parties {
            let owner = Owner::session(session);
            for _ in 0..random.below(3) {
                let modes = any_mode(random).bit();
                let queue = table.queues.entry(any_tag(random, tags)).or_default();
                queue.holders.push(Holder {
                    owner,
                    modes,
                    known: Lsn::ZERO,
                });
            }
        }
        for session in 1..=parties {
            let owner = Owner::session(session);
            let (tag, ticket) = (any_tag(random, tags), Ticket(session.into()));
            let waiter = Waiter {
                owner,
                mode: any_mode(random),
                ticket,
                wake: wake.clone(),
                known: Lsn::ZERO,
            };
            let queue = table.queues.entry(tag).or_default();
            if queue.holders.iter().any(|holder| holder.owner == owner) {
                queue.waiters.push_front(waiter);
            } else {
                queue.waiters.push_back(waiter);
            }
            table.waiting.insert(owner.party(), (tag, ticket));
        }
        table
    }

    /// Whatever the search finds, the glance must have announced.
    #[test]
    fn the_glance_misses_no_cycle() {
        let (mut cycles, mut spared) = (0, 0);
        for seed in 0..20_000 {
            let mut random = Prng::new(seed);
            let (parties, tags) = (2 + random.below(6) as u32, 1 + random.below(6));
            let table = any_table(&mut random, parties, tags);
            for session in 1..=parties {
                let owner = Owner::session(session);
                let found = table.find_cycle(owner).is_some();
                let announced = table.may_close_cycle(owner);
                assert!(announced || !found, "seed {seed}, session {session}");
                cycles += usize::from(found);
                spared += usize::from(!announced);
            }
        }
        assert!(
            cycles > 1_000 && spared > 1_000,
            "{cycles} cycles, {spared} searches spared"
        );
    }
}
