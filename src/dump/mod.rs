//! An open dump: its content, what the file says of itself, and what follows from it, computed once when it is first
//! asked for.
//!
//! Here: opening (from the dump or from its index), roots as they are asked for, the memory limit, derived results.
//! Not here: formats (see `input`), algorithms (see `analysis`), questions and their answers (see `answers`), printing.

mod checked_output;
mod error;
mod index;
mod memory;
mod open;
mod options;
mod root_policy;
mod write_index;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use crate::index::IndexCheck;
pub use crate::input::{NoObserver, Observer, Phase};
pub use checked_output::{CheckedOutput, IndexesInUse};
pub use error::{DominatorError, NoValues, OpenError};
pub use index::{IndexMatch, WriteIndexError, compare_index, dump_of_index_or_path, inputs_of, path_of_index};
pub use memory::{AnswerNeed, MemoryError, MemoryLimit, MemoryPurpose};
pub use open::{CountedTypes, open};
pub use options::{IndexUse, OpenOptions};
pub use root_policy::{RootPolicy, parse_excluded_root_kind};
pub use write_index::write_index;

use crate::allocations::{AllocationDump, ClassHistograms};
use crate::analysis::collections::{CollectionRules, CollectionTypes};
use crate::analysis::dominators::Dominators;
use crate::analysis::reachability::compute_reachable;
use crate::analysis::retained::RetainedSizes;
use crate::analysis::shortest_parents::ShortestParents;
use crate::analysis::type_patterns::did_you_mean;
use crate::analysis::type_patterns::nearest_name;
use crate::graph::{HeapGraph, NodeSet};
use crate::input::{Diagnostics, Dump, FormatInfo, ObjectDetails, READERS, Runtime};
use index::IndexedResults;

