//! Facts about a file as fields and values: for shells, which read lines.

use super::properties::ProcessSettings;
use super::{AllocationInfo, FormatRow, Info, ObjectInfo, Records};
use crate::answers::problems::ProblemRow;

impl Info {
    /// All that is known, a field and its value each: `("section.1.objects", "6")`.
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut fields = Fields::default();
        match self {
            Info::Objects(info) => fields.add_objects(info),
            Info::Allocations(info) => fields.add_allocations(info),
        }
        fields.0
    }
}

#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Fields {
    /// Adds a field that has a value.
    fn add(&mut self, field: impl Into<String>, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (field.into(), value.to_string())));
    }

    fn add_format(&mut self, format: &FormatRow) {
        self.add("format", Some(&format.format));
        self.add("version", format.version.as_ref());
        self.add("producer", format.producer.clone().flatten());
        self.add("encoding", format.encoding.as_ref());
        self.add("compression", (!format.compression.is_empty()).then(|| format.compression.join(" ")));
    }

    fn add_objects(&mut self, info: &ObjectInfo) {
        // What all other figures rest on.
        self.add("roots_inferred", info.roots_lost.then_some(true));
        self.add_format(&info.format);
        if let Some(loss) = &info.loss {
            self.add("loss.read_bytes", Some(loss.read_bytes));
            self.add("loss.lost_bytes", Some(loss.lost_bytes));
            self.add("loss.percent_read", loss.percent_read.map(|percent| format!("{percent:.2}")));
            self.add("loss.lost", Some(loss.lost.join("; ")));
        }
        for section in &info.sections {
            let field = |name: &str| format!("section.{}.{name}", section.number);
            self.add(field("name"), Some(&section.name));
            self.add(field("started"), section.started_ms);
            self.add(field("ended"), section.ended_ms);
            self.add(field("complete"), Some(section.complete));
            self.add(field("objects"), Some(section.objects));
            self.add(field("objects_without_bytes"), section.objects_without_bytes);
            self.add(field("shallow_bytes"), Some(section.shallow_bytes));
        }
        for snapshot in &info.snapshots {
            let field = |name: &str| format!("snapshot.{}.{name}", snapshot.number);
            self.add(field("taken_at"), snapshot.taken_at.as_ref());
            self.add(field("complete"), Some(snapshot.complete));
            self.add(field("objects"), snapshot.objects);
            self.add(field("shallow_bytes"), snapshot.shallow_bytes);
            self.add(field("chosen"), Some(snapshot.chosen));
        }
        let sampled = info.sampled.map(|sample| format!("{} {}", sample.objects_multiplier, sample.bytes_multiplier));
        self.add("sampled", sampled);
        self.add_records(&info.records);
        for (kind, count) in &info.roots_by_kind {
            self.add(format!("roots.{}", kind.replace(' ', "-")), Some(count));
        }
        self.add("roots_inferred", (info.roots_inferred && !info.roots_lost).then_some(true));
        self.add("trailer", info.trailer.as_ref());
        self.add("sizes", info.sizes.as_ref());
        self.add("reason", info.reason.as_ref());
        for (kind, name, text) in info.settings.iter().flat_map(ProcessSettings::rows) {
            self.add(format!("{kind}.{name}"), Some(text));
        }
        self.add_problems(&info.problems);
    }

    fn add_allocations(&mut self, info: &AllocationInfo) {
        self.add_format(&info.format);
        for (at, heap) in info.heaps.iter().enumerate() {
            let field = |name: &str| format!("heap.{}.{name}", at + 1);
            self.add(field("dump"), Some(heap.dump));
            self.add(field("pid"), Some(heap.pid));
            self.add(field("process"), heap.process.as_ref());
            self.add(field("part"), (heap.part > 1).then_some(heap.part));
            self.add(field("allocator"), Some(&heap.allocator));
            self.add(field("total_bytes"), Some(heap.total_bytes));
            self.add(field("allocations"), heap.allocations);
        }
        self.add_records(&info.records);
        self.add_problems(&info.problems);
    }

    fn add_records(&mut self, records: &Records) {
        for (kind, count) in &records.0 {
            self.add(format!("records.{kind}"), Some(count));
        }
    }

    fn add_problems(&mut self, problems: &[ProblemRow]) {
        for problem in problems {
            self.add(format!("problem.{}", problem.code), Some(format!("{} {}", problem.count, problem.first_at)));
        }
    }
}
