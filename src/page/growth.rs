//! The section of what grew since an older dump.

use super::columns::FigureTable;
use super::html::HtmlWriter;
use super::names::escaped_name;
use super::page_answers::{GROWN_PATHS_SHOWN, grown_path_options};
use super::sections::SectionWriter;
use super::tables::{
    close_filter_table, close_table, open_figure_table, open_table, write_figure_rows, write_type_name,
};
use crate::answers::diff::{Diff, DiffOptions, DiffRow, Measure, OBJECTS_DELTA, SHALLOW_DELTA, TOTAL_NEW};
use crate::units::{count_with_noun, saturating_signed};

/// Types that stand there without a script.
const GROWN_TYPES_SHOWN: usize = 25;

impl SectionWriter<'_, '_> {
    pub(super) fn write_growth(&self, html: &mut HtmlWriter) {
        let (Some(growth), Some(old)) = (&self.data.growth, &self.options.old_dump_name) else { return };
        let is_objects = self.data.objects.is_some();
        html.begin_section("growth", "Growth")
            .markup("><h2>Growth</h2><p class=\"under\">By type, from ")
            .text(escaped_name(old));
        html.text(format!(
            " to {}; joined by name, for ids do not carry over.",
            escaped_name(self.options.dump_title())
        ));
        if is_objects {
            html.markup(" Retained: at least so much more would be freed if all objects of the type went.");
        }
        if self.data.left_out.grown_type_count > 0 {
            html.text(format!(
                " {} that changed less are left out.",
                count_with_noun(self.data.left_out.grown_type_count, "types")
            ));
        }
        html.markup("</p>\n");
        open_figure_table(html, "Growth by type", growth, "Type", GROWN_TYPES_SHOWN, |html, name| {
            self.write_type_name_by_number(html, *name)
        });
        close_filter_table(html);
        let options =
            DiffOptions { scope: self.dump_section_scope(), with_retained: is_objects, ..DiffOptions::default() };
        let mut line = options.command_line();
        line.add_word(old.as_str());
        self.write_command(&line, html);
        self.write_grown_paths(html);
        html.markup("</section>\n");
    }

    fn write_grown_paths(&self, html: &mut HtmlWriter) {
        let (Some(paths), Some(old)) = (&self.page.grown_paths, &self.options.old_dump_name) else { return };
        let table = grown_path_table(paths);
        if table.rows.is_empty() {
            return;
        }
        let is_objects = self.data.objects.is_some();
        html.markup(match is_objects {
            true => {
                "<h3>Paths that grew</h3><p class=\"under\">What grew under what, by types on the way down the \
                     dominator tree. A path that grew as much as the one above it only passes the growth on.</p>\n"
            }
            false => "<h3>Backtraces that grew</h3>\n",
        });
        let name = if is_objects { "Path" } else { "Backtrace" };
        open_table(html, "What grew under what", &table.heads(name));
        write_figure_rows(html, &table, GROWN_PATHS_SHOWN, "name way", |html, steps| {
            for (at, step) in steps.iter().enumerate() {
                html.markup(if at > 0 { " › " } else { "" });
                write_type_name(html, step);
            }
        });
        close_table(html);
        let mut line = grown_path_options(self.dump_section_scope(), is_objects).command_line();
        line.add_word(old.as_str());
        self.write_command(&line, html);
    }
}

/// Paths that grew, most first: their steps, by how much they grew, and their bytes now.
fn grown_path_table(paths: &Diff) -> FigureTable<Vec<String>> {
    let row = |DiffRow { name, change, .. }: DiffRow<'_>| {
        let grown =
            [change.growth(Measure::Bytes), change.growth(Measure::Count), Some(saturating_signed(change.new.bytes))];
        (name.step_names().into_iter().map(escaped_name).collect(), grown.to_vec())
    };
    let mut rows: Vec<(Vec<String>, Vec<Option<i64>>)> =
        (0..paths.rows.len()).map(|at| row(paths.rows.get(at))).collect();
    rows.retain(|(_, figures)| figures[0] > Some(0));
    let count = if paths.rows.are_of_allocations() { "Allocations ±" } else { "Objects ±" };
    let figures =
        [SHALLOW_DELTA.with_title("Bytes ±"), OBJECTS_DELTA.with_title(count), TOTAL_NEW.with_title("Bytes now")];
    FigureTable { figures: figures.to_vec(), growth_column_count: 2, rows }
}
