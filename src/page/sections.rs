//! The page, section by section, as it stands without a script: what a reader sees first, tables of the first rows, and
//! below each section the command that prints it in full.

use super::PageOptions;
use super::columns::{MapColumns, PageData};
use super::html::HtmlWriter;
use super::names::escaped_name;
use super::page_answers::{PageAnswers, PageContent, waste_options};
use super::tables::{
    close_filter_table, close_filter_table_with_foot, close_table, open_figure_table, open_table, optional_count,
    share_text, write_bar_cell, write_cell, write_type_name,
};
use crate::analysis::threshold::Threshold;
use crate::answers::breakdown::{BreakdownOptions, heap_choice_of};
use crate::answers::figure::RETAINED;
use crate::answers::waste::WasteKindRow;
use crate::answers::{CommandLine, GroupBy, HistogramOptions, InfoOptions, Limits, RetainedBy, ScopeOptions};
use crate::sort;
use crate::units::{count_with_noun, format_bytes, format_count};

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the style and the script, for the page's policy; a test computes them anew.
pub(super) const STYLE_HASH: &str = "z87c/hLlEbwZ2OK5xVfvTYZjFlv/ew2L1o7Wp4FUlfQ=";
pub(super) const SCRIPT_HASH: &str = "IKzd/iHjWBP9T8BmL/wf1WwksgchuEa2IWWgzAavRKI=";

/// Rows of tables that stand there without a script.
const TYPES_SHOWN: usize = 50;
const GROUPS_SHOWN: usize = 20;
const OBJECTS_SHOWN: usize = 20;
const MAP_ROWS_SHOWN: usize = 40;

pub(super) struct SectionWriter<'s, 'd> {
    pub(super) page: &'s PageAnswers<'d>,
    pub(super) data: &'s PageData,
    pub(super) options: &'s PageOptions,
}

impl SectionWriter<'_, '_> {
    pub(super) fn write_map(&self, html: &mut HtmlWriter) {
        if self.data.maps.is_empty() {
            return;
        }
        let is_of_objects = self.data.objects.is_some();
        html.begin_section("map", if is_of_objects { "Map" } else { "Flame graph" }).markup("><h2>");
        html.markup(match is_of_objects {
            true => "Map: what hangs where",
            false => "Flame graph: where it is allocated",
        });
        html.markup("</h2><p class=\"under\">");
        html.markup(match is_of_objects {
            true => {
                "The dominator tree by type: each box is as wide as what it alone keeps alive; below it, what \
                        that is made of; the free space under a box is its own. "
            }
            false => "Backtraces: each box is as wide as what was allocated by it and all that it called. ",
        });
        let first = &self.data.maps[0];
        if first.minimum_bytes > 1 {
            html.text(format!(
                "Boxes of {} or more are drawn; the others are added up. ",
                format_bytes(first.minimum_bytes)
            ));
        }
        html.markup("</p>\n<div class=\"with-script\"><div class=\"tools\">");
        if self.data.maps.len() > 1 {
            html.markup("<label>Heap <select id=\"map-choice\">");
            for (number, map) in self.data.maps.iter().enumerate() {
                html.markup("<option value=\"").text(number).markup("\">").text(&map.title).markup("</option>");
            }
            html.markup("</select></label> ");
        }
        html.markup("<label>Find <input type=\"search\" id=\"map-find\" placeholder=\"part of a name or /regex/\">");
        html.markup("</label> <span id=\"map-found\" class=\"quiet\" role=\"status\"></span></div>\n");
        html.markup("<div id=\"map-info\"></div><div id=\"map-crumbs\"></div>");
        html.markup("<div id=\"boxes\" class=\"boxes\" role=\"tree\" aria-label=\"Map\"></div>\n<ul class=\"legend\">");
        if self.data.objects.is_some() {
            html.markup("<li><i class=\"box application\"></i>application</li>");
            html.markup("<li><i class=\"box library\"></i>runtime and libraries</li>");
            html.markup("<li><i class=\"box plain\"></i>texts and arrays of numbers</li>");
            html.markup("<li><b class=\"mark mark-1\">1</b>a suspect</li>");
        }
        html.markup("<li><kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd> move, <kbd>Enter</kbd> zooms in, ");
        html.markup("<kbd>Esc</kbd> out</li></ul></div>\n<details><summary>The same as a table</summary>");
        for map in &self.data.maps {
            self.write_map_table(map, html);
        }
        html.markup("</details>\n");
        html.markup("<div id=\"map-zoomed\" class=\"with-script\"></div>");
        for (number, map) in self.data.maps.iter().enumerate() {
            let is_objects = self.data.objects.is_some();
            let minimum = (is_objects || map.minimum_bytes > 1).then_some(Threshold::Bytes(map.minimum_bytes.max(1)));
            let mut options =
                BreakdownOptions { scope: self.dump_section_scope(), min_size: minimum, ..BreakdownOptions::default() };
            if let PageContent::Allocations(answer) = &self.page.content {
                options.heaps = heap_choice_of(&answer.heaps, number);
            }
            html.markup("<div data-map-command=\"").text(number).markup("\">");
            self.write_command(&options.command_line(), html);
            html.markup("</div>");
        }
        html.markup("</section>\n");
    }

