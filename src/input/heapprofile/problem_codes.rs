//! The stable codes of this format's problems (docs/formats/heapprofile.md, "Problems").

use crate::input::problem_codes::codes;

codes! {
    BAD_FRAME: warning("bad-frame", "nodes whose function cannot be read; they are (unknown)");
    BAD_SIZE: warning("bad-size", "nodes whose selfSize is no whole number; they count nothing");
    DATA_AFTER_END: warning("data-after-end", "text behind the end of the profile; not read");
    NO_JSON: warning("no-json", "text that is no JSON; nothing from there on is read");
    TRUNCATED: warning("truncated", "the text breaks off");
}
