//! Tables for people, fitted to the width of the terminal.

use std::cmp::max;
use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table as Drawn, presets};

use super::fit::wrap_sentence;
use super::{Cell, Column, ColumnUnit, Style, Table, cell_text};
use crate::names::{cut_to_max_lines, display_columns, min_name_columns, name_lines, shorten_middle};
use crate::units;

/// Rows drawn as one table; comfy-table takes some 2 KB a row, so longer answers come in several.
const ROWS_PER_DRAWN_TABLE: usize = 2000;
/// Columns that one takes beside its own width, with borders and without.
const BORDERED_COLUMN_EXTRA: usize = 3;
const PLAIN_COLUMN_EXTRA: usize = 2;
/// Words beside the name are broken to as much where nothing else helps, the second where the first is not enough.
const MIN_WORD_COLUMNS: [usize; 2] = [16, 8];

pub(super) fn write_drawn_table(table: &Table<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut start = 0;
    let mut hidden: Vec<usize> = Vec::new();
    loop {
        let end = (start + ROWS_PER_DRAWN_TABLE).min(table.row_count);
        let text;
        (text, hidden) = draw_table(table, start..end, hidden.len(), style);
        writeln!(out, "{text}")?;
        start = end;
        if start == table.row_count {
            break;
        }
    }
    if table.rows_hidden > 0 {
        write_note(
            &format!("{}; -n 0 shows all", units::count_with_noun(table.rows_hidden as u64, "more rows")),
            out,
            style,
        )?;
    }
    if !hidden.is_empty() {
        let titles: Vec<String> = hidden.iter().map(|place| table.columns[*place].title.replace('\n', " ")).collect();
        write_note(&super::fit::hidden_columns_note(&titles), out, style)?;
    }
    Ok(())
}

/// A sentence below the table.
fn write_note(text: &str, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    writeln!(out, "{}", wrap_sentence(text, style.width))
}

