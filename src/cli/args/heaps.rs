//! Which heaps of a dump of allocation totals a command works on, and how it names them.

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use crate::allocations::{AllocationDump, AllocationHeap, NameId};
use crate::analysis::allocation_totals::Amount;
use crate::analysis::selection::TypePattern;
use crate::answers::HeapChoice;
use crate::answers::heaps::{FullerDump, HeapRow, title_of};
use crate::cli::args::options::{ReadArgs, SectionArgs};
use crate::cli::terminal::asking::explain;
use crate::cli::terminal::output::{fields, print_sentence};
use crate::report::count_of;

/// Options that choose heaps of allocation totals.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Allocation totals")]
pub(crate) struct HeapArgs {
    /// Which of several memory dumps [default: the last with heaps]
    #[arg(long, value_name = "N|all|last", hide_short_help = true)]
    pub(crate) dump: Option<String>,
    /// Heaps of one process
    #[arg(long, value_name = "PID|NAME", hide_short_help = true)]
    pub(crate) process: Option<String>,
    /// Heaps of one allocator
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) allocator: Option<String>,
}

impl HeapArgs {
    /// Object graphs have one dump, and no allocators.
    pub(crate) fn refuse_on_objects(&self, section: &SectionArgs, read: &ReadArgs) -> Result<()> {
        self.choice(section, read).check_on_objects().map_err(explain)
    }

    /// The same as the library takes it; `--snapshot` and `--domain` choose too.
    pub(crate) fn choice(&self, section: &SectionArgs, read: &ReadArgs) -> HeapChoice {
        HeapChoice {
            dump: self.dump.clone(),
            snapshot: read.snapshot.clone(),
            process: self.process.clone(),
            allocator: self.allocator.clone(),
            section: section.domain.clone(),
        }
    }

    /// The heaps asked for, in the order of the file.
    pub(crate) fn choose<'d>(
        &self,
        dump: &'d AllocationDump,
        section: &SectionArgs,
        read: &ReadArgs,
    ) -> Result<Vec<&'d AllocationHeap>> {
        let chosen = self.choice(section, read).choose(dump).map_err(explain)?;
        if let (Some(fuller), false) = (&chosen.fuller_dump, read.quiet) {
            note_fuller_dump(fuller);
        }
        Ok(chosen.heaps)
    }
}

/// Says that an earlier memory dump has more heaps than the one that was chosen by default.
pub(crate) fn note_fuller_dump(found: &FullerDump) {
    let FullerDump { chosen, chosen_heaps, fullest, fullest_heaps } = found;
    let own = count_of(*chosen_heaps as u64, "heaps");
    print_sentence(&format!(
        "note: dump {chosen} is the last and has {own}, dump {fullest} has {fullest_heaps}; --dump {fullest} shows those"
    ));
}

/// What JSON has of every heap.
pub(crate) fn heap_json(heap: &AllocationHeap, total: &Amount) -> Map<String, Value> {
    serde_json::to_value(HeapRow::new(heap, total)).map(fields).unwrap_or_default()
}

/// Heaps that would need more pairs of backtrace and type than are kept.
///
/// # Errors
/// When any were left out: figures by type would be too small without saying so.
pub(crate) fn refuse_left_out(heap: &AllocationHeap, pairs_left_out: u64) -> Result<()> {
    if pairs_left_out > 0 {
        bail!("{}: too many pairs of backtrace and type; a smaller --depth tells fewer apart", title_of(heap));
    }
    Ok(())
}

/// Which names the pattern means; `None` without a pattern.
pub(crate) fn wanted_types<'d>(
    dump: &'d crate::allocations::Names,
    pattern: Option<&'d TypePattern>,
) -> Option<impl Fn(NameId) -> bool + 'd> {
    pattern.map(|pattern| move |name: NameId| pattern.matches(dump.text(name)))
}
