//! A heap made ready: the tree of best paths, and its rows.

use rustc_hash::{FxHashMap, FxHashSet};

use super::classified_heap::ClassifiedHeap;
use super::java::{self, LeftOverLoaders};
use super::javascript::{self, JavaScriptReferenceCosts};
use super::modules::{Modules, find_javascript_modules, owner_of_script};
use super::symbols::SymbolTable;
use super::type_roles::structural_names;
use super::unnamed_references;
use crate::analysis::dominators::{Dominators, LazyDominatorChildren};
use crate::analysis::leaks::{
    CauseAnalysis, CodeOwner, CostedReference, ObjectFacts, ReferenceCosts, RowTree, SearchMemory, StartObject,
    TypeRole,
};
use crate::analysis::retained::RetainedSizes;
use crate::answers::AnswerError;
use crate::answers::libraries::{LibraryNames, dotted_type_name};
use crate::answers::off_heap::off_heap_buffers;
use crate::answers::reference_names::ReferenceNames;
use crate::answers::values::{ShownValue, ValueReader};
use crate::dump::OpenDump;
use crate::graph::{GraphNameId, HeapGraph, NodeId, NodeSet, RootKind};
use crate::input::{ReferenceKinds, Runtime};

/// A heap with its tree of best paths.
pub(in crate::answers::leaks) struct HeapWithPaths<'d> {
    pub(in crate::answers::leaks) heap: ClassifiedHeap<'d>,
    pub(in crate::answers::leaks) rows: RowTree,
}

/// The same with its dominator tree.
pub(in crate::answers::leaks) struct AnalysedHeap<'d> {
    pub(in crate::answers::leaks) heap: ClassifiedHeap<'d>,
    pub(in crate::answers::leaks) rows: RowTree,
    pub(in crate::answers::leaks) dominators: &'d Dominators,
    pub(in crate::answers::leaks) retained: &'d RetainedSizes,
    pub(in crate::answers::leaks) children: LazyDominatorChildren<'d>,
}

impl<'d> ClassifiedHeap<'d> {
    /// Roles of types, threads and buffers; the loaders that should be gone come later. O(types + threads).
    pub(in crate::answers::leaks) fn new(
        dump: &'d OpenDump,
        graph: &'d HeapGraph,
        libraries: &LibraryNames,
        symbols: &mut SymbolTable,
    ) -> Self {
        let runtime = dump.info().runtime();
        let structural_names = structural_names(runtime);
        let libraries = libraries.clone().take_libraries_as_own_if_alone(graph);
        let mut type_roles: Vec<TypeRole> = graph
            .types()
            .ids()
            .map(|type_id| {
                let name = dotted_type_name(graph.type_name(type_id));
                structural_names.type_role(runtime, &name, libraries.owner_of(&name), symbols)
            })
            .collect();
        for &(class, _) in graph.types().class_objects() {
            let type_role = &mut type_roles[graph.type_of(class).index()];
            *type_role = TypeRole { has_named_objects: true, is_class: true, is_carrier: false, ..*type_role };
        }
        let values = ValueReader::of(dump);
        let threads = thread_names(graph, values);
        threads.keys().for_each(|&node| type_roles[graph.type_of(node).index()].has_named_objects = true);
        let kinds = dump.details().and_then(|details| details.reference_kinds(graph).ok().flatten());
        let modules = match (dump.details(), &kinds) {
            (Some(details), Some(kinds)) => find_javascript_modules(graph, details, &**kinds),
            _ => modules_of_roots(graph),
        };
        modules.keys().for_each(|&node| type_roles[graph.type_of(node).index()].has_named_objects = true);
        if let Some(kinds) = &kinds {
            set_owners_by_script(graph, &**kinds, &libraries, &mut type_roles);
        }
        ClassifiedHeap {
            modules,
            reference_kinds: kinds,
            graph,
            runtime,
            details: dump.details(),
            values,
            names: ReferenceNames::of(dump),
            libraries,
            structural_names,
            type_roles,
            thread_names: threads,
            left_over_loaders: FxHashSet::default(),
            off_heap_bytes: off_heap_bytes_by_buffer(dump, graph),
        }
    }
}

impl<'d> AnalysedHeap<'d> {
    /// A heap with the best ways that were found in it.
    ///
    /// # Errors
    /// If there is not the memory for the dominator tree.
    pub(in crate::answers::leaks) fn new(
        dump: &'d OpenDump,
        HeapWithPaths { heap, rows }: HeapWithPaths<'d>,
    ) -> Result<Self, AnswerError> {
        let (dominators, retained) = dump.dominators()?;
        let children = dominators.children_when_asked();
        Ok(AnalysedHeap { heap, rows, dominators, retained, children })
    }

    /// The graph with its best ways, rows and dominator tree, to be asked about causes.
    pub(in crate::answers::leaks) fn cause_analysis(&self) -> CauseAnalysis<'_, 'd> {
        CauseAnalysis {
            graph: self.heap.graph,
            rows: &self.rows,
            dominators: self.dominators,
            retained: self.retained,
            children: &self.children,
        }
    }
}

