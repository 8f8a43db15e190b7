//! From the tree of an expression to masks over one dump's columns: names become tables, ids runs of nodes, `not` goes
//! into the tests.

use std::cell::Cell;
use std::ops::Range;

use super::column::FilterColumn;
use super::expression_tree::{Condition, FilterTest, Predicate, TestSubject, matches_text};
use super::mask::{NodeCondition, matches_by_type};
use super::number::{Comparison, Number};
use super::{FilterError, FilterProblem, fields::FieldValues, interfaces::interfaces_of};
use crate::analysis::histogram::package_of;
use crate::analysis::root_paths::RootsByNode;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, NodeSet, Root, SectionId, TypeId};
use crate::input::LengthColumn;

/// Everything that an expression is bound to.
pub(super) struct FilterBinder<'d> {
    /// The expression, for errors.
    pub(super) expression: &'d str,
    /// The name of the dump's format, for errors.
    pub(super) format_name: &'d str,
    pub(super) graph: &'d HeapGraph,
    /// Bytes that strong roots reach, where shares of them are named.
    pub(super) reachable_bytes: u64,
    pub(super) fields: &'d [FieldValues],
    /// Of arrays and texts, ascending.
    pub(super) lengths: &'d LengthColumn,
    /// Sets of objects that were made for the question; each takes a bit an object.
    pub(super) set_budget: &'d NodeSetBudget<'d>,
}

/// Counts sets of objects, so that a question of thousands of tests does not take more memory than it may.
#[derive(Debug)]
pub(super) struct NodeSetBudget<'d> {
    dump: &'d OpenDump,
    /// Sets that were made so far.
    made_count: Cell<u64>,
}

impl<'d> NodeSetBudget<'d> {
    pub(super) fn of(dump: &'d OpenDump) -> Self {
        NodeSetBudget { dump, made_count: Cell::new(0) }
    }

    /// An empty set, if there is room for one more.
    fn new_node_set(&self, graph: &HeapGraph) -> Result<NodeSet, FilterProblem> {
        self.made_count.set(self.made_count.get() + 1);
        self.dump.check_rows_memory(self.made_count.get(), graph.node_count() as u64 / 8)?;
        Ok(NodeSet::new(graph.node_count()))
    }
}

