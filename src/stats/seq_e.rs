//! SEQ-E: screen a suite in a few rounds, then confirm the suspects on fresh rounds by e-processes.
//!
//! The input is one number for each benchmark and round: the difference of ln location between head and base, turned so
//! that up is worse. Base and head of a round run in an order that a fair coin decides, so with identical programs each
//! difference is as likely as its negative, whatever drift, correlation or clock state the two places in the round had.
//! For such a symmetric x and any `l`, E[exp(l x) / cosh(l x)] = 1, and less where the centre lies below the minimum
//! effect. The product over fresh rounds, averaged over a few `l`, is a nonnegative supermartingale, and by Ville's
//! inequality exceeds `M / alpha` with probability at most `alpha / M`: over `M` suspects, `alpha` at most, whenever one
//! looks and however often. Certifying "unchanged" rests on Student's t and can cost power, never a false red.

use super::prior::Prior;
use super::{TQuantiles, mean, sample_stddev};

/// What the rule is asked to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Chance of any false red in a whole suite.
    pub alpha: f64,
    /// Chance of any false "improved".
    pub alpha_improved: f64,
    /// Rounds of the screen, R1: at least 2.
    pub screen_rounds: usize,
    /// Most rounds in all, Rmax.
    pub most_rounds: usize,
}

/// One benchmark's differences by round.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    pub differences: &'a [f64],
    /// Certified unchanged within this, in logarithms; above `min_effect`, or equal to it.
    pub target: f64,
    /// A red must lie beyond this, in logarithms.
    pub min_effect: f64,
    /// Benchmarks of one family share a prior of their variances.
    pub family: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Regressed,
    Improved,
    Unchanged,
    /// Not decided by the rounds that are there; more may follow.
    Open,
    /// Not decided in `most_rounds`.
    Exhausted,
}

/// What the rule says of one benchmark, at the round at which it stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    pub status: Status,
    /// Rounds that the decision used; later ones are not looked at.
    pub rounds: usize,
    /// Mean difference over those rounds.
    pub mean: f64,
    /// Half width of the t interval around it, by the moderated variance, at the level of the screen or of later
    /// rounds; infinite below 2 rounds.
    pub half: f64,
    /// Standard deviation of one round's difference, moderated, from the screen: the unit of the e-process.
    pub scale: f64,
    /// ln of the e-values against "not worse" and "not better" than the minimum effect.
    pub ln_worse: f64,
    pub ln_better: f64,
}

/// What the screen fixed for the rounds after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Screen {
    /// M: benchmarks that the screen left open, at least 1.
    pub suspects: usize,
    /// By family; the weight already bounded.
    priors: Vec<Prior>,
}

/// One step of a benchmark's way, for explaining it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Rounds so far.
    pub rounds: usize,
    pub mean: f64,
    pub half: f64,
    pub ln_worse: f64,
    pub ln_better: f64,
}

/// Mixed with equal weight: small ones for small steady effects, large ones for large ones.
pub const LAMBDAS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// One-sided levels of the interval that certifies "unchanged": in the screen, and later.
pub const CERTIFY_SCREEN: f64 = 0.01;
pub const CERTIFY_LATER: f64 = 0.003;
/// A prior never counts for more than this many rounds.
const MOST_PRIOR: f64 = 8.0;
/// Below this a difference of logarithms is no noise that a timer can show.
const LEAST_SCALE: f64 = 2e-4;

impl Limits {
    /// ln of the e-value that a red needs among `suspects`.
    pub fn ln_red(&self, suspects: usize) -> f64 {
        (suspects.max(1) as f64 / self.alpha).ln()
    }

    pub fn ln_improved(&self, suspects: usize) -> f64 {
        (suspects.max(1) as f64 / self.alpha_improved).ln()
    }

    /// Least fresh rounds after which a red is possible: each multiplies the e-value by less than 2.
    pub fn least_fresh_rounds(&self, suspects: usize) -> usize {
        (self.ln_red(suspects) / std::f64::consts::LN_2).ceil() as usize
    }
}

/// Decides every benchmark by the rounds that are there. Pure: the same numbers give the same rulings, bit for bit, in
/// whatever portions they came.
pub fn decide(series: &[Series], limits: &Limits) -> (Screen, Vec<Ruling>) {
    let mut quantiles = TQuantiles::default();
    let screen = screen(series, limits, &mut quantiles);
    let rulings = series.iter().map(|one| follow(one, &screen, limits, &mut quantiles, |_| {})).collect();
    (screen, rulings)
}

