//! Causes with their names: what is kept, where, by whom, how it grew, in one sentence.

use serde::Serialize;

use super::ended_states::{ended_objects, has_equal_keys};
use super::holder_words::{HolderDescription, HolderKind, HolderRow, name_without_differing_numbers};
use super::leak_path::{LeakPath, most_telling_root, root_owner_and_text};
use super::prepared_heap::{AnalysedHeap, V8_STRING_TYPES, simple_name};
use super::shapes::{LeakShape, shape_of};
use super::suspect_growth::SuspectGrowth;
use crate::analysis::diff::saturating_delta;
use crate::analysis::dominators::DominatorNode;
use crate::analysis::leaks::{CodeOwner, GrownPlace, GrowthSearch, LeakCause, RowTree};
use crate::answers::libraries::dotted_type_name;
use crate::graph::{ClearableKind, Loader, NodeId, SoftReference, TypeId};
use crate::names::shorten_between_words;
use crate::units::{count_with_noun, format_bytes, format_count};

/// A cause with nothing of the program or a library in it is the runtime's warm-up, unless it is this share of the heap.
const MIN_RUNTIME_ONLY_SHARE: f64 = 0.10;
/// Nothing smaller that is left over is a cause, and no fewer bytes outside the heap are worth a word.
pub(super) const MIN_CAUSE_BYTES: u64 = 64 << 10;
/// Fewer objects of the runtime's, kept by the runtime alone and not there before, are what it makes once.
const MAX_RUNTIME_SINGLETONS: u64 = 10;
/// A collection that keeps less than one of so many that it holds is not what they are counted for.
const MAX_ELEMENTS_PER_KEPT: u64 = 4;
/// Types that a sentence names beside the element's.
const MAX_TYPES_BESIDE: usize = 2;
/// Columns of one name in a sentence.
const MAX_NAME_COLUMNS: usize = 120;

/// The type that is kept, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ElementTypeRow {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Objects of it that are kept there.
    pub objects: u64,
    /// The same in the older dump, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects_old: Option<u64>,
    /// Other types that the same place holds almost as many of, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ElementTypeRow>,
}

/// The reason to tell of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CauseReason {
    /// There are many, or more than before.
    ManyObjects,
    /// It is large, which need not be a leak.
    LargeSize,
}

/// A cause that has a name.
#[derive(Debug, Clone)]
pub(super) struct DescribedCause {
    pub(super) sentence: String,
    pub(super) element: ElementTypeRow,
    pub(super) holder: HolderRow,
    /// The holder's own holder, in words; empty where the holder says it.
    pub(super) outer_holder: String,
    pub(super) shape: Option<&'static LeakShape>,
    pub(super) growth: Option<SuspectGrowth>,
    pub(super) retained_bytes: u64,
    pub(super) off_heap_bytes: u64,
    /// The kept objects that none of the others dominates.
    pub(super) topmost: Vec<DominatorNode>,
    /// The object whose field holds it.
    pub(super) holder_node: NodeId,
    /// The collection that has it.
    pub(super) collection: NodeId,
    /// The type of what is kept.
    pub(super) element_type: TypeId,
    /// The owner of that type.
    pub(super) element_owner: CodeOwner,
    /// Bytes by which it grew; without an older dump all that it has.
    pub(super) grew_by_bytes: u64,
    /// The rows that grew.
    pub(super) grown_rows: Vec<u32>,
}

/// Puts causes into words: both dumps made ready, and the search that found the causes.
pub(super) struct CauseNamer<'f, 'd> {
    pub(super) analysed: &'f AnalysedHeap<'d>,
    pub(super) analysed_older: Option<&'f AnalysedHeap<'d>>,
    pub(super) search: &'f GrowthSearch<'f>,
    /// Sizes are whole numbers of bytes.
    pub(super) shows_exact_bytes: bool,
}

impl CauseNamer<'_, '_> {
    fn reachable_bytes(&self) -> u64 {
        self.analysed.retained.bytes_at(DominatorNode::ROOT).max(1)
    }

