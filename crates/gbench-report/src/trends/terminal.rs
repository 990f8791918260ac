//! Trends for a person: first the changes, a line each; a few series are shown in full.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{TrendFinding, is_drifting, is_drifting_worse};
use super::series::{day, fields, latest, newest_first, place, run_of, why_not_judged};
use super::spark::spark;
use crate::layout::case_names::CaseNames;
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::visible;
use crate::layout::number::{p_value, signed_percent, spread, value};
use crate::layout::terminal::{GridRow, Style, TerminalLayout};
use gbench_compare::trend::{CommonStep, TrendsDocument, V1ChangePoint, V1Series, V1TrendRun};
use gbench_model::text::{capitalized, count, list, short_commit};

const FEW: usize = 3;
const MOST_QUIET: usize = 20;
const SPARK: usize = 24;
const NEWEST: usize = 8;
const MOST_BREAKS: usize = 10;

pub(super) fn render(document: &TrendsDocument, style: Style, all: bool) -> String {
    let names = CaseNames::new(document.series.iter().map(|series| &series.case));
    let mut page = TerminalLayout::new(style);
    let view = View { document, names, style, has_metrics: has_metrics(document) };
    let counted = |is_it: &dyn Fn(&V1Series) -> bool| view.of(is_it).len();
    let is = |finding| move |series: &V1Series| TrendFinding::of(series) == finding;
    let (worse, drifting) = (counted(&is(TrendFinding::Worse)), counted(&is_drifting_worse));
    let not_judged = counted(&is(TrendFinding::NotJudged));
    let (word, emphasis) = match () {
        () if worse > 0 => ("WORSE", Emphasis::Bad),
        () if drifting > 0 => ("DRIFTING", Emphasis::Doubt),
        () if not_judged == document.series.len() => ("NOT JUDGED", Emphasis::Doubt),
        () => ("STEADY", Emphasis::Good),
    };
    page.headline(word, &view.sentence(worse, drifting, not_judged), emphasis);
    if document.series.len() <= FEW {
        document.series.iter().for_each(|series| view.whole(&mut page, series));
    } else {
        view.overview(&mut page, all);
    }
    let unmeasured = document.unmeasured.iter().map(|gap| {
        let place = place(&gap.branch, &gap.label);
        format!("{}: {} in the newest run of {place}", gap.case, gap.outcome)
    });
    page.list("Without a figure", Emphasis::Doubt, unmeasured);
    if document.left_out > 0 {
        let runs = count(document.left_out as usize, "older run");
        page.blank();
        page.line(&format!("{runs} left out; `--runs 0` takes all."));
    }
    page.list("Warnings", Emphasis::Doubt, document.warnings.iter().map(|text| capitalized(text)));
    page.into_text()
}

fn has_metrics(document: &TrendsDocument) -> bool {
    document.series.windows(2).any(|pair| pair[0].metric != pair[1].metric)
}

type LastCell = (String, Option<String>);

struct View<'d> {
    document: &'d TrendsDocument,
    names: CaseNames,
    style: Style,
    has_metrics: bool,
}

