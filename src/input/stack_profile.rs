//! Profiles of stacks, as far as their readers have it in common: input that is read whole, texts with addresses and the files
//! these lie in, and a heap that stacks are added to.

use rustc_hash::FxHashMap;

use super::text::{decimal_field, hex_field, split_line, trim};
use super::{Position, ProblemCode, ProfileOptions, ReadError, ReadErrorKind, Reading, Source};
use crate::allocations::{
    AllocationDump, AllocationEntry, AllocationHeap, FrameNaming, FrameTree, MemoryDump, NameId, NameTable,
    merged_entries,
};
use crate::graph::{MemoryShare, make_room};

const READ_STEP_BYTES: usize = 1 << 20;
/// Stacks that room is made for before they come: 8 bytes each.
const MAX_STACKS_RESERVED: u64 = 1 << 20;
/// Frames and entries between two looks at the memory they take.
const ROWS_PER_MEMORY_CHECK: usize = 1 << 16;

/// All of an input. Error: if it cannot be read, or takes more memory than there is.
pub(super) fn read_whole(source: &mut Source, share: &mut MemoryShare) -> Result<Vec<u8>, ReadError> {
    let mut content = Vec::new();
    loop {
        let start = content.len();
        make_room(&mut content, READ_STEP_BYTES);
        content.resize(start + READ_STEP_BYTES, 0);
        let got = source.fill(&mut content[start..])?;
        content.truncate(start + got);
        share.set_held_bytes(content.len() as u64)?;
        if got < READ_STEP_BYTES {
            return Ok(content);
        }
    }
}

/// Error: the profile has no such measure.
pub(super) fn no_measure_error(wanted: &str, known: &str) -> ReadError {
    ReadError::new(ReadErrorKind::NoHeap(format!("the profile has no measure \"{wanted}\"; there are: {known}")))
}

/// The one label that samples of a text have: the mean bytes of what was allocated.
pub(super) const SIZE_LABEL: &str = "bytes";

/// Error: if types are to be the values of a label that is not in `known`.
pub(super) fn check_type_label(profile: &ProfileOptions, known: &[&str]) -> Result<(), ReadError> {
    match profile.type_label.as_deref() {
        Some(label) if !known.contains(&label) => {
            let known = if known.is_empty() {
                "there are none".to_string()
            } else {
                format!("there are: {}", known.join(", "))
            };
            Err(ReadError::new(ReadErrorKind::NoHeap(format!("no sample has a label \"{label}\"; {known}"))))
        }
        _ => Ok(()),
    }
}

/// A heap of what was allocated at each stack. Of a difference of two profiles also what it takes away.
pub(super) struct StackHeap {
    tree: FrameTree,
    entries: Vec<AllocationEntry>,
    entries_taken_away: Vec<AllocationEntry>,
    pub(super) names: NameTable,
    frame_names: FrameNaming,
    /// Frames of one name that follow one another are one: files and modules.
    merges_repeats: bool,
    share: MemoryShare,
    row_count_to_check: usize,
    no_stack: NameId,
}

impl StackHeap {
    pub(super) fn new(reading: &Reading) -> Self {
        let mut names = NameTable::default();
        let frame_names = reading.options.profile.frame_names;
        StackHeap {
            tree: FrameTree::new(names.intern("")),
            entries: Vec::new(),
            entries_taken_away: Vec::new(),
            no_stack: names.intern("(no stack)"),
            names,
            frame_names,
            merges_repeats: matches!(frame_names, FrameNaming::File | FrameNaming::Module),
            share: reading.budget.for_content(),
            row_count_to_check: ROWS_PER_MEMORY_CHECK,
        }
    }

    /// Error: if frames, entries and names take more memory than there is.
    #[inline]
    fn check_memory(&mut self) -> Result<(), ReadError> {
        let entries = self.entries.len() + self.entries_taken_away.len();
        let rows = self.tree.len() + entries;
        if rows < self.row_count_to_check { Ok(()) } else { self.count_memory(rows, entries) }
    }

    #[cold]
    fn count_memory(&mut self, rows: usize, entries: usize) -> Result<(), ReadError> {
        self.row_count_to_check = rows + ROWS_PER_MEMORY_CHECK;
        let entry_bytes = 2 * entries * size_of::<AllocationEntry>();
        Ok(self.share.set_held_bytes((self.tree.memory_bytes() + entry_bytes + self.names.memory_bytes()) as u64)?)
    }

