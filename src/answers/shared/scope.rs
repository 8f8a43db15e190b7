//! Objects that a question is about, and object ids as users type them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::analysis::dominators::{DominatorNode, Dominators};
use crate::analysis::type_patterns::{TypeChoice, TypePattern};
use crate::analysis::type_tree::ChosenObjects;
use crate::answers::shared::{AnswerError, CommandLine, Figure};
use crate::dump::OpenDump;
use crate::filter::Filter;
use crate::graph::{HeapGraph, IdLookup, IdStyle, NodeId, NodeSet, Root, SectionId, TypeSet};
use crate::input::ObjectDetails;

/// Objects that a question is about. The default is all.
#[derive(Debug, Clone, Default)]
pub struct ScopeOptions {
    /// One section, by its name or its number from 1.
    pub section: Option<String>,
    /// Objects of the types that match.
    pub types: Option<TypeChoice>,
    /// Objects that fulfil an expression.
    pub filter: Option<Filter>,
}

/// Number and direction of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Rows at most. Default: all.
    pub rows: Option<usize>,
    /// The order reversed.
    pub reverse: bool,
}

/// The entry of a table of orders for a figure.
///
/// # Errors
/// If rows cannot be ordered by this figure.
pub(in crate::answers) fn order_entry_of<K: Copy>(orders: &[(Figure, K)], figure: Figure) -> Result<K, AnswerError> {
    let found = orders.iter().find(|(order, _)| order.key == figure.key);
    found.map(|(_, by)| *by).ok_or(AnswerError::NoSuchOrder(figure.key))
}

impl Limits {
    /// Returns the number of `rows` that are shown.
    pub fn shown_count(&self, rows: usize) -> usize {
        self.rows.map_or(rows, |limit| rows.min(limit))
    }

    /// Reverses rows where that is asked for, and cuts them to the limit. Returns the number of those that are left out.
    pub(in crate::answers) fn reverse_and_cut<T>(&self, rows: &mut Vec<T>) -> usize {
        if self.reverse {
            rows.reverse();
        }
        let hidden = rows.len() - self.shown_count(rows.len());
        rows.truncate(rows.len() - hidden);
        hidden
    }

    /// Adds the options of a command line that asks for the same rows.
    pub(in crate::answers) fn add_to(&self, line: &mut CommandLine) {
        line.add_switch("--reverse", self.reverse);
        line.add_option("-n", Some(&self.rows.unwrap_or(0).to_string()));
    }
}

/// The objects that a question is about, found once.
#[derive(Debug)]
pub struct Scope<'d> {
    graph: &'d HeapGraph,
    section: Option<SectionId>,
    node_range: Range<usize>,
    /// The types that are wanted; `None` when all are.
    types: Option<TypeSet>,
    /// Those that fulfil the expression, where there is one.
    matching: Option<NodeSet>,
    details: Option<&'d dyn ObjectDetails>,
}

impl ScopeOptions {
    /// All objects of a section, or of all.
    pub fn of_section(section: Option<&str>) -> Self {
        ScopeOptions { section: section.map(str::to_string), ..ScopeOptions::default() }
    }

    /// Finds the objects in a dump. O(types); with an expression as [`Filter::select`].
    ///
    /// # Errors
    /// If the dump holds no objects, there is no such section, or several are called so, or the dump does not have what
    /// the expression names.
    pub fn resolve<'d>(&self, dump: &'d OpenDump) -> Result<Scope<'d>, AnswerError> {
        let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
        let section = self.resolve_section(graph)?;
        let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
        let matching = self.filter.as_ref().map(|filter| filter.select(dump, nodes.clone())).transpose()?;
        let types = self.types.as_ref().map(|pattern| pattern.matching_types(graph));
        Ok(Scope { graph, section, node_range: nodes, types, matching, details: dump.details() })
    }

    /// The section, if the question is about one.
    pub(in crate::answers) fn resolve_section(&self, graph: &HeapGraph) -> Result<Option<SectionId>, AnswerError> {
        self.section.as_deref().map(|asked| find_section(graph, asked)).transpose()
    }

    /// Makes sure that a dump of allocation totals can be asked: it has no objects to choose from.
    ///
    /// # Errors
    /// If there is an expression.
    pub fn check_on_allocations(&self) -> Result<(), AnswerError> {
        if self.filter.is_some() { Err(AnswerError::FilterNeedsObjects) } else { Ok(()) }
    }

    /// Returns true if objects are chosen by what they are, not only by their section.
    pub fn chooses_some(&self) -> bool {
        self.types.is_some() || self.filter.is_some()
    }

    /// Adds the options of a command line that asks for the same objects.
    pub(in crate::answers) fn add_to(&self, line: &mut CommandLine) {
        if let Some(types) = &self.types {
            line.add_repeated_option("--type", types.wanted.iter().map(TypePattern::text));
            line.add_repeated_option("--not-type", types.unwanted.iter().map(TypePattern::text));
            line.add_switch("--ignore-case", types.ignores_case());
        }
        line.add_repeated_option("--where", self.filter.iter().flat_map(Filter::texts));
        line.add_option("--domain", self.section.as_deref());
    }
}

