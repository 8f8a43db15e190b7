//! `heapdump diff OLD NEW`: what grew between two dumps.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::Outcome;
use super::allocations::HeapArgs;
use super::common::Common;
use super::diff_allocations::{self, DiffBy};
use super::load::{OpenedDump, open_dump};
use crate::report::parse_size;

/// What grew between two dumps
///
/// Types, or backtraces with --by backtrace, that have changed, the largest growth first. Two dumps of one trace are
/// compared with --dump OLD,NEW.
///
/// Example: heapdump diff before.json after.json --by backtrace
/// Example: heapdump diff trace.json --dump 1,4
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, override_usage = "heapdump diff [OPTIONS] OLD NEW")]
pub(super) struct Args {
    /// The two dumps; one of them may be -
    #[arg(value_names = ["OLD", "NEW"], num_args = 1..=2, required = true)]
    files: Vec<PathBuf>,
    /// What to join by
    #[arg(long, value_enum, default_value = "type", value_name = "AXIS")]
    by: DiffBy,
    /// What has not changed too
    #[arg(long)]
    all: bool,
    /// Exit code 1 when the heap grew by more than this
    #[arg(long, value_name = "SIZE")]
    fail_over: Option<String>,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let fail_over = match &args.fail_over {
        Some(text) => Some(parse_size(text).map_err(anyhow::Error::msg).context("--fail-over")?),
        None => None,
    };
    let opened = args.files.iter().map(|file| open_dump(Some(file), &args.common)).collect::<Result<Vec<_>>>()?;
    let mut allocations = Vec::new();
    for dump in opened {
        match dump {
            OpenedDump::Allocations(dump) => allocations.push(dump),
            OpenedDump::Graph(_) => bail!("diff compares dumps of allocation totals; one of these holds objects"),
        }
    }
    diff_allocations::run(&diff_allocations::Request {
        dumps: &allocations,
        by: args.by,
        all: args.all,
        fail_over,
        heaps: &args.heaps,
        common: &args.common,
    })
}
