//! Heaps of allocation totals: which a question is about, and what every answer says of one.

use serde::Serialize;

use super::rows::is_false;
use super::{AnswerError, CommandLine};
use crate::allocations::{AllocationDump, AllocationHeap, CountingMode};
use crate::analysis::allocation_totals::{AllocationAmount, AllocationTotals};
use crate::dump::{MemoryError, OpenDump};
use crate::units::count_with_noun;

/// Heaps of a dump of allocation totals that a question is about.
#[derive(Debug, Clone, Default)]
pub struct AllocationHeapChoice {
    /// The memory dump: a number from 1, `last` or `all`. Default: the last that has heaps.
    pub memory_dump: Option<String>,
    /// The same, where `memory_dump` is not given; object graphs choose a snapshot when they are read.
    pub snapshot: Option<String>,
    /// One process, by number or name.
    pub process: Option<String>,
    /// One allocator.
    pub allocator: Option<String>,
    /// One process, by its number in the list of sections from 1, or as `process`.
    pub section: Option<String>,
}

/// Makes sure that there is the memory for totals of heaps, all types together: so many bytes for a frame or an entry where the
/// figures include what is below, else what they take.
pub(crate) fn check_totals_memory(
    dump: &OpenDump,
    heaps: &[&AllocationHeap],
    inclusive_row_bytes: u64,
) -> Result<(), MemoryError> {
    let bytes = heaps.iter().map(|heap| match heap.counting_mode {
        CountingMode::Exclusive => AllocationTotals::memory_bytes_of_parts(heap),
        _ => heap.frame_and_entry_count() as u64 * inclusive_row_bytes,
    });
    dump.check_rows_memory(1, bytes.sum())
}

/// The heaps that were chosen.
#[derive(Debug)]
pub struct ChosenHeaps<'d> {
    /// In the order of the file.
    pub heaps: Vec<&'d AllocationHeap>,
    /// A memory dump that holds more heaps than the one chosen, where none was asked for.
    pub fuller_dump: Option<FullerDump>,
}

/// Says that the memory dump that was chosen by default has fewer heaps than another: some of a trace are lighter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullerDump {
    /// The dump that was chosen, from 1.
    pub chosen_dump: usize,
    /// Its heaps.
    pub chosen_heap_count: usize,
    /// The latest of the dumps with the most heaps, from 1.
    pub fullest_dump: usize,
    /// Its heaps.
    pub fullest_heap_count: usize,
}

impl FullerDump {
    /// The same in words.
    pub fn statement(&self) -> String {
        let FullerDump {
            chosen_dump: chosen,
            chosen_heap_count: chosen_heaps,
            fullest_dump: fullest,
            fullest_heap_count: fullest_heaps,
        } = self;
        let own = count_with_noun(*chosen_heaps as u64, "heaps");
        format!("dump {chosen} is the last and has {own}, dump {fullest} has {fullest_heaps}")
    }
}

impl AllocationHeapChoice {
    /// Makes sure that a dump of objects can be asked: it is one memory dump, and has no processes with allocators.
    ///
    /// # Errors
    /// If anything is asked for that it does not have.
    pub fn check_on_objects(&self) -> Result<(), AnswerError> {
        if self.process.is_some() || self.allocator.is_some() {
            return Err(AnswerError::NeedsAllocations);
        }
        match self.memory_dump.as_deref() {
            None | Some("1" | "all" | "last") => Ok(()),
            Some(other) => Err(AnswerError::NoOtherMemoryDump(other.to_string())),
        }
    }

    /// The heaps of a dump.
    ///
    /// # Errors
    /// If there is no such memory dump, or no heap fits.
    pub fn choose<'d>(&self, dump: &'d AllocationDump) -> Result<ChosenHeaps<'d>, AnswerError> {
        let number = match self.memory_dump.as_deref().or(self.snapshot.as_deref()) {
            Some("all") => None,
            Some("last") | None => Some(dump.dumps.len()),
            Some(asked) => match asked.parse::<usize>() {
                Ok(number) if (1..=dump.dumps.len()).contains(&number) => Some(number),
                _ => return Err(AnswerError::NoSuchMemoryDump(asked.to_string(), dump.dumps.len())),
            },
        };
        let of_dump: Vec<&AllocationHeap> =
            dump.heaps.iter().filter(|heap| number.is_none_or(|number| heap.dump_number == number)).collect();
        let mut heaps = of_dump.clone();
        if let Some(process) = self.process.as_deref() {
            heaps.retain(|heap| is_process_asked_for(heap, process));
        }
        if let Some(section) = self.section.as_deref() {
            let sections = pids_and_parts(dump);
            let numbered = section.parse::<usize>().ok().and_then(|number| sections.get(number.checked_sub(1)?));
            heaps.retain(|heap| match numbered {
                Some(&section) => (heap.pid, heap.part_number) == section,
                None => is_process_asked_for(heap, section),
            });
        }
        if let Some(allocator) = self.allocator.as_deref() {
            heaps.retain(|heap| heap.allocator_name == allocator);
        }
        if heaps.is_empty() {
            let mut there: Vec<String> = of_dump.iter().map(|heap| heap_title(heap)).collect();
            there.dedup();
            return Err(AnswerError::NoSuchHeap(there));
        }
        let is_default = self.memory_dump.is_none() && self.snapshot.is_none();
        let fuller_dump = number.filter(|_| is_default).and_then(|number| FullerDump::find(dump, number));
        Ok(ChosenHeaps { heaps, fuller_dump })
    }

    pub(in crate::answers) fn add_to(&self, line: &mut CommandLine) {
        line.add_option("--dump", self.memory_dump.as_deref());
        line.add_option("--snapshot", self.snapshot.as_deref());
        line.add_option("--process", self.process.as_deref());
        line.add_option("--allocator", self.allocator.as_deref());
    }
}