impl<'d> Scope<'d> {
    /// All objects.
    pub fn of_all(graph: &'d HeapGraph) -> Self {
        Scope { graph, section: None, node_range: 0..graph.node_count(), types: None, matching: None, details: None }
    }

    /// What the dump says of single objects besides the graph.
    pub(in crate::answers) fn details(&self) -> Option<&'d dyn ObjectDetails> {
        self.details
    }

    /// The graph.
    pub fn graph(&self) -> &'d HeapGraph {
        self.graph
    }

    /// The section, if the question is about one.
    pub fn section(&self) -> Option<SectionId> {
        self.section
    }

    /// Indices of the section's objects, or of all; types are not looked at.
    pub fn node_range(&self) -> Range<usize> {
        self.node_range.clone()
    }

    /// The objects, ascending. O(objects of the section).
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.node_range.clone().map(NodeId::new).filter(|&node| self.is_chosen_in_any_section(node))
    }

    /// The same, whether they fulfil the expression or not.
    pub(in crate::answers) fn nodes_ignoring_filter(&self) -> impl Iterator<Item = NodeId> + '_ {
        let types = self.types.as_ref();
        let is_wanted = move |node: &NodeId| types.is_none_or(|types| types.contains(self.graph.type_of(*node)));
        self.node_range.clone().map(NodeId::new).filter(is_wanted)
    }

    /// Objects of the section at the top of a dominator tree. O(objects).
    pub(in crate::answers) fn top_level(&self, dominators: &Dominators) -> Vec<DominatorNode> {
        let mut top_level = dominators.children_of(DominatorNode::ROOT);
        top_level.retain(|&number| self.node_range.contains(&dominators.node_at(number).index()));
        top_level
    }

    /// Returns true if the question is about the object. O(1).
    pub fn contains(&self, node: NodeId) -> bool {
        self.node_range.contains(&node.index()) && self.is_chosen_in_any_section(node)
    }

    /// The types that are wanted; `None` when all are.
    pub fn types(&self) -> Option<&TypeSet> {
        self.types.as_ref()
    }

    /// Those that fulfil the expression; `None` when there is none.
    pub fn matching(&self) -> Option<&NodeSet> {
        self.matching.as_ref()
    }

    /// Returns true if the question is about some of the section's objects alone.
    pub fn chooses_some(&self) -> bool {
        self.types.is_some() || self.matching.is_some()
    }

    /// Those that fulfil the expression and the ways down a dominator tree to them; `None` when there is none. O(objects).
    pub(crate) fn chosen_objects(&self, dominators: &Dominators) -> Option<ChosenObjects<'_>> {
        self.matching.as_ref().map(|matching| ChosenObjects::new(dominators, matching))
    }

    /// Words to follow "all that is reachable": roots given on request, one section of several.
    pub(in crate::answers) fn reach_words(&self) -> String {
        let given = self.graph.roots().iter().any(Root::is_requested);
        let given = if given { " or given roots on request" } else { "" };
        let section = self.section_words().map_or(String::new(), |section| format!(" in {section}"));
        format!("{given}{section}")
    }

    /// `section 2 (BubbleGame.exe)`, where the question is about one of several.
    pub(in crate::answers) fn section_words(&self) -> Option<String> {
        let section = self.section.filter(|_| self.graph.sections().len() > 1)?;
        let name = &self.graph.sections()[section.index()].name;
        let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
        Some(format!("section {}{name}", section.number()))
    }

    /// Returns true if the object has a type that is wanted and fulfils the expression, whatever its section. O(1).
    pub(in crate::answers) fn is_chosen_in_any_section(&self, node: NodeId) -> bool {
        self.matching.as_ref().is_none_or(|matching| matching.contains(node))
            && self.types.as_ref().is_none_or(|types| types.contains(self.graph.type_of(node)))
    }
}

