//! `heapdump completions SHELL`

use anyhow::Result;
use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use crate::answers::breakdown::BreakdownOrder;
use crate::answers::diff::DiffOrder;
use crate::answers::dominator_tree::DominatorOrder;
use crate::answers::histogram::HistogramOrder;
use crate::answers::objects::ObjectOrder;
use crate::answers::referrers::ReferrerOrder;
use crate::answers::strings::StringOrder;
use crate::answers::threads::ThreadOrder;
use crate::answers::waste::WasteOrder;
use crate::answers::{DiffBy, FileOrder, HistogramOptions, Order, RetainedBy};
use crate::cli::Outcome;
use crate::cli::terminal::target::{find_target, write};

/// Completions for a shell
///
/// Example: heapdump completions bash > ~/.local/share/bash-completion/completions/heapdump
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// `program`: the whole command line.
pub(crate) fn run(args: &Args, program: Command) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_columns(program), "heapdump", &mut script);
    write(&find_target(&[], None)?, &script)?;
    Ok(Outcome::Done)
}

/// The command line with the columns that each `--sort` takes.
fn with_columns(command: Command) -> Command {
    fn first<W: AsRef<[&'static str]>, T>(orders: &[(W, T)]) -> Vec<&'static str> {
        orders.iter().map(|(words, _)| words.as_ref()[0]).collect()
    }
    let of_types = HistogramOptions { retained: Some(RetainedBy::Minimum), ..HistogramOptions::default() };
    let columns = [
        ("breakdown", first(BreakdownOrder::WORDS)),
        ("diff", first(&DiffOrder::words(DiffBy::default(), true, true))),
        ("dominators", first(DominatorOrder::WORDS)),
        ("info", first(FileOrder::WORDS)),
        ("list", first(ObjectOrder::WORDS)),
        ("referrers", first(ReferrerOrder::WORDS)),
        ("stats", first(&HistogramOrder::words(&of_types, true, false))),
        ("strings", first(StringOrder::WORDS)),
        ("threads", first(ThreadOrder::WORDS)),
        ("waste", first(WasteOrder::WORDS)),
    ];
    columns.into_iter().fold(command, |command, (name, columns)| {
        let parser = PossibleValuesParser::new(columns);
        command.mut_subcommand(name, |sub| sub.mut_arg("sort", |sort| sort.value_parser(parser)))
    })
}
