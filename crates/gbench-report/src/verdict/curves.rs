//! Curves of serving benchmarks in reports: a line with the verdict of each, and its points on base and on head.

use std::collections::{BTreeMap, HashMap};

use super::summary::counts_text;
use super::view::RowView;
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::{joined, named};
use crate::layout::markdown::{MarkdownStyle, details};
use crate::layout::number;
use crate::layout::table::ReportTable;
use crate::layout::terminal::TerminalLayout;
use gbench_compare::{Curve, Row, Verdict, VerdictDocument};
use gbench_model::text::count;
use gbench_model::{CaseId, Params};

const TITLE: &str = "Curves";

/// Metrics that a point names; the others are counted.
const MAX_METRICS: usize = 2;

pub(crate) struct CurveView<'a> {
    pub curve: &'a Curve,
    /// Its benchmark, with the parameters in which other curves of it differ.
    pub name: String,
    pub points: Vec<PointView<'a>>,
}

pub(crate) struct PointView<'a> {
    /// `32`.
    pub load: String,
    /// The most severe of its rows.
    pub verdict: Verdict,
    pub throughput: Option<&'a Row>,
    pub latency: Option<&'a Row>,
    /// Its other rows.
    others: Vec<&'a Row>,
}

impl<'a> CurveView<'a> {
    pub(crate) fn all(document: &'a VerdictDocument) -> Vec<Self> {
        if document.curves.is_empty() {
            return Vec::new();
        }
        let mut rows: HashMap<&CaseId, Vec<&Row>> = HashMap::new();
        for row in &document.rows {
            rows.entry(&row.case).or_default().push(row);
        }
        let view = |curve: &'a Curve| {
            let point = |case: &CaseId| Some(PointView::new(curve, case, rows.get(case)?));
            let points = curve.points.iter().filter_map(point).collect();
            Self { curve, name: name(curve, &document.curves), points }
        };
        document.curves.iter().map(view).collect()
    }

    /// `2 curves: 1 regressed, 1 unchanged`.
    pub(crate) fn heading(curves: &[Self]) -> String {
        let verdicts = counts_text(&tally(curves.iter().map(|it| it.curve.verdict)));
        format!("{TITLE}: {verdicts}")
    }

    /// `by max_concurrency: regressed at 32 (8 loads: 1 regressed, 7 unchanged)`.
    pub(crate) fn told(&self) -> String {
        let Self { curve, points, .. } = self;
        let verdicts = tally(points.iter().map(|point| point.verdict));
        let loads = count(points.len(), "load");
        if verdicts.len() == 1 {
            return format!("by {}: {} at {loads}", curve.load, curve.verdict.into_str());
        }
        let worst = points.iter().filter(|point| point.verdict == curve.verdict);
        let worst: Vec<&str> = worst.map(|point| point.load.as_str()).collect();
        let at = named(&worst, 3);
        let word = curve.verdict.into_str();
        format!("by {}: {word} at {at} ({loads}: {})", curve.load, counts_text(&verdicts))
    }

    /// The parameters of all points; `None` if there are none.
    fn shared(&self) -> Option<String> {
        let params = self.curve.case.params.iter().map(|(name, value)| format!("{name}={value}"));
        let params: Vec<String> = params.collect();
        (!params.is_empty()).then(|| format!("For all: {}", params.join(", ")))
    }

    /// A row for each load. `status`: how a verdict is written.
    pub(crate) fn table(&self, status: impl Fn(Verdict) -> String) -> ReportTable {
        self.table_of_worst(usize::MAX, status)
    }

    /// The same of the most severe points, by load.
    fn table_of_worst(&self, most: usize, status: impl Fn(Verdict) -> String) -> ReportTable {
        let axes = [&self.curve.throughput, &self.curve.latency];
        let columns = axes.into_iter().flatten().cloned();
        let columns = [self.curve.load.clone(), "status".to_owned()].into_iter().chain(columns);
        let mut shown: Vec<usize> = (0..self.points.len()).collect();
        shown.sort_by_key(|at| self.points[*at].verdict);
        shown.truncate(most);
        shown.sort_unstable();
        let rows = shown.into_iter().map(|at| &self.points[at]).map(|point| {
            let cells = axes.into_iter().zip([point.throughput, point.latency]);
            let cells = cells.filter(|(axis, _)| axis.is_some()).map(|(_, row)| point.figure(row));
            let status = joined([&status(point.verdict), &point.others()], "\n");
            [point.load.clone(), status].into_iter().chain(cells).collect()
        });
        let title = format!("{} {}", self.name, self.told());
        ReportTable::new(title, columns, rows, self.shared().into_iter().collect())
    }

    /// `all`: also the points of unchanged curves.
    pub(crate) fn terminal(curves: &[Self], all: bool, page: &mut TerminalLayout) {
        let Some(worst) = curves.iter().map(|it| it.curve.verdict).min() else { return };
        page.heading(&Self::heading(curves), worst.into());
        for view in curves {
            page.note("-", &format!("{} {}", view.name, view.told()));
            if all || view.curve.verdict != Verdict::Unchanged {
                let table = view.table(|verdict| verdict.into_str().to_owned());
                let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
                page.grid(&header, table.rows);
                table.notes.iter().for_each(|note| page.note("", &format!("{note}.")));
            }
        }
    }

    /// A folded table whose title is the curve's line.
    pub(crate) fn markdown(&self, style: &MarkdownStyle) -> String {
        let sign =
            |verdict: Verdict| format!("{}\u{a0}{}", Emphasis::from(verdict).look().sign, verdict.into_str());
        let table = self.table_of_worst(style.rows, sign);
        let omitted = self.points.len() - table.rows.len();
        let omitted = (omitted > 0).then(|| format!("{} in the JSON document", count(omitted, "more row")));
        let rule = format!("|{}", ":--|".repeat(table.columns.len()));
        let notes = omitted.iter().chain(&table.notes).map(|note| format!("\n{}.\n", (style.prose)(note)));
        let inside = table.markdown(&rule, style.rows) + &notes.collect::<String>();
        let sign = Emphasis::from(self.curve.verdict).look().sign;
        details(&format!("{sign} {}", (style.prose)(&table.title)), &inside)
    }
}

