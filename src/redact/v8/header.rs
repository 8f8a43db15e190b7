//! What stands between the arrays of a snapshot: brackets, keys, the header, and arrays that no reader needs.

use crate::redact::json_redactor::{JsonPosition, TextDecision};

/// Keys of the one object.
const TOP_LEVEL_KEYS: [&str; 11] = [
    "snapshot",
    "nodes",
    "edges",
    "trace_function_infos",
    "trace_tree",
    "samples",
    "locations",
    "scopes",
    "scope_context_vars",
    "scope_uses",
    "strings",
];
/// Kinds of nodes, in the order of their numbers since there are snapshots.
pub(super) const NODE_KINDS: [&str; 16] = [
    "hidden",
    "array",
    "string",
    "object",
    "code",
    "closure",
    "regexp",
    "number",
    "native",
    "synthetic",
    "concatenated string",
    "sliced string",
    "symbol",
    "bigint",
    "object shape",
    "wasm object",
];
/// Kinds of edges, in that order.
pub(super) const EDGE_KINDS: [&str; 7] = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"];
/// Other words of the header: those of all versions from Node.js 12 to 24 and Chromium 49 to 156.
const HEADER_WORDS: &str = "meta node_fields node_types edge_fields edge_types trace_function_info_fields trace_node_fields \
    sample_fields location_fields scope_fields scope_context_var_fields scope_use_fields node_count edge_count \
    trace_function_count scope_context_vars_count scope_uses_count extra_native_bytes root_index type name id self_size \
    trace_node_id detachedness name_or_index to_node string_or_number node function_id script_name script_id line column \
    function_info_index count size children timestamp_us last_assigned_id object_index script_object_index \
    script_node_index declaring_scope_id depth scope_id slot_index";

/// Keys, and words of the header.
pub(super) fn decide_snapshot_text(place: &JsonPosition, text: &str) -> TextDecision {
    let is_known = match place.is_key() && place.depth() == 1 {
        true => TOP_LEVEL_KEYS.contains(&text),
        false => {
            let is_word = || HEADER_WORDS.split_ascii_whitespace().any(|word| word == text);
            place.top_level_key() == TOP_LEVEL_KEYS[0]
                && (NODE_KINDS.contains(&text) || EDGE_KINDS.contains(&text) || is_word())
        }
    };
    if is_known { TextDecision::Keep } else { TextDecision::Replace }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::json_redactor::JsonRedactor;

    #[test]
    fn keys_and_words_of_the_header_pass_and_other_texts_do_not() {
        let file = br#"{"snapshot":{"title":"of alice","meta":{"node_fields":["type","name"],"x":"a\"secret@"},"node_count":2},
"nodes":[1,2],"comment":"of alice \" x","trace_tree":[1,0,[-2,{}],secret],"more":{"of alice":true,"type":1e3}}"#;
        let mut lexer = JsonRedactor::new(decide_snapshot_text, false);
        file.iter().for_each(|&byte| lexer.push_byte(byte));
        let copy = String::from_utf8_lossy(&lexer.out);
        assert!(
            copy.contains(r#""meta":{"node_fields":["type","name"],""#) && copy.contains("[1,0,[-2,{}],0]"),
            "{copy}"
        );
        assert!(copy.contains(":true,") && copy.contains(":1e3}}") && copy.len() == file.len() - 7, "{copy}");
        assert!(["alice", "secret", "title", "comment", "more"].iter().all(|word| !copy.contains(word)), "{copy}");
    }
}
