//! `heapdump dominators [OBJID]`: what would be freed with what.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use crate::analysis::dominators::{Children, Dominators, Step};
use crate::analysis::retained::Retained;
use crate::analysis::retained_sets::{NO_SET, Topmost, topmost_members, topmost_of_sets};
use crate::answers::groups::Groups;
use crate::cli::Outcome;
use crate::cli::args::groups::{By, group};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key, split_object_and_file};
use crate::cli::render::objects::{ObjectJson, find_object, parse_object_id, type_cells, type_columns, type_text};
use crate::cli::terminal::load::{Opened, open_graph};
use crate::cli::terminal::output::{bold, fields, print_sentence, reach_words};
use crate::dump::AnswerNeed;
use crate::graph::HeapGraph;
use crate::report::{Cell, Column, Nested, Report, Style, Table, Unit, count_of, format_count};

/// What would be freed with what: the dominator tree
///
/// From the top, or below one object, by retained size. An object retains what only it keeps alive: all of that would be freed with it. With --type the tree begins at the
/// topmost objects of those types.
///
/// Example: heapdump dominators dump.txt -n 10 --depth 3
///
/// Example: heapdump dominators dump.txt --by package
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump dominators [OPTIONS] [OBJID] [FILE]")]
pub(crate) struct Args {
    /// The object to begin at [default: the top], and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Levels below the start, at most 500; not every reader of JSON takes so many: -f jsonl has them flat
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "by", value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH))]
    depth: u32,
    /// Group the objects: all of a group, and what its topmost members retain
    #[arg(long, value_enum, value_name = "GROUP")]
    by: Option<By>,
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

/// Levels that can be asked for: JSON is nested as deep.
const MAX_DEPTH: i64 = 500;

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    // With --type a lone word is FILE.
    let (object, file) = match &args.words[..] {
        [file] if args.types.type_pattern.is_some() => (None, Some(file.into())),
        words => split_object_and_file(words),
    };
    let known = [("retained_bytes", "retained"), ("shallow_bytes", "shallow"), ("dominated_objects", "objects")];
    let order = sort_key(args.order.sort.as_deref(), "retained_bytes", &known)?;
    let pattern = args.types.pattern()?;
    if object.is_some() && pattern.is_some() && args.by.is_none() {
        bail!("--type begins at the objects of a type, OBJID at one object: leave one of them out");
    }
    let object = object.as_deref().map(parse_object_id).transpose()?;
    let opened = open_graph(file.as_deref(), &args.common.input)?;
    let graph = opened.graph;
    let start = object.map(|object| find_object(&object, graph, &args.section)).transpose()?;
    let section = args.section.find(graph)?;
    let (dominators, retained) = opened.dominators()?;
    opened.check_answer(AnswerNeed::Descent, 0)?;
    let wanted = pattern.map(|pattern| pattern.select(graph));
    let from = start.map_or(Some(0), |node| dominators.number_of(node));
    if let (Some(node), None) = (start, from) {
        print_sentence(&format!("{} is not reachable from any strong root", graph.display_id(node)));
    }
    let is_reachable = from.is_some();
    let from = from.unwrap_or(0);
    let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let tree = Tree::new(graph, dominators, retained, &nodes);
    if let (Some(by), true) = (args.by, is_reachable) {
        let groups = group(graph, by, section, wanted.as_deref(), args.common.input.read.raw_types)?;
        return run_groups(args, &opened, &tree, from, by, &groups);
    }
    let in_section = |number: usize| nodes.contains(&tree.dominators.node_at(number).index());
    let children = (args.depth > 1 || wanted.is_some()).then(|| tree.dominators.children());
    let mut starts: Vec<u32> = match (&children, &wanted) {
        _ if !is_reachable => Vec::new(),
        _ if from > 0 => vec![from as u32],
        (Some(children), Some(wanted)) => {
            topmost_members(tree.dominators, children, |node| wanted[graph.type_of(node).index()])
        }
        _ => tree.dominators.children_of(0),
    };
    starts.retain(|&number| in_section(number as usize));
    let is_no = !is_reachable || (starts.is_empty() && wanted.is_some());
    // Below an object the object itself is level 0; from the top the first level is the answer's first.
    let levels = if from > 0 { args.depth + 1 } else { args.depth };
    let rows = tree.rows(starts, levels, children.as_ref(), order, args);
    let style = args.common.output.style();
    let report = Report {
        command: "dominators",
        fields: Box::new(|json| json.put_all(&tree.fields(json!({})))),
        table: tree.table(&rows),
        rows_key: None,
        nested: Some(tree.nested(&rows)),
        summary: tree.summary(&style),
        text: Some(Box::new(|out| tree.text(&rows, &style, out))),
        markdown: None,
    };
    args.common.output.print(&report)?;
    Ok(if is_reachable { args.types.outcome(is_no, args.common.is_quiet()) } else { Outcome::No })
}

