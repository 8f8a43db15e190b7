//! Every question is parsed from the words that it gives to ask it again.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;

use clap::FromArgMatches;

use super::commands::roots::PathsQuestion;
use super::{Cli, Command, command_line, with_joined_retained_values};
use crate::analysis::type_patterns::{TypeChoice, TypePattern};
use crate::answers::breakdown::BreakdownBy;
use crate::answers::diff::{GrowthLimits, SHALLOW_DELTA};
use crate::answers::figure::{BYTES, COPIES, DOMINATED_OBJECTS, ID, NAME, OBJECTS, REFERENCES, RETAINED, SHALLOW};
use crate::answers::histogram::{FailOverLimit, FieldFigures, FieldFunction};
use crate::answers::object::{ObjectOptions, ShowOptions};
use crate::answers::object_data::DataOptions;
use crate::answers::referrers::ReferredTo;
use crate::answers::roots::merged_paths::KeptRows;
use crate::answers::{
    AllocationHeapChoice, BreakdownOptions, CommandLine, DiffBy, DiffOptions, DominatorTreeOptions, Figure, GroupBy,
    HistogramOptions, InfoOptions, LeaksOptions, Limits, MergedPathsOptions, ObjectId, ObjectsOptions,
    ReferrersOptions, RetainedBy, RootPathsOptions, ScopeOptions, StringsOptions, ThreadsOptions, TrendOptions,
    TypeOwnership, WasteKind, WasteOptions,
};
use crate::filter::{FieldSelection, Filter};

fn text(question: &dyn Debug) -> String {
    format!("{question:?}")
}

/// The question that a command asks of a dump of objects; `None` for commands whose answers nobody asks again.
fn question_of(command: &Command) -> Option<String> {
    let file = |file: Option<PathBuf>| assert_eq!(file, Some("-".into()));
    macro_rules! of_dump {
        ($args:ident) => {{
            let (question, named) = $args.options().expect("a question");
            file(named);
            text(&question)
        }};
    }
    Some(match command {
        Command::Info(args) => text(&args.options()),
        Command::Stats(args) => {
            let question = args.options().and_then(|options| args.with_order(&options, true, false));
            text(&question.expect("a question"))
        }
        Command::List(args) => text(&args.options().expect("a question")),
        Command::Show(args) => of_dump!(args),
        Command::Roots(args) => of_dump!(args),
        Command::Referrers(args) => of_dump!(args),
        Command::Dominators(args) => of_dump!(args),
        Command::Breakdown(args) => of_dump!(args),
        Command::Leaks(args) => text(&args.options().expect("a question")),
        Command::Threads(args) => of_dump!(args),
        Command::Diff(args) => {
            let of_allocations = |_| args.options(false, 2);
            text(&args.options(true, 2).or_else(of_allocations).expect("a question"))
        }
        Command::Trend(args) => text(&args.options().expect("a question")),
        Command::Strings(args) => text(&args.options().expect("a question")),
        Command::Waste(args) => text(&args.options().expect("a question")),
        #[cfg(feature = "explore")]
        Command::Explore(_) => return None,
        Command::Report(_) | Command::Redact(_) | Command::Export(_) | Command::Index(_) | Command::Mcp(_) => {
            return None;
        }
        Command::Completions(_) | Command::Man(_) => return None,
        #[cfg(all(feature = "collect", target_os = "linux"))]
        Command::Collect(_) => return None,
        #[cfg(not(all(feature = "collect", target_os = "linux")))]
        Command::Collect { .. } => return None,
    })
}

fn pattern(text: &str) -> TypePattern {
    TypePattern::parse_with_case(text, true).expect("a pattern")
}

fn pattern_as_typed(text: &str) -> TypePattern {
    TypePattern::parse(text).expect("a pattern")
}

fn patterns(text: &str) -> Vec<TypePattern> {
    ["/x|y z/"].into_iter().chain([text]).map(pattern_as_typed).collect()
}

fn filter() -> Option<Filter> {
    Filter::parse(&["shallow > 0", "type ~ 'it''s \"x\"'"]).expect("an expression")
}

fn types() -> ScopeOptions {
    let types = TypeChoice { wanted: vec![pattern("a b"), pattern("=C")], unwanted: vec![pattern("*$D")] };
    ScopeOptions { types: Some(types), ..ScopeOptions::of_section(Some("2")) }
}

