//! The stable codes of this format's problems (docs/formats/phd.md, "Problems").

use crate::input::problem_codes::codes;

codes! {
    BAD_NAME: warning("bad-name", "names of classes with bytes that are no characters");
    BAD_RECORD: warning("bad-record", "record that cannot be; what follows is lost");
    DATA_AFTER_END: note("data-after-end", "data behind the end of the dump; ignored");
    TRUNCATED: warning("truncated", "dump that is cut off; what came before was read");
    UNKNOWN_CLASS: warning("unknown-class",
        "objects whose class has no record: their type is `unknown class 0x...`, and their size is not known");
    JAVA_CORE: note("java-core", "threads whose names are from the Java core beside the dump");
}
