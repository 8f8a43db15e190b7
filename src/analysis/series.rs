//! One figure over several dumps: which way it goes, and how fast.

use serde::Serialize;

/// Direction of a figure. In the order of rows: what never shrinks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    /// Up at least once, and never down.
    Grows,
    /// Not there in the first dump, there in the last, and never down.
    Appeared,
    /// More in the last dump than in the first, with ups and downs between them.
    Up,
    /// As much in the last dump as in the first, and not between them.
    Varies,
    /// Less in the last dump than in the first, with ups and downs between them.
    Down,
    /// Down at least once, and never up.
    Shrinks,
    /// There once, and not in the last dump.
    Gone,
    /// The same in all dumps.
    Flat,
}

impl Trend {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Trend::Grows => "grows",
            Trend::Appeared => "appeared",
            Trend::Up => "up",
            Trend::Varies => "varies",
            Trend::Down => "down",
            Trend::Shrinks => "shrinks",
            Trend::Gone => "gone",
            Trend::Flat => "flat",
        }
    }
}

/// Course of a figure from dump to dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesTrend {
    /// Direction.
    pub trend: Trend,
    /// Steps from one dump to the next at which it went up.
    pub steps_up: usize,
    /// Those at which it went down.
    pub steps_down: usize,
}

impl SeriesTrend {
    /// The course of a figure. `is_there`: does the thing that it is of exist in a dump? O(values).
    pub fn of(values: &[u64], is_there: impl Fn(usize) -> bool) -> Self {
        let steps = || values.windows(2);
        let steps_up = steps().filter(|step| step[1] > step[0]).count();
        let steps_down = steps().filter(|step| step[1] < step[0]).count();
        let (first, last) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let last_place = values.len().saturating_sub(1);
        let trend = match (steps_up, steps_down) {
            (0, 0) => Trend::Flat,
            _ if !is_there(last_place) => Trend::Gone,
            (_, 0) if !is_there(0) => Trend::Appeared,
            (_, 0) => Trend::Grows,
            (0, _) => Trend::Shrinks,
            _ if last > first => Trend::Up,
            _ if last < first => Trend::Down,
            _ => Trend::Varies,
        };
        SeriesTrend { trend, steps_up, steps_down }
    }
}

/// Pairs that are looked at, at most.
const MAX_SLOPE_PAIRS: usize = 500_000;

/// The median of the slopes of all pairs (Theil, "A rank-invariant method of linear and polynomial regression analysis",
/// 1950; Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968), of values at ascending places: one
/// value that stands out does not bend it. Above 1,000 values of half a million pairs, always the same ones. 0 where no
/// two places differ. O(pairs).
pub fn median_slope(places: &[f64], values: &[u64]) -> f64 {
    let count = places.len().min(values.len());
    let slope = |a: usize, b: usize| {
        let run = places[b] - places[a];
        (run > 0.0).then(|| (values[b] as f64 - values[a] as f64) / run)
    };
    let all = count * count.saturating_sub(1) / 2;
    let mut slopes: Vec<f64> = match all <= MAX_SLOPE_PAIRS {
        true => (0..count).flat_map(|a| (a + 1..count).filter_map(move |b| slope(a, b))).collect(),
        false => {
            // A generator of Lehmer's with Park and Miller's numbers: pairs from everywhere, the same ones in every run.
            let mut state = 48_271u64;
            let mut next = || {
                state = state * 48_271 % 0x7FFF_FFFF;
                state as usize % count
            };
            let mut pairs = (0..MAX_SLOPE_PAIRS).map(|_| (next(), next())).collect::<Vec<_>>();
            pairs.retain(|(a, b)| a != b);
            pairs.into_iter().filter_map(|(a, b)| slope(a.min(b), a.max(b))).collect()
        }
    };
    median(&mut slopes)
}

/// The median, of an even number of values the middle of both. O(values).
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if is_even { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0 } else { upper }
}

/// Values that a sparkline has at most.
pub const MAX_SPARKLINE_VALUES: usize = 16;