    /// Every cause but loaders, each once.
    pub(super) fn name_grown_places(&self, found: Vec<GrownPlace>) -> Vec<DescribedCause> {
        let analysed = self.analysed;
        let causes = analysed.cause_analysis();
        let mut found = causes.measure_causes(found, &analysed.heap.off_heap_bytes);
        found.retain(|cause| !analysed.heap.is_runtime_machinery(cause.example) && !self.is_of_left_over_loader(cause));
        let (mut found, large): (Vec<LeakCause>, Vec<LeakCause>) =
            found.into_iter().partition(|cause| cause.grown_place.grew_in_number && self.is_worth_telling(cause));
        causes.remove_repeated_causes(&mut found, &analysed.heap.type_roles);
        self.count_shared_elements(&mut found);
        let before = self.retained_before(&found);
        let mut named: Vec<DescribedCause> = found
            .into_iter()
            .zip(before)
            .map(|(cause, old)| self.name_cause(cause, old, CauseReason::ManyObjects))
            .collect();
        // What the same collection holds besides, of the runtime's types alone, is its keys; what only carries others is told
        // with another of the same object.
        let of_runtime = |one: &DescribedCause| one.element_owner == CodeOwner::Runtime;
        let is_below = |one: &DescribedCause, main: &DescribedCause| {
            let is_carrier = analysed.heap.type_roles[one.element_type.index()].is_carrier;
            let is_beside = one.collection == main.collection || is_carrier && one.holder_node == main.holder_node;
            is_beside && of_runtime(one) && (!of_runtime(main) || main.grew_by_bytes > one.grew_by_bytes)
        };
        let is_told: Vec<bool> = named.iter().map(|one| !named.iter().any(|main| is_below(one, main))).collect();
        let mut is_told = is_told.into_iter();
        named.retain(|_| is_told.next().unwrap_or(true));
        if self.analysed_older.is_none() {
            named.extend(large.into_iter().map(|cause| self.name_cause(cause, None, CauseReason::LargeSize)));
        }
        named
    }

    /// Counts what a collection holds with elements to which a better way leads: the nodes of a map refer to them all the same.
    fn count_shared_elements(&self, causes: &mut [LeakCause]) {
        let (rows, type_roles) = (&self.analysed.rows, &self.analysed.heap.type_roles);
        let role = |row: u32| &type_roles[rows.row(row).type_id.index()];
        let carriers = |place: &GrownPlace| {
            let symbol = rows.row(place.element_row).symbol;
            let (element, has_others) =
                (role(place.element_row), rows.totals_of_symbol(symbol).0 > place.element_objects);
            // Named objects are no type, and those without a class all one.
            if !has_others || element.symbol != symbol || element.has_no_own_class {
                return (Vec::new(), symbol);
            }
            let elements = rows.with_descendants(&place.rows).into_iter().map(|row| rows.row(row));
            let above = elements.filter(|row| row.symbol == symbol).map(|row| row.parent);
            let mut carriers: Vec<u32> = above.filter(|&row| row != 0 && role(row).is_carrier).collect();
            carriers.sort_unstable();
            carriers.dedup();
            (carriers, symbol)
        };
        let of_new: Vec<(Vec<u32>, u32)> = causes.iter().map(|cause| carriers(&cause.grown_place)).collect();
        if of_new.iter().all(|(carriers, _)| carriers.is_empty()) {
            return;
        }
        let of_old: Vec<(Vec<u32>, u32)> = of_new
            .iter()
            .map(|(rows, symbol)| (rows.iter().filter_map(|&row| self.search.old_row_number(row)).collect(), *symbol))
            .collect();
        let new = self.analysed.cause_analysis().count_referenced_objects(&of_new, type_roles);
        let old =
            self.analysed_older.map(|old| old.cause_analysis().count_referenced_objects(&of_old, &old.heap.type_roles));
        let in_heap = |rows: &RowTree, symbol| rows.totals_of_symbol(symbol).0;
        for (at, cause) in causes.iter_mut().enumerate() {
            let (place, symbol) = (&mut cause.grown_place, of_new[at].1);
            let carriers: u64 = of_new[at].0.iter().map(|&row| u64::from(rows.row(row).objects)).sum();
            // Nodes that carry one each carry no more than there are of them: the rest are keys.
            let most = if carriers >= place.element_objects { carriers } else { u64::MAX };
            let (objects, old_objects) = (new[at].min(most), old.as_ref().map_or(0, |old| old[at]));
            let objects_old = place.element_objects_old.max(old_objects.min(most));
            let more_in_heap = match self.analysed_older {
                Some(older) => in_heap(rows, symbol).saturating_sub(in_heap(&older.rows, symbol)),
                None => u64::MAX,
            };
            // Most of what is much more than what it keeps is something else's, which stays as it is.
            if (place.element_objects + 1..=MAX_ELEMENTS_PER_KEPT * place.element_objects).contains(&objects)
                && (self.analysed_older.is_none() || objects > objects_old)
                && objects.saturating_sub(objects_old) <= more_in_heap
            {
                (place.element_objects, place.element_objects_old) = (objects, objects_old);
            }
        }
    }

