//! Objects that are left over by their own state, however little they retain: loaders of classes that were stopped or
//! replaced, and Android's activities that were destroyed.

use super::growth::SuspectGrowth;
use super::naming::{ElementRow, Finder, MIN_BYTES, Named, are};
use super::program::{LeftOverLoaders, Program, simple_name};
use super::shapes::Shape;
use super::states::Over;
use super::way::Way;
use super::words::{HolderKind, HolderRow, Words, names_of_threads, variable_of_thread_local};
use crate::analysis::dominators::DomNode;
use crate::analysis::leaks::Owner;
use crate::analysis::retained_sets::topmost_members;
use crate::answers::libraries::dotted;
use crate::graph::{Loader, NodeId};
use crate::sort;
use crate::units::format_count;

/// Loaders without a state that define one class: so many more than before, and so many in one dump, are left over.
const MORE_TWINS: usize = 2;
const TWINS_ALONE: usize = 4;

/// Takes loaders without a state for left over where there are more of one type that define one class. Returns that type and
/// the class.
pub(super) fn take_twins(before: Option<&mut LeftOverLoaders>, now: &mut LeftOverLoaders) -> Option<(String, String)> {
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

/// Left-over objects of a dump: how many, those that none of the others dominates, and what these retain.
struct LeftOver {
    count: usize,
    topmost: Vec<DomNode>,
    retained_bytes: u64,
}

impl LeftOver {
    fn new(program: &Program<'_>, count: usize, mut topmost: Vec<DomNode>) -> Self {
        // The first one stands for all.
        sort::by_key(&mut topmost, |&number| (std::cmp::Reverse(program.retained.bytes_at(number)), number));
        let bytes = topmost.iter().map(|&number| program.retained.bytes_at(number));
        LeftOver { count, retained_bytes: bytes.fold(0, u64::saturating_add), topmost }
    }
}

impl Finder<'_, '_> {
    /// Activities of Android that were destroyed, and are held all the same, however little that is.
    pub(super) fn destroyed_activities(&self) -> Option<Named> {
        let (program, shape) = (self.program, Shape::named("android-activities"));
        let over = Over::of_activities()?;
        let destroyed = |program: &Program<'_>| -> Vec<NodeId> {
            let types = program.heap.graph.types();
            let is_activity = types.by_superclass(|type_id, above: Option<&bool>| {
                dotted(types.name(type_id)) == over.class || above.copied().unwrap_or(false)
            });
            if !is_activity.contains(&true) {
                return Vec::new();
            }
            let graph = program.heap.graph;
            let is_held =
                |&node: &NodeId| is_activity[graph.type_of(node).index()] && program.rows.row_of(node).is_some();
            over.among(program, &graph.nodes().filter(is_held).collect::<Vec<_>>())
        };
        let left_over = |program: &Program<'_>, activities: &[NodeId]| {
            let is_member = |node: NodeId| activities.binary_search(&node).is_ok();
            LeftOver::new(program, activities.len(), topmost_members(program.dominators, &program.children, is_member))
        };
        let activities = destroyed(program);
        let before = self.before.map(|before| left_over(before, &destroyed(before)));
        let first = *activities.get(before.as_ref().map_or(0, |before| before.count))?;
        let now = left_over(program, &activities);
        let mut rows: Vec<u32> = activities.iter().filter_map(|&node| program.rows.row_of(node)).collect();
        rows.sort_unstable();
        rows.dedup();
        let Words { holder, keeper, .. } = Words::of(program, &Way::to(program, first, &rows), &rows);
        let were = if activities.len() == 1 { "was destroyed and is" } else { "were destroyed and are" };
        let by = if holder.kind == HolderKind::Root { "by" } else { "in" };
        let (count, name) = (format_count(activities.len() as u64), program.heap.type_name(first));
        let size = self.size(now.retained_bytes, 0);
        let mut sentence = format!("{count} {} ({size}) {were} still kept {by} {}", simple_name(&name), holder.text);
        if !keeper.is_empty() {
            sentence += &format!(", kept by {keeper}");
        }
        Some(Named { rows, ..self.left_over(now, before, first, shape, (holder, keeper), sentence) })
    }

    /// A cause of what is left over; `first` stands for all.
    fn left_over(
        &self,
        now: LeftOver,
        before: Option<LeftOver>,
        first: NodeId,
        shape: Option<&'static Shape>,
        (holder, keeper): (HolderRow, String),
        mut sentence: String,
    ) -> Named {
        let heap = &self.program.heap;
        let grew_by = now.retained_bytes.saturating_sub(before.as_ref().map_or(0, |before| before.retained_bytes));
        if let Some(before) = &before {
            sentence += &format!("; {} new since OLD", are(now.count.saturating_sub(before.count) as u64));
        }
        Named {
            sentence: sentence + ".",
            element: ElementRow {
                type_name: heap.type_name(first),
                objects: now.count as u64,
                objects_old: before.as_ref().map(|before| before.count as u64),
                beside: Vec::new(),
            },
            holder,
            keeper,
            shape,
            growth: before.map(|_| SuspectGrowth {
                retained_bytes_old: now.retained_bytes - grew_by,
                retained_bytes_delta: i64::try_from(grew_by).unwrap_or(i64::MAX),
            }),
            retained_bytes: now.retained_bytes,
            topmost: now.topmost,
            holder_node: first,
            collection: first,
            off_heap_bytes: 0,
            element_type: heap.graph.type_of(first),
            owner: Owner::Own,
            grew_by,
            rows: Vec::new(),
        }
    }

    /// Loaders that were stopped, or were left when others took their place.
    pub(super) fn left_over_loaders(&self, twins: Option<&(String, String)>) -> Option<Named> {
        let (program, heap) = (self.program, &self.program.heap);
        if heap.dead.is_empty() {
            return None;
        }
        let loaders =
            |program: &Program<'_>| LeftOver::new(program, program.heap.dead.len(), topmost_of_loaders(program));
        let (now, before) = (loaders(program), self.before.map(loaders));
        let (count_old, bytes_old) = before.as_ref().map_or((0, 0), |before| (before.count, before.retained_bytes));
        let grew_by = now.retained_bytes.saturating_sub(bytes_old);
        if now.count <= count_old || now.retained_bytes < MIN_BYTES || grew_by < self.search.threshold() / 2 {
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
        let (type_name, size) = (heap.type_name(loaders[0]), self.size(now.retained_bytes, 0));
        let (count, name) = (now.count, simple_name(&type_name));
        let mut sentence = match twins {
            Some((_, class)) => format!("{count} {name} that all define {} ({size})", simple_name(&dotted(class))),
            None => format!("{count} stopped {name} ({size})"),
        };
        sentence += &format!(" are still loaded, kept by {}", holder.text);
        if !keeper.is_empty() {
            sentence += &format!(" in {keeper}");
        }
        Some(self.left_over(now, before, loaders[0], Shape::named("class-loaders"), (holder, keeper), sentence))
    }

    /// The holder of a loader: the ThreadLocal whose value its classes made, or as of anything else.
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