/// A row of bars, from the least value to the greatest in eight heights, 16 bars at most: of more values evenly chosen
/// ones, with the first and the last.
pub fn sparkline(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (least, greatest) = (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0));
    let bars = values.len().min(MAX_SPARKLINE_VALUES);
    let chosen = (0..bars).map(|bar| {
        // Rounded, so that both ends are there.
        let at = if bars < 2 { 0 } else { (bar * (values.len() - 1) + (bars - 1) / 2) / (bars - 1) };
        values[at]
    });
    let height = |value: u64| match greatest - least {
        0 => 0,
        range => (u128::from(value - least) * 7 + u128::from(range) / 2) / u128::from(range),
    };
    chosen.map(|value| BARS[height(value) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trend(values: &[u64]) -> Trend {
        SeriesTrend::of(values, |at| values[at] > 0).trend
    }

    #[test]
    fn every_way_that_a_figure_can_go() {
        for (values, expected) in [
            (&[5, 5, 5][..], Trend::Flat),
            (&[1, 1, 2], Trend::Grows),
            (&[0, 0, 2, 2], Trend::Appeared),
            (&[0, 3, 2], Trend::Up),
            (&[1, 3, 2], Trend::Up),
            (&[3, 5, 2], Trend::Down),
            (&[2, 5, 2], Trend::Varies),
            (&[5, 5, 4], Trend::Shrinks),
            (&[5, 6, 0], Trend::Gone),
            (&[0, 6, 0], Trend::Gone),
            (&[0, 0], Trend::Flat),
            (&[7], Trend::Flat),
        ] {
            assert_eq!(trend(values), expected, "{values:?}");
        }
        let course = SeriesTrend::of(&[1, 2, 2, 1, 4], |_| true);
        assert_eq!((course.steps_up, course.steps_down), (2, 1));
        // Objects of no bytes are there all the same.
        assert_eq!(SeriesTrend::of(&[0, 8], |_| true).trend, Trend::Grows);
    }

    #[test]
    fn sparklines_keep_both_ends() {
        assert_eq!(sparkline(&[0, 7, 14]), "▁▅█");
        assert_eq!(sparkline(&[3, 3]), "▁▁");
        assert_eq!(sparkline(&[]), "");
        let rising: Vec<u64> = (0..1000).collect();
        let bars = sparkline(&rising);
        assert_eq!((bars.chars().count(), bars.chars().next(), bars.chars().last()), (16, Some('▁'), Some('█')));
        assert_eq!(sparkline(&[u64::MAX, 0]), "█▁");
    }

    #[test]
    fn one_value_that_stands_out_bends_nothing() {
        let places: Vec<f64> = (0..30).map(f64::from).collect();
        let mut values: Vec<u64> = (0..30).map(|at| 1000 + 144 * at).collect();
        assert_eq!(median_slope(&places, &values), 144.0);
        values[20] = 0;
        assert_eq!(median_slope(&places, &values), 144.0);
        assert_eq!(median_slope(&[0.0], &[5]), 0.0);
        assert_eq!(median_slope(&[1.0, 1.0], &[5, 9]), 0.0);
        // A dump that is missing leaves a place free.
        assert_eq!(median_slope(&[0.0, 2.0, 3.0], &[0, 20, 30]), 10.0);
        let many: Vec<f64> = (0..3000).map(f64::from).collect();
        let values: Vec<u64> = (0..3000).map(|at| 7 * at + at % 3).collect();
        let slope = median_slope(&many, &values);
        assert!((6.99..7.01).contains(&slope), "{slope}");
        assert_eq!(slope, median_slope(&many, &values));
    }

    proptest! {
        #[test]
        fn the_median_slope_is_that_of_sorted_slopes(values in proptest::collection::vec(0u64..1000, 2..20)) {
            let places: Vec<f64> = (0..values.len()).map(|at| at as f64).collect();
            let mut slopes = Vec::new();
            for a in 0..values.len() {
                for b in a + 1..values.len() {
                    slopes.push((values[b] as f64 - values[a] as f64) / (b - a) as f64);
                }
            }
            slopes.sort_by(f64::total_cmp);
            let expected = (slopes[(slopes.len() - 1) / 2] + slopes[slopes.len() / 2]) / 2.0;
            prop_assert!((median_slope(&places, &values) - expected).abs() < 1e-9);
        }
    }
}
