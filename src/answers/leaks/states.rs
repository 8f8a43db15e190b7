//! States that say that objects are over: tasks that were cancelled, Android's activities that were destroyed, its fragments
//! and views that belong to nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::program::Program;
use super::shapes::Shape;
use super::way::Way;
use crate::analysis::leaks::Owner;
use crate::answers::libraries::dotted;
use crate::graph::{NodeId, TypeId};
use crate::input::{ReferenceName, Value};

/// Values of single objects that are asked one by one; of more all are asked in one pass over the dump.
const FEW_VALUES: usize = 1000;

/// A state that says that an object is over.
pub(super) struct Over {
    /// The class, or a superclass.
    pub(super) class: &'static str,
    field: &'static str,
    is_over: fn(&Value) -> bool,
    /// Behind a number of them.
    says: &'static str,
    shape: Option<&'static str>,
}

/// Sources: OpenJDK's FutureTask (4 is CANCELLED, 5 INTERRUPTING, 6 INTERRUPTED); Android's Activity.performDestroy sets
/// `mDestroyed`, its FragmentManager clears `mFragmentManager`, View.dispatchDetachedFromWindow clears `mAttachInfo`.
static OVER: [Over; 6] = [
    Over {
        class: "java.util.concurrent.FutureTask",
        field: "state",
        is_over: |value| matches!(value, Value::Integer(4..=6)),
        says: "are cancelled",
        shape: Some("cancelled-tasks"),
    },
    Over {
        class: "android.app.Activity",
        field: "mDestroyed",
        is_over: |value| *value == Value::Boolean(true),
        says: "were destroyed",
        shape: Some("android-activities"),
    },
    fragments("android.app.Fragment"),
    fragments("androidx.fragment.app.Fragment"),
    fragments("android.support.v4.app.Fragment"),
    Over {
        class: "android.view.View",
        field: "mAttachInfo",
        is_over: |value| *value == Value::Null,
        says: "are attached to no window",
        shape: Some("android-views"),
    },
];

const fn fragments(class: &'static str) -> Over {
    Over {
        class,
        field: "mFragmentManager",
        is_over: |value| *value == Value::Null,
        says: "belong to no manager any more",
        shape: Some("android-fragments"),
    }
}

impl Over {
    /// The state of objects of a type that says so.
    fn of(program: &Program<'_>, type_id: TypeId) -> Option<&'static Over> {
        let types = program.heap.graph.types();
        let is_a = |over: &&Over| types.superclass_chain(type_id).any(|above| dotted(types.name(above)) == over.class);
        OVER.iter().find(is_a)
    }

    /// That of activities.
    pub(super) fn of_activities() -> Option<&'static Over> {
        OVER.iter().find(|over| over.class == "android.app.Activity")
    }

    /// Those of some objects that are over. Of more than some all are asked in one pass over the dump.
    pub(super) fn among(&self, program: &Program<'_>, members: &[NodeId]) -> Vec<NodeId> {
        let heap = &program.heap;
        if members.len() > FEW_VALUES {
            let columns = heap.details.and_then(|details| details.values_of_fields(heap.graph, &[self.field]).ok());
            let column = columns.and_then(|columns| columns.into_iter().next()).unwrap_or_default();
            let states: FxHashMap<NodeId, Value> = column.into_iter().collect();
            return members.iter().copied().filter(|node| states.get(node).is_some_and(self.is_over)).collect();
        }
        let is_state = |name: &ReferenceName| matches!(name, ReferenceName::Field(_, name) if name == self.field);
        let is_over = |node: &NodeId| {
            let fields = heap.values.map(|values| values.raw_fields(*node)).unwrap_or_default();
            fields.iter().any(|field| is_state(&field.name) && (self.is_over)(&field.value))
        };
        members.iter().copied().filter(is_over).collect()
    }
}

/// Keys of a hash table that are looked at, and how many are enough to judge.
const KEYS_LOOKED_AT: usize = 1000;
const KEYS_ENOUGH: usize = 100;
/// References between a key and its map: its entry, others of the same bin, the table.
const STEPS_TO_MAP: usize = 64;
/// Keys are equal where so many of them are one by their fields.
const EQUAL_KEYS: usize = 4;

/// True where a hash table of Java holds what is kept under keys of the program's own that are equal by their fields: with
/// equals and hashCode it would hold one of each.
pub(super) fn has_equal_keys(program: &Program<'_>, way: &Way) -> bool {
    let heap = &program.heap;
    let Some(values) = heap.values else { return false };
    let key_of = |entry: NodeId| {
        let fields = values.raw_fields(entry).into_iter();
        fields.into_iter().find_map(|field| match (field.name, field.value) {
            (ReferenceName::Field(_, name), Value::Object(key)) if name == "key" => Some(key),
            _ => None,
        })
    };
    let entry = way.steps.get(way.above).map(|step| step.from);
    let entry = entry.filter(|&entry| heap.type_name(entry).starts_with("java.util."));
    let key = entry.and_then(key_of).filter(|&key| heap.nature(key).owner == Owner::Own);
    let Some(row) = key.and_then(|key| program.rows.row_of(key)) else { return false };
    // Keys of one map: others of its kind may have equal ones.
    let above =
        |node: NodeId| std::iter::successors(Some(node), |&at| program.paths.parent(at)).skip(1).take(STEPS_TO_MAP);
    let map = entry.and_then(|entry| above(entry).find(|&node| !heap.nature(node).is_glue));
    let mut keys = program.causes().members(row);
    keys.retain(|&key| map.is_some_and(|map| above(key).any(|node| node == map)));
    let text = |value: &Value| match value {
        Value::Object(node) => values.said_by(*node).map_or_else(|| format!("{value:?}"), |said| said.plain()),
        value => format!("{value:?}"),
    };
    let mut different = FxHashSet::default();
    let mut looked_at = 0;
    for &key in keys.iter().step_by(keys.len().div_ceil(KEYS_LOOKED_AT).max(1)) {
        looked_at += 1;
        different.insert(values.raw_fields(key).iter().map(|field| text(&field.value)).collect::<Vec<_>>());
    }
    looked_at >= KEYS_ENOUGH && EQUAL_KEYS * different.len() <= looked_at
}

/// How many of a row of a type are over, where these are most; words for that, and a shape.
pub(super) fn over(
    program: &Program<'_>,
    type_id: TypeId,
    row: u32,
) -> Option<(u64, &'static str, Option<&'static Shape>)> {
    let over = Over::of(program, type_id)?;
    let members = program.causes().members(row);
    let count = over.among(program, &members).len();
    (2 * count > members.len()).then(|| (count as u64, over.says, over.shape.and_then(Shape::named)))
}
