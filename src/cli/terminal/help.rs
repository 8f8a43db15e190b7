//! Help, with the commands in groups, and usage errors: clap repeats the arguments it cannot use, which are as foreign as
//! names from a dump.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap::error::ErrorKind;

use crate::answers::strings::no_such_file_message;
use crate::report::{escape_controls, is_control_like};

/// Commands by what a user wants to know. Commands missing from this list are shown under "More".
const COMMAND_GROUPS: [(&str, &[&str]); 6] = [
    ("A dump of a live process", &["collect"]),
    ("What is there", &["info", "stats", "list", "show", "explore"]),
    ("Why it is there", &["roots", "referrers", "dominators", "leaks", "threads", "breakdown", "diff", "trend"]),
    ("What could be smaller", &["strings", "waste"]),
    ("For others, for later, for other programs", &["report", "redact", "index", "export", "mcp"]),
    ("This program", &["completions", "man", "help"]),
];
const HELP_COMMAND_ABOUT: &str = "This text, or the help of a command";

pub(crate) fn with_command_groups(command: Command) -> Command {
    let template = help_template(&command);
    command.help_template(template)
}

fn help_template(command: &Command) -> String {
    let known: Vec<(&str, String)> = command
        .get_subcommands()
        .map(|sub| (sub.get_name(), sub.get_about().map(ToString::to_string).unwrap_or_default()))
        .chain([("help", HELP_COMMAND_ABOUT.to_string())])
        .collect();
    let width = known.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let grouped = |name: &str| COMMAND_GROUPS.iter().any(|(_, names)| names.contains(&name));
    let more: Vec<&str> = known.iter().map(|&(name, _)| name).filter(|name| !grouped(name)).collect();
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n\n");
    for (title, names) in COMMAND_GROUPS.iter().copied().chain([("More", more.as_slice())]) {
        let mut lines = String::new();
        for (name, about) in names.iter().filter_map(|wanted| known.iter().find(|(name, _)| name == wanted)) {
            lines += &format!("  {literal}{name}{literal:#}{:1$}  {about}\n", "", width - name.len());
        }
        if !lines.is_empty() {
            text += &format!("{header}{title}:{header:#}\n{lines}\n");
        }
    }
    text + &format!("{header}Options:{header:#}\n{{options}}{{after-help}}")
}

/// Prints clap's error or help and ends the process.
pub(crate) fn exit_with_message(error: &clap::Error, words: &[OsString], command: Command) -> ! {
    if let Some(file) =
        words.get(1).filter(|word| error.kind() == ErrorKind::InvalidSubcommand && Path::new(word).is_file())
    {
        let file = escape_controls(&file.to_string_lossy()).into_owned();
        let _ = writeln!(io::stderr(), "heapdump: {file} is a file; for what is in it: heapdump stats {file}");
        std::process::exit(error.exit_code());
    }
    // `heapdump strings TEXT FILE`.
    if let [_, command, text, file] = words
        && (command == "strings" && error.kind() == ErrorKind::UnknownArgument && Path::new(file).exists())
    {
        let text = escape_controls(&no_such_file_message(&text.to_string_lossy())).into_owned();
        let _ = writeln!(io::stderr(), "heapdump: {text}");
        std::process::exit(error.exit_code());
    }
    let mut controls: Vec<char> = words.iter().flat_map(word_chars).filter(|&ch| is_control_like(ch)).collect();
    if controls.is_empty() {
        error.exit();
    }
    controls.sort_unstable();
    controls.dedup();
    let text = escaped_message(error, words, &controls, command);
    // Nothing is left to report it to when the output is closed.
    let _ = match error.use_stderr() {
        true => io::stderr().write_all(text.as_bytes()),
        false => io::stdout().write_all(text.as_bytes()),
    };
    std::process::exit(error.exit_code())
}

/// The message, parsed again from words in which one private character stands for each control-like one: clap's own line
/// ends remain the only ones, and a short option remains one character.
fn escaped_message(error: &clap::Error, words: &[OsString], controls: &[char], command: Command) -> String {
    let is_free = |ch: &char| words.iter().all(|word| word_chars(word).all(|known| known != *ch));
    let stand_ins: Vec<char> = ('\u{100000}'..='\u{10FFFD}').filter(is_free).take(controls.len()).collect();
    let pairs = || controls.iter().copied().zip(stand_ins.iter().copied());
    let harmless = words.iter().map(|word| {
        let stand_in = |ch: char| pairs().find(|(control, _)| *control == ch).map_or(ch, |(_, stand_in)| stand_in);
        OsString::from(word_chars(word).map(stand_in).collect::<String>())
    });
    let again = command.try_get_matches_from(harmless.collect::<Vec<_>>()).err();
    // Words that are not Unicode are another error, or none, once they are text.
    let again = again.filter(|again| again.kind() == error.kind());
    let message = again.as_ref().unwrap_or(error).render().to_string();
    let lines: Vec<_> = message.split('\n').map(escape_controls).collect();
    pairs().fold(lines.join("\n"), |text, (control, stand_in)| {
        text.replace(stand_in, &control.escape_unicode().to_string())
    })
}

fn word_chars(word: &OsString) -> impl Iterator<Item = char> {
    word.to_string_lossy().chars().collect::<Vec<_>>().into_iter()
}
