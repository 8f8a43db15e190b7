//! The stable codes of this format's problems (docs/formats/phd.md, "Problems").

use crate::input::Code;

pub static BAD_NAME: Code = Code::warning("bad-name", "names of classes with bytes that are no characters");
pub static BAD_RECORD: Code = Code::warning("bad-record", "record that cannot be; what follows is lost");
pub static DATA_AFTER_END: Code = Code::note("data-after-end", "data behind the end of the dump; ignored");
pub static TRUNCATED: Code = Code::warning("truncated", "dump that is cut off; what came before was read");
pub static UNKNOWN_CLASS: Code = Code::warning(
    "unknown-class",
    "objects whose class has no record: their type is `unknown class 0x...`, and their size is not known",
);
pub static JAVA_CORE: Code = Code::note("java-core", "threads whose names are from the Java core beside the dump");
