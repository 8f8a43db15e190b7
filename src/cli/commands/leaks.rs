//! `heapdump leaks`: what leaks, in paragraphs that can be pasted into a ticket.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use crate::analysis::root_paths::{RootPath, RootPaths, find_root_paths};
use crate::analysis::roots_by_node::RootsByNode;
use crate::analysis::selection::TypePattern;
use crate::analysis::shortest_parents::ShortestParents;
use crate::analysis::suspects::{Finding, Shape, Suspect, SuspectSearch, largest_held};
use crate::answers::libraries::library_types;
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, TypeArgs, parse_threshold};
use crate::cli::render::objects::{ObjectJson, PathJson, roots_words, type_text};
use crate::cli::terminal::load::{Place, open_graph};
use crate::cli::terminal::output::{bold, reach_words, shell_word, wrapped};
use crate::dump::AnswerNeed;
use crate::graph::{HeapGraph, NodeId, TypeId};
use crate::report::{
    Cell, Column, Members, Report, Style, Table, Unit, count_of, escape_controls, escape_markdown, format_bytes,
    format_count,
};

/// Leak suspects: what, how much, held by whom, piling up where
///
/// Single objects that retain a share of what is reachable, and groups of one type under the roots. Below a giant the
/// structures inside are looked at; library types give way to the types of the application that own them.
///
/// Example: heapdump leaks dump.txt
///
/// Example: heapdump leaks dump.txt --threshold 5% -f json | jq -r '.suspects[].text'
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// What a suspect retains at least, as a share of what is reachable or as a size
    #[arg(long, default_value = "10%", value_name = "SIZE")]
    threshold: String,
    /// Types of libraries, besides those of the runtime
    #[arg(long, value_name = "PATTERN")]
    library: Vec<String>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

/// Types inside a suspect that the paragraph names.
const TYPES_NAMED: usize = 3;
/// Types inside a suspect that JSON names.
const TYPES_IN_JSON: usize = 20;
/// Suspects whose paths are searched one by one; of more all at once.
const FEW_SUSPECTS: usize = 8;
/// Objects of a path that the paragraph names.
const STEPS_NAMED: usize = 6;

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let parse = |text: &str| TypePattern::parse(text).map_err(anyhow::Error::msg);
    let libraries = args.library.iter().map(|text| parse(text)).collect::<Result<Vec<_>>>().context("--library")?;
    let pattern = args.types.pattern()?;
    let opened = open_graph(args.file.as_deref(), &args.common.input)?;
    let graph = opened.graph;
    let section = args.section.find(graph)?;
    let (dominators, retained) = opened.dominators()?;
    opened.check_answer(AnswerNeed::Descent, 0)?;
    let children = dominators.children();
    let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let tops = children.of(0).filter(|&number| nodes.contains(&dominators.node_at(number as usize).index()));
    let reachable_bytes = tops.fold(0u64, |sum, number| sum.saturating_add(retained.bytes_at(number as usize)));
    let threshold_bytes = parse_threshold(&args.threshold)?.at_least(reachable_bytes).max(1);
    let is_library = library_types(graph, opened.facts.format, &libraries);
    opened.progress.phase("looking for suspects");
    let search = SuspectSearch {
        graph,
        dominators,
        retained,
        children: &children,
        threshold_bytes,
        is_library: &is_library,
        section,
    };
    let wanted = pattern.map(|pattern| pattern.select(graph));
    let findings: Vec<Finding> = search.run().into_iter().collect();
    let all_found = findings.len();
    let findings: Vec<Finding> = findings
        .into_iter()
        .filter(|finding| wanted.as_ref().is_none_or(|wanted| wanted[graph.type_of(largest(finding)).index()]))
        .collect();
    let found = findings.len();
    let shown = args.limit.rows(found);
    let place = Place::find(args.file.as_deref())?;
    let whole = Whole {
        bytes: reachable_bytes,
        words: format!("all that is reachable{}", reach_words(graph, section)),
        human: !args.common.output.bytes,
    };
    let computed;
    let parents = match opened.shortest_parents() {
        _ if shown <= FEW_SUSPECTS => None,
        Some(parents) => Some(parents),
        None => {
            computed = ShortestParents::compute(graph);
            Some(&computed)
        }
    };
    let (roots, words) = (RootsByNode::new(graph), RefCell::default());
    let teller = Teller { graph, is_library: &is_library, place: &place, whole: &whole, parents, roots: &roots, words };
    let told: Vec<Told<'_>> = findings.into_iter().take(shown).map(|finding| Told::new(&teller, finding)).collect();
    let style = args.common.output.style();
    let report = Report {
        command: "leaks",
        fields: Box::new(|json| {
            json.put("reachable_bytes", &reachable_bytes)?;
            json.put("threshold_bytes", &threshold_bytes)?;
            json.put_objects("suspects", told.len(), |place, suspect| told[place].json(suspect))?;
            if graph.roots_inferred() { json.put("roots_inferred", &true) } else { Ok(()) }
        }),
        table: table(&told),
        rows_key: None,
        nested: None,
        summary: String::new(),
        text: Some(Box::new(|out| {
            let left = Left { threshold_bytes, hidden: found - shown, other_types: all_found - found };
            text(graph, &told, &left, &whole, &style, out)
        })),
        markdown: Some(Box::new(|out| markdown(&told, out))),
    };
    args.common.output.print(&report)?;
    let nothing_matches = found == 0 && wanted.is_some();
    Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
}

