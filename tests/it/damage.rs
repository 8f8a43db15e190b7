//! Every fixture cut and changed in many places: never a panic, and a cut is always reported.

use std::collections::BTreeMap;

use crate::common::cmd::{assert_linear, run_with_input};
use crate::common::fixtures::{Fixture, all, test_each_format};
use crate::common::read;
use heapdump::allocations::AllocationDump;
use heapdump::analysis::allocation_totals::{AllocationTotals, TotalsOptions};
use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::retained::RetainedSizes;
use heapdump::analysis::root_paths::find_root_paths;
use heapdump::input::{Diagnostics, Dump, ReadOptions, Source};
use rayon::prelude::*;

const CUTS_OF_LARGE: usize = 60;
const SMALL: usize = 600;

fn options(fixture: &Fixture) -> ReadOptions {
    let mut options = ReadOptions { threads: 1, ..ReadOptions::default() };
    if fixture.arguments().iter().any(|argument| argument == "--input-format") {
        options.input_format = Some(fixture.format.clone());
    }
    options
}

fn is_packed(fixture: &Fixture) -> bool {
    fixture.name().ends_with(".gz") || fixture.name().ends_with(".zst")
}

/// Reads, and walks what came out so that a broken graph would show.
fn survives(bytes: &[u8], options: &ReadOptions) -> Option<(usize, Vec<String>)> {
    let loaded = read(bytes, options).ok()?;
    let graph = match &loaded.dump {
        Dump::Graph(graph) => graph,
        Dump::Allocations(dump) => return Some((walk(dump), codes(&loaded.diagnostics))),
        Dump::Histograms(types) => {
            let rows = (0..types.types_by_histogram.len()).map(|place| types.type_rows(place).count()).sum();
            return Some((rows, codes(&loaded.diagnostics)));
        }
        _ => return None,
    };
    let references: usize = graph.nodes().map(|node| graph.references(node).len()).sum();
    assert_eq!(references, graph.reference_count());
    assert!(graph.nodes().all(|node| graph.references(node).all(|target| target.node.index() < graph.node_count())));
    let dominators = Dominators::compute(graph);
    let retained = RetainedSizes::compute(graph, &dominators);
    if let Some(last) = graph.nodes().next_back() {
        assert!(!graph.display_id(last).is_empty());
        let path = find_root_paths(graph, last, 1, false, |_| false);
        let is_retained = retained.bytes_of(&dominators, last).is_some();
        assert!(path.is_empty() != is_retained || (path.is_empty() && graph.has_unheld_in_dominator_tree()));
    }
    Some((graph.node_count(), codes(&loaded.diagnostics)))
}

fn codes(diagnostics: &Diagnostics) -> Vec<String> {
    diagnostics.sorted().iter().map(|problem| problem.code.to_string()).collect()
}

/// Callers come before callees, entries have a place, and all types together have no more than there is.
fn walk(dump: &AllocationDump) -> usize {
    for heap in &dump.heaps {
        assert!((1..=dump.dumps.len()).contains(&heap.dump_number));
        let frames = heap.frames.iter().enumerate().skip(1);
        frames.for_each(|(at, frame)| assert!((frame.parent() as usize) < at));
        assert!(heap.entries.iter().all(|entry| (entry.frame() as usize) < heap.frames.len()));
        let totals =
            AllocationTotals::compute(heap, &TotalsOptions { max_depth: 500, is_by_type: true, is_type_wanted: None });
        let types = totals.type_amounts_at(0).iter().fold(0u64, |sum, amount| sum.saturating_add(amount.total.bytes));
        assert!(types <= totals.total_at(0).bytes, "{types} bytes of {}", totals.total_at(0).bytes);
    }
    dump.heaps.iter().map(|heap| heap.entries.len()).sum()
}

test_each_format!(a_cut_is_always_reported, reports_cuts);