/// An object of the answer, and how many more of its level were left out after it.
struct Row {
    level: usize,
    number: usize,
    hidden_after: usize,
}

struct Tree<'a> {
    graph: &'a HeapGraph,
    dominators: &'a Dominators,
    retained: &'a Retained,
    /// What roots reach, of the section asked for.
    reachable_bytes: u64,
    reachable_objects: u64,
}

impl<'a> Tree<'a> {
    fn new(
        graph: &'a HeapGraph,
        dominators: &'a Dominators,
        retained: &'a Retained,
        nodes: &std::ops::Range<usize>,
    ) -> Self {
        let (mut reachable_bytes, mut reachable_objects) = (0u64, 0);
        for number in dominators.children_of(0) {
            if nodes.contains(&dominators.node_at(number as usize).index()) {
                reachable_bytes = reachable_bytes.saturating_add(retained.bytes_at(number as usize));
                reachable_objects += u64::from(retained.objects_at(number as usize));
            }
        }
        Tree { graph, dominators, retained, reachable_bytes, reachable_objects }
    }

    /// Sorts a level and cuts it to the limit; also how many were cut.
    fn order(&self, mut numbers: Vec<u32>, order: &str, args: &Args) -> (Vec<u32>, usize) {
        let value = |number: u32| match order {
            "shallow_bytes" => self.graph.shallow_bytes(self.dominators.node_at(number as usize)),
            "dominated_objects" => u64::from(self.retained.objects_at(number as usize)),
            _ => self.retained.bytes_at(number as usize),
        };
        let node = |number: u32| self.dominators.node_at(number as usize);
        let compare = |a: &u32, b: &u32| {
            let ordering = value(*b).cmp(&value(*a)).then_with(|| node(*a).cmp(&node(*b)));
            if args.order.reverse { ordering.reverse() } else { ordering }
        };
        let all = numbers.len();
        let shown = args.limit.rows(all);
        if 0 < shown && shown < all {
            numbers.select_nth_unstable_by(shown - 1, compare);
        }
        numbers.truncate(shown);
        numbers.sort_unstable_by(compare);
        (numbers, all - shown)
    }

    /// The answer from top to bottom, each object followed by what it dominates.
    fn rows(
        &self,
        starts: Vec<u32>,
        levels: u32,
        children: Option<&Children<'_>>,
        order: &str,
        args: &Args,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut stack: Vec<(std::vec::IntoIter<u32>, usize)> = Vec::new();
        let (first, hidden) = self.order(starts, order, args);
        stack.push((first.into_iter(), hidden));
        while let Some((level_rows, hidden)) = stack.last_mut() {
            let Some(number) = level_rows.next() else {
                stack.pop();
                continue;
            };
            let hidden_after = if level_rows.len() == 0 { *hidden } else { 0 };
            let level = stack.len() - 1;
            rows.push(Row { level, number: number as usize, hidden_after });
            if level + 1 < levels as usize {
                let below = match children {
                    Some(children) => children.of(number as usize).collect(),
                    None => self.dominators.children_of(number as usize),
                };
                let (below, hidden) = self.order(below, order, args);
                stack.push((below.into_iter(), hidden));
            }
        }
        rows
    }

