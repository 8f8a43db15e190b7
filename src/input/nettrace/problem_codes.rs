//! The stable codes of this format's problems (docs/formats/nettrace.md, "Problems").

use crate::input::ProblemCode;
use crate::input::problem_codes::{GraphCodes, codes};

/// One of several snapshots is read.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: ProblemCode::warning("dangling-ref", "references to objects that are not in the snapshot"),
    dangling_root: ProblemCode::warning("dangling-root", "roots of objects that are not in the snapshot"),
    ..GraphCodes::IN_DUMP
};

/// Problems by which objects may be lost.
pub static LOSS_CODES: &[&ProblemCode] =
    &[&DROPPED_EVENTS, &MALFORMED_BLOCK, &MALFORMED_CONTAINER, &MALFORMED_EVENT, &MISSING_NODE_EVENTS, &TRUNCATED];

codes! {
    DROPPED_EVENTS: warning("dropped-events",
        "events that the runtime dropped: the snapshot may lack objects and references");
    DROPPED_ELSEWHERE: note("dropped-elsewhere", "events that the runtime dropped before or after the snapshot");
    MALFORMED_BLOCK: warning("malformed-block",
        "blocks that cannot be read to their end; the rest of each was skipped");
    MALFORMED_CONTAINER: warning("malformed-container", "places where no block begins; skipped to the next one");
    MALFORMED_EVENT: warning("malformed-event", "events shorter than they say; what is there was read");
    MISSING_EDGE_EVENTS: warning("missing-edge-events",
        "missing events with references; no reference behind the first can be told");
    MISSING_NODE_EVENTS: warning("missing-node-events",
        "missing events with objects; the objects behind the first are there, their references cannot be told");
    MISSING_ROOT_EVENTS: warning("missing-root-events", "missing events with roots or dependent handles");
    MISSING_TYPE: warning("missing-type",
        "types of objects that the trace does not describe (was another session open?)");
    MISSING_TYPE_NAME: note("missing-type-name", "types without a name (keyword 0x1000000 was not asked for)");
    NO_RUNDOWN: note("no-rundown", "trace without rundown: names of modules and methods are not known");
    REFERENCE_MISMATCH: warning("reference-mismatch", "references too many or too few for what the objects say");
    REPEATED_EVENT: warning("repeated-event", "events with objects or references that came before; ignored");
    TRUNCATED: warning("truncated", "trace that ends before its end mark");
    UNFINISHED_SNAPSHOT: warning("unfinished-snapshot", "snapshot without the start or the end of its collection");
    UNKNOWN_METADATA: warning("unknown-metadata", "events whose description is not in the trace; skipped");
    UNKNOWN_ROOT_KIND: warning("unknown-root-kind", "roots of a kind that is not documented; counted as strong");
}