fn largest(finding: &Finding) -> NodeId {
    match &finding.suspect {
        Suspect::Object(node) => *node,
        // A group has members, or it would be none.
        Suspect::Group(_, members) => members[0],
    }
}

/// What suspects are measured by, and how.
struct Whole {
    bytes: u64,
    words: String,
    /// Sizes as 1.2 MiB: in sentences everywhere, unless plain numbers were asked for.
    human: bool,
}

impl Whole {
    fn size(&self, bytes: u64) -> String {
        if self.human { format_bytes(bytes) } else { count_of(bytes, "bytes") }
    }
}

/// What telling a finding takes, the same for all of them.
struct Teller<'a> {
    graph: &'a HeapGraph,
    is_library: &'a [bool],
    place: &'a Place,
    whole: &'a Whole,
    /// Paths to many suspects are found together.
    parents: Option<&'a ShortestParents>,
    roots: &'a RootsByNode<'a>,
    /// By rooted object: what holds it, in words. Many suspects may hang on one.
    words: RefCell<HashMap<NodeId, String>>,
}

/// Bytes of words about roots that are kept.
const WORDS_KEPT: usize = 4 << 10;

impl Teller<'_> {
    fn roots_words(&self, path: RootPath<'_>) -> String {
        if let Some(words) = self.words.borrow().get(&path.start()) {
            return words.clone();
        }
        let words = roots_words(self.graph, self.roots, path);
        if words.len() < WORDS_KEPT {
            self.words.borrow_mut().insert(path.start(), words.clone());
        }
        words
    }
}

/// A finding to be told. Its path and its paragraph are made when they are printed: of many suspects they may be more
/// than the dump.
struct Told<'a> {
    graph: &'a HeapGraph,
    teller: &'a Teller<'a>,
    finding: Finding,
    share: f64,
    /// Where few are told; else it is found from the parents.
    path: Option<RootPaths<'a>>,
}

impl<'a> Told<'a> {
    fn new(teller: &'a Teller<'a>, finding: Finding) -> Self {
        let graph = teller.graph;
        let path = match teller.parents {
            Some(_) => None,
            None => find_root_paths(graph, largest(&finding), 1, false, |_| false).into_first(),
        };
        let share = finding.retained_bytes as f64 / teller.whole.bytes.max(1) as f64;
        Told { graph, teller, finding, share, path }
    }

