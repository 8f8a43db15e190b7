//! Sentences of the command line as the caller of a tool would have them: commands are tools, options are arguments, and
//! advice that names what no tool has is left out.

use super::tool::Tool;

/// What ends a part of a sentence that may be left out.
const CLAUSE_ENDS: [&str; 3] = ["; ", ". ", ": "];
/// Texts that are said otherwise wherever they stand, each with what is said in its place.
const FIXED_REWORDINGS: [(&str, &str); 6] = [
    ("-n 0 shows all", "a larger \"limit\" shows more"),
    ("info lists", "summary lists"),
    ("as in stats", "as in histogram"),
    ("With OLD", "With \"old\""),
    ("OBJID", "\"object\""),
    ("--max-memory", "the server's `max-memory`"),
];

/// Words of tools for words of commands.
#[derive(Debug)]
pub struct ToolWording {
    tools: Vec<Tool>,
    /// All commands of the program.
    commands: Vec<String>,
}

impl ToolWording {
    /// The wording of these tools, in a program of these commands.
    pub fn new(tools: &[Tool], commands: Vec<String>) -> Self {
        ToolWording { tools: tools.to_vec(), commands }
    }

    /// A sentence, in answer to a call of `tool`.
    pub fn reword_sentence(&self, tool: &Tool, sentence: &str) -> String {
        // What is guessed is a name of the dump.
        let at = sentence.find("did you mean ").unwrap_or(sentence.len());
        self.reword_own_sentence(tool, &sentence[..at]) + &sentence[at..]
    }

    fn reword_own_sentence(&self, tool: &Tool, sentence: &str) -> String {
        // Of lists, which take several.
        let sentence = sentence.replace("; repeatable", "");
        let mut text = String::new();
        let (mut rest, mut end) = (sentence.as_str(), "");
        loop {
            let next = CLAUSE_ENDS.iter().filter_map(|end| Some((rest.find(end)?, *end))).min();
            let part = next.map_or(rest, |(at, _)| &rest[..at]);
            match self.reworded_clause(tool, part) {
                Some(part) => text += &format!("{end}{part}"),
                // What is wrong is said all the same.
                None if text.is_empty() => text += &with_options_as_words(part),
                None => {}
            }
            let Some((at, found)) = next else { return text };
            (rest, end) = (&rest[at + found.len()..], found);
        }
    }

    /// The lines of an answer, of which few are sentences of the program.
    pub fn reword_text(&self, tool: &Tool, text: &str) -> String {
        // Of what is not told; rows of tables have two numbers or more.
        let is_count = |text: &str| {
            let (number, what) = text.trim_start().split_once(' ').unwrap_or_default();
            number.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
                && (what.split(' ').count() < 3 && what.starts_with("more") || what.ends_with("did not grow"))
        };
        let is_own = |line: &str| {
            line.trim_start().starts_with("Look further with: heapdump ")
                || line.split_once("; -").is_some_and(|(count, _)| is_count(count))
        };
        let lines = text
            .lines()
            .map(|line| if is_own(line) { self.reword_sentence(tool, line) + "\n" } else { format!("{line}\n") });
        lines.collect()
    }

