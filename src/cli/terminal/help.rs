//! The command line as a whole: clap's description of it, and `heapdump --help` with the commands in groups.

use std::fmt::Write;

use clap::Command;

/// Commands by what a user wants to know. Commands missing from this list are shown under "More".
const GROUPS: [(&str, &[&str]); 6] = [
    ("A dump of a live process", &["collect"]),
    ("What is there", &["info", "stats", "list", "show", "explore"]),
    ("Why it is there", &["roots", "referrers", "dominators", "leaks", "threads", "breakdown", "diff", "trend"]),
    ("What could be smaller", &["strings", "waste"]),
    ("For others, for later, for other programs", &["report", "index", "export"]),
    ("This program", &["completions", "man", "help"]),
];
const HELP_ABOUT: &str = "This text, or the help of a command";

/// The command line with its commands in groups.
pub(crate) fn in_groups(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let known: Vec<(&str, String)> = command
        .get_subcommands()
        .map(|sub| (sub.get_name(), sub.get_about().map(ToString::to_string).unwrap_or_default()))
        .chain([("help", HELP_ABOUT.to_string())])
        .collect();
    let width = known.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let more: Vec<&str> = known.iter().map(|&(name, _)| name).filter(|name| !grouped(name)).collect();
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n\n");
    for (title, names) in GROUPS.iter().copied().chain([("More", more.as_slice())]) {
        let mut lines = String::new();
        for (name, about) in names.iter().filter_map(|wanted| known.iter().find(|(name, _)| name == wanted)) {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "  {literal}{name}{literal:#}{:1$}  {about}", "", width - name.len());
        }
        if !lines.is_empty() {
            let _ = writeln!(text, "{header}{title}:{header:#}\n{lines}");
        }
    }
    text + &format!("{header}Options:{header:#}\n{{options}}{{after-help}}")
}
