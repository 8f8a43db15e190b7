//! The shortest root paths of all objects of a type, merged by type from the roots down.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use super::{RootPathsOptions, find_paths};
use crate::analysis::merged_paths::{
    MergeOptions, MergedPaths, ReferenceNameNumberer, merge_paths_to_object, merge_root_paths,
};
use crate::analysis::retained_sets::topmost_members;
use crate::analysis::root_paths::RootPaths;
use crate::analysis::root_paths::RootsByNode;
use crate::analysis::threshold::Threshold;
use crate::analysis::type_patterns::{TypeChoice, TypePattern};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::rows::{class_text, is_false, type_words};
use crate::answers::tree::{LazyTree, TreeLevel, preorder, serialize_lazy};
use crate::answers::values::ValueReader;
use crate::answers::{AnswerError, CommandLine, Limits, ObjectRow, RootRow, ScopeOptions, Tree};
use crate::dump::{AnswerNeed, OpenDump, Phase};
use crate::filter::Filter;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::sort;
use crate::units::{count_with_noun, format_count};

/// Rows of a tree that are kept. The largest row of each level always is, so that the end of a path is seen.
#[derive(Debug, Clone, Copy, Default)]
pub enum KeptRows {
    /// All.
    #[default]
    All,
    /// Those with at least this share of the reached objects, of paths to one object this share of the paths; or with so many
    /// of them, where the threshold is a number.
    AtLeast(Threshold),
    /// The largest, on so many lines, of which each level that was cut takes one: fewer where a row more would bring a long path
    /// with it, more where one path is longer.
    LargestOnLines(usize),
}

/// Options of merged paths.
#[derive(Debug, Clone)]
pub struct MergedPathsOptions {
    /// Objects that are asked for.
    pub scope: ScopeOptions,
    /// Paths go around objects of these types. Default: none.
    pub avoided_types: Vec<TypePattern>,
    /// Paths from weak roots too. Default: no.
    pub with_weak_roots: bool,
    /// The steps from a loader to a class are rows, not one, and the inner objects of collections are, which are none. Default:
    /// no.
    pub with_all_steps: bool,
    /// Number of rows of each level. Rows are never reversed.
    pub limits: Limits,
    /// Rows that are kept. Default: all.
    pub kept_rows: KeptRows,
}

impl MergedPathsOptions {
    /// The paths to objects of these types.
    pub fn new(types: impl Into<TypeChoice>) -> Self {
        Self::of(ScopeOptions { types: Some(types.into()), ..ScopeOptions::default() })
    }

    /// The paths to these objects.
    pub fn of(scope: ScopeOptions) -> Self {
        MergedPathsOptions {
            scope,
            avoided_types: Vec::new(),
            with_weak_roots: false,
            with_all_steps: false,
            limits: Limits::default(),
            kept_rows: KeptRows::All,
        }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("roots");
        line.add_repeated_option("--exclude", self.avoided_types.iter().map(TypePattern::text));
        line.add_switch("--all-kinds", self.with_weak_roots);
        line.add_switch("--all-steps", self.with_all_steps);
        if let KeptRows::AtLeast(Threshold::Share(share)) = self.kept_rows {
            line.add_option("--min-percent", Some(&share.to_string()));
        }
        Limits { reverse: false, ..self.limits }.add_to(&mut line);
        self.scope.add_to(&mut line);
        line
    }
}

/// The paths that keep some types alive.
#[derive(Serialize)]
#[non_exhaustive]
pub struct MergedRootPaths<'d> {
    /// The object, if all paths are to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRow>,
    /// The pattern of the types, if it is about some types.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The expression that they fulfil, if there is one.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Paths to the object, if all are to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_count: Option<u64>,
    /// Objects that are asked for, reachable or not.
    pub objects: u64,
    /// Those that a path reaches.
    pub reachable_objects: u64,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The merged paths.
    #[serde(serialize_with = "serialize_lazy")]
    pub tree: MergedPathRows<'d>,
    /// The paths go around some types.
    #[serde(skip)]
    pub avoids_types: bool,
}

/// Rows from the roots down, each followed by those that it holds. The tree has numbers of merged rows.
pub struct MergedPathRows<'d> {
    tree: Tree<u32>,
    graph: &'d HeapGraph,
    merged: MergedPaths,
    pub(crate) names: Option<ReferenceNames<'d>>,
    values: Option<ValueReader<'d>>,
    hidden: HiddenTotals,
    kept_rows: KeptRows,
    limits: Limits,
    /// All paths are to one object, and rows count them.
    is_of_one_object: bool,
}