    fn tool_of_command(&self, command: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.first_command == command)
    }

    /// A part of a sentence; `None` when it names what no tool has.
    fn reworded_clause(&self, tool: &Tool, part: &str) -> Option<String> {
        let (mut text, mut rest) = (String::new(), part);
        while let Some((before, line)) = rest.split_once("heapdump ") {
            let command = line.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
            if !self.commands.iter().any(|known| known == command) {
                text += &format!("{before}heapdump ");
                rest = line;
                continue;
            }
            let is_quoted = before.ends_with('`');
            let end = if is_quoted { line.find('`') } else { line.find(", or ") }.unwrap_or(line.len());
            text += &self.reword_options(tool, before.trim_end_matches('`'))?;
            text += &self.command_line_as_call(&line[..end])?;
            rest = line[end..].trim_start_matches('`');
        }
        text += &self.reword_options(tool, rest)?;
        Some(text)
    }

    /// A line of the program, without its name, as a call: a tool and its arguments.
    fn command_line_as_call(&self, line: &str) -> Option<String> {
        let mut words = shell_words_of(line).into_iter().peekable();
        let tool = self.tool_of_command(&words.next()?)?;
        let mut places = tool.parameters.iter();
        let mut arguments = Vec::new();
        while let Some(word) = words.next() {
            let (name, value) = match word.strip_prefix("--") {
                Some(option) => {
                    let parameter = parameter_of_option(tool, option)?;
                    let has_value = !matches!(parameter.kind, super::ParameterKind::Flag);
                    (parameter.name.as_str(), has_value.then(|| words.next()).flatten())
                }
                None => (places.next()?.name.as_str(), Some(word)),
            };
            let is_example =
                |value: &String| value.trim_matches(['[', ']', '.']).chars().all(|c| c.is_ascii_uppercase());
            match value {
                Some(value) if value.contains("FILE") && is_example(&value) => {}
                Some(value) if !is_example(&value) => match value.parse::<u32>() {
                    Ok(number) => arguments.push(format!("\"{name}\": {number}")),
                    Err(_) => arguments.push(format!("\"{name}\": {}", serde_json::Value::from(value))),
                },
                _ => arguments.push(format!("\"{name}\"")),
            }
        }
        let with = if arguments.is_empty() { "" } else { " with " };
        Some(format!("{}{with}{}", tool.name, arguments.join(", ")))
    }

    /// A text without command lines: its options as arguments, and commands in quotes as tools.
    fn reword_options(&self, tool: &Tool, text: &str) -> Option<String> {
        let mut text = text.to_string();
        FIXED_REWORDINGS.iter().for_each(|(from, to)| text = text.replace(from, to));
        let mut said = String::new();
        let mut rest = text.as_str();
        while let Some((at, option)) = next_option(rest) {
            let name = match option {
                "-n" => "limit",
                // What a tool calls its dump is a file.
                "--dump" => &parameter_of_option(tool, "snapshot")?.name,
                _ => &parameter_of_option(tool, option.strip_prefix("--")?)?.name,
            };
            let is_quoted = rest[..at].ends_with('\'');
            said += &rest[..at];
            said += &if is_quoted { name.to_string() } else { format!("\"{name}\"") };
            rest = &rest[at + option.len()..];
        }
        said += rest;
        let mut pieces: Vec<&str> = said.split('`').collect();
        for (number, piece) in pieces.iter_mut().enumerate() {
            if number % 2 == 1 && self.commands.iter().any(|command| command == *piece) {
                *piece = self.tool_of_command(piece)?.name;
            }
        }
        Some(pieces.join("`"))
    }
}

fn parameter_of_option<'t>(tool: &'t Tool, option: &str) -> Option<&'t super::Parameter> {
    tool.parameters.iter().find(|parameter| parameter.name.replace('_', "-") == option)
}

/// The first option of a text, and where it is.
fn next_option(text: &str) -> Option<(usize, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('-').map(|at| from + at) {
        let begins = text[..at].chars().next_back().is_none_or(|c| " '([".contains(c));
        let length = text[at..].find(|c: char| !(c == '-' || c.is_ascii_alphanumeric())).unwrap_or(text.len() - at);
        let option = &text[at..at + length];
        let name = option.trim_start_matches('-');
        let is_short = option.len() == 2 && name.len() == 1;
        let is_long = option.starts_with("--") && name.len() + 2 == option.len();
        if begins && name.starts_with(|c: char| c.is_ascii_lowercase()) && (is_short || is_long) {
            return Some((at, option));
        }
        from = at + length;
    }
    None
}

/// A text in which options are plain words.
fn with_options_as_words(text: &str) -> String {
    let (mut said, mut rest) = (String::new(), text);
    while let Some((at, option)) = next_option(rest) {
        said += &rest[..at];
        said += option.trim_start_matches('-');
        rest = &rest[at + option.len()..];
    }
    said + rest
}

