//! Leak suspects: objects, or many objects of one type, that retain an unusual share of the heap, with the evidence.

mod causes;
mod described_causes;
mod ended_states;
mod holder_words;
mod leak_path;
mod left_over;
mod options;
mod paragraph;
mod prepared_heap;
mod script_holder_words;
mod shapes;
mod special_cases;
mod survivors;
mod suspect_growth;
mod suspect_view;
mod suspects;

use std::cell::RefCell;

use serde::{Serialize, Serializer};

pub use described_causes::ElementTypeRow;
pub use holder_words::{HolderKind, HolderRow};
pub use options::LeaksOptions;
pub use survivors::{SurvivorRow, SurvivorRows, SurvivorTotals, Survivors, survivors};
pub use suspect_growth::SuspectGrowth;
pub use suspect_view::{AccumulationRow, HeldTypeRow, KeptTypeRow, SuspectKind, SuspectPath, SuspectRow, SuspectView};
pub use suspects::Suspects;

use causes::{DescribedSuspect, find_causes};
use suspect_view::held_types;

use super::detached_nodes::{DetachedRow, detached_trees};
use super::dump_comparison::check_runtimes;
use super::libraries::library_types;
use super::problems::{ProblemRow, problems_of};
use super::reference_names::ReferenceNames;
use super::rows::is_false;
use super::values::ValueReader;
use super::{AnswerError, CommandLine, Limits};
use crate::analysis::leaks::LeakSuspect;
use crate::analysis::root_paths::RootsByNode;
use crate::dump::OpenDump;
use crate::sort;

/// Leak suspects.
#[derive(Serialize)]
#[non_exhaustive]
pub struct Leaks<'d> {
    /// Bytes that strong roots reach, of the section asked for.
    pub reachable_bytes: u64,
    /// Bytes that a suspect retains at least; with an older dump: by which it grew.
    pub threshold_bytes: u64,
    /// An older dump was given.
    #[serde(skip)]
    pub is_of_growth: bool,
    /// The suspects that are shown, most retained bytes first.
    pub suspects: Suspects<'d>,
    /// Nodes that were taken out of their page and are held all the same, most retained bytes first; as many rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub detached: Vec<DetachedRow>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// Problems of the dump.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemRow>,
    /// Suspects that are left out.
    #[serde(skip)]
    pub omitted: OmittedSuspects,
}

/// Suspects that an answer leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OmittedSuspects {
    /// Beyond the number of suspects asked for.
    pub beyond_limit: usize,
    /// Of other types than were asked for.
    pub of_other_types: usize,
    /// That did not grow, where an older dump was given.
    pub unchanged: usize,
}

/// Leak suspects of a dump, those that grew most since an older dump first. As [`leaks`], for both dumps.
///
/// # Errors
/// As [`leaks`], of either dump.
pub fn leaks_since<'d>(
    old: &'d OpenDump,
    dump: &'d OpenDump,
    options: &LeaksOptions,
) -> Result<Leaks<'d>, AnswerError> {
    old.graph().ok_or(AnswerError::NeedsObjects)?;
    dump.graph().ok_or(AnswerError::NeedsObjects)?;
    check_runtimes(old, dump)?;
    find_suspects(dump, options, Some(old))
}

/// Looks for leak suspects. O(objects + references) beside the dominator tree: the best way to every object, and rows of them.
///
/// # Errors
/// If the dump holds no objects, has no such section, or takes more memory than it may.
pub fn leaks<'d>(dump: &'d OpenDump, options: &LeaksOptions) -> Result<Leaks<'d>, AnswerError> {
    find_suspects(dump, options, None)
}

