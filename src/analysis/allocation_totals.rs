//! Amounts at each backtrace, in all and by type: those that an allocation heap states, and those that follow.
//!
//! Per backtrace and type the total is the larger of what is reported and of what is known below, along either axis; where
//! nothing is reported it is a lower bound, unless the dump left nothing out. Nothing is inferred by subtracting across both axes at once.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::allocations::{AllocationHeap, CountingMode, NameId, add_counts};
use crate::sort;

/// Bytes and allocations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllocationAmount {
    /// Bytes.
    pub bytes: u64,
    /// Allocations, if they are counted.
    pub allocations: Option<u64>,
    /// The dump says so itself, or all it consists of does.
    pub is_reported: bool,
    /// There may be more: it is only what is known below.
    pub is_lower_bound: bool,
}

impl AllocationAmount {
    /// Is there anything? Objects may have no bytes.
    pub(super) fn is_nonzero(&self) -> bool {
        self.bytes > 0 || self.allocations.is_some_and(|count| count > 0)
    }

    pub(super) fn has_same_figures(&self, other: &AllocationAmount) -> bool {
        (self.bytes, self.allocations) == (other.bytes, other.allocations)
    }

    /// Adds bytes, and allocations where they are counted.
    pub fn add(&mut self, bytes: u64, allocations: Option<u64>) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.allocations = add_counts(self.allocations, allocations);
    }

    fn of(entry: &crate::allocations::AllocationEntry) -> Self {
        AllocationAmount {
            bytes: entry.bytes(),
            allocations: entry.allocations(),
            is_reported: true,
            is_lower_bound: false,
        }
    }

    /// The reported amount against the amount that is known below; `is_complete` where nothing else can be below.
    pub(super) fn reconcile(reported: Option<AllocationAmount>, below: AllocationAmount, is_complete: bool) -> Self {
        let Some(reported) = reported else {
            return AllocationAmount { is_reported: is_complete, is_lower_bound: !is_complete, ..below };
        };
        AllocationAmount {
            bytes: reported.bytes.max(below.bytes),
            allocations: reported.allocations.max(below.allocations),
            is_reported: true,
            is_lower_bound: below.bytes > reported.bytes,
        }
    }

    /// The amount of all types at a backtrace of a heap of totals: what is reported, what its types have together, and
    /// what is below it. `None` when nothing is known.
    pub(super) fn of_all_types(
        reported: Option<AllocationAmount>,
        of_types: Option<AllocationAmount>,
        below: Option<AllocationAmount>,
        is_complete: bool,
    ) -> Option<AllocationAmount> {
        if reported.is_none() && of_types.is_none() && below.is_none() {
            return None;
        }
        let (of_types, below) = (of_types.unwrap_or_default(), below.unwrap_or_default());
        let known = AllocationAmount {
            bytes: below.bytes.max(of_types.bytes),
            allocations: below.allocations.max(of_types.allocations),
            ..AllocationAmount::default()
        };
        Some(AllocationAmount::reconcile(
            reported.map(|reported| AllocationAmount { is_reported: true, is_lower_bound: false, ..reported }),
            known,
            is_complete,
        ))
    }
}

/// Amount of one type at a backtrace.
#[derive(Debug, Clone, Copy)]
pub struct TypeAmount {
    /// The type.
    pub type_name: NameId,
    /// With everything below the backtrace.
    pub total: AllocationAmount,
    /// In heaps of parts: at the backtrace itself.
    pub exclusive: AllocationAmount,
}

/// Scope of the computation.
#[derive(Clone, Copy)]
pub struct TotalsOptions<'a> {
    /// Levels of backtraces that are told apart in heaps of parts; what is deeper counts where it leaves them.
    pub max_depth: u32,
    /// Totals by type at every backtrace, not only at the ones that state them.
    pub is_by_type: bool,
    /// Types that count; `None` for all.
    pub is_type_wanted: Option<&'a dyn Fn(NameId) -> bool>,
}

