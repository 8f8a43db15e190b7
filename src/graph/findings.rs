//! What did not fit when a dump was put together.

use super::builder::GraphBuilder;
use super::byte_counts::OVERFLOW;

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
    /// Sections with more bytes than fit 64 bits; at least one when all sections together have more.
    pub size_overflows: Tally,
    /// First references set aside as class words (`ResolveOptions::first_reference_is_class`).
    pub class_words: u64,
}

impl GraphBuilder {
    /// Sums of bytes that do not fit 64 bits, without the `dropped` objects (ascending). O(1) where no object has 4 GiB.
    pub(super) fn find_size_overflows(&self, dropped: impl Iterator<Item = u32>) -> Tally {
        const MOST: u128 = u64::MAX as u128;
        // All objects of less than 4 GiB do not make as much.
        let large: u128 = self.large.iter().map(|&(_, bytes)| u128::from(bytes)).sum();
        if large + ((self.shallow.len() as u128) << 32) <= MOST {
            return Tally::default();
        }
        let (mut dropped, mut large) = (dropped.peekable(), self.large.iter());
        let mut tally = Tally::default();
        let (mut all, mut of_section, mut section) = (0u128, 0u128, None);
        for segment in &self.segments {
            if section != Some(segment.section) {
                (section, of_section) = (Some(segment.section), 0);
            }
            for object in segment.objects.clone() {
                let bytes = match self.shallow[object] {
                    OVERFLOW => large.next().map_or(0, |&(_, bytes)| u128::from(bytes)),
                    bytes => u128::from(bytes),
                };
                if dropped.next_if_eq(&(object as u32)).is_some() {
                    continue;
                }
                if all <= MOST && all + bytes > MOST {
                    tally.first_position = GraphBuilder::position_of(&self.positions, object);
                }
                tally.count += u64::from(of_section <= MOST && of_section + bytes > MOST);
                all += bytes;
                of_section += bytes;
            }
        }
        if all > MOST {
            tally.count = tally.count.max(1);
        }
        tally
    }
}
