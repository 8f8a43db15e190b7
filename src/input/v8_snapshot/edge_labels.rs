//! Labels of edges, in 2 bytes each: most names are those of many edges.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::layout::EdgeKind;
use crate::graph::make_room;

/// Kinds that labels tell apart.
const KIND_COUNT: usize = 8;
/// Labels from here on are of numbers without a place.
const LATE_LABELS: u32 = 1 << 16;

/// The kind of an edge, and the place of its number among those of the kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EdgeLabel(u16);

impl EdgeLabel {
    /// In place of a number that has no place.
    const NO_LABEL_PLACE: usize = u16::MAX as usize / KIND_COUNT;

    #[inline]
    pub(super) fn is(self, kind: EdgeKind) -> bool {
        usize::from(self.0) % KIND_COUNT == kind as usize
    }

    /// True where it alone tells the name, or there is none.
    #[inline]
    pub(super) fn has_place(self) -> bool {
        self.is_without_name() || usize::from(self.0) / KIND_COUNT != EdgeLabel::NO_LABEL_PLACE
    }

    #[inline]
    fn is_without_name(self) -> bool {
        self.is(EdgeKind::Element) || self.is(EdgeKind::Hidden)
    }

    /// Kind and place as one; of elements and hidden edges the kind alone.
    #[inline]
    pub(super) fn number(self) -> u32 {
        let kind = usize::from(self.0) % KIND_COUNT;
        let without_place = (EdgeLabel::NO_LABEL_PLACE * KIND_COUNT + kind) as u32;
        if self.is_without_name() { without_place } else { self.0.into() }
    }
}

/// Labels of all edges. A number is the index of a name, or that of an element.
#[derive(Debug, Clone, Default)]
pub(super) struct EdgeLabels {
    all_labels: Vec<EdgeLabel>,
    /// By kind: numbers in the order in which they were met.
    numbers_by_kind: [Vec<u32>; KIND_COUNT],
    /// By kind: the place of each number among those.
    places_by_kind: [FxHashMap<u32, u16>; KIND_COUNT],
    /// (edge, number) where all places were taken, ascending.
    overflow_numbers: Vec<(u32, u32)>,
}

impl EdgeLabels {
    /// Appends kinds and numbers, those of properties and V8's own fields alone unless `with_all`; the others are lost.
    pub(super) fn append(&mut self, more: &mut Vec<(u8, u32)>, with_all: bool) {
        make_room(&mut self.all_labels, more.len());
        for (kind, number) in more.drain(..) {
            let is_kept = with_all || kind == EdgeKind::Property as u8 || kind == EdgeKind::Internal as u8;
            let place = if is_kept { self.find_or_add_place(kind.into(), number) } else { EdgeLabel::NO_LABEL_PLACE };
            self.all_labels.push(EdgeLabel((place * KIND_COUNT) as u16 | u16::from(kind)));
        }
    }

    /// The place of a number among those of a kind: a new one where it has none.
    fn find_or_add_place(&mut self, kind: usize, number: u32) -> usize {
        let (numbers, places) = (&mut self.numbers_by_kind[kind], &mut self.places_by_kind[kind]);
        if let Some(&place) = places.get(&number) {
            return place.into();
        }
        let place = numbers.len();
        if place == EdgeLabel::NO_LABEL_PLACE {
            self.overflow_numbers.push((self.all_labels.len() as u32, number));
        } else {
            numbers.push(number);
            places.insert(number, place as u16);
        }
        place
    }

    /// Labels of edges that follow one another.
    #[inline]
    pub(super) fn labels_of(&self, edges: Range<usize>) -> &[EdgeLabel] {
        &self.all_labels[edges]
    }

    #[inline]
    pub(super) fn is_kind(&self, edge: usize, kind: EdgeKind) -> bool {
        self.all_labels[edge].is(kind)
    }

    /// The number of an edge, if it is kept. O(1), O(log numbers) of those that came late.
    #[inline]
    pub(super) fn number(&self, edge: usize) -> Option<u32> {
        let label = usize::from(self.all_labels[edge].0);
        self.numbers_by_kind[label % KIND_COUNT].get(label / KIND_COUNT).copied().or_else(|| {
            let at = self.overflow_numbers.binary_search_by_key(&(edge as u32), |&(edge, _)| edge);
            at.ok().map(|at| self.overflow_numbers[at].1)
        })
    }

    /// Kind and number as one: those of elements and hidden edges are their kinds alone, others small where they came early. O(1),
    /// O(log numbers) of those that came late.
    #[inline]
    pub(super) fn label(&self, edge: usize) -> u32 {
        let label = self.all_labels[edge];
        if label.has_place() {
            return label.number();
        }
        let kind = u32::from(label.0) % KIND_COUNT as u32;
        let number =
            self.number(edge).and_then(|number| number.checked_mul(KIND_COUNT as u32)?.checked_add(LATE_LABELS + kind));
        number.unwrap_or(label.0.into())
    }

    /// The kind of a label, and its number, if the kind has such and it is kept. O(1).
    pub(super) fn kind_and_number(&self, label: u32) -> (Option<EdgeKind>, Option<u32>) {
        let kind = label as usize % KIND_COUNT;
        let number = match label.checked_sub(LATE_LABELS) {
            Some(late) => Some(late / KIND_COUNT as u32),
            None => self.numbers_by_kind[kind].get(label as usize / KIND_COUNT).copied(),
        };
        (EdgeKind::ALL.get(kind).copied(), number)
    }

    /// Names of properties and of V8's own fields; some more than once, and some others.
    pub(super) fn property_and_field_names(&self) -> impl Iterator<Item = u32> {
        let named =
            [EdgeKind::Property, EdgeKind::Internal].into_iter().flat_map(|kind| &self.numbers_by_kind[kind as usize]);
        named.copied().chain(self.overflow_numbers.iter().map(|&(_, number)| number))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        2 * self.all_labels.len() + 8 * self.overflow_numbers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_what_was_appended() {
        // More numbers than there are places, each met twice.
        let numbers = || (0..40_000u32).map(|at| ((at % 8) as u8, at * 97_003));
        for with_all in [true, false] {
            let mut labels = EdgeLabels::default();
            labels.append(&mut numbers().collect(), with_all);
            labels.append(&mut (0..90_000).map(|at| (EdgeKind::Property as u8, at)).collect(), with_all);
            labels.append(&mut numbers().collect(), with_all);
            for (at, (kind, number)) in numbers().enumerate() {
                let is_name = kind == EdgeKind::Property as u8 || kind == EdgeKind::Internal as u8;
                for edge in [at, 130_000 + at] {
                    assert_eq!(labels.number(edge), Some(number).filter(|_| with_all || is_name), "{edge}");
                    assert_eq!(labels.is_kind(edge, EdgeKind::Internal), kind == EdgeKind::Internal as u8);
                }
            }
            assert_eq!((labels.number(40_003), labels.number(129_999)), (Some(3), Some(89_999)));
            for edge in (0..170_000).step_by(7) {
                let (kind, number) = labels.kind_and_number(labels.label(edge));
                let has_number = !matches!(kind, Some(EdgeKind::Element | EdgeKind::Hidden));
                assert!(kind.is_none_or(|kind| labels.is_kind(edge, kind)), "{edge}");
                assert_eq!(number, labels.number(edge).filter(|_| has_number), "{edge}");
            }
            let mut names: Vec<u32> = labels.property_and_field_names().collect();
            names.sort_unstable();
            assert!((0..90_000).all(|name| names.binary_search(&name).is_ok()));
        }
    }
}
