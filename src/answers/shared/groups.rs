//! Groups of objects: by type, package, section, module, generation, loader, part of the heap, or how they are held.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::histogram_row::{LoaderRow, loader_key, loader_row, loader_text};
use super::values::unreadable_values;
use super::{AnswerError, GroupBy, Scope};
use crate::analysis::dominators::DominatorNode;
use crate::analysis::histogram::{GroupTally, SampleEstimate, tally_types};
use crate::analysis::reachability_strength::{ReachabilityStrength, reachability_strengths};
use crate::analysis::retained_sets::{NO_SET, TopmostTotals, retained_lower_bound_by_set};
use crate::dump::{AnswerNeed, OpenDump};
use crate::graph::{Generation, HeapGraph, Loader, NodeId, NodeSet, SectionId, TypeId};
use crate::input::{AllocationGrouping, ShownValue};

/// Groups of the objects of a scope: their names, and which object is in which.
pub(crate) struct Groups<'d> {
    graph: &'d HeapGraph,
    by: GroupBy,
    /// The group's name, by number.
    pub(crate) names: Vec<String>,
    /// The module of each group, where types of one name are apart and modules are known; else empty.
    pub(in crate::answers) modules: Vec<String>,
    /// By group, where the groups are types: the first of its types.
    first_type_by_group: Vec<TypeId>,
    /// By type: its group, or `NO_SET` for types that are not wanted. Where places decide: 0 for wanted types.
    group_of_type: Vec<u32>,
    /// For groups by place (section, generation): runs of objects, ascending, and the group of each.
    groups_by_node_range: Vec<(Range<usize>, u32)>,
    /// By object, where that is what they are grouped by.
    group_of_node: Vec<u32>,
    node_range: Range<usize>,
    /// Objects that fulfil the scope's expression, where it has one.
    matching: Option<NodeSet>,
}

/// Types of one name that are groups of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SameNameTypes {
    /// None: they are one group.
    Merged,
    /// Those of different loaders.
    ByLoader,
    /// All that the dump tells apart.
    Separate,
}

impl SameNameTypes {
    /// Rows of types, with `--raw-types` or without.
    pub(crate) fn of_rows(always: bool) -> Self {
        if always { SameNameTypes::Separate } else { SameNameTypes::ByLoader }
    }
}

