//! Baselines and their optimized variants: each speedup with its interval, each chapter, and the total.
//!
//! A speedup is the baseline's median over the optimized one's: below 1 the optimized one is slower. An unmeasured pair
//! has none.

use std::collections::{BTreeMap, BTreeSet};

use super::metric::center;
use crate::layout::grouped::{joined, named, together};
use crate::layout::number::{self, geometric_mean};
use crate::layout::table::ReportTable;
use gbench_compare::{PairAnswer, PairMetric, PairName, PairSpeedup, VariantPairs, chapter_of};
use gbench_model::text::count;
use gbench_model::text::natural::natural_path;
use gbench_model::{CaseRecord, Metric, Outcome};

const MAX_NAMED: usize = 3;

#[derive(Default)]
pub(crate) struct RunPairs {
    rows: Vec<PairRow>,
    /// A row for each folder; absent if no case has one.
    chapters: Option<ReportTable>,
    /// Names of baselines without an optimized variant, and of the reverse.
    without_optimized: Vec<String>,
    without_baseline: Vec<String>,
}

struct PairRow {
    chapter: Option<String>,
    /// Position of the optimized case in the record.
    optimized: usize,
    /// Name; the median of each, else the reason in one word, baseline first; speedup and its interval.
    cells: [String; 5],
    metric: String,
    speedup: Option<PairSpeedup>,
    /// Neither was measured: there is nothing to show.
    is_empty: bool,
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

    /// The speedup of an optimized case by its position in the record, and its metric.
    pub(crate) fn speedup(&self, case: usize) -> Option<(&str, &PairSpeedup)> {
        // In the order of the optimized cases.
        let at = self.rows.binary_search_by_key(&case, |row| row.optimized).ok()?;
        let row = &self.rows[at];
        Some((&row.metric, row.speedup.as_ref()?))
    }

    pub(crate) fn tables(&self) -> Vec<ReportTable> {
        let pairs = (!self.rows.is_empty()).then(|| self.pairs());
        pairs.into_iter().chain(self.chapters.clone()).collect()
    }

    fn pairs(&self) -> ReportTable {
        let mut shown: Vec<&PairRow> = self.rows.iter().filter(|row| !row.is_empty).collect();
        let chapter = |row: &&PairRow| row.chapter.clone().unwrap_or_default();
        shown.sort_by(|one, other| natural_path(&chapter(one), &chapter(other)));
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
                 processes; (noise) means that it contains 1"
                    .into(),
            );
        }
        let columns = ["pair, technique", "baseline", "optimized", "speedup", "interval"];
        ReportTable::new(
            "Pairs: optimized against baseline".into(),
            columns,
            shown.into_iter().map(|row| row.cells.to_vec()),
            notes,
        )
    }

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
        let mean = geometric_mean(found.iter().map(|(_, speedup)| speedup.factor));
        let mean = mean.map_or(String::new(), |mean| format!("geometric mean {}", number::times(mean)));
        let extremes = format!(
            "best {} ({}), worst {} ({})",
            number::times(high.factor),
            best.cells[0],
            number::times(low.factor),
            worst.cells[0]
        );
        format!("{have}: {}; {mean}, {extremes}", words.join(", "))
    }
}

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
            let value = shown.and_then(|metric| Some(number::value(center(metric)?, &metric.unit)));
            value.unwrap_or_else(|| case.outcome.into_str().to_owned())
        };
        let [of_baseline, of_optimized] = of_pair;
        let figures = [figure((baseline, of_baseline)), figure((other, of_optimized))];
        let [speed, interval] = match (&speedup, measured) {
            (Some(speedup), _) => speedup_cells(speedup),
            (None, [true, true]) => ["not alike".into(), String::new()],
            (None, _) => ["not measured".into(), String::new()],
        };
        let [baseline, other] = figures;
        Self {
            chapter,
            optimized,
            cells: [name, baseline, other, speed, interval],
            is_empty: measured == [false, false],
            metric: of_baseline.map_or(String::new(), |metric| metric.name.clone()),
            speedup,
        }
    }
}

/// `0.82x slower` and `0.80x to 0.84x`.
pub(crate) fn speedup_cells(speedup: &PairSpeedup) -> [String; 2] {
    let word = match speedup.answer() {
        PairAnswer::Noise => "(noise)",
        PairAnswer::Slower => "slower",
        // Without evidence from processes, a slower case is reported as slower, a faster one as unclear.
        PairAnswer::Unknown if speedup.factor < 1.0 => "slower",
        PairAnswer::Faster | PairAnswer::Unknown => "",
    };
    let interval = match speedup.interval {
        Some((low, high)) => format!("{} to {}", number::times(low), number::times(high)),
        None => "unknown".into(),
    };
    [joined([&number::times(speedup.factor), word], " "), interval]
}

/// By chapter, `ch2` before `ch10`: all cases with a chapter, or in pairs. `None` if no case has a chapter.
fn chapters(cases: &[(&CaseRecord, String)], rows: &[PairRow]) -> Option<ReportTable> {
    let members = cases.iter().map(|(case, _)| case);
    let members = members.filter(|case| case.id.member_of_pair().is_some() || chapter_of(&case.id).is_some());
    let mut by_chapter = together(members.map(|case| (chapter_of(&case.id).unwrap_or_default(), case)));
    by_chapter.sort_by(|(one, _), (other, _)| natural_path(one, other));
    let is_said = by_chapter.iter().any(|(name, _)| !name.is_empty());
    let row = |(name, cases): (String, Vec<&&CaseRecord>)| {
        let own = rows.iter().filter(|row| row.chapter.as_deref().unwrap_or_default() == name);
        let speedups: Vec<f64> = own.filter_map(|row| Some(row.speedup.as_ref()?.factor)).collect();
        let with = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
        let (measured, failed) = (with(Outcome::is_measured), with(Outcome::is_failure));
        let never_started = with(|outcome| matches!(outcome, Outcome::NotRun { .. }));
        let status = match (failed, never_started, measured) {
            (1.., ..) => "FAILED",
            (_, 1.., _) => "INCOMPLETE",
            (.., 0) => "SKIPPED",
            _ => "PASS",
        };
        let factor = |value: Option<f64>| value.map_or(String::new(), number::times);
        vec![
            if name.is_empty() { "(no chapter)".into() } else { name },
            status.to_owned(),
            cases.len().to_string(),
            measured.to_string(),
            failed.to_string(),
            (cases.len() - measured - failed).to_string(),
            factor(geometric_mean(speedups.iter().copied())),
            factor(speedups.iter().copied().reduce(f64::max)),
        ]
    };
    let columns = ["chapter", "status", "cases", "ok", "failed", "skipped", "mean", "max"];
    let note = "Cases are files; skipped counts those that were never started, too. Mean (geometric) and max are of the speedups above";
    let rows = by_chapter.into_iter().map(row);
    is_said.then(|| ReportTable::new("Chapters".into(), columns, rows, vec![note.into()]))
}
