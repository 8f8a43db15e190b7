//! Sizes from which on something counts: bytes, or a share of a whole. One place decides how shares are rounded.

use std::fmt;
use std::str::FromStr;

use crate::units::parse_size;

/// A share in percent, exact to twelve decimal places: 7 % of 100 bytes are 7 bytes, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent {
    /// In units of 10^-12 percent.
    trillionths_of_percent: u64,
}

const PERCENT_DECIMALS: usize = 12;
const UNITS_PER_PERCENT: u128 = 10u128.pow(PERCENT_DECIMALS as u32);

impl Percent {
    /// 0.1 %.
    pub const PER_MILLE: Percent = Percent { trillionths_of_percent: UNITS_PER_PERCENT as u64 / 10 };

    /// From a number as it was typed; `None` unless it is 0 to `MAX_PERCENT`.
    pub fn new(percent: f64) -> Option<Self> {
        if !(0.0..=Self::MAX_PERCENT).contains(&percent) {
            return None;
        }
        // The shortest decimal that gives this number is what was typed. It has no exponent.
        let text = percent.abs().to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let decimals = decimals.get(..PERCENT_DECIMALS).unwrap_or(decimals);
        let units = format!("{whole}{decimals:0<PERCENT_DECIMALS$}").parse().ok()?;
        Some(Percent { trillionths_of_percent: units })
    }

    /// The most percent that can be said.
    pub const MAX_PERCENT: f64 = 1e6;

    /// 10 %.
    pub const TEN_PERCENT: Percent = Percent { trillionths_of_percent: 10 * UNITS_PER_PERCENT as u64 };

    /// The least whole number that is at least this share: a row of so much stays.
    pub fn share_rounded_up(self, whole: u64) -> u64 {
        u64::try_from(self.product(whole).div_ceil(100 * UNITS_PER_PERCENT)).unwrap_or(u64::MAX)
    }

    /// The greatest whole number that is no more than this share: what is more goes over it.
    pub fn share_rounded_down(self, whole: u64) -> u64 {
        u64::try_from(self.product(whole) / (100 * UNITS_PER_PERCENT)).unwrap_or(u64::MAX)
    }

    /// The share, in trillionths of a percent, times a whole: at most 2^124.
    fn product(self, whole: u64) -> u128 {
        u128::from(self.trillionths_of_percent) * u128::from(whole)
    }
}

/// A size as users say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// Bytes.
    Bytes(u64),
    /// Of a whole.
    Share(Percent),
}

impl Threshold {
    /// The fewest bytes that reach it.
    pub fn min_bytes_of(self, whole: u64) -> u64 {
        match self {
            Threshold::Bytes(bytes) => bytes,
            Threshold::Share(percent) => percent.share_rounded_up(whole),
        }
    }

    /// Returns true for a share over 100 %.
    pub fn is_more_than_a_whole(self) -> bool {
        matches!(self, Threshold::Share(percent) if percent.trillionths_of_percent > 100 * UNITS_PER_PERCENT as u64)
    }

    /// The most bytes that do not go over it.
    pub fn max_bytes_of(self, whole: u64) -> u64 {
        match self {
            Threshold::Bytes(bytes) => bytes,
            Threshold::Share(percent) => percent.share_rounded_down(whole),
        }
    }
}

/// Reads a share, as `10%`.
///
/// # Errors
/// When it is none, in words.
pub fn parse_share(text: &str) -> Result<Percent, String> {
    match text.parse()? {
        Threshold::Share(share) => Ok(share),
        Threshold::Bytes(_) => Err("a share is meant, as 10%".into()),
    }
}

/// A size, or a share of a whole as `10%`.
impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().strip_suffix('%') {
            Some(share) => match share.trim().parse().ok().and_then(Percent::new) {
                Some(percent) => Ok(Threshold::Share(percent)),
                None => Err(format!("\"{text}\" is not a share; write it as 10%")),
            },
            None => parse_size(text).map(Threshold::Bytes),
        }
    }
}

/// As it is typed: `12.5`.
impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (
            u128::from(self.trillionths_of_percent) / UNITS_PER_PERCENT,
            u128::from(self.trillionths_of_percent) % UNITS_PER_PERCENT,
        );
        let decimals = format!("{rest:0PERCENT_DECIMALS$}");
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            decimals => write!(f, "{whole}.{decimals}"),
        }
    }
}

/// As it is typed: `4096`, `12.5%`.
impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::Bytes(bytes) => write!(f, "{bytes}"),
            Threshold::Share(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Percent;

    #[test]
    fn shares_are_written_as_they_were_typed() {
        for typed in ["0", "10", "12.5", "0.001", "1000000"] {
            assert_eq!(Percent::new(typed.parse().unwrap()).unwrap().to_string(), typed);
        }
    }

    #[test]
    fn shares_are_those_that_were_typed() {
        let at_least = |percent: f64, whole: u64| Percent::new(percent).unwrap().share_rounded_up(whole);
        assert_eq!((at_least(7.0, 100), at_least(7.1, 100), at_least(0.55, 2000)), (7, 8, 11));
        assert_eq!((at_least(0.0, u64::MAX), at_least(100.0, u64::MAX)), (0, u64::MAX));
        assert_eq!((at_least(1e6, u64::MAX), at_least(1e-300, u64::MAX)), (u64::MAX, 0));
        assert_eq!((at_least(0.8, 1000), at_least(12.5, 8), at_least(-0.0, 8)), (8, 1, 0));
        let at_most = |percent: f64, whole: u64| Percent::new(percent).unwrap().share_rounded_down(whole);
        assert_eq!((at_most(10.0, 105), at_most(10.0, 110), at_most(7.0, 100)), (10, 11, 7));
        for wrong in [f64::NAN, f64::INFINITY, -1.0, 1e7] {
            assert_eq!(Percent::new(wrong), None);
        }
    }

    /// Every whole percent of every small number, by definition.
    #[test]
    fn shares_by_definition() {
        for percent in 0..=200u64 {
            for whole in 0..300 {
                let share = Percent::new(percent as f64).unwrap();
                assert_eq!(share.share_rounded_up(whole), (whole * percent).div_ceil(100));
                assert_eq!(share.share_rounded_down(whole), whole * percent / 100);
            }
        }
    }
}
