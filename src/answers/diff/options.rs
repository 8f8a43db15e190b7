//! Options of a diff: rows, their order and limits, the combinations that make sense, and limits on growth: of the heap, of
//! some types together, of every type.

use std::cmp::Reverse;
use std::str::FromStr;

use crate::analysis::diff::saturating_delta;
use crate::analysis::threshold::{Percent, Threshold};
use crate::analysis::type_patterns::TypePattern;
use crate::answers::allocation_heaps::AllocationHeapChoice;
use crate::answers::dump_comparison::{SHALLOW_DELTA, TOTAL_DELTA, group_word};
use crate::answers::limit_result::LimitResult;
use crate::answers::{CommandLine, DiffBy, Figure, GroupBy, Limits, ScopeOptions};
use crate::filter::FieldSelection;
use crate::sort;
use crate::units::{count_with_noun, format_bytes};

/// Options of a diff.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Objects of either dump.
    pub scope: ScopeOptions,
    /// Heaps, of allocation totals. The memory dump may be a pair, `1,8`: of the old side and of the new one.
    pub heaps: AllocationHeapChoice,
    /// Kind of the rows.
    pub by: DiffBy,
    /// The field whose values are the rows, of [`GroupBy::Field`].
    pub field: Option<FieldSelection>,
    /// Retained bytes of groups too: a lower bound, by the dominator tree.
    pub with_retained: bool,
    /// Rows that did not change too.
    pub with_unchanged: bool,
    /// The order of the rows: one of [`orders`](DiffBy::orders), figures largest first, by percent what was not there first of
    /// all; ties by growth in bytes. Default: growth in bytes.
    pub order: Option<Figure>,
    /// Number and direction of rows.
    pub limits: Limits,
    /// The most that everything and types may grow by. Those of types act where the rows are types.
    pub growth_limits: GrowthLimits,
}

impl DiffOptions {
    /// The command line that asks the same of two dumps, or of two memory dumps of one.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("diff");
        match self.by {
            DiffBy::Groups(GroupBy::Type) => &mut line,
            DiffBy::Groups(by) => line.add_option("--by", Some(group_word(by, self.field.as_ref()))),
            DiffBy::Paths => line.add_word("--paths"),
            DiffBy::RootKinds => line.add_word("--roots"),
            DiffBy::Backtraces => line.add_option("--by", Some("backtrace")),
            DiffBy::Objects => line.add_option("--by", Some("object")),
        };
        line.add_switch("--retained", self.with_retained);
        line.add_switch("--all", self.with_unchanged);
        line.add_sort_option(self.order.filter(|order| *order != TOTAL_DELTA), SHALLOW_DELTA);
        self.growth_limits.add_to(&mut line);
        self.scope.add_to(&mut line);
        self.heaps.add_to(&mut line);
        self.limits.add_to(&mut line);
        line
    }
}

/// Switches beside what rows are grouped by.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiffFlags {
    /// Retained bytes too.
    pub with_retained: bool,
    /// Rows are paths.
    pub by_paths: bool,
    /// Rows are kinds of roots.
    pub by_root_kinds: bool,
    /// Rows that did not change too.
    pub with_unchanged: bool,
    /// Types have limits.
    pub has_type_limits: bool,
}

impl DiffBy {
    /// Kind of rows with these switches, in dumps of objects or of allocation totals.
    ///
    /// # Errors
    /// If the dumps have no such rows, in words for the command line.
    pub fn with_flags(self, flags: DiffFlags, of_objects: bool) -> Result<DiffBy, &'static str> {
        let DiffFlags {
            with_retained: retained,
            by_paths: paths,
            by_root_kinds: roots,
            with_unchanged,
            has_type_limits: type_limits,
        } = flags;
        let is_of_frames = !of_objects && self.frame_names().is_some();
        match self {
            by if type_limits && (paths || roots || by != DiffBy::default() && !is_of_frames) => {
                Err("--fail-over TYPE=SIZE and --fail-over-type limit types: leave --by, --paths and --roots out")
            }
            _ if !of_objects && (retained || paths || roots) => {
                Err("the dumps hold allocation totals, no objects: leave --retained, --paths and --roots out")
            }
            by if !of_objects && (is_of_frames || by == DiffBy::default() || by == DiffBy::Backtraces) => Ok(by),
            _ if !of_objects => Err(
                "the dumps hold allocation totals: --by is type, backtrace, or function; of profiles line, file or module",
            ),
            DiffBy::Objects if retained || with_unchanged => {
                Err("--by object has what new objects retain together: leave --retained and --all out")
            }
            _ if paths => Ok(DiffBy::Paths),
            _ if roots => Ok(DiffBy::RootKinds),
            DiffBy::Backtraces => Err("--by backtrace: the dumps hold objects; --paths shows where what grew hangs"),
            by => Ok(by),
        }
    }
}

/// The most that the heap, or some types together, may grow by.
#[derive(Debug, Clone)]
pub struct GrowthLimit {
    /// As it was written.
    text: String,
    /// Types that are limited together; `None` for the whole heap.
    types: Option<TypePattern>,
    /// The limit; a share is one of the old bytes.
    limit: Threshold,
}

