//! Prefix sums of a series, with which any piece is fitted in constant time.

/// Running sums of `y`, `y^2` and `index * y`. Pieces are half-open: `start..end`.
pub(crate) struct Sums {
    plain: Vec<f64>,
    squared: Vec<f64>,
    weighted: Vec<f64>,
    /// `1 / n`, because the partition would be bound by divisions.
    inverse: Vec<f64>,
}

/// A line that is flat on one side of a knot: its residual sum of squares, its slope per run, and the regressor's sum of
/// squares about its mean, which yields the variance of the slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hinge {
    pub squares: f64,
    pub slope: f64,
    pub leverage: f64,
}

impl Sums {
    pub(crate) fn new(series: &[f64]) -> Self {
        // Relative to the first value, because squares of large logarithms would lose digits.
        let origin = series.first().copied().unwrap_or(0.0);
        let mut sums = Self { plain: vec![0.0], squared: vec![0.0], weighted: vec![0.0], inverse: vec![0.0] };
        let (mut plain, mut squared, mut weighted) = (0.0, 0.0, 0.0);
        for (index, value) in series.iter().enumerate() {
            let y = value - origin;
            plain += y;
            squared += y * y;
            weighted += index as f64 * y;
            sums.plain.push(plain);
            sums.squared.push(squared);
            sums.weighted.push(weighted);
            sums.inverse.push(1.0 / (index + 1) as f64);
        }
        sums
    }

    pub(crate) fn len(&self) -> usize {
        self.plain.len() - 1
    }

    fn sum(&self, start: usize, end: usize) -> f64 {
        self.plain[end] - self.plain[start]
    }

    /// Mean of a piece, relative to the first value of the series.
    pub(crate) fn mean(&self, start: usize, end: usize) -> f64 {
        self.sum(start, end) * self.inverse[end - start]
    }

    pub(crate) fn squares(&self, start: usize, end: usize) -> f64 {
        let sum = self.sum(start, end);
        (self.squared[end] - self.squared[start] - sum * sum * self.inverse[end - start]).max(0.0)
    }

    pub(crate) fn step(&self, start: usize, at: usize, end: usize) -> f64 {
        self.squares(start, at) + self.squares(at, end)
    }

    /// The best step with at least `least` runs on each side, and its residual sum of squares. The piece must have at least
    /// twice that many runs.
    pub(crate) fn best_step(&self, start: usize, end: usize, least: usize) -> (usize, f64) {
        let places = start + least..=end - least;
        let fits = places.map(|at| (at, self.step(start, at, end)));
        fits.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((start, f64::INFINITY))
    }

    /// Flat before `knot`, a slope from there on: the run at `knot` is the first to move.
    pub(crate) fn flat_then_slope(&self, start: usize, knot: usize, end: usize) -> Hinge {
        let from = knot as f64 - 1.0;
        let cross = self.weighted[end] - self.weighted[knot] - from * self.sum(knot, end);
        self.hinge(start, end, end - knot, 1.0, cross)
    }

    pub(crate) fn slope_then_flat(&self, start: usize, knot: usize, end: usize) -> Hinge {
        let cross = self.weighted[knot] - self.weighted[start] - knot as f64 * self.sum(start, knot);
        self.hinge(start, end, knot - start, -1.0, cross)
    }

    /// Least squares on a constant and a regressor of 1, 2, ... `moving` (times `sign`) and zeros. `cross`: the sum of the
    /// regressor times the series.
    fn hinge(&self, start: usize, end: usize, moving: usize, sign: f64, cross: f64) -> Hinge {
        let (count, moving) = ((end - start) as f64, moving as f64);
        let sum = sign * moving * (moving + 1.0) / 2.0;
        let squared = moving * (moving + 1.0) * (2.0 * moving + 1.0) / 6.0;
        let leverage = squared - sum * sum / count;
        let covariance = cross - sum * self.sum(start, end) / count;
        let flat = self.squares(start, end);
        if leverage <= 0.0 {
            return Hinge { squares: flat, slope: 0.0, leverage: 0.0 };
        }
        let slope = covariance / leverage;
        Hinge { squares: (flat - covariance * slope).max(0.0), slope, leverage }
    }

    /// Residual sum of squares of the best hinge whose slope spans at least `least` runs.
    pub(crate) fn best_slope(&self, start: usize, end: usize, least: usize) -> f64 {
        let rising =
            (start..(end + 1).saturating_sub(least)).map(|knot| self.flat_then_slope(start, knot, end));
        let easing = (start + least..end + 1).map(|knot| self.slope_then_flat(start, knot, end));
        rising.chain(easing).map(|hinge| hinge.squares).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{close, reference};

    #[test]
    fn slopes_and_residuals_agree_with_numpy() {
        reference("hinge.json", 5, |case| {
            let series = case.list("series");
            let fit = if case.take("rising") { Sums::flat_then_slope } else { Sums::slope_then_flat };
            let ours = fit(&Sums::new(&series), 0, case.take("knot"), series.len());
            close([ours.slope, ours.squares], ["slope", "squares"].map(|field| case.take(field)), 1e-8);
        });
    }

    #[test]
    fn a_piece_is_fitted_as_if_it_stood_alone() {
        let series: Vec<f64> = (0..40).map(|at| ((at * 7919) % 31) as f64).collect();
        let (all, part) = (Sums::new(&series), Sums::new(&series[11..33]));
        assert!((all.squares(11, 33) - part.squares(0, 22)).abs() < 1e-9);
        let (of_all, alone) = (all.flat_then_slope(11, 20, 33), part.flat_then_slope(0, 9, 22));
        assert!((of_all.slope - alone.slope).abs() < 1e-12 && (of_all.squares - alone.squares).abs() < 1e-9);
    }
}
