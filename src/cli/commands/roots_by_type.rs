//! `heapdump roots --type PATTERN`: paths of all objects of some types, merged by type.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::analysis::merged_paths::{MergedPaths, PathRow, merge_root_paths};
use crate::analysis::retained_sets::topmost_members;
use crate::cli::Outcome;
use crate::cli::args::options::{LimitArgs, OutputArgs};
use crate::cli::render::objects::{RootJson, root_text, root_words};
use crate::cli::terminal::load::Opened;
use crate::cli::terminal::output::{bold, fields};
use crate::dump::AnswerNeed;
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::report::{Cell, Column, Nested, Report, Style, Table, Unit, count_of, escape_controls, format_count};

/// What is asked.
pub(crate) struct Question<'a> {
    pub(crate) pattern: &'a str,
    /// By type.
    pub(crate) wanted: Vec<bool>,
    /// By type.
    pub(crate) avoided: Vec<bool>,
    pub(crate) nodes: std::ops::Range<usize>,
    pub(crate) all_kinds: bool,
}

pub(crate) fn run(question: &Question<'_>, opened: Opened, output: &OutputArgs, limit: &LimitArgs) -> Result<Outcome> {
    let graph = opened.graph;
    let is_wanted =
        |node: NodeId| question.wanted[graph.type_of(node).index()] && question.nodes.contains(&node.index());
    let (dominators, retained) = opened.dominators()?;
    opened.check_answer(AnswerNeed::MergedPaths, 0)?;
    // Only topmost objects count with their retained bytes: what they hold of the same types is in these already.
    let mut topmost = NodeSet::new(graph.node_count());
    for number in topmost_members(dominators, &dominators.children(), is_wanted) {
        topmost.insert(dominators.node_at(number as usize));
    }
    let weight_of = |node: NodeId| match topmost.contains(node) {
        true => retained.bytes_of(dominators, node).unwrap_or(0),
        false => 0,
    };
    opened.progress.phase("merging paths");
    let is_avoided = |node: NodeId| question.avoided[graph.type_of(node).index()];
    let merged = merge_root_paths(graph, is_wanted, is_avoided, question.all_kinds, weight_of);
    let objects = question.nodes.clone().filter(|&index| is_wanted(NodeId::new(index))).count() as u64;
    let answer = Answer::new(graph, &merged, objects, question.avoided.contains(&true), limit);
    let style = output.style();
    let report = Report {
        command: "roots",
        fields: Box::new(|json| json.put_all(&answer.json(question.pattern))),
        table: answer.table(),
        rows_key: None,
        nested: Some(answer.nested()),
        summary: String::new(),
        text: Some(Box::new(|out| answer.text(&style, out))),
        markdown: None,
    };
    output.print(&report)?;
    Ok(if merged.reached_objects > 0 { Outcome::Done } else { Outcome::No })
}

/// The rows in the order of the answer: each followed by those below it, largest first.
struct Answer<'a> {
    graph: &'a HeapGraph,
    merged: &'a MergedPaths,
    objects: u64,
    /// Some types are walked around.
    avoids: bool,
    /// (row, rows of its level left out after it)
    rows: Vec<(usize, usize)>,
}

