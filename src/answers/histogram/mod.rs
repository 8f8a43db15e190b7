//! Contents of the heap: totals, and a row for each type (or package, section, module, generation).

mod class_tree;
mod counted_fields;
mod field_figures;
mod options;
mod rows;

use std::collections::{BTreeMap, HashMap};

use super::allocation_heaps::HeapRow;
use super::field_groups::groups_by_field;
use super::figure::{
    ALLOCATED_BYTES, ALLOCATIONS, CUM_ALLOCATIONS, CUM_BYTES, ESTIMATED_BYTES, ESTIMATED_OBJECTS, FLAT_ALLOCATIONS,
    FLAT_BYTES, OBJECTS, OFF_HEAP, REACHABLE_BYTES, REACHABLE_OBJECTS, REFERENCES, RETAINED, SHALLOW,
};
use super::frame_amounts::FrameAmounts;
use super::groups::{Groups, SameNameTypes, groups_by_dominator, loaders_of_repeated_names};
use super::histogram_row::RowAmounts;
use super::limit_result::LimitResult;
use super::off_heap::off_heap_buffers;
use super::owners::{FIGURES_OF_OWNERS, rows_of_owners};
use super::problems::problems_of;
use super::rows::sort_first;
pub use super::shared::histogram_row::LoaderRow;
pub use super::shared::histogram_row::{ClassPlace, FieldFigureOfRow, FieldFiguresOfRow, FieldNumber};
pub use super::shared::histogram_row::{HistogramRow, KeyedValue, Totals};
pub use super::shared::rows::LocationRow;
use super::{AnswerError, Figure, GroupBy, Scope};
use crate::allocations::{AllocationDump, ClassHistograms, FrameNaming, NameId, add_counts};
use crate::analysis::allocation_totals::AllocationAmount;
use crate::analysis::frame_totals::FlatAndCum;
use crate::analysis::heap_total::AllocationHeapTotal;
use crate::analysis::histogram::GroupTally;
use crate::analysis::retained_sets::{max_exact_marking_steps, retained_exact_by_set};
use crate::dump::{Content, CountedTypes, OpenDump, Phase};
use crate::graph::HeapGraph;
use crate::input::{FormatInfo, Runtime, TypeOrigin};
use crate::parallel;
use crate::units::format_bytes;
use class_tree::class_tree_rows;
use counted_fields::{CountedGroup, count_fields};
use field_figures::FieldTotals;
pub use field_figures::{FieldFigures, FieldFunction};
pub use options::*;
pub use rows::*;

/// Objects and bytes of a dump by type or group. O(objects); with retained bytes as [`RetainedBy`] says.
///
/// # Errors
/// If the dump does not say what to group by, has no such section or heap, or takes more memory than it may.
pub fn histogram(dump: &OpenDump, options: &HistogramOptions) -> Result<Histogram, AnswerError> {
    match dump.content() {
        Content::Objects(graph) => histogram_of_objects(dump, graph, options),
        Content::Allocations(allocations) => histogram_of_allocations(dump, allocations, options),
        Content::Histograms(histograms) => histogram_of_class_histograms(dump, histograms, options),
    }
}

fn histogram_of_class_histograms(
    dump: &OpenDump,
    histograms: &ClassHistograms,
    options: &HistogramOptions,
) -> Result<Histogram, AnswerError> {
    options.heaps.check_on_objects()?;
    options.scope.check_on_allocations()?;
    if options.retained.is_some() || options.scope.section.is_some() {
        return Err(AnswerError::NeedsObjects);
    }
    let types: Vec<(&str, u64, u64)> =
        histograms.type_rows(histograms.chosen_index).filter(|(_, objects, _)| *objects > 0).collect();
    let answer = histogram_from_type_counts(&types, &[], None, dump.info(), options)?;
    Ok(Histogram { problems: problems_of(dump.diagnostics()), ..answer })
}

