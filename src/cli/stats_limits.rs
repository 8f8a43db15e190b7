//! `heapdump stats --fail-over TYPE=SIZE`: how much objects of some types may take.

use anyhow::{Context, Result};

use super::stats_rows::Row;
use crate::analysis::selection::TypePattern;
use crate::report::{format_bytes, parse_size};

/// A limit for the types that a pattern means.
pub(super) struct Limit {
    text: String,
    pattern: TypePattern,
    bytes: u64,
}

/// What limits have to say of a dump.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) sentences: Vec<String>,
    pub(super) is_over: bool,
}

impl Limit {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let wrong = || format!("--fail-over {text}: write it as TYPE=SIZE");
        let (name, size) = text.rsplit_once('=').with_context(wrong)?;
        let pattern = TypePattern::parse(name).map_err(anyhow::Error::msg).with_context(wrong)?;
        Ok(Limit {
            text: name.to_string(),
            pattern,
            bytes: parse_size(size).map_err(anyhow::Error::msg).with_context(wrong)?,
        })
    }

    /// Says so when the rows' types go over.
    fn check(&self, rows: &[Row], verdict: &mut Verdict) {
        // A whole name means that type alone, though it is a part of others: `A.B` is not `A.B[]`.
        let is_whole = rows.iter().any(|row| row.name == self.text);
        let own: Vec<&Row> = rows
            .iter()
            .filter(|row| if is_whole { row.name == self.text } else { self.pattern.matches(&row.name) })
            .collect();
        if own.is_empty() {
            verdict.sentences.push(format!("note: no type in the dump matches --fail-over {}", self.text));
        }
        let bytes = own.iter().fold(0u64, |sum, row| sum.saturating_add(row.tally.shallow_bytes));
        if bytes > self.bytes {
            verdict.is_over = true;
            verdict.sentences.push(format!(
                "{} takes {} ({bytes} bytes), over the limit of {}",
                self.text,
                format_bytes(bytes),
                format_bytes(self.bytes)
            ));
        }
    }
}

/// Every limit is told, not only the first.
pub(super) fn check_limits(limits: &[Limit], rows: &[Row]) -> Verdict {
    let mut verdict = Verdict::default();
    limits.iter().for_each(|limit| limit.check(rows, &mut verdict));
    verdict
}
