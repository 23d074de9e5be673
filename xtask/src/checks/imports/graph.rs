//! Cycles in a directed graph.

use std::collections::{BTreeMap, BTreeSet};

/// Returns each set of two or more nodes that reach each other.
pub(super) fn find_cycles<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
    let mut cycles: Vec<BTreeSet<N>> = vec![];
    for node in edges.keys() {
        if cycles.iter().any(|cycle| cycle.contains(node)) {
            continue;
        }
        let mut cycle = reachable(edges, node);
        cycle.retain(|other| reachable(edges, other).contains(node));
        if cycle.len() > 1 {
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns the nodes that can be reached from this one.
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
        let edges: BTreeMap<char, BTreeSet<char>> =
            [("a", "bc"), ("b", "c"), ("c", "a"), ("d", "ae"), ("e", "d"), ("f", "a")]
                .into_iter()
                .map(|(from, to)| (from.chars().next().unwrap(), to.chars().collect()))
                .collect();
        let cycles = find_cycles(&edges);
        assert_eq!(cycles, [BTreeSet::from(['a', 'b', 'c']), BTreeSet::from(['d', 'e'])]);
    }
}
