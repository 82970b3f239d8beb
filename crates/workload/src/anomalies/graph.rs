//! Directed graphs of transactions: strongly connected components, shortest cycles.

use std::collections::{BTreeMap, VecDeque};

/// Nodes are numbers below the graph's size; edges carry a label each.
pub struct Graph<L> {
    pub edges: Vec<Vec<(usize, L)>>,
}

impl<L: Clone> Graph<L> {
    pub fn new(nodes: usize) -> Graph<L> {
        Graph {
            edges: vec![Vec::new(); nodes],
        }
    }

    pub fn add(&mut self, from: usize, to: usize, label: L) {
        self.edges[from].push((to, label));
    }

    /// Components of more than one node: every cycle lies within one. Loops of one node are not looked for.
    pub fn components(&self) -> Vec<Vec<usize>> {
        Tarjan::run(self)
    }

    /// The shortest way from one node to another, within `allowed`, as steps (from, label, to).
    pub fn path(
        &self,
        from: usize,
        to: usize,
        allowed: impl Fn(usize) -> bool,
    ) -> Option<Vec<(usize, L, usize)>> {
        let mut reached: BTreeMap<usize, (usize, L)> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for (next, label) in &self.edges[node] {
                if !allowed(*next) || (*next != to && *next == from) || reached.contains_key(next) {
                    continue;
                }
                reached.insert(*next, (node, label.clone()));
                if *next == to {
                    return Some(walk_back(&reached, from, to));
                }
                queue.push_back(*next);
            }
        }
        None
    }

    /// The shortest cycle through any of a component's first nodes; as many are tried as `tries` says.
    pub fn cycle_in(&self, component: &[usize], tries: usize) -> Option<Vec<(usize, L, usize)>> {
        let inside = |node: usize| component.binary_search(&node).is_ok();
        let cycles = component
            .iter()
            .take(tries)
            .filter_map(|node| self.path(*node, *node, inside));
        cycles.min_by_key(Vec::len)
    }
}

fn walk_back<L: Clone>(
    reached: &BTreeMap<usize, (usize, L)>,
    from: usize,
    to: usize,
) -> Vec<(usize, L, usize)> {
    let mut steps = Vec::new();
    let mut node = to;
    loop {
        let (before, label) = &reached[&node];
        steps.push((*before, label.clone(), node));
        node = *before;
        if node == from {
            steps.reverse();
            return steps;
        }
    }
}

/// Tarjan's algorithm with a stack of its own: histories are deeper than a thread's stack.
struct Tarjan {
    index: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

const UNSEEN: usize = usize::MAX;

impl Tarjan {
    fn run<L>(graph: &Graph<L>) -> Vec<Vec<usize>> {
        let nodes = graph.edges.len();
        let mut tarjan = Tarjan {
            index: vec![UNSEEN; nodes],
            low: vec![0; nodes],
            on_stack: vec![false; nodes],
            stack: Vec::new(),
            next: 0,
            found: Vec::new(),
        };
        for root in 0..nodes {
            if tarjan.index[root] == UNSEEN {
                tarjan.visit(graph, root);
            }
        }
        tarjan.found
    }

    fn enter(&mut self, node: usize) {
        self.index[node] = self.next;
        self.low[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit<L>(&mut self, graph: &Graph<L>, root: usize) {
        self.enter(root);
        let mut calls = vec![(root, 0)];
        while let Some((node, edge)) = calls.pop() {
            if let Some((next, _)) = graph.edges[node].get(edge) {
                calls.push((node, edge + 1));
                if self.index[*next] == UNSEEN {
                    self.enter(*next);
                    calls.push((*next, 0));
                } else if self.on_stack[*next] {
                    self.low[node] = self.low[node].min(self.index[*next]);
                }
                continue;
            }
            if let Some((caller, _)) = calls.last() {
                self.low[*caller] = self.low[*caller].min(self.low[node]);
            }
            if self.low[node] == self.index[node] {
                self.leave(node);
            }
        }
    }

    fn leave(&mut self, node: usize) {
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack[member] = false;
            component.push(member);
            if member == node {
                break;
            }
        }
        if component.len() > 1 {
            component.sort_unstable();
            self.found.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph<()> {
        let mut graph = Graph::new(nodes);
        edges.iter().for_each(|(from, to)| graph.add(*from, *to, ()));
        graph
    }

    #[test]
    fn components_are_exactly_the_cycles() {
        let graph = graph(7, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 4)]);
        let mut found = graph.components();
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![4, 5]]);
    }

    #[test]
    fn the_shortest_cycle_is_shown() {
        let graph = graph(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (2, 1)]);
        let cycle = graph.cycle_in(&[0, 1, 2, 3], 4).expect("there is one");
        assert_eq!(cycle, [(1, (), 2), (2, (), 1)]);
        assert!(graph.path(0, 0, |node| node != 3).is_none());
    }

    #[test]
    fn long_chains_need_no_deep_stack() {
        let nodes = 200_000;
        let mut edges: Vec<_> = (1..nodes).map(|to| (to - 1, to)).collect();
        edges.push((nodes - 1, 0));
        assert_eq!(graph(nodes, &edges).components()[0].len(), nodes);
    }
}
