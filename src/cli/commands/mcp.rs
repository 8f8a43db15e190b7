//! `heapdump mcp`: the questions of the command line as tools of the Model Context Protocol. A tool is a command with
//! some of its options; a call is a line of it.

use std::ffi::OsString;
use std::io::{BufReader, stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{ArgAction, Command};

use crate::answers::ObjectId;
use crate::cli::CommandOutcome;
use crate::cli::terminal::dump_input::{CommandMemoryLimit, DumpInput};
use crate::cli::terminal::kept_dumps::{KeptDumps, MakeWriteIndex};
use crate::cli::terminal::output::is_output_closed;
use crate::cli::terminal::output_target::index_writer;
use crate::cli::terminal::progress::ProgressDisplay;
use crate::cli::terminal::session::Session;
use crate::files::refuse_links;
use crate::index::is_index;
use crate::input::{ReadOptions, Source, detect};
use crate::mcp::{
    Allowlist, CallMonitor, CheckedCall, CommandAnswer, Parameter, ParameterKind, Tool, ToolServer, ToolWording,
    WorkerClient, WorkerReporter, serve, serve_worker_orders,
};
use crate::report::parse_size;

/// A server for agents and editors: the Model Context Protocol
///
/// Speaks on standard input and output until its input ends. It reads the dumps that are named and those below folders
/// of --allow, and writes nothing without --index. The two dumps that were asked last stay open.
///
/// Example: heapdump mcp app.hprof
///
/// Example: heapdump mcp --allow /var/dumps --no-values --max-memory 4GiB
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dumps that may be asked
    #[arg(value_name = "FILE", required_unless_present_any = ["allow", "worker"])]
    files: Vec<PathBuf>,
    /// A folder: all dumps in it and below it may be asked; repeatable
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    allow: Vec<PathBuf>,
    /// Leave out what objects hold: texts, numbers, keys of maps
    #[arg(long)]
    no_values: bool,
    /// Memory limit, e.g. 4GiB [default: what is free]
    #[arg(long, value_name = "SIZE")]
    max_memory: Option<String>,
    /// Write an index beside each dump that is asked and has none
    #[arg(long)]
    index: bool,
    /// Answer lines of the program, for the server that started this one
    #[arg(long, hide = true)]
    worker: bool,
}

/// A tool: the commands that answer it, and what of their lines a call may give, words and options.
struct ToolRow {
    name: &'static str,
    commands: &'static [&'static str],
    /// Words without an option, in their order.
    positionals: &'static [Positional],
    /// Long names, with spaces between them.
    option_names: &'static str,
    /// Rows of an answer where a call does not say.
    default_rows: usize,
    /// What a client is told of the tool.
    about: &'static str,
}

/// A word without an option: its name, what it means, what it may be, and whether it must be there.
type Positional = (&'static str, &'static str, ParameterKind, bool);

const DUMP_PARAMETER: Positional =
    ("dump", "A dump, as list_dumps names it [default: the only one]", ParameterKind::OptionalDump, false);
const OBJECT_PARAMETER: Positional = ("object", "An id, as answers write it", ParameterKind::Text, false);

/// Options of every tool whose command has them.
const COMMON_OPTIONS: &str = "type not-type where sort domain snapshot";

