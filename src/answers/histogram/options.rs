//! Options of a histogram: groups, retained bytes, order, limits.

use serde::Serialize;

use crate::analysis::type_patterns::TypePattern;
use crate::answers::allocation_heaps::AllocationHeapChoice;
use crate::answers::figure::{
    ALLOCATED_BYTES, ALLOCATIONS, CUM_ALLOCATIONS, CUM_BYTES, FLAT_ALLOCATIONS, FLAT_BYTES, OBJECTS, OFF_HEAP,
    REACHABLE_BYTES, REACHABLE_OBJECTS, RETAINED, SHALLOW,
};
use crate::answers::histogram::field_figures::FieldFigures;
use crate::answers::shared::TypeOwnership;
use crate::answers::{CommandLine, Figure, GroupBy, Limits, ScopeOptions};
use crate::filter::FieldSelection;

/// Ways to compute retained bytes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetainedBy {
    /// By the dominator tree: the retained sizes of the row's objects that no other object of the row dominates. A lower
    /// bound; O(objects) for all rows together.
    Minimum,
    /// By marking the heap without the row's objects: O(objects + references) for each row.
    Exact,
}

impl RetainedBy {
    /// The meaning of the figures, for people.
    pub fn statement(self) -> &'static str {
        match self {
            RetainedBy::Minimum => "retained: at least so much would be freed with all objects of a row",
            RetainedBy::Exact => "retained: so much would be freed with all objects of a row",
        }
    }

    /// The ways, by the words for them.
    pub const WORDS: &[(&str, RetainedBy)] = &[("minimum", RetainedBy::Minimum), ("exact", RetainedBy::Exact)];
}

/// Largest size that the objects of some types may take together.
#[derive(Debug, Clone)]
pub struct FailOverLimit {
    /// As it was written.
    pub text: String,
    /// Types that are limited.
    pub types: TypePattern,
    /// The most bytes that all their objects may take, or retain where rows have retained bytes.
    pub bytes: u64,
}

/// Options of a histogram.
#[derive(Debug, Clone, Default)]
pub struct HistogramOptions {
    /// Objects that are asked for.
    pub scope: ScopeOptions,
    /// Heaps, of allocation totals.
    pub heaps: AllocationHeapChoice,
    /// Groups of objects, by type, package, owner and more.
    pub group_by: GroupBy,
    /// The path of the field whose values are the groups, where they are [`GroupBy::Field`]; the first of several.
    pub field: Option<FieldSelection>,
    /// Rows are classes, each followed by those that extend it; where groups are [`GroupBy::Superclass`].
    pub as_class_tree: bool,
    /// Sums and the like of fields, by row; not of owners.
    pub field_figures: FieldFigures,
    /// Types of one name that the dump tells apart are rows of their own.
    pub splits_same_name_types: bool,
    /// Retained bytes too. Default: none.
    pub retained: Option<RetainedBy>,
    /// Bytes outside the heap too; not of owners.
    pub with_off_heap: bool,
    /// Types of libraries and of the program, where rows are of owners.
    pub type_ownership: TypeOwnership,
    /// The order of the rows: one of [`orders`](Self::orders), figures largest first; ties by name. What is charged to an owner
    /// counts with what is its own. Default: bytes.
    pub order: Option<Figure>,
    /// Number and direction of rows.
    pub limits: Limits,
    /// Limits that are checked for all rows, shown or not.
    pub fail_over_limits: Vec<FailOverLimit>,
}

impl HistogramOptions {
    /// Names of the fields that groups and figures are of, without those that paths of several steps lead to.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &str> {
        let of_groups = self.field.iter().flat_map(|field| field.steps().next());
        let paths = of_groups.chain(self.field_figures.paths().map(|(_, steps)| steps));
        paths.filter(|steps| steps.len() == 1).filter_map(|steps| steps[0].field_name())
    }

    /// Figures that rows can be ordered by. `with_graph`: of objects whose references are known.
    pub fn orders(&self, with_graph: bool, of_allocations: bool) -> Vec<Figure> {
        let (by_name, retained) = (self.group_by.figure(), self.retained.map(|_| RETAINED));
        let mut orders = match of_allocations {
            true if self.group_by.frame_names().is_some() => {
                vec![FLAT_BYTES, CUM_BYTES, FLAT_ALLOCATIONS, CUM_ALLOCATIONS, by_name]
            }
            true => vec![ALLOCATED_BYTES, ALLOCATIONS, by_name],
            false => vec![OBJECTS, SHALLOW, by_name],
        };
        orders.extend([REACHABLE_OBJECTS, REACHABLE_BYTES].into_iter().filter(|_| with_graph).chain(retained));
        orders.extend(self.with_off_heap.then_some(OFF_HEAP));
        for (function, _) in self.field_figures.iter() {
            if !orders.contains(&function.figure()) {
                orders.push(function.figure());
            }
        }
        orders
    }

    /// The word of `--by` for the groups, or the path of the field.
    pub fn group_name(&self) -> &str {
        self.field.iter().flat_map(FieldSelection::paths).next().unwrap_or(self.group_by.name())
    }

    /// The command line that asks the same of a dump of objects, and of any other in the default order.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("stats");
        if self.group_by != GroupBy::default() {
            line.add_option("--by", Some(self.group_name()));
        }
        match self.retained {
            Some(RetainedBy::Minimum) => line.add_word("--retained"),
            Some(RetainedBy::Exact) => line.add_word("--retained=exact"),
            None => &mut line,
        };
        line.add_switch("--off-heap", self.with_off_heap);
        line.add_switch("--tree", self.as_class_tree);
        for (function, path) in self.field_figures.iter() {
            line.add_option(function.option(), Some(path));
        }
        line.add_switch("--raw-types", self.splits_same_name_types);
        line.add_repeated_option("--fail-over", self.fail_over_limits.iter().map(|limit| limit.text.as_str()));
        line.add_repeated_option("--library", self.type_ownership.libraries.iter().map(TypePattern::text));
        line.add_repeated_option("--mine", self.type_ownership.mine.iter().map(TypePattern::text));
        line.add_sort_option(self.order.filter(|order| *order != ALLOCATED_BYTES), SHALLOW)
            .add_switch("--reverse", self.limits.reverse);
        line.add_option("-n", self.limits.rows.map(|rows| rows.to_string()).as_deref());
        self.scope.add_to(&mut line);
        self.heaps.add_to(&mut line);
        line
    }
}