fn reports_cuts(fixture: &Fixture) {
    if !fixture.expected["error"].is_string() {
        // Cuts are read on all threads, changes on one.
        let (bytes, options) =
            (fixture.bytes(), ReadOptions { threads: ReadOptions::default().threads, ..options(fixture) });
        let step = if bytes.len() <= SMALL { 1 } else { bytes.len().div_ceil(CUTS_OF_LARGE) };
        // What stands behind a dump's end is no part of it.
        let has_tail = fixture.expected["problems"].get("data-after-end").is_some();
        let whole = has_tail.then(|| survives(&bytes, &options).expect("a dump").0);
        for length in (0..bytes.len()).step_by(step) {
            let Some((objects, problems)) = survives(&bytes[..length], &options) else { continue };
            if whole == Some(objects) {
                continue;
            }
            let signs = [
                "missing-end-record",
                "truncated-line",
                "missing-trailer",
                "broken-compression",
                "truncated",
                "no-end",
                "unterminated-array",
                "no-total",
                "wrong-total",
            ];
            let reported = problems.iter().any(|problem| signs.contains(&&**problem));
            // A line end behind a trace is no loss.
            if fixture.has_no_objects() && !is_packed(fixture) && bytes[length..].trim_ascii().is_empty() {
                continue;
            }
            // Ruby's lines have no trailer behind them, and lists of mapped files have none: a cut between two of them cannot be seen.
            let is_between_lines = bytes[..length].ends_with(b"\n") || bytes[length..].starts_with(b"\n");
            let has_no_trailer = ["ruby-objspace", "gperftools", "jemalloc"].contains(&fixture.format.as_str());
            if has_no_trailer && !is_packed(fixture) && is_between_lines {
                continue;
            }
            // Between two histograms nothing is open.
            let text = String::from_utf8_lossy(&bytes[..length]);
            let last = text.lines().rfind(|line| line.contains("Total ") || line.to_lowercase().contains("class name"));
            let is_closed = last.is_some_and(|line| line.contains("Total "));
            if fixture.has_no_objects() && fixture.expected["model"] == "types" && is_closed {
                continue;
            }
            assert!(
                reported || harmless(&bytes, length, is_packed(fixture)),
                "{} cut at {length}: {problems:?}",
                fixture.name()
            );
        }
    }
}

/// Cuts that take nothing away that a reader could miss: blanks (U+00A0 too) at the end, or all of a later XNA section.
fn harmless(bytes: &[u8], length: usize, packed: bool) -> bool {
    if packed {
        return false;
    }
    let text: Vec<u8> = bytes[..length].iter().copied().filter(|byte| *byte != 0).collect();
    let last =
        text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).rfind(|line| !matches!(line, [] | [0xC2, 0xA0]));
    last.is_none_or(|line| {
        line.starts_with(b"c") || line.starts_with(b"// EOF") || line.starts_with(b"{\"end\":") && line.ends_with(b"}")
    })
}

test_each_format!(changed_bytes_never_panic, survives_changed_bytes);

fn survives_changed_bytes(fixture: &Fixture) {
    let (mut bytes, options) = (fixture.bytes(), options(fixture));
    let step = if bytes.len() <= SMALL { 1 } else { bytes.len().div_ceil(CUTS_OF_LARGE) };
    for at in (0..bytes.len()).step_by(step) {
        let before = bytes[at];
        let values: &[u8] =
            if bytes.len() <= SMALL { &[0, b' ', b'\n', b'0', b'x', b'a', 0xFF] } else { &[0xFF, b'\n'] };
        for &value in values {
            bytes[at] = value;
            survives(&bytes, &options);
        }
        bytes[at] = before;
    }
}

/// A generator of numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// The dump without its packing, so that damage meets the reader and not a checksum.
fn unpacked(fixture: &Fixture) -> Vec<u8> {
    let mut source = Source::open(&fixture.path).expect("a dump");
    let mut bytes = vec![0; 4 << 20];
    let length = source.fill(&mut bytes).expect("readable");
    bytes.truncate(length);
    bytes
}

/// What happens to files: bits turn, blocks are lost, written twice, from another file or of zeros; the end is missing.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let longest = 1 << random.below(13);
        let length = 1 + random.below(longest);
        let end = (at + length).min(bytes.len());
        match random.below(9) {
            0 => bytes[at..end].fill(0),
            1 => bytes[at..end].fill(0xFF),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.extend_from_within(at..end),
            4 => bytes.truncate(at.max(1)),
            5 => {
                let from = random.below(other.len());
                let part = &other[from..other.len().min(from + length)];
                bytes.splice(at..at, part.iter().copied());
            }
            6 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            7 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
}

