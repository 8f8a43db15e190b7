//! Facts about a file: format, version, producer, sections, records, snapshots, problems.

mod fact_lines;
mod process_settings;

use std::collections::BTreeMap;

pub use process_settings::ProcessSettings;
use process_settings::read_settings;
use serde::Serialize;

use crate::allocations::{AllocationDump, add_counts};
use crate::analysis::heap_total::AllocationHeapTotal;
use crate::analysis::histogram::{GroupTally, tally_section};
use crate::answers::allocation_heaps::{HeapRow, pids_and_parts};
use crate::answers::figure::{ALLOCATED_BYTES, ALLOCATIONS, FILE, FORMAT, OBJECTS, PROBLEMS, SECTIONS, SHALLOW};
use crate::answers::off_heap::off_heap_buffers;
use crate::answers::problems::{ProblemRow, problems_of};
use crate::answers::rows::is_false;
use crate::answers::times_and_file_names::{shared_folder_of, utc_text};
use crate::answers::{AnswerError, CommandLine, Figure, Limits};
use crate::dump::{Content, OpenDump};
use crate::graph::{HeapGraph, NodeId, Section, SectionId};
use crate::input::{FormatInfo, Loss, Runtime, SnapshotInfo};
use crate::units::count_with_noun;
use crate::{parallel, sort};

/// Options of `info`.
#[derive(Debug, Clone, Default)]
pub struct InfoOptions {
    /// With system properties, environment and arguments. Default: without.
    pub with_properties: bool,
    /// With texts of these that may be secrets. Default: masked.
    pub shows_secrets: bool,
}

impl InfoOptions {
    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("info");
        line.add_switch("--properties", self.with_properties).add_switch("--secrets", self.shows_secrets);
        line
    }
}

/// Facts about a file.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Info {
    /// A dump of objects.
    Objects(Box<ObjectInfo>),
    /// A dump of allocation totals.
    Allocations(Box<AllocationInfo>),
}

/// Facts about the file's format.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct FormatFacts {
    /// The name of the format.
    pub format: String,
    /// The format in words.
    pub title: String,
    /// Its version or variant, if there are several.
    pub version: Option<String>,
    /// The program that wrote the dump, in its own words; allocation totals do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<Option<String>>,
    /// The text's encoding.
    pub encoding: Option<String>,
    /// Packings around the dump, outermost first.
    pub compression: Vec<String>,
}

/// Records by kind, in the order of the format.
#[derive(Debug, Clone, Default)]
pub struct RecordCounts(pub Vec<(String, u64)>);

impl Serialize for RecordCounts {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(kind, count)| (kind, count)))
    }
}

/// A dump of objects.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// Facts about the file's format.
    #[serde(flatten)]
    pub format: FormatFacts,
    /// The sections.
    pub sections: Vec<SectionRow>,
    /// Records by kind.
    pub records: RecordCounts,
    /// The dump's own totals against what was found, where it has them: one sentence.
    pub trailer: Option<String>,
    /// Reason for the dump, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The way sizes were derived, where the format does not state them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// Lost parts of a cut or damaged dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossRow>,
    /// Settings of the process, where these were asked for.
    #[serde(flatten)]
    pub settings: Option<ProcessSettings>,
    /// Problems of the file.
    pub problems: Vec<ProblemRow>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// Roots are inferred though the format has roots: they were lost.
    #[serde(skip)]
    pub roots_lost: bool,
    /// The dump is a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampleRow>,
    /// The snapshots in the file, where the format can hold several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotRow>,
    /// Memory that the dominator tree takes beside the graph, at the most; `None` without references.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dominators_bytes: Option<u64>,
    /// Bytes outside the heap that buffers of Java own; `None` of other dumps, and without values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_heap_bytes: Option<u64>,
    /// Root records by kind, of all sections.
    #[serde(skip)]
    pub roots_by_kind: BTreeMap<String, u64>,
}

/// Lost parts of a cut or damaged dump.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LossRow {
    /// Bytes of the dump that were read, unpacked.
    pub read_bytes: u64,
    /// Bytes that are missing or cannot be read, as far as the dump says.
    pub lost_bytes: u64,
    /// Percentage of bytes that were read, where the dump says how many are lost.
    pub percent_read: Option<f64>,
    /// Contents of the lost parts.
    pub lost: Vec<String>,
}

impl LossRow {
    fn new(loss: &Loss) -> Self {
        let percent_read = loss.percent_read();
        LossRow { read_bytes: loss.read_bytes, lost_bytes: loss.lost_bytes, percent_read, lost: loss.lost.clone() }
    }
}