impl<'d> View<'d> {
    fn of(&self, is_meant: impl Fn(&V1Series) -> bool) -> Vec<&'d V1Series> {
        self.document.series.iter().filter(|series| is_meant(series)).collect()
    }

    fn sentence(&self, worse: usize, drifting: usize, not_judged: usize) -> String {
        let TrendsDocument { store, runs, series, .. } = self.document;
        let day =
            |run: Option<&V1TrendRun>| run.map_or("", |run| run.started.get(..10).unwrap_or("")).to_owned();
        let (first, newest) = (day(runs.first()), day(runs.last()));
        let days = if first == newest { first } else { format!("{first} to {newest}") };
        let found: Vec<String> =
            [(worse, "lastingly worse"), (drifting, "drifting for the worse"), (not_judged, "not judged")]
                .into_iter()
                .filter(|(series, _)| *series > 0)
                .map(|(series, what)| format!("{series} {what}"))
                .collect();
        let found = if found.is_empty() { "none is lastingly worse".to_owned() } else { found.join(", ") };
        let branches: BTreeSet<String> = runs.iter().map(|run| place(&run.branch, &run.label)).collect();
        let of = list(&branches.into_iter().collect::<Vec<_>>(), 3);
        format!("{} of {of} in {store}, {days}; {} series: {found}", count(runs.len(), "run"), series.len())
    }

    fn title(&self, series: &V1Series) -> String {
        let metric = if self.has_metrics { series.metric.as_str() } else { "" };
        let title = self.names.title(&series.case, metric);
        let runs = &self.document.runs;
        let is_alone = runs.iter().all(|run| run.branch == series.branch && run.label == series.label);
        if is_alone { title } else { format!("{title} ({})", place(&series.branch, &series.label)) }
    }

    fn overview(&self, page: &mut TerminalLayout, all: bool) {
        let is = |finding| self.of(move |series| TrendFinding::of(series) == finding);
        let groups = [
            ("Worse, and staying so", Emphasis::Bad, is(TrendFinding::Worse)),
            ("Better, and staying so", Emphasis::Good, is(TrendFinding::Better)),
            ("Changed, and staying so", Emphasis::Plain, is(TrendFinding::Changed)),
            ("Worse, and accepted", Emphasis::Plain, is(TrendFinding::Accepted)),
            ("Shifted while the code stayed the same", Emphasis::Doubt, is(TrendFinding::SameCommit)),
        ];
        let common = CommonStep::all(self.document, |series| {
            let finding = TrendFinding::of(series);
            matches!(finding, TrendFinding::Worse | TrendFinding::Better | TrendFinding::Changed)
        });
        page.list("At once in most cases", Emphasis::Bad, common.iter().map(|step| self.common(step)));
        for (heading, emphasis, mut series) in groups {
            if !all {
                series.retain(|series| !common.iter().any(|step| step.has(series)));
            }
            newest_first(&mut series);
            self.section(page, (heading, emphasis), &series, "change", &|series| {
                let change = series.last_change();
                let size = change.map_or(String::new(), |change| signed_percent(change.change));
                (size, change.map(|change| self.since(series, change)))
            });
        }
        let drifting = ("Drifting, without a step", Emphasis::Doubt);
        self.section(page, drifting, &self.of(is_drifting), "drift", &|series| {
            let drift = series.drift.as_ref();
            let total = drift.map_or(String::new(), |drift| signed_percent(drift.total));
            let since = drift.map_or(String::new(), |drift| self.day(series, drift.from));
            (format!("{total} since {since}"), None)
        });
        page.list(
            "Breaks: figures on both sides are not set against each other",
            Emphasis::Plain,
            self.breaks(),
        );
        let withdrawn = self.document.series.iter().flat_map(|series| {
            series.withdrawn.iter().map(move |change| {
                let (change, day) = (signed_percent(change.change), self.day(series, change.at));
                format!("{}: {change} of {day}; the newest run takes it back", self.title(series))
            })
        });
        page.list("No longer changes", Emphasis::Plain, withdrawn);
        let quiet = self.of(|it| TrendFinding::of(it) == TrendFinding::Steady && !is_drifting(it));
        let noise: &dyn Fn(&V1Series) -> LastCell = &|it| (it.noise.map_or("-".into(), spread), None);
        let why: &dyn Fn(&V1Series) -> LastCell = &|it| (self.why_not_judged(it), None);
        let groups = [
            (("Steady", Emphasis::Plain), quiet, "noise", noise),
            (("Not judged", Emphasis::Doubt), is(TrendFinding::NotJudged), "why", why),
        ];
        for (heading, series, column, cell) in groups {
            let (shown, rest) =
                series.split_at(if all { series.len() } else { series.len().min(MOST_QUIET) });
            self.section(page, heading, shown, column, cell);
            if !rest.is_empty() {
                let word = heading.0.to_lowercase();
                page.line(&format!("{} more are {word}; `--all` shows them.", rest.len()));
            }
        }
    }

    /// A table of series with their trends; nothing if there are none. `cell`: of the last column.
    fn section(
        &self,
        page: &mut TerminalLayout,
        heading: (&str, Emphasis),
        series: &[&V1Series],
        column: &str,
        cell: &dyn Fn(&V1Series) -> LastCell,
    ) {
        let row = |series: &&V1Series| {
            let (cell, since) = cell(series);
            let cells = vec![self.title(series), self.spark(series), latest(series), cell];
            GridRow { cells, notes: since.map(|since| ("since", since)).into_iter().collect() }
        };
        page.section(heading, &["case", "trend", "latest", column], series.iter().map(row));
    }

    fn common(&self, step: &CommonStep<'_>) -> String {
        let day = self.document.runs.get(step.run).map_or("".into(), |run| visible(day(run)));
        let commits = step.commits().map_or(String::new(), |(good, bad)| {
            format!(" in {}..{}", short_commit(good), short_commit(bad))
        });
        format!(
            "{} of {} {} since {day}{commits}: look at the machine and the toolchain first, then at code that \
             all of them run; `--all` shows each",
            step.cases,
            count(step.searched, "case"),
            step.words(),
        )
    }

    fn why_not_judged(&self, series: &V1Series) -> String {
        why_not_judged(series, |at| self.day(series, at))
    }

    fn spark(&self, series: &V1Series) -> String {
        spark(series, SPARK, self.style.unicode)
    }

    /// The day of a point; empty if its run is unknown.
    fn day(&self, series: &V1Series, at: u32) -> String {
        run_of(self.document, series, at).map_or(String::new(), |run| visible(day(run)).into_owned())
    }

    fn since(&self, series: &V1Series, change: &V1ChangePoint) -> String {
        let day = self.day(series, change.at);
        let commits = match (&change.good, &change.bad) {
            (Some(commit), _) if change.is_of_one_commit() => {
                format!(", on both sides {}", short_commit(commit))
            }
            (Some(good), Some(bad)) => format!(" in {}..{}", short_commit(good), short_commit(bad)),
            (None, Some(bad)) => format!(" by {}", short_commit(bad)),
            _ => String::new(),
        };
        let new = if change.new { "; new with the newest run" } else { "" };
        let range = format!("{} to {}", signed_percent(change.low), signed_percent(change.high));
        let accepted = change.accepted.as_ref().map_or(String::new(), |it| {
            format!("; accepted by {} in #{}: {}", visible(&it.by), it.pull, visible(&it.reason))
        });
        format!("{day}{commits}; {range}, {}{new}{accepted}", p_value(change.p))
    }

    fn breaks(&self) -> Vec<String> {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for series in &self.document.series {
            for broken in &series.breaks {
                if run_of(self.document, series, broken.at).is_some() {
                    let text = format!("{}: {}", self.day(series, broken.at), fields(broken, "->"));
                    *found.entry(text).or_default() += 1;
                }
            }
        }
        let all = self.document.series.len();
        let text = |(text, series): (&String, &usize)| match *series {
            series if series == all => format!("{text} (all series)"),
            series => format!("{text} ({series} of {all} series)"),
        };
        // The newest are the relevant ones.
        let left_out = found.len().saturating_sub(MOST_BREAKS);
        let mut texts: Vec<String> = found.iter().skip(left_out).map(text).collect();
        if left_out > 0 {
            let more = format!("{left_out} older ones; machines that take turns need a `--label` each");
            texts.insert(0, more);
        }
        texts
    }

    fn whole(&self, page: &mut TerminalLayout, series: &V1Series) {
        page.heading(
            &format!("{} {}", self.title(series), if self.has_metrics { "" } else { &series.metric }),
            Emphasis::Plain,
        );
        let width = usize::from(self.style.width).saturating_sub(2).max(SPARK);
        page.verbatim(&format!("  {}", spark(series, width, self.style.unicode)));
        let values = series.points.iter().map(|point| point.value).filter(|value| value.is_finite());
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
        page.facts(&[
            ("runs", series.points.len().to_string()),
            ("latest", latest(series)),
            ("range", format!("{} to {}", value(low, &series.unit), value(high, &series.unit))),
            (
                "noise",
                series.noise.map_or("unknown: fewer than 5 runs".into(), |noise| {
                    format!("{} from run to run", spread(noise))
                }),
            ),
        ]);
        let why = self.why_not_judged(series);
        if !why.is_empty() {
            page.note("not judged:", &why);
        }
        let mut events: Vec<(u32, String)> = Vec::new();
        for change in &series.changes {
            let word = match change.worse {
                Some(true) => "worse",
                Some(false) => "better",
                None => "changed",
            };
            let (size, since) = (signed_percent(change.change), self.since(series, change));
            events.push((change.at, format!("{size}, {word}, since {since}")));
        }
        for broken in &series.breaks {
            let day = self.day(series, broken.at);
            events.push((broken.at, format!("break on {day}: {}", fields(broken, "->"))));
        }
        if let Some(drift) = &series.drift {
            let (day, each) = (self.day(series, drift.from), signed_percent(drift.per_run));
            let (total, p) = (signed_percent(drift.total), p_value(drift.p));
            events.push((drift.from, format!("drift: {total} since {day}, {each} a run, {p}")));
        }
        for change in &series.withdrawn {
            let size = signed_percent(change.change);
            events.push((change.at, format!("no longer a change: {size}; the newest run takes it back")));
        }
        events.sort_by_key(|(at, _)| *at);
        page.list("What happened", Emphasis::Plain, events.into_iter().map(|(_, text)| text));
        page.heading("Newest runs", Emphasis::Plain);
        let skipped = series.points.len().saturating_sub(NEWEST);
        let rows = series.points[skipped..].iter().rev().filter_map(|point| {
            let run = self.document.runs.get(point.run as usize)?;
            let around = point.high.map_or(String::new(), |high| spread((high / point.value - 1.0).abs()));
            let commit = short_commit(&run.commit).to_owned();
            let word = run.conclusion.clone().unwrap_or_default();
            Some([run.run_id.to_string(), commit, value(point.value, &series.unit), around, word])
        });
        page.grid(&["run", "commit", "value", "interval", "conclusion"], rows);
    }
}
