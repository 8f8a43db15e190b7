//! All rows of a snapshot as columns, by ordinal: the number of a node's row.

use crate::parallel;
use std::sync::Arc;

use super::bit_set::BitSet;
use super::block::{Block, DANGLING_TARGET, LARGE_SIZE_MARK, TraceFunction};
use super::edge_labels::EdgeLabels;
use super::layout::{EdgeKind, NodeKind, SnapshotHeader};
use super::problem_codes::*;
use super::scan::{EndOfInput, Scanner, SnapshotArray};
use super::strings::{KeptStrings, StringTable};
use crate::graph::{BuildError, CsrOffsets, ListLengths, MemoryBudget, MemoryShare, ObjectIds, SourcePlace, make_room};
use crate::input::blocks::parse_source_blocks;
use crate::input::{Diagnostics, Position, ReadError, Source};

/// The rows of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) layout: Arc<SnapshotHeader>,
    /// By ordinal: the number of its type.
    pub(super) kinds: Vec<u8>,
    pub(super) names: NodeNames,
    pub(super) ids: ObjectIds,
    /// By ordinal: its size in the file, or `LARGE_SIZE_MARK`.
    pub(super) sizes: Vec<u16>,
    /// (ordinal, bytes), ascending.
    pub(super) large_sizes: Vec<(u32, u64)>,
    /// Start of each node's edges, and behind the last their end.
    pub(super) first_edge: Arc<CsrOffsets>,
    pub(super) edge_labels: EdgeLabels,
    /// Ordinals, or `DANGLING_TARGET`.
    pub(super) targets: Vec<u32>,
    /// (ordinal, 1 attached or 2 detached), ascending.
    pub(super) detachedness: Vec<(u32, u8)>,
    /// Ascending by ordinal, one each.
    pub(super) locations: Vec<(u32, SourcePlace)>,
    pub(super) strings: StringTable,
    /// (time in microseconds, last id that was given until then), in recordings over time.
    pub(super) samples: Vec<(u64, u64)>,
    /// (ordinal, id of the stack that allocated it), ascending; like the two below only with all strings.
    pub(super) stack_ids: Vec<(u32, u32)>,
    /// Functions that stacks have.
    pub(super) functions: Vec<TraceFunction>,
    /// The tree of stacks, as JSON.
    pub(super) stack_tree: Vec<u8>,
    /// The references are all there.
    pub(super) has_all_edges: bool,
    /// Bytes of the input.
    pub(super) end_offset: u64,
    /// Edges that the file has.
    pub(super) edge_row_count: u64,
}

/// Names of nodes among the strings: of all, or of those that are asked for theirs.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeNames {
    string_indices: Vec<u32>,
    /// The nodes that have one, where not all have, and the number of them before each word.
    named_nodes: Option<(BitSet, Vec<u32>)>,
}

impl NodeNames {
    /// The name of a node; past all strings where it was not kept. O(1).
    #[inline]
    pub(super) fn get(&self, node: u32) -> u32 {
        match &self.named_nodes {
            None => self.string_indices[node as usize],
            Some((nodes, ranks)) => nodes.rank(node, ranks).map_or(u32::MAX, |at| self.string_indices[at]),
        }
    }

    /// Forgets those of all other nodes. Once.
    fn keep_only(&mut self, nodes: BitSet) {
        let mut node = 0..;
        self.string_indices.retain(|_| node.next().is_some_and(|node| nodes.has(node)));
        self.string_indices.shrink_to_fit();
        let ranks = nodes.ranks();
        self.named_nodes = Some((nodes, ranks));
    }
}

/// A snapshot that is being read.
#[derive(Default)]
struct SnapshotBuilder {
    snapshot: Snapshot,
    edge_counts: ListLengths,
    /// Numbers that came before the header.
    numbers_before_header: Vec<(SnapshotArray, Vec<i64>)>,
    kept_strings: KeptStrings,
    diagnostics: Diagnostics,
    share: MemoryShare,
}

