//! `heapdump roots OBJID`: why is it alive.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::analysis::reachability::compute_reachable_from;
use crate::analysis::root_paths::{PathNodes, RootPath, RootPaths, find_root_paths};
use crate::analysis::roots_by_node::RootsByNode;
use crate::analysis::selection::TypePattern;
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, TypeArgs, split_object_and_file};
use crate::cli::commands::roots_by_type;
use crate::cli::render::objects::{
    ObjectJson, PathJson, WithRetained, find_object, parse_object_id, root_text, roots_words, text_cells, type_cells,
    type_columns, type_text,
};
use crate::cli::terminal::load::open_graph;
use crate::cli::terminal::output::{bold, print_sentence};
use crate::graph::{HeapGraph, NodeId, Root};
use crate::report::{Cell, Column, Format, Members, Report, Style, Table, Unit, count_of, escape_controls};

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
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args) -> Result<Outcome> {
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
    let object = object.as_deref().map(parse_object_id).transpose()?;
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
    let node = find_object(&object, graph, &args.section)?;
    opened.check_referrers()?;
    let (dominators, retained) = opened.dominators()?;
    opened.progress.phase("finding paths");
    let is_plain = args.paths == 1 && !args.all_kinds && exclude.is_empty();
    let roots = RootsByNode::new(graph);
    let paths = match opened.shortest_parents().filter(|_| is_plain) {
        Some(parents) => parents.path_to(graph, &roots, node),
        None => {
            let is_avoided = |node: NodeId| avoided[graph.type_of(node).index()];
            Some(find_root_paths(graph, node, args.paths, args.all_kinds, is_avoided))
        }
    };
    let paths = paths.filter(|paths| !paths.is_empty());

    let is_reachable = dominators.number_of(node).is_some();
    // Another answer than "nothing holds it": something does, and was left out.
    let is_excluded = !is_reachable
        && graph.roots().iter().any(|root| root.excluded)
        && compute_reachable_from(graph, Root::is_strong_in_dump).contains(node);
    let style = args.common.output.style();
    let alive = opened.facts.unrooted_are_alive && !is_excluded;
    let answer = Answer {
        graph,
        node,
        alive,
        is_excluded,
        roots: &roots,
        paths: paths.as_ref(),
        retained: &|node| retained.bytes_of(dominators, node),
    };
    let reachable = (answer.retained)(node).is_some();
    let mut columns = vec![
        Column::new("path", "Path", Unit::Count),
        Column::new("step", "Step", Unit::Word),
        Column::new("id", "Object", Unit::Word),
        Column::new("shallow_bytes", "Shallow", Unit::Bytes),
        Column::new("retained_bytes", "Retained", Unit::Bytes),
    ];
    columns.extend(type_columns(graph));
    let rows = Rows::new(answer.paths, matches!(style.format, Format::Table | Format::Markdown));
    let report = Report {
        command: "roots",
        fields: Box::new(|json| answer.json(reachable, json)),
        table: Table {
            columns,
            row_count: rows.count(),
            rows_hidden: 0,
            row: Box::new(|row| rows.get(row).map_or_else(Vec::new, |row| answer.cells(&row))),
        },
        rows_key: None,
        nested: None,
        summary: String::new(),
        text: Some(Box::new(|out| answer.text(reachable, &style, out))),
        markdown: None,
    };
    args.common.output.print(&report)?;
    let is_blocked = reachable && answer.paths.is_none();
    if is_blocked && !args.common.is_quiet() {
        print_sentence(&format!("every path to {} goes through what --exclude names", graph.display_id(node)));
    }
    if !reachable && !args.common.is_quiet() {
        answer.explain_unreachable(args.all_kinds);
    }
    Ok(if reachable && !is_blocked { Outcome::Done } else { Outcome::No })
}