impl<'d> Groups<'d> {
    /// Groups the objects of a scope, with names of groups and the group of each object where the values of a field decide.
    /// O(types); by how objects are held O(objects + references). Error: if the dump does not say what to group by.
    pub(crate) fn new(
        scope: &Scope<'d>,
        by: GroupBy,
        apart: SameNameTypes,
        by_field: Option<(Vec<String>, Vec<u32>)>,
    ) -> Result<Self, AnswerError> {
        let graph = scope.graph();
        let apart = if graph.types().have_constructor_places() { SameNameTypes::Separate } else { apart };
        let types = graph.types();
        let by_allocation = match by {
            GroupBy::File => Some(AllocationGrouping::File),
            GroupBy::Generation if graph.generations().is_empty() => Some(AllocationGrouping::CollectionCount),
            _ => None,
        };
        let allocated = match scope.details().zip(by_allocation) {
            Some((details, by)) => details.allocation_groups(graph, by).map_err(unreadable_values)?,
            None => by_field,
        };
        let missing = match by {
            _ if by.is_by_package() && !graph.types_may_have_packages() => Some("which package a type is in"),
            GroupBy::Module if !types.have_modules() => Some("which module a type is from"),
            GroupBy::Generation if graph.generations().is_empty() && allocated.is_none() => {
                Some("where generations are")
            }
            GroupBy::Dominator if allocated.is_none() => Some("what dominates what while it is compared"),
            GroupBy::Field if allocated.is_none() => Some("which field is meant"),
            GroupBy::File if allocated.is_none() => Some("where objects were allocated"),
            GroupBy::Superclass if !types.have_superclasses() => Some("which class extends which"),
            GroupBy::Loader if types.ids().all(|id| types.loader(id) == Loader::Unknown) => {
                Some("what loaded its types")
            }
            GroupBy::HeapPart if graph.heap_parts().names.is_empty() => Some("in which part of the heap objects are"),
            GroupBy::Function | GroupBy::Line => Some("stacks of allocations that are counted"),
            GroupBy::AllocationInterval if graph.allocation_intervals.names.is_empty() => {
                Some("when objects were allocated")
            }
            _ => None,
        };
        if let Some(missing) = missing {
            return Err(AnswerError::NoSuchGroups(by, missing));
        }
        let (of_nodes, group_of_node) = match by {
            GroupBy::ReferenceStrength => {
                let held = reachability_strengths(graph).ok_or(AnswerError::NoSuchGroups(
                    by,
                    "which references are soft or weak, or all hold by its rules",
                ))?;
                let names = ReachabilityStrength::ALL.iter().map(|held| held.name().to_string()).collect();
                (names, held.into_iter().map(|held| held as u32).collect())
            }
            _ => allocated.unwrap_or_default(),
        };
        let mut numbers: HashMap<(String, String), u32> = HashMap::new();
        let mut types = Vec::new();
        let mut names = Vec::new();
        let mut modules = Vec::new();
        let topmost_superclasses = if by == GroupBy::Superclass { topmost_superclasses(graph) } else { Vec::new() };
        let has_modules_apart = by == GroupBy::Type && apart == SameNameTypes::Separate && graph.types().have_modules();
        let group_of_type = (0..graph.type_count())
            .map(|index| {
                if scope.types().is_some_and(|wanted| !wanted.contains(TypeId::new(index))) {
                    return NO_SET;
                }
                let type_id = TypeId::new(index);
                // Types that the dump tells apart by their places are groups of their own: there may be very many.
                if by == GroupBy::Type && graph.types().have_constructor_places() {
                    names.push(graph.type_name(type_id).to_string());
                    types.push(type_id);
                    if graph.types().have_modules() {
                        modules.push(graph.types().module(type_id).unwrap_or("(none)").to_string());
                    }
                    return names.len() as u32 - 1;
                }
                let key = match by {
                    GroupBy::Section
                    | GroupBy::Generation
                    | GroupBy::HeapPart
                    | GroupBy::AllocationInterval
                    | GroupBy::ReferenceStrength
                    | GroupBy::File
                    | GroupBy::Field
                    | GroupBy::Dominator
                    | GroupBy::Function
                    | GroupBy::Line => {
                        return 0;
                    }
                    GroupBy::Module => (graph.types().module(type_id).unwrap_or("(none)").to_string(), String::new()),
                    GroupBy::Loader => (loader_text(graph, graph.types().loader(type_id)), String::new()),
                    GroupBy::Superclass => (graph.type_name(topmost_superclasses[index]).to_string(), String::new()),
                    // Who owns what is found by what holds it.
                    GroupBy::Type | GroupBy::Owner | GroupBy::OwnerPackage => {
                        let apart = match apart {
                            SameNameTypes::Merged => String::new(),
                            SameNameTypes::ByLoader => loader_key(graph, graph.types().loader(type_id)),
                            SameNameTypes::Separate => graph.shown_type(type_id).index().to_string(),
                        };
                        (graph.type_name(type_id).to_string(), apart)
                    }
                    GroupBy::Package | GroupBy::PackageLevels(_) => {
                        (by.package_or_module_name(graph, type_id), String::new())
                    }
                };
                *numbers.entry(key).or_insert_with_key(|(name, _)| {
                    names.push(name.clone());
                    types.push(type_id);
                    if has_modules_apart {
                        modules.push(graph.types().module(type_id).unwrap_or("(none)").to_string());
                    }
                    names.len() as u32 - 1
                })
            })
            .collect();
        let mut places = Vec::new();
        match by {
            GroupBy::Section => {
                names = unique_section_names(graph);
                places = (0..names.len()).map(|at| (graph.section_nodes(SectionId::new(at)), at as u32)).collect();
            }
            _ if !group_of_node.is_empty() => names = of_nodes,
            GroupBy::Generation => {
                let mut known: Vec<Generation> = graph.generations().iter().map(|run| run.generation).collect();
                known.sort_unstable();
                known.dedup();
                let number = |generation| known.binary_search(&generation).unwrap_or(0) as u32;
                places = graph.generations().iter().map(|run| (run.nodes.clone(), number(run.generation))).collect();
                names = known.iter().map(|generation| generation.name()).collect();
            }
            GroupBy::HeapPart => {
                names = graph.heap_parts().names.clone();
                places = graph.heap_parts().runs.clone();
            }
            GroupBy::AllocationInterval => {
                names = graph.allocation_intervals.names.clone();
                places = graph.allocation_intervals.runs.clone();
            }
            _ => {}
        }
        Ok(Groups {
            graph,
            by,
            names,
            modules,
            first_type_by_group: types,
            group_of_type,
            groups_by_node_range: places,
            group_of_node,
            node_range: scope.node_range(),
            matching: scope.matching().cloned(),
        })
    }

    pub(in crate::answers) fn type_of_group(&self, group: u32) -> Option<TypeId> {
        self.first_type_by_group.get(group as usize).copied().filter(|_| self.by == GroupBy::Type)
    }