impl SnapshotBuilder {
    /// Takes what a block has, and leaves it empty.
    fn append_block(&mut self, block: &mut Block) -> Result<(), ReadError> {
        let at = Position::Byte(block.offset);
        self.diagnostics.add(&BAD_NUMBER, std::mem::take(&mut block.bad_numbers), at, String::new);
        self.diagnostics.add(&INCOMPLETE_ROW, std::mem::take(&mut block.incomplete_rows), at, String::new);
        if !block.numbers_before_header.is_empty() {
            match self.numbers_before_header.last_mut().filter(|(region, _)| *region == block.region) {
                Some((_, values)) => values.append(&mut block.numbers_before_header),
                None => {
                    self.numbers_before_header.push((block.region, std::mem::take(&mut block.numbers_before_header)))
                }
            }
        }
        let (rows, nodes, edges) = (&mut self.snapshot, &mut block.nodes, &mut block.edges);
        if rows.kinds.len() + nodes.kinds.len() > u32::MAX as usize - 1 {
            return Err(BuildError::TooManyObjects.into());
        }
        if rows.targets.len() + edges.targets.len() > u32::MAX as usize - 1 {
            return Err(BuildError::TooManyReferences.into());
        }
        let first_node = rows.kinds.len() as u32;
        append_column(&mut rows.kinds, &mut nodes.kinds);
        append_column(&mut rows.names.string_indices, &mut nodes.names);
        append_column(&mut rows.sizes, &mut nodes.sizes);
        self.edge_counts.extend(nodes.edge_counts.drain(..));
        rows.ids.extend(&nodes.ids);
        nodes.ids.clear();
        rows.large_sizes.extend(nodes.large_sizes.drain(..).map(|(node, bytes)| (first_node + node, bytes)));
        rows.detachedness.extend(nodes.detachedness.drain(..).map(|(node, state)| (first_node + node, state)));
        rows.edge_labels.append(&mut edges.labels, self.kept_strings == KeptStrings::All);
        append_column(&mut rows.targets, &mut edges.targets);
        append_column(&mut rows.locations, &mut block.locations);
        append_column(&mut rows.samples, &mut block.samples);
        if self.kept_strings == KeptStrings::All {
            rows.stack_ids.extend(nodes.stack_ids.iter().map(|&(node, stack)| (first_node + node, stack)));
            append_column(&mut rows.functions, &mut block.functions);
        }
        nodes.stack_ids.clear();
        block.functions.clear();
        if !block.string_ends.is_empty() {
            self.append_strings(block);
        }
        Ok(self.share.set_held_bytes(self.memory_bytes())?)
    }

    /// Takes the strings of a block; before the first it is said which are kept.
    fn append_strings(&mut self, block: &mut Block) {
        // Nodes and edges come before the strings, but where another program changed the file.
        let rows = &self.snapshot;
        let are_complete = self.numbers_before_header.is_empty() && !rows.kinds.is_empty() && !rows.targets.is_empty();
        if self.kept_strings == KeptStrings::Names
            && are_complete
            && rows.strings.len() == 0
            && let Some(layout) = &block.layout
        {
            let wanted = self.wanted_names(layout);
            self.snapshot.strings.keep_only(wanted);
        }
        self.snapshot.strings.append(&block.string_text, &block.string_ends);
        block.string_text.clear();
        block.string_ends.clear();
    }

    /// Names that classes and rules rest on: of objects, of categories and of what the root refers to, of properties and
    /// of V8's own fields, among which WeakMaps' entries are.
    fn wanted_names(&self, layout: &SnapshotHeader) -> BitSet {
        // Of as many strings as could be named at all, so that a wrong index takes no memory.
        let rows = &self.snapshot;
        let most = 4 * (rows.kinds.len() + rows.targets.len()) + (1 << 20);
        let mut wanted = BitSet::new(most);
        let mut want = |index: u32| {
            if (index as usize) < most {
                wanted.insert(index);
            }
        };
        for (&kind, &name) in rows.kinds.iter().zip(&rows.names.string_indices) {
            if has_class_name(layout.kind(kind)) {
                want(name);
            }
        }
        rows.edge_labels.property_and_field_names().for_each(&mut want);
        let names = &rows.names.string_indices;
        self.root_targets(layout).filter_map(|&target| names.get(target as usize)).for_each(|&name| want(name));
        wanted
    }

