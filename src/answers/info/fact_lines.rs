//! Facts about a file in two forms, of one walk: fields and values for shells, which read lines, and texts for people.

use super::process_settings::ProcessSettings;
use super::{AllocationInfo, FormatFacts, Info, ObjectInfo, RecordCounts};
use crate::answers::problems::ProblemRow;
use crate::input::Severity;
use crate::units::{count_with_noun, format_count};

impl Info {
    /// All that is known, a field and its value each: `("section.1.objects", "6")`.
    pub fn fields(&self) -> Vec<(String, String)> {
        self.collect_facts(&|bytes| bytes.to_string()).fields
    }

    /// Facts for people, in order: a field and its text each, sizes as `size_text` has them. A field without a name goes
    /// on with the one before it.
    pub fn lines(&self, size_text: impl Fn(u64) -> String) -> Vec<(String, String)> {
        self.collect_facts(&size_text).lines
    }

    fn collect_facts<'s>(&self, size_text: &'s dyn Fn(u64) -> String) -> FactCollector<'s> {
        let mut facts = FactCollector { size_text, fields: Vec::new(), lines: Vec::new() };
        match self {
            Info::Objects(info) => facts.add_object_info(info),
            Info::Allocations(info) => facts.add_allocation_info(info),
        }
        facts
    }
}

struct FactCollector<'s> {
    size_text: &'s dyn Fn(u64) -> String,
    fields: Vec<(String, String)>,
    lines: Vec<(String, String)>,
}

