//! The cards of leak suspects: what, how much, kept alive by what, what is inside, what to look at; and the bar above
//! them that shows their part of the heap.

use super::PageOptions;
use super::advice;
use super::html::HtmlWriter;
use super::names::{escaped_name, namespace_and_class};
use super::page_answers::{ObjectAnswers, PageAnswers, PageContent};
use super::sections::SectionWriter;
use super::tables::{share_text, signed_bytes, write_bar, write_bar_cell, write_cell, write_type_name};
use super::trees::{id_of_suspect_object, named_path_objects, path_start_index};
use crate::answers::figure::REACHABLE_BYTES;
use crate::answers::histogram::EXCLUDED_ROOTS_OBJECTS;
use crate::answers::leaks::{SuspectKind, SuspectView};
use crate::answers::{CommandLine, LeaksOptions, PathNodeRow, PathRow};
use crate::escape::escape_controls;
use crate::units::{count_with_noun, format_bytes, format_count};

/// Steps of a path that a card shows: the first ones and the last ones.
const FIRST_PATH_STEPS_SHOWN: usize = 4;
const LAST_PATH_STEPS_SHOWN: usize = 3;
/// Types inside a suspect.
const MAX_HELD_TYPES_SHOWN: usize = 5;
/// Suspects with a part of the bar.
const MAX_SUSPECTS_IN_BAR: usize = 3;

/// The first suspect in a few words: `55.2 MiB List`.
pub(super) fn largest_suspect_headline(page: &PageAnswers<'_>) -> Option<String> {
    let PageContent::Objects(objects) = &page.content else { return None };
    let suspect = objects.leaks.suspects.iter().next()?;
    let class = escaped_name(&namespace_and_class(suspect.row.type_name).1);
    Some(match &suspect.growth {
        Some(growth) => format!("{} {class}", signed_bytes(growth.retained_bytes_delta)),
        None => format!("{} {class}", format_bytes(suspect.row.retained_bytes)),
    })
}

/// Each suspect for a ticket, as Markdown.
pub(super) fn ticket_texts(page: &PageAnswers<'_>, options: &PageOptions) -> Vec<String> {
    let PageContent::Objects(objects) = &page.content else { return Vec::new() };
    objects.leaks.suspects.iter().map(|suspect| ticket_text(&suspect, options)).collect()
}

fn ticket_text(suspect: &SuspectView<'_>, options: &PageOptions) -> String {
    let mut text = format!(
        "**{}**: {}\n",
        escaped_name(options.dump_title()),
        crate::escape::escape_markdown(&paragraph_without_command(suspect))
    );
    if let (Some(growth), Some(old)) = (&suspect.growth, &options.old_dump_name) {
        let then = format_bytes(growth.retained_bytes_old);
        text +=
            &format!("\n{} since {} ({then} then).\n", signed_bytes(growth.retained_bytes_delta), escaped_name(old));
    }
    if let Some(path) = suspect.path.row() {
        text += &format!("\n```\n{}\n", escaped_name(&path.holders_in_words()));
        for step in shown_steps(&path) {
            text += &match step {
                ShownStep::Object(PathNodeRow { row, reference, .. }) => {
                    let name = reference.as_deref().map_or(String::new(), |name| format!("{} = ", escaped_name(name)));
                    format!("-> {name}{} {}\n", escaped_name(&row.id), escaped_name(&row.type_text()))
                }
                ShownStep::OmittedObjects(count) => {
                    format!("-> ... {} ...\n", count_with_noun(count as u64, "more steps"))
                }
            };
        }
        text += "```\n";
    }
    text + &format!("\n`{}`\n", escaped_name(&options.shell_command(&suspect.look_further)))
}

/// The paragraph without the command at its end, which carries the path as typed.
fn paragraph_without_command(suspect: &SuspectView<'_>) -> String {
    let text = suspect.text.split(" Look further with: ").next().unwrap_or_default();
    escape_controls(text).into_owned()
}

enum ShownStep {
    Object(PathNodeRow),
    OmittedObjects(usize),
}

