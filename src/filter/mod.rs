//! Expressions that choose objects: `retained > 1MiB and type ~ 'Cache'`.
//!
//! Here: words, tree, columns, and masks over them; one way from a text to a set of objects, [`Filter::select`]. What is
//! not known of an object (retained bytes of an unreachable one) is null: a comparison with it is false, and so is its
//! `not`. Nothing is computed that an expression does not name.
//!
//! Not here: what is done with the objects (see `answers`), options (see `cli`).

mod bind;
mod collection_elements;
mod collection_sizes;
mod column;
mod error;
mod expression_tree;
mod field_selection;
mod fields;
mod interfaces;
mod mask;
mod number;
mod parse;
mod path_step;
mod word_scanner;

use std::ops::Range;

use bind::{FilterBinder, NodeSetBudget};
use column::FilterColumn;
use expression_tree::{Condition, Predicate, TestSubject};
use mask::DumpColumns;

pub(crate) use collection_elements::{CollectionReader, ElementPart, FoundElements};
pub(crate) use collection_sizes::{FoundCollection, collections_of, references_but_class};
pub use error::{FilterError, FilterProblem};
pub use field_selection::FieldSelection;
pub(crate) use fields::{
    FieldPathValue, FieldValues, MAX_TEXT_UNITS, PathEnd, is_size_name, types_with_field, visit_path_ends,
    visit_shown_values,
};
pub(crate) use path_step::PathStep;

use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeSet};
use crate::input::LengthColumn;

/// One expression, or several that must all hold.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Each as it was written, and parsed.
    expressions: Vec<(String, Condition)>,
    /// The first of them that was written as a pattern of classes.
    first_of_classes: usize,
    /// Paths that are named in any of them.
    field_paths: Vec<Vec<PathStep>>,
}

impl Filter {
    /// Reads expressions; all of them must hold. `None` for none. O(bytes).
    ///
    /// # Errors
    /// The fault of the first wrong one, and where it is.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Option<Self>, FilterError> {
        Self::parse_with_classes::<T>(texts, &[])
    }

    /// The same, and patterns of classes as for types: an object's class, or what that extends or implements, matches each.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with_classes<T: AsRef<str>>(texts: &[T], classes: &[T]) -> Result<Option<Self>, FilterError> {
        let (mut parts, mut fields) = (Vec::new(), Vec::new());
        for text in texts.iter().map(AsRef::as_ref) {
            parts.push((text.to_string(), parse::parse(text, &mut fields)?));
        }
        for pattern in classes.iter().map(AsRef::as_ref) {
            let quoted = |name: &str| name.replace('\'', "''");
            let text = match pattern.strip_prefix('=') {
                Some(name) => format!("instanceof = '{}'", quoted(name)),
                None => format!("instanceof ~ '{}'", quoted(pattern)),
            };
            let condition = parse::parse(&text, &mut fields).map_err(FilterError::of_class_pattern)?;
            parts.push((text, condition));
        }
        let filter = Filter { expressions: parts, first_of_classes: texts.len(), field_paths: fields };
        Ok((!filter.expressions.is_empty()).then_some(filter))
    }

    /// The expressions as they were written.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.expressions.iter().map(|(text, _)| text.as_str())
    }

    /// All of them as one expression.
    pub fn joined_text(&self) -> String {
        match &self.expressions[..] {
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
        let reachable = (needs.reachable || needs.reachable_bytes).then(|| dump.reachable());
        let reachable_bytes = match reachable.filter(|_| needs.reachable_bytes) {
            Some(reachable) => reachable_bytes(graph, reachable),
            None => 0,
        };
        let fields = fields::read_field_values(dump, graph, &self.field_paths)?;
        let lengths = if needs.lengths { fields::read_lengths(dump, graph)? } else { LengthColumn::default() };
        let sets = NodeSetBudget::of(dump);
        let bind = |(at, (text, condition)): (usize, &(String, Condition))| {
            let format = &dump.info().format;
            let bound = FilterBinder {
                expression: text,
                format_name: format,
                graph,
                reachable_bytes,
                fields: &fields,
                lengths: &lengths,
                set_budget: &sets,
            }
            .bind(condition, false);
            bound.map_err(|problem| match problem {
                FilterProblem::Invalid(error) if at >= self.first_of_classes => error.of_class_pattern().into(),
                problem => problem,
            })
        };
        let mut bound = self.expressions.iter().enumerate().map(bind).collect::<Result<Vec<_>, _>>()?;
        if needs.referrers {
            dump.check_referrers_memory()?;
        }
        let tree = needs.dominator_tree.then(|| dump.dominators()).transpose()?;
        if needs.depths {
            dump.check_rows_memory(graph.node_count() as u64, 4)?;
        }
        let depths = match tree.filter(|_| needs.depths) {
            Some((dominators, _)) => dominators.depths(),
            None => Vec::new(),
        };
        let mask = if bound.len() == 1 { bound.remove(0) } else { mask::NodeCondition::All(bound) };
        Ok(mask::select_nodes(&mask, &DumpColumns { graph, reachable, dominators_and_retained: tree, depths }, nodes))
    }
}

/// Work that the columns of an expression need.
#[derive(Debug, Default)]
struct ColumnNeeds {
    reachable: bool,
    /// For shares of them.
    reachable_bytes: bool,
    dominator_tree: bool,
    depths: bool,
    referrers: bool,
    lengths: bool,
}

impl ColumnNeeds {
    fn of(filter: &Filter) -> Self {
        let mut needs = ColumnNeeds::default();
        for (_, condition) in &filter.expressions {
            condition.for_each_test(&mut |test| {
                needs.reachable_bytes |= matches!(&test.predicate, Predicate::Number(_, number) if number.is_share);
                match test.subject {
                    TestSubject::Column(FilterColumn::Reachable) => needs.reachable = true,
                    TestSubject::Column(FilterColumn::Referrers) => needs.referrers = true,
                    TestSubject::Column(FilterColumn::Length) => needs.lengths = true,
                    TestSubject::Column(column @ (FilterColumn::Depth | FilterColumn::Retained)) => {
                        needs.dominator_tree = true;
                        needs.depths |= column == FilterColumn::Depth;
                    }
                    TestSubject::Column(
                        FilterColumn::Dominated | FilterColumn::Dominator | FilterColumn::DominatorType,
                    ) => needs.dominator_tree = true,
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