/// `10%`, `20MiB`, each also behind `PATTERN=`.
impl FromStr for GrowthLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (types, limit) = TypePattern::split_pattern_and_rest(text)?;
        Ok(GrowthLimit { text: text.to_string(), types, limit: limit.parse()? })
    }
}

/// Limits on growth.
#[derive(Debug, Clone, Default)]
pub struct GrowthLimits {
    /// Of the heap, and of some types.
    pub limits: Vec<GrowthLimit>,
    /// Of every single type: a share of its old bytes.
    pub each_type_share: Option<Percent>,
    /// A type that grew by fewer bytes is not over that share.
    pub each_type_min_growth: Option<Threshold>,
}

/// The bytes of a type, or of the heap, in the old dump and in the new one.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedGrowth<'r> {
    pub(super) name: &'r str,
    pub(super) old_bytes: u64,
    pub(super) new_bytes: u64,
}

impl NamedGrowth<'_> {
    fn growth_bytes(&self) -> u64 {
        u64::try_from(saturating_delta(self.old_bytes, self.new_bytes)).unwrap_or(0)
    }
}

impl GrowthLimits {
    /// Returns true if types are limited, and not only the heap.
    pub fn has_type_limits(&self) -> bool {
        self.each_type_share.is_some() || self.limits.iter().any(GrowthLimit::limits_types)
    }

    /// Adds the options of a command line that sets the same limits.
    pub(super) fn add_to(&self, line: &mut CommandLine) {
        line.add_repeated_option("--fail-over", self.limits.iter().map(|limit| limit.text.as_str()));
        line.add_option("--fail-over-type", self.each_type_share.map(|share| format!("{share}%")).as_deref());
        line.add_option("--min-bytes", self.each_type_min_growth.map(|bytes| bytes.to_string()).as_deref());
    }

