//! Values of all fields of some names, in all instances: one pass over the file.

use rustc_hash::FxHashMap;

use super::fields::field_places;
use super::finder::Finder;
use super::pass::{Visitor, visit};
use super::values::value_at;
use crate::graph::{FieldKind, HeapGraph, NodeId, TypeId};
use crate::input::{ReadError, Value};

/// For each name, ascending: the objects with such a field and what it holds, ascending.
pub fn values_of_fields(
    finder: &Finder,
    graph: &HeapGraph,
    names: &[&str],
) -> Result<Vec<Vec<(NodeId, Value)>>, ReadError> {
    let id_bytes = finder.places.id_bytes;
    let make = || Values { graph, id_bytes, names, places: FxHashMap::default(), found: vec![Vec::new(); names.len()] };
    let mut columns = vec![Vec::new(); names.len()];
    for visitor in visit(&finder.places, &finder.reread, make)? {
        columns.iter_mut().zip(visitor.found).for_each(|(column, found)| column.extend(found));
    }
    for column in &mut columns {
        column.sort_by_key(|(node, _)| *node);
    }
    Ok(columns)
}

struct Values<'p> {
    graph: &'p HeapGraph,
    id_bytes: usize,
    names: &'p [&'p str],
    /// Of types that were met: the wanted fields, each with its name's place, its kind, and where it is in the values.
    places: FxHashMap<TypeId, Vec<(usize, FieldKind, usize)>>,
    found: Vec<Vec<(NodeId, Value)>>,
}

impl Visitor for Values<'_> {
    fn instance(&mut self, id: u64, _: u64, values: &[u8]) {
        let Some(node) = self.graph.node_of_id(id) else { return };
        let type_id = self.graph.type_of(node);
        let (graph, id_bytes, names) = (self.graph, self.id_bytes, self.names);
        let places = self.places.entry(type_id).or_insert_with(|| {
            let mut wanted: Vec<(usize, FieldKind, usize)> = Vec::new();
            for place in field_places(graph, type_id, id_bytes) {
                let name = names.binary_search(&graph.types().text(place.field.name));
                // The nearest class comes first.
                if let Ok(name) = name
                    && wanted.iter().all(|(known, ..)| *known != name)
                {
                    wanted.push((name, place.field.kind, place.at));
                }
            }
            wanted
        });
        for &(name, kind, at) in places.iter() {
            if let Some(value) = value_at(graph, kind, values, at, id_bytes) {
                self.found[name].push((node, value));
            }
        }
    }
}