impl TotalsOptions<'_> {
    /// All levels, all types together.
    pub const WHOLE: TotalsOptions<'static> =
        TotalsOptions { max_depth: u32::MAX, is_by_type: false, is_type_wanted: None };
}

/// Pairs of backtrace and type that may be inferred in a heap: a small file can ask for a billion of them. A pair takes
/// some 120 bytes. Programs have backtraces of 48 frames at most and share most of them, so that real heaps come to a
/// few for each entry.
pub(super) fn max_backtrace_type_pairs(heap: &AllocationHeap) -> usize {
    let entries = heap.entries.len();
    let of_deep = entries.saturating_mul(64).max(50_000);
    let of_many = entries.saturating_mul(16).max(1_000_000);
    of_deep.min(of_many).min(4_000_000)
}

/// The totals of a heap: 45 bytes a backtrace, and 72 for each pair of backtrace and type that is known.
#[derive(Debug)]
pub struct AllocationTotals {
    /// By backtrace; `None` where nothing is known.
    inclusive_by_frame: Vec<Option<AllocationAmount>>,
    /// The types of all backtraces, those of the last backtrace first, by number of the name in each.
    type_amounts: Vec<TypeAmount>,
    /// By backtrace: the place of its first type; its last one is before those of the backtrace before it.
    type_starts: Vec<u32>,
    /// Those one level below of which something is known, of all backtraces.
    callees: Vec<u32>,
    /// By backtrace: the end of its callees; they begin where those of the backtrace before it end.
    callee_ends: Vec<u32>,
    /// By backtrace: the types of its callees with the callees that have them, sorted; of those that were asked for.
    callees_by_type: RefCell<FxHashMap<u32, Vec<(NameId, u32)>>>,
    /// Pairs of backtrace and type that were left out because there are too many.
    pub left_out_pair_count: u64,
    /// The heap counts at each backtrace what was allocated there itself: nothing is missing in it.
    pub counts_exclusively: bool,
}

impl AllocationTotals {
    /// Computes the totals. O(frames + entries x depth), memory for every pair of backtrace and type that is known.
    pub fn compute(heap: &AllocationHeap, options: &TotalsOptions<'_>) -> Self {
        TotalsComputation::new(heap, options).compute_totals()
    }

    /// Memory that they take, about, where no pairs of backtrace and type are inferred: in heaps of parts, all types together. O(1).
    pub fn memory_bytes_of_parts(heap: &AllocationHeap) -> u64 {
        const BYTES_PER_FRAME: u64 = 64;
        const BYTES_PER_ENTRY: u64 = 176;
        heap.frames.len() as u64 * BYTES_PER_FRAME + heap.entries.len() as u64 * BYTES_PER_ENTRY
    }

    /// Amount at a backtrace with everything below it. O(1).
    pub fn total_at(&self, frame: u32) -> AllocationAmount {
        self.inclusive_by_frame[frame as usize].unwrap_or_default()
    }

    /// Is anything known of the backtrace?
    pub fn has_amount_at(&self, frame: u32) -> bool {
        self.inclusive_by_frame[frame as usize].is_some()
    }

    /// In heaps of parts: what was allocated at the backtrace itself. O(its types).
    pub fn exclusive_at(&self, frame: u32) -> AllocationAmount {
        let mut sum = AllocationAmount::default();
        if self.counts_exclusively {
            let of_types = self.type_amounts_at(frame).iter().map(|amount| amount.exclusive);
            of_types.for_each(|amount| sum.add(amount.bytes, amount.allocations));
        }
        sum
    }

    /// Amount at a backtrace itself: of heaps that count what is below too, what is left without its callees. O(callees).
    pub fn own_amount(&self, frame: u32) -> AllocationAmount {
        if self.counts_exclusively {
            return self.exclusive_at(frame);
        }
        self.callees(frame).iter().fold(self.total_at(frame), |own, &callee| {
            let below = self.total_at(callee);
            let allocations = own.allocations.map(|own| own.saturating_sub(below.allocations.unwrap_or(0)));
            AllocationAmount { bytes: own.bytes.saturating_sub(below.bytes), allocations, ..own }
        })
    }

