//! Heaps of allocation totals, and their trees level by level.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::answers::breakdown::{BreakdownHeap, BreakdownRowKind, NAME_SEPARATOR, breakdown, heap_choice_of};
use crate::answers::figure::{ALLOCATIONS, BYTES};
use crate::answers::{AllocationHeapChoice, AnswerError, BreakdownOptions};
use crate::dump::OpenDump;
use crate::explore::listing::{ListColumn, ListPart, ListRow, Listing, RowStyle, RowTarget};
use crate::explore::view::BrowserView;
use crate::units::saturating_signed;

const HEAP_COLUMNS: [ListColumn; 2] =
    [ListColumn::new(BYTES, 0).unsorted(), ListColumn::new(ALLOCATIONS, 72).unsorted()];

/// The trees that were asked for, which are kept: every level is a part of the one tree.
#[derive(Default)]
pub(crate) struct AllocationTreeCache(Mutex<HashMap<Option<usize>, Arc<Vec<BreakdownHeap<'static>>>>>);

impl AllocationTreeCache {
    fn trees_to_depth(
        &self,
        dump: &'static OpenDump,
        depth: Option<u32>,
    ) -> Result<Arc<Vec<BreakdownHeap<'static>>>, AnswerError> {
        let key = depth.map(|depth| depth as usize);
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(known));
        }
        let answer = Arc::new(breakdown(dump, &BreakdownOptions { depth, ..BreakdownOptions::default() })?.heaps);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&answer));
        Ok(answer)
    }

    /// All heaps, largest first as far as the file does not say otherwise.
    pub(super) fn list_heaps(&self, dump: &'static OpenDump) -> Result<Listing, AnswerError> {
        let heaps = self.trees_to_depth(dump, Some(0))?;
        let whole = heaps.iter().fold(0u64, |sum, heap| sum.saturating_add(heap.heap.total_bytes));
        let rows = heaps.iter().enumerate().map(|(at, heap)| {
            let count = heap.tree.rows().first().and_then(|row| row.row.allocations);
            let figures = vec![Some(saturating_signed(heap.heap.total_bytes)), count.map(saturating_signed)];
            let name = heap.heap.title.clone();
            let view = BrowserView::AllocationFrames {
                heap_index: at,
                heap_choice: heap_choice_of(&heaps, at),
                tree_row: 0,
                path_names: None,
                name: name.clone(),
            };
            ListRow { figures, ..ListRow::new(name, RowTarget::View(Box::new(view))) }
        });
        let parts = vec![ListPart::Rows(rows.collect())];
        Ok(Listing {
            share_total: Some(saturating_signed(whole)),
            empty_text: "no heaps".into(),
            ..Listing::new(&HEAP_COLUMNS, "Heap", parts)
        })
    }

    /// Rows below a row of the tree of a heap.
    pub(super) fn list_frames_below(
        &self,
        dump: &'static OpenDump,
        heap: usize,
        choice: &AllocationHeapChoice,
        at: u32,
        path: Option<&str>,
    ) -> Result<Listing, AnswerError> {
        let heaps = self.trees_to_depth(dump, None)?;
        let Some(tree) = heaps.get(heap).map(|heap| &heap.tree) else {
            return Err(AnswerError::NoSuchHeap(Vec::new()));
        };
        let rows = tree.rows();
        let Some(parent) = rows.get(at as usize) else { return Err(AnswerError::NoSuchHeap(Vec::new())) };
        let below = rows.iter().enumerate().skip(at as usize + 1).take_while(|(_, row)| row.depth > parent.depth);
        let children = below.filter(|(_, row)| row.depth == parent.depth + 1).map(|(place, row)| {
            let is_leaf = rows.get(place + 1).is_none_or(|next| next.depth <= row.depth);
            let (choice, name) = (choice.clone(), row.row.name.to_string());
            let path = Some(path.map_or_else(|| name.clone(), |path| format!("{path}{NAME_SEPARATOR}{name}")));
            let view = BrowserView::AllocationFrames {
                heap_index: heap,
                heap_choice: choice,
                tree_row: place as u32,
                path_names: path,
                name,
            };
            let target = if is_leaf { RowTarget::NoTarget } else { RowTarget::View(Box::new(view)) };
            let is_rest = matches!(row.row.kind, BreakdownRowKind::SelfCost | BreakdownRowKind::Other);
            ListRow {
                figures: vec![Some(saturating_signed(row.row.bytes)), row.row.allocations.map(saturating_signed)],
                leading_text: if is_leaf || is_rest { String::new() } else { "+".into() },
                style: if is_rest { RowStyle::Faint } else { RowStyle::Plain },
                ..ListRow::new(if row.row.name.is_empty() { "\"\"" } else { row.row.name }, target)
            }
        });
        Ok(Listing {
            share_total: Some(saturating_signed(parent.row.bytes)),
            empty_text: "nothing below".into(),
            ..Listing::new(&HEAP_COLUMNS, "Function or type", vec![ListPart::Rows(children.collect())])
        })
    }
}
