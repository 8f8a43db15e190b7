//! Adjacency in two arrays: offsets by node, targets in the order of the dump.

use std::ops::{AddAssign, SubAssign};

use super::NodeId;
use super::column::Column;
use super::prefetch::prefetch;

/// Start of each node's targets; `u32` while it fits, for the memory's sake.
#[derive(Debug)]
pub(super) enum Offsets {
    Narrow(Column<u32>),
    Wide(Column<u64>),
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
            Offsets::Narrow(counts.into())
        } else {
            let mut offsets = Vec::with_capacity(counts.len() + 1);
            let mut sum = 0u64;
            offsets.push(0);
            for count in counts {
                sum += u64::from(count);
                offsets.push(sum);
            }
            Offsets::Wide(offsets.into())
        }
    }

    #[inline]
    pub(super) fn range(&self, index: usize) -> std::ops::Range<usize> {
        let (start, end) = match self {
            Offsets::Narrow(offsets) => (offsets.get(index) as usize, offsets.get(index + 1) as usize),
            Offsets::Wide(offsets) => (offsets.get(index) as usize, offsets.get(index + 1) as usize),
        };
        // Offsets from a file may be anything.
        start.min(end)..end
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Offsets::Narrow(offsets) => offsets.len() * 4,
            Offsets::Wide(offsets) => offsets.len() * 8,
        }
    }
}

impl Default for Offsets {
    /// Of no nodes.
    fn default() -> Self {
        Offsets::Narrow(vec![0].into())
    }
}

/// References of all objects, or their reverse.
#[derive(Debug, Default)]
pub(super) struct Csr {
    pub(super) offsets: Offsets,
    pub(super) targets: Column<NodeId>,
}

impl Csr {
    #[inline(always)]
    pub(super) fn targets_of(&self, index: usize) -> &[NodeId] {
        // The common case on its own: walks over a whole graph come here for every object.
        if let (Offsets::Narrow(offsets), Some(targets)) = (&self.offsets, self.targets.in_memory())
            && let Some(offsets) = offsets.in_memory()
        {
            return &targets[offsets[index] as usize..offsets[index + 1] as usize];
        }
        self.targets_elsewhere(index)
    }

    #[cold]
    #[inline(never)]
    fn targets_elsewhere(&self, index: usize) -> &[NodeId] {
        self.targets.slice(self.offsets.range(index))
    }

    /// Start of the targets, if that is in memory.
    #[inline(always)]
    fn offsets_in_memory(&self) -> Option<&[u32]> {
        match &self.offsets {
            Offsets::Narrow(offsets) => offsets.in_memory(),
            Offsets::Wide(_) => None,
        }
    }

    /// Asks for the place where the targets of a node begin.
    #[inline(always)]
    pub(super) fn prefetch_offset(&self, index: usize) {
        if let Some(offsets) = self.offsets_in_memory() {
            prefetch(offsets, index);
        }
    }

    /// Asks for the first targets of a node; reads where they begin.
    #[inline(always)]
    pub(super) fn prefetch_targets(&self, index: usize) {
        if let (Some(offsets), Some(targets)) = (self.offsets_in_memory(), self.targets.in_memory()) {
            prefetch(targets, offsets[index] as usize);
        }
    }

    /// Every reference turned round, by counting sort: referrers ascending, repeats kept.
    /// O(nodes + references); 4 bytes per node and 4 per reference.
    pub(super) fn reversed(&self, node_count: usize) -> Csr {
        if self.targets.len() as u64 <= u64::from(u32::MAX) {
            let (offsets, targets) = self.reversed_with::<u32>(node_count);
            Csr { offsets: Offsets::Narrow(offsets.into()), targets: targets.into() }
        } else {
            let (offsets, targets) = self.reversed_with::<u64>(node_count);
            Csr { offsets: Offsets::Wide(offsets.into()), targets: targets.into() }
        }
    }

    /// The offsets are their own cursors: filled from the end they finish where each list begins.
    fn reversed_with<T>(&self, node_count: usize) -> (Vec<T>, Vec<NodeId>)
    where
        T: Copy + From<u8> + AddAssign + SubAssign + TryInto<usize, Error: std::fmt::Debug>,
    {
        let mut offsets = vec![T::from(0); node_count + 1];
        for target in self.targets.all() {
            offsets[target.index()] += T::from(1);
        }
        let mut sum = T::from(0);
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut sources = vec![NodeId(0); self.targets.len()];
        for source in (0..node_count).rev() {
            for target in self.targets_of(source) {
                let cursor = &mut offsets[target.index()];
                *cursor -= T::from(1);
                // At most the number of references, which are in memory.
                let place = (*cursor).try_into().expect("an index");
                sources[place] = NodeId(source as u32);
            }
        }
        (offsets, sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversing_keeps_repeats_and_orders_referrers() {
        let csr = Csr {
            offsets: Offsets::from_counts(vec![2, 1, 3]),
            targets: [1, 1, 2, 0, 1, 2].map(NodeId).to_vec().into(),
        };
        let (offsets, targets) = csr.reversed_with::<u64>(3);
        for reversed in [csr.reversed(3), Csr { offsets: Offsets::Wide(offsets.into()), targets: targets.into() }] {
            assert_eq!(reversed.targets_of(0), &[NodeId(2)]);
            assert_eq!(reversed.targets_of(1), &[NodeId(0), NodeId(0), NodeId(2)]);
            assert_eq!(reversed.targets_of(2), &[NodeId(1), NodeId(2)]);
        }
    }
}
