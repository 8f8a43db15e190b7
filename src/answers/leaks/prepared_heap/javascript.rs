//! Heaps of V8: which references explain, and modules, which are where a programmer starts.

use rustc_hash::FxHashMap;

use super::classified_heap::ClassifiedHeap;
use super::modules::owner_of_script;
use super::symbols::SymbolTable;
use crate::analysis::leaks::{CodeOwner, CostedReference, ELEMENT_LABEL, ReferenceCosts, StartObject};
use crate::graph::{HeapGraph, NodeId, NodeSet, RootKind, TypeSet};
use crate::input::{ReferenceKind, ReferenceKinds};

// Costs: how little a reference or a start explains.
const MODULE_OF_PROGRAM_COST: u8 = 0;
const MODULE_OF_LIBRARY_COST: u8 = 3;
const MODULE_OF_RUNTIME_COST: u8 = 8;
const GLOBAL_START_COST: u8 = 6;
const ROOT_CATEGORY_COST: u8 = 30;
const ORDINARY_REFERENCE_COST: u8 = 1;
/// Of the engine's own: maps, prototypes, code.
const ENGINE_REFERENCE_COST: u8 = 30;
const HIDDEN_REFERENCE_COST: u8 = 4;
const SYMBOL_PROPERTY_COST: u8 = 3;
const INTO_GLOBAL_COST: u8 = 30;
/// A caller of a function does not explain what the function closes over.
const CONTEXT_OF_RUNTIME_COST: u8 = 12;
const CONTEXT_OF_LIBRARY_COST: u8 = 3;
/// A plain object with more properties than this is a dictionary: its keys are no names of fields.
const MAX_FIELD_PROPERTIES: usize = 50;
/// Names of V8's own references that say nothing about a program.
const ENGINE_REFERENCE_NAMES: [&str; 20] = [
    "map",
    "shared",
    "code",
    "feedback_cell",
    "scope_info",
    "native_context",
    "initial_map",
    "feedback_vector",
    "instance_template",
    "function_data",
    "script_or_debug_info",
    "raw_outer_scope_info_or_feedback_metadata",
    "name_or_scope_info",
    "descriptors",
    "transition",
    "back_pointer",
    "dependent_code",
    "__proto__",
    "constructor",
    "prototype",
];

/// Cost and label of the references of one kind and name, and whether they are properties or contexts of functions.
#[derive(Debug, Clone, Copy)]
struct LabelledCost {
    cost: u8,
    label: u32,
    is_property: bool,
    is_context: bool,
}

/// Costs and labels in a heap of V8.
pub(super) struct JavaScriptReferenceCosts<'h> {
    graph: &'h HeapGraph,
    kinds: &'h dyn ReferenceKinds,
    cached_costs: FxHashMap<(ReferenceKind, u32), LabelledCost>,
    symbol_table: &'h mut SymbolTable,
    function_types: TypeSet,
    /// Objects whose properties may be keys.
    plain_object_types: TypeSet,
    global_object_types: TypeSet,
    /// By type: its objects refer to one another as a list does.
    folds_same_type: Vec<bool>,
    /// Kinds and names of the references of the object at hand.
    reference_buffer: Vec<(ReferenceKind, u32)>,
}

impl<'h> JavaScriptReferenceCosts<'h> {
    pub(super) fn new(heap: &'h ClassifiedHeap<'_>, kinds: &'h dyn ReferenceKinds, names: &'h mut SymbolTable) -> Self {
        let graph = heap.graph;
        let is_global =
            |name: &str| name == "system / NativeContext" || name == "global" || name.starts_with("global / ");
        JavaScriptReferenceCosts {
            graph,
            kinds,
            cached_costs: FxHashMap::default(),
            symbol_table: names,
            function_types: TypeSet::of(graph, |type_id| graph.type_name(type_id) == "Function"),
            plain_object_types: TypeSet::of(graph, |type_id| heap.type_roles[type_id.index()].has_no_own_class),
            global_object_types: TypeSet::of(graph, |type_id| is_global(graph.type_name(type_id))),
            folds_same_type: heap.type_roles.iter().map(|type_role| type_role.folds_same_type).collect(),
            reference_buffer: Vec::new(),
        }
    }

