//! `heapdump man`: manual pages, made of the same texts as `--help`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::CommandOutcome;
use crate::cli::terminal::output_target::{find_target, write_output};

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
            let (name, text) = manual_page(command)?;
            let path = folder.join(format!("{name}.1"));
            write_output(&find_target(&[], Some(&path))?, &text)?;
        }
        return Ok(CommandOutcome::Answered);
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
    write_output(&find_target(&[], None)?, &manual_page(command)?.1)?;
    Ok(CommandOutcome::Answered)
}

/// Exit codes, which every page lists.
const EXIT_CODES: [(&str, &str); 3] = [
    ("0", "Done."),
    ("1", "The answer is no: not reachable, nothing matches --type, over --fail-over."),
    ("2", "An error: wrong usage, unreadable input, an unknown format or object, a problem under --strict."),
];
const ENVIRONMENT_VARIABLES: [(&str, &str); 2] = [
    ("HEAPDUMP_FILE", "The dump, where a command line names none."),
    ("NO_COLOR", "No colours, when it is set to anything."),
];

/// A page and its name, `heapdump-stats`.
pub(crate) fn manual_page(command: Command) -> Result<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let after = command.get_after_help().map(ToString::to_string);
    let (examples, text): (Vec<&str>, Vec<&str>) =
        about.split("\n\n").chain(after.as_deref()).partition(|paragraph| paragraph.starts_with("Example: "));
    let has_commands = command.has_subcommands();
    // The first paragraph of a command stands under NAME.
    let text = if text.len() > 1 && !has_commands { text[1..].join("\n\n") } else { text.join("\n\n") };
    // The short usage: all options in a row are of no help.
    let usage = command.clone().render_usage().to_string();
    let command = command
        .long_about(text)
        .override_usage(usage.trim_start_matches("Usage: ").to_string())
        .subcommand_help_heading("COMMANDS")
        .mut_args(option_for_page);

    let mut page = Vec::new();
    // By hand: clap_mangen leaves an empty date out, and what follows takes its place.
    writeln!(page, ".TH {} 1 \"\" \"heapdump {}\" \"heapdump\"", name.to_uppercase(), env!("CARGO_PKG_VERSION"))?;
    let man = Man::new(command);
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    let mut rest = Roff::new();
    for (number, example) in examples.iter().enumerate() {
        match number {
            0 => rest.control("SH", ["EXAMPLES"]),
            _ => rest.control("PP", []),
        };
        rest.text([bold(example.trim_start_matches("Example: "))]);
    }
    for (heading, items) in [("EXIT STATUS", &EXIT_CODES[..]), ("ENVIRONMENT", &ENVIRONMENT_VARIABLES[..])] {
        rest.control("SH", [heading]);
        for (item, meaning) in items {
            rest.control("TP", []).text([bold(*item)]).text([roman(*meaning)]);
        }
    }
    if !has_commands {
        rest.control("SH", ["SEE ALSO"]).text([bold("heapdump"), roman("(1)")]);
    }
    rest.to_writer(&mut page)?;
    Ok((name, page))
}

/// An option as a page has it: those that -h leaves out too, and its values in a sentence and not in a list.
fn option_for_page(option: Arg) -> Arg {
    let values: Vec<String> = option
        .get_possible_values()
        .iter()
        .map(|value| match value.get_help() {
            Some(help) => format!("{} ({help})", value.get_name()),
            None => value.get_name().to_string(),
        })
        .collect();
    // A flag has the values true and false.
    if values.is_empty() || !option.get_action().takes_values() {
        return option.hide_short_help(false);
    }
    let help = option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default();
    option.hide_short_help(false).hide_possible_values(true).long_help(format!("{help}; one of: {}", values.join(", ")))
}
