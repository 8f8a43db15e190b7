//! The causes of a dump: what grew since an older one, or what is large without it, made ready to be told.

use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};

use rustc_hash::FxHashSet;

use super::described_causes::{CauseNamer, CauseReason, DescribedCause};
use super::left_over::mark_surplus_twin_loaders;
use super::options::LeaksOptions;
use super::prepared_heap::{AnalysedHeap, ClassifiedHeap, HeapWithPaths, LeftOverLoaders, Modules, SymbolTable};
use super::suspect_growth::SuspectGrowth;
use crate::analysis::dominators::DominatorNode;
use crate::analysis::leaks::{
    BestPaths, GrownPlace, GrowthSearch, LeakCause, LeakSuspect, SearchMemory, SuspectBuilder, merge_rows_of_keys,
};
use crate::analysis::threshold::Threshold;
use crate::answers::AnswerError;
use crate::answers::libraries::LibraryNames;
use crate::dump::{AnswerNeed, OpenDump, Phase};
use crate::graph::{NodeSet, TypeId, TypeSet};
use crate::{parallel, sort};

/// Suspects with sentences, causes among them: each takes some reads of the dump.
pub(super) const MAX_DESCRIBED_SUSPECTS: usize = 100;
/// Causes that are looked at: far more than are named.
const MAX_CAUSES: usize = 24;

/// The words and figures that go with a suspect.
pub(super) struct DescribedSuspect {
    /// By how much it grew, where an older dump was given.
    pub(super) growth: Option<SuspectGrowth>,
    /// Its words: of the first that are shown.
    pub(super) named_cause: Option<Box<DescribedCause>>,
    /// The cause that is still to be named.
    unnamed_cause: Option<Box<LeakCause>>,
    /// The type of what is kept.
    pub(super) element_type: TypeId,
}

impl DescribedSuspect {
    /// Bytes outside the heap that go with it.
    pub(super) fn off_heap_bytes(&self) -> u64 {
        let of_cause = self.unnamed_cause.as_ref().map_or(0, |cause| cause.off_heap_bytes);
        self.named_cause.as_ref().map_or(of_cause, |named| named.off_heap_bytes)
    }
}

/// Dumps made ready, and the causes in the newer one.
pub(super) struct DumpCauses<'d> {
    pub(super) analysed: AnalysedHeap<'d>,
    analysed_older: Option<AnalysedHeap<'d>>,
    described_causes: Vec<DescribedCause>,
    /// Other large things; with an older dump those that did not grow.
    large_places: Vec<GrownPlace>,
    /// The least growth of a cause.
    pub(super) threshold_bytes: u64,
    shows_exact_bytes: bool,
}

/// Looks for causes: what grew since `old`, or what is large without it. O(objects + references) of both. `least_bytes` gives the
/// size from which that is said; with `old` it is for what did not grow.
///
/// # Errors
/// If a dump holds no objects, or takes more memory than it may.
pub(super) fn find_causes<'d>(
    old: Option<&'d OpenDump>,
    dump: &'d OpenDump,
    options: &LeaksOptions,
    least_bytes: impl FnOnce() -> Result<u64, AnswerError>,
) -> Result<DumpCauses<'d>, AnswerError> {
    let bytes_of_old = old.map_or(0, |old| old.answer_bytes(AnswerNeed::BestPaths));
    dump.check_answer_memory(AnswerNeed::BestPaths, bytes_of_old)?;
    dump.announce_phase(Phase::FindingSuspects);
    // The best ways take as long as the dominator trees, and need nothing of them but what roots reach.
    let mut made = Ok(());
    // Nothing is sent: the sender is dropped when it is known what roots reach, or when no tree can be made.
    let (sender, is_reachable_known) = channel::<()>();
    let mut make_trees = |sender: Sender<()>| {
        let mut sender = Some(sender);
        made = dump.dominators_after_reachable(&mut || drop(sender.take())).map(|_| ());
        drop(sender);
        if let (Some(old), Ok(())) = (old, &made) {
            made = old.dominators().map(|_| ());
        }
    };
    let reachable = |dump: &'d OpenDump| {
        _ = is_reachable_known.recv();
        dump.reachable()
    };
    // A thread of the pool waits for no other.
    let prepared = if rayon::current_num_threads() == 1 || rayon::current_thread_index().is_some() {
        make_trees(sender);
        prepare_heaps(old, dump, options, &reachable)
    } else {
        // The trees go to the pool, for they wait for nobody; details are read under a lock.
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| make_trees(sender));
            prepare_heaps(old, dump, options, &reachable)
        })
    };
    made?;
    let PreparedHeaps { mut new, old: mut before, twin_loaders: twins } = prepared?;
    dump.announce_phase(Phase::FindingSuspects);
    merge_rows_of_keys(&mut new.rows, before.as_mut().map(|before| &mut before.rows), &new.heap.type_roles);
    let before = old.zip(before).map(|(old, heap)| AnalysedHeap::new(old, heap)).transpose()?;
    let analysed = AnalysedHeap::new(dump, new)?;
    let least_bytes = least_bytes()?;
    // Not asked for before suspects are made, but by heaps with many causes.
    let (described_causes, large_places, threshold_bytes) = rayon::in_place_scope(|scope| {
        scope.spawn(|_| _ = LazyLock::force(&analysed.children));
        describe_causes(&analysed, before.as_ref(), twins.as_ref(), options, least_bytes)
    });
    let shows_exact_bytes = options.shows_exact_bytes;
    Ok(DumpCauses {
        analysed,
        analysed_older: before,
        described_causes,
        large_places,
        threshold_bytes,
        shows_exact_bytes,
    })
}

