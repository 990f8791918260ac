//! The sections of the report, each printed as soon as it is known. What is being computed is told on stderr.

use gbench_ci::stats::sample_stddev;
use gbench_ci::stats::seq_e::Status;

use super::draw::Seed;
use super::fixed::Fixed;
use super::goals::{Bound, Figure, Goal, Unit};
use super::ours::{self, Rounds, SeqE, USUAL};
use super::simulate::{BRIEF, NOISY, Profile, QUIET, Suite, TYPICAL};
use super::table::{markdown, percent};
use super::trials::*;
use super::{awkward, cost, paired, peers};

/// Sizes of the planted changes, in percent.
const CHANGES: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 10.0];
/// Cost model: a launch runs all benchmarks that are still open.
const LAUNCH_SECONDS: f64 = 1.0;
const ITERATION_SECONDS: f64 = 1e-3;
const MAX_ROUNDS: usize = 40;
/// Noise of one round's difference below which the goals ask for more.
const STEADY: f64 = 0.01;

pub struct Report {
    pub seed: Seed,
    pub counts: Counts,
    pub goals: Vec<Goal>,
}

impl Report {
    pub fn goal(&mut self, what: impl Into<String>, figure: Figure, bound: Bound, unit: Unit) {
        self.goals.push(Goal { what: what.into(), figure, bound, unit });
    }

    /// Every rule on the typical profile.
    pub fn rules(&mut self) {
        let Counts { unchanged: level, unchanged_peers, planted: power, .. } = self.counts;
        println!("## Decision quality and cost, profile \"typical\" ({})\n", TYPICAL.noise);
        println!(
            "Red: suites of {SIZE} unchanged benchmarks with any red. +x %: share (in percent) of the slowed benchmarks \
             called red, {} of {SIZE} in each of {power} suites; standard error at most {} points. Iterations per benchmark, both \
             sides, and GPU seconds (1 s a launch, 1 ms an iteration) where nothing changed.\n",
            SIZE / PLANTED_EVERY,
            percent(0.5 / ((power * SIZE / PLANTED_EVERY) as f64).sqrt())
        );
        let promises = ours::rules().len() + 1 + paired::rules().len();
        let before = [SeqE::FIRST.named("SEQ-E")];
        let rules = ours::rules().into_iter().chain(before).chain(paired::rules()).chain(peers::rules());
        let mut rows = Vec::new();
        let mut lean = None;
        let mut cheapest_peer = f64::INFINITY;
        for (index, rule) in rules.enumerate() {
            eprintln!("typical: {}", rule.name.replace("**", ""));
            let count = if index < promises { level } else { unchanged_peers };
            let said = unchanged(&rule, &TYPICAL, count, self.seed);
            let red = red_suites(&said);
            let iterations = mean_of(&said, |one| one.iterations);
            let launches = mean_of(&said, |one| one.launches).value;
            let seconds = launches * LAUNCH_SECONDS + iterations.value * SIZE as f64 * ITERATION_SECONDS;
            let mut row = vec![rule.name.to_owned(), format!("{} of {}", red.hits, red.of)];
            for change in CHANGES {
                let said = planted(&rule, &TYPICAL, power, change, self.seed);
                row.push(percent(found(&said, Status::Regressed).value()));
            }
            row.extend([format!("{:.0}", iterations.value), format!("{seconds:.0}")]);
            rows.push(row);
            match rule.name {
                name if name.contains("lean") => {
                    self.goal(
                        "3. Iterations per benchmark, lean, typical",
                        Figure::Mean(iterations),
                        Bound::AtMost(200.0),
                        Unit::Plain,
                    );
                    lean = Some(iterations);
                }
                name if ["nvbench", "criterion", "google"].iter().any(|peer| name.starts_with(peer)) => {
                    cheapest_peer = cheapest_peer.min(iterations.value);
                }
                _ => {}
            }
        }
        let header = ["rule", "red", "+1 %", "+2 %", "+3 %", "+5 %", "+10 %", "iterations", "GPU s"];
        println!("{}", markdown(&header, &rows));
        if let Some(Mean { value, error }) = lean {
            let figure = Mean { value: cheapest_peer / value, error: cheapest_peer / value * error / value };
            self.goal(
                "5. Iterations of NVBench, criterion, Google Benchmark (the cheapest) over lean",
                Figure::Mean(figure),
                Bound::AtLeast(5.0),
                Unit::Times,
            );
        }
    }

