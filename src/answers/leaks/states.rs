//! States that say that objects are over: tasks that were cancelled, Android's activities that were destroyed, its fragments
//! and views that belong to nothing.

use rustc_hash::FxHashMap;

use super::program::Program;
use super::shapes::Shape;
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
        shape: None,
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
        let is_a = |over: &&Over| types.chain(type_id).any(|above| dotted(types.name(above)) == over.class);
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
