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
use crate::cli::terminal::kept::{IndexWriter, KeptDumps};
use crate::cli::terminal::load::{DumpInput, Memory};
use crate::cli::terminal::output::is_output_closed;
use crate::cli::terminal::progress::ProgressDisplay;
use crate::cli::terminal::session::Session;
use crate::cli::terminal::target::index_writer;
use crate::index::is_index;
use crate::input::{ReadOptions, Source, detect};
use crate::mcp::{
    Fence, Kind, Parameter, Question, Reporter, Server, Told, Tool, Watch, Wording, Workers, serve, work,
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

/// A tool as a command, and words of its line in between: what a dump or an object is given as, and options.
struct Row {
    name: &'static str,
    commands: &'static [&'static str],
    /// Words without an option, in their order.
    words: &'static [Word],
    options: &'static str,
    rows: usize,
    about: &'static str,
}

/// A word without an option: its name, what it means, what it may be, and whether it must be there.
type Word = (&'static str, &'static str, Kind, bool);

const DUMP: Word = ("dump", "A dump, as list_dumps names it [default: the only one]", Kind::OnlyDump, false);
const OBJECT: Word = ("object", "An id, as answers write it", Kind::Text, false);

/// Options of every tool whose command has them.
const EVERYWHERE: &str = "type not-type where sort domain snapshot";

/// The tools.
const TOOLS: [Row; 13] = [
    Row {
        name: "summary",
        commands: &["info", "stats"],
        words: &[DUMP],
        options: "",
        rows: 12,
        about: "What a dump is, its problems, and the types that take most. Ask this first.",
    },
    Row {
        name: "histogram",
        commands: &["stats"],
        words: &[DUMP],
        options: "by retained library mine shallow keep-unreachable",
        rows: 30,
        about: "Objects and bytes by type, package, module, owner and more: what fills the heap.",
    },
    Row {
        name: "leaks",
        commands: &["leaks"],
        words: &[("old", "An earlier dump: what grew since then comes first", Kind::Dump, false), DUMP],
        options: "threshold library mine all keep-unreachable",
        rows: 10,
        about: "Leak suspects in paragraphs: what, how much, who holds it, what to do. Ask this after summary.",
    },
    Row {
        name: "paths_to_roots",
        commands: &["roots"],
        words: &[OBJECT, DUMP],
        options: "paths merge exclude all-kinds keep-unreachable",
        rows: 10,
        about: "Why an object is alive: shortest paths from GC roots. With type or where in place of object: the paths of all that match, merged.",
    },
    Row {
        name: "dominators",
        commands: &["dominators"],
        words: &[OBJECT, DUMP],
        options: "depth by keep-unreachable",
        rows: 30,
        about: "What would be freed with what, largest first: from the top, or below one object.",
    },
    Row {
        name: "object",
        commands: &["show"],
        words: &[("objects", "Ids, as answers write them", Kind::Texts, true), DUMP],
        options: "keep-unreachable",
        rows: 30,
        about: "Single objects: sizes, fields with values, references out and in, dominator.",
    },
    Row {
        name: "references",
        commands: &["referrers"],
        words: &[OBJECT, DUMP],
        options: "depth keep-unreachable",
        rows: 30,
        about: "Who refers to an object, or with type or where to all that match, by type and field.",
    },
    Row {
        name: "list_objects",
        commands: &["list"],
        words: &[DUMP],
        options: "values select detached keep-unreachable",
        rows: 30,
        about: "Objects one a row, chosen by type and by an expression (where): gives ids for the other tools.",
    },
    Row {
        name: "strings",
        commands: &["strings"],
        words: &[DUMP],
        options: "duplicates grep ignore-case holders",
        rows: 30,
        about: "Texts in the heap with copies and bytes. Use grep: texts may be secrets of the program's users.",
    },
    Row {
        name: "waste",
        commands: &["waste"],
        words: &[DUMP],
        options: "kind",
        rows: 5,
        about: "What could be smaller: duplicate strings, empty and sparse collections, boxed numbers, by the field that holds it.",
    },
    Row {
        name: "threads",
        commands: &["threads"],
        words: &[("thread", "The name or id of one: with its stack and locals", Kind::Text, false), DUMP],
        options: "",
        rows: 30,
        about: "Threads and what each retains; of one its stack with the objects on it.",
    },
    Row {
        name: "diff",
        commands: &["diff"],
        words: &[("old", "The earlier dump", Kind::Dump, true), ("new", "The later dump", Kind::Dump, true)],
        options: "by retained paths roots all",
        rows: 30,
        about: "What grew between two dumps, by type.",
    },
    Row {
        name: "trend",
        commands: &["trend"],
        words: &[("dumps", "Two or more, the oldest first", Kind::Dumps, true)],
        options: "by retained paths all",
        rows: 30,
        about: "What grew over many dumps and never shrank.",
    },
];