impl FullerDump {
    fn find(dump: &AllocationDump, chosen: usize) -> Option<Self> {
        let heaps_of = |number: usize| dump.heaps.iter().filter(|heap| heap.dump_number == number).count();
        let fullest = (1..=dump.dumps.len()).max_by_key(|&number| (heaps_of(number), number)).unwrap_or(chosen);
        let found = FullerDump {
            chosen_dump: chosen,
            chosen_heap_count: heaps_of(chosen),
            fullest_dump: fullest,
            fullest_heap_count: heaps_of(fullest),
        };
        (found.fullest_heap_count > found.chosen_heap_count).then_some(found)
    }
}

fn is_process_asked_for(heap: &AllocationHeap, asked: &str) -> bool {
    let is_part = || {
        asked
            .split_once(" #")
            .is_some_and(|(pid, part)| heap.pid.to_string() == pid && heap.part_number.to_string() == part)
    };
    heap.pid.to_string() == asked || heap.process_name == asked || process_title_of(heap) == asked || is_part()
}

/// (process number, part) of every process, in the order of the file.
pub fn pids_and_parts(dump: &AllocationDump) -> Vec<(i64, u32)> {
    let mut found = Vec::new();
    for heap in &dump.heaps {
        if !found.contains(&(heap.pid, heap.part_number)) {
            found.push((heap.pid, heap.part_number));
        }
    }
    found
}

/// `HeapBrowser`, or the number of a process without a name; with its place where several have one number.
pub fn process_title_of(heap: &AllocationHeap) -> String {
    let name = if heap.process_name.is_empty() { format!("process {}", heap.pid) } else { heap.process_name.clone() };
    if heap.part_number > 1 { format!("{name} #{}", heap.part_number) } else { name }
}

/// `dump 1, HeapBrowser (4315), malloc`.
pub fn heap_title(heap: &AllocationHeap) -> String {
    let number = if heap.process_name.is_empty() { String::new() } else { format!(" ({})", heap.pid) };
    format!("dump {}, {}{number}, {}", heap.dump_number, process_title_of(heap), heap.allocator_name)
}

/// One heap.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HeapRow {
    /// The process's name, where it has one.
    pub process: Option<String>,
    /// Its number; none of objects.
    pub pid: Option<i64>,
    /// The memory dump, from 1.
    pub dump: usize,
    /// The allocator; none of objects.
    pub allocator: Option<String>,
    /// All there is in it.
    pub total_bytes: u64,
    /// Allocations, where they are counted.
    pub allocations: Option<u64>,
    /// Number among several processes of this pid, from 1; serialised of the second and later ones.
    #[serde(skip_serializing_if = "is_first")]
    pub part: u32,
    /// Labels of the process, as tabs have them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub labels: String,
    /// The total is a lower bound.
    #[serde(skip_serializing_if = "is_false")]
    pub at_least: bool,
    /// The heap in words: `dump 1, HeapBrowser (4315), malloc`.
    #[serde(skip)]
    pub title: String,
}

fn is_first(part: &u32) -> bool {
    *part <= 1
}

impl HeapRow {
    /// The row of a heap with this total.
    pub fn new(heap: &AllocationHeap, total: &AllocationAmount) -> Self {
        HeapRow {
            process: (!heap.process_name.is_empty()).then(|| heap.process_name.clone()),
            pid: Some(heap.pid),
            dump: heap.dump_number,
            allocator: Some(heap.allocator_name.clone()),
            total_bytes: total.bytes,
            allocations: total.allocations,
            part: heap.part_number,
            labels: heap.process_labels.clone(),
            at_least: total.is_lower_bound,
            title: heap_title(heap),
        }
    }
}
