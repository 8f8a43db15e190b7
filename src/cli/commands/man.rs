//! `heapdump man`: manual pages, made of the same texts as `--help`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Command;

use crate::cli::CommandOutcome;
use crate::cli::render::manual::page;
use crate::cli::terminal::target::{find_target, write};

/// Manual pages
///
/// The page of the program, or of one of its commands, on standard output; with -o all of them, a file each.
///
/// Example: heapdump man stats | man -l -
///
/// Example: heapdump man -o ~/.local/share/man/man1
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command whose page it is [default: the program's own page]
    command: Option<String>,
    /// Write every page to this folder: heapdump.1, heapdump-stats.1, ...
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

/// `program`: the whole command line.
pub(crate) fn run(args: &Args, program: Command) -> Result<CommandOutcome> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let commands: Vec<Command> = program.get_subcommands().cloned().collect();
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for command in [program].into_iter().chain(commands) {
            let (name, text) = page(command)?;
            let path = folder.join(format!("{name}.1"));
            write(&find_target(&[], Some(&path))?, &text)?;
        }
        return Ok(CommandOutcome::Done);
    }
    let command = match &args.command {
        None => program,
        Some(wanted) => match commands.iter().find(|command| command.get_name() == wanted) {
            Some(command) => command.clone(),
            None => {
                let names: Vec<&str> = commands.iter().map(Command::get_name).collect();
                bail!("no command is called \"{wanted}\"; there are: {}", names.join(", "))
            }
        },
    };
    write(&find_target(&[], None)?, &page(command)?.1)?;
    Ok(CommandOutcome::Done)
}