    /// Amounts of types at a backtrace, by number of the type's name.
    pub fn type_amounts_at(&self, frame: u32) -> &[TypeAmount] {
        let at = frame as usize;
        let end = at.checked_sub(1).map_or(self.type_amounts.len(), |before| self.type_starts[before] as usize);
        &self.type_amounts[self.type_starts[at] as usize..end]
    }

    /// Amount of one type at a backtrace. O(log types).
    pub fn type_amount_at(&self, frame: u32, type_name: NameId) -> Option<&TypeAmount> {
        let types = self.type_amounts_at(frame);
        types.binary_search_by_key(&type_name, |amount| amount.type_name).ok().map(|at| &types[at])
    }

    /// Backtraces one level below that have a type, ascending. O(log) and what is found; for the first type of a
    /// backtrace O(types of all callees).
    pub fn callees_with_type(&self, frame: u32, type_name: NameId) -> Vec<u32> {
        const MAX_UNINDEXED_CALLEES: usize = 8;
        let callees = self.callees(frame);
        if callees.len() <= MAX_UNINDEXED_CALLEES {
            return callees
                .iter()
                .copied()
                .filter(|&callee| self.type_amount_at(callee, type_name).is_some())
                .collect();
        }
        let mut known = self.callees_by_type.borrow_mut();
        let sorted = known.entry(frame).or_insert_with(|| {
            let types =
                |&callee: &u32| self.type_amounts_at(callee).iter().map(move |amount| (amount.type_name, callee));
            let mut sorted: Vec<(NameId, u32)> = callees.iter().flat_map(types).collect();
            sorted.sort_unstable();
            sorted
        });
        let start = sorted.partition_point(|&(name, _)| name < type_name);
        let found = sorted[start..].iter().take_while(|&&(name, _)| name == type_name);
        found.map(|&(_, callee)| callee).collect()
    }

    /// Backtraces one level below of which something is known.
    pub fn callees(&self, frame: u32) -> &[u32] {
        let at = frame as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.callee_ends[before] as usize);
        &self.callees[start..self.callee_ends[at] as usize]
    }
}

/// One type at a backtrace: what is reported of it there, and what was found below.
#[derive(Clone, Copy)]
struct UnreconciledTypeAmount {
    type_name: NameId,
    /// The next one of the backtrace, or [`NO_PAIR`].
    next: u32,
    reported: Option<AllocationAmount>,
    below: AllocationAmount,
}

/// Ends a list of pairs. There are never so many: a pair takes 80 bytes.
const NO_PAIR: u32 = u32::MAX;

/// By frame: itself, or its caller at the deepest level.
fn frames_cut_at(heap: &AllocationHeap, max_depth: u32) -> Vec<u32> {
    let mut shown: Vec<u32> = (0..heap.frames.len() as u32).collect();
    let mut depths = vec![0u32; shown.len()];
    for (at, frame) in heap.frames.iter().enumerate().skip(1) {
        depths[at] = depths[frame.parent() as usize].saturating_add(1);
        if depths[at] > max_depth {
            shown[at] = shown[frame.parent() as usize];
        }
    }
    shown
}

struct TotalsComputation<'a> {
    heap: &'a AllocationHeap,
    counts_exclusively: bool,
    /// Amounts that are not reported equal what is below, exactly.
    is_complete: bool,
    is_by_type: bool,
    /// Only wanted types count.
    is_filtered: bool,
    /// By backtrace: what is reported of all types together; empty in heaps of parts, which report none.
    reported_by_frame: Vec<Option<AllocationAmount>>,
    /// By backtrace: its first pair.
    first_pairs: Vec<u32>,
    pairs: Vec<UnreconciledTypeAmount>,
    /// Finds a pair by backtrace and type.
    pair_indices: FxHashMap<(u32, NameId), u32>,
    inferred_pair_count: usize,
    max_backtrace_type_pairs: usize,
    left_out_pair_count: u64,
}

