//! Baselines and their optimized variants: each speedup with its interval, each chapter, and all together.
//!
//! A speedup is the baseline's median over the optimized one's, so that below 1 the optimized one is slower. What was not measured has none.

use std::collections::{BTreeMap, BTreeSet};

use super::metric::{centers, median};
use super::table::RunTable;
use crate::layout::grouped::{joined, named, together};
use crate::layout::number;
use gbench_compare::{PairAnswer, PairMetric, PairName, PairSpeedup, VariantPairs, chapter_of};
use gbench_model::text::count;
use gbench_model::{CaseRecord, Metric, Outcome};

/// Names that one sentence lists.
const MAX_NAMED: usize = 3;

/// The pairs of a run.
#[derive(Default)]
pub(crate) struct RunPairs {
    rows: Vec<PairRow>,
    chapters: Vec<Chapter>,
    /// Names of baselines without an optimized variant, and of the reverse.
    without_optimized: Vec<String>,
    without_baseline: Vec<String>,
}

/// One optimized case beside its baseline.
struct PairRow {
    name: String,
    chapter: Option<String>,
    /// Position of the optimized case in the record.
    optimized: usize,
    /// The median of each, else the word for why there is none, baseline first.
    figures: [String; 2],
    /// What is compared; empty where nothing is.
    metric: String,
    speedup: Option<PairSpeedup>,
    /// Both were measured, and yet have no speedup.
    is_incomparable: bool,
    /// Neither was measured: there is nothing to show.
    is_empty: bool,
}

/// What became of the cases of a folder.
struct Chapter {
    name: String,
    cases: usize,
    measured: usize,
    failed: usize,
    never_started: usize,
    speedups: Vec<f64>,
}

impl RunPairs {
    pub(crate) fn find(cases: &[(&CaseRecord, String)]) -> Self {
        let found = VariantPairs::of(cases.iter().map(|(case, _)| &case.id));
        if found == VariantPairs::default() {
            return Self::default();
        }
        let names: Vec<PairName> =
            found.pairs.iter().map(|pair| PairName::of(&cases[pair.optimized].0.id)).collect();
        let mut known: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for name in &names {
            known.entry(name.text(false)).or_default().insert(&name.benchmark);
        }
        let rows = found.pairs.iter().zip(&names).map(|(pair, name)| {
            let members = [cases[pair.baseline].0, cases[pair.optimized].0];
            let ambiguous = known.get(&name.text(false)).is_some_and(|benchmarks| benchmarks.len() > 1);
            PairRow::new(members, pair.optimized, name.text(ambiguous), name.chapter.clone())
        });
        let rows: Vec<PairRow> = rows.collect();
        let name_of = |at: &usize| cases[*at].1.clone();
        Self {
            chapters: chapters(cases, &rows),
            without_optimized: found.without_optimized.iter().map(name_of).collect(),
            without_baseline: found.without_baseline.iter().map(name_of).collect(),
            rows,
        }
    }

    /// The speedup of an optimized case by its position in the record, and the metric that it is of.
    pub(crate) fn speedup(&self, case: usize) -> Option<(&str, &PairSpeedup)> {
        // In the order of the optimized cases.
        let at = self.rows.binary_search_by_key(&case, |row| row.optimized).ok()?;
        let row = &self.rows[at];
        Some((&row.metric, row.speedup.as_ref()?))
    }

    pub(crate) fn tables(&self) -> Vec<RunTable> {
        let mut tables = Vec::new();
        if !self.rows.is_empty() {
            tables.push(self.pairs());
        }
        if self.chapters.iter().any(|chapter| !chapter.name.is_empty()) {
            tables.push(self.by_chapter());
        }
        tables
    }

