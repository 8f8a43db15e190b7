//! The page of a series of dumps: a chart of what grows fastest, then all that grows, and the dumps. It has no script.

use std::io::{self, Write};

use super::head::begin_document;
use super::html::HtmlWriter;
use super::names::escaped_name;
use super::tables::{close_table, open_table, signed_bytes, signed_count, write_cell, write_type_name};
use crate::answers::trend::{DumpsTrend, TrendRow, hours_text};
use crate::sort;
use crate::units::{count_with_noun, format_bytes};

/// Lines of the chart, by their colours, which are told apart on light and on dark.
const LINE_COLORS: [&str; 10] =
    ["#3b82c4", "#e0762f", "#3f9d5c", "#d04a4a", "#8c6bbf", "#9a6a55", "#cf6fae", "#8a8a8a", "#a9a32c", "#2fa5b5"];
/// Points of a line: of more dumps evenly chosen ones, and the last.
const MAX_LINE_POINTS: usize = 400;
const CHANGED_ROWS_SHOWN: usize = 100;
const DUMPS_SHOWN: usize = 1000;
/// The chart, and within it the place of the lines.
const CHART_SIZE: (f64, f64) = (800.0, 300.0);
const CHART_LEFT_MARGIN: f64 = 90.0;
const CHART_MARGIN: f64 = 10.0;
const CHART_BOTTOM_MARGIN: f64 = 30.0;

/// Writes the page of a series under this title. The same dumps give the same bytes. Error: when `out` cannot be written to.
pub fn write_series_page(trend: &DumpsTrend, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut html = HtmlWriter::default();
    let title = escaped_name(title);
    begin_document(&mut html, "", &format!("{title} - growth"));
    html.markup("<header class=\"top\"><h1>").text(&title).markup("</h1>\n<p class=\"quiet\">");
    html.text(format!(
        "{}. Made by heapdump {}.",
        count_with_noun(trend.read_count() as u64, "dumps"),
        env!("CARGO_PKG_VERSION")
    ));
    html.markup("</p></header>\n<main>\n<p>").text(trend.headline(format_bytes, str::to_string)).markup("</p>\n");
    if let Some(pace) = trend.pace_sentence(format_bytes) {
        html.markup("<p><strong>").text(pace).markup("</strong></p>\n");
    }
    let fastest = fastest_rows(trend);
    if !fastest.is_empty() {
        html.markup("<section id=\"chart\"><h2>What grows fastest</h2><p class=\"under\">By how much, since the first dump.</p>\n");
        write_chart(trend, &fastest, &mut html);
        write_row_table(trend, "What grows fastest", fastest.iter().copied().zip(LINE_COLORS.map(Some)), &mut html);
        html.markup("</section>\n");
    }
    html.markup("<section id=\"rows\"><h2>All that changed</h2>\n");
    let rows = trend.rows.as_slice();
    let left_out = trend.rows.rows_hidden + rows.len().saturating_sub(CHANGED_ROWS_SHOWN);
    if left_out > 0 {
        html.markup("<p class=\"under\">")
            .text(format!("{} are left out.", count_with_noun(left_out as u64, "rows")))
            .markup("</p>\n");
    }
    write_row_table(trend, "All that changed", rows.iter().take(CHANGED_ROWS_SHOWN).map(|row| (row, None)), &mut html);
    html.markup("</section>\n<section id=\"dumps\"><h2>The dumps</h2>\n");
    write_dump_table(trend, &mut html);
    html.markup("</section></main></body></html>\n");
    out.write_all(html.into_string().as_bytes())
}

fn growth_pace(row: &TrendRow) -> i64 {
    row.bytes_per_hour.unwrap_or(row.bytes_per_dump)
}

/// Those with the steepest slopes, the steepest first.
fn fastest_rows(trend: &DumpsTrend) -> Vec<&TrendRow> {
    let mut rows: Vec<&TrendRow> = trend.rows.as_slice().iter().filter(|row| growth_pace(row) > 0).collect();
    sort::rows_by_key(&mut rows, |row| std::cmp::Reverse(growth_pace(row)));
    rows.truncate(LINE_COLORS.len());
    rows
}

