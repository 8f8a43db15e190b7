//! The answers of the page, each asked once.

use super::PageOptions;
use crate::answers::breakdown::{Breakdown, BreakdownOptions};
use crate::answers::browse::{DominatorTreeView, RootPathFinder, dominator_tree_view, root_path_finder};
use crate::answers::diff::{Diff, DiffBy, DiffOptions, RETAINED_DELTA, diff};
use crate::answers::figure::{REACHABLE_BYTES, RETAINED};
use crate::answers::histogram::Totals;
use crate::answers::leaks::Leaks;
use crate::answers::libraries::LibraryNames;
use crate::answers::type_treemap::{TypeTreemap, type_treemap};
use crate::answers::waste::{Waste, WasteOptions, waste};
use crate::answers::{
    AnswerError, GroupBy, Histogram, HistogramOptions, Info, InfoOptions, LeaksOptions, Limits, RetainedBy,
    ScopeOptions, Threads, ThreadsOptions, breakdown, histogram, info, leaks, leaks_since, threads,
};
use crate::dump::{Content, OpenDump};

pub(super) struct PageAnswers<'d> {
    pub(super) info: Info,
    pub(super) histogram: Histogram,
    /// By module or package, and by section.
    pub(super) groups: Vec<(GroupBy, Histogram)>,
    /// What grew, by type.
    pub(super) growth_by_type: Option<Diff>,
    pub(super) grown_paths: Option<Diff>,
    pub(super) old_totals: Option<Totals>,
    pub(super) content: PageContent<'d>,
    /// Threads, where the dump names them; not of one section of several.
    pub(super) threads: Option<Threads<'d>>,
    /// Of dumps whose format has texts or values, and of all sections.
    pub(super) waste: Option<Waste>,
    pub(super) library_names: LibraryNames,
}

pub(super) enum PageContent<'d> {
    Objects(Box<ObjectAnswers<'d>>),
    Allocations(Breakdown<'d>),
}

pub(super) struct ObjectAnswers<'d> {
    pub(super) leaks: Leaks<'d>,
    pub(super) type_treemap: TypeTreemap<'d>,
    pub(super) dominator_tree_view: DominatorTreeView<'d>,
    pub(super) root_path_finder: RootPathFinder<'d>,
}

impl<'d> PageAnswers<'d> {
    /// Asks everything. What is wasted takes as long as half of the rest, and is looked for beside it.
    pub(super) fn ask(
        old: Option<&'d OpenDump>,
        dump: &'d OpenDump,
        options: &PageOptions,
    ) -> Result<Self, AnswerError> {
        if dump.graph().is_some() {
            // Both need it.
            dump.dominators()?;
        }
        std::thread::scope(|threads| {
            let waste = threads.spawn(|| waste_of(dump, options));
            let mut page = Self::ask_but_waste(old, dump, options)?;
            page.waste = waste.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(page)
        })
    }

