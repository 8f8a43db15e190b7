//! Causes with their names: what is kept, where, by whom, how it grew, in one sentence.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::growth::SuspectGrowth;
use super::options::LeaksOptions;
use super::program::{DeadLoaders, Heap, Program, Symbols, owner_of_script, simple_name};
use super::shapes::{Shape, shape_of};
use super::way::{Way, root_of, root_text};
use super::words::{HolderKind, HolderRow, Words, common_name, names_of_threads, variable_of_thread_local};
use crate::analysis::diff::delta;
use crate::analysis::dominators::DomNode;
use crate::analysis::leaks::{Cause, Evidence, Grown, LeakSuspect, Owner, Search};
use crate::analysis::retained_sets::topmost_members;
use crate::analysis::threshold::Threshold;
use crate::answers::AnswerError;
use crate::answers::libraries::{LibraryNames, dotted};
use crate::dump::{AnswerNeed, OpenDump, Phase};
use crate::graph::{Holding, Loader, NodeId, SoftReference, TypeId, TypeSet};
use crate::input::{ReferenceName, Value};
use crate::sort;
use crate::units::{count_of, format_bytes, format_count};

/// Suspects with sentences, causes among them: each takes some reads of the dump.
pub(super) const MOST_EXPLAINED: usize = 100;

/// What has nothing of the program or a library in it is the runtime's warm-up, unless it is this share of the heap.
const RUNTIME_ONLY_SHARE: f64 = 0.10;
/// Nothing smaller is a cause.
const LEAST_BYTES: u64 = 64 << 10;
/// Causes that are looked at: far more than are named.
const MOST_CAUSES: usize = 24;
/// Characters of a sentence.
const MOST_CHARACTERS: usize = 400;
/// Values of single objects that are asked one by one; of more all are asked in one pass over the dump.
const FEW_VALUES: usize = 1000;
/// Loaders without a state that define one class: so many more than before, and so many in one dump, are left over.
const MORE_TWINS: usize = 2;
const TWINS_ALONE: usize = 4;

/// What is kept: a type and how many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ElementRow {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Objects of it that are kept there.
    pub objects: u64,
    /// The same in the older dump, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects_old: Option<u64>,
}

/// The reason to tell of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// There are many, or more than before.
    Count,
    /// It is large, which need not be a leak.
    Size,
}

/// A cause that has a name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) sentence: String,
    pub(super) element: ElementRow,
    pub(super) holder: HolderRow,
    /// What keeps the holder, in words; empty where the holder says it.
    pub(super) keeper: String,
    pub(super) shape: Option<&'static Shape>,
    pub(super) growth: Option<SuspectGrowth>,
    pub(super) retained_bytes: u64,
    /// What is kept and dominated by nothing else that is.
    pub(super) topmost: Vec<DomNode>,
    /// The object whose field holds it.
    pub(super) holder_node: NodeId,
    /// The type of what is kept.
    pub(super) element_type: TypeId,
    /// Whose that is.
    owner: Owner,
    grew_by: u64,
    /// The rows that grew.
    rows: Vec<u32>,
}

/// What is told of a suspect.
pub(super) struct Told {
    /// By how much it grew, where an older dump was given.
    pub(super) growth: Option<SuspectGrowth>,
    /// Its words: of the first that are shown.
    pub(super) named: Option<Box<Named>>,
    /// What is to be named, until it is.
    cause: Option<Box<Cause>>,
    /// The type of what is kept.
    pub(super) element_type: TypeId,
}

/// Dumps made ready, and the causes in the newer one.
pub(super) struct Causes<'d> {
    pub(super) program: Program<'d>,
    before: Option<Program<'d>>,
    named: Vec<Named>,
    /// What else is large; with an older dump it did not grow.
    large: Vec<Grown>,
    /// The least growth of a cause.
    pub(super) threshold: u64,
    exact_sizes: bool,
}

