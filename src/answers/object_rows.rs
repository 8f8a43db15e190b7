//! What one object refers to and what refers to it, and everything that is said of it as rows of one table.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::ObjectRow;
use super::histogram_rows::is_false;
use super::object::{ObjectAnswer, ShownObjects};
use super::values::{ShownValue, Values};
use crate::graph::{HeapGraph, NodeId, Reference};

/// Up to this many rows are made when the question is asked; more are made one by one when they are written.
pub(super) const FEW_ROWS: usize = 4096;

/// Objects by number. Many rows are made one by one.
#[derive(Debug)]
pub struct NodeRows<'d> {
    graph: &'d HeapGraph,
    strong: &'d [NodeId],
    /// Those that are not in the slice, with their places among all: weak ones, and a class that is held anyway.
    others: Vec<(usize, Reference)>,
    shown: usize,
    few: Option<Vec<ObjectRow>>,
    /// What the references are called, of the first rows.
    pub(super) names: Vec<Option<String>>,
    values: Option<Values<'d>>,
    said: OnceCell<Vec<Option<ShownValue>>>,
}

/// An object at the other end of a reference, with what is said of that.
#[derive(Debug, Clone, Serialize)]
struct ReferenceRow {
    #[serde(flatten)]
    row: ObjectRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    weak: bool,
}

impl<'d> NodeRows<'d> {
    /// What an object refers to. O(references) where some are weak.
    pub(super) fn references(
        graph: &'d HeapGraph,
        node: NodeId,
        limit: Option<usize>,
        values: Option<Values<'d>>,
    ) -> Self {
        let all = graph.references(node);
        Self::new(graph, graph.strong_references(node), all, limit, values)
    }

    /// What refers to an object. O(referrers) where some are weak.
    pub(super) fn referrers(
        graph: &'d HeapGraph,
        node: NodeId,
        limit: Option<usize>,
        values: Option<Values<'d>>,
    ) -> Self {
        let (strong, all) = (graph.strong_referrers(node), graph.referrers(node));
        let strong = if all.leaves_out_objects() { &[] } else { strong };
        Self::new(graph, strong, all, limit, values)
    }

    fn new(
        graph: &'d HeapGraph,
        strong: &'d [NodeId],
        all: impl ExactSizeIterator<Item = Reference>,
        limit: Option<usize>,
        values: Option<Values<'d>>,
    ) -> Self {
        let mut left = strong.iter();
        let mut others = Vec::new();
        let total = all.len();
        if total > strong.len() {
            for (place, reference) in all.enumerate() {
                let is_next = !reference.is_weak && left.as_slice().first() == Some(&reference.node);
                match is_next {
                    true => drop(left.next()),
                    false => others.push((place, reference)),
                }
            }
        }
        let shown = limit.map_or(total, |limit| total.min(limit));
        let (few, names, said) = (None, Vec::new(), OnceCell::new());
        let mut rows = NodeRows { graph, strong, others, shown, few, names, values, said };
        if shown <= FEW_ROWS {
            rows.few = Some((0..shown).map(|row| rows.get(row)).collect());
        }
        rows
    }

    /// Returns true if the rows are made.
    pub(super) fn are_few(&self) -> bool {
        self.few.is_some()
    }

    /// What the reference of a row is called, where the dump says so.
    pub fn reference(&self, row: usize) -> Option<&str> {
        self.names.get(row)?.as_deref()
    }

    /// Rows that are shown.
    pub fn len(&self) -> usize {
        self.shown
    }

    /// Returns true if no row is shown.
    pub fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Rows that there are, shown or not.
    pub fn total(&self) -> usize {
        self.strong.len() + self.others.len()
    }

    /// The reference of a row. O(log weak references).
    fn at(&self, row: usize) -> Reference {
        let before = self.others.partition_point(|(place, _)| *place < row);
        match self.others.get(before) {
            Some((place, reference)) if *place == row => *reference,
            _ => Reference { node: self.strong[row - before], is_weak: false },
        }
    }

    /// How many rows from this one on, shown or not, are of the same object. O(those).
    pub fn repeats(&self, row: usize) -> usize {
        let node = self.at(row).node;
        (row..self.total()).take_while(|&next| self.at(next).node == node).count()
    }

    /// All rows by type, shown or not: most first, then by name. O(rows).
    pub fn by_type(&self) -> Vec<(u64, &'d str)> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for row in 0..self.total() {
            *counts.entry(self.graph.type_name(self.graph.type_of(self.at(row).node))).or_default() += 1;
        }
        let mut counts: Vec<(u64, &str)> = counts.into_iter().map(|(name, count)| (count, name)).collect();
        counts.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        counts
    }

    /// Returns true if the reference of a row holds nothing.
    pub fn is_weak(&self, row: usize) -> bool {
        self.at(row).is_weak
    }

    /// A row below `len`. O(log objects).
    pub fn get(&self, row: usize) -> ObjectRow {
        match &self.few {
            Some(rows) => rows[row].clone(),
            None => ObjectRow::new(self.graph, self.at(row).node),
        }
    }

    /// The rows that are shown, one by one.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRow> + '_ {
        (0..self.shown).map(|row| self.get(row))
    }

    /// What the object of a row says, of the first 4,096 rows. Reads them all when it is first asked.
    pub fn said(&self, row: usize) -> Option<&ShownValue> {
        let read = || {
            let nodes: Vec<NodeId> = (0..self.shown.min(FEW_ROWS)).map(|row| self.at(row).node).collect();
            self.values.map_or(Vec::new(), |values| values.said(&nodes))
        };
        self.said.get_or_init(read).get(row)?.as_ref()
    }

    /// A row with what its object says.
    pub fn saying(&self, row: usize) -> ObjectRow {
        ObjectRow { said: self.said(row).map(ShownValue::words), ..self.get(row) }
    }
}