/// Objects of one type that are held in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedPathRow<'d> {
    /// At the top: a root of the objects, alike for all of them.
    pub root: Option<RootRow>,
    /// Names of the references from the row above, where the dump has them: `.next`, `[*]` for elements, several names one
    /// behind the other. Of many references 32, evenly chosen, are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The name of their type.
    #[serde(rename = "type")]
    pub type_name: &'d str,
    /// Of one class object: the class, in words; with its loader where the steps from that to the class are one.
    #[serde(skip)]
    pub class_text: Option<String>,
    /// Objects of the longest chain of this type, held by one another through these references, that the row stands for;
    /// 1 where none does.
    #[serde(skip_serializing_if = "is_one")]
    pub chain_objects: u32,
    /// Paths to the one object that is asked for, here and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<u64>,
    /// Objects that are asked for, here and below; of paths to one object `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<u64>,
    /// Bytes that would be freed with the topmost of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
}

impl MergedPathRow<'_> {
    /// The type in words; of a chain with its length: ` × 12`.
    pub fn type_text(&self) -> String {
        let text = self.class_text.as_deref().map_or_else(|| type_words(self.type_name), Cow::Borrowed);
        match self.chain_objects {
            1 => text.into_owned(),
            chain => format!("{text} × {}", format_count(chain.into())),
        }
    }
}

impl MergedRootPaths<'_> {
    /// Number of paths, or of objects that one leads to: the number that is to be seen first, and the rest of the
    /// sentence.
    pub fn sentence(&self) -> (String, String) {
        let around = if self.avoids_types { " around what --exclude names" } else { "" };
        let (reached, have) = (format_count(self.reachable_objects), if self.objects == 1 { "has" } else { "have" });
        match (&self.object, self.path_count) {
            (Some(object), Some(paths)) => {
                let paths = count_with_noun(paths, "paths");
                (paths, format!(" from roots to {}, {}{around}, merged by type", object.id, object.type_text()))
            }
            _ => {
                let objects = count_with_noun(self.objects, "objects");
                (reached, format!(" of {objects} {have} a path from a root{around}; the shortest, merged by type"))
            }
        }
    }

    /// Reason that there is no path, where there are objects; `with_weak_roots`: weak roots were walked too.
    pub fn no_path_reason(&self, with_weak_roots: bool) -> Option<String> {
        let around = if self.avoids_types { " around what --exclude names" } else { "" };
        let hint = if with_weak_roots { "" } else { "; --all-kinds walks weak roots too" };
        let has_none = self.objects > 0 && self.reachable_objects == 0;
        has_none.then(|| format!("no path from a strong root{around} leads to any of them{hint}"))
    }
}

/// Merges the shortest root paths of all objects of some types. O(objects + references).
///
/// # Errors
/// If the dump holds no objects, has no such section, or takes more memory than it may.
pub fn merged_paths<'d>(dump: &'d OpenDump, options: &MergedPathsOptions) -> Result<MergedRootPaths<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let scope = options.scope.resolve(dump)?;
    let avoided = TypePattern::types_matching_any(&options.avoided_types, graph);
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer_memory(AnswerNeed::MergedPaths, 0)?;
    // Only topmost objects count with their retained bytes: what they hold of the same types is in these already.
    let mut topmost = NodeSet::new(graph.node_count());
    for number in topmost_members(dominators, &dominators.children(), |node| scope.contains(node)) {
        topmost.insert(dominators.node_at(number));
    }
    let weight_of = |node: NodeId| match topmost.contains(node) {
        true => retained.bytes_of(dominators, node).unwrap_or(0),
        false => 0,
    };
    dump.announce_phase(Phase::MergingPaths);
    let is_avoided = |node: NodeId| avoided.contains(graph.type_of(node));
    let names = ReferenceNames::of(dump);
    let mut number_of = names.map(|names| ReferenceNameNumbers::new(graph, names));
    let mut name_of = number_of.as_mut().map(|numbers| |from, to| numbers.number_of(from, to));
    let name_of = name_of.as_mut().map(|name_of| name_of as ReferenceNameNumberer<'_>);
    let is_wanted = |node| scope.contains(node);
    let merging =
        MergeOptions { includes_weak_roots: options.with_weak_roots, shows_loader_steps: options.with_all_steps };
    let mut merged = merge_root_paths(graph, is_wanted, is_avoided, merging, weight_of, name_of);
    if !options.with_all_steps {
        merged = without_inner_rows(dump, merged);
    }
    Ok(MergedRootPaths {
        object: None,
        path_count: None,
        pattern: options.scope.types.as_ref().map(|types| types.text()),
        filter: options.scope.filter.as_ref().map(Filter::joined_text),
        objects: scope.nodes().count() as u64,
        reachable_objects: merged.reached_objects,
        roots_inferred: graph.roots_inferred(),
        tree: MergedPathRows::new(dump, graph, options.kept_rows, merged, options.limits, false),
        avoids_types: !avoided.is_empty(),
    })
}