/// Content of a dump.
#[derive(Debug, Clone, Copy)]
pub enum Content<'d> {
    /// Objects and references.
    Objects(&'d HeapGraph),
    /// Allocation totals by backtrace and type.
    Allocations(&'d AllocationDump),
    /// Objects and bytes by type alone.
    Histograms(&'d ClassHistograms),
}

/// A dump that is ready to be asked. Roots are complete: inferred where the format has none.
///
/// Derived results (what is reachable, the dominator tree, retained sizes) are computed on the first call that needs
/// them and kept; asking again costs nothing.
pub struct OpenDump {
    content: Dump,
    info: FormatInfo,
    diagnostics: Diagnostics,
    /// Reads single objects again.
    details: Option<Box<dyn ObjectDetails>>,
    hides_values: bool,
    /// The file it was read from; `None` for a pipe.
    path: Option<PathBuf>,
    memory_limit: MemoryLimit,
    /// The graph's share of the limit, while it is in memory.
    held_for_graph: Option<memory::HeldMemory>,
    /// The share of an index, where that counts, or of allocation totals.
    held_for_index_or_totals: Option<memory::HeldMemory>,
    /// The share of the dominator tree and the retained sizes.
    held_for_results: OnceLock<memory::HeldMemory>,
    observer: Arc<dyn Observer>,
    /// From an index, while the roots are those it was made with.
    indexed: Option<IndexedResults>,
    reachable: OnceLock<NodeSet>,
    reachable_as_dumped: OnceLock<NodeSet>,
    dominators: OnceLock<Dominators>,
    retained: OnceLock<RetainedSizes>,
    shortest_parents: OnceLock<ShortestParents>,
    collection_types: OnceLock<CollectionTypes>,
    /// Names of fields that were asked for, and that no object has.
    missing_fields: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for OpenDump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenDump").field("path", &self.path).field("format", &self.info.format).finish_non_exhaustive()
    }
}

impl OpenDump {
    /// Content of the dump: objects, allocation totals, or types alone.
    pub fn content(&self) -> Content<'_> {
        match &self.content {
            Dump::Graph(graph) => Content::Objects(graph),
            Dump::Allocations(dump) => Content::Allocations(dump),
            Dump::Histograms(histograms) => Content::Histograms(histograms),
        }
    }

    /// The known collections among the types. Once: O(types + fields).
    pub(crate) fn collection_types(&self) -> &CollectionTypes {
        self.collection_types.get_or_init(|| CollectionRules::built_in().resolve(self.graph_or_empty()))
    }

    /// Keeps in mind that a field was asked for which no object has.
    pub(crate) fn note_missing_field(&self, name: &str) {
        self.missing_fields.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_string());
    }

    /// The fields that were asked for since this was called last, and that no object has, in a sentence.
    pub fn missing_fields_note(&self) -> Option<String> {
        let missing = std::mem::take(&mut *self.missing_fields.lock().unwrap_or_else(PoisonError::into_inner));
        let names: Vec<String> = missing.iter().map(|name| format!(".{name}")).collect();
        let why = match self.info.runtime() {
            Some(Runtime::JavaScript) => {
                "; a V8 snapshot has those with small numbers only if it was taken with numbers, as `heapdump collect` does"
            }
            _ => "",
        };
        let near = self.graph().zip(missing.first()).and_then(|(graph, first)| {
            let types = graph.types();
            let declared = types.ids().flat_map(|type_id| types.fields(type_id)).map(|field| types.text(field.name));
            Some(format!(".{}", nearest_name(first, declared.filter(|name| name != first))?))
        });
        let hint = did_you_mean(near.as_deref());
        (!names.is_empty()).then(|| format!("no object has a field {}{why}{hint}", names.join(" or ")))
    }

    /// The object graph; `None` for a dump of allocation totals or of types alone.
    pub fn graph(&self) -> Option<&HeapGraph> {
        match &self.content {
            Dump::Graph(graph) => Some(graph),
            Dump::Allocations(_) | Dump::Histograms(_) => None,
        }
    }

    /// Facts that the file states about itself.
    pub fn info(&self) -> &FormatInfo {
        &self.info
    }

    /// Problems of the file.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Reads single objects of the dump again: values of fields, texts, names of references. `None` where the format says
    /// no more than the graph has, and where the dump came through a pipe that kept none of it.
    pub fn details(&self) -> Option<&dyn ObjectDetails> {
        self.details.as_deref()
    }

    /// The same, where the format says what objects hold besides references: texts, numbers, names.
    ///
    /// # Errors
    /// Why there are no values.
    pub fn values(&self) -> Result<&dyn ObjectDetails, NoValues> {
        let reader = READERS.iter().find(|reader| reader.name() == self.info.format);
        match &self.details {
            _ if !reader.is_some_and(|reader| reader.has_values()) => {
                Err(NoValues::NotInFormat(self.info.format.to_string()))
            }
            Some(_) if self.hides_values => Err(NoValues::Hidden),
            Some(details) => Ok(&**details),
            None if self.path.is_none() => Err(NoValues::PipeNotKept),
            None => Err(NoValues::OnlyAnIndex),
        }
    }

    /// The file it was read from; `None` for a pipe.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Tells the observer what is being done now.
    pub(crate) fn announce_phase(&self, phase: Phase) {
        self.observer.phase_begun(phase);
    }

    /// Tells the observer how many steps of the phase are done.
    pub(crate) fn announce_steps(&self, done: usize, total: usize) {
        self.observer.steps_done(done as u64, total as u64);
    }

    /// Objects that strong roots reach; of a dump of allocation totals the empty set. Once: O(objects + references), a bit per
    /// object.
    pub fn reachable(&self) -> &NodeSet {
        if let Some(indexed) = &self.indexed {
            return &indexed.derived.reachable;
        }
        self.reachable.get_or_init(|| match &self.content {
            Dump::Graph(graph) => match self.dominators.get() {
                // The tree has the same objects, but where it has such as nothing holds.
                Some(dominators) if !graph.has_unheld_in_dominator_tree() => dominators.reached_nodes(),
                _ => {
                    self.announce_phase(Phase::MarkingReachable);
                    compute_reachable(graph)
                }
            },
            Dump::Allocations(_) | Dump::Histograms(_) => NodeSet::new(0),
        })
    }

    /// Objects that the dump's own strong roots reach, whatever roots were excluded or added on request. Once: as
    /// [`reachable`](Self::reachable).
    pub fn reachable_as_dumped(&self) -> &NodeSet {
        match &self.content {
            Dump::Graph(graph) if graph.roots().iter().any(|root| root.is_excluded || root.is_requested()) => {
                self.reachable_as_dumped.get_or_init(|| root_policy::reachable_as_dumped(graph))
            }
            _ => self.reachable(),
        }
    }

    /// The dominator tree and retained sizes. Once: O(references x log objects), some 20 bytes per object meanwhile.
    ///
    /// # Errors
    /// When there is not the memory for them, or the dump has no references.
    pub fn dominators(&self) -> Result<(&Dominators, &RetainedSizes), DominatorError> {
        self.dominators_after_reachable(&mut || ())
    }

    /// The same. Where the tree is made now, `note_reachable` is called long before it is done: from then on
    /// [`reachable`](Self::reachable) knows what roots reach.
    pub(crate) fn dominators_after_reachable(
        &self,
        note_reachable: &mut dyn FnMut(),
    ) -> Result<(&Dominators, &RetainedSizes), DominatorError> {
        self.check_has_references()?;
        if let Some(indexed) = &self.indexed {
            return Ok((&indexed.derived.dominators, &indexed.derived.retained));
        }
        let graph = self.graph_or_empty();
        if self.dominators.get().is_none() {
            self.check_and_announce_dominators(graph)?;
            // Both at once is faster. Whoever was here meanwhile has the same.
            let (dominators, retained) = RetainedSizes::with_dominators(graph, &mut |reached| {
                _ = self.reachable.set(reached.clone());
                note_reachable();
            });
            _ = self.dominators.set(dominators);
            _ = self.retained.set(retained);
        }
        let dominators = self.dominator_tree()?;
        let retained = self.retained.get_or_init(|| RetainedSizes::compute(graph, dominators));
        self.held_for_results.get_or_init(|| self.memory_limit.hold_dominators(graph));
        Ok((dominators, retained))
    }

    /// The same where there can be any: `None` of a dump that broke off before its references.
    ///
    /// # Errors
    /// When there is not the memory for them.
    pub fn dominators_unless_cut(&self) -> Result<Option<(&Dominators, &RetainedSizes)>, MemoryError> {
        match self.dominators() {
            Ok(tree) => Ok(Some(tree)),
            Err(DominatorError::NoReferences) => Ok(None),
            Err(DominatorError::Memory(error)) => Err(error),
        }
    }

    /// The dominator tree without the sizes.
    ///
    /// # Errors
    /// As [`dominators`](Self::dominators).
    pub fn dominator_tree(&self) -> Result<&Dominators, DominatorError> {
        self.check_has_references()?;
        if let Some(indexed) = &self.indexed {
            return Ok(&indexed.derived.dominators);
        }
        let graph = self.graph_or_empty();
        if let Some(dominators) = self.dominators.get() {
            return Ok(dominators);
        }
        self.check_and_announce_dominators(graph)?;
        Ok(self.dominators.get_or_init(|| Dominators::compute(graph)))
    }

    fn check_has_references(&self) -> Result<(), DominatorError> {
        if self.graph_or_empty().lacks_references() { Err(DominatorError::NoReferences) } else { Ok(()) }
    }

    /// Fails when the dominator tree will not fit; else tells the observer that it is computed now.
    fn check_and_announce_dominators(&self, graph: &HeapGraph) -> Result<(), MemoryError> {
        self.memory_limit.check_dominators_memory(graph)?;
        self.announce_phase(Phase::ComputingDominators);
        Ok(())
    }

    /// Makes sure that there is room for what an answer needs besides the dominator tree and the retained sizes, and for
    /// `bytes` of its own.
    ///
    /// # Errors
    /// When there is not.
    pub fn check_answer_memory(&self, need: AnswerNeed, bytes: u64) -> Result<(), MemoryError> {
        self.memory_limit.check_answer_memory(self.graph_or_empty(), self.dominator_storage(), need, bytes)
    }

    /// Bytes that are still to be taken for what an answer needs, the dominator tree among them.
    pub(crate) fn answer_bytes(&self, need: AnswerNeed) -> u64 {
        memory::answer_bytes(self.graph_or_empty(), self.dominator_storage(), need)
    }

    /// Makes sure that there is room for so many rows of an answer from allocation totals.
    ///
    /// # Errors
    /// When there is not.
    pub fn check_rows_memory(&self, rows: u64, bytes_per_row: u64) -> Result<(), MemoryError> {
        self.memory_limit.check_fits(MemoryPurpose::Answer, rows.saturating_mul(bytes_per_row))
    }

    /// Memory that the dominator tree takes beside the graph, at the most.
    pub fn dominators_bytes(&self) -> u64 {
        memory::dominators_bytes(self.graph_or_empty())
    }

    fn dominator_storage(&self) -> memory::DominatorStorage {
        match (&self.indexed, self.held_for_results.get()) {
            (Some(_), _) => memory::DominatorStorage::Mapped,
            (None, Some(_)) => memory::DominatorStorage::Held,
            (None, None) => memory::DominatorStorage::NotComputed,
        }
    }

    /// Makes sure that there is room for all references reversed, which `HeapGraph::referrers` makes.
    ///
    /// # Errors
    /// When there is not.
    pub fn check_referrers_memory(&self) -> Result<(), MemoryError> {
        if self.indexed.is_some() {
            Ok(())
        } else {
            self.memory_limit.check_referrers_memory(self.graph_or_empty(), self.dominator_storage())
        }
    }

    /// Makes sure that there is room for exact retained sizes: markings of the graph without each of some sets.
    ///
    /// # Errors
    /// When there is not.
    pub fn check_exact_retained_memory(&self) -> Result<(), MemoryError> {
        self.memory_limit.check_exact_retained_memory(self.graph_or_empty())
    }

    /// Shortest paths from strong roots to every object. Once: O(objects + references), 8 bytes per object meanwhile and 4
    /// from then on.
    pub(crate) fn shortest_parents(&self) -> &ShortestParents {
        let computed = || self.shortest_parents.get_or_init(|| ShortestParents::compute(self.graph_or_empty()));
        self.indexed_shortest_parents().unwrap_or_else(computed)
    }

    /// The same, where an index has them.
    pub(crate) fn indexed_shortest_parents(&self) -> Option<&ShortestParents> {
        self.indexed.as_ref().map(|indexed| &indexed.derived.shortest_parents)
    }

    /// Returns true if the dump came from an index, and has the roots that it was made with.
    pub fn is_indexed(&self) -> bool {
        self.indexed.is_some()
    }

    /// Checks every block of the index that the dump came from, for answers that are printed while they are computed:
    /// [`index_check`](Self::index_check) then has the damage.
    /// O(bytes of the index), on all threads. Does nothing for a dump that came from no index.
    pub fn verify_index(&self) {
        if let Some(check) = self.index_check() {
            check.verify_all();
        }
    }

    /// Gives back the memory of what was read of the index that the dump came from: for programs that wait between answers.
    /// Pages that are read later are mapped again. Does nothing for a dump that came from no index.
    pub fn release_index_pages(&self) {
        if let Some(check) = self.index_check() {
            check.release_pages();
        }
    }

    /// Check of the index that the dump came from; `None` for a dump that came from no index. To be asked after the
    /// rows of an answer were made and before they are printed: an answer from a damaged index is wrong.
    pub fn index_check(&self) -> Option<IndexCheck> {
        self.indexed.as_ref().map(IndexedResults::index_check)
    }

    /// The graph, or one without objects for a dump that has none.
    fn graph_or_empty(&self) -> &HeapGraph {
        static EMPTY_GRAPH: OnceLock<HeapGraph> = OnceLock::new();
        self.graph().unwrap_or_else(|| EMPTY_GRAPH.get_or_init(HeapGraph::default))
    }
}