/// A section.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SectionRow {
    /// From 1.
    pub number: usize,
    /// As in the dump.
    pub name: String,
    /// Start, in milliseconds since the device was booted.
    #[serde(rename = "started")]
    pub started_ms: Option<u64>,
    /// End, in the same unit.
    #[serde(rename = "ended")]
    pub ended_ms: Option<u64>,
    /// Time from start to end.
    pub duration_ms: Option<u64>,
    /// The dump says where the section ends.
    pub complete: bool,
    /// Types the section declares, used or not.
    pub types: u64,
    /// Objects that histograms count.
    pub objects: u64,
    /// Objects that they do not count, in formats where those without bytes are parts of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects_without_bytes: Option<u64>,
    /// Shallow bytes of all.
    pub shallow_bytes: u64,
    /// Objects that strong roots reach.
    pub reachable_objects: u64,
    /// Their shallow bytes.
    pub reachable_bytes: u64,
    /// References between objects of the section.
    pub references: u64,
    /// References to 0.
    pub null_references: u64,
    /// References to ids that are not in the section.
    pub dangling_references: u64,
    /// Root records whose object is in the section.
    pub roots: u64,
    /// The same by kind.
    pub roots_by_kind: BTreeMap<String, u64>,
    /// Root records whose object is not in the section.
    pub dangling_roots: u64,
}

/// Factors from a sample to its heap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SampleRow {
    /// Objects.
    pub objects_multiplier: f32,
    /// Bytes.
    pub bytes_multiplier: f32,
}

/// A snapshot.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SnapshotRow {
    /// From 1.
    pub number: usize,
    /// Time at which it was taken, as `2026-11-20T06:04:12.898Z`.
    pub taken_at: Option<String>,
    /// It is there from its start to its end.
    pub complete: bool,
    /// Objects in it.
    pub objects: Option<u64>,
    /// Their bytes.
    pub shallow_bytes: Option<u64>,
    /// References in it.
    pub references: Option<u64>,
    /// It is the one that was read.
    pub chosen: bool,
}

impl SectionRow {
    /// Time at which it was taken, in words that follow others; nothing where the dump does not say.
    pub fn time_in_words(&self) -> String {
        match (self.started_ms, self.duration_ms) {
            (Some(start), Some(duration)) => format!(", taken {start} ms after boot in {duration} ms"),
            (Some(start), None) => format!(", taken {start} ms after boot"),
            _ => String::new(),
        }
    }
}

impl SnapshotRow {
    /// The same in words: sizes by `bytes`.
    pub fn text(&self, bytes: impl Fn(u64) -> String) -> String {
        let time = self.taken_at.as_ref().map_or(String::new(), |time| format!("{time}, "));
        let complete = if self.complete { "complete" } else { "incomplete" };
        let chosen = if self.chosen { ", read here" } else { "" };
        let counts = self.objects.zip(self.shallow_bytes).map_or(String::new(), |(objects, size)| {
            let references = self.references.map(|count| format!("{}, ", count_with_noun(count, "references")));
            format!("{}, {}, {}", count_with_noun(objects, "objects"), bytes(size), references.unwrap_or_default())
        });
        format!("{time}{counts}{complete}{chosen}")
    }
}

/// A dump of allocation totals.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AllocationInfo {
    /// Facts about the file's format.
    #[serde(flatten)]
    pub format: FormatFacts,
    /// The processes.
    pub sections: Vec<ProcessRow>,
    /// The memory dumps.
    pub dumps: Vec<MemoryDumpRow>,
    /// The heaps.
    pub heaps: Vec<HeapRow>,
    /// Records by kind.
    pub records: RecordCounts,
    /// Problems of the file.
    pub problems: Vec<ProblemRow>,
}

/// A process.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ProcessRow {
    /// From 1.
    pub number: usize,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its number.
    pub pid: i64,
    /// Number among several processes of this pid, from 1.
    pub part: u32,
    /// Labels of the process, as tabs have them.
    pub labels: Option<String>,
    /// Heaps of all its memory dumps.
    pub heaps: usize,
}

/// A memory dump.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct MemoryDumpRow {
    /// From 1.
    pub dump: usize,
    /// Its id in the trace.
    pub id: String,
    /// Start, in microseconds of the trace's clock.
    pub started_us: i64,
    /// Level of detail, in the trace's words.
    pub detail: String,
}

impl Info {
    /// Facts about the file's format.
    pub fn format(&self) -> &FormatFacts {
        match self {
            Info::Objects(info) => &info.format,
            Info::Allocations(info) => &info.format,
        }
    }

