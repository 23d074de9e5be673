//! Cycles in a directed graph.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns a shortest cycle through the first node of each set of nodes that reach each other.
pub(super) fn find_cycles<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>) -> Vec<Vec<N>> {
    let mut cycles: Vec<Vec<N>> = vec![];
    let mut reported: BTreeSet<N> = BTreeSet::new();
    for node in edges.keys() {
        if reported.contains(node) {
            continue;
        }
        if let Some(cycle) = shortest_cycle(edges, node) {
            let reached = reachable(edges, node);
            let is_mutual = |other: &&N| reachable(edges, other).contains(node);
            reported.extend(reached.iter().filter(is_mutual).cloned());
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns the nodes of a shortest path from the node back to itself.
fn shortest_cycle<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>, start: &N) -> Option<Vec<N>> {
    let mut previous: BTreeMap<&N, &N> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for next in edges.get(node).into_iter().flatten() {
            if next == start {
                let mut path = vec![node.clone()];
                let mut last = node;
                while let Some(before) = previous.get(last) {
                    last = before;
                    path.push(last.clone());
                }
                path.reverse();
                return Some(path);
            }
            if next != start && !previous.contains_key(next) {
                previous.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    None
}

fn reachable<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>, start: &N) -> BTreeSet<N> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(node) = pending.pop() {
        for next in edges.get(node).into_iter().flatten() {
            if reached.insert(next.clone()) {
                pending.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_of_connected_nodes_is_reported_once() {
        let edges = [("a", "bc"), ("b", "c"), ("c", "a"), ("d", "ae"), ("e", "d"), ("f", "a")];
        let edges: BTreeMap<char, BTreeSet<char>> = edges
            .into_iter()
            .map(|(from, to)| (from.chars().next().unwrap(), to.chars().collect()))
            .collect();
        assert_eq!(find_cycles(&edges), [vec!['a', 'c'], vec!['d', 'e']]);
    }
}
