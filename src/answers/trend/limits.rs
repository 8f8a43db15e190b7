//! Limits on growth over several dumps.

use std::str::FromStr;

use super::rows::{DumpsTrend, TrendRow};
use crate::analysis::diff::delta;
use crate::analysis::selection::TypePattern;
use crate::analysis::threshold::Threshold;
use crate::answers::over_limit::OverLimit;
use crate::units::format_bytes;

/// The most that something may grow by.
#[derive(Debug, Clone)]
pub struct TrendLimit {
    /// As it was written.
    text: String,
    /// Rows that are limited together; `None` for the whole heap.
    of: Option<TypePattern>,
    size: Threshold,
    /// From one dump to the next, in place of from the first to the last.
    is_per_dump: bool,
}

/// `10%`, `20MiB`, `100KiB/dump`, each also behind `PATTERN=`.
impl FromStr for TrendLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (of, size) = TypePattern::split_limit(text)?;
        let (size, is_per_dump) = match size.strip_suffix("/dump") {
            Some(size) => (size, true),
            None => (size, false),
        };
        let size: Threshold = size.parse()?;
        Ok(TrendLimit { text: text.to_string(), of, size, is_per_dump })
    }
}

impl TrendLimit {
    /// Returns true if it limits types, not the heap.
    pub fn is_of_types(&self) -> bool {
        self.of.is_some()
    }

    /// The limit as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if growth from one dump to the next is limited, which depends on all dumps.
    pub fn is_per_dump(&self) -> bool {
        self.is_per_dump
    }

    /// Result of the limit if it was passed or nothing matches. `rows` are all, whatever is shown, each with the number by which
    /// `bytes_of` knows its bytes in the dumps that were read.
    pub(super) fn check<B: Iterator<Item = u64>>(
        &self,
        trend: &DumpsTrend,
        rows: &[(TrendRow, usize)],
        bytes_of: impl Fn(usize) -> B,
    ) -> Option<OverLimit> {
        let (what, values) = match &self.of {
            None => (trend.whole.to_string(), trend.total_values.clone()),
            Some(pattern) => {
                let is_one = |row: &TrendRow| pattern.matches(row.name.as_str());
                if !rows.iter().any(|(row, _)| is_one(row)) {
                    return Some({
                        let names = rows.iter().map(|(row, _)| row.name.as_str());
                        OverLimit::of_nothing(&format!("{} in the dumps", trend.by), &self.text, pattern, names)
                    });
                }
                let mut sums = vec![0u64; trend.total_values.len()];
                for (_, row) in rows.iter().filter(|(row, _)| is_one(row)) {
                    sums.iter_mut().zip(bytes_of(*row)).for_each(|(sum, bytes)| *sum = sum.saturating_add(bytes));
                }
                (pattern.text().to_string(), sums)
            }
        };
        let (first, last) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let limit = self.size.at_most(first);
        let (grown, per) = match self.is_per_dump {
            true => (trend.slope(&values), " a dump"),
            false => (delta(first, last), ""),
        };
        let is_over = u64::try_from(grown).is_ok_and(|grown| grown > limit);
        is_over.then(|| {
            let words = format_bytes(grown.unsigned_abs());
            let text =
                format!("{what} grew by {words}{per} ({grown} bytes), over the limit of {}{per}", format_bytes(limit));
            OverLimit { text, is_over: true }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_they_are_written() {
        let limit = |text: &str| text.parse::<TrendLimit>().unwrap();
        assert!(limit("10%").of.is_none() && !limit("20MiB").is_per_dump && limit("100KiB/dump").is_per_dump);
        let limit = limit("*Bubble*=1KiB/dump");
        assert_eq!(limit.of.as_ref().map(TypePattern::text), Some("*Bubble*"));
        assert!(limit.is_per_dump && limit.size == Threshold::Bytes(1024));
        for wrong in ["", "x", "a=", "1KiB/hour", "/(/=1KiB"] {
            assert!(wrong.parse::<TrendLimit>().is_err(), "{wrong}");
        }
    }
}