    /// SEQ-E in every profile, against the fixed design of about equal power.
    pub fn profiles(&mut self) {
        let power = self.counts.planted_goals;
        println!("## SEQ-E 3 in every profile\n");
        println!(
            "Standard, lean, at most 24 rounds and alternating: red suites of {} each. Power and cost: standard; power from \
             {} slowed benchmarks each. Fixed: the cheapest fixed paired t (Bonferroni) with at least its power over +2 % and \
             +3 % together on the same suites, its number of rounds R chosen with hindsight; in brackets the R for two \
             standard errors less and more.\n",
            self.counts.unchanged,
            power * SIZE / PLANTED_EVERY
        );
        let mut rows = Vec::new();
        for profile in [QUIET, TYPICAL, BRIEF, NOISY] {
            eprintln!("SEQ-E 3: {}", profile.name);
            rows.push(self.profile(&profile));
        }
        let header = [
            "profile",
            "red",
            "lean",
            "24 rounds",
            "alternating",
            "+2 %",
            "+3 %",
            "+5 %",
            "unchanged at +2 %",
            "rounds",
            "iterations (lean)",
            "inconclusive",
            "fixed R",
            "fixed iterations",
            "ratio",
        ];
        println!("{}", markdown(&header, &rows));
    }

    fn profile(&mut self, profile: &Profile) -> Vec<String> {
        let Counts { unchanged: level, planted_goals: power, .. } = self.counts;
        let mut row = vec![format!("{} ({})", profile.name, profile.noise)];
        let all: Vec<Vec<Said>> =
            ours::rules().iter().map(|rule| unchanged(rule, profile, level, self.seed)).collect();
        let red: Vec<Share> = all.iter().map(|said| red_suites(said)).collect();
        row.extend(red.iter().map(|red| format!("{} of {}", red.hits, red.of)));
        if let Some(worst) = red.iter().max_by_key(|red| red.hits) {
            let what = format!("1. Red suites without a change, {}, the worst of four ways", profile.name);
            self.goal(what, Figure::Share(*worst), Bound::AtMost(2.0 / 600.0), Unit::Of);
        }
        let standard = SeqE::USUAL.named("SEQ-E 3");
        let said = [2.0, 3.0, 5.0].map(|change| planted(&standard, profile, power, change, self.seed));
        let found = said.each_ref().map(|said| found(said, Status::Regressed));
        row.extend(found.map(|share| percent(share.value())));
        row.push(percent(super::trials::found(&said[0], Status::Unchanged).value()));
        let bounds = match profile.name {
            "quiet" => Some((0.97, 0.99, 3.5)),
            "typical" => Some((0.92, 0.98, 4.0)),
            "noisy" => Some((f64::NAN, 0.90, 2.0)),
            _ => None,
        };
        let name = profile.name;
        if let Some((at_2, at_3, _)) = bounds {
            for (change, share, bound) in [(3, found[1], at_3), (2, found[0], at_2)] {
                if bound.is_finite() {
                    let what = format!("2. Power at +{change} %, {name}");
                    self.goal(what, Figure::Share(share), Bound::AtLeast(bound), Unit::Percent);
                }
            }
        }
        let rounds = mean_of(&all[0], |one| one.rounds);
        let iterations = mean_of(&all[0], |one| one.iterations);
        let lean = mean_of(&all[1], |one| one.iterations);
        let open = inconclusive(&all[0]);
        row.push(format!("{:.1}", rounds.value));
        row.push(format!("{:.0} ({:.0})", iterations.value, lean.value));
        row.push(format!("{} %", percent(open.value)));
        if name == TYPICAL.name {
            let steady = steady(&said[0], profile, self.seed);
            let what = "2. Power at +2 %, typical, where the paired noise is below 1 %";
            self.goal(what, Figure::Share(steady), Bound::AtLeast(0.98), Unit::Percent);
            let what = "3. Rounds per benchmark, typical";
            self.goal(what, Figure::Mean(rounds), Bound::AtMost(5.5), Unit::Plain);
            let what = "6. Inconclusive, typical";
            self.goal(what, Figure::Mean(open), Bound::AtMost(0.02), Unit::Percent);
        }
        let fixed = Fixed::of_equal_power(profile, [&said[0], &said[1]], self.seed);
        let [low, here, high] = [fixed.low, fixed.here, fixed.high]
            .map(|rounds| 2.0 * rounds as f64 * USUAL.all() as f64 / iterations.value);
        row.push(format!("{} ({} to {})", fixed.here, fixed.low, fixed.high));
        row.push(format!("{}", 2 * fixed.here * USUAL.all()));
        row.push(format!("{here:.1}x"));
        if let Some((.., bound)) = bounds {
            let what = format!("4. Iterations of the best fixed design of equal power over SEQ-E 3, {name}");
            let figure = Figure::Between { low, value: here, high };
            self.goal(what, figure, Bound::AtLeast(bound), Unit::Times);
        }
        row
    }