    /// Room for so many stacks, as far as that is no great matter.
    pub(super) fn reserve_stacks(&mut self, stacks: u64) {
        self.tree.reserve_stacks(stacks.min(MAX_STACKS_RESERVED) as usize);
    }

    /// The node of frames one below the other, below a node. Files and modules that follow one another are one frame. Error: if
    /// there is no memory for it.
    pub(super) fn find_or_add_path(&mut self, mut node: u32, names: &[NameId]) -> Result<u32, ReadError> {
        if self.merges_repeats {
            for &name in names {
                if self.function_of(node) != Some(name) {
                    node = self.tree.find_or_add(node, name);
                }
            }
        } else {
            node = self.tree.find_or_add_path(node, names);
        }
        self.check_memory()?;
        Ok(node)
    }

    /// The function of a node; node 0 has none.
    fn function_of(&self, node: u32) -> Option<NameId> {
        (node > 0).then(|| self.tree.name(node))
    }

    /// Adds what was allocated at a node; of no other type the function is the type. Error: if there is no memory for it.
    pub(super) fn add_at(
        &mut self,
        node: u32,
        type_name: Option<NameId>,
        amount: StackAmount,
    ) -> Result<(), ReadError> {
        self.entries.extend(amount.entry(node, self.type_at(node, type_name)));
        self.check_memory()
    }

    /// Takes an amount away from what was allocated at a node. Error: as in `add_at`.
    pub(super) fn take_away_at(
        &mut self,
        node: u32,
        type_name: Option<NameId>,
        amount: StackAmount,
    ) -> Result<(), ReadError> {
        self.entries_taken_away.extend(amount.entry(node, self.type_at(node, type_name)));
        self.check_memory()
    }

    fn type_at(&self, node: u32, type_name: Option<NameId>) -> NameId {
        type_name.or_else(|| self.function_of(node)).unwrap_or(self.no_stack)
    }

    /// Returns true if something was taken away.
    pub(super) fn is_difference(&self) -> bool {
        !self.entries_taken_away.is_empty()
    }

    /// The dump of this heap alone; of a difference what was taken away comes first, as a moment of its own.
    pub(super) fn finish(self, process: String, measure: &str, samples: u64, reading: &mut Reading) -> AllocationDump {
        let StackHeap { tree, entries, entries_taken_away, names, frame_names, .. } = self;
        let frames = tree.into_frames();
        let [entries, taken_away] = [entries, entries_taken_away].map(merged_entries);
        reading.info.set_records([("samples", samples), ("entries", (entries.len() + taken_away.len()) as u64)]);
        let mut heaps = Vec::new();
        if !taken_away.is_empty() {
            heaps.push(AllocationHeap::alone(process.clone(), measure, frames.clone(), taken_away));
        }
        let heap = AllocationHeap::alone(process, measure, frames, entries);
        heaps.push(AllocationHeap { dump_number: heaps.len() + 1, ..heap });
        // Ids tell moments of one time apart.
        let id = |number: usize| if heaps.len() > 1 { number.to_string() } else { String::new() };
        let dumps = (1..=heaps.len()).map(|number| MemoryDump { id: id(number), ..MemoryDump::default() }).collect();
        AllocationDump { names, frame_naming: frame_names, dumps, heaps }
    }
}

/// What was allocated at a stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StackAmount {
    pub(super) bytes: u64,
    pub(super) allocations: Option<u64>,
}

impl StackAmount {
    /// `None` of nothing.
    fn entry(self, node: u32, type_name: NameId) -> Option<AllocationEntry> {
        let is_some = self.bytes > 0 || self.allocations.is_some_and(|count| count > 0);
        is_some.then(|| AllocationEntry::new(node, Some(type_name), self.bytes, self.allocations))
    }
}

/// Amounts as texts have them: in use, and allocated since the start (`N: BYTES [N: BYTES]`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextAmounts {
    pub(super) inuse: StackAmount,
    pub(super) alloc: StackAmount,
}