/// The words of a line, as a shell takes them apart.
fn shell_words_of(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut is_word) = (vec![String::new()], None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => (quote, is_word) = (Some(c), true),
            (None, ' ') => {
                words.extend(std::mem::take(&mut is_word).then(String::new));
            }
            _ => {
                words.last_mut().into_iter().for_each(|word| word.push(c));
                is_word = true;
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::{Parameter, ParameterKind};
    use super::*;

    fn tool(name: &'static str, command: &'static str, parameters: &[(&str, ParameterKind)]) -> Tool {
        let parameter = |(name, kind): &(&str, ParameterKind)| Parameter {
            name: name.to_string(),
            about: String::new(),
            kind: kind.clone(),
            is_required: false,
        };
        Tool {
            name,
            first_command: command,
            about: "",
            parameters: parameters.iter().map(parameter).collect(),
            default_rows: 1,
        }
    }

    #[test]
    fn commands_are_tools_and_options_arguments() {
        let tools = [
            tool("summary", "info", &[("dump", ParameterKind::OptionalDump)]),
            tool(
                "list_objects",
                "list",
                &[
                    ("dump", ParameterKind::OptionalDump),
                    ("type", ParameterKind::Texts),
                    ("snapshot", ParameterKind::Text),
                ],
            ),
            tool(
                "dominators",
                "dominators",
                &[
                    ("object", ParameterKind::Text),
                    ("dump", ParameterKind::OptionalDump),
                    ("depth", ParameterKind::Number),
                    ("all_kinds", ParameterKind::Flag),
                ],
            ),
        ];
        let commands = ["info", "list", "dominators", "breakdown"].map(String::from).to_vec();
        let wording = ToolWording::new(&tools, commands);
        for (sentence, expected) in [
            ("a file of version 7; heapdump reads 4 to 6", "a file of version 7; heapdump reads 4 to 6"),
            (
                "1 is not reachable; --all-kinds walks weak roots too",
                "1 is not reachable; \"all_kinds\" walks weak roots too",
            ),
            ("1 of 2; --snapshot N reads another, info lists them", "1 of 2"),
            ("no object 1 in the dump; `heapdump list --ids` prints all ids", "no object 1 in the dump"),
            ("which? `heapdump list --type NAME` says", "which? list_objects with \"type\" says"),
            ("--detached: only V8 has pages", "detached: only V8 has pages"),
            ("no type is so; did you mean --all-kinds?", "no type is so; did you mean --all-kinds?"),
            ("warning: sizes: if they are decimal, say --radix dec", "warning: sizes"),
            ("totals, no objects: use `heapdump breakdown`, or `stats`", "totals, no objects"),
            ("3 more; -n 0 shows all", "3 more; a larger \"limit\" shows more"),
            ("'--depth <N>' is not '--merge'", "'depth <N>' is not 'merge'"),
            ("over it, and --max-memory allows 4 MiB", "over it, and the server's `max-memory` allows 4 MiB"),
            (
                "Look further with: heapdump dominators 1#2 --depth 3 '/a b/c.hprof'",
                "Look further with: dominators with \"object\": \"1#2\", \"depth\": 3, \"dump\": \"/a b/c.hprof\"",
            ),
            (
                "which object? heapdump dominators OBJID [FILE], or --depth N",
                "which object? dominators with \"object\", or \"depth\" N",
            ),
            ("there are 1 to 2; `info` lists them", "there are 1 to 2; `summary` lists them"),
            ("a-b -- --", "a-b -- --"),
            ("types; repeatable: a, b", "types: a, b"),
            // What is quoted is somebody's.
            ("--depth: no \"--all-kinds\"", "\"depth\": no \"--all-kinds\""),
        ] {
            assert_eq!(wording.reword_sentence(&tools[2], sentence), expected);
        }
        assert_eq!(wording.reword_sentence(&tools[1], "7; --dump 3 shows those"), "7; \"snapshot\" 3 shows those");
        let rows = "a; --x\n  2 16 more; -n 0 shows all\n5 Evil did; --ids shows them\n`heapdump list`\n";
        let text = rows.to_string() + "1 large object did not grow; --all shows them\n1,024 more; -n 0 shows all\n";
        let expected = rows.to_string() + "1 large object did not grow\n1,024 more; a larger \"limit\" shows more\n";
        assert_eq!(wording.reword_text(&tools[2], &text), expected);
    }
}