fn find_suspects<'d>(
    dump: &'d OpenDump,
    options: &LeaksOptions,
    old: Option<&'d OpenDump>,
) -> Result<Leaks<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let scope = options.scope.resolve(dump)?;
    let mut reachable_bytes = 0u64;
    let least_bytes = || {
        let (dominators, retained) = dump.dominators()?;
        let tops = scope.top_level(dominators).into_iter();
        reachable_bytes = tops.fold(0, |sum, number| sum.saturating_add(retained.bytes_at(number)));
        Ok(options.threshold.min_bytes_of(reachable_bytes).max(1))
    };
    let libraries = library_types(graph, dump.info().runtime(), &options.libraries, &options.mine);
    let mut found = find_causes(old, dump, options, least_bytes)?;
    let (dominators, _) = dump.dominators()?;
    let threshold_bytes = found.threshold_bytes;
    let (mut rows, unchanged) = found.take_suspects(&libraries, options.with_unchanged);
    if old.is_none() {
        let bytes = |(suspect, told): &(LeakSuspect, DescribedSuspect)| {
            suspect.retained_bytes.saturating_add(told.off_heap_bytes())
        };
        sort::rows_by_key(&mut rows, |row| (std::cmp::Reverse(bytes(row)), row.0.accumulation.node));
    }
    let is_wanted = |(suspect, told): &(LeakSuspect, DescribedSuspect)| {
        let is_here = scope.section().is_none_or(|section| graph.section_of(suspect.largest_object()) == section);
        let is_of_type = scope.types().is_none_or(|wanted| {
            wanted.contains(graph.type_of(suspect.largest_object())) || wanted.contains(told.element_type)
        });
        is_here && is_of_type
    };
    let of_all_types = rows.len();
    rows.retain(is_wanted);
    let of_types = rows.len();
    let limits = Limits { rows: options.rows, reverse: false };
    let beyond_limit = limits.reverse_and_cut(&mut rows);
    found.name_suspects(&mut rows);
    let (paths, modules) = found.into_paths_and_modules();
    let (suspects, told): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let mut detached = detached_trees(dump, graph)?;
    detached.retain(|row| options.scope.types.as_ref().is_none_or(|wanted| wanted.matches(&row.type_name)));
    limits.reverse_and_cut(&mut detached);
    Ok(Leaks {
        detached,
        reachable_bytes,
        threshold_bytes,
        is_of_growth: old.is_some(),
        roots_inferred: graph.roots_inferred(),
        problems: problems_of(dump.diagnostics()),
        omitted: OmittedSuspects { beyond_limit, of_other_types: of_all_types - of_types, unchanged },
        suspects: Suspects {
            graph,
            dump,
            paths,
            modules,
            suspects,
            descriptions: told,
            library_types: libraries,
            reachable_bytes,
            reached_words: format!("all that is reachable{}", scope.reach_words()),
            shows_exact_bytes: options.shows_exact_bytes,
            with_all_steps: options.with_all_steps,
            read_words: options.read_words.clone(),
            roots: RootsByNode::new(graph),
            dominators,
            names: ReferenceNames::of(dump),
            values: ValueReader::of(dump),
            holder_cache: RefCell::default(),
            root_path_cache: RefCell::default(),
        },
    })
}

impl Suspects<'_> {
    /// A suspect below `len` with the evidence and the paragraph. O(length of its path).
    pub fn get(&self, at: usize) -> SuspectView<'_> {
        SuspectView::new(self, at, None)
    }

    /// The suspects, one by one.
    pub fn iter(&self) -> impl Iterator<Item = SuspectView<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The sentences of those that have one.
    pub fn cause_sentences(&self) -> Vec<String> {
        (0..self.len()).filter_map(|at| self.cause_sentence(at)).map(str::to_string).collect()
    }

    /// The lines of each, one by one; with what objects say of themselves where that is asked for and the dump has it.
    pub fn lines(&self, with_values: bool) -> impl Iterator<Item = Vec<String>> {
        let values = self.values.filter(|_| with_values);
        (0..self.len()).map(move |at| paragraph::suspect_lines(self, &SuspectView::new(self, at, values)))
    }
}

impl<'s> SuspectView<'s> {
    /// With `values` the paragraph has what objects say of themselves.
    fn new(suspects: &'s Suspects<'_>, at: usize, values: Option<ValueReader<'_>>) -> Self {
        let (graph, suspect) = (suspects.graph, &suspects.suspects[at]);
        let point = &suspect.accumulation;
        let DescribedSuspect { growth, named_cause: named, .. } = &suspects.descriptions[at];
        let mut look_further = CommandLine::new("dominators");
        look_further.add_word(graph.display_id(point.node)).add_option("--depth", Some("3"));
        suspects.read_words.iter().for_each(|word| _ = look_further.add_word(word));
        let mut view = SuspectView {
            row: suspects.row(at),
            owner: suspect.application_owner.map(|owner| suspects.object_row(owner, values)),
            accumulation_point: AccumulationRow::new(graph, point, suspects.object_row(point.node, values)),
            keeping: point
                .kept_type
                .map(|(type_id, objects)| KeptTypeRow { type_name: graph.type_name(type_id), objects }),
            path: suspects.path(at),
            holds: held_types(graph, suspect),
            contents_in_words: paragraph::contents_in_words(suspects, suspect, suspects.descriptions[at].element_type),
            off_heap_bytes: suspects.descriptions[at].off_heap_bytes(),
            growth: *growth,
            sentence: named.as_ref().map(|named| named.sentence.clone()),
            element: named.as_ref().map(|named| named.element.clone()),
            holder: named.as_ref().map(|named| named.holder.clone()),
            pattern: named.as_ref().and_then(|named| named.shape).map(|shape| shape.name),
            advice: named.as_ref().and_then(|named| named.shape).map(|shape| shape.advice),
            evidence: Vec::new(),
            text: String::new(),
            look_further,
        };
        let largest = suspects.object_row(suspect.largest_object(), values);
        view.evidence = paragraph::evidence_lines(suspects, at, &view, &largest);
        view.text = paragraph::suspect_lines(suspects, &view).join(" ");
        view
    }
}

impl Serialize for Suspects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
