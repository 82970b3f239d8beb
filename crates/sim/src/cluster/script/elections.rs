//! Traces about who leads next, and what that one has.

use super::{ELECTION_NS, PATIENCE_NS, Scene, Script};

impl Script {
    /// Trace 1: The third has missed what the first two have; the second succeeds, is cut off at once, and writes for nobody but
    /// itself; then it is gone, and the others must not miss anything.
    pub(super) fn successor(&mut self, scene: &mut Scene<'_>) {
        let leader = scene.leader();
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.set_blocked(self.first, self.third, true);
                self.go_on(scene.around, 1);
            }
            1 if scene.around.prng.chance(1, 20) => {
                scene.around.network.open_all_ways();
                scene.is_off_for(self.first, 3 * PATIENCE_NS);
                self.go_on(scene.around, 2);
            }
            2 if leader != self.first => {
                if leader == self.third {
                    std::mem::swap(&mut self.second, &mut self.third);
                }
                scene.cut_off(leader);
                self.go_on(scene.around, 3);
            }
            3 if self.waited(scene.around, PATIENCE_NS) && scene.around.prng.chance(1, 20) => {
                scene.is_off_for(self.second, 4 * PATIENCE_NS);
                scene.around.network.open_all_ways();
                self.go_on(scene.around, 4);
            }
            4 if leader != self.second && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 2: See [`Trace::OldTerms`](super::Trace::OldTerms).
    pub(super) fn old_terms(&mut self, scene: &mut Scene<'_>) {
        let leader = scene.leader();
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.cut_off(self.first);
                self.go_on(scene.around, 1);
            }
            1 if leader != self.first => {
                if leader == self.third {
                    std::mem::swap(&mut self.second, &mut self.third);
                }
                // The successor is cut off as well, and the first one reaches the third.
                scene.cut_off(leader);
                scene.set_blocked(self.first, self.third, false);
                self.go_on(scene.around, 2);
            }
            2 if leader == self.first && scene.node(leader).leads() => self.go_on(scene.around, 3),
            3 if scene.around.prng.chance(1, 20) => {
                scene.is_off_for(self.first, 4 * PATIENCE_NS);
                scene.set_blocked(self.second, self.third, false);
                self.go_on(scene.around, 4);
            }
            4 if leader != self.first && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 3: What the voters have beyond the leader's disk, nobody may write anew under the same term.
    pub(super) fn restart(&mut self, scene: &mut Scene<'_>) {
        let now_ns = scene.around.now_ns;
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                let first = self.first;
                scene.node(first).fails_in_next_flush();
                self.go_on(scene.around, 1);
            }
            1 if !scene.node(self.first).is_running(now_ns) => {
                let back_ns = now_ns + scene.around.prng.below(PATIENCE_NS / 4);
                let first = self.first;
                scene.node(first).stays_off_until(back_ns);
                self.go_on(scene.around, 2);
            }
            2 if scene.around.record.term > self.term && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 8: Only the leader fails; so whatever two nodes have received is not lost.
    pub(super) fn levels(&mut self, scene: &mut Scene<'_>) {
        let leader = scene.leader();
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.set_blocked(self.first, self.third, true);
                self.go_on(scene.around, 1);
            }
            1 if scene.around.prng.chance(1, 20) => {
                scene.is_off_for(self.first, 6 * PATIENCE_NS);
                scene.around.network.open_all_ways();
                self.go_on(scene.around, 2);
            }
            2 if leader != self.first && scene.serves() => self.played(scene),
            _ => {}
        }
    }

    /// Trace 12: The clock goes on while a machine sleeps: what wakes has no lease any more, and a voter that wakes has waited. That
    /// two never serve at one moment is judged at every step.
    pub(super) fn suspend(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let (leader, first) = (scene.leader(), self.first);
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                let (now_ns, planted) = (scene.around.now_ns, scene.around.planted);
                let (first, second) = (self.first, self.second);
                scene.node(first).sleeps_until(now_ns + 2 * ELECTION_NS, planted);
                if scene.around.prng.chance(1, 2) {
                    let nap_ns = scene.around.prng.below(4 * PATIENCE_NS);
                    scene.node(second).sleeps_until(now_ns + nap_ns, planted);
                }
                self.go_on(scene.around, 1);
            }
            1 if leader != first && scene.serves() => {
                scene.node(first).is_left_alone();
                self.go_on(scene.around, 2);
            }
            1 if self.waited(scene.around, ELECTION_NS + 4 * PATIENCE_NS) => {
                return Err(format!("the machine of {first:?} sleeps, and nobody succeeds it"));
            }
            2 if self.waited(scene.around, 2 * PATIENCE_NS) => {
                if scene.node(first).leads() && scene.leader() != first {
                    return Err(format!("{first:?} has been replaced, and leads on"));
                }
                self.played(scene);
            }
            _ => {}
        }
        Ok(())
    }

    /// Trace 13: That two never serve at one moment is judged at every step.
    pub(super) fn pause(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let (leader, first) = (scene.leader(), self.first);
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                let until_ns = scene.around.now_ns + 2 * ELECTION_NS;
                let first = self.first;
                scene.node(first).stands_still_until(until_ns);
                self.go_on(scene.around, 1);
            }
            1 if leader != first && scene.serves() => {
                scene.node(first).is_left_alone();
                self.go_on(scene.around, 2);
            }
            1 if self.waited(scene.around, ELECTION_NS) => {
                return Err(format!("{first:?} stands still, and nobody succeeds it"));
            }
            // It has heard of it by then, or may have lost that stream, and has asked the store.
            2 if self.waited(scene.around, 2 * PATIENCE_NS) => {
                if scene.node(first).leads() && scene.leader() != first {
                    return Err(format!("{first:?} has been replaced, and leads on"));
                }
                self.played(scene);
            }
            _ => {}
        }
        Ok(())
    }

    /// Trace 16: The leader has all that counts: its own word is enough.
    pub(super) fn leader_back(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.is_off_for(self.third, 2 * ELECTION_NS);
                self.go_on(scene.around, 1);
            }
            1 if scene.around.prng.chance(1, 20) => {
                let back_ns = scene.around.prng.below(PATIENCE_NS);
                scene.is_off_for(self.first, back_ns);
                scene.is_off_for(self.second, back_ns / 2);
                self.go_on(scene.around, 2);
            }
            2 if scene.around.record.term > self.term && scene.serves() => self.played(scene),
            2 if self.waited(scene.around, ELECTION_NS) => {
                return Err("the leader and one of two voters are back, and nobody leads".into());
            }
            _ => {}
        }
        Ok(())
    }

    /// Trace 17: Reads need the lease, as everything does.
    pub(super) fn alone(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let (leader, first) = (scene.leader(), self.first);
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                scene.cut_off(self.first);
                self.go_on(scene.around, 1);
            }
            1 if self.waited(scene.around, PATIENCE_NS) => {
                if scene.node(first).serves() {
                    return Err(format!("{first:?} is heard by nobody, and serves"));
                }
                self.go_on(scene.around, 2);
            }
            2 if leader != first && scene.serves() => self.played(scene),
            2 if self.waited(scene.around, ELECTION_NS) => {
                return Err(format!("{first:?} is cut off, and nobody succeeds it"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Trace 19: It asks, and is refused by whoever hears the leader: nobody is disturbed.
    pub(super) fn deaf(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                for other in scene.around.others(self.third) {
                    let network = &scene.around.network;
                    network.set_blocked(super::host(other), super::host(self.third), true);
                }
                self.go_on(scene.around, 1);
            }
            1 if self.waited(scene.around, 5 * PATIENCE_NS) => {
                scene.around.network.open_all_ways();
                self.go_on(scene.around, 2);
            }
            2 if self.waited(scene.around, 3 * PATIENCE_NS) => self.played(scene),
            1 | 2 if scene.around.record.term > self.term => {
                return Err(format!("{:?} is deaf, and another term begins", self.third));
            }
            _ => {}
        }
        Ok(())
    }

    /// Trace 20: A node whose disk hangs is silent, though its network works.
    pub(super) fn hanging_disk(&mut self, scene: &mut Scene<'_>) -> Result<(), String> {
        let (leader, first) = (scene.leader(), self.first);
        let stage = self.stage;
        match stage {
            0 if self.begins(scene) => {
                let until_ns = scene.around.now_ns + 2 * ELECTION_NS;
                let first = self.first;
                scene.node(first).hangs_until(until_ns);
                self.go_on(scene.around, 1);
            }
            1 if leader != first && scene.serves() => self.played(scene),
            1 if self.waited(scene.around, ELECTION_NS) => {
                return Err(format!("the disk of {first:?} hangs, and nobody succeeds it"));
            }
            _ => {}
        }
        Ok(())
    }
}
