//! Sizes, tables and buckets of the collections of a dump.

use std::collections::HashMap;

use crate::analysis::collections::{CollectionFields, CollectionSizeRule, CollectionTypes, SizeTerm};
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::input::{Contents, HeldValue};

#[derive(Debug, Clone, Copy)]
pub(super) struct FoundCollection {
    pub(super) node: NodeId,
    /// Number of its elements.
    pub(super) size: u64,
    /// The array of its elements.
    pub(super) table: Option<NodeId>,
    /// The collection that does the work for it.
    pub(super) inner: Option<NodeId>,
    /// Elements that the table has room for; `None` where it is short.
    pub(super) capacity: Option<u64>,
    /// Slots that an element takes.
    pub(super) slots_per_entry: u64,
    /// Slots with an entry, where slots are buckets.
    pub(super) used_buckets: Option<u64>,
}

/// All collections, ascending, those that work for another left out; and the tables of all.
pub(super) fn collections_of(
    graph: &HeapGraph,
    types: &CollectionTypes,
    contents: &Contents,
) -> (Vec<FoundCollection>, NodeSet) {
    let mut found: Vec<FoundCollection> = Vec::new();
    let mut wrappers: Vec<(NodeId, NodeId)> = Vec::new();
    let mut tables = NodeSet::new(graph.node_count());
    for fields in contents.field_values.chunk_by(|a, b| a.0 == b.0) {
        let node = fields[0].0;
        let Some(collection) = types.of_type(graph.type_of(node)) else { continue };
        let field = |place: usize| fields.iter().find(|field| field.1 == place as u16).map(|field| field.2);
        let object = |place: Option<usize>| match field(place?) {
            Some(HeldValue::Object(node)) => Some(node),
            _ => None,
        };
        if let Some(inner) = object(collection.wrapped_field) {
            wrappers.push((node, inner));
            continue;
        }
        let table = object(collection.table_field);
        if let Some(table) = table {
            tables.insert(table);
        }
        let Some(size) = collection_size(graph, types, contents, collection, table, &field) else { continue };
        let slots_per_entry = u64::from(collection.slots_per_entry);
        let length = table
            .and_then(|table| contents.reference_array_length_and_nulls(table))
            .map(|(length, _)| u64::from(length));
        found.push(FoundCollection {
            node,
            size,
            table,
            inner: None,
            capacity: length.map(|length| length / slots_per_entry),
            slots_per_entry,
            used_buckets: table.filter(|_| collection.has_buckets).map(|table| used_slot_count(graph, contents, table)),
        });
    }
    // Chains of wrappers: the outermost counts. A wrapper of what is no known collection is none.
    let wrapper_of: HashMap<NodeId, NodeId> = wrappers.iter().map(|&(outer, inner)| (inner, outer)).collect();
    for collection in &mut found {
        let inner = collection.node;
        for _ in 0..MAX_WRAPPERS {
            match wrapper_of.get(&collection.node) {
                Some(&outer) => collection.node = outer,
                None => break,
            }
        }
        collection.inner = (collection.node != inner).then_some(inner);
    }
    found.sort_unstable_by_key(|collection| collection.node);
    (found, tables)
}

/// Wrappers in wrappers that are looked through.
const MAX_WRAPPERS: usize = 8;

/// Elements that are not null.
pub(super) fn used_slot_count(graph: &HeapGraph, contents: &Contents, table: NodeId) -> u64 {
    match contents.reference_array_length_and_nulls(table) {
        Some((length, nulls)) => u64::from(length) - u64::from(nulls.min(length)),
        None => references_but_class(graph, table).len() as u64,
    }
}

/// References of an object without that to its class.
pub(super) fn references_but_class(graph: &HeapGraph, node: NodeId) -> &[NodeId] {
    let all = graph.strong_references(node);
    let has_class = graph.types().stores_class_reference(graph.type_of(node));
    if has_class { &all[..all.len().saturating_sub(1)] } else { all }
}

fn collection_size(
    graph: &HeapGraph,
    types: &CollectionTypes,
    contents: &Contents,
    collection: &CollectionFields,
    table: Option<NodeId>,
    field: &dyn Fn(usize) -> Option<HeldValue>,
) -> Option<u64> {
    let terms = match collection.size_rule.as_ref()? {
        CollectionSizeRule::UsedSlots => return Some(table.map_or(0, |table| used_slot_count(graph, contents, table))),
        CollectionSizeRule::Sum(terms) => terms,
    };
    let mut sum = 0i64;
    for &SizeTerm { is_negative, field: place, nested_field_number: nested_field, is_of_elements: of_elements } in terms
    {
        let number_of =
            |node: NodeId| match contents.field_value(node, types.nested_field(graph.type_of(node), nested_field?)?)? {
                HeldValue::Number(number) => Some(number),
                _ => None,
            };
        let term = match (field(place)?, nested_field) {
            (HeldValue::Number(number), None) => number,
            (HeldValue::Object(array), Some(_)) if of_elements => {
                references_but_class(graph, array).iter().filter_map(|&node| number_of(node)).fold(0, i64::wrapping_add)
            }
            (HeldValue::Object(node), Some(_)) => number_of(node)?,
            (HeldValue::Nothing, Some(_)) => 0,
            _ => return None,
        };
        sum = if is_negative { sum.wrapping_sub(term) } else { sum.wrapping_add(term) };
    }
    u64::try_from(sum).ok()
}