/// The first and the last steps of a path; what is between is counted. It begins at the class where what stands before
/// that is the same for every class of a program.
fn shown_steps(path: &PathRow<'_>) -> Vec<ShownStep> {
    let (start, count) = (path_start_index(path), path.length() + 1);
    let objects = |places| named_path_objects(path, places).into_iter().map(ShownStep::Object);
    if count - start <= FIRST_PATH_STEPS_SHOWN + LAST_PATH_STEPS_SHOWN + 1 {
        return objects(start..count).collect();
    }
    let gap = ShownStep::OmittedObjects(count - start - FIRST_PATH_STEPS_SHOWN - LAST_PATH_STEPS_SHOWN);
    objects(start..start + FIRST_PATH_STEPS_SHOWN)
        .chain([gap])
        .chain(objects(count - LAST_PATH_STEPS_SHOWN..count))
        .collect()
}

/// A part of the bar.
pub(super) struct BarPart {
    /// Its number, from 1, where the part is a suspect's.
    suspect_number: Option<usize>,
    words: String,
    /// Of its colour, in the style.
    css_class: &'static str,
    bytes: u64,
    grown_bytes: Option<i64>,
}

/// Parts of the whole heap: the first suspects, the rest, what is not reachable.
fn bar_parts(sections: &SectionWriter<'_, '_>) -> Vec<BarPart> {
    let totals = &sections.page.histogram.totals;
    let reachable = totals.figure(REACHABLE_BYTES).unwrap_or(0);
    let PageContent::Objects(objects) = &sections.page.content else { return Vec::new() };
    let mut parts_of_bar = Vec::new();
    let mut rest = reachable;
    for (number, suspect) in disjoint_suspects(objects) {
        let bytes = suspect.row.retained_bytes.min(rest);
        let class = escaped_name(&namespace_and_class(suspect.row.type_name).1);
        let part = ["part-1", "part-2", "part-3"][parts_of_bar.len()];
        let grown_bytes = suspect.growth.map(|growth| growth.retained_bytes_delta);
        parts_of_bar.push(BarPart { suspect_number: Some(number), words: class, css_class: part, bytes, grown_bytes });
        rest -= bytes;
        if parts_of_bar.len() == MAX_SUSPECTS_IN_BAR {
            break;
        }
    }
    let plain = |words: &str, class, bytes| {
        let words = words.to_string();
        BarPart { suspect_number: None, words, css_class: class, bytes, grown_bytes: None }
    };
    let rest_words = if parts_of_bar.is_empty() { "all that is reachable" } else { "the rest of what is reachable" };
    parts_of_bar.push(plain(rest_words, "part-rest", rest));
    let unreachable = totals.bytes().saturating_sub(reachable);
    let histogram = &sections.page.histogram;
    let words = match () {
        () if totals.figure(EXCLUDED_ROOTS_OBJECTS).is_some() => "not reachable from the roots that were kept",
        () if histogram.unrooted_are_alive => "without a root but alive: on the frozen heap, which is never collected",
        () if sections.are_roots_inferred() => "not reachable from the inferred roots",
        () => "not reachable: garbage not yet collected",
    };
    parts_of_bar.push(plain(words, "part-unreachable", unreachable));
    parts_of_bar.retain(|part| part.bytes > 0);
    parts_of_bar
}

