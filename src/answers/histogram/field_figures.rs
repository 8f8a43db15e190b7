//! Sums, least, largest and mean values of fields by group: `--sum .size`, `--mean .user.age`.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use crate::answers::AnswerError;
use crate::answers::figure::{ColumnUnit, Figure};
use crate::answers::groups::Groups;
use crate::answers::histogram_row::{FieldFigureOfRow, FieldFiguresOfRow, FieldNumber};
use crate::dump::OpenDump;
use crate::filter::{FieldSelection, PathEnd, PathStep, visit_path_ends, visit_shown_values};
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ShownValue, Value};

/// What is told of the numbers in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldFunction {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The largest.
    Max,
    /// Their sum through their number.
    Mean,
}

impl FieldFunction {
    /// All of them, in the order of columns.
    pub const ALL: [FieldFunction; 4] =
        [FieldFunction::Sum, FieldFunction::Min, FieldFunction::Max, FieldFunction::Mean];

    /// The option that asks for it.
    pub fn option(self) -> &'static str {
        match self {
            FieldFunction::Sum => "--sum",
            FieldFunction::Min => "--min",
            FieldFunction::Max => "--max",
            FieldFunction::Mean => "--mean",
        }
    }

    /// Its name in JSON, and the word of `--sort` for the first field that it is asked of.
    pub fn figure(self) -> Figure {
        match self {
            FieldFunction::Sum => Figure::new("sum", "Sum", ColumnUnit::Count, "sum"),
            FieldFunction::Min => Figure::new("min", "Min", ColumnUnit::Count, "min"),
            FieldFunction::Max => Figure::new("max", "Max", ColumnUnit::Count, "max"),
            FieldFunction::Mean => Figure::new("mean", "Mean", ColumnUnit::Count, "mean"),
        }
    }
}

/// Figures of fields that each row of a histogram has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldFigures {
    /// Of which fields, each once.
    paths: Vec<(Arc<str>, Vec<PathStep>)>,
    /// What is told, and the place of the field.
    figures: Vec<(FieldFunction, usize)>,
}

impl FieldFigures {
    /// Adds what is told of some fields; nothing comes twice.
    pub fn add_fields(&mut self, function: FieldFunction, fields: &FieldSelection) {
        for (text, steps) in fields.paths().zip(fields.steps()) {
            let known = self.paths.iter().position(|(_, known)| known == steps);
            let place = known.unwrap_or_else(|| {
                self.paths.push((text.into(), steps.to_vec()));
                self.paths.len() - 1
            });
            if !self.figures.contains(&(function, place)) {
                self.figures.push((function, place));
            }
        }
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// What is told, each with the path of its field.
    pub fn iter(&self) -> impl Iterator<Item = (FieldFunction, &str)> {
        self.figures.iter().map(|&(function, place)| (function, &*self.paths[place].0))
    }

    /// The fields, each once: the path as it was written, and its steps.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, &[PathStep])> {
        self.paths.iter().map(|(text, steps)| (&**text, &steps[..]))
    }

    /// Figures of each group. One pass over the values of the dump; 100 bytes for each group and field, and 8 bytes for each
    /// object whose field refers to another, which may be a number in a box.
    pub(super) fn compute(
        &self,
        dump: &OpenDump,
        graph: &HeapGraph,
        groups: &Groups<'_>,
    ) -> Result<Vec<FieldTotals>, AnswerError> {
        let fields = self.paths.len();
        let slots = groups.names.len().saturating_mul(fields);
        dump.check_rows_memory(slots as u64, size_of::<FieldTotals>() as u64)?;
        let totals = Mutex::new((vec![FieldTotals::default(); slots], Vec::<(NodeId, u32)>::new()));
        let paths: Vec<Vec<PathStep>> = self.paths.iter().map(|(_, steps)| steps.clone()).collect();
        let slot_of = |node: NodeId, path: usize| {
            let group = groups.group_of(node) as usize;
            (group < groups.names.len()).then(|| group * fields + path)
        };
        let add = |ends: &[PathEnd]| {
            let slots = ends.iter().filter_map(|end| Some((slot_of(end.node, end.path_index)?, &end.value)));
            let of_groups: Vec<(usize, &Value)> =
                slots.filter(|(_, value)| !matches!(value, Value::Null | Value::Dangling(_))).collect();
            let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
            let (totals, references) = &mut *totals;
            for (slot, value) in of_groups {
                match value {
                    Value::Object(target) => references.push((*target, slot as u32)),
                    value => totals[slot].add_values(value, 1),
                }
            }
        };
        visit_path_ends(dump, graph, &paths, &add)?;
        let (mut totals, mut references) = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
        dump.check_rows_memory(references.len() as u64, 12)?;
        references.sort_unstable();
        let mut targets: Vec<NodeId> = references.iter().map(|(target, _)| *target).collect();
        targets.dedup();
        let mut references = references.into_iter().peekable();
        visit_shown_values(dump, graph, &targets, |target, said| {
            while let Some((_, slot)) = references.next_if(|(known, _)| *known == target) {
                match &said {
                    Some(ShownValue::Primitive(value)) => totals[slot as usize].add_values(value, 1),
                    _ => totals[slot as usize].holds_others = true,
                }
            }
        })?;
        self.check_numbers(totals.chunks_exact(fields.max(1)))?;
        Ok(totals)
    }

