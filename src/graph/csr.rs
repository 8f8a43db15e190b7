//! Adjacency in two arrays: offsets by node, targets in the order of the dump.

use std::io;
use std::ops::{AddAssign, Range, SubAssign};

use super::NodeId;
use super::column::{Column, ColumnSink, ColumnSource};
use super::prefetch::prefetch;

/// Nodes whose starts are counted from one place.
const NODES_PER_GROUP: usize = 64;
/// Marks a group whose starts are far apart; the other bits say where they stand.
const FAR_GROUP_MARK: u64 = 1 << 63;

/// Start of each node's targets, and behind the last their end: 2 bytes each, and 8 for every 64.
#[derive(Debug)]
pub(crate) struct CsrOffsets {
    /// The first start of each group.
    group_starts: Column<u64>,
    /// Each start from there.
    starts_in_group: Column<u16>,
    /// All starts of groups that have more than 2 bytes can tell.
    far_starts: Column<u64>,
}

impl CsrOffsets {
    /// The starts of lists of these lengths.
    pub(super) fn from_counts(counts: impl ExactSizeIterator<Item = u32>) -> Self {
        let (mut end, starts) = (0, counts.len() + 1);
        let ends = counts.map(|count| {
            end += u64::from(count);
            end
        });
        Self::from_starts(std::iter::once(0).chain(ends), starts)
    }

    /// So many starts, ascending.
    pub(crate) fn from_starts(mut all: impl Iterator<Item = u64>, count: usize) -> Self {
        let (mut groups, mut starts, mut far) =
            (Vec::with_capacity(count.div_ceil(NODES_PER_GROUP)), Vec::with_capacity(count), Vec::new());
        let mut group = Vec::with_capacity(NODES_PER_GROUP);
        loop {
            group.clear();
            group.extend(all.by_ref().take(NODES_PER_GROUP));
            let (Some(&first), Some(&last)) = (group.first(), group.last()) else { break };
            if last - first <= u64::from(u16::MAX) {
                groups.push(first);
                starts.extend(group.iter().map(|start| (start - first) as u16));
            } else {
                groups.push(FAR_GROUP_MARK | far.len() as u64);
                starts.resize(starts.len() + group.len(), 0);
                far.append(&mut group);
            }
        }
        CsrOffsets { group_starts: groups.into(), starts_in_group: starts.into(), far_starts: far.into() }
    }

    /// The places of a node's targets; whatever a file says, in order.
    #[inline]
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        let (start, end) = (self.start(index), self.start(index + 1));
        start.min(end)..end
    }

    #[inline]
    pub(crate) fn start(&self, index: usize) -> usize {
        match self.group_starts.get(index / NODES_PER_GROUP) {
            group if group & FAR_GROUP_MARK == 0 => group as usize + usize::from(self.starts_in_group.get(index)),
            group => self.far_start(group, index),
        }
    }

    #[cold]
    fn far_start(&self, group: u64, index: usize) -> usize {
        let at = (group & !FAR_GROUP_MARK) as usize + index % NODES_PER_GROUP;
        if at < self.far_starts.len() { self.far_starts.get(at) as usize } else { 0 }
    }

    /// The groups and the starts, if they are in memory.
    #[inline(always)]
    fn starts_in_memory(&self) -> Option<(&[u64], &[u16])> {
        Some((self.group_starts.values_in_memory()?, self.starts_in_group.values_in_memory()?))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        8 * self.group_starts.len() + 2 * self.starts_in_group.len() + 8 * self.far_starts.len()
    }

    fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        self.group_starts.store(sink, &format!("{name}.groups"))?;
        self.starts_in_group.store(sink, &format!("{name}.starts"))?;
        self.far_starts.store(sink, &format!("{name}.far"))
    }

    fn from_stored(source: &dyn ColumnSource, name: &str, nodes: usize) -> Option<Self> {
        let groups = Column::from_stored(source, &format!("{name}.groups"), u64::MAX)?;
        let starts = Column::from_stored(source, &format!("{name}.starts"), u64::MAX)?;
        let far = Column::from_stored(source, &format!("{name}.far"), u64::MAX)?;
        let fits = starts.len() == nodes + 1 && groups.len() == starts.len().div_ceil(NODES_PER_GROUP);
        fits.then_some(CsrOffsets { group_starts: groups, starts_in_group: starts, far_starts: far })
    }
}

impl Default for CsrOffsets {
    fn default() -> Self {
        CsrOffsets::from_counts([].into_iter())
    }
}

/// References of all objects, or their reverse.
#[derive(Debug, Default)]
pub(super) struct Csr {
    pub(super) offsets: CsrOffsets,
    pub(super) targets: Column<NodeId>,
}

impl Csr {
    #[inline(always)]
    pub(super) fn targets_of(&self, index: usize) -> &[NodeId] {
        self.indexed_targets_of(index).1
    }