/// The tools.
const TOOLS: [ToolRow; 13] = [
    ToolRow {
        name: "summary",
        commands: &["info", "stats"],
        positionals: &[DUMP_PARAMETER],
        option_names: "",
        default_rows: 12,
        about: "What a dump is, its problems, and the types that take most. Ask this first.",
    },
    ToolRow {
        name: "histogram",
        commands: &["stats"],
        positionals: &[DUMP_PARAMETER],
        option_names: "by retained library mine shallow keep-unreachable",
        default_rows: 30,
        about: "Objects and bytes by type, package, module, owner and more: what fills the heap.",
    },
    ToolRow {
        name: "leaks",
        commands: &["leaks"],
        positionals: &[
            ("old", "An earlier dump: what grew since then comes first", ParameterKind::Dump, false),
            DUMP_PARAMETER,
        ],
        option_names: "threshold library mine all keep-unreachable",
        default_rows: 10,
        about: "Leak suspects in paragraphs: what, how much, who holds it, what to do. Ask this after summary.",
    },
    ToolRow {
        name: "paths_to_roots",
        commands: &["roots"],
        positionals: &[OBJECT_PARAMETER, DUMP_PARAMETER],
        option_names: "paths merge exclude all-kinds keep-unreachable",
        default_rows: 10,
        about: "Why an object is alive: shortest paths from GC roots. With type or where in place of object: the paths of all that match, merged.",
    },
    ToolRow {
        name: "dominators",
        commands: &["dominators"],
        positionals: &[OBJECT_PARAMETER, DUMP_PARAMETER],
        option_names: "depth by keep-unreachable",
        default_rows: 30,
        about: "What would be freed with what, largest first: from the top, or below one object.",
    },
    ToolRow {
        name: "object",
        commands: &["show"],
        positionals: &[("objects", "Ids, as answers write them", ParameterKind::Texts, true), DUMP_PARAMETER],
        option_names: "keep-unreachable",
        default_rows: 30,
        about: "Single objects: sizes, fields with values, references out and in, dominator.",
    },
    ToolRow {
        name: "references",
        commands: &["referrers"],
        positionals: &[OBJECT_PARAMETER, DUMP_PARAMETER],
        option_names: "depth keep-unreachable",
        default_rows: 30,
        about: "Who refers to an object, or with type or where to all that match, by type and field.",
    },
    ToolRow {
        name: "list_objects",
        commands: &["list"],
        positionals: &[DUMP_PARAMETER],
        option_names: "values select detached keep-unreachable",
        default_rows: 30,
        about: "Objects one a row, chosen by type and by an expression (where): gives ids for the other tools.",
    },
    ToolRow {
        name: "strings",
        commands: &["strings"],
        positionals: &[DUMP_PARAMETER],
        option_names: "duplicates grep ignore-case holders",
        default_rows: 30,
        about: "Texts in the heap with copies and bytes. Use grep: texts may be secrets of the program's users.",
    },
    ToolRow {
        name: "waste",
        commands: &["waste"],
        positionals: &[DUMP_PARAMETER],
        option_names: "kind",
        default_rows: 5,
        about: "What could be smaller: duplicate strings, empty and sparse collections, boxed numbers, by the field that holds it.",
    },
    ToolRow {
        name: "threads",
        commands: &["threads"],
        positionals: &[
            ("thread", "The name or id of one: with its stack and locals", ParameterKind::Text, false),
            DUMP_PARAMETER,
        ],
        option_names: "",
        default_rows: 30,
        about: "Threads and what each retains; of one its stack with the objects on it.",
    },
    ToolRow {
        name: "diff",
        commands: &["diff"],
        positionals: &[
            ("old", "The earlier dump", ParameterKind::Dump, true),
            ("new", "The later dump", ParameterKind::Dump, true),
        ],
        option_names: "by retained paths roots all",
        default_rows: 30,
        about: "What grew between two dumps, by type.",
    },
    ToolRow {
        name: "trend",
        commands: &["trend"],
        positionals: &[("dumps", "Two or more, the oldest first", ParameterKind::Dumps, true)],
        option_names: "by retained paths all",
        default_rows: 30,
        about: "What grew over many dumps and never shrank.",
    },
];

/// Answers a line of the program in a session.
pub(crate) type RunCommandLine<'a> = &'a dyn Fn(Vec<OsString>, &Session) -> Result<CommandOutcome>;

pub(crate) fn run(
    args: &Args,
    session: &Session,
    program: &Command,
    answer: RunCommandLine<'_>,
) -> Result<CommandOutcome> {
    if args.worker {
        return run_worker(args, session, answer);
    }
    args.max_memory.as_deref().map(parse_size).transpose().map_err(|error| anyhow!("--max-memory: {error}"))?;
    args.files.iter().try_for_each(|file| check_is_dump(file).with_context(|| file.display().to_string()))?;
    if let Some(file) = args.allow.iter().find(|folder| folder.exists() && !folder.is_dir()) {
        bail!("--allow {}: is no folder; a dump is named without --allow", file.display());
    }
    let allowlist = Allowlist::new(&args.files, &args.allow)?;
    refuse_links();
    let rows = TOOLS.iter().filter(|row| !(args.no_values && row.name == "strings"));
    let mut tools: Vec<Tool> = rows.map(|row| row.tool(program)).collect();
    let commands = program.get_subcommands().map(|command| command.get_name().to_string()).collect();
    let wording = ToolWording::new(&tools, commands);
    for tool in &mut tools {
        let own = tool.clone();
        tool.parameters.iter_mut().for_each(|one| one.about = wording.reword_sentence(&own, &one.about));
    }
    let monitor = Arc::new(CallMonitor::new(stdout()));
    let mut workers = WorkerClient::new(Arc::clone(&monitor), args.worker_command_maker());
    let mut ask = |question: &CheckedCall<'_>| {
        let Some(row) = TOOLS.iter().find(|row| row.name == question.tool.name) else { return Err("no tool".into()) };
        let mut told = CommandAnswer::default();
        for command in row.commands {
            let line = row.command_words(command, question, args).map_err(|why| format!("{why:#}"))?;
            let answer = workers.ask(&line).map_err(|why| wording.reword_sentence(question.tool, &why))?;
            let sentences = answer.sentences.iter().map(|sentence| wording.reword_sentence(question.tool, sentence));
            told.sentences.extend(sentences);
            row.add_answer(
                &mut told,
                command,
                CommandAnswer { text: wording.reword_text(question.tool, &answer.text), ..answer },
            );
        }
        if row.commands.len() > 1 {
            told.json = format!("{{{}}}", told.json);
            told.sentences =
                told.sentences.iter().map(|sentence| first_lines(sentence, 1)).take(MAX_SUMMARY_SENTENCES).collect();
        }
        Ok(told)
    };
    serve(ToolServer { tools, allowlist, is_client_gone: is_output_closed }, &monitor, stdin(), &mut ask)?;
    Ok(CommandOutcome::Answered)
}

