//! `heapdump roots OBJID`: why is it alive.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::Outcome;
use super::common::{Common, split_object_and_file};
use super::load::open_graph;
use super::object::{find_object, object_json, root_json, root_text, root_words, type_text};
use super::output::{bold, fields};
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::Retained;
use crate::analysis::root_paths::{RootPath, find_root_paths};
use crate::graph::{HeapGraph, NodeId};
use crate::report::{Cell, Column, Report, Style, Table, Unit, escape_controls, format_bytes};

/// Why an object is alive: paths to it from GC roots
///
/// Each is the shortest path from one object that a root holds. Weak roots hold nothing; --all-kinds shows them.
/// Exit code 1 when no strong root reaches the object.
///
/// Example: heapdump roots 7fe45 dump.txt
/// Example: heapdump roots 7fe45 dump.txt --paths 3 -f json | jq '.paths[].root.kind'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, override_usage = "heapdump roots [OPTIONS] OBJID [FILE]")]
pub(super) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Paths from this many different rooted objects, shortest first; 0 for all
    #[arg(long, default_value_t = 1, value_name = "N")]
    paths: usize,
    /// Walk weak roots too
    #[arg(long)]
    all_kinds: bool,
    #[command(flatten)]
    common: Common,
}

/// Steps of a path that text shows; JSON has all.
const STEPS_SHOWN: usize = 40;

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let (object, file): (_, Option<PathBuf>) = split_object_and_file(&args.words);
    let Some(object) = object else { bail!("which object? heapdump roots OBJID [FILE]") };
    let opened = open_graph(file.as_deref(), &args.common)?;
    let graph = opened.graph;
    let node = find_object(graph, &object, &args.common.input)?;
    opened.progress.phase("computing dominators");
    let dominators = Dominators::compute(graph);
    let retained = Retained::compute(graph, &dominators);
    opened.progress.phase("finding paths");
    let paths = find_root_paths(graph, node, args.paths, args.all_kinds);
    drop(opened.progress);

    let alive = opened.facts.unrooted_are_alive;
    let answer = Answer { graph, node, alive, paths, retained: &|node| retained.bytes_of(&dominators, node) };
    let reachable = (answer.retained)(node).is_some();
    let rows = answer.rows();
    let report = Report {
        command: "roots",
        fields: answer.json(reachable),
        table: Table {
            columns: vec![
                Column::new("path", "Path", Unit::Count),
                Column::new("step", "Step", Unit::Word),
                Column::new("id", "Object", Unit::Word),
                Column::new("shallow_bytes", "Shallow", Unit::Bytes),
                Column::new("retained_bytes", "Retained", Unit::Bytes),
                Column::new("type", "Type", Unit::Text),
            ],
            row_count: rows.len(),
            rows_hidden: 0,
            row: Box::new(|row| rows[row].clone()),
        },
        rows_key: None,
        summary: String::new(),
        text: Some(answer.text(reachable, &args.common.output.style())),
    };
    args.common.output.print(&report)?;
    if !reachable && !args.common.output.quiet {
        answer.explain_unreachable(args.all_kinds);
    }
    Ok(if reachable { Outcome::Done } else { Outcome::No })
}

struct Answer<'a> {
    graph: &'a HeapGraph,
    node: NodeId,
    /// Objects without a root are alive.
    alive: bool,
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
        let paths: Vec<Value> = self
            .paths
            .iter()
            .map(|path| {
                json!({
                    "root": root_json(self.graph, &path.root),
                    "length": path.nodes.len() - 1,
                    "nodes": path.nodes.iter().map(|&node| object_json(self.graph, node)).collect::<Vec<_>>(),
                })
            })
            .collect();
        let mut fields = fields(json!({"object": object, "reachable": reachable, "paths": paths}));
        if self.graph.roots_inferred() {
            fields.insert("roots_inferred".into(), true.into());
        }
        fields
    }

    fn rows(&self) -> Vec<Vec<Cell<'static>>> {
        let graph = self.graph;
        let mut rows = Vec::new();
        for (number, path) in self.paths.iter().enumerate() {
            let number = Cell::Number(number as u64 + 1);
            rows.push(vec![
                number.clone(),
                Cell::text("root"),
                Cell::Missing,
                Cell::Missing,
                Cell::Missing,
                Cell::text(root_text(graph, &path.root)),
            ]);
            let (steps, left_out) = shown_steps(path.nodes.len());
            for step in steps {
                if left_out > 0 && step == path.nodes.len() - STEPS_SHOWN / 2 {
                    let text = format!("... {left_out} objects left out ...");
                    rows.push(vec![
                        number.clone(),
                        Cell::text("..."),
                        Cell::Missing,
                        Cell::Missing,
                        Cell::Missing,
                        Cell::text(text),
                    ]);
                }
                let node = path.nodes[step];
                rows.push(vec![
                    number.clone(),
                    Cell::text(step.to_string()),
                    Cell::text(graph.display_id(node)),
                    Cell::Number(graph.shallow_bytes(node)),
                    Cell::number((self.retained)(node)),
                    Cell::text(type_text(graph, node)),
                ]);
            }
        }
        rows
    }

    fn text(&self, reachable: bool, style: &Style) -> String {
        let graph = self.graph;
        let size = |bytes: u64| if style.human { format_bytes(bytes) } else { bytes.to_string() };
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
            let alive = if self.alive { ": alive all the same, on the frozen heap" } else { "" };
            say(format!("  not reachable from any strong root{alive}"));
        }
        for (number, path) in self.paths.iter().enumerate() {
            let length = path.nodes.len() - 1;
            let references = if length == 1 { "1 reference".into() } else { format!("{length} references") };
            say(String::new());
            say(format!(
                "{} ({references}), held by {}",
                bold(&format!("Path {}", number + 1), style),
                root_words(graph, &path.root)
            ));
            let (steps, left_out) = shown_steps(path.nodes.len());
            let width = steps.iter().map(|&step| graph.display_id(path.nodes[step]).len()).max().unwrap_or(0);
            for step in steps {
                if left_out > 0 && step == path.nodes.len() - STEPS_SHOWN / 2 {
                    say(format!("  ... {left_out} objects left out; -f json has all ..."));
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
        use std::io::Write;
        let alive = if self.alive { "; it is on the frozen heap, which is never collected" } else { "" };
        let hint = if all_kinds { "" } else { "; --all-kinds walks weak roots too" };
        // A closed standard error must not change the answer.
        let _ = writeln!(
            std::io::stderr(),
            "heapdump: {} is not reachable from any strong root{alive}{hint}",
            self.graph.display_id(self.node)
        );
    }
}
