//! The deadlock search: does a wait that is just beginning close a cycle?
//!
//! Waits are edges from a party to everybody in its way: holders that conflict, and earlier waiters that conflict. Since
//! each wait is checked when it begins, under the lock table's mutex, there was no cycle before, and a new one goes
//! through the new wait: one search from it decides, and its transaction is the only victim.

use super::manager::{LockTable, Owner, Party};
use super::ticket::{DeadlockEdge, DeadlockReport, LockTag, Ticket};
use hashbrown::HashSet;

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
