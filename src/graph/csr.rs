//! Adjacency in two arrays: offsets by node, targets in the order of the dump.

use super::NodeId;

/// Where each node's targets begin; `u32` while it fits, for the memory's sake.
#[derive(Debug)]
pub(super) enum Offsets {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Offsets {
    /// Turns counts into offsets: one entry more, the last is the sum. In place while the sum fits `u32`.
    pub(super) fn from_counts(mut counts: Vec<u32>) -> Self {
        let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if total <= u64::from(u32::MAX) {
            let mut sum = 0u32;
            for count in &mut counts {
                let own = *count;
                *count = sum;
                sum += own;
            }
            counts.reserve_exact(1);
            counts.push(sum);
            Offsets::Narrow(counts)
        } else {
            let mut offsets = Vec::with_capacity(counts.len() + 1);
            let mut sum = 0u64;
            offsets.push(0);
            for count in counts {
                sum += u64::from(count);
                offsets.push(sum);
            }
            Offsets::Wide(offsets)
        }
    }

    #[inline]
    pub(super) fn range(&self, index: usize) -> std::ops::Range<usize> {
        match self {
            Offsets::Narrow(offsets) => offsets[index] as usize..offsets[index + 1] as usize,
            Offsets::Wide(offsets) => offsets[index] as usize..offsets[index + 1] as usize,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Offsets::Narrow(offsets) => offsets.len() * 4,
            Offsets::Wide(offsets) => offsets.len() * 8,
        }
    }
}

/// References of all objects, or their reverse.
#[derive(Debug)]
pub(super) struct Csr {
    pub(super) offsets: Offsets,
    pub(super) targets: Vec<NodeId>,
}

impl Csr {
    #[inline]
    pub(super) fn targets_of(&self, index: usize) -> &[NodeId] {
        &self.targets[self.offsets.range(index)]
    }

    /// Every reference turned round, by counting sort: referrers ascending, repeats kept.
    /// O(nodes + references); 4 bytes per node and 4 per reference.
    pub(super) fn reversed(&self, node_count: usize) -> Csr {
        if self.targets.len() as u64 > u64::from(u32::MAX) {
            return self.reversed_wide(node_count);
        }
        // The offsets are their own cursors: filled from the end they finish where each list begins.
        let mut offsets = vec![0u32; node_count + 1];
        for target in &self.targets {
            offsets[target.index()] += 1;
        }
        let mut sum = 0u32;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut sources = vec![NodeId(0); self.targets.len()];
        for source in (0..node_count).rev() {
            for target in self.targets_of(source) {
                let cursor = &mut offsets[target.index()];
                *cursor -= 1;
                sources[*cursor as usize] = NodeId(source as u32);
            }
        }
        Csr { offsets: Offsets::Narrow(offsets), targets: sources }
    }

    fn reversed_wide(&self, node_count: usize) -> Csr {
        let mut offsets = vec![0u64; node_count + 1];
        for target in &self.targets {
            offsets[target.index()] += 1;
        }
        let mut sum = 0u64;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut sources = vec![NodeId(0); self.targets.len()];
        for source in (0..node_count).rev() {
            for target in self.targets_of(source) {
                let cursor = &mut offsets[target.index()];
                *cursor -= 1;
                sources[*cursor as usize] = NodeId(source as u32);
            }
        }
        Csr { offsets: Offsets::Wide(offsets), targets: sources }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversing_keeps_repeats_and_orders_referrers() {
        let csr =
            Csr { offsets: Offsets::from_counts(vec![2, 1, 3]), targets: [1, 1, 2, 0, 1, 2].map(NodeId).to_vec() };
        for reversed in [csr.reversed(3), csr.reversed_wide(3)] {
            assert_eq!(reversed.targets_of(0), &[NodeId(2)]);
            assert_eq!(reversed.targets_of(1), &[NodeId(0), NodeId(0), NodeId(2)]);
            assert_eq!(reversed.targets_of(2), &[NodeId(1), NodeId(2)]);
        }
    }
}