/// What is no dump is said at the start, where the one who configures a client sees it.
fn check_is_dump(file: &Path) -> Result<()> {
    if file.is_dir() {
        bail!("is a folder; --allow {} lets all dumps in it and below it be asked", file.display());
    }
    if file.exists() && !file.is_file() {
        bail!("is no file that can be read again");
    }
    if !is_index(file) {
        detect(&mut Source::open(file)?, &ReadOptions::default())?;
    }
    Ok(())
}

/// Answers lines of the program with dumps that stay open.
fn run_worker(args: &Args, session: &Session, answer: RunCommandLine<'_>) -> Result<CommandOutcome> {
    // The server has checked paths without links: one that is there now was exchanged since.
    refuse_links();
    let reporter = Arc::new(WorkerReporter::new(stdout()));
    let progress = ProgressDisplay::for_listener(reporter.clone());
    let writer: MakeWriteIndex = |path, options| index_writer(&DumpInput::of(path), options);
    let kept = Arc::new(KeptDumps::new(args.no_values, args.index.then_some(writer)));
    // Said to the call that passes it.
    CommandMemoryLimit::find_and_watch(&session.of_call(&progress, &kept), args.max_memory.as_deref())?;
    let answer = |line| {
        let call = session.of_call(&progress, &kept);
        match answer(line, &call) {
            Err(why) => Err(format!("{why:#}")),
            // It has said why.
            Ok(CommandOutcome::Failed) => Err(String::new()),
            Ok(CommandOutcome::Answered | CommandOutcome::NegativeAnswer) => {
                let answer = call.into_captured_answer();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Ok(CommandAnswer { text: text(&answer.text), json: text(&answer.json), sentences: Vec::new() })
            }
        }
    };
    serve_worker_orders(&reporter, BufReader::new(stdin()), &answer)?;
    Ok(CommandOutcome::Answered)
}

impl Args {
    /// The command of a worker: this program, with the limits of this server.
    fn worker_command_maker(&self) -> impl Fn() -> std::io::Result<std::process::Command> + 'static {
        let switches = [(self.no_values, "--no-values"), (self.index, "--index")];
        let mut words: Vec<String> = vec!["mcp".into(), "--worker".into()];
        words.extend(switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, switch)| switch.into()));
        words.extend(self.max_memory.iter().map(|size| format!("--max-memory={size}")));
        move || {
            let mut command = own_program_command()?;
            if std::env::var_os(GLIBC_ARENA_MAX_VARIABLE).is_none() {
                command.env(GLIBC_ARENA_MAX_VARIABLE, "1");
            }
            command.args(&words);
            Ok(command)
        }
    }
}

/// This program, as it was when it was started: its file may have been replaced by another version since.
fn own_program_command() -> std::io::Result<std::process::Command> {
    #[cfg(target_os = "linux")]
    if let Ok(own) = std::env::current_exe() {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new("/proc/self/exe");
        command.arg0(own);
        return Ok(command);
    }
    Ok(std::process::Command::new(std::env::current_exe()?))
}

/// Arenas of glibc's allocator. What threads leave in several of them is not given back, and grows from call to call: by 3 to
/// 13 % in 1,000 calls that read three formats in turn, beside 0.7 % with one; the time of a call is the same.
const GLIBC_ARENA_MAX_VARIABLE: &str = "MALLOC_ARENA_MAX";

