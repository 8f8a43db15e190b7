//! The answers of one command for several files: one below the other for people, one table with a column for the file in
//! every other form.

use std::io::{self, Write};

use super::{Cell, Column, Format, Report, Style, Table, Unit, delimited, json, markdown, plain};

/// Prints the answers of `command`, each with the name of its file.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_several(
    command: &str,
    reports: &[(String, Report<'_>)],
    out: &mut dyn Write,
    style: &Style,
) -> io::Result<()> {
    match style.format {
        Format::Table if style.terminal => {
            for (place, (file, report)) in reports.iter().enumerate() {
                let name = style.fit(0, file);
                let name = if style.color { format!("\x1b[1m{name}\x1b[0m") } else { name };
                writeln!(out, "{}{name}", if place > 0 { "\n" } else { "" })?;
                report.write(out, style)?;
            }
            Ok(())
        }
        Format::Json => json::write_files(reports, command, out),
        Format::Table => plain::write(&old_joined(reports), out, style),
        Format::Markdown => markdown::write(&old_joined(reports), out, style),
        Format::Csv => delimited::write(&old_joined(reports), out, style, b','),
        Format::Tsv => delimited::write(&old_joined(reports), out, style, b'\t'),
        Format::JsonLines => json::write_lines(&old_joined(reports), out),
    }
}

/// One table of all: every column that any of them has, the file before the last one. The figures stay where they are
/// for one file, so that a script need not care.
pub(super) fn joined<'a>(tables: Vec<(&'a str, Table<'a>)>) -> Table<'a> {
    let mut columns: Vec<Column> = Vec::new();
    let mut last: Vec<Column> = Vec::new();
    for (_, table) in &tables {
        let Some((name, figures)) = table.columns.split_last() else { continue };
        for (known, new) in [(&mut columns, figures), (&mut last, std::slice::from_ref(name))] {
            for column in new {
                if known.iter().all(|known| known.key != column.key) {
                    known.push(*column);
                }
            }
        }
    }
    columns.push(Column::new("file", "File", Unit::Word));
    columns.extend(last);
    // Where the rows of each table end.
    let ends: Vec<usize> = tables
        .iter()
        .scan(0, |sum, (_, table)| {
            *sum += table.row_count;
            Some(*sum)
        })
        .collect();
    let row_columns = columns.clone();
    Table {
        row_count: ends.last().copied().unwrap_or(0),
        rows_hidden: tables.iter().map(|(_, table)| table.rows_hidden).sum(),
        columns,
        row: Box::new(move |row| {
            let place = ends.partition_point(|&end| end <= row);
            let (file, table) = &tables[place];
            let start = ends[place] - table.row_count;
            let mut cells: Vec<Option<Cell<'_>>> = (table.row)(row - start).into_iter().map(Some).collect();
            let cell_of = |column: &Column| match table.columns.iter().position(|own| own.key == column.key) {
                _ if column.key == "file" => Cell::text(*file),
                Some(at) => cells[at].take().unwrap_or(Cell::Missing),
                None => Cell::Missing,
            };
            row_columns.iter().map(cell_of).collect()
        }),
    }
}

fn old_joined<'r, 'a: 'r>(reports: &'r [(String, Report<'a>)]) -> Table<'r> {
    let table = |report: &'r Report<'a>| Table {
        columns: report.table.columns.clone(),
        row_count: report.table.row_count,
        rows_hidden: report.table.rows_hidden,
        row: Box::new(|row| (report.table.row)(row)),
    };
    joined(reports.iter().map(|(file, report)| (file.as_str(), table(report))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(columns: Vec<Column>, row: fn(usize) -> Vec<Cell<'static>>) -> Report<'static> {
        Report {
            command: "stats",
            fields: Box::new(|_| Ok(())),
            table: Table { columns, row_count: 2, rows_hidden: 0, row: Box::new(row) },
            rows_key: Some("types"),
            nested: None,
            summary: "sum\n".into(),
            text: None,
            markdown: None,
        }
    }

    fn reports() -> Vec<(String, Report<'static>)> {
        let objects = Column::new("objects", "Objects", Unit::Count);
        let bytes = Column::new("total_bytes", "Bytes", Unit::Bytes);
        let name = Column::new("type", "Type", Unit::Text);
        vec![
            ("a b".into(), report(vec![objects, name], |row| vec![Cell::Number(row as u64), Cell::text("A B")])),
            ("c".into(), report(vec![bytes, name], |row| vec![Cell::Number(70 + row as u64), Cell::text("C")])),
        ]
    }

    fn text(format: Format, terminal: bool) -> String {
        let style = Style { format, terminal, width: 80, human: false, header: true, color: false };
        let mut out = Vec::new();
        write_several("stats", &reports(), &mut out, &style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_table_has_the_columns_of_all() {
        let expected = "objects total_bytes file     type\n\
                        \x20     0           - a\\u{20}b A B\n\
                        \x20     1           - a\\u{20}b A B\n\
                        \x20     -          70 c        C\n\
                        \x20     -          71 c        C\n";
        assert_eq!(text(Format::Table, false), expected);
        assert!(text(Format::Csv, false).ends_with("a b,A B\n,70,c,C\n,71,c,C\n"));
        let json: serde_json::Value = serde_json::from_str(&text(Format::Json, false)).unwrap();
        assert_eq!(json["schema"], "heapdump.stats/1");
        assert_eq!(json["files"][1]["file"], "c");
        assert_eq!(json["files"][1]["types"][0]["total_bytes"], 70);
    }

    #[test]
    fn people_get_one_below_the_other() {
        let text = text(Format::Table, true);
        assert!(text.starts_with("a b\nsum\n") && text.contains("\n\nc\nsum\n"), "{text}");
    }
}
