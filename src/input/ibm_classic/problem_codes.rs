//! The stable codes of this format's problems (docs/formats/ibm-classic.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::{GraphCodes, codes};

/// The dump lists records at addresses.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: ProblemCode::warning("dangling-ref", "references to addresses that have no record"),
    duplicate_object: ProblemCode::warning("duplicate-object", "records listed again with the same content; ignored"),
    conflicting_object: ProblemCode::warning(
        "conflicting-object",
        "records at the address of another record; the first was kept",
    ),
    ..GraphCodes::IN_DUMP
};

/// Problems by which objects may be lost. Around a dump that is whole there may be anything.
pub static LOSS_CODES: &[&ProblemCode] = &[&MALFORMED_RECORD, &MALFORMED_REF, &ORPHAN_REF, &TRUNCATED_LINE];
/// The same for a dump without its trailer.
pub static LOSS_CODES_OF_CUT: &[&ProblemCode] =
    &[&MALFORMED_RECORD, &MALFORMED_REF, &ORPHAN_REF, &TRUNCATED_LINE, &JUNK_LINE];

codes! {
    JUNK_LINE: warning("junk-line", "lines that are no part of a dump; skipped");
    MALFORMED_RECORD: warning("malformed-record",
        "records with a missing or unreadable address, size or type; skipped");
    MALFORMED_REF: warning("malformed-ref", "words among references that are none; dropped");
    MISSING_TRAILER: warning("missing-trailer", "dump without its \"// EOF\" line: it is probably cut");
    ORPHAN_REF: warning("orphan-ref", "references that belong to no readable record; dropped");
    TRAILER_MISMATCH: warning("trailer-mismatch", "figures of the dump's own totals that differ from what was read");
    TRUNCATED_LINE: warning("truncated-line", "last word without a line end: the dump is cut; the word was dropped");
}
