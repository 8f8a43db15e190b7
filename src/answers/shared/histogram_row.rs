//! Named amounts: totals, and rows of histograms, of the whole heap or of a part of the dominator tree, with the loaders of
//! types that have one name.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::answers::shared::GroupBy;
use crate::answers::shared::figure::{
    ALLOCATED_BYTES, ALLOCATIONS, FLAT_ALLOCATIONS, FLAT_BYTES, Figure, OBJECTS, OFF_HEAP, RETAINED, SHALLOW,
};
use crate::answers::shared::rows::LocationRow;
use crate::graph::{HeapGraph, Loader};
use crate::input::{ShownValue, Value};

/// A value under a key that tells what it is: rows under `types` or `groups`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedValue<T> {
    pub(in crate::answers) key: &'static str,
    pub(in crate::answers) value: T,
}

impl<T: Serialize> Serialize for KeyedValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.key, &self.value)])
    }
}

impl<R> KeyedValue<Vec<R>> {
    pub(in crate::answers) fn of_rows(by: GroupBy, value: Vec<R>) -> Self {
        KeyedValue { key: if by == GroupBy::Type { "types" } else { "groups" }, value }
    }

    /// The rows, whatever they are of.
    pub fn as_slice(&self) -> &[R] {
        &self.value
    }
}

impl KeyedValue<String> {
    /// The name, whatever it is of.
    pub fn as_str(&self) -> &str {
        &self.value
    }
}

/// Figures that a row has at most.
const MAX_AMOUNTS: usize = 6;

/// Amounts by figure, in the order of columns.
#[derive(Debug, Clone, Copy)]
pub struct RowAmounts {
    figures: &'static [Figure],
    values: [Option<u64>; MAX_AMOUNTS],
}

impl RowAmounts {
    /// The first values of `values` are those of the figures.
    pub(in crate::answers) fn new<const N: usize>(figures: &'static [Figure], values: [Option<u64>; N]) -> Self {
        let mut all = [None; MAX_AMOUNTS];
        all[..N].copy_from_slice(&values);
        RowAmounts { figures, values: all }
    }
}

impl Serialize for RowAmounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.figures.iter().map(|figure| figure.key).zip(self.values))
    }
}

/// Figures of a whole, by name, in the order of the documented JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals(pub(in crate::answers) Vec<(Figure, Option<u64>)>);

impl Totals {
    pub(in crate::answers) fn of_objects(objects: u64, shallow_bytes: u64) -> Self {
        Totals(vec![(OBJECTS, Some(objects)), (SHALLOW, Some(shallow_bytes))])
    }

    pub(in crate::answers) fn of_allocations(total_bytes: u64, allocations: Option<u64>) -> Self {
        Totals(vec![(ALLOCATED_BYTES, Some(total_bytes)), (ALLOCATIONS, allocations)])
    }

    /// The same with figures more, those that are known.
    pub(in crate::answers) fn with_figures(mut self, figures: impl IntoIterator<Item = (Figure, Option<u64>)>) -> Self {
        self.0.extend(figures.into_iter().filter(|(_, value)| value.is_some()));
        self
    }

    /// A figure, where it is among them.
    pub fn figure(&self, figure: Figure) -> Option<u64> {
        self.0.iter().find(|(own, _)| *own == figure)?.1
    }

    /// Shallow bytes of objects, or bytes of allocations.
    pub fn bytes(&self) -> u64 {
        self.figure(SHALLOW).or_else(|| self.figure(ALLOCATED_BYTES)).unwrap_or(0)
    }

    /// Returns true if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.figure(OBJECTS).unwrap_or_else(|| self.bytes()) == 0
    }
}

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(figure, value)| (figure.key, value)))
    }
}

/// The place of a class in the tree of what extends what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClassPlace {
    /// Classes that it extends.
    pub level: u32,
    /// Its objects and those of all classes that extend it.
    pub objects_with_subclasses: u64,
    /// Their shallow bytes.
    pub shallow_bytes_with_subclasses: u64,
    /// Rows of its level that were left out, and would stand after it.
    #[serde(skip)]
    pub(crate) hidden_after: usize,
}

/// A number of a field, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldNumber {
    /// A whole number.
    Integer(i128),
    /// A floating-point number.
    Double(f64),
}

impl FieldNumber {
    pub(in crate::answers) fn to_double(self) -> f64 {
        match self {
            FieldNumber::Integer(number) => number as f64,
            FieldNumber::Double(number) => number,
        }
    }

