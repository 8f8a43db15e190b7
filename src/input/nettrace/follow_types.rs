//! Types in a trace that is being written: whether all that objects have are described in it. The runtime describes a type
//! once; where another session was open, it may have done so there alone.

use rustc_hash::FxHashSet;

use super::fields::u64_at;
use super::payload::bulk_head;
use super::types::for_each_description;

/// Far more than programs have; beyond it nothing is said.
const MAX_TYPES: usize = 1 << 20;

/// Type ids that have been met.
#[derive(Debug, Default)]
pub(super) struct FollowedTypes {
    of_objects: FxHashSet<u64>,
    described: FxHashSet<u64>,
    /// The last object's: most have the same type as the one before.
    last: u64,
}

impl FollowedTypes {
    /// Types of the objects in an event of nodes, `A address, u64 bytes, u64 type, u64 edges`.
    pub(super) fn meet(&mut self, payload: &[u8], pointer: usize) {
        let Ok(head) = bulk_head(payload) else { return };
        for entry in head.entries.chunks_exact(pointer + 24).take(head.count as usize) {
            let id = u64_at(entry, pointer + 8);
            if id != self.last {
                self.last = id;
                if self.of_objects.len() < MAX_TYPES {
                    self.of_objects.insert(id);
                }
            }
        }
    }

    /// Types that an event describes. Returns false if it cannot be read.
    pub(super) fn describe(&mut self, payload: &[u8]) -> bool {
        let described = &mut self.described;
        let is_read = for_each_description(payload, |id, _| {
            if described.len() < MAX_TYPES {
                described.insert(id);
            }
        });
        is_read.is_ok()
    }

    /// Types of objects that are not described.
    pub(super) fn missing(&self) -> u64 {
        if self.described.len() >= MAX_TYPES {
            return 0;
        }
        self.of_objects.difference(&self.described).count() as u64
    }
}