impl Serialize for NodeRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.shown))?;
        for at in 0..self.shown {
            let reference = self.reference(at).map(str::to_string);
            rows.serialize_element(&ReferenceRow { row: self.get(at), reference, weak: self.is_weak(at) })?;
        }
        rows.end()
    }
}

/// A row of the table: the object itself, what it holds, what is related to it, or a root.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RelatedRow {
    /// The object that was asked for, where there are several.
    pub of: String,
    /// `object`, `dominator`, `root`, `field`, `static`, `element`, `reference`, `weak-reference`, `referrer`,
    /// `weak-referrer`.
    pub relation: &'static str,
    /// The id of an object.
    pub id: Option<String>,
    /// Its bytes.
    pub shallow_bytes: Option<u64>,
    /// Of a class object: the class that it stands for.
    pub class: Option<String>,
    /// The name of the field or reference.
    pub reference: Option<String>,
    /// The type; of a root what it is.
    pub text: String,
    /// The value.
    pub value: Option<ShownValue>,
}

impl RelatedRow {
    fn of(relation: &'static str, object: ObjectRow) -> Self {
        let ObjectRow { id, type_name: text, class, shallow_bytes, .. } = object;
        RelatedRow { relation, id: Some(id), shallow_bytes: Some(shallow_bytes), class, text, ..Self::default() }
    }

    fn of_reference(relations: [&'static str; 2], rows: &NodeRows<'_>, row: usize) -> Self {
        RelatedRow {
            reference: rows.reference(row).map(str::to_string),
            value: rows.said(row).cloned(),
            ..Self::of(relations[usize::from(rows.is_weak(row))], rows.get(row))
        }
    }
}

impl ShownObjects<'_> {
    /// Everything that is said of the objects, row by row.
    pub fn related(&self) -> (usize, impl Fn(usize) -> RelatedRow + '_) {
        let objects = self.as_slice();
        let rows_of: Vec<_> = objects.iter().map(ObjectAnswer::related).collect();
        let ends: Vec<usize> =
            rows_of.iter().scan(0, |sum, (count, _)| Some(std::mem::replace(sum, *sum + count) + count)).collect();
        (ends.last().copied().unwrap_or(0), move |row| {
            let at = ends.partition_point(|end| *end <= row);
            let (count, row_of) = &rows_of[at];
            RelatedRow { of: objects[at].object.row.id.clone(), ..row_of(row + count - ends[at]) }
        })
    }
}

impl ObjectAnswer<'_> {
    /// Returns true if values can be read.
    pub fn has_values(&self) -> bool {
        self.no_values.is_none()
    }

    /// Everything that is said of the object, row by row.
    pub fn related(&self) -> (usize, impl Fn(usize) -> RelatedRow + '_) {
        let object =
            RelatedRow { value: self.object.value.clone(), ..RelatedRow::of("object", self.object.row.clone()) };
        let dominator = self.dominator.clone().map(|dominator| RelatedRow::of("dominator", dominator));
        let roots =
            self.roots.iter().map(|root| RelatedRow { relation: "root", text: root.text(), ..RelatedRow::default() });
        let fields = self.fields.iter().flatten().map(|field| RelatedRow {
            relation: if field.is_static { "static" } else { "field" },
            id: field.id().map(str::to_string),
            reference: Some(field.label()),
            text: field.held_type().to_string(),
            value: field.value(),
            ..RelatedRow::default()
        });
        let elements = self.object.elements.iter().flatten().enumerate().map(|(at, element)| RelatedRow {
            relation: "element",
            reference: Some(format!("[{at}]")),
            text: self.object.row.type_name.trim_end_matches("[]").to_string(),
            value: Some(element.clone()),
            ..RelatedRow::default()
        });
        let head: Vec<RelatedRow> =
            [object].into_iter().chain(dominator).chain(roots).chain(fields).chain(elements).collect();
        let listed = head.len() + self.references.len();
        (listed + self.referrers.len(), move |row| match row {
            _ if row < head.len() => head[row].clone(),
            _ if row < listed => {
                RelatedRow::of_reference(["reference", "weak-reference"], &self.references, row - head.len())
            }
            _ => RelatedRow::of_reference(["referrer", "weak-referrer"], &self.referrers, row - listed),
        })
    }
}