    fn write_map_table(&self, map: &MapColumns, html: &mut HtmlWriter) {
        if self.data.maps.len() > 1 {
            html.markup("<h3>").text(&map.title).markup("</h3>");
        }
        let count = if self.data.objects.is_some() { "Objects" } else { "Allocations" };
        html.markup("<div class=\"as-table\">");
        open_table(html, "Map as a table", &["Bytes", "Share", count, "Name"]);
        let depth_of = |mut row: usize| {
            let mut depth = 0;
            while map.parent[row] >= 0 {
                row = map.parent[row] as usize;
                depth += 1;
            }
            depth
        };
        let whole = map.bytes.first().copied().unwrap_or(0);
        // The largest rows, in the order of the tree.
        let mut largest: Vec<usize> = (0..map.name.len()).collect();
        sort::rows_by_key(&mut largest, |&row| (std::cmp::Reverse(map.bytes[row]), row));
        let mut rows: Vec<usize> = largest.into_iter().take(MAP_ROWS_SHOWN).collect();
        rows.sort_unstable();
        for row in rows {
            html.markup("<tr>");
            write_cell(html, format_bytes(map.bytes[row]));
            write_cell(html, share_text(map.bytes[row], whole));
            write_cell(html, optional_count(map.objects[row]));
            html.markup("<td class=\"name\">");
            for _ in 0..depth_of(row).min(30) {
                html.markup("&ensp;");
            }
            match map.name[row] {
                _ if row == 0 => _ = html.text(&map.title),
                number if number < 0 => _ = html.text("<other>"),
                number => write_type_name(html, &self.data.names[number as usize]),
            }
            html.markup("</td></tr>");
        }
        close_table(html);
        html.markup("</div>\n");
    }

    pub(super) fn write_types(&self, html: &mut HtmlWriter) {
        html.begin_section("types", "Types").markup("><h2>Types</h2><p class=\"under\">");
        if self.data.objects.is_some() {
            html.markup("Retained: at least so much would be freed if all objects of the type went. ");
        }
        let left_out = &self.data.left_out;
        if left_out.type_count > 0 {
            let (types, bytes) =
                (count_with_noun(left_out.type_count, "smaller types"), format_bytes(left_out.bytes_of_types));
            html.text(format!("{types}, {bytes}, are added up in the last row; the command below prints them."));
        }
        html.markup("</p>\n");
        open_figure_table(html, "Types", &self.data.types, "Type", TYPES_SHOWN, |html, name| {
            self.write_type_name_by_number(html, *name)
        });
        match left_out.type_count {
            0 => close_filter_table(html),
            count => {
                let (words, objects) =
                    (count_with_noun(count, "smaller types"), format_count(left_out.object_count_of_types));
                let bytes = format_bytes(left_out.bytes_of_types);
                let cells: &[&str] = match self.data.objects {
                    Some(_) => &["", "", &objects, &bytes, "", &words],
                    None => &["", &bytes, &objects, &words],
                };
                close_filter_table_with_foot(html, cells);
            }
        }
        self.write_command(&self.histogram_options(GroupBy::Type).command_line(), html);
        html.markup("</section>\n");
    }

    pub(super) fn write_groups(&self, html: &mut HtmlWriter) {
        for ((by, _), columns) in self.page.groups.iter().zip(&self.data.groups) {
            let (name, noun) = by.title_and_plural();
            let title = &format!("By {}", name.to_lowercase());
            html.begin_section(noun, format!("{name}s")).markup("><h2>").text(title).markup("</h2>\n");
            if by.frame_names().is_some() && self.data.objects.is_none() {
                html.markup("<p class=\"under\">Flat: allocated by it itself. Cum: by it and all that it called; a stack that it ");
                html.markup("is on several times counts once.</p>\n");
            }
            open_figure_table(html, title, &columns.table, name, GROUPS_SHOWN, |html, name| _ = html.text(name));
            close_filter_table(html);
            self.write_command(&self.histogram_options(*by).command_line(), html);
            html.markup("</section>\n");
        }
    }