impl<'a> Answer<'a> {
    fn new(graph: &'a HeapGraph, merged: &'a MergedPaths, objects: u64, avoids: bool, limit: &LimitArgs) -> Self {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); merged.rows.len()];
        let mut tops = Vec::new();
        for (number, row) in merged.rows.iter().enumerate() {
            match row.above {
                Some(above) => below[above].push(number),
                None => tops.push(number),
            }
        }
        let ordered = |mut numbers: Vec<usize>| {
            let key = |number: usize| {
                let row = &merged.rows[number];
                (
                    std::cmp::Reverse(row.objects),
                    std::cmp::Reverse(row.weight_bytes),
                    graph.type_name(row.type_id),
                    number,
                )
            };
            numbers.sort_by(|&a, &b| key(a).cmp(&key(b)));
            let shown = limit.rows(numbers.len());
            let hidden = numbers.len() - shown;
            numbers.truncate(shown);
            (numbers.into_iter(), hidden)
        };
        let mut rows = Vec::new();
        let mut stack = vec![ordered(tops)];
        while let Some((level, hidden)) = stack.last_mut() {
            let Some(number) = level.next() else {
                stack.pop();
                continue;
            };
            rows.push((number, if level.len() == 0 { *hidden } else { 0 }));
            stack.push(ordered(std::mem::take(&mut below[number])));
        }
        Answer { graph, merged, objects, avoids, rows }
    }

    fn row(&self, at: usize) -> &PathRow {
        &self.merged.rows[self.rows[at].0]
    }

    fn json(&self, pattern: &str) -> Map<String, Value> {
        let mut fields = fields(json!({
            "type": pattern,
            "objects": self.objects,
            "reachable_objects": self.merged.reached_objects,
        }));
        if self.graph.roots_inferred() {
            fields.insert("roots_inferred".into(), true.into());
        }
        fields
    }

    fn nested(&self) -> Nested<'_> {
        Nested {
            key: "tree",
            row_count: self.rows.len(),
            level: Box::new(|at| self.row(at).depth),
            object: Box::new(|at, members| {
                let row = self.row(at);
                members.put("root", &row.root.as_ref().map(|root| RootJson(self.graph, root)))?;
                members.put("type", self.graph.type_name(row.type_id))?;
                members.put("objects", &row.objects)?;
                members.put("retained_bytes", &row.weight_bytes)
            }),
        }
    }

    fn table(&self) -> Table<'_> {
        Table {
            columns: vec![
                Column::new("level", "Level", Unit::Count),
                Column::new("objects", "Objects", Unit::Count),
                Column::new("retained_bytes", "Retained", Unit::Bytes),
                Column::new("type", "Type", Unit::Text),
            ],
            row_count: self.rows.len(),
            rows_hidden: 0,
            row: Box::new(|at| {
                let row = self.row(at);
                let name = self.graph.type_name(row.type_id);
                let name = match &row.root {
                    Some(root) => Cell::text(format!("{name} <- {}", root_text(self.graph, root))),
                    None => Cell::text(name),
                };
                vec![Cell::Number(row.depth as u64), Cell::Number(row.objects), Cell::Number(row.weight_bytes), name]
            }),
        }
    }

    fn text(&self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let size = |bytes: u64| style.size(bytes);
        let mut say = |line: String| writeln!(out, "{line}");
        say(format!(
            "{} of {} {} a path from a root{}; the shortest, merged by type\n",
            bold(&format_count(self.merged.reached_objects), style),
            count_of(self.objects, "objects"),
            if self.objects == 1 { "has" } else { "have" },
            if self.avoids { " around what --exclude names" } else { "" },
        ))?;
        if style.header {
            say(format!("{:>11} {:>10}  held by", "objects", "retained"))?;
        }
        let mut hidden: Vec<usize> = Vec::new();
        let more = |hidden: &mut Vec<usize>, depth: usize, say: &mut dyn FnMut(String) -> io::Result<()>| {
            while hidden.len() > depth {
                let count = hidden.pop().unwrap_or(0);
                if count > 0 {
                    let indent = "  ".repeat(hidden.len());
                    say(format!("{:>22}  {indent}{} more; -n 0 shows all", "", format_count(count as u64)))?;
                }
            }
            Ok::<(), io::Error>(())
        };
        for at in 0..self.rows.len() {
            let row = self.row(at);
            more(&mut hidden, row.depth + 1, &mut say)?;
            let start =
                format!("{:>11} {:>10}  {}", format_count(row.objects), size(row.weight_bytes), "  ".repeat(row.depth));
            let line = match &row.root {
                Some(root) => {
                    format!("{}: {}", root_words(self.graph, root), escape_controls(self.graph.type_name(row.type_id)))
                }
                None => self.graph.type_name(row.type_id).to_string(),
            };
            say(format!("{start}{}", style.fit(start.chars().count(), &line)))?;
            hidden.resize(row.depth + 1, 0);
            hidden[row.depth] = self.rows[at].1;
        }
        more(&mut hidden, 0, &mut say)?;
        if self.graph.roots_inferred() {
            say("\nRoots are inferred: this format has no root records.".into())?;
        }
        Ok(())
    }
}
