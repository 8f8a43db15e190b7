//! Numbers as they are typed, exact: 1.5KiB, 2%, -0.25.

use std::cmp::Ordering;

const MAX_NUMBER_DIGITS: usize = 24;
/// Of a share.
const MAX_SHARE_DIGITS: usize = 12;

/// Units and what they stand for; those that come first are named in errors.
const UNITS: [(&str, u64); 12] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
];

/// A number as it is typed, with its unit or percent sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    is_negative: bool,
    /// Without its sign and dot, times its unit: below 2^120, of a share below 2^40.
    mantissa: u128,
    /// Digits behind the dot.
    decimal_places: u32,
    /// It is so many percent of something.
    pub(super) is_share: bool,
}

/// Mistakes in the typed word of a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    TooLong,
    Malformed,
    /// The unit there is not.
    UnknownUnit(String),
}

impl Number {
    /// From its parts: `1.5` and `KiB`, `%` or nothing.
    pub(super) fn new(number: &str, unit: &str) -> Result<Self, NumberError> {
        let (is_negative, number) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + decimals.len() == 0 || !is_number(whole) || !is_number(decimals) {
            return Err(NumberError::Malformed);
        }
        let is_share = unit == "%";
        let factor = match unit {
            "" | "%" => 1,
            unit => match UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit)) {
                Some((_, factor)) => *factor,
                None => return Err(NumberError::UnknownUnit(unit.to_string())),
            },
        };
        let most = if is_share { MAX_SHARE_DIGITS } else { MAX_NUMBER_DIGITS };
        let digits = format!("{}{decimals}", whole.trim_start_matches('0'));
        if digits.len() > most {
            return Err(NumberError::TooLong);
        }
        let value: u128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| NumberError::Malformed)? };
        Ok(Number {
            is_negative: is_negative && value > 0,
            mantissa: value * u128::from(factor),
            decimal_places: decimals.len() as u32,
            is_share,
        })
    }

    pub(super) fn is_unit(word: &str) -> bool {
        UNITS.iter().any(|(known, _)| known.eq_ignore_ascii_case(word))
    }

    /// The units that errors name.
    pub(super) fn listed_units() -> String {
        UNITS[..7].iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ")
    }

    /// The greatest whole number below or at it, and the least above or at it; of a share, of this whole.
    fn whole_number_bounds(self, whole: u64) -> (i128, i128) {
        let mut divisor = 10u128.pow(self.decimal_places);
        let mut digits = self.mantissa;
        if self.is_share {
            digits *= u128::from(whole);
            divisor *= 100;
        }
        let (floor, ceil) = ((digits / divisor) as i128, digits.div_ceil(divisor) as i128);
        if self.is_negative { (-ceil, -floor) } else { (floor, ceil) }
    }

    /// Whole numbers that compare so with it; of a share, with that share of `whole`.
    pub(super) fn matching_range(self, op: Comparison, whole: u64) -> NumberRange {
        let (floor, ceil) = self.whole_number_bounds(whole);
        let (lo, hi) = match op {
            Comparison::Eq | Comparison::Ne => (ceil, floor),
            Comparison::Lt => (i128::MIN, ceil - 1),
            Comparison::Le => (i128::MIN, floor),
            Comparison::Gt => (floor + 1, i128::MAX),
            Comparison::Ge => (ceil, i128::MAX),
        };
        NumberRange { lowest: lo, highest: hi, is_outside: op == Comparison::Ne }
    }

    /// As a floating-point number, for comparison with such.
    pub(super) fn to_float(self) -> f64 {
        let size = self.mantissa as f64 / 10f64.powi(self.decimal_places as i32);
        if self.is_negative { -size } else { size }
    }
}

/// Whole numbers from `lo` to `hi`, both included and none when they are the wrong way round; or all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberRange {
    lowest: i128,
    highest: i128,
    is_outside: bool,
}

