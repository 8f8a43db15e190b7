//! Secrets in the texts of a dump: keys, tokens, passwords, and what fields of such names hold.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::grouped_strings::{GroupedStrings, text_details};
use super::holders::{FieldHolderFinder, KnownCollections};
use super::reference_names::ReferenceNames;
use super::values::unreadable_values;
use super::{AnswerError, Limits, PathRow};
use crate::analysis::root_paths::RootsByNode;
use crate::analysis::secrets::{SecretRules, entropy_per_character, masked_secret};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, ReadError, ReferenceKind, ReferenceName, Text, Value, WantedContents};

/// Characters of a text that are looked through.
const MAX_SEARCHED_UNITS: usize = 1 << 20;
/// Parts of the names of fields that hold secrets.
const SECRET_FIELD_WORDS: [&str; 7] = ["secret", "token", "password", "passwd", "apikey", "api_key", "credential"];
/// The kind of what is found by the name of its field.
const NAMED_FIELD_KIND: &str = "named-field";
/// A text in such a field is a secret from so many bits of information a character on;
const MIN_ENTROPY_BITS: f64 = 3.0;
/// and if it has so many bytes.
const SECRET_BYTE_LENGTHS: std::ops::RangeInclusive<usize> = 8..=400;

/// Options of the search for secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretsOptions {
    /// The rules.
    pub rules: SecretRules,
    /// Secrets are shown whole.
    pub shows_secrets: bool,
    /// Number of rows.
    pub limits: Limits,
}

/// Secrets of a dump.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Secrets {
    /// The name of the dump's format.
    pub format: String,
    /// Secrets, of each text each, shown or not.
    pub found: usize,
    /// The rows that are shown: by kind, then most copies first.
    pub secrets: Vec<SecretRow>,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SecretRow {
    /// The rule's name.
    pub kind: String,
    /// The secret, all but its ends masked, unless it was to be shown.
    pub masked: String,
    /// String objects with the text; 1 of an array.
    pub copies: u32,
    /// The field that holds the first of them; of what was found by its field that.
    pub holder: Option<String>,
    /// The first of them.
    pub example: String,
    /// The shortest path to it from a root, as an expression; `None` when no strong root reaches it.
    pub path: Option<String>,
}

/// A secret before its row is made.
struct FoundSecret {
    kind: String,
    secret: String,
    copies: u32,
    /// The first text that has it: a string or an array.
    node: NodeId,
    /// The field that it is named by.
    field: Option<String>,
    is_array: bool,
}

/// Looks for secrets in the texts of all string objects and in arrays of bytes and characters that no string has, each text once.
/// As `strings`: two passes over the dump, one more where fields have such names, and one for the holders.
///
/// # Errors
/// If the dump holds no objects or no texts, or takes more memory than it may.
pub fn secrets(dump: &OpenDump, options: &SecretsOptions) -> Result<Secrets, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let details = text_details(dump)?;
    dump.check_rows_memory(graph.node_count() as u64, 8)?;
    let contents = details.contents(graph, &WantedContents::default()).map_err(unreadable_values)?;
    let mut grouped = GroupedStrings::new(graph, contents.strings);
    let named = objects_of_secret_fields(graph, details).map_err(unreadable_values)?;
    let strings = grouped.strings.len();
    grouped.strings.append_unowned_arrays(graph);
    // By place of a text: its copies, 0 where it is looked through at another place; and the one in a field with such a name.
    let mut copies = vec![0_u32; strings];
    copies.resize(grouped.strings.len(), 1);
    let mut in_field: FxHashMap<usize, NodeId> = FxHashMap::default();
    for group in &grouped.groups {
        let at = grouped.first_copy(group);
        copies[at] = group.copies;
        let mut nodes = grouped.copies(group).map(|at| grouped.strings.node(at));
        in_field.extend(nodes.find(|node| named.contains_key(node)).map(|node| (at, node)));
    }
    let arrays = (strings..copies.len()).map(|at| (at, grouped.strings.node(at)));
    in_field.extend(arrays.filter(|(_, node)| named.contains_key(node)));
    let found: Mutex<Vec<FoundSecret>> = Mutex::default();
    let look = |at: usize, text: Text| {
        if copies[at] == 0 {
            return;
        }
        let of_field = in_field.get(&at).copied();
        let text = if at >= strings { without_zero_bytes(text.text) } else { text.text };
        let mut secrets = options.rules.find_in_text(&text);
        if secrets.is_empty() && of_field.is_some() && is_random(&text) {
            secrets.push((NAMED_FIELD_KIND, &text));
        }
        let found_one = |(kind, secret): (&str, &str)| FoundSecret {
            kind: kind.to_string(),
            secret: secret.to_string(),
            copies: copies[at],
            node: of_field.unwrap_or(grouped.strings.node(at)),
            field: of_field.and_then(|node| named.get(&node).cloned()),
            is_array: at >= strings,
        };
        found.lock().unwrap_or_else(PoisonError::into_inner).extend(secrets.into_iter().map(found_one));
    };
    let places: Vec<usize> = (0..copies.len()).filter(|&at| copies[at] > 0).collect();
    details.visit_texts(graph, &grouped.strings, &places, MAX_SEARCHED_UNITS, &look).map_err(unreadable_values)?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by(|a, b| {
        (&a.kind, Reverse(a.copies), a.node, &a.secret).cmp(&(&b.kind, Reverse(b.copies), b.node, &b.secret))
    });
    // What a text was made of is in buffers too.
    let of_strings: FxHashSet<String> =
        found.iter().filter(|one| !one.is_array).map(|one| one.secret.clone()).collect();
    found.retain(|one| !one.is_array || !of_strings.contains(&one.secret));
    let count = found.len();
    options.limits.reverse_and_cut(&mut found);
    let secrets = secret_rows(dump, graph, options, found)?;
    Ok(Secrets { format: dump.info().format.to_string(), found: count, secrets })
}

