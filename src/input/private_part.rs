//! Parts of files that tell of more than the heap.

use std::ops::Range;

/// A part of a file that tells of more than the heap, and what stands there in a copy, before zeros.
pub(crate) type BlottedPart = (Range<u64>, Vec<u8>);
