//! Groups of objects as users ask for them: by type, by package, by section.

use std::collections::BTreeMap;
use std::ops::Range;

use clap::ValueEnum;

use crate::analysis::histogram::{Tally, package_of, tally_section, tally_types};
use crate::analysis::retained_sets::NO_SET;
use crate::graph::{HeapGraph, NodeId, NodeSet, SectionId, TypeId};

/// What to group by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    Type,
    Package,
    Domain,
}

impl By {
    /// As typed, and as JSON has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            By::Type => "type",
            By::Package => "package",
            By::Domain => "domain",
        }
    }

    /// The key of the column with the group's name.
    pub(super) fn key(self) -> &'static str {
        if self == By::Type { "type" } else { "group" }
    }

    /// The column's title.
    pub(super) fn title(self) -> &'static str {
        match self {
            By::Type => "Type",
            By::Package => "Package",
            By::Domain => "Section",
        }
    }

    /// The key of the rows in JSON.
    pub(super) fn rows_key(self) -> &'static str {
        if self == By::Type { "types" } else { "groups" }
    }

    /// Several of them, in words.
    pub(super) fn plural(self) -> &'static str {
        match self {
            By::Type => "types",
            By::Package => "packages",
            By::Domain => "sections",
        }
    }

    /// The group a type of this name is in; by section that is not the type's to say.
    pub(super) fn of_type_name(self, name: &str) -> &str {
        match self {
            By::Package => package_of(name).unwrap_or("(none)"),
            _ => name,
        }
    }
}

/// The groups of a graph.
pub(super) struct Groups<'a> {
    graph: &'a HeapGraph,
    by: By,
    /// The group's name, by number.
    pub(super) names: Vec<String>,
    /// By type: its group, or `NO_SET` for types that are not wanted. By section: 0 for wanted types.
    of_type: Vec<u32>,
    nodes: Range<usize>,
}

impl<'a> Groups<'a> {
    /// Groups the objects of one section or of all, of the wanted types or of all. O(types).
    pub(super) fn new(graph: &'a HeapGraph, by: By, section: Option<SectionId>, wanted: Option<&[bool]>) -> Self {
        let is_wanted = |index: usize| wanted.is_none_or(|wanted| wanted[index]);
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let of_type = (0..graph.type_count())
            .map(|index| match by {
                _ if !is_wanted(index) => NO_SET,
                By::Domain => 0,
                _ => *numbers.entry(by.of_type_name(graph.type_name(TypeId::new(index)))).or_insert_with_key(|name| {
                    names.push(name.to_string());
                    names.len() as u32 - 1
                }),
            })
            .collect();
        if by == By::Domain {
            names = section_names(graph);
        }
        let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
        Groups { graph, by, names, of_type, nodes }
    }

    /// The group of an object, or `NO_SET`. O(1), by section O(log sections).
    pub(super) fn of(&self, node: NodeId) -> u32 {
        if !self.nodes.contains(&node.index()) {
            return NO_SET;
        }
        match self.of_type[self.graph.type_of(node).index()] {
            NO_SET => NO_SET,
            _ if self.by == By::Domain => self.graph.section_of(node).index() as u32,
            group => group,
        }
    }

    /// One tally per group. O(objects).
    pub(super) fn tally(&self, reachable: &NodeSet) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.names.len()];
        if self.by == By::Domain {
            for (section, tally) in tallies.iter_mut().enumerate() {
                let is_wanted = |node| self.of(node) != NO_SET;
                *tally = tally_section(self.graph, reachable, SectionId::new(section), is_wanted);
            }
            return tallies;
        }
        for (tally, &group) in tally_types(self.graph, reachable, self.nodes.clone()).iter().zip(&self.of_type) {
            if group != NO_SET {
                tallies[group as usize].add(tally);
            }
        }
        tallies
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
