//! The command that prints a view.

use super::listing::{Listing, SortOrder};
use super::view::{BrowsedObject, BrowserView, CommandContext};
use crate::analysis::threshold::Threshold;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::diff::DiffBy;
use crate::answers::figure::{RETAINED, SHALLOW};
use crate::answers::object::ObjectOptions;
use crate::answers::objects::ObjectsOptions;
use crate::answers::{
    BreakdownOptions, CommandLine, DiffOptions, DominatorTreeOptions, Figure, GroupBy, LeaksOptions, Limits,
    MergedPathsOptions, ObjectId, RootPathsOptions, ScopeOptions,
};
use crate::filter::Filter;

/// Rows that a command prints, of a list that has more than anybody reads; as many again for those further down.
const ROWS_PER_COMMAND: usize = 1000;

impl BrowserView {
    /// The command that prints it, in the order that it has. `listing`: once it is there. `find`: what is looked for.
    /// `seen`: rows up to the last one on the screen.
    pub(super) fn print_command(
        &self,
        context: &CommandContext,
        sort: SortOrder,
        find: Option<&TypePattern>,
        listing: Option<&Listing>,
        seen: usize,
    ) -> CommandLine {
        let find = find.filter(|_| self.is_narrowed_by_find());
        let found = |scope: ScopeOptions| ScopeOptions { types: find.cloned().map(Into::into), ..scope };
        let rows = listing.map_or(0, Listing::len);
        let most = seen.max(1).next_multiple_of(ROWS_PER_COMMAND);
        let limits = Limits { rows: (rows > most).then_some(most), reverse: sort.is_reversed };
        let order = sort.column.and_then(|column| listing?.columns.get(column)?.command_order);
        let id = |place: &BrowsedObject| place.id.parse::<ObjectId>().ok();
        match self {
            BrowserView::Suspects => LeaksOptions::default().command_line(),
            BrowserView::Types(group) => {
                let scope = group.as_ref().map_or_else(ScopeOptions::default, |group| group.scope.clone());
                context.histogram_options(GroupBy::Type, found(scope), order, limits).command_line()
            }
            BrowserView::Groups(by) => {
                let column = if *by == GroupBy::Section { "domain" } else { by.name() };
                let scope = find.map_or_else(ScopeOptions::default, |find| scope_of_matches(None, column, find));
                context.histogram_options(*by, scope, order, limits).command_line()
            }
            BrowserView::Dominators { dominator: of, is_merged_by_type: true }
                if find.is_some() || listing.is_some_and(|listing| listing.has_allocation_tree) =>
            {
                let scope = found(directly_dominated_scope(of.as_ref()));
                context.histogram_options(GroupBy::Type, scope, Some(RETAINED), limits).command_line()
            }
            BrowserView::Dominators { dominator: of, is_merged_by_type: true } => BreakdownOptions {
                object: of.as_ref().and_then(id),
                depth: Some(1),
                min_size: Some(Threshold::Bytes(0)),
                order,
                limits,
                ..BreakdownOptions::default()
            }
            .command_line(),
            BrowserView::Dominators { dominator: of, is_merged_by_type: false } if find.is_some() => {
                objects_options(found(directly_dominated_scope(of.as_ref())), order, limits).command_line()
            }
            BrowserView::Dominators { dominator: of, is_merged_by_type: false } => DominatorTreeOptions {
                object: of.as_ref().and_then(id),
                order,
                limits,
                ..DominatorTreeOptions::default()
            }
            .command_line(),
            BrowserView::Growth(by) => DiffOptions {
                scope: match by {
                    DiffBy::Groups(_) => found(ScopeOptions::default()),
                    _ => ScopeOptions::default(),
                },
                by: *by,
                with_retained: context.growth_has_retained(*by),
                order,
                limits,
                ..DiffOptions::default()
            }
            .command_line(),
            BrowserView::Objects { scope, .. } => {
                let scope = find.map_or_else(|| scope.clone(), |find| scope_of_matches(Some(scope), "type", find));
                objects_options(scope, order, limits).command_line()
            }
            BrowserView::Object(place) => id(place).map_or_else(CommandLine::without_command, |object| {
                ObjectOptions { max_references: limits.rows, ..ObjectOptions::new(object) }.command_line()
            }),
            BrowserView::Paths(place, paths) => id(place).map_or_else(CommandLine::without_command, |object| {
                RootPathsOptions { max_paths: Some(*paths), ..RootPathsOptions::new(object) }.command_line()
            }),
            BrowserView::MergedPaths { scope, .. } => MergedPathsOptions::of(scope.clone()).command_line(),
            BrowserView::AllocationHeaps => {
                BreakdownOptions { depth: Some(0), ..BreakdownOptions::default() }.command_line()
            }
            BrowserView::AllocationFrames { heap_choice: choice, path_names: path, .. } => BreakdownOptions {
                heaps: choice.clone(),
                below_path: path.clone(),
                depth: Some(1),
                ..BreakdownOptions::default()
            }
            .command_line(),
        }
    }
}

/// Objects directly below one place of the dominator tree.
fn directly_dominated_scope(of: Option<&BrowsedObject>) -> ScopeOptions {
    let text = match of {
        Some(place) => format!("dominator = '{}'", place.id),
        None => "dominator is null and retained is not null".into(),
    };
    ScopeOptions { filter: Filter::parse(&[text]).ok().flatten(), ..ScopeOptions::default() }
}

fn scope_of_matches(scope: Option<&ScopeOptions>, column: &str, find: &TypePattern) -> ScopeOptions {
    let pattern = match find.text() {
        text if text.starts_with('/') => text.to_string(),
        text => format!("'{}'", text.replace('\'', "''")),
    };
    let scope = scope.cloned().unwrap_or_default();
    let mut texts: Vec<String> = scope.filter.iter().flat_map(Filter::texts).map(str::to_string).collect();
    texts.push(format!("{column} ~ {pattern}"));
    ScopeOptions { filter: Filter::parse(&texts).ok().flatten(), ..scope }
}

fn objects_options(scope: ScopeOptions, order: Option<Figure>, limits: Limits) -> ObjectsOptions {
    let order = order.filter(|order| *order == SHALLOW).or(Some(RETAINED));
    ObjectsOptions { scope, order, limits, ..ObjectsOptions::default() }
}
