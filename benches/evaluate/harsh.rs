//! Noise that is not kind, and timers that are coarse: both versions of the rule, and the rules of other tools, on the same
//! suites of 20. The goals are those of the rule's second version.

use gbench_ci::compare::{Unit, unresolved};
use gbench_ci::stats::seq_e::{Series, Status, decide};
use rand_pcg::Pcg64;

use super::goals::{Bound, Figure, Unit as Shown};
use super::ours::{MIN_EFFECT, Rounds, SeqE, TARGET, Way, location, said};
use super::report::Report;
use super::simulate::{Harsh, Profile, Suite};
use super::table::{markdown, percent};
use super::trials::{Mean, Rule, Said, Share, each, mean_of, red_suites, suites};
use super::{paired, peers};

/// Benchmarks of a suite; five each are slower by every one of [`CHANGES`], the others are not.
const SIZE: usize = 20;
const EACH: usize = 5;
/// Versions of the rule.
const OURS: usize = 3;
const CHANGES: [f64; 3] = [0.02, 0.03, 0.05];

const MODELS: [Profile; 5] = [
    Profile::harsh("gauss", "normal", Harsh::Gauss),
    Profile::harsh("log-normal", "log-normal", Harsh::LogNormal),
    Profile::harsh("outliers", "5 % of the processes 30 % slower", Harsh::Outliers),
    Profile::harsh("bimodal", "30 % of the processes 4 % slower", Harsh::Bimodal),
    Profile::harsh("slow second slot", "what runs second 2 % slower", Harsh::SlowSecondSlot),
];

/// What a table of rounds slows five benchmarks by.
const CLEAR: f64 = 0.10;

/// At least this share red at +3 %, at most this share left open where nothing changed, and at most so many rounds until a benchmark that
/// is 10 % slower is red.
const GOALS: [(f64, f64, f64); 5] = [
    (0.93, 1.0, 13.5),
    (0.85, 0.17, f64::INFINITY),
    (0.95, 0.03, 16.5),
    (0.85, 1.0, 13.5),
    (0.98, 1.0, 13.5),
];

/// Ticks as shares of the time of one sample: a twentieth of the target, a tenth, and more.
const TICKS: [(&str, f64); 5] =
    [("0.1 %", 0.001), ("0.2 %", 0.002), ("1 %", 0.01), ("4 %", 0.04), ("20 %", 0.2)];

fn slowed(at: usize) -> f64 {
    CHANGES.get(at / EACH).map_or(0.0, |change| change.ln_1p())
}

/// Of the benchmarks slower by `CHANGES[which]`: the share called `status`.
fn called(said: &[Said], which: usize, status: Status) -> Share {
    let slowed = said.iter().flat_map(|one| &one.statuses[which * EACH..(which + 1) * EACH]);
    Share::of(slowed.map(|one| *one == status))
}

/// Rounds until red, of the benchmarks that came out red.
fn rounds_until_red(said: &[Said]) -> Mean {
    let rounds = said.iter().flat_map(|one| &one.red_rounds).map(|rounds| *rounds as f64);
    Mean::of(&rounds.collect::<Vec<f64>>())
}

fn open_of(said: &[Said]) -> Mean {
    mean_of(said, |one| one.count(Status::Exhausted) as f64 / one.statuses.len() as f64)
}

fn rules() -> Vec<Rule> {
    let alternating = |rule: SeqE| SeqE { way: Way::Alternating, ..rule };
    let mut rules = vec![
        alternating(SeqE::USUAL).named("**SEQ-E 3**"),
        alternating(SeqE::SECOND).named("SEQ-E 2"),
        alternating(SeqE::FIRST).named("SEQ-E"),
    ];
    rules.extend(paired::rules());
    rules.extend(peers::rules());
    rules
}

