//! The stable codes of this format's problems (docs/formats/hprof.md, "Problems").

use crate::input::Code;
use crate::input::codes::GraphCodes;

pub static GRAPH_CODES: GraphCodes = GraphCodes {
    duplicate_object: Code::warning("repeated-object", "objects listed again; the first was kept"),
    conflicting_object: Code::warning("repeated-object", "objects listed again; the first was kept"),
    dangling_class_root: Code::note(
        "dangling-class-root",
        "roots of archived classes that were not loaded; ordinary in dumps of HotSpot (JDK 25, all objects)",
    ),
    ..GraphCodes::IN_DUMP
};

pub static ARCHIVED_MIRROR: Code =
    Code::note("archived-mirror", "references to archived classes that were not loaded; ordinary in dumps of HotSpot");
pub static BAD_RECORD: Code = Code::warning("bad-record", "records that cannot be read; what follows is lost");
pub static BAD_SUBRECORD: Code =
    Code::warning("bad-subrecord", "entries that cannot be read; the rest of their segments is lost");
pub static BAD_UTF8: Code = Code::warning("bad-utf8", "names with bytes that are no characters");
pub static CLASS_CIRCLE: Code = Code::warning("class-circle", "classes that are their own superclasses");
pub static DATA_AFTER_END: Code = Code::warning("data-after-end", "data behind the end of the dump; ignored");
pub static FIELD_MISMATCH: Code =
    Code::warning("field-mismatch", "classes with instances of another length than their fields have");
pub static LENGTH_WRAPPED: Code =
    Code::note("length-wrapped", "dump of 4 GiB or more, whose length has no room in its record");
pub static NO_CLASS_DUMP: Code =
    Code::warning("no-class-dump", "classes with objects and without a description; their fields are unknown");
pub static NO_END: Code = Code::warning("no-end", "dump without its end record: it may not be whole");
pub static NO_NAME: Code = Code::warning("no-name", "classes without a name");
pub static NO_ROOTS: Code = Code::warning("no-roots", "dump without root records: roots are inferred");
pub static SEVERAL_DUMPS: Code = Code::note("several-dumps", "dumps in the file, of which one was read");
pub static TRUNCATED: Code = Code::warning("truncated", "dump that is cut off; what came before was read");
pub static UNKNOWN_RECORD: Code = Code::warning("unknown-record", "records of an unknown kind; skipped");
pub static ZERO_LENGTH_SEGMENT: Code =
    Code::warning("zero-length-segment", "segment without its length, as a killed process leaves it; read to the end");