/// Looks for causes: what grew since `old`, or what is large without it. O(objects + references) of both. `large` is the size
/// from which that is said; with `old` it is for what did not grow.
///
/// # Errors
/// If a dump holds no objects, or takes more memory than it may.
pub(super) fn causes<'d>(
    old: Option<&'d OpenDump>,
    dump: &'d OpenDump,
    options: &LeaksOptions,
    least_bytes: u64,
) -> Result<Causes<'d>, AnswerError> {
    let mut symbols = Symbols::default();
    dump.phase(Phase::FindingSuspects);
    let libraries = |dump: &OpenDump| LibraryNames::of(&dump.info().format, &options.libraries).with_own(&options.mine);
    let mut prepare = |dump: &'d OpenDump| -> Result<(Heap<'d>, DeadLoaders), AnswerError> {
        let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
        dump.dominators()?;
        dump.check_answer(AnswerNeed::BestPaths, 0)?;
        let heap = Heap::new(dump, graph, &libraries(dump), &mut symbols);
        let loaders = heap.dead_loaders(dump);
        Ok((heap, loaders))
    };
    let (heap, mut loaders) = prepare(dump)?;
    let mut before = old.map(&mut prepare).transpose()?;
    let twins = take_twins(before.as_mut().map(|(_, loaders)| loaders), &mut loaders);
    let before = match (old, before) {
        (Some(dump), Some((heap, loaders))) => Some(Program::new(dump, heap, loaders, &mut symbols)?),
        _ => None,
    };
    let program = Program::new(dump, heap, loaders, &mut symbols)?;
    let natures = &program.heap.natures;
    let alone = Search::new(&program.rows, None, natures, Threshold::Bytes(least_bytes));
    let search =
        before.as_ref().map(|before| Search::new(&program.rows, Some(&before.rows), natures, options.threshold));
    let mut large = alone.run(usize::MAX);
    program.causes().settle(&mut large, least_bytes);
    let (found, search) = match &search {
        Some(search) => (search.run(MOST_CAUSES), search),
        None => (large.drain(..large.len().min(MOST_CAUSES)).collect(), &alone),
    };
    let threshold = search.threshold();
    let finder = Finder { program: &program, before: before.as_ref(), search, exact_sizes: options.exact_sizes };
    let mut named = finder.named(found);
    named.extend(finder.left_over_loaders(twins.as_ref()));
    sort::by_key(&mut named, |named| std::cmp::Reverse(named.grew_by));
    if before.is_some() {
        let told: Vec<u32> = named.iter().flat_map(|named| &named.rows).copied().collect();
        let is_told = program.rows.around(&told);
        large.retain(|grown| !grown.rows.iter().any(|&row| is_told[row as usize]));
    }
    Ok(Causes { named, large, threshold, program, before, exact_sizes: options.exact_sizes })
}

