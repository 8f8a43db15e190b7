//! `heapdump collect`.

use crate::collect::{Collected, DumpTargetList, ProcessRow, TargetRow};
use crate::report::{Cell, Column, Columns, Present, Style, Table};

/// Characters of a command: it may hold secrets.
const COMMAND_CHARS: usize = 200;

impl Present for Collected {
    const COMMAND: &'static str = "collect";

    /// For no form: of a dump there is JSON alone.
    fn table(&self, _: &Style) -> Table<'_> {
        let columns = vec![Column::text("file", "File")];
        Table { columns, row_count: 0, rows_hidden: 0, row: Box::new(|_| vec![Cell::Missing]) }
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
                    row.command.chars().take(COMMAND_CHARS).collect::<String>()
                })
                .table(processes.len(), 0, |at| &processes[at]),
            DumpTargetList::Targets { targets } => Columns::new()
                .add(Column::count("number", "Number"), |row: &mut &TargetRow| row.number)
                .add(Column::word("kind", "Kind"), |row| row.kind.clone())
                .add(Column::word("url", "Address"), |row| row.url.clone())
                .add(Column::text("title", "Title"), |row| row.title.clone())
                .table(targets.len(), 0, |at| &targets[at]),
        }
    }
}
