//! The fixed number of rounds that finds as much as SEQ-E, chosen with hindsight: what the sequential rule saves.

use gbench_ci::stats::seq_e::Status;

use super::draw::Seed;
use super::ours::{Rounds, SeqE};
use super::paired::fixed_reds;
use super::simulate::{Profile, Suite};
use super::trials::{Mean, PLANTED_EVERY, SIZE, Said, each, is_planted};

const MAX_ROUNDS: usize = 40;

/// Rounds of a fixed design: of about the power of SEQ-E, and of two standard errors less and more.
pub struct Fixed {
    pub low: usize,
    pub here: usize,
    pub high: usize,
}

impl Fixed {
    const MIN_ROUNDS: usize = 4;

    /// `ours`: what SEQ-E said of the suites with changes of 2 % and 3 %.
    pub fn of_equal_power(profile: &Profile, ours: [&[Said]; 2], seed: Seed) -> Self {
        let count = ours[0].len();
        // By number of rounds: what the fixed design finds more than SEQ-E, by planted benchmark, at both changes.
        let gains: Vec<Vec<Vec<f64>>> = [2.0, 3.0]
            .iter()
            .zip(ours)
            .flat_map(|(percent, ours)| {
                each(count, |index| gains(profile, *percent, &ours[index], index, seed))
            })
            .collect();
        let more = |at: usize| {
            Mean::of(&gains.iter().flat_map(|suite| suite[at].iter().copied()).collect::<Vec<_>>())
        };
        let more: Vec<Mean> = (0..=MAX_ROUNDS - Self::MIN_ROUNDS).map(more).collect();
        let first = |errors: f64| {
            let enough = |more: &Mean| more.value + errors * more.error >= 0.0;
            more.iter().position(enough).map_or(MAX_ROUNDS, |at| at + Self::MIN_ROUNDS)
        };
        Self { low: first(2.0), here: first(0.0), high: first(-2.0) }
    }
}

/// For each number of rounds and planted benchmark of one suite: 1 where only the fixed design finds it, -1 where only
/// SEQ-E does.
fn gains(profile: &Profile, percent: f64, ours: &Said, index: usize, seed: Seed) -> Vec<Vec<f64>> {
    let mut random = seed.named("planted").named(profile.name).at(index as u64).random();
    let suite = Suite::draw(profile, SIZE, &mut random);
    let change = |at| if is_planted(at) { (percent / 100.0).ln_1p() } else { 0.0 };
    let change: Vec<f64> = (0..SIZE).map(change).collect();
    let all = Rounds::new(&suite, &change, MAX_ROUNDS, SeqE::USUAL, &mut random).all(MAX_ROUNDS);
    let gain = |(fixed, ours): (bool, &Status)| {
        f64::from(u8::from(fixed)) - f64::from(u8::from(*ours == Status::Regressed))
    };
    let at = |rounds| {
        let fixed = fixed_reds(&all, rounds).into_iter().step_by(PLANTED_EVERY);
        fixed.zip(ours.statuses.iter().step_by(PLANTED_EVERY)).map(gain).collect()
    };
    (Fixed::MIN_ROUNDS..=MAX_ROUNDS).map(at).collect()
}
