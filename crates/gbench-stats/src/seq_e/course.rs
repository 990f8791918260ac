//! The course of one row through the rounds.

use super::bets::{Mixture, ln_mean};
use super::{
    CERTIFY_LATER, CERTIFY_SCREEN, CERTIFY_SHARED, Direction, FAR, Interval, MAX_UNRESOLVED, MIN_SCALE,
    Prior, SHARED_DIFFER, SHARED_NOISE, Screen, SequentialLimits, SequentialResult, SequentialStep, Series,
    Status, TQuantiles, Version, mean, median, signed_ranks, slots, variance,
};

struct Evidence {
    direction: Direction,
    effect: f64,
    plain: Mixture,
    /// If rows share an order effect, half of the stake is centred on it.
    centred: Option<Mixture>,
}

/// The difference of one bet.
#[derive(Clone, Copy)]
struct Bet {
    difference: f64,
    /// The expected effect of the order in it; 0 if no order effect is removed.
    by_order: f64,
}

impl Evidence {
    fn new(direction: Direction, effect: f64, version: Version, slots: bool) -> Self {
        let mixture = || Mixture::new(version);
        Self { direction, effect, plain: mixture(), centred: slots.then(mixture) }
    }

    fn add(&mut self, Bet { difference, by_order }: Bet, unit: f64) {
        let sign = self.direction.sign();
        self.plain.add((sign * difference - self.effect) / unit);
        if let Some(centred) = &mut self.centred {
            centred.add((sign * (difference - by_order) - self.effect) / unit);
        }
    }

    fn ln(&self) -> f64 {
        match &self.centred {
            None => self.plain.ln(),
            Some(centred) => ln_mean(&[self.plain.ln(), centred.ln()]),
        }
    }
}

pub(super) struct Course<'a> {
    series: &'a Series<'a>,
    limits: &'a SequentialLimits,
    prior: Prior,
    /// Rows of the family share an order effect.
    slots: bool,
    /// From 0 to 1: how far the rows of its cluster have common noise.
    shared_noise: f64,
    scale: f64,
    /// The bets so far.
    bets: Vec<Bet>,
    worse: Evidence,
    better: Evidence,
    pub(super) status: Status,
    /// Rounds whose evidence has been added.
    pub(super) rounds: usize,
    /// The basis of "unchanged", if it is not the t interval.
    certified: Option<Interval>,
    /// By direction: ln of the e-value needed at the last look.
    pub(super) ln_needed: [f64; 2],
}

impl<'a> Course<'a> {
    pub(super) fn new(series: &'a Series<'a>, screen: &Screen, limits: &'a SequentialLimits) -> Self {
        let prior = screen.priors.get(series.family).copied().unwrap_or(Prior::NONE);
        let shared_noise =
            series.cluster.and_then(|cluster| screen.shared_noise.get(series.family)?.get(cluster));
        let shared_noise = shared_noise.copied().unwrap_or(0.0);
        // Rows with the same noise cannot lend each other information about it.
        let prior = prior.at_most(prior.freedom * (1.0 - shared_noise.sqrt()));
        let slots = screen.slots.get(series.family).copied().unwrap_or(false);
        let r1 = limits.screen_rounds;
        let scale = if series.differences.len() >= r1 {
            // A smaller target is one of absolute differences, in its own unit.
            let least = if series.target < MIN_SCALE { series.target / 100.0 } else { MIN_SCALE };
            prior.moderate(variance(&series.differences[..r1]), (r1 - 1) as f64).sqrt().max(least)
        } else {
            f64::NAN
        };
        let evidence = |direction| Evidence::new(direction, series.min_effect, limits.version, slots);
        let (worse, better) = (evidence(Direction::Worse), evidence(Direction::Better));
        let ln_needed = [Direction::Worse, Direction::Better]
            .map(|direction| direction.ln_needed(limits, screen.candidates));
        let (status, rounds, certified) = (Status::Open, 0, None);
        Self {
            series,
            limits,
            prior,
            slots,
            shared_noise,
            scale,
            bets: Vec::new(),
            worse,
            better,
            status,
            rounds,
            certified,
            ln_needed,
        }
    }