    /// Returns true where groups are runs of objects that lie side by side, as sections are.
    fn is_by_node_range(&self) -> bool {
        let is_of_places =
            matches!(self.by, GroupBy::Section | GroupBy::Generation | GroupBy::HeapPart | GroupBy::AllocationInterval);
        is_of_places && self.group_of_node.is_empty()
    }

    pub(in crate::answers) fn loader_of(&self, group: u32) -> Loader {
        self.first_type_by_group.get(group as usize).map_or(Loader::Unknown, |&first| self.graph.types().loader(first))
    }

    /// The group of an object, or `NO_SET`. O(1), where places decide O(log places).
    pub(crate) fn group_of(&self, node: NodeId) -> u32 {
        let is_left_out = self.matching.as_ref().is_some_and(|matching| !matching.contains(node));
        if is_left_out { NO_SET } else { self.group_ignoring_filter(node) }
    }

    /// The same, whether the object fulfils the scope's expression or not.
    fn group_ignoring_filter(&self, node: NodeId) -> u32 {
        if !self.node_range.contains(&node.index()) || !self.graph.is_counted_in_histograms(node) {
            return NO_SET;
        }
        match self.group_of_type[self.graph.type_of(node).index()] {
            NO_SET => NO_SET,
            _ if !self.group_of_node.is_empty() => self.group_of_node[node.index()],
            _ if self.is_by_node_range() => {
                let at = self.groups_by_node_range.partition_point(|(nodes, _)| nodes.end <= node.index());
                self.groups_by_node_range.get(at).map_or(NO_SET, |&(_, group)| group)
            }
            group => group,
        }
    }

    /// Returns true for an object of the scope, whether it fulfils its expression or not.
    pub(in crate::answers) fn is_in_scope(&self, node: NodeId) -> bool {
        self.group_ignoring_filter(node) != NO_SET
    }

    /// One tally per group. O(objects).
    pub(crate) fn tally(&self, reachable: &NodeSet) -> Vec<GroupTally> {
        self.tally_by(reachable, |node| self.group_of(node), self.matching.is_some())
    }

    /// The same, of objects that do not fulfil the scope's expression too.
    pub(in crate::answers) fn tally_ignoring_filter(&self, reachable: &NodeSet) -> Vec<GroupTally> {
        self.tally_by(reachable, |node| self.group_ignoring_filter(node), false)
    }

    fn tally_by(&self, reachable: &NodeSet, of: impl Fn(NodeId) -> u32, is_one_by_one: bool) -> Vec<GroupTally> {
        let mut tallies = vec![GroupTally::default(); self.names.len()];
        if self.is_by_node_range() {
            // Node by node: a dump of very many places has few objects in each.
            for (nodes, group) in &self.groups_by_node_range {
                for node in nodes.clone().map(NodeId::new).filter(|&node| of(node) != NO_SET) {
                    tallies[*group as usize].add_object(self.graph.shallow_bytes(node), reachable.contains(node));
                }
            }
        } else if !self.group_of_node.is_empty() || is_one_by_one {
            for node in self.node_range.clone().map(NodeId::new) {
                if let Some(tally) = tallies.get_mut(of(node) as usize) {
                    tally.add_object(self.graph.shallow_bytes(node), reachable.contains(node));
                }
            }
        } else {
            for (tally, &group) in
                tally_types(self.graph, reachable, self.node_range.clone()).iter().zip(&self.group_of_type)
            {
                if group != NO_SET {
                    tallies[group as usize].add(tally);
                }
            }
        }
        tallies
    }

    /// The topmost objects of each group in the dominator tree. O(objects).
    pub(in crate::answers) fn topmost_totals(&self, dump: &OpenDump) -> Result<Vec<TopmostTotals>, AnswerError> {
        let (dominators, retained) = dump.dominators()?;
        dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
        let (children, groups) = (dominators.children(), self.names.len());
        let group_of = |node| self.group_of(node);
        Ok(retained_lower_bound_by_set(dominators, retained, &children, DominatorNode::ROOT, groups, group_of))
    }

    /// Estimates of the heap by group and in total, in a dump that is a sample: each type has its own multiplier. The total is
    /// added up by type, so that it is the same however objects are grouped. O(objects).
    pub(in crate::answers) fn estimates_and_total(&self) -> (Vec<SampleEstimate>, SampleEstimate) {
        let mut of_groups = vec![SampleEstimate::default(); self.names.len()];
        let mut of_types = vec![(0u64, 0u64); self.graph.type_count()];
        for (node, type_id, bytes) in self.graph.objects(self.node_range.clone()) {
            let group = self.group_of(node);
            if group != NO_SET {
                of_groups[group as usize].add(1, bytes, self.graph.types().multiplier(type_id));
            }
            if self.group_ignoring_filter(node) != NO_SET {
                let sum = &mut of_types[type_id.index()];
                *sum = (sum.0 + 1, sum.1.saturating_add(bytes));
            }
        }
        let mut total = SampleEstimate::default();
        for (index, (objects, bytes)) in of_types.into_iter().enumerate() {
            total.add(objects, bytes, self.graph.types().multiplier(TypeId::new(index)));
        }
        (of_groups, total)
    }
}

