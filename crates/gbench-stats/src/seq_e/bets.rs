//! The evidence of a row: a product of bets, one factor per round.
//!
//! For a difference `x` that is as likely as its negative, E[1 + w tanh(l x)] = 1 for every `l` and every `w` up to 1, and
//! less if the centre of x is below zero. SEQ-E bets with w = 1, for which 1 + tanh(l x) = exp(l x) / cosh(l x): one large
//! outlier of the wrong sign costs nearly everything. SEQ-E 2 adds bets with w = 0.8, which lose at most ln 5 in a round.
//! SEQ-E 3 bets on an absolute scale, shares of the target, so that no round is needed to find the scale and every round is
//! evidence.

/// The rule that decides. A record names its rule and keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// SEQ-E: unbounded bets, certification only by Student's t.
    One,
    /// SEQ-E 2: bounded bets as well, certification by signed ranks as well.
    Two,
    /// SEQ-E 3: evidence from the first round, Holm over all rows, effects of the order that all rows share.
    #[default]
    Three,
}

/// `l` and `w` of one bet; `l` in units of the row's scale, for SEQ-E 3 in units of its target.
type Bet = (f64, f64);

/// Mixed with equal weight: small `l` for small steady effects, large ones for large effects.
const ONE: [Bet; 5] = [(0.25, 1.0), (0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (4.0, 1.0)];
const TWO: [Bet; 12] = [
    (0.25, 0.8),
    (0.25, 1.0),
    (0.5, 0.8),
    (0.5, 1.0),
    (1.0, 0.8),
    (1.0, 1.0),
    (2.0, 0.8),
    (2.0, 1.0),
    (4.0, 0.8),
    (4.0, 1.0),
    (8.0, 0.8),
    (8.0, 1.0),
];

const THREE: [Bet; 14] = [
    (0.16, 0.8),
    (0.16, 1.0),
    (0.4, 0.8),
    (0.4, 1.0),
    (1.0, 0.8),
    (1.0, 1.0),
    (2.4, 0.8),
    (2.4, 1.0),
    (6.0, 0.8),
    (6.0, 1.0),
    (14.0, 0.8),
    (14.0, 1.0),
    (32.0, 0.8),
    (32.0, 1.0),
];
/// Bounds an exponent of SEQ-E 3, which stays finite even for a tiny target.
const FARTHEST: f64 = 345.0;

impl Version {
    pub(super) fn bets(self) -> &'static [Bet] {
        match self {
            Version::One => &ONE,
            Version::Two => &TWO,
            Version::Three => &THREE,
        }
    }

    /// The unit of `l` for a row with this scale and this target.
    pub(super) fn unit(self, scale: f64, target: f64) -> f64 {
        match self {
            Version::One | Version::Two => scale,
            // A target of zero means that only the sign matters.
            Version::Three => target.max(1e-300),
        }
    }

    pub(super) fn ln_factor(self, (lambda, weight): Bet, x: f64) -> f64 {
        match self {
            Version::One | Version::Two => ln_factor(weight, lambda * x),
            Version::Three => ln_factor(weight, (lambda * x).clamp(-FARTHEST, FARTHEST)),
        }
    }
}

/// Finite for every finite `y`.
fn ln_factor(weight: f64, y: f64) -> f64 {
    if weight < 1.0 {
        (weight * y.tanh()).ln_1p()
    } else {
        // 1 + tanh y, without the loss of digits for y far below zero.
        y - ln_cosh(y)
    }
}

/// The e-process of one direction: the mean over all bets.
#[derive(Clone)]
pub(super) struct Mixture {
    version: Version,
    ln: [f64; THREE.len()],
}

impl Mixture {
    pub(super) fn new(version: Version) -> Self {
        Self { version, ln: [0.0; THREE.len()] }
    }

    /// Adds one round's difference beyond the minimum effect, in units of the scale.
    pub(super) fn add(&mut self, x: f64) {
        for (ln, bet) in self.ln.iter_mut().zip(self.version.bets()) {
            *ln += self.version.ln_factor(*bet, x);
        }
    }

    pub(super) fn ln(&self) -> f64 {
        ln_mean(&self.ln[..self.version.bets().len()])
    }
}

/// ln of the mean of numbers given by their logarithms.
pub(super) fn ln_mean(ln: &[f64]) -> f64 {
    let largest = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = ln.iter().map(|ln| (ln - largest).exp()).sum();
    largest + (sum / ln.len() as f64).ln()
}

fn ln_cosh(y: f64) -> f64 {
    let size = y.abs();
    size + (-2.0 * size).exp().ln_1p() - std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bet_is_fair_under_symmetry() {
        for version in [Version::One, Version::Two, Version::Three] {
            for bet in version.bets() {
                for x in [0.1, 1.0, 3.0, 300.0] {
                    let mean = (version.ln_factor(*bet, x).exp() + version.ln_factor(*bet, -x).exp()) / 2.0;
                    assert!((mean - 1.0).abs() < 1e-12, "{bet:?} at {x}: {mean}");
                }
            }
        }
    }

    #[test]
    fn an_outlier_of_the_wrong_sign_costs_seq_e_2_little_and_seq_e_nearly_everything() {
        let [one, two] = [Version::One, Version::Two].map(|version| {
            let mut mixture = Mixture::new(version);
            (0..20).for_each(|_| mixture.add(2.0));
            let before = mixture.ln();
            mixture.add(-100.0);
            before - mixture.ln()
        });
        assert!(two < 4.0 && one > 40.0, "{two} {one}");
    }
}
