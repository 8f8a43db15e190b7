//! What did not fit when a dump was put together.

/// How often something was met, and the line (or byte offset) of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// Where first; meaningless while `count` is 0.
    pub first_position: u64,
}

impl Tally {
    pub(super) fn add(&mut self, position: u64) {
        if self.count == 0 || position < self.first_position {
            self.first_position = position;
        }
        self.count += 1;
    }

    pub(super) fn join(&mut self, other: Tally) {
        if other.count > 0 {
            if self.count == 0 || other.first_position < self.first_position {
                self.first_position = other.first_position;
            }
            self.count += other.count;
        }
    }
}

/// What did not fit when a dump was put together; readers give these their format's codes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Findings {
    /// References to 0.
    pub null_references: u64,
    /// References to ids without an object in the section.
    pub dangling_references: Tally,
    /// Those among the dangling that another section could satisfy.
    pub cross_section_references: Tally,
    /// Root records whose object is not in the section.
    pub dangling_roots: Tally,
    /// Objects dropped because the same object came before.
    pub duplicate_objects: Tally,
    /// Objects dropped because another object of that id came before.
    pub conflicting_objects: Tally,
    /// First references set aside as class words (`ResolveOptions::first_reference_is_class`).
    pub class_words: u64,
}
