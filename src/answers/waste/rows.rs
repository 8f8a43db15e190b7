//! Waste by kind, type and the field that holds it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::options::{ORDER_COLUMNS, WasteKind, WasteOptions};
use super::wasteful_objects::WastefulObject;
use crate::analysis::collections::CollectionTypes;
use crate::answers::AnswerError;
use crate::answers::figure::WASTED_BYTES;
use crate::answers::holders::{FieldHolderFinder, HolderName, short_holder_text};
use crate::answers::rows::type_words;
use crate::answers::scope::order_entry_of;
use crate::dump::OpenDump;
use crate::graph::{NodeId, TypeId};
use crate::sort;
use crate::units::format_bytes;

/// A kind and its rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WasteKindRow {
    /// The kind.
    pub kind: WasteKind,
    /// Objects of the kind.
    pub objects: u64,
    /// Bytes that they waste.
    pub wasted_bytes: u64,
    /// By what is wasted and what holds it.
    pub rows: Vec<WasteRow>,
    /// Rows that are not shown.
    #[serde(skip)]
    pub rows_hidden: usize,
}

/// Objects of one type that one field holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WasteRow {
    /// Type of the objects.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The type of the object that holds it; of a static variable the class. `None` for what a root holds, or nothing.
    pub holder: Option<String>,
    /// The field that holds it; where there is no type the root, or that nothing reaches it.
    pub reference: Option<String>,
    /// Number of them.
    pub objects: u64,
    /// Bytes that they waste.
    pub wasted_bytes: u64,
    /// Shallow bytes of each of them, where they are of one size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_each: Option<u64>,
    /// One of those that waste most.
    pub example: String,
    /// Holder and reference in words.
    #[serde(skip)]
    pub held_by: String,
}

impl WasteRow {
    /// Holder and reference in a narrow place.
    pub fn short_holder_text(&self) -> Cow<'_, str> {
        short_holder_text(&self.reference, &self.held_by)
    }

    /// The type, with the size of each object where that is known.
    pub fn type_with_size(&self) -> String {
        match self.bytes_each {
            Some(bytes) => format!("{} of {}", type_words(&self.type_name), format_bytes(bytes)),
            None => type_words(&self.type_name).into_owned(),
        }
    }
}

/// A row with its kind.
#[derive(Debug, Clone, Copy)]
pub struct FlatWasteRow<'w> {
    /// The kind.
    pub kind: WasteKind,
    /// The row.
    pub row: &'w WasteRow,
}

#[derive(Debug, Clone, Copy)]
struct WasteSum {
    objects: u64,
    wasted_bytes: u64,
    /// Bytes of the example, and the example.
    example: (u64, Reverse<NodeId>),
}

pub(super) fn rows_by_kind(
    dump: &OpenDump,
    collections: &CollectionTypes,
    mut found: Vec<WastefulObject>,
    told_kinds: &[WasteKind],
    options: &WasteOptions,
) -> Result<Vec<WasteKindRow>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    found.retain(|wasting| told_kinds.contains(&wasting.kind));
    let nodes: Vec<NodeId> = found.iter().map(|wasting| wasting.node).collect();
    let held = if nodes.is_empty() {
        Default::default()
    } else {
        FieldHolderFinder::new(dump, collections)?.holders_of(&nodes)?
    };
    drop(nodes);
    let mut sums: BTreeMap<(WasteKind, TypeId, u32, Option<u64>), WasteSum> = BTreeMap::new();
    for (wasting, &holder) in found.iter().zip(&held.name_by_object) {
        let each = (wasting.kind == WasteKind::SameSizeArrays).then(|| graph.shallow_bytes(wasting.node));
        let key = (wasting.kind, graph.shown_type_of(wasting.node), holder, each);
        let example = (wasting.wasted_bytes, Reverse(wasting.node));
        let sum = sums.entry(key).or_insert(WasteSum { objects: 0, wasted_bytes: 0, example });
        sum.objects += 1;
        sum.wasted_bytes += wasting.wasted_bytes;
        sum.example = sum.example.max(example);
    }
    let mut kinds: Vec<WasteKindRow> = told_kinds
        .iter()
        .map(|&kind| WasteKindRow { kind, objects: 0, wasted_bytes: 0, rows: Vec::new(), rows_hidden: 0 })
        .collect();
    for ((kind, type_id, holder, bytes_each), sum) in sums {
        let Some(row) = kinds.iter_mut().find(|row| row.kind == kind) else { continue };
        row.objects += sum.objects;
        row.wasted_bytes += sum.wasted_bytes;
        let name: &HolderName = &held.names[holder as usize];
        row.rows.push(WasteRow {
            type_name: graph.type_name(type_id).to_string(),
            holder: name.type_name.clone(),
            reference: name.reference.clone(),
            objects: sum.objects,
            wasted_bytes: sum.wasted_bytes,
            bytes_each,
            example: graph.display_id(sum.example.1.0),
            held_by: name.text(),
        });
    }
    let figures = order_entry_of(&ORDER_COLUMNS, options.order.unwrap_or(WASTED_BYTES))?;
    for kind in &mut kinds {
        sort::rows_by(&mut kind.rows, &|a, b| {
            let names = || (&a.type_name, &a.held_by, &a.example).cmp(&(&b.type_name, &b.held_by, &b.example));
            let figures = |row: &WasteRow| figures(row.wasted_bytes, row.objects);
            figures(b).cmp(&figures(a)).then_with(names)
        });
        kind.rows_hidden = options.limits.reverse_and_cut(&mut kind.rows);
    }
    sort::rows_by_key(&mut kinds, |kind| (Reverse(kind.wasted_bytes), kind.kind));
    Ok(kinds)
}