    fn labelled_cost_of(&mut self, kind: ReferenceKind, name: u32) -> LabelledCost {
        match kind {
            ReferenceKind::Element => {
                return LabelledCost {
                    cost: ORDINARY_REFERENCE_COST,
                    label: ELEMENT_LABEL,
                    is_property: false,
                    is_context: false,
                };
            }
            ReferenceKind::Hidden => {
                return LabelledCost {
                    cost: HIDDEN_REFERENCE_COST,
                    label: SymbolTable::place_label(0),
                    is_property: false,
                    is_context: false,
                };
            }
            _ => {}
        }
        let (kinds, names) = (self.kinds, &mut *self.symbol_table);
        *self.cached_costs.entry((kind, name)).or_insert_with(|| {
            let text = kinds.name(name);
            let (is_property, is_internal) = (kind == ReferenceKind::Property, kind == ReferenceKind::Internal);
            let is_meta = ENGINE_REFERENCE_NAMES.contains(&text.as_ref())
                && (is_internal || is_property && ["__proto__", "constructor", "prototype"].contains(&text.as_ref()));
            let label = match () {
                () if is_internal && text.bytes().all(|byte| byte.is_ascii_digit()) => ELEMENT_LABEL,
                () if is_internal && text.contains(" in WeakMap (table @") => names.intern("value of WeakMap"),
                () => names.intern(&text),
            };
            let cost = match kind {
                _ if is_meta => ENGINE_REFERENCE_COST,
                ReferenceKind::Shortcut => ENGINE_REFERENCE_COST,
                _ if is_property && text.starts_with("<symbol") => ORDINARY_REFERENCE_COST + SYMBOL_PROPERTY_COST,
                _ => ORDINARY_REFERENCE_COST,
            };
            LabelledCost { cost, label, is_property, is_context: is_internal && text == "context" }
        })
    }
}

impl ReferenceCosts for JavaScriptReferenceCosts<'_> {
    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        let mut references = std::mem::take(&mut self.reference_buffer);
        references.clear();
        self.kinds.append_kinds(self.graph, from, &mut references);
        let type_id = self.graph.type_of(from);
        let is_dictionary = self.plain_object_types.contains(type_id)
            && references.iter().filter(|(kind, _)| *kind == ReferenceKind::Property).count() > MAX_FIELD_PROPERTIES;
        let of_script = match self.function_types.contains(type_id) {
            // The engine's own functions (a promise's resolve) have no script and hide nothing.
            true => self.kinds.script_file(from).map_or(0, |script| match owner_of_script(&script) {
                CodeOwner::Application => 0,
                _ if script.is_empty() => 0,
                CodeOwner::Library => CONTEXT_OF_LIBRARY_COST,
                CodeOwner::Runtime => CONTEXT_OF_RUNTIME_COST,
            }),
            false => 0,
        };
        for (&to, &(kind, name)) in to.iter().zip(&references) {
            let kind = self.labelled_cost_of(kind, name);
            let target = self.graph.type_of(to);
            let mut cost = kind.cost;
            if kind.is_property
                && target == type_id
                && self.folds_same_type[type_id.index()]
                && cost == ORDINARY_REFERENCE_COST
            {
                cost = 0;
            }
            if kind.is_context {
                cost += of_script;
            }
            if self.global_object_types.contains(target) {
                cost += INTO_GLOBAL_COST;
            }
            let label = if kind.is_property && is_dictionary { ELEMENT_LABEL } else { kind.label };
            steps.push(CostedReference { cost, label });
        }
        self.reference_buffer = references;
    }
}

/// Modules, what is global, and the categories of the engine.
pub(super) fn start_objects(
    heap: &ClassifiedHeap<'_>,
    reachable: &NodeSet,
    symbols: &mut SymbolTable,
) -> Vec<StartObject> {
    let (module, global, category) = (symbols.intern("module"), symbols.intern("global"), symbols.intern("category"));
    let roots = heap.graph.strong_roots().map(|root| match root.kind {
        RootKind::Static => StartObject { node: root.node, cost: GLOBAL_START_COST, label: global },
        _ => StartObject { node: root.node, cost: ROOT_CATEGORY_COST, label: category },
    });
    let modules = heap.modules.iter().filter(|(node, _)| reachable.contains(**node));
    let modules = modules.map(|(&node, file)| {
        let cost = match owner_of_script(file) {
            CodeOwner::Application => MODULE_OF_PROGRAM_COST,
            CodeOwner::Library => MODULE_OF_LIBRARY_COST,
            CodeOwner::Runtime => MODULE_OF_RUNTIME_COST,
        };
        StartObject { node, cost, label: module }
    });
    let mut starts: Vec<StartObject> = roots.chain(modules).collect();
    starts.sort_by_key(|start| (start.cost, start.node));
    starts
}
