//! Expressions that choose objects: `retained > 1MiB and type ~ 'Cache'`.
//!
//! Here: words, tree, columns, and masks over them; one way from a text to a set of objects, [`Filter::select`]. What is
//! not known of an object (retained bytes of an unreachable one) is null: a comparison with it is false, and so is its
//! `not`. Nothing is computed that an expression does not name.
//!
//! Not here: what is done with the objects (see `answers`), options (see `cli`).

mod bind;
mod column;
mod error;
mod fields;
mod mask;
mod number;
mod parse;
mod scan;
mod selection;
mod tree;

use std::ops::Range;

use bind::{Binder, NodeSetBudget};
use column::FilterColumn;
use mask::FilterColumns;
use tree::{Condition, Predicate, TestSubject};

pub use error::{FilterError, FilterProblem};
pub(crate) use fields::{FieldPathValue, FieldValues};
pub use selection::FieldSelection;

use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeSet};

/// One expression, or several that must all hold.
#[derive(Debug, Clone)]
pub struct Filter {
    parts: Vec<(String, Condition)>,
    /// Paths that are named in any of them.
    fields: Vec<Vec<String>>,
}

impl Filter {
    /// Reads expressions; all of them must hold. `None` for none. O(bytes).
    ///
    /// # Errors
    /// The fault of the first wrong one, and where it is.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Option<Self>, FilterError> {
        let (mut parts, mut fields) = (Vec::new(), Vec::new());
        for text in texts.iter().map(AsRef::as_ref) {
            parts.push((text.to_string(), parse::parse(text, &mut fields)?));
        }
        Ok((!parts.is_empty()).then_some(Filter { parts, fields }))
    }

    /// The expressions as they were written.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(text, _)| text.as_str())
    }

    /// All of them as one expression.
    pub fn text(&self) -> String {
        match &self.parts[..] {
            [(only, _)] => only.clone(),
            parts => parts.iter().map(|(text, _)| format!("({text})")).collect::<Vec<_>>().join(" and "),
        }
    }

    /// The objects of a range that match, a bit each. O(objects), at 100 million a second and more, besides what the
    /// named columns take: the dominator tree for `retained`, `dominated`, `depth`, `dominator` and `dominator_type`, all references
    /// turned round for `referrers`, one pass over the dump for fields and one for `length`.
    ///
    /// # Errors
    /// When the dump does not have what is named, or there is not the memory for it.
    pub fn select(&self, dump: &OpenDump, nodes: Range<usize>) -> Result<NodeSet, FilterProblem> {
        let Some(graph) = dump.graph() else { return Ok(NodeSet::new(0)) };
        let needs = ColumnNeeds::of(self);
        let reachable = (needs.reachable || needs.shares).then(|| dump.reachable());
        let reachable_bytes = match reachable.filter(|_| needs.shares) {
            Some(reachable) => reachable_bytes(graph, reachable),
            None => 0,
        };
        let fields = fields::read_fields(dump, graph, &self.fields)?;
        let lengths = if needs.lengths { fields::read_lengths(dump, graph)? } else { Vec::new() };
        let sets = NodeSetBudget::of(dump);
        let bind = |(text, condition): &(String, Condition)| {
            let format = &dump.info().format;
            Binder { text, format, graph, reachable_bytes, fields: &fields, lengths: &lengths, sets: &sets }
                .bind(condition, false)
        };
        let mut bound = self.parts.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
        if needs.referrers {
            dump.check_referrers_memory()?;
        }
        let tree = needs.tree.then(|| dump.dominators()).transpose()?;
        if needs.depths {
            dump.check_rows(graph.node_count() as u64, 4)?;
        }
        let depths = match tree.filter(|_| needs.depths) {
            Some((dominators, _)) => dominators.depths(),
            None => Vec::new(),
        };
        let mask = if bound.len() == 1 { bound.remove(0) } else { mask::Mask::All(bound) };
        Ok(mask::select(&mask, &FilterColumns { graph, reachable, tree, depths }, nodes))
    }
}

/// Work that the columns of an expression need.
#[derive(Debug, Default)]
struct ColumnNeeds {
    reachable: bool,
    shares: bool,
    tree: bool,
    depths: bool,
    referrers: bool,
    lengths: bool,
}

impl ColumnNeeds {
    fn of(filter: &Filter) -> Self {
        let mut needs = ColumnNeeds::default();
        for (_, condition) in &filter.parts {
            condition.for_each(&mut |test| {
                needs.shares |= matches!(&test.predicate, Predicate::Number(_, number) if number.is_share);
                match test.subject {
                    TestSubject::Column(FilterColumn::Reachable) => needs.reachable = true,
                    TestSubject::Column(FilterColumn::Referrers) => needs.referrers = true,
                    TestSubject::Column(FilterColumn::Length) => needs.lengths = true,
                    TestSubject::Column(column @ (FilterColumn::Depth | FilterColumn::Retained)) => {
                        needs.tree = true;
                        needs.depths |= column == FilterColumn::Depth;
                    }
                    TestSubject::Column(
                        FilterColumn::Dominated | FilterColumn::Dominator | FilterColumn::DominatorType,
                    ) => needs.tree = true,
                    _ => {}
                }
            });
        }
        needs
    }
}

/// Shallow bytes of what strong roots reach. O(objects).
fn reachable_bytes(graph: &HeapGraph, reachable: &NodeSet) -> u64 {
    let objects = graph.objects(0..graph.node_count()).filter(|&(node, ..)| reachable.contains(node));
    objects.fold(0, |sum, (_, _, bytes)| sum.saturating_add(bytes))
}

#[cfg(test)]
mod tests;
