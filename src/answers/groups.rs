//! Groups of objects: by type, package, section, module, generation, loader, part of the heap, or how they are held.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::figure::{TYPE, Unit};
use super::loader_row::{loader_key, loader_text};
use super::{AnswerError, Figure, Scope};
use crate::analysis::dominators::DomNode;
use crate::analysis::held::{HeldBy, held_by};
use crate::analysis::histogram::{Estimate, Tally, package_of, tally_types};
use crate::analysis::retained_sets::{NO_SET, Topmost, retained_lower_bound_by_set};
use crate::dump::{AnswerNeed, OpenDump};
use crate::graph::{Generation, HeapGraph, Loader, NodeId, NodeSet, SectionId, TypeId};

/// What objects are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GroupBy {
    /// Their type.
    #[default]
    Type,
    /// The package or namespace of their type.
    Package,
    /// That much of it, from the front: `java.util` are two levels of `java.util.concurrent`.
    PackageLevels(u8),
    /// Their section.
    Section,
    /// The module (assembly) of their type.
    Module,
    /// The generation of the collector that they are in.
    Generation,
    /// What loaded their type.
    Loader,
    /// The part of the heap that they are in.
    Heap,
    /// When they were allocated.
    Interval,
    /// How they are held: strongly, or only by references that the runtime may give up.
    Held,
    /// The program's own type that they belong to: its objects, and those of libraries that it keeps alive.
    Owner,
    /// The package of that.
    OwnerPackage,
}

/// The group of types that have no package.
const NO_PACKAGE: &str = "(none)";

/// So many segments of a package from the front, or all.
fn first_levels(package: &str, levels: u8) -> &str {
    let end = package.match_indices(['.', '/']).nth(usize::from(levels).saturating_sub(1)).map(|(at, _)| at);
    &package[..end.unwrap_or(package.len())]
}

impl GroupBy {
    /// Those that a tree of dominators can be grouped by too, each with the word for it.
    pub const ALL: &[(&str, GroupBy)] = GroupBy::OF_HISTOGRAMS.split_at(16).0;

    /// All that a histogram has rows of.
    pub const OF_HISTOGRAMS: &[(&str, GroupBy)] = &[
        ("type", GroupBy::Type),
        ("package", GroupBy::Package),
        ("package=1", GroupBy::PackageLevels(1)),
        ("package=2", GroupBy::PackageLevels(2)),
        ("package=3", GroupBy::PackageLevels(3)),
        ("package=4", GroupBy::PackageLevels(4)),
        ("package=5", GroupBy::PackageLevels(5)),
        ("package=6", GroupBy::PackageLevels(6)),
        ("package=7", GroupBy::PackageLevels(7)),
        ("domain", GroupBy::Section),
        ("module", GroupBy::Module),
        ("generation", GroupBy::Generation),
        ("loader", GroupBy::Loader),
        ("heap", GroupBy::Heap),
        ("held", GroupBy::Held),
        ("interval", GroupBy::Interval),
        ("owner", GroupBy::Owner),
        ("owner=package", GroupBy::OwnerPackage),
        // Another word for what has one; the first counts.
        ("namespace", GroupBy::Package),
    ];

    /// Returns true where library objects are charged to the program's own.
    pub fn is_owner(self) -> bool {
        matches!(self, GroupBy::Owner | GroupBy::OwnerPackage)
    }

    /// The word for it, in JSON and on the command line.
    pub fn name(self) -> &'static str {
        Self::OF_HISTOGRAMS.iter().find(|(_, by)| *by == self).map_or("", |(name, _)| name)
    }

    pub(super) fn is_package(self) -> bool {
        matches!(self, GroupBy::Package | GroupBy::PackageLevels(_))
    }

    /// The column with the names of the groups.
    pub fn figure(self) -> Figure {
        match self {
            GroupBy::Type => TYPE,
            by => Figure::new("group", by.titles().0, Unit::Text, by.name()),
        }
    }

    /// What one group is called above a column, and several in a sentence.
    pub fn titles(self) -> (&'static str, &'static str) {
        match self {
            GroupBy::Type => ("Type", "types"),
            GroupBy::Package | GroupBy::PackageLevels(_) => ("Package", "packages"),
            GroupBy::Section => ("Section", "sections"),
            GroupBy::Module => ("Module", "modules"),
            GroupBy::Generation => ("Generation", "generations"),
            GroupBy::Loader => ("Loader", "loaders"),
            GroupBy::Heap => ("Heap", "heaps"),
            GroupBy::Held => ("Held", "groups"),
            GroupBy::Interval => ("Interval", "intervals"),
            GroupBy::Owner | GroupBy::OwnerPackage => ("Owner", "owners"),
        }
    }

    /// The group a type of this name is in; the name itself where the type does not decide.
    pub(super) fn of_type_name(self, name: &str) -> &str {
        match self {
            GroupBy::Package => package_of(name).unwrap_or(NO_PACKAGE),
            GroupBy::PackageLevels(levels) => package_of(name).map_or(NO_PACKAGE, |name| first_levels(name, levels)),
            _ => name,
        }
    }

    /// The package of a type. Of nested .NET types the dump names neither the namespace nor the type around them, as of types
    /// outside any namespace: those belong to their module, as `System.Private.CoreLib.dll (no namespace)`.
    fn package(self, graph: &HeapGraph, type_id: TypeId) -> String {
        match (self.of_type_name(graph.type_name(type_id)), graph.types().module(type_id)) {
            (NO_PACKAGE, Some(module)) => format!("{module} (no namespace)"),
            (package, _) => package.to_string(),
        }
    }
}