    fn path(&self) -> Option<RootPaths<'a>> {
        match self.teller.parents {
            Some(parents) => parents.path_to(self.graph, self.teller.roots, largest(&self.finding)),
            None => self.path.clone(),
        }
    }

    fn type_id(&self) -> TypeId {
        match &self.finding.suspect {
            Suspect::Object(node) => self.graph.type_of(*node),
            Suspect::Group(type_id, _) => *type_id,
        }
    }

    fn objects(&self) -> usize {
        match &self.finding.suspect {
            Suspect::Object(_) => 1,
            Suspect::Group(_, members) => members.len(),
        }
    }

    /// What, how much, how many, held by whom, piling up where, what is inside.
    fn paragraph(&self) -> String {
        let Teller { graph, is_library, place, whole, .. } = self.teller;
        let finding = &self.finding;
        let named = |node: NodeId| format!("{} ({})", type_text(graph, node), graph.display_id(node));
        let mut text = match &finding.suspect {
            Suspect::Object(node) => format!("One {} retains", named(*node)),
            Suspect::Group(type_id, members) => format!(
                "{} of {} that no single object holds together {}",
                count_of(members.len() as u64, "objects"),
                graph.type_name(*type_id),
                if members.len() == 1 { "retains" } else { "retain" },
            ),
        };
        text += &format!(
            " {}, {:.1} % of {}, in {}.",
            whole.size(finding.retained_bytes),
            self.share * 100.0,
            whole.words,
            count_of(finding.retained_objects, "objects")
        );
        if let Some(owner) = finding.owner {
            text += &format!(" It belongs to {}.", named(owner));
        }
        let path = self.path();
        if let Some(path) = path.as_ref().and_then(|paths| paths.get(0)) {
            let whose = if self.objects() > 1 { " The largest is kept alive by" } else { " It is kept alive by" };
            text += &format!("{whose} {}", self.teller.roots_words(path));
            text += &match path.length {
                0 => ".".to_string(),
                length => format!(", through {}.", self.steps(&path.nodes().take(length).collect::<Vec<NodeId>>())),
            };
        }
        let point = &finding.accumulation;
        let share = point.retained_bytes as f64 / finding.retained_bytes.max(1) as f64;
        let what = match point.shape {
            Shape::LinkedList(length, type_id) => {
                Some(format!("a linked list of {} {}", format_count(length), graph.type_name(type_id)))
            }
            Shape::Collection(count, type_id) => {
                let what = self.collection_word(point.node);
                let kept = point.keeping.map_or(String::new(), |(kept, keeping)| {
                    let all = if keeping == count { "each" } else { "most of them" };
                    format!(", {all} keeping a {}", graph.type_name(kept))
                });
                Some(format!("{what} of {} {}{kept}", format_count(count), graph.type_name(type_id)))
            }
            Shape::Single if self.objects() > 1 => None,
            Shape::Single => Some("which has the bytes in itself".to_string()),
            Shape::Structure => None,
        };
        if (point.node != largest(finding) && self.objects() == 1) || what.is_some() {
            let what = what.map_or(String::new(), |what| format!(", {what}"));
            let place =
                if point.node == largest(finding) { "there".to_string() } else { format!("in {}", named(point.node)) };
            text += &format!(
                " The memory piles up {place}{what}{}.",
                if share < 0.995 { format!(", {}", whole.size(point.retained_bytes)) } else { String::new() }
            );
        }
        // The largest types, and the application's own largest if they are all a library's.
        let (mut named_types, others) = finding.holds.split_at(finding.holds.len().min(TYPES_NAMED));
        let own = others.iter().find(|held| !is_library[held.type_id.index()]);
        let extra = own.filter(|_| named_types.iter().all(|held| is_library[held.type_id.index()]));
        if extra.is_some() {
            named_types = &named_types[..TYPES_NAMED - 1];
        }
        let inside: Vec<String> = named_types
            .iter()
            .chain(extra)
            .map(|held| {
                format!(
                    "{} {} ({})",
                    format_count(held.objects),
                    graph.type_name(held.type_id),
                    whole.size(held.shallow_bytes)
                )
            })
            .collect();
        text + &format!(
            " Inside: {}. Look further with: heapdump dominators {} --depth 3{}",
            inside.join(", "),
            graph.display_id(point.node),
            match place {
                Place::Path(path) => format!(" {}", shell_word(&path.display().to_string())),
                Place::Stdin => String::new(),
            }
        )
    }

    /// The objects of a path by type, shortened in the middle.
    fn steps(&self, nodes: &[NodeId]) -> String {
        let names = |nodes: &[NodeId]| {
            let names: Vec<String> = nodes.iter().map(|&node| type_text(self.graph, node)).collect();
            names.join(" -> ")
        };
        if nodes.len() <= STEPS_NAMED {
            return names(nodes);
        }
        let half = STEPS_NAMED / 2;
        let left_out = nodes.len() - 2 * half;
        format!("{} -> ... {left_out} more ... -> {}", names(&nodes[..half]), names(&nodes[nodes.len() - half..]))
    }

    /// Arrays behind dictionaries and maps are hash tables.
    fn collection_word(&self, node: NodeId) -> &'static str {
        let name = self.graph.type_name(self.graph.type_of(node));
        let is_array = name.ends_with(']') || name.starts_with('[') || name.contains("[]");
        let table_words = ["Entry", "Node[", "Bucket", "Slot", "Hash", "Dictionary"];
        match table_words.iter().any(|word| name.contains(word)) {
            true => "a hash table",
            false if is_array => "an array",
            false => "a collection",
        }
    }

    fn json(&self, json: &mut Members<'_>) -> io::Result<()> {
        let graph = self.graph;
        let finding = &self.finding;
        let (kind, id) = match &finding.suspect {
            Suspect::Object(node) => ("object", Some(graph.display_id(*node))),
            Suspect::Group(..) => ("group", None),
        };
        let point = &finding.accumulation;
        let (shape, length, of) = match point.shape {
            Shape::LinkedList(length, type_id) => ("linked-list", Some(length), Some(type_id)),
            Shape::Collection(count, type_id) => match self.collection_word(point.node) {
                "a hash table" => ("hash-table", Some(count), Some(type_id)),
                "an array" => ("array", Some(count), Some(type_id)),
                _ => ("collection", Some(count), Some(type_id)),
            },
            Shape::Single => ("single", None, None),
            Shape::Structure => ("structure", None, None),
        };
        json.put("kind", kind)?;
        json.put("id", &id)?;
        json.put("type", graph.type_name(self.type_id()))?;
        json.put("objects", &self.objects())?;
        json.put("retained_bytes", &finding.retained_bytes)?;
        json.put("retained_objects", &finding.retained_objects)?;
        json.put("share", &self.share)?;
        json.put("owner", &finding.owner.map(|owner| ObjectJson(graph, owner)))?;
        json.put_object("accumulation_point", |json| {
            ObjectJson(graph, point.node).put_into(json)?;
            json.put("retained_bytes", &point.retained_bytes)?;
            json.put("shape", shape)?;
            json.put("members", &length)?;
            json.put("member_type", &of.map(|type_id| graph.type_name(type_id)))
        })?;
        let keeping = point.keeping;
        json.put(
            "keeping",
            &keeping.map(|(type_id, objects)| json!({"type": graph.type_name(type_id), "objects": objects})),
        )?;
        let (path, roots) = (self.path(), self.teller.roots);
        let path = path.as_ref().and_then(|paths| paths.get(0));
        json.put("path", &path.map(|path| PathJson { graph, roots, path }))?;
        let (largest, other) = largest_held(&finding.holds, TYPES_IN_JSON);
        let count = largest.len() + usize::from(other.is_some());
        json.put_objects("holds", count, |place, json| match (largest.get(place), &other) {
            (Some(held), _) => {
                json.put("type", graph.type_name(held.type_id))?;
                json.put("objects", &held.objects)?;
                json.put("shallow_bytes", &held.shallow_bytes)
            }
            (None, Some(other)) => {
                json.put("type", "<other>")?;
                json.put("types", &other.types)?;
                json.put("objects", &other.objects)?;
                json.put("shallow_bytes", &other.shallow_bytes)
            }
            (None, None) => Ok(()),
        })?;
        json.put("text", &self.paragraph())
    }
}

