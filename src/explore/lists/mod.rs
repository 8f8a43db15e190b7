//! The lists of the browser, one file for views of one kind: answers turned into rows.

mod growth;
mod heaps;
mod objects;
mod paths;
mod suspects;
mod types;

pub(super) use heaps::Heaps;
pub(super) use objects::facts_beside_list;
pub(super) use types::exact_retained;

use super::list::Listing;
use super::setup::BrowsedDumps;
use super::view::{BrowserView, Context};
use crate::answers::AnswerError;

/// Makes the list of a view. Error: why there is none, in words.
pub(super) fn make(
    dumps: BrowsedDumps,
    view: &BrowserView,
    context: &Context,
    heaps: &Heaps,
) -> Result<Listing, String> {
    let dump = dumps.new;
    let made = match view {
        BrowserView::Suspects => suspects::suspects(dumps),
        BrowserView::Types(group) => types::types(dump, group.as_ref(), context),
        BrowserView::Groups(by) => types::groups(dump, *by, context),
        BrowserView::Dominators { of, by_type } => objects::dominators(dump, of.as_ref(), *by_type),
        BrowserView::Objects { type_name, scope } => objects::of_type(dump, type_name, scope),
        BrowserView::Object(place) => objects::object(dump, place, usize::MAX),
        BrowserView::Paths(place, count) => paths::paths(dump, place, *count),
        BrowserView::MergedPaths { scope, .. } => paths::merged(dump, scope),
        BrowserView::Growth(by) => growth::growth(dumps, *by, context),
        BrowserView::Heaps => heaps.list(dump),
        BrowserView::Frames { heap, choice, at, path, .. } => heaps.below(dump, *heap, choice, *at, path.as_deref()),
    };
    made.map_err(|error: AnswerError| error.to_string())
}
