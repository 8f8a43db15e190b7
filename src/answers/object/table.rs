//! Everything that is said of objects, as rows of one table.

use super::rows::NodeRows;
use super::{ObjectAnswer, ShownObjects};
use crate::answers::ObjectRow;
use crate::answers::values::ShownValue;

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
