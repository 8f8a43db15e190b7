//! `heapdump list`: the objects themselves, one a row.

use std::cell::{Cell as Counter, RefCell};
use std::cmp::Ordering;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use rayon::prelude::*;

use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key};
use crate::cli::render::objects::{type_cells, type_columns};
use crate::cli::terminal::indexes::AnswerOutput;
use crate::cli::terminal::load::open_graph;
use crate::cli::terminal::progress;
use crate::graph::{HeapGraph, NodeId};
use crate::report::{Cell, Column, Report, Table, Unit};

/// The objects themselves, one a row
///
/// Their ids, sizes, number of references and types, largest shallow size first.
///
/// Example: heapdump list dump.txt --type 'BubbleGame.*' --sort retained -n 20
///
/// Example: heapdump list dump.txt --type 'Byte[]' --ids | xargs -I{} heapdump roots {} dump.txt
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Bare ids, one a line
    #[arg(long, conflicts_with_all = ["format", "human", "bytes", "no_header", "color"])]
    ids: bool,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    order: SortArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let known = [
        ("shallow_bytes", "shallow"),
        ("retained_bytes", "retained"),
        ("id", "id"),
        ("references", "refs"),
        ("type", "type"),
    ];
    let order = sort_key(args.order.sort.as_deref(), "shallow_bytes", &known)?;
    let pattern = args.types.pattern()?;
    let opened = open_graph(args.file.as_deref(), &args.common.input)?;
    let graph = opened.graph;
    let nodes = match args.section.find(graph)? {
        Some(section) => graph.section_nodes(section),
        None => 0..graph.node_count(),
    };
    let wanted = pattern.map(|pattern| pattern.select(graph));
    let nodes: Vec<NodeId> = nodes
        .map(NodeId::new)
        .filter(|&node| wanted.as_ref().is_none_or(|wanted| wanted[graph.type_of(node).index()]))
        .collect();
    let found = nodes.len();
    let tree = if !args.ids || order == "retained_bytes" { Some(opened.dominators()?) } else { None };
    let retained_bytes =
        move |node: NodeId| tree.and_then(|(dominators, retained)| retained.bytes_of(dominators, node));
    let rows = args.limit.rows(found);
    let ordered = Ordered::new(nodes, compare_nodes(graph, order, args.order.reverse, retained_bytes));
    if args.ids {
        progress::end();
        let mut out = AnswerOutput::begin();
        for row in 0..rows {
            writeln!(out, "{}", graph.display_id(ordered.get(row)))?;
        }
        out.finish()?;
    } else {
        let is_inferred = graph.roots_inferred();
        let mut columns = vec![
            Column::new("id", "Object", Unit::Word),
            Column::new("shallow_bytes", "Shallow", Unit::Bytes),
            Column::new("retained_bytes", "Retained", Unit::Bytes),
            Column::new("references", "References", Unit::Count),
        ];
        columns.extend(type_columns(graph));
        let report = Report {
            command: "list",
            fields: Box::new(|json| {
                json.put("format", opened.facts.format)?;
                json.put("found", &found)?;
                if is_inferred { json.put("roots_inferred", &true) } else { Ok(()) }
            }),
            table: Table {
                columns,
                row_count: rows,
                rows_hidden: found - rows,
                row: Box::new(|row| {
                    let node = ordered.get(row);
                    let mut cells = vec![
                        Cell::text(graph.display_id(node)),
                        Cell::Number(graph.shallow_bytes(node)),
                        Cell::number(retained_bytes(node)),
                        Cell::Number(graph.references(node).len() as u64),
                    ];
                    cells.extend(type_cells(graph, node));
                    cells
                }),
            },
            rows_key: Some("objects"),
            nested: None,
            summary: match is_inferred {
                true => "Retained sizes rest on inferred roots: the dump has none.\n".into(),
                false => String::new(),
            },
            text: None,
            markdown: None,
        };
        args.common.output.print(&report)?;
    }
    let nothing_matches = found == 0 && args.types.type_pattern.is_some();
    Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
}

/// Objects in order, sorted no further than somebody has asked: the first rows of ten million are there at once.
struct Ordered<C> {
    nodes: RefCell<Vec<NodeId>>,
    sorted: Counter<usize>,
    compare: C,
}

/// Rows that are sorted first; each further piece is as large as all before it, four times over.
const FIRST_SORTED: usize = 4096;

impl<C: Fn(&NodeId, &NodeId) -> Ordering + Sync> Ordered<C> {
    fn new(nodes: Vec<NodeId>, compare: C) -> Self {
        Ordered { nodes: RefCell::new(nodes), sorted: Counter::new(0), compare }
    }

    /// The object of a row. O(objects) for the first row of a piece, with the sort of the piece.
    fn get(&self, row: usize) -> NodeId {
        while row >= self.sorted.get() {
            let sorted = self.sorted.get();
            let mut nodes = self.nodes.borrow_mut();
            let rest = &mut nodes[sorted..];
            let piece = FIRST_SORTED.max(4 * sorted).min(rest.len());
            if piece < rest.len() {
                rest.select_nth_unstable_by(piece - 1, &self.compare);
            }
            rest[..piece].par_sort_unstable_by(&self.compare);
            self.sorted.set(sorted + piece);
        }
        self.nodes.borrow()[row]
    }
}

/// The order of the rows; ties by node, that is by section and id.
fn compare_nodes<'a>(
    graph: &'a HeapGraph,
    order: &'static str,
    reverse: bool,
    retained_bytes: impl Fn(NodeId) -> Option<u64> + Sync + 'a,
) -> impl Fn(&NodeId, &NodeId) -> Ordering + Sync + 'a {
    move |a, b| {
        let by_number = |value: &dyn Fn(NodeId) -> u64| value(*b).cmp(&value(*a));
        let ordering = match order {
            "id" => Ordering::Equal,
            "references" => by_number(&|node| graph.references(node).len() as u64),
            "retained_bytes" => by_number(&|node| retained_bytes(node).map_or(0, |bytes| bytes.saturating_add(1))),
            "type" => graph.type_name(graph.type_of(*a)).cmp(graph.type_name(graph.type_of(*b))),
            _ => by_number(&|node| graph.shallow_bytes(node)),
        };
        let ordering = ordering.then(a.cmp(b));
        if reverse { ordering.reverse() } else { ordering }
    }
}