#[test]
fn a_thousand_damaged_dumps_of_each_format_never_panic() {
    const TIMES: usize = 1000;
    /// Larger ones take their turn less often.
    const LARGE: usize = 100_000;
    let mut formats: BTreeMap<String, Vec<(Vec<u8>, ReadOptions)>> = BTreeMap::new();
    for fixture in all().iter().filter(|fixture| !fixture.expected["error"].is_string()) {
        formats.entry(fixture.format.clone()).or_default().push((unpacked(fixture), options(fixture)));
    }
    assert_eq!(formats.len(), 16);
    for (format, dumps) in &mut formats {
        dumps.sort_by_key(|(bytes, _)| bytes.len());
        let small = dumps.partition_point(|(bytes, _)| bytes.len() < LARGE).max(1);
        (0..TIMES).into_par_iter().for_each(|number| {
            let mut random = Random(number as u64 + 1);
            let among = if number % 10 == 0 { dumps.len() } else { small };
            let (bytes, options) = &dumps[random.below(among)];
            let mut bytes = bytes.clone();
            damage(&mut bytes, &dumps[random.below(among)].0, &mut random);
            // Says which when it fails: the default panic message does not.
            let outcome = std::panic::catch_unwind(|| survives(&bytes, options));
            assert!(outcome.is_ok(), "{format}: number {number}");
        });
    }
}

/// Floods of sections, of records with one id or with ids far apart, of roots, of what is none: the work grows with them.
#[test]
fn floods_take_linear_work() {
    const COUNT: usize = 500_000;
    let flood = |head: &str, line: &str| [head, &line.repeat(COUNT)].concat().into_bytes();
    let lines = (0..COUNT as u64).map(|at| format!("o {:x} {:x} 1\n", at << 40, at << 44));
    let far_apart = format!("a 2 x\n{}", lines.collect::<String>());
    assert_linear("ids far apart", &["stats"], far_apart.as_bytes());
    let roots = [flood("a 2 x\n", "t 1 A\n"), flood("", "r 1 9 99\n")].concat();
    assert_linear("types and roots", &["stats"], &roots);
    for (head, line) in [
        ("", "a 2 x\no 1 1 1 2\n"),
        ("a 2 x\n", "o 1 1 1\n"),
        ("// Version: x\n", "0x"),
        ("// Version: x\n", "0x1 [1]\n"),
        ("// Version: x\n0x1 [99999999999999999999] OBJ a\n", "junk "),
        ("// Version: x\n0x10 [8] OBJ a\n", "// Breakdown - Classes: 1\n"),
        ("// Version: x\n0x10 [8] OBJ a\n\t", "0x0000000000000010 "),
        (" num     #instances         #bytes  class name\n   1: ", "111,111,111,111,"),
    ] {
        assert_linear(line, &["stats"], &flood(head, line));
    }
    let far_behind = format!("{}num #instances #bytes class name\n", "x ".repeat(30_000));
    assert_linear("words before a heading", &["stats"], &flood(&far_behind, "1:\n"));
}

