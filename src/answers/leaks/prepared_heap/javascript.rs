//! Heaps of V8: which references explain, and modules, which are where a programmer starts.

use rustc_hash::FxHashMap;

use super::classified_heap::ClassifiedHeap;
use super::modules::owner_of_script;
use super::symbols::SymbolTable;
use crate::analysis::leaks::{
    CodeOwner, CostedReference, ELEMENT_LABEL, LIST_LINK_LABEL, METADATA_LABEL, ReferenceCosts, StartObject,
};
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
/// Names by which nodes of lists refer to one another.
pub(in crate::answers::leaks) const LIST_LINK_NAMES: [&str; 7] =
    ["next", "prev", "previous", "_next", "_prev", "_idleNext", "_idlePrev"];
/// Labels of references from here on are those of names that are rare.
const LARGE_LABELS: u32 = 1 << 16;
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
#[derive(Debug, Clone, Copy, Default)]
struct LabelledCost {
    cost: u8,
    label: u32,
    is_property: bool,
    is_context: bool,
    /// Leads from a function to what all functions of one place in a script share: their code.
    is_shared: bool,
    is_list_link: bool,
}

/// Costs and labels in a heap of V8.
pub(super) struct JavaScriptReferenceCosts<'h> {
    graph: &'h HeapGraph,
    kinds: &'h dyn ReferenceKinds,
    /// By small label, as far as they were met.
    costs_by_small_label: Vec<Option<LabelledCost>>,
    costs_by_large_label: FxHashMap<u32, LabelledCost>,
    /// By the code that functions share: what their contexts cost.
    context_costs: FxHashMap<NodeId, u8>,
    symbol_table: &'h mut SymbolTable,
    function_types: TypeSet,
    /// Objects whose properties may be keys.
    plain_object_types: TypeSet,
    global_objects: NodeSet,
    /// By type: its objects refer to one another as a list does.
    folds_same_type: Vec<bool>,
    /// Labels of the references of the object at hand.
    label_buffer: Vec<u32>,
}

impl<'h> JavaScriptReferenceCosts<'h> {
    pub(super) fn new(heap: &'h ClassifiedHeap<'_>, kinds: &'h dyn ReferenceKinds, names: &'h mut SymbolTable) -> Self {
        let graph = heap.graph;
        let is_global =
            |name: &str| name == "system / NativeContext" || name == "global" || name.starts_with("global / ");
        let global_types = TypeSet::of(graph, |type_id| is_global(graph.type_name(type_id)));
        let mut global_objects = NodeSet::new(graph.node_count());
        graph.nodes().filter(|&node| global_types.contains(graph.type_of(node))).for_each(|node| {
            global_objects.insert(node);
        });
        JavaScriptReferenceCosts {
            graph,
            kinds,
            costs_by_small_label: Vec::new(),
            costs_by_large_label: FxHashMap::default(),
            context_costs: FxHashMap::default(),
            symbol_table: names,
            function_types: TypeSet::of(graph, |type_id| graph.type_name(type_id) == "Function"),
            plain_object_types: TypeSet::of(graph, |type_id| heap.type_roles[type_id.index()].has_no_own_class),
            global_objects,
            folds_same_type: heap.type_roles.iter().map(|type_role| type_role.folds_same_type).collect(),
            label_buffer: Vec::new(),
        }
    }

    /// The cost of a label. O(1).
    #[inline]
    fn cost_of_label(&mut self, label: u32) -> LabelledCost {
        match self.costs_by_small_label.get(label as usize) {
            Some(Some(cost)) => *cost,
            _ => self.find_cost_of_label(label),
        }
    }

    #[cold]
    fn find_cost_of_label(&mut self, label: u32) -> LabelledCost {
        if let Some(known) = self.costs_by_large_label.get(&label) {
            return *known;
        }
        let cost = self.new_cost_of_label(label);
        if label < LARGE_LABELS {
            let length = self.costs_by_small_label.len().max(label as usize + 1);
            self.costs_by_small_label.resize(length, None);
            self.costs_by_small_label[label as usize] = Some(cost);
        } else {
            self.costs_by_large_label.insert(label, cost);
        }
        cost
    }