/// Every step of one benchmark up to its decision, after [`decide`] has given the screen.
pub fn steps(series: &Series, screen: &Screen, limits: &Limits) -> Vec<Step> {
    let mut steps = Vec::new();
    follow(series, screen, limits, &mut TQuantiles::default(), |step| steps.push(step));
    steps
}

fn screen(series: &[Series], limits: &Limits, quantiles: &mut TQuantiles) -> Screen {
    let r1 = limits.screen_rounds;
    let families = series.iter().map(|one| one.family + 1).max().unwrap_or(0);
    let mut variances = vec![Vec::new(); families];
    for one in series.iter().filter(|one| one.differences.len() >= r1) {
        variances[one.family].push(variance(&one.differences[..r1]));
    }
    let freedom = (r1 - 1) as f64;
    let priors: Vec<Prior> =
        variances.iter().map(|family| Prior::fit(family, freedom).at_most(MOST_PRIOR)).collect();
    let survives = |one: &&Series| match one.differences.len() >= r1 {
        true => !Track::new(one, &priors, limits).inside(r1, CERTIFY_SCREEN, quantiles),
        // Not screened yet: it may still become a suspect.
        false => true,
    };
    Screen { suspects: series.iter().filter(survives).count().max(1), priors }
}

fn follow(
    series: &Series,
    screen: &Screen,
    limits: &Limits,
    quantiles: &mut TQuantiles,
    mut observe: impl FnMut(Step),
) -> Ruling {
    let r1 = limits.screen_rounds;
    let track = Track::new(series, &screen.priors, limits);
    let (mut worse, mut better) = (Mixture::default(), Mixture::default());
    let there = series.differences.len().min(limits.most_rounds);
    let mut status = Status::Open;
    let mut rounds = there.min(r1);
    let mut step = |rounds, worse: &Mixture, better: &Mixture, quantiles: &mut TQuantiles| {
        let level = if rounds <= r1 { CERTIFY_SCREEN } else { CERTIFY_LATER };
        let (mean, half) = track.interval(rounds, level, quantiles);
        observe(Step { rounds, mean, half, ln_worse: worse.ln(), ln_better: better.ln() });
    };
    for k in 2..=rounds {
        step(k, &worse, &better, quantiles);
    }
    if there >= r1 {
        let (red, green) = (limits.ln_red(screen.suspects), limits.ln_improved(screen.suspects));
        if track.inside(r1, CERTIFY_SCREEN, quantiles) {
            status = Status::Unchanged;
        }
        while status == Status::Open && rounds < there {
            let difference = series.differences[rounds];
            worse.add((difference - series.min_effect) / track.scale);
            better.add((-difference - series.min_effect) / track.scale);
            rounds += 1;
            step(rounds, &worse, &better, quantiles);
            status = if worse.ln() >= red {
                Status::Regressed
            } else if better.ln() >= green {
                Status::Improved
            } else if track.inside(rounds, CERTIFY_LATER, quantiles) {
                Status::Unchanged
            } else {
                Status::Open
            };
        }
    }
    if status == Status::Open && rounds >= limits.most_rounds {
        status = Status::Exhausted;
    }
    let level = if rounds <= r1 { CERTIFY_SCREEN } else { CERTIFY_LATER };
    let (mean, half) = track.interval(rounds, level, quantiles);
    Ruling { status, rounds, mean, half, scale: track.scale, ln_worse: worse.ln(), ln_better: better.ln() }
}

/// One benchmark with what the screen knows of its noise.
struct Track<'a> {
    series: &'a Series<'a>,
    prior: Prior,
    scale: f64,
}

impl<'a> Track<'a> {
    fn new(series: &'a Series<'a>, priors: &[Prior], limits: &Limits) -> Self {
        let prior = priors.get(series.family).copied().unwrap_or(Prior::NONE);
        let r1 = limits.screen_rounds;
        let scale = match series.differences.len() >= r1 {
            true => {
                prior.moderate(variance(&series.differences[..r1]), (r1 - 1) as f64).sqrt().max(LEAST_SCALE)
            }
            false => f64::NAN,
        };
        Self { series, prior, scale }
    }

