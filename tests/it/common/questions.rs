//! Questions of every kind, asked of an open dump in this process: a start of the program for each would take minutes. That the
//! program answers a command line as the library answers its options is tested of a dump of each format (index.rs).

use heapdump::OpenDump;
use heapdump::analysis::type_patterns::{TypeChoice, TypePattern};
use heapdump::answers::breakdown::BreakdownBy;
use heapdump::answers::figure::{Figure, REFERENCES, RETAINED, SHALLOW};
use heapdump::answers::object::{ShowOptions, show};
use heapdump::answers::referrers::ReferredTo;
use heapdump::answers::roots::merged_paths::{KeptRows, merged_paths_to};
use heapdump::answers::{
    AnswerError, BreakdownOptions, CommandLine, DominatorTreeOptions, GroupBy, HistogramOptions, InfoOptions,
    LeaksOptions, Limits, MergedPathsOptions, ObjectId, ObjectOptions, ObjectsOptions, ReferrersOptions, RetainedBy,
    RootPathsOptions, ScopeOptions, StringsOptions, ThreadsOptions, WasteOptions, breakdown, dominator_tree, histogram,
    info, leaks, merged_paths, objects, referrers, root_paths, strings, threads, waste,
};
use heapdump::export::{
    DotOptions, ExportError, FoldedOptions, MemoryInfraOptions, write_dot, write_folded, write_memory_infra,
};
use heapdump::filter::Filter;
use heapdump::report::{Format, Present, Style, write_answer};

/// A question: the words of its command line, behind the program's name, and the answer in each form that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub words: Vec<String>,
    pub texts: Result<Vec<String>, String>,
}

impl Asked {
    pub fn command(&self) -> &str {
        &self.words[0]
    }
}

struct Asker<'d> {
    dump: &'d OpenDump,
    forms: &'d [Format],
    asked: Vec<Asked>,
}

impl<'d> Asker<'d> {
    fn ask<A: Present>(&mut self, line: CommandLine, answer: Result<A, AnswerError>) {
        let texts = answer.map(|answer| self.forms.iter().map(|&form| text_of(&answer, form)).collect());
        let words = line.into_words().split_off(1);
        self.asked.push(Asked { words, texts: texts.map_err(|error| error.advice()) });
    }
}

/// An answer as a pipe has it.
pub fn text_of(answer: &impl Present, format: Format) -> String {
    let style = Style {
        format,
        is_terminal: false,
        width: 80,
        has_human_sizes: false,
        has_header: true,
        has_color: false,
        is_ascii_only: false,
        is_csv_safe: false,
    };
    let mut text = Vec::new();
    write_answer(answer, &mut text, &style).expect("memory takes all");
    String::from_utf8(text).expect("answers are UTF-8")
}

/// Objects of types that match.
pub fn of_type(pattern: &str) -> ScopeOptions {
    let types = TypeChoice::from(TypePattern::parse(pattern).expect("a pattern"));
    ScopeOptions { types: Some(types), ..ScopeOptions::default() }
}

fn of_objects(filter: &str) -> ScopeOptions {
    ScopeOptions { filter: Filter::parse(&[filter]).expect("an expression"), ..ScopeOptions::default() }
}

/// Ids of the first objects in an order, as the dump writes them.
pub fn ids(dump: &OpenDump, order: Option<Figure>, rows: Option<usize>) -> Vec<ObjectId> {
    let limits = Limits { rows, reverse: false };
    let options = ObjectsOptions { ids_only: true, order, limits, ..ObjectsOptions::default() };
    let Ok(answer) = objects(dump, &options) else { return Vec::new() };
    (0..answer.objects.len()).map(|row| answer.objects.id(row).parse().expect("an id")).collect()
}

macro_rules! ask {
    ($asker:ident, $question:path, $options:expr) => {{
        let options = $options;
        $asker.ask(options.command_line(), $question($asker.dump, &options));
    }};
}

/// Returns true if asking everything in every form takes no second.
pub fn is_small(dump: &OpenDump) -> bool {
    dump.graph().is_none_or(|graph| graph.node_count() <= 2000)
}