    /// Available rounds that may be used.
    pub(super) fn there(&self) -> usize {
        self.series.differences.len().min(self.limits.most_rounds)
    }

    pub(super) fn ln(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Worse => self.worse.ln(),
            Direction::Better => self.better.ln(),
        }
    }

    /// Adds the evidence of the next round.
    pub(super) fn advance(&mut self) {
        self.rounds += 1;
        let Some(bet) = self.newest_bet() else { return };
        let unit = self.unit();
        self.worse.add(bet, unit);
        self.better.add(bet, unit);
        self.bets.push(bet);
    }

    fn unit(&self) -> f64 {
        self.limits.version.unit(self.scale, self.series.target)
    }

    fn newest_bet(&self) -> Option<Bet> {
        let (differences, newest) = (self.series.differences, self.rounds - 1);
        if self.limits.version == Version::Three && self.series.shared == 0 && newest < 2 {
            // The first two rounds have opposite orders and share one coin: they are one bet, in whose mean an order effect
            // cancels.
            let mean = || (differences[0] + differences[1]) / 2.0;
            return (newest == 1).then(|| Bet { difference: mean(), by_order: 0.0 });
        }
        let by_order = || if self.slots { slots::expected(self.series, newest) } else { 0.0 };
        (newest >= self.series.confirms_from(self.limits))
            .then(|| Bet { difference: differences[newest], by_order: by_order() })
    }

    /// ln of the e-value of the rounds so far against another effect.
    pub(super) fn ln_against(&self, effect: f64, direction: Direction) -> f64 {
        let mut evidence = Evidence::new(direction, effect, self.limits.version, self.slots);
        let unit = self.unit();
        self.bets.iter().for_each(|bet| evidence.add(*bet, unit));
        evidence.ln()
    }

    /// True if the evidence suffices even if rounding moved every difference as far as it can.
    pub(super) fn exceeds_rounding(&self, direction: Direction, needed: f64) -> bool {
        let unresolved = self.series.unresolved_after(self.rounds);
        unresolved == 0.0 || self.ln_against(self.series.min_effect + unresolved, direction) >= needed
    }

    pub(super) fn certify_screen(&mut self, quantiles: &mut TQuantiles) {
        if self.inside(self.level(), quantiles) {
            self.status = Status::Unchanged;
        }
    }

    /// Certifies by the rounds so far.
    pub(super) fn certify(&mut self, quantiles: &mut TQuantiles) {
        if self.inside(self.level(), quantiles) {
            self.status = Status::Unchanged;
            return;
        }
        let Some(room) = self.room() else { return };
        if self.limits.version != Version::One && signed_ranks::inside(self.estimated(self.rounds), room) {
            self.status = Status::Unchanged;
            self.certified = signed_ranks::interval(self.estimated(self.rounds));
        } else if let Some(contrast) = self.contrast(quantiles)
            && contrast.centre.abs() + (contrast.high - contrast.centre) < room
        {
            self.status = Status::Unchanged;
            self.certified = Some(contrast);
        }
    }

    fn contrast(&self, quantiles: &mut TQuantiles) -> Option<Interval> {
        let from = self.series.estimates_from(self.rounds, self.limits);
        let level = CERTIFY_LATER / 2.0;
        self.slots.then(|| slots::contrast(self.series, from, self.rounds, level, quantiles)).flatten()
    }

    /// One-sided level of the t interval after this many rounds. If the contrast of the orders is used, too, each has half.
    fn level(&self) -> f64 {
        let of_two = if self.slots { 2.0 } else { 1.0 };
        if self.shared_noise >= SHARED_NOISE {
            CERTIFY_SHARED / of_two
        } else if self.rounds <= self.limits.screen_rounds {
            CERTIFY_SCREEN
        } else {
            CERTIFY_LATER / of_two
        }
    }

    /// The rounds that an estimate after this many uses.
    fn estimated(&self, rounds: usize) -> &'a [f64] {
        &self.series.differences[self.series.estimates_from(rounds, self.limits)..rounds]
    }

    /// Mean so far and the half width of its one-sided `1 - beta` interval.
    fn interval(&self, beta: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        self.interval_of(self.estimated(self.rounds), beta, quantiles)
    }

    fn interval_of(&self, differences: &[f64], beta: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        let (centre, rounds) = (mean(differences).unwrap_or(f64::NAN), differences.len());
        if rounds < 2 {
            return (centre, f64::INFINITY);
        }
        let freedom = (rounds - 1) as f64;
        let moderated = self.prior.moderate(variance(differences), freedom);
        let quantile = quantiles.upper(beta, self.prior.freedom + freedom);
        (centre, quantile * (moderated / rounds as f64).sqrt())
    }

    /// The mean of the shared rounds if they clearly differ from the row's own rounds `own`: the mean is beyond the minimum
    /// effect by its interval, or the median is far beyond the scatter of an own round.
    fn shared_differ(&self, own: &[f64], quantiles: &mut TQuantiles) -> Option<f64> {
        let shared = &self.series.differences[..self.series.shared];
        let (centre, half) = self.interval_of(shared, SHARED_DIFFER, quantiles);
        let scatter = self.prior.moderate(variance(own), own.len().saturating_sub(1) as f64).sqrt();
        let apart = median(&mut shared.to_vec())? - mean(own)?;
        let is_far = apart.abs() - FAR * scatter > self.series.min_effect;
        (is_far || centre.abs() - half > self.series.min_effect).then_some(centre)
    }

    pub(super) fn inside(&self, beta: f64, quantiles: &mut TQuantiles) -> bool {
        let (centre, half) = self.interval(beta, quantiles);
        self.room().is_some_and(|room| centre.abs() + half < room)
    }

    /// The bound for a certifying interval: the target minus the uncertainty from rounding. `None` if nothing certifies, also
    /// with fewer rounds than the screen's.
    fn room(&self) -> Option<f64> {
        if self.estimated(self.rounds).len() < self.limits.screen_rounds {
            return None;
        }
        let (target, unresolved) = (self.series.target, self.series.unresolved_after(self.rounds));
        (unresolved <= MAX_UNRESOLVED * target).then_some(target - unresolved)
    }

    pub(super) fn step(&self, quantiles: &mut TQuantiles) -> SequentialStep {
        let (mean, half) = self.interval(self.level(), quantiles);
        let ranked = self.limits.version != Version::One && self.rounds > self.limits.screen_rounds;
        SequentialStep {
            rounds: self.rounds,
            mean,
            half,
            ranks: ranked.then(|| signed_ranks::interval(self.estimated(self.rounds))).flatten(),
            unresolved: self.series.unresolved_after(self.rounds),
            ln_worse: self.worse.ln(),
            ln_better: self.better.ln(),
        }
    }

    pub(super) fn result(&self, quantiles: &mut TQuantiles) -> SequentialResult {
        let (series, limits, rounds) = (self.series, self.limits, self.rounds);
        let (mean, half) = self.interval(self.level(), quantiles);
        let from = series.estimates_from(rounds, limits);
        let unchanged = self.status == Status::Unchanged;
        let shared_differ = (unchanged && from > 0)
            .then(|| self.shared_differ(&series.differences[from..rounds], quantiles))
            .flatten();
        SequentialResult {
            status: match self.status {
                Status::Open if rounds >= limits.most_rounds => Status::Exhausted,
                status => status,
            },
            rounds,
            confirms_from: series.confirms_from(limits),
            from,
            mean,
            half,
            level: self.level(),
            certified: self.certified,
            unresolved: series.unresolved_after(rounds),
            scale: self.scale,
            ln_worse: self.worse.ln(),
            ln_better: self.better.ln(),
            ln_needed_worse: self.ln_needed[Direction::Worse as usize],
            ln_needed_better: self.ln_needed[Direction::Better as usize],
            shared_differ,
        }
    }
}