impl<'a> PointView<'a> {
    fn new(curve: &Curve, case: &CaseId, rows: &[&'a Row]) -> Self {
        let of_axis = |axis: &Option<String>| {
            let is_of = |row: &&&Row| axis.as_deref() == Some(row.metric.as_str());
            rows.iter().find(is_of).copied()
        };
        let [throughput, latency] = [&curve.throughput, &curve.latency].map(of_axis);
        let is_shown =
            |row: &Row| [throughput, latency].into_iter().flatten().any(|shown| std::ptr::eq(shown, row));
        Self {
            load: case.params.get(&curve.load).map_or(String::new(), ToString::to_string),
            verdict: rows.iter().map(|row| row.verdict).min().unwrap_or(Verdict::Unchanged),
            throughput,
            latency,
            others: rows.iter().copied().filter(|row| !is_shown(row)).collect(),
        }
    }

    /// `3303 → 3301 tokens/s` above `-0.1 %`; how the sides ended if there is no figure.
    fn figure(&self, row: Option<&Row>) -> String {
        let Some(row) = row.or(self.others.iter().find(|row| row.metric.is_empty()).copied()) else {
            return String::new();
        };
        let RowView { base, head, change, .. } = RowView::new(row, String::new());
        let (base, head) = (base.value, head.value);
        // One unit is enough for both.
        let base = match base.split_once(' ') {
            Some((figure, unit)) if head.ends_with(&format!(" {unit}")) => figure,
            _ => base.as_str(),
        };
        joined([&format!("{base} → {head}"), &change], "\n")
    }

    /// The other metrics that are not unchanged: `e2el_p99 +10.2 %, itl and 2 more`.
    fn others(&self) -> String {
        let changed = self.others.iter().filter(|row| row.verdict == self.verdict && !row.metric.is_empty());
        let told = changed.filter(|row| row.verdict != Verdict::Unchanged).map(|row| {
            let change = row.known_change().filter(|_| row.verdict != Verdict::Inconclusive);
            let change = change.map(|change| number::signed_percent(change.slowdown));
            joined([&row.metric, &change.unwrap_or_default()], " ")
        });
        named(&told.collect::<Vec<_>>(), MAX_METRICS)
    }
}

fn tally(verdicts: impl Iterator<Item = Verdict>) -> BTreeMap<Verdict, u32> {
    let mut counts = BTreeMap::new();
    verdicts.for_each(|verdict| *counts.entry(verdict).or_default() += 1);
    counts
}

/// The benchmark of a curve, with the parameters in which other curves of it differ.
fn name(curve: &Curve, all: &[Curve]) -> String {
    let alike: Vec<&Curve> = all.iter().filter(|it| it.case.benchmark == curve.case.benchmark).collect();
    let differs =
        |name: &String| alike.iter().any(|other| other.case.params.get(name) != curve.case.params.get(name));
    let params: Params = curve
        .case
        .params
        .iter()
        .filter(|(name, _)| differs(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    CaseId { params, ..curve.case.clone() }.to_string()
}