impl TextAmounts {
    /// `None` for a text of any other form.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers =
            text.split(|byte| b" \t:[]".contains(byte)).filter(|field| !field.is_empty()).map(decimal_field);
        let mut amount = || {
            let allocations = numbers.next()??;
            Some(StackAmount { bytes: numbers.next()??, allocations: Some(allocations) })
        };
        let amounts = TextAmounts { inuse: amount()?, alloc: amount()? };
        numbers.next().is_none().then_some(amounts)
    }

    fn add_amounts(&mut self, other: &TextAmounts) {
        let add = |to: &mut StackAmount, more: StackAmount| {
            to.bytes = to.bytes.saturating_add(more.bytes);
            to.allocations = Some(to.allocations.unwrap_or(0).saturating_add(more.allocations.unwrap_or(0)));
        };
        add(&mut self.inuse, other.inuse);
        add(&mut self.alloc, other.alloc);
    }
}

impl StackAmount {
    /// The same estimated for all allocations, where one of so many bytes was sampled: a block of mean size s is sampled with
    /// probability 1 - e^(-s / rate). The rule of pprof and jeprof, and pprof's rounding.
    fn scaled(self, rate: u64) -> Self {
        let count = self.allocations.unwrap_or(0);
        if rate <= 1 || count == 0 || self.bytes == 0 {
            return self;
        }
        let mean = self.bytes as f64 / count as f64;
        let scale = 1.0 / (1.0 - (-mean / rate as f64).exp());
        let scaled = |value: u64| (value as f64 * scale) as u64;
        StackAmount { bytes: scaled(self.bytes), allocations: Some(scaled(count)) }
    }
}

/// Codes of the problems of a text.
pub(super) struct TextProfileCodes {
    pub(super) bad_address: &'static ProblemCode,
    pub(super) bad_mapping: &'static ProblemCode,
    pub(super) total_mismatch: &'static ProblemCode,
}

/// A text of stacks, which is put together sample by sample.
pub(super) struct TextProfile<'a> {
    pub(super) heap: StackHeap,
    codes: &'static TextProfileCodes,
    mapped_files: MappedFiles<'a>,
    name_of_address: FxHashMap<u64, NameId>,
    bytes_per_sample: u64,
    reads_alloc: bool,
    has_alloc: bool,
    types_are_sizes: bool,
    sample_count: u64,
    sum_of_samples: TextAmounts,
}

impl<'a> TextProfile<'a> {
    /// `mapped`: the list of mapped files, from its first line on; `rate`: one of so many bytes was sampled. Error: if the
    /// options ask for what no such text has.
    pub(super) fn new(
        mapped: &'a [u8],
        first_line: u64,
        rate: u64,
        codes: &'static TextProfileCodes,
        reading: &mut Reading,
    ) -> Result<Self, ReadError> {
        let profile = &reading.options.profile;
        check_type_label(profile, &[SIZE_LABEL])?;
        let reads_alloc = match profile.measure.as_deref() {
            None | Some("inuse" | "inuse_space") => false,
            Some("alloc" | "alloc_space") => true,
            Some(wanted) => return Err(no_measure_error(wanted, "inuse, alloc")),
        };
        let types_are_sizes = profile.type_label.is_some();
        let heap = StackHeap::new(reading);
        let mapped_files = MappedFiles::parse(mapped, first_line, codes.bad_mapping, reading);
        let nothing = StackAmount { bytes: 0, allocations: Some(0) };
        let (name_of_address, sum_of_samples) = (FxHashMap::default(), TextAmounts { inuse: nothing, alloc: nothing });
        Ok(TextProfile {
            heap,
            codes,
            mapped_files,
            name_of_address,
            bytes_per_sample: rate,
            reads_alloc,
            has_alloc: false,
            types_are_sizes,
            sample_count: 0,
            sum_of_samples,
        })
    }

    /// The addresses of a stack, innermost first; those that are none are left out, and the allocator's own unless all frames
    /// are asked for.
    pub(super) fn parse_addresses(&self, text: &[u8], line: u64, reading: &mut Reading) -> Vec<u64> {
        let all_frames = reading.options.profile.all_frames;
        let fields = text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let address = |field: &[u8]| {
            let address = field.strip_prefix(b"0x").and_then(hex_field);
            if address.is_none() {
                reading.diagnostics.add(self.codes.bad_address, 1, Position::Line(line), String::new);
            }
            address
        };
        let mut addresses: Vec<u64> = fields.filter_map(address).collect();
        if !all_frames {
            let own = addresses.iter().take_while(|&&address| self.mapped_files.is_of_allocator(address)).count();
            addresses.drain(..if own < addresses.len() { own } else { 0 });
        }
        addresses
    }

