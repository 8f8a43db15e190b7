//! The merged dominator tree as folded stacks, a line a path, written one after another in the order of their bytes:
//! all together they may be longer than any dump, for each repeats the names above it.

use std::cmp::Ordering;
use std::io::{self, Write};

use super::ExportError;
use super::error::verify_index_file;
use super::stack_paths::StackPaths;
use crate::allocations::{AllocationDump, ClassHistograms};
use crate::analysis::dominators::DominatorNode;
use crate::analysis::threshold::{Percent, Threshold};
use crate::analysis::type_tree::TypeTree;
use crate::answers::{AllocationHeapChoice, AnswerError, ObjectId, ScopeOptions};
use crate::dump::{AnswerNeed, Content, OpenDump};
use crate::escape::escape_folded_frame;
use crate::filter::Filter;
use crate::graph::HeapGraph;
use crate::sort;

/// The paths of types that are written.
#[derive(Debug, Clone)]
pub struct FoldedOptions {
    /// The object to begin at. Default: everything that strong roots reach.
    pub object: Option<ObjectId>,
    /// Only what hangs from objects of this section, by name or number from 1. Default: all sections.
    pub section: Option<String>,
    /// Only objects that fulfil an expression, on the paths down to them. Default: all objects.
    pub filter: Option<Filter>,
    /// Levels of types; what is deeper counts for the last. Default: 100.
    pub depth: usize,
    /// The heaps of allocation totals.
    pub heaps: AllocationHeapChoice,
    /// Places that retain less count for the path above them: bytes, or a share of all. Default: 0.1 %.
    pub min_size: Threshold,
}

impl Default for FoldedOptions {
    fn default() -> Self {
        let min_size = Threshold::Share(Percent::PER_MILLE);
        FoldedOptions {
            object: None,
            section: None,
            filter: None,
            depth: 100,
            heaps: AllocationHeapChoice::default(),
            min_size,
        }
    }
}

impl FoldedOptions {
    /// The paths of allocation totals. Error: as [`StackPaths::new`], and of what is asked of objects alone.
    pub(super) fn stack_paths(&self, dump: &OpenDump, allocations: &AllocationDump) -> Result<StackPaths, ExportError> {
        if self.object.is_some() || self.filter.is_some() {
            return Err(AnswerError::NeedsObjects.into());
        }
        StackPaths::new(dump, allocations, &self.heaps, self.depth, self.min_size)
    }
}

/// Writes `A;B;C bytes` for every path of types down the dominator tree that retains enough; what is left out counts for
/// the path above, at the top for `<smaller>`. The dominator tree, then O(objects + output), and a sort of the paths
/// below each. Of a class histogram a path is a type; of allocation totals it is a stack, with what was allocated right there. Returns false where an expression is given that nothing fulfils: then nothing is written.
///
/// # Errors
/// When the dump holds no objects or has no such object or section, when no strong root reaches the object, when there is
/// not the memory, or when `out` cannot be written to.
pub fn write_folded(dump: &OpenDump, options: &FoldedOptions, out: &mut dyn Write) -> Result<bool, ExportError> {
    if let Content::Allocations(allocations) = dump.content() {
        options.stack_paths(dump, allocations)?.write(out)?;
        return Ok(true);
    }
    if let (Content::Histograms(histograms), None, None, None) =
        (dump.content(), &options.object, &options.section, &options.filter)
    {
        write_folded_histogram(histograms, options.min_size, out)?;
        return Ok(true);
    }
    let paths = TypePaths::new(dump, options)?;
    if !paths.filter_matches_nothing {
        paths.write(out)?;
    }
    Ok(!paths.filter_matches_nothing)
}