/// The groups of a scope's objects.
pub(crate) struct Groups<'d> {
    graph: &'d HeapGraph,
    by: GroupBy,
    /// The group's name, by number.
    pub(crate) names: Vec<String>,
    /// The module of each group, where types of one name are apart and modules are known; else empty.
    pub(super) modules: Vec<String>,
    /// By group, where the groups are types: the first of its types.
    types: Vec<TypeId>,
    /// By type: its group, or `NO_SET` for types that are not wanted. Where places decide: 0 for wanted types.
    of_type: Vec<u32>,
    /// Where places decide (sections, generations): runs of objects, ascending, and the group of each.
    places: Vec<(Range<usize>, u32)>,
    /// By object, where that is what they are grouped by.
    held: Vec<HeldBy>,
    nodes: Range<usize>,
    /// Objects that fulfil the scope's expression, where it has one.
    matching: Option<NodeSet>,
}

/// Which types of one name are groups of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypesApart {
    /// None.
    Never,
    /// Those of different loaders.
    ByLoader,
    /// All that the dump tells apart.
    Always,
}

impl TypesApart {
    /// Rows of types, with `--raw-types` or without.
    pub(crate) fn of_rows(always: bool) -> Self {
        if always { TypesApart::Always } else { TypesApart::ByLoader }
    }
}