impl Causes<'_> {
    /// The suspects, those with words first, and how many more there are that did not grow; these too where they are asked
    /// for. O(objects).
    pub(super) fn suspects(&mut self, libraries: &TypeSet, with_unchanged: bool) -> (Vec<(LeakSuspect, Told)>, usize) {
        let (named, large) = (std::mem::take(&mut self.named), std::mem::take(&mut self.large));
        let named = named.into_iter().map(|named| {
            let topmost = named.topmost.clone();
            let (growth, element_type) = (named.growth, named.element_type);
            (topmost, Told { growth, element_type, cause: None, named: Some(Box::new(named)) })
        });
        let unchanged = if self.before.is_some() && !with_unchanged { large.len() } else { 0 };
        let causes = self.program.causes();
        let evidence = Evidence {
            graph: causes.graph,
            dominators: causes.dominators,
            retained: causes.retained,
            children: causes.children,
            libraries,
        };
        let large = causes.complete(if unchanged == 0 { large } else { Vec::new() }, &self.program.heap.off_heap);
        let search = self.search_of_all();
        let large = large.into_iter().map(|cause| {
            let element_type = self.program.rows.row(cause.grown.element).type_id;
            let growth = self.before.as_ref().map(|_| growth_of(&search, &cause));
            let told = Told { growth, element_type, named: None, cause: Some(Box::new(cause.clone())) };
            (cause.topmost, told)
        });
        let mut known = FxHashSet::default();
        let suspects = named.chain(large).filter_map(|(topmost, told)| {
            let suspect = evidence.of_members(&topmost, causes.common_dominator(&topmost))?;
            // Several causes may hang on one object.
            known.insert((suspect.objects(), suspect.largest())).then_some((suspect, told))
        });
        (suspects.collect(), unchanged)
    }

    fn search_of_all(&self) -> Search<'_> {
        let before = self.before.as_ref().map(|before| &before.rows);
        Search::new(&self.program.rows, before, &self.program.heap.natures, Threshold::Bytes(1))
    }

    /// Gives the first of the suspects that are shown their words, whatever they grew by.
    pub(super) fn name_suspects(&self, suspects: &mut [(LeakSuspect, Told)]) {
        let (program, before, search) = (&self.program, self.before.as_ref(), self.search_of_all());
        let finder = Finder { program, before, search: &search, exact_sizes: self.exact_sizes };
        for (_, told) in suspects.iter_mut().take(MOST_EXPLAINED) {
            let cause = told.cause.take().map(|cause| Box::new(finder.name(*cause, None, Reason::Size)));
            told.named = told.named.take().or(cause);
        }
    }
}

/// By how much something that is large grew; no more than it retains.
fn growth_of(search: &Search<'_>, cause: &Cause) -> SuspectGrowth {
    let grew_by: i64 = cause.grown.rows.iter().map(|&row| search.growth(row)).sum();
    let grew_by = grew_by.min(i64::try_from(cause.retained_bytes).unwrap_or(i64::MAX));
    let old = cause.retained_bytes.saturating_add_signed(grew_by.saturating_neg());
    SuspectGrowth { retained_bytes_old: old, retained_bytes_delta: grew_by }
}

/// Takes loaders without a state for left over where there are more of one type that define one class. Returns that type and
/// the class.
fn take_twins(before: Option<&mut DeadLoaders>, now: &mut DeadLoaders) -> Option<(String, String)> {
    if !now.stopped.is_empty() {
        return None;
    }
    let mut found: Vec<(&String, usize)> = now
        .twins
        .iter()
        .map(|(name, (loaders, _))| (name, loaders.len()))
        .filter(|(name, count)| match &before {
            Some(before) => *count >= before.twins.get(*name).map_or(0, |twins| twins.0.len()) + MORE_TWINS,
            None => *count >= TWINS_ALONE,
        })
        .collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let name = found.first()?.0.clone();
    let (loaders, class) = now.twins.get(&name)?.clone();
    now.stopped.extend(loaders);
    if let Some(before) = before
        && let Some((loaders, _)) = before.twins.get(&name).cloned()
    {
        before.stopped.extend(loaders);
    }
    Some((name, class))
}

/// Both dumps' rows, and what is asked of them.
struct Finder<'f, 'd> {
    program: &'f Program<'d>,
    before: Option<&'f Program<'d>>,
    search: &'f Search<'f>,
    /// Sizes are whole numbers of bytes.
    exact_sizes: bool,
}

impl Finder<'_, '_> {
    fn reachable_bytes(&self) -> u64 {
        self.program.retained.bytes_at(DomNode::ROOT).max(1)
    }

