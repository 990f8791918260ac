//! Trends for a person: what changed first, a line each; of a few series everything.

use super::spark::spark;
use crate::model::text::{capitalized, count, short_commit};
use crate::report::layout::emphasis::Emphasis;
use crate::report::layout::escape::visible;
use crate::report::layout::names::CaseNames;
use crate::report::layout::number::{p_value, signed_percent, spread, value};
use crate::report::layout::terminal::{GridRow, Style, TerminalLayout};
use crate::trend::{TrendsDocument, V1ChangePoint, V1Series, V1TrendRun};

/// So many series or fewer are shown whole.
const FEW: usize = 3;
/// Quiet series that a page shows unless all are asked for.
const MOST_QUIET: usize = 20;
/// Columns of a trend in a table.
const SPARK: usize = 24;
/// Newest runs of a series that is shown whole.
const NEWEST: usize = 8;

pub(super) fn render(document: &TrendsDocument, style: Style, all: bool) -> String {
    let names = CaseNames::new(document.series.iter().map(|series| &series.case));
    let mut page = TerminalLayout::new(style);
    let view = View { document, names, style, has_metrics: has_metrics(document) };
    let worse: Vec<&V1Series> =
        view.of(|series| last(series).is_some_and(|change| change.worse == Some(true)));
    let drifting: Vec<&V1Series> =
        view.of(|series| series.drift.as_ref().is_some_and(|it| it.worse == Some(true)));
    let (word, emphasis) = match () {
        () if !worse.is_empty() => ("WORSE", Emphasis::Bad),
        () if !drifting.is_empty() => ("DRIFTING", Emphasis::Doubt),
        () => ("STEADY", Emphasis::Good),
    };
    page.headline(word, &view.sentence(worse.len(), drifting.len()), emphasis);
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
    page.list("Warnings", Emphasis::Doubt, document.warnings.iter().map(|text| capitalized(text)));
    page.into_text()
}

/// The change after which the newest points lie.
fn last(series: &V1Series) -> Option<&V1ChangePoint> {
    let begins = series.breaks.last().map_or(0, |it| it.at);
    series.changes.last().filter(|change| change.at >= begins)
}

fn has_metrics(document: &TrendsDocument) -> bool {
    document.series.windows(2).any(|pair| pair[0].metric != pair[1].metric)
}

