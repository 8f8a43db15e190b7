//! `heapdump completions SHELL`

use anyhow::Result;
use clap_complete::Shell;

use crate::cli::Outcome;
use crate::cli::terminal::help;
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

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "heapdump", &mut script);
    write(&find_target(&[], None)?, &script)?;
    Ok(Outcome::Done)
}
