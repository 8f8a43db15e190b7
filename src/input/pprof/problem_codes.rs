//! The stable codes of this format's problems (docs/formats/pprof.md, "Problems").

use crate::input::problem_codes::codes;

codes! {
    BAD_MESSAGE: warning("bad-message", "parts that are no well-formed message; skipped");
    BAD_PATTERN: warning("bad-pattern", "patterns of frames to be left out that cannot be understood; no frame is left out by them");
    BAD_SAMPLE: warning("bad-sample", "samples with another number of values than the profile has; skipped");
    DIFFERENCE: note("difference", "the profile is a difference of two: dump 1 has what it takes away, dump 2 what it adds; `heapdump diff FILE` shows both");
    REPEATED_ID: warning("repeated-id", "functions, locations and mappings with an id that another one has; the first counts");
    TRUNCATED: warning("truncated", "texts that are not in the profile, which ends with them: it is cut; such names are shown by number");
    UNKNOWN_FUNCTION: warning("unknown-function", "functions that are not in the profile; shown by number");
    UNKNOWN_LOCATION: warning("unknown-location", "frames at locations that are not in the profile; shown by number");
}