    fn retained_before(&self, causes: &[LeakCause]) -> Vec<Option<u64>> {
        let Some(before) = self.analysed_older else { return vec![None; causes.len()] };
        before.cause_analysis().old_retained_bytes(self.search, causes).into_iter().map(Some).collect()
    }

    /// True for what goes with a loader that is left over.
    fn is_of_left_over_loader(&self, cause: &LeakCause) -> bool {
        let heap = &self.analysed.heap;
        let is_left_over = |node: NodeId| {
            let class = heap.graph.types().type_of_class_object(node);
            let loader = class.map(|class| heap.graph.types().loader(class));
            heap.left_over_loaders.contains(&node)
                || matches!(loader, Some(Loader::Object(loader)) if heap.left_over_loaders.contains(&loader))
        };
        let is_loader = |loader: &NodeId| heap.graph.type_of(*loader) == heap.graph.type_of(cause.example);
        heap.left_over_loaders.iter().any(is_loader)
            || self.analysed.rows.paths().path_to(cause.example).into_iter().any(is_left_over)
    }

    /// False for what a runtime gives up by itself, and for warm-up.
    fn is_worth_telling(&self, cause: &LeakCause) -> bool {
        let heap = &self.analysed.heap;
        let nodes = self.analysed.rows.paths().path_to(cause.example);
        let soft = heap.graph.soft_references().unwrap_or(&[]);
        let is_soft = |pair: &[NodeId]| {
            let first = soft.partition_point(|soft: &SoftReference| soft.source < pair[0]);
            let own = soft[first..].iter().take_while(|soft| soft.source == pair[0]);
            own.into_iter().any(|soft| soft.target == pair[1] && soft.kind == ClearableKind::Soft)
        };
        // A module of the program's own.
        let is_of_own_module = nodes.first().and_then(|start| heap.modules.get(start));
        if is_of_own_module.is_some_and(|module| heap.owner_of_module(module) == CodeOwner::Application) {
            return true;
        }
        if nodes.windows(2).any(is_soft) {
            return false;
        }
        let element = heap.type_role(cause.example).owner;
        if element != CodeOwner::Runtime || nodes.iter().any(|&node| heap.owner_of_object(node) != CodeOwner::Runtime) {
            return true;
        }
        let way = LeakPath::to(self.analysed, cause.example, &cause.grown_place.rows);
        let key = way.thread_local_value(self.analysed).and_then(|value| value.key);
        let is_of_variable = |key| {
            self.analysed
                .rows
                .paths()
                .path_to(key)
                .into_iter()
                .any(|node| heap.owner_of_object(node) != CodeOwner::Runtime)
        };
        key.is_some_and(is_of_variable)
            || way.steps.iter().any(|step| step.is_local() && step.owner == CodeOwner::Application)
            || most_telling_root(self.analysed, way.start)
                .is_some_and(|root| root_owner_and_text(self.analysed, root).0 != CodeOwner::Runtime)
            // Without an older dump these are texts and the like that the runtime has from its start.
            || (self.analysed_older.is_some() || !heap.type_name(way.start).ends_with(']'))
                && (cause.grown_place.element_objects_old > 0
                || cause.grown_place.element_objects >= MAX_RUNTIME_SINGLETONS)
                && cause.grown_place.growth_bytes as f64 >= MIN_RUNTIME_ONLY_SHARE * self.reachable_bytes() as f64
    }

