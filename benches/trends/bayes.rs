//! Bayesian online change point detection (Adams & MacKay 2007): normal runs of unknown mean and variance, fixed hazard.

use statrs::function::gamma::ln_gamma;

use super::costs;

/// `length`: the expected length of a piece. Points are those on the way back along the likeliest lengths.
pub fn online(series: &[f64], length: f64) -> Vec<usize> {
    let hazard = 1.0 / length;
    let sd = costs::scale(series);
    let middle = gbench_ci::stats::median(&mut series.to_vec()).unwrap_or(0.0);
    // A level lies within about ten deviations of the middle, a variance near that of differences.
    let prior = Normal { mean: middle, weight: 0.01, shape: 2.0, rate: 2.0 * sd * sd };
    let mut states = vec![(0.0_f64, prior)];
    let mut likeliest = Vec::with_capacity(series.len());
    for value in series {
        let mut next = vec![(f64::NEG_INFINITY, prior)];
        for (ln_weight, state) in &states {
            let joint = ln_weight + state.ln_density(*value);
            next[0].0 = ln_sum(next[0].0, joint + hazard.ln());
            next.push((joint + (-hazard).ln_1p(), state.with(*value)));
        }
        let total = next.iter().fold(f64::NEG_INFINITY, |total, (ln_weight, _)| ln_sum(total, *ln_weight));
        next.iter_mut().for_each(|(ln_weight, _)| *ln_weight -= total);
        let best = next.iter().enumerate().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        likeliest.push(best.map_or(0, |(length, _)| length));
        states = next;
    }
    let mut found = Vec::new();
    let mut end = series.len();
    while end > 0 {
        end -= likeliest[end - 1].clamp(1, end);
        if end > 0 {
            found.push(end);
        }
    }
    found.reverse();
    found
}

/// The conjugate prior of a normal mean and variance.
#[derive(Clone, Copy)]
struct Normal {
    mean: f64,
    weight: f64,
    shape: f64,
    rate: f64,
}

impl Normal {
    fn with(self, value: f64) -> Self {
        let off = value - self.mean;
        Self {
            mean: self.mean + off / (self.weight + 1.0),
            weight: self.weight + 1.0,
            shape: self.shape + 0.5,
            rate: self.rate + 0.5 * self.weight * off * off / (self.weight + 1.0),
        }
    }

    /// Student's t.
    fn ln_density(&self, value: f64) -> f64 {
        let freedom = 2.0 * self.shape;
        let variance = self.rate * (self.weight + 1.0) / (self.shape * self.weight);
        let square = (value - self.mean).powi(2) / variance;
        ln_gamma((freedom + 1.0) / 2.0)
            - ln_gamma(freedom / 2.0)
            - 0.5 * (freedom * std::f64::consts::PI * variance).ln()
            - (freedom + 1.0) / 2.0 * (square / freedom).ln_1p()
    }
}

fn ln_sum(a: f64, b: f64) -> f64 {
    let (most, least) = (a.max(b), a.min(b));
    if least == f64::NEG_INFINITY { most } else { most + (least - most).exp().ln_1p() }
}
