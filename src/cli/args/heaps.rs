//! The heaps of a dump of allocation totals that a command works on, and their names.

use crate::answers::HeapChoice;
use crate::answers::heaps::FullerDump;
use crate::cli::args::options::{ReadArgs, SectionArgs};

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
    /// As the library takes it; `--snapshot` and `--domain` choose too.
    pub(crate) fn choice(&self, section: &SectionArgs, read: &ReadArgs) -> HeapChoice {
        HeapChoice {
            dump: self.dump.clone(),
            snapshot: read.snapshot.clone(),
            process: self.process.clone(),
            allocator: self.allocator.clone(),
            section: section.domain.clone(),
        }
    }
}

/// Says that an earlier memory dump has more heaps than the one that was chosen by default.
pub(crate) fn fuller_dump_note(found: &FullerDump) -> String {
    format!("note: {}; --dump {} shows those", found.statement(), found.fullest)
}
