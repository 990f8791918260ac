//! The rule over a suite: screens, calls and certifies rows.

use super::course::Course;
use super::{
    CERTIFY_SCREEN, Direction, MAX_PRIOR, Prior, Screen, SequentialLimits, SequentialResult, SequentialStep,
    Series, Status, TQuantiles, Version, mean, sample_stddev, slots, variance,
};

/// Decides every benchmark by the available rounds. Pure: the same numbers give the same results, bit for bit, in whatever
/// portions they came.
pub fn decide(series: &[Series], limits: &SequentialLimits) -> (Screen, Vec<SequentialResult>) {
    let mut quantiles = TQuantiles::default();
    let screen = screen(series, limits, &mut quantiles);
    let mut courses: Vec<Course> = series.iter().map(|one| Course::new(one, &screen, limits)).collect();
    let r1 = limits.screen_rounds;
    for course in &mut courses {
        (0..course.there().min(r1)).for_each(|_| course.advance());
        if course.rounds == r1 {
            course.certify_screen(&mut quantiles);
        }
    }
    // Screening rounds are evidence from SEQ-E 3 on.
    let first = if limits.version == Version::Three { r1 } else { r1 + 1 };
    let last = courses.iter().map(Course::there).max().unwrap_or(0);
    for round in first..=last {
        let is_looked_at = |course: &Course| course.status == Status::Open && course.there() >= round;
        let looked_at: Vec<usize> = (0..courses.len()).filter(|at| is_looked_at(&courses[*at])).collect();
        if round > r1 {
            looked_at.iter().for_each(|at| courses[*at].advance());
        }
        for direction in [Direction::Worse, Direction::Better] {
            call(&mut courses, &looked_at, direction, &screen, limits);
        }
        for at in looked_at.into_iter().filter(|_| round > r1) {
            if courses[at].status == Status::Open {
                courses[at].certify(&mut quantiles);
            }
        }
    }
    let results = courses.iter().map(|course| course.result(&mut quantiles)).collect();
    (screen, results)
}

/// Calls rows red or improved whose evidence suffices. From SEQ-E 3 on by Holm's rule: each called row lowers the threshold
/// for the others.
fn call(
    courses: &mut [Course],
    looked_at: &[usize],
    direction: Direction,
    screen: &Screen,
    limits: &SequentialLimits,
) {
    let mut called = match limits.version {
        Version::One | Version::Two => 0,
        Version::Three => courses.iter().filter(|course| course.status == direction.called()).count(),
    };
    let open = looked_at.iter().filter(|at| courses[**at].status == Status::Open);
    let mut most_first: Vec<(f64, usize)> = open.map(|at| (courses[*at].ln(direction), *at)).collect();
    most_first.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (ln, at) in most_first {
        let needed = direction.ln_needed(limits, screen.candidates.saturating_sub(called));
        let course = &mut courses[at];
        course.ln_needed[direction as usize] = needed;
        if ln >= needed && course.exceeds_rounding(direction, needed) {
            course.status = direction.called();
            called += usize::from(limits.version == Version::Three);
        }
    }
}

/// Every step of one benchmark up to its decision, given the result and screen of [`decide`].
pub fn steps(
    series: &Series,
    result: &SequentialResult,
    screen: &Screen,
    limits: &SequentialLimits,
) -> Vec<SequentialStep> {
    let mut quantiles = TQuantiles::default();
    let mut course = Course::new(series, screen, limits);
    let mut step = |_| {
        course.advance();
        course.step(&mut quantiles)
    };
    (0..result.rounds).map(&mut step).filter(|step| step.rounds > 1).collect()
}