/// The paths to one object, merged by type from the roots down: rows count paths. As [`root_paths`], and O(paths).
///
/// [`root_paths`]: fn@super::root_paths
///
/// # Errors
/// As [`root_paths`].
pub fn merged_paths_to<'d>(
    dump: &'d OpenDump,
    options: &RootPathsOptions,
    kept_rows: KeptRows,
) -> Result<MergedRootPaths<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let node = options.object.find(graph, &options.scope)?;
    dump.check_referrers_memory()?;
    dump.announce_phase(Phase::MergingPaths);
    let roots = RootsByNode::new(graph);
    let found = find_paths(dump, graph, &roots, node, options);
    let names = ReferenceNames::of(dump);
    let mut number_of = names.map(|names| ReferenceNameNumbers::new(graph, names));
    let mut name_of = number_of.as_mut().map(|numbers| |from, to| numbers.number_of(from, to));
    let name_of = name_of.as_mut().map(|name_of| name_of as ReferenceNameNumberer<'_>);
    let mut merged =
        merge_paths_to_object(graph, found.iter().flat_map(RootPaths::iter), options.with_all_steps, name_of);
    if !options.with_all_steps {
        merged = without_inner_rows(dump, merged);
    }
    Ok(MergedRootPaths {
        object: Some(ObjectRow::new(graph, node)),
        pattern: None,
        filter: None,
        path_count: Some(merged.reached_objects),
        objects: 1,
        reachable_objects: u64::from(merged.reached_objects > 0),
        roots_inferred: graph.roots_inferred(),
        tree: MergedPathRows::new(dump, graph, kept_rows, merged, options.limits, true),
        avoids_types: !options.avoided_types.is_empty(),
    })
}

/// With elements of known collections below the collections.
fn without_inner_rows(dump: &OpenDump, merged: MergedPaths) -> MergedPaths {
    let Some((graph, names)) = dump.graph().zip(ReferenceNames::of(dump)) else { return merged };
    let namer = names.entry_namer();
    merged.without_inner_rows(graph, dump.collection_types(), |collection, is_set, examples| {
        namer.are_elements(collection, is_set, examples.chosen())
    })
}

impl<'d> MergedPathRows<'d> {
    /// The rows in their order: most objects first.
    fn new(
        dump: &'d OpenDump,
        graph: &'d HeapGraph,
        kept_rows: KeptRows,
        merged: MergedPaths,
        limits: Limits,
        is_of_one: bool,
    ) -> Self {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); merged.rows.len()];
        let mut tops = Vec::new();
        for (number, row) in merged.rows.iter().enumerate() {
            match row.parent {
                Some(above) => children[above].push(number as u32),
                None => tops.push(number as u32),
            }
        }
        let key = |number: u32| {
            let row = &merged.rows[number as usize];
            (Reverse(row.objects), Reverse(row.weight_bytes), graph.type_name(row.type_id), number)
        };
        let mut is_kept = vec![false; merged.rows.len()];
        for level in children.iter().chain([&tops]) {
            if let Some(&largest) = level.iter().min_by(|&&a, &&b| key(a).cmp(&key(b))) {
                is_kept[largest as usize] = true;
            }
        }
        match kept_rows {
            KeptRows::All => is_kept.fill(true),
            KeptRows::AtLeast(share) => {
                let least = share.min_bytes_of(merged.reached_objects);
                is_kept.iter_mut().zip(&merged.rows).for_each(|(is_kept, row)| *is_kept |= row.objects >= least);
            }
            KeptRows::LargestOnLines(lines) => {
                // A row has at least as much as each below it, and comes before them.
                let mut largest_first: Vec<u32> = (0..merged.rows.len() as u32).collect();
                sort::rows_by_key(&mut largest_first, |&number| {
                    let row = &merged.rows[number as usize];
                    (Reverse(row.objects), Reverse(row.weight_bytes), row.depth, number)
                });
                keep_largest(&merged, &largest_first, lines, &mut is_kept);
            }
        }
        let level = |mut numbers: Vec<u32>| {
            let all = numbers.len();
            numbers.retain(|&number| is_kept[number as usize]);
            let too_small = all - numbers.len();
            let level =
                TreeLevel::sorted_and_cut(numbers, Limits { reverse: false, ..limits }, |&a, &b| key(a).cmp(&key(b)));
            TreeLevel { hidden: level.hidden + too_small, ..level }
        };
        let tree = preorder(level(tops), |&mut number, _| Some(level(std::mem::take(&mut children[number as usize]))));
        let tree = tree.collect();
        let hidden = HiddenTotals::of(&merged, &tree);
        let (names, values) = (ReferenceNames::of(dump), ValueReader::of(dump));
        MergedPathRows { tree, graph, hidden, kept_rows, limits, merged, names, values, is_of_one_object: is_of_one }
    }

    /// Totals of the rows that were left out after a row: (paths or objects, retained bytes). O(log rows).
    pub(crate) fn hidden_totals_after(&self, row: usize) -> (u64, u64) {
        let found = self.hidden.0.binary_search_by_key(&row, |&(row, ..)| row);
        found.map_or((0, 0), |at| (self.hidden.0[at].1, self.hidden.0[at].2))
    }

    /// The options that ask for all rows, where some were left out.
    pub(crate) fn options_for_all_rows(&self) -> &'static str {
        match (self.kept_rows, self.limits.rows) {
            (KeptRows::AtLeast(_), None) => "--min-percent 0",
            (KeptRows::AtLeast(_), Some(_)) => "-n 0 --min-percent 0",
            _ => "-n 0",
        }
    }
}

