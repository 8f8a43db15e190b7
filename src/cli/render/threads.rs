//! `heapdump threads`.

use super::shared_columns::hideable_column;
use crate::answers::Threads;
use crate::answers::figure::{FRAMES, ID, LOCALS, NAME, RETAINED, TYPE, TYPE_WORD};
use crate::answers::threads::{FrameRow, LocalRow, ThreadRow};
use crate::export::thread_dump_lines;
use crate::report::{Column, Columns, Present, Style, Table, TextPage, count_with_noun, escape_controls};

/// A row of stacks: a thread, a frame of it, and an object in that.
type StackRow<'t> = (&'t ThreadRow<'t>, Option<(usize, FrameRow<'t>)>, Option<&'t LocalRow>);

impl Present for Threads<'_> {
    const COMMAND: &'static str = "threads";

    /// The threads; of those that were asked for by name their stacks.
    fn table(&self, _: &Style) -> Table<'_> {
        if self.name_or_id.is_some() {
            return stack_table(self);
        }
        Columns::new()
            .add(Column::word("id", "Thread"), |row: &mut &ThreadRow<'_>| row.id.as_str())
            .add(RETAINED, |row| row.retained_bytes)
            .add(FRAMES, |row| row.frames.len())
            .add(LOCALS, |row| row.local_count())
            .add(Column::word("state", "State").with_hide_priority(1), |row| row.fields.state)
            .add(Column::word("daemon", "Daemon").with_hide_priority(3), |row| row.fields.daemon)
            .add(Column::word("virtual", "Virtual").with_hide_priority(4), |row| row.fields.is_virtual)
            .add(hideable_column(TYPE_WORD, 2), |row| row.type_name.as_str())
            .add(NAME, |row| row.name.as_deref())
            .table(self.threads.len(), self.rows_hidden, |at| &self.threads[at])
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        for thread in self.threads.iter().filter(|thread| thread.out_of_memory) {
            let place = thread.frames.get(1).map_or(String::new(), |frame| format!(", in {}", frame.text()));
            page.paragraph(escape_controls(&format!("Out of memory: {}{place}", thread.title())) + "\n");
        }
        if self.name_or_id.is_none() {
            let table = self.table(page.style());
            return page.draw_table(&table);
        }
        for (place, thread) in self.threads.iter().enumerate() {
            write_thread_heading(thread, place, page);
            for frame in thread.frames.iter() {
                page.line(page.style().fitted_row("  ", &[], &frame.text()));
                frame.locals.iter().for_each(|local| write_local_line(local, page));
            }
            if !thread.locals.is_empty() {
                page.line("  in no frame that the dump names");
                thread.locals.iter().for_each(|local| write_local_line(local, page));
            }
        }
    }

    fn write_thread_dump(&self, page: &mut TextPage<'_>) {
        for line in thread_dump_lines(self) {
            let call = line.strip_prefix('\t');
            let text = escape_controls(call.unwrap_or(&line));
            page.line(if call.is_some() { format!("\t{text}") } else { text.into_owned() });
        }
    }
}

/// The stacks, frame by frame, each with its locals.
fn stack_table<'t>(threads: &'t Threads<'_>) -> Table<'t> {
    // The rows before each thread's.
    let mut starts = Vec::with_capacity(threads.threads.len());
    let mut row_count = 0;
    for thread in &threads.threads {
        starts.push(row_count);
        row_count += thread.frames.row_count() + thread.locals.len();
    }
    let row = move |at: usize| -> StackRow<'t> {
        let number = starts.partition_point(|&start| start <= at) - 1;
        let (thread, at) = (&threads.threads[number], at - starts[number]);
        match thread.frames.row(at) {
            Some((frame, row, local)) => (thread, Some((frame, row)), local),
            None => (thread, None, thread.locals.get(at - thread.frames.row_count())),
        }
    };
    Columns::new()
        .add(Column::word("thread", "Thread"), |row: &mut StackRow<'_>| row.0.id.as_str())
        .add(Column::count("frame", "Frame"), |row| row.1.as_ref().map(|(number, _)| *number))
        .add(Column::word("method", "Method"), |row| row.1.as_mut().map(|(_, frame)| std::mem::take(&mut frame.method)))
        .add(Column::word("file", "File"), |row| row.1.as_mut().and_then(|(_, frame)| frame.file.take()))
        .add(Column::count("line", "Line"), |row| row.1.as_ref().and_then(|(_, frame)| frame.line))
        .add(ID, |row| row.2.map(|local| local.object.id.as_str()))
        .add(RETAINED, |row| row.2.and_then(|local| local.retained_bytes))
        .add(TYPE, |row| row.2.map(|local| local.object.type_name.as_str()))
        .table(row_count, threads.rows_hidden, row)
}

/// `"main"  0xfd559418`, and below what it is and retains.
fn write_thread_heading(thread: &ThreadRow, place: usize, page: &mut TextPage<'_>) {
    let name = thread.name.as_deref().filter(|name| !name.is_empty()).map(|name| format!("\"{name}\"  "));
    let title = page.style().bold(&escape_controls(&format!("{}{}", name.unwrap_or_default(), thread.id)));
    page.paragraph(format!("{}{title}", if place > 0 { "\n" } else { "" }));
    let below = if thread.local_count() > 0 { ", retaining:" } else { "" };
    let words = [
        Some(thread.type_name.clone()),
        thread.fields.state.map(str::to_string),
        thread.fields.daemon.filter(|daemon| *daemon).map(|_| "daemon".to_string()),
        thread.fields.is_virtual.filter(|is_virtual| *is_virtual).map(|_| "virtual".to_string()),
        thread.retained_bytes.map(|bytes| format!("retains {}", page.style().bytes_in_column(bytes))),
        Some(format!("{} on its stack{}", count_with_noun(thread.local_count() as u64, "objects"), below)),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    page.paragraph(escape_controls(&words.join(", ")));
}

fn write_local_line(local: &LocalRow, page: &mut TextPage<'_>) {
    let retained = local.retained_bytes.map_or("-".into(), |bytes| page.style().bytes_in_column(bytes));
    let start = format!("      {}  ", local.object.id);
    page.line(page.style().fitted_row(&start, &[format!("{retained:>10}")], &local.object.type_text()));
}