    /// The name of an address.
    pub(super) fn name_of(&mut self, address: u64) -> NameId {
        let (files, names, frame_names) = (&self.mapped_files, &mut self.heap.names, self.heap.frame_names);
        *self.name_of_address.entry(address).or_insert_with(|| names.intern(&files.frame_name(address, frame_names)))
    }

    /// Adds a sample; its callers come first. Error: if there is no memory for it.
    pub(super) fn add_sample(&mut self, stack: &[NameId], amounts: &TextAmounts) -> Result<(), ReadError> {
        self.sample_count += 1;
        self.sum_of_samples.add_amounts(amounts);
        self.has_alloc |= amounts.alloc != amounts.inuse && amounts.alloc.bytes > 0;
        let amount = if self.reads_alloc { amounts.alloc } else { amounts.inuse };
        let size = amount.allocations.filter(|&count| count > 0).map_or(0, |count| amount.bytes / count);
        let type_name = self.types_are_sizes.then(|| self.heap.names.intern(&format!("{size} {SIZE_LABEL}")));
        let node = self.heap.find_or_add_path(0, stack)?;
        self.heap.add_at(node, type_name, amount.scaled(self.bytes_per_sample))
    }

    /// The dump. `total`: what the text says of all samples together, where it means their sum. Error: if there is no such
    /// measure.
    pub(super) fn finish(
        self,
        total: Option<&TextAmounts>,
        reading: &mut Reading,
    ) -> Result<AllocationDump, ReadError> {
        if self.reads_alloc && self.sample_count > 0 && self.sum_of_samples.alloc.bytes == 0 {
            return Err(no_measure_error("alloc", "inuse"));
        }
        if let Some(total) = total.filter(|total| self.sum_of_samples != **total) {
            let text = || format!("{} bytes of {}", self.sum_of_samples.inuse.bytes, total.inuse.bytes);
            reading.diagnostics.add(self.codes.total_mismatch, 1, Position::Line(1), text);
        }
        let measure = if self.reads_alloc { "alloc" } else { "inuse" };
        let mut description = format!("{measure} of inuse{}", if self.has_alloc { ", alloc" } else { "" });
        if self.bytes_per_sample > 1 {
            description += &format!("; estimated, one of {} bytes was sampled", self.bytes_per_sample);
        }
        reading.info.version = Some(description);
        let process = self.mapped_files.program_name();
        Ok(self.heap.finish(process, measure, self.sample_count, reading))
    }
}

/// The samples of a text, and the list of mapped files behind them, with the number of lines before that. `None` without one.
pub(super) fn split_at_mapped_files(text: &[u8]) -> (&[u8], Option<(&[u8], u64)>) {
    const TITLE: &[u8] = b"\nMAPPED_LIBRARIES:";
    let Some(at) = memchr::memmem::find(text, TITLE) else { return (text, None) };
    let samples = &text[..at + 1];
    let lines = memchr::memchr_iter(b'\n', samples).count() as u64;
    let (_, mapped) = split_line(&text[at + 1..]);
    (samples, Some((mapped, lines + 2)))
}

/// A part of a file in the memory of a process.
struct MappedFile<'a> {
    start: u64,
    end: u64,
    offset: u64,
    path: &'a [u8],
}

/// Files in the memory of a process, by address.
struct MappedFiles<'a> {
    files: Vec<MappedFile<'a>>,
    /// The file that was mapped first.
    program: &'a [u8],
}

impl<'a> MappedFiles<'a> {
    /// From lines as `/proc/PID/maps` has them: `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
    fn parse(mut text: &'a [u8], first_line: u64, bad: &'static ProblemCode, reading: &mut Reading) -> Self {
        let mut files = Vec::new();
        let mut line_number = first_line;
        while !text.is_empty() {
            let (line, rest) = split_line(text);
            text = rest;
            match MappedFile::parse(trim(line)) {
                Some(file) => files.extend(Some(file).filter(|file| !file.path.is_empty())),
                None if trim(line).is_empty() => {}
                None => reading.diagnostics.add(bad, 1, Position::Line(line_number), String::new),
            }
            line_number += 1;
        }
        let program = files.first().map_or(&b""[..], |file: &MappedFile<'a>| file.path);
        files.sort_by_key(|file| file.start);
        MappedFiles { files, program }
    }

    fn program_name(&self) -> String {
        String::from_utf8_lossy(last_segment(self.program)).into_owned()
    }

    /// The file that an address lies in.
    fn find(&self, address: u64) -> Option<&MappedFile<'a>> {
        let at = self.files.partition_point(|file| file.start <= address);
        at.checked_sub(1).map(|at| &self.files[at]).filter(|file| address < file.end)
    }

