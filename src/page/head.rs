//! The head of the page: what it is of, the way to its sections, and the figures that come first.

use super::html::HtmlWriter;
use super::names::escaped_name;
use super::sections::{SCRIPT_HASH, STYLE, STYLE_HASH, SectionWriter};
use super::suspects;
use super::tables::{share_text, signed_bytes, signed_count};
use crate::answers::diff::saturating_delta;
use crate::answers::figure::{ALLOCATED_BYTES, ALLOCATIONS, OBJECTS, REACHABLE_BYTES, REFERENCES, SHALLOW};
use crate::answers::histogram::{OBJECTS_WITHOUT_BYTES, ROOTS, TYPES};
use crate::answers::{Figure, Info, ProblemRow, cut_sentence};
use crate::units::{count_with_noun, format_bytes, format_count};

/// The beginning of a document, up to its body. `scripts`: what the policy says of scripts, with a semicolon.
pub(super) fn begin_document(html: &mut HtmlWriter, scripts: &str, title: &str) {
    html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    let policy = format!(
        "default-src 'none'; {scripts}style-src 'sha256-{STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'"
    );
    html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"").text(policy).markup("\">\n");
    html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.markup("<meta name=\"referrer\" content=\"no-referrer\"><meta name=\"robots\" content=\"noindex\">\n<title>");
    html.text(title).markup("</title><style>").markup(STYLE).markup("</style></head><body>\n");
}

impl SectionWriter<'_, '_> {
    /// `sections`: those of the page, by address and title.
    pub(super) fn write_head(&self, sections: &[(&str, String)], html: &mut HtmlWriter) {
        let options = self.options;
        let format = self.page.info.format();
        begin_document(html, &format!("script-src 'sha256-{SCRIPT_HASH}'; "), &self.document_title());
        html.markup("<a class=\"skip\" href=\"#suspects\">Skip to what the page found</a>\n");
        html.markup("<svg width=\"0\" height=\"0\" aria-hidden=\"true\" class=\"unseen\"><defs><pattern id=\"hatch\" ");
        html.markup("width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">");
        html.markup("<rect width=\"6\" height=\"6\"/><rect width=\"2\" height=\"6\"/></pattern></defs></svg>\n");
        html.markup("<header class=\"top\"><h1>").text(escaped_name(options.dump_title()));
        if let Some(old) = &options.old_dump_name {
            html.markup(" compared with ").text(escaped_name(old));
        }
        html.markup("</h1>\n<p class=\"quiet\">").text(&format.title);
        if let Some(Some(producer)) = &format.producer {
            html.text(format!(", {}", escaped_name(producer)));
        }
        for words in self.time_and_section_words() {
            html.text(format!(", {words}"));
        }
        html.text(format!(". Made by heapdump {}.", env!("CARGO_PKG_VERSION")));
        html.markup("</p></header>\n<nav aria-label=\"Sections\"><div>");
        for (id, title) in sections {
            html.markup("<a href=\"#").text(id).markup("\">").text(title).markup("</a>");
        }
        html.markup(
            "<span class=\"space\"></span><button type=\"button\" id=\"theme\" class=\"with-script\">Theme: auto",
        );
        html.markup("</button></div></nav>\n<main>\n");
        let problems = self.problem_rows();
        if self.are_roots_inferred() {
            html.markup("<p class=\"warning\" role=\"note\">Roots are inferred: the dump has none. ");
            html.markup("What is reachable and retained rests on that.</p>\n");
        }
        if let Some(sample) = self.page.histogram.sample {
            html.markup("<p class=\"warning\" role=\"note\">The dump is a sample: the heap has about ");
            html.text(format!(
                "{:.1} times as many objects and {:.1} times as many bytes",
                sample.objects, sample.bytes
            ));
            html.markup(". The figures are those of the sample.</p>\n");
        }
        if let Some(cut) = cut_sentence(problems) {
            html.markup("<p class=\"warning\" role=\"note\"><strong>").text(cut).markup("</strong>.</p>\n");
        }
        let kinds = problems.iter().filter(|problem| !problem.is_note()).count();
        if kinds > 0 {
            let see = if kinds == 1 { "See it" } else { "See them" };
            let kinds = if kinds == 1 {
                "1 kind of problem".into()
            } else {
                count_with_noun(kinds as u64, "kinds of problems")
            };
            html.markup("<p class=\"warning\" role=\"note\">").text(kinds).markup(" in the dump: figures may be low. ");
            html.markup("<a href=\"#problems\">").text(see);
            html.markup("</a>.</p>\n");
        }
    }

    /// Begins with what matters most, so that ten open tabs can be told apart.
    fn document_title(&self) -> String {
        let file = escaped_name(self.options.dump_title());
        match suspects::largest_suspect_headline(self.page) {
            Some(headline) => format!("{headline} - {file}"),
            None => format!("{file} - heap report"),
        }
    }

    /// The time of the snapshot, and the sections.
    fn time_and_section_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Info::Objects(info) = &self.page.info {
            let chosen = info.snapshots.iter().find(|snapshot| snapshot.chosen);
            words.extend(chosen.and_then(|s| s.taken_at.as_ref()).map(|taken| format!("taken {taken}")));
            if info.sections.len() > 1 {
                let names: Vec<String> =
                    info.sections.iter().take(4).map(|section| escaped_name(&section.name)).collect();
                let more = if info.sections.len() > 4 { ", ..." } else { "" };
                let count = count_with_noun(info.sections.len() as u64, "sections");
                words.push(format!("{count}: {}{more}", names.join(", ")));
            }
        }
        words
    }

