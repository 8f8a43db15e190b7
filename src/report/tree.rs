//! Trees for people: figures, and a name indented as deep as its row is. Rows with one row below them are a chain, which
//! stays at its indent behind arrows.

use std::io::{self, Write};

use super::fit::{hidden_columns_note, wrap_sentence};
use super::terminal_table::cell_on_terminal;
use super::{Style, Table, escape_controls, format_count};
use crate::names::{FigureWidth, display_columns, min_name_columns, row_lines, shown_figure_indices};

/// A tree on a terminal. Rows are made one by one.
pub struct Outline<'a> {
    /// Title of each figure, and its order among those that go where the terminal is too narrow: the highest goes first,
    /// 0 stays.
    pub figures: Vec<(&'a str, u8)>,
    /// The title of the rows.
    pub row_title: &'a str,
    /// Write the titles.
    pub has_header: bool,
    /// Of each row: levels above it, at most one more than the row before, and rows of its level that were left out
    /// after it, of which a line of their own says so.
    pub depths_and_hidden_counts: Vec<(u32, u64)>,
    /// The options that show all rows, where some were left out.
    pub options_for_all: &'static str,
    /// Gives a row.
    pub row_at: Box<dyn Fn(usize) -> OutlineRow + 'a>,
}

/// A line of the tree.
#[derive(Debug, Clone, Default)]
pub struct OutlineRow {
    /// The figures, one for each title.
    pub figures: Vec<String>,
    /// The figures together of the rows that were left out after it, one for each title; none where they are not known.
    pub hidden_figures: Vec<String>,
    /// Text before the name, as it is.
    pub start: String,
    /// The name, with what stands behind it.
    pub name: String,
}

/// Rows by which columns are measured; what is wider further down moves the rest of its line.
const MEASURED_ROWS: usize = 1000;
/// Columns between figures, and of a level.
const GAP_COLUMNS: usize = 2;
const ONLY_CHILD_ARROW: &str = "→ ";
/// Columns that levels leave for names.
const MIN_NAME_COLUMNS: usize = 16;

/// The place of a row on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indent {
    /// Levels of indent.
    pub level: usize,
    /// It is the one row below the row before.
    pub is_only_child: bool,
}

/// The indent of each row of a tree, by its levels above it and the rows of its level that were left out after it. O(rows).
pub fn indents_of(places: &[(u32, u64)]) -> Vec<Indent> {
    // By row: whether one row is below it and none was left out there. By depth: the last row, with those below it.
    let mut has_one = vec![false; places.len()];
    let mut open: Vec<(usize, u64)> = Vec::new();
    for (at, &(depth, hidden)) in places.iter().enumerate() {
        open.truncate(depth as usize);
        if let Some((parent, below)) = open.last_mut() {
            *below += 1 + hidden;
            has_one[*parent] = *below == 1;
        }
        open.push((at, 0));
    }
    let mut above: Vec<(usize, Indent)> = Vec::new();
    let indents = places.iter().enumerate().map(|(at, &(depth, _))| {
        above.truncate(depth as usize);
        let indent = match above.last() {
            None => Indent { level: 0, is_only_child: false },
            Some(&(parent, Indent { level, is_only_child })) => match has_one[parent] {
                true => Indent { level: level + usize::from(!is_only_child), is_only_child: true },
                false => Indent { level: level + 1, is_only_child: false },
            },
        };
        above.push((at, indent));
        indent
    });
    indents.collect()
}

impl<'a> Outline<'a> {
    /// A table as a tree: its last column has the names.
    pub fn of_table(table: &'a Table<'_>, depths_and_hidden_counts: Vec<(u32, u64)>, style: &'a Style) -> Self {
        let (name, figures) = table.columns.split_last().map_or(("", &[][..]), |(name, rest)| (&*name.title, rest));
        Outline {
            figures: figures.iter().map(|column| (&*column.title, column.hide_priority)).collect(),
            row_title: name,
            has_header: style.has_header,
            depths_and_hidden_counts,
            options_for_all: "-n 0",
            row_at: Box::new(|at| {
                let cells = (table.row_at)(at);
                let texts =
                    cells.iter().zip(&table.columns).map(|(cell, column)| cell_on_terminal(cell, column.unit, style));
                let mut texts: Vec<String> = texts.collect();
                let name = texts.pop().unwrap_or_default();
                OutlineRow { figures: texts, name, ..OutlineRow::default() }
            }),
        }
    }