fn screen(series: &[Series], limits: &SequentialLimits, quantiles: &mut TQuantiles) -> Screen {
    let r1 = limits.screen_rounds;
    let families = series.iter().map(|one| one.family + 1).max().unwrap_or(0);
    let mut variances = vec![Vec::new(); families];
    for one in series.iter().filter(|one| one.differences.len() >= r1) {
        variances[one.family].push(variance(&one.differences[..r1]));
    }
    let freedom = (r1 - 1) as f64;
    let priors: Vec<Prior> =
        variances.iter().map(|family| Prior::fit(family, freedom).at_most(MAX_PRIOR)).collect();
    if limits.version == Version::Three {
        let of_family = |family| series.iter().filter(move |one| one.family == family);
        let slots = (0..families).map(|family| slots::is_clear(of_family(family))).collect();
        let clusters = series.iter().filter_map(|one| one.cluster).max().map_or(0, |last| last + 1);
        let of_cluster = |family, cluster| {
            let rows = of_family(family).filter(move |one| one.cluster == Some(cluster));
            rows.filter_map(|one| one.differences.get(..r1))
        };
        let shared_noise =
            |family| (0..clusters).map(move |it| correlation(of_cluster(family, it))).collect();
        let shared_noise = (0..families).map(shared_noise).collect();
        return Screen { candidates: (series.len() + limits.beside).max(1), priors, slots, shared_noise };
    }
    let mut screen = Screen { candidates: 1, priors, slots: Vec::new(), shared_noise: Vec::new() };
    // A row that is not screened yet may still become a candidate.
    let mut survives = |one: &&Series| {
        let mut course = Course::new(one, &screen, limits);
        (0..course.there().min(r1)).for_each(|_| course.advance());
        course.rounds < r1 || !course.inside(CERTIFY_SCREEN, quantiles)
    };
    screen.candidates = series.iter().filter(&mut survives).count().max(1);
    screen
}

/// The mean correlation between rows, from their rounds: 0 if they are independent, or too few.
fn correlation<'a>(rows: impl Iterator<Item = &'a [f64]>) -> f64 {
    let (mut sums, mut count): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for row in rows {
        let (Some(mean), Some(deviation)) =
            (mean(row), sample_stddev(row).filter(|deviation| *deviation > 0.0))
        else {
            continue;
        };
        sums.resize(row.len(), 0.0);
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += (value - mean) / deviation);
        count += 1.0;
    }
    if count < 2.0 {
        return 0.0;
    }
    // The squares of the sums are proportional to the number of rows if these are independent, and to its square if they are
    // equal.
    let square = sums.iter().map(|sum| sum * sum).sum::<f64>() / ((sums.len() - 1) as f64 * count);
    ((square - 1.0) / (count - 1.0)).clamp(0.0, 1.0)
}

/// The largest minimum effect against which the rounds of a red would still have called it: a lower bound of the true effect,
/// valid at every look and for all rows together with probability `1 - alpha`; likewise for an improvement. `None` if nothing
/// was called.
pub fn at_least(
    series: &Series,
    result: &SequentialResult,
    screen: &Screen,
    limits: &SequentialLimits,
) -> Option<f64> {
    let direction = match result.status {
        Status::Regressed => Direction::Worse,
        Status::Improved => Direction::Better,
        _ => return None,
    };
    let mut course = Course::new(series, screen, limits);
    (0..result.rounds).for_each(|_| course.advance());
    let needed = direction.ln_needed(limits, screen.candidates);
    let ln = |effect: f64| course.ln_against(effect, direction);
    let least = match limits.version {
        Version::One | Version::Two => 0.0,
        // A row called by Holm's rule is beyond the minimum effect, but only Bonferroni's bound is valid for all rows at once.
        Version::Three => series.min_effect,
    };
    if ln(least) < needed {
        return (limits.version == Version::Three).then_some(least);
    }
    let rounds = series.differences[..result.rounds].iter().map(|difference| direction.sign() * difference);
    let (mut low, mut high) = (least, rounds.fold(least, f64::max));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if ln(middle) >= needed { low = middle } else { high = middle }
    }
    Some(low)
}
