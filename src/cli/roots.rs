//! `heapdump roots OBJID`: why is it alive.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::common::{Common, LimitArgs, SectionArgs, TypeArgs, split_object_and_file};
use super::load::open_graph;
use super::object::{
    TypedId, object_json, path_json, root_text, roots_words, text_cells, type_cells, type_columns, type_text,
};
use super::output::{bold, fields, print_sentence};
use super::{Outcome, roots_by_type};
use crate::analysis::reachability::compute_reachable_from;
use crate::analysis::root_paths::{RootPath, find_root_paths};
use crate::analysis::selection::TypePattern;
use crate::graph::{HeapGraph, NodeId, Root};
use crate::report::{Cell, Column, Format, Report, Style, Table, Unit, count_of, escape_controls};

/// Why an object is alive: paths to it from GC roots
///
/// Each is the shortest path from one object that a root holds. Weak roots hold nothing; --all-kinds shows them.
/// Exit code 1 when no strong root reaches the object.
///
/// With --type the paths of all objects of some types, merged by type from the roots down. Objects that another of
/// them holds count there: their own rows retain 0.
///
/// Example: heapdump roots 7fe45 dump.txt
///
/// Example: heapdump roots --type BubbleGame.Level dump.txt
///
/// Example: heapdump roots 7fe45 dump.txt --paths 3 -f json | jq '.paths[].root.kind'
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    override_usage = "heapdump roots [OPTIONS] OBJID [FILE]\n       heapdump roots [OPTIONS] --type PATTERN [FILE]"
)]
pub(super) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Paths from this many different rooted objects, shortest first; 0 for all
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "type_pattern")]
    paths: usize,
    /// Walk around objects of these types: known holders that are not in question
    #[arg(long, value_name = "TYPE")]
    exclude: Vec<String>,
    /// Walk weak roots too
    #[arg(long)]
    all_kinds: bool,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

