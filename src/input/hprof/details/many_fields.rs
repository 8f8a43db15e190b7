//! Fields of many instances in one pass over the file: names of those by which objects refer to others, and values of all
//! of some names.

use rustc_hash::FxHashMap;

use super::finder::RecordFinder;
use super::object_pass::{ObjectVisitor, visit_objects};
use super::values::{FieldPlace, field_places, types_by_class_id, value_at};
use crate::graph::{FieldKind, GraphNameId, HeapGraph, NodeId, NodeSet, TypeId};
use crate::input::details::FIELD_VALUES_PER_BATCH;
use crate::input::hprof::wire::id_at_with_width;
use crate::input::{NamedFieldValue, ReadError};

/// The field of the first object of each pair that refers to the second, and what declares it; `None` where the first is
/// no instance. Pairs must ascend.
pub fn fields_between(
    finder: &RecordFinder,
    graph: &HeapGraph,
    pairs: &[(NodeId, NodeId)],
) -> Result<Vec<Option<(TypeId, GraphNameId)>>, ReadError> {
    let mut sources = NodeSet::new(graph.node_count());
    for (from, _) in pairs {
        sources.insert(*from);
    }
    let make = || FieldNameVisitor {
        graph,
        id_bytes: finder.places.id_bytes,
        sources: &sources,
        pairs,
        reference_places_by_type: FxHashMap::default(),
        found_fields: Vec::new(),
    };
    let mut names = vec![None; pairs.len()];
    for visitor in visit_objects(&finder.places, &finder.reread, make)? {
        for (at, declaring, name) in visitor.found_fields {
            names[at as usize] = Some((declaring, name));
        }
    }
    Ok(names)
}

/// Looks for the fields by which the first objects of pairs refer to the second.
struct FieldNameVisitor<'p> {
    graph: &'p HeapGraph,
    id_bytes: usize,
    sources: &'p NodeSet,
    pairs: &'p [(NodeId, NodeId)],
    /// References of types that were met.
    reference_places_by_type: FxHashMap<TypeId, Vec<FieldPlace>>,
    /// (pair, class that declares the field, its name).
    found_fields: Vec<(u32, TypeId, GraphNameId)>,
}

impl ObjectVisitor for FieldNameVisitor<'_> {
    fn visit_instance(&mut self, id: u64, _: u64, values: &[u8]) {
        let Some(from) = self.graph.node_of_id(id).filter(|&node| self.sources.contains(node)) else { return };
        let type_id = self.graph.type_of(from);
        let places = self.reference_places_by_type.entry(type_id).or_insert_with(|| {
            let mut places = field_places(self.graph, type_id, self.id_bytes);
            places.retain(|place| place.field.kind == FieldKind::Reference);
            places
        });
        let first = self.pairs.partition_point(|pair| pair.0 < from);
        let mut left = self.pairs[first..].iter().take_while(|pair| pair.0 == from).count();
        let pairs = &self.pairs[first..first + left];
        for place in places.iter() {
            let target = id_at_with_width(values, place.offset, self.id_bytes).filter(|&id| id != 0);
            let Some(to) = target.and_then(|id| self.graph.node_of_id(id)) else { continue };
            // Of several fields the first.
            let start = pairs.partition_point(|pair| pair.1 < to);
            for (at, pair) in pairs.iter().enumerate().skip(start) {
                if pair.1 != to {
                    break;
                }
                if !self.found_fields.iter().rev().take(pairs.len()).any(|found| found.0 == (first + at) as u32) {
                    self.found_fields.push(((first + at) as u32, place.declaring_type, place.field.name));
                    left -= 1;
                }
            }
            if left == 0 {
                break;
            }
        }
    }
}

/// Values of all fields of some names, ascending, as [`visit_field_values`](crate::input::ObjectDetails::visit_field_values).
pub fn visit_field_values(
    finder: &RecordFinder,
    graph: &HeapGraph,
    names: &[&str],
    take: &(dyn Fn(&[NamedFieldValue]) + Sync),
) -> Result<(), ReadError> {
    let id_bytes = finder.places.id_bytes;
    let wanted_fields_of = |type_id: TypeId| {
        let mut wanted: WantedFields = Vec::new();
        for place in field_places(graph, type_id, id_bytes) {
            // The nearest class comes first.
            if let Ok(name) = names.binary_search(&graph.types().text(place.field.name))
                && wanted.iter().all(|(known, ..)| *known != name)
            {
                wanted.push((name, place.field.kind, place.offset));
            }
        }
        wanted
    };
    let classes = types_by_class_id(graph).into_iter().map(|(class, type_id)| (class, wanted_fields_of(type_id)));
    let classes: FxHashMap<u64, WantedFields> = classes.filter(|(_, wanted)| !wanted.is_empty()).collect();
    let make =
        || FieldValueVisitor { graph, id_bytes, classes: &classes, last_class: (0, None), batch: Vec::new(), take };
    let visitors = visit_objects(&finder.places, &finder.reread, make)?;
    visitors.iter().for_each(|visitor| take(&visitor.batch));
    Ok(())
}

/// The wanted fields of a class: each with its name's place, its kind, and where it is in the values.
type WantedFields = Vec<(usize, FieldKind, usize)>;

/// Collects the values of all fields of some names.
struct FieldValueVisitor<'p> {
    graph: &'p HeapGraph,
    id_bytes: usize,
    /// Classes with wanted fields.
    classes: &'p FxHashMap<u64, WantedFields>,
    /// The class of the instance before, and its wanted fields.
    last_class: (u64, Option<&'p WantedFields>),
    /// Values that were not handed on yet.
    batch: Vec<NamedFieldValue>,
    take: &'p (dyn Fn(&[NamedFieldValue]) + Sync),
}

impl ObjectVisitor for FieldValueVisitor<'_> {
    fn visit_instance(&mut self, id: u64, class: u64, values: &[u8]) {
        if self.last_class.0 != class {
            self.last_class = (class, self.classes.get(&class));
        }
        let Some((fields, node)) = self.last_class.1.and_then(|fields| Some((fields, self.graph.node_of_id(id)?)))
        else {
            return;
        };
        for &(name_index, kind, at) in fields {
            if let Some(value) = value_at(self.graph, kind, values, at, self.id_bytes) {
                self.batch.push(NamedFieldValue { node, name_index, value });
            }
        }
        if self.batch.len() >= FIELD_VALUES_PER_BATCH {
            (self.take)(&self.batch);
            self.batch.clear();
        }
    }
}
