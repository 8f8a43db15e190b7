//! A heap with all that is known before the search: roles of types, threads, modules, libraries.

use rustc_hash::{FxHashMap, FxHashSet};

use super::modules::{Modules, owner_of_script};
use super::symbols::SymbolTable;
use super::type_roles::StructuralNames;
use crate::analysis::leaks::{CodeOwner, CostedReference, TypeRole};
use crate::answers::libraries::{LibraryNames, dotted_type_name};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::values::ValueReader;
use crate::graph::{FrameId, HeapGraph, NodeId, TypeId};
use crate::input::{ObjectDetails, ReferenceKinds, Runtime};

/// A heap with all that is known before the search.
pub(in crate::answers::leaks) struct ClassifiedHeap<'d> {
    pub(in crate::answers::leaks) graph: &'d HeapGraph,
    pub(in crate::answers::leaks) runtime: Option<Runtime>,
    pub(in crate::answers::leaks) details: Option<&'d dyn ObjectDetails>,
    pub(in crate::answers::leaks) values: Option<ValueReader<'d>>,
    pub(in crate::answers::leaks) names: Option<ReferenceNames<'d>>,
    pub(in crate::answers::leaks) libraries: LibraryNames,
    pub(in crate::answers::leaks) structural_names: &'static StructuralNames,
    pub(in crate::answers::leaks) type_roles: Vec<TypeRole>,
    /// Threads by their objects, with their names.
    pub(in crate::answers::leaks) thread_names: FxHashMap<NodeId, String>,
    /// Modules: of JavaScript with their files, of Python with their names.
    pub(in crate::answers::leaks) modules: Modules,
    /// Kinds of references, in formats that have them.
    pub(in crate::answers::leaks) reference_kinds: Option<Box<dyn ReferenceKinds + 'd>>,
    /// Loaders that should be gone.
    pub(in crate::answers::leaks) left_over_loaders: FxHashSet<NodeId>,
    /// Bytes outside the heap, by the buffer that frees them.
    pub(in crate::answers::leaks) off_heap_bytes: FxHashMap<NodeId, u64>,
}

impl ClassifiedHeap<'_> {
    /// The owner of an object: of its script, its module, its class if it is one, else of its type.
    pub(in crate::answers::leaks) fn owner_of_object(&self, node: NodeId) -> CodeOwner {
        if let Some(script) = self.reference_kinds.as_ref().and_then(|kinds| kinds.script_file(node)) {
            return owner_of_script(&script);
        }
        if let Some(module) = self.modules.get(&node) {
            return self.owner_of_module(module);
        }
        match self.graph.types().type_of_class_object(node) {
            Some(class) => self.libraries.owner_of(self.graph.type_name(class)),
            None => self.type_role(node).owner,
        }
    }

    /// Is it a module, or what Ruby's machine has for itself, as stacks of threads? Such are large in any program, and no
    /// suspects.
    pub(in crate::answers::leaks) fn is_runtime_machinery(&self, node: NodeId) -> bool {
        match self.runtime {
            Some(Runtime::Python) => self.modules.contains_key(&node),
            Some(Runtime::Ruby) => self.structural_names.is_registry(&self.type_name(node)),
            _ => false,
        }
    }

    /// The owner of a module, by its file (JavaScript) or its name.
    pub(in crate::answers::leaks) fn owner_of_module(&self, module: &str) -> CodeOwner {
        if self.reference_kinds.is_some() { owner_of_script(module) } else { self.libraries.owner_of(module) }
    }

    pub(in crate::answers::leaks) fn type_role(&self, node: NodeId) -> &TypeRole {
        &self.type_roles[self.graph.type_of(node).index()]
    }

    /// The name of an object's type, with dots between packages.
    pub(in crate::answers::leaks) fn type_name(&self, node: NodeId) -> String {
        dotted_type_name(self.graph.type_name(self.graph.type_of(node))).into_owned()
    }

    /// The owner of a variable on a stack, and its method.
    pub(in crate::answers::leaks) fn owner_and_method_of_local(&self, frame: Option<FrameId>) -> (CodeOwner, String) {
        let Some(frame) = frame.and_then(|frame| self.graph.frames().get(frame.index())) else {
            return (CodeOwner::Runtime, "<local>".into());
        };
        let class = frame.class.map_or("", |class| self.graph.type_name(class));
        (self.libraries.owner_of(class), format!("{class}.{}", self.graph.name(frame.method)))
    }

    /// Numbers of the names of classes, threads and modules.
    pub(super) fn object_symbols(&self, symbols: &mut SymbolTable) -> FxHashMap<NodeId, u32> {
        let types = self.graph.types();
        let classes = types.class_objects().iter();
        let classes = classes.map(|&(node, class)| (node, symbols.intern(&format!("class {}", types.name(class)))));
        let mut numbers: FxHashMap<NodeId, u32> = classes.collect();
        let threads = self.thread_names.iter();
        numbers.extend(threads.map(|(&node, name)| (node, symbols.intern(&format!("thread {}", mask_numbers(name))))));
        let modules = self.modules.iter();
        numbers.extend(modules.map(|(&node, file)| (node, symbols.intern(&format!("module {file}")))));
        numbers
    }
}

/// The name of a thread with `#` for each number in it.
pub(in crate::answers::leaks) fn mask_numbers(name: &str) -> String {
    let mut masked = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
            false => masked.push(letter),
        }
    }
    masked
}

/// By type: the nodes of lists and tables, to which several fields lead, as to the first and the last.
pub(super) fn is_list_node_by_type(type_roles: &[TypeRole]) -> Vec<bool> {
    type_roles
        .iter()
        .map(|type_role| type_role.is_carrier && type_role.folds_same_type && type_role.is_list_node)
        .collect()
}

/// Appends a step for each reference, labelled by its place among those of the object to its type; all to nodes of a list
/// alike. O(references).
pub(super) fn append_costs_by_place(
    graph: &HeapGraph,
    is_list_node: &[bool],
    to: &[NodeId],
    steps: &mut Vec<CostedReference>,
) {
    const LINEAR_SEARCH_LIMIT: usize = 12;
    if to.len() <= LINEAR_SEARCH_LIMIT {
        let mut types = [0u32; LINEAR_SEARCH_LIMIT];
        for (at, &to) in to.iter().enumerate() {
            let type_id = graph.type_of(to).index() as u32;
            let is_list_node = is_list_node[type_id as usize];
            let place = if is_list_node { 0 } else { types[..at].iter().filter(|&&known| known == type_id).count() };
            types[at] = type_id;
            steps.push(CostedReference { cost: 1, label: SymbolTable::place_label(place) });
        }
        return;
    }
    let mut places: FxHashMap<TypeId, usize> = FxHashMap::default();
    for &to in to {
        let type_id = graph.type_of(to);
        let place = places.entry(type_id).or_default();
        steps.push(CostedReference { cost: 1, label: SymbolTable::place_label(*place) });
        *place += usize::from(!is_list_node[type_id.index()]);
    }
}