    pub(super) fn name_cause(
        &self,
        cause: LeakCause,
        retained_old: Option<u64>,
        reason: CauseReason,
    ) -> DescribedCause {
        let analysed = self.analysed;
        let heap = &analysed.heap;
        let GrownPlace {
            rows,
            element_row: element,
            element_objects: objects,
            element_objects_old: objects_old,
            neighbour_types: beside,
            growth_bytes: growth,
            ..
        } = cause.grown_place;
        let way = LeakPath::to(analysed, cause.example, &rows);
        let words = match heap.reference_kinds {
            Some(_) => HolderDescription::of_javascript(analysed, &way),
            None => HolderDescription::of(analysed, &way, &rows),
        };
        let (types, references) = way.types_and_references(analysed);
        let type_name = heap.type_name(cause.example);
        let collection = way.collection(analysed);
        let ended = ended_objects(analysed, heap.graph.type_of(cause.example), element);
        let shape = match reason {
            CauseReason::ManyObjects => {
                let by_bytes =
                    || LeakShape::named("direct-buffers").filter(|_| cause.off_heap_bytes > cause.retained_bytes);
                let by_names = || shape_of(&type_name, &heap.type_name(collection), &types, &references);
                let by_keys = || LeakShape::named("equal-keys").filter(|_| has_equal_keys(analysed, &way));
                ended.as_ref().and_then(|ended| ended.shape).or_else(by_bytes).or_else(by_keys).or_else(by_names)
            }
            CauseReason::LargeSize => None,
        };
        let growth_row = retained_old.map(|old| {
            // What a row was joined with may have been larger: then it did not grow by more than it retains.
            let grew = saturating_delta(old, cause.retained_bytes).max(0);
            SuspectGrowth {
                retained_bytes_old: cause.retained_bytes.saturating_sub(grew as u64),
                retained_bytes_delta: grew,
            }
        });
        let beside = beside.into_iter().map(|(row, objects, objects_old)| {
            let type_name = dotted_type_name(heap.graph.type_name(analysed.rows.row(row).type_id)).into_owned();
            ElementTypeRow {
                type_name,
                objects,
                objects_old: self.analysed_older.map(|_| objects_old),
                beside: Vec::new(),
            }
        });
        let beside = beside.collect();
        let mut named = DescribedCause {
            sentence: String::new(),
            element: ElementTypeRow {
                type_name,
                objects,
                objects_old: self.analysed_older.map(|_| objects_old),
                beside,
            },
            holder: words.holder,
            outer_holder: words.outer_holder,
            shape,
            growth: growth_row,
            retained_bytes: cause.retained_bytes,
            topmost: cause.topmost_objects,
            holder_node: words.holder_node,
            collection,
            off_heap_bytes: cause.off_heap_bytes,
            element_type: heap.graph.type_of(cause.example),
            element_owner: heap.type_role(cause.example).owner,
            grew_by_bytes: growth,
            grown_rows: rows,
        };
        let says = match ended {
            Some(ended) => format!(": {} of them {}", format_count(ended.count), ended.clause),
            None => shape.map_or(String::new(), |shape| format!(": {}", shape.clause)),
        };
        named.sentence = self.main_clause(&named, reason, &way, element, cause.example)
            + &says
            + &self.growth_clause(&named, reason)
            + ".";
        named
    }

    fn bytes_in_words(&self, bytes: u64) -> String {
        if self.shows_exact_bytes { count_with_noun(bytes, "bytes") } else { format_bytes(bytes) }
    }

    pub(super) fn size_in_words(&self, bytes: u64, off_heap: u64) -> String {
        let share = 100.0 * bytes as f64 / self.reachable_bytes() as f64;
        let outside = match off_heap >= MIN_CAUSE_BYTES {
            true => format!(" and {} outside the heap", self.bytes_in_words(off_heap)),
            false => String::new(),
        };
        format!("{}, {share:.0} %{outside}", self.bytes_in_words(bytes))
    }

    fn main_clause(
        &self,
        named: &DescribedCause,
        reason: CauseReason,
        way: &LeakPath,
        element: u32,
        example: NodeId,
    ) -> String {
        let heap = &self.analysed.heap;
        let ElementTypeRow { objects, .. } = &named.element;
        let size = self.size_in_words(named.retained_bytes, named.off_heap_bytes);
        match heap.thread_names.contains_key(&example) {
            true => self.threads_clause(named, element, &size),
            false => {
                let are = if *objects == 1 { "is" } else { "are" };
                let by = if named.holder.kind == HolderKind::Root { "by" } else { "in" };
                let large = if reason == CauseReason::LargeSize { "large, " } else { "" };
                let mut text = format!(
                    "{} ({size}) {are} {large}kept {by} {}",
                    elements_in_words(&named.element),
                    shorten_between_words(&named.holder.text, MAX_NAME_COLUMNS)
                );
                if let Some(carrier) = self.carrier_in_words(way, example) {
                    text += &format!(", each in a {carrier}");
                }
                if !named.outer_holder.is_empty() {
                    text += &format!(", kept by {}", shorten_between_words(&named.outer_holder, MAX_NAME_COLUMNS));
                }
                text
            }
        }
    }

