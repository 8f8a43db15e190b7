//! The limit of memory while a dump is read: one account, and every growing buffer asks it before it grows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Buffers of an ordinary reader, which every dump needs: no part of what a limit is about.
const ORDINARY_BUFFER_BYTES: u64 = 12 << 20;

/// An account of memory. Clones are of the same account; the default one has no limit.
#[derive(Debug, Clone, Default)]
pub struct MemoryBudget(Option<Arc<MemoryAccount>>);

#[derive(Debug)]
struct MemoryAccount {
    limit_bytes: u64,
    content_bytes: AtomicU64,
    buffer_bytes: AtomicU64,
}

/// The share of one holder of an account; given back when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryShare {
    account: Option<Arc<MemoryAccount>>,
    held_bytes: u64,
    is_for_buffer: bool,
}

impl MemoryBudget {
    /// A new account; `None` for no limit.
    pub fn new(limit_bytes: Option<u64>) -> Self {
        MemoryBudget(limit_bytes.map(|limit_bytes| {
            Arc::new(MemoryAccount { limit_bytes, content_bytes: AtomicU64::new(0), buffer_bytes: AtomicU64::new(0) })
        }))
    }

    /// Limit of the account.
    pub fn limit_bytes(&self) -> Option<u64> {
        self.0.as_ref().map(|account| account.limit_bytes)
    }

    /// A share for what stays until the dump has been read.
    pub fn for_content(&self) -> MemoryShare {
        self.share(false)
    }

    /// A share for a buffer that content passes through. Some MiB of those come on top of the limit.
    pub fn for_buffer(&self) -> MemoryShare {
        self.share(true)
    }

    fn share(&self, is_passing: bool) -> MemoryShare {
        MemoryShare { account: self.0.clone(), held_bytes: 0, is_for_buffer: is_passing }
    }
}

impl MemoryShare {
    /// Says that the holder has `bytes` now, in place of what it had. Before they are taken, where that can be.
    ///
    /// # Errors
    /// When all holders together have more than the account allows.
    pub fn set_held_bytes(&mut self, bytes: u64) -> Result<(), BuildError> {
        let Some(account) = &self.account else { return Ok(()) };
        let own = if self.is_for_buffer { &account.buffer_bytes } else { &account.content_bytes };
        // Wrapping, so that one addition does for more and for less.
        own.fetch_add(bytes.wrapping_sub(self.held_bytes), Ordering::Relaxed);
        self.held_bytes = bytes;
        let (kept, passing) =
            (account.content_bytes.load(Ordering::Relaxed), account.buffer_bytes.load(Ordering::Relaxed));
        let limit = account.limit_bytes;
        if kept > limit || kept.saturating_add(passing) > limit.saturating_add(ORDINARY_BUFFER_BYTES) {
            return Err(BuildError::TooMuchMemory(limit));
        }
        Ok(())
    }

    /// Bytes of the holder.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            let own = if self.is_for_buffer { &account.buffer_bytes } else { &account.content_bytes };
            own.fetch_sub(self.held_bytes, Ordering::Relaxed);
        }
    }
}

/// Makes room for `more` values at the end of a column that may become large. Such a one gets pages of its own early:
/// the system then moves it as a whole when it grows, where an allocator would copy it and keep the old place for
/// itself.
pub fn make_room<T>(column: &mut Vec<T>, more: usize) {
    /// Values in smaller columns are copied faster than pages are asked for.
    const LARGE_BYTES: usize = 1 << 20;
    /// More than what any allocator keeps among small things (glibc: up to 32 MiB).
    const OWN_MAPPING_BYTES: usize = 33 << 20;
    let needed = column.len() + more;
    if needed <= column.capacity() {
        return;
    }
    // Unused room may have pages that were free; where nothing is moved, what grows is copied.
    let is_moved = cfg!(target_os = "linux") && column.capacity() >= OWN_MAPPING_BYTES / size_of::<T>().max(1);
    let mut wanted = needed.max(column.capacity() + column.capacity() / if is_moved { 4 } else { 1 });
    if wanted * size_of::<T>() >= LARGE_BYTES {
        wanted = wanted.max(OWN_MAPPING_BYTES / size_of::<T>());
    }
    column.reserve_exact(wanted - column.len());
}

/// Reason for which a graph cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// More objects than node numbers: 2^32 - 2.
    #[error("the dump has more objects than heapdump can number (4,294,967,294)")]
    TooManyObjects,
    /// One object, or a whole V8 snapshot, with 2^32 references or more.
    #[error("more references of one object, or of a V8 snapshot, than heapdump can count (4,294,967,295)")]
    TooManyReferences,
    /// The dump takes more memory than these bytes, which `limit_memory` allows.
    #[error("the dump takes more than {0} bytes of memory")]
    TooMuchMemory(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_share_one_account() {
        let budget = MemoryBudget::new(Some(100));
        let (mut a, mut b) = (budget.for_content(), budget.for_content());
        assert!(a.set_held_bytes(60).is_ok() && b.set_held_bytes(40).is_ok());
        assert_eq!(b.set_held_bytes(41), Err(BuildError::TooMuchMemory(100)));
        drop(a);
        assert!(b.set_held_bytes(100).is_ok());
        let mut buffer = budget.for_buffer();
        assert!(buffer.set_held_bytes(ORDINARY_BUFFER_BYTES).is_ok());
        assert!(buffer.set_held_bytes(ORDINARY_BUFFER_BYTES + 1).is_err());
        assert!(MemoryBudget::new(None).for_content().set_held_bytes(u64::MAX).is_ok());
    }

    #[test]
    fn columns_keep_their_values() {
        let mut column = vec![1u32, 2];
        for more in [1, 1000, 1 << 20] {
            make_room(&mut column, more);
            assert!(column.capacity() >= column.len() + more);
        }
        assert_eq!(column, [1, 2]);
    }
}