impl FactCollector<'_> {
    fn add_field(&mut self, field: impl Into<String>, value: Option<impl ToString>) {
        self.fields.extend(value.map(|value| (field.into(), value.to_string())));
    }

    fn add_line(&mut self, field: impl Into<String>, text: impl Into<String>) {
        self.lines.push((field.into(), text.into()));
    }

    /// Adds a text to both forms, where there is one.
    fn add_field_and_line(&mut self, field: &str, line: &str, text: Option<&String>) {
        self.add_field(field, text);
        self.lines.extend(text.map(|text| (line.into(), text.clone())));
    }

    fn add_object_info(&mut self, info: &ObjectInfo) {
        // All other figures rest on the roots.
        if info.roots_lost {
            self.add_field("roots_inferred", Some(true));
            self.add_line(
                "inferred",
                "the dump has lost its roots: what is reachable or retained rests on inferred ones",
            );
        }
        self.add_format(&info.format);
        if let Some(loss) = &info.loss {
            let percent = loss.percent_read.map(|percent| format!("{percent:.2}"));
            self.add_field("loss.read_bytes", Some(loss.read_bytes));
            self.add_field("loss.lost_bytes", Some(loss.lost_bytes));
            self.add_field("loss.percent_read", percent.as_ref());
            let part = match percent {
                Some(percent) => format!(", {percent} % of the dump"),
                None => "; the dump does not say how much is lost".to_string(),
            };
            self.add_line("read", format!("{}{part}", (self.size_text)(loss.read_bytes)));
            self.add_field_and_line("loss.lost", "lost", Some(&loss.lost.join("; ")));
        }
        for section in &info.sections {
            let field = |name: &str| format!("section.{}.{name}", section.number);
            self.add_field(field("name"), Some(&section.name));
            self.add_field(field("started"), section.started_ms);
            self.add_field(field("ended"), section.ended_ms);
            self.add_field(field("complete"), Some(section.complete));
            self.add_field(field("objects"), Some(section.objects));
            self.add_field(field("objects_without_bytes"), section.objects_without_bytes);
            self.add_field(field("shallow_bytes"), Some(section.shallow_bytes));
            let (objects, size_text) =
                (count_with_noun(section.objects, "objects"), (self.size_text)(section.shallow_bytes));
            let others = section.objects_without_bytes.filter(|&others| others > 0);
            let others = others
                .map_or(String::new(), |others| format!(", {} without bytes", count_with_noun(others, "objects")));
            let text = format!("{}: {objects}, {size_text}{others}{}", section.name, section.time_in_words());
            self.add_line(format!("section {}", section.number), text);
        }
        for snapshot in &info.snapshots {
            let field = |name: &str| format!("snapshot.{}.{name}", snapshot.number);
            self.add_field(field("taken_at"), snapshot.taken_at.as_ref());
            self.add_field(field("complete"), Some(snapshot.complete));
            self.add_field(field("objects"), snapshot.objects);
            self.add_field(field("shallow_bytes"), snapshot.shallow_bytes);
            self.add_field(field("chosen"), Some(snapshot.chosen));
            self.add_line(format!("snapshot {}", snapshot.number), snapshot.text(self.size_text));
        }
        if info.snapshots.len() > 1 {
            self.add_line("", "--snapshot N takes another one");
        }
        if let Some(sample) = info.sampled {
            let (objects, bytes) = (sample.objects_multiplier, sample.bytes_multiplier);
            self.add_field("sampled", Some(format!("{objects} {bytes}")));
            self.add_line(
                "sampled",
                format!("figures of the heap are estimates: objects x{objects:.3}, bytes x{bytes:.3}"),
            );
        }
        self.add_records(&info.records);
        for (kind, count) in &info.roots_by_kind {
            self.add_field(format!("roots.{}", kind.replace(' ', "-")), Some(count));
        }
        let roots = info.roots_by_kind.iter().map(|(kind, count)| format!("{} {kind}", format_count(*count)));
        let roots: Vec<String> = roots.collect();
        let inferred = if info.roots_inferred { " (inferred: the dump has none)" } else { "" };
        self.add_line(
            "roots",
            format!("{}{inferred}", if roots.is_empty() { "none".into() } else { roots.join(", ") }),
        );
        self.add_field("roots_inferred", (info.roots_inferred && !info.roots_lost).then_some(true));
        self.add_field("dominators_bytes", info.dominators_bytes);
        if let Some(bytes) = info.dominators_bytes {
            self.add_line("dominators", format!("at most {} of memory beside the graph", (self.size_text)(bytes)));
        }
        self.add_field("off_heap_bytes", info.off_heap_bytes);
        if let Some(bytes) = info.off_heap_bytes.filter(|bytes| *bytes > 0) {
            self.add_line("off heap", format!("{} that buffers own outside the heap", (self.size_text)(bytes)));
        }
        self.add_field_and_line("trailer", "trailer", info.trailer.as_ref());
        self.add_field("sizes", info.sizes.as_ref());
        self.add_field_and_line("reason", "written after", info.reason.as_ref());
        self.lines.extend(info.sizes.iter().map(|sizes| ("sizes".into(), sizes.clone())));
        for (kind, name, text) in info.settings.iter().flat_map(ProcessSettings::rows) {
            self.add_field(format!("{kind}.{name}"), Some(text));
            self.add_line(kind, format!("{name} = {text}"));
        }
        self.add_problems(&info.problems);
    }

    fn add_allocation_info(&mut self, info: &AllocationInfo) {
        self.add_format(&info.format);
        for dump in info.dumps.iter().filter(|_| info.dumps.len() > 1) {
            let own = info.heaps.iter().filter(|heap| heap.dump == dump.dump);
            let (heaps, bytes) =
                own.fold((0, 0u64), |(heaps, bytes), heap| (heaps + 1, bytes.saturating_add(heap.total_bytes)));
            let detail = if dump.detail.is_empty() { String::new() } else { format!(", {}", dump.detail) };
            let heaps = count_with_noun(heaps, "heaps");
            self.add_line(format!("dump {}", dump.dump), format!("{} in {heaps}{detail}", (self.size_text)(bytes)));
        }
        for (at, heap) in info.heaps.iter().enumerate() {
            let field = |name: &str| format!("heap.{}.{name}", at + 1);
            self.add_field(field("dump"), Some(heap.dump));
            self.add_field(field("pid"), heap.pid);
            self.add_field(field("process"), heap.process.as_ref());
            self.add_field(field("part"), (heap.part > 1).then_some(heap.part));
            self.add_field(field("allocator"), heap.allocator.as_ref());
            self.add_field(field("total_bytes"), Some(heap.total_bytes));
            self.add_field(field("allocations"), heap.allocations);
            let allocations = heap
                .allocations
                .map_or(String::new(), |count| format!(" in {}", count_with_noun(count, "allocations")));
            let labels = if heap.labels.is_empty() { String::new() } else { format!(", {}", heap.labels) };
            self.add_line(
                "heap",
                format!("{}: {}{allocations}{labels}", heap.title, (self.size_text)(heap.total_bytes)),
            );
        }
        self.add_records(&info.records);
        self.add_problems(&info.problems);
    }

    fn add_format(&mut self, format: &FormatFacts) {
        self.add_field("format", Some(&format.format));
        self.add_line("format", format!("{} ({})", format.title, format.format));
        self.add_field_and_line("version", "version", format.version.as_ref());
        self.add_field_and_line("producer", "producer", format.producer.as_ref().and_then(Option::as_ref));
        self.add_field("encoding", format.encoding.as_ref());
        self.add_field("compression", (!format.compression.is_empty()).then(|| format.compression.join(" ")));
        let packing: String = format.compression.iter().map(|packing| format!(", {packing}")).collect();
        self.add_line("encoding", format!("{}{packing}", format.encoding.as_deref().unwrap_or("binary")));
    }

    fn add_records(&mut self, records: &RecordCounts) {
        for (kind, count) in &records.0 {
            self.add_field(format!("records.{kind}"), Some(count));
        }
        let counts = records.0.iter().map(|(kind, count)| count_with_noun(*count, &kind.replace('_', " ")));
        self.add_line("records", counts.collect::<Vec<_>>().join(", "));
    }

    fn add_problems(&mut self, problems: &[ProblemRow]) {
        if problems.is_empty() {
            self.add_line("problems", "none");
        }
        for ProblemRow { code, count, first_at, meaning, severity, .. } in problems {
            self.add_field(format!("problem.{code}"), Some(format!("{count} {first_at}")));
            let line = if *severity == Severity::Note { "note" } else { "problem" };
            // Meanings are in the plural.
            match count {
                1 => self.add_line(line, format!("{meaning} ({code}, once, at {first_at})")),
                _ => self.add_line(line, format!("{count} {meaning} ({code}, first at {first_at})")),
            }
        }
    }
}