/// A line a type of the chosen class histogram, and one for all that have less. O(types), and a sort.
fn write_folded_histogram(histograms: &ClassHistograms, min_size: Threshold, out: &mut dyn Write) -> io::Result<()> {
    let (_, whole) = histograms.totals(histograms.chosen_index);
    let least = min_size.min_bytes_of(whole);
    let rows = histograms.type_rows(histograms.chosen_index);
    let (shown, smaller): (Vec<_>, Vec<_>) = rows.partition(|(_, _, bytes)| *bytes >= least);
    let rest = smaller.iter().fold(0u64, |sum, (_, _, bytes)| sum.saturating_add(*bytes));
    let mut lines: Vec<String> =
        shown.into_iter().map(|(name, _, bytes)| format!("{} {bytes}", escape_folded_frame(name))).collect();
    lines.extend((rest > 0).then(|| format!("<smaller> {rest}")));
    lines.sort_unstable();
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The merged tree that is written.
pub(super) struct TypePaths<'d> {
    graph: &'d HeapGraph,
    tree: TypeTree,
    /// Bytes of all paths together.
    pub(super) total_bytes: u64,
    /// Places that retain less are left out.
    min_bytes: u64,
    /// An expression is given that nothing fulfils.
    pub(super) filter_matches_nothing: bool,
}

impl<'d> TypePaths<'d> {
    pub(super) fn new(dump: &'d OpenDump, options: &FoldedOptions) -> Result<Self, ExportError> {
        let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
        options.heaps.check_on_objects()?;
        verify_index_file(dump)?;
        let filter = options.filter.clone();
        let scope = ScopeOptions { filter, ..ScopeOptions::of_section(options.section.as_deref()) };
        let object = options.object.as_ref().map(|object| object.find(graph, &scope)).transpose()?;
        let scope = scope.resolve(dump)?;
        let (dominators, retained) = dump.dominators()?;
        dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
        let children = dominators.children();
        let starts: Vec<DominatorNode> = match object.map(|node| (node, dominators.number_of(node))) {
            None => children.of(DominatorNode::ROOT).collect(),
            Some((_, Some(number))) => vec![number],
            Some((node, None)) => return Err(AnswerError::Unreachable(graph.display_id(node)).into()),
        };
        let is_wanted = |number: &DominatorNode| scope.node_range().contains(&dominators.node_at(*number).index());
        let starts: Vec<DominatorNode> = starts.into_iter().filter(is_wanted).collect();
        let mut whole = starts.iter().fold(0u64, |sum, &start| sum.saturating_add(retained.bytes_at(start)));
        let chosen = scope.chosen_objects(dominators);
        let tree = TypeTree::build(graph, dominators, &children, starts, options.depth, chosen.as_ref());
        if chosen.is_some() {
            let own = tree.places.iter().map(|place| place.shallow_bytes);
            whole = own.fold(0, u64::saturating_add);
        }
        let filter_matches_nothing = chosen.is_some() && tree.places.iter().all(|place| place.objects == 0);
        Ok(TypePaths {
            graph,
            tree,
            total_bytes: whole,
            min_bytes: options.min_size.min_bytes_of(whole),
            filter_matches_nothing,
        })
    }

    pub(super) fn frame_names(&self) -> Vec<String> {
        let names = frame_names(self.graph, &self.tree);
        names.into_iter().filter(|name| !name.is_empty()).collect()
    }

    /// O(output), and a sort of the places below each.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let tree = &self.tree;
        let mut own: Vec<u64> = tree.places.iter().map(|place| place.shallow_bytes).collect();
        let mut rest = 0u64;
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); tree.places.len()];
        let mut tops = Vec::new();
        for (number, place) in tree.places.iter().enumerate().rev() {
            let is_shown = place.retained_bytes >= self.min_bytes;
            match place.parent {
                Some(above) if is_shown => below[above].push(number),
                Some(above) => own[above] = own[above].saturating_add(own[number]),
                None if is_shown => tops.push(number),
                None => rest = rest.saturating_add(own[number]),
            }
        }
        let names = frame_names(self.graph, tree);
        let smaller =
            (rest > 0).then(|| FoldedLines { name: "<smaller>", suffix: format!(" {rest}"), places: Vec::new() });
        let mut path = String::new();
        let mut open = vec![(sorted_folded_lines(&names, tree, &own, &tops, smaller), 0)];
        while let Some((parts, length)) = open.last_mut() {
            let Some(part) = parts.next() else {
                open.pop();
                continue;
            };
            path.truncate(*length);
            if part.places.is_empty() {
                writeln!(out, "{path}{}{}", part.name, part.suffix)?;
                continue;
            }
            path.push_str(part.name);
            path.push(';');
            let places: Vec<usize> = part.places.iter().flat_map(|&place| below[place].iter().copied()).collect();
            open.push((sorted_folded_lines(&names, tree, &own, &places, None), path.len()));
        }
        Ok(())
    }
}

