//! Heaps of allocation totals, and their trees level by level.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::answers::breakdown::{BreakdownHeap, BreakdownRowKind, NAME_SEPARATOR, breakdown, heap_choice_of};
use crate::answers::figure::{ALLOCATIONS, BYTES};
use crate::answers::{AnswerError, BreakdownOptions, HeapChoice};
use crate::dump::OpenDump;
use crate::explore::list::{ListColumn, ListPart, ListRow, Listing, RowStyle, RowTarget};
use crate::explore::view::BrowserView;
use crate::units::signed;

const HEAP_COLUMNS: [ListColumn; 2] =
    [ListColumn::new(BYTES, 0).unsorted(), ListColumn::new(ALLOCATIONS, 72).unsorted()];

/// The trees that were asked for, which are kept: every level is a part of the one tree.
#[derive(Default)]
pub(crate) struct HeapTrees(Mutex<HashMap<Option<usize>, Arc<Vec<BreakdownHeap<'static>>>>>);

impl HeapTrees {
    fn trees(
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
    pub(super) fn list(&self, dump: &'static OpenDump) -> Result<Listing, AnswerError> {
        let heaps = self.trees(dump, Some(0))?;
        let whole = heaps.iter().fold(0u64, |sum, heap| sum.saturating_add(heap.heap.total_bytes));
        let rows = heaps.iter().enumerate().map(|(at, heap)| {
            let count = heap.tree.rows().first().and_then(|row| row.row.allocations);
            let figures = vec![Some(signed(heap.heap.total_bytes)), count.map(signed)];
            let name = heap.heap.title.clone();
            let view = BrowserView::Frames {
                heap: at,
                choice: heap_choice_of(&heaps, at),
                at: 0,
                path: None,
                name: name.clone(),
            };
            ListRow { figures, ..ListRow::new(name, RowTarget::View(Box::new(view))) }
        });
        let parts = vec![ListPart::Rows(rows.collect())];
        Ok(Listing {
            whole: Some(signed(whole)),
            empty_text: "no heaps".into(),
            ..Listing::new(&HEAP_COLUMNS, "Heap", parts)
        })
    }

    /// Rows below a row of the tree of a heap.
    pub(super) fn list_below(
        &self,
        dump: &'static OpenDump,
        heap: usize,
        choice: &HeapChoice,
        at: u32,
        path: Option<&str>,
    ) -> Result<Listing, AnswerError> {
        let heaps = self.trees(dump, None)?;
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
            let view = BrowserView::Frames { heap, choice, at: place as u32, path, name };
            let target = if is_leaf { RowTarget::NoTarget } else { RowTarget::View(Box::new(view)) };
            let is_rest = matches!(row.row.kind, BreakdownRowKind::SelfCost | BreakdownRowKind::Other);
            ListRow {
                figures: vec![Some(signed(row.row.bytes)), row.row.allocations.map(signed)],
                lead: if is_leaf || is_rest { String::new() } else { "+".into() },
                look: if is_rest { RowStyle::Faint } else { RowStyle::Plain },
                ..ListRow::new(if row.row.name.is_empty() { "\"\"" } else { row.row.name }, target)
            }
        });
        Ok(Listing {
            whole: Some(signed(parent.row.bytes)),
            empty_text: "nothing below".into(),
            ..Listing::new(&HEAP_COLUMNS, "Function or type", vec![ListPart::Rows(children.collect())])
        })
    }
}
