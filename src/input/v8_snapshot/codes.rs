//! The stable codes of this format's problems (docs/formats/v8-snapshot.md, "Problems").

use crate::input::Code;
use crate::input::codes::GraphCodes;

/// References are numbers of nodes: what leads past the last node is in no dump.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: Code::warning("dangling-ref", "edges that lead to no node; left out"),
    ..GraphCodes::IN_DUMP
};

pub static BAD_NUMBER: Code =
    Code::warning("bad-number", "values that are no numbers, or out of their range; taken as 0");
pub static BAD_STRING_INDEX: Code =
    Code::warning("bad-string-index", "names past the last string; written as `<string N>`");
pub static COUNT_MISMATCH: Code =
    Code::warning("count-mismatch", "counts in the header that the file does not have; what it has was read");
pub static DATA_AFTER_END: Code = Code::warning("data-after-end", "data behind the end of the snapshot; ignored");
pub static DUPLICATE_ID: Code =
    Code::warning("duplicate-id", "nodes with the id of another node; they were kept, under ids of their own");
pub static EDGE_COUNT_MISMATCH: Code =
    Code::warning("edge-count-mismatch", "edges that no node or several nodes claim: counts of edges are wrong");
pub static INCOMPLETE_ROW: Code = Code::warning("incomplete-row", "rows that end before their last value; left out");
pub static NAMES_MISSING: Code = Code::warning(
    "names-missing",
    "strings are missing: names not read are `<string N>`, and classes, page ownership and WeakMaps cannot be told",
);
pub static NO_EDGES: Code = Code::warning(
    "no-edges",
    "the references are not whole: objects stand under the kinds of their nodes, and nothing is known of what holds them",
);
pub static TRUNCATED: Code = Code::warning("truncated", "snapshot that is cut off; what came before was read");