    /// Mean of the first `rounds` and the half width of its one-sided `1 - beta` interval.
    fn interval(&self, rounds: usize, beta: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        let first = &self.series.differences[..rounds];
        let centre = mean(first).unwrap_or(f64::NAN);
        if rounds < 2 {
            return (centre, f64::INFINITY);
        }
        let freedom = (rounds - 1) as f64;
        let moderated = self.prior.moderate(variance(first), freedom);
        let quantile = quantiles.upper(beta, self.prior.freedom + freedom);
        (centre, quantile * (moderated / rounds as f64).sqrt())
    }

    fn inside(&self, rounds: usize, beta: f64, quantiles: &mut TQuantiles) -> bool {
        let (centre, half) = self.interval(rounds, beta, quantiles);
        centre.abs() + half < self.series.target
    }
}

/// The e-process of one direction: one factor a round for each lambda.
#[derive(Clone, Default)]
struct Mixture([f64; LAMBDAS.len()]);

impl Mixture {
    fn add(&mut self, x: f64) {
        for (ln, lambda) in self.0.iter_mut().zip(LAMBDAS) {
            *ln += lambda * x - ln_cosh(lambda * x);
        }
    }

    /// ln of the mean over the lambdas.
    fn ln(&self) -> f64 {
        let largest = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.0.iter().map(|ln| (ln - largest).exp()).sum();
        largest + (sum / LAMBDAS.len() as f64).ln()
    }
}

/// ln cosh y without overflow.
fn ln_cosh(y: f64) -> f64 {
    let size = y.abs();
    size + (-2.0 * size).exp().ln_1p() - std::f64::consts::LN_2
}

/// Sample variance; 0 of fewer than two values.
fn variance(values: &[f64]) -> f64 {
    sample_stddev(values).map_or(0.0, |deviation| deviation * deviation)
}

/// The largest minimum effect against which the fresh rounds `differences` would still have called a red: a lower
/// bound of the true effect that holds at every look, for all `suspects` together, with probability `1 - alpha`.
/// `None` where not even 0 is excluded.
pub fn at_least(fresh: &[f64], scale: f64, limits: &Limits, suspects: usize) -> Option<f64> {
    let needed = limits.ln_red(suspects);
    let ln = |effect: f64| {
        let mut mixture = Mixture::default();
        fresh.iter().for_each(|difference| mixture.add((difference - effect) / scale));
        mixture.ln()
    };
    if ln(0.0) < needed {
        return None;
    }
    let (mut low, mut high) = (0.0, fresh.iter().copied().fold(0.0, f64::max));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if ln(middle) >= needed { low = middle } else { high = middle }
    }
    Some(low)
}