/// Lines below one path: the line of a place itself, or those of all places that a name leads to.
struct FoldedLines<'n> {
    name: &'n str,
    /// Behind the name: a blank and the bytes, or the semicolon before the next name.
    suffix: String,
    /// The places that go on; none of a line.
    places: Vec<usize>,
}

impl FoldedLines<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        self.name.bytes().chain(self.suffix.bytes()).cmp(other.name.bytes().chain(other.suffix.bytes()))
    }
}

/// In the order of their bytes, as sorted lines have it: `A !` comes between `A 12` and `A;B`.
fn sorted_folded_lines<'n>(
    names: &'n [String],
    tree: &TypeTree,
    own: &[u64],
    places: &[usize],
    first: Option<FoldedLines<'n>>,
) -> std::vec::IntoIter<FoldedLines<'n>> {
    let mut parts: Vec<FoldedLines<'n>> = first.into_iter().collect();
    for &place in places {
        let name = names[tree.places[place].type_id.index()].as_str();
        if own[place] > 0 {
            parts.push(FoldedLines { name, suffix: format!(" {}", own[place]), places: Vec::new() });
        }
        parts.push(FoldedLines { name, suffix: ";".into(), places: vec![place] });
    }
    sort::rows_by(&mut parts, &FoldedLines::compare);
    // Places of one name are one.
    parts.dedup_by(|next, part| {
        let is_same = !next.places.is_empty() && !part.places.is_empty() && next.name == part.name;
        if is_same {
            part.places.append(&mut next.places);
        }
        is_same
    });
    parts.into_iter()
}

fn frame_names(graph: &HeapGraph, tree: &TypeTree) -> Vec<String> {
    let mut names = vec![String::new(); graph.type_count()];
    for place in &tree.places {
        let name = &mut names[place.type_id.index()];
        if name.is_empty() {
            *name = escape_folded_frame(graph.type_name(place.type_id));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::type_tree::TypeTreeNode;
    use crate::graph::{GraphBuilder, IdStyle, ResolveOptions, TypeId};

    /// Types of these names, and nothing else.
    fn graph(names: &[&str]) -> HeapGraph {
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        for name in names {
            let slot = builder.new_type();
            builder.name_type(slot, name);
        }
        builder.resolve(ResolveOptions::default()).0
    }

    /// So large that nothing is cut off.
    fn place(type_number: usize, above: Option<usize>, bytes: u64) -> TypeTreeNode {
        let type_id = TypeId::new(type_number);
        let first = DominatorNode::ROOT;
        TypeTreeNode {
            type_id,
            parent: above,
            depth: 0,
            first_object: first,
            objects: 1,
            shallow_bytes: bytes,
            retained_bytes: 100,
            chain_objects: 1,
        }
    }

    #[test]
    fn lines_come_sorted_by_their_bytes() {
        let graph = graph(&["A", "A !", "A~", "B;x"]);
        let places = vec![
            place(0, None, 12),
            place(1, None, 5),
            place(2, None, 7),
            place(3, Some(0), 3),
            place(0, Some(1), 2),
            place(0, None, 9),
            place(1, Some(5), 1),
        ];
        let mut out = Vec::new();
        TypePaths {
            total_bytes: 0,
            graph: &graph,
            tree: TypeTree { places },
            min_bytes: 0,
            filter_matches_nothing: false,
        }
        .write(&mut out)
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        let mut sorted: Vec<&str> = text.lines().collect();
        sorted.sort_unstable();
        assert_eq!(text.lines().collect::<Vec<_>>(), sorted);
        assert!(text.contains("A;B,x 3\n") && text.contains("A;A ! 1\n") && sorted.len() == 7, "{text}");
    }
}
