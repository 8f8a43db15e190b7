//! Objects that could be smaller: copies of texts and arrays, collections that are empty or mostly empty, boxed numbers, zeros; by
//! kind, and by the field that holds it. docs/waste.md has the kinds and their formulas.

mod options;
mod rows;
mod wasteful_objects;

use serde::Serialize;

use super::AnswerError;
use super::grouped_strings::{GroupedStrings, RedactedStrings, text_details};
use super::values::unreadable_values;
use crate::dump::OpenDump;
use crate::filter::Filter;
use crate::graph::HeapGraph;
use crate::input::{Runtime, WantedContents, empty_array_bytes};
use crate::units::format_bytes;

pub use options::{WasteKind, WasteOptions};
pub use rows::{FlatWasteRow, WasteKindRow, WasteRow};

/// Wasted bytes of a dump.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Waste {
    /// The name of the dump's format.
    pub format: String,
    /// The expression that wasting objects fulfil, where one was asked for.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Of all kinds that were asked for.
    pub totals: WasteTotals,
    /// Kinds that the dump cannot tell: its format has not what they are seen by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untold_kinds: Vec<WasteKind>,
    /// Strings whose characters were blotted out before the dump was handed on: neither duplicates nor zeros.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<RedactedStrings>,
    /// The kinds, most wasted bytes first.
    pub kinds: Vec<WasteKindRow>,
    /// No object fulfils the expression.
    #[serde(skip)]
    pub matches_nothing: bool,
    /// Wasted bytes that are too many, where that was asked for.
    #[serde(skip)]
    fail_over_bytes: Option<u64>,
    /// Strings of the dump, for the note on those that were blotted out.
    #[serde(skip)]
    string_count: u64,
}

/// Figures of all kinds together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WasteTotals {
    /// Wasted bytes; none of them counts twice.
    pub wasted_bytes: u64,
    /// Of the shallow bytes of all objects, 0 to 1.
    pub share: f64,
    /// Shallow bytes of all objects, whatever of them is wasted.
    pub heap_bytes: u64,
}