fn histogram_of_objects(
    dump: &OpenDump,
    graph: &HeapGraph,
    options: &HistogramOptions,
) -> Result<Histogram, AnswerError> {
    options.heaps.check_on_objects()?;
    let scope = options.scope.resolve(dump)?;
    let by_dominator =
        (options.group_by == GroupBy::Dominator).then(|| groups_by_dominator(dump, graph)).transpose()?;
    let by_field =
        options.field.as_ref().map(|field| groups_by_field(dump, graph, field, scope.types())).transpose()?;
    let (by, apart) = match options.as_class_tree {
        true if !graph.types().have_superclasses() => {
            return Err(AnswerError::NoSuchGroups(options.group_by, "which class extends which"));
        }
        true => (GroupBy::Type, SameNameTypes::Separate),
        false => (options.group_by, SameNameTypes::of_rows(options.splits_same_name_types)),
    };
    let groups = Groups::new(&scope, by, apart, by_field.or(by_dominator))?;
    let tallies = groups.tally(dump.reachable());
    let with_fields = !options.field_figures.is_empty() && !options.group_by.is_by_owner();
    let of_fields = match with_fields {
        true => options.field_figures.compute(dump, graph, &groups)?,
        false => Vec::new(),
    };
    let (estimates, estimate) = if graph.is_sample() { groups.estimates_and_total() } else { Default::default() };
    let figures = if graph.is_sample() { &OBJECT_FIGURES[..] } else { &OBJECT_FIGURES[..4] };
    let mut group_count = tallies.iter().filter(|tally| tally.objects > 0).count();
    // Of a field's values there may be millions: no row is copied to make room for the next.
    let mut rows = Vec::with_capacity(group_count);
    let mut sum = GroupTally::default();
    for (group, tally) in tallies.iter().enumerate().filter(|(_, tally)| tally.objects > 0) {
        sum.add(tally);
        let GroupTally { objects, shallow_bytes, reachable_objects, reachable_bytes } = *tally;
        let estimate = estimates.get(group).map(|estimate| estimate.rounded());
        let amounts = [
            Some(objects),
            Some(shallow_bytes),
            Some(reachable_objects),
            Some(reachable_bytes),
            estimate.map(|[objects, _]| objects),
            estimate.map(|[_, bytes]| bytes),
        ];
        let row = HistogramRow::new(groups.names[group].clone(), options.group_by, RowAmounts::new(figures, amounts));
        let field_figures =
            with_fields.then(|| Box::new(options.field_figures.figures_of_group(&of_fields, group, objects)));
        let module = groups.modules.get(group).cloned();
        rows.push(HistogramRow { field_figures, module, group: group as u32, ..row });
    }
    let mut off_heap_bytes = None;
    if options.group_by.is_by_owner() {
        rows = rows_of_owners(dump, graph, &scope, options.group_by, &options.type_ownership)?;
    } else {
        add_constructor_locations(graph, &groups, &mut rows);
        let shown: Vec<u32> = rows.iter().map(|row| row.group).collect();
        for (row, loader) in rows.iter_mut().zip(loaders_of_repeated_names(dump, graph, &groups, &shown)) {
            row.loader = loader;
        }
        add_retained_bytes(dump, graph, options, &groups, &mut rows)?;
        if options.with_off_heap {
            off_heap_bytes = Some(add_off_heap_bytes(dump, graph, &groups, &mut rows)?);
        }
        if options.as_class_tree {
            rows = class_tree_rows(graph, &groups, rows, options);
        }
    }
    let figures = match () {
        () if options.group_by.is_by_owner() => &FIGURES_OF_OWNERS,
        () if rows.is_empty() => &OBJECT_FIGURES[..4],
        () => figures,
    };
    // Of the whole scope, whatever of it matches.
    let matching = options.scope.filter.as_ref().map(|filter| MatchingTotals {
        filter: filter.joined_text(),
        matching_objects: sum.objects,
        matching_bytes: sum.shallow_bytes,
    });
    if options.group_by.is_by_owner() {
        group_count = rows.len();
    }
    if matching.is_some() {
        let all: Vec<GroupTally> = groups.tally_ignoring_filter(dump.reachable());
        group_count = all.iter().filter(|tally| tally.objects > 0).count();
        sum = GroupTally::default();
        all.iter().for_each(|tally| sum.add(tally));
    }
    let nodes = scope.node_range();
    let info = dump.info();
    let dependent = graph.dependent_reference_count();
    let reached_by = ReachedBy::find(graph, &groups, &sum);
    let [given, excluded] =
        [reached_by.given_roots, reached_by.excluded_roots].map(|amount| Some(amount).filter(|own| own.objects > 0));
    let sections = match scope.section() {
        Some(section) => &graph.sections()[section.index()..=section.index()],
        None => graph.sections(),
    };
    let [dangling, nulls]: [u64; 2] = [
        sections.iter().map(|section| section.dangling_references).sum(),
        sections.iter().map(|section| section.null_references).sum(),
    ];
    let without_bytes =
        || scope.nodes_ignoring_filter().filter(|&node| !graph.is_counted_in_histograms(node)).count() as u64;
    let [estimated_objects, estimated_bytes] = estimate.rounded().map(|figure| info.sampled.map(|_| figure));
    let totals = Totals::of_objects(sum.objects, sum.shallow_bytes).with_figures([
        (TYPES, Some(group_count as u64)),
        (REFERENCES, Some(section_reference_count(graph, &scope).saturating_sub(dependent))),
        (ROOTS, Some(graph.roots().iter().filter(|root| nodes.contains(&root.node.index())).count() as u64)),
        (REACHABLE_OBJECTS, Some(sum.reachable_objects)),
        (REACHABLE_BYTES, Some(sum.reachable_bytes)),
        (DANGLING_REFERENCES, Some(dangling)),
        (NULL_REFERENCES, Some(nulls)),
        (OBJECTS_WITHOUT_BYTES, graph.counts_only_objects_with_bytes.then(without_bytes)),
        (DEPENDENT_REFERENCES, (dependent > 0).then_some(dependent)),
        (ESTIMATED_OBJECTS, estimated_objects),
        (ESTIMATED_BYTES, estimated_bytes),
        (GIVEN_ROOTS_OBJECTS, given.map(|amount| amount.objects)),
        (GIVEN_ROOTS_BYTES, given.map(|amount| amount.shallow_bytes)),
        (EXCLUDED_ROOTS_OBJECTS, excluded.map(|amount| amount.objects)),
        (OFF_HEAP, off_heap_bytes),
        (EXCLUDED_ROOTS_BYTES, excluded.map(|amount| amount.shallow_bytes)),
    ]);
    let answer = Histogram {
        sections: Some(sections.iter().map(|section| section.name.clone()).collect()),
        unreachable_are_alive: info.frozen_heap.then_some(reached_by.excluded_roots.objects == 0),
        unrooted_are_alive: info.frozen_heap,
        sample: info.sampled.map(|(objects, bytes)| SampleFactors { objects, bytes }),
        roots_inferred: graph.roots_inferred(),
        retained: options.retained,
        reached_by: Some(reached_by),
        matching,
        problems: problems_of(dump.diagnostics()),
        ..Histogram::new(&info.format, totals, figures, options)
    };
    Ok(answer.with_shown_rows(rows, options))
}

