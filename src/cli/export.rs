//! `heapdump export --to NAME`: the heap in other tools' forms.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use petgraph::dot::{Config, Dot};
use petgraph::graph::DiGraph;

use super::allocations::HeapArgs;
use super::breakdown::Least;
use super::common::{Common, parse_amount};
use super::folded::write_folded;
use super::load::{Place, open_graph, refuse_to_overwrite};
use super::object::{TypedId, root_text, type_text};
use super::output::refuse_sort;
use super::{Outcome, export_memory_infra, progress};
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::Retained;
use crate::analysis::roots_by_node::RootsByNode;
use crate::analysis::type_tree::TypeTree;
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::report::{escape_controls, format_bytes};

/// The dump in other tools' forms
///
/// folded: the dominator tree by type, a line per path, for speedscope and flame graph tools. flamegraph: the same as an
/// SVG. dot: the neighbourhood of one object (--object), or what it retains, for Graphviz. memory-infra: heap dumps as
/// Chromium's trace viewer reads them; of objects, a backtrace is the types on the way down the dominator tree.
///
/// Example: heapdump export --to flamegraph dump.txt -o heap.svg
///
/// Example: heapdump export --to memory-infra dump.txt > trace.json
///
/// Example: heapdump export --to dot --object 7fe45 dump.txt | dot -Tsvg > object.svg
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// The form
    #[arg(long, value_enum, value_name = "NAME")]
    to: Form,
    /// Where to write [default: standard output]
    #[arg(short, long, alias = "output", value_name = "PATH")]
    output_file: Option<PathBuf>,
    /// The object to begin at
    #[arg(long, value_name = "OBJID")]
    object: Option<String>,
    /// dot: what the object retains in place of its neighbourhood
    #[arg(long)]
    retained: bool,
    /// Levels below the start [default: 100, at most 500; dot: 2; memory-infra: 64 for objects, else all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Leave out what is smaller: a size, or a share [default: 0.1%; memory-infra: 1KiB for objects, else none]
    #[arg(long, value_name = "SIZE")]
    min_bytes: Option<String>,
    /// memory-infra: leave out less than this share, in percent, of its list so far (Chromium 49 has 0.8)
    #[arg(long, value_name = "PERCENT", conflicts_with = "min_bytes")]
    min_percent: Option<f64>,
    /// dot: objects at most
    #[arg(long, default_value_t = 100, value_name = "N")]
    max_objects: usize,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line per path of types: `A;B;C bytes`
    Folded,
    /// An SVG flame graph of the same
    Flamegraph,
    /// A graph for Graphviz
    Dot,
    /// Chromium's heap dump format
    MemoryInfra,
}

const DEPTH_OF_PATHS: u32 = 100;
/// As deep as `dominators` and `breakdown` go: a line repeats all names above it.
const MAX_DEPTH_OF_PATHS: u32 = 500;
const DEPTH_OF_DOT: u32 = 2;
const LEAST_OF_PATHS: &str = "0.1%";

pub(super) fn run(args: &Args) -> Result<Outcome> {
    if let Some(output) = &args.output_file {
        refuse_to_overwrite(&Place::find(args.file.as_deref())?, output)?;
    }
    if args.to == Form::MemoryInfra {
        return export_memory_infra::run(&export_memory_infra::Request {
            file: args.file.as_deref(),
            to: args.output_file.as_deref(),
            least: Least::parse(args.min_bytes.as_deref(), args.min_percent)?,
            depth: args.depth,
            heaps: &args.heaps,
            common: &args.common,
        });
    }
    args.heaps.refuse_on_objects()?;
    refuse_sort(&args.common.output)?;
    if args.common.input.type_pattern.is_some() {
        bail!("--type: an export holds all types; --object begins at one object");
    }
    if args.to != Form::Dot && args.depth.is_some_and(|depth| depth > MAX_DEPTH_OF_PATHS) {
        bail!("--depth: paths of types have 1 to {MAX_DEPTH_OF_PATHS} levels");
    }
    let object = args.object.as_deref().map(TypedId::parse).transpose()?;
    let opened = open_graph(args.file.as_deref(), &args.common)?;
    let graph = opened.graph;
    let start = object.map(|object| object.find(graph, &args.common.input)).transpose()?;
    let section = args.common.input.section(graph)?;
    let (dominators, retained) = opened.dominators()?;
    let from = match start {
        None => 0,
        Some(node) => dominators.number_of(node).unwrap_or(0),
    };
    if let (Some(node), 0, true) = (start, from, args.to != Form::Dot || args.retained) {
        bail!("{} is not reachable from any strong root, so it retains nothing", graph.display_id(node));
    }
    if args.to == Form::Dot {
        let Some(node) = start else { bail!("--to dot draws one object: say which with --object OBJID") };
        let around = Around { args, graph, dominators, retained };
        return write_out(args.output_file.as_deref(), |out| around.dot(node, out));
    }
    let depth = args.depth.unwrap_or(DEPTH_OF_PATHS) as usize;
    let children = dominators.children();
    let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let starts: Vec<u32> = match from {
        0 => children.of(0).collect(),
        _ => vec![from as u32],
    };
    let starts: Vec<u32> =
        starts.into_iter().filter(|&number| nodes.contains(&dominators.node_at(number as usize).index())).collect();
    let whole = starts.iter().fold(0u64, |sum, &start| sum.saturating_add(retained.bytes_at(start as usize)));
    let least = parse_amount(args.min_bytes.as_deref().unwrap_or(LEAST_OF_PATHS), whole)?;
    let tree = TypeTree::build(graph, dominators, &children, starts, depth);
    if args.to == Form::Folded {
        return write_out(args.output_file.as_deref(), |out| write_folded(out, graph, &tree, least));
    }
    let mut lines = Bounded(Vec::new());
    if write_folded(&mut lines, graph, &tree, least).is_err() {
        bail!(
            "the paths take more than {}, too much for a flame graph: draw less with --depth or --min-bytes",
            format_bytes(MOST_BYTES_OF_FLAMES as u64)
        );
    }
    let svg = flame_graph(&String::from_utf8_lossy(&lines.0))?;
    write_out(args.output_file.as_deref(), |out| out.write_all(&svg))
}

