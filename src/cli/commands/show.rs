//! `heapdump show OBJID`: one object.

use std::io::{self, Write};

use anyhow::{Result, bail};

use crate::analysis::dominators::Dominator;
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, split_object_and_file};
use crate::cli::render::objects::{
    ObjectJson, RootJson, find_object, parse_object_id, root_text, root_words, text_cells, type_cells, type_columns,
    type_text,
};
use crate::cli::terminal::load::open_graph;
use crate::cli::terminal::output::bold;
use crate::graph::{HeapGraph, NodeId, Root};
use crate::report::{Cell, Column, Members, Report, Style, Table, Unit, escape_controls};

/// One object: sizes, roots, references out and in
///
/// OBJID is written as the dump writes it; capitals, leading zeros and 0x do not matter. Where a file has several
/// sections with the same id, write 2#7c79f or say --domain.
///
/// Example: heapdump show 7fe45 dump.txt
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump show [OPTIONS] OBJID [FILE]")]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let (object, file) = split_object_and_file(&args.words);
    let Some(object) = object else { bail!("which object? heapdump show OBJID [FILE]") };
    let object = parse_object_id(&object)?;
    let opened = open_graph(file.as_deref(), &args.common.input)?;
    let graph = opened.graph;
    let node = find_object(&object, graph, &args.section)?;
    opened.check_referrers()?;
    let (dominators, retained) = opened.dominators()?;
    let facts = Facts {
        graph,
        node,
        retained_bytes: retained.bytes_of(dominators, node),
        dominator: dominators.dominator_of(node),
        roots: graph.roots().iter().filter(|root| root.node == node).collect(),
        referrers: graph.referrers(node),
    };
    let output = &args.common.output;
    let references = &graph.references(node)[..args.limit.rows(graph.references(node).len())];
    let referrers = &facts.referrers[..args.limit.rows(facts.referrers.len())];
    let rows = facts.head_rows();
    let listed = rows.len() + references.len();
    let mut columns = vec![
        Column::new("relation", "Relation", Unit::Word),
        Column::new("id", "Object", Unit::Word),
        Column::new("shallow_bytes", "Shallow", Unit::Bytes),
    ];
    columns.extend(type_columns(graph));
    let style = output.style();
    let report = Report {
        command: "show",
        fields: Box::new(|json| facts.json(references, referrers, json)),
        table: Table {
            columns,
            row_count: listed + referrers.len(),
            rows_hidden: 0,
            row: Box::new(|row| match row {
                _ if row < rows.len() => rows[row].clone(),
                _ if row < listed => facts.object_row("reference", references[row - rows.len()]),
                _ => facts.object_row("referrer", referrers[row - listed]),
            }),
        },
        rows_key: None,
        nested: None,
        summary: String::new(),
        text: Some(Box::new(|out| facts.text(references, referrers, &style, out))),
        markdown: None,
    };
    output.print(&report)?;
    Ok(Outcome::Done)
}

struct Facts<'a> {
    graph: &'a HeapGraph,
    node: NodeId,
    retained_bytes: Option<u64>,
    dominator: Dominator,
    roots: Vec<&'a Root>,
    referrers: &'a [NodeId],
}

impl Facts<'_> {
    fn json(&self, references: &[NodeId], referrers: &[NodeId], json: &mut Members<'_>) -> io::Result<()> {
        let graph = self.graph;
        let dominator = match self.dominator {
            Dominator::Node(node) => Some(graph.display_id(node)),
            _ => None,
        };
        json.put_object("object", |members| {
            ObjectJson(graph, self.node).put_into(members)?;
            members.put("retained_bytes", &self.retained_bytes)?;
            members.put("dominator", &dominator)
        })?;
        json.put("reachable", &self.retained_bytes.is_some())?;
        json.put_each("roots", self.roots.iter().map(|root| RootJson(graph, root)))?;
        json.put_each("references", references.iter().map(|&node| ObjectJson(graph, node)))?;
        json.put_each("referrers", referrers.iter().map(|&node| ObjectJson(graph, node)))?;
        if graph.roots_inferred() {
            json.put("roots_inferred", &true)?;
        }
        Ok(())
    }

    fn object_row(&self, relation: &'static str, node: NodeId) -> Vec<Cell<'_>> {
        let graph = self.graph;
        let mut cells =
            vec![Cell::text(relation), Cell::text(graph.display_id(node)), Cell::Number(graph.shallow_bytes(node))];
        cells.extend(type_cells(graph, node));
        cells
    }

    /// The rows before references and referrers.
    fn head_rows(&self) -> Vec<Vec<Cell<'_>>> {
        let graph = self.graph;
        let mut rows = vec![self.object_row("object", self.node)];
        if let Dominator::Node(node) = self.dominator {
            rows.push(self.object_row("dominator", node));
        }
        rows.extend(self.roots.iter().map(|root| {
            let mut cells = vec![Cell::text("root"), Cell::Missing, Cell::Missing];
            cells.extend(text_cells(graph, root_text(graph, root)));
            cells
        }));
        rows
    }

    fn text(&self, references: &[NodeId], referrers: &[NodeId], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let graph = self.graph;
        let size = |bytes: u64| style.size(bytes);
        let line = |before: usize, node: NodeId| {
            let start = format!("{}  {:>10}  ", graph.display_id(node), size(graph.shallow_bytes(node)));
            let name = style.fit(before + start.chars().count(), &type_text(graph, node));
            format!("{:before$}{start}{name}", "")
        };
        let mut say = |line: String| writeln!(out, "{line}");
        say(format!(
            "{}  {}",
            bold(&graph.display_id(self.node), style),
            escape_controls(&type_text(graph, self.node))
        ))?;
        say(format!("  shallow    {}", size(graph.shallow_bytes(self.node))))?;
        say(format!("  retained   {}", self.retained_bytes.map_or("- (no strong root reaches it)".into(), size)))?;
        if graph.sections().len() > 1 {
            let section = graph.section_of(self.node);
            say(format!(
                "  section    {} {}",
                section.number(),
                escape_controls(&graph.sections()[section.index()].name)
            ))?;
        }
        match self.dominator {
            Dominator::Node(node) => say(format!("  dominator{}", line(2, node)))?,
            Dominator::Roots => say("  dominator  none: no single object holds it".into())?,
            Dominator::Unreachable => {}
        }
        for root in &self.roots {
            say(format!("  root       {}", root_words(graph, root)))?;
        }
        let mut list = |title: &str, shown: &[NodeId], all: usize| {
            say(String::new())?;
            say(format!("{} ({all})", bold(title, style)))?;
            shown.iter().try_for_each(|&node| say(line(2, node)))?;
            if shown.len() < all { say(format!("  {} more; -n 0 shows all", all - shown.len())) } else { Ok(()) }
        };
        list("References", references, graph.references(self.node).len())?;
        list("Referrers", referrers, self.referrers.len())?;
        if graph.roots_inferred() {
            say("\nRoots are inferred: this format has no root records.".into())?;
        }
        Ok(())
    }
}