fn scope() -> ScopeOptions {
    ScopeOptions { filter: filter(), ..types() }
}

fn heaps() -> AllocationHeapChoice {
    let [dump, process, allocator, section] = ["3", "Browser", "malloc", "2"].map(|text| Some(text.to_string()));
    AllocationHeapChoice { memory_dump: dump, snapshot: Some("4".into()), process, allocator, section }
}

fn object() -> ObjectId {
    "2#1cadcb".parse().expect("an id")
}

fn by(order: Figure) -> (Option<Figure>, Limits) {
    (Some(order), Limits { rows: Some(7), reverse: true })
}

/// Questions and the words that ask them.
fn questions() -> Vec<(CommandLine, String)> {
    let mut questions = Vec::new();
    macro_rules! add {
        ($($options:expr),* $(,)?) => { $(
            let options = $options;
            questions.push((options.command_line(), text(&options)));
        )* };
    }
    add!(InfoOptions::default(), InfoOptions { with_properties: true, shows_secrets: true });
    for (_, group_by) in GroupBy::WORDS_OF_HISTOGRAMS {
        add!(HistogramOptions { group_by: *group_by, ..HistogramOptions::default() });
    }
    let (order, limits) = by(RETAINED);
    let (retained, group_by) = (Some(RetainedBy::Exact), GroupBy::Module);
    add!(HistogramOptions { scope: scope(), heaps: heaps(), order, limits, retained, ..HistogramOptions::default() });
    let retained = Some(RetainedBy::Minimum);
    add!(HistogramOptions { retained, group_by, ..HistogramOptions::default() });
    let limit =
        |text: &str, name: &str, bytes| FailOverLimit { text: text.into(), types: pattern_as_typed(name), bytes };
    let size_limits = vec![limit("a b=2KiB", "a b", 2048), limit("=C=1", "=C", 1)];
    add!(HistogramOptions {
        fail_over_limits: size_limits,
        splits_same_name_types: true,
        ..HistogramOptions::default()
    });
    let type_ownership = TypeOwnership { libraries: patterns("a.*"), mine: patterns("b.*") };
    add!(HistogramOptions { type_ownership, group_by: GroupBy::Owner, ..HistogramOptions::default() });

    let mut field_figures = FieldFigures::default();
    for (function, fields) in FieldFunction::ALL.into_iter().zip([".a,.b.c", ".a", ".b.c", ".a"]) {
        field_figures.add_fields(function, &FieldSelection::parse(fields).expect("fields"));
    }
    add!(HistogramOptions { field_figures, group_by: GroupBy::Superclass, as_class_tree: true, ..Default::default() });

    // The first is the default.
    for order in ObjectsOptions::ORDERS.into_iter().skip(1) {
        add!(ObjectsOptions { order: Some(order), ..ObjectsOptions::default() });
    }
    let (order, limits) = by(ID);
    let select = Some(FieldSelection::parse(".id,.user.name").expect("fields"));
    add!(
        ObjectsOptions { scope: scope(), order, limits, ids_only: true, ..ObjectsOptions::default() },
        ObjectsOptions { with_values: true, only_detached: true, selected_fields: select, ..ObjectsOptions::default() },
        ObjectsOptions { data: Some(DataOptions::new(2)), ..ObjectsOptions::default() },
    );

    let (objects, scope_of_object) = (vec![object()], ScopeOptions::of_section(Some("2")));
    let one = ObjectOptions {
        scope: scope_of_object.clone(),
        max_references: Some(3),
        with_entries: true,
        data: Some(DataOptions { max_values: 5, ..DataOptions::new(3) }),
        ..ObjectOptions::new(object())
    };
    questions.push((
        one.command_line(),
        text(&ShowOptions {
            objects,
            scope: one.scope.clone(),
            max_references: one.max_references,
            with_entries: one.with_entries,
            data: one.data,
        }),
    ));
    let to = RootPathsOptions { with_weak_roots: true, with_all_steps: true, ..RootPathsOptions::new(object()) };
    let to = RootPathsOptions { scope: scope_of_object, ..to };
    for paths in [None, Some(1), Some(5)] {
        let limits = Limits { rows: paths.map(|paths| paths + 1), reverse: false };
        let to = RootPathsOptions { max_paths: paths, avoided_types: patterns("A"), limits, ..to.clone() };
        let mut line = to.command_line();
        questions.push((line.clone(), text(&PathsQuestion::ToObject(to.clone()))));
        if paths.is_none() {
            let merged = PathsQuestion::MergedToObject(to, KeptRows::All);
            questions.push((line.add_switch("--merge", true).clone(), text(&merged)));
        }
    }
    for scope in [types(), scope()] {
        let limits = Limits { rows: Some(7), reverse: false };
        let kept_rows = KeptRows::AtLeast("0.25%".parse().expect("a share"));
        let all =
            MergedPathsOptions { avoided_types: patterns("A"), limits, kept_rows, ..MergedPathsOptions::of(scope) };
        let all = MergedPathsOptions { with_weak_roots: true, with_all_steps: true, ..all };
        questions.push((all.command_line(), text(&PathsQuestion::MergedToScope(all))));
    }

    let (order, limits) = by(REFERENCES);
    let to_object = ReferrersOptions::new(ReferredTo::Object(object()));
    add!(
        to_object.clone(),
        ReferrersOptions { order, limits, depth: 500, ..to_object },
        ReferrersOptions { order, limits, scope: scope(), ..ReferrersOptions::new(ReferredTo::Scope) },
    );
    let (order, limits) = by(DOMINATED_OBJECTS);
    let some = Some(object());
    add!(
        DominatorTreeOptions { object: some.clone(), depth: 3, order, limits, ..DominatorTreeOptions::default() },
        DominatorTreeOptions { scope: scope(), order: Some(SHALLOW), ..DominatorTreeOptions::default() },
    );
    for (_, group_by) in GroupBy::WORDS_OF_DOMINATORS {
        let group_by = Some(*group_by);
        add!(DominatorTreeOptions { group_by, splits_same_name_types: true, ..DominatorTreeOptions::default() });
    }
    let min_size = Some("12.5%".parse().expect("a size"));
    for by in [BreakdownBy::Backtrace, BreakdownBy::Type, BreakdownBy::Both, BreakdownBy::Caller] {
        add!(BreakdownOptions { by, min_size, ..BreakdownOptions::default() });
    }
    let (order, limits) = by(NAME);
    let below = Some("main;run it".to_string());
    let min_size = Some("1000".parse().expect("a size"));
    let whole = BreakdownOptions { scope: scope(), heaps: heaps(), min_size, order, limits, ..Default::default() };
    add!(BreakdownOptions { object: some, below_path: below, depth: Some(0), ..whole });

    let threshold = "5%".parse().expect("a size");
    let leaks = LeaksOptions { threshold, libraries: patterns("lib"), scope: types(), ..LeaksOptions::default() };
    add!(
        LeaksOptions::default(),
        LeaksOptions { rows: Some(3), shows_exact_bytes: true, with_all_steps: true, ..leaks }
    );
    let (order, limits) = by(NAME);
    add!(ThreadsOptions::default(), ThreadsOptions { name_or_id: Some("a thread".into()), order, limits });

    for (_, by) in DiffBy::WORDS {
        add!(DiffOptions { by: *by, ..DiffOptions::default() });
    }
    let each_type = Some(crate::analysis::threshold::parse_share("50%").expect("a share"));
    let limits = ["12.5%", "*Cache=1MiB"].map(|text| text.parse().expect("a limit")).to_vec();
    let growth_limits = GrowthLimits {
        limits,
        each_type_share: each_type,
        each_type_min_growth: Some("1000".parse().expect("a size")),
    };
    let (order, limits) = by(SHALLOW_DELTA);
    let filtered = ScopeOptions { types: None, ..scope() };
    add!(
        DiffOptions { by: DiffBy::Paths, with_unchanged: true, ..DiffOptions::default() },
        DiffOptions { by: DiffBy::RootKinds, ..DiffOptions::default() },
        DiffOptions {
            scope: filtered,
            heaps: heaps(),
            growth_limits,
            with_retained: true,
            limits,
            ..DiffOptions::default()
        },
        DiffOptions {
            scope: types(),
            heaps: AllocationHeapChoice { section: Some("2".into()), ..AllocationHeapChoice::default() },
            ..DiffOptions::default()
        },
        DiffOptions {
            order: DiffBy::default().orders(true, false).into_iter().find(|other| Some(*other) != order),
            ..DiffOptions::default()
        },
    );

    let growth_limits = ["10%", "100KiB/dump", "*Cache=1MiB"].map(|text| text.parse().expect("a limit")).to_vec();
    let min_growth = "1000".parse().expect("a size");
    let limits = Limits { rows: Some(7), reverse: false };
    let trend =
        TrendOptions { scope: ScopeOptions { types: None, ..scope() }, limits, growth_limits, ..Default::default() };
    add!(
        TrendOptions::default(),
        TrendOptions { by: DiffBy::Paths, with_unchanged: true, is_wide: true, ..TrendOptions::default() },
        TrendOptions { by: DiffBy::Groups(GroupBy::Line), judges_retained: true, ..TrendOptions::default() },
        TrendOptions {
            by: DiffBy::Groups(GroupBy::Loader),
            heaps: heaps(),
            judges_retained: true,
            judges_growth: true,
            sorts_by_time: true,
            min_growth,
            ..trend
        },
    );
    let (order, limits) = by(COPIES);
    add!(
        StringsOptions { order: Some(BYTES), only_duplicates: true, ..StringsOptions::default() },
        StringsOptions {
            grep: Some(pattern("/^a b/")),
            with_full_texts: true,
            with_holders: true,
            filter: filter(),
            order,
            limits,
            ..Default::default()
        },
    );
    let (order, limits) = by(OBJECTS);
    let kinds = WasteKind::WORDS.iter().map(|(_, kind)| *kind).collect();
    add!(WasteOptions::default(), WasteOptions { kinds, filter: filter(), order, limits, ..WasteOptions::default() });
    add!(WasteOptions { fail_over: Some("7.5%".parse().expect("a share")), ..WasteOptions::default() });
    questions
}