/// Growth of some rows since the first dump as lines over time, or over the dumps where these have no times.
fn write_chart(trend: &DumpsTrend, rows: &[&TrendRow], html: &mut HtmlWriter) {
    let places = trend.chart_places();
    let growth = |row: &TrendRow| -> Vec<f64> {
        row.bytes.iter().flatten().map(|&bytes| bytes as f64 - row.first_bytes as f64).collect()
    };
    let lines: Vec<Vec<f64>> = rows.iter().map(|row| growth(row)).collect();
    let of_all = || lines.iter().flatten().copied();
    let (least, most) = (of_all().fold(0.0, f64::min), of_all().fold(1.0, f64::max));
    let width = places.last().copied().filter(|&last| last > 0.0).unwrap_or(1.0);
    let x_of = |place: f64| CHART_LEFT_MARGIN + place / width * (CHART_SIZE.0 - CHART_LEFT_MARGIN - CHART_MARGIN);
    let y_of = |value: f64| {
        CHART_MARGIN + (most - value) / (most - least) * (CHART_SIZE.1 - CHART_MARGIN - CHART_BOTTOM_MARGIN)
    };
    html.markup("<svg viewBox=\"0 0 ")
        .text(format!("{} {}", CHART_SIZE.0, CHART_SIZE.1))
        .markup("\" role=\"img\" aria-label=\"");
    html.text(format!(
        "Growth of {} over {}",
        count_with_noun(rows.len() as u64, "rows"),
        count_with_noun(places.len() as u64, "dumps")
    ));
    html.markup("\" font-size=\"12\" fill=\"currentColor\">");
    for part in 0..=4u8 {
        let value = least + (most - least) * f64::from(part) / 4.0;
        let y = format!("{:.1}", y_of(value));
        html.markup("<line stroke=\"currentColor\" stroke-opacity=\"0.2\" x1=\"")
            .text(CHART_LEFT_MARGIN)
            .markup("\" x2=\"");
        html.text(CHART_SIZE.0 - CHART_MARGIN).markup("\" y1=\"").text(&y).markup("\" y2=\"").text(&y).markup("\"/>");
        html.markup("<text text-anchor=\"end\" dominant-baseline=\"middle\" x=\"")
            .text(CHART_LEFT_MARGIN - 6.0)
            .markup("\" y=\"");
        html.text(&y).markup("\">").text(signed_bytes(value as i64)).markup("</text>");
    }
    let y = CHART_SIZE.1 - CHART_MARGIN;
    html.markup("<text x=\"").text(CHART_LEFT_MARGIN).markup("\" y=\"").text(y).markup("\">first dump</text>");
    let last = match trend.slope_time() {
        Some(_) => format!("{} later", hours_text(width)),
        None => count_with_noun(places.len() as u64, "dumps"),
    };
    html.markup("<text text-anchor=\"end\" x=\"")
        .text(CHART_SIZE.0 - CHART_MARGIN)
        .markup("\" y=\"")
        .text(y)
        .markup("\">");
    html.text(last).markup("</text>");
    let step = places.len().div_ceil(MAX_LINE_POINTS).max(1);
    for ((row, line), color) in rows.iter().zip(&lines).zip(LINE_COLORS) {
        let points = places.iter().zip(line).enumerate();
        let points = points.filter(|(at, _)| at % step == 0 || at + 1 == places.len());
        let points: Vec<String> =
            points.map(|(_, (place, value))| format!("{:.1},{:.1}", x_of(*place), y_of(*value))).collect();
        html.markup("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"").markup(color).markup("\" points=\"");
        html.text(points.join(" "))
            .markup("\"><title>")
            .text(escaped_name(row.name.as_str()))
            .markup("</title></polyline>");
    }
    html.markup("</svg>\n");
}

/// Rows, with the colour of their line where they have one.
fn write_row_table<'r>(
    trend: &DumpsTrend,
    label: &str,
    rows: impl Iterator<Item = (&'r TrendRow, Option<&'static str>)>,
    html: &mut HtmlWriter,
) {
    let time = trend.slope_time();
    let (word, in_hour) = time.unwrap_or(("dump", 1));
    let (bytes_title, objects_title) = (format!("Per {word}"), format!("Objects per {word}"));
    let mut heads = vec!["Trend", "First", "Last", "Growth", &bytes_title, &objects_title];
    if trend.has_size_limit() {
        heads.push("Reached in");
    }
    heads.push("Name");
    open_table(html, label, &heads);
    for (row, color) in rows {
        html.markup("<tr><td>");
        if let Some(color) = color {
            html.markup(
                "<svg width=\"10\" height=\"10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" fill=\"",
            );
            html.markup(color).markup("\"/></svg> ");
        }
        html.text(row.trend.name()).markup("</td>");
        write_cell(html, format_bytes(row.first_bytes));
        write_cell(html, format_bytes(row.last_bytes));
        write_cell(html, signed_bytes(row.growth_bytes));
        write_cell(html, signed_bytes(row.bytes_per_hour.map_or(row.bytes_per_dump, |slope| slope / in_hour)));
        write_cell(html, signed_count(row.objects_per_hour.map_or(row.objects_per_dump, |slope| slope / in_hour)));
        if trend.has_size_limit() {
            write_cell(html, row.hours_to_limit.map_or("-".into(), hours_text));
        }
        html.markup("<td class=\"name\">");
        write_type_name(html, &escaped_name(row.name.as_str()));
        html.markup("</td></tr>");
    }
    close_table(html);
}

fn write_dump_table(trend: &DumpsTrend, html: &mut HtmlWriter) {
    open_table(html, "The dumps", &["Time", "Objects", "Bytes", "File"]);
    for (dump, name) in trend.dumps.iter().zip(trend.short_file_names()).take(DUMPS_SHOWN) {
        html.markup("<tr>");
        write_cell(html, dump.taken_at.as_deref().unwrap_or("-"));
        write_cell(html, super::tables::optional_count(dump.objects));
        write_cell(html, dump.shallow_bytes.map_or("not read".into(), format_bytes));
        html.markup("<td class=\"name\">").text(escaped_name(name)).markup("</td></tr>");
    }
    close_table(html);
}