/// A row of the table: the root of a path, an object on it, or the gap in a long one.
enum PathRow<'p> {
    Root { path: usize, root: &'p Root },
    Step { path: usize, step: usize, node: NodeId },
    LeftOut { path: usize, objects: usize },
}

struct Answer<'a> {
    graph: &'a HeapGraph,
    node: NodeId,
    /// Objects without a root are alive.
    alive: bool,
    /// Only roots that were left out on request reach it.
    is_excluded: bool,
    roots: &'a RootsByNode<'a>,
    /// `None` when there is none.
    paths: Option<&'a RootPaths<'a>>,
    retained: &'a dyn Fn(NodeId) -> Option<u64>,
}

/// The rows of all paths, which together may be longer than the heap has objects: found on demand, each from the one
/// before it where they are asked for in order.
struct Rows<'a> {
    paths: Option<&'a RootPaths<'a>>,
    /// By path: where its rows end.
    ends: Vec<usize>,
    /// By path: its last objects, where long paths are shortened.
    tails: Option<Vec<PathNodes<'a>>>,
    /// A path, the place on it of the next object, and what comes from there on.
    cursor: RefCell<Option<(usize, usize, PathNodes<'a>)>>,
}

impl<'a> Rows<'a> {
    /// With `is_text` long paths are shortened.
    fn new(paths: Option<&'a RootPaths<'a>>, is_text: bool) -> Self {
        let mut ends = Vec::new();
        let mut end = 0;
        for path in paths.into_iter().flat_map(RootPaths::iter) {
            let objects = path.length + 1;
            end += if is_text && objects > STEPS_SHOWN { 2 + STEPS_SHOWN } else { 1 + objects };
            ends.push(end);
        }
        let tails = paths.filter(|_| is_text).map(|paths| paths.ends(STEPS_SHOWN / 2));
        Rows { paths, ends, tails, cursor: RefCell::new(None) }
    }

    fn count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn get(&self, row: usize) -> Option<PathRow<'a>> {
        const HALF: usize = STEPS_SHOWN / 2;
        let starts = |path: usize| path.checked_sub(1).map_or(0, |before| self.ends[before]);
        let path = match self.cursor.borrow().as_ref().map(|&(path, ..)| path) {
            Some(path) if (starts(path)..self.ends[path]).contains(&row) => path,
            _ => self.ends.partition_point(|&end| end <= row),
        };
        let found = self.paths?.get(path)?;
        let place = row - starts(path);
        let objects = found.length + 1;
        let tail = self.tails.as_ref().filter(|_| objects > STEPS_SHOWN).map(|tails| &tails[path]);
        let (step, node) = match (place, tail) {
            (0, _) => return Some(PathRow::Root { path, root: found.root }),
            (place, Some(_)) if place == HALF + 1 => {
                return Some(PathRow::LeftOut { path, objects: objects - STEPS_SHOWN });
            }
            (place, Some(tail)) if place > HALF => {
                let after = place - HALF - 2;
                (objects - HALF + after, tail.clone().nth(after)?)
            }
            (place, _) => (place - 1, self.node_at(path, found, place - 1)?),
        };
        Some(PathRow::Step { path, step, node })
    }

    fn node_at(&self, path: usize, found: RootPath<'a>, step: usize) -> Option<NodeId> {
        let mut cursor = self.cursor.borrow_mut();
        let (mut at, mut nodes) = match cursor.take() {
            Some((known, at, nodes)) if known == path && at <= step => (at, nodes),
            _ => (0, found.nodes()),
        };
        let node = nodes.nth(step - at);
        at = step + 1;
        *cursor = Some((path, at, nodes));
        node
    }
}

