//! Counts of what could not be resolved when a dump was put together.

use super::TypeSlot;

/// Number of occurrences, and the line (or byte offset) of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// Number of occurrences.
    pub count: u64,
    /// Position of the first one; meaningless while `count` is 0.
    pub first_position: u64,
}

impl Occurrences {
    pub(super) fn add_at(&mut self, first_position: u64) {
        self.join(Occurrences { count: 1, first_position });
    }

    pub(super) fn join(&mut self, other: Occurrences) {
        if other.count > 0 {
            if self.count == 0 || other.first_position < self.first_position {
                self.first_position = other.first_position;
            }
            self.count += other.count;
        }
    }
}

/// Counts of references, roots and objects that could not be resolved; readers give these their format's codes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResolveCounts {
    /// References to 0.
    pub null_references: u64,
    /// References to ids without an object in the section.
    pub dangling_references: Occurrences,
    /// References to class objects that a dump of this kind never lists, which do not count as dangling
    /// (`ResolveOptions::archived_mirror_search`).
    pub archived_mirror_references: Occurrences,
    /// Those among the dangling that another section could satisfy.
    pub cross_section_references: Occurrences,
    /// Root records whose object is not in the section, but those of system classes.
    pub dangling_roots: Occurrences,
    /// Root records of system classes that are not in the section.
    pub dangling_class_roots: Occurrences,
    /// Objects dropped because the same object came before.
    pub duplicate_objects: Occurrences,
    /// Objects dropped because another object of that id came before.
    pub conflicting_objects: Occurrences,
    /// Sections with more bytes than fit 64 bits; at least one when all sections together have more.
    pub size_overflows: Occurrences,
    /// First references that were dropped as words about their objects (`ResolveOptions::drop_first_references`).
    pub dropped_first_references: u64,
}

/// Options that a reader knows only after the whole dump.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResolveOptions {
    /// The first reference of every object that is no class object is a word about the object (its class), not a
    /// reference of the graph. It is dropped and counted.
    /// Default: false.
    pub drop_first_references: bool,
    /// Places where references lead to class objects that the dump leaves out. Default: nowhere.
    pub archived_mirror_search: Option<ArchivedMirrorSearch>,
}

/// An object that is left out because it repeats the id of another, which is kept.
#[derive(Debug)]
pub(super) struct RepeatedObject {
    pub(super) dropped_object: u32,
    pub(super) kept_object: u32,
}

/// Places where archived mirrors are looked for. For dumps of one section.
#[derive(Debug, Clone, Copy)]
pub struct ArchivedMirrorSearch {
    /// The type of the arrays that refer to them.
    pub array_type: TypeSlot,
    /// Bytes of the smallest class object.
    pub min_class_object_bytes: u64,
}