/// Numbers that would be sizes of something if they were believed, nests of records, floods of sections.
/// No graph is larger than its text allows.
#[test]
fn hostile_texts_make_no_large_graphs() {
    let flood = |line: &str, times: usize| line.repeat(times).into_bytes();
    let texts: Vec<Vec<u8>> = vec![
        b"a 2 x\no ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff\nc x\n".to_vec(),
        [b"a 2 x\n".to_vec(), flood("o 1 1 ffffffffffffffff 1\n", 1000), b"c x\n".to_vec()].concat(),
        flood("a 2 x\no 1 1 1 2\n", 60_000),
        [b"a 2 x\n".to_vec(), flood("o 1 1 1\n", 200_000)].concat(),
        [
            b"a 2 x\n".to_vec(),
            (0..100_000u64).flat_map(|i| format!("o {:x} {:x} 1\n", i << 40, i << 44).into_bytes()).collect(),
        ]
        .concat(),
        [b"a 2 x\n".to_vec(), flood("t 1 A\n", 100_000), flood("r 1 9 99\n", 100_000)].concat(),
        [b"// Version: x\n".to_vec(), flood("0x", 500_000)].concat(),
        [b"// Version: x\n".to_vec(), flood("0x1 [1]\n", 100_000)].concat(),
        [b"// Version: x\n0x1 [99999999999999999999] OBJ a\n".to_vec(), flood("junk ", 200_000)].concat(),
        [b"// Version: x\n".to_vec(), flood("0xFFFFFFFFFFFFFFFF [18446744073709551615] OBJ a\n\t0x1 \n", 1000)]
            .concat(),
        [b"// Version: x\n".to_vec(), flood("// Breakdown - Classes: 1\n", 50_000)].concat(),
        [b"// Version: x\n0x10 [8] OBJ a\n\t".to_vec(), flood("0x0000000000000010 ", 200_000)].concat(),
    ];
    for text in texts {
        let head = String::from_utf8_lossy(&text[..60.min(text.len())]);
        match read(&text, &ReadOptions::default()).map(|loaded| loaded.dump) {
            Err(error) => assert!(error.to_string().contains("no object could be read"), "{head}: {error}"),
            Ok(Dump::Graph(graph)) => {
                let (nodes, references, others) = graph.memory_bytes();
                let bytes = nodes + references + others;
                assert!(bytes < 4096 + 16 * text.len(), "{head}: {bytes} bytes of {}", text.len());
                assert!(survives(&text, &ReadOptions::default()).is_some(), "{head}");
            }
            Ok(_) => panic!("{head}: no graph"),
        }
    }
}

/// Lengths of a zstd frame cut behind each of its blocks.
fn block_ends(frame: &[u8]) -> Vec<usize> {
    let descriptor = frame[4];
    let is_single = descriptor & 0x20 != 0;
    let size_bytes = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
    let mut at = 5 + usize::from(!is_single) + size_bytes;
    let mut ends = Vec::new();
    loop {
        let head = u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], 0]);
        at += 3 + if head >> 1 & 3 == 1 { 1 } else { (head >> 3) as usize };
        ends.push(at);
        if head & 1 != 0 {
            return ends;
        }
    }
}

/// Finding A19: all that was decoded counts, the last window too, which the decoder keeps to the end of the frame.
#[test]
fn a_cut_zstd_frame_gives_all_of_its_whole_blocks() {
    const BLOCK_BYTES: usize = 128 << 10;
    let mut plain = String::from("a 1 cut.exe 1\nt 1 App.Node\n");
    (1..40_000).for_each(|at| plain += &format!("o {:x} 1 18 {:x}\n", at * 16, (at * 7919 % 40_000) * 16));
    plain += "r 10 4 0 1\nc cut.exe 2\n";
    let packed = ruzstd::encoding::compress_to_vec(plain.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let ends = block_ends(&packed);
    assert!(ends.len() > 4);
    let stats = |bytes: &[u8]| {
        let ran = run_with_input(&["stats", "-f", "json", "-"], bytes).expect_code(0);
        (ran.json()["totals"].clone(), ran.stderr)
    };
    for blocks in [1, 2, ends.len() - 1] {
        let (expected, _) = stats(&plain.as_bytes()[..blocks * BLOCK_BYTES]);
        // Behind a block, within the head of the next one, and within that.
        for cut in [ends[blocks - 1], ends[blocks - 1] + 2, ends[blocks] - 1] {
            let (totals, messages) = stats(&packed[..cut]);
            assert_eq!(totals, expected, "cut at {cut}");
            assert!(messages.contains("a zstd frame is cut or damaged"), "{messages}");
        }
    }
    let (whole, _) = stats(plain.as_bytes());
    // The checksum alone is missing.
    let (totals, messages) = stats(&packed[..packed.len() - 2]);
    assert_eq!(totals, whole);
    assert!(messages.contains("a zstd frame is cut or damaged"), "{messages}");
}
