//! Fields that hold objects, by name.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use super::reference_names::ReferenceNames;
use super::rows::type_words;
use super::{AnswerError, CommandLine};
use crate::analysis::collections::{CollectionRules, CollectionTypes};
use crate::analysis::holders::{Holder, HolderFinder, is_container_by_type};
use crate::analysis::root_paths::RootsByNode;
use crate::dump::{NoValues, OpenDump};
use crate::graph::{HeapGraph, NodeId};

/// A field (or another reference) and the type that holds something with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderName {
    /// The type of the object that refers; of a static variable the class. `None` for what a root holds, or nothing.
    pub type_name: Option<String>,
    /// `.name`, `static Zoo.names`; the root where there is no type. `None` where the dump names no references.
    pub reference: Option<String>,
}

impl HolderName {
    /// `zoo.Zoo.names`, `static zoo.Zoo.names`, `(unreachable)`.
    pub fn text(&self) -> String {
        match (&self.type_name, &self.reference) {
            (Some(name), Some(reference)) => match reference.strip_prefix("static ") {
                Some(variable) => {
                    let field = variable.rsplit_once('.').map_or(variable, |(_, field)| field);
                    format!("static {name}.{field}")
                }
                None if reference.starts_with(['.', '[', '{']) => format!("{name}{reference}"),
                None => format!("{name} {reference}"),
            },
            (Some(name), None) => name.clone(),
            (None, reference) => reference.clone().unwrap_or_default(),
        }
    }
}

/// A holder in a narrow place: a static variable by its reference, `static Zoo.names`, all others by holder and reference.
pub(in crate::answers) fn short_holder_text<'h>(reference: &'h Option<String>, text: &'h str) -> Cow<'h, str> {
    let variable = reference.as_deref().filter(|reference| reference.starts_with("static "));
    variable.map_or_else(|| type_words(text), Cow::Borrowed)
}

/// Finds the fields that hold objects.
pub(in crate::answers) struct FieldHolderFinder<'d> {
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    roots: OnceCell<RootsByNode<'d>>,
    /// By type: its objects only contain, as arrays and parts of collections do.
    is_container_by_type: Vec<bool>,
}

/// References of an object from which on they are not told apart.
const MAX_NAMED_REFERENCES: usize = 256;

/// Holders of some objects: their names, and which holds each object.
#[derive(Debug, Default)]
pub(crate) struct ObjectHolders {
    /// Each name once.
    pub(in crate::answers) names: Vec<HolderName>,
    /// By object: the number of the name of its holder.
    pub(in crate::answers) name_by_object: Vec<u32>,
}

impl<'d> FieldHolderFinder<'d> {
    /// Shortest paths to all objects: O(objects + references), 8 bytes per object, unless an index has them.
    pub(in crate::answers) fn new(dump: &'d OpenDump, collections: &CollectionTypes) -> Result<Self, AnswerError> {
        let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
        if dump.indexed_shortest_parents().is_none() {
            dump.check_rows_memory(graph.node_count() as u64, 12)?;
        }
        let is_container = is_container_by_type(graph, collections);
        Ok(FieldHolderFinder { dump, graph, roots: OnceCell::new(), is_container_by_type: is_container })
    }

    /// The holders of some objects. 40 bytes for each, and one pass over the dump.
    pub(in crate::answers) fn holders_of(&self, nodes: &[NodeId]) -> Result<ObjectHolders, AnswerError> {
        let mut finder = HolderFinder::new(self.graph, self.dump.shortest_parents(), &self.is_container_by_type);
        let holders: Vec<Holder> = nodes.iter().map(|&node| finder.holder_of(node)).collect();
        drop(finder);
        let pairs = |holder: &Holder| match *holder {
            Holder::Reference(from, to) => Some((from, to)),
            _ => None,
        };
        let mut references: Vec<(NodeId, NodeId)> = holders.iter().filter_map(pairs).collect();
        references.sort_unstable();
        references.dedup();
        let fields = match self.dump.details() {
            Some(details) => details
                .fields_between(self.graph, &references)
                .map_err(|error| AnswerError::NoValues(NoValues::Unreadable(error.to_string())))?,
            None => vec![None; references.len()],
        };
        let mut names = HolderNumbers::default();
        let of_references: Vec<u32> = references
            .iter()
            .zip(fields)
            .map(|(&(from, to), field)| names.intern(self.holder_name(from, to, field)))
            .collect();
        let of = holders.into_iter().map(|holder| match holder {
            Holder::Reference(from, to) => match references.binary_search(&(from, to)) {
                Ok(at) => of_references[at],
                Err(_) => names.intern(HolderName { type_name: None, reference: None }),
            },
            Holder::Root(node) => names.intern(self.root_holder_name(node)),
            Holder::Unreachable => {
                names.intern(HolderName { type_name: None, reference: Some("(unreachable)".into()) })
            }
        });
        let of = of.collect();
        Ok(ObjectHolders { names: names.names, name_by_object: of })
    }

    fn holder_name(
        &self,
        from: NodeId,
        to: NodeId,
        field: Option<(crate::graph::TypeId, crate::graph::GraphNameId)>,
    ) -> HolderName {
        let types = self.graph.types();
        let holder = types.type_of_class_object(from).unwrap_or_else(|| self.graph.type_of(from));
        let reference = match field {
            Some((_, name)) => Some(format!(".{}", types.text(name))),
            // An object with so many properties is a table of them (JavaScript).
            None if types.class_objects().is_empty()
                && self.graph.strong_references(from).len() > MAX_NAMED_REFERENCES =>
            {
                Some(".*".into())
            }
            None => ReferenceNames::of(self.dump).and_then(|names| names.of_examples(&[(from, to)])),
        };
        HolderName { type_name: Some(types.name(holder).to_string()), reference }
    }

    fn root_holder_name(&self, node: NodeId) -> HolderName {
        let root = self.roots.get_or_init(|| RootsByNode::new(self.graph)).strong_display_root(node);
        let kind = root.map_or_else(|| "root".into(), |root| format!("root: {}", root.kind.name()));
        HolderName { type_name: None, reference: Some(format!("({kind})")) }
    }
}

#[derive(Default)]
struct HolderNumbers {
    /// By number.
    names: Vec<HolderName>,
    number_by_name: HashMap<HolderName, u32>,
}

impl HolderNumbers {
    fn intern(&mut self, name: HolderName) -> u32 {
        let HolderNumbers { names, number_by_name: numbers } = self;
        *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    }
}

/// The classes that are collections: those that are known, and what a file adds.
#[derive(Debug, Clone, Default)]
pub struct KnownCollections {
    /// Name of a file for a command line, and its lines: they are added to the known ones.
    pub added_file: Option<(String, String)>,
}

impl KnownCollections {
    /// Error: at a line that makes no sense.
    pub(in crate::answers) fn rules(&self) -> Result<CollectionRules, AnswerError> {
        let mut table = CollectionRules::built_in();
        if let Some((name, text)) = &self.added_file {
            table.add_lines(text).map_err(|bad| AnswerError::InvalidCollectionTable(format!("{name}: {bad}")))?;
        }
        Ok(table)
    }

    pub(in crate::answers) fn add_to(&self, line: &mut CommandLine) {
        line.add_option("--collections", self.added_file.as_ref().map(|(name, _)| name.as_str()));
    }
}
