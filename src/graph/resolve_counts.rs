//! Counts of what could not be resolved when a dump was put together.

use super::builder::GraphBuilder;
use super::byte_counts::OVERFLOW;

/// How often something was met, and the line (or byte offset) of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// How often.
    pub count: u64,
    /// Where first; meaningless while `count` is 0.
    pub first_position: u64,
}

impl Occurrences {
    pub(super) fn add(&mut self, position: u64) {
        if self.count == 0 || position < self.first_position {
            self.first_position = position;
        }
        self.count += 1;
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

/// What could not be resolved when a dump was put together; readers give these their format's codes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResolveCounts {
    /// References to 0.
    pub null_references: u64,
    /// References to ids without an object in the section.
    pub dangling_references: Occurrences,
    /// Those among the dangling that another section could satisfy.
    pub cross_section_references: Occurrences,
    /// Root records whose object is not in the section.
    pub dangling_roots: Occurrences,
    /// Objects dropped because the same object came before.
    pub duplicate_objects: Occurrences,
    /// Objects dropped because another object of that id came before.
    pub conflicting_objects: Occurrences,
    /// Sections with more bytes than fit 64 bits; at least one when all sections together have more.
    pub size_overflows: Occurrences,
    /// First references that were dropped as words about their objects (`ResolveOptions::drop_first_references`).
    pub dropped_first_references: u64,
}

impl GraphBuilder {
    /// Sums of bytes that do not fit 64 bits, without the `dropped` objects (ascending). O(1) where no object has 4 GiB.
    pub(super) fn find_size_overflows(&self, dropped: impl Iterator<Item = u32>) -> Occurrences {
        const MOST: u128 = u64::MAX as u128;
        // All objects of less than 4 GiB do not make as much.
        let large: u128 = self.large.iter().map(|&(_, bytes)| u128::from(bytes)).sum();
        if large + ((self.shallow.len() as u128) << 32) <= MOST {
            return Occurrences::default();
        }
        let (mut dropped, mut large) = (dropped.peekable(), self.large.iter());
        let mut tally = Occurrences::default();
        let (mut all, mut of_section, mut section) = (0u128, 0u128, None);
        for chunk in &self.chunks {
            if section != Some(chunk.section) {
                (section, of_section) = (Some(chunk.section), 0);
            }
            for object in chunk.objects.clone() {
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