    fn pairs(&self) -> RunTable {
        let shown = self.rows.iter().filter(|row| !row.is_empty);
        let mut notes = vec![self.overall()];
        let empty = self.rows.iter().filter(|row| row.is_empty).count();
        if empty > 0 {
            notes.push(format!("{} not listed, of which neither member was measured", count(empty, "pair")));
        }
        for (names, without) in
            [(&self.without_optimized, "an optimized variant"), (&self.without_baseline, "a baseline")]
        {
            if !names.is_empty() {
                let cases = count(names.len(), "case");
                notes.push(format!("{cases} without {without}: {}", named(names, MAX_NAMED)));
            }
        }
        if self.rows.iter().any(|row| row.speedup.is_some()) {
            notes.push(
                "Speedup is the baseline's median over the optimized one's: below 1 the optimized one is slower. Its interval is at 95 %, over \
                 processes; (noise) says that it holds 1"
                    .into(),
            );
        }
        RunTable {
            title: "Pairs: optimized against baseline".into(),
            columns: ["pair, technique", "baseline", "optimized", "speedup", "interval"]
                .map(str::to_owned)
                .to_vec(),
            rows: shown.map(PairRow::cells).collect(),
            notes,
        }
    }

    /// Counts, mean, best and worst over all optimized variants.
    fn overall(&self) -> String {
        let all = count(self.rows.len(), "optimized variant");
        let found: Vec<(&PairRow, &PairSpeedup)> =
            self.rows.iter().filter_map(|row| Some((row, row.speedup.as_ref()?))).collect();
        let factor = |of: &&(&PairRow, &PairSpeedup)| of.1.factor;
        let least = found.iter().min_by(|a, b| factor(a).total_cmp(&factor(b)));
        let most = found.iter().max_by(|a, b| factor(a).total_cmp(&factor(b)));
        let (Some((worst, low)), Some((best, high))) = (least, most) else {
            return format!("None of {all} has a speedup");
        };
        let have = if found.len() == self.rows.len() {
            format!("{all} with a speedup")
        } else {
            format!("{} of {all} with a speedup", found.len())
        };
        let words = found.iter().map(|(_, speedup)| (answer_word(speedup.answer()), ()));
        let words: Vec<String> =
            together(words).into_iter().map(|(word, of)| format!("{} {word}", of.len())).collect();
        let mean = geometric_mean(&found.iter().map(|(_, speedup)| speedup.factor).collect::<Vec<_>>());
        let mean = mean.map_or(String::new(), |mean| format!("geometric mean {}", number::times(mean)));
        let extremes = format!(
            "best {} ({}), worst {} ({})",
            number::times(high.factor),
            best.name,
            number::times(low.factor),
            worst.name
        );
        format!("{have}: {}; {mean}, {extremes}", words.join(", "))
    }

    fn by_chapter(&self) -> RunTable {
        let factor = |value: Option<f64>| value.map_or(String::new(), number::times);
        let rows = self.chapters.iter().map(|chapter| {
            let skipped = chapter.cases - chapter.measured - chapter.failed;
            vec![
                if chapter.name.is_empty() { "(no chapter)".into() } else { chapter.name.clone() },
                chapter.status().to_owned(),
                chapter.cases.to_string(),
                chapter.measured.to_string(),
                chapter.failed.to_string(),
                skipped.to_string(),
                factor(geometric_mean(&chapter.speedups)),
                factor(chapter.speedups.iter().copied().reduce(f64::max)),
            ]
        });
        let columns = ["chapter", "status", "cases", "ok", "failed", "skipped", "mean", "max"];
        RunTable {
            title: "Chapters".into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: rows.collect(),
            notes: vec![
                "Cases are files; skipped counts those that were never started, too. Mean (geometric) and max are of the speedups above".into(),
            ],
        }
    }
}

/// What the counts call a speedup of this answer.
fn answer_word(answer: PairAnswer) -> &'static str {
    match answer {
        PairAnswer::Faster => "faster",
        PairAnswer::Slower => "slower",
        PairAnswer::Noise => "within noise",
        PairAnswer::Unknown => "of unknown noise",
    }
}