impl Answer<'_> {
    fn json(&self, reachable: bool, json: &mut Members<'_>) -> io::Result<()> {
        let (graph, roots) = (self.graph, self.roots);
        json.put("object", &WithRetained(ObjectJson(graph, self.node), (self.retained)(self.node)))?;
        json.put("reachable", &reachable)?;
        let paths = self.paths.into_iter().flat_map(RootPaths::iter);
        json.put_each("paths", paths.map(|path| PathJson { graph, roots, path }))?;
        if graph.roots_inferred() {
            json.put("roots_inferred", &true)?;
        }
        Ok(())
    }

    fn cells(&self, row: &PathRow<'_>) -> Vec<Cell<'_>> {
        let graph = self.graph;
        let text = |path: usize, step: &'static str, text: String| {
            let number = Cell::Number(path as u64 + 1);
            let mut cells = vec![number, Cell::text(step), Cell::Missing, Cell::Missing, Cell::Missing];
            cells.extend(text_cells(graph, text));
            cells
        };
        match *row {
            PathRow::Root { path, root } => text(path, "root", root_text(graph, root)),
            PathRow::LeftOut { path, objects } => {
                text(path, "...", format!("... {} left out ...", count_of(objects as u64, "objects")))
            }
            PathRow::Step { path, step, node } => {
                let mut cells = Vec::with_capacity(7);
                cells.extend([
                    Cell::Number(path as u64 + 1),
                    Cell::text(step.to_string()),
                    Cell::text(graph.display_id(node)),
                    Cell::Number(graph.shallow_bytes(node)),
                    Cell::number((self.retained)(node)),
                ]);
                cells.extend(type_cells(graph, node));
                cells
            }
        }
    }

    fn text(&self, reachable: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let graph = self.graph;
        let size = |bytes: u64| style.size(bytes);
        writeln!(
            out,
            "{}  {}",
            bold(&graph.display_id(self.node), style),
            escape_controls(&type_text(graph, self.node))
        )?;
        let retained = (self.retained)(self.node).map_or("-".into(), size);
        writeln!(out, "  shallow {}, retained {retained}", size(graph.shallow_bytes(self.node)))?;
        if !reachable {
            let why = match self.alive {
                true => ": alive all the same, on the frozen heap",
                false if self.is_excluded => " but those that --exclude-roots leaves out",
                false => "",
            };
            writeln!(out, "  not reachable from any strong root{why}")?;
        }
        let tails = self.paths.map_or(Vec::new(), |paths| paths.ends(STEPS_SHOWN / 2));
        let paths = self.paths.into_iter().flat_map(RootPaths::iter).zip(tails);
        for (number, (path, tail)) in paths.enumerate() {
            let length = path.length;
            let references = count_of(length as u64, "references");
            writeln!(out)?;
            writeln!(
                out,
                "{} ({references}), held by {}",
                bold(&format!("Path {}", number + 1), style),
                roots_words(graph, self.roots, path)
            )?;
            let left_out = (length + 1).saturating_sub(STEPS_SHOWN);
            let nodes: Vec<NodeId> = match left_out {
                0 => path.nodes().collect(),
                _ => path.nodes().take(STEPS_SHOWN / 2).chain(tail).collect(),
            };
            let width = nodes.iter().map(|&node| graph.display_id(node).len()).max().unwrap_or(0);
            for (place, &node) in nodes.iter().enumerate() {
                if left_out > 0 && place == STEPS_SHOWN / 2 {
                    let left_out = count_of(left_out as u64, "objects");
                    writeln!(out, "  ... {left_out} left out; -f json has all ...")?;
                }
                let arrow = if place == 0 { "  " } else { "→ " };
                let retained = (self.retained)(node).map_or("-".into(), size);
                let start = format!(
                    "  {arrow}{:<width$}  {:>10}  {retained:>10} retained  ",
                    graph.display_id(node),
                    size(graph.shallow_bytes(node)),
                );
                let name = style.fit(start.chars().count(), &type_text(graph, node));
                writeln!(out, "{start}{name}")?;
            }
        }
        if graph.roots_inferred() {
            writeln!(out, "\nRoots are inferred: this format has no root records.")?;
        }
        Ok(())
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
