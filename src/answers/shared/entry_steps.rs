//! Steps of a path through the inner objects of a collection, told as one: `["abc-123"]`, `[12]`.

use super::rows::type_words;
use crate::analysis::collections::{CollectionTypes, ElementFields, EntryNames};
use crate::dump::OpenDump;
use crate::filter::{CollectionReader, ElementPart};
use crate::graph::{HeapGraph, NodeId, TypeId};
use crate::input::{ObjectDetails, ReferenceName, ShownValue, Value};

/// Inner objects that are one step, at most: of a longer chain each is told.
const MAX_INNER_OBJECTS: usize = 1000;
/// UTF-16 units of a key in a name.
const MAX_KEY_UNITS: usize = 60;

/// Reads keys and numbers of elements for their names.
#[derive(Debug, Clone, Copy)]
pub(in crate::answers) struct EntryNamer<'d> {
    pub(super) dump: &'d OpenDump,
    pub(super) graph: &'d HeapGraph,
    pub(super) details: &'d dyn ObjectDetails,
}

/// The collection that a path is in, and its inner objects so far.
#[derive(Debug, Clone, Default)]
pub(in crate::answers) struct OpenCollection {
    collection: Option<NodeId>,
    inner: Vec<NodeId>,
}

/// An element that a path comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::answers) struct EntryStep {
    /// Its key or number, in brackets.
    pub(in crate::answers) name: String,
    /// Types of the inner objects that lead to it.
    pub(in crate::answers) inner_types: Vec<String>,
}

impl OpenCollection {
    /// Takes the next object of a path; returns the step where it is an element of a collection before it. A few reads of
    /// the dump for an element.
    pub(in crate::answers) fn take(&mut self, namer: EntryNamer<'_>, node: NodeId) -> Option<EntryStep> {
        let (graph, types) = (namer.graph, namer.dump.collection_types());
        let type_id = graph.type_of(node);
        let is_collection = types.elements_of_type(type_id).is_some();
        if let Some(collection) = self.collection {
            let before = graph.type_of(*self.inner.last().unwrap_or(&collection));
            if types.is_inner_step(graph, before, type_id) && self.inner.len() < MAX_INNER_OBJECTS {
                self.inner.push(node);
                return None;
            }
        }
        let collection = std::mem::replace(&mut self.collection, is_collection.then_some(node));
        let inner = std::mem::take(&mut self.inner);
        let name = namer.name(types, collection?, &inner, node)?;
        let type_name = |node: &NodeId| graph.type_name(graph.type_of(*node)).to_string();
        Some(EntryStep { name, inner_types: inner.iter().map(type_name).collect() })
    }
}

