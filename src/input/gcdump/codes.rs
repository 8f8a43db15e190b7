//! The stable codes of this format's problems (docs/formats/gcdump.md, "Problems").

use crate::input::Code;

/// Problems by which objects may be lost.
pub static LOST: &[&Code] = &[&MALFORMED_NODE, &TRUNCATED];

pub static MALFORMED_NODE: Code = Code::warning("malformed-node", "objects whose record cannot be read; dropped");
pub static MALFORMED_REF: Code = Code::warning("malformed-ref", "references to no entry of the dump; dropped");
pub static MISSING_ADDRESSES: Code =
    Code::warning("missing-addresses", "objects whose address is cut off; they were given made-up ids");
pub static SAMPLED: Code =
    Code::note("sampled", "dump that is a sample: true figures are estimates by its multipliers");
pub static SIZE_MISMATCH: Code =
    Code::warning("size-mismatch", "bytes between the dump's own total and the sum of its objects");
pub static SIZE_LIMIT: Code =
    Code::warning("size-limit", "objects of 2,147,483,647 bytes: the format holds no more, they may be larger");
pub static TRUNCATED: Code = Code::warning("truncated", "dump that ends before its end mark");
pub static UNDEFINED_NODE: Code =
    Code::note("undefined-node", "entries that are referred to and never described; they are no objects");
pub static UNREADABLE_EXTRAS: Code =
    Code::warning("unreadable-extras", "fields behind the heap that cannot be read; ignored");