    fn share(&self, number: usize) -> f64 {
        match self.reachable_bytes {
            0 => 0.0,
            whole => self.retained.bytes_at(number) as f64 / whole as f64,
        }
    }

    fn nested<'r>(&'r self, rows: &'r [Row]) -> Nested<'r> {
        Nested {
            key: "nodes",
            row_count: rows.len(),
            level: Box::new(|row| rows[row].level),
            object: Box::new(|row, members| {
                let number = rows[row].number;
                ObjectJson(self.graph, self.dominators.node_at(number)).put_into(members)?;
                members.put("retained_bytes", &self.retained.bytes_at(number))?;
                members.put("share", &self.share(number))?;
                members.put("dominated_objects", &self.retained.objects_at(number))
            }),
        }
    }

    /// What every answer has beside its rows.
    fn fields(&self, value: Value) -> Map<String, Value> {
        let mut fields = fields(json!({
            "reachable_bytes": self.reachable_bytes,
            "reachable_objects": self.reachable_objects,
        }));
        if self.graph.roots_inferred() {
            fields.insert("roots_inferred".into(), true.into());
        }
        if let Value::Object(map) = value {
            fields.extend(map);
        }
        fields
    }

    fn table<'r>(&'r self, rows: &'r [Row]) -> Table<'r> {
        let mut columns = vec![
            Column::new("level", "Level", Unit::Count),
            Column::new("retained_bytes", "Retained", Unit::Bytes),
            Column::new("share", "Share", Unit::Share),
            Column::new("shallow_bytes", "Shallow", Unit::Bytes),
            Column::new("dominated_objects", "Objects", Unit::Count),
            Column::new("id", "Object", Unit::Word),
        ];
        columns.extend(type_columns(self.graph));
        Table {
            columns,
            row_count: rows.len(),
            rows_hidden: 0,
            row: Box::new(|row| {
                let Row { level, number, .. } = rows[row];
                let node = self.dominators.node_at(number);
                let mut cells = vec![
                    Cell::Number(level as u64),
                    Cell::Number(self.retained.bytes_at(number)),
                    Cell::Share(self.share(number)),
                    Cell::Number(self.graph.shallow_bytes(node)),
                    Cell::Number(self.retained.objects_at(number).into()),
                    Cell::text(self.graph.display_id(node)),
                ];
                cells.extend(type_cells(self.graph, node));
                cells
            }),
        }
    }

    fn summary(&self, style: &Style) -> String {
        let inferred = if self.graph.roots_inferred() { " (inferred: the dump has none)" } else { "" };
        format!(
            "{} in {} reachable from roots{inferred}{}\n\n",
            bold(&style.bytes(self.reachable_bytes), style),
            count_of(self.reachable_objects, "objects"),
            reach_words(self.graph, None),
        )
    }