/// A part of the table, and the columns it does without: no fewer than the part before.
fn draw_table(table: &Table<'_>, rows: std::ops::Range<usize>, hidden: usize, style: &Style) -> (String, Vec<usize>) {
    let texts: Vec<Vec<String>> = rows
        .map(|row| {
            (table.row_at)(row)
                .iter()
                .zip(&table.columns)
                .map(|(cell, column)| cell_on_terminal(cell, column.unit, style))
                .collect()
        })
        .collect();
    let last = table.columns.len().saturating_sub(1);
    let widest = |place: usize, of: &dyn Fn(&str) -> usize| texts.iter().map(|row| of(&row[place])).fold(0, max);
    // Names give way as far as they may, and need not be on one line where they take more than half of the terminal.
    let mut widths: Vec<usize> = (0..table.columns.len())
        .map(|place| match is_name_column(&table.columns[place]) {
            true => widest(place, &min_name_columns).min(if place == last { style.width / 2 } else { style.width / 3 }),
            false => widest(place, &display_columns),
        })
        .zip(&table.columns)
        .map(|(width, column)| max(width, title_width(column)))
        .collect();
    // Between columns with borders, and without.
    let left = |widths: &[usize], shown: &[usize], gap: usize| {
        let columns: usize = shown.iter().map(|place| widths[*place] + gap).sum();
        style.width.checked_sub(columns + 1)
    };
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    while left(&widths, &shown, BORDERED_COLUMN_EXTRA).is_none() || table.columns.len() - shown.len() < hidden {
        let Some(first) = shown.iter().map(|place| table.columns[*place].hide_priority).max().filter(|most| *most > 0)
        else {
            break;
        };
        shown.retain(|place| table.columns[*place].hide_priority < first);
    }
    // Where all that can go is not enough, borders go, then counts, then other figures, the first ones first; then words
    // beside the name are broken.
    let is_plain = left(&widths, &shown, BORDERED_COLUMN_EXTRA).is_none();
    let gap = if is_plain { PLAIN_COLUMN_EXTRA } else { BORDERED_COLUMN_EXTRA };
    // Names beside each other take further lines before figures that stay go.
    let names: Vec<usize> =
        shown.iter().copied().filter(|place| table.columns[*place].unit == ColumnUnit::Text).collect();
    if is_plain && names.len() > 1 {
        names
            .into_iter()
            .for_each(|place| widths[place] = widths[place].min((style.width / 4).max(MIN_WORD_COLUMNS[0])));
    }
    while left(&widths, &shown, gap).is_none() || is_plain && table.columns.len() - shown.len() < hidden {
        let is_figure = |place: &usize| !is_name_column(&table.columns[*place]);
        let is_count = |place: &usize| table.columns[*place].unit == ColumnUnit::Count;
        let goes = shown.iter().rposition(is_count).or_else(|| shown.iter().position(is_figure));
        let Some(goes) = goes.filter(|_| shown.iter().filter(|place| is_figure(place)).count() > 1) else { break };
        shown.remove(goes);
    }
    for most in MIN_WORD_COLUMNS {
        if left(&widths, &shown, gap).is_none() {
            let words = shown.iter().filter(|place| table.columns[**place].unit == ColumnUnit::Word);
            words.for_each(|place| widths[*place] = widths[*place].min(most));
        }
    }
    // The last figures go where columns of names alone leave no room for them.
    while left(&widths, &shown, gap).is_none()
        && let Some(figure) =
            shown.iter().position(|place| !is_name_column(&table.columns[*place])).filter(|_| shown.len() > 2)
    {
        shown.remove(figure);
    }
    // What is left over goes to names, the last first.
    let own: usize = shown.iter().filter(|place| **place != last).map(|place| widths[*place] + gap).sum();
    widths[last] = style.width.saturating_sub(own + gap + 1).max(3);
    let wanted = max(widest(last, &display_columns), title_width(&table.columns[last]));
    let mut spare = widths[last].saturating_sub(wanted);
    for place in shown.iter().filter(|place| **place != last && is_name_column(&table.columns[**place])) {
        let more = widest(*place, &display_columns).saturating_sub(widths[*place]).min(spare);
        widths[*place] += more;
        widths[last] -= more;
        spare -= more;
    }

    let mut drawn = Drawn::new();
    drawn.load_style(if is_plain { presets::NOTHING } else { presets::UTF8_FULL_CONDENSED });
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    if style.has_header {
        drawn.set_header(shown.iter().map(|&place| {
            let lines = table.columns[place].title.lines();
            lines.map(|line| shorten_middle(line, widths[place])).collect::<Vec<_>>().join("\n")
        }));
    }
    for row in &texts {
        // A name begins on the last line of the one before: its lines follow one another.
        let mut before = 0;
        drawn.add_row(shown.iter().map(|&place| match is_name_column(&table.columns[place]) {
            true => {
                let lines = name_lines(&row[place], widths[place], widths[place]);
                let lines = lines.strip_prefix(&[String::new()]).filter(|lines| !lines.is_empty()).unwrap_or(&lines);
                let cell = "\n".repeat(before) + &lines.join("\n");
                before += lines.len() - 1;
                cell
            }
            false => row[place].clone(),
        }));
    }
    for (number, place) in shown.iter().enumerate() {
        if matches!(table.columns[*place].unit, ColumnUnit::Count | ColumnUnit::Bytes | ColumnUnit::Share)
            && let Some(drawn_column) = drawn.column_mut(number)
        {
            drawn_column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let hidden = (0..table.columns.len()).filter(|place| !shown.contains(place)).collect();
    let lines: Vec<String> = drawn.lines().map(|line| line.trim_end().to_string()).collect();
    (lines.join("\n"), hidden)
}

/// Returns true for a column of names and texts.
fn is_name_column(column: &Column) -> bool {
    matches!(column.unit, ColumnUnit::Word | ColumnUnit::Text)
}

fn title_width(column: &Column) -> usize {
    column.title.lines().map(display_columns).fold(0, max)
}

/// A cell for people: digits in groups, texts escaped and no longer than they can be shown.
pub(super) fn cell_on_terminal(cell: &Cell<'_>, unit: ColumnUnit, style: &Style) -> String {
    match cell {
        // Held for all rows that are drawn together; no more of it is ever shown.
        Cell::Text(text) => super::escape_controls(&cut_to_max_lines(text, style.width)).into_owned(),
        Cell::Number(number) if unit == ColumnUnit::Count => units::format_count(*number),
        Cell::Number(number) if !style.has_human_sizes => units::format_count(*number),
        Cell::Signed(number) if unit == ColumnUnit::Count || !style.has_human_sizes => {
            format!("{}{}", units::sign_prefix(*number), units::format_count(number.unsigned_abs()))
        }
        _ => cell_text(cell, unit, style.has_human_sizes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(table: &Table<'_>, width: usize) -> String {
        let style = Style { is_terminal: true, width, has_human_sizes: true, ..Style::PLAIN };
        let mut out = Vec::new();
        write_drawn_table(table, &mut out, &style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let table = Table {
            columns: vec![
                Column::new("objects", "Objects", ColumnUnit::Count),
                Column::new("type", "Type", ColumnUnit::Text),
            ],
            row_count: 2,
            rows_hidden: 3,
            row_at: Box::new(|row| vec![Cell::Number(1000 + row as u64), Cell::text("x".repeat(200))]),
        };
        for width in [60, 80, 200] {
            let text = drawn(&table, width);
            assert!(text.contains("1,001") && text.contains("3 more rows"));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width && widest + 2 >= width.min(215), "{widest} of {width}\n{text}");
        }
    }

    #[test]
    fn columns_that_can_be_hidden_go_before_names_are_cut() {
        let figure = |title| Column::new("n", title, ColumnUnit::Count);
        let table = Table {
            columns: vec![
                figure("Objects\nold").with_hide_priority(2),
                figure("Objects\nnew").with_hide_priority(1),
                figure("Growth"),
                Column::new("type", "Type", ColumnUnit::Text),
            ],
            row_count: 1,
            rows_hidden: 0,
            row_at: Box::new(|_| vec![Cell::Number(1), Cell::Number(2), Cell::Number(3), Cell::text("x".repeat(90))]),
        };
        for (width, there, gone, note) in [
            (120, "Objects ┆ Objects", "wider", "xx"),
            (60, "Objects ┆", "Objects ┆ Objects", "1 more column (Objects old) on"),
            (40, "Growth", "┆ Objects", "2 more columns (Objects old,"),
        ] {
            let text = drawn(&table, width);
            assert!(text.contains(there) && !text.contains(gone) && text.contains(note), "{width}\n{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        }
    }

    #[test]
    fn names_are_never_pushed_out_by_figures() {
        let columns = [
            ("Object", ColumnUnit::Word),
            ("Shallow", ColumnUnit::Bytes),
            ("Retained", ColumnUnit::Bytes),
            ("References", ColumnUnit::Count),
        ];
        let columns = columns.map(|(title, unit)| Column::new("n", title, unit)).into_iter();
        let table = Table {
            columns: columns.chain([Column::new("type", "Type", ColumnUnit::Text)]).collect(),
            row_count: 1,
            rows_hidden: 0,
            row_at: Box::new(|_| {
                (1..5).map(|at| Cell::Number(at * 11_111_111)).chain([Cell::text("x".repeat(45))]).collect()
            }),
        };
        for (width, note) in [
            (90, None),
            (70, Some("1 more column (References) on")),
            (52, Some("2 more columns (Shallow,")),
            (45, Some("2 more")),
        ] {
            let text = drawn(&table, width);
            assert!(note.is_none_or(|note| text.contains(note)) && text.contains("Object"), "{width}\n{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        }
    }

    #[test]
    fn letters_that_take_two_columns_break_no_table() {
        let table = Table {
            columns: vec![Column::word("holder", "Holder"), Column::text("text", "Text")],
            row_count: 2,
            rows_hidden: 0,
            row_at: Box::new(|row| {
                vec![Cell::text(["缓存缓存缓存缓存.entries", "a.B"][row]), Cell::text("漢字".repeat(60 * row + 5))]
            }),
        };
        for width in 30..140 {
            let text = drawn(&table, width);
            let widths: Vec<usize> = text.lines().map(display_columns).collect();
            assert!(widths.iter().all(|line| *line <= width), "{width}: {widths:?}\n{text}");
        }
    }
}