    pub(super) fn write_objects(&self, html: &mut HtmlWriter) {
        let Some(objects) = &self.data.objects else { return };
        html.begin_section("objects", "Objects");
        html.markup("><h2>Biggest objects</h2><p class=\"under\">The dominator tree, object by object");
        if objects.minimum_bytes > 1 {
            html.text(format!(": everything that retains {} or more", format_bytes(objects.minimum_bytes)));
        }
        if !objects.runs.is_empty() {
            html.markup(". What follows one another, as in a list, is one row");
        }
        html.markup(". Open a row for what it keeps alive; <i>why?</i> shows what keeps it alive.</p>\n");
        open_table(html, "Biggest objects", &["", "Retained", "Share", "Shallow", "Objects", "Object"]);
        let tops: Vec<usize> = (0..objects.id.len()).filter(|&row| objects.parent[row] < 0).collect();
        let largest = tops.iter().map(|&row| objects.retained[row]).max().unwrap_or(0);
        for &row in tops.iter().take(OBJECTS_SHOWN) {
            html.markup("<tr>");
            write_bar_cell(html, objects.retained[row], largest);
            write_cell(html, format_bytes(objects.retained[row]));
            write_cell(html, share_text(objects.retained[row], self.data.reachable_bytes));
            write_cell(html, objects.shallow[row].map_or(String::new(), format_bytes));
            write_cell(html, format_count(objects.objects[row]));
            html.markup("<td class=\"tree\"><span class=\"id\">").text(&objects.id[row]).markup("</span> ");
            if objects.name[row] >= 0 {
                write_type_name(html, &self.data.names[objects.name[row] as usize]);
            }
            if let Some(said) = objects.said.get(&row) {
                html.markup(" <span class=\"said\">").text(said).markup("</span>");
            }
            html.markup("</td></tr>");
        }
        if tops.is_empty() {
            html.markup("<tr><td colspan=\"6\">Nothing is reachable.</td></tr>");
        }
        close_table(html);
        let mut line = CommandLine::new("dominators");
        line.add_option("-n", Some("20"))
            .add_option("--depth", Some("3"))
            .add_option("--domain", self.options.dump_section.as_deref());
        self.write_command(&line, html);
        html.markup("</section>\n");
    }

    pub(super) fn write_waste(&self, html: &mut HtmlWriter) {
        let Some(waste) = &self.page.waste else { return };
        let totals = &waste.totals;
        html.begin_section("waste", "Waste").markup("><h2>Waste: what could be smaller</h2><p class=\"under\">");
        html.text(format!(
            "{} of {}, {}, by kind and by the field that holds it. No byte counts twice.",
            format_bytes(totals.wasted_bytes),
            format_bytes(totals.heap_bytes),
            share_text(totals.wasted_bytes, totals.heap_bytes)
        ));
        if let Some(note) = waste.redaction_note() {
            html.text(format!(" Mind that {note}."));
        }
        html.markup("</p>\n");
        for kind in waste.kinds.iter().filter(|kind| !kind.rows.is_empty()) {
            self.write_kind_of_waste(kind, html);
        }
        self.write_command(&waste_options().command_line(), html);
        html.markup("</section>\n");
    }

    fn write_kind_of_waste(&self, kind: &WasteKindRow, html: &mut HtmlWriter) {
        html.markup("<h3>").text(kind.kind.name()).markup("</h3><p class=\"under\">");
        html.text(format!(
            "{}: {} in {}",
            kind.kind.words(),
            format_bytes(kind.wasted_bytes),
            count_with_noun(kind.objects, "objects")
        ));
        html.markup("</p>\n");
        open_table(html, kind.kind.name(), &["", "Wasted", "Objects", "Example", "Type", "Held by"]);
        let largest = kind.rows.iter().map(|row| row.wasted_bytes).max().unwrap_or(0);
        for row in &kind.rows {
            html.markup("<tr>");
            write_bar_cell(html, row.wasted_bytes, largest);
            write_cell(html, format_bytes(row.wasted_bytes));
            write_cell(html, format_count(row.objects));
            html.markup("<td><span class=\"id\">").text(&row.example).markup("</span></td><td class=\"name\">");
            write_type_name(html, &row.type_with_size());
            html.markup("</td><td class=\"name\">").text(escaped_name(&row.held_by)).markup("</td></tr>");
        }
        close_table(html);
    }