    /// For people: an indented tree.
    fn text(&self, rows: &[Row], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let size = |bytes: u64| style.size(bytes);
        let mut say = |line: String| writeln!(out, "{line}");
        if style.header {
            say(format!("{:>10} {:>7} {:>10} {:>11}  object", "retained", "share", "shallow", "objects"))?;
        }
        let mut hidden: Vec<usize> = Vec::new();
        let more = |hidden: &mut Vec<usize>, level: usize, say: &mut dyn FnMut(String) -> io::Result<()>| {
            while hidden.len() > level {
                let count = hidden.pop().unwrap_or(0);
                if count > 0 {
                    let indent = "  ".repeat(hidden.len());
                    say(format!("{:>41}  {indent}{} more; -n 0 shows all", "", format_count(count as u64)))?;
                }
            }
            Ok::<(), io::Error>(())
        };
        for row in rows {
            more(&mut hidden, row.level + 1, &mut say)?;
            let node = self.dominators.node_at(row.number);
            let start = format!(
                "{:>10} {:>6.1}% {:>10} {:>11}  {}{}  ",
                size(self.retained.bytes_at(row.number)),
                self.share(row.number) * 100.0,
                size(self.graph.shallow_bytes(node)),
                format_count(self.retained.objects_at(row.number).into()),
                "  ".repeat(row.level),
                self.graph.display_id(node),
            );
            let name = style.fit(start.chars().count(), &type_text(self.graph, node));
            say(format!("{start}{name}"))?;
            hidden.resize(row.level + 1, 0);
            hidden[row.level] = row.hidden_after;
        }
        more(&mut hidden, 0, &mut say)
    }
}

/// A group of objects below the start.
struct GroupRow<'a> {
    name: &'a str,
    objects: u64,
    shallow_bytes: u64,
    topmost: Topmost,
}

fn run_groups(
    args: &Args,
    opened: &Opened,
    tree: &Tree<'_>,
    from: usize,
    by: By,
    groups: &Groups<'_>,
) -> Result<Outcome> {
    let children = tree.dominators.children();
    let set_of = |node| groups.of(node);
    let topmost = topmost_of_sets(tree.dominators, tree.retained, &children, from, groups.names.len(), set_of);
    let mut totals = vec![(0u64, 0u64); groups.names.len()];
    children.walk(from, |step| {
        if let Step::Enter(number) = step {
            let node = tree.dominators.node_at(number);
            let group = groups.of(node);
            if group != NO_SET {
                let total = &mut totals[group as usize];
                total.0 += 1;
                total.1 = total.1.saturating_add(tree.graph.shallow_bytes(node));
            }
        }
    });
    let mut rows: Vec<GroupRow<'_>> = (0..groups.names.len())
        .filter(|&group| totals[group].0 > 0)
        .map(|group| GroupRow {
            name: &groups.names[group],
            objects: totals[group].0,
            shallow_bytes: totals[group].1,
            topmost: topmost[group],
        })
        .collect();
    let output = &args.common.output;
    let value = |row: &GroupRow<'_>| match args.order.sort.as_deref() {
        Some("shallow" | "shallow_bytes") => row.shallow_bytes,
        Some("objects" | "dominated_objects") => row.objects,
        _ => row.topmost.retained_bytes,
    };
    rows.sort_by(|a, b| value(b).cmp(&value(a)).then_with(|| a.name.cmp(b.name)));
    if args.order.reverse {
        rows.reverse();
    }
    let nothing_matches = rows.is_empty() && args.types.type_pattern.is_some();
    let shown = args.limit.rows(rows.len());
    let style = output.style();
    let report = Report {
        command: "dominators",
        fields: Box::new(|json| json.put_all(&tree.fields(json!({"format": opened.facts.format, "by": by.name()})))),
        table: Table {
            columns: vec![
                Column::new("objects", "Objects", Unit::Count),
                Column::new("shallow_bytes", "Shallow", Unit::Bytes),
                Column::new("topmost_objects", "Topmost", Unit::Count),
                Column::new("retained_bytes", "Retained", Unit::Bytes),
                Column::new(by.key(), by.title(), Unit::Text),
            ],
            row_count: shown,
            rows_hidden: rows.len() - shown,
            row: Box::new(|row| {
                let row = &rows[row];
                vec![
                    Cell::Number(row.objects),
                    Cell::Number(row.shallow_bytes),
                    Cell::Number(row.topmost.objects),
                    Cell::Number(row.topmost.retained_bytes),
                    Cell::text(row.name),
                ]
            }),
        },
        rows_key: Some(by.rows_key()),
        nested: None,
        summary: tree.summary(&style),
        text: None,
        markdown: None,
    };
    output.print(&report)?;
    Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
}
