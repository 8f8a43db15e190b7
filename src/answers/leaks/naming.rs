//! Causes with their names: what is kept, where, by whom, how it grew, in one sentence.

use std::borrow::Cow;

use serde::Serialize;

use super::growth::SuspectGrowth;
use super::program::{Program, STRINGS, simple_name};
use super::shapes::{Shape, shape_of};
use super::states::{has_equal_keys, over};
use super::way::{Way, key_of_thread_local, root_of, root_text};
use super::words::{HolderKind, HolderRow, Words, common_name};
use crate::analysis::diff::delta;
use crate::analysis::dominators::DomNode;
use crate::analysis::leaks::{Cause, Grown, Owner, Search};
use crate::answers::libraries::dotted;
use crate::graph::{Loader, NodeId, SoftKind, SoftReference, TypeId};
use crate::units::{count_of, format_bytes, format_count};

/// A cause with nothing of the program or a library in it is the runtime's warm-up, unless it is this share of the heap.
const RUNTIME_ONLY_SHARE: f64 = 0.10;
/// Nothing smaller is a cause.
pub(super) const MIN_BYTES: u64 = 64 << 10;
/// Fewer objects of the runtime's, kept by the runtime alone and not there before, are what it makes once.
const MADE_ONCE: u64 = 10;
/// Types that a sentence names beside the element's.
const TYPES_BESIDE: usize = 2;
/// Letters of one name in a sentence.
const MAX_LETTERS: usize = 120;

/// The type that is kept, and how many.
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
    /// Other types that the same place holds almost as many of, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ElementRow>,
}

/// The reason to tell of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
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
    /// The holder's own holder, in words; empty where the holder says it.
    pub(super) keeper: String,
    pub(super) shape: Option<&'static Shape>,
    pub(super) growth: Option<SuspectGrowth>,
    pub(super) retained_bytes: u64,
    pub(super) off_heap_bytes: u64,
    /// The kept objects that none of the others dominates.
    pub(super) topmost: Vec<DomNode>,
    /// The object whose field holds it.
    pub(super) holder_node: NodeId,
    /// The collection that has it.
    pub(super) collection: NodeId,
    /// The type of what is kept.
    pub(super) element_type: TypeId,
    /// The owner of that type.
    pub(super) owner: Owner,
    pub(super) grew_by: u64,
    /// The rows that grew.
    pub(super) rows: Vec<u32>,
}

/// Both dumps' rows, and what is asked of them.
pub(super) struct Finder<'f, 'd> {
    pub(super) program: &'f Program<'d>,
    pub(super) before: Option<&'f Program<'d>>,
    pub(super) search: &'f Search<'f>,
    /// Sizes are whole numbers of bytes.
    pub(super) exact_sizes: bool,
}

impl Finder<'_, '_> {
    fn reachable_bytes(&self) -> u64 {
        self.program.retained.bytes_at(DomNode::ROOT).max(1)
    }

    /// Every cause but loaders, each once.
    pub(super) fn named(&self, found: Vec<Grown>) -> Vec<Named> {
        let program = self.program;
        let causes = program.causes();
        let mut found = causes.complete(found, &program.heap.off_heap);
        found.retain(|cause| !program.heap.is_machinery(cause.example) && !self.is_of_dead_loader(cause));
        let (mut found, large): (Vec<Cause>, Vec<Cause>) =
            found.into_iter().partition(|cause| cause.grown.is_many && self.is_explained(cause));
        causes.without_repeats(&mut found, &program.heap.natures);
        let before = self.retained_before(&found);
        let mut named: Vec<Named> =
            found.into_iter().zip(before).map(|(cause, old)| self.name(cause, old, Reason::Count)).collect();
        // What the same collection holds besides, of the runtime's types alone, is its keys; what only carries others is told
        // with another of the same object.
        let of_runtime = |one: &Named| one.owner == Owner::Runtime;
        let is_below = |one: &Named, main: &Named| {
            let is_carrier = program.heap.natures[one.element_type.index()].is_glue;
            let is_beside = one.collection == main.collection || is_carrier && one.holder_node == main.holder_node;
            is_beside && of_runtime(one) && (!of_runtime(main) || main.grew_by > one.grew_by)
        };
        let is_told: Vec<bool> = named.iter().map(|one| !named.iter().any(|main| is_below(one, main))).collect();
        let mut is_told = is_told.into_iter();
        named.retain(|_| is_told.next().unwrap_or(true));
        if self.before.is_none() {
            named.extend(large.into_iter().map(|cause| self.name(cause, None, Reason::Size)));
        }
        named
    }