/// The smallest effect, in logarithms, that `fresh` rounds of normal noise with deviation `noise` would be called red
/// for, four times out of five. Infinite where the rounds are too few for any.
pub fn detectable(fresh: usize, noise: f64, min_effect: f64, limits: &Limits, suspects: usize) -> f64 {
    if fresh < limits.least_fresh_rounds(suspects) {
        return f64::INFINITY;
    }
    let scale = noise.max(LEAST_SCALE);
    let needed = limits.ln_red(suspects) + (LAMBDAS.len() as f64).ln();
    let enough = |effect: f64| {
        LAMBDAS.iter().any(|lambda| {
            let (mean, deviation) = growth(*lambda, (effect - min_effect) / scale);
            let fresh = fresh as f64;
            fresh * mean - POWER_Z * fresh.sqrt() * deviation >= needed
        })
    };
    let (mut low, mut high) = (min_effect, min_effect + scale);
    while !enough(high) {
        low = high;
        high = min_effect + (high - min_effect) * 2.0;
        if high > min_effect + 1e4 * scale {
            return f64::INFINITY;
        }
    }
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// Mean gain of ln e a round for an effect that lies `beyond` the minimum effect, in units of the scale; 0 or less
/// where there is none.
pub fn pace(beyond: f64) -> f64 {
    let best = LAMBDAS.iter().map(|lambda| growth(*lambda, beyond).0).fold(f64::NEG_INFINITY, f64::max);
    best.max(0.0)
}

/// Standard normal quantile of 0.8: effects called detectable are found four times out of five.
const POWER_Z: f64 = 0.841_621_233_572_914_2;

/// Mean and deviation of one round's ln factor for `x ~ N(centre, 1)`, by the Gauss-Hermite rule of seven points.
fn growth(lambda: f64, centre: f64) -> (f64, f64) {
    // Nodes and weights of the rule for the standard normal (Abramowitz & Stegun table 25.10, rescaled).
    const RULE: [(f64, f64); 7] = [
        (0.0, 0.457_142_857_142_857_1),
        (1.154_405_394_739_968, 0.240_123_178_605_012_7),
        (-1.154_405_394_739_968, 0.240_123_178_605_012_7),
        (2.366_759_410_734_541, 0.030_757_123_967_586_5),
        (-2.366_759_410_734_541, 0.030_757_123_967_586_5),
        (3.750_439_717_725_742, 0.000_548_268_855_972_218),
        (-3.750_439_717_725_742, 0.000_548_268_855_972_218),
    ];
    let gain = |x: f64| lambda * x - ln_cosh(lambda * x);
    let mean: f64 = RULE.iter().map(|(node, weight)| weight * gain(centre + node)).sum();
    let square: f64 = RULE.iter().map(|(node, weight)| weight * (gain(centre + node) - mean).powi(2)).sum();
    (mean, square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    const LIMITS: Limits = Limits { alpha: 0.01, alpha_improved: 0.05, screen_rounds: 3, most_rounds: 40 };

    fn series(differences: &[f64]) -> Series<'_> {
        Series { differences, target: 0.02, min_effect: 0.0025, family: 0 }
    }

    #[derive(serde::Deserialize)]
    struct Golden {
        d: Vec<Vec<f64>>,
        #[serde(rename = "prior_R3")]
        prior: GoldenPrior,
        eproc: GoldenVerdicts,
    }

    #[derive(serde::Deserialize)]
    struct GoldenPrior {
        d0: f64,
        s0_sq: f64,
    }

    #[derive(serde::Deserialize)]
    struct GoldenVerdicts {
        status: Vec<String>,
        rounds: Vec<usize>,
    }

    /// What `fixtures/statistics/seq_e.json` calls each status.
    fn word(status: Status) -> &'static str {
        match status {
            Status::Regressed => "regressed",
            Status::Improved => "improved",
            Status::Unchanged => "unchanged",
            Status::Open | Status::Exhausted => "inconclusive",
        }
    }

    #[test]
    fn statuses_rounds_and_priors_are_those_of_the_reference() {
        let path = format!("{}/fixtures/statistics/seq_e.json", env!("CARGO_MANIFEST_DIR"));
        let golden: Vec<Golden> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(golden.len(), 5);
        for suite in golden {
            let variances: Vec<f64> = suite.d.iter().map(|d| variance(&d[..3])).collect();
            let prior = Prior::fit(&variances, 2.0);
            assert!((prior.freedom / suite.prior.d0 - 1.0).abs() < 1e-5, "{prior:?}");
            assert!((prior.variance / suite.prior.s0_sq - 1.0).abs() < 1e-5, "{prior:?}");
            let all: Vec<Series> = suite.d.iter().map(|d| series(d)).collect();
            let (_, rulings) = decide(&all, &LIMITS);
            let words: Vec<_> = rulings.iter().map(|ruling| word(ruling.status)).collect();
            let rounds: Vec<_> = rulings.iter().map(|ruling| ruling.rounds).collect();
            assert_eq!(
                (words, rounds),
                (suite.eproc.status.iter().map(String::as_str).collect(), suite.eproc.rounds)
            );
        }
    }

    #[test]
    fn a_red_needs_its_rounds_however_large_the_effect() {
        let suite = [[0.5; 40]; 27];
        let all: Vec<Series> = suite.iter().map(|d| series(d)).collect();
        let (screen, rulings) = decide(&all, &LIMITS);
        assert_eq!((screen.suspects, LIMITS.least_fresh_rounds(27)), (27, 12));
        assert!(rulings.iter().all(|ruling| ruling.status == Status::Regressed && ruling.rounds == 15));
    }

    #[test]
    fn too_few_rounds_leave_it_open_and_too_many_end_it() {
        let noisy: Vec<f64> = (0..40).map(|round| if round % 2 == 0 { 0.2 } else { -0.2 }).collect();
        for (rounds, status) in
            [(0, Status::Open), (2, Status::Open), (39, Status::Open), (40, Status::Exhausted)]
        {
            let (_, rulings) = decide(&[series(&noisy[..rounds])], &LIMITS);
            assert_eq!((rulings[0].status, rulings[0].rounds), (status, rounds));
        }
    }

    #[test]
    fn constant_differences_have_a_scale() {
        let (_, rulings) = decide(&[series(&[0.0; 3]), series(&[0.19; 40])], &LIMITS);
        assert_eq!(rulings[0].status, Status::Unchanged);
        assert_eq!(rulings[1].status, Status::Regressed);
        assert_eq!(rulings[1].scale, LEAST_SCALE);
    }

    #[test]
    fn the_lower_bound_lies_between_the_minimum_effect_and_the_mean() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(5);
        let differences: Vec<f64> = (0..40).map(|_| 0.05 + 0.02 * (random.random::<f64>() - 0.5)).collect();
        let all = [series(&differences)];
        let (screen, rulings) = decide(&all, &LIMITS);
        let ruling = &rulings[0];
        assert_eq!(ruling.status, Status::Regressed);
        let bound = at_least(&differences[3..ruling.rounds], ruling.scale, &LIMITS, screen.suspects).unwrap();
        assert!(bound >= 0.0025 && bound < ruling.mean, "{bound} of {}", ruling.mean);
        assert_eq!(at_least(&differences[3..5], ruling.scale, &LIMITS, screen.suspects), None);
    }

    /// What is called detectable is found in about four of five simulated benchmarks, and half of it in few.
    #[test]
    fn a_detectable_effect_is_mostly_found() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(9);
        let mut normal = move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let noise = 0.02;
        let effect = detectable(37, noise, 0.0025, &LIMITS, 5);
        assert!(effect > 0.01 && effect < 0.06, "{effect}");
        let mut found = |effect: f64| {
            let red = |_: &u32| {
                let mut mixture = Mixture::default();
                (0..37).any(|_| {
                    mixture.add((effect + noise * normal() - 0.0025) / noise);
                    mixture.ln() >= LIMITS.ln_red(5)
                })
            };
            (0..1000).filter(red).count()
        };
        assert!((750..=950).contains(&found(effect)), "{}", found(effect));
        assert!(found(effect / 2.0) < 400);
        assert_eq!(detectable(5, noise, 0.0025, &LIMITS, 5), f64::INFINITY);
    }

    proptest! {
        /// Adding rounds later is valid: what was decided stays decided, at the same round.
        #[test]
        fn a_decision_stands_whatever_rounds_come_after_it(seed in 0u64..1000, cut in 3usize..40) {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let mut draw = |shift: f64| -> Vec<f64> {
                (0..40).map(|_| shift + 0.02 * (random.random::<f64>() - 0.5)).collect()
            };
            let suite = [draw(0.0), draw(0.03), draw(-0.04), draw(0.015), draw(0.0)];
            let whole: Vec<Series> = suite.iter().map(|d| series(d)).collect();
            let part: Vec<Series> = suite.iter().map(|d| series(&d[..cut])).collect();
            let (after, before) = (decide(&whole, &LIMITS), decide(&part, &LIMITS));
            prop_assert_eq!(&after.0, &before.0);
            for (after, before) in after.1.iter().zip(&before.1) {
                if before.status != Status::Open {
                    prop_assert_eq!(after, before);
                } else {
                    prop_assert!(after.rounds >= cut);
                }
            }
        }

        /// Exchanging the sides of every round turns each difference round: regressed and improved change places,
        /// but for their different levels.
        #[test]
        fn the_sides_are_treated_alike(seed in 0u64..500) {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let differences: Vec<f64> = (0..40).map(|_| 0.03 + 0.02 * (random.random::<f64>() - 0.5)).collect();
            let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            let limits = Limits { alpha_improved: 0.01, ..LIMITS };
            let (_, there) = decide(&[series(&differences)], &limits);
            let (_, back) = decide(&[series(&turned)], &limits);
            prop_assert_eq!(there[0].status == Status::Regressed, back[0].status == Status::Improved);
            prop_assert_eq!((there[0].rounds, there[0].ln_worse), (back[0].rounds, back[0].ln_better));
        }
    }
}
