//! The head of the page: what it is of, the way to its sections, and the figures that come first.

use super::html::Html;
use super::names::shown;
use super::sections::{SCRIPT_HASH, STYLE, STYLE_HASH, Sections};
use super::suspects;
use super::tables::{share, signed_bytes, signed_count};
use crate::answers::histogram::Totals;
use crate::answers::info::FormatRow;
use crate::answers::{GroupBy, Info, ProblemRow};
use crate::units::{count_of, format_bytes, format_count};

impl Sections<'_, '_> {
    pub(super) fn head(&self, html: &mut Html) {
        let options = self.options;
        let format = format_of(&self.page.info);
        html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'sha256-{STYLE_HASH}'; img-src data:; \
             base-uri 'none'; form-action 'none'"
        );
        html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"").text(policy).markup("\">\n");
        html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        html.markup(
            "<meta name=\"referrer\" content=\"no-referrer\"><meta name=\"robots\" content=\"noindex\">\n<title>",
        );
        html.text(self.title()).markup("</title><style>").markup(STYLE).markup("</style></head><body>\n");
        html.markup("<a class=\"skip\" href=\"#suspects\">Skip to what the page found</a>\n");
        html.markup("<svg width=\"0\" height=\"0\" aria-hidden=\"true\" class=\"unseen\"><defs><pattern id=\"hatch\" ");
        html.markup("width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">");
        html.markup("<rect width=\"6\" height=\"6\"/><rect width=\"2\" height=\"6\"/></pattern></defs></svg>\n");
        html.markup("<header class=\"top\"><h1>").text(shown(options.title()));
        if let Some(old) = &options.old_file {
            html.markup(" compared with ").text(shown(old));
        }
        html.markup("</h1>\n<p class=\"quiet\">").text(&format.title);
        if let Some(Some(producer)) = &format.producer {
            html.text(format!(", {}", shown(producer)));
        }
        for words in self.origin() {
            html.text(format!(", {words}"));
        }
        html.text(format!(". Made by heapdump {}.", env!("CARGO_PKG_VERSION")));
        html.markup("</p></header>\n<nav aria-label=\"Sections\"><div>");
        for (id, title) in self.sections() {
            html.markup("<a href=\"#").text(id).markup("\">").text(title).markup("</a>");
        }
        html.markup(
            "<span class=\"space\"></span><button type=\"button\" id=\"theme\" class=\"with-script\">Theme: auto",
        );
        html.markup("</button></div></nav>\n<main>\n");
        let problems = self.problem_rows();
        if self.roots_inferred() {
            html.markup("<p class=\"warning\" role=\"note\">Roots are inferred: the dump has none. ");
            html.markup("What is reachable and retained rests on that.</p>\n");
        }
        if !problems.is_empty() {
            let kinds = count_of(problems.len() as u64, "kinds of problems");
            let kinds = if problems.len() == 1 { "1 kind of problem".to_string() } else { kinds };
            html.markup("<p class=\"warning\" role=\"note\">").text(kinds);
            html.markup(" in the dump: figures may be low. <a href=\"#problems\">See them</a>.</p>\n");
        }
    }

    /// Begins with what matters most, so that ten open tabs can be told apart.
    fn title(&self) -> String {
        let file = shown(self.options.title());
        match suspects::headline(self.page) {
            Some(headline) => format!("{headline} - {file}"),
            None => format!("{file} - heap report"),
        }
    }

    /// When the snapshot was taken, and the sections.
    fn origin(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Info::Objects(info) = &self.page.info {
            let chosen = info.snapshots.iter().find(|snapshot| snapshot.chosen);
            words.extend(chosen.and_then(|s| s.taken_at.as_ref()).map(|taken| format!("taken {taken}")));
            if info.sections.len() > 1 {
                let names: Vec<String> = info.sections.iter().take(4).map(|section| shown(&section.name)).collect();
                let more = if info.sections.len() > 4 { ", ..." } else { "" };
                let count = count_of(info.sections.len() as u64, "sections");
                words.push(format!("{count}: {}{more}", names.join(", ")));
            }
        }
        words
    }

    /// The sections that this dump has, in reading order.
    fn sections(&self) -> Vec<(&'static str, &'static str)> {
        let is_objects = self.data.objects.is_some();
        let mut sections = Vec::new();
        if is_objects {
            sections.push(("suspects", "Suspects"));
        }
        if self.data.growth.is_some() {
            sections.push(("growth", "Growth"));
        }
        sections.push(("map", "Map"));
        sections.push(("types", "Types"));
        for (by, _) in &self.page.groups {
            sections.push(match by {
                GroupBy::Module => ("modules", "Modules"),
                GroupBy::Section => ("sections", "Sections"),
                _ => ("packages", "Packages"),
            });
        }
        if is_objects {
            sections.push(("objects", "Objects"));
        }
        sections.extend([("problems", "Problems"), ("again", "Make it again")]);
        sections
    }

    fn roots_inferred(&self) -> bool {
        matches!(&self.page.info, Info::Objects(info) if info.roots_inferred)
    }

    pub(super) fn problem_rows(&self) -> &[ProblemRow] {
        match &self.page.info {
            Info::Objects(info) => &info.problems,
            Info::Allocations(info) => &info.problems,
        }
    }

    pub(super) fn figures(&self, html: &mut Html) {
        let mut figures: Vec<(&str, String, String)> = Vec::new();
        let diff = self.page.diff.as_ref();
        if let (Some(diff), Some(old)) = (diff, &self.options.old_file) {
            let (before, after) = (diff.old.bytes(), diff.new.bytes());
            let change = signed_bytes(crate::answers::diff::delta(before, after));
            let under = format!("{} → {}, since {}", format_bytes(before), format_bytes(after), shown(old));
            figures.push(("Grown by", change, under));
        }
        match &self.page.histogram.totals {
            Totals::Objects(totals) => {
                let bytes = totals.shallow_bytes;
                figures.push(("Heap", format_bytes(bytes), count_of(bytes, "bytes")));
                let objects = diff.map_or(String::new(), change_of_objects);
                figures.push((
                    "Objects",
                    format_count(totals.objects),
                    format!("{objects}{}", count_of(totals.references, "references")),
                ));
                let share = share(totals.reachable_bytes, bytes);
                figures.push(("Reachable", format_bytes(totals.reachable_bytes), format!("{share} of the heap")));
                figures.push(("Types", format_count(totals.types as u64), String::new()));
                let inferred = if self.roots_inferred() { "inferred: the dump has none" } else { "" };
                figures.push(("Roots", format_count(totals.roots as u64), inferred.into()));
            }
            Totals::Counted(totals) => {
                figures.push(("Heap", format_bytes(totals.shallow_bytes), count_of(totals.objects, "objects")));
            }
            Totals::Allocations(totals) => {
                let bytes = totals.total_bytes;
                figures.push(("Allocated", format_bytes(bytes), count_of(bytes, "bytes")));
                if let Some(allocations) = totals.allocations {
                    figures.push(("Allocations", format_count(allocations), String::new()));
                }
                figures.push(("Types", format_count(totals.types as u64), String::new()));
                let heaps = self.page.histogram.heaps.as_ref().map_or(0, Vec::len);
                figures.push(("Heaps", format_count(heaps as u64), String::new()));
            }
        }
        html.markup("<dl class=\"figures\">");
        for (name, figure, under) in figures {
            html.markup("<div><dt>").text(name).markup("</dt><dd>").text(figure).markup("<small>").text(under);
            html.markup("</small></dd></div>");
        }
        html.markup("</dl>\n");
        suspects::bar_of_heap(self, html);
    }
}

fn format_of(info: &Info) -> &FormatRow {
    match info {
        Info::Objects(info) => &info.format,
        Info::Allocations(info) => &info.format,
    }
}

/// `+85,000; `: by how many objects the dump grew.
fn change_of_objects(diff: &crate::answers::diff::Diff) -> String {
    use crate::answers::diff::DiffTotals;
    match (diff.old, diff.new) {
        (DiffTotals::Objects { objects: old, .. }, DiffTotals::Objects { objects: new, .. }) => {
            format!("{}; ", signed_count(crate::answers::diff::delta(old, new)))
        }
        _ => String::new(),
    }
}
