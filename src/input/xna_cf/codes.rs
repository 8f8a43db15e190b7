//! The stable codes of this format's problems (docs/formats/xna-cf.md, "Problems").

use crate::input::Code;
use crate::input::codes::GraphCodes;

/// Ids are numbers, and of one section.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: Code::warning("dangling-ref", "references to objects that are not in their section"),
    dangling_root: Code::warning("dangling-root", "roots of objects that are not in their section"),
    conflicting_object: Code::warning(
        "conflicting-object",
        "objects with the id of another object; the first was kept",
    ),
    ..GraphCodes::IN_DUMP
};

/// Problems by which objects may be lost.
pub static LOST: &[&Code] = &[&MALFORMED_RECORD, &TRUNCATED_LINE, &UNKNOWN_RECORD];

pub static CONFLICTING_TYPE: Code =
    Code::warning("conflicting-type", "types declared again with another name; the first name was kept");
pub static DUPLICATE_TYPE: Code = Code::note("duplicate-type", "types declared again with the same name");
pub static END_NAME_MISMATCH: Code =
    Code::warning("end-name-mismatch", "end records that name another AppDomain than the one they end");
pub static MALFORMED_RECORD: Code =
    Code::warning("malformed-record", "records with a missing or unreadable field; skipped");
pub static MALFORMED_REF: Code = Code::warning("malformed-ref", "unreadable references; dropped");
pub static MISSING_END_RECORD: Code =
    Code::warning("missing-end-record", "AppDomains without an end record: the dump may be cut");
pub static RECORD_OUTSIDE_SECTION: Code =
    Code::warning("record-outside-section", "runs of records outside any AppDomain; read as one without a name");
pub static SIZES_LOOK_DECIMAL: Code = Code::warning(
    "sizes-look-decimal",
    "dump in which no size has a letter a-f: if its sizes are decimal, say --size-radix dec",
);
pub static STATIC_ROOT_WITHOUT_CONTAINER: Code =
    Code::warning("static-root-without-container", "roots of static variables that do not name the class");
pub static TRAILING_FIELDS: Code =
    Code::warning("trailing-fields", "root records with extra fields; extra fields ignored");
pub static TRUNCATED_LINE: Code =
    Code::warning("truncated-line", "last line without a line end: the dump is cut; dropped");
pub static UNDECLARED_CONTAINER: Code =
    Code::warning("undeclared-container", "classes of static variables that are never declared");
pub static UNDECLARED_TYPE: Code = Code::warning("undeclared-type", "types of objects that are never declared");
pub static UNEXPECTED_CONTAINER: Code =
    Code::warning("unexpected-container", "roots that are not static and name a class; ignored");
pub static UNEXPECTED_END_RECORD: Code =
    Code::warning("unexpected-end-record", "end records outside any AppDomain; ignored");
pub static UNKNOWN_RECORD: Code = Code::warning("unknown-record", "lines that are no record; skipped");
pub static UNKNOWN_ROOT_FLAGS: Code =
    Code::warning("unknown-root-flags", "roots with flags that are not documented; counted as strong unless weak");
pub static UNKNOWN_ROOT_KIND: Code =
    Code::warning("unknown-root-kind", "roots of a kind that is not documented; counted as strong");
pub static UNSUPPORTED_VERSION: Code =
    Code::warning("unsupported-version", "AppDomains of another version than 2; read as version 2");
pub static WEAK_AND_STRONG_FLAGS: Code =
    Code::warning("weak-and-strong-flags", "roots that are weak and pinned or interior at once; taken as weak");
