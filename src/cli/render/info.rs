//! `heapdump info`: of one file a field and its value a line; of several a row for each file.

use crate::answers::files_info::{InfoOfFile, InfoOfFiles};
use crate::answers::info::{AllocationInfo, FormatRow, Info, ObjectInfo, Records};
use crate::answers::problems::ProblemRow;
use crate::answers::properties::ProcessSettings;
use crate::report::{Column, Columns, Present, Style, Table, TextPage, count_of, escape_controls, format_count};

impl Present for Info {
    const COMMAND: &'static str = "info";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = self.fields();
        Columns::new()
            .add(Column::word("field", "Field"), |row: &mut (String, String)| std::mem::take(&mut row.0))
            .add(Column::text("value", "Value"), |row| std::mem::take(&mut row.1))
            .table(rows.len(), 0, move |at| rows[at].clone())
    }

    fn text(&self, page: &mut TextPage<'_>) {
        match self {
            Info::Objects(info) => object_lines(info, page),
            Info::Allocations(info) => allocation_lines(info, page),
        }
    }
}

fn object_lines(info: &ObjectInfo, page: &mut TextPage<'_>) {
    let style = *page.style();
    if info.roots_lost {
        page.field("inferred", "the dump has lost its roots: what is reachable or retained rests on inferred ones");
    }
    format_lines(&info.format, page);
    if let Some(loss) = &info.loss {
        let part = loss.percent_read.map_or(String::new(), |percent| format!(", {percent:.2} % of the dump"));
        page.field("read", &format!("{}{part}", style.bytes(loss.read_bytes)));
        page.field("lost", &loss.lost.join("; "));
    }
    for section in &info.sections {
        let times = section.times();
        let (objects, size) = (count_of(section.objects, "objects"), style.bytes(section.shallow_bytes));
        page.field(&format!("section {}", section.number), &format!("{}: {objects}, {size}{times}", section.name));
    }
    for snapshot in &info.snapshots {
        page.field(&format!("snapshot {}", snapshot.number), &snapshot.text(|bytes| style.bytes(bytes)));
    }
    if info.snapshots.len() > 1 {
        page.field("", "--snapshot N takes another one");
    }
    if let Some(sample) = info.sampled {
        let (objects, bytes) = (sample.objects_multiplier, sample.bytes_multiplier);
        page.field("sampled", &format!("figures of the heap are estimates: objects x{objects:.3}, bytes x{bytes:.3}"));
    }
    record_lines(&info.records, page);
    let roots = info.roots_by_kind.iter().map(|(kind, count)| format!("{} {kind}", format_count(*count)));
    let roots: Vec<String> = roots.collect();
    let inferred = if info.roots_inferred { " (inferred: the dump has none)" } else { "" };
    page.field("roots", &format!("{}{inferred}", if roots.is_empty() { "none".into() } else { roots.join(", ") }));
    if let Some(trailer) = &info.trailer {
        page.field("trailer", trailer);
    }
    if let Some(reason) = &info.reason {
        page.field("written after", reason);
    }
    if let Some(sizes) = &info.sizes {
        page.field("sizes", sizes);
    }
    for (kind, name, text) in info.settings.iter().flat_map(ProcessSettings::rows) {
        page.field(kind, &format!("{name} = {text}"));
    }
    problem_lines(&info.problems, page);
}

fn allocation_lines(info: &AllocationInfo, page: &mut TextPage<'_>) {
    let style = *page.style();
    format_lines(&info.format, page);
    if info.dumps.len() > 1 {
        for dump in &info.dumps {
            let own = info.heaps.iter().filter(|heap| heap.dump == dump.dump);
            let (heaps, bytes) =
                own.fold((0, 0u64), |(heaps, bytes), heap| (heaps + 1, bytes.saturating_add(heap.total_bytes)));
            let detail = if dump.detail.is_empty() { String::new() } else { format!(", {}", dump.detail) };
            let heaps = count_of(heaps, "heaps");
            page.field(&format!("dump {}", dump.dump), &format!("{} in {heaps}{detail}", style.bytes(bytes)));
        }
    }
    for heap in &info.heaps {
        let allocations =
            heap.allocations.map_or(String::new(), |count| format!(" in {}", count_of(count, "allocations")));
        let labels = if heap.labels.is_empty() { String::new() } else { format!(", {}", heap.labels) };
        page.field("heap", &format!("{}: {}{allocations}{labels}", heap.title, style.bytes(heap.total_bytes)));
    }
    record_lines(&info.records, page);
    problem_lines(&info.problems, page);
}