    /// Other sizes, many changes at once, improvements.
    pub fn sizes(&self) {
        let count = self.counts.planted;
        println!("## Other suites, profile \"typical\"\n");
        println!(
            "{count} suites each (a fifth of that of 500 benchmarks). Red by mistake: suites with a red among the others.\n"
        );
        let rule = SeqE::USUAL.named("SEQ-E");
        let slower = |share: usize| move |at: usize| if at % 10 < share { 0.03_f64.ln_1p() } else { 0.0 };
        let every_20th = |at: usize| if is_planted(at) { 0.03_f64.ln_1p() } else { 0.0 };
        let faster = |at: usize| if is_planted(at) { (-0.03_f64).ln_1p() } else { 0.0 };
        type Change<'a> = &'a (dyn Fn(usize) -> f64 + Sync);
        let cases: [(&str, usize, Change); 5] = [
            ("10 benchmarks, 1 slower by 3 %", 10, &every_20th),
            ("30 benchmarks, 2 slower by 3 %", 30, &every_20th),
            ("500 benchmarks, 25 slower by 3 %", 500, &every_20th),
            ("100 benchmarks, 30 slower by 3 %", 100, &slower(3)),
            ("100 benchmarks, 5 faster by 3 %", 100, &faster),
        ];
        let rows: Vec<Vec<String>> = cases
            .iter()
            .map(|(name, size, change)| {
                let count = if *size > SIZE { count.div_ceil(5) } else { count };
                let said = suites(&rule, &TYPICAL, (count, *size), change, self.seed.named(name));
                let wanted = |at: usize| match change(at) {
                    change if change > 0.0 => Some(Status::Regressed),
                    change if change < 0.0 => Some(Status::Improved),
                    _ => None,
                };
                let found = Share::of(said.iter().flat_map(|one| {
                    let statuses = one.statuses.iter().enumerate();
                    statuses.filter_map(|(at, status)| Some(wanted(at)? == *status))
                }));
                let wrong = Share::of(said.iter().map(|one| {
                    let mut others = one.statuses.iter().enumerate().filter(|(at, _)| wanted(*at).is_none());
                    others.any(|(_, status)| *status == Status::Regressed)
                }));
                let rounds = mean_of(&said, |one| one.rounds).value;
                vec![
                    (*name).to_owned(),
                    format!("{} ± {}", percent(found.value()), percent(found.error())),
                    format!("{} of {}", wrong.hits, wrong.of),
                    format!("{rounds:.1}"),
                ]
            })
            .collect();
        println!("{}", markdown(&["suite", "found, %", "red by mistake", "rounds"], &rows));
    }

