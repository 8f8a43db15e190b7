//! A finished graph as columns and back: what an index holds of it.

use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::byte_counts::ByteCounts;
use super::column::{Column, ColumnSink, ColumnSource};
use super::csr::{Csr, Offsets};
use super::id_map::{IdMap, StoredIds};
use super::{Generation, GenerationRun, HeapGraph, IdStyle, NodeId, RootFlags, RootKind, RootName, RootOrigin};
use super::{Root, Section, SectionIds, TypeId};

/// What of a graph is no column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredGraph {
    nodes: usize,
    references: usize,
    types: usize,
    sections: Vec<Section>,
    ids: Vec<StoredIds>,
    id_style: IdStyle,
    roots_inferred: bool,
    dependent_references: u64,
    generations: Vec<(usize, usize, Generation)>,
}

/// Numbers of one root record: node, kind, its number where it has one, flags, container, name, origin.
const ROOT_NUMBERS: usize = 7;
/// Stands for no container and no name.
const NONE: u32 = u32::MAX;
const NO_LIMIT: u64 = u64::MAX;

impl HeapGraph {
    /// Writes the graph, its reverse references included. Roots that were excluded are written as if they were not.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<StoredGraph> {
        self.node_types.store(sink, "types")?;
        self.shallow.store(sink, "shallow")?;
        self.references.store(sink, "references")?;
        self.reverse_references().store(sink, "referrers")?;
        let ids: Vec<StoredIds> = self
            .ids
            .iter()
            .enumerate()
            .map(|(section, own)| own.ids.store(sink, &format!("ids.{section}")))
            .collect::<io::Result<_>>()?;
        let roots: Vec<u32> = self.roots.iter().flat_map(numbers_of).collect();
        Column::from(roots).store(sink, "roots")?;
        let labels: Vec<u32> = self.labels.iter().flat_map(|(node, class)| [node.0, class.0]).collect();
        Column::from(labels).store(sink, "labels")?;
        store_strings(&self.type_names, sink, "type_names")?;
        store_strings(&self.root_names, sink, "root_names")?;
        store_strings(&self.module_names, sink, "module_names")?;
        Column::from(self.type_modules.clone()).store(sink, "type_modules")?;
        let multipliers: Vec<u32> = self.multipliers.iter().map(|multiplier| multiplier.to_bits()).collect();
        Column::from(multipliers).store(sink, "multipliers")?;
        Ok(StoredGraph {
            nodes: self.node_count(),
            references: self.reference_count(),
            types: self.type_count(),
            sections: self.sections.clone(),
            ids,
            id_style: self.id_style,
            roots_inferred: self.roots_inferred,
            dependent_references: self.dependent_references,
            generations: self.generations.iter().map(|run| (run.nodes.start, run.nodes.end, run.generation)).collect(),
        })
    }

    /// The graph back. Touches of the large columns only what questions need; O(types + roots + sections).
    /// `None` when the columns are not those of a graph.
    pub fn from_stored(stored: &StoredGraph, source: &dyn ColumnSource) -> Option<Self> {
        let (nodes, types) = (stored.nodes, stored.types as u64);
        let node_types = Column::stored(source, "types", types)?;
        let shallow = ByteCounts::from_stored(source, "shallow", nodes)?;
        let type_names = strings(source, "type_names")?;
        let root_names = strings(source, "root_names")?;
        let type_modules: Column<u32> = Column::stored(source, "type_modules", NO_LIMIT)?;
        let multipliers: Column<u32> = Column::stored(source, "multipliers", NO_LIMIT)?;
        let fits = nodes < u32::MAX as usize
            && node_types.len() == nodes
            && type_names.len() == stored.types
            // The last types of a dump may have no module.
            && type_modules.len() <= stored.types
            && [0, stored.types].contains(&multipliers.len())
            && stored.sections.len() == stored.ids.len();
        if !fits {
            return None;
        }
        let mut ids = Vec::with_capacity(stored.ids.len());
        let mut first_node = 0;
        for (section, own) in stored.ids.iter().enumerate() {
            let own = IdMap::from_stored(own, source, &format!("ids.{section}"))?;
            let next = first_node + own.len();
            ids.push(SectionIds { first_node: u32::try_from(first_node).ok()?, ids: own });
            first_node = next;
        }
        if first_node != nodes {
            return None;
        }
        let generations: Vec<GenerationRun> = stored
            .generations
            .iter()
            .map(|&(start, end, generation)| GenerationRun { nodes: start..end, generation })
            .collect();
        if generations.iter().any(|run| run.nodes.start > run.nodes.end || run.nodes.end > nodes) {
            return None;
        }
        Some(HeapGraph {
            node_types,
            shallow,
            references: Csr::from_stored(source, "references", nodes, stored.references)?,
            referrers: OnceLock::from(Csr::from_stored(source, "referrers", nodes, stored.references)?),
            ids,
            sections: stored.sections.clone(),
            roots: roots(source, nodes, type_names.len(), root_names.len())?,
            labels: labels(source, nodes, type_names.len())?,
            type_names,
            id_style: stored.id_style,
            roots_inferred: stored.roots_inferred,
            root_names,
            type_modules: type_modules.all().to_vec(),
            module_names: strings(source, "module_names")?,
            dependent_references: stored.dependent_references,
            generations,
            multipliers: multipliers.all().iter().map(|&bits| f32::from_bits(bits)).collect(),
            shown_types: Default::default(),
        })
    }
}

