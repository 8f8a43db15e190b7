//! Tables and figures of the page in markup.

use super::columns::FigureTable;
use super::html::HtmlWriter;
use super::names::namespace_and_class;
use crate::units::{ColumnUnit, format_bytes, format_count, sign_prefix};

/// A table of figures, with names in the last column and in one called "Type"; a head without a title is for bars.
pub(super) fn open_table(html: &mut HtmlWriter, label: &str, heads: &[&str]) {
    html.markup("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(label).markup("\"><table>");
    html.markup("<thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        match *head {
            "" => html.markup("<th scope=\"col\" class=\"bars\"><span class=\"unseen\">share</span></th>"),
            head if at + 1 == heads.len() || head == "Type" => {
                html.markup("<th scope=\"col\" class=\"name\">").text(head).markup("</th>")
            }
            head => html.markup("<th scope=\"col\">").text(head).markup("</th>"),
        };
    }
    html.markup("</tr></thead><tbody>");
}

pub(super) fn close_table(html: &mut HtmlWriter) {
    html.markup("</tbody></table></div>\n");
}

/// The first rows of a table that the script sorts and filters, and of which it shows more; left open. `name`: what stands in
/// the last column.
pub(super) fn open_figure_table<N>(
    html: &mut HtmlWriter,
    label: &str,
    table: &FigureTable<N>,
    title: &str,
    shown: usize,
    name: impl Fn(&mut HtmlWriter, &N),
) {
    open_filter_table(html, label, &table.heads(title));
    write_figure_rows(html, table, shown, "name", name);
}

/// The first rows of a table of figures. `name`: what stands in the last column, of this class.
pub(super) fn write_figure_rows<N>(
    html: &mut HtmlWriter,
    table: &FigureTable<N>,
    shown: usize,
    class: &'static str,
    name: impl Fn(&mut HtmlWriter, &N),
) {
    let first = |figures: &[Option<i64>]| figures[0].unwrap_or(0).unsigned_abs();
    let largest = table.rows.iter().map(|(_, figures)| first(figures)).max().unwrap_or(0);
    for (own, figures) in table.rows.iter().take(shown) {
        html.markup("<tr>");
        write_bar_cell(html, first(figures), largest);
        for (at, (figure, value)) in table.figures.iter().zip(figures).enumerate() {
            let sign = |value| if at < table.growth_column_count { sign_prefix(value) } else { "" };
            let words = if figure.unit == ColumnUnit::Bytes { format_bytes } else { format_count };
            write_cell(
                html,
                value.map_or("-".into(), |value| format!("{}{}", sign(value), words(value.unsigned_abs()))),
            );
        }
        html.markup("<td class=\"").markup(class).markup("\">");
        name(html, own);
        html.markup("</td></tr>");
    }
}

/// A table that the script sorts and filters, and of which it shows more.
fn open_filter_table(html: &mut HtmlWriter, label: &str, heads: &[&str]) {
    html.markup("<div class=\"tools with-script\"><label>Filter <input type=\"search\" ");
    html.markup("placeholder=\"part of a name or /regex/\"></label> ");
    html.markup("<span class=\"counter quiet\" role=\"status\"></span></div>\n");
    open_table(html, label, heads);
}

pub(super) fn close_filter_table(html: &mut HtmlWriter) {
    close_table(html);
    html.markup("<button type=\"button\" class=\"more with-script\" hidden>Show more</button>\n");
}

/// The same with a last row, which stays there whatever the script shows above it.
pub(super) fn close_filter_table_with_foot(html: &mut HtmlWriter, foot: &[&str]) {
    html.markup("</tbody><tfoot><tr>");
    for (at, text) in foot.iter().enumerate() {
        html.markup(match at {
            0 => "<td class=\"bars\">",
            at if at + 1 == foot.len() => "<td class=\"name quiet\">",
            _ => "<td>",
        });
        html.text(text).markup("</td>");
    }
    html.markup("</tr></tfoot></table></div>\n");
    html.markup("<button type=\"button\" class=\"more with-script\" hidden>Show more</button>\n");
}

pub(super) fn write_cell(html: &mut HtmlWriter, text: impl std::fmt::Display) {
    html.markup("<td>").text(text).markup("</td>");
}

pub(super) fn write_bar_cell(html: &mut HtmlWriter, value: u64, largest: u64) {
    html.markup("<td class=\"bars\">");
    write_bar(html, value, largest);
    html.markup("</td>");
}

pub(super) fn write_bar(html: &mut HtmlWriter, value: u64, largest: u64) {
    html.markup(
        "<svg class=\"bar\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"",
    );
    html.text(format!("{:.2}", percent(value, largest).min(100.0))).markup("\" height=\"1\"/></svg>");
}

/// A type's name, its namespace dimmed; the whole name is its title, where it is not all there or may be cut.
pub(super) fn write_type_name(html: &mut HtmlWriter, name: &str) {
    let (namespace, class) = namespace_and_class(name);
    let namespace = brief_namespace(&namespace);
    html.markup("<span class=\"type\"");
    if name.chars().count() > MAX_UNCUT_NAME_CHARACTERS || format!("{namespace}{class}") != name {
        html.markup(" title=\"").text(name).markup("\"");
    }
    html.markup(">");
    if !namespace.is_empty() {
        html.markup("<span class=\"namespace\">").text(namespace).markup("</span><wbr>");
    }
    html.text(class).markup("</span>");
}

/// Characters of a name that no table cuts.
const MAX_UNCUT_NAME_CHARACTERS: usize = 100;
/// Characters of a namespace beyond which its middle goes: what it is of is the class.
const MAX_NAMESPACE_CHARACTERS: usize = 80;

/// A namespace without its middle, where it has more characters. The page's script does the same.
fn brief_namespace(namespace: &str) -> String {
    let length = namespace.chars().count();
    if length <= MAX_NAMESPACE_CHARACTERS {
        return namespace.to_string();
    }
    let half = MAX_NAMESPACE_CHARACTERS / 2;
    let first: String = namespace.chars().take(half).collect();
    let last: String = namespace.chars().skip(length - half).collect();
    format!("{first}…{last}")
}

pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

pub(super) fn share_text(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1} %", percent(part, whole)) }
}

pub(super) fn signed_bytes(delta: i64) -> String {
    format!("{}{}", sign_prefix(delta), format_bytes(delta.unsigned_abs()))
}

pub(super) fn signed_count(delta: i64) -> String {
    format!("{}{}", sign_prefix(delta), format_count(delta.unsigned_abs()))
}

pub(super) fn optional_count(count: Option<u64>) -> String {
    count.map_or("-".into(), format_count)
}
