//! Checks to make first, by the holder of a suspect, the shape of what piles up, and the type of its members: checks to
//! make, never verdicts.

use crate::answers::RootRow;
use crate::answers::leaks::{SuspectKind, SuspectView};

pub(super) fn advice_sentences(suspect: &SuspectView<'_>, root: Option<&RootRow>) -> Vec<&'static str> {
    let point = &suspect.accumulation_point;
    let member = point.member_type.unwrap_or_default();
    let root_kind = root.map_or("", |root| root.kind.as_str());
    let is_lasting = matches!(root_kind, "static" | "class" | "sticky class" | "system class" | "global");
    let mut advice = Vec::new();
    match () {
        () if contains_any(member, &["EventHandler", "Delegate", "Listener", "Subscription", "Observer", "Callback"]) => advice.push(
            "Members are subscriptions, and a subscription keeps its target alive. Check who subscribes, and whether \
             the matching unsubscribe runs.",
        ),
        () if contains_any(member, &["Task", "Runnable", "Future", "Message", "WorkItem", "Command"]) => advice.push(
            "Members look like work that waits. Check whether what takes them out keeps up with what puts them in.",
        ),
        () if is_collection_shape(point.shape) && is_lasting => advice.push(
            "A collection that lives as long as the program. If it is meant as a cache, check its bound; if not, look \
             for additions without removals.",
        ),
        () if is_collection_shape(point.shape) => advice.push(
            "Its members make up the size. Compare their number with what you expect, and look at where they are added.",
        ),
        () if point.shape == "single" && contains_any(point.object.type_name.as_str(), &["[]", "String", "(string)"]) => advice.push(
            "One large array or text. Check how its length comes about, and whether all of it is needed at once.",
        ),
        () => advice.push("Many objects of different types hang together here. Open it in the map to see which part is large."),
    }
    if suspect.row.kind == SuspectKind::Group {
        advice.push("No single object holds them all: check what their root paths have in common.");
    }
    match root_kind {
        "local" | "thread" | "java frame" | "stack" => advice
            .push("A running method holds it: this may be work in progress rather than a leak. A second dump tells."),
        "finalizer" => advice.push("It waits for its finalizer: check whether the finalizer thread is stuck."),
        "handle" | "jni global" => {
            advice.push("A handle of native code holds it: check whether that code gives it back.")
        }
        _ => {}
    }
    advice.truncate(3);
    advice
}

fn contains_any(name: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| name.contains(part))
}

fn is_collection_shape(shape: &str) -> bool {
    matches!(shape, "linked-list" | "hash-table" | "array" | "collection")
}