impl<'d> ClassifiedHeap<'d> {
    /// Finds the best ways and merges them. O(objects + references).
    pub(in crate::answers::leaks) fn find_best_paths(
        mut self,
        reachable: &dyn Fn() -> &'d NodeSet,
        symbols: &mut SymbolTable,
        memory: SearchMemory,
    ) -> HeapWithPaths<'d> {
        let facts = ObjectFacts {
            name_symbols: self.object_symbols(symbols),
            off_heap_bytes: std::mem::take(&mut self.off_heap_bytes),
        };
        let (starts, mut ways) = self.start_objects_and_costs(reachable, symbols);
        let rows = RowTree::build_with_paths(self.graph, &starts, &mut ways, &self.type_roles, &facts, memory);
        drop(ways);
        self.off_heap_bytes = facts.off_heap_bytes;
        HeapWithPaths { heap: self, rows }
    }

    /// Loaders that should be gone, of a Java heap.
    pub(in crate::answers::leaks) fn find_left_over_loaders(
        &self,
        reachable: &dyn Fn() -> &'d NodeSet,
    ) -> LeftOverLoaders {
        match self.runtime {
            Some(Runtime::Java) if !self.graph.types().class_objects().is_empty() => {
                LeftOverLoaders::find(self, reachable())
            }
            _ => LeftOverLoaders::default(),
        }
    }

    /// The objects at which ways begin, and what each reference costs.
    fn start_objects_and_costs<'h>(
        &'h self,
        reachable: &dyn Fn() -> &'d NodeSet,
        symbols: &'h mut SymbolTable,
    ) -> (Vec<StartObject>, Box<dyn ReferenceCosts + 'h>) {
        let has_classes = !self.graph.types().class_objects().is_empty();
        if let Some(kinds) = &self.reference_kinds {
            let starts = javascript::start_objects(self, reachable, symbols);
            return (starts, Box::new(JavaScriptReferenceCosts::new(self, &**kinds, symbols)));
        }
        match self.runtime {
            Some(Runtime::Java) if has_classes => (
                java::start_objects(self, reachable(), symbols),
                Box::new(java::JavaReferenceCosts::new(self, symbols)),
            ),
            _ => (
                unnamed_references::start_objects(self, reachable, symbols),
                Box::new(unnamed_references::UnnamedReferenceCosts::new(self)),
            ),
        }
    }
}

impl ReferenceCosts for Box<dyn ReferenceCosts + '_> {
    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        (**self).append_costs(from, to, steps);
    }

    fn prefetch(&self, from: NodeId) {
        (**self).prefetch(from);
    }
}

/// Modules that the dump has roots of, with their names: Python's.
fn modules_of_roots(graph: &HeapGraph) -> Modules {
    let named = graph.roots().iter().filter(|root| root.kind == RootKind::Module);
    named.filter_map(|root| Some((root.node, graph.root_name(root)?.to_string()))).collect()
}

/// Threads by their objects, with the names that these have, else that the dump gives them, else their ids.
fn thread_names(graph: &HeapGraph, values: Option<ValueReader<'_>>) -> FxHashMap<NodeId, String> {
    let threads: Vec<(NodeId, Option<GraphNameId>)> =
        graph.threads().iter().filter_map(|thread| Some((thread.node?, thread.name))).collect();
    let nodes: Vec<NodeId> = threads.iter().map(|&(node, _)| node).collect();
    let said = values.map_or_else(|| vec![None; nodes.len()], |values| values.shown_values(&nodes));
    let name = |node, name: Option<GraphNameId>, said: Option<ShownValue>| match (said, name) {
        (Some(ShownValue::Name(text)), _) => text.text,
        (_, Some(name)) => graph.name(name).to_string(),
        _ => graph.display_id(node),
    };
    threads.into_iter().zip(said).map(|((node, of_dump), said)| (node, name(node, of_dump, said))).collect()
}

/// Bytes outside the heap by the buffer that frees them.
fn off_heap_bytes_by_buffer(dump: &OpenDump, graph: &HeapGraph) -> FxHashMap<NodeId, u64> {
    let buffers = off_heap_buffers(dump, graph).unwrap_or_default().into_iter();
    buffers.filter(|buffer| buffer.is_freed_with_buffer).map(|buffer| (buffer.node, buffer.bytes)).collect()
}

/// Types of JavaScript are whose the script of their constructor is: that of the first object.
fn set_owners_by_script(
    graph: &HeapGraph,
    kinds: &dyn ReferenceKinds,
    libraries: &LibraryNames,
    type_roles: &mut [TypeRole],
) {
    let mut is_known = vec![false; type_roles.len()];
    for node in graph.nodes() {
        let type_id = graph.type_of(node);
        if std::mem::replace(&mut is_known[type_id.index()], true) || type_roles[type_id.index()].is_carrier {
            continue;
        }
        let by_script = kinds.script_file(node).map_or(CodeOwner::Runtime, |script| owner_of_script(&script));
        let name = graph.type_name(type_id);
        type_roles[type_id.index()].owner = libraries.owner_by_pattern(name).unwrap_or(by_script);
    }
    if !type_roles.iter().any(|type_role| type_role.owner == CodeOwner::Application) {
        let libraries = type_roles.iter_mut().filter(|type_role| type_role.owner == CodeOwner::Library);
        libraries.for_each(|type_role| type_role.owner = CodeOwner::Application);
    }
}
