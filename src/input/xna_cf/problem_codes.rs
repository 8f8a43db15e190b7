//! The stable codes of this format's problems (docs/formats/xna-cf.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::{GraphCodes, codes};

/// Ids are numbers, and of one section.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: ProblemCode::warning("dangling-ref", "references to objects that are not in their section"),
    dangling_root: ProblemCode::warning("dangling-root", "roots of objects that are not in their section"),
    conflicting_object: ProblemCode::warning(
        "conflicting-object",
        "objects with the id of another object; the first was kept",
    ),
    ..GraphCodes::IN_DUMP
};

/// Problems by which objects may be lost.
pub static LOSS_CODES: &[&ProblemCode] = &[&MALFORMED_RECORD, &TRUNCATED_LINE, &UNKNOWN_RECORD];

codes! {
    CONFLICTING_TYPE: warning("conflicting-type", "types declared again with another name; the first name was kept");
    DUPLICATE_TYPE: note("duplicate-type", "types declared again with the same name");
    END_NAME_MISMATCH: warning("end-name-mismatch", "end records that name another AppDomain than the one they end");
    MALFORMED_RECORD: warning("malformed-record", "records with a missing or unreadable field; skipped");
    MALFORMED_REF: warning("malformed-ref", "unreadable references; dropped");
    MISSING_END_RECORD: warning("missing-end-record", "AppDomains without an end record: the dump may be cut");
    RECORD_OUTSIDE_SECTION: warning("record-outside-section",
        "runs of records outside any AppDomain; read as one without a name");
    SIZES_LOOK_DECIMAL: warning("sizes-look-decimal",
        "dump in which no size has a letter a-f: if its sizes are decimal, say --size-radix dec");
    STATIC_ROOT_WITHOUT_CONTAINER: warning("static-root-without-container",
        "roots of static variables that do not name the class");
    TRAILING_FIELDS: warning("trailing-fields", "root records with extra fields; extra fields ignored");
    TRUNCATED_LINE: warning("truncated-line", "last line without a line end: the dump is cut; dropped");
    UNDECLARED_CONTAINER: warning("undeclared-container", "classes of static variables that are never declared");
    UNDECLARED_TYPE: warning("undeclared-type", "types of objects that are never declared");
    UNEXPECTED_CONTAINER: warning("unexpected-container", "roots that are not static and name a class; ignored");
    UNEXPECTED_END_RECORD: warning("unexpected-end-record", "end records outside any AppDomain; ignored");
    UNKNOWN_RECORD: warning("unknown-record", "lines that are no record; skipped");
    UNKNOWN_ROOT_FLAGS: warning("unknown-root-flags",
        "roots with flags that are not documented; counted as strong unless weak");
    UNKNOWN_ROOT_KIND: warning("unknown-root-kind", "roots of a kind that is not documented; counted as strong");
    UNSUPPORTED_VERSION: warning("unsupported-version", "AppDomains of another version than 2; read as version 2");
    WEAK_AND_STRONG_FLAGS: warning("weak-and-strong-flags",
        "roots that are weak and pinned or interior at once; taken as weak");
}