impl PairRow {
    fn new(members: [&CaseRecord; 2], optimized: usize, name: String, chapter: Option<String>) -> Self {
        let [baseline, other] = members;
        let measured = members.map(|case| case.outcome.is_measured());
        let metric = PairMetric::of(baseline, other).filter(|_| measured == [true, true]);
        let speedup = metric.as_ref().and_then(|metric| PairSpeedup::of(baseline, other, metric));
        let of_pair = metric.map_or([None, None], |metric| [Some(metric.baseline), Some(metric.optimized)]);
        let figure = |(case, metric): (&CaseRecord, Option<&Metric>)| {
            let usual = || case.metrics.iter().find(|metric| metric.name == "time").or(case.metrics.first());
            let shown = metric.or_else(usual).filter(|_| case.outcome.is_measured());
            let value =
                shown.and_then(|metric| Some(number::value(median(&mut centers(metric))?, &metric.unit)));
            value.unwrap_or_else(|| case.outcome.into_str().to_owned())
        };
        let [of_baseline, of_optimized] = of_pair;
        Self {
            name,
            chapter,
            optimized,
            figures: [figure((baseline, of_baseline)), figure((other, of_optimized))],
            is_incomparable: measured == [true, true] && speedup.is_none(),
            is_empty: measured == [false, false],
            metric: of_baseline.map_or(String::new(), |metric| metric.name.clone()),
            speedup,
        }
    }

    fn cells(&self) -> Vec<String> {
        let [baseline, optimized] = self.figures.clone();
        let (speedup, interval) = match &self.speedup {
            Some(speedup) => speedup_cells(speedup),
            None if self.is_incomparable => ("not alike".into(), String::new()),
            None => ("not measured".into(), String::new()),
        };
        vec![self.name.clone(), baseline, optimized, speedup, interval]
    }
}

/// `0.82x slower` and `0.80x to 0.84x`.
pub(super) fn speedup_cells(speedup: &PairSpeedup) -> (String, String) {
    let word = match speedup.answer() {
        PairAnswer::Noise => "(noise)",
        PairAnswer::Slower => "slower",
        // What processes do not show is not doubted any less where it looks fast.
        PairAnswer::Unknown if speedup.factor < 1.0 => "slower",
        PairAnswer::Faster | PairAnswer::Unknown => "",
    };
    let interval = match speedup.interval {
        Some((low, high)) => format!("{} to {}", number::times(low), number::times(high)),
        None => "unknown".into(),
    };
    (joined([&number::times(speedup.factor), word], " "), interval)
}

fn geometric_mean(factors: &[f64]) -> Option<f64> {
    let logarithms: f64 = factors.iter().map(|factor| factor.ln()).sum();
    (!factors.is_empty()).then(|| (logarithms / factors.len() as f64).exp())
}

/// By chapter in the record's order: all cases that say their chapter or are members of pairs.
fn chapters(cases: &[(&CaseRecord, String)], rows: &[PairRow]) -> Vec<Chapter> {
    let members = cases.iter().map(|(case, _)| case);
    let members = members.filter(|case| case.id.member_of_pair().is_some() || chapter_of(&case.id).is_some());
    let by_chapter = together(members.map(|case| (chapter_of(&case.id).unwrap_or_default(), case)));
    let chapter = |(name, cases): (String, Vec<&&CaseRecord>)| {
        let own = rows.iter().filter(|row| row.chapter.as_deref().unwrap_or_default() == name);
        let speedups = own.filter_map(|row| Some(row.speedup.as_ref()?.factor)).collect();
        let with = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
        Chapter {
            cases: cases.len(),
            measured: with(Outcome::is_measured),
            failed: with(Outcome::is_failure),
            never_started: with(|outcome| matches!(outcome, Outcome::NotRun { .. })),
            speedups,
            name,
        }
    };
    by_chapter.into_iter().map(chapter).collect()
}