impl EntryNamer<'_> {
    /// The name of an element, which the last of some inner objects of a collection holds; `None` where it is none.
    fn name(&self, types: &CollectionTypes, start: NodeId, inner: &[NodeId], element: NodeId) -> Option<String> {
        let (&last, before) = inner.split_last()?;
        let rule = |node: &NodeId| types.elements_of_type(self.graph.type_of(*node));
        let holder = *before.iter().rev().chain([&start]).find(|node| rule(node).is_some())?;
        let fields = rule(&holder)?;
        let is_set = [start].iter().chain(before).filter_map(rule).any(|fields| fields.is_set);
        let values = self.values_of(holder)?;
        if let Some(length) = self.details.elements(self.graph, last, 0).ok()?.map(|array| array.length) {
            let own = self.graph.references(last).position(|reference| reference.node == element)?;
            let Some(ReferenceName::Element(place)) = self.details.reference_name(self.graph, last, own).ok()? else {
                return None;
            };
            return self.name_in_array(fields, &values, (last, length), place, is_set.then_some(element));
        }
        let [key, value] = [&fields.entry.key, &fields.entry.value]
            .map(|names| CollectionTypes::field_number(self.graph, self.graph.type_of(last), names));
        let entry = self.values_of(last)?;
        let is_it = |field: Option<usize>| entry.get(field?).filter(|held| **held == Value::Object(element));
        if is_it(value).is_some() {
            return match key {
                Some(key) => self.key_text(entry.get(key)?),
                None => self
                    .place_in_chain(fields, &values, (holder, element), inner, value?)
                    .map(|place| format!("[{place}]")),
            };
        }
        is_it(key).filter(|_| is_set || value.is_none()).and_then(|key| self.key_text(key))
    }

    /// Returns true if references of inner objects of collections of a type lead to elements, as far as examples say so.
    pub(in crate::answers) fn are_elements(
        &self,
        collection: TypeId,
        is_set: bool,
        examples: &[(NodeId, NodeId)],
    ) -> bool {
        let Some(fields) = self.dump.collection_types().elements_of_type(collection) else { return false };
        let is_of = |names: &str, name: &str| names.split('|').any(|known| known == name);
        let name = |from: NodeId, to: NodeId| {
            let nth = self.graph.references(from).position(|reference| reference.node == to && !reference.is_weak)?;
            self.details.reference_name(self.graph, from, nth).ok()?
        };
        examples.iter().all(|&(from, to)| match name(from, to) {
            // Of arrays with keys beside it is not known here which is which.
            Some(ReferenceName::Element(_)) if fields.keys.or(fields.values).is_some() => false,
            Some(ReferenceName::Element(place)) => fields.slots_per_entry == 1 || is_set || place % 2 == 1,
            Some(ReferenceName::Field(_, name)) => {
                let EntryNames { key, value, .. } = &fields.entry;
                if is_set || value.is_empty() { is_of(key, &name) } else { is_of(value, &name) }
            }
            _ => false,
        })
    }

    fn name_in_array(
        &self,
        fields: &ElementFields,
        values: &[Value],
        (array, length): (NodeId, u64),
        place: u64,
        of_set: Option<NodeId>,
    ) -> Option<String> {
        let held_array = |field: Option<usize>| match values.get(field?) {
            Some(Value::Object(held)) => Some(*held),
            _ => None,
        };
        let element_at = |array: NodeId, place: u64| {
            let elements = self.details.elements(self.graph, array, place as usize + 1).ok()??;
            elements.first_elements.into_iter().nth(place as usize)
        };
        if let Some(element) = of_set {
            return self.key_text(&Value::Object(element));
        }
        if fields.slots_per_entry == 2 {
            return (place % 2 == 1).then(|| self.key_text(&element_at(array, place - 1)?)).flatten();
        }
        let keys = match (fields.keys, fields.values) {
            (Some(_), _) => held_array(fields.keys),
            (None, Some(_)) if held_array(fields.values) == Some(array) => held_array(fields.table),
            (None, Some(_)) => return None,
            (None, None) => None,
        };
        if let Some(keys) = keys {
            return self.key_text(&element_at(keys, place)?);
        }
        let head = match values.get(fields.head.unwrap_or(usize::MAX)) {
            Some(Value::Integer(head)) => u64::try_from(*head).ok()? % length.max(1),
            _ => 0,
        };
        Some(format!("[{}]", (place + length - head) % length.max(1)))
    }

    /// The number of an element in a list of entries: counted from the first of these, or from the last.
    fn place_in_chain(
        &self,
        fields: &ElementFields,
        values: &[Value],
        (holder, element): (NodeId, NodeId),
        inner: &[NodeId],
        value: usize,
    ) -> Option<u64> {
        let entries =
            inner.iter().skip_while(|node| self.graph.type_of(**node) != self.graph.type_of(inner[inner.len() - 1]));
        let entries: Vec<NodeId> = entries.copied().filter(|node| *node != holder).collect();
        let (first, _) = fields.first.as_ref().filter(|(_, through)| through.is_empty())?;
        if values.get(*first) != Some(&Value::Object(*entries.first()?)) {
            let Some(size) = fields.size else {
                // It does not count its elements: they are read.
                let found = CollectionReader::of(self.dump, self.graph).ok()?.elements(holder, usize::MAX).ok()??;
                let is_it = |(_, held): &(ElementPart, ElementPart)| held.object() == Some(element);
                return found.elements.iter().position(is_it).map(|place| place as u64);
            };
            let size = match values.get(size)? {
                // A counter of its own: that of a queue for several threads.
                Value::Object(counter) => self.values_of(*counter)?.into_iter().next()?,
                size => size.clone(),
            };
            let Value::Integer(size) = size else { return None };
            return u64::try_from(size).ok()?.checked_sub(entries.len() as u64);
        }
        let is_element = |node: &&NodeId| {
            !fields.skips_nulls || self.values_of(**node).is_some_and(|held| held.get(value) != Some(&Value::Null))
        };
        (entries.iter().filter(is_element).count() as u64).checked_sub(1)
    }

    /// What a key says, in brackets; of one that says nothing its type and id.
    fn key_text(&self, key: &Value) -> Option<String> {
        let node = match key {
            Value::Object(node) => *node,
            Value::Dangling(_) => return None,
            value => return Some(format!("[{}]", ShownValue::from(value.clone()).words())),
        };
        let said = self.details.shown_values(self.graph, &[node], MAX_KEY_UNITS).ok()?.pop().flatten();
        Some(match said {
            Some(ShownValue::Text(text)) => format!("[{:?}{}]", text.text, if text.is_cut { "…" } else { "" }),
            Some(value) => format!("[{}]", value.words()),
            None => {
                let name = self.graph.type_name(self.graph.type_of(node));
                format!("[{} {}]", type_words(name), self.graph.display_id(node))
            }
        })
    }

    fn values_of(&self, node: NodeId) -> Option<Vec<Value>> {
        let fields = self.details.fields(self.graph, node).ok()?;
        (!fields.is_empty()).then(|| fields.into_iter().map(|field| field.value).collect())
    }
}
