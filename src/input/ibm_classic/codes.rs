//! The stable codes of this format's problems (docs/formats/ibm-classic.md, "Problems").

use crate::input::Code;

pub(super) static CONFLICTING_OBJECT: Code =
    Code::warning("conflicting-object", "records at the address of another record; the first was kept");
pub(super) static DANGLING_REF: Code = Code::warning("dangling-ref", "references to addresses that have no record");
pub(super) static DUPLICATE_OBJECT: Code =
    Code::warning("duplicate-object", "records listed again with the same content; ignored");
pub(super) static JUNK_LINE: Code = Code::warning("junk-line", "lines that are no part of a dump; skipped");
pub(super) static MALFORMED_RECORD: Code =
    Code::warning("malformed-record", "records with a missing or unreadable address, size or type; skipped");
pub(super) static MALFORMED_REF: Code = Code::warning("malformed-ref", "words among references that are none; dropped");
pub(super) static MISSING_TRAILER: Code =
    Code::warning("missing-trailer", "dump without its \"// EOF\" line: it is probably cut");
pub(super) static ORPHAN_REF: Code =
    Code::warning("orphan-ref", "references that belong to no readable record; dropped");
pub(super) static TRAILER_MISMATCH: Code =
    Code::warning("trailer-mismatch", "figures of the dump's own totals that differ from what was read");
pub(super) static TRUNCATED_LINE: Code =
    Code::warning("truncated-line", "last word without a line end: the dump is cut; the word was dropped");