    /// A sentence for each limit that was passed, and a note for each that no type matches. `whole` is the heap, or what
    /// stands for it; `rows` are all types, whatever is shown; `sums` the old and new bytes of the types of each limit that has
    /// some, where they are not the sums of rows. O(limits x types).
    pub(super) fn check_limits(
        &self,
        whole: NamedGrowth<'_>,
        rows: &[NamedGrowth<'_>],
        mut sums: impl Iterator<Item = (u64, u64)>,
    ) -> Vec<LimitResult> {
        let some = self.limits.iter().filter_map(|limit| {
            let sum = if limit.limits_types() { sums.next() } else { None };
            limit.check_limit(whole, rows, sum)
        });
        some.chain(self.each_type_share.and_then(|share| self.check_each_type(share, whole.old_bytes, rows))).collect()
    }

    fn check_each_type(&self, share: Percent, whole: u64, rows: &[NamedGrowth<'_>]) -> Option<LimitResult> {
        const MAX_TYPES_NAMED: usize = 5;
        let least = self.each_type_min_growth.map_or(0, |least| least.min_bytes_of(whole));
        let is_over = |row: &&NamedGrowth<'_>| {
            row.growth_bytes() > share.share_rounded_down(row.old_bytes) && row.growth_bytes() >= least
        };
        let mut over: Vec<&NamedGrowth<'_>> = rows.iter().filter(is_over).collect();
        sort::rows_by_key(&mut over, |row| (Reverse(row.growth_bytes()), row.name));
        let named = over.iter().take(MAX_TYPES_NAMED);
        let named: Vec<String> =
            named.map(|row| format!("{} by {}", row.name, bytes_in_words(row.growth_bytes()))).collect();
        let more = over.len().saturating_sub(MAX_TYPES_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let count = count_with_noun(over.len() as u64, "types");
        let text = format!("{count} grew by more than {share}%: {}{more}", named.join(", "));
        (!over.is_empty()).then_some(LimitResult { text, is_over: true })
    }
}

impl GrowthLimit {
    /// Returns true if it limits types, not the heap.
    pub fn limits_types(&self) -> bool {
        self.types.is_some()
    }

    /// The types that it limits.
    pub(super) fn types(&self) -> Option<&TypePattern> {
        self.types.as_ref()
    }

    /// Result of the limit, if it was passed or no type matches its pattern.
    fn check_limit(
        &self,
        whole: NamedGrowth<'_>,
        rows: &[NamedGrowth<'_>],
        sum: Option<(u64, u64)>,
    ) -> Option<LimitResult> {
        let checked = match &self.types {
            None => whole,
            Some(pattern) => {
                let text = pattern.text();
                let mut own = rows.iter().filter(|row| pattern.matches(row.name)).peekable();
                if own.peek().is_none() {
                    return Some(LimitResult::without_matching_rows(
                        "type in the dumps",
                        &self.text,
                        pattern,
                        rows.iter().map(|row| row.name),
                    ));
                }
                let add = |(old, new): (u64, u64), row: &NamedGrowth<'_>| {
                    (old.saturating_add(row.old_bytes), new.saturating_add(row.new_bytes))
                };
                let (old_bytes, new_bytes) = sum.unwrap_or_else(|| own.fold((0, 0), add));
                NamedGrowth { name: text, old_bytes, new_bytes }
            }
        };
        let limit = self.limit.max_bytes_of(checked.old_bytes);
        let grown = Some(checked.growth_bytes()).filter(|grown| *grown > limit)?;
        let (name, bytes) = (checked.name, bytes_in_words(grown));
        let text = format!("{name} grew by {bytes}, over the limit of {}", format_bytes(limit));
        Some(LimitResult { text, is_over: true })
    }
}

/// `1.2 MiB (1258291 bytes)`.
fn bytes_in_words(bytes: u64) -> String {
    format!("{} ({bytes} bytes)", format_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::type_patterns::TypePattern;
    use std::path::Path;

    #[test]
    fn the_command_line_asks_the_same() {
        let options = DiffOptions {
            scope: ScopeOptions {
                types: TypePattern::parse("A b").ok().map(Into::into),
                ..ScopeOptions::of_section(Some("2"))
            },
            by: DiffBy::Paths,
            with_unchanged: true,
            order: Some(crate::answers::figure::NAME),
            limits: Limits { rows: Some(5), reverse: true },
            growth_limits: GrowthLimits { limits: vec!["12.5%".parse().unwrap()], ..GrowthLimits::default() },
            ..DiffOptions::default()
        };
        let paths = [Path::new("old.txt"), Path::new("new.txt")];
        assert_eq!(
            options.command_line().for_shell(paths),
            "heapdump diff --paths --all --sort name --fail-over 12.5% --type 'A b' --domain 2 --reverse -n 5 old.txt new.txt"
        );
        assert_eq!(DiffOptions::default().command_line().for_shell(paths), "heapdump diff -n 0 old.txt new.txt");
    }

    const fn growth(name: &str, old_bytes: u64, new_bytes: u64) -> NamedGrowth<'_> {
        NamedGrowth { name, old_bytes, new_bytes }
    }

    const HEAP: NamedGrowth<'static> = growth("the heap", 1159, 1333);
    const ROWS: [NamedGrowth<'static>; 5] = [
        growth("A", 100, 110),
        growth("A[]", 1000, 1200),
        growth("B", 50, 10),
        growth("New", 0, 4),
        growth("Same", 9, 9),
    ];

    fn said(limit: &str) -> Option<LimitResult> {
        limit.parse::<GrowthLimit>().unwrap().check_limit(HEAP, &ROWS, None)
    }

    #[test]
    fn limits_as_they_are_written() {
        for wrong in ["", "x", "A=", "A=1KiB/dump", "/(/=1KiB", "=%"] {
            assert!(wrong.parse::<GrowthLimit>().is_err(), "{wrong}");
        }
        let limits = GrowthLimits {
            limits: ["10%", "A b=2KiB"].map(|text| text.parse().unwrap()).to_vec(),
            each_type_share: Percent::new(5.0),
            each_type_min_growth: Some(Threshold::Bytes(7)),
        };
        let mut line = CommandLine::new("diff");
        limits.add_to(&mut line);
        let expected = "heapdump diff --fail-over 10% --fail-over 'A b=2KiB' --fail-over-type 5% --min-bytes 7";
        assert_eq!(line.for_shell([]), expected);
    }

    #[test]
    fn a_limit_is_passed_by_more_and_by_growth_alone() {
        for (limit, is_over) in [
            ("174", false),
            ("173", true),
            ("15.02%", false),
            ("15%", true),
            // As for --type: a part of names is all that have it.
            ("A=210", false),
            ("A=209", true),
            ("/^A$/=10", false),
            ("/^A$/=10%", false),
            ("/^A$/=9", true),
            ("A*=210", false),
            ("A*=209", true),
            ("A[]=20%", false),
            ("A[]=19.9%", true),
            ("B=0", false),
            ("New=1000000%", true),
            ("New=4", false),
        ] {
            assert_eq!(said(limit).is_some_and(|said| said.is_over), is_over, "{limit}");
        }
        let said = said("Nothing=1").unwrap();
        assert_eq!(said.sentence(false), "note: no type in the dumps matches --fail-over Nothing=1");
        let said = super::tests::said("Saem=1").unwrap().sentence(true);
        assert_eq!(
            said,
            "no type in the dumps matches --fail-over Saem=1; did you mean Same? (an error because of --strict)"
        );
    }

    #[test]
    fn every_type_has_its_share() {
        let check = |share: f64, least: u64| {
            let share = Percent::new(share);
            let limits = GrowthLimits {
                limits: Vec::new(),
                each_type_share: share,
                each_type_min_growth: (least > 0).then_some(Threshold::Bytes(least)),
            };
            limits.check_limits(HEAP, &ROWS, std::iter::empty()).pop().map(|over| over.text)
        };
        let a = "A[] by 200 B (200 bytes)";
        assert_eq!(
            check(9.0, 0),
            Some(format!("3 types grew by more than 9%: {a}, A by 10 B (10 bytes), New by 4 B (4 bytes)"))
        );
        assert_eq!(check(10.0, 5), Some(format!("1 type grew by more than 10%: {a}")));
        assert_eq!(check(10.0, 201), None);
    }
}