impl Report {
    pub fn harsh(&mut self) {
        let (count, of_peers) = (self.counts.planted, self.counts.unchanged_peers / 3);
        println!("## Noise that is not kind\n");
        println!(
            "Suites of {SIZE}, one process after the other. Red: suites with any red where nothing changed, of {count} ({of_peers} \
             for the rules that promise nothing over a suite). +x %: share called red, in percent, where five each are slower by \
             2, 3 and 5 %; standard error at most {} points. Rounds at +10 %: until red, where five of the 20 are slower by 10 %. A \
             simple rule knows no \"open\" and no \"unchanged\".\n",
            percent(0.5 / ((count * EACH) as f64).sqrt())
        );
        for (profile, (at_3, open, most_rounds)) in MODELS.iter().zip(GOALS) {
            eprintln!("harsh: {}", profile.name);
            println!("### {}: {}\n", profile.name, profile.noise);
            let mut rows = Vec::new();
            for (index, rule) in rules().into_iter().enumerate() {
                let sequential = index < OURS;
                let count = if index < OURS + paired::rules().len() { count } else { of_peers };
                let nothing = suites(&rule, profile, (count, SIZE), |_| 0.0, self.seed.named("harsh"));
                let slower = suites(&rule, profile, (count, SIZE), slowed, self.seed.named("harsh slower"));
                let red = red_suites(&nothing);
                let [at_2, of_3, at_5] = [0, 1, 2].map(|which| called(&slower, which, Status::Regressed));
                let mut row = vec![rule.name.to_owned(), format!("{} of {}", red.hits, red.of)];
                row.extend([at_2, of_3, at_5].map(|share| percent(share.value())));
                let certified = called(&slower, 1, Status::Unchanged);
                row.extend(match sequential {
                    true => [
                        percent(certified.value()),
                        percent(open_of(&nothing).value),
                        format!("{:.1}", mean_of(&nothing, |one| one.rounds).value),
                    ],
                    false => [String::new(), String::new(), String::new()],
                });
                let clear = match sequential {
                    true => {
                        let clear = |at: usize| if at < EACH { CLEAR.ln_1p() } else { 0.0 };
                        let seed = self.seed.named("harsh clear");
                        Some(rounds_until_red(&suites(&rule, profile, (count, SIZE), clear, seed)))
                    }
                    false => None,
                };
                row.push(clear.map_or(String::new(), |clear| format!("{:.1}", clear.value)));
                rows.push(row);
                if index == 0 {
                    let goals = [
                        (
                            "red suites without a change",
                            Figure::Share(red),
                            Bound::AtMost(0.01),
                            Shown::Percent,
                        ),
                        ("power at +3 %", Figure::Share(of_3), Bound::AtLeast(at_3), Shown::Percent),
                        ("power at +5 %", Figure::Share(at_5), Bound::AtLeast(0.96), Shown::Percent),
                        ("unchanged at +3 %", Figure::Share(certified), Bound::AtMost(0.002), Shown::Percent),
                        (
                            "inconclusive",
                            Figure::Mean(open_of(&nothing)),
                            Bound::AtMost(open),
                            Shown::Percent,
                        ),
                    ];
                    for (what, figure, bound, unit) in goals {
                        // A bound of 1 is none.
                        if !matches!(bound, Bound::AtMost(1.0)) {
                            self.goal(format!("8. Harsh, {}: {what}", profile.name), figure, bound, unit);
                        }
                    }
                    if let Some(clear) = clear.filter(|_| most_rounds.is_finite()) {
                        let what = format!("8. Harsh, {}: rounds until red at +10 %", profile.name);
                        self.goal(what, Figure::Mean(clear), Bound::AtMost(most_rounds), Shown::Plain);
                    }
                }
            }
            let header = [
                "rule",
                "red",
                "+2 %",
                "+3 %",
                "+5 %",
                "unchanged at +3 %",
                "inconclusive",
                "rounds",
                "rounds at +10 %",
            ];
            println!("{}", markdown(&header, &rows));
        }
    }

