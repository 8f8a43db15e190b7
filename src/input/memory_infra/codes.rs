//! The stable codes of this format's problems (docs/formats/memory-infra.md, "Problems").

use crate::input::Code;

pub static BAD_ENTRY: Code = Code::warning("bad-entry", "heap entries without a readable size; skipped");
pub static CHILDREN_EXCEED_PARENT: Code =
    Code::warning("children-exceed-parent", "figures smaller than what is below them; the larger is taken");
pub static CYCLIC_STACK_FRAMES: Code =
    Code::warning("cyclic-stack-frames", "stack frames that are their own callers; the backtrace begins there");
pub static EMPTY_HEAP: Code = Code::note("empty-heap", "heaps without an entry; left out");
pub static HUGE_EVENT: Code = Code::warning("huge-event", "events of more than a gigabyte of text; skipped");
pub static MALFORMED_EVENT: Code = Code::warning(
    "malformed-event",
    "memory dump events that are no valid JSON; what stands before the fault was read",
);
pub static MISSING_TYPE_NAMES: Code =
    Code::warning("missing-type-names", "heaps with types in a process without names of types; numbers are shown");
pub static NOT_AN_EVENT: Code = Code::warning("not-an-event", "things among the events that are none; skipped");
pub static REPEATED_HEAP: Code = Code::note(
    "repeated-heap",
    "heaps of the same dump, process and allocator; kept apart (Chromium 120 gives all processes the browser's number)",
);
pub static REPEATED_NAMES: Code =
    Code::note("repeated-names", "ids of stack frames or types that are given again, otherwise; the first was kept");
pub static TRAILING_DATA: Code = Code::warning("trailing-data", "text behind the end of the trace; ignored");
pub static TRUNCATED: Code =
    Code::warning("truncated", "the trace ends before its end: it is cut; what came before was read");
pub static UNEVEN_COLUMNS: Code =
    Code::warning("uneven-columns", "allocators whose columns differ in length; the rows that are whole were read");
pub static UNKNOWN_FRAME: Code = Code::warning(
    "unknown-frame",
    "entries with a stack frame that is not in the trace; skipped, or counted at the top",
);
pub static UNKNOWN_TYPE: Code =
    Code::warning("unknown-type", "entries with a type that is not in the trace; skipped, or shown by number");
pub static UNKNOWN_VERSION: Code =
    Code::warning("unknown-version", "heaps of a version other than 1; read as version 1");
pub static UNTERMINATED_ARRAY: Code =
    Code::note("unterminated-array", "arrays of events without their last bracket, as the format allows");
