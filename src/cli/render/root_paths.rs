//! `heapdump roots OBJID`.

use std::cell::RefCell;

use super::rows::{CLASS, TYPE, heading, note_inferred_roots, root_text};
use crate::answers::root_paths::Paths;
use crate::answers::{ObjectRow, PathStep, PathSteps, Reachability, RootPathsAnswer};
use crate::report::{Column, Columns, Format, Present, Style, Table, TextPage, count_of, escape_controls};

/// Steps of a path that text shows; JSON has all.
const STEPS_SHOWN: usize = 40;
const HALF: usize = STEPS_SHOWN / 2;

impl Present for RootPathsAnswer<'_> {
    const COMMAND: &'static str = "roots";

    fn table(&self, style: &Style) -> Table<'_> {
        let rows = Rows::new(&self.paths, matches!(style.format, Format::Table | Format::Markdown));
        Columns::new()
            .add(Column::count("path", "Path"), |row: &mut Row| row.path)
            .add(Column::word("step", "Step"), |row| std::mem::take(&mut row.step))
            .add(Column::word("id", "Object"), |row| row.id.take())
            .add(Column::bytes("shallow_bytes", "Shallow"), |row| row.shallow_bytes)
            .add(Column::bytes("retained_bytes", "Retained"), |row| row.retained_bytes)
            .add_if(self.has_classes, CLASS, |row| row.class.take())
            .add(TYPE, |row| std::mem::take(&mut row.text))
            .table(rows.count(), 0, move |at| rows.get(at).unwrap_or_default())
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let retained_text = |bytes: Option<u64>| bytes.map_or("-".into(), |bytes| style.size(bytes));
        let object = &self.object.row;
        heading(object, page);
        let retained = retained_text(self.object.retained_bytes);
        page.line(format!("  shallow {}, retained {retained}", style.size(object.shallow_bytes)));
        match self.reachability {
            Reachability::Reached => {}
            Reachability::Frozen => {
                page.line("  not reachable from any strong root: alive all the same, on the frozen heap");
            }
            reachability => page.line(format!("  not reachable from any strong root{}", but_what(reachability))),
        }
        for (number, (path, end)) in self.paths.iter().zip(self.paths.ends(HALF)).enumerate() {
            let title = style.bold(&format!("Path {}", number + 1));
            let references = count_of(path.length() as u64, "references");
            page.line(format!("\n{title} ({references}), held by {}", escape_controls(&path.holders())));
            let left_out = (path.length() + 1).saturating_sub(STEPS_SHOWN);
            let shown = if left_out == 0 { usize::MAX } else { HALF };
            let end = end.take(if left_out == 0 { 0 } else { HALF });
            let steps: Vec<PathStep> = self.paths.steps(number).into_iter().flatten().take(shown).chain(end).collect();
            let width = steps.iter().map(|step| step.object.id.len()).max().unwrap_or(0);
            for (place, PathStep { object, retained_bytes, reference, .. }) in steps.iter().enumerate() {
                if left_out > 0 && place == HALF {
                    page.line(format!("  ... {} left out; -f json has all ...", count_of(left_out as u64, "objects")));
                }
                let start = format!(
                    "  {}{:<width$}  {:>10}  {:>10} retained  ",
                    if place == 0 { "  " } else { "→ " },
                    object.id,
                    style.size(object.shallow_bytes),
                    retained_text(*retained_bytes),
                );
                let start = match reference {
                    Some(name) => format!("{start}{}  ", escape_controls(name)),
                    None => start,
                };
                let name = style.fit(start.chars().count(), &object.type_text());
                page.line(start + &name);
            }
        }
        note_inferred_roots(self.roots_inferred, page);
    }
}

/// Why there is no path, for standard error; `None` if there is one from a strong root.
pub(crate) fn why_not(answer: &RootPathsAnswer<'_>, all_kinds: bool) -> Option<String> {
    let id = &answer.object.row.id;
    if answer.is_blocked() {
        return Some(format!("every path to {id} goes through what --exclude names"));
    }
    let why = match answer.reachability {
        Reachability::Reached => return None,
        Reachability::Frozen => "; it is on the frozen heap, which is never collected",
        reachability => but_what(reachability),
    };
    let hint = if all_kinds { "" } else { "; --all-kinds walks weak roots too" };
    Some(format!("{id} is not reachable from any strong root{why}{hint}"))
}

