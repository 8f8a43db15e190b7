//! The tree of classes by what they extend: `--by superclass --tree`.

use std::cmp::Reverse;

use crate::answers::figure::{OBJECTS, SHALLOW};
use crate::answers::groups::Groups;
use crate::answers::histogram::options::HistogramOptions;
use crate::answers::histogram::rows::{OBJECT_FIGURES, compare_sort_values, sort_value_of};
use crate::answers::histogram_row::{ClassPlace, FieldNumber, HistogramRow, RowAmounts};
use crate::answers::tree::{TreeLevel, preorder};
use crate::graph::{HeapGraph, TypeId};

/// Rows of classes in the order of the tree, of the rows of types: each class with objects of its own or below it, by bytes of
/// both, by another figure those first with the largest row at or below them; classes more than 500 levels down are counted
/// above and not shown. O(types), and a sort of the rows.
pub(super) fn class_tree_rows(
    graph: &HeapGraph,
    groups: &Groups<'_>,
    rows: Vec<HistogramRow>,
    options: &HistogramOptions,
) -> Vec<HistogramRow> {
    let types = graph.types();
    let mut row_of_type: Vec<Option<HistogramRow>> = vec![None; types.len()];
    let mut places = vec![ClassPlace::default(); types.len()];
    let mut largest: Vec<Option<FieldNumber>> = vec![None; types.len()];
    for row in rows {
        let Some(type_id) = groups.type_of_group(row.group) else { continue };
        let place = &mut places[type_id.index()];
        place.objects_with_subclasses = row.figure(OBJECTS).unwrap_or(0);
        place.shallow_bytes_with_subclasses = row.figure(SHALLOW).unwrap_or(0);
        largest[type_id.index()] = sort_value_of(&row, options.order);
        row_of_type[type_id.index()] = Some(row);
    }
    let depths = types.map_by_superclass(|_, above: Option<&u32>| above.map_or(0, |above| above.saturating_add(1)));
    let mut deepest_first: Vec<TypeId> = types.ids().collect();
    deepest_first.sort_by_key(|type_id| Reverse(depths[type_id.index()]));
    let mut subclasses: Vec<Vec<TypeId>> = vec![Vec::new(); types.len()];
    let mut tops = Vec::new();
    for type_id in deepest_first {
        let ClassPlace { objects_with_subclasses, shallow_bytes_with_subclasses, .. } = places[type_id.index()];
        if objects_with_subclasses == 0 {
            continue;
        }
        match types.superclass(type_id).filter(|_| depths[type_id.index()] > 0) {
            Some(above) => {
                let place = &mut places[above.index()];
                place.objects_with_subclasses += objects_with_subclasses;
                place.shallow_bytes_with_subclasses =
                    place.shallow_bytes_with_subclasses.saturating_add(shallow_bytes_with_subclasses);
                subclasses[above.index()].push(type_id);
                if compare_sort_values(&largest[type_id.index()], &largest[above.index()]).is_gt() {
                    largest[above.index()] = largest[type_id.index()];
                }
            }
            None => tops.push(type_id),
        }
    }
    let value = |type_id: TypeId| match (options.order, &places[type_id.index()]) {
        (None | Some(SHALLOW), place) => Some(FieldNumber::Integer(place.shallow_bytes_with_subclasses.into())),
        (Some(OBJECTS), place) => Some(FieldNumber::Integer(place.objects_with_subclasses.into())),
        _ => largest[type_id.index()],
    };
    let level = |types: Vec<TypeId>| {
        TreeLevel::sorted_and_cut(types, options.limits, |&a, &b| {
            compare_sort_values(&value(b), &value(a))
                .then_with(|| (graph.type_name(a), a).cmp(&(graph.type_name(b), b)))
        })
    };
    let below = |type_id: &mut TypeId, _: u32| Some(level(std::mem::take(&mut subclasses[type_id.index()])));
    let row = |type_id: TypeId| {
        let empty = || {
            let amounts = RowAmounts::new(&OBJECT_FIGURES[..4], [Some(0); 4]);
            HistogramRow::new(graph.type_name(type_id).to_string(), options.group_by, amounts)
        };
        row_of_type[type_id.index()].clone().unwrap_or_else(empty)
    };
    let rows = preorder(level(tops), below).map(|place| HistogramRow {
        class_place: Some(Box::new(ClassPlace {
            level: place.depth,
            hidden_after: place.hidden_after as usize,
            ..places[place.row.index()]
        })),
        ..row(place.row)
    });
    rows.collect()
}