    /// By size; whole numbers and others by their whole part first, so that nothing is rounded.
    pub(in crate::answers) fn total_order(&self, other: &FieldNumber) -> Ordering {
        if let (FieldNumber::Double(number), FieldNumber::Double(other)) = (self, other) {
            return number.total_cmp(other);
        }
        let parts = |number: &FieldNumber| match *number {
            FieldNumber::Integer(number) => (number, 0.0),
            FieldNumber::Double(number) if number.is_finite() => (number.floor() as i128, number - number.floor()),
            // Infinities are beyond all that a sum of whole numbers is.
            FieldNumber::Double(number) => (number as i128, number),
        };
        let ((whole, rest), (other_whole, other_rest)) = (parts(self), parts(other));
        whole.cmp(&other_whole).then_with(|| rest.total_cmp(&other_rest))
    }

    /// Digits; `NaN`, `Infinity` and `-Infinity` as in JSON.
    pub fn text(self) -> String {
        match self {
            FieldNumber::Integer(number) => number.to_string(),
            FieldNumber::Double(number) => ShownValue::from(Value::Double(number)).plain_text(),
        }
    }

    /// Returns true if JSON writes it as a number.
    pub fn is_json_literal(self) -> bool {
        matches!(self, FieldNumber::Integer(_)) || self.to_double().is_finite()
    }
}

impl Serialize for FieldNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            FieldNumber::Integer(number) => serializer.serialize_i128(number),
            FieldNumber::Double(number) => ShownValue::from(Value::Double(number)).serialize(serializer),
        }
    }
}

/// A figure of a field of a row's objects.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFigureOfRow {
    /// `sum`, `min`, `max` or `mean`.
    pub function: &'static str,
    /// The path of the field.
    pub path: Arc<str>,
    /// `None` where no object has a number there.
    pub number: Option<FieldNumber>,
}

/// Figures of fields of a row's objects. Its JSON has them by function and path, and `nulls` by path.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFiguresOfRow {
    /// In the order of columns.
    pub figures: Vec<FieldFigureOfRow>,
    /// By path: objects that have no number there.
    pub objects_without: Vec<(Arc<str>, u64)>,
}

impl Serialize for FieldFiguresOfRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for of_function in self.figures.chunk_by(|a, b| a.function == b.function) {
            let by_path = of_function.iter().map(|figure| (&*figure.path, figure.number));
            map.serialize_entry(of_function[0].function, &by_path.collect::<BTreeMap<_, _>>())?;
        }
        let nulls: BTreeMap<&str, u64> =
            self.objects_without.iter().map(|(path, objects)| (&**path, *objects)).collect();
        map.serialize_entry("nulls", &nulls)?;
        map.end()
    }
}

/// A type or group with its amounts.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HistogramRow {
    #[serde(flatten)]
    pub(in crate::answers) amounts: RowAmounts,
    /// Bytes that would be freed with the row's objects, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
    /// Bytes outside the heap that the row's objects own, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_heap_bytes: Option<u64>,
    /// Place in the tree of classes, where rows are that.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub class_place: Option<Box<ClassPlace>>,
    /// Figures of fields, where those were asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub field_figures: Option<Box<FieldFiguresOfRow>>,
    /// The module a type is from, where types of one name are apart and modules are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Place of the type's constructor, where another row has the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationRow>,
    /// Loader of the type, where rows of several loaders have its name and the dump knows; `null` for the runtime itself.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "loader_or_null")]
    pub loader: Option<LoaderRow>,
    /// Name of the type or group.
    #[serde(flatten)]
    pub(in crate::answers) name: KeyedValue<String>,
    /// The group's number while the answer is computed.
    #[serde(skip)]
    pub(in crate::answers) group: u32,
    /// The value that the order compares, while rows are sorted.
    #[serde(skip)]
    pub(in crate::answers) sort_value: Option<FieldNumber>,
}

impl HistogramRow {
    pub(in crate::answers) fn new(name: String, by: GroupBy, amounts: RowAmounts) -> Self {
        let name = KeyedValue { key: by.figure().key, value: name };
        let (retained_bytes, off_heap_bytes, class_place, field_figures, module, location, loader) = Default::default();
        HistogramRow {
            amounts,
            retained_bytes,
            off_heap_bytes,
            class_place,
            field_figures,
            module,
            location,
            loader,
            name,
            group: 0,
            sort_value: None,
        }
    }