    /// What the root refers to. O(nodes before the root).
    fn root_targets(&self, layout: &SnapshotHeader) -> impl Iterator<Item = &u32> {
        let mut counts = self.edge_counts.iter().map(|count| count as usize);
        let first = counts.by_ref().take(layout.root as usize).sum();
        self.snapshot.targets.iter().skip(first).take(counts.next().unwrap_or(0))
    }

    /// Forgets names that tell no class, of texts most of all, but for those of what the root refers to.
    fn forget_names(&mut self, layout: &SnapshotHeader) {
        let mut named = BitSet::new(self.snapshot.len());
        for (node, &kind) in (0..).zip(&self.snapshot.kinds) {
            if has_class_name(layout.kind(kind)) {
                named.insert(node);
            }
        }
        let is_node = |&&target: &&u32| (target as usize) < self.snapshot.len();
        self.root_targets(layout).filter(is_node).for_each(|&target| _ = named.insert(target));
        self.snapshot.names.keep_only(named);
    }

    fn memory_bytes(&self) -> u64 {
        let rows = &self.snapshot;
        let raw: usize = self.numbers_before_header.iter().map(|(_, values)| 8 * values.len()).sum();
        // Kind, name and size; then, by the rules, where edges begin, a class, and an owner or the number of a list.
        const NODE_BYTES: usize = 7 + 8;
        let nodes = rows.kinds.len() * NODE_BYTES
            + self.edge_counts.memory_bytes()
            + rows.ids.memory_bytes()
            + rows.large_sizes.len() * 16
            + rows.detachedness.len() * 8;
        let traces = (rows.samples.len() + rows.functions.len()) * 16 + rows.stack_ids.len() * 8;
        let edges = rows.targets.len() * 4 + rows.edge_labels.memory_bytes() + rows.locations.len() * 16 + traces;
        (raw + nodes + edges + rows.strings.memory_bytes()) as u64
    }

    /// Parses the numbers that came before the header.
    fn parse_numbers_before_header(&mut self, layout: &SnapshotHeader) -> Result<(), ReadError> {
        for (region, values) in std::mem::take(&mut self.numbers_before_header) {
            let mut block = Block { region, ..Block::default() };
            let mut numbers = values.iter().copied();
            block.parse_rows(region, layout, values.len(), &mut numbers);
            self.append_block(&mut block)?;
        }
        Ok(())
    }
}

/// Do nodes of a kind have the class that their names tell?
fn has_class_name(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Object | NodeKind::Native | NodeKind::Synthetic)
}

fn append_column<T>(column: &mut Vec<T>, more: &mut Vec<T>) {
    make_room(column, more.len());
    column.append(more);
}

