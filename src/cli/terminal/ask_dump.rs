//! The way of every question: open the dump, say what is wrong with it, compute the answer, print it;
//! for several files one after the other, with memory for one at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Error, Result, anyhow, bail};

use crate::analysis::type_patterns::{TypePattern, did_you_mean};
use crate::answers::{AnswerError, TypeOwnership};
use crate::cli::CommandOutcome;
use crate::cli::args::options::{InputArgs, TypeArgs, with_option_of_filter};
use crate::cli::terminal::dump_input::{self, CommandMemoryLimit, DumpInput, read_dump};
use crate::cli::terminal::session::Session;
use crate::dump::{Content, NoValues, OpenDump};
use crate::files::map_each_file;
use crate::graph::{HeapGraph, TypeId};
use crate::input::{Diagnostics, FormatInfo, POSSIBLE_REPEAT};
use crate::units::count_with_noun;

/// A dump that a command asks, and what its errors need to be explained.
pub(crate) struct AskedDump<'d> {
    pub(crate) session: &'d Session,
    pub(crate) dump: &'d OpenDump,
    /// Its name, where there are several.
    pub(crate) file: Option<&'d str>,
    memory_limit: &'d CommandMemoryLimit,
    /// Nothing is said beside answers and errors.
    pub(crate) is_quiet: bool,
}