    /// The name of the type or group.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The number of its group among all that the dump has.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// The name; where the loader tells it from another row and no column of its own says it, with that.
    pub fn name_with_loader(&self, is_wanted: bool) -> Cow<'_, str> {
        name_with_loader(self.name(), self.loader.as_ref().filter(|_| is_wanted))
    }

    /// Shallow bytes of objects, or bytes of allocations, flat ones of functions; what is charged to a row is not among them.
    pub fn bytes(&self) -> u64 {
        [SHALLOW, ALLOCATED_BYTES, FLAT_BYTES].into_iter().find_map(|figure| self.figure(figure)).unwrap_or(0)
    }

    /// Objects or allocations, where they are counted.
    pub fn count(&self) -> Option<u64> {
        [OBJECTS, ALLOCATIONS, FLAT_ALLOCATIONS].into_iter().find_map(|figure| self.figure(figure))
    }

    /// A figure of the row, where it has that.
    pub fn figure(&self, figure: Figure) -> Option<u64> {
        match figure {
            RETAINED => return self.retained_bytes,
            OFF_HEAP => return self.off_heap_bytes,
            _ => {}
        }
        let RowAmounts { figures, values } = &self.amounts;
        values[figures.iter().position(|own| *own == figure)?]
    }
}

/// The loader of a type: an object, or a loader that the dump knows by name; neither for the runtime itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoaderRow {
    /// The loader's id.
    pub id: Option<String>,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Its own name.
    pub name: Option<String>,
}

impl LoaderRow {
    /// A loader of which no more than its id is known; the runtime itself without one.
    pub(in crate::answers) fn of_id(id: Option<String>) -> Self {
        LoaderRow { id, type_name: None, name: None }
    }

    /// The loader in a line: `zoo.Zoo$TwinLoader 0x7f2da4800010`.
    pub fn text(&self) -> String {
        match (&self.name, &self.type_name, &self.id) {
            (_, Some(type_name), Some(id)) => format!("{type_name} {id}"),
            (Some(name), ..) => name.clone(),
            (None, None, Some(id)) => id.clone(),
            _ => "(runtime)".into(),
        }
    }
}

/// The runtime is no loader: `null`.
pub(in crate::answers) fn loader_or_null<S: serde::Serializer>(
    loader: &Option<LoaderRow>,
    to: S,
) -> Result<S::Ok, S::Error> {
    loader.as_ref().filter(|loader| loader.name.is_some() || loader.id.is_some()).serialize(to)
}

/// A type's name, with its loader where that tells it from another row.
pub(in crate::answers) fn name_with_loader<'n>(name: &'n str, loader: Option<&LoaderRow>) -> Cow<'n, str> {
    match loader {
        Some(loader) => format!("{name} ({})", loader.text()).into(),
        None => name.into(),
    }
}

/// Tells loaders apart; empty for the runtime itself and where the dump does not say.
pub(crate) fn loader_key(graph: &HeapGraph, loader: Loader) -> String {
    match loader {
        Loader::Unknown | Loader::Runtime => String::new(),
        _ => loader_text(graph, loader),
    }
}

pub(in crate::answers) fn loader_text(graph: &HeapGraph, loader: Loader) -> String {
    loader_row(graph, loader).map_or_else(|| "(unknown)".into(), |row| row.text())
}

pub(super) fn loader_row(graph: &HeapGraph, loader: Loader) -> Option<LoaderRow> {
    match loader {
        Loader::Unknown => None,
        Loader::Runtime => Some(LoaderRow::of_id(None)),
        Loader::Object(node) => Some(LoaderRow {
            id: Some(graph.display_id(node)),
            type_name: Some(graph.type_name(graph.type_of(node)).to_string()),
            name: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_fields_are_ordered_by_size() {
        use FieldNumber::{Double, Integer};
        let ascending = [
            Double(f64::NEG_INFINITY),
            Double(-f64::MAX),
            Double(-1e39),
            Integer(-(1 << 54) - 1),
            Double(-(2f64.powi(54))),
            Integer(0),
            Double(0.5),
            Integer(1),
            Double(1e39),
            Double(f64::MAX),
            Double(f64::INFINITY),
        ];
        for pair in ascending.windows(2) {
            assert_eq!(pair[0].total_order(&pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(pair[1].total_order(&pair[0]), Ordering::Greater, "{pair:?}");
        }
    }
}
