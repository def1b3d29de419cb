//! The graph of dependencies: levels, the longest path and cycles.

use std::collections::BTreeMap;

/// Stages by number, each with its dependencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    needs: Vec<Vec<usize>>,
    wanted_by: Vec<Vec<usize>>,
    /// Every stage after all its dependencies.
    order: Vec<usize>,
}

/// A path that returns to its start; the first stage is not repeated at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyCycle(pub Vec<usize>);

/// For every stage all stages before it.
#[derive(Clone, Debug)]
pub struct StageOrder {
    width: usize,
    rows: Vec<u64>,
}

impl StageOrder {
    pub fn are_ordered(&self, a: usize, b: usize) -> bool {
        a == b || self.is_before(a, b) || self.is_before(b, a)
    }

    /// Reports whether one stage depends on the other, directly or not.
    pub fn is_before(&self, first: usize, then: usize) -> bool {
        self.rows[then * self.width + first / 64] & (1 << (first % 64)) != 0
    }
}

impl Graph {
    /// Builds the graph. Numbers without a stage are ignored.
    pub fn new(needs: Vec<Vec<usize>>) -> Result<Graph, DependencyCycle> {
        let count = needs.len();
        let needs: Vec<Vec<usize>> = needs
            .into_iter()
            .map(|mut of| {
                of.retain(|need| *need < count);
                of.sort_unstable();
                of.dedup();
                of
            })
            .collect();
        let mut wanted_by = vec![Vec::new(); count];
        for (stage, of) in needs.iter().enumerate() {
            for need in of.iter() {
                wanted_by[*need].push(stage);
            }
        }
        let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..count).filter(|stage| open[*stage] == 0).collect();
        let mut at = 0;
        while let Some(&stage) = order.get(at) {
            at += 1;
            for &next in &wanted_by[stage] {
                open[next] -= 1;
                if open[next] == 0 {
                    order.push(next);
                }
            }
        }
        if order.len() < count {
            return Err(circle(&needs, &open));
        }
        Ok(Graph { needs, wanted_by, order })
    }

    pub fn needs(&self, stage: usize) -> &[usize] {
        &self.needs[stage]
    }

    pub fn wanted_by(&self, stage: usize) -> &[usize] {
        &self.wanted_by[stage]
    }

    /// Returns all stages, each after its dependencies.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns for each stage the length of the longest chain of stages before it.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels = vec![0; self.needs.len()];
        for &stage in &self.order {
            levels[stage] = self.needs[stage].iter().map(|need| levels[*need] + 1).max().unwrap_or(0);
        }
        levels
    }

    /// Returns for each stage the time from its start to the end of all stages that depend on it.
    pub fn ranks(&self, durations: &[u64]) -> Vec<u64> {
        let mut ranks = vec![0u64; self.needs.len()];
        for &stage in self.order.iter().rev() {
            let after = self.wanted_by[stage].iter().map(|next| ranks[*next]).max().unwrap_or(0);
            ranks[stage] = after.saturating_add(durations.get(stage).copied().unwrap_or(1));
        }
        ranks
    }

    /// Returns the path that takes longest, from its first stage to its last.
    pub fn critical_path(&self, durations: &[u64]) -> Vec<usize> {
        let ranks = self.ranks(durations);
        let longest = |among: &mut dyn Iterator<Item = usize>| {
            among.max_by(|a, b| ranks[*a].cmp(&ranks[*b]).then_with(|| b.cmp(a)))
        };
        let mut path = Vec::new();
        let mut next = longest(&mut (0..self.needs.len()).filter(|stage| self.needs[*stage].is_empty()));
        while let Some(stage) = next {
            path.push(stage);
            next = longest(&mut self.wanted_by[stage].iter().copied());
        }
        path
    }

    /// Reports whether one stage always comes before the other.
    pub fn are_ordered(&self, a: usize, b: usize) -> bool {
        self.reaches(a, b) || self.reaches(b, a)
    }

    /// Computes the order of all pairs, with one bit for each pair.
    pub fn order_known(&self) -> StageOrder {
        let width = self.needs.len().div_ceil(64);
        let mut rows = vec![0u64; width * self.needs.len()];
        for &stage in &self.order {
            for &need in &self.needs[stage] {
                for word in 0..width {
                    rows[stage * width + word] |= rows[need * width + word];
                }
                rows[stage * width + need / 64] |= 1 << (need % 64);
            }
        }
        StageOrder { width, rows }
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.needs.len()];
        let mut open = vec![from];
        while let Some(stage) = open.pop() {
            if stage == to {
                return true;
            }
            if !std::mem::replace(&mut seen[stage], true) {
                open.extend(&self.wanted_by[stage]);
            }
        }
        false
    }
}

/// Finds a cycle: every remaining stage waits for another remaining one, so following them returns to a
/// known stage.
fn circle(needs: &[Vec<usize>], open: &[usize]) -> DependencyCycle {
    let is_left = |stage: &usize| open[*stage] > 0;
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut path = Vec::new();
    let mut next = (0..needs.len()).find(is_left);
    while let Some(stage) = next {
        if let Some(&from) = seen.get(&stage) {
            // The order is that of the work: a dependency comes first.
            let mut circle = path.split_off(from);
            circle.reverse();
            return DependencyCycle(circle);
        }
        seen.insert(stage, path.len());
        path.push(stage);
        next = needs[stage].iter().copied().find(is_left);
    }
    DependencyCycle(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_diamond_has_three_levels() {
        let graph = Graph::new(vec![vec![], vec![0], vec![0], vec![1, 2]]).unwrap();
        assert_eq!(graph.levels(), [0, 1, 1, 2]);
        assert_eq!(graph.critical_path(&[1, 1, 5, 1]), [0, 2, 3]);
        assert!(graph.are_ordered(0, 3) && graph.are_ordered(3, 1) && !graph.are_ordered(1, 2));
    }

    #[test]
    fn a_circle_is_told_as_a_way() {
        assert_eq!(Graph::new(vec![vec![2], vec![0], vec![1], vec![]]), Err(DependencyCycle(vec![1, 2, 0])));
        assert_eq!(Graph::new(vec![vec![0]]), Err(DependencyCycle(vec![0])));
    }

    proptest! {
        #[test]
        fn an_order_or_a_circle(needs in proptest::collection::vec(proptest::collection::vec(0usize..12, 0..3), 1..12)) {
            match Graph::new(needs) {
                Ok(graph) => {
                    let place = |stage: usize| graph.order().iter().position(|known| *known == stage);
                    for stage in 0..graph.needs.len() {
                        prop_assert!(graph.needs(stage).iter().all(|need| place(*need) < place(stage)));
                        for other in 0..graph.needs.len() {
                            prop_assert_eq!(graph.order_known().are_ordered(stage, other), graph.are_ordered(stage, other));
                        }
                    }
                }
                Err(DependencyCycle(way)) => prop_assert!(!way.is_empty()),
            }
        }
    }
}