/// Of a summary: lines of each command, and sentences, so that marks and advice fit into 60.
const MAX_SUMMARY_LINES_PER_COMMAND: usize = 24;
const MAX_SUMMARY_SENTENCES: usize = 4;

fn first_lines(text: &str, most: usize) -> String {
    text.lines().take(most).collect::<Vec<_>>().join("\n")
}

impl ToolRow {
    /// The tool, with the options as the command line describes them.
    fn tool(&self, program: &Command) -> Tool {
        let words = self.positionals.iter().cloned().map(|(name, about, kind, is_required)| Parameter {
            name: name.into(),
            about: about.into(),
            kind,
            is_required,
        });
        Tool {
            name: self.name,
            first_command: self.commands.first().unwrap_or(&""),
            about: self.about,
            parameters: words.chain(self.option_parameters(program)).collect(),
            default_rows: self.default_rows,
        }
    }

    fn option_parameters(&self, program: &Command) -> Vec<Parameter> {
        let [command] = self.commands else { return Vec::new() };
        let known = program.find_subcommand(command).into_iter().flat_map(Command::get_arguments);
        let wanted =
            |name: &str| self.option_names.split(' ').chain(COMMON_OPTIONS.split(' ')).any(|option| option == name);
        let parameter = |arg: &clap::Arg| {
            let name = arg.get_long().filter(|name| wanted(name))?;
            let words = arg.get_possible_values();
            let (hidden, listed): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.is_hide_set());
            let listed: Vec<String> = listed.iter().map(|word| word.get_name().to_string()).collect();
            let mut about = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let kind = match arg.get_action() {
                ArgAction::SetTrue => ParameterKind::Flag,
                ArgAction::Append => ParameterKind::Texts,
                _ if !listed.is_empty() && hidden.is_empty() => ParameterKind::Words(listed.clone()),
                _ if arg.get_value_names().is_some_and(|names| names == ["N"]) => ParameterKind::Number,
                _ => ParameterKind::Text,
            };
            // Some take words with a number besides those listed, and lists are no choice of one.
            if matches!(kind, ParameterKind::Text | ParameterKind::Texts) && !listed.is_empty() {
                about += &format!(": {}", listed.join(", "));
            }
            Some(Parameter { name: name.replace('-', "_"), about, kind, is_required: false })
        };
        known.filter_map(parameter).collect()
    }

    /// The line of a command that asks this: values stand behind an option's `=`, or behind `--`, so that none is an option.
    fn command_words(&self, command: &str, question: &CheckedCall<'_>, args: &Args) -> Result<Vec<OsString>> {
        let mut line: Vec<OsString> = vec!["heapdump".into(), command.into()];
        line.extend(args.max_memory.iter().map(|size| format!("--max-memory={size}").into()));
        if command != "info" {
            line.push(format!("--limit={}", question.rows).into());
        }
        let mut words = vec![OsString::from("--")];
        for (parameter, values) in &question.values {
            let is_word = self.positionals.iter().any(|(name, ..)| *name == parameter.name);
            for value in values {
                match (&parameter.kind, value.to_str()) {
                    // What is no id is not to be looked for as a file.
                    (ParameterKind::Text | ParameterKind::Texts, Some(text))
                        if is_word && command != "threads" && text.parse::<ObjectId>().is_err() =>
                    {
                        bail!("\"{text}\" is no id of an object")
                    }
                    _ if is_word => words.push(value.clone()),
                    (ParameterKind::Flag, Some("false")) => {}
                    (kind, _) => {
                        let mut option = OsString::from(format!("--{}", parameter.name.replace('_', "-")));
                        if *kind != ParameterKind::Flag {
                            option.push("=");
                            option.push(value);
                        }
                        line.push(option);
                    }
                }
            }
        }
        line.extend(words);
        Ok(line)
    }

    /// Adds the answer of a command: of several each under its name, and not too much of its text.
    fn add_answer(&self, told: &mut CommandAnswer, command: &str, answer: CommandAnswer) {
        if self.commands.len() == 1 {
            (told.text, told.json) = (answer.text, answer.json);
            return;
        }
        let comma = if told.json.is_empty() { "" } else { "," };
        told.json += &format!("{comma}\"{command}\":{}", answer.json.trim());
        told.text += &(first_lines(&answer.text, MAX_SUMMARY_LINES_PER_COMMAND) + "\n");
        let more = answer.text.lines().count().saturating_sub(MAX_SUMMARY_LINES_PER_COMMAND);
        if more > 0 {
            told.text += &format!("({more} lines more of {command} are in the JSON)\n");
        }
    }
}
