//! States that say that objects are over: tasks that were cancelled, Android's activities that were destroyed, its fragments
//! and views that belong to nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::leak_path::LeakPath;
use super::prepared_heap::AnalysedHeap;
use super::shapes::LeakShape;
use crate::analysis::leaks::CodeOwner;
use crate::answers::libraries::dotted_type_name;
use crate::graph::{NodeId, TypeId};
use crate::input::{ReferenceName, Value};

/// Values of single objects that are asked one by one; of more all are asked in one pass over the dump.
const MAX_VALUES_READ_SINGLY: usize = 1000;

/// A state that says that an object is over.
pub(super) struct EndedState {
    /// The class, or a superclass.
    pub(super) class_name: &'static str,
    field_name: &'static str,
    is_ended: fn(&Value) -> bool,
    /// Behind a number of them.
    clause: &'static str,
    shape_name: Option<&'static str>,
}

/// Sources: OpenJDK's FutureTask (4 is CANCELLED, 5 INTERRUPTING, 6 INTERRUPTED); Android's Activity.performDestroy sets
/// `mDestroyed`, its FragmentManager clears `mFragmentManager`, View.dispatchDetachedFromWindow clears `mAttachInfo`.
static ENDED_STATES: [EndedState; 6] = [
    EndedState {
        class_name: "java.util.concurrent.FutureTask",
        field_name: "state",
        is_ended: |value| matches!(value, Value::Integer(4..=6)),
        clause: "are cancelled",
        shape_name: Some("cancelled-tasks"),
    },
    EndedState {
        class_name: "android.app.Activity",
        field_name: "mDestroyed",
        is_ended: |value| *value == Value::Boolean(true),
        clause: "were destroyed",
        shape_name: Some("android-activities"),
    },
    ended_fragment_state("android.app.Fragment"),
    ended_fragment_state("androidx.fragment.app.Fragment"),
    ended_fragment_state("android.support.v4.app.Fragment"),
    EndedState {
        class_name: "android.view.View",
        field_name: "mAttachInfo",
        is_ended: |value| *value == Value::Null,
        clause: "are attached to no window",
        shape_name: Some("android-views"),
    },
];

const fn ended_fragment_state(class: &'static str) -> EndedState {
    EndedState {
        class_name: class,
        field_name: "mFragmentManager",
        is_ended: |value| *value == Value::Null,
        clause: "belong to no manager any more",
        shape_name: Some("android-fragments"),
    }
}

impl EndedState {
    /// The state of objects of a type that says so.
    fn of(analysed: &AnalysedHeap<'_>, type_id: TypeId) -> Option<&'static EndedState> {
        let types = analysed.heap.graph.types();
        let is_a = |over: &&EndedState| {
            types.superclass_chain(type_id).any(|above| dotted_type_name(types.name(above)) == over.class_name)
        };
        ENDED_STATES.iter().find(is_a)
    }

    /// That of activities.
    pub(super) fn of_activities() -> Option<&'static EndedState> {
        ENDED_STATES.iter().find(|over| over.class_name == "android.app.Activity")
    }

    /// Those of some objects that are over. Of more than some all are asked in one pass over the dump.
    pub(super) fn select_ended(&self, analysed: &AnalysedHeap<'_>, members: &[NodeId]) -> Vec<NodeId> {
        let heap = &analysed.heap;
        if members.len() > MAX_VALUES_READ_SINGLY {
            let columns =
                heap.details.and_then(|details| details.values_of_fields(heap.graph, &[self.field_name]).ok());
            let column = columns.and_then(|columns| columns.into_iter().next()).unwrap_or_default();
            let states: FxHashMap<NodeId, Value> = column.into_iter().collect();
            return members.iter().copied().filter(|node| states.get(node).is_some_and(self.is_ended)).collect();
        }
        let is_state = |name: &ReferenceName| matches!(name, ReferenceName::Field(_, name) if name == self.field_name);
        let is_ended = |node: &NodeId| {
            let fields = heap.values.map(|values| values.raw_fields(*node)).unwrap_or_default();
            fields.iter().any(|field| is_state(&field.name) && (self.is_ended)(&field.value))
        };
        members.iter().copied().filter(is_ended).collect()
    }
}

