//! `heapdump roots OBJID`.

use super::shared_columns::{CLASS, REFERENCE, note_inferred_roots, root_text, write_object_heading};
use crate::answers::figure::{ID, RETAINED, SHALLOW, TYPE};
use crate::answers::roots::path_lines::{PathLine, PathLineContent, PathLines};
use crate::answers::{PathStep, Reachability, RootPathsAnswer, remove_inner_steps, step_text};
use crate::report::{Cell, Column, Columns, Present, Style, Table, TextPage, count_with_noun, escape_controls};

/// Objects at each end of a long path that text shows; JSON has all.
const OBJECTS_AT_EACH_END: usize = 20;

impl Present for RootPathsAnswer<'_> {
    const COMMAND: &'static str = "roots";

    fn table(&self, style: &Style) -> Table<'_> {
        let is_text = style.is_for_people();
        let lines = PathLines::new(&self.paths, is_text.then_some(OBJECTS_AT_EACH_END));
        Columns::new()
            .add(Column::count("path", "Path"), |line: &mut PathLine| line.path_place + 1)
            .add(Column::word("step", "Step"), |line| match line.content {
                PathLineContent::Root(_) => Cell::text("root"),
                PathLineContent::Object { place: number, .. } => Cell::text(number.to_string()),
                PathLineContent::Gap { .. } => Cell::text("..."),
            })
            .add(ID, |line| line.step_mut().map(|step| std::mem::take(&mut step.object.id)))
            .add(SHALLOW, |line| line.step_mut().map(|step| step.object.shallow_bytes))
            .add(RETAINED, |line| line.step_mut().and_then(|step| step.retained_bytes))
            .add_if(self.has_class_objects, CLASS, |line| line.step_mut().and_then(|step| step.object.class.take()))
            .add_if(self.paths.names.is_some(), REFERENCE, |line| {
                line.step_mut().and_then(|step| step.reference.take())
            })
            .add(TYPE, |line| match &mut line.content {
                PathLineContent::Root(root) => root_text(root),
                PathLineContent::Object { step, .. } => std::mem::take(&mut step.object.type_name),
                PathLineContent::Gap { hidden_objects: objects } => {
                    format!("... {} left out ...", count_with_noun(*objects as u64, "objects"))
                }
            })
            .table(lines.len(), 0, move |at| lines.get(at))
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let retained_text = |bytes: Option<u64>| bytes.map_or("-".into(), |bytes| style.bytes_in_column(bytes));
        let object = &self.object.row;
        write_object_heading(object, page);
        let retained = retained_text(self.object.retained_bytes);
        page.line(format!("  shallow {}, retained {retained}", style.bytes_in_column(object.shallow_bytes)));
        match self.reachability {
            Reachability::Reachable => {}
            Reachability::OnFrozenHeap => {
                page.paragraph("  not reachable from any strong root: alive all the same, on the frozen heap");
            }
            reachability => {
                page.paragraph(format!("  not reachable from any strong root{}", reachability.left_out_roots_text()))
            }
        }
        if let Some(summary) = self.summary() {
            page.paragraph(format!("  {summary}"));
        }
        let lines = PathLines::new(&self.paths, Some(OBJECTS_AT_EACH_END)).with_values();
        for (number, path) in self.paths.iter().take(self.shown_count).enumerate() {
            let title = style.bold(&format!("Path {}", number + 1));
            let (first, loader) = path.class_and_loader_places().filter(|_| !self.with_all_steps).unwrap_or_default();
            let references = count_with_noun((path.length() - first) as u64, "references");
            page.paragraph_breaking_words(format!(
                "\n{title} ({references}), held by {}",
                escape_controls(&path.holders_in_words())
            ));
            let mut lines: Vec<PathLine> = lines.lines_of_path(number).collect();
            if !self.with_all_steps {
                remove_inner_steps(&mut lines, PathLine::inner_count);
            }
            let width =
                lines.iter_mut().filter_map(PathLine::step_mut).map(|step| step.object.id.len()).max().unwrap_or(0);
            let titles = ["shallow", "retained"].map(|title| format!("{title:>10}"));
            page.line(style.fitted_row(&format!("    {:<width$}  ", "object"), &titles, "type"));
            let mut loader_text = String::new();
            for line in lines {
                let (place, PathStep { object, retained_bytes, reference, .. }) = match line.content {
                    PathLineContent::Root(_) => continue,
                    PathLineContent::Object { place: number, step } if number < first => {
                        loader_text = if number == loader { step.object.type_text() } else { loader_text };
                        continue;
                    }
                    PathLineContent::Object { place: number, step } => (number, *step),
                    PathLineContent::Gap { hidden_objects: objects } => {
                        let objects = count_with_noun(objects as u64, "objects");
                        page.paragraph(format!("  ... {objects} left out; -f json has all ..."));
                        continue;
                    }
                };
                let start = format!("  {}{:<width$}  ", if place == first { "  " } else { "→ " }, object.id);
                let [shallow, retained] = [style.bytes_in_column(object.shallow_bytes), retained_text(retained_bytes)];
                let figures = [format!("{shallow:>10}"), format!("{retained:>10}")];
                let name = match reference {
                    _ if place == first && first > 0 => format!("{} (loaded by {loader_text})", object.type_text()),
                    reference => step_text(reference.as_deref(), &object.type_text()),
                };
                page.line(style.fitted_row(&start, &figures, &name));
            }
        }
        let hidden = self.paths.len() - self.shown_count;
        if hidden > 0 {
            page.line(format!("\n{}; -n 0 shows all", count_with_noun(hidden as u64, "more paths")));
        }
        note_inferred_roots(self.roots_inferred, page);
    }
}