    /// Every cause but loaders, each once.
    fn named(&self, found: Vec<Grown>) -> Vec<Named> {
        let program = self.program;
        let causes = program.causes();
        let mut found = causes.complete(found, &program.heap.off_heap);
        found.retain(|cause| !self.is_of_dead_loader(cause));
        let (mut found, large): (Vec<Cause>, Vec<Cause>) =
            found.into_iter().partition(|cause| cause.grown.is_many && self.is_explained(cause));
        causes.without_repeats(&mut found, &program.heap.natures);
        let before = self.retained_before(&found);
        let mut named: Vec<Named> =
            found.into_iter().zip(before).map(|(cause, old)| self.name(cause, old, Reason::Count)).collect();
        // What the same object holds besides, of the runtime's types alone, is its keys and its table.
        let holders: Vec<(NodeId, Owner, u64)> =
            named.iter().map(|one| (one.holder_node, one.owner, one.grew_by)).collect();
        let mut at = 0;
        named.retain(|one| {
            let own = at;
            at += 1;
            let is_main = |&(place, &(node, owner, growth)): &(usize, &(NodeId, Owner, u64))| {
                place != own && node == one.holder_node && (owner < Owner::Runtime || growth > one.grew_by)
            };
            one.owner < Owner::Runtime || !holders.iter().enumerate().any(|row| is_main(&row))
        });
        if self.before.is_none() {
            named.extend(large.into_iter().map(|cause| self.name(cause, None, Reason::Size)));
        }
        named
    }

    fn retained_before(&self, causes: &[Cause]) -> Vec<Option<u64>> {
        let Some(before) = self.before else { return vec![None; causes.len()] };
        before.causes().retained_before(self.search, causes).into_iter().map(Some).collect()
    }

    /// Does it go with a loader that is left over?
    fn is_of_dead_loader(&self, cause: &Cause) -> bool {
        let heap = &self.program.heap;
        let is_dead = |node: NodeId| {
            let class = heap.graph.types().of_class_object(node);
            let loader = class.map(|class| heap.graph.types().loader(class));
            heap.dead.contains(&node) || matches!(loader, Some(Loader::Object(loader)) if heap.dead.contains(&loader))
        };
        let is_loader = |dead: &NodeId| heap.graph.type_of(*dead) == heap.graph.type_of(cause.example);
        heap.dead.iter().any(is_loader) || self.program.paths.way_to(cause.example).into_iter().any(is_dead)
    }

    /// False for what a runtime gives up by itself, and for warm-up.
    fn is_explained(&self, cause: &Cause) -> bool {
        let heap = &self.program.heap;
        let nodes = self.program.paths.way_to(cause.example);
        let soft = heap.graph.soft_references().unwrap_or(&[]);
        let is_soft = |pair: &[NodeId]| {
            let first = soft.partition_point(|soft: &SoftReference| soft.source < pair[0]);
            let own = soft[first..].iter().take_while(|soft| soft.source == pair[0]);
            own.into_iter().any(|soft| soft.target == pair[1] && soft.holding == Holding::Soft)
        };
        // A module of the program's own.
        let is_of_own_module = nodes.first().and_then(|start| heap.modules.get(start));
        if is_of_own_module.is_some_and(|file| owner_of_script(file) == Owner::Own) {
            return true;
        }
        if nodes.windows(2).any(is_soft) {
            return false;
        }
        let element = heap.nature(cause.example).owner;
        if element != Owner::Runtime || nodes.iter().any(|&node| heap.owner(node) != Owner::Runtime) {
            return true;
        }
        let way = Way::to(self.program, cause.example, &cause.grown.rows);
        way.steps.iter().any(|step| step.is_local() && step.owner == Owner::Own)
            || root_of(self.program, way.start).is_some_and(|root| root_text(self.program, root).0 != Owner::Runtime)
            || cause.grown.growth as f64 >= RUNTIME_ONLY_SHARE * self.reachable_bytes() as f64
    }