    fn figures_line(&self, texts: &[String], columns: &[(usize, usize)]) -> String {
        let figure = |(at, width): &(usize, usize)| {
            format!("{:>width$}{:GAP_COLUMNS$}", texts.get(*at).map_or("", String::as_str), "")
        };
        columns.iter().map(figure).collect()
    }
}

/// Rows that were left out at the end of a level, their figures together, and the indent of their level.
type HiddenRows = (u64, Vec<String>, usize);

pub(super) fn write_outline(tree: &Outline<'_>, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let indents = indents_of(&tree.depths_and_hidden_counts);
    let measured: Vec<OutlineRow> =
        (0..tree.depths_and_hidden_counts.len().min(MEASURED_ROWS)).map(&tree.row_at).collect();
    let figures = tree.figures.iter().enumerate().map(|(at, (title, hide_priority))| {
        let texts = measured.iter().flat_map(|row| [row.figures.get(at), row.hidden_figures.get(at)]).flatten();
        let columns = texts.map(|text| display_columns(text)).fold(display_columns(title), usize::max) + GAP_COLUMNS;
        FigureWidth { columns, hide_priority: *hide_priority }
    });
    let figures: Vec<FigureWidth> = figures.collect();
    let indent_of = |level: usize, most: usize| GAP_COLUMNS * level.min(most);
    let names = measured.iter().zip(&indents).map(|(row, indent)| {
        let before = indent_of(indent.level, style.width / 4 / GAP_COLUMNS) + display_columns(&row.start);
        before + min_name_columns(&escape_controls(&row.name)).max(MIN_NAME_COLUMNS)
    });
    let shown = shown_figure_indices(&figures, names.max().unwrap_or(0).min(style.width * 3 / 5), style.width);
    let columns: Vec<(usize, usize)> = shown.iter().map(|at| (*at, figures[*at].columns - GAP_COLUMNS)).collect();
    // Up to the indent of the top.
    let width: usize = columns.iter().map(|(_, width)| width + GAP_COLUMNS).sum();
    // Levels take a quarter of the terminal at most, and leave room for names.
    let starts = measured.iter().map(|row| display_columns(&row.start)).max().unwrap_or(0);
    let left = style.width.saturating_sub(width + starts + MIN_NAME_COLUMNS);
    let most_levels = (style.width / 4).min(left) / GAP_COLUMNS;
    // A level too deep is told by its number.
    let depth_text =
        |depth: usize, level: usize| if level > most_levels { format!("({depth}) ") } else { String::new() };
    let start_of = |at: usize, row: &OutlineRow| {
        let Indent { level, is_only_child } = indents[at];
        let (indent, arrow) = match (indent_of(level, most_levels), is_only_child) {
            (indent, true) if indent > 0 => (indent - GAP_COLUMNS, ONLY_CHILD_ARROW),
            (indent, _) => (indent, ""),
        };
        format!("{:indent$}{arrow}{}{}", "", depth_text(tree.depths_and_hidden_counts[at].0 as usize, level), row.start)
    };

    let titles: Vec<String> = tree.figures.iter().map(|(title, _)| title.to_string()).collect();
    if tree.has_header {
        writeln!(out, "{}{}", tree.figures_line(&titles, &columns), tree.row_title)?;
    }
    let close = |hidden: &mut Vec<HiddenRows>, depth: usize, out: &mut dyn Write| -> io::Result<()> {
        while hidden.len() > depth {
            let Some((count, figures, level)) = hidden.pop().filter(|(count, ..)| *count > 0) else { continue };
            let count = format!("{}{} more", depth_text(hidden.len(), level), format_count(count));
            let text = match format!("{count}; {} shows all", tree.options_for_all) {
                text if text.len() <= style.width => text,
                _ => count,
            };
            let figures = if figures.is_empty() { String::new() } else { tree.figures_line(&figures, &columns) };
            // Where there is no room for both, the sums go.
            let figures = if display_columns(&figures) + text.len() > style.width { "" } else { &figures };
            let indent = width + indent_of(level, most_levels);
            let indent = indent.min(style.width.saturating_sub(text.len())).saturating_sub(display_columns(figures));
            writeln!(out, "{figures}{:indent$}{text}", "")?;
        }
        Ok(())
    };
    // By depth: what was left out at the end of the levels that are open.
    let mut hidden: Vec<HiddenRows> = Vec::new();
    let mut measured = measured.into_iter();
    for (at, &(depth, hidden_after)) in tree.depths_and_hidden_counts.iter().enumerate() {
        let row = measured.next().unwrap_or_else(|| (tree.row_at)(at));
        close(&mut hidden, depth as usize + 1, out)?;
        let start = format!("{}{}", tree.figures_line(&row.figures, &columns), start_of(at, &row));
        for line in row_lines(&start, &escape_controls(&row.name), style.width) {
            writeln!(out, "{line}")?;
        }
        hidden.resize(depth as usize + 1, HiddenRows::default());
        hidden[depth as usize] = (hidden_after, row.hidden_figures, indents[at].level);
    }
    close(&mut hidden, 0, out)?;
    let mut notes = Vec::new();
    if indents.iter().any(|indent| indent.level > most_levels) {
        notes.push("(N): a row N levels down, too deep to be indented on this terminal".to_string());
    }
    let gone: Vec<String> = (0..figures.len()).filter(|at| !shown.contains(at)).map(|at| titles[at].clone()).collect();
    if !gone.is_empty() {
        notes.push(hidden_columns_note(&gone));
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "{}", wrap_sentence(note, style.width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(tree: &Outline<'_>, width: usize) -> String {
        let style = Style { is_terminal: true, width, has_human_sizes: true, ..Style::PLAIN };
        let mut out = Vec::new();
        write_outline(tree, &mut out, &style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_indented_and_what_was_cut_stands_at_the_end_of_its_level() {
        let rows = [(0, 0, "a"), (1, 3, "b"), (2, 1, "c"), (0, 2, "d")];
        let tree = Outline {
            figures: vec![("bytes", 0), ("n", 1)],
            row_title: "object",
            has_header: true,
            depths_and_hidden_counts: rows.iter().map(|&(depth, hidden, _)| (depth, hidden)).collect(),
            options_for_all: "-n 0",
            row_at: Box::new(|at| OutlineRow {
                figures: vec![at.to_string(), "x".into()],
                name: rows[at].2.into(),
                ..OutlineRow::default()
            }),
        };
        let expected = [
            "bytes  n  object",
            "    0  x  a",
            "    1  x    b",
            "    2  x      c",
            "              1 more; -n 0 shows all",
            "            3 more; -n 0 shows all",
            "    3  x  d",
            "          2 more; -n 0 shows all",
        ];
        assert_eq!(drawn(&tree, 80).lines().collect::<Vec<_>>(), expected);
    }

    /// A tree of these depths with long names.
    fn tree(depths: &[u32]) -> Outline<'static> {
        Outline {
            figures: vec![("bytes", 0), ("share", 2), ("objects", 1)],
            row_title: "object",
            has_header: true,
            depths_and_hidden_counts: depths.iter().map(|depth| (*depth, 0)).collect(),
            options_for_all: "-n 0",
            row_at: Box::new(|_| OutlineRow {
                figures: vec!["1.2 MiB".into(), "10.0%".into(), "1,234".into()],
                start: "0x7f2da4800010  ".into(),
                name: ".entries  org.app.persistence.CacheEntry".into(),
                ..OutlineRow::default()
            }),
        }
    }

    #[test]
    fn a_chain_is_no_staircase() {
        let text = drawn(&tree(&[0, 1, 2, 3, 4, 4, 0]), 120);
        let starts: Vec<usize> = text.lines().skip(1).map(|line| line.find("0x").unwrap()).collect();
        let arrows: Vec<bool> = text.lines().skip(1).map(|line| line.contains(ONLY_CHILD_ARROW)).collect();
        assert_eq!(starts, [25, 29, 29, 29, 29, 29, 25], "{text}");
        assert_eq!(arrows, [false, true, true, true, false, false, false], "{text}");
    }

    #[test]
    fn on_narrow_terminals_figures_go_then_packages_and_names_stay() {
        let branching: Vec<u32> = (0..40).flat_map(|depth| [depth, depth]).collect();
        for (width, gone) in [(120, ""), (60, "1 more column (share)"), (40, "2 more columns (share, objects)")] {
            let text = drawn(&tree(&[0, 1, 1]), width);
            assert!(text.contains(gone) && text.contains("more column") != gone.is_empty(), "{width}\n{text}");
        }
        for width in (40..130).step_by(9) {
            let text = drawn(&tree(&branching), width);
            assert!(text.lines().all(|line| display_columns(line) <= width), "{width}\n{text}");
            assert!(text.contains("(39) ") && text.contains("(N): a row N"), "{width}\n{text}");
            let joined: String = text.split_whitespace().collect();
            assert_eq!(joined.matches("CacheEntry").count(), branching.len(), "{width}\n{text}");
        }
    }
}
