//! Objects that are left over by their own state, however little they retain: loaders of classes that were stopped or
//! replaced, and Android's activities that were destroyed.

use super::described_causes::{CauseNamer, DescribedCause, ElementTypeRow, MIN_CAUSE_BYTES, count_with_verb};
use super::ended_states::EndedState;
use super::holder_words::{HolderDescription, HolderKind, HolderRow, threads_in_words, variable_of_thread_local};
use super::leak_path::{LeakPath, key_of_thread_local};
use super::prepared_heap::{AnalysedHeap, LeftOverLoaders, simple_name};
use super::shapes::LeakShape;
use super::suspect_growth::SuspectGrowth;
use crate::analysis::dominators::DominatorNode;
use crate::analysis::leaks::CodeOwner;
use crate::analysis::retained_sets::topmost_members;
use crate::answers::libraries::dotted_type_name;
use crate::graph::{Loader, NodeId};
use crate::sort;
use crate::units::format_count;

/// Loaders without a state that define one class are left over where there are so many more than before;
const MIN_ADDED_TWIN_LOADERS: usize = 2;
/// without an older dump, where there are so many of them.
const MIN_TWIN_LOADERS_IN_ONE_DUMP: usize = 4;

/// Takes loaders without a state for left over where there are more of one type that define one class. Returns that type and
/// the class.
pub(super) fn mark_surplus_twin_loaders(
    before: Option<&mut LeftOverLoaders>,
    now: &mut LeftOverLoaders,
) -> Option<(String, String)> {
    if !now.left_over_nodes.is_empty() {
        return None;
    }
    let mut found: Vec<(&String, usize)> = now
        .twin_loaders_by_type
        .iter()
        .map(|(name, (loaders, _))| (name, loaders.len()))
        .filter(|(name, count)| match &before {
            Some(before) => {
                *count
                    >= before.twin_loaders_by_type.get(*name).map_or(0, |twins| twins.0.len()) + MIN_ADDED_TWIN_LOADERS
            }
            None => *count >= MIN_TWIN_LOADERS_IN_ONE_DUMP,
        })
        .collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let name = found.first()?.0.clone();
    let (loaders, class) = now.twin_loaders_by_type.get(&name)?.clone();
    now.left_over_nodes.extend(loaders);
    if let Some(before) = before
        && let Some((loaders, _)) = before.twin_loaders_by_type.get(&name).cloned()
    {
        before.left_over_nodes.extend(loaders);
    }
    Some((name, class))
}

/// Left-over objects of a dump: how many, those that none of the others dominates, and what these retain.
struct LeftOverObjects {
    /// Number of them, dominated ones too.
    count: usize,
    topmost: Vec<DominatorNode>,
    retained_bytes: u64,
}

impl LeftOverObjects {
    fn new(analysed: &AnalysedHeap<'_>, count: usize, mut topmost: Vec<DominatorNode>) -> Self {
        // The first one stands for all.
        sort::rows_by_key(&mut topmost, |&number| (std::cmp::Reverse(analysed.retained.bytes_at(number)), number));
        let bytes = topmost.iter().map(|&number| analysed.retained.bytes_at(number));
        LeftOverObjects { count, retained_bytes: bytes.fold(0, u64::saturating_add), topmost }
    }
}