fn but_what(reachability: Reachability) -> &'static str {
    match reachability {
        Reachability::LeftOut => " but those that --exclude-roots leaves out",
        _ => "",
    }
}

/// A row of the table: the root of a path, an object on it, or the gap in a long one.
#[derive(Default)]
struct Row {
    /// From 1.
    path: usize,
    step: String,
    id: Option<String>,
    shallow_bytes: Option<u64>,
    retained_bytes: Option<u64>,
    class: Option<String>,
    text: String,
}

/// The rows of all paths, which together may be longer than the heap has objects: found on demand, each from the one
/// before it where they are asked for in order.
struct Rows<'a> {
    paths: &'a Paths<'a>,
    /// By path: where its rows end.
    row_ends: Vec<usize>,
    /// By path: its last objects, where long paths are shortened.
    tails: Option<Vec<PathSteps<'a>>>,
    /// A path, the place on it of the next object, and what comes from there on.
    cursor: RefCell<Option<(usize, usize, PathSteps<'a>)>>,
}

impl<'a> Rows<'a> {
    /// With `is_text` long paths are shortened.
    fn new(paths: &'a Paths<'a>, is_text: bool) -> Self {
        let mut end = 0;
        let row_ends = paths.iter().map(|path| {
            let objects = path.length() + 1;
            end += if is_text && objects > STEPS_SHOWN { 2 + STEPS_SHOWN } else { 1 + objects };
            end
        });
        let row_ends = row_ends.collect();
        Rows { paths, row_ends, tails: is_text.then(|| paths.ends(HALF)), cursor: RefCell::new(None) }
    }

    fn count(&self) -> usize {
        self.row_ends.last().copied().unwrap_or(0)
    }

    fn get(&self, at: usize) -> Option<Row> {
        let start_of = |path: usize| path.checked_sub(1).map_or(0, |before| self.row_ends[before]);
        let path = match self.cursor.borrow().as_ref().map(|&(path, ..)| path) {
            Some(path) if (start_of(path)..self.row_ends[path]).contains(&at) => path,
            _ => self.row_ends.partition_point(|&end| end <= at),
        };
        let row = self.paths.get(path)?;
        let objects = row.length() + 1;
        let tail = self.tails.as_ref().filter(|_| objects > STEPS_SHOWN).map(|tails| &tails[path]);
        let (number, step) = match (at - start_of(path), tail) {
            (0, _) => {
                let text = root_text(&row.root());
                return Some(Row { path: path + 1, step: "root".into(), text, ..Row::default() });
            }
            (place, Some(_)) if place == HALF + 1 => {
                let left_out = count_of((objects - STEPS_SHOWN) as u64, "objects");
                let text = format!("... {left_out} left out ...");
                return Some(Row { path: path + 1, step: "...".into(), text, ..Row::default() });
            }
            (place, Some(tail)) if place > HALF => {
                let after = place - HALF - 2;
                (objects - HALF + after, tail.clone().nth(after)?)
            }
            (place, _) => (place - 1, self.step(path, place - 1)?),
        };
        let ObjectRow { id, type_name: text, class, shallow_bytes, .. } = step.object;
        let (id, shallow_bytes, retained_bytes) = (Some(id), Some(shallow_bytes), step.retained_bytes);
        Some(Row { path: path + 1, step: number.to_string(), id, shallow_bytes, retained_bytes, class, text })
    }

    fn step(&self, path: usize, number: usize) -> Option<PathStep> {
        let mut cursor = self.cursor.borrow_mut();
        let (at, mut steps) = match cursor.take() {
            Some((known, at, steps)) if known == path && at <= number => (at, steps),
            _ => (0, self.paths.steps(path)?),
        };
        let step = steps.nth(number - at);
        *cursor = Some((path, number + 1, steps));
        step
    }
}
