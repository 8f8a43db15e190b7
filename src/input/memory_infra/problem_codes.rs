//! The stable codes of this format's problems (docs/formats/memory-infra.md, "Problems").

use crate::input::problem_codes::codes;

codes! {
    BAD_ENTRY: warning("bad-entry", "heap entries without a readable size; skipped");
    CHILDREN_EXCEED_PARENT: warning("children-exceed-parent",
        "figures smaller than what is below them; the larger is taken");
    CYCLIC_STACK_FRAMES: warning("cyclic-stack-frames",
        "stack frames that are their own callers; the backtrace begins there");
    EMPTY_HEAP: note("empty-heap", "heaps without an entry; left out");
    HUGE_EVENT: warning("huge-event", "events of more than a gigabyte of text; skipped");
    MALFORMED_EVENT: warning("malformed-event",
        "memory dump events that are no valid JSON; what stands before the fault was read");
    MISSING_TYPE_NAMES: warning("missing-type-names",
        "heaps with types in a process without names of types; numbers are shown");
    NOT_AN_EVENT: warning("not-an-event", "things among the events that are none; skipped");
    REPEATED_HEAP: note("repeated-heap",
        "heaps of the same dump, process and allocator; kept apart (Chromium 120 gives all processes the browser's number)");
    REPEATED_NAMES: note("repeated-names",
        "ids of stack frames or types that are given again, otherwise; the first was kept");
    TRAILING_DATA: warning("trailing-data", "text behind the end of the trace; ignored");
    TRUNCATED: warning("truncated", "the trace ends before its end: it is cut; what came before was read");
    UNEVEN_COLUMNS: warning("uneven-columns",
        "allocators whose columns differ in length; the rows that are whole were read");
    UNKNOWN_FRAME: warning("unknown-frame",
        "entries with a stack frame that is not in the trace; skipped, or counted at the top");
    UNKNOWN_TYPE: warning("unknown-type", "entries with a type that is not in the trace; skipped, or shown by number");
    UNKNOWN_VERSION: warning("unknown-version", "heaps of a version other than 1; read as version 1");
    UNTERMINATED_ARRAY: note("unterminated-array", "arrays of events without their last bracket, as the format allows");
}
