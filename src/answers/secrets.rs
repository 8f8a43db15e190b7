//! Secrets in the texts of a dump: keys, tokens, passwords, and what fields of such names hold.

use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::grouped_strings::{GroupedStrings, text_details};
use super::holders::{Holders, KnownCollections};
use super::values::unreadable;
use super::{AnswerError, Limits};
use crate::analysis::secrets::{SecretRules, entropy, masked};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, Text, Value, WantedContents};

/// Characters of a text that are looked through.
const MAX_UNITS: usize = 1 << 20;
/// Parts of the names of fields that hold secrets.
const SECRET_FIELDS: [&str; 7] = ["secret", "token", "password", "passwd", "apikey", "api_key", "credential"];
/// The kind of what is found by the name of its field.
const BY_FIELD: &str = "named-field";
/// A text in such a field is a secret from so many bits of information a character on, and of this length.
const MIN_ENTROPY: f64 = 3.0;
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=400;

/// Options of the search for secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretsOptions {
    /// The rules.
    pub rules: SecretRules,
    /// Secrets are shown whole.
    pub are_shown: bool,
    /// Number of rows.
    pub limits: Limits,
}

/// Secrets of a dump.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Secrets {
    /// The name of the dump's format.
    pub format: String,
    /// Different texts with a secret, shown or not.
    pub found: usize,
    /// The rows that are shown: by kind, then most copies first.
    pub secrets: Vec<SecretRow>,
}

/// A text with a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SecretRow {
    /// The rule's name.
    pub kind: String,
    /// The secret, all but its ends masked, unless it was to be shown.
    pub masked: String,
    /// String objects with the text.
    pub copies: u32,
    /// The field that holds the first of them.
    pub holder: Option<String>,
    /// The first of them.
    pub example: String,
}

/// A secret before its holder is known: place of the text among the groups, kind, secret.
type Found = (usize, String, String);

/// Looks for secrets in the texts of all string objects, each once. As `strings`: two passes over the dump, one more where
/// fields have such names, and one for the holders.
///
/// # Errors
/// If the dump holds no objects or no texts, or takes more memory than it may.
pub fn secrets(dump: &OpenDump, options: &SecretsOptions) -> Result<Secrets, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let details = text_details(dump)?;
    dump.check_rows(graph.node_count() as u64, 8)?;
    let contents = details.contents(graph, &WantedContents::default()).map_err(unreadable)?;
    let grouped = GroupedStrings::new(graph, contents.strings);
    let by_first: FxHashMap<usize, usize> =
        grouped.groups.iter().enumerate().map(|(group, of)| (grouped.first(of), group)).collect();
    let named = texts_of_named_fields(graph, details, &grouped)?;
    let found: Mutex<Vec<Found>> = Mutex::default();
    let look = |at: usize, text: Text| {
        let Some(&group) = by_first.get(&at) else { return };
        let of_rule = options.rules.find(&text.text).map(|(kind, secret)| (kind.to_string(), secret.to_string()));
        let of_field = || named.contains(&group).then(|| named_secret(&text.text)).flatten();
        if let Some((kind, secret)) = of_rule.or_else(of_field) {
            found.lock().unwrap_or_else(PoisonError::into_inner).push((group, kind, secret));
        }
    };
    let firsts: Vec<usize> = by_first.keys().copied().collect();
    details.visit_texts(graph, &grouped.strings, &firsts, MAX_UNITS, &look).map_err(unreadable)?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by(|(a, kind_a, _), (b, kind_b, _)| {
        let copies = |group: usize| std::cmp::Reverse(grouped.groups[group].copies);
        (kind_a, copies(*a), grouped.first(&grouped.groups[*a])).cmp(&(
            kind_b,
            copies(*b),
            grouped.first(&grouped.groups[*b]),
        ))
    });
    found.dedup_by_key(|(group, ..)| *group);
    let count = found.len();
    options.limits.cut(&mut found);
    let node = |group: usize| grouped.strings.node(grouped.first(&grouped.groups[group]));
    let nodes: Vec<NodeId> = found.iter().map(|(group, ..)| node(*group)).collect();
    let holders = if nodes.is_empty() {
        Vec::new()
    } else {
        let collections = KnownCollections::default().table()?.resolve(graph);
        let held = Holders::find(dump, &collections)?.of(&nodes)?;
        held.of.iter().map(|&name| held.names[name as usize].text()).collect()
    };
    let rows = found.into_iter().enumerate().map(|(row, (group, kind, secret))| SecretRow {
        kind,
        masked: if options.are_shown { secret } else { masked(&secret) },
        copies: grouped.groups[group].copies,
        holder: holders.get(row).cloned().filter(|holder| !holder.is_empty()),
        example: graph.display_id(node(group)),
    });
    let secrets = rows.collect();
    Ok(Secrets { format: dump.info().format.to_string(), found: count, secrets })
}

fn named_secret(text: &str) -> Option<(String, String)> {
    let is_one = LENGTHS.contains(&text.len())
        && !text.contains(char::is_whitespace)
        && text.contains(|c: char| c.is_ascii_digit())
        && entropy(text) >= MIN_ENTROPY;
    is_one.then(|| (BY_FIELD.to_string(), text.to_string()))
}

/// Groups of the texts that fields with names of secrets hold.
fn texts_of_named_fields(
    graph: &HeapGraph,
    details: &dyn ObjectDetails,
    grouped: &GroupedStrings,
) -> Result<FxHashSet<usize>, AnswerError> {
    let types = graph.types();
    let is_secret = |name: &str| {
        let name = name.to_lowercase();
        SECRET_FIELDS.iter().any(|word| name.contains(word))
    };
    let fields = types.ids().flat_map(|type_id| types.fields(type_id)).map(|field| types.text(field.name));
    let mut names: Vec<&str> = fields.filter(|name| is_secret(name)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Ok(FxHashSet::default());
    }
    let mut held = FxHashSet::default();
    for column in details.values_of_fields(graph, &names).map_err(unreadable)? {
        held.extend(column.iter().filter_map(|(_, value)| match value {
            Value::Object(node) => Some(*node),
            _ => None,
        }));
    }
    let is_held = |group: &super::grouped_strings::TextGroup| {
        grouped.copies(group).any(|at| held.contains(&grouped.strings.node(at)))
    };
    Ok(grouped.groups.iter().enumerate().filter(|(_, group)| is_held(group)).map(|(at, _)| at).collect())
}
