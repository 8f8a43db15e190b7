//! `heapdump export --to NAME`: the heap in other tools' forms.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use petgraph::dot::{Config, Dot};
use petgraph::graph::DiGraph;

use crate::analysis::dominators::Dominators;
use crate::analysis::retained::Retained;
use crate::analysis::roots_by_node::RootsByNode;
use crate::analysis::type_tree::TypeTree;
use crate::cli::Outcome;
use crate::cli::args::heaps::HeapArgs;
use crate::cli::args::options::{InputArgs, SectionArgs, parse_threshold};
use crate::cli::commands::breakdown::parse_smallest;
use crate::cli::commands::export_memory_infra;
use crate::cli::commands::folded::write_folded;
use crate::cli::render::objects::{find_object, parse_object_id, root_text, type_text};
use crate::cli::terminal::load::{Place, open_graph};
use crate::cli::terminal::progress;
use crate::cli::terminal::target::{find_target, write_with};
use crate::dump::AnswerNeed;
use crate::files::Target;
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::report::{escape_dot, format_bytes};

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
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// The form
    #[arg(long, value_enum, value_name = "NAME")]
    to: Form,
    /// Where to write; - for standard output, which is the default
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
    /// dot: objects at most [default: 100]
    #[arg(long, value_name = "N")]
    max_objects: Option<usize>,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    input: InputArgs,
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
const OBJECTS_OF_DOT: usize = 100;
const LEAST_OF_PATHS: &str = "0.1%";

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    args.refuse_options_of_other_forms()?;
    let target = find_target(&Place::find(args.file.as_deref())?, args.output_file.as_deref())?;
    if args.to == Form::MemoryInfra {
        return export_memory_infra::run(&export_memory_infra::Request {
            file: args.file.as_deref(),
            target: &target,
            least: parse_smallest(args.min_bytes.as_deref(), args.min_percent)?,
            depth: args.depth,
            heaps: &args.heaps,
            section: &args.section,
            input: &args.input,
        });
    }
    if args.to != Form::Dot && args.depth.is_some_and(|depth| depth > MAX_DEPTH_OF_PATHS) {
        bail!("--depth: paths of types have 1 to {MAX_DEPTH_OF_PATHS} levels");
    }
    let object = args.object.as_deref().map(parse_object_id).transpose()?;
    let opened = open_graph(args.file.as_deref(), &args.input)?;
    // The output is written while the answer is computed.
    crate::cli::terminal::indexes::verify_all()?;
    let graph = opened.graph;
    let start = object.map(|object| find_object(&object, graph, &args.section)).transpose()?;
    let section = args.section.find(graph)?;
    let (dominators, retained) = opened.dominators()?;
    opened.check_answer(AnswerNeed::Descent, 0)?;
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
        return write_to(&target, |out| around.dot(node, out));
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
    let least = parse_threshold(args.min_bytes.as_deref().unwrap_or(LEAST_OF_PATHS))?.at_least(whole);
    let tree = TypeTree::build(graph, dominators, &children, starts, depth);
    if args.to == Form::Folded {
        return write_to(&target, |out| write_folded(out, graph, &tree, least));
    }
    let mut lines = Bounded(Vec::new());
    if write_folded(&mut lines, graph, &tree, least).is_err() {
        bail!(
            "the paths take more than {}, too much for a flame graph: draw less with --depth or --min-bytes",
            format_bytes(MOST_BYTES_OF_FLAMES as u64)
        );
    }
    let svg = flame_graph(&String::from_utf8_lossy(&lines.0))?;
    write_to(&target, |out| out.write_all(&svg))
}

fn write_to(target: &Target, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Outcome> {
    progress::end();
    write_with(target, write)?;
    Ok(Outcome::Done)
}

impl Args {
    /// What acts in one form is no option of another.
    fn refuse_options_of_other_forms(&self) -> Result<()> {
        let (tree, dot, trace) = (&[Form::Folded, Form::Flamegraph][..], &[Form::Dot][..], &[Form::MemoryInfra][..]);
        let options = [
            ("--object", self.object.is_some(), [tree, dot].concat()),
            ("--retained", self.retained, dot.to_vec()),
            ("--max-objects", self.max_objects.is_some(), dot.to_vec()),
            ("--min-bytes", self.min_bytes.is_some(), [tree, trace].concat()),
            ("--min-percent", self.min_percent.is_some(), trace.to_vec()),
            ("--dump", self.heaps.dump.is_some(), trace.to_vec()),
            ("--process", self.heaps.process.is_some(), trace.to_vec()),
            ("--allocator", self.heaps.allocator.is_some(), trace.to_vec()),
        ];
        for (option, is_given, forms) in options {
            if is_given && !forms.contains(&self.to) {
                let names: Vec<String> = forms.iter().map(|form| format!("--to {}", form.name())).collect();
                bail!("{option} acts with {} only, not with --to {}", names.join(" and "), self.to.name());
            }
        }
        Ok(())
    }
}

impl Form {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
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
        let most = self.args.max_objects.unwrap_or(OBJECTS_OF_DOT);
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
                if shown.len() < most && known.insert(next) {
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
        write!(f, "{}\n{}\n", escape_dot(&type_text(graph, node)), graph.display_id(node))?;
        write!(f, "{}", format_bytes(graph.shallow_bytes(node)))?;
        if let Some(bytes) = retained.bytes_of(dominators, node) {
            write!(f, ", retains {}", format_bytes(bytes))?;
        }
        for root in self.roots.of(node) {
            write!(f, "\nroot: {}", escape_dot(&root_text(graph, root)))?;
        }
        Ok(())
    }
}