impl<'d> Groups<'d> {
    /// Groups the objects of a scope. O(types); by how objects are held O(objects + references).
    ///
    /// # Errors
    /// When the dump does not say what to group by.
    pub(crate) fn new(scope: &Scope<'d>, by: GroupBy, apart: TypesApart) -> Result<Self, AnswerError> {
        let graph = scope.graph();
        let apart = if graph.types().have_places() { TypesApart::Always } else { apart };
        if by.is_package() && !graph.has_packages() {
            return Err(AnswerError::NoSuchGroups(by, "which package a type is in"));
        }
        if by == GroupBy::Module && !graph.types().have_modules() {
            return Err(AnswerError::NoSuchGroups(by, "which module a type is from"));
        }
        if by == GroupBy::Generation && graph.generations().is_empty() {
            return Err(AnswerError::NoSuchGroups(by, "where generations are"));
        }
        if by == GroupBy::Loader && graph.types().ids().all(|id| graph.types().loader(id) == Loader::Unknown) {
            return Err(AnswerError::NoSuchGroups(by, "what loaded its types"));
        }
        if by == GroupBy::Heap && graph.heap_parts().names.is_empty() {
            return Err(AnswerError::NoSuchGroups(by, "in which part of the heap objects are"));
        }
        if by == GroupBy::Interval && graph.intervals().names.is_empty() {
            return Err(AnswerError::NoSuchGroups(by, "when objects were allocated"));
        }
        let held = match by {
            GroupBy::Held => held_by(graph)
                .ok_or(AnswerError::NoSuchGroups(by, "which references are soft or weak, or all hold by its rules"))?,
            _ => Vec::new(),
        };
        let mut numbers: HashMap<(String, String), u32> = HashMap::new();
        let mut types = Vec::new();
        let mut names = Vec::new();
        let mut modules = Vec::new();
        let of_type = (0..graph.type_count())
            .map(|index| {
                if scope.types().is_some_and(|wanted| !wanted.contains(TypeId::new(index))) {
                    return NO_SET;
                }
                let type_id = TypeId::new(index);
                // Types that the dump tells apart by their places are groups of their own: there may be very many.
                if by == GroupBy::Type && graph.types().have_places() {
                    names.push(graph.type_name(type_id).to_string());
                    types.push(type_id);
                    if graph.types().have_modules() {
                        modules.push(graph.types().module(type_id).unwrap_or("(none)").to_string());
                    }
                    return names.len() as u32 - 1;
                }
                let key = match by {
                    GroupBy::Section | GroupBy::Generation | GroupBy::Heap | GroupBy::Interval | GroupBy::Held => {
                        return 0;
                    }
                    GroupBy::Module => (graph.types().module(type_id).unwrap_or("(none)").to_string(), String::new()),
                    GroupBy::Loader => (loader_text(graph, graph.types().loader(type_id)), String::new()),
                    // Who owns what is found by what holds it.
                    GroupBy::Type | GroupBy::Owner | GroupBy::OwnerPackage => {
                        let apart = match apart {
                            TypesApart::Never => String::new(),
                            TypesApart::ByLoader => loader_key(graph, graph.types().loader(type_id)),
                            TypesApart::Always => graph.shown_type(type_id).index().to_string(),
                        };
                        (graph.type_name(type_id).to_string(), apart)
                    }
                    GroupBy::Package | GroupBy::PackageLevels(_) => (by.package(graph, type_id), String::new()),
                };
                *numbers.entry(key).or_insert_with_key(|(name, _)| {
                    names.push(name.clone());
                    types.push(type_id);
                    if by == GroupBy::Type && apart == TypesApart::Always && graph.types().have_modules() {
                        modules.push(graph.types().module(type_id).unwrap_or("(none)").to_string());
                    }
                    names.len() as u32 - 1
                })
            })
            .collect();
        let mut places = Vec::new();
        match by {
            GroupBy::Section => {
                names = section_names(graph);
                places = (0..names.len()).map(|at| (graph.section_nodes(SectionId::new(at)), at as u32)).collect();
            }
            GroupBy::Generation => {
                let mut known: Vec<Generation> = graph.generations().iter().map(|run| run.generation).collect();
                known.sort_unstable();
                known.dedup();
                let number = |generation| known.binary_search(&generation).unwrap_or(0) as u32;
                places = graph.generations().iter().map(|run| (run.nodes.clone(), number(run.generation))).collect();
                names = known.iter().map(|generation| generation.name()).collect();
            }
            GroupBy::Heap => {
                names = graph.heap_parts().names.clone();
                places = graph.heap_parts().runs.clone();
            }
            GroupBy::Interval => {
                names = graph.intervals().names.clone();
                places = graph.intervals().runs.clone();
            }
            GroupBy::Held => names = HeldBy::ALL.iter().map(|held| held.name().to_string()).collect(),
            _ => {}
        }
        Ok(Groups {
            graph,
            by,
            names,
            modules,
            types,
            of_type,
            places,
            held,
            nodes: scope.range(),
            matching: scope.matching().cloned(),
        })
    }

    /// The first type of a group, where groups are types.
    pub(super) fn type_of_group(&self, group: u32) -> Option<TypeId> {
        self.types.get(group as usize).copied().filter(|_| self.by == GroupBy::Type)
    }

    fn by_place(&self) -> bool {
        matches!(self.by, GroupBy::Section | GroupBy::Generation | GroupBy::Heap | GroupBy::Interval)
    }

    /// What loaded the types of a group.
    pub(super) fn loader_of(&self, group: u32) -> Loader {
        self.types.get(group as usize).map_or(Loader::Unknown, |&first| self.graph.types().loader(first))
    }

    /// The group of an object, or `NO_SET`. O(1), where places decide O(log places).
    pub(crate) fn of(&self, node: NodeId) -> u32 {
        let is_left_out = self.matching.as_ref().is_some_and(|matching| !matching.contains(node));
        if is_left_out { NO_SET } else { self.of_any(node) }
    }

    /// The same, whether the object fulfils the scope's expression or not.
    fn of_any(&self, node: NodeId) -> u32 {
        if !self.nodes.contains(&node.index()) || !self.graph.counts(node) {
            return NO_SET;
        }
        match self.of_type[self.graph.type_of(node).index()] {
            NO_SET => NO_SET,
            _ if self.by_place() => {
                let at = self.places.partition_point(|(nodes, _)| nodes.end <= node.index());
                self.places.get(at).map_or(NO_SET, |&(_, group)| group)
            }
            _ if self.by == GroupBy::Held => self.held[node.index()] as u32,
            group => group,
        }
    }

