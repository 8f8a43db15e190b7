//! The stable codes of this format's problems (docs/formats/hprof.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::{GraphCodes, codes};

pub static GRAPH_CODES: GraphCodes = GraphCodes {
    duplicate_object: ProblemCode::warning("repeated-object", "objects listed again; the first was kept"),
    conflicting_object: ProblemCode::warning("repeated-object", "objects listed again; the first was kept"),
    dangling_class_root: ProblemCode::note(
        "dangling-class-root",
        "roots of archived classes that were not loaded; ordinary in dumps of HotSpot (JDK 25, all objects)",
    ),
    ..GraphCodes::DEFAULT
};

codes! {
    ARCHIVED_MIRROR: note("archived-mirror",
        "references to archived classes that were not loaded; ordinary in dumps of HotSpot");
    BAD_RECORD: warning("bad-record", "records that cannot be read; what follows is lost");
    BAD_SUBRECORD: warning("bad-subrecord", "entries that cannot be read; the rest of their segments is lost");
    BAD_UTF8: warning("bad-utf8", "names with bytes that are no characters");
    CLASS_CIRCLE: warning("class-circle", "classes that are their own superclasses");
    DATA_AFTER_END: warning("data-after-end", "data behind the end of the dump; ignored");
    FIELD_MISMATCH: warning("field-mismatch", "classes with instances of another length than their fields have");
    LENGTH_WRAPPED: note("length-wrapped", "dump of 4 GiB or more, whose length has no room in its record");
    NO_CLASS_DUMP: warning("no-class-dump", "classes with objects and without a description; their fields are unknown");
    NO_END: warning("no-end", "dump without its end record: it may not be whole");
    NO_NAME: warning("no-name", "classes without a name");
    NO_ROOTS: warning("no-roots", "dump without root records: roots are inferred");
    SEVERAL_DUMPS: note("several-dumps", "dumps in the file, of which one was read");
    TRUNCATED: warning("truncated", "dump that is cut off; what came before was read");
    UNKNOWN_RECORD: warning("unknown-record", "records of an unknown kind; skipped");
    ZERO_LENGTH_SEGMENT: warning("zero-length-segment",
        "segment without its length, as a killed process leaves it; read to the end");
}