    /// Error: if a field has no number in any group, and something else in one.
    pub(super) fn check_numbers<'t>(
        &self,
        groups: impl Iterator<Item = &'t [FieldTotals]> + Clone,
    ) -> Result<(), AnswerError> {
        for (at, (path, _)) in self.paths.iter().enumerate() {
            let mut of_groups = groups.clone().filter_map(|totals| totals.get(at));
            if of_groups.clone().all(|total| total.count == 0) && of_groups.any(|total| total.holds_others) {
                return Err(AnswerError::NoNumbers(path.to_string()));
            }
        }
        Ok(())
    }

    /// The figures of a group, of these totals of all groups and so many objects.
    pub(super) fn figures_of_group(&self, totals: &[FieldTotals], group: usize, objects: u64) -> FieldFiguresOfRow {
        let totals = &totals[group * self.paths.len()..][..self.paths.len()];
        let figure = |&(function, place): &(FieldFunction, usize)| FieldFigureOfRow {
            function: function.figure().key,
            path: Arc::clone(&self.paths[place].0),
            number: totals[place].number(function),
        };
        let figures = self.figures.iter().map(figure);
        let without =
            self.paths.iter().zip(totals).map(|((path, _), total)| (path, objects.saturating_sub(total.count)));
        FieldFiguresOfRow {
            figures: figures.collect(),
            objects_without: without.map(|(path, objects)| (Arc::clone(path), objects)).collect(),
        }
    }
}

/// The number that a value is; `None` for all else, and for what is not a number (NaN).
fn number_of(value: &Value) -> Option<FieldNumber> {
    match value {
        Value::Integer(number) => Some(FieldNumber::Integer((*number).into())),
        Value::Float(number) if !number.is_nan() => Some(FieldNumber::Double(f64::from(*number))),
        Value::Double(number) if !number.is_nan() => Some(FieldNumber::Double(*number)),
        _ => None,
    }
}

/// Totals of the numbers in a field of the objects of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldTotals {
    count: u64,
    /// Sum of whole numbers: less than 2^63 objects have no more than fits.
    integers: i128,
    /// Sum of the others, and what it is rounded off by: with both the order makes no difference but in the last of 106 bits.
    doubles: (f64, f64),
    has_doubles: bool,
    least_and_largest: Option<(FieldNumber, FieldNumber)>,
    /// There is a value that can be no number: what is not a number (NaN) is one of a field of numbers.
    pub(super) holds_others: bool,
}

impl FieldTotals {
    /// Adds a value that so many objects have.
    pub(super) fn add_values(&mut self, value: &Value, times: u64) {
        self.holds_others |= matches!(value, Value::Boolean(_) | Value::Char(_) | Value::Text(_));
        number_of(value).into_iter().for_each(|number| self.add_numbers(number, times));
    }

    fn add_numbers(&mut self, number: FieldNumber, times: u64) {
        self.count += times;
        match number {
            FieldNumber::Integer(number) => {
                self.integers = self.integers.saturating_add(number.saturating_mul(times.into()))
            }
            FieldNumber::Double(number) => {
                self.has_doubles = true;
                let product = number * times as f64;
                self.doubles = add_rounded(self.doubles, product);
                if times > 1 && product.is_finite() {
                    // What the product was rounded off by.
                    self.doubles = add_rounded(self.doubles, number.mul_add(times as f64, -product));
                }
            }
        }
        self.widen(number, number);
    }

