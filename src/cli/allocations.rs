//! Which heaps of a dump of allocation totals a command works on, and how it names them.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::common::{ReadArgs, SectionArgs};
use super::output::{fields, print_sentence};
use crate::allocations::{AllocationDump, AllocationHeap, NameId};
use crate::analysis::allocation_totals::Amount;
use crate::analysis::selection::TypePattern;
use crate::answers::HeapChoice;
use crate::report::count_of;

/// Options that choose heaps of allocation totals.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Allocation totals")]
pub(super) struct HeapArgs {
    /// Which of several memory dumps [default: the last with heaps]
    #[arg(long, value_name = "N|all|last", hide_short_help = true)]
    pub(super) dump: Option<String>,
    /// Heaps of one process
    #[arg(long, value_name = "PID|NAME", hide_short_help = true)]
    pub(super) process: Option<String>,
    /// Heaps of one allocator
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) allocator: Option<String>,
}

impl HeapArgs {
    /// Object graphs have one dump, and no allocators.
    pub(super) fn refuse_on_objects(&self) -> Result<()> {
        if self.process.is_some() || self.allocator.is_some() {
            bail!("the dump holds objects: it has no processes with allocators; --domain chooses a section");
        }
        match self.dump.as_deref() {
            None | Some("1" | "all" | "last") => Ok(()),
            Some(other) => bail!("--dump: the file has one dump, there is no \"{other}\""),
        }
    }

    /// The same as the library takes it; `--snapshot` and `--domain` choose too.
    pub(super) fn choice(&self, section: &SectionArgs, read: &ReadArgs) -> HeapChoice {
        HeapChoice {
            dump: self.dump.clone(),
            snapshot: read.snapshot.clone(),
            process: self.process.clone(),
            allocator: self.allocator.clone(),
            section: section.domain.clone(),
        }
    }

    /// The heaps asked for, in the order of the file.
    pub(super) fn choose<'d>(
        &self,
        dump: &'d AllocationDump,
        section: &SectionArgs,
        read: &ReadArgs,
    ) -> Result<Vec<&'d AllocationHeap>> {
        let asked = self.dump.as_deref().or(read.snapshot.as_deref()).unwrap_or("last");
        let number = match asked {
            "all" => None,
            "last" => Some(dump.dumps.len()),
            _ => match asked.parse::<usize>() {
                Ok(number) if (1..=dump.dumps.len()).contains(&number) => Some(number),
                _ => bail!("--dump: no dump \"{asked}\"; there are 1 to {}, last, and all", dump.dumps.len()),
            },
        };
        if let (None, None, Some(number), false) = (&self.dump, &read.snapshot, number, read.quiet) {
            tell_of_fuller_dump(dump, number);
        }
        let of_dump: Vec<&AllocationHeap> =
            dump.heaps.iter().filter(|heap| number.is_none_or(|number| heap.dump == number)).collect();
        let mut heaps = of_dump.clone();
        if let Some(process) = self.process.as_deref() {
            heaps.retain(|heap| is_process(heap, process));
        }
        if let Some(domain) = section.domain.as_deref() {
            let sections = processes(dump);
            let numbered = domain.parse::<usize>().ok().and_then(|number| sections.get(number.checked_sub(1)?));
            heaps.retain(|heap| match numbered {
                Some(&section) => (heap.pid, heap.part) == section,
                None => is_process(heap, domain),
            });
        }
        if let Some(allocator) = self.allocator.as_deref() {
            heaps.retain(|heap| heap.allocator == allocator);
        }
        if heaps.is_empty() {
            let mut there: Vec<String> = of_dump.iter().map(|heap| heap_title(heap)).collect();
            there.dedup();
            bail!("no heap fits --dump, --process and --allocator; there are: {}", there.join("; "));
        }
        Ok(heaps)
    }
}

/// Some dumps of a trace are lighter than others, and hold heaps of fewer allocators.
fn tell_of_fuller_dump(dump: &AllocationDump, chosen: usize) {
    let heaps_of = |number: usize| dump.heaps.iter().filter(|heap| heap.dump == number).count();
    let own = heaps_of(chosen);
    // The latest of the fullest.
    let fullest = (1..=dump.dumps.len()).max_by_key(|&number| (heaps_of(number), number)).unwrap_or(chosen);
    if heaps_of(fullest) > own {
        print_sentence(&format!(
            "note: dump {chosen} is the last and has {}, dump {fullest} has {}; --dump {fullest} shows those",
            count_of(own as u64, "heaps"),
            heaps_of(fullest)
        ));
    }
}

fn is_process(heap: &AllocationHeap, asked: &str) -> bool {
    heap.pid.to_string() == asked || heap.process == asked || process_title(heap) == asked
}

/// (process number, part) of every process, in the order of the file.
pub(super) fn processes(dump: &AllocationDump) -> Vec<(i64, u32)> {
    let mut found = Vec::new();
    for heap in &dump.heaps {
        if !found.contains(&(heap.pid, heap.part)) {
            found.push((heap.pid, heap.part));
        }
    }
    found
}

/// `Browser`, or the number of a process without a name; with its place where several have one number.
pub(super) fn process_title(heap: &AllocationHeap) -> String {
    let name = if heap.process.is_empty() { format!("process {}", heap.pid) } else { heap.process.clone() };
    if heap.part > 1 { format!("{name} #{}", heap.part) } else { name }
}

/// `dump 1, Browser (4315), malloc`.
pub(super) fn heap_title(heap: &AllocationHeap) -> String {
    let number = if heap.process.is_empty() { String::new() } else { format!(" ({})", heap.pid) };
    format!("dump {}, {}{number}, {}", heap.dump, process_title(heap), heap.allocator)
}

/// What JSON has of every heap.
pub(super) fn heap_json(heap: &AllocationHeap, total: &Amount) -> Map<String, Value> {
    let mut json = fields(json!({
        "process": (!heap.process.is_empty()).then_some(heap.process.as_str()),
        "pid": heap.pid,
        "dump": heap.dump,
        "allocator": heap.allocator,
        "total_bytes": total.bytes,
        "allocations": total.allocations,
    }));
    if heap.part > 1 {
        json.insert("part".into(), heap.part.into());
    }
    if !heap.labels.is_empty() {
        json.insert("labels".into(), heap.labels.as_str().into());
    }
    if total.at_least {
        json.insert("at_least".into(), true.into());
    }
    json
}

/// Heaps that would need more pairs of backtrace and type than are kept.
///
/// # Errors
/// When any were left out: figures by type would be too small without saying so.
pub(super) fn refuse_left_out(heap: &AllocationHeap, pairs_left_out: u64) -> Result<()> {
    if pairs_left_out > 0 {
        bail!("{}: too many pairs of backtrace and type; a smaller --depth tells fewer apart", heap_title(heap));
    }
    Ok(())
}

/// Which names the pattern means; `None` without a pattern.
pub(super) fn wanted_types<'d>(
    dump: &'d crate::allocations::Names,
    pattern: Option<&'d TypePattern>,
) -> Option<impl Fn(NameId) -> bool + 'd> {
    pattern.map(|pattern| move |name: NameId| pattern.matches(dump.text(name)))
}
