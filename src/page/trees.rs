//! The two trees of the page: the map, and the biggest objects with the reasons why they are alive.

use std::collections::BTreeMap;
use std::ops::Range;

use super::columns::{LargestObjectColumns, MapColumns, PageBudgets, PageData, PathData};
use super::names::{NameTable, escaped_name};
use super::page_answers::ObjectAnswers;
use super::prune::{PrunedContent, PrunedTree, RowWeight, prune};
use crate::answers::breakdown::{BreakdownRowKind, HeapTree};
use crate::answers::browse::{DominatorNode, DominatorTreeView, FoundRootPath};
use crate::answers::leaks::SuspectView;
use crate::answers::{PathNodeRow, PathRow};
use crate::names::fit_name;
use crate::sort;
use crate::units::count_with_noun;

/// Steps of a path that are shown; the middle of a longer one is left out.
const MAX_PATH_STEPS_SHOWN: usize = 40;
/// In place of a name's number, for a row that adds up others.
pub(super) const NO_NAME_NUMBER: i64 = -1;

/// A row of the biggest objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ObjectOrRun {
    Object(DominatorNode),
    /// The rest of a run below its first object, from this one on: a list of a million objects is one row, and leaves
    /// room for others.
    Run(DominatorNode),
}

/// A run of fewer objects is shown object by object.
const MIN_FOLDED_RUN_OBJECTS: usize = 8;

impl ObjectOrRun {
    fn first_object(self) -> DominatorNode {
        match self {
            ObjectOrRun::Object(object) | ObjectOrRun::Run(object) => object,
        }
    }

    /// The row's objects without those below it.
    fn objects_of_row(self, dominator_tree_view: &DominatorTreeView<'_>) -> impl Iterator<Item = DominatorNode> {
        std::iter::successors(Some(self.first_object()), move |&object| match self {
            ObjectOrRun::Object(_) => None,
            ObjectOrRun::Run(_) => dominator_tree_view.next_of_run(object),
        })
    }
}

fn children_of_row(dominator_tree_view: &DominatorTreeView<'_>, row: ObjectOrRun) -> Vec<ObjectOrRun> {
    let mut rows = Vec::new();
    for object in row.objects_of_row(dominator_tree_view) {
        let next = dominator_tree_view.next_of_run(object);
        for child in dominator_tree_view.children(object) {
            match row {
                ObjectOrRun::Run(_) if next == Some(child) => {}
                ObjectOrRun::Object(_)
                    if next == Some(child)
                        && dominator_tree_view.same_type_run(child, MIN_FOLDED_RUN_OBJECTS).len()
                            == MIN_FOLDED_RUN_OBJECTS =>
                {
                    rows.push(ObjectOrRun::Run(child));
                }
                _ => rows.push(ObjectOrRun::Object(child)),
            }
        }
    }
    rows
}

impl MapColumns {
    /// A map whose first row is the whole.
    fn with_whole(title: String, noun: &'static str, bytes: u64, objects: Option<u64>) -> Self {
        MapColumns {
            title,
            noun,
            name: vec![NO_NAME_NUMBER],
            parent: vec![-1],
            bytes: vec![bytes],
            objects: vec![objects],
            ..MapColumns::default()
        }
    }

    /// Adds the rows; `name` gives the number of a row's name. Without `has_objects` nothing is said of their objects.
    fn add_rows(&mut self, pruned: &PrunedTree<u32>, mut name: impl FnMut(u32) -> i64, has_objects: bool) {
        self.minimum_bytes = pruned.minimum_bytes;
        for row in &pruned.rows {
            match row.content {
                PrunedContent::Row(place) => self.name.push(name(place)),
                PrunedContent::HiddenRows(rows) => {
                    self.hidden.insert(self.name.len(), rows);
                    self.name.push(NO_NAME_NUMBER);
                }
            }
            self.parent.push(row.parent.map_or(0, |parent| parent as i64 + 1));
            self.bytes.push(row.bytes);
            self.objects.push(has_objects.then_some(row.objects));
        }
    }
}

