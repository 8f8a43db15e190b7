//! Facts about a file in words: a field and its text each.

use super::properties::ProcessSettings;
use super::{AllocationInfo, FormatRow, Info, ObjectInfo, Records};
use crate::answers::problems::ProblemRow;
use crate::input::Severity;
use crate::units::{count_of, format_count};

impl Info {
    /// Facts for people, in order: a field and its text each, sizes as `size` has them. A field without a name goes
    /// on with the one before it.
    pub fn lines(&self, size: impl Fn(u64) -> String) -> Vec<(String, String)> {
        let mut lines = Lines { size, lines: Vec::new() };
        match self {
            Info::Objects(info) => lines.add_objects(info),
            Info::Allocations(info) => lines.add_allocations(info),
        }
        lines.lines
    }
}

struct Lines<S> {
    size: S,
    lines: Vec<(String, String)>,
}

impl<S: Fn(u64) -> String> Lines<S> {
    fn add(&mut self, field: impl Into<String>, text: impl Into<String>) {
        self.lines.push((field.into(), text.into()));
    }

    fn add_objects(&mut self, info: &ObjectInfo) {
        if info.roots_lost {
            self.add("inferred", "the dump has lost its roots: what is reachable or retained rests on inferred ones");
        }
        self.add_format(&info.format);
        if let Some(loss) = &info.loss {
            let part = match loss.percent_read {
                Some(percent) => format!(", {percent:.2} % of the dump"),
                None => "; the dump does not say how much is lost".to_string(),
            };
            self.add("read", format!("{}{part}", (self.size)(loss.read_bytes)));
            self.add("lost", loss.lost.join("; "));
        }
        for section in &info.sections {
            let times = section.times();
            let (objects, size) = (count_of(section.objects, "objects"), (self.size)(section.shallow_bytes));
            let others = section.objects_without_bytes.filter(|&others| others > 0);
            let others =
                others.map_or(String::new(), |others| format!(", {} without bytes", count_of(others, "objects")));
            self.add(
                format!("section {}", section.number),
                format!("{}: {objects}, {size}{others}{times}", section.name),
            );
        }
        for snapshot in &info.snapshots {
            self.add(format!("snapshot {}", snapshot.number), snapshot.text(|bytes| (self.size)(bytes)));
        }
        if info.snapshots.len() > 1 {
            self.add("", "--snapshot N takes another one");
        }
        if let Some(sample) = info.sampled {
            let (objects, bytes) = (sample.objects_multiplier, sample.bytes_multiplier);
            self.add("sampled", format!("figures of the heap are estimates: objects x{objects:.3}, bytes x{bytes:.3}"));
        }
        self.add_records(&info.records);
        let roots = info.roots_by_kind.iter().map(|(kind, count)| format!("{} {kind}", format_count(*count)));
        let roots: Vec<String> = roots.collect();
        let inferred = if info.roots_inferred { " (inferred: the dump has none)" } else { "" };
        self.add("roots", format!("{}{inferred}", if roots.is_empty() { "none".into() } else { roots.join(", ") }));
        if let Some(trailer) = &info.trailer {
            self.add("trailer", trailer);
        }
        if let Some(reason) = &info.reason {
            self.add("written after", reason);
        }
        if let Some(sizes) = &info.sizes {
            self.add("sizes", sizes);
        }
        for (kind, name, text) in info.settings.iter().flat_map(ProcessSettings::rows) {
            self.add(kind, format!("{name} = {text}"));
        }
        self.add_problems(&info.problems);
    }

    fn add_allocations(&mut self, info: &AllocationInfo) {
        self.add_format(&info.format);
        if info.dumps.len() > 1 {
            for dump in &info.dumps {
                let own = info.heaps.iter().filter(|heap| heap.dump == dump.dump);
                let (heaps, bytes) =
                    own.fold((0, 0u64), |(heaps, bytes), heap| (heaps + 1, bytes.saturating_add(heap.total_bytes)));
                let detail = if dump.detail.is_empty() { String::new() } else { format!(", {}", dump.detail) };
                let heaps = count_of(heaps, "heaps");
                self.add(format!("dump {}", dump.dump), format!("{} in {heaps}{detail}", (self.size)(bytes)));
            }
        }
        for heap in &info.heaps {
            let allocations =
                heap.allocations.map_or(String::new(), |count| format!(" in {}", count_of(count, "allocations")));
            let labels = if heap.labels.is_empty() { String::new() } else { format!(", {}", heap.labels) };
            self.add("heap", format!("{}: {}{allocations}{labels}", heap.title, (self.size)(heap.total_bytes)));
        }
        self.add_records(&info.records);
        self.add_problems(&info.problems);
    }

    fn add_format(&mut self, format: &FormatRow) {
        self.add("format", format!("{} ({})", format.title, format.format));
        if let Some(version) = &format.version {
            self.add("version", version);
        }
        if let Some(Some(producer)) = &format.producer {
            self.add("producer", producer);
        }
        let packing: String = format.compression.iter().map(|packing| format!(", {packing}")).collect();
        self.add("encoding", format!("{}{packing}", format.encoding.as_deref().unwrap_or("binary")));
    }

    fn add_records(&mut self, records: &Records) {
        let records: Vec<String> =
            records.0.iter().map(|(kind, count)| count_of(*count, &kind.replace('_', " "))).collect();
        self.add("records", records.join(", "));
    }

    fn add_problems(&mut self, problems: &[ProblemRow]) {
        if problems.is_empty() {
            self.add("problems", "none");
        }
        for ProblemRow { code, count, first_at, meaning, severity, .. } in problems {
            let field = if *severity == Severity::Note { "note" } else { "problem" };
            // Meanings are in the plural.
            match count {
                1 => self.add(field, format!("{meaning} ({code}, once, at {first_at})")),
                _ => self.add(field, format!("{count} {meaning} ({code}, first at {first_at})")),
            }
        }
    }
}