/// Finds what is wasted: one pass over the dump for its contents, one for the names of fields, and shortest paths to all
/// objects. Beside the graph 64 bytes for each string, 36 for each primitive array, 12 for each array of 16 references or
/// more, 100 for each collection, 56 for each object that wastes, 13 for each object.
///
/// # Errors
/// If the dump holds no objects, when a table of collections makes no sense, when there is not the memory.
pub fn waste(dump: &OpenDump, options: &WasteOptions) -> Result<Waste, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let collections = options.collections.rules()?.resolve(graph);
    // What arrays and fields hold; of JavaScript's heaps texts are known, and numbers one by one.
    let runtime = dump.info().runtime();
    let has_values = runtime == Some(Runtime::Java) && dump.values().is_ok();
    let details = match text_details(dump) {
        Ok(details) => Some(details),
        // Other formats tell less; a pipe could tell more.
        Err(AnswerError::NoValues(crate::dump::NoValues::NotInFormat(_) | crate::dump::NoValues::Hidden)) => None,
        Err(error) => return Err(error),
    };
    let no_details = details.is_none();
    let empty_array_bytes = wasteful_objects::empty_array_bytes(graph, empty_array_bytes(&dump.info().format));
    // References that lead nowhere look like nulls.
    let is_whole = graph.sections().iter().all(|section| section.dangling_references == 0) && !graph.is_sample();
    let can_tell = |kind: WasteKind| match kind {
        WasteKind::BoxedNumbers => has_values || no_details,
        WasteKind::DuplicateStrings => !no_details,
        WasteKind::SparseArrays => has_values || (no_details && is_whole),
        WasteKind::EmptyArrays => empty_array_bytes.is_some(),
        WasteKind::SameSizeArrays => runtime != Some(Runtime::JavaScript),
        _ => has_values,
    };
    let (told_kinds, untold): (Vec<_>, Vec<_>) = WasteKind::WORDS
        .iter()
        .map(|(_, kind)| *kind)
        .filter(|&kind| options.asks_for(kind, !no_details))
        .partition(|&kind| can_tell(kind));
    check_memory(dump, graph)?;
    let wanted = WantedContents {
        with_arrays: has_values,
        fields: if has_values { collections.needed_fields.clone() } else { Vec::new() },
        with_lengths: false,
    };
    let mut contents = match details {
        Some(details) => details.contents(graph, &wanted).map_err(unreadable_values)?,
        None => Default::default(),
    };
    let strings = GroupedStrings::new(graph, std::mem::take(&mut contents.strings));
    let mut found = wasteful_objects::find_waste(graph, &collections, &contents, &strings);
    drop(contents);
    if told_kinds.contains(&WasteKind::SparseArrays) && !has_values {
        wasteful_objects::add_sparse_arrays_by_size(graph, runtime, &mut found);
    }
    if let Some(bytes) = empty_array_bytes.filter(|_| told_kinds.contains(&WasteKind::EmptyArrays)) {
        wasteful_objects::add_empty_arrays(graph, bytes, &mut found);
    }
    if told_kinds.contains(&WasteKind::SameSizeArrays) {
        wasteful_objects::add_same_size_arrays(graph, &mut found);
    }
    let fulfilling = options.filter.as_ref().map(|filter| filter.select(dump, 0..graph.node_count())).transpose()?;
    if let Some(fulfilling) = &fulfilling {
        found.retain(|wasting| fulfilling.contains(wasting.node));
    }
    let heap_bytes = wasteful_objects::heap_bytes(graph);
    let kinds = rows::rows_by_kind(dump, &collections, found, &told_kinds, options)?;
    let wasted_bytes = kinds.iter().map(|kind| kind.wasted_bytes).sum::<u64>();
    Ok(Waste {
        format: dump.info().format.to_string(),
        filter: options.filter.as_ref().map(Filter::joined_text),
        matches_nothing: fulfilling.is_some_and(|fulfilling| fulfilling.is_empty()),
        totals: WasteTotals { wasted_bytes, share: wasted_bytes as f64 / heap_bytes.max(1) as f64, heap_bytes },
        untold_kinds: untold,
        redacted: strings.redacted,
        string_count: strings.totals.strings,
        kinds,
        fail_over_bytes: options.fail_over.map(|limit| limit.max_bytes_of(heap_bytes)),
    })
}

fn check_memory(dump: &OpenDump, graph: &HeapGraph) -> Result<(), AnswerError> {
    // Strings and arrays are a third of a heap's objects as a rule; what is found is less than that.
    Ok(dump.check_rows_memory(graph.node_count() as u64, 40)?)
}

impl Waste {
    /// Note on a dump whose texts were blotted out.
    pub fn redaction_note(&self) -> Option<String> {
        self.redacted.map(|redacted| redacted.redaction_note(self.string_count))
    }

    /// Sentence for waste over the limit.
    pub fn over_limit_sentence(&self) -> Option<String> {
        let limit = self.fail_over_bytes.filter(|&limit| self.totals.wasted_bytes > limit)?;
        let wasted = self.totals.wasted_bytes;
        Some(format!("{} is wasted, over the limit of {}", format_bytes(wasted), format_bytes(limit)))
    }

    /// Kinds that the dump cannot tell, in a sentence.
    pub fn untold_note(&self) -> Option<String> {
        let names: Vec<&str> = self.untold_kinds.iter().map(|kind| kind.name()).collect();
        let format = &self.format;
        (!names.is_empty()).then(|| format!("{format} dumps cannot show these: {}", names.join(", ")))
    }

    /// The rows of all kinds, one below the other.
    pub fn flat_rows<'w>(&'w self) -> Vec<FlatWasteRow<'w>> {
        let rows_of = |of: &'w WasteKindRow| of.rows.iter().map(|row| FlatWasteRow { kind: of.kind, row });
        self.kinds.iter().flat_map(rows_of).collect()
    }
}