    fn new_cost_of_label(&mut self, label: u32) -> LabelledCost {
        let (kinds, names) = (self.kinds, &mut *self.symbol_table);
        let (kind, name) = kinds.kind_and_name(label);
        let without_name = |cost, label| LabelledCost { cost, label, ..LabelledCost::default() };
        match kind {
            ReferenceKind::Element => return without_name(ORDINARY_REFERENCE_COST, ELEMENT_LABEL),
            ReferenceKind::Hidden => return without_name(HIDDEN_REFERENCE_COST, SymbolTable::place_label(0)),
            _ => {}
        }
        let text = kinds.name(name);
        let (is_property, is_internal) = (kind == ReferenceKind::Property, kind == ReferenceKind::Internal);
        let is_meta = ENGINE_REFERENCE_NAMES.contains(&text.as_ref())
            && (is_internal || is_property && ["__proto__", "constructor", "prototype"].contains(&text.as_ref()));
        let label = match () {
            () if is_meta && is_property => METADATA_LABEL,
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
        LabelledCost {
            cost,
            label,
            is_property,
            is_context: is_internal && text == "context",
            is_shared: is_internal && text == "shared",
            is_list_link: is_property && LIST_LINK_NAMES.contains(&text.as_ref()),
        }
    }

    /// What the context of a function costs besides; all functions that share their code have the same.
    fn cost_of_context(&mut self, function: NodeId, to: &[NodeId], labels: &[u32]) -> u8 {
        let mut references = to.iter().zip(labels);
        let shared = references.find_map(|(&to, &label)| self.cost_of_label(label).is_shared.then_some(to));
        let cost = || cost_of_script(self.kinds, function);
        shared.map_or_else(cost, |shared| *self.context_costs.entry(shared).or_insert_with(cost))
    }
}

/// What the context of a function of this script costs.
fn cost_of_script(kinds: &dyn ReferenceKinds, function: NodeId) -> u8 {
    // The engine's own functions (a promise's resolve) have no script and hide nothing.
    kinds.script_file(function).map_or(0, |script| match owner_of_script(&script) {
        CodeOwner::Application => 0,
        _ if script.is_empty() => 0,
        CodeOwner::Library => CONTEXT_OF_LIBRARY_COST,
        CodeOwner::Runtime => CONTEXT_OF_RUNTIME_COST,
    })
}

impl ReferenceCosts for JavaScriptReferenceCosts<'_> {
    fn prefetch(&self, from: NodeId) {
        self.kinds.prefetch_labels(self.graph, from);
    }

    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        let mut labels = std::mem::take(&mut self.label_buffer);
        labels.clear();
        self.kinds.append_labels(self.graph, from, &mut labels);
        let type_id = self.graph.type_of(from);
        let folds_same_type = self.folds_same_type[type_id.index()];
        let is_dictionary = labels.len() > MAX_FIELD_PROPERTIES
            && self.plain_object_types.contains(type_id)
            && labels.iter().filter(|&&label| self.cost_of_label(label).is_property).count() > MAX_FIELD_PROPERTIES;
        for (&target, &label) in to.iter().zip(&labels) {
            let LabelledCost { mut cost, mut label, is_property, is_context, is_list_link, .. } =
                self.cost_of_label(label);
            let type_of_target = || self.graph.type_of(target);
            if is_property && folds_same_type && cost == ORDINARY_REFERENCE_COST && type_of_target() == type_id {
                cost = 0;
            }
            if is_context && self.function_types.contains(type_id) {
                cost += self.cost_of_context(from, to, &labels);
            }
            if self.global_objects.contains(target) {
                cost += INTO_GLOBAL_COST;
            }
            let is_plain = |type_id| self.plain_object_types.contains(type_id);
            if is_list_link && is_plain(type_id) && is_plain(type_of_target()) {
                label = LIST_LINK_LABEL;
            }
            if is_property && is_dictionary {
                label = ELEMENT_LABEL;
            }
            steps.push(CostedReference { cost, label });
        }
        self.label_buffer = labels;
    }
}

/// Modules, what is global, and the categories of the engine.
pub(super) fn start_objects<'d>(
    heap: &ClassifiedHeap<'_>,
    reachable: &dyn Fn() -> &'d NodeSet,
    symbols: &mut SymbolTable,
) -> Vec<StartObject> {
    let (module, global, category) = (symbols.intern("module"), symbols.intern("global"), symbols.intern("category"));
    let roots = heap.graph.strong_roots().map(|root| match root.kind {
        RootKind::Static => StartObject { node: root.node, cost: GLOBAL_START_COST, label: global },
        _ => StartObject { node: root.node, cost: ROOT_CATEGORY_COST, label: category },
    });
    let modules = heap.modules.iter().filter(|(node, _)| reachable().contains(**node));
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
