//! The stable codes of this format's problems (docs/formats/ruby-objspace.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::codes;

/// Problems by which objects may be lost.
pub static LOSS_CODES: &[&ProblemCode] = &[&MALFORMED_LINE, &MALFORMED_RECORD, &TRUNCATED_LINE];

codes! {
    MALFORMED_LINE: warning("malformed-line", "lines that are no JSON object; skipped");
    MALFORMED_RECORD: warning("malformed-record", "records without a readable address, type or size; skipped");
    MALFORMED_REF: warning("malformed-ref", "unreadable references; dropped");
    TRUNCATED_LINE: warning("truncated-line", "last line that breaks off: the dump is cut; dropped");
    UNKNOWN_CLASS: warning("unknown-class",
        "classes of objects that are not in the dump: the dump is cut, or was made with `since`");
    UNKNOWN_ROOT_CATEGORY: note("unknown-root-category", "root lines of a category that is not documented");
}
