//! The stable codes of this format's problems (docs/formats/gperftools.md, "Problems").

use crate::input::problem_codes::codes;

codes! {
    BAD_ADDRESS: warning("bad-address", "addresses that are none; left out of their stacks");
    BAD_LINE: warning("bad-line", "lines that are no samples; skipped");
    BAD_MAPPING: warning("bad-mapping", "lines of the list of mapped files that name none; skipped");
    TOTAL_MISMATCH: warning("total-mismatch", "the samples have other sums than the first line says");
    TRUNCATED: warning("truncated", "the text breaks off");
}