    /// Sections of objects, or processes.
    pub fn section_count(&self) -> usize {
        match self {
            Info::Objects(info) => info.sections.len(),
            Info::Allocations(info) => info.sections.len(),
        }
    }

    /// Problems of the file.
    pub fn problems(&self) -> &[ProblemRow] {
        match self {
            Info::Objects(info) => &info.problems,
            Info::Allocations(info) => &info.problems,
        }
    }

    /// Objects and their shallow bytes; `None` for allocation totals.
    pub fn objects_and_bytes(&self) -> Option<(u64, u64)> {
        let Info::Objects(info) = self else { return None };
        let sum = |value: fn(&SectionRow) -> u64| info.sections.iter().map(value).fold(0, u64::saturating_add);
        let of_sections = (sum(|section| section.objects), sum(|section| section.shallow_bytes));
        let chosen = info.snapshots.iter().find(|snapshot| snapshot.chosen && info.sections.is_empty());
        Some(chosen.and_then(|chosen| chosen.objects.zip(chosen.shallow_bytes)).unwrap_or(of_sections))
    }

    /// Allocations, where they are counted, and bytes of the heaps of the last memory dump; `None` for objects.
    pub fn allocations_and_bytes(&self) -> Option<(Option<u64>, u64)> {
        let Info::Allocations(info) = self else { return None };
        let last = info.heaps.iter().filter(|heap| heap.dump == info.dumps.len());
        Some(last.fold((None, 0), |(count, bytes), heap| {
            (add_counts(count, heap.allocations), bytes.saturating_add(heap.total_bytes))
        }))
    }
}

/// Facts about a file. O(objects + references) for what is reachable.
///
/// # Errors
/// If properties are asked for and the dump has no values.
pub fn info(dump: &OpenDump, options: &InfoOptions) -> Result<Info, AnswerError> {
    let settings = options.with_properties.then(|| read_settings(dump, options.shows_secrets)).transpose()?;
    Ok(match dump.content() {
        Content::Objects(graph) => Info::Objects(Box::new(info_of_objects(dump, graph, settings))),
        Content::Allocations(allocations) => Info::Allocations(Box::new(info_of_allocations(dump, allocations))),
        Content::Histograms(_) => Info::Objects(Box::new(info_of_class_histograms(dump))),
    })
}

fn format_facts(info: &FormatInfo, producer: Option<Option<String>>) -> FormatFacts {
    FormatFacts {
        format: info.format.to_string(),
        title: info.title.to_string(),
        version: info.version.clone(),
        producer,
        encoding: info.encoding.as_deref().map(str::to_string),
        compression: info.compression.iter().map(ToString::to_string).collect(),
    }
}

fn record_counts(info: &FormatInfo) -> RecordCounts {
    RecordCounts(info.records.iter().map(|(kind, count)| (kind.to_string(), *count)).collect())
}

fn info_of_objects(dump: &OpenDump, graph: &HeapGraph, settings: Option<ProcessSettings>) -> ObjectInfo {
    let info = dump.info();
    let reachable = dump.reachable();
    let roots = RootCounts::of(graph);
    let sections = graph.sections().iter().enumerate().map(|(at, section)| {
        let id = SectionId::new(at);
        section_row(graph, id, section, &tally_section(graph, reachable, id), &roots.of_sections[at])
    });
    ObjectInfo {
        format: format_facts(info, Some(info.producer.clone())),
        sections: sections.collect(),
        records: record_counts(info),
        trailer: info.trailer.clone(),
        sizes: info.sizes.clone(),
        reason: info.reason.clone(),
        loss: info.loss.as_ref().map(LossRow::new),
        settings,
        problems: problems_of(dump.diagnostics()),
        roots_inferred: graph.roots_inferred(),
        roots_lost: graph.roots_inferred() && info.loss.is_some(),
        sampled: info
            .sampled
            .map(|(objects_multiplier, bytes_multiplier)| SampleRow { objects_multiplier, bytes_multiplier }),
        snapshots: info.snapshots.iter().enumerate().map(|(at, snapshot)| snapshot_row(at + 1, snapshot)).collect(),
        dominators_bytes: Some(dump.dominators_bytes()),
        off_heap_bytes: (info.runtime() == Some(Runtime::Java))
            .then(|| off_heap_buffers(dump, graph).ok())
            .flatten()
            .map(|buffers| buffers.iter().fold(0, |sum: u64, buffer| sum.saturating_add(buffer.bytes))),
        roots_by_kind: roots.all,
    }
}