    /// Timers that are coarse for the program they time.
    pub fn ticks(&mut self) {
        let count = self.counts.planted.div_ceil(2);
        println!("## Coarse timers\n");
        println!(
            "Suites of {SIZE} with normal noise of 0.2 % to 3 %, samples read from a timer whose tick is this share of their \
             time; {count} suites each without a change, with five slower by 5 % and with five slower by 4 %, twice the target. \
             SEQ-E 3 is asked as the product asks it, with what the steps leave unknown.\n"
        );
        let mut rows = Vec::new();
        for (name, tick) in TICKS {
            eprintln!("ticks: {name}");
            let profile = MODELS[0].with_tick(name, tick);
            for (rule, setting) in [("**SEQ-E 3**", SeqE::USUAL), ("SEQ-E", SeqE::FIRST)] {
                let setting = SeqE { way: Way::Alternating, ..setting };
                let of = |change: f64| {
                    let slower = move |at: usize| if at < EACH { change.ln_1p() } else { 0.0 };
                    let seed = self.seed.named("ticks").named(name);
                    each(count, |index| judged(&profile, &setting, slower, seed.at(index as u64).random()))
                };
                let (nothing, five, twice) = (of(0.0), of(0.05), of(2.0 * TARGET));
                let red = red_suites(&nothing);
                let found = called(&five, 0, Status::Regressed);
                let wrong = [called(&twice, 0, Status::Unchanged), called(&five, 0, Status::Unchanged)];
                let open = open_of(&nothing);
                let mut row = vec![name.to_owned(), rule.to_owned(), format!("{} of {}", red.hits, red.of)];
                row.extend([found, wrong[1], wrong[0]].map(|share| percent(share.value())));
                row.push(percent(open.value));
                rows.push(row);
                if rule != "SEQ-E" {
                    let goal = format!("8. Ticks of {name}");
                    let red = Figure::Share(red);
                    self.goal(
                        format!("{goal}: red suites without a change"),
                        red,
                        Bound::AtMost(0.01),
                        Shown::Percent,
                    );
                    if tick <= 0.1 * TARGET {
                        let found = Figure::Share(found);
                        self.goal(
                            format!("{goal}: power at +5 %"),
                            found,
                            Bound::AtLeast(0.90),
                            Shown::Percent,
                        );
                    } else {
                        let wrong = Figure::Share(wrong[0]);
                        let what = format!("{goal}: unchanged at twice the target");
                        self.goal(what, wrong, Bound::AtMost(0.0), Shown::Percent);
                    }
                }
            }
        }
        let header =
            ["tick", "rule", "red", "+5 %", "unchanged at +5 %", "unchanged at +4 %", "inconclusive"];
        println!("{}", markdown(&header, &rows));
    }
}

/// One suite whose rounds are judged with what the steps of their figures leave unknown, as far as the rule asks for it.
fn judged(profile: &Profile, setting: &SeqE, change: impl Fn(usize) -> f64, mut random: Pcg64) -> Said {
    let suite = Suite::draw(profile, SIZE, &mut random);
    let change: Vec<f64> = (0..SIZE).map(change).collect();
    let most = setting.limits.most_rounds;
    let mut rounds = Rounds::new(&suite, &change, most, *setting, &mut random);
    let samples: Vec<Vec<[Vec<f64>; 2]>> =
        (0..SIZE).map(|at| (0..most).map(|round| rounds.samples(at, round)).collect()).collect();
    let differences: Vec<Vec<f64>> = samples
        .iter()
        .map(|rounds| {
            let difference = |[base, head]: &[Vec<f64>; 2]| location(head.clone()) - location(base.clone());
            rounds.iter().map(difference).collect()
        })
        .collect();
    let open: Vec<Vec<f64>> = samples
        .iter()
        .map(|rounds| match setting.limits == SeqE::FIRST.limits {
            true => Vec::new(),
            false => {
                let rounds: Vec<[&[f64]; 2]> =
                    rounds.iter().map(|[base, head]| [base.as_slice(), head.as_slice()]).collect();
                unresolved(&rounds, Unit::Logarithms, TARGET)
            }
        })
        .collect();
    let series: Vec<Series> = differences
        .iter()
        .zip(&open)
        .map(|(differences, unresolved)| Series {
            unresolved,
            head_second: &rounds.head_second,
            ..Series::new(differences, TARGET, MIN_EFFECT)
        })
        .collect();
    let mut said = said(&decide(&series, &setting.limits).1, setting.iterations);
    for (status, rounds) in said.statuses.iter_mut().zip(&samples) {
        // Both versions doubt a row whose figures are all the same: it is rounded, or comes from a cache.
        if rounds.iter().flatten().flatten().all(|sample| *sample == rounds[0][0][0]) {
            *status = Status::Exhausted;
        }
    }
    said
}