impl<'d> LazyTree for MergedPathRows<'d> {
    type Kept = u32;
    type Row = MergedPathRow<'d>;

    fn tree(&self) -> &Tree<u32> {
        &self.tree
    }

    fn make_row(&self, &number: &u32) -> MergedPathRow<'d> {
        let row = &self.merged.rows[number as usize];
        MergedPathRow {
            root: row.root.as_ref().map(|root| RootRow::new(self.graph, root)),
            reference: match row.is_of_elements {
                true => Some("[*]".into()),
                false => self.names.and_then(|names| names.of_examples(row.example_references.chosen())),
            },
            type_name: self.graph.type_name(row.type_id),
            class_text: match row.class_and_loader {
                Some((class, loader)) => {
                    let row = |values: ValueReader<'_>| values.row_with_value(loader);
                    let loader = self.values.map_or_else(|| ObjectRow::new(self.graph, loader), row);
                    Some(format!("{} (loaded by {})", class_text(self.graph.type_name(class)), loader.type_text()))
                }
                None => {
                    let class = row
                        .example_references
                        .only_target()
                        .and_then(|only| self.graph.types().type_of_class_object(only));
                    class.map(|class| class_text(self.graph.type_name(class)))
                }
            },
            chain_objects: row.chain_objects,
            paths: self.is_of_one_object.then_some(row.objects),
            objects: (!self.is_of_one_object).then_some(row.objects),
            retained_bytes: (!self.is_of_one_object).then_some(row.weight_bytes),
        }
    }
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Numbers for the names of references between objects of one type.
struct ReferenceNameNumbers<'d> {
    graph: &'d HeapGraph,
    names: ReferenceNames<'d>,
    number_by_name: HashMap<String, u32>,
    /// Numbers by the holder's type, its references, and which of them it is.
    number_by_place: HashMap<(TypeId, usize, usize), u32>,
    named_count: usize,
    /// The object whose references were named last, and how many of them were.
    last_holder_and_count: (NodeId, usize),
}

impl<'d> ReferenceNameNumbers<'d> {
    /// References of one object that are told apart: finding a name takes time with the number of its references.
    const MAX_NAMED_PER_OBJECT: usize = 64;
    /// References that are named: each may read a part of the file. Behind them a name is that of the same place in another
    /// object of the type with as many references.
    const MAX_NAMED_REFERENCES: usize = 2000;

    fn new(graph: &'d HeapGraph, names: ReferenceNames<'d>) -> Self {
        let (numbers, by_place, last) = (HashMap::new(), HashMap::new(), (NodeId::new(0), 0));
        ReferenceNameNumbers {
            graph,
            names,
            number_by_name: numbers,
            number_by_place: by_place,
            named_count: 0,
            last_holder_and_count: last,
        }
    }