/// Answers a line of the program in a session.
pub(crate) type AnswerLine<'a> = &'a dyn Fn(Vec<OsString>, &Session) -> Result<CommandOutcome>;

pub(crate) fn run(args: &Args, session: &Session, program: &Command, answer: AnswerLine<'_>) -> Result<CommandOutcome> {
    if args.worker {
        return run_worker(args, session, answer);
    }
    args.max_memory.as_deref().map(parse_size).transpose().map_err(|error| anyhow!("--max-memory: {error}"))?;
    args.files.iter().try_for_each(|file| check_dump(file).with_context(|| file.display().to_string()))?;
    if let Some(file) = args.allow.iter().find(|folder| folder.exists() && !folder.is_dir()) {
        bail!("--allow {}: is no folder; a dump is named without --allow", file.display());
    }
    let fence = Fence::new(&args.files, &args.allow)?;
    let rows = TOOLS.iter().filter(|row| !(args.no_values && row.name == "strings"));
    let mut tools: Vec<Tool> = rows.map(|row| row.tool(program)).collect();
    let commands = program.get_subcommands().map(|command| command.get_name().to_string()).collect();
    let wording = Wording::new(&tools, commands);
    for tool in &mut tools {
        let own = tool.clone();
        tool.parameters.iter_mut().for_each(|one| one.about = wording.of_sentence(&own, &one.about));
    }
    let watch = Arc::new(Watch::new(stdout()));
    let mut workers = Workers::new(Arc::clone(&watch), args.worker_words());
    let mut ask = |question: &Question<'_>| {
        let Some(row) = TOOLS.iter().find(|row| row.name == question.tool.name) else { return Err("no tool".into()) };
        let mut told = Told::default();
        for command in row.commands {
            let line = row.line(command, question, args).map_err(|why| format!("{why:#}"))?;
            let answer = workers.ask(&line).map_err(|why| wording.of_sentence(question.tool, &why))?;
            let sentences = answer.sentences.iter().map(|sentence| wording.of_sentence(question.tool, sentence));
            told.sentences.extend(sentences);
            row.add(&mut told, command, Told { text: wording.of_text(question.tool, &answer.text), ..answer });
        }
        if row.commands.len() > 1 {
            told.json = format!("{{{}}}", told.json);
            told.text = first_lines(&told.text, MOST_LINES);
            told.sentences =
                told.sentences.iter().map(|sentence| first_lines(sentence, 1)).take(MOST_SENTENCES).collect();
        }
        Ok(told)
    };
    serve(Server { tools, fence, is_gone: is_output_closed }, &watch, stdin(), &mut ask)?;
    Ok(CommandOutcome::Done)
}

/// What is no dump is said at the start, where the one who configures a client sees it.
fn check_dump(file: &Path) -> Result<()> {
    if file.is_dir() {
        bail!("is a folder; --allow {} lets all dumps in it and below it be asked", file.display());
    }
    if file.exists() && !file.is_file() {
        bail!("is no file that can be read again");
    }
    if !is_index(file) {
        detect(&Source::open(file)?, &ReadOptions::default())?;
    }
    Ok(())
}

/// Answers lines of the program with dumps that stay open.
fn run_worker(args: &Args, session: &Session, answer: AnswerLine<'_>) -> Result<CommandOutcome> {
    let reporter = Arc::new(Reporter::new(stdout()));
    let progress = ProgressDisplay::told_to(reporter.clone());
    let writer: IndexWriter = |path, options| index_writer(&DumpInput::of(path), options);
    let kept = Arc::new(KeptDumps::new(args.no_values, args.index.then_some(writer)));
    // Said to the call that passes it.
    Memory::find(&session.of_call(&progress, &kept), args.max_memory.as_deref())?;
    let answer = |line| {
        let call = session.of_call(&progress, &kept);
        match answer(line, &call) {
            Err(why) => Err(format!("{why:#}")),
            // It has said why.
            Ok(CommandOutcome::Failed) => Err(String::new()),
            Ok(CommandOutcome::Done | CommandOutcome::No) => {
                let answer = call.into_answer();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Ok(Told { text: text(&answer.text), json: text(&answer.json), sentences: Vec::new() })
            }
        }
    };
    work(&reporter, BufReader::new(stdin()), &answer)?;
    Ok(CommandOutcome::Done)
}

