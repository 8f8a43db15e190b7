//! `heapdump completions SHELL`

use anyhow::Result;
use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use crate::answers::Figure;
use crate::cli::CommandOutcome;
use crate::cli::terminal::output_target::{find_target, write_output};

/// Completions for a shell
///
/// Example: heapdump completions bash > ~/.local/share/bash-completion/completions/heapdump
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// `program`: the whole command line; `orders`: the columns of each `--sort`, by command.
pub(crate) fn run(args: &Args, program: Command, orders: &[(&str, Vec<Figure>)]) -> Result<CommandOutcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_sort_columns(program, orders), "heapdump", &mut script);
    write_output(&find_target(&[], None)?, &script)?;
    Ok(CommandOutcome::Answered)
}

/// The command line with the columns that each `--sort` takes.
fn with_sort_columns(command: Command, orders: &[(&str, Vec<Figure>)]) -> Command {
    orders.iter().fold(command, |command, (name, columns)| {
        let parser = PossibleValuesParser::new(columns.iter().map(|column| column.sort_word));
        command.mut_subcommand(name, |sub| sub.mut_arg("sort", |sort| sort.value_parser(parser)))
    })
}