fn secret_rows(
    dump: &OpenDump,
    graph: &HeapGraph,
    options: &SecretsOptions,
    found: Vec<FoundSecret>,
) -> Result<Vec<SecretRow>, AnswerError> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let nodes: Vec<NodeId> = found.iter().map(|one| one.node).collect();
    let collections = KnownCollections::default().rules()?.resolve(graph);
    let held = FieldHolderFinder::new(dump, &collections)?.holders_of(&nodes)?;
    let (roots, names) = (RootsByNode::new(graph), ReferenceNames::of(dump));
    let path_to = |node: NodeId| {
        let paths = dump.shortest_parents().path_to(graph, &roots, node)?;
        Some(PathRow::new(graph, &roots, paths.get(0)?, names).expression())
    };
    let row = |(one, holder): (FoundSecret, &u32)| SecretRow {
        kind: one.kind,
        masked: if options.shows_secrets { one.secret } else { masked_secret(&one.secret) },
        copies: one.copies,
        holder: one.field.or_else(|| Some(held.names[*holder as usize].text())).filter(|holder| !holder.is_empty()),
        example: graph.display_id(one.node),
        path: path_to(one.node),
    };
    Ok(found.into_iter().zip(&held.name_by_object).map(row).collect())
}

/// The text in bytes of which there may be two a character: without zeros, if they are many.
fn without_zero_bytes(text: String) -> String {
    let zeros = text.bytes().filter(|&byte| byte == 0).count();
    if zeros > text.len() / 3 { text.replace('\0', "") } else { text }
}

/// Returns true for a text that nobody would write by hand.
fn is_random(text: &str) -> bool {
    SECRET_BYTE_LENGTHS.contains(&text.len())
        && !text.contains(char::is_whitespace)
        && text.contains(|c: char| c.is_ascii_digit())
        && entropy_per_character(text) >= MIN_ENTROPY_BITS
}

/// What fields, static variables and properties with names of secrets hold, each with such a name: `app.Client.apiToken`. O(objects +
/// references) for formats whose references have kinds.
fn objects_of_secret_fields(
    graph: &HeapGraph,
    details: &dyn ObjectDetails,
) -> Result<FxHashMap<NodeId, String>, ReadError> {
    let types = graph.types();
    let is_secret = |name: &str| {
        let name = name.to_lowercase();
        SECRET_FIELD_WORDS.iter().any(|word| name.contains(word))
    };
    let mut held = FxHashMap::default();
    let mut add = |from: NodeId, field: &str, to: NodeId| {
        let of = types.type_of_class_object(from).unwrap_or_else(|| graph.type_of(from));
        held.entry(to).or_insert_with(|| format!("{}.{field}", types.name(of)));
    };
    let (mut names, mut classes) = (Vec::new(), Vec::new());
    for type_id in types.ids() {
        for field in types.fields(type_id).iter().filter(|field| is_secret(types.text(field.name))) {
            match types.class_object(type_id).filter(|_| field.is_static) {
                Some(class) => classes.push(class),
                None => names.push(types.text(field.name)),
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        for (name, column) in names.iter().zip(details.values_of_fields(graph, &names)?) {
            for (from, value) in column {
                if let Value::Object(to) = value {
                    add(from, name, to);
                }
            }
        }
    }
    classes.dedup();
    for class in classes {
        for field in details.fields(graph, class)? {
            if let (ReferenceName::StaticField(name), Value::Object(to)) = (&field.name, &field.value)
                && is_secret(name)
            {
                add(class, name, *to);
            }
        }
    }
    if let Some(kinds) = details.reference_kinds(graph)? {
        let (mut of_node, mut known) = (Vec::new(), FxHashMap::default());
        for from in graph.nodes() {
            of_node.clear();
            kinds.append_labels(graph, from, &mut of_node);
            for (&label, &to) in of_node.iter().zip(graph.strong_references(from)) {
                let is_secret = |(kind, name)| {
                    matches!(kind, ReferenceKind::Property | ReferenceKind::CapturedVariable)
                        && is_secret(&kinds.name(name))
                };
                if *known.entry(label).or_insert_with(|| is_secret(kinds.kind_and_name(label))) {
                    add(from, &kinds.name(kinds.kind_and_name(label).1), to);
                }
            }
        }
    }
    Ok(held)
}