/// The section of this name, or of this number from 1.
fn find_section(graph: &HeapGraph, asked: &str) -> Result<SectionId, AnswerError> {
    let sections = graph.sections();
    let named: Vec<usize> = (0..sections.len()).filter(|&at| sections[at].name == *asked).collect();
    match named[..] {
        [only] => return Ok(SectionId::new(only)),
        [] => {}
        _ => {
            let numbers = named.iter().map(|at| at + 1).collect();
            return Err(AnswerError::AmbiguousSection(asked.to_string(), numbers));
        }
    }
    match asked.parse::<usize>() {
        Ok(number) if (1..=sections.len()).contains(&number) => Ok(SectionId::new(number - 1)),
        _ => {
            let there = sections.iter().enumerate().map(|(at, section)| format!("{} {}", at + 1, section.name));
            Err(AnswerError::NoSuchSection(asked.to_string(), there.collect()))
        }
    }
}

/// An object id as it was typed: `7c79f`, `0x0007C79F`, `2#7c79f`. Case, leading zeros and `0x` do not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectId {
    /// As it was typed.
    text: String,
    /// From 1.
    section_number: Option<usize>,
    /// Without the section.
    digits: String,
}

/// A text is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an object id (as the dump writes it: hexadecimal, of a V8 snapshot @ and decimal)")]
pub struct ObjectIdError(pub String);

impl FromStr for ObjectId {
    type Err = ObjectIdError;

    fn from_str(text: &str) -> Result<Self, ObjectIdError> {
        let (section, digits) = match text.split_once('#') {
            Some((number, digits)) => (number.parse().ok(), digits),
            None => (None, text),
        };
        // Which of both it is shows with the dump: `1234` may be either.
        let is_id = [IdStyle::Prefixed, IdStyle::Decimal].iter().any(|style| style.parse(digits).is_some());
        if is_id && (section.is_some() || !text.contains('#')) {
            Ok(ObjectId { text: text.into(), section_number: section, digits: digits.into() })
        } else {
            Err(ObjectIdError(text.into()))
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl ObjectId {
    /// Finds the object, in the section of the scope if that names one. O(sections).
    ///
    /// # Errors
    /// If there is no such object, or several sections have one.
    pub fn find(&self, graph: &HeapGraph, scope: &ScopeOptions) -> Result<NodeId, AnswerError> {
        let section = match self.section_number {
            Some(number) if (1..=graph.sections().len()).contains(&number) => Some(SectionId::new(number - 1)),
            Some(_) => return Err(AnswerError::NoSuchSectionOfObject(self.text.clone(), graph.sections().len())),
            None => None,
        };
        let asked = scope.resolve_section(graph)?;
        if let (Some(section), Some(asked)) = (section, asked)
            && section != asked
        {
            return Err(AnswerError::ObjectInOtherSection(self.text.clone(), asked.number()));
        }
        let section = section.or(asked);
        let Some(id) = graph.id_style().parse(&self.digits) else {
            return Err(AnswerError::NoSuchObject(self.text.clone()));
        };
        let shown = graph.id_style().format(id);
        match graph.find_by_id(section, id) {
            IdLookup::One(node) => Ok(node),
            IdLookup::None => match (section, graph.find_by_id(None, id)) {
                (Some(section), IdLookup::One(node)) => {
                    Err(AnswerError::NoSuchObjectInSection(shown, section.number(), graph.display_id(node)))
                }
                _ => Err(AnswerError::NoSuchObject(shown)),
            },
            IdLookup::Several(found) => {
                let ids = found.iter().map(|&(_, node)| graph.display_id(node)).collect();
                Err(AnswerError::AmbiguousObject(shown, ids))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IdStyle, ObjectId};

    #[test]
    fn ids_in_every_form() {
        let parse = |text: &str| {
            text.parse::<ObjectId>().map(|id| (id.section_number, IdStyle::Prefixed.parse(&id.digits))).ok()
        };
        assert_eq!(parse("7c79f"), Some((None, Some(0x7c79f))));
        assert_eq!(parse("0X0007C79F"), Some((None, Some(0x7c79f))));
        let typed = |text: &str| text.parse::<ObjectId>().ok().and_then(|id| IdStyle::Decimal.parse(&id.digits));
        assert_eq!((typed("@1234"), typed("01234"), typed("7c79f")), (Some(1234), Some(1234), None));
        assert_eq!(parse("@1234"), Some((None, None)));
        assert_eq!(parse("2#0x10"), Some((Some(2), Some(16))));
        for wrong in ["", "0x", "x#10", "#10", "100000000000000000000", "7c79g", "+1", "@", "@7c", "@0x10"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