impl<'a> TotalsComputation<'a> {
    fn new(heap: &'a AllocationHeap, options: &TotalsOptions<'_>) -> Self {
        let count = heap.frames.len();
        let is_of_parts = heap.counting_mode == CountingMode::Exclusive;
        let mut computation = TotalsComputation {
            heap,
            counts_exclusively: is_of_parts,
            is_complete: heap.counting_mode == CountingMode::CompleteInclusive,
            is_by_type: options.is_by_type || !is_of_parts,
            is_filtered: options.is_type_wanted.is_some(),
            reported_by_frame: if is_of_parts { Vec::new() } else { vec![None; count] },
            first_pairs: vec![NO_PAIR; count],
            pairs: Vec::with_capacity(heap.entries.len()),
            pair_indices: FxHashMap::default(),
            inferred_pair_count: 0,
            max_backtrace_type_pairs: max_backtrace_type_pairs(heap),
            left_out_pair_count: 0,
        };
        let is_cut = is_of_parts && options.max_depth < u32::MAX;
        let shown = if is_cut { frames_cut_at(heap, options.max_depth) } else { Vec::new() };
        for entry in &heap.entries {
            let frame = entry.frame();
            let frame = shown.get(frame as usize).copied().unwrap_or(frame);
            match entry.type_name() {
                None if !computation.is_filtered && !is_of_parts => {
                    computation.reported_by_frame[frame as usize]
                        .get_or_insert_default()
                        .add(entry.bytes(), entry.allocations());
                }
                Some(type_name) if options.is_type_wanted.is_none_or(|is_wanted| is_wanted(type_name)) => {
                    let pair = computation.find_or_add_pair(frame, type_name);
                    match &mut pair.reported {
                        Some(reported) => reported.add(entry.bytes(), entry.allocations()),
                        none => *none = Some(AllocationAmount::of(entry)),
                    }
                }
                _ => {}
            }
        }
        computation
    }

    fn find_or_add_pair(&mut self, frame: u32, type_name: NameId) -> &mut UnreconciledTypeAmount {
        let TotalsComputation { pairs, first_pairs, .. } = self;
        let place = *self.pair_indices.entry((frame, type_name)).or_insert_with(|| {
            let place = pairs.len() as u32;
            let next = std::mem::replace(&mut first_pairs[frame as usize], place);
            pairs.push(UnreconciledTypeAmount { type_name, next, reported: None, below: AllocationAmount::default() });
            place
        });
        &mut pairs[place as usize]
    }

    fn compute_totals(mut self) -> AllocationTotals {
        let count = self.heap.frames.len();
        // Until its turn has come a backtrace has what is below it.
        let mut inclusive: Vec<Option<AllocationAmount>> = vec![None; count];
        let (mut type_amounts, mut type_starts) = (Vec::with_capacity(self.pairs.len()), vec![0; count]);
        let mut types: Vec<TypeAmount> = Vec::new();
        // Callees have greater numbers: everything below a frame is settled before it.
        for frame in (0..count as u32).rev() {
            let at = frame as usize;
            let parent = self.heap.frames.parent(frame);
            types.clear();
            let mut next = self.first_pairs[at];
            while let Some(pair) = self.pairs.get(next as usize) {
                types.push(self.amount_of_pair(pair));
                next = pair.next;
            }
            sort::rows_by_key(&mut types, |amount| amount.type_name);
            let mut of_types = AllocationAmount::default();
            for amount in &types {
                let counted = if self.counts_exclusively { amount.exclusive } else { amount.total };
                of_types.add(counted.bytes, counted.allocations);
                if frame != 0 && self.is_by_type {
                    self.add_to_caller(parent, amount);
                }
            }
            inclusive[at] = self.amount_of_all_types(frame, &types, of_types, inclusive[at]);
            type_starts[at] = type_amounts.len() as u32;
            type_amounts.extend_from_slice(&types);
            if let (Some(amount), true) = (inclusive[at], frame != 0) {
                inclusive[parent as usize].get_or_insert_default().add(amount.bytes, amount.allocations);
            }
        }
        let (callees, callee_ends) = self.callees_with_amounts(&inclusive);
        AllocationTotals {
            inclusive_by_frame: inclusive,
            type_amounts,
            type_starts,
            callees,
            callee_ends,
            callees_by_type: RefCell::default(),
            left_out_pair_count: self.left_out_pair_count,
            counts_exclusively: self.counts_exclusively,
        }
    }