    /// One tally per group. O(objects).
    pub(crate) fn tally(&self, reachable: &NodeSet) -> Vec<Tally> {
        self.tally_by(reachable, |node| self.of(node), self.matching.is_some())
    }

    /// The same, of objects that do not fulfil the scope's expression too.
    pub(super) fn tally_all(&self, reachable: &NodeSet) -> Vec<Tally> {
        self.tally_by(reachable, |node| self.of_any(node), false)
    }

    fn tally_by(&self, reachable: &NodeSet, of: impl Fn(NodeId) -> u32, is_one_by_one: bool) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.names.len()];
        if self.by_place() {
            // Node by node: a dump of very many places has few objects in each.
            for (nodes, group) in &self.places {
                for node in nodes.clone().map(NodeId::new).filter(|&node| of(node) != NO_SET) {
                    tallies[*group as usize].add_object(self.graph.shallow_bytes(node), reachable.contains(node));
                }
            }
        } else if self.by == GroupBy::Held || is_one_by_one {
            for node in self.nodes.clone().map(NodeId::new) {
                if let Some(tally) = tallies.get_mut(of(node) as usize) {
                    tally.add_object(self.graph.shallow_bytes(node), reachable.contains(node));
                }
            }
        } else {
            for (tally, &group) in tally_types(self.graph, reachable, self.nodes.clone()).iter().zip(&self.of_type) {
                if group != NO_SET {
                    tallies[group as usize].add(tally);
                }
            }
        }
        tallies
    }

    /// The topmost objects of each group in the dominator tree. O(objects).
    pub(super) fn topmost(&self, dump: &OpenDump) -> Result<Vec<Topmost>, AnswerError> {
        let (dominators, retained) = dump.dominators()?;
        dump.check_answer(AnswerNeed::Descent, 0)?;
        let (children, groups) = (dominators.children(), self.names.len());
        let group_of = |node| self.of(node);
        Ok(retained_lower_bound_by_set(dominators, retained, &children, DomNode::ROOT, groups, group_of))
    }

    /// What the objects of each group stand for in a dump that is a sample, each type by its own multiplier, and what
    /// all of them do together: added up by type, so that the total is the same however they are grouped. O(objects).
    pub(super) fn estimated(&self) -> (Vec<Estimate>, Estimate) {
        let mut of_groups = vec![Estimate::default(); self.names.len()];
        let mut of_types = vec![(0u64, 0u64); self.graph.type_count()];
        for (node, type_id, bytes) in self.graph.objects(self.nodes.clone()) {
            let group = self.of(node);
            if group != NO_SET {
                of_groups[group as usize].add(1, bytes, self.graph.types().multiplier(type_id));
            }
            if self.of_any(node) != NO_SET {
                let sum = &mut of_types[type_id.index()];
                *sum = (sum.0 + 1, sum.1.saturating_add(bytes));
            }
        }
        let mut total = Estimate::default();
        for (index, (objects, bytes)) in of_types.into_iter().enumerate() {
            total.add(objects, bytes, self.graph.types().multiplier(TypeId::new(index)));
        }
        (of_groups, total)
    }
}

/// Sections' names, with their numbers where several have the same.
fn section_names(graph: &HeapGraph) -> Vec<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    graph.sections().iter().for_each(|section| *uses.entry(&section.name).or_default() += 1);
    let named = graph.sections().iter().enumerate().map(|(at, section)| match uses[section.name.as_str()] {
        1 => section.name.clone(),
        _ => format!("{}#{}", SectionId::new(at).number(), section.name),
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_packages() {
        let of = |by: GroupBy, name: &'static str| by.of_type_name(name);
        for (name, levels, expected) in [
            ("java.util.concurrent.Entry[]", 1, "java"),
            ("java.util.concurrent.Entry[]", 2, "java.util"),
            ("java.util.concurrent.Entry[]", 3, "java.util.concurrent"),
            ("java.util.concurrent.Entry[]", 4, "java.util.concurrent"),
            ("[Ljava/util/Hashtable$Entry;", 1, "java"),
            ("System.Collections.Generic.List<A.B.C>", 2, "System.Collections"),
            ("int[]", 1, "(none)"),
        ] {
            assert_eq!(of(GroupBy::PackageLevels(levels), name), expected, "{name} {levels}");
        }
        let ends = GroupBy::ALL.last().map(|(word, _)| *word);
        assert_eq!(ends, Some("interval"), "trees are grouped by all of these");
    }
}