impl Args {
    /// The command of a worker: this program, with the limits of this server.
    fn worker_words(&self) -> impl Fn() -> std::io::Result<std::process::Command> + 'static {
        let switches = [(self.no_values, "--no-values"), (self.index, "--index")];
        let mut words: Vec<String> = vec!["mcp".into(), "--worker".into()];
        words.extend(switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, switch)| switch.into()));
        words.extend(self.max_memory.iter().map(|size| format!("--max-memory={size}")));
        move || {
            let mut command = own_program()?;
            if std::env::var_os(ARENAS).is_none() {
                command.env(ARENAS, "1");
            }
            command.args(&words);
            Ok(command)
        }
    }
}

/// This program, as it was when it was started: its file may have been replaced by another version since.
fn own_program() -> std::io::Result<std::process::Command> {
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
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Of a summary: lines of each command, lines in all, and sentences, so that marks and advice fit into 60.
const MOST_OF_EACH: usize = 24;
const MOST_LINES: usize = 50;
const MOST_SENTENCES: usize = 4;

fn first_lines(text: &str, most: usize) -> String {
    text.lines().take(most).collect::<Vec<_>>().join("\n")
}

impl Row {
    /// The tool, with the options as the command line describes them.
    fn tool(&self, program: &Command) -> Tool {
        let words = self.words.iter().cloned().map(|(name, about, kind, is_required)| Parameter {
            name: name.into(),
            about: about.into(),
            kind,
            is_required,
        });
        Tool {
            name: self.name,
            command: self.commands.first().unwrap_or(&""),
            about: self.about,
            parameters: words.chain(self.options(program)).collect(),
            rows: self.rows,
        }
    }

    fn options(&self, program: &Command) -> Vec<Parameter> {
        let [command] = self.commands else { return Vec::new() };
        let known = program.find_subcommand(command).into_iter().flat_map(Command::get_arguments);
        let wanted = |name: &str| self.options.split(' ').chain(EVERYWHERE.split(' ')).any(|option| option == name);
        let parameter = |arg: &clap::Arg| {
            let name = arg.get_long().filter(|name| wanted(name))?;
            let words = arg.get_possible_values();
            let (hidden, listed): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.is_hide_set());
            let listed: Vec<String> = listed.iter().map(|word| word.get_name().to_string()).collect();
            let mut about = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let kind = match arg.get_action() {
                ArgAction::SetTrue => Kind::Flag,
                ArgAction::Append => Kind::Texts,
                _ if !listed.is_empty() && hidden.is_empty() => Kind::Words(listed.clone()),
                _ if arg.get_value_names().is_some_and(|names| names == ["N"]) => Kind::Number,
                _ => Kind::Text,
            };
            // Some take words with a number besides those listed, and lists are no choice of one.
            if matches!(kind, Kind::Text | Kind::Texts) && !listed.is_empty() {
                about += &format!(": {}", listed.join(", "));
            }
            Some(Parameter { name: name.replace('-', "_"), about, kind, is_required: false })
        };
        known.filter_map(parameter).collect()
    }

    /// The line of a command that asks this: values stand behind an option's `=`, or behind `--`, so that none is an option.
    fn line(&self, command: &str, question: &Question<'_>, args: &Args) -> Result<Vec<OsString>> {
        let mut line: Vec<OsString> = vec!["heapdump".into(), command.into()];
        line.extend(args.max_memory.iter().map(|size| format!("--max-memory={size}").into()));
        if command != "info" {
            line.push(format!("--limit={}", question.rows).into());
        }
        let mut words = vec![OsString::from("--")];
        for (parameter, values) in &question.values {
            let is_word = self.words.iter().any(|(name, ..)| *name == parameter.name);
            for value in values {
                match (&parameter.kind, value.to_str()) {
                    // What is no id is not to be looked for as a file.
                    (Kind::Text | Kind::Texts, Some(text))
                        if is_word && command != "threads" && text.parse::<ObjectId>().is_err() =>
                    {
                        bail!("\"{text}\" is no id of an object")
                    }
                    _ if is_word => words.push(value.clone()),
                    (Kind::Flag, Some("false")) => {}
                    (kind, _) => {
                        let mut option = OsString::from(format!("--{}", parameter.name.replace('_', "-")));
                        if *kind != Kind::Flag {
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
    fn add(&self, told: &mut Told, command: &str, answer: Told) {
        if self.commands.len() == 1 {
            (told.text, told.json) = (answer.text, answer.json);
            return;
        }
        let comma = if told.json.is_empty() { "" } else { "," };
        told.json += &format!("{comma}\"{command}\":{}", answer.json.trim());
        told.text += &(first_lines(&answer.text, MOST_OF_EACH) + "\n");
        let more = answer.text.lines().count().saturating_sub(MOST_OF_EACH);
        if more > 0 {
            told.text += &format!("({more} lines more of {command} are in the JSON)\n");
        }
    }
}