    fn name(&self, cause: Cause, retained_old: Option<u64>, reason: Reason) -> Named {
        let program = self.program;
        let heap = &program.heap;
        let Grown { rows, element, objects, objects_old, growth, .. } = cause.grown;
        let way = Way::to(program, cause.example, &rows);
        let words = match heap.kinds {
            Some(_) => Words::of_script(program, &way),
            None => Words::of(program, &way, &rows),
        };
        let (types, references) = way.types_and_references(program);
        let type_name = heap.type_name(cause.example);
        let shape = match reason {
            Reason::Count => shape_of(&type_name, &types, &references),
            Reason::Size => None,
        };
        let growth_row = retained_old.map(|old| {
            // What a row was joined with may have been larger: then it did not grow by more than it retains.
            let grew = delta(old, cause.retained_bytes).max(0);
            SuspectGrowth {
                retained_bytes_old: cause.retained_bytes.saturating_sub(grew as u64),
                retained_bytes_delta: grew,
            }
        });
        let mut named = Named {
            sentence: String::new(),
            element: ElementRow { type_name, objects, objects_old: self.before.map(|_| objects_old) },
            holder: words.holder,
            keeper: words.keeper,
            shape,
            growth: growth_row,
            retained_bytes: cause.retained_bytes,
            topmost: cause.topmost,
            holder_node: words.node,
            element_type: heap.graph.type_of(cause.example),
            owner: heap.nature(cause.example).owner,
            grew_by: growth,
            rows,
        };
        named.sentence = self.sentence(&named, reason, &way, element, cause.example, cause.off_heap_bytes);
        named
    }

    fn amount(&self, bytes: u64) -> String {
        if self.exact_sizes { count_of(bytes, "bytes") } else { format_bytes(bytes) }
    }

    fn size(&self, bytes: u64, off_heap: u64) -> String {
        let share = 100.0 * bytes as f64 / self.reachable_bytes() as f64;
        let outside = match off_heap >= LEAST_BYTES {
            true => format!(" and {} outside the heap", self.amount(off_heap)),
            false => String::new(),
        };
        format!("{}, {share:.0} %{outside}", self.amount(bytes))
    }

    fn sentence(
        &self,
        named: &Named,
        reason: Reason,
        way: &Way,
        element: u32,
        example: NodeId,
        off_heap: u64,
    ) -> String {
        let heap = &self.program.heap;
        let ElementRow { type_name, objects, objects_old } = &named.element;
        let size = self.size(named.retained_bytes, off_heap);
        let mut text = match heap.threads.contains_key(&example) {
            true => self.threads(named, element, &size),
            false => {
                let are = if *objects == 1 { "is" } else { "are" };
                let by = if named.holder.kind == HolderKind::Root { "by" } else { "in" };
                let large = if reason == Reason::Size { "large, " } else { "" };
                let mut text = format!(
                    "{} {} ({size}) {are} {large}kept {by} {}",
                    format_count(*objects),
                    noun(type_name),
                    named.holder.text
                );
                if let Some(carrier) = self.carrier(way, example) {
                    text += &format!(", each in a {carrier}");
                }
                if !named.keeper.is_empty() {
                    text += &format!(", kept by {}", named.keeper);
                }
                text
            }
        };
        match (objects_old.map(|old| objects.saturating_sub(old)), &named.growth) {
            _ if reason == Reason::Size => {}
            (Some(0), Some(growth)) => {
                text += &format!("; grew by {}", self.amount(growth.retained_bytes_delta.unsigned_abs()))
            }
            (Some(new), _) => text += &format!("; {} are new since OLD", format_count(new)),
            _ => {}
        }
        match self.cancelled(type_name, element) {
            Some(cancelled) => text += &format!(": {} of them are cancelled", format_count(cancelled)),
            None => text += &named.shape.map_or(String::new(), |shape| format!(": {}", shape.says)),
        }
        ended(text)
    }

    /// What stands between the collection and what is kept, and has a name: `Timeout (_onTimeout)`.
    fn carrier(&self, way: &Way, example: NodeId) -> Option<String> {
        let heap = &self.program.heap;
        let step = way.steps.get(way.above)?;
        let (nature, name) = (heap.nature(step.from), heap.type_name(step.from));
        let is_same = self.program.rows.row_of(step.from) == self.program.rows.row_of(example);
        let has_word = simple_name(&name).contains(|letter: char| letter.is_ascii_lowercase()) && !name.ends_with(']');
        let is_named = !nature.is_glue && !nature.is_inner && !nature.is_class && !heap.structural.is_collection(&name);
        let field = step.field()?;
        (!is_same && is_named && has_word && way.above > 0).then(|| format!("{} ({field})", simple_name(&name)))
    }