    fn ask_but_waste(
        old: Option<&'d OpenDump>,
        dump: &'d OpenDump,
        options: &PageOptions,
    ) -> Result<Self, AnswerError> {
        let scope = ScopeOptions::of_section(options.dump_section.as_deref());
        let is_graph = dump.graph().is_some();
        let types = HistogramOptions {
            scope: scope.clone(),
            retained: is_graph.then_some(RetainedBy::Minimum),
            order: is_graph.then_some(RETAINED),
            ..HistogramOptions::default()
        };
        let histogram_of = |by: GroupBy| histogram(dump, &HistogramOptions { group_by: by, ..types.clone() });
        let mut groups = Vec::new();
        if is_graph {
            let mut by = [GroupBy::Module, GroupBy::Package].into_iter();
            groups.extend(by.find_map(|by| Some((by, histogram_of(by).ok()?))));
            if dump.graph().is_some_and(|graph| graph.sections().len() > 1) {
                groups.push((GroupBy::Section, histogram_of(GroupBy::Section)?));
            }
        }
        if let Content::Allocations(allocations) = dump.content() {
            // Without them where they take more memory than they may.
            let by = GroupBy::of_frames(allocations.frame_naming);
            groups.extend(histogram_of(by).ok().map(|answer| (by, answer)));
        }
        let content = if is_graph {
            let leaks_options = LeaksOptions {
                threshold: options.suspect_threshold,
                libraries: options.library_types.clone(),
                scope: scope.clone(),
                rows: Some(MAX_SUSPECTS),
                with_unchanged: true,
                ..LeaksOptions::default()
            };
            PageContent::Objects(Box::new(ObjectAnswers {
                leaks: match old {
                    Some(old) => leaks_since(old, dump, &leaks_options)?,
                    None => leaks(dump, &leaks_options)?,
                },
                type_treemap: type_treemap(dump, options.dump_section.as_deref())?,
                dominator_tree_view: dominator_tree_view(dump, options.dump_section.as_deref())?,
                root_path_finder: root_path_finder(dump)?,
            }))
        } else {
            PageContent::Allocations(breakdown(
                dump,
                &BreakdownOptions { scope: scope.clone(), ..BreakdownOptions::default() },
            )?)
        };
        let threads_options = ThreadsOptions {
            limits: Limits { rows: Some(MAX_THREADS), ..Limits::default() },
            ..ThreadsOptions::default()
        };
        let all = HistogramOptions { scope: scope.clone(), ..HistogramOptions::default() };
        // Retained bytes too where there are objects.
        let order = is_graph.then_some(RETAINED_DELTA);
        let growth = DiffOptions { scope: scope.clone(), with_retained: is_graph, order, ..DiffOptions::default() };
        Ok(PageAnswers {
            threads: match threads(dump, &threads_options) {
                Ok(threads) if options.dump_section.is_none() && threads.thread_count > 0 => Some(threads),
                Ok(_) | Err(AnswerError::NeedsObjects) => None,
                Err(error) => return Err(error),
            },
            info: info(dump, &InfoOptions::default())?,
            histogram: histogram_of(GroupBy::Type)?,
            groups,
            growth_by_type: old.map(|old| diff(old, dump, &growth)).transpose()?,
            // Without paths where they take more memory than they may.
            grown_paths: old.and_then(|old| diff(old, dump, &grown_path_options(scope.clone(), is_graph)).ok()),
            old_totals: old.map(|old| histogram(old, &all).map(|histogram| histogram.totals)).transpose()?,
            content,
            waste: None,
            library_names: LibraryNames::of(dump.info().runtime(), &options.library_types),
        })
    }

    /// Bytes that strong roots reach; of allocation totals all bytes.
    pub(super) fn reachable_bytes(&self) -> u64 {
        let totals = &self.histogram.totals;
        totals.figure(REACHABLE_BYTES).unwrap_or_else(|| totals.bytes())
    }
}

/// Wasted bytes. A page is worth having without them, when the dump cannot be read again or there is not the memory.
fn waste_of(dump: &OpenDump, options: &PageOptions) -> Option<Waste> {
    let has_texts = dump.details().is_some_and(|details| details.has_texts());
    let answer = (has_texts && options.dump_section.is_none()).then(|| waste(dump, &waste_options()))?.ok()?;
    (answer.totals.wasted_bytes > 0).then_some(answer)
}

pub(super) const MAX_SUSPECTS: usize = 12;

/// Threads that the page has, the largest.
pub(super) const MAX_THREADS: usize = 30;

/// Rows of each kind of waste.
const ROWS_PER_WASTE_KIND: usize = 5;

pub(super) fn waste_options() -> WasteOptions {
    let limits = Limits { rows: Some(ROWS_PER_WASTE_KIND), ..Limits::default() };
    WasteOptions { limits, ..WasteOptions::default() }
}

/// The most paths that grew that the page shows.
pub(super) const GROWN_PATHS_SHOWN: usize = 15;

/// The question for what grew by the types on the way down the dominator tree, or by backtrace.
pub(super) fn grown_path_options(scope: ScopeOptions, is_objects: bool) -> DiffOptions {
    let limits = Limits { rows: Some(GROWN_PATHS_SHOWN), ..Limits::default() };
    let by = if is_objects { DiffBy::Paths } else { DiffBy::Backtraces };
    DiffOptions { scope, by, limits, ..DiffOptions::default() }
}
