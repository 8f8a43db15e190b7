//! Paths that keep an object alive, line by line.

use crate::answers::browse::{HeapBrowser, ObjectSizes};
use crate::answers::figure::{OBJECTS, RETAINED};
use crate::answers::roots::path_lines::{PathLine, PathLineContent, PathLines};
use crate::answers::tree::LazyTree;
use crate::answers::{
    AnswerError, MergedPathsOptions, ObjectId, RootPathsOptions, ScopeOptions, merged_paths, remove_inner_steps,
    root_paths,
};
use crate::dump::OpenDump;
use crate::explore::listing::{
    ListColumn, ListPart, ListRow, Listing, OBJECT_COLUMNS, RowStyle, RowTarget, figures_of_object,
};
use crate::explore::view::BrowsedObject;
use crate::report::indents_of;
use crate::units::{count_with_noun, saturating_signed};

const OBJECTS_AT_EACH_END: usize = 200;
const MAX_MERGED_ROWS: usize = 5000;
/// Levels of a merged tree that are indented; deeper ones have their number.
const MAX_INDENTED_LEVELS: usize = 10;

pub(super) fn list_root_paths(
    dump: &'static OpenDump,
    place: &BrowsedObject,
    count: usize,
) -> Result<Listing, AnswerError> {
    let browser = HeapBrowser::of(dump)?;
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let id: ObjectId = place.id.parse().map_err(|_| AnswerError::NoSuchObject(place.id.clone()))?;
    let options = RootPathsOptions { max_paths: Some(count), ..RootPathsOptions::new(id) };
    let answer = root_paths(dump, &options)?;
    let above = browser.dominators_of(place.node);
    let lines = PathLines::new(&answer.paths, Some(OBJECTS_AT_EACH_END)).with_values();
    let mut rows = Vec::new();
    for (path, class_start) in answer.paths.iter().map(|path| path.class_and_loader_places()).enumerate() {
        // What stands before a class is the same for every class of a program.
        let (first, loader) = class_start.unwrap_or_default();
        let mut loader_text = String::new();
        let mut shown: Vec<PathLine> = lines.lines_of_path(path).collect();
        remove_inner_steps(&mut shown, PathLine::inner_count);
        for line in shown {
            rows.push(match line.content {
                PathLineContent::Root(root) => {
                    ListRow { leading_text: "root".into(), ..ListRow::title(root.short_text()) }
                }
                PathLineContent::Gap { hidden_objects: objects } => ListRow::new(
                    format!("… {} …", count_with_noun(objects as u64, "more objects")),
                    RowTarget::NoTarget,
                ),
                PathLineContent::Object { place: number, step } if number < first => {
                    loader_text = if number == loader { step.object.type_text() } else { loader_text };
                    continue;
                }
                PathLineContent::Object { place: number, step } => {
                    let node = step.object.id.parse::<ObjectId>().ok();
                    let node = node.and_then(|id| id.find(graph, &ScopeOptions::default()).ok());
                    let is_on_all = node.is_some_and(|node| node == place.node || above.contains(&node));
                    let retained = node.and_then(|node| browser.sizes(node).retained_bytes_and_objects);
                    let mark = if is_on_all { "*" } else { " " };
                    let (arrow, reference, loaded) = match number > first {
                        true => (" →", step.reference.as_deref().unwrap_or_default(), String::new()),
                        false if first > 0 => ("", "", format!(" (loaded by {loader_text})")),
                        false => ("", "", String::new()),
                    };
                    let name = format!("{}{loaded}", step.object.type_text());
                    ListRow {
                        figures: figures_of_object(ObjectSizes {
                            shallow_bytes: step.object.shallow_bytes,
                            retained_bytes_and_objects: retained,
                        }),
                        id: step.object.id.clone(),
                        // One step after another: a path is no staircase.
                        leading_text: format!("{mark}{arrow}"),
                        reference: reference.to_string(),
                        style: if is_on_all { RowStyle::OnAllPaths } else { RowStyle::Plain },
                        level: Some(number as u32),
                        ..ListRow::new(name, node.map_or(RowTarget::NoTarget, RowTarget::Object))
                    }
                }
            });
        }
    }
    let mut above = vec![place.type_name.clone()];
    above.extend(answer.summary());
    if !answer.paths.is_empty() {
        above.push("* on every path: without it the object would be freed".into());
    }
    let why = answer.no_path_reason(false).unwrap_or_else(|| "no path".into());
    Ok(Listing {
        header_lines: above,
        empty_text: why,
        ..Listing::new(&OBJECT_COLUMNS, "Path", vec![ListPart::Rows(rows)])
    })
}

pub(super) fn list_merged_paths(dump: &'static OpenDump, scope: &ScopeOptions) -> Result<Listing, AnswerError> {
    let answer = merged_paths(dump, &MergedPathsOptions::of(scope.clone()))?;
    let (count, rest) = answer.sentence();
    let figures = [ListColumn::new(RETAINED, 0).unsorted(), ListColumn::new(OBJECTS, 60).unsorted()];
    let mut rows = Vec::new();
    let places: Vec<(u32, u64)> = answer.tree.depths_and_hidden_counts().into_iter().take(MAX_MERGED_ROWS).collect();
    for (row, indent) in answer.tree.iter().zip(indents_of(&places)) {
        let depth = row.depth;
        let row = row.row;
        let level = if indent.level > MAX_INDENTED_LEVELS { format!("({depth})") } else { String::new() };
        let arrow = if indent.is_only_child { "→" } else { "" };
        let lead = format!(
            "{}{level}{arrow}",
            "  ".repeat(indent.level.min(MAX_INDENTED_LEVELS) - usize::from(indent.is_only_child))
        );
        if let Some(root) = &row.root {
            rows.push(ListRow { leading_text: "root".into(), ..ListRow::title(root.short_text()) });
        }
        rows.push(ListRow {
            figures: vec![row.retained_bytes.map(saturating_signed), row.objects.map(saturating_signed)],
            leading_text: lead,
            reference: row.reference.as_deref().unwrap_or_default().into(),
            level: Some(depth),
            ..ListRow::new(row.type_text(), RowTarget::Type(row.type_name.to_string()))
        });
    }
    let all = answer.tree.len();
    if all > MAX_MERGED_ROWS {
        let left = count_with_noun((all - MAX_MERGED_ROWS) as u64, "more rows");
        let text = format!("… {left}, which the command below prints");
        rows.push(ListRow { style: RowStyle::Faint, ..ListRow::new(text, RowTarget::NoTarget) });
    }
    Ok(Listing {
        header_lines: vec![format!("{count}{rest}")],
        empty_text: "no strong root reaches any of them".into(),
        ..Listing::new(&figures, "Paths merged by type", vec![ListPart::Rows(rows)])
    })
}