    fn number_of(&mut self, from: NodeId, to: NodeId) -> u32 {
        self.last_holder_and_count =
            if self.last_holder_and_count.0 == from { (from, self.last_holder_and_count.1 + 1) } else { (from, 1) };
        let is_told = self.last_holder_and_count.1 <= Self::MAX_NAMED_PER_OBJECT;
        let references = self.graph.strong_references(from);
        let place = references.iter().position(|&target| target == to).filter(|_| is_told);
        let place = place.map(|place| (self.graph.type_of(from), references.len(), place));
        if let Some(&number) = place
            .and_then(|place| self.number_by_place.get(&place))
            .filter(|_| self.named_count >= Self::MAX_NAMED_REFERENCES)
        {
            return number;
        }
        let name = place.and_then(|_| self.names.of_examples(&[(from, to)]));
        self.named_count += 1;
        let next = self.number_by_name.len() as u32;
        let number = *self.number_by_name.entry(name.unwrap_or_else(|| "[*]".into())).or_insert(next);
        place.map(|place| self.number_by_place.insert(place, number));
        number
    }
}

/// Keeps as many of the largest rows as the tree can show on no more than `most` lines: one for each row and one for each level
/// that is cut. A row is in the tree if the one above is, and it is kept. O(rows × log rows).
fn keep_largest(merged: &MergedPaths, largest_first: &[u32], most: usize, is_kept: &mut [bool]) {
    let rows = merged.rows.len();
    let mut rank = vec![0; rows];
    largest_first.iter().enumerate().for_each(|(at, &number)| rank[number as usize] = at);
    // Of each level, by the row above; behind them the level at the top.
    let level_of = |number: usize| merged.rows[number].parent.unwrap_or(rows);
    let mut sizes = vec![0u32; rows + 1];
    (0..rows).for_each(|number| sizes[level_of(number)] += 1);
    let mut hidden = sizes.clone();
    let mut is_shown = vec![true; rows + 1];
    let mut lines_with = |count: usize, is_kept: &[bool]| {
        hidden.copy_from_slice(&sizes);
        for number in 0..rows {
            let is_in = is_kept[number] || rank[number] < count;
            is_shown[number] = is_in && is_shown[level_of(number)];
            hidden[level_of(number)] -= u32::from(is_shown[number]);
        }
        let is_cut = |level: usize| is_shown[level] && hidden[level] > 0;
        (0..rows).filter(|&number| is_shown[number]).count() + (0..=rows).filter(|&level| is_cut(level)).count()
    };
    // A row more is a line more, and at most one less where its level is whole then.
    let (mut few, mut too_many) = (0, rows + 1);
    while too_many - few > 1 {
        let middle = few + (too_many - few) / 2;
        if lines_with(middle, is_kept) <= most { few = middle } else { too_many = middle }
    }
    largest_first.iter().take(few).for_each(|&number| is_kept[number as usize] = true);
}

/// (row, objects, bytes): what was left out after a row, by row.
struct HiddenTotals(Vec<(usize, u64, u64)>);

impl HiddenTotals {
    fn of(merged: &MergedPaths, tree: &Tree<u32>) -> Self {
        // Of the rows below each, and at the end of those at the top: of all, less those that are shown.
        let mut below = vec![(0u64, 0u64); merged.rows.len() + 1];
        let place = |above: Option<usize>| above.unwrap_or(merged.rows.len());
        for row in &merged.rows {
            let sum = &mut below[place(row.parent)];
            *sum = (sum.0 + row.objects, sum.1.saturating_add(row.weight_bytes));
        }
        for shown in tree.rows() {
            let row = &merged.rows[shown.row as usize];
            let sum = &mut below[place(row.parent)];
            *sum = (sum.0 - row.objects, sum.1.saturating_sub(row.weight_bytes));
        }
        let last = tree.rows().iter().enumerate().filter(|(_, shown)| shown.hidden_after > 0);
        let hidden = last.map(|(at, shown)| {
            let (objects, bytes) = below[place(merged.rows[shown.row as usize].parent)];
            (at, objects, bytes)
        });
        HiddenTotals(hidden.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenDump;
    use crate::analysis::threshold::Percent;

    const HEAP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hprof/zoo-jdk17-serial.hprof.zst");

    fn tree<'d>(dump: &'d OpenDump, types: &str, kept_rows: KeptRows, rows: Option<usize>) -> MergedPathRows<'d> {
        let limits = Limits { rows, reverse: false };
        let types = TypePattern::parse(types).unwrap();
        merged_paths(dump, &MergedPathsOptions { kept_rows, limits, ..MergedPathsOptions::new(types) }).unwrap().tree
    }