impl Snapshot {
    /// Reads a source to its end, with the strings that `keep` says. What was counted stays in `budget` as long as the
    /// second of what it returns lives. Error: if the source cannot be read, has no header, or takes more memory than
    /// it may.
    pub(super) fn read(
        source: Source,
        keep: KeptStrings,
        threads: usize,
        budget: &MemoryBudget,
        diagnostics: &mut Diagnostics,
    ) -> Result<(Snapshot, MemoryShare), ReadError> {
        let (threads, mut tally) = (if source.is_all_in_start { 1 } else { threads }, source.tally());
        let (diagnostics_so_far, share) = (std::mem::take(diagnostics), budget.for_content());
        let mut content = SnapshotBuilder {
            kept_strings: keep,
            diagnostics: diagnostics_so_far,
            share,
            ..SnapshotBuilder::default()
        };
        let scanner = parse_source_blocks(
            Scanner::new(source, keep == KeptStrings::All, budget),
            budget,
            threads,
            |bytes, place, block: &mut Block| block.parse(bytes, &place),
            |block| {
                tally.add_and_report(block.nodes.kinds.len());
                content.append_block(block)
            },
        )?;
        // The scanner does not end without one.
        let Some(layout) = scanner.layout.clone() else {
            return Err(ReadError::new(crate::input::ReadErrorKind::Empty));
        };
        content.parse_numbers_before_header(&layout)?;
        Ok(content.finish(scanner, layout, diagnostics))
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Bytes of the columns that become those of the graph, and are kept beside them where the snapshot is.
    pub(super) fn changed_columns_bytes(&self) -> u64 {
        (self.sizes.len() * 2 + self.large_sizes.len() * 16 + self.ids.memory_bytes() + self.targets.len() * 4) as u64
    }

    /// The kind of a node.
    #[inline]
    pub(super) fn kind(&self, ordinal: u32) -> NodeKind {
        self.layout.kind(self.kinds[ordinal as usize])
    }

    /// Bytes of the node itself in the file. O(1), for giants O(log giants).
    pub(super) fn self_size(&self, ordinal: u32) -> u64 {
        match self.sizes[ordinal as usize] {
            LARGE_SIZE_MARK => {
                let at = self.large_sizes.binary_search_by_key(&ordinal, |&(at, _)| at);
                at.map_or(u64::from(LARGE_SIZE_MARK), |at| self.large_sizes[at].1)
            }
            bytes => u64::from(bytes),
        }
    }

    /// Indices of the edges of a node.
    #[inline]
    pub(super) fn edges(&self, ordinal: u32) -> std::ops::Range<usize> {
        self.first_edge.range(ordinal as usize)
    }

    #[inline]
    pub(super) fn is_kind(&self, edge: usize, kind: EdgeKind) -> bool {
        self.edge_labels.is_kind(edge, kind)
    }

    /// The index of an edge's name, of elements and hidden ones their number, as far as they are kept. O(1), O(log edges) of
    /// rare ones.
    #[inline]
    pub(super) fn edge_number(&self, edge: usize) -> u32 {
        self.edge_labels.number(edge).unwrap_or(u32::MAX)
    }

    /// The target of the first of V8's own edges of a node with this name. O(edges of the node).
    pub(super) fn field_target(&self, node: u32, name: &str) -> Option<u32> {
        self.field_target_among(self.edges(node), name)
    }

    /// The same of a text or a number. O(1): many texts share their parts and lengths, which are asked once for each.
    pub(super) fn field_target_of_value(&self, node: u32, name: &str) -> Option<u32> {
        self.field_target_among(self.edges_of_value(node), name)
    }

    /// The first edges of a text or a number: more than V8 writes.
    pub(super) fn edges_of_value(&self, node: u32) -> std::ops::Range<usize> {
        const MAX_EDGES: usize = 64;
        let edges = self.edges(node);
        edges.start..edges.end.min(edges.start + MAX_EDGES)
    }

    fn field_target_among(&self, mut edges: std::ops::Range<usize>, name: &str) -> Option<u32> {
        let edge = edges
            .find(|&edge| self.is_kind(edge, EdgeKind::Internal) && self.strings.is(self.edge_number(edge), name))?;
        Some(self.targets[edge]).filter(|&target| target != DANGLING_TARGET)
    }

    /// The root, which a damaged file may not have.
    pub(super) fn root(&self) -> Option<u32> {
        Some(self.layout.root).filter(|&root| (root as usize) < self.len())
    }

    /// Returns true for what is no object: the root, and synthetic nodes without bytes.
    #[inline]
    pub(super) fn is_category(&self, ordinal: u32) -> bool {
        ordinal == self.layout.root || (self.kind(ordinal) == NodeKind::Synthetic && self.sizes[ordinal as usize] == 0)
    }
}

impl SnapshotBuilder {
    /// Checks what came against the header, and turns counts of edges into the places where they begin.
    fn finish(
        mut self,
        mut scanner: Scanner,
        layout: Arc<SnapshotHeader>,
        diagnostics: &mut Diagnostics,
    ) -> (Snapshot, MemoryShare) {
        let end = Position::Byte(scanner.input_bytes_so_far());
        let is_whole = |region| scanner.whole_arrays.contains(&region);
        let problems = &mut self.diagnostics;
        let is_cut = scanner.end_of_input != EndOfInput::Complete;
        problems.add(&TRUNCATED, is_cut.into(), end, || match scanner.end_of_input {
            EndOfInput::WithinArray(SnapshotArray::Nodes) => "within its nodes".into(),
            EndOfInput::WithinArray(SnapshotArray::Edges) => "within its edges".into(),
            EndOfInput::WithinArray(SnapshotArray::Strings) => "within its strings".into(),
            EndOfInput::MissingLastBrace => "behind its strings".into(),
            _ => "between its arrays".into(),
        });
        problems.add(&DATA_AFTER_END, scanner.has_data_after_end.into(), end, String::new);
        let has_edges = is_whole(SnapshotArray::Nodes) && is_whole(SnapshotArray::Edges);
        problems.add(&NO_EDGES, (!has_edges).into(), end, String::new);
        problems.add(&NAMES_MISSING, (has_edges && !is_whole(SnapshotArray::Strings)).into(), end, String::new);
        let (nodes, rows) = (self.snapshot.kinds.len(), self.snapshot.targets.len());
        let differs = |stated: Option<u64>, found: usize| stated.is_some_and(|stated| stated != found as u64);
        if has_edges && (differs(layout.node_count, nodes) || differs(layout.edge_count, rows)) {
            let stated = (layout.node_count.unwrap_or(0), layout.edge_count.unwrap_or(0));
            problems.add(&COUNT_MISMATCH, 1, Position::Byte(0), || {
                format!("{} nodes and {} edges stated, {nodes} and {rows} found", stated.0, stated.1)
            });
        }
        let mut sum = 0u64;
        let ends = self.edge_counts.iter().map(|count| {
            sum += u64::from(count);
            sum.min(rows as u64)
        });
        self.snapshot.first_edge = Arc::new(CsrOffsets::from_starts(std::iter::once(0).chain(ends), nodes + 1));
        problems.add(
            &EDGE_COUNT_MISMATCH,
            if has_edges { sum.abs_diff(rows as u64) } else { 0 },
            Position::Byte(0),
            || format!("{sum} edges counted, {rows} found"),
        );
        let snapshot = &mut self.snapshot;
        parallel::for_each_piece(&mut snapshot.targets, &|_, piece| {
            for target in piece {
                *target = if (*target as usize) < nodes { *target } else { DANGLING_TARGET };
            }
        });
        snapshot.strings.finish();
        snapshot.locations.retain(|&(ordinal, _)| (ordinal as usize) < nodes);
        // Stable, so that the last of several stays last.
        snapshot.locations.sort_by_key(|&(ordinal, _)| ordinal);
        snapshot.locations.reverse();
        snapshot.locations.dedup_by_key(|&mut (ordinal, _)| ordinal);
        snapshot.locations.reverse();
        if is_whole(SnapshotArray::Strings) {
            let strings = snapshot.strings.len();
            let past = snapshot.names.string_indices.iter().filter(|&&name| name as usize >= strings).count();
            problems.add(&BAD_STRING_INDEX, past as u64, Position::Byte(0), String::new);
        }
        if self.kept_strings == KeptStrings::Names {
            self.forget_names(&layout);
        }
        self.edge_counts = ListLengths::default();
        let snapshot = &mut self.snapshot;
        snapshot.stack_tree = std::mem::take(&mut scanner.stack_tree);
        (snapshot.layout, snapshot.has_all_edges) = (layout, has_edges);
        (snapshot.end_offset, snapshot.edge_row_count) = (scanner.input_bytes_so_far(), rows as u64);
        *diagnostics = self.diagnostics;
        (self.snapshot, self.share)
    }
}