/// The causes, what else is large, and the least growth of a cause. O(objects).
fn describe_causes<'d>(
    analysed: &AnalysedHeap<'d>,
    before: Option<&AnalysedHeap<'d>>,
    twins: Option<&(String, String)>,
    options: &LeaksOptions,
    least_bytes: u64,
) -> (Vec<DescribedCause>, Vec<GrownPlace>, u64) {
    let type_roles = &analysed.heap.type_roles;
    let alone = GrowthSearch::new(&analysed.rows, None, type_roles, Threshold::Bytes(least_bytes));
    let search =
        before.map(|before| GrowthSearch::new(&analysed.rows, Some(&before.rows), type_roles, options.threshold));
    let mut large = alone.find_grown_places(usize::MAX);
    analysed.cause_analysis().narrow_to_holders(&mut large, least_bytes);
    let (found, search) = match &search {
        Some(search) => (search.find_grown_places(MAX_CAUSES), search),
        None => (large.drain(..large.len().min(MAX_CAUSES)).collect(), &alone),
    };
    let threshold = search.threshold_bytes();
    let finder = CauseNamer { analysed, analysed_older: before, search, shows_exact_bytes: options.shows_exact_bytes };
    // With an older dump all of these grew, told or not.
    let mut grew: Vec<u32> = found.iter().flat_map(|grown| &grown.rows).copied().collect();
    let mut named = finder.name_grown_places(found);
    named.extend(finder.name_left_over_loaders(twins));
    named.extend(finder.name_destroyed_activities());
    sort::rows_by_key(&mut named, |named| std::cmp::Reverse(named.grew_by_bytes));
    if before.is_some() {
        grew.extend(named.iter().flat_map(|named| &named.grown_rows));
        let is_told = analysed.rows.mark_with_ancestors_and_descendants(&grew);
        large.retain(|grown| !grown.rows.iter().any(|&row| is_told[row as usize]));
    }
    (named, large, threshold)
}

/// Heaps with their best ways.
struct PreparedHeaps<'d> {
    new: HeapWithPaths<'d>,
    old: Option<HeapWithPaths<'d>>,
    /// A type of loaders of which there are more than one that define one class, and the class.
    twin_loaders: Option<(String, String)>,
}

/// Finds out what is known before the search, and the best ways. O(objects + references).
fn prepare_heaps<'d>(
    old: Option<&'d OpenDump>,
    dump: &'d OpenDump,
    options: &LeaksOptions,
    reachable: &dyn Fn(&'d OpenDump) -> &'d NodeSet,
) -> Result<PreparedHeaps<'d>, AnswerError> {
    let memory = |dump: &'d OpenDump| dump.graph().map(SearchMemory::new).ok_or(AnswerError::NeedsObjects);
    // While others find out what roots reach.
    let first_memory = memory(old.unwrap_or(dump))?;
    let mut symbols = SymbolTable::default();
    let mut classify = |dump: &'d OpenDump| -> Result<(ClassifiedHeap<'d>, LeftOverLoaders), AnswerError> {
        let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
        let libraries = LibraryNames::of(dump.info().runtime(), &options.libraries).with_own(&options.mine);
        let heap = ClassifiedHeap::new(dump, graph, &libraries, &mut symbols);
        let loaders = heap.find_left_over_loaders(&|| reachable(dump));
        Ok((heap, loaders))
    };
    let (mut new, mut loaders) = classify(dump)?;
    let mut old = old.map(|old| Ok::<_, AnswerError>((old, classify(old)?))).transpose()?;
    let twin_loaders = mark_surplus_twin_loaders(old.as_mut().map(|(_, (_, loaders))| loaders), &mut loaders);
    new.left_over_loaders = loaders.left_over_nodes;
    let Some((old_dump, (mut heap, loaders))) = old else {
        let new = new.find_best_paths(&|| reachable(dump), &mut symbols, first_memory);
        return Ok(PreparedHeaps { new, old: None, twin_loaders });
    };
    heap.left_over_loaders = loaders.left_over_nodes;
    let old = heap.find_best_paths(&|| reachable(old_dump), &mut symbols, first_memory);
    let new = new.find_best_paths(&|| reachable(dump), &mut symbols, memory(dump)?);
    Ok(PreparedHeaps { new, old: Some(old), twin_loaders })
}