    fn threads(&self, named: &Named, element: u32, size: &str) -> String {
        let heap = &self.program.heap;
        let members = self.program.causes().members(element);
        let mut names: Vec<&str> =
            members.iter().filter_map(|node| heap.threads.get(node)).map(String::as_str).collect();
        names.sort_unstable();
        let what = match &names[..] {
            [] => "threads".to_string(),
            [name] => format!("thread {name}"),
            names => format!("threads {}", common_name(names)),
        };
        format!("{} {what} ({size}) are alive", format_count(named.element.objects))
    }

    /// Tasks of an executor that are cancelled, where these are most.
    fn cancelled(&self, type_name: &str, element: u32) -> Option<u64> {
        // FutureTask: 4 is CANCELLED, 5 INTERRUPTING, 6 INTERRUPTED.
        const CANCELLED: std::ops::RangeInclusive<i64> = 4..=6;
        let heap = &self.program.heap;
        if !type_name.ends_with("FutureTask") {
            return None;
        }
        let members = self.program.causes().members(element);
        let is_cancelled = |value: &Value| matches!(value, Value::Integer(state) if CANCELLED.contains(state));
        let cancelled = if members.len() > FEW_VALUES {
            let columns = heap.details?.values_of_fields(heap.graph, &["state"]).ok()?;
            let states: FxHashMap<NodeId, &Value> =
                columns.first()?.iter().map(|(node, value)| (*node, value)).collect();
            members.iter().filter(|node| states.get(node).is_some_and(|value| is_cancelled(value))).count()
        } else {
            let values = heap.values?;
            let is_state = |name: &ReferenceName| matches!(name, ReferenceName::Field(_, name) if name == "state");
            let says = |node: NodeId| {
                values.raw_fields(node).iter().any(|field| is_state(&field.name) && is_cancelled(&field.value))
            };
            members.iter().filter(|&&node| says(node)).count()
        };
        (2 * cancelled > members.len()).then_some(cancelled as u64)
    }