/// Objects that several others or a root keep alive.
const NO_DOMINATOR_NAME: &str = "(none)";
/// Objects that no root reaches.
const UNREACHABLE_NAME: &str = "(unreachable)";

/// Groups by the type of what immediately dominates an object: names, and by object its group. O(objects) beside the dominator
/// tree.
pub(in crate::answers) fn groups_by_dominator(
    dump: &OpenDump,
    graph: &HeapGraph,
) -> Result<(Vec<String>, Vec<u32>), AnswerError> {
    let (dominators, _) = dump.dominators()?;
    dump.check_rows_memory(graph.node_count() as u64, 4)?;
    let mut names: Vec<String> = graph.types().ids().map(|type_id| graph.type_name(type_id).to_string()).collect();
    let none = names.len() as u32;
    names.extend([NO_DOMINATOR_NAME, UNREACHABLE_NAME].map(String::from));
    let group = |node: NodeId| match dominators.number_of(node) {
        None => none + 1,
        Some(number) => match dominators.immediate_dominator_of(number) {
            DominatorNode::ROOT => none,
            above => graph.type_of(dominators.node_at(above)).index() as u32,
        },
    };
    Ok((names, graph.nodes().map(group).collect()))
}

/// Classes that all others extend: of Java, Python, Ruby.
const ROOT_CLASSES: [&str; 4] = ["java.lang.Object", "object", "Object", "BasicObject"];

/// By type: the class above it, or itself, that extends nothing but the class that all extend. O(types).
fn topmost_superclasses(graph: &HeapGraph) -> Vec<TypeId> {
    let types = graph.types();
    let is_below_root =
        |class| types.superclass(class).is_some_and(|above| ROOT_CLASSES.contains(&graph.type_name(above)));
    types.map_by_superclass(|class, above| above.copied().filter(|_| !is_below_root(class)).unwrap_or(class))
}

/// Sections' names, with their numbers where several have the same.
fn unique_section_names(graph: &HeapGraph) -> Vec<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    graph.sections().iter().for_each(|section| *uses.entry(&section.name).or_default() += 1);
    let named = graph.sections().iter().enumerate().map(|(at, section)| match uses[section.name.as_str()] {
        1 => section.name.clone(),
        _ => format!("{}#{}", SectionId::new(at).number(), section.name),
    });
    named.collect()
}

/// Loaders of the types of some groups, where several of these have one name and the dump knows. Loaders' own names
/// are read from the dump, where it has values.
pub(in crate::answers) fn loaders_of_repeated_names(
    dump: &OpenDump,
    graph: &HeapGraph,
    groups: &Groups<'_>,
    of: &[u32],
) -> Vec<Option<LoaderRow>> {
    let types = graph.types();
    // Groups of values, of places and the like have no loaders either.
    let has_loaders = || types.ids().any(|type_id| types.loader(type_id) != Loader::Unknown);
    if groups.first_type_by_group.is_empty() || !has_loaders() {
        return vec![None; of.len()];
    }
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |group: u32| groups.names[group as usize].as_str();
    of.iter().for_each(|&group| *uses.entry(name(group)).or_default() += 1);
    let loader = |group: u32| if uses[name(group)] > 1 { groups.loader_of(group) } else { Loader::Unknown };
    let mut nodes: Vec<NodeId> = of
        .iter()
        .filter_map(|&group| match loader(group) {
            Loader::Object(node) => Some(node),
            _ => None,
        })
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    let said = dump.values().ok().and_then(|values| values.shown_values(graph, &nodes, MAX_LOADER_NAME_UNITS).ok());
    let own_name = |node: NodeId| match said.as_ref()?.get(nodes.binary_search(&node).ok()?)? {
        Some(ShownValue::Name(name)) => Some(name.text.clone()),
        _ => None,
    };
    let row = |loader: Loader| {
        let row = loader_row(graph, loader)?;
        let own_name = match loader {
            Loader::Object(node) => own_name(node),
            _ => None,
        };
        Some(LoaderRow { name: own_name.or(row.name), ..row })
    };
    of.iter().map(|&group| row(loader(group))).collect()
}

/// UTF-16 units of a loader's name.
const MAX_LOADER_NAME_UNITS: usize = 200;
