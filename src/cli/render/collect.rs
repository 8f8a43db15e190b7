//! `heapdump collect`.

use crate::collect::{Collected, DumpTargetList, InspectorTargetRow, ProcessRow};
use crate::report::{Cell, Column, Columns, Present, Style, Table};

/// Characters of a command: it may hold secrets.
const MAX_COMMAND_CHARS: usize = 200;

impl Present for Collected {
    const COMMAND: &'static str = "collect";

    /// One of a series, a line each.
    fn table(&self, _: &Style) -> Table<'_> {
        let text = |text: Option<&str>| text.map_or(Cell::Missing, |text| Cell::text(text.to_string()));
        Columns::new()
            .add(Column::word("taken_at", "Time"), |row: &mut &Collected| row.taken_at.clone())
            .add(Column::word("format", "Format"), move |row| text(row.format))
            .add(Column::bytes("bytes", "Bytes"), |row| row.bytes)
            .add(Column::bytes("target_rss_before", "Memory"), |row| row.target_rss_before)
            .add(Column::word("pause_ms", "Pause"), |row| {
                row.pause_ms.map_or(Cell::Missing, |pause| Cell::JsonLiteral(format!("{pause}")))
            })
            .add(Column::word("refusal", "Refusal"), move |row| {
                text(row.refusal.as_ref().map(|refusal| refusal.code.to_string()).as_deref())
            })
            .add(Column::text("file", "File"), move |row| text(row.file.as_deref()))
            .table(1, 0, |_| self)
    }
}

impl Present for DumpTargetList {
    const COMMAND: &'static str = "collect.list";

    fn table(&self, _: &Style) -> Table<'_> {
        match self {
            DumpTargetList::Processes { processes, .. } => Columns::new()
                .add(Column::word("pid", "PID"), |row: &mut &ProcessRow| row.pid.to_string())
                .add(Column::word("user", "User"), |row| row.user.clone())
                .add(Column::word("runtime", "Runtime"), |row| row.runtime.name())
                .add(Column::word("version", "Version"), |row| row.version.clone())
                .add(Column::bytes("heap", "Heap"), |row| row.heap)
                .add(Column::bytes("memory", "Memory"), |row| row.memory)
                .add(Column::word("can_dump", "Can dump"), |row| row.can_dump.clone())
                .add(Column::text("command", "Command"), |row| {
                    row.command.chars().take(MAX_COMMAND_CHARS).collect::<String>()
                })
                .table(processes.len(), 0, |at| &processes[at]),
            DumpTargetList::InspectorTargets { targets } => Columns::new()
                .add(Column::count("number", "Number"), |row: &mut &InspectorTargetRow| row.number)
                .add(Column::word("kind", "Kind"), |row| row.kind.clone())
                .add(Column::word("url", "Address"), |row| row.url.clone())
                .add(Column::text("title", "Title"), |row| row.title.clone())
                .table(targets.len(), 0, |at| &targets[at]),
        }
    }
}