    /// How it grew.
    fn growth_clause(&self, named: &DescribedCause, reason: CauseReason) -> String {
        let all = || std::iter::once(&named.element).chain(&named.element.beside);
        let new = all().map(|row| Some(row.objects.saturating_sub(row.objects_old?))).sum::<Option<u64>>();
        match (new, &named.growth) {
            _ if reason == CauseReason::LargeSize => String::new(),
            (Some(0), Some(growth)) => {
                format!("; grew by {}", self.bytes_in_words(growth.retained_bytes_delta.unsigned_abs()))
            }
            (Some(new), _) => format!("; {} new since OLD", count_with_verb(new)),
            _ => String::new(),
        }
    }

    /// The object with a name between the collection and what is kept: `Timeout (_onTimeout)`.
    fn carrier_in_words(&self, way: &LeakPath, example: NodeId) -> Option<String> {
        let heap = &self.analysed.heap;
        let step = way.steps.get(way.steps_above_growth)?;
        let (type_role, name) = (heap.type_role(step.from), heap.type_name(step.from));
        let is_same = self.analysed.rows.row_of(step.from) == self.analysed.rows.row_of(example);
        let has_word = simple_name(&name).contains(|letter: char| letter.is_ascii_lowercase()) && !name.ends_with(']');
        let is_named = !type_role.is_carrier
            && !type_role.is_runtime_metadata
            && !type_role.is_class
            && !heap.structural_names.is_plain_collection(&name);
        let field = step.field_or_variable_name()?;
        let text = || format!("{} ({field})", shorten_between_words(simple_name(&name), MAX_NAME_COLUMNS));
        (!is_same && is_named && has_word && way.steps_above_growth > 0).then(text)
    }

    fn threads_clause(&self, named: &DescribedCause, element: u32, size: &str) -> String {
        let heap = &self.analysed.heap;
        let members = self.analysed.cause_analysis().row_members(element);
        let mut names: Vec<&str> =
            members.iter().filter_map(|node| heap.thread_names.get(node)).map(String::as_str).collect();
        names.sort_unstable();
        let what = match &names[..] {
            [] if named.element.objects == 1 => "thread".to_string(),
            [] => "threads".to_string(),
            [name] => format!("thread {name}"),
            names => format!("threads {}", name_without_differing_numbers(names)),
        };
        let are = if named.element.objects == 1 { "is" } else { "are" };
        format!("{} {what} ({size}) {are} alive", format_count(named.element.objects))
    }
}

/// `1 is`, `2 are`.
pub(super) fn count_with_verb(count: u64) -> String {
    format!("{} {}", format_count(count), if count == 1 { "is" } else { "are" })
}

/// What is kept, of each type how many: `4,500 Login, 4,500 Click and 4,500 Logout`.
fn elements_in_words(element: &ElementTypeRow) -> String {
    let of_row = |row: &ElementTypeRow| {
        format!(
            "{} {}",
            format_count(row.objects),
            shorten_between_words(&noun_of_type(&row.type_name, row.objects), MAX_NAME_COLUMNS)
        )
    };
    let (named, more) = element.beside.split_at(element.beside.len().min(MAX_TYPES_BESIDE));
    let mut parts: Vec<String> = std::iter::once(element).chain(named).map(of_row).collect();
    if !more.is_empty() {
        parts.push(format!("{} of {} more types", format_count(more.iter().map(|row| row.objects).sum()), more.len()));
    }
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }
}

/// The word for so many objects of a type.
fn noun_of_type(type_name: &str, objects: u64) -> String {
    let many = if objects == 1 { "" } else { "s" };
    match type_name {
        name if V8_STRING_TYPES.contains(&name) => format!("string{many}"),
        name if name.starts_with('{') => format!("plain object{many} {name}"),
        "Object" => format!("plain object{many}"),
        name => simple_name(name).to_string(),
    }
}