/// Suspects that are in no other, with their numbers from 1.
fn disjoint_suspects<'p>(objects: &'p ObjectAnswers<'_>) -> Vec<(usize, SuspectView<'p>)> {
    let mut kept: Vec<(usize, SuspectView<'p>)> = Vec::new();
    for (at, suspect) in objects.leaks.suspects.iter().enumerate() {
        let is_inside = kept.iter().any(|(_, other)| {
            let (one, other_id) = (id_of_suspect_object(&suspect), id_of_suspect_object(other));
            objects.dominator_tree_view.is_above(other_id, one) || objects.dominator_tree_view.is_above(one, other_id)
        });
        let is_group_of_kept = suspect.row.kind == SuspectKind::Group
            && kept.iter().any(|(_, other)| {
                objects.dominator_tree_view.type_of_topmost_dominator(id_of_suspect_object(other))
                    == Some(suspect.row.type_name)
            });
        let is_in_kept_group = kept.iter().any(|(_, other)| {
            other.row.kind == SuspectKind::Group
                && objects.dominator_tree_view.type_of_topmost_dominator(id_of_suspect_object(&suspect))
                    == Some(other.row.type_name)
        });
        if !is_inside && !is_group_of_kept && !is_in_kept_group {
            kept.push((at + 1, suspect));
        }
    }
    kept
}

/// The bar and its legend.
pub(super) fn write_heap_bar(sections: &SectionWriter<'_, '_>, html: &mut HtmlWriter) {
    let parts = bar_parts(sections);
    let whole: u64 = parts.iter().map(|part| part.bytes).sum();
    if whole == 0 {
        return;
    }
    html.markup(
        "<svg class=\"split\" role=\"img\" aria-label=\"How the heap is divided; the list below has the figures\">",
    );
    let mut left = 0.0;
    for BarPart { suspect_number: number, css_class: class, bytes, .. } in &parts {
        let width = super::tables::percent(*bytes, whole);
        html.markup("<rect class=\"").text(class).markup("\" x=\"").text(format!("{left:.2}%")).markup("\" width=\"");
        html.text(format!("{:.2}%", (width - 0.2).max(0.1))).markup("\" height=\"100%\"/>");
        if let Some(number) = number.filter(|_| width >= 3.0) {
            html.markup("<text class=\"number\" x=\"").text(format!("{:.2}%", left + 0.6)).markup("\" y=\"19\">");
            html.text(number).markup("</text>");
        }
        left += width;
    }
    html.markup("</svg><ul class=\"legend\">");
    for BarPart { suspect_number: number, words, css_class: class, bytes, grown_bytes } in &parts {
        html.markup("<li><svg aria-hidden=\"true\"><rect class=\"").text(class);
        html.markup("\" width=\"100%\" height=\"100%\"/></svg>");
        match number {
            Some(number) => {
                html.markup("<a href=\"#suspect-").text(number).markup("\">").text(format!("{number}. {words}"));
                html.markup("</a>")
            }
            None => html.text(words),
        };
        html.text(format!(" {}", format_bytes(*bytes)));
        match grown_bytes {
            Some(0) => _ = html.text(" (did not grow)"),
            Some(grown) => _ = html.text(format!(" ({})", signed_bytes(*grown))),
            None => {}
        }
        html.text(format!(", {} of the heap", share_text(*bytes, whole))).markup("</li>");
    }
    html.markup("</ul>\n");
}

impl SectionWriter<'_, '_> {
    pub(super) fn write_suspects(&self, html: &mut HtmlWriter) {
        let PageContent::Objects(_) = &self.page.content else { return };
        html.begin_section("suspects", "Suspects").markup(" tabindex=\"-1\"><h2>Leak suspects</h2>\n");
        write_suspect_cards(self, html);
        let options = LeaksOptions {
            threshold: self.options.suspect_threshold,
            libraries: self.options.library_types.clone(),
            scope: self.dump_section_scope(),
            ..LeaksOptions::default()
        };
        let mut line = options.command_line();
        if let Some(old) = &self.options.old_dump_name {
            line.add_word(old.as_str());
        }
        self.write_command(&line, html);
        html.markup("</section>\n");
    }
}

/// All cards.
fn write_suspect_cards(sections: &SectionWriter<'_, '_>, html: &mut HtmlWriter) {
    let PageContent::Objects(objects) = &sections.page.content else { return };
    let leaks = &objects.leaks;
    let threshold = share_text(leaks.threshold_bytes, leaks.reachable_bytes);
    html.markup("<p class=\"under\">What retains ").text(format_bytes(leaks.threshold_bytes));
    html.text(format!(" ({threshold} of what is reachable) or more, and would be freed if it went."));
    if sections.options.old_dump_name.is_some() {
        html.markup(" What grew most comes first.");
    }
    html.markup("</p>\n");
    if leaks.suspects.is_empty() {
        html.markup("<p>None: nothing retains so much. The <a href=\"#map\">map</a> and the ");
        html.markup("<a href=\"#objects\">biggest objects</a> show where the rest hangs.</p>\n");
    }
    for (at, suspect) in leaks.suspects.iter().enumerate() {
        write_suspect_card(sections, &suspect, at + 1, html);
        if at == 0 {
            html.markup(
                "<p class=\"quiet\">Filled marks: all paths lead through it. Hollow marks: there are other ways ",
            );
            html.markup("around it.</p>\n");
        }
    }
    if leaks.omitted.beyond_limit > 0 {
        let more = count_with_noun(leaks.omitted.beyond_limit as u64, "more suspects");
        html.markup("<p class=\"quiet\">").text(format!("{more}: the command below prints them.")).markup("</p>\n");
    }
}

fn write_suspect_card(
    sections: &SectionWriter<'_, '_>,
    suspect: &SuspectView<'_>,
    number: usize,
    html: &mut HtmlWriter,
) {
    let row = &suspect.row;
    let rank = number.min(MAX_SUSPECTS_IN_BAR);
    html.markup("<article class=\"suspect rank-").text(rank).markup("\" id=\"suspect-").text(number);
    html.markup("\" tabindex=\"-1\" aria-labelledby=\"suspect-title-")
        .text(number)
        .markup("\"><header><h3 id=\"suspect-title-");
    html.text(number).markup("\">").text(format!("{number}. "));
    if row.kind == SuspectKind::Group {
        html.text(format!("{} of ", count_with_noun(row.objects as u64, "objects")));
    }
    write_type_name(html, &escaped_name(row.type_name));
    if let Some(id) = &row.id {
        html.markup(" <span class=\"id quiet\">").text(escaped_name(id)).markup("</span>");
    }
    html.markup("</h3><span class=\"size\">").text(format_bytes(row.retained_bytes)).markup(" <span class=\"quiet\">");
    html.text(format!("{:.1} % of reachable", row.share * 100.0)).markup("</span></span></header>\n");
    write_bar(html, row.retained_bytes, sections.page.reachable_bytes());
    write_growth_paragraph(sections, suspect, html);
    html.markup("<p>")
        .text(paragraph_without_command(suspect))
        .markup("</p>\n<div class=\"columns\"><div><h4>Kept alive by</h4>");
    write_root_path(sections, suspect, html);
    html.markup("</div><div><h4>What is inside</h4><table><tbody>");
    let inside: Vec<_> = suspect.holds.iter().filter(|held| held.types.is_none()).take(MAX_HELD_TYPES_SHOWN).collect();
    let largest = inside.iter().map(|held| held.shallow_bytes).max().unwrap_or(0);
    for held in inside {
        html.markup("<tr>");
        write_bar_cell(html, held.shallow_bytes, largest);
        write_cell(html, format_bytes(held.shallow_bytes));
        write_cell(html, format!("{} ×", format_count(held.objects)));
        html.markup("<td class=\"name\">");
        write_type_name(html, &escaped_name(held.type_name));
        html.markup("</td></tr>");
    }
    html.markup("</tbody></table></div></div>\n<div class=\"look\"><h4>What to look at</h4>");
    let root = suspect.path.row().map(|path| path.root());
    for sentence in advice::advice_sentences(suspect, root.as_ref()) {
        html.markup("<p>").markup(sentence).markup("</p>");
    }
    sections.write_command(&suspect.look_further, html);
    let mut line = CommandLine::new("roots");
    match row.kind {
        SuspectKind::Group => line.add_option("--type", Some(&exact_type_pattern(row.type_name))),
        SuspectKind::Object => line.add_option("--paths", Some("5")).add_word(id_of_suspect_object(suspect)),
    };
    sections.write_command(&line, html);
    html.markup("<button type=\"button\" class=\"with-script plain-button\" data-object=\"");
    html.text(escaped_name(&suspect.accumulation_point.object.id))
        .markup("\" data-else=\"")
        .text(escaped_name(id_of_suspect_object(suspect)));
    html.markup("\">Open it in Biggest objects</button>");
    html.markup("<button type=\"button\" class=\"with-script plain-button\" data-ticket=\"").text(number - 1);
    html.markup("\">Copy for a ticket</button></div></article>\n");
}

/// A pattern of `--type` for a type of this name and no other.
fn exact_type_pattern(name: &str) -> String {
    let mut pattern = String::from("/^");
    for c in name.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "$/"
}

fn write_growth_paragraph(sections: &SectionWriter<'_, '_>, suspect: &SuspectView<'_>, html: &mut HtmlWriter) {
    let (Some(growth), Some(old)) = (&suspect.growth, &sections.options.old_dump_name) else { return };
    let old = escaped_name(old);
    let (delta, then) = (growth.retained_bytes_delta, format_bytes(growth.retained_bytes_old));
    match delta {
        1.. => {
            html.markup("<p><b class=\"grew\">").text(signed_bytes(delta)).markup("</b>");
            html.text(format!(" since {old} ({then} then).")).markup("</p>\n");
        }
        0 => {
            _ = html
                .markup("<p class=\"quiet\">")
                .text(format!("Did not grow since {old}: probably not the leak."))
                .markup("</p>\n")
        }
        _ => {
            html.markup("<p><b class=\"shrank\">").text(format!("Shrank by {}", format_bytes(delta.unsigned_abs())));
            html.markup("</b>").text(format!(" since {old} ({then} then): probably not the leak.")).markup("</p>\n");
        }
    }
}

fn write_root_path(sections: &SectionWriter<'_, '_>, suspect: &SuspectView<'_>, html: &mut HtmlWriter) {
    let PageContent::Objects(objects) = &sections.page.content else { return };
    let point = &suspect.accumulation_point;
    let subject = id_of_suspect_object(suspect);
    html.markup("<ol class=\"path\">");
    let mut has_point = false;
    if let Some(path) = suspect.path.row() {
        html.markup("<li class=\"root\">").text(escaped_name(&path.holders_in_words())).markup("</li>");
        for step in shown_steps(&path) {
            let PathNodeRow { row, reference, .. } = match step {
                ShownStep::Object(row) => row,
                ShownStep::OmittedObjects(count) => {
                    let more = count_with_noun(count as u64, "more steps");
                    html.markup("<li class=\"quiet\">").text(format!("… {more} …")).markup("</li>");
                    continue;
                }
            };
            let is_point = row.id == point.object.id;
            has_point |= is_point;
            html.markup(match () {
                () if is_point => "<li class=\"piles-up\">",
                () if row.id == subject || objects.dominator_tree_view.is_above(&row.id, subject) => {
                    "<li class=\"on-all\">"
                }
                () => "<li>",
            });
            if is_point {
                html.markup("<b>Piles up in</b> ");
            }
            if let Some(reference) = reference {
                html.markup("<span class=\"reference\">").text(escaped_name(&reference)).markup("</span> ");
            }
            html.markup("<span class=\"id\">").text(escaped_name(&row.id)).markup("</span> ");
            write_type_name(html, &escaped_name(&row.type_text()));
            let retained = objects
                .dominator_tree_view
                .find_object(&row.id)
                .map(|object| objects.dominator_tree_view.retained_bytes(object));
            if let Some(bytes) = retained {
                html.markup("<span class=\"size-of-step\">").text(format_bytes(bytes)).markup("</span>");
            }
            html.markup("</li>");
        }
    }
    if !has_point {
        html.markup("<li class=\"piles-up\"><b>Piles up in</b> <span class=\"id\">")
            .text(escaped_name(&point.object.id));
        html.markup("</span> ");
        write_type_name(html, &escaped_name(&point.object.type_text()));
        html.markup("<span class=\"size-of-step\">").text(format_bytes(point.retained_bytes)).markup("</span></li>");
    }
    if let (Some(count), Some(member)) = (point.members, point.member_type) {
        html.markup("<li class=\"members quiet\">").text(format!("{} × ", format_count(count)));
        write_type_name(html, &escaped_name(member));
        if let Some(keeping) = &suspect.keeping {
            let each = if keeping.objects == count { "each keeps" } else { "most of them keep" };
            html.text(format!(", {each} a "));
            write_type_name(html, &escaped_name(keeping.type_name));
        }
        html.markup("</li>");
    }
    html.markup("</ol>");
}
