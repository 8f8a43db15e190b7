//! The stable codes of this format's problems (docs/formats/nettrace.md, "Problems").

use crate::input::Code;
use crate::input::codes::GraphCodes;

/// One of several snapshots is read.
pub static GRAPH_CODES: GraphCodes = GraphCodes {
    dangling_ref: Code::warning("dangling-ref", "references to objects that are not in the snapshot"),
    dangling_root: Code::warning("dangling-root", "roots of objects that are not in the snapshot"),
    ..GraphCodes::IN_DUMP
};

/// Problems by which objects may be lost.
pub static LOST: &[&Code] =
    &[&DROPPED_EVENTS, &MALFORMED_BLOCK, &MALFORMED_CONTAINER, &MALFORMED_EVENT, &MISSING_NODE_EVENTS, &TRUNCATED];

pub static DROPPED_EVENTS: Code =
    Code::warning("dropped-events", "events that the runtime dropped: the snapshot may lack objects and references");
pub static DROPPED_ELSEWHERE: Code =
    Code::note("dropped-elsewhere", "events that the runtime dropped before or after the snapshot");
pub static MALFORMED_BLOCK: Code =
    Code::warning("malformed-block", "blocks that cannot be read to their end; the rest of each was skipped");
pub static MALFORMED_CONTAINER: Code =
    Code::warning("malformed-container", "places where no block begins; skipped to the next one");
pub static MALFORMED_EVENT: Code =
    Code::warning("malformed-event", "events shorter than they say; what is there was read");
pub static MISSING_EDGE_EVENTS: Code =
    Code::warning("missing-edge-events", "missing events with references; no reference behind the first can be told");
pub static MISSING_NODE_EVENTS: Code = Code::warning(
    "missing-node-events",
    "missing events with objects; the objects behind the first are there, their references cannot be told",
);
pub static MISSING_ROOT_EVENTS: Code =
    Code::warning("missing-root-events", "missing events with roots or dependent handles");
pub static MISSING_TYPE: Code =
    Code::warning("missing-type", "types of objects that the trace does not describe (was another session open?)");
pub static MISSING_TYPE_NAME: Code =
    Code::note("missing-type-name", "types without a name (keyword 0x1000000 was not asked for)");
pub static NO_RUNDOWN: Code =
    Code::note("no-rundown", "trace without rundown: names of modules and methods are not known");
pub static REFERENCE_MISMATCH: Code =
    Code::warning("reference-mismatch", "references too many or too few for what the objects say");
pub static REPEATED_EVENT: Code =
    Code::warning("repeated-event", "events with objects or references that came before; ignored");
pub static TRUNCATED: Code = Code::warning("truncated", "trace that ends before its end mark");
pub static UNFINISHED_SNAPSHOT: Code =
    Code::warning("unfinished-snapshot", "snapshot without the start or the end of its collection");
pub static UNKNOWN_METADATA: Code =
    Code::warning("unknown-metadata", "events whose description is not in the trace; skipped");
pub static UNKNOWN_ROOT_KIND: Code =
    Code::warning("unknown-root-kind", "roots of a kind that is not documented; counted as strong");