    /// The callees of all frames of which something is known, ascending, and where those of each frame end.
    fn callees_with_amounts(&self, inclusive: &[Option<AllocationAmount>]) -> (Vec<u32>, Vec<u32>) {
        let frames = &self.heap.frames;
        let known = || (1..frames.len()).filter(|&at| inclusive[at].is_some());
        let mut ends = vec![0u32; frames.len()];
        known().for_each(|at| ends[frames.parent(at as u32) as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The place of its next callee, to begin with.
            sum += std::mem::replace(end, sum);
        }
        let mut callees = vec![0u32; sum as usize];
        for at in known() {
            let place = &mut ends[frames.parent(at as u32) as usize];
            callees[*place as usize] = at as u32;
            *place += 1;
        }
        (callees, ends)
    }

    fn amount_of_pair(&self, pair: &UnreconciledTypeAmount) -> TypeAmount {
        let (total, own) = if self.counts_exclusively {
            let own = pair.reported.unwrap_or_default();
            let mut total = own;
            total.add(pair.below.bytes, pair.below.allocations);
            (AllocationAmount { is_reported: true, ..total }, own)
        } else {
            (AllocationAmount::reconcile(pair.reported, pair.below, self.is_complete), AllocationAmount::default())
        };
        TypeAmount { type_name: pair.type_name, total, exclusive: own }
    }

    fn amount_of_all_types(
        &self,
        frame: u32,
        types: &[TypeAmount],
        of_types: AllocationAmount,
        below: Option<AllocationAmount>,
    ) -> Option<AllocationAmount> {
        if self.counts_exclusively {
            let mut total = of_types;
            total.add(below.unwrap_or_default().bytes, below.unwrap_or_default().allocations);
            if types.is_empty() && below.is_none() {
                // Nothing is missing in parts: where there are none, nothing was allocated.
                total.allocations = Some(0);
            }
            return (!types.is_empty() || below.is_some() || frame == 0)
                .then_some(AllocationAmount { is_reported: true, ..total });
        }
        let reported = self.reported_by_frame[frame as usize];
        let of_types = (!types.is_empty()).then_some(of_types);
        let all = AllocationAmount::of_all_types(reported, of_types, below, self.is_complete);
        if all.is_none() {
            return (frame == 0)
                .then(|| AllocationAmount { is_lower_bound: !self.is_complete, ..AllocationAmount::default() });
        }
        if self.is_filtered {
            // Types that were too small to be dumped are missing in the sum.
            return Some(AllocationAmount {
                is_reported: self.is_complete,
                is_lower_bound: !self.is_complete,
                ..of_types.unwrap_or_default()
            });
        }
        all
    }

    /// Adds a type's amount to what is below its caller, unless too many pairs are inferred already.
    fn add_to_caller(&mut self, parent: u32, amount: &TypeAmount) {
        if !self.pair_indices.contains_key(&(parent, amount.type_name)) {
            if self.inferred_pair_count >= self.max_backtrace_type_pairs {
                self.left_out_pair_count += 1;
                return;
            }
            self.inferred_pair_count += 1;
        }
        self.find_or_add_pair(parent, amount.type_name).below.add(amount.total.bytes, amount.total.allocations);
    }
}