    /// Returns true for an address in a library that is an allocator.
    fn is_of_allocator(&self, address: u64) -> bool {
        const ALLOCATORS: [&[u8]; 2] = [b"libjemalloc", b"libtcmalloc"];
        let is_one = |file: &MappedFile<'_>| ALLOCATORS.iter().any(|name| last_segment(file.path).starts_with(name));
        self.find(address).is_some_and(is_one)
    }

    /// The name of an address: the place in its file, which is the same in every run.
    fn frame_name(&self, address: u64, frame_names: FrameNaming) -> String {
        match (frame_names, self.find(address)) {
            (FrameNaming::Function | FrameNaming::FunctionAndLine, None) => format!("{address:#x}"),
            (FrameNaming::Function | FrameNaming::FunctionAndLine, Some(file)) => {
                let place = (address - file.start).wrapping_add(file.offset);
                format!("{}+{place:#x}", String::from_utf8_lossy(last_segment(file.path)))
            }
            (FrameNaming::File, _) => UNKNOWN_FILE.to_string(),
            (FrameNaming::Module, None) => UNKNOWN_MODULE.to_string(),
            (FrameNaming::Module, Some(file)) => String::from_utf8_lossy(file.path).into_owned(),
        }
    }
}

pub(super) const UNKNOWN_FILE: &str = "(unknown file)";
pub(super) const UNKNOWN_MODULE: &str = "(unknown module)";

impl<'a> MappedFile<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            let (field, behind) = rest.split_at(end);
            rest = behind.trim_ascii_start();
            field
        };
        let range = field();
        let dash = memchr::memchr(b'-', range)?;
        let (start, end) = (hex_field(&range[..dash])?, hex_field(&range[dash + 1..])?);
        let [_permissions, offset, _device, _inode] = [field(), field(), field(), field()];
        Some(MappedFile { start, end, offset: hex_field(offset)?, path: rest })
    }
}

/// The name of a file without its folder.
pub(super) fn last_segment(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| b"/\\".contains(byte)).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_as_pprof_does() {
        let amount = |bytes, count| StackAmount { bytes, allocations: Some(count) };
        // 1 / (1 - e^-1) = 1.5819767...
        assert_eq!(amount(1_000, 1).scaled(1_000), amount(1_581, 1));
        assert_eq!(amount(512, 2).scaled(1), amount(512, 2));
        assert_eq!(amount(0, 0).scaled(1_000), amount(0, 0));
        let amounts = TextAmounts::parse(b"  12:  3456 [ 78:9012]").unwrap();
        assert_eq!((amounts.inuse, amounts.alloc), (amount(3_456, 12), amount(9_012, 78)));
        for bad in [&b"12: 3456"[..], b"1: 2 [3: 4] 5", b"-1: 2 [3: 4]", b"1: 2 [3: x]", b""] {
            assert_eq!(TextAmounts::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_place_in_a_file_is_the_same_in_every_run() {
        let line = b"7f0000001000-7f0000003000 r-xp 00002000 fe:00 12  /opt/a b/lib.so";
        let file = MappedFile::parse(line).unwrap();
        assert_eq!(
            (file.start, file.end, file.offset, file.path),
            (0x7f00_0000_1000, 0x7f00_0000_3000, 0x2000, &b"/opt/a b/lib.so"[..])
        );
        let files = MappedFiles { program: file.path, files: vec![file] };
        let name = |address| files.frame_name(address, FrameNaming::Function);
        assert_eq!([0x7f00_0000_1010, 0x7f00_0000_3000, 7].map(name), ["lib.so+0x2010", "0x7f0000003000", "0x7"]);
        assert_eq!(files.frame_name(0x7f00_0000_1010, FrameNaming::Module), "/opt/a b/lib.so");
        assert!(MappedFile::parse(b"7f00 r-xp").is_none() && MappedFile::parse(b"").is_none());
    }
}