/// Adds the bytes outside the heap that objects own; returns those of all objects of the scope, whatever its expression.
fn add_off_heap_bytes(
    dump: &OpenDump,
    graph: &HeapGraph,
    groups: &Groups<'_>,
    rows: &mut [HistogramRow],
) -> Result<u64, AnswerError> {
    if dump.info().runtime() != Some(Runtime::Java) {
        return Err(AnswerError::NoOffHeapBytes(match dump.info().runtime() {
            Some(Runtime::JavaScript) => ": what strings and buffers hold there counts in their shallow sizes",
            _ => "",
        }));
    }
    let mut bytes_by_group = vec![0u64; groups.names.len()];
    let mut all = 0u64;
    for buffer in off_heap_buffers(dump, graph)? {
        if groups.is_in_scope(buffer.node) {
            all = all.saturating_add(buffer.bytes);
        }
        if let Some(bytes) = bytes_by_group.get_mut(groups.group_of(buffer.node) as usize) {
            *bytes = bytes.saturating_add(buffer.bytes);
        }
    }
    rows.iter_mut().for_each(|row| row.off_heap_bytes = Some(bytes_by_group[row.group as usize]));
    Ok(all)
}

/// Adds the places of constructors to rows whose name another row has too.
fn add_constructor_locations(graph: &HeapGraph, groups: &Groups<'_>, rows: &mut [HistogramRow]) {
    if !graph.types().have_constructor_places() {
        return;
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for row in &*rows {
        *uses.entry(&groups.names[row.group as usize]).or_default() += 1;
    }
    for row in &mut *rows {
        let place = groups.type_of_group(row.group).and_then(|type_id| graph.types().constructor_place(type_id));
        row.location = place.filter(|_| uses[groups.names[row.group as usize].as_str()] > 1).map(LocationRow::new);
    }
}

/// References of the scope's section, or of all. O(1), or O(objects of the section).
fn section_reference_count(graph: &HeapGraph, scope: &Scope<'_>) -> u64 {
    match scope.section() {
        Some(_) => scope.node_range().map(|at| graph.references(crate::graph::NodeId::new(at)).len() as u64).sum(),
        None => graph.reference_count() as u64,
    }
}

/// Adds retained bytes where they are asked for. Exact ones are computed of the rows that are shown, which are sorted
/// for that; of all where the order rests on them.
fn add_retained_bytes(
    dump: &OpenDump,
    graph: &HeapGraph,
    options: &HistogramOptions,
    groups: &Groups<'_>,
    rows: &mut [HistogramRow],
) -> Result<(), AnswerError> {
    let Some(retained_by) = options.retained else { return Ok(()) };
    let topmost = groups.topmost_totals(dump)?;
    rows.iter_mut().for_each(|row| row.retained_bytes = Some(topmost[row.group as usize].retained_bytes));
    if retained_by == RetainedBy::Exact {
        dump.announce_phase(Phase::ComputingExactRetained);
        // Rows that are not shown are not computed, unless the order rests on them.
        let by_retained = options.order == Some(RETAINED);
        let shown = if by_retained { rows.len() } else { options.limits.shown_count(rows.len()) };
        sort_rows(rows, options, shown);
        // What goes with objects that one of them dominates is what that one dominates.
        let (sets, holders): (Vec<u32>, Vec<&mut HistogramRow>) = rows[..shown]
            .iter_mut()
            .filter(|row| topmost[row.group as usize].objects > 1)
            .map(|row| (row.group, row))
            .unzip();
        dump.check_exact_retained_memory()?;
        let count = sets.len();
        let most_steps = max_exact_marking_steps(graph);
        let Ok(exact) = retained_exact_by_set(
            graph,
            &sets,
            |node| groups.group_of(node),
            most_steps,
            |done| dump.announce_steps(done, count),
        ) else {
            let what = format!("taking {count} groups of objects out one by one is too much work");
            return Err(AnswerError::TooMuchWork(what));
        };
        holders.into_iter().zip(exact).for_each(|(row, bytes)| row.retained_bytes = Some(bytes));
    }
    Ok(())
}

/// The histogram of a dump that was counted, without its graph: by type, by package, and where the format says what instances
/// hold, by values of a field. Fields take up to three passes more over the file; else O(types).
///
/// # Errors
/// If the rows are to be grouped by anything else, fields are asked for that take the graph, or the dump cannot be read again.
pub fn histogram_of_counted_types(
    counted: &CountedTypes,
    options: &HistogramOptions,
) -> Result<Histogram, AnswerError> {
    let types: Vec<(&str, u64, u64)> =
        counted.types.iter().map(|(name, objects, bytes)| (name.as_str(), *objects, *bytes)).collect();
    let instances = counted.instances.as_ref().filter(|_| options.field.is_some() || !options.field_figures.is_empty());
    let fields = instances.map(|instances| count_fields(counted, &**instances, options)).transpose()?;
    let answer = match fields {
        Some(fields) if options.field.is_some() => {
            let of_groups = fields.into_iter().enumerate().filter(|(_, (_, group))| group.objects > 0);
            let rows = of_groups.map(|(at, (name, group))| row_of_counted(at as u32, name, group, options)).collect();
            histogram_of_counted_rows(rows, &counted.info, options)
        }
        fields => {
            let fields = fields.as_deref();
            histogram_from_type_counts(&types, &counted.origins, fields, &counted.info, options)?
        }
    };
    let sections = Some(counted.section_names.clone());
    Ok(Histogram { sections, problems: problems_of(&counted.diagnostics), ..answer })
}

/// A row of objects that were only counted.
fn row_of_counted(number: u32, name: String, group: CountedGroup, options: &HistogramOptions) -> HistogramRow {
    let CountedGroup { objects, shallow_bytes, mut totals } = group;
    let amounts = RowAmounts::new(&OBJECT_FIGURES[..2], [Some(objects), Some(shallow_bytes)]);
    totals.resize(options.field_figures.paths().count(), FieldTotals::default());
    let figures = (!totals.is_empty()).then(|| Box::new(options.field_figures.figures_of_group(&totals, 0, objects)));
    let row = HistogramRow::new(name, options.group_by, amounts);
    HistogramRow { group: number, field_figures: figures, ..row }
}

/// The histogram of all rows of objects that were only counted.
fn histogram_of_counted_rows(rows: Vec<HistogramRow>, info: &FormatInfo, options: &HistogramOptions) -> Histogram {
    let sum = |figure| rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.figure(figure).unwrap_or(0)));
    let totals = Totals::of_objects(sum(OBJECTS), sum(SHALLOW));
    let totals = totals.with_figures([(TYPES, Some(rows.len() as u64))]);
    Histogram::new(&info.format, totals, &OBJECT_FIGURES[..2], options).with_shown_rows(rows, options)
}

