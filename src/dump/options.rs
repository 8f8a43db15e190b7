//! Options for opening a dump.

use std::sync::Arc;

use super::memory::MemoryLimit;
use super::root_policy::RootPolicy;
use crate::input::{NoObserver, Observer, ReadOptions};

/// Is an index used?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexUse {
    /// Yes: an index is used that belongs to the dump as it is now, and was made with the same reading options.
    #[default]
    WhereFresh,
    /// Never.
    Never,
}

/// Options for opening a dump. Fill what matters and leave the rest to `Default`.
#[derive(Clone)]
pub struct OpenOptions {
    /// Options of the reader. Default: format detected, all cores.
    pub read: ReadOptions,
    /// Roots with which it is seen. Default: those of the dump.
    pub roots: RootPolicy,
    /// Memory that it and the answers from it may take. Default: no limit.
    pub memory: MemoryLimit,
    /// Is an index used? Default: yes, where there is a fresh one.
    pub index: IndexUse,
    /// Bytes that a temporary file may keep of a dump that comes from a reader, for its fields, texts and names of references
    /// to be read again. Default: 0, they are missing.
    pub spool_bytes: u64,
    /// What objects hold besides references is not told: texts, numbers, keys of maps. Default: it is.
    pub hides_values: bool,
    /// Observer of the work. Default: nobody.
    pub observer: Arc<dyn Observer>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            read: ReadOptions::default(),
            roots: RootPolicy::default(),
            memory: MemoryLimit::default(),
            index: IndexUse::WhereFresh,
            spool_bytes: 0,
            hides_values: false,
            observer: Arc::new(NoObserver),
        }
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OpenOptions { read, roots, memory, index, spool_bytes, hides_values, observer: _ } = self;
        let mut text = f.debug_struct("OpenOptions");
        text.field("read", read).field("roots", roots).field("memory", memory).field("index", index);
        text.field("spool_bytes", spool_bytes).field("hides_values", hides_values);
        text.finish_non_exhaustive()
    }
}
