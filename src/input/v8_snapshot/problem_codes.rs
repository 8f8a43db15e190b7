//! The stable codes of this format's problems (docs/formats/v8-snapshot.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::{GraphCodes, codes};

/// References are numbers of nodes: what leads past the last node is in no dump.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: ProblemCode::warning("dangling-ref", "edges that lead to no node; left out"),
    ..GraphCodes::DEFAULT
};

codes! {
    BAD_NUMBER: warning("bad-number", "values that are no numbers, or out of their range; taken as 0");
    BAD_STRING_INDEX: warning("bad-string-index", "names past the last string; written as `<string N>`");
    COUNT_MISMATCH: warning("count-mismatch", "counts in the header that the file does not have; what it has was read");
    DATA_AFTER_END: warning("data-after-end", "data behind the end of the snapshot; ignored");
    DUPLICATE_ID: warning("duplicate-id", "nodes with the id of another node; they were kept, under ids of their own");
    EDGE_COUNT_MISMATCH: warning("edge-count-mismatch",
        "edges that no node or several nodes claim: counts of edges are wrong");
    INCOMPLETE_ROW: warning("incomplete-row", "rows that end before their last value; left out");
    NAMES_MISSING: warning("names-missing",
        "strings are missing: names not read are `<string N>`, and classes, page ownership and WeakMaps cannot be told");
    NO_EDGES: warning("no-edges",
        "the references are not whole: objects stand under the kinds of their nodes, and nothing is known of what holds them");
    TRUNCATED: warning("truncated", "snapshot that is cut off; what came before was read");
}