impl Chapter {
    fn status(&self) -> &'static str {
        match self {
            Self { failed: 1.., .. } => "FAILED",
            Self { never_started: 1.., .. } => "INCOMPLETE",
            Self { measured: 0, .. } => "SKIPPED",
            _ => "PASS",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{RunView, test_support as records};
    use gbench_model::{Outcome, RunRecord};

    use super::*;

    fn cells(record: &RunRecord) -> Vec<Vec<String>> {
        let view = RunView::new(record);
        view.pairs.rows.iter().filter(|row| !row.is_empty).map(PairRow::cells).collect()
    }

    fn pair(baseline: &[f64], optimized: &[f64]) -> RunRecord {
        let member =
            |variant: &str, centers: &[f64]| records::member(&[("case", "a"), ("variant", variant)], centers);
        records::contest(vec![member("baseline", baseline), member("optimized", optimized)])
    }

    #[test]
    fn s0_50_below_1_is_shown_as_below_1_and_said_to_be_slower() {
        let found = cells(&pair(&[1.0, 1.001, 0.999], &[1.25, 1.251, 1.249]));
        assert_eq!(found[0][3], "0.80x slower");
        assert_eq!(cells(&pair(&[1.25, 1.251, 1.249], &[1.0, 1.001, 0.999]))[0][3], "1.25x");
    }

    #[test]
    fn s0_50_below_three_processes_there_is_no_interval_and_noise_is_called_so() {
        assert_eq!(cells(&pair(&[1.0], &[1.25]))[0][3..], ["0.80x slower", "unknown"]);
        // Two show a spread, and Student's interval of two reaches from nothing to everything.
        let two = pair(&[1.0, 1.05], &[1.25, 1.3]);
        assert_eq!(cells(&two)[0][3..], ["0.80x slower", "unknown"]);
        let mut together = two;
        for process in together.cases.iter_mut().flat_map(|case| &mut case.processes) {
            process.shared = Some(2);
        }
        assert_eq!(cells(&together)[0][4], "unknown");
        let noisy = cells(&pair(&[1.0, 1.05, 0.95], &[0.99, 1.04, 0.97]));
        assert!(noisy[0][3].ends_with("(noise)"), "{noisy:?}");
    }

    #[test]
    fn s0_50_what_a_process_does_to_both_members_falls_out_of_the_interval() {
        // Each process is slow or fast as a whole; the ratio hardly varies.
        let mut record = pair(&[1.0, 2.0, 1.5, 3.0], &[0.5, 1.001, 0.75, 1.499]);
        let apart = RunView::new(&record).pairs.rows[0].speedup.unwrap();
        assert_eq!(apart.answer(), PairAnswer::Noise);
        for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
            process.shared = Some(2);
        }
        let (low, high) = RunView::new(&record).pairs.rows[0].speedup.unwrap().interval.unwrap();
        assert!(low > 1.99 && high < 2.01, "{low} to {high}");
        // One that is repeated alone is another process.
        record.cases[1].processes[2].shared = Some(1);
        assert_eq!(RunView::new(&record).pairs.rows[0].speedup.unwrap().answer(), PairAnswer::Noise);
    }

    #[test]
    fn s0_50_what_was_not_measured_has_a_word_and_no_number() {
        let mut record = pair(&[1.0, 1.1], &[]);
        record.cases[1].metrics.clear();
        record.cases[1].outcome = Outcome::Skipped { code: None, cause: "x".into(), advice: "y".into() };
        assert_eq!(cells(&record)[0][1..], ["1.050 s", "skipped", "not measured", ""]);
        let mut record = pair(&[1.0, 1.1], &[1.0, 1.1]);
        record.cases[1].id.device = "cuda:0".into();
        assert_eq!(cells(&record)[0][3], "not alike");
    }

    #[test]
    fn s0_66_a_chapter_with_a_failure_is_no_pass() {
        let record = records::pairs();
        let view = RunView::new(&record);
        let status: Vec<(&str, &str)> =
            view.pairs.chapters.iter().map(|chapter| (chapter.name.as_str(), chapter.status())).collect();
        assert_eq!(status, [("ch01", "PASS"), ("ch02", "FAILED"), ("ch03", "FAILED"), ("ch04", "SKIPPED")]);
        let totals = |chapter: &Chapter| (chapter.cases, chapter.measured, chapter.failed);
        let totals: Vec<_> = view.pairs.chapters.iter().map(totals).collect();
        assert_eq!(totals, [(3, 3, 0), (7, 6, 1), (34, 0, 34), (1, 0, 0)]);
    }

    #[test]
    fn s0_67_the_mean_is_geometric_and_the_worst_may_be_below_1() {
        let record = records::pairs();
        let overall = RunView::new(&record).pairs.overall();
        assert!(
            overall.starts_with("4 of 22 optimized variants with a speedup: 1 faster, 1 slower"),
            "{overall}"
        );
        // The fourth root of 1.8127 x 0.8198 x 1.0101 x 0.8.
        assert!(overall.contains("geometric mean 1.05x"), "{overall}");
        assert!(overall.contains("worst 0.80x (ch02/once)"), "{overall}");
    }
}