impl FilterBinder<'_> {
    /// A condition on the columns of the dump, or its opposite: what is known not to fulfil it.
    pub(super) fn bind(&self, condition: &Condition, is_not: bool) -> Result<NodeCondition, FilterProblem> {
        let all = |parts: &[Condition]| parts.iter().map(|part| self.bind(part, is_not)).collect::<Result<Vec<_>, _>>();
        Ok(match condition {
            Condition::Not(inner) => return self.bind(inner, !is_not),
            Condition::Test(test) => return self.bind_test(test, is_not),
            Condition::All(parts) if is_not => NodeCondition::Any(all(parts)?),
            Condition::Any(parts) if is_not => NodeCondition::All(all(parts)?),
            Condition::All(parts) => NodeCondition::All(all(parts)?),
            Condition::Any(parts) => NodeCondition::Any(all(parts)?),
        })
    }

    fn bind_test(&self, test: &FilterTest, is_not: bool) -> Result<NodeCondition, FilterProblem> {
        let column = match test.subject {
            TestSubject::Column(column) => column,
            TestSubject::Field(number) => return self.bind_field(number, &test.predicate, is_not),
        };
        self.check_column(column, test.start_offset)?;
        let span = |op: Comparison, number: &Number| {
            number.matching_range(op.negated_if(is_not), self.reachable_bytes).unsigned()
        };
        Ok(match (column, &test.predicate) {
            (FilterColumn::Id, Predicate::Id(op, id)) => {
                NodeCondition::NodeRanges(self.id_runs(test, op.negated_if(is_not), id)?)
            }
            (FilterColumn::Shallow, Predicate::Number(op, number)) => NodeCondition::Shallow(span(*op, number)),
            (FilterColumn::References, Predicate::Number(op, number)) => NodeCondition::References(span(*op, number)),
            (FilterColumn::Referrers, Predicate::Number(op, number)) => NodeCondition::Referrers(span(*op, number)),
            (FilterColumn::Retained, Predicate::Number(op, number)) => NodeCondition::Retained(span(*op, number)),
            (FilterColumn::Dominated, Predicate::Number(op, number)) => NodeCondition::Dominated(span(*op, number)),
            (FilterColumn::Depth, Predicate::Number(op, number)) => NodeCondition::Depth(span(*op, number)),
            (FilterColumn::Retained | FilterColumn::Dominated | FilterColumn::Depth, Predicate::IsNull) => {
                NodeCondition::InDominatorTree(is_not)
            }
            (FilterColumn::Reachable, Predicate::IsTrue) => NodeCondition::Reachable(!is_not),
            (FilterColumn::Root, Predicate::IsTrue) => NodeCondition::NodeSet(self.rooted_nodes(|_| true)?, !is_not),
            (FilterColumn::RootKind, Predicate::IsNull) => NodeCondition::NodeSet(self.rooted_nodes(|_| true)?, is_not),
            (FilterColumn::RootKind, predicate) => {
                NodeCondition::NodeSet(self.rooted_nodes(|kind| matches_text(predicate, kind) != is_not)?, true)
            }
            (FilterColumn::Dominator, Predicate::Id(op, id)) => {
                NodeCondition::DominatorRanges(self.id_runs(test, op.negated_if(is_not), id)?)
            }
            (FilterColumn::Dominator | FilterColumn::DominatorType, Predicate::IsNull) => {
                NodeCondition::HasDominator(is_not)
            }
            (FilterColumn::DominatorType, predicate) => {
                let name = |type_id| self.graph.type_name(type_id);
                NodeCondition::DominatorTypes(matches_by_type(self.graph, |type_id| {
                    matches_text(predicate, name(type_id)) != is_not
                }))
            }
            (FilterColumn::Type, predicate) => {
                self.bind_type_names(predicate, is_not, |type_id| Some(self.graph.type_name(type_id)))
            }
            (FilterColumn::InstanceOf, predicate) => {
                let classes = self.bind_instance_of(predicate);
                NodeCondition::Types(matches_by_type(self.graph, |type_id| classes[type_id.index()] != is_not))
            }
            (FilterColumn::Package, predicate) => {
                self.bind_type_names(predicate, is_not, |type_id| package_of(self.graph.type_name(type_id)))
            }
            (FilterColumn::Module, predicate) => {
                self.bind_type_names(predicate, is_not, |type_id| self.graph.types().module(type_id))
            }
            (FilterColumn::Section, predicate) => self.bind_sections(predicate, is_not),
            (FilterColumn::Generation, predicate) => self.bind_generations(predicate, is_not),
            (FilterColumn::Class, predicate) => self.bind_class_objects(predicate, is_not)?,
            (FilterColumn::Length, predicate) => self.bind_lengths(predicate, is_not)?,
            // What is never null.
            (_, Predicate::IsNull) if is_not => NodeCondition::Always,
            (_, Predicate::IsNull) => NodeCondition::Never,
            _ => return Err(FilterError::new(self.expression, test.value_offset, "this cannot be compared so").into()),
        })
    }

    /// Makes sure that the dump has a column.
    fn check_column(&self, column: FilterColumn, at: usize) -> Result<(), FilterError> {
        let graph = self.graph;
        let missing = match column {
            FilterColumn::Generation if graph.generations().is_empty() => "where generations are",
            FilterColumn::InstanceOf if !graph.types().have_superclasses() => "which class extends which",
            FilterColumn::Module if !graph.types().have_modules() => "which module a type is from",
            FilterColumn::Class if graph.types().class_objects().is_empty() => "which objects stand for classes",
            _ => return Ok(()),
        };
        let message = format!("no {} here: this {} dump does not say {missing}", column.name(), self.format_name);
        Err(FilterError::new(self.expression, at, message))
    }

    fn bind_type_names<'n>(
        &self,
        predicate: &Predicate,
        is_not: bool,
        name: impl Fn(TypeId) -> Option<&'n str>,
    ) -> NodeCondition {
        NodeCondition::Types(matches_by_type(self.graph, |type_id| name_matches(predicate, name(type_id), is_not)))
    }

    /// By type: does it, one of its superclasses, or an interface of one, have a name that answers?
    fn bind_instance_of(&self, predicate: &Predicate) -> Vec<bool> {
        let answers = |name: &str| matches_text(predicate, name);
        self.graph.types().map_by_superclass(|type_id, above: Option<&bool>| {
            let name = self.graph.type_name(type_id);
            above.copied().unwrap_or(false) || answers(name) || interfaces_of(name).iter().copied().any(answers)
        })
    }

    fn bind_sections(&self, predicate: &Predicate, is_not: bool) -> NodeCondition {
        let sections = self.graph.sections().iter().enumerate();
        let wanted = sections.filter(|(_, section)| name_matches(predicate, Some(&section.name), is_not));
        NodeCondition::NodeRanges(wanted.map(|(at, _)| self.graph.section_nodes(SectionId::new(at))).collect())
    }

    fn bind_generations(&self, predicate: &Predicate, is_not: bool) -> NodeCondition {
        let wanted = self.graph.generations().iter().filter(|run| {
            let name = run.generation.is_in_range().then(|| run.generation.name());
            name_matches(predicate, name.as_deref(), is_not)
        });
        NodeCondition::NodeRanges(wanted.map(|run| run.nodes.clone()).collect())
    }

    fn bind_class_objects(&self, predicate: &Predicate, is_not: bool) -> Result<NodeCondition, FilterProblem> {
        let mut set = self.set_budget.new_node_set(self.graph)?;
        let is_null = matches!(predicate, Predicate::IsNull);
        for &(node, class) in self.graph.types().class_objects() {
            if is_null || name_matches(predicate, Some(self.graph.type_name(class)), is_not) {
                set.insert(node);
            }
        }
        // Not null: a class object.
        Ok(NodeCondition::NodeSet(set, !is_null || is_not))
    }

    /// Objects of root records that hold strongly, by themselves or through the thread whose stack they are of, and whose
    /// kind, as it is shown, fits.
    fn rooted_nodes(&self, fits: impl Fn(&str) -> bool) -> Result<NodeSet, FilterProblem> {
        let holds = |root: &Root| !root.is_weak() && !root.is_excluded;
        let roots = RootsByNode::new(self.graph);
        let mut set = self.set_budget.new_node_set(self.graph)?;
        for root in self.graph.roots().iter().filter(|root| holds(root)) {
            if !set.contains(root.node)
                && roots.display_root(root.node, holds).is_some_and(|shown| fits(&shown.kind.name()))
            {
                set.insert(root.node);
            }
        }
        Ok(set)
    }

    /// The nodes whose ids compare so, in ascending runs: ids ascend with the nodes of a section.
    fn id_runs(&self, test: &FilterTest, op: Comparison, typed: &str) -> Result<Vec<Range<usize>>, FilterError> {
        let graph = self.graph;
        let wrong = || FilterError::new(self.expression, test.value_offset, "no object id, as the dump writes them");
        let (section, id) = match typed.split_once('#') {
            Some((number, id)) => {
                let number: usize = number.parse().map_err(|_| wrong())?;
                let there = graph.sections().len();
                (Some(number.checked_sub(1).filter(|at| *at < there).ok_or_else(wrong)?), id)
            }
            None => (None, typed),
        };
        let id = graph.id_style().parse(id).ok_or_else(wrong)?;
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in 0..graph.sections().len() {
            let nodes = graph.section_nodes(SectionId::new(at));
            if section.is_some_and(|section| section != at) {
                // Another object, whatever its id: neither equal nor in an order with it.
                if op == Comparison::Ne {
                    runs.push(nodes);
                }
                continue;
            }
            let first_that = |is_before: &dyn Fn(u64) -> bool| {
                let (mut low, mut high) = (nodes.start, nodes.end);
                while low < high {
                    let middle = low + (high - low) / 2;
                    match is_before(graph.original_id(NodeId::new(middle))) {
                        true => low = middle + 1,
                        false => high = middle,
                    }
                }
                low
            };
            let (start, end) = (first_that(&|known| known < id), first_that(&|known| known <= id));
            match op {
                Comparison::Eq => runs.push(start..end),
                Comparison::Ne => runs.extend([nodes.start..start, end..nodes.end]),
                Comparison::Lt => runs.push(nodes.start..start),
                Comparison::Le => runs.push(nodes.start..end),
                Comparison::Gt => runs.push(end..nodes.end),
                Comparison::Ge => runs.push(start..nodes.end),
            }
        }
        runs.retain(|run| !run.is_empty());
        Ok(runs)
    }

    fn bind_lengths(&self, predicate: &Predicate, is_not: bool) -> Result<NodeCondition, FilterProblem> {
        let mut set = self.set_budget.new_node_set(self.graph)?;
        let is_null = matches!(predicate, Predicate::IsNull);
        let fits = |length: u64| match predicate {
            Predicate::Number(op, number) => number.matching_range(*op, 0).contains(length.into()) != is_not,
            _ => is_null,
        };
        for (node, _) in self.lengths.iter(0..self.graph.node_count()).filter(|(_, length)| fits(*length)) {
            set.insert(node);
        }
        Ok(NodeCondition::NodeSet(set, !is_null || is_not))
    }

    fn bind_field(&self, number: usize, predicate: &Predicate, is_not: bool) -> Result<NodeCondition, FilterProblem> {
        let values = &self.fields[number];
        let mut set = self.set_budget.new_node_set(self.graph)?;
        let is_null = matches!(predicate, Predicate::IsNull);
        for (node, value) in values.iter() {
            if is_null || value.satisfies(predicate).is_some_and(|answer| answer != is_not) {
                set.insert(node);
            }
        }
        Ok(NodeCondition::NodeSet(set, !is_null || is_not))
    }
}

/// Does a name, if there is one, answer a question of texts; or is it known not to?
fn name_matches(predicate: &Predicate, name: Option<&str>, is_not: bool) -> bool {
    match (predicate, name) {
        (Predicate::IsNull, name) => name.is_none() != is_not,
        (_, None) => false,
        (predicate, Some(name)) => matches_text(predicate, name) != is_not,
    }
}