    /// Loaders that were stopped, or were left when others took their place.
    fn left_over_loaders(&self, twins: Option<&(String, String)>) -> Option<Named> {
        let program = self.program;
        let (heap, graph) = (&program.heap, program.heap.graph);
        let count = heap.dead.len();
        let count_old = self.before.map_or(0, |before| before.heap.dead.len());
        if count <= count_old {
            return None;
        }
        let topmost = topmost_of_loaders(program);
        let kept = |program: &Program<'_>, topmost: &[DomNode]| {
            topmost.iter().fold(0u64, |sum, &number| sum.saturating_add(program.retained.bytes_at(number)))
        };
        let retained_bytes = kept(program, &topmost);
        let retained_old = self.before.map_or(0, |before| kept(before, &topmost_of_loaders(before)));
        let grew_by = retained_bytes.saturating_sub(retained_old);
        if retained_bytes < LEAST_BYTES || grew_by < self.search.threshold() / 2 {
            return None;
        }
        let mut loaders: Vec<NodeId> = heap.dead.iter().copied().collect();
        loaders.sort_unstable();
        let mut ways: Vec<(HolderRow, String, usize)> = Vec::new();
        for &loader in &loaders {
            let (holder, keeper) = self.holder_of_loader(loader);
            match ways.iter_mut().find(|(known, ..)| known.text == holder.text) {
                Some((.., count)) => *count += 1,
                None => ways.push((holder, keeper, 1)),
            }
        }
        let (holder, keeper, _) = ways.into_iter().max_by_key(|(.., count)| *count)?;
        let type_name = heap.type_name(loaders[0]);
        let size = self.size(retained_bytes, 0);
        let what = match twins {
            Some((_, class)) => {
                format!(
                    "{count} {} that all define {} ({size}) are still loaded",
                    simple_name(&type_name),
                    simple_name(&dotted(class))
                )
            }
            None => format!("{count} stopped {} ({size}) are still loaded", simple_name(&type_name)),
        };
        let mut sentence = format!("{what}, kept by {}", holder.text);
        if !keeper.is_empty() {
            sentence += &format!(" in {keeper}");
        }
        if self.before.is_some() {
            sentence += &format!("; {} are new since OLD", count - count_old);
        }
        let growth = self.before.map(|_| SuspectGrowth {
            retained_bytes_old: retained_bytes - grew_by,
            retained_bytes_delta: i64::try_from(grew_by).unwrap_or(i64::MAX),
        });
        Some(Named {
            sentence: ended(sentence),
            element: ElementRow {
                type_name,
                objects: count as u64,
                objects_old: self.before.map(|_| count_old as u64),
            },
            holder,
            keeper,
            shape: Shape::of_loaders(),
            growth,
            retained_bytes,
            topmost,
            holder_node: loaders[0],
            element_type: graph.type_of(loaders[0]),
            owner: Owner::Own,
            grew_by,
            rows: Vec::new(),
        })
    }

    /// Who keeps a loader: the ThreadLocal whose value its classes made, or the holder as of anything else.
    fn holder_of_loader(&self, loader: NodeId) -> (HolderRow, String) {
        let program = self.program;
        let row = program.rows.row_of(loader);
        let rows: Vec<u32> = row.into_iter().collect();
        let way = Way::to(program, loader, &rows);
        let is_entry = |node: NodeId| program.heap.type_name(node) == "java.lang.ThreadLocal$ThreadLocalMap$Entry";
        let entry = way.steps.iter().find(|step| is_entry(step.from));
        let Some(step) = entry else {
            let words = Words::of(program, &way, &rows);
            return (words.holder, words.keeper);
        };
        let variable = variable_of_thread_local(program, step.from);
        let name = variable
            .as_ref()
            .map_or_else(|| "(no static holds it any more)".into(), |(class, name)| format!("{class}.{name}"));
        let holder = HolderRow {
            text: format!("the ThreadLocal {name} (value {})", simple_name(&program.heap.type_name(step.to))),
            class: variable.as_ref().map(|(class, _)| class.clone()),
            fields: variable.into_iter().map(|(_, name)| name).collect(),
            kind: HolderKind::ThreadLocal,
        };
        let mut threads: Vec<&str> = program
            .heap
            .dead
            .iter()
            .filter_map(|&loader| program.heap.threads.get(program.paths.way_to(loader).first()?))
            .map(String::as_str)
            .collect();
        threads.sort_unstable();
        threads.dedup();
        (holder, names_of_threads(&threads))
    }
}

/// Left-over loaders and their classes that none of the others dominates.
fn topmost_of_loaders(program: &Program<'_>) -> Vec<DomNode> {
    let (heap, types) = (&program.heap, program.heap.graph.types());
    let is_member = |node: NodeId| {
        heap.dead.contains(&node)
            || types.of_class_object(node).is_some_and(
                |class| matches!(types.loader(class), Loader::Object(loader) if heap.dead.contains(&loader)),
            )
    };
    topmost_members(program.dominators, &program.children, is_member)
}

/// What objects of a type are called.
fn noun(type_name: &str) -> String {
    match type_name {
        "(string)" | "(concatenated string)" | "(sliced string)" => "strings".into(),
        name if name.starts_with('{') => format!("plain objects {name}"),
        "Object" => "plain objects".into(),
        name => simple_name(name).to_string(),
    }
}

/// A sentence with its full stop, cut where it is too long.
fn ended(text: String) -> String {
    match text.char_indices().nth(MOST_CHARACTERS - 2) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => format!("{text}."),
    }
}