    /// By the number of the row above: objects and retained bytes of the rows of a level that are shown, and of those left out.
    fn levels(rows: &MergedPathRows<'_>) -> HashMap<Option<u32>, [(u64, u64); 2]> {
        let mut levels = HashMap::<Option<u32>, [(u64, u64); 2]>::default();
        let mut path = Vec::new();
        for (at, place) in rows.tree.rows().iter().enumerate() {
            path.truncate(place.depth as usize);
            let [shown, hidden] = levels.entry(path.last().copied()).or_default();
            let (row, behind) = (rows.get(at).row, rows.hidden_totals_after(at));
            *shown = (shown.0 + row.objects.unwrap(), shown.1 + row.retained_bytes.unwrap());
            *hidden = (hidden.0 + behind.0, hidden.1 + behind.1);
            path.push(place.row);
        }
        levels
    }

    #[test]
    fn no_more_rows_than_asked_and_the_others_counted() {
        let dump = crate::open(HEAP).unwrap();
        let tree = |kept_rows, rows| tree(&dump, "java.lang.String", kept_rows, rows);
        let all = tree(KeptRows::All, None);
        let whole = levels(&all);
        assert!(all.len() > 200 && whole.values().all(|&[_, hidden]| hidden == (0, 0)), "{}", all.len());
        // Each level of the longest path may be cut.
        let longest =
            2 * (all.depths_and_hidden_counts().iter().map(|(depth, _)| *depth as usize).max().unwrap_or(0) + 1);
        for (most, rows) in [(1, None), (20, None), (34, None), (34, Some(2)), (150, None), (1 << 20, Some(3))] {
            let cut = tree(KeptRows::LargestOnLines(most), rows);
            let lines = cut.len() + cut.hidden.0.len();
            assert!(!cut.is_empty() && lines <= most.max(longest), "{lines} lines, {most}");
            for (above, [shown, hidden]) in levels(&cut) {
                assert_eq!((shown.0 + hidden.0, shown.1 + hidden.1), whole[&above][0], "below {above:?}");
            }
        }
        let cut = tree(KeptRows::LargestOnLines(150), None);
        assert!(cut.len() + cut.hidden.0.len() > 140);
        assert_eq!(tree(KeptRows::LargestOnLines(all.len()), None).len(), all.len());
        assert_eq!(cut.options_for_all_rows(), "-n 0");
        // A share keeps all rows that have it.
        let (share, reached) = (Threshold::Share(Percent::new(2.0).unwrap()), all.merged.reached_objects);
        let wanted = all.iter().filter(|place| place.row.objects.unwrap() * 100 >= 2 * reached).count();
        let kept = tree(KeptRows::AtLeast(share), None);
        assert_eq!(kept.iter().filter(|place| place.row.objects.unwrap() * 100 >= 2 * reached).count(), wanted);
        assert!(wanted > 3 && kept.len() < all.len());
        assert_eq!(kept.options_for_all_rows(), "--min-percent 0");
    }

    /// Rows that are equally large do not all go because one of them has to.
    #[test]
    fn equal_rows_are_kept_as_far_as_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("equal.txt");
        let mut text = String::from("a 1 App 1\nt 1 All\nt 2 Leaf\n");
        (0..100).for_each(|holder| text += &format!("t {:x} Holder{holder:02}\n", 16 + holder));
        text += "o 1000 1 20";
        (0..100).for_each(|holder| text += &format!(" {:x}", 0x2000 + holder));
        (0..100).for_each(|holder| {
            text += &format!(
                "\no {:x} {:x} 10 {:x}\no {:x} 2 10",
                0x2000 + holder,
                16 + holder,
                0x3000 + holder,
                0x3000 + holder
            );
        });
        std::fs::write(&path, text + "\nr 1000 4 0 1\n").unwrap();
        let dump = crate::open(&path).unwrap();
        let tree = |kept_rows| tree(&dump, "Leaf", kept_rows, None);
        assert_eq!(tree(KeptRows::All).len(), 201);
        let cut = tree(KeptRows::LargestOnLines(34));
        // The root, 16 holders with what they hold, and the line of the others.
        assert_eq!((cut.len(), cut.hidden.0.len()), (33, 1));
        assert_eq!(levels(&cut).values().map(|&[_, hidden]| hidden.0).max(), Some(84));
        assert_eq!(cut.iter().nth(1).unwrap().row.type_name, "Holder00");
    }
}
