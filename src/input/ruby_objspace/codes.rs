//! The stable codes of this format's problems (docs/formats/ruby-objspace.md, "Problems").

use crate::input::Code;

/// Problems by which objects may be lost.
pub static LOST: &[&Code] = &[&MALFORMED_LINE, &MALFORMED_RECORD, &TRUNCATED_LINE];

pub static MALFORMED_LINE: Code = Code::warning("malformed-line", "lines that are no JSON object; skipped");
pub static MALFORMED_RECORD: Code =
    Code::warning("malformed-record", "records without a readable address, type or size; skipped");
pub static MALFORMED_REF: Code = Code::warning("malformed-ref", "unreadable references; dropped");
pub static TRUNCATED_LINE: Code =
    Code::warning("truncated-line", "last line that breaks off: the dump is cut; dropped");
pub static UNKNOWN_CLASS: Code = Code::warning(
    "unknown-class",
    "classes of objects that are not in the dump: the dump is cut, or was made with `since`",
);
pub static UNKNOWN_ROOT_CATEGORY: Code =
    Code::note("unknown-root-category", "root lines of a category that is not documented");
