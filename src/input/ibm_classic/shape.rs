//! The shape of a dump, one of four, decided over the whole file.
//!
//! Per record it cannot be decided: in the dumps of today one or two objects look like the old shape by chance (a
//! `java/lang/reflect/Method` whose first field is `Method.class`).

use rustc_hash::FxHashMap;

use super::block::Counts;
use crate::graph::{GraphBuilder, TypeSlot};

/// The shapes, by who writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// J9 2.3 to 2.5: the first reference of an object is its class; nulls are printed in all digits.
    ClassFirst,
    /// J9 2.6 and later, OpenJ9: heap references only, no nulls.
    Native,
    /// The `heapdump` command of jdmpview: as native, nulls printed as `0x0`.
    Jdmpview,
    /// IBM SDK 1.3.1 and 1.4, and printing tools: no `OBJ` and `CLS`.
    Sovereign,
}

impl Shape {
    /// The version text that `info` prints.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Shape::ClassFirst => "A (J9 2.3-2.5: an object's first reference is its class)",
            Shape::Native => "B (J9 2.6 and later, OpenJ9)",
            Shape::Jdmpview => "C (jdmpview)",
            Shape::Sovereign => "D (IBM SDK 1.4 and earlier, or a printing tool)",
        }
    }

    /// Decides. Small files by their nulls; without nulls by whether at least nine objects in ten have a class record
    /// of their own type as first reference. O(objects) at worst; today's dumps show within their first tenth.
    pub(super) fn decide(counts: &Counts, compact_trailer: bool, builder: &GraphBuilder) -> Shape {
        if counts.without_word > counts.with_word {
            Shape::Sovereign
        } else if counts.full_zeros > 0 {
            Shape::ClassFirst
        } else if counts.short_zeros > 0 || compact_trailer {
            Shape::Jdmpview
        } else if has_class_first(counts, builder) {
            Shape::ClassFirst
        } else {
            Shape::Native
        }
    }
}

fn has_class_first(counts: &Counts, builder: &GraphBuilder) -> bool {
    let objects = builder.object_count() as u64 - counts.classes;
    if objects == 0 || counts.classes == 0 {
        return false;
    }
    let classes: FxHashMap<u64, TypeSlot> =
        builder.class_objects().iter().map(|&(object, class)| (builder.id_of(object as usize), class)).collect();
    let mut class_objects = builder.class_objects().iter().map(|&(object, _)| object as usize).peekable();
    let allowed = objects / 10;
    let mut others = 0;
    for (object, type_slot, first) in builder.first_references() {
        while class_objects.next_if(|&class_object| class_object < object).is_some() {}
        if class_objects.peek() == Some(&object) {
            continue;
        }
        let class = first.and_then(|address| classes.get(&address));
        if !class.is_some_and(|&class| builder.same_type_name(class, type_slot)) {
            others += 1;
            if others > allowed {
                return false;
            }
        }
    }
    true
}