/// Asks of the whole dump.
pub fn ask_of_dump(dump: &OpenDump, forms: &[Format]) -> Vec<Asked> {
    let mut asker = Asker { dump, forms, asked: Vec::new() };
    let rows = |rows| Limits { rows: Some(rows), reverse: false };
    ask!(asker, info, InfoOptions::default());
    for group_by in GroupBy::WORDS_OF_HISTOGRAMS.iter().map(|(_, by)| *by) {
        ask!(asker, histogram, HistogramOptions { group_by, ..HistogramOptions::default() });
    }
    for retained in [RetainedBy::Minimum, RetainedBy::Exact] {
        ask!(asker, histogram, HistogramOptions { retained: Some(retained), ..HistogramOptions::default() });
    }
    let by_package = HistogramOptions { group_by: GroupBy::Package, ..HistogramOptions::default() };
    ask!(asker, histogram, HistogramOptions { retained: Some(RetainedBy::Minimum), ..by_package });
    ask!(asker, histogram, HistogramOptions { scope: of_objects("shallow > 0"), ..HistogramOptions::default() });
    for order in [Some(SHALLOW), Some(RETAINED), Some(REFERENCES)] {
        ask!(asker, objects, ObjectsOptions { order, limits: rows(50), ..ObjectsOptions::default() });
    }
    ask!(asker, objects, ObjectsOptions { with_values: true, limits: rows(20), ..ObjectsOptions::default() });
    ask!(asker, objects, ObjectsOptions { scope: of_type("String"), limits: rows(50), ..ObjectsOptions::default() });
    for scope in [of_type("String"), of_type("*"), of_objects("reachable")] {
        // What is for programs has all steps.
        let of_scope = MergedPathsOptions { with_all_steps: true, ..MergedPathsOptions::of(scope) };
        ask!(asker, merged_paths, MergedPathsOptions { limits: rows(5), ..of_scope });
    }
    let of_all = |scope| ReferrersOptions { scope, limits: rows(3), ..ReferrersOptions::new(ReferredTo::Scope) };
    ask!(asker, referrers, ReferrersOptions { depth: 2, ..of_all(of_type("*")) });
    ask!(asker, referrers, of_all(of_objects("root")));
    for depth in [1, 4] {
        ask!(
            asker,
            dominator_tree,
            DominatorTreeOptions { depth, limits: rows(20), ..DominatorTreeOptions::default() }
        );
    }
    for group_by in [GroupBy::Type, GroupBy::Package] {
        ask!(
            asker,
            dominator_tree,
            DominatorTreeOptions { group_by: Some(group_by), ..DominatorTreeOptions::default() }
        );
    }
    ask!(asker, dominator_tree, DominatorTreeOptions { scope: of_type("String"), ..DominatorTreeOptions::default() });
    for by in [BreakdownBy::Backtrace, BreakdownBy::Both, BreakdownBy::Caller] {
        ask!(asker, breakdown, BreakdownOptions { by, depth: Some(4), ..BreakdownOptions::default() });
    }
    // With the last every object is a suspect.
    for threshold in ["10%", "1%", "0"].into_iter().take(if is_small(dump) { 3 } else { 2 }) {
        ask!(asker, leaks, LeaksOptions { threshold: threshold.parse().expect("a size"), ..LeaksOptions::default() });
    }
    ask!(asker, strings, StringsOptions { with_holders: true, limits: rows(20), ..StringsOptions::default() });
    ask!(
        asker,
        strings,
        StringsOptions { grep: TypePattern::parse("a").ok(), limits: rows(3), ..StringsOptions::default() }
    );
    ask!(asker, waste, WasteOptions::default());
    ask!(asker, threads, ThreadsOptions::default());
    asker.asked
}

/// Asks what follows from the roots that a dump is seen with.
pub fn ask_of_roots(dump: &OpenDump) -> Vec<Asked> {
    let mut asker = Asker { dump, forms: &[Format::Json], asked: Vec::new() };
    for retained in [None, Some(RetainedBy::Minimum)] {
        ask!(asker, histogram, HistogramOptions { retained, ..HistogramOptions::default() });
    }
    ask!(asker, dominator_tree, DominatorTreeOptions { depth: 2, ..DominatorTreeOptions::default() });
    asker.asked
}

/// Asks of single objects.
pub fn ask_of_objects(dump: &OpenDump, ids: &[ObjectId], forms: &[Format]) -> Vec<Asked> {
    let mut asker = Asker { dump, forms, asked: Vec::new() };
    for id in ids {
        let one = ObjectOptions { max_references: Some(20), ..ObjectOptions::new(id.clone()) };
        let objects = vec![id.clone()];
        let shown = ShowOptions {
            objects,
            scope: ScopeOptions::default(),
            max_references: Some(20),
            with_entries: false,
            data: None,
        };
        asker.ask(one.command_line(), show(dump, &shown));
        for paths in [Some(1), Some(3)] {
            ask!(asker, root_paths, RootPathsOptions { max_paths: paths, ..RootPathsOptions::new(id.clone()) });
        }
        ask!(asker, root_paths, RootPathsOptions { with_weak_roots: true, ..RootPathsOptions::new(id.clone()) });
        let all_paths = RootPathsOptions { max_paths: None, with_all_steps: true, ..RootPathsOptions::new(id.clone()) };
        let mut line = all_paths.command_line();
        asker.ask(line.add_switch("--merge", true).clone(), merged_paths_to(dump, &all_paths, KeptRows::All));
        let object = ReferredTo::Object(id.clone());
        ask!(asker, referrers, ReferrersOptions { depth: 2, ..ReferrersOptions::new(object) });
        let object = Some(id.clone());
        ask!(asker, dominator_tree, DominatorTreeOptions { object: object.clone(), depth: 2, ..Default::default() });
        ask!(asker, breakdown, BreakdownOptions { object, depth: Some(2), ..BreakdownOptions::default() });
    }
    asker.asked
}

/// Exports, of the object that retains most where they are of one.
pub fn exports(dump: &OpenDump) -> Vec<Result<String, String>> {
    let mut all = Vec::new();
    let mut add = |export: &dyn Fn(&mut Vec<u8>) -> Result<(), ExportError>| {
        let mut text = Vec::new();
        let result = export(&mut text).map_err(|error| error.to_string());
        all.push(result.map(|()| String::from_utf8(text).expect("exports are UTF-8")));
    };
    if let Some(object) = ids(dump, Some(RETAINED), Some(1)).pop() {
        add(&|out| write_dot(dump, &DotOptions::around(object.clone()), out));
    }
    add(&|out| write_folded(dump, &FoldedOptions::default(), out).map(drop));
    add(&|out| write_memory_infra(dump, &MemoryInfraOptions::default(), out).map(drop));
    all
}