/// Asks the dump that the options name, after its problems on standard error.
pub(crate) fn ask(
    session: &Session,
    file: Option<&Path>,
    args: &InputArgs,
    question: impl FnOnce(&AskedDump<'_>) -> Result<CommandOutcome>,
) -> Result<CommandOutcome> {
    ask_without_problems(session, file, args, true, |asked| {
        asked.print_problems_and_notes();
        question(asked)
    })
}

/// The same without the problems; a question without values has no use for fields, texts and names of references.
pub(crate) fn ask_without_problems(
    session: &Session,
    file: Option<&Path>,
    args: &InputArgs,
    with_values: bool,
    question: impl FnOnce(&AskedDump<'_>) -> Result<CommandOutcome>,
) -> Result<CommandOutcome> {
    let (dump, memory) = read_dump(session, &DumpInput::find(file)?, None, args, with_values)?;
    let asked = AskedDump { session, dump: &dump, file: None, memory_limit: &memory, is_quiet: args.read.quiet };
    let outcome = question(&asked)?;
    asked.note_missing_fields();
    if with_values {
        asked.note_missing_values();
    }
    session.hold_until_end(dump);
    Ok(outcome)
}

/// A dump with its name.
type NamedDump = (String, (Arc<OpenDump>, CommandMemoryLimit));

/// Asks dumps together, for instance two that are compared: each is opened, and its problems said, before the next. All
/// stay in memory, within one limit.
pub(crate) fn ask_together(
    session: &Session,
    files: &[PathBuf],
    args: &InputArgs,
    question: impl FnOnce(&[AskedDump<'_>]) -> Result<CommandOutcome>,
) -> Result<CommandOutcome> {
    let has_several = files.len() > 1;
    fn asked_dump<'d>(session: &'d Session, opened: &'d NamedDump, has_several: bool, is_quiet: bool) -> AskedDump<'d> {
        let (name, (dump, memory)) = opened;
        AskedDump { session, dump, file: has_several.then_some(name), memory_limit: memory, is_quiet }
    }
    let mut opened: Vec<NamedDump> = Vec::new();
    for file in files {
        let input = DumpInput::find(Some(file))?;
        let new = (input.name(), read_dump(session, &input, None, args, true)?);
        asked_dump(session, &new, has_several, args.read.quiet).print_problems_and_notes();
        opened.push(new);
    }
    let dumps: Vec<AskedDump<'_>> =
        opened.iter().map(|new| asked_dump(session, new, has_several, args.read.quiet)).collect();
    let outcome = question(&dumps)?;
    dumps.iter().for_each(|dump| {
        dump.note_missing_fields();
        dump.note_missing_values();
    });
    opened.into_iter().for_each(|(_, (dump, _))| session.hold_until_end(dump));
    Ok(outcome)
}

/// Asks a dump. One of several, with its name, is to be freed after the answer, so that there is memory for the next.
pub(crate) fn ask_input<T>(
    session: &Session,
    input: &DumpInput,
    file: Option<&str>,
    args: &InputArgs,
    question: impl FnOnce(&AskedDump<'_>) -> Result<T>,
) -> Result<(Arc<OpenDump>, T)> {
    let (dump, memory) = read_dump(session, input, file, args, true)?;
    let asked = AskedDump { session, dump: &dump, file, memory_limit: &memory, is_quiet: args.read.quiet };
    let answer = question(&asked)?;
    asked.note_missing_fields();
    Ok((dump, answer))
}

fn type_names(graph: &HeapGraph) -> impl Iterator<Item = &str> + Clone {
    (0..graph.type_count()).map(|index| graph.type_name(TypeId::new(index)))
}

impl AskedDump<'_> {
    /// A library error in words that name the options.
    pub(crate) fn explain(&self, error: AnswerError) -> Error {
        match error {
            AnswerError::OutOfMemory(error) => self.memory_limit.explain(error),
            AnswerError::InvalidFilter(error) => with_option_of_filter(error),
            AnswerError::NeedsObjects if matches!(self.dump.content(), Content::Histograms(_)) => {
                anyhow!(
                    "a class histogram has types alone, no objects and references: take a dump with `heapdump collect`"
                )
            }
            error => Error::msg(error.advice()),
        }
    }

    /// Prints a sentence that quiet leaves out.
    pub(crate) fn print_unless_quiet(&self, text: &str) {
        if !self.is_quiet {
            self.session.print_sentence(text);
        }
    }

    /// `; did you mean NAME?` where no type matches what is nearly the name of one.
    pub(crate) fn did_you_mean(&self, types: &TypeArgs) -> String {
        let choice = types.type_choice().ok().flatten().unwrap_or_default();
        self.dump.graph().map_or(String::new(), |graph| choice.did_you_mean(type_names(graph)))
    }

    /// What may be meant where no object of the types is there: subclasses, or else another name.
    pub(crate) fn hint_of_types(&self, types: &TypeArgs) -> String {
        let subclasses = self.subclasses_hint(types);
        if subclasses.is_empty() { self.did_you_mean(types) } else { subclasses }
    }

    /// `; 3 objects of 2 subclasses: --instanceof` where classes of the dump match that have no objects of their own.
    pub(crate) fn subclasses_hint(&self, types: &TypeArgs) -> String {
        let Some(choice) = types.type_choice().ok().flatten() else { return String::new() };
        let Some(graph) = self.dump.graph().filter(|graph| graph.types().have_superclasses()) else {
            return String::new();
        };
        let types = graph.types();
        let is_chosen = |type_id| choice.matches(graph.type_name(type_id));
        let is_below = types
            .map_by_superclass(|type_id, above: Option<&bool>| above.copied().unwrap_or(false) || is_chosen(type_id));
        let mut counts = vec![0u64; types.len()];
        graph.node_types(0..graph.node_count()).for_each(|type_id| counts[type_id.index()] += 1);
        if types.ids().any(|id| counts[id.index()] > 0 && is_chosen(id)) {
            return String::new();
        }
        let of_subclasses = types.ids().filter(|id| is_below[id.index()] && counts[id.index()] > 0);
        let (objects, classes) =
            of_subclasses.fold((0, 0), |(objects, classes), id| (objects + counts[id.index()], classes + 1));
        match objects {
            0 => String::new(),
            _ => format!(
                "; {} of {}: --instanceof",
                count_with_noun(objects, "objects"),
                count_with_noun(classes, "subclasses")
            ),
        }
    }

    /// Returns true if a type of the dump is among those that are asked for.
    pub(crate) fn has_matching_type(&self, types: &TypeArgs) -> bool {
        let choice = types.type_choice().ok().flatten().unwrap_or_default();
        self.dump.graph().is_some_and(|graph| type_names(graph).any(|name| choice.matches(name)))
    }

    /// Says which patterns of an option match no type of the dump, and so do nothing.
    pub(crate) fn note_unmatched_patterns(&self, option: &str, patterns: &[TypePattern]) {
        if let Some(graph) = self.dump.graph() {
            self.note_patterns_unmatched_among(type_names(graph), option, patterns);
        }
    }

    /// The same of the patterns that say whose types are.
    pub(crate) fn note_unmatched_owner_patterns(&self, own: &TypeOwnership) {
        let has_patterns = !own.libraries.is_empty() || !own.mine.is_empty();
        if let Some(graph) = self.dump.graph().filter(|_| has_patterns) {
            let [of_libraries, of_program] = TypeOwnership::matchable_names(graph);
            self.note_patterns_unmatched_among(of_libraries.iter().copied(), "--library", &own.libraries);
            self.note_patterns_unmatched_among(of_program.iter().copied(), "--mine", &own.mine);
        }
    }

    fn note_patterns_unmatched_among<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
        option: &str,
        patterns: &[TypePattern],
    ) {
        // Libraries are known by names with dots, whatever a dump writes.
        let fits = |pattern: &TypePattern, name: &str| {
            pattern.matches(name) || (name.contains('/') && pattern.matches(&name.replace('/', ".")))
        };
        for pattern in patterns.iter().filter(|pattern| !names.clone().any(|name| fits(pattern, name))) {
            let hint = did_you_mean(pattern.suggestion(names.clone()));
            self.print_unless_quiet(&format!(
                "note: no type matches {option} {}, which does nothing{hint}",
                pattern.text()
            ));
        }
    }

    /// Says which fields that were asked for no object has.
    fn note_missing_fields(&self) {
        self.dump.missing_fields_note().iter().for_each(|note| self.print_unless_quiet(note));
    }

    /// Says what an answer of a pipe, or of an index alone, does not have.
    fn note_missing_values(&self) {
        if let Some(why) = self.dump.values().err().filter(NoValues::concerns_every_answer) {
            self.print_unless_quiet(&why.to_string());
        }
    }

    /// Says what is wrong with the dump, and what to know of it.
    pub(crate) fn print_problems_and_notes(&self) {
        self.print_problems();
        match self.dump.content() {
            _ if self.is_quiet => {}
            Content::Objects(graph) => print_graph_notes(self.session, graph, self.dump.info(), self.file),
            Content::Histograms(_) => print_snapshot_note(self.session, self.dump.info(), self.file),
            Content::Allocations(_) => {}
        }
    }

    /// Says what is wrong with the dump.
    pub(crate) fn print_problems(&self) {
        if !self.is_quiet {
            print_problems(self.session, self.dump.diagnostics(), self.file);
        }
    }
}

/// The answer of each file, with its name, and the end of the command if one could not be read.
type AnswersOfFiles<T> = (Vec<(String, T)>, Option<CommandOutcome>);

/// Asks every file, in the order of the command line; those of `together` small ones several at a time. One that cannot
/// be read is reported on standard error, and the next one is asked. Error: when the options are wrong, whatever the
/// files.
pub(crate) fn ask_each<T: Send>(
    session: &Session,
    files: &[PathBuf],
    together: bool,
    input: &InputArgs,
    answer: impl Fn(&DumpInput, &str) -> Result<T> + Sync,
) -> Result<AnswersOfFiles<T>> {
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("- stands for standard input, which can be read once");
    }
    input.read.read_options()?;
    dump_input::excluded_root_kinds(input)?;
    let ask = |at: usize| {
        session.progress.set_file_number(at + 1, files.len());
        let (place, name) = (DumpInput::of(&files[at]), files[at].display().to_string());
        let answer = answer(&place, &name).map_err(|error| session.progress.print_error(&error, &place.name()));
        Some((name, answer.ok()?))
    };
    let answers = if together { map_each_file(files, ask) } else { (0..files.len()).map(ask).collect() };
    let failed = answers.iter().any(Option::is_none).then_some(CommandOutcome::Failed);
    Ok((answers.into_iter().flatten().collect(), failed))
}

/// Says which of several snapshots is asked.
fn print_snapshot_note(session: &Session, facts: &FormatInfo, file: Option<&str>) {
    let snapshots = &facts.snapshots;
    if let (true, Some(chosen)) = (snapshots.len() > 1, snapshots.iter().position(|snapshot| snapshot.chosen)) {
        let all = snapshots.len();
        session.print_note(
            "note",
            file,
            &format!("snapshot {} of {all}; --snapshot N reads another, info lists them", chosen + 1),
        );
    }
}

/// Notes on an object graph besides its problems.
pub(crate) fn print_graph_notes(session: &Session, graph: &HeapGraph, facts: &FormatInfo, file: Option<&str>) {
    print_snapshot_note(session, facts, file);
    if graph.node_count() > 0 && graph.strong_roots().next().is_none() {
        let left_out = graph.roots().iter().any(|root| root.is_excluded);
        let which = if left_out { "no root that --exclude-roots leaves" } else { "no root" };
        let hint = "--keep-unreachable makes roots of what is left";
        session.print_note("note", file, &format!("{which} holds anything, so nothing is reachable; {hint}"));
    }
    if graph.roots_inferred() {
        session.print_note("note", file, "roots are inferred, for the dump has no root records");
    }
}

/// One line on standard error for each kind of problem.
pub(crate) fn print_problems(session: &Session, diagnostics: &Diagnostics, file: Option<&str>) {
    for problem in diagnostics.sorted() {
        if !problem.is_note() {
            session.print_note("warning", file, &problem.to_string());
        }
    }
}

/// The same where only types were counted: a repeat is no more than possible there.
pub(crate) fn print_problems_of_counted(session: &Session, diagnostics: &Diagnostics, file: Option<&str>) {
    print_problems(session, diagnostics, file);
    if let Some(problem) = diagnostics.sorted().into_iter().find(|problem| problem.has_code(&POSSIBLE_REPEAT)) {
        session.print_note("note", file, &problem.to_string());
    }
}