impl NumberRange {
    pub(super) fn contains(self, number: i128) -> bool {
        (self.lowest <= number && number <= self.highest) != self.is_outside
    }

    /// The same for numbers that are never negative: fast, for columns.
    pub(super) fn unsigned(self) -> UnsignedRange {
        let (lo, hi) = (self.lowest.max(0), self.highest.min(u64::MAX.into()));
        match lo <= hi {
            true => UnsignedRange { lowest: lo as u64, width: (hi - lo) as u64, is_outside: self.is_outside },
            // None of them: a span without numbers is the outside of all.
            false => UnsignedRange { lowest: 0, width: u64::MAX, is_outside: !self.is_outside },
        }
    }
}

/// As [`NumberRange`], of numbers that are never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnsignedRange {
    lowest: u64,
    /// The highest less the lowest.
    width: u64,
    is_outside: bool,
}

impl UnsignedRange {
    /// 1 for its numbers, 0 for others.
    #[inline(always)]
    pub(super) fn mask_byte(self, number: u64) -> u8 {
        u8::from((number.wrapping_sub(self.lowest) <= self.width) != self.is_outside)
    }
}

/// How two things are compared: `=`, `!=`, `<`, `<=`, `>`, `>=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    /// Does it hold of things in this order?
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order.is_eq(),
            Comparison::Ne => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Ge => order.is_ge(),
        }
    }

    /// The comparison, or the one that holds of all known things of which this one does not.
    pub(super) fn negated_if(self, is_not: bool) -> Self {
        match self {
            op if !is_not => op,
            Comparison::Eq => Comparison::Ne,
            Comparison::Ne => Comparison::Eq,
            Comparison::Lt => Comparison::Ge,
            Comparison::Le => Comparison::Gt,
            Comparison::Gt => Comparison::Le,
            Comparison::Ge => Comparison::Lt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: &str, unit: &str) -> Number {
        Number::new(number, unit).unwrap()
    }

    #[test]
    fn numbers_are_exact() {
        assert_eq!(number("1.5", "kib").whole_number_bounds(0), (1536, 1536));
        assert_eq!(number("1.5", "").whole_number_bounds(0), (1, 2));
        assert_eq!(number("-1.5", "").whole_number_bounds(0), (-2, -1));
        assert_eq!(number(".5", "MB").whole_number_bounds(0), (500_000, 500_000));
        assert_eq!(number("7", "%").whole_number_bounds(100), (7, 7));
        assert_eq!(number("0.1", "%").whole_number_bounds(1999), (1, 2));
        assert_eq!(
            number("1000000", "%").whole_number_bounds(u64::MAX),
            (184467440737095516150000, 184467440737095516150000)
        );
        assert_eq!(Number::new("1", "MX"), Err(NumberError::UnknownUnit("MX".into())));
        assert_eq!(Number::new(&"9".repeat(25), ""), Err(NumberError::TooLong));
        for wrong in ["", ".", "1.2.3", "1e5", "--1"] {
            assert_eq!(Number::new(wrong, ""), Err(NumberError::Malformed), "{wrong}");
        }
    }

    /// Each comparison with each number, whole and broken, against fractions.
    #[test]
    fn comparisons_by_definition() {
        let ops = [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];
        for tenths in -30i128..=70 {
            let text = format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10);
            for op in ops {
                let span = number(&text, "").matching_range(op, 0);
                for value in 0..8u64 {
                    let order = (i128::from(value) * 10).cmp(&tenths);
                    assert_eq!(span.contains(value.into()), op.holds(order), "{value} {op:?} {text}");
                    assert_eq!(span.unsigned().mask_byte(value) == 1, op.holds(order), "{value} {op:?} {text}");
                }
                let (least, most) = (span.unsigned().mask_byte(0) == 1, span.unsigned().mask_byte(u64::MAX) == 1);
                assert_eq!((least, most), (span.contains(0), span.contains(u64::MAX.into())));
            }
        }
    }
}