/// The histogram of types with objects and bytes; `fields` as [`count_fields`] returns them.
fn histogram_from_type_counts(
    types: &[(&str, u64, u64)],
    origins: &[TypeOrigin],
    fields: Option<&[(String, CountedGroup)]>,
    info: &FormatInfo,
    options: &HistogramOptions,
) -> Result<Histogram, AnswerError> {
    if !matches!(options.group_by, GroupBy::Type | GroupBy::Package | GroupBy::PackageLevels(_)) {
        return Err(AnswerError::NoSuchGroups(options.group_by, "more than types where it is only counted"));
    }
    if options.group_by.is_by_package() && info.runtime() == Some(Runtime::JavaScript) {
        return Err(AnswerError::NoSuchGroups(options.group_by, "which package a type is in"));
    }
    if options.with_off_heap || (fields.is_none() && !options.field_figures.is_empty()) {
        return Err(AnswerError::NeedsObjects);
    }
    let mut groups = BTreeMap::<(&str, Option<&TypeOrigin>), CountedGroup>::new();
    for (at, &(name, objects, shallow_bytes)) in types.iter().enumerate() {
        if options.scope.types.as_ref().is_none_or(|pattern| pattern.matches(name)) {
            let origin = origins.get(at).filter(|_| options.group_by == GroupBy::Type);
            let sum = groups.entry((options.group_by.group_of_type_name(name), origin)).or_default();
            let fields = fields.and_then(|fields| fields.get(at));
            let totals = fields.map_or(Vec::new(), |(_, group)| group.totals.clone());
            sum.merge(CountedGroup { objects, shallow_bytes, totals });
        }
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    groups.keys().for_each(|(name, _)| *uses.entry(name).or_default() += 1);
    let row = |number, (name, origin): (&str, Option<&TypeOrigin>), group| {
        let row = row_of_counted(number, name.to_string(), group, options);
        match origin.filter(|_| uses[name] > 1) {
            Some(TypeOrigin::Loader(id)) => HistogramRow { loader: Some(LoaderRow::of_id(id.clone())), ..row },
            Some(TypeOrigin::ConstructorPlace(place)) => HistogramRow { location: place.map(LocationRow::new), ..row },
            None => row,
        }
    };
    let rows = (0..).zip(groups).map(|(number, (name, group))| row(number, name, group)).collect();
    Ok(histogram_of_counted_rows(rows, info, options))
}

const FIGURES_OF_ALLOCATIONS: [Figure; 2] = [ALLOCATED_BYTES, ALLOCATIONS];

fn histogram_of_allocations(
    dump: &OpenDump,
    allocations: &AllocationDump,
    options: &HistogramOptions,
) -> Result<Histogram, AnswerError> {
    options.scope.check_on_allocations()?;
    if let Some(frame_names) = options.group_by.frame_names() {
        return histogram_by_frame_name(dump, allocations, frame_names, options);
    }
    if options.group_by != GroupBy::Type || options.retained.is_some() {
        return Err(AnswerError::NeedsObjects);
    }
    let chosen = options.heaps.choose(allocations)?;
    let mut types: BTreeMap<NameId, AllocationAmount> = BTreeMap::new();
    let (mut total, mut of_types) = (AllocationAmount::default(), 0u64);
    let mut heaps = Vec::new();
    let tops = parallel::map(chosen.heaps.clone(), &AllocationHeapTotal::compute);
    for (heap, top) in chosen.heaps.iter().zip(tops) {
        if top.left_out_pair_count > 0 {
            return Err(AnswerError::TooManyBacktraceTypePairs(super::allocation_heaps::heap_title(heap)));
        }
        total.bytes = total.bytes.saturating_add(top.total.bytes);
        total.allocations = add_counts(total.allocations, top.total.allocations);
        for amount in &top.type_amounts {
            of_types = of_types.saturating_add(amount.total.bytes);
            let known = types.entry(amount.type_name).or_default();
            known.bytes = known.bytes.saturating_add(amount.total.bytes);
            known.allocations = add_counts(known.allocations, amount.total.allocations);
        }
        heaps.push(HeapRow::new(heap, &top.total));
    }
    let rows: Vec<HistogramRow> = types
        .into_iter()
        .map(|(name, amount)| (allocations.names.text(name), amount))
        .filter(|(name, _)| options.scope.types.as_ref().is_none_or(|pattern| pattern.matches(name)))
        .map(|(name, AllocationAmount { bytes: total_bytes, allocations, .. })| {
            let amounts = RowAmounts::new(&FIGURES_OF_ALLOCATIONS, [Some(total_bytes), allocations]);
            HistogramRow::new(name.to_string(), GroupBy::Type, amounts)
        })
        .collect();
    let other = total.bytes.saturating_sub(of_types);
    let totals = Totals::of_allocations(total.bytes, total.allocations);
    let totals = totals.with_figures([(TYPES, Some(rows.len() as u64)), (OTHER_BYTES, Some(other))]);
    let answer = Histogram {
        heaps: Some(heaps),
        fuller_dump: chosen.fuller_dump,
        problems: problems_of(dump.diagnostics()),
        ..Histogram::new(&dump.info().format, totals, &FIGURES_OF_ALLOCATIONS, options)
    };
    Ok(answer.with_shown_rows(rows, options))
}

const FIGURES_OF_FRAMES: [Figure; 4] = [FLAT_BYTES, CUM_BYTES, FLAT_ALLOCATIONS, CUM_ALLOCATIONS];

/// Rows are the names of frames: flat and cum.
fn histogram_by_frame_name(
    dump: &OpenDump,
    allocations: &AllocationDump,
    frame_names: FrameNaming,
    options: &HistogramOptions,
) -> Result<Histogram, AnswerError> {
    let chosen = options.heaps.choose(allocations)?;
    let patterns = options.fail_over_limits.iter().map(|limit| &limit.types);
    let amounts = FrameAmounts::compute(dump, allocations, &chosen.heaps, frame_names, patterns)?;
    let FrameAmounts { total, by_name, heaps, cum_bytes_of_patterns } = amounts;
    let rows: Vec<HistogramRow> = by_name
        .into_iter()
        .filter(|(name, _)| options.scope.types.as_ref().is_none_or(|pattern| pattern.matches(name)))
        .map(|(name, FlatAndCum { flat, cum })| {
            let values = [Some(flat.bytes), Some(cum.bytes), flat.allocations, cum.allocations];
            HistogramRow::new(name.to_string(), options.group_by, RowAmounts::new(&FIGURES_OF_FRAMES, values))
        })
        .collect();
    let totals =
        Totals::of_allocations(total.bytes, total.allocations).with_figures([(TYPES, Some(rows.len() as u64))]);
    let answer = Histogram {
        heaps: Some(heaps),
        fuller_dump: chosen.fuller_dump,
        problems: problems_of(dump.diagnostics()),
        ..Histogram::new(&dump.info().format, totals, &FIGURES_OF_FRAMES, options)
    };
    let sums = options.fail_over_limits.iter().zip(cum_bytes_of_patterns);
    let over_limits = sums.filter_map(|(limit, bytes)| limit.check_bytes(Some(bytes), "allocates", &rows)).collect();
    let unlimited = HistogramOptions { fail_over_limits: Vec::new(), ..options.clone() };
    Ok(Histogram { limit_results: over_limits, ..answer.with_shown_rows(rows, &unlimited) })
}

/// Puts the first `first` rows in order, and the others behind them. O(rows), and a sort of the first.
fn sort_rows(rows: &mut [HistogramRow], options: &HistogramOptions, first: usize) {
    rows.iter_mut().for_each(|row| row.sort_value = sort_value_of(row, options.order));
    // A group has one row: no two rows are equal.
    sort_first(rows, first, |a, b| {
        let order = compare_sort_values(&b.sort_value, &a.sort_value);
        let order = order.then_with(|| (a.name(), &a.module, a.group).cmp(&(b.name(), &b.module, b.group)));
        if options.limits.reverse { order.reverse() } else { order }
    });
}

impl Histogram {
    /// A histogram without rows.
    fn new(format: &str, totals: Totals, figures: &'static [Figure], options: &HistogramOptions) -> Self {
        Histogram {
            format: format.to_string(),
            sections: None,
            totals,
            problems: Vec::new(),
            unreachable_are_alive: None,
            unrooted_are_alive: false,
            sample: None,
            roots_inferred: false,
            by: (options.group_by != GroupBy::Type).then(|| options.group_name().to_string()),
            retained: None,
            matching: None,
            heaps: None,
            reached_by: None,
            rows: KeyedValue::of_rows(options.group_by, Vec::new()),
            figures_without_retained: figures,
            with_off_heap: options.with_off_heap && !options.group_by.is_by_owner(),
            group_by: options.group_by,
            order: options.order,
            rows_hidden: 0,
            limit_results: Vec::new(),
            fuller_dump: None,
        }
    }

    /// The same with the rows that are shown, in order; limits are checked for all rows.
    fn with_shown_rows(self, mut rows: Vec<HistogramRow>, options: &HistogramOptions) -> Self {
        if options.as_class_tree {
            let hidden = rows.iter().filter_map(|row| row.class_place.as_ref()).map(|place| place.hidden_after);
            let rows_hidden = hidden.sum();
            return Histogram { rows: KeyedValue::of_rows(self.group_by, rows), rows_hidden, ..self };
        }
        let shown = options.limits.shown_count(rows.len());
        sort_rows(&mut rows, options, shown);
        let over_limits = options.fail_over_limits.iter().filter_map(|limit| limit.check_limit(&rows)).collect();
        let rows_hidden = rows.len() - shown;
        rows.truncate(shown);
        Histogram { rows: KeyedValue::of_rows(self.group_by, rows), rows_hidden, limit_results: over_limits, ..self }
    }
}

impl FailOverLimit {
    /// Result of the limit, if it was passed or no type matches its pattern.
    fn check_limit(&self, rows: &[HistogramRow]) -> Option<LimitResult> {
        let first = rows.iter().find(|row| self.types.matches(row.name()));
        let takes = if first.is_some_and(|row| row.retained_bytes.is_some()) { "retains" } else { "takes" };
        self.check_bytes(None, takes, rows)
    }

    /// `bytes`: what those that match have together, where it is more or less than the rows' sum.
    fn check_bytes(&self, bytes: Option<u64>, takes: &str, rows: &[HistogramRow]) -> Option<LimitResult> {
        let own: Vec<&HistogramRow> = rows.iter().filter(|row| self.types.matches(row.name())).collect();
        if own.is_empty() {
            let names = rows.iter().map(HistogramRow::name);
            return Some(LimitResult::without_matching_rows("type in the dump", &self.text, &self.types, names));
        }
        let bytes_of = |row: &&HistogramRow| row.retained_bytes.unwrap_or_else(|| row.bytes());
        let bytes = bytes.unwrap_or_else(|| own.iter().map(bytes_of).fold(0, u64::saturating_add));
        let (pattern, limit) = (self.types.text(), format_bytes(self.bytes));
        let text = format!("{pattern} {takes} {} ({bytes} bytes), over the limit of {limit}", format_bytes(bytes));
        (bytes > self.bytes).then_some(LimitResult { text, is_over: true })
    }
}