impl ObjectAnswers<'_> {
    pub(super) fn map_columns(&self, budgets: &PageBudgets, names: &mut NameTable) -> MapColumns {
        let map = &self.type_treemap;
        let weight = |place| RowWeight {
            bytes: map.retained_bytes(place),
            objects: map.subtree_objects(place),
            rank: map.name_rank(place),
        };
        let pruned = prune(map.top_places(), |place| map.children(place).to_vec(), weight, budgets.map_rows);
        let tops = || map.top_places().iter().map(|&top| weight(top));
        let bytes = tops().fold(0u64, |sum, top| sum.saturating_add(top.bytes));
        let objects = tops().fold(0u64, |sum, top| sum.saturating_add(top.objects));
        let mut columns = MapColumns::with_whole("everything reachable".into(), "objects", bytes, Some(objects));
        columns.add_rows(&pruned, |place| i64::from(names.intern(map.type_name(place))), true);
        let mut row_of: BTreeMap<u32, usize> = BTreeMap::new();
        for (at, row) in pruned.rows.iter().enumerate() {
            let PrunedContent::Row(place) = row.content else { continue };
            row_of.insert(place, at + 1);
            columns.ids.extend(map.object_id(place).map(|id| (at + 1, escaped_name(&id))));
            if map.chain_length(place) > 1 {
                columns.deep.insert(at + 1, map.chain_length(place));
            }
        }
        let objects =
            columns.ids.iter().filter_map(|(&row, id)| Some((row, self.dominator_tree_view.find_object(id)?)));
        let (rows, objects): (Vec<usize>, Vec<DominatorNode>) = objects.unzip();
        columns.references = references_of(&self.dominator_tree_view, rows, &objects);
        for (number, suspect) in self.leaks.suspects.iter().enumerate() {
            // The nearest row above that is shown.
            let mut place = map.place_of_object(id_of_suspect_object(&suspect));
            while let Some(known) = place.filter(|place| !row_of.contains_key(place)) {
                place = map.parent(known);
            }
            if let Some(row) = place.and_then(|place| row_of.get(&place)) {
                columns.marks.entry(*row).or_insert(number + 1);
            }
        }
        columns
    }

    /// The biggest objects, and the paths to the largest of them.
    pub(super) fn add_objects_and_paths(&self, budgets: &PageBudgets, names: &mut NameTable, data: &mut PageData) {
        let dominator_tree_view = &self.dominator_tree_view;
        let tops: Vec<ObjectOrRun> =
            dominator_tree_view.top_objects().iter().map(|&top| ObjectOrRun::Object(top)).collect();
        let weight = |row: ObjectOrRun| RowWeight {
            bytes: dominator_tree_view.retained_bytes(row.first_object()),
            objects: dominator_tree_view.dominated_objects(row.first_object()),
            rank: dominator_tree_view.id_rank(row.first_object()),
        };
        let pruned = prune(&tops, |row| children_of_row(dominator_tree_view, row), weight, budgets.object_rows);
        let mut columns =
            LargestObjectColumns { minimum_bytes: pruned.minimum_bytes, ..LargestObjectColumns::default() };
        let mut by_size: Vec<(u64, usize, DominatorNode)> = Vec::new();
        for (at, row) in pruned.rows.iter().enumerate() {
            columns.parent.push(row.parent.map_or(-1, |parent| parent as i64));
            columns.retained.push(row.bytes);
            columns.objects.push(row.objects);
            match row.content {
                PrunedContent::Row(object) => {
                    let row = dominator_tree_view.row(object.first_object());
                    columns.id.push(escaped_name(&row.id));
                    columns.name.push(i64::from(names.intern(&row.type_text())));
                    let own = object.objects_of_row(dominator_tree_view).fold((0u64, 0u64), |(count, bytes), one| {
                        (count + 1, bytes.saturating_add(dominator_tree_view.shallow_bytes(one)))
                    });
                    columns.shallow.push(Some(own.1));
                    columns.runs.extend(matches!(object, ObjectOrRun::Run(_)).then_some((at, own.0)));
                    by_size.push((
                        dominator_tree_view.retained_bytes(object.first_object()),
                        at,
                        object.first_object(),
                    ));
                }
                PrunedContent::HiddenRows(rows) => {
                    columns.id.push(count_with_noun(rows, "smaller objects"));
                    columns.name.push(NO_NAME_NUMBER);
                    columns.shallow.push(None);
                }
            }
        }
        let objects: Vec<DominatorNode> = by_size.iter().map(|&(.., object)| object).collect();
        columns.references = references_of(dominator_tree_view, by_size.iter().map(|&(_, at, _)| at), &objects);
        for (&(_, at, _), said) in by_size.iter().zip(dominator_tree_view.value_texts(&objects)) {
            columns.said.extend(said.map(|said| (at, cut_value_text(&said))));
        }
        sort::rows_by(&mut by_size, &|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, at, object) in by_size.iter().take(budgets.path_count) {
            if let Some(reason) = self.root_path_finder.path_to(dominator_tree_view, object) {
                data.paths.extend(path_data(&reason, names).map(|path| (at, path)));
            }
        }
        data.objects = Some(columns);
    }
}

