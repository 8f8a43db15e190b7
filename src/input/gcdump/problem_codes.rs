//! The stable codes of this format's problems (docs/formats/gcdump.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::codes;

/// Problems by which objects may be lost.
pub static LOSS_CODES: &[&ProblemCode] = &[&MALFORMED_NODE, &TRUNCATED];

codes! {
    MALFORMED_NODE: warning("malformed-node", "objects whose record cannot be read; dropped");
    MALFORMED_REF: warning("malformed-ref", "references to no entry of the dump; dropped");
    MISSING_ADDRESSES: warning("missing-addresses", "objects whose address is cut off; they were given made-up ids");
    SAMPLED: note("sampled", "dump that is a sample: true figures are estimates by its multipliers");
    SIZE_MISMATCH: warning("size-mismatch", "bytes between the dump's own total and the sum of its objects");
    SIZE_LIMIT: warning("size-limit", "objects of 2,147,483,647 bytes: the format holds no more, they may be larger");
    TRUNCATED: warning("truncated", "dump that ends before its end mark");
    UNDEFINED_NODE: note("undefined-node", "entries that are referred to and never described; they are no objects");
    UNREADABLE_EXTRAS: warning("unreadable-extras", "fields behind the heap that cannot be read; ignored");
}
