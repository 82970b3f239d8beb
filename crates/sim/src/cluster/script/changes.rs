//! Traces about whose word counts: directories, voters, and what the store keeps of them.

use std::collections::BTreeSet;

use super::stranger::Stranger;
use super::{PATIENCE_NS, Scene, Script};

impl Script {
    /// Trace 4: What the second alone has, it has no more; nobody may take its word for that of the directory that had it.
    pub(super) fn amnesia(&mut self, scene: &mut Scene<'_>) {
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.set_blocked(self.first, self.third, true);
                self.go_on(scene.around, 1);
            }
            1 if self.waited(scene.around, PATIENCE_NS / 4) && scene.around.prng.chance(1, 20) => {
                let log = scene.copy_of(self.third);
                scene.is_off_for(self.first, 5 * PATIENCE_NS);
                let second = &mut scene.nodes[super::index(self.second)];
                second.gets_a_new_disk(log, scene.around);
                second.stays_off_until(scene.around.now_ns);
                scene.around.network.open_all_ways();
                self.go_on(scene.around, 2);
            }
            2 if self.waited(scene.around, 6 * PATIENCE_NS) && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 5: The first writes on for nobody and must let go of that. Then its successor is cut off and hears neither of the others
    /// nor of the store; somebody with the third's name reports to it that he has everything.
    pub(super) fn strangers(&mut self, scene: &mut Scene<'_>) {
        let leader = scene.leader();
        if let Some(stranger) = &mut self.stranger {
            stranger.step();
        }
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.cut_off(self.first);
                self.go_on(scene.around, 1);
            }
            1 if leader != self.first && scene.serves() => {
                if leader == self.third {
                    std::mem::swap(&mut self.second, &mut self.third);
                }
                scene.cut_off(self.second);
                scene.set_blocked(self.first, self.third, false);
                let (second, until_ns) = (self.second, scene.around.now_ns + 8 * PATIENCE_NS);
                scene.node(second).coordinator_is_away_until(until_ns);
                self.go_on(scene.around, 2);
            }
            // Its stream of that name has been given up by then.
            2 if self.waited(scene.around, 3 * PATIENCE_NS) => {
                let third = &scene.nodes[super::index(self.third)];
                self.stranger = Stranger::greets(scene.around, self.second, third);
                self.go_on(scene.around, 3);
            }
            3 if self.waited(scene.around, 2 * PATIENCE_NS) && leader != self.second => {
                scene.around.network.open_all_ways();
                self.go_on(scene.around, 4);
            }
            4 if self.waited(scene.around, 4 * PATIENCE_NS) && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 6: The fourth node takes the second's place among the voters; then the first sees the second alone.
    pub(super) fn voters(&mut self, scene: &mut Scene<'_>) {
        let (leader, first) = (scene.leader(), self.first);
        let outside = {
            let record = &scene.around.record;
            let mut ids = scene.around.ids.iter().copied();
            ids.find(|id| *id != leader && !record.voters.contains(id))
        };
        let stage = self.stage;
        match stage {
            0 if outside.is_some() && self.begins(scene) => {
                let next = BTreeSet::from([self.third, outside.expect("there is one")]);
                scene.around.wish = Some((next, 1));
                self.go_on(scene.around, 1);
            }
            1 if leader != first => self.end(scene.around, scene.nodes),
            1 if outside == Some(self.second) => {
                // New voters are in force, and hear of nothing more.
                let new: Vec<_> = scene.around.record.voters.iter().copied().collect();
                for voter in new {
                    scene.set_blocked(first, voter, true);
                    scene.set_blocked(self.second, voter, true);
                }
                self.go_on(scene.around, 2);
            }
            2 if scene.around.prng.chance(1, 20) => {
                scene.is_off_for(first, 6 * PATIENCE_NS);
                scene.is_off_for(self.second, 6 * PATIENCE_NS);
                self.go_on(scene.around, 3);
            }
            3 if leader != first && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 7: The first is succeeded by the second; the store is set back to before; all lose power. Nobody may serve by what
    /// stands there: the voters were others when the last commits were acknowledged. Later an operator puts the record right.
    pub(super) fn store(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let leader = scene.leader();
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                // Streams are given up after two patiences: who is back before that leads again.
                let away_ns = 2 * PATIENCE_NS + scene.around.prng.below(2 * PATIENCE_NS);
                scene.is_off_for(self.first, away_ns);
                self.go_on(scene.around, 1);
            }
            1 if leader != self.first && scene.serves() => {
                self.second = leader;
                self.go_on(scene.around, 2);
            }
            // The first has come back by then. A backup is older than what every node reads each second.
            2 if self.waited(scene.around, PATIENCE_NS)
                && scene.nodes.iter().all(|node| node.has_read(&scene.around.newest))
                && scene.around.prng.chance(1, 20) =>
            {
                if leader != self.second || scene.around.newest.leader != self.second {
                    self.end(scene.around, scene.nodes);
                    return Ok(());
                }
                let newest = scene.around.newest.clone();
                let mut older = scene.around.older.iter().rev();
                let before = older.find(|record| record.term < newest.term).cloned();
                scene.around.record = before.expect("the first one led by another");
                scene.around.report.set_back += 1;
                for id in scene.around.ids.clone() {
                    // Whoever led last is the last one to be back.
                    let back_ns = match id == newest.leader {
                        true => 5 * PATIENCE_NS,
                        false => scene.around.prng.below(PATIENCE_NS),
                    };
                    scene.is_off_for(id, back_ns);
                }
                self.go_on(scene.around, 3);
            }
            3 if scene.serves() => {
                return Err(format!("{leader:?} serves by a record of the past"));
            }
            3 if self.waited(scene.around, 6 * PATIENCE_NS) => {
                if scene.around.record.changes < scene.around.newest.changes {
                    scene.around.record = scene.around.newest.clone();
                }
                self.go_on(scene.around, 4);
            }
            4 if scene.serves() => self.played(scene),
            _ => {}
        }
        Ok(())
    }
}