/// Steps of a path that text shows; JSON has all.
const STEPS_SHOWN: usize = 40;

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let pattern = args.types.pattern()?;
    let exclude: Vec<TypePattern> = args
        .exclude
        .iter()
        .map(|text| TypePattern::parse(text).map_err(anyhow::Error::msg).context("--exclude"))
        .collect::<Result<_>>()?;
    let (object, file): (_, Option<PathBuf>) = match (&pattern, &args.words[..]) {
        (None, words) => split_object_and_file(words),
        (Some(_), words) if words.len() > 1 => bail!("--type asks for all objects of a type: leave OBJID out"),
        (Some(_), words) => (None, words.first().map(PathBuf::from)),
    };
    if object.is_none() && pattern.is_none() {
        bail!("which object? heapdump roots OBJID [FILE], or --type PATTERN for all of a type");
    }
    if args.limit.limit.is_some() && pattern.is_none() {
        bail!("-n: one object has no rows to leave out; --paths says how many paths there are, --type has a tree");
    }
    let object = object.as_deref().map(TypedId::parse).transpose()?;
    let opened = open_graph(file.as_deref(), &args.common.input)?;
    let graph = opened.graph;
    let mut avoided = vec![false; graph.type_count()];
    for pattern in &exclude {
        avoided.iter_mut().zip(pattern.select(graph)).for_each(|(avoided, selected)| *avoided |= selected);
    }
    if let (Some(pattern), Some(text)) = (pattern, &args.types.type_pattern) {
        let nodes = args.section.find(graph)?.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
        let question = roots_by_type::Question {
            pattern: text,
            wanted: pattern.select(graph),
            avoided,
            nodes,
            all_kinds: args.all_kinds,
        };
        return roots_by_type::run(&question, opened, &args.common.output, &args.limit);
    }
    let Some(object) = object else { bail!("which object? heapdump roots OBJID [FILE]") };
    let node = object.find(graph, &args.section)?;
    opened.check_referrers()?;
    let (dominators, retained) = opened.dominators()?;
    opened.progress.phase("finding paths");
    let is_plain = args.paths == 1 && !args.all_kinds && exclude.is_empty();
    let paths = match opened.shortest_parents().filter(|_| is_plain) {
        Some(parents) => parents.path_to(graph, node).into_iter().collect(),
        None => find_root_paths(graph, node, args.paths, args.all_kinds, |node| avoided[graph.type_of(node).index()]),
    };

    let is_reachable = dominators.number_of(node).is_some();
    // Another answer than "nothing holds it": something does, and was left out.
    let is_excluded = !is_reachable
        && graph.roots().iter().any(|root| root.excluded)
        && compute_reachable_from(graph, Root::is_strong_in_dump).contains(node);
    let alive = opened.facts.unrooted_are_alive && !is_excluded;
    let answer =
        Answer { graph, node, alive, is_excluded, paths, retained: &|node| retained.bytes_of(dominators, node) };
    let reachable = (answer.retained)(node).is_some();
    let style = args.common.output.style();
    let rows = answer.rows(style.format == Format::Table || style.format == Format::Markdown);
    let mut columns = vec![
        Column::new("path", "Path", Unit::Count),
        Column::new("step", "Step", Unit::Word),
        Column::new("id", "Object", Unit::Word),
        Column::new("shallow_bytes", "Shallow", Unit::Bytes),
        Column::new("retained_bytes", "Retained", Unit::Bytes),
    ];
    columns.extend(type_columns(graph));
    let report = Report {
        command: "roots",
        fields: Box::new(|| answer.json(reachable)),
        table: Table { columns, row_count: rows.len(), rows_hidden: 0, row: Box::new(|row| answer.cells(&rows[row])) },
        rows_key: None,
        nested: None,
        summary: String::new(),
        text: Some(Box::new(|| answer.text(reachable, &style))),
        markdown: None,
    };
    args.common.output.print(&report)?;
    let is_blocked = reachable && answer.paths.is_empty();
    if is_blocked && !args.common.is_quiet() {
        print_sentence(&format!("every path to {} goes through what --exclude names", graph.display_id(node)));
    }
    if !reachable && !args.common.is_quiet() {
        answer.explain_unreachable(args.all_kinds);
    }
    Ok(if reachable && !is_blocked { Outcome::Done } else { Outcome::No })
}

/// A row of the table: the root of a path, an object on it, or the gap in a long one.
enum PathRow {
    Root { path: usize },
    Step { path: usize, step: usize },
    LeftOut { path: usize, objects: usize },
}

struct Answer<'a> {
    graph: &'a HeapGraph,
    node: NodeId,
    /// Objects without a root are alive.
    alive: bool,
    /// Only roots that were left out on request reach it.
    is_excluded: bool,
    paths: Vec<RootPath>,
    retained: &'a dyn Fn(NodeId) -> Option<u64>,
}

/// The places of a path that text shows, and how many are left out after the first of them.
fn shown_steps(length: usize) -> (Vec<usize>, usize) {
    if length <= STEPS_SHOWN {
        return ((0..length).collect(), 0);
    }
    let half = STEPS_SHOWN / 2;
    ((0..half).chain(length - half..length).collect(), length - STEPS_SHOWN)
}

