//! Arguments of `roots`.

use std::ffi::OsString;

use crate::cli::args::options::{Common, LimitArgs, ScopeArgs};

/// Why an object is alive: paths to it from GC roots
///
/// Each is the shortest path from one object that a root holds. Weak roots hold nothing; --all-kinds shows them.
/// Exit code 1 when no strong root reaches the object.
///
/// With --type the paths of all objects of some types, merged by type from the roots down. Objects that another of
/// them holds count there: their own rows retain 0.
///
/// Example: heapdump roots 7fe45 dump.txt
///
/// Example: heapdump roots --type BubbleGame.Level dump.txt
///
/// Example: heapdump roots 7fe45 dump.txt --merge
///
/// Example: heapdump roots 7fe45 dump.txt --paths 3 -f json | jq '.paths[].root.kind'
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    override_usage = "heapdump roots [OPTIONS] OBJID [FILE]\n       heapdump roots [OPTIONS] <--type PATTERN | --where EXPR> [FILE]"
)]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    pub(crate) words: Vec<OsString>,
    /// Paths from this many different rooted objects, shortest first; 0 for all
    #[arg(long, default_value_t = 1, default_value_if("merge", "true", "0"), value_name = "N", conflicts_with_all = ["type_pattern", "not_type", "filter"])]
    pub(crate) paths: usize,
    /// All paths as one tree, merged by type from the roots down
    #[arg(long, conflicts_with_all = ["type_pattern", "not_type", "filter"])]
    pub(crate) merge: bool,
    /// Walk around objects of these types: known holders that are not in question
    #[arg(long, value_name = "TYPE")]
    pub(crate) exclude: Vec<String>,
    /// Walk weak roots too
    #[arg(long)]
    pub(crate) all_kinds: bool,
    /// Of trees, leave out rows of fewer of the objects or paths, in percent; the largest of each level stays [default: none; in tables on a terminal without -n all but the largest rows, some 40 lines]
    #[arg(long, value_name = "PERCENT", conflicts_with = "paths")]
    pub(crate) min_percent: Option<f64>,
    #[command(flatten)]
    pub(crate) limit: LimitArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}