    fn retained_before(&self, causes: &[Cause]) -> Vec<Option<u64>> {
        let Some(before) = self.before else { return vec![None; causes.len()] };
        before.causes().retained_before(self.search, causes).into_iter().map(Some).collect()
    }

    /// True for what goes with a loader that is left over.
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
            own.into_iter().any(|soft| soft.target == pair[1] && soft.kind == SoftKind::Soft)
        };
        // A module of the program's own.
        let is_of_own_module = nodes.first().and_then(|start| heap.modules.get(start));
        if is_of_own_module.is_some_and(|module| heap.owner_of_module(module) == Owner::Own) {
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
        let key = way.thread_local_entry(self.program).and_then(|entry| key_of_thread_local(self.program, entry));
        let is_of_variable =
            |key| self.program.paths.way_to(key).into_iter().any(|node| heap.owner(node) != Owner::Runtime);
        key.is_some_and(is_of_variable)
            || way.steps.iter().any(|step| step.is_local() && step.owner == Owner::Own)
            || root_of(self.program, way.start).is_some_and(|root| root_text(self.program, root).0 != Owner::Runtime)
            || (cause.grown.objects_old > 0 || cause.grown.objects >= MADE_ONCE)
                && cause.grown.growth as f64 >= RUNTIME_ONLY_SHARE * self.reachable_bytes() as f64
    }

    pub(super) fn name(&self, cause: Cause, retained_old: Option<u64>, reason: Reason) -> Named {
        let program = self.program;
        let heap = &program.heap;
        let Grown { rows, element, objects, objects_old, beside, growth, .. } = cause.grown;
        let way = Way::to(program, cause.example, &rows);
        let words = match heap.kinds {
            Some(_) => Words::of_script(program, &way),
            None => Words::of(program, &way, &rows),
        };
        let (types, references) = way.types_and_references(program);
        let type_name = heap.type_name(cause.example);
        let by_state = over(program, heap.graph.type_of(cause.example), element);
        let shape = match reason {
            Reason::Count => {
                let by_bytes =
                    || Shape::named("direct-buffers").filter(|_| cause.off_heap_bytes > cause.retained_bytes);
                let by_names = || shape_of(&type_name, &types, &references);
                let by_keys = || Shape::named("equal-keys").filter(|_| has_equal_keys(program, &way));
                by_state.and_then(|(.., shape)| shape).or_else(by_bytes).or_else(by_keys).or_else(by_names)
            }
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
        let beside = beside.into_iter().map(|(row, objects, objects_old)| {
            let type_name = dotted(heap.graph.type_name(program.rows.row(row).type_id)).into_owned();
            ElementRow { type_name, objects, objects_old: self.before.map(|_| objects_old), beside: Vec::new() }
        });
        let beside = beside.collect();
        let mut named = Named {
            sentence: String::new(),
            element: ElementRow { type_name, objects, objects_old: self.before.map(|_| objects_old), beside },
            holder: words.holder,
            keeper: words.keeper,
            shape,
            growth: growth_row,
            retained_bytes: cause.retained_bytes,
            topmost: cause.topmost,
            holder_node: words.node,
            collection: way.collection(program),
            off_heap_bytes: cause.off_heap_bytes,
            element_type: heap.graph.type_of(cause.example),
            owner: heap.nature(cause.example).owner,
            grew_by: growth,
            rows,
        };
        let says = match by_state {
            Some((count, says, _)) => format!(": {} of them {says}", format_count(count)),
            None => shape.map_or(String::new(), |shape| format!(": {}", shape.says)),
        };
        named.sentence =
            self.sentence(&named, reason, &way, element, cause.example) + &says + &self.news(&named, reason) + ".";
        named
    }

    fn amount(&self, bytes: u64) -> String {
        if self.exact_sizes { count_of(bytes, "bytes") } else { format_bytes(bytes) }
    }

    pub(super) fn size(&self, bytes: u64, off_heap: u64) -> String {
        let share = 100.0 * bytes as f64 / self.reachable_bytes() as f64;
        let outside = match off_heap >= MIN_BYTES {
            true => format!(" and {} outside the heap", self.amount(off_heap)),
            false => String::new(),
        };
        format!("{}, {share:.0} %{outside}", self.amount(bytes))
    }

    fn sentence(&self, named: &Named, reason: Reason, way: &Way, element: u32, example: NodeId) -> String {
        let heap = &self.program.heap;
        let ElementRow { objects, .. } = &named.element;
        let size = self.size(named.retained_bytes, named.off_heap_bytes);
        match heap.threads.contains_key(&example) {
            true => self.threads(named, element, &size),
            false => {
                let are = if *objects == 1 { "is" } else { "are" };
                let by = if named.holder.kind == HolderKind::Root { "by" } else { "in" };
                let large = if reason == Reason::Size { "large, " } else { "" };
                let mut text =
                    format!("{} ({size}) {are} {large}kept {by} {}", what(&named.element), brief(&named.holder.text));
                if let Some(carrier) = self.carrier(way, example) {
                    text += &format!(", each in a {carrier}");
                }
                if !named.keeper.is_empty() {
                    text += &format!(", kept by {}", brief(&named.keeper));
                }
                text
            }
        }
    }

    /// How it grew.
    fn news(&self, named: &Named, reason: Reason) -> String {
        let all = || std::iter::once(&named.element).chain(&named.element.beside);
        let new = all().map(|row| Some(row.objects.saturating_sub(row.objects_old?))).sum::<Option<u64>>();
        match (new, &named.growth) {
            _ if reason == Reason::Size => String::new(),
            (Some(0), Some(growth)) => {
                format!("; grew by {}", self.amount(growth.retained_bytes_delta.unsigned_abs()))
            }
            (Some(new), _) => format!("; {} new since OLD", are(new)),
            _ => String::new(),
        }
    }

    /// The object with a name between the collection and what is kept: `Timeout (_onTimeout)`.
    fn carrier(&self, way: &Way, example: NodeId) -> Option<String> {
        let heap = &self.program.heap;
        let step = way.steps.get(way.above)?;
        let (nature, name) = (heap.nature(step.from), heap.type_name(step.from));
        let is_same = self.program.rows.row_of(step.from) == self.program.rows.row_of(example);
        let has_word = simple_name(&name).contains(|letter: char| letter.is_ascii_lowercase()) && !name.ends_with(']');
        let is_named = !nature.is_glue && !nature.is_inner && !nature.is_class && !heap.structural.is_collection(&name);
        let field = step.field()?;
        let text = || format!("{} ({field})", brief(simple_name(&name)));
        (!is_same && is_named && has_word && way.above > 0).then(text)
    }

    fn threads(&self, named: &Named, element: u32, size: &str) -> String {
        let heap = &self.program.heap;
        let members = self.program.causes().members(element);
        let mut names: Vec<&str> =
            members.iter().filter_map(|node| heap.threads.get(node)).map(String::as_str).collect();
        names.sort_unstable();
        let what = match &names[..] {
            [] if named.element.objects == 1 => "thread".to_string(),
            [] => "threads".to_string(),
            [name] => format!("thread {name}"),
            names => format!("threads {}", common_name(names)),
        };
        let are = if named.element.objects == 1 { "is" } else { "are" };
        format!("{} {what} ({size}) {are} alive", format_count(named.element.objects))
    }
}