fn write_out(path: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Outcome> {
    match path {
        Some(path) => {
            let write = || -> io::Result<()> {
                let mut out = BufWriter::new(File::create(path)?);
                write(&mut out)?;
                out.flush()
            };
            write().with_context(|| path.display().to_string())?;
        }
        None => {
            progress::end();
            let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
            write(&mut out)?;
            out.flush()?;
        }
    }
    Ok(Outcome::Done)
}

/// Bytes that the paths of a flame graph may take: the drawing is made in memory.
const MOST_BYTES_OF_FLAMES: usize = 32 << 20;

/// Takes so many bytes and no more.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MOST_BYTES_OF_FLAMES - self.0.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn flame_graph(lines: &str) -> Result<Vec<u8>> {
    let mut options = inferno::flamegraph::Options::default();
    options.title = "Retained heap by dominator path".into();
    options.count_name = "bytes".into();
    options.name_type = "Type:".into();
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut options, lines.lines(), &mut svg)
        .context("cannot draw the flame graph: nothing is reachable, or nothing is as large as --min-bytes")?;
    Ok(svg)
}

/// What a drawing of the objects around one takes.
struct Around<'a> {
    args: &'a Args,
    graph: &'a HeapGraph,
    dominators: &'a Dominators,
    retained: &'a Retained,
}

impl Around<'_> {
    /// The objects around `node` (or below it in the dominator tree), nearest first, and the references among them.
    fn dot(&self, node: NodeId, out: &mut dyn Write) -> io::Result<()> {
        let graph = self.graph;
        let shown = self.shown(node);
        let roots = RootsByNode::new(graph);
        let mut drawn = DiGraph::<Label<'_>, &str>::new();
        let mut places = std::collections::BTreeMap::new();
        for &(node, _) in &shown {
            places.insert(node, drawn.add_node(Label { around: self, roots: &roots, node }));
        }
        for (&node, &place) in &places {
            for target in graph.references(node) {
                if let Some(&target) = places.get(target) {
                    drawn.add_edge(place, target, "");
                }
            }
        }
        writeln!(out, "{}", Dot::with_config(&drawn, &[Config::EdgeNoLabel]))
    }

    /// The objects, each with how far it is.
    fn shown(&self, node: NodeId) -> Vec<(NodeId, u32)> {
        let depth = self.args.depth.unwrap_or(DEPTH_OF_DOT);
        let (graph, retained) = (self.graph, self.retained);
        let children = self.args.retained.then(|| self.dominators.children());
        let mut known = NodeSet::new(graph.node_count());
        known.insert(node);
        let mut shown = vec![(node, 0)];
        let mut at = 0;
        while let Some(&(node, level)) = shown.get(at) {
            at += 1;
            if level == depth {
                continue;
            }
            let near: Vec<NodeId> = match (&children, self.dominators.number_of(node)) {
                (Some(children), Some(number)) => {
                    let mut below: Vec<u32> = children.of(number).collect();
                    below.sort_by_key(|&number| (std::cmp::Reverse(retained.bytes_at(number as usize)), number));
                    below.into_iter().map(|number| self.dominators.node_at(number as usize)).collect()
                }
                (Some(_), None) => Vec::new(),
                (None, _) => graph.references(node).iter().chain(graph.referrers(node)).copied().collect(),
            };
            for next in near {
                if shown.len() < self.args.max_objects && known.insert(next) {
                    shown.push((next, level + 1));
                }
            }
        }
        shown
    }
}

/// What stands in an object's box, made when it is written.
struct Label<'a> {
    around: &'a Around<'a>,
    roots: &'a RootsByNode<'a>,
    node: NodeId,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Around { graph, dominators, retained, .. } = *self.around;
        let node = self.node;
        write!(f, "{}\n{}\n", escape_controls(&type_text(graph, node)), graph.display_id(node))?;
        write!(f, "{}", format_bytes(graph.shallow_bytes(node)))?;
        if let Some(bytes) = retained.bytes_of(dominators, node) {
            write!(f, ", retains {}", format_bytes(bytes))?;
        }
        for root in self.roots.of(node) {
            write!(f, "\nroot: {}", root_text(graph, root))?;
        }
        Ok(())
    }
}
