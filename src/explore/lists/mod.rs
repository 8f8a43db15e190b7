//! The lists of the browser, one file for views of one kind: answers turned into rows.

mod allocation_heaps;
mod growth;
mod objects;
mod paths;
mod suspects;
mod types;

pub(super) use allocation_heaps::AllocationTreeCache;
pub(super) use objects::list_side_pane_facts;
pub(super) use types::exact_retained_bytes;

use super::listing::Listing;
use super::setup::BrowsedDumps;
use super::view::{BrowserView, CommandContext};
use crate::answers::AnswerError;

/// Makes the list of a view. Error: why there is none, in words.
pub(super) fn make_listing(
    dumps: BrowsedDumps,
    view: &BrowserView,
    context: &CommandContext,
    heaps: &AllocationTreeCache,
) -> Result<Listing, String> {
    let dump = dumps.new;
    let made = match view {
        BrowserView::Suspects => suspects::list_suspects(dumps),
        BrowserView::Types(group) => types::list_types(dump, group.as_ref(), context),
        BrowserView::Groups(by) => types::list_groups(dump, *by, context),
        BrowserView::Dominators { dominator: of, is_merged_by_type: by_type } => {
            objects::list_dominated(dump, of.as_ref(), *by_type)
        }
        BrowserView::Objects { type_name, scope } => objects::list_objects_of_type(dump, type_name, scope),
        BrowserView::Object(place) => objects::list_object_facts(dump, place, usize::MAX),
        BrowserView::Paths(place, count) => paths::list_root_paths(dump, place, *count),
        BrowserView::MergedPaths { scope, .. } => paths::list_merged_paths(dump, scope),
        BrowserView::Growth(by) => growth::list_growth(dumps, *by, context),
        BrowserView::AllocationHeaps => heaps.list_heaps(dump),
        BrowserView::AllocationFrames {
            heap_index: heap, heap_choice: choice, tree_row: at, path_names: path, ..
        } => heaps.list_frames_below(dump, *heap, choice, *at, path.as_deref()),
    };
    made.map_err(|error: AnswerError| error.to_string())
}
