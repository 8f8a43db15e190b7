//! The lists of the browser, one file for views of one kind: answers turned into rows.

mod growth;
mod heaps;
mod objects;
mod paths;
mod suspects;
mod types;

pub(super) use heaps::Heaps;
pub(super) use objects::beside;
pub(super) use types::exact_retained;

use super::ask::Dumps;
use super::list::Listing;
use super::view::{Context, View};
use crate::answers::AnswerError;

/// Makes the list of a view.
///
/// # Errors
/// Why there is none, in words.
pub(super) fn make(dumps: Dumps, view: &View, context: &Context, heaps: &Heaps) -> Result<Listing, String> {
    let dump = dumps.new;
    let made = match view {
        View::Suspects => suspects::suspects(dumps),
        View::Types(group) => types::types(dump, group.as_ref(), context),
        View::Groups(by) => types::groups(dump, *by, context),
        View::Dominators { of, by_type } => objects::dominators(dump, of.as_ref(), *by_type),
        View::Objects { type_name, scope } => objects::of_type(dump, type_name, scope),
        View::Object(place) => objects::object(dump, place, usize::MAX),
        View::Paths(place, count) => paths::paths(dump, place, *count),
        View::MergedPaths { scope, .. } => paths::merged(dump, scope),
        View::Growth(by) => growth::growth(dumps, *by, context),
        View::Heaps => heaps.list(dump),
        View::Frames { heap, choice, at, path, .. } => heaps.below(dump, *heap, choice, *at, path.as_deref()),
    };
    made.map_err(|error: AnswerError| error.to_string())
}