    pub(super) fn are_roots_inferred(&self) -> bool {
        matches!(&self.page.info, Info::Objects(info) if info.roots_inferred)
    }

    pub(super) fn problem_rows(&self) -> &[ProblemRow] {
        self.page.info.problems()
    }

    pub(super) fn write_figures(&self, html: &mut HtmlWriter) {
        let mut figures: Vec<(&str, String, String)> = Vec::new();
        let diff = self.page.growth_by_type.as_ref();
        if let (Some(diff), Some(old)) = (diff, &self.options.old_dump_name) {
            let (before, after) = (diff.old.bytes(), diff.new.bytes());
            let change = signed_bytes(saturating_delta(before, after));
            let under = format!("{} → {}, since {}", format_bytes(before), format_bytes(after), escaped_name(old));
            figures.push(("Grown by", change, under));
        }
        let totals = &self.page.histogram.totals;
        let figure = |figure: Figure| totals.figure(figure).unwrap_or(0);
        let old = |figure: Figure| self.page.old_totals.as_ref().and_then(|old| old.figure(figure));
        let counts = |of: Figure| change_in_words(figure(of), old(of), signed_count);
        let sizes = |of: Figure| change_in_words(figure(of), old(of), signed_bytes);
        let whole = count_with_noun(totals.bytes(), "bytes");
        if let Some(heaps) = &self.page.histogram.heaps {
            figures.push(("Allocated", format_bytes(totals.bytes()), joined_words(&[sizes(ALLOCATED_BYTES), whole])));
            if let Some(allocations) = totals.figure(ALLOCATIONS) {
                figures.push(("Allocations", format_count(allocations), counts(ALLOCATIONS)));
            }
            figures.push(("Types", format_count(figure(TYPES)), String::new()));
            figures.push(("Heaps", format_count(heaps.len() as u64), String::new()));
        } else {
            figures.push(("Heap", format_bytes(totals.bytes()), joined_words(&[sizes(SHALLOW), whole])));
            let without_bytes = totals.figure(OBJECTS_WITHOUT_BYTES).filter(|&others| others > 0);
            let objects = [
                counts(OBJECTS),
                without_bytes.map_or_else(String::new, |others| format!("and {} without bytes", format_count(others))),
                count_with_noun(figure(REFERENCES), "references"),
            ];
            figures.push(("Objects", format_count(figure(OBJECTS)), joined_words(&objects)));
            let of_heap = format!("{} of the heap", share_text(figure(REACHABLE_BYTES), totals.bytes()));
            figures.push((
                "Reachable",
                format_bytes(figure(REACHABLE_BYTES)),
                joined_words(&[sizes(REACHABLE_BYTES), of_heap]),
            ));
            figures.push(("Types", format_count(figure(TYPES)), counts(TYPES)));
            let inferred = if self.are_roots_inferred() { "inferred: the dump has none" } else { "" };
            figures.push(("Roots", format_count(figure(ROOTS)), joined_words(&[counts(ROOTS), inferred.to_string()])));
        }
        html.markup("<dl class=\"figures\">");
        for (name, figure, under) in figures {
            html.markup("<div><dt>").text(name).markup("</dt><dd>").text(figure).markup("<small>").text(under);
            html.markup("</small></dd></div>");
        }
        html.markup("</dl>\n");
        suspects::write_heap_bar(self, html);
    }
}

/// `+85,000`: by how much a figure grew; nothing without an older dump.
fn change_in_words(new: u64, old: Option<u64>, words: fn(i64) -> String) -> String {
    match old.map(|old| saturating_delta(old, new)) {
        Some(0) => "as before".into(),
        Some(change) => words(change),
        None => String::new(),
    }
}

/// The words that are not empty, in one line.
fn joined_words(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
    words.join("; ")
}