/// `main`, `main on h100`.
fn place(branch: &str, label: &str) -> String {
    if label.is_empty() { branch.to_owned() } else { format!("{branch} on {label}") }
}

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

    fn run(&self, series: &V1Series, at: usize) -> Option<&'d V1TrendRun> {
        self.document.runs.get(series.points.get(at)?.run as usize)
    }

    fn sentence(&self, worse: usize, drifting: usize) -> String {
        let TrendsDocument { store, runs, series, .. } = self.document;
        let day =
            |run: Option<&V1TrendRun>| run.map_or("", |run| run.started.get(..10).unwrap_or("")).to_owned();
        let (first, newest) = (day(runs.first()), day(runs.last()));
        let days = if first == newest { first } else { format!("{first} to {newest}") };
        let found = match (worse, drifting) {
            (0, 0) => "none is lastingly worse".to_owned(),
            (0, drifting) => format!("{drifting} drifting for the worse"),
            (worse, 0) => format!("{worse} lastingly worse"),
            (worse, drifting) => format!("{worse} lastingly worse, {drifting} drifting for the worse"),
        };
        let branches: std::collections::BTreeSet<String> =
            runs.iter().map(|run| place(&run.branch, &run.label)).collect();
        let of = crate::model::text::list(&branches.into_iter().collect::<Vec<_>>(), 3);
        format!("{} of {of} in {store}, {days}; {} series: {found}", count(runs.len(), "run"), series.len())
    }

    fn title(&self, series: &V1Series) -> String {
        let metric = if self.has_metrics { series.metric.as_str() } else { "" };
        let title = self.names.title(&series.case, metric);
        let runs = &self.document.runs;
        let is_alone = runs.iter().all(|run| run.branch == series.branch && run.label == series.label);
        if is_alone { title } else { format!("{title} ({})", place(&series.branch, &series.label)) }
    }

    fn latest(&self, series: &V1Series) -> String {
        series.points.last().map_or(String::new(), |point| value(point.value, &series.unit))
    }

    fn overview(&self, page: &mut TerminalLayout, all: bool) {
        let changed = |worse: Option<bool>| {
            move |series: &V1Series| last(series).is_some_and(|change| change.worse == worse)
        };
        let groups = [
            ("Worse, and staying so", Emphasis::Bad, self.of(changed(Some(true)))),
            ("Better, and staying so", Emphasis::Good, self.of(changed(Some(false)))),
            ("Changed, and staying so", Emphasis::Plain, self.of(changed(None))),
        ];
        for (heading, emphasis, mut series) in groups {
            if series.is_empty() {
                continue;
            }
            // The newest first, the largest of one run first.
            let rank = |series: &V1Series| {
                last(series).map(|it| (series.points[it.at as usize].run, (it.change.abs() * 1e6) as u64))
            };
            series.sort_by_key(|series| std::cmp::Reverse(rank(series)));
            page.heading(heading, emphasis);
            page.grid(
                &["case", "trend", "latest", "change"],
                series.iter().map(|series| self.changed_row(series)),
            );
        }
        let drifting = self.of(|series| series.drift.is_some());
        if !drifting.is_empty() {
            page.heading("Drifting, without a step", Emphasis::Doubt);
            let row = |series: &&V1Series| {
                let drift = series.drift.as_ref();
                let total = drift.map_or(String::new(), |drift| signed_percent(drift.total));
                let since =
                    drift.and_then(|drift| self.run(series, drift.from as usize)).map(|run| self.day(run));
                let note = format!("{total} since {}", since.unwrap_or_default());
                [self.title(series), self.spark(series), self.latest(series), note]
            };
            page.grid(&["case", "trend", "latest", "drift"], drifting.iter().map(row));
        }
        page.list(
            "Breaks: figures on both sides are not set against each other",
            Emphasis::Plain,
            self.breaks(),
        );
        let withdrawn = self.document.series.iter().flat_map(|series| {
            series.withdrawn.iter().map(move |change| {
                let (change, from) = (signed_percent(change.change), change.at);
                let run = self.run(series, from as usize).map(|run| self.day(run)).unwrap_or_default();
                format!("{}: {change} of {run}; the newest run takes it back", self.title(series))
            })
        });
        page.list("No longer changes", Emphasis::Plain, withdrawn);
        let quiet = self.of(|series| last(series).is_none() && series.drift.is_none());
        let shown = if all { quiet.len() } else { quiet.len().min(MOST_QUIET) };
        if shown > 0 {
            page.heading("Steady", Emphasis::Plain);
            let row = |series: &&V1Series| {
                let noise = series.noise.map_or("-".into(), spread);
                [self.title(series), self.spark(series), self.latest(series), noise]
            };
            page.grid(&["case", "trend", "latest", "noise"], quiet[..shown].iter().map(row));
        }
        if shown < quiet.len() {
            page.line(&format!("{} more are steady; `--all` shows them.", quiet.len() - shown));
        }
    }

    fn spark(&self, series: &V1Series) -> String {
        spark(series, SPARK, self.style.unicode)
    }

    fn day(&self, run: &V1TrendRun) -> String {
        visible(run.started.get(..10).unwrap_or(&run.started)).into_owned()
    }

    fn changed_row(&self, series: &V1Series) -> GridRow {
        let change = last(series);
        GridRow {
            cells: vec![
                self.title(series),
                self.spark(series),
                self.latest(series),
                change.map_or(String::new(), |change| signed_percent(change.change)),
            ],
            notes: change.map(|change| ("since", self.since(series, change))).into_iter().collect(),
        }
    }

    /// When a change came, between which commits, and how sure that is.
    fn since(&self, series: &V1Series, change: &V1ChangePoint) -> String {
        let day = self.run(series, change.at as usize).map(|run| self.day(run)).unwrap_or_default();
        let commits = match (&change.good, &change.bad) {
            (Some(good), Some(bad)) => format!(" in {}..{}", short_commit(good), short_commit(bad)),
            (None, Some(bad)) => format!(" by {}", short_commit(bad)),
            _ => String::new(),
        };
        let new = if change.new { "; new with the newest run" } else { "" };
        let range = format!("{} to {}", signed_percent(change.low), signed_percent(change.high));
        format!("{day}{commits}; {range}, {}{new}", p_value(change.p))
    }

    /// Each break once, with how many series it breaks.
    fn breaks(&self) -> Vec<String> {
        let mut found: Vec<(String, usize)> = Vec::new();
        for series in &self.document.series {
            for broken in &series.breaks {
                let Some(run) = self.run(series, broken.at as usize) else { continue };
                let fields =
                    broken.fields.iter().map(|it| format!("{} {} -> {}", it.field, it.before, it.after));
                let text = format!("{}: {}", self.day(run), fields.collect::<Vec<_>>().join(", "));
                match found.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, series)) => *series += 1,
                    None => found.push((text, 1)),
                }
            }
        }
        found.sort();
        let all = self.document.series.len();
        let text = |(text, series): (String, usize)| match series {
            series if series == all => format!("{text} (all series)"),
            series => format!("{text} ({series} of {all} series)"),
        };
        found.into_iter().map(text).collect()
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
            ("latest", self.latest(series)),
            ("range", format!("{} to {}", value(low, &series.unit), value(high, &series.unit))),
            (
                "noise",
                series.noise.map_or("unknown: fewer than 5 runs".into(), |noise| {
                    format!("{} from run to run", spread(noise))
                }),
            ),
        ]);
        let mut events: Vec<(u32, String)> = Vec::new();
        for change in &series.changes {
            let word = match change.worse {
                Some(true) => "worse",
                Some(false) => "better",
                None => "changed",
            };
            events.push((
                change.at,
                format!("{}, {word}, since {}", signed_percent(change.change), self.since(series, change)),
            ));
        }
        for broken in &series.breaks {
            let day = self.run(series, broken.at as usize).map(|run| self.day(run)).unwrap_or_default();
            let fields = broken.fields.iter().map(|it| format!("{} {} -> {}", it.field, it.before, it.after));
            events.push((broken.at, format!("break on {day}: {}", fields.collect::<Vec<_>>().join(", "))));
        }
        if let Some(drift) = &series.drift {
            let day = self.run(series, drift.from as usize).map(|run| self.day(run)).unwrap_or_default();
            let each = signed_percent(drift.per_run);
            events.push((
                drift.from,
                format!(
                    "drift: {} since {day}, {each} a run, {}",
                    signed_percent(drift.total),
                    p_value(drift.p)
                ),
            ));
        }
        for change in &series.withdrawn {
            events.push((
                change.at,
                format!(
                    "no longer a change: {}; the newest run takes it back",
                    signed_percent(change.change)
                ),
            ));
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
        page.grid(&["run", "commit", "value", "", "conclusion"], rows);
    }
}
