//! Names of references, functions and numbers.

use rustc_hash::FxHashMap;

use super::block::DANGLING_TARGET;
use super::collection_tables::{CollectionKind, first_entry_slot};
use super::edge_rules::WeakMapPairName;
use super::layout::{EdgeKind, NodeKind};
use super::reread_snapshot::{NODES_PER_LOCATION_START, RereadSnapshot};
use super::snapshot::Snapshot;
use crate::graph::SourcePlace;
use crate::input::{ReferenceName, ShownValue, Text, Value};

/// UTF-16 units of a key in the name of a map's entry.
const MAX_KEY_UNITS: usize = 60;

/// The edges of tables whose slot is behind another: that to a value, and the key before it. O(edges of the tables).
fn entry_keys(snapshot: &Snapshot, tables: &[(u32, CollectionKind)]) -> Vec<(u32, u32)> {
    let (mut keys, mut slots) = (Vec::new(), Vec::new());
    for &(table, _) in tables {
        slots.clear();
        for edge in snapshot.edges(table) {
            let name = Some(edge).filter(|&edge| snapshot.is_kind(edge, EdgeKind::Internal));
            let slot = name.and_then(|edge| snapshot.strings.get(snapshot.edge_number(edge))?.parse::<u64>().ok());
            slots.extend(slot.filter(|_| snapshot.targets[edge] != DANGLING_TARGET).map(|slot| (slot, edge)));
        }
        slots.sort_unstable();
        let pairs = slots.windows(2).filter(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        keys.extend(pairs.map(|pair| (pair[1].1 as u32, snapshot.targets[pair[0].1])));
    }
    keys.sort_unstable();
    keys
}

/// The name of objects with the variables of a function.
const CONTEXT_NAME: &str = "system / Context";

/// By scope a closure of the function that has it: a function that was never compiled has none yet. O(closures).
fn scope_closures(snapshot: &Snapshot) -> FxHashMap<u32, u32> {
    let closures = (0..snapshot.len() as u32).rev().filter(|&node| snapshot.kind(node) == NodeKind::Closure);
    let scoped = closures.filter_map(|node| {
        let shared = snapshot.field_target(node, "shared")?;
        let scope =
            ["name_or_scope_info", "scope_info"].into_iter().find_map(|name| snapshot.field_target(shared, name))?;
        Some((scope, node))
    });
    scoped.collect()
}

impl RereadSnapshot {
    /// The name of the reference that an edge of a node is.
    pub(super) fn reference_name(&self, node: u32, edge: usize) -> ReferenceName {
        let snapshot = &self.snapshot;
        let number = snapshot.edge_number(edge);
        let text = || snapshot.strings.text_or_placeholder(number).into_owned();
        let is = |kind| snapshot.is_kind(edge, kind);
        if is(EdgeKind::Property) {
            ReferenceName::Property(text())
        } else if is(EdgeKind::Element) {
            ReferenceName::Element(number.into())
        } else if is(EdgeKind::Context) {
            ReferenceName::CapturedVariable(text())
        } else if is(EdgeKind::Hidden) {
            if snapshot.strings.get(snapshot.names.get(node)) == Some(CONTEXT_NAME) {
                ReferenceName::CapturedVariableSlot(number.into())
            } else {
                ReferenceName::Internal(format!("slot {number}"))
            }
        } else {
            let text = text();
            match WeakMapPairName::parse(&text) {
                Some(pair) => ReferenceName::Internal(format!("value in WeakMap (table @{})", pair.table_id)),
                None => {
                    self.entry_name(node, edge, &text).map_or(ReferenceName::Internal(text), ReferenceName::MapEntry)
                }
            }
        }
    }

    /// The name of what lies in a slot of the table of a map or a set: where `edge` leads.
    fn entry_name(&self, table: u32, edge: usize, slot: &str) -> Option<String> {
        let at = self.collection_tables.binary_search_by_key(&table, |&(table, _)| table).ok()?;
        let slot: u64 = slot.parse().ok()?;
        let snapshot = &self.snapshot;
        let collection = self.collection_tables[at].1;
        let (word, slots) = match collection {
            CollectionKind::Map => ("Map", 3),
            CollectionKind::Set => ("Set", 2),
        };
        let place = slot.checked_sub(first_entry_slot(collection, snapshot.self_size(table))?)?;
        match (collection, place % slots) {
            (_, 0) => Some(format!("{word} key")),
            (CollectionKind::Map, 1) => {
                let keys = self.entry_keys.get_or_init(|| entry_keys(snapshot, &self.collection_tables));
                let key = keys.binary_search_by_key(&(edge as u32), |&(edge, _)| edge).ok();
                Some(key.map_or_else(|| "Map value".into(), |at| format!("Map[{}]", self.key_text(keys[at].1))))
            }
            _ => None,
        }
    }

    /// A key in words: a text in quotes, anything else by its id.
    fn key_text(&self, node: u32) -> String {
        match self.text(node, MAX_KEY_UNITS) {
            Some(key) => format!("{:?}{}", key.text, if key.is_cut { "…" } else { "" }),
            None => format!("@{}", self.snapshot.ids.get(node as usize)),
        }
    }

    /// The source place of a function, or of the constructor of an object. O(1).
    pub(super) fn source_place(&self, node: u32) -> Option<SourcePlace> {
        let starts = &self.location_starts[node as usize / NODES_PER_LOCATION_START..][..2];
        let locations = &self.snapshot.locations[starts[0] as usize..starts[1] as usize];
        let at = locations.binary_search_by_key(&node, |&(node, _)| node).ok()?;
        Some(locations[at].1)
    }

    /// The name of a function, or its place.
    pub(super) fn function_text(&self, node: u32) -> Option<String> {
        if self.snapshot.kind(node) != NodeKind::Closure {
            return None;
        }
        let name = self.snapshot.strings.text_or_placeholder(self.snapshot.names.get(node));
        Some(match self.source_place(node) {
            Some(place) if name.is_empty() => format!("({place})"),
            _ => format!("{name}()"),
        })
    }

    /// The name of the function whose variables a context has: of a closure with the scope of that.
    pub(super) fn function_of_variables(&self, node: u32) -> Option<String> {
        let snapshot = &self.snapshot;
        if snapshot.strings.get(snapshot.names.get(node)) != Some(CONTEXT_NAME) {
            return None;
        }
        let scope = snapshot.field_target(node, "scope_info")?;
        self.function_text(*self.scope_closures.get_or_init(|| scope_closures(snapshot)).get(&scope)?)
    }

    /// The short text of a node: texts, numbers, names of functions, with the place of these.
    pub(super) fn shown_value(&self, node: u32, most_units: usize) -> Option<ShownValue> {
        let snapshot = &self.snapshot;
        let name = || snapshot.strings.text_or_placeholder(snapshot.names.get(node)).into_owned();
        let said = |text: String| Text { text, is_cut: false };
        match snapshot.kind(node) {
            NodeKind::String | NodeKind::ConsString | NodeKind::SlicedString => {
                self.text(node, most_units).map(ShownValue::Text)
            }
            NodeKind::Number => {
                let text = snapshot.field_target_of_value(node, "value")?;
                Some(ShownValue::from(value_of_text(snapshot.strings.get(snapshot.names.get(text))?)))
            }
            NodeKind::Closure => {
                let place = self.source_place(node).map(|place| place.to_string());
                let words = match (name(), place) {
                    (name, Some(place)) if name.is_empty() => place,
                    (name, Some(place)) => format!("{name}() {place}"),
                    (name, None) => format!("{name}()"),
                };
                Some(ShownValue::Name(said(words)))
            }
            NodeKind::RegExp => Some(ShownValue::Name(said(name()))),
            NodeKind::Hidden => self.constant(node),
            _ => None,
        }
    }

    /// One of the four constants of JavaScript. Before V8 13 all are "Oddball", and their first slot has the word.
    fn constant(&self, node: u32) -> Option<ShownValue> {
        let snapshot = &self.snapshot;
        let name = |node: u32| snapshot.strings.get(snapshot.names.get(node));
        let word = match name(node)? {
            "system / Oddball" => {
                let is_word =
                    |&edge: &usize| snapshot.is_kind(edge, EdgeKind::Hidden) && snapshot.edge_number(edge) == 0;
                let target = snapshot.targets[snapshot.edges_of_value(node).find(is_word)?];
                Some(target).filter(|&target| target != DANGLING_TARGET).and_then(name)?
            }
            name => name,
        };
        Some(match word {
            "null" => Value::Null.into(),
            "true" | "false" => Value::Boolean(word == "true").into(),
            "undefined" => ShownValue::Name(Text { text: word.into(), is_cut: false }),
            _ => return None,
        })
    }
}

/// The value of a number, a truth value or another constant, as V8 writes it in text.
fn value_of_text(text: &str) -> Value {
    match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(number), _) => Value::Integer(number),
            (_, Ok(number)) => Value::Double(number),
            _ => Value::Text(text.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_values() {
        assert_eq!(value_of_text("-17"), Value::Integer(-17));
        assert_eq!(value_of_text("3.25"), Value::Double(3.25));
        assert_eq!(value_of_text("-Infinity"), Value::Double(f64::NEG_INFINITY));
        assert_eq!(value_of_text("true"), Value::Boolean(true));
        assert_eq!(value_of_text("1n"), Value::Text("1n".into()));
        assert!(matches!(value_of_text("NaN"), Value::Double(number) if number.is_nan()));
    }
}