impl Answer<'_> {
    fn json(&self, reachable: bool) -> serde_json::Map<String, Value> {
        let mut object = object_json(self.graph, self.node);
        object.insert("retained_bytes".into(), (self.retained)(self.node).into());
        let paths: Vec<Value> = self.paths.iter().map(|path| path_json(self.graph, path)).collect();
        let mut fields = fields(json!({"object": object, "reachable": reachable, "paths": paths}));
        if self.graph.roots_inferred() {
            fields.insert("roots_inferred".into(), true.into());
        }
        fields
    }

    /// With `is_text` long paths are shortened.
    fn rows(&self, is_text: bool) -> Vec<PathRow> {
        let mut rows = Vec::new();
        for (path, found) in self.paths.iter().enumerate() {
            rows.push(PathRow::Root { path });
            let (steps, left_out) = match is_text {
                true => shown_steps(found.nodes.len()),
                false => ((0..found.nodes.len()).collect(), 0),
            };
            for step in steps {
                if left_out > 0 && step == found.nodes.len() - STEPS_SHOWN / 2 {
                    rows.push(PathRow::LeftOut { path, objects: left_out });
                }
                rows.push(PathRow::Step { path, step });
            }
        }
        rows
    }

    fn cells(&self, row: &PathRow) -> Vec<Cell<'_>> {
        let graph = self.graph;
        let text = |path: usize, step: &'static str, text: String| {
            let number = Cell::Number(path as u64 + 1);
            let mut cells = vec![number, Cell::text(step), Cell::Missing, Cell::Missing, Cell::Missing];
            cells.extend(text_cells(graph, text));
            cells
        };
        match *row {
            PathRow::Root { path } => text(path, "root", root_text(graph, &self.paths[path].root)),
            PathRow::LeftOut { path, objects } => {
                text(path, "...", format!("... {} left out ...", count_of(objects as u64, "objects")))
            }
            PathRow::Step { path, step } => {
                let node = self.paths[path].nodes[step];
                let mut cells = vec![
                    Cell::Number(path as u64 + 1),
                    Cell::text(step.to_string()),
                    Cell::text(graph.display_id(node)),
                    Cell::Number(graph.shallow_bytes(node)),
                    Cell::number((self.retained)(node)),
                ];
                cells.extend(type_cells(graph, node));
                cells
            }
        }
    }

    fn text(&self, reachable: bool, style: &Style) -> String {
        let graph = self.graph;
        let size = |bytes: u64| style.size(bytes);
        let mut text = String::new();
        let mut say = |line: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        };
        say(format!(
            "{}  {}",
            bold(&graph.display_id(self.node), style),
            escape_controls(&type_text(graph, self.node))
        ));
        let retained = (self.retained)(self.node).map_or("-".into(), size);
        say(format!("  shallow {}, retained {retained}", size(graph.shallow_bytes(self.node))));
        if !reachable {
            let why = match self.alive {
                true => ": alive all the same, on the frozen heap",
                false if self.is_excluded => " but those that --exclude-roots leaves out",
                false => "",
            };
            say(format!("  not reachable from any strong root{why}"));
        }
        for (number, path) in self.paths.iter().enumerate() {
            let references = count_of(path.nodes.len() as u64 - 1, "references");
            say(String::new());
            say(format!(
                "{} ({references}), held by {}",
                bold(&format!("Path {}", number + 1), style),
                roots_words(graph, path)
            ));
            let (steps, left_out) = shown_steps(path.nodes.len());
            let width = steps.iter().map(|&step| graph.display_id(path.nodes[step]).len()).max().unwrap_or(0);
            for step in steps {
                if left_out > 0 && step == path.nodes.len() - STEPS_SHOWN / 2 {
                    let left_out = count_of(left_out as u64, "objects");
                    say(format!("  ... {left_out} left out; -f json has all ..."));
                }
                let node = path.nodes[step];
                let arrow = if step == 0 { "  " } else { "→ " };
                let retained = (self.retained)(node).map_or("-".into(), size);
                let start = format!(
                    "  {arrow}{:<width$}  {:>10}  {retained:>10} retained  ",
                    graph.display_id(node),
                    size(graph.shallow_bytes(node)),
                );
                let name = style.fit(start.chars().count(), &type_text(graph, node));
                say(format!("{start}{name}"));
            }
        }
        if graph.roots_inferred() {
            say("\nRoots are inferred: this format has no root records.".into());
        }
        text
    }

    fn explain_unreachable(&self, all_kinds: bool) {
        let why = match self.alive {
            true => "; it is on the frozen heap, which is never collected",
            false if self.is_excluded => " but those that --exclude-roots leaves out",
            false => "",
        };
        let hint = if all_kinds { "" } else { "; --all-kinds walks weak roots too" };
        let id = self.graph.display_id(self.node);
        print_sentence(&format!("{id} is not reachable from any strong root{why}{hint}"));
    }
}