    pub fn awkward(&mut self) {
        let count = self.counts.unchanged;
        println!("## Awkward differences\n");
        println!("Suites with any red, of {count} of {SIZE} benchmarks without a change.\n");
        let mut worst = Share { hits: 0, of: count };
        let mut rows = Vec::new();
        for case in &awkward::CASES {
            let [ours, sequential] = case.red_suites(count, self.seed.named("awkward"));
            if case.random_order && ours.hits > worst.hits {
                worst = ours;
            }
            let cell = |share: Share| format!("{} %", percent(share.value()));
            rows.push(vec![case.name.to_owned(), cell(ours), cell(sequential)]);
        }
        println!("{}", markdown(&["differences", "**SEQ-E 3**", "group-sequential t"], &rows));
        let what = "1. Red suites, the worst awkward row of those in random order";
        self.goal(what, Figure::Share(worst), Bound::AtMost(0.01), Unit::Percent);
    }

    pub fn cost(&mut self) {
        println!("## What deciding costs\n");
        println!(
            "All benchmarks are decided anew after each of {} rounds, on one thread, and hardly any is decided before the last. \
             Wall time, no less than CPU time.\n",
            cost::ROUNDS
        );
        let mut rows = Vec::new();
        for count in [100, 10_000] {
            let cost = cost::undecided(count, self.seed);
            let milliseconds =
                |duration: std::time::Duration| format!("{:.2} ms", 1e3 * duration.as_secs_f64());
            rows.push(vec![
                count.to_string(),
                milliseconds(cost.round),
                milliseconds(cost.last),
                milliseconds(cost.all),
            ]);
            let (what, took, bound) = match count {
                100 => (
                    "E6. Deciding 100 benchmarks, the dearest of 40 rounds, ms",
                    cost.round,
                    cost::GOAL_ROUND,
                ),
                _ => ("E6. Deciding 10,000 benchmarks by 40 rounds, ms", cost.last, cost::GOAL_LARGE),
            };
            let value = 1e3 * took.as_secs_f64();
            let figure = Figure::Between { low: value, value, high: value };
            self.goal(what, figure, Bound::AtMost(1e3 * bound.as_secs_f64()), Unit::Plain);
        }
        println!("{}", markdown(&["benchmarks", "dearest round", "last round", "all 40 rounds"], &rows));
    }
}

/// Planted changes found among the benchmarks whose paired noise, by further rounds, is small.
fn steady(said: &[Said], profile: &Profile, seed: Seed) -> Share {
    let noise = each(said.len(), |index| {
        let seed = seed.named("planted").named(profile.name).at(index as u64);
        let suite = Suite::draw(profile, SIZE, &mut seed.random());
        let change = vec![0.0; SIZE];
        let mut random = seed.named("further rounds").random();
        let mut rounds = Rounds::new(&suite, &change, MAX_ROUNDS, SeqE::USUAL, &mut random);
        let mut noise = |at| {
            let differences: Vec<f64> = (0..MAX_ROUNDS).map(|round| rounds.next(at, round)).collect();
            sample_stddev(&differences).unwrap_or(f64::NAN)
        };
        (0..SIZE).step_by(PLANTED_EVERY).map(&mut noise).collect::<Vec<f64>>()
    });
    let red = said.iter().flat_map(|one| one.statuses.iter().step_by(PLANTED_EVERY));
    let both = red.zip(noise.iter().flatten()).filter(|(_, noise)| **noise < STEADY);
    Share::of(both.map(|(status, _)| *status == Status::Regressed))
}
