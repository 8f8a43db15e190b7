//! The stable codes of this format's problems (docs/formats/heapgraph.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::codes;

/// Problems by which objects may be lost.
pub static LOST: &[&ProblemCode] = &[&MALFORMED_LINE, &MALFORMED_RECORD, &TRUNCATED_LINE];

codes! {
    BAD_RANGES: warning("bad-ranges", "ranges that do not ascend or leave objects out; all of their kind are passed over");
    BEHIND_END: warning("behind-end", "records behind the `end` record, which is the last one of a file");
    MALFORMED_KEY: warning("malformed-key", "keys with a value of the wrong kind; passed over");
    MALFORMED_LINE: warning("malformed-line", "lines that are no JSON object; skipped");
    MALFORMED_RECORD: warning("malformed-record", "records in which a key that is needed is missing or has a value of the wrong kind; skipped");
    MALFORMED_REF: warning("malformed-ref", "references that are no id; dropped");
    MISSING_SIZE: note("missing-size", "objects without a size: they count 0 bytes");
    MIXED_RECORD: warning("mixed-record", "lines that are more than one record: read as one of them");
    NO_END: warning("no-end", "the last line is no `end` record: the dump may be cut");
    REPEATED_KEY: warning("repeated-key", "records with a key that comes twice");
    REPEATED_RECORD: warning("repeated-record", "threads and numbers of types that a line before has");
    SECOND_HEADER: warning("second-header", "headers behind the first one; passed over");
    TRAILER_MISMATCH: warning("trailer-mismatch", "the `end` record counts other objects than there are");
    TRUNCATED_LINE: warning("truncated-line", "last line that breaks off: the dump is cut; dropped");
    UNKNOWN_KEY: warning("unknown-key", "objects with a key that the form does not have; passed over");
    UNKNOWN_RECORD: warning("unknown-record", "lines that are no record of this form; skipped");
    UNKNOWN_ROOT_KIND: note("unknown-root-kind", "roots of a kind that this program has no word for");
    UNKNOWN_THREAD: warning("unknown-thread", "roots on the stack of a thread, or in a frame of it, that no line describes");
    UNKNOWN_TYPE: warning("unknown-type", "numbers of types that no line names");
    UNKNOWN_VERSION: warning("unknown-version", "a version of the form other than 1; read as 1");
}