/// By row the name of the reference by which its object is held.
fn references_of(
    dominator_tree_view: &DominatorTreeView<'_>,
    rows: impl IntoIterator<Item = usize>,
    objects: &[DominatorNode],
) -> BTreeMap<usize, String> {
    let names = rows.into_iter().zip(dominator_tree_view.reference_names_from_dominators(objects));
    names.filter_map(|(row, name)| Some((row, escaped_name(&name?)))).collect()
}

const MAX_VALUE_CHARACTERS: usize = 60;

fn cut_value_text(text: &str) -> String {
    let text = escaped_name(text);
    match text.char_indices().nth(MAX_VALUE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The object that stands for a suspect: itself, or where a group's memory piles up.
pub(super) fn id_of_suspect_object<'s>(suspect: &'s SuspectView<'_>) -> &'s str {
    suspect.row.id.as_deref().unwrap_or(&suspect.accumulation_point.object.id)
}

/// The place at which a path begins: what stands before a class is the same for every class of a program.
pub(super) fn path_start_index(path: &PathRow<'_>) -> usize {
    path.class_and_loader_places().map_or(0, |(place, _)| place)
}

/// Some objects of a path; where it begins at a class, that says who loaded it.
pub(super) fn named_path_objects(path: &PathRow<'_>, places: Range<usize>) -> Vec<PathNodeRow> {
    let mut rows = path.nodes_at(places.clone());
    if let (Some((place, loader)), Some(first)) = (path.class_and_loader_places(), rows.first_mut())
        && place == places.start
        && let Some(loader) =
            path.nodes_at(loader..loader + 1).first().map(|loader| fit_name(&loader.row.type_text(), 0).into_owned())
    {
        first.reference = None;
        first.row.class = first.row.class.take().map(|class| format!("{class} (loaded by {loader})"));
    }
    rows
}

fn path_data(reason: &FoundRootPath<'_>, names: &mut NameTable) -> Option<PathData> {
    let path = reason.path()?;
    let is_on_all = reason.is_on_all_paths_by_step();
    let (start, count) = (path_start_index(&path), path.length() + 1);
    let left_out = (count - start).saturating_sub(MAX_PATH_STEPS_SHOWN);
    let ends = if left_out > 0 {
        [start..start + MAX_PATH_STEPS_SHOWN / 2, count - MAX_PATH_STEPS_SHOWN / 2..count]
    } else {
        [start..count, count..count]
    };
    let mut steps = Vec::new();
    for places in ends {
        if left_out > 0 && places.end == count {
            steps.push((
                format!("… {} …", count_with_noun(left_out as u64, "more steps")),
                NO_NAME_NUMBER,
                0,
                String::new(),
            ));
        }
        for (PathNodeRow { row, reference, .. }, &is_on_all) in
            named_path_objects(&path, places.clone()).iter().zip(&is_on_all[places])
        {
            let name = i64::from(names.intern(&row.type_text()));
            let reference = reference.as_deref().map(escaped_name).unwrap_or_default();
            steps.push((escaped_name(&row.id), name, u8::from(is_on_all), reference));
        }
    }
    Some(PathData { root: escaped_name(&path.holders_in_words()), steps })
}

/// The columns of a heap of allocation totals: its root is the whole.
pub(super) fn heap_map_columns(
    tree: &HeapTree<'_>,
    title: String,
    budgets: &PageBudgets,
    names: &mut NameTable,
) -> MapColumns {
    let rows = tree.rows();
    let Some(whole) = rows.first() else { return MapColumns::default() };
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); rows.len()];
    let mut above: Vec<u32> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        above.truncate(row.depth as usize);
        // What a frame has itself is the space that its children leave.
        if let (Some(&parent), false) = (above.last(), row.row.kind == BreakdownRowKind::SelfCost) {
            children[parent as usize].push(at as u32);
        }
        above.push(at as u32);
    }
    let weight = |at: u32| {
        let row = &rows[at as usize].row;
        RowWeight { bytes: row.bytes, objects: row.allocations.unwrap_or(0), rank: 0 }
    };
    let pruned = prune(&children[0], |row| children[row as usize].clone(), weight, budgets.map_rows);
    let mut columns = MapColumns::with_whole(title, "allocations", whole.row.bytes, whole.row.allocations);
    let name = |at: u32| match &rows[at as usize].row {
        row if row.kind == BreakdownRowKind::Other => NO_NAME_NUMBER,
        row => i64::from(names.intern(if row.name.is_empty() { "\"\"" } else { row.name })),
    };
    columns.add_rows(&pruned, name, whole.row.allocations.is_some());
    columns
}