/// Keys of a hash table that are looked at, evenly chosen.
const MAX_KEYS_READ: usize = 1000;
/// Of fewer keys nothing is said.
const MIN_KEYS_TO_JUDGE: usize = 100;
/// References between a key and its map: its entry, others of the same bin, the table.
const MAX_STEPS_TO_MAP: usize = 64;
/// Keys are equal where there are so many of them on average for each that is different by its fields.
const MIN_KEYS_PER_DISTINCT_KEY: usize = 4;

/// True where a hash table of Java holds what is kept under keys of the program's own that are equal by their fields: with
/// equals and hashCode it would hold one of each.
pub(super) fn has_equal_keys(analysed: &AnalysedHeap<'_>, way: &LeakPath) -> bool {
    let heap = &analysed.heap;
    let Some(values) = heap.values else { return false };
    let key_of = |entry: NodeId| {
        let fields = values.raw_fields(entry).into_iter();
        fields.into_iter().find_map(|field| match (field.name, field.value) {
            (ReferenceName::Field(_, name), Value::Object(key)) if name == "key" => Some(key),
            _ => None,
        })
    };
    let entry = way.steps.get(way.steps_above_growth).map(|step| step.from);
    let entry = entry.filter(|&entry| heap.type_name(entry).starts_with("java.util."));
    let key = entry.and_then(key_of).filter(|&key| heap.type_role(key).owner == CodeOwner::Application);
    let Some(row) = key.and_then(|key| analysed.rows.row_of(key)) else { return false };
    // Keys of one map: others of its kind may have equal ones.
    let above = |node: NodeId| {
        std::iter::successors(Some(node), |&at| analysed.rows.paths().parent(at)).skip(1).take(MAX_STEPS_TO_MAP)
    };
    let map = entry.and_then(|entry| above(entry).find(|&node| !heap.type_role(node).is_carrier));
    let mut keys = analysed.cause_analysis().row_members(row);
    keys.retain(|&key| map.is_some_and(|map| above(key).any(|node| node == map)));
    let text = |value: &Value| match value {
        Value::Object(node) => values.shown_value(*node).map_or_else(|| format!("{value:?}"), |said| said.plain_text()),
        value => format!("{value:?}"),
    };
    let mut different = FxHashSet::default();
    let mut looked_at = 0;
    for &key in keys.iter().step_by(keys.len().div_ceil(MAX_KEYS_READ).max(1)) {
        looked_at += 1;
        different.insert(values.raw_fields(key).iter().map(|field| text(&field.value)).collect::<Vec<_>>());
    }
    // Keys that are all alike are told apart by who they are: that is meant.
    different.len() > 1 && looked_at >= MIN_KEYS_TO_JUDGE && MIN_KEYS_PER_DISTINCT_KEY * different.len() <= looked_at
}

/// Objects of one type that are over.
pub(super) struct EndedObjects {
    pub(super) count: u64,
    /// Words for their state, behind the count.
    pub(super) clause: &'static str,
    pub(super) shape: Option<&'static LeakShape>,
}

/// Those of a row of a type that are over, where these are most.
pub(super) fn ended_objects(analysed: &AnalysedHeap<'_>, type_id: TypeId, row: u32) -> Option<EndedObjects> {
    let state = EndedState::of(analysed, type_id)?;
    let members = analysed.cause_analysis().row_members(row);
    let count = state.select_ended(analysed, &members).len();
    (2 * count > members.len()).then(|| EndedObjects {
        count: count as u64,
        clause: state.clause,
        shape: state.shape_name.and_then(LeakShape::named),
    })
}