    pub(super) fn write_problems(&self, html: &mut HtmlWriter) {
        html.begin_section("problems", "Problems").markup("><h2>Problems in the dump</h2>\n");
        let problems = self.problem_rows();
        if problems.is_empty() {
            html.markup("<p>None.</p>");
        } else {
            open_table(html, "Problems", &["Count", "First at", "Problem"]);
            for problem in problems {
                html.markup("<tr>");
                write_cell(html, format_count(problem.count));
                write_cell(html, &problem.first_at);
                html.markup("<td class=\"name\"><code>").text(&problem.code).markup("</code> ").text(&problem.meaning);
                html.markup("</td></tr>");
            }
            close_table(html);
        }
        self.write_command(&InfoOptions::default().command_line(), html);
        html.markup("</section>\n");
    }

    pub(super) fn write_how_to_remake(&self, html: &mut HtmlWriter) {
        html.begin_section("again", "Make it again").markup("><h2>Make it again</h2>");
        let (options, defaults) = (self.options, PageOptions::default());
        let mut line = CommandLine::new("report");
        line.add_option("-o", Some("report.html")).add_option("--domain", options.dump_section.as_deref());
        if options.suspect_threshold != defaults.suspect_threshold {
            line.add_option("--threshold", Some(&options.suspect_threshold.to_string()));
        }
        for library in &options.library_types {
            line.add_option("--library", Some(library.text()));
        }
        if options.max_page_bytes != defaults.max_page_bytes {
            line.add_option("--max-bytes", Some(&options.max_page_bytes.to_string()));
        }
        if let Some(old) = &self.options.old_dump_name {
            line.add_word(old.as_str());
        }
        self.write_command(&line, html);
        html.markup("<p class=\"quiet\">Each section ends with the command that prints it in full.</p>\n");
        html.markup("<details id=\"keys\" class=\"with-script\"><summary>Keys</summary><ul>");
        html.markup(
            "<li><kbd>1</kbd> to <kbd>9</kbd> sections, <kbd>/</kbd> the nearest filter, <kbd>Esc</kbd> clears it, ",
        );
        html.markup("<kbd>?</kbd> this list</li>");
        html.markup(
            "<li>Map: arrows move, <kbd>Enter</kbd> zooms in, <kbd>Esc</kbd> goes up, <kbd>Home</kbd> to the top</li>",
        );
        html.markup("<li>Objects: <kbd>→</kbd> opens, <kbd>←</kbd> closes, <kbd>↑</kbd> <kbd>↓</kbd> move</li>");
        html.markup(
            "<li>What you look at stands in the address: send it to somebody who has this file.</li></ul></details>",
        );
        html.markup("</section>\n");
    }

    pub(super) fn dump_section_scope(&self) -> ScopeOptions {
        ScopeOptions::of_section(self.options.dump_section.as_deref())
    }

    fn histogram_options(&self, by: GroupBy) -> HistogramOptions {
        let is_objects = self.data.objects.is_some();
        HistogramOptions {
            scope: self.dump_section_scope(),
            group_by: by,
            retained: is_objects.then_some(RetainedBy::Minimum),
            order: is_objects.then_some(RETAINED),
            limits: Limits::default(),
            ..HistogramOptions::default()
        }
    }

    /// Writes a command with its place for the Copy button.
    pub(super) fn write_command(&self, line: &CommandLine, html: &mut HtmlWriter) {
        html.markup("<div class=\"command\"><code>")
            .text(escaped_name(&self.options.shell_command(line)))
            .markup("</code></div>");
    }

    /// Writes the name of a type by its number.
    pub(super) fn write_type_name_by_number(&self, html: &mut HtmlWriter, name: u32) {
        write_type_name(html, &self.data.names[name as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use sha2::Digest;

    #[test]
    fn the_policy_names_the_style_and_the_script_that_are_there() {
        let hash = |text: &str| base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text.as_bytes()));
        assert_eq!(STYLE_HASH, hash(STYLE));
        assert_eq!(SCRIPT_HASH, hash(SCRIPT));
    }

    #[test]
    fn the_script_makes_no_markup_of_text() {
        for way in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "setAttribute('on"]
        {
            assert!(!SCRIPT.contains(way), "{way}");
        }
        assert!(!SCRIPT.contains("localStorage") && !SCRIPT.contains("sessionStorage") && !SCRIPT.contains("fetch("));
    }
}