    /// Adds the values of other objects.
    pub(super) fn merge(&mut self, other: &FieldTotals) {
        self.count += other.count;
        self.integers = self.integers.saturating_add(other.integers);
        self.doubles = add_rounded(add_rounded(self.doubles, other.doubles.0), other.doubles.1);
        self.has_doubles |= other.has_doubles;
        self.holds_others |= other.holds_others;
        other.least_and_largest.into_iter().for_each(|(least, largest)| self.widen(least, largest));
    }

    fn widen(&mut self, smaller: FieldNumber, larger: FieldNumber) {
        let (least, largest) = self.least_and_largest.unwrap_or((smaller, larger));
        self.least_and_largest = Some((
            if smaller.total_order(&least) == Ordering::Less { smaller } else { least },
            if larger.total_order(&largest) == Ordering::Greater { larger } else { largest },
        ));
    }

    /// A double where one of the numbers is.
    fn number(&self, function: FieldFunction) -> Option<FieldNumber> {
        let (least, largest) = self.least_and_largest?;
        let double = |number: FieldNumber| FieldNumber::Double(number.to_double());
        let as_told = |number: FieldNumber| if self.has_doubles { double(number) } else { number };
        let sum = || match self.has_doubles {
            true => {
                // What a double cannot hold of the whole numbers is added by itself.
                let rounded = self.integers as f64;
                let left_over = self.integers.saturating_sub(rounded as i128) as f64;
                let (sum, rest) = add_rounded(add_rounded(self.doubles, rounded), left_over);
                FieldNumber::Double(sum + rest)
            }
            false => FieldNumber::Integer(self.integers),
        };
        Some(match function {
            FieldFunction::Sum => sum(),
            FieldFunction::Min => as_told(least),
            FieldFunction::Max => as_told(largest),
            FieldFunction::Mean => FieldNumber::Double(sum().to_double() / self.count as f64),
        })
    }
}

/// Adds a number to a sum and what that is rounded off by (Knuth's two-sum).
fn add_rounded((sum, rest): (f64, f64), number: f64) -> (f64, f64) {
    let total = sum + number;
    if !total.is_finite() {
        return (total, 0.0);
    }
    let part = total - sum;
    (total, rest + ((sum - (total - part)) + (number - part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_of(numbers: &[FieldNumber]) -> FieldTotals {
        let mut total = FieldTotals::default();
        numbers.iter().for_each(|&number| total.add_numbers(number, 1));
        total
    }

    #[test]
    fn whole_numbers_never_overflow_and_doubles_say_so() {
        let largest = FieldNumber::Integer(i64::MAX.into());
        let total = total_of(&[largest; 3]);
        assert_eq!(total.number(FieldFunction::Sum), Some(FieldNumber::Integer(3 * i128::from(i64::MAX))));
        assert_eq!(total.number(FieldFunction::Mean), Some(FieldNumber::Double(i64::MAX as f64)));
        let mixed = total_of(&[FieldNumber::Integer(2), FieldNumber::Double(0.5), FieldNumber::Integer(-7)]);
        assert_eq!(mixed.number(FieldFunction::Sum), Some(FieldNumber::Double(-4.5)));
        assert_eq!(mixed.number(FieldFunction::Min), Some(FieldNumber::Double(-7.0)));
        assert_eq!(mixed.number(FieldFunction::Max), Some(FieldNumber::Double(2.0)));
        assert_eq!(FieldTotals::default().number(FieldFunction::Sum), None);
    }

    #[test]
    fn sums_of_doubles_do_not_go_by_the_order() {
        let doubles = [1e16, 1.0, -1e16, 1e-8, 3.5, -2.0].map(FieldNumber::Double);
        let mut turned = doubles;
        turned.reverse();
        let sums = [doubles, turned].map(|numbers| total_of(&numbers).number(FieldFunction::Sum));
        assert_eq!(sums, [Some(FieldNumber::Double(2.5 + 1e-8)); 2]);
        let infinite = [f64::INFINITY, 1.0].map(FieldNumber::Double);
        assert_eq!(total_of(&infinite).number(FieldFunction::Sum), Some(FieldNumber::Double(f64::INFINITY)));
        assert_eq!(number_of(&Value::Double(f64::NAN)), None);
    }
}