fn format_lines(format: &FormatRow, page: &mut TextPage<'_>) {
    page.field("format", &format!("{} ({})", format.title, format.format));
    if let Some(version) = &format.version {
        page.field("version", version);
    }
    if let Some(Some(producer)) = &format.producer {
        page.field("producer", producer);
    }
    let packing: String = format.compression.iter().map(|packing| format!(", {packing}")).collect();
    page.field("encoding", &format!("{}{packing}", format.encoding.as_deref().unwrap_or("binary")));
}

fn record_lines(records: &Records, page: &mut TextPage<'_>) {
    let records: Vec<String> =
        records.0.iter().map(|(kind, count)| count_of(*count, &kind.replace('_', " "))).collect();
    page.field("records", &records.join(", "));
}

fn problem_lines(problems: &[ProblemRow], page: &mut TextPage<'_>) {
    if problems.is_empty() {
        page.field("problems", "none");
    }
    for ProblemRow { code, count, first_at, meaning, .. } in problems {
        // Meanings are in the plural.
        match count {
            1 => page.field("problem", &format!("{meaning} ({code}, once, at {first_at})")),
            _ => page.field("problem", &format!("{count} {meaning} ({code}, first at {first_at})")),
        }
    }
}

/// The table, with files' names from this byte on.
fn table_from(answer: &InfoOfFiles, name_start: usize) -> Table<'_> {
    let with_allocations = answer.files.iter().any(|file| file.info.allocated().is_some());
    let with_objects = answer.files.iter().any(|file| file.info.objects().is_some());
    let allocations = Column::count("allocations", "Allocations").hide_priority(1);
    Columns::new()
        .add(Column::word("format", "Format"), |row: &mut &InfoOfFile| row.info.format().format.as_str())
        // A version without what it means: `B` of `B (J9 2.6 and later, OpenJ9)`.
        .add(Column::word("version", "Version").hide_priority(2), |row| {
            row.info.format().version.as_deref().map(|text| text.split(" (").next().unwrap_or(text))
        })
        .add(Column::count("sections", "Sections").hide_priority(1), |row| row.info.section_count())
        .add_if(with_objects, Column::count("objects", "Objects"), |row| row.info.objects().map(|(objects, _)| objects))
        .add_if(with_objects, Column::bytes("shallow_bytes", "Shallow"), |row| row.info.objects().map(|(_, size)| size))
        .add_if(with_allocations, allocations, |row| row.info.allocated().and_then(|(allocations, _)| allocations))
        .add_if(with_allocations, Column::bytes("total_bytes", "Allocated"), |row| {
            row.info.allocated().map(|(_, bytes)| bytes)
        })
        .add(Column::count("problems", "Problems"), |row| row.problem_count())
        .add(Column::text("file", "File"), move |row| &row.file[name_start..])
        .table(answer.files.len(), answer.rows_hidden, |at| &answer.files[at])
}

impl Present for InfoOfFiles {
    const COMMAND: &'static str = "info";

    fn table(&self, _: &Style) -> Table<'_> {
        table_from(self, 0)
    }

    /// Narrow terminals have room for the part of a path that differs, not for the shared folder.
    fn text(&self, page: &mut TextPage<'_>) {
        let folder = self.shared_folder();
        if !folder.is_empty() {
            page.line(format!("in {}", escape_controls(folder)));
        }
        page.table(&table_from(self, folder.len()));
    }
}