fn table<'r>(told: &'r [Told<'_>]) -> Table<'r> {
    Table {
        columns: vec![
            Column::new("kind", "Kind", Unit::Word),
            Column::new("id", "Object", Unit::Word),
            Column::new("objects", "Objects", Unit::Count),
            Column::new("retained_bytes", "Retained", Unit::Bytes),
            Column::new("share", "Share", Unit::Share),
            Column::new("type", "Type", Unit::Text),
        ],
        row_count: told.len(),
        rows_hidden: 0,
        row: Box::new(|row| {
            let told = &told[row];
            let (kind, id) = match &told.finding.suspect {
                Suspect::Object(node) => ("object", Cell::text(told.graph.display_id(*node))),
                Suspect::Group(..) => ("group", Cell::Missing),
            };
            vec![
                Cell::text(kind),
                id,
                Cell::Number(told.objects() as u64),
                Cell::Number(told.finding.retained_bytes),
                Cell::Share(told.share),
                Cell::text(told.graph.type_name(told.type_id())),
            ]
        }),
    }
}

/// What an answer leaves out.
struct Left {
    threshold_bytes: u64,
    /// By --limit.
    hidden: usize,
    /// By --type.
    other_types: usize,
}

fn text(
    graph: &HeapGraph,
    told: &[Told<'_>],
    left: &Left,
    whole: &Whole,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    match (told.is_empty(), left.other_types) {
        (true, 0) => {
            writeln!(out, "No suspects: nothing retains {} or more.", whole.size(left.threshold_bytes))?;
        }
        (true, others) => writeln!(out, "No suspects of these types; {others} of others.")?,
        _ => {}
    }
    for (number, told) in told.iter().enumerate() {
        writeln!(out, "{}", bold(&format!("Suspect {}", number + 1), style))?;
        writeln!(out, "{}", wrapped(&escape_controls(&told.paragraph()), style.width))?;
    }
    if left.hidden > 0 {
        writeln!(out, "{} more; -n 0 shows all", left.hidden)?;
    }
    if graph.roots_inferred() {
        writeln!(out, "Roots are inferred: this format has no root records.")?;
    }
    Ok(())
}

/// Headings and paragraphs, for a ticket.
fn markdown(told: &[Told<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut paragraph = |(number, told): (usize, &Told<'_>)| {
        write!(out, "### Suspect {}\n\n{}\n\n", number + 1, escape_markdown(&told.paragraph()))
    };
    told.iter().enumerate().try_for_each(&mut paragraph)
}