    /// The targets of a node, and where they begin among all.
    #[inline(always)]
    pub(super) fn indexed_targets_of(&self, index: usize) -> (usize, &[NodeId]) {
        // The common case on its own: walks over a whole graph come here for every object.
        if let (Some((groups, starts)), Some(targets)) =
            (self.offsets.starts_in_memory(), self.targets.values_in_memory())
        {
            let (own, next) = (groups[index / NODES_PER_GROUP], groups[(index + 1) / NODES_PER_GROUP]);
            if (own | next) & FAR_GROUP_MARK == 0 {
                let start = own as usize + usize::from(starts[index]);
                return (start, &targets[start..next as usize + usize::from(starts[index + 1])]);
            }
        }
        self.mapped_or_far_targets(index)
    }

    #[cold]
    #[inline(never)]
    fn mapped_or_far_targets(&self, index: usize) -> (usize, &[NodeId]) {
        let Range { start, end } = self.offsets.range(index);
        let end = end.min(self.targets.len());
        (start, self.targets.slice(start.min(end)..end))
    }

    /// Asks for the place where the targets of a node begin.
    #[inline(always)]
    pub(super) fn prefetch_offset(&self, index: usize) {
        if let Some((groups, starts)) = self.offsets.starts_in_memory() {
            prefetch(groups, index / NODES_PER_GROUP);
            prefetch(starts, index);
        }
    }

    /// Asks for the first targets of a node; reads where they begin.
    #[inline(always)]
    pub(super) fn prefetch_targets(&self, index: usize) {
        if let (Some((groups, starts)), Some(targets)) =
            (self.offsets.starts_in_memory(), self.targets.values_in_memory())
        {
            // Past the end, and nothing happens, where the group is one of starts far apart.
            prefetch(targets, (groups[index / NODES_PER_GROUP] as usize).wrapping_add(starts[index].into()));
        }
    }

    pub(super) fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        self.offsets.store(sink, name)?;
        self.targets.store(sink, name)
    }

    pub(super) fn from_stored(source: &dyn ColumnSource, name: &str, nodes: usize, references: usize) -> Option<Csr> {
        let offsets = CsrOffsets::from_stored(source, name, nodes)?;
        let targets: Column<NodeId> = Column::from_stored(source, name, nodes as u64)?;
        (targets.len() == references).then_some(Csr { offsets, targets })
    }

    /// Every reference turned round, by counting sort: referrers ascending, repeats kept.
    /// O(nodes + references); 4 bytes per node and 4 per reference.
    pub(super) fn reversed(&self, node_count: usize) -> Csr {
        if self.targets.len() as u64 <= u64::from(u32::MAX) {
            self.reversed_with::<u32>(node_count)
        } else {
            self.reversed_with::<u64>(node_count)
        }
    }

    /// The starts are their own cursors: filled from the end they finish where each list begins.
    fn reversed_with<T>(&self, node_count: usize) -> Csr
    where
        T: Copy + From<u8> + Into<u64> + AddAssign + SubAssign + TryInto<usize, Error: std::fmt::Debug>,
    {
        let mut offsets = vec![T::from(0); node_count + 1];
        for target in self.targets.all_values() {
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
        let offsets = CsrOffsets::from_starts(offsets.into_iter().map(Into::into), node_count + 1);
        Csr { offsets, targets: sources.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversing_keeps_repeats_and_orders_referrers() {
        let csr = Csr {
            offsets: CsrOffsets::from_counts([2, 1, 3].into_iter()),
            targets: [1, 1, 2, 0, 1, 2].map(NodeId).to_vec().into(),
        };
        for reversed in [csr.reversed(3), csr.reversed_with::<u64>(3)] {
            assert_eq!(reversed.targets_of(0), &[NodeId(2)]);
            assert_eq!(reversed.targets_of(1), &[NodeId(0), NodeId(0), NodeId(2)]);
            assert_eq!(reversed.targets_of(2), &[NodeId(1), NodeId(2)]);
        }
    }

    #[test]
    fn lists_of_any_length_are_where_they_were() {
        for long in [0, 1, 65_535, 65_536, 200_000] {
            for at in [0, 1, 62, 63, 64, 130, 199] {
                let counts: Vec<u32> =
                    (0..200).map(|index| if index == at { long } else { index as u32 % 3 }).collect();
                let total: u32 = counts.iter().sum();
                let targets: Vec<NodeId> = (0..total).map(NodeId).collect();
                let csr = Csr { offsets: CsrOffsets::from_counts(counts.iter().copied()), targets: targets.into() };
                let mut first = 0;
                for (index, &count) in counts.iter().enumerate() {
                    let expected: Vec<NodeId> = (first..first + count).map(NodeId).collect();
                    assert_eq!(csr.targets_of(index), expected, "{long} at {at}, list {index}");
                    first += count;
                }
            }
        }
    }
}
