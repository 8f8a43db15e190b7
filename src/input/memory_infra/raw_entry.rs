//! One entry of `heaps`, as small as possible.

use super::ids::RawId;

/// An entry of `heaps` with its ids as they stand there. 24 bytes: all of a trace are kept until its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawEntry {
    /// With a mark when there are bytes.
    backtrace: u32,
    /// With a mark when there are allocations.
    type_id: u32,
    bytes: u64,
    allocations: u64,
}

impl RawEntry {
    pub(super) fn new(
        backtrace: Option<RawId>,
        type_id: Option<RawId>,
        bytes: Option<u64>,
        allocations: Option<u64>,
    ) -> Self {
        RawEntry {
            backtrace: RawId::pack(backtrace, bytes.is_some()),
            type_id: RawId::pack(type_id, allocations.is_some()),
            bytes: bytes.unwrap_or(0),
            allocations: allocations.unwrap_or(0),
        }
    }

    pub(super) fn backtrace(&self) -> Option<RawId> {
        RawId::unpack(self.backtrace).0
    }

    pub(super) fn type_id(&self) -> Option<RawId> {
        RawId::unpack(self.type_id).0
    }

    pub(super) fn bytes(&self) -> Option<u64> {
        RawId::unpack(self.backtrace).1.then_some(self.bytes)
    }

    pub(super) fn allocations(&self) -> Option<u64> {
        RawId::unpack(self.type_id).1.then_some(self.allocations)
    }
}