/// A name without its middle where it is too long for a sentence.
fn brief(name: &str) -> Cow<'_, str> {
    let letters: Vec<char> = name.chars().collect();
    let (start, end) =
        (&letters[..letters.len().min(MAX_LETTERS / 2)], &letters[letters.len().saturating_sub(MAX_LETTERS / 2)..]);
    match letters.len() > MAX_LETTERS {
        true => [start, &['…'], end].concat().into_iter().collect::<String>().into(),
        false => name.into(),
    }
}

/// `1 is`, `2 are`.
pub(super) fn are(count: u64) -> String {
    format!("{} {}", format_count(count), if count == 1 { "is" } else { "are" })
}

/// What is kept, of each type how many: `4,500 Login, 4,500 Click and 4,500 Logout`.
fn what(element: &ElementRow) -> String {
    let of_row =
        |row: &ElementRow| format!("{} {}", format_count(row.objects), brief(&noun(&row.type_name, row.objects)));
    let (named, more) = element.beside.split_at(element.beside.len().min(TYPES_BESIDE));
    let mut parts: Vec<String> = std::iter::once(element).chain(named).map(of_row).collect();
    if !more.is_empty() {
        parts.push(format!("{} of {} more types", format_count(more.iter().map(|row| row.objects).sum()), more.len()));
    }
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }
}

/// The word for so many objects of a type.
fn noun(type_name: &str, objects: u64) -> String {
    let many = if objects == 1 { "" } else { "s" };
    match type_name {
        name if STRINGS.contains(&name) => format!("string{many}"),
        name if name.starts_with('{') => format!("plain object{many} {name}"),
        "Object" => format!("plain object{many}"),
        name => simple_name(name).to_string(),
    }
}