impl CauseNamer<'_, '_> {
    /// Activities of Android that were destroyed, and are held all the same, however little that is.
    pub(super) fn name_destroyed_activities(&self) -> Option<DescribedCause> {
        let (analysed, shape) = (self.analysed, LeakShape::named("android-activities"));
        let over = EndedState::of_activities()?;
        let destroyed = |analysed: &AnalysedHeap<'_>| -> Vec<NodeId> {
            let types = analysed.heap.graph.types();
            let is_activity = types.map_by_superclass(|type_id, above: Option<&bool>| {
                dotted_type_name(types.name(type_id)) == over.class_name || above.copied().unwrap_or(false)
            });
            if !is_activity.contains(&true) {
                return Vec::new();
            }
            let graph = analysed.heap.graph;
            let is_held =
                |&node: &NodeId| is_activity[graph.type_of(node).index()] && analysed.rows.row_of(node).is_some();
            over.select_ended(analysed, &graph.nodes().filter(is_held).collect::<Vec<_>>())
        };
        let left_over = |analysed: &AnalysedHeap<'_>, activities: &[NodeId]| {
            let is_member = |node: NodeId| activities.binary_search(&node).is_ok();
            LeftOverObjects::new(
                analysed,
                activities.len(),
                topmost_members(analysed.dominators, &analysed.children, is_member),
            )
        };
        let activities = destroyed(analysed);
        let before = self.analysed_older.map(|before| left_over(before, &destroyed(before)));
        let first = *activities.get(before.as_ref().map_or(0, |before| before.count))?;
        let now = left_over(analysed, &activities);
        let mut rows: Vec<u32> = activities.iter().filter_map(|&node| analysed.rows.row_of(node)).collect();
        rows.sort_unstable();
        rows.dedup();
        let HolderDescription { holder, outer_holder, .. } =
            HolderDescription::of(analysed, &LeakPath::to(analysed, first, &rows), &rows);
        let were = if activities.len() == 1 { "was destroyed and is" } else { "were destroyed and are" };
        let by = if holder.kind == HolderKind::Root { "by" } else { "in" };
        let (count, name) = (format_count(activities.len() as u64), analysed.heap.type_name(first));
        let size = self.size_in_words(now.retained_bytes, 0);
        let mut sentence = format!("{count} {} ({size}) {were} still kept {by} {}", simple_name(&name), holder.text);
        if !outer_holder.is_empty() {
            sentence += &format!(", kept by {outer_holder}");
        }
        Some(DescribedCause {
            grown_rows: rows,
            ..self.name_left_over(now, before, first, shape, (holder, outer_holder), sentence)
        })
    }

    /// A cause of what is left over; `first` stands for all.
    fn name_left_over(
        &self,
        now: LeftOverObjects,
        before: Option<LeftOverObjects>,
        first: NodeId,
        shape: Option<&'static LeakShape>,
        (holder, outer_holder): (HolderRow, String),
        mut sentence: String,
    ) -> DescribedCause {
        let heap = &self.analysed.heap;
        let grew_by = now.retained_bytes.saturating_sub(before.as_ref().map_or(0, |before| before.retained_bytes));
        if let Some(before) = &before {
            sentence += &format!("; {} new since OLD", count_with_verb(now.count.saturating_sub(before.count) as u64));
        }
        DescribedCause {
            sentence: sentence + ".",
            element: ElementTypeRow {
                type_name: heap.type_name(first),
                objects: now.count as u64,
                objects_old: before.as_ref().map(|before| before.count as u64),
                beside: Vec::new(),
            },
            holder,
            outer_holder,
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
            element_owner: CodeOwner::Application,
            grew_by_bytes: grew_by,
            grown_rows: Vec::new(),
        }
    }

    /// Loaders that were stopped, or were left when others took their place.
    pub(super) fn name_left_over_loaders(&self, twins: Option<&(String, String)>) -> Option<DescribedCause> {
        let (analysed, heap) = (self.analysed, &self.analysed.heap);
        if heap.left_over_loaders.is_empty() {
            return None;
        }
        let loaders = |analysed: &AnalysedHeap<'_>| {
            LeftOverObjects::new(analysed, analysed.heap.left_over_loaders.len(), topmost_left_over_loaders(analysed))
        };
        let (now, before) = (loaders(analysed), self.analysed_older.map(loaders));
        let (count_old, bytes_old) = before.as_ref().map_or((0, 0), |before| (before.count, before.retained_bytes));
        let grew_by = now.retained_bytes.saturating_sub(bytes_old);
        if now.count <= count_old || now.retained_bytes < MIN_CAUSE_BYTES || grew_by < self.search.threshold_bytes() / 2
        {
            return None;
        }
        let mut loaders: Vec<NodeId> = heap.left_over_loaders.iter().copied().collect();
        loaders.sort_unstable();
        let mut ways: Vec<(HolderRow, String, usize)> = Vec::new();
        for &loader in &loaders {
            let (holder, outer_holder) = self.holder_of_loader(loader);
            match ways.iter_mut().find(|(known, ..)| known.text == holder.text) {
                Some((.., count)) => *count += 1,
                None => ways.push((holder, outer_holder, 1)),
            }
        }
        let (holder, outer_holder, _) = ways.into_iter().max_by_key(|(.., count)| *count)?;
        let (type_name, size) = (heap.type_name(loaders[0]), self.size_in_words(now.retained_bytes, 0));
        let (count, name) = (now.count, simple_name(&type_name));
        let mut sentence = match twins {
            Some((_, class)) => {
                format!("{count} {name} that all define {} ({size})", simple_name(&dotted_type_name(class)))
            }
            None => format!("{count} stopped {name} ({size})"),
        };
        sentence += &format!(" are still loaded, kept by {}", holder.text);
        if !outer_holder.is_empty() {
            sentence += &format!(" in {outer_holder}");
        }
        Some(self.name_left_over(
            now,
            before,
            loaders[0],
            LeakShape::named("class-loaders"),
            (holder, outer_holder),
            sentence,
        ))
    }

    /// The holder of a loader: the ThreadLocal whose value its classes made, or as of anything else.
    fn holder_of_loader(&self, loader: NodeId) -> (HolderRow, String) {
        let analysed = self.analysed;
        let row = analysed.rows.row_of(loader);
        let rows: Vec<u32> = row.into_iter().collect();
        let way = LeakPath::to(analysed, loader, &rows);
        let is_entry = |node: NodeId| analysed.heap.type_name(node) == "java.lang.ThreadLocal$ThreadLocalMap$Entry";
        let entry = way.steps.iter().find(|step| is_entry(step.from));
        let Some(step) = entry else {
            let words = HolderDescription::of(analysed, &way, &rows);
            return (words.holder, words.outer_holder);
        };
        let variable = key_of_thread_local(analysed, step.from).and_then(|key| variable_of_thread_local(analysed, key));
        let name = variable
            .as_ref()
            .map_or_else(|| "(no static holds it any more)".into(), |(class, name)| format!("{class}.{name}"));
        let holder = HolderRow {
            text: format!("the ThreadLocal {name} (value {})", simple_name(&analysed.heap.type_name(step.to))),
            class: variable.as_ref().map(|(class, _)| class.clone()),
            fields: variable.into_iter().map(|(_, name)| name).collect(),
            kind: HolderKind::ThreadLocal,
        };
        let mut threads: Vec<&str> = analysed
            .heap
            .left_over_loaders
            .iter()
            .filter_map(|&loader| analysed.heap.thread_names.get(analysed.rows.paths().path_to(loader).first()?))
            .map(String::as_str)
            .collect();
        threads.sort_unstable();
        threads.dedup();
        (holder, threads_in_words(&threads))
    }
}

/// Left-over loaders and their classes that none of the others dominates.
fn topmost_left_over_loaders(analysed: &AnalysedHeap<'_>) -> Vec<DominatorNode> {
    let (heap, types) = (&analysed.heap, analysed.heap.graph.types());
    let is_member = |node: NodeId| {
        heap.left_over_loaders.contains(&node)
            || types.type_of_class_object(node).is_some_and(
                |class| matches!(types.loader(class), Loader::Object(loader) if heap.left_over_loaders.contains(&loader)),
            )
    };
    topmost_members(analysed.dominators, &analysed.children, is_member)
}