impl DumpCauses<'_> {
    /// The suspects, those with words first, and how many more there are that did not grow; these too where they are asked
    /// for. O(objects).
    pub(super) fn take_suspects(
        &mut self,
        libraries: &TypeSet,
        with_unchanged: bool,
    ) -> (Vec<(LeakSuspect, DescribedSuspect)>, usize) {
        let (named, large) = (std::mem::take(&mut self.described_causes), std::mem::take(&mut self.large_places));
        let named = named.into_iter().map(|named| {
            let topmost = named.topmost.clone();
            let (growth, element_type) = (named.growth, named.element_type);
            (
                topmost,
                DescribedSuspect { growth, element_type, unnamed_cause: None, named_cause: Some(Box::new(named)) },
            )
        });
        let unchanged = if self.analysed_older.is_some() && !with_unchanged { large.len() } else { 0 };
        let causes = self.analysed.cause_analysis();
        let evidence = SuspectBuilder {
            graph: causes.graph,
            dominators: causes.dominators,
            retained: causes.retained,
            children: causes.children,
            library_types: libraries,
        };
        let mut large =
            causes.measure_causes(if unchanged == 0 { large } else { Vec::new() }, &self.analysed.heap.off_heap_bytes);
        large.retain(|cause| !self.analysed.heap.is_runtime_machinery(cause.example));
        let search = self.analysed_older.as_ref().filter(|_| !large.is_empty()).map(|_| self.search_any_growth());
        let large = large.into_iter().map(|cause| {
            let element_type = self.analysed.rows.row(cause.grown_place.element_row).type_id;
            let growth = search.as_ref().map(|search| suspect_growth(search, &cause));
            let told = DescribedSuspect {
                growth,
                element_type,
                named_cause: None,
                unnamed_cause: Some(Box::new(cause.clone())),
            };
            (cause.topmost_objects, told)
        });
        let build = |(topmost, told): (Vec<DominatorNode>, DescribedSuspect)| {
            // An object that does not hold what grew, or what is asked for, stands for no more than itself.
            let threshold = i64::try_from(self.threshold_bytes).unwrap_or(i64::MAX);
            let least = told.growth.map_or(threshold, |growth| growth.retained_bytes_delta);
            let common = causes
                .common_dominator(&topmost)
                .filter(|&over| i64::try_from(causes.retained.bytes_at(over)).is_ok_and(|retained| least <= retained));
            Some((evidence.build_suspect(&topmost, common)?, told))
        };
        let mut suspects: Vec<_> = parallel::map(named.chain(large).collect(), &build).into_iter().flatten().collect();
        // Several causes may hang on one object.
        let mut known = FxHashSet::default();
        suspects.retain(|(suspect, _)| known.insert((suspect.suspected_object_count(), suspect.largest_object())));
        (suspects, unchanged)
    }

    /// The best ways in the newer dump, and its modules.
    pub(super) fn into_paths_and_modules(self) -> (BestPaths, Modules) {
        (self.analysed.rows.into_paths(), self.analysed.heap.modules)
    }

    fn search_any_growth(&self) -> GrowthSearch<'_> {
        let before = self.analysed_older.as_ref().map(|before| &before.rows);
        GrowthSearch::new(&self.analysed.rows, before, &self.analysed.heap.type_roles, Threshold::Bytes(1))
    }

    /// Gives the first of the suspects that are shown their words, whatever they grew by.
    pub(super) fn name_suspects(&self, suspects: &mut [(LeakSuspect, DescribedSuspect)]) {
        if suspects.iter().all(|(_, told)| told.unnamed_cause.is_none()) {
            return;
        }
        let (analysed, before, search) = (&self.analysed, self.analysed_older.as_ref(), self.search_any_growth());
        let finder =
            CauseNamer { analysed, analysed_older: before, search: &search, shows_exact_bytes: self.shows_exact_bytes };
        for (_, told) in suspects.iter_mut().take(MAX_DESCRIBED_SUSPECTS) {
            let cause = told
                .unnamed_cause
                .take()
                .map(|cause| Box::new(finder.name_cause(*cause, None, CauseReason::LargeSize)));
            told.named_cause = told.named_cause.take().or(cause);
        }
    }
}

/// By how much something that is large grew; no more than it retains.
fn suspect_growth(search: &GrowthSearch<'_>, cause: &LeakCause) -> SuspectGrowth {
    let grew_by: i64 = cause.grown_place.rows.iter().map(|&row| search.growth_bytes(row)).sum();
    let grew_by = grew_by.min(i64::try_from(cause.retained_bytes).unwrap_or(i64::MAX));
    let old = cause.retained_bytes.saturating_add_signed(grew_by.saturating_neg());
    SuspectGrowth { retained_bytes_old: old, retained_bytes_delta: grew_by }
}