impl Csr {
    fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        match &self.offsets {
            Offsets::Narrow(offsets) => offsets.store(sink, &format!("{name}.offsets"))?,
            Offsets::Wide(offsets) => offsets.store(sink, &format!("{name}.wide_offsets"))?,
        }
        self.targets.store(sink, name)
    }

    fn from_stored(source: &dyn ColumnSource, name: &str, nodes: usize, references: usize) -> Option<Csr> {
        let limit = references as u64 + 1;
        let offsets = match Column::stored(source, &format!("{name}.offsets"), limit) {
            Some(offsets) => Offsets::Narrow(offsets),
            None => Offsets::Wide(Column::stored(source, &format!("{name}.wide_offsets"), limit)?),
        };
        let count = match &offsets {
            Offsets::Narrow(offsets) => offsets.len(),
            Offsets::Wide(offsets) => offsets.len(),
        };
        let targets: Column<NodeId> = Column::stored(source, name, nodes as u64)?;
        (count == nodes + 1 && targets.len() == references).then_some(Csr { offsets, targets })
    }
}

fn numbers_of(root: &Root) -> [u32; ROOT_NUMBERS] {
    let (kind, number) = match root.kind {
        RootKind::Static => (0, 0),
        RootKind::Local => (1, 0),
        RootKind::Handle => (2, 0),
        RootKind::Finalizer => (3, 0),
        RootKind::Com => (4, 0),
        RootKind::Dependent => (5, 0),
        RootKind::Runtime => (6, 0),
        RootKind::Gc => (7, 0),
        RootKind::Other(number) => (8, number),
        RootKind::Class => (9, 0),
        RootKind::Unreferenced => (10, 0),
        RootKind::Cycle => (11, 0),
        RootKind::Unreachable => (12, 0),
    };
    let container = root.container.map_or(NONE, |container| container.0);
    let name = root.name.map_or(NONE, |name| name.0);
    let origin = match root.origin {
        RootOrigin::Dump => 0,
        RootOrigin::Inferred => 1,
        RootOrigin::Requested => 2,
    };
    [root.node.0, kind, number, root.flags.0, container, name, origin]
}

fn roots(source: &dyn ColumnSource, nodes: usize, types: usize, names: usize) -> Option<Vec<Root>> {
    let numbers: Column<u32> = Column::stored(source, "roots", NO_LIMIT)?;
    let (records, rest) = numbers.all().as_chunks::<ROOT_NUMBERS>();
    if !rest.is_empty() {
        return None;
    }
    let below = |number: u32, limit: usize| (number as usize) < limit;
    records
        .iter()
        .map(|&[node, kind, number, flags, container, name, origin]| {
            let kind = match kind {
                0 => RootKind::Static,
                1 => RootKind::Local,
                2 => RootKind::Handle,
                3 => RootKind::Finalizer,
                4 => RootKind::Com,
                5 => RootKind::Dependent,
                6 => RootKind::Runtime,
                7 => RootKind::Gc,
                8 => RootKind::Other(number),
                9 => RootKind::Class,
                10 => RootKind::Unreferenced,
                11 => RootKind::Cycle,
                12 => RootKind::Unreachable,
                _ => return None,
            };
            let origin = match origin {
                0 => RootOrigin::Dump,
                1 => RootOrigin::Inferred,
                2 => RootOrigin::Requested,
                _ => return None,
            };
            let fits = below(node, nodes)
                && (container == NONE || below(container, types))
                && (name == NONE || below(name, names));
            fits.then_some(Root {
                node: NodeId(node),
                kind,
                flags: RootFlags(flags),
                container: (container != NONE).then_some(TypeId(container)),
                name: (name != NONE).then_some(RootName(name)),
                origin,
                excluded: false,
            })
        })
        .collect()
}

fn labels(source: &dyn ColumnSource, nodes: usize, types: usize) -> Option<Vec<(NodeId, TypeId)>> {
    let numbers: Column<u32> = Column::stored(source, "labels", NO_LIMIT)?;
    let (pairs, rest) = numbers.all().as_chunks::<2>();
    let fits =
        rest.is_empty() && pairs.iter().all(|&[node, class]| (node as usize) < nodes && (class as usize) < types);
    fits.then(|| pairs.iter().map(|&[node, class]| (NodeId(node), TypeId(class))).collect())
}

/// All texts behind one another, and where each ends.
fn store_strings(strings: &[Box<str>], sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
    sink.put(name, strings.concat().as_bytes())?;
    let mut end = 0;
    let ends: Vec<u64> = strings
        .iter()
        .map(|text| {
            end += text.len() as u64;
            end
        })
        .collect();
    Column::from(ends).store(sink, &format!("{name}.ends"))
}

fn strings(source: &dyn ColumnSource, name: &str) -> Option<Vec<Box<str>>> {
    let text: Column<u8> = Column::stored(source, name, NO_LIMIT)?;
    let text = std::str::from_utf8(text.all()).ok()?;
    let ends: Column<u64> = Column::stored(source, &format!("{name}.ends"), text.len() as u64 + 1)?;
    let mut start = 0;
    ends.all()
        .iter()
        .map(|&end| {
            let own = text.get(start..end as usize)?;
            start = end as usize;
            Some(own.into())
        })
        .collect()
}