/// Facts about class histograms: each is a snapshot without references.
fn info_of_class_histograms(dump: &OpenDump) -> ObjectInfo {
    let info = dump.info();
    let row = |(at, snapshot)| SnapshotRow { references: None, ..snapshot_row(at + 1, snapshot) };
    ObjectInfo {
        format: format_facts(info, Some(info.producer.clone())),
        sections: Vec::new(),
        records: record_counts(info),
        trailer: None,
        sizes: None,
        reason: None,
        loss: None,
        settings: None,
        problems: problems_of(dump.diagnostics()),
        roots_inferred: false,
        roots_lost: false,
        sampled: None,
        snapshots: info.snapshots.iter().enumerate().map(row).collect(),
        dominators_bytes: None,
        off_heap_bytes: None,
        roots_by_kind: BTreeMap::new(),
    }
}

fn section_row(
    graph: &HeapGraph,
    id: SectionId,
    section: &Section,
    tally: &GroupTally,
    roots_by_kind: &BTreeMap<String, u64>,
) -> SectionRow {
    let stored: u64 = graph.section_nodes(id).map(|at| graph.references(NodeId::new(at)).len() as u64).sum();
    SectionRow {
        number: id.number(),
        name: section.name.clone(),
        started_ms: section.started_ms,
        ended_ms: section.ended_ms,
        duration_ms: duration_ms(section),
        complete: section.complete,
        types: section.declared_types,
        objects: tally.objects,
        objects_without_bytes: graph
            .counts_only_objects_with_bytes
            .then(|| graph.section_nodes(id).len() as u64 - tally.objects),
        shallow_bytes: tally.shallow_bytes,
        reachable_objects: tally.reachable_objects,
        reachable_bytes: tally.reachable_bytes,
        references: stored.saturating_sub(graph.dependent_reference_count()),
        null_references: section.null_references,
        dangling_references: section.dangling_references,
        roots: roots_by_kind.values().sum(),
        roots_by_kind: roots_by_kind.clone(),
        dangling_roots: section.dangling_roots,
    }
}

fn duration_ms(section: &Section) -> Option<u64> {
    let (start, end) = (section.started_ms?, section.ended_ms?);
    // The clock is 32 bits of milliseconds since boot and wraps after 49.7 days; equal stamps mean that nobody measured.
    (start != end).then(|| end.wrapping_sub(start) & u64::from(u32::MAX))
}

/// Root records by kind: of each section, and of all. One pass over the roots.
struct RootCounts {
    of_sections: Vec<BTreeMap<String, u64>>,
    all: BTreeMap<String, u64>,
}

impl RootCounts {
    fn of(graph: &HeapGraph) -> Self {
        let mut counts =
            RootCounts { of_sections: vec![BTreeMap::new(); graph.sections().len()], all: BTreeMap::new() };
        for root in graph.roots() {
            let kind = format!("{}{}", if root.is_weak() { "weak " } else { "" }, root.kind.name());
            *counts.of_sections[graph.section_of(root.node).index()].entry(kind.clone()).or_insert(0) += 1;
            *counts.all.entry(kind).or_insert(0) += 1;
        }
        counts
    }
}

fn snapshot_row(number: usize, snapshot: &SnapshotInfo) -> SnapshotRow {
    let counted = |count: u64| (!snapshot.is_passed_over).then_some(count);
    SnapshotRow {
        number,
        taken_at: snapshot.unix_ms.map(utc_text),
        complete: snapshot.complete,
        objects: counted(snapshot.objects),
        shallow_bytes: counted(snapshot.shallow_bytes),
        references: counted(snapshot.references),
        chosen: snapshot.chosen,
    }
}

fn info_of_allocations(dump: &OpenDump, allocations: &AllocationDump) -> AllocationInfo {
    let info = dump.info();
    let totals = parallel::map(allocations.heaps.iter().collect(), &|heap| AllocationHeapTotal::compute(heap).total);
    let process = |(at, (pid, part)): (usize, (i64, u32))| {
        let heaps = || allocations.heaps.iter().filter(|heap| (heap.pid, heap.part_number) == (pid, part));
        ProcessRow {
            number: at + 1,
            name: heaps().find(|heap| !heap.process_name.is_empty()).map(|heap| heap.process_name.clone()),
            pid,
            part,
            labels: heaps().next().map(|heap| heap.process_labels.clone()),
            heaps: heaps().count(),
        }
    };
    let dumps = allocations.dumps.iter().enumerate().map(|(at, time)| MemoryDumpRow {
        dump: at + 1,
        id: time.id.clone(),
        started_us: time.started_us,
        detail: time.detail_level.clone(),
    });
    AllocationInfo {
        format: format_facts(info, None),
        sections: pids_and_parts(allocations).into_iter().enumerate().map(process).collect(),
        dumps: dumps.collect(),
        heaps: allocations.heaps.iter().zip(&totals).map(|(heap, total)| HeapRow::new(heap, total)).collect(),
        records: record_counts(info),
        problems: problems_of(dump.diagnostics()),
    }
}

