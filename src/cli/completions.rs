//! `heapdump completions SHELL`

use anyhow::Result;
use clap_complete::Shell;

use super::target::{find_target_of_text, write};
use super::{Outcome, overview};

/// Completions for a shell
///
/// Example: heapdump completions bash > ~/.local/share/bash-completion/completions/heapdump
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut overview::command(), "heapdump", &mut script);
    write(&find_target_of_text(None)?, &script)?;
    Ok(Outcome::Done)
}