#[test]
fn words_that_ask_again_ask_the_same() {
    let (mut commands, mut wrong) = (BTreeSet::new(), Vec::new());
    for (line, question) in questions() {
        let mut words = line.into_words();
        let (command, has_limit) = (words[1].clone(), words.iter().any(|word| word == "-n"));
        let files: &[&str] = if ["diff", "trend"].contains(&&*command) { &["old.txt", "new.txt"] } else { &["-"] };
        words.extend(files.iter().map(|file| file.to_string()));
        // A terminal has a limit of its own.
        words.extend(["-n", "0"].iter().filter(|_| !has_limit).map(|word| word.to_string()));
        let parsed = command_line().try_get_matches_from(with_joined_retained_values(words.iter().map(Into::into)));
        let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
        let parsed = parsed.unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let asked = question_of(&parsed.command).unwrap_or_default();
        wrong.extend((asked != question).then(|| format!("{words:?}\n{question}\n{asked}")));
        commands.insert(command);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(commands.len(), 14, "{commands:?}");
}

/// Paragraphs are wrapped once, by the terminal's width: no line of one is short but the last.
#[test]
fn paragraphs_of_help_are_wrapped_once() {
    let mut broken = Vec::new();
    for width in [80, 100] {
        let mut program = command_line().term_width(width);
        program.build();
        let mut pages = vec![("heapdump".to_string(), program.render_long_help().to_string())];
        let names: Vec<String> = program.get_subcommands().map(|sub| sub.get_name().to_string()).collect();
        for name in names {
            let sub = program.find_subcommand_mut(&name).expect("a command").clone();
            pages.push((name, sub.term_width(width).render_long_help().to_string()));
        }
        for (name, page) in pages {
            let lines: Vec<&str> = page.lines().collect();
            let indent = |line: &str| line.len() - line.trim_start().len();
            for pair in lines.windows(2).filter(|pair| pair.iter().all(|line| !line.trim().is_empty())) {
                let is_list = |line: &str| line.trim_start().starts_with(['-', '[']) || line.contains("Usage: ");
                let is_heading = pair[0].ends_with(':') || is_list(pair[0]) || is_list(pair[1]);
                // Commands with what they are, one below the other.
                let is_table = pair.iter().all(|line| line.trim_start().contains("  "));
                let is_one = indent(pair[0]) == indent(pair[1]) && !is_heading && !is_table;
                let first = pair[1].split_whitespace().next().unwrap_or_default();
                let fits = pair[0].len() + 1 + first.len() < width / 2;
                broken.extend((is_one && fits).then(|| format!("{name} at {width}: {:?}", pair)));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