/// Facts about several files. Serialises as the JSON of `info` with several files.
#[derive(Serialize)]
#[non_exhaustive]
pub struct InfoOfFiles {
    /// The rows that are shown, in their order.
    pub files: Vec<InfoOfFile>,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
}

/// Facts about one of several files.
#[derive(Serialize)]
#[non_exhaustive]
pub struct InfoOfFile {
    /// Its name.
    pub file: String,
    /// The facts.
    #[serde(flatten)]
    pub info: Info,
}

impl InfoOfFile {
    /// Number of problems; notes do not count.
    pub fn problem_count(&self) -> u64 {
        self.info
            .problems()
            .iter()
            .filter(|problem| !problem.is_note())
            .fold(0, |sum, problem| sum.saturating_add(problem.count))
    }

    /// A figure of the file, where it has that.
    pub fn figure(&self, figure: Figure) -> Option<u64> {
        match figure {
            SECTIONS => Some(self.info.section_count() as u64),
            OBJECTS => self.info.objects_and_bytes().map(|(objects, _)| objects),
            SHALLOW => self.info.objects_and_bytes().map(|(_, bytes)| bytes),
            ALLOCATIONS => self.info.allocations_and_bytes().and_then(|(allocations, _)| allocations),
            ALLOCATED_BYTES => self.info.allocations_and_bytes().map(|(_, bytes)| bytes),
            PROBLEMS => Some(self.problem_count()),
            _ => None,
        }
    }
}

impl InfoOfFiles {
    /// Figures that rows can be ordered by: names and formats from A on, figures largest first.
    pub const ORDERS: [Figure; 7] = [FILE, FORMAT, SECTIONS, OBJECTS, SHALLOW, ALLOCATED_BYTES, PROBLEMS];

    /// The folder that all files are in, as they were named, with the slash behind it; else empty.
    pub fn shared_folder(&self) -> &str {
        shared_folder_of(self.files.iter().map(|file| file.file.as_str()))
    }

    /// Rows of these files; without an order, and where they are equal, as they were named. O(files x log).
    ///
    /// # Errors
    /// If rows cannot be ordered by this figure.
    pub fn new(files: Vec<(String, Info)>, order: Option<Figure>, limits: Limits) -> Result<Self, AnswerError> {
        let mut files: Vec<InfoOfFile> = files.into_iter().map(|(file, info)| InfoOfFile { file, info }).collect();
        match order {
            None => {}
            Some(FILE) => sort::rows_by(&mut files, &|a, b| a.file.cmp(&b.file)),
            Some(FORMAT) => sort::rows_by(&mut files, &|a, b| a.info.format().format.cmp(&b.info.format().format)),
            Some(figure) if !Self::ORDERS.contains(&figure) => return Err(AnswerError::NoSuchOrder(figure.key)),
            Some(figure) => sort::rows_by_key(&mut files, |row| std::cmp::Reverse(row.figure(figure).unwrap_or(0))),
        }
        let rows_hidden = limits.reverse_and_cut(&mut files);
        Ok(InfoOfFiles { files, rows_hidden })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{InfoOptions, info};
    use crate::dump::OpenOptions;

    fn info_of(dump: &'static str) -> Info {
        info(&OpenOptions::default().open_reader(dump.as_bytes()).unwrap(), &InfoOptions::default()).unwrap()
    }

    #[test]
    fn figures_come_largest_first_and_equals_as_named() {
        let small = "a 2 x\nt 1 A\no 10 1 20\nr 10 3 0\nc x\n";
        let large = "a 2 x\nt 1 A\no 10 1 20\no 20 1 20\nr 10 3 0\nc x\n";
        let names = |order, limits| {
            let files = [("b", small), ("c", large), ("a", small)].map(|(name, dump)| (name.into(), info_of(dump)));
            let answer = InfoOfFiles::new(files.into(), order, limits).unwrap();
            (answer.files.iter().map(|row| row.file.as_str()).collect::<String>(), answer.rows_hidden)
        };
        let all = Limits::default();
        assert_eq!(names(None, all), ("bca".into(), 0));
        assert_eq!(names(Some(FILE), all), ("abc".into(), 0));
        assert_eq!(names(Some(OBJECTS), all), ("cba".into(), 0));
        assert_eq!(names(Some(SHALLOW), Limits { rows: Some(1), reverse: true }), ("a".into(), 2));
    }
}
