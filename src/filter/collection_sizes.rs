//! Sizes, tables and buckets of the collections of a dump; lengths of arrays and texts.

use std::collections::HashMap;

use super::collection_elements::CollectionReader;
use super::error::{FilterProblem, unreadable};
use crate::analysis::collections::{CollectionFields, CollectionSizeRule, CollectionTypes, SizeTerm};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::input::{Contents, HeldValue, LengthColumn, WantedContents};

#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundCollection {
    pub(crate) node: NodeId,
    /// Number of its elements.
    pub(crate) size: u64,
    /// The array of its elements.
    pub(crate) table: Option<NodeId>,
    /// The collection that does the work for it.
    pub(crate) inner: Option<NodeId>,
    /// Elements that the table has room for; `None` where it is short.
    pub(crate) capacity: Option<u64>,
    /// Slots that an element takes.
    pub(crate) slots_per_entry: u64,
    /// Slots with an entry, where slots are buckets.
    pub(crate) used_buckets: Option<u64>,
}

/// All collections, ascending, those that work for another left out; and the tables of all.
pub(crate) fn collections_of(
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
pub(crate) fn used_slot_count(graph: &HeapGraph, contents: &Contents, table: NodeId) -> u64 {
    match contents.reference_array_length_and_nulls(table) {
        Some((length, nulls)) => u64::from(length) - u64::from(nulls.min(length)),
        None => references_but_class(graph, table).len() as u64,
    }
}

/// References of an object without that to its class.
pub(crate) fn references_but_class(graph: &HeapGraph, node: NodeId) -> &[NodeId] {
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

/// Elements of arrays and of known collections, UTF-16 units of texts. One pass over the heads of the dump's objects, and a few
/// reads for each collection that does not count its elements. Error: when the dump cannot be read again, or it takes more
/// memory than it may.
pub(super) fn read_sizes(
    dump: &OpenDump,
    graph: &HeapGraph,
    reader: &CollectionReader<'_>,
) -> Result<LengthColumn, FilterProblem> {
    let types = reader.types();
    let mut contents = read_contents_with_lengths(dump, graph, types.needed_fields.clone())?;
    let mut sizes = std::mem::take(&mut contents.lengths);
    for fields in contents.field_values.chunk_by(|a, b| a.0 == b.0) {
        let node = fields[0].0;
        let Some(collection) = types.of_type(graph.type_of(node)) else { continue };
        let field = |place: usize| fields.iter().find(|field| field.1 == place as u16).map(|field| field.2);
        let table = match collection.table_field.and_then(field) {
            Some(HeldValue::Object(table)) => Some(table),
            _ => None,
        };
        let size = collection_size(graph, types, &contents, collection, table, &field);
        size.into_iter().for_each(|size| sizes.set(node, size));
    }
    let mut others = Vec::new();
    let is_other = |node: &NodeId| types.elements_of_type(graph.type_of(*node)).is_some();
    for start in graph.nodes().filter(is_other).filter(|&node| sizes.get(node).is_none()) {
        let mut node = start;
        let mut size = None;
        for _ in 0..MAX_WRAPPERS {
            size = sizes.get(node);
            match reader.inner_collection(node)?.filter(|_| size.is_none()) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        if size.is_none() {
            size = reader.elements(start, 0)?.map(|found| found.count);
        }
        others.extend(size.map(|size| (start, size)));
    }
    others.into_iter().for_each(|(node, size)| sizes.set(node, size));
    Ok(sizes)
}

/// Bytes of an object while lengths are found: its length, and that of an array on its way there or the columns of a text.
const BYTES_PER_LENGTH: u64 = 32;

/// Lengths of arrays and texts, and some fields. One pass over the heads of the dump's objects. Error: when the dump has no
/// values, or cannot be read again, or it takes more memory than it may.
pub(super) fn read_contents_with_lengths(
    dump: &OpenDump,
    graph: &HeapGraph,
    fields: Vec<(TypeId, usize)>,
) -> Result<Contents, FilterProblem> {
    let details = dump.values()?;
    dump.check_rows_memory(graph.node_count() as u64, BYTES_PER_LENGTH)?;
    let wanted = WantedContents { with_arrays: false, fields, with_lengths: true };
    Ok(details.contents(graph, &wanted).map_err(unreadable)?)
}
