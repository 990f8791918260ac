//! The tables of one run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::fields::{CaseFields, UnknownField, conditions};
use super::request::SweepRequest;
use super::table::{Cell, SweepTable};
use crate::layout::number::{self, geometric_mean};
use crate::layout::table::ReportTable;
use crate::record::view::metric::{FactorInterval, MetricView, Rank, median};
use crate::record::view::ranking::{ContestAnswer, Measure, places};
use crate::record::view::run::RunView;
use gbench_compare::MeasuredSide;
use gbench_model::text::count;
use gbench_model::{Better, ParamValue, RunRecord};

pub(super) fn tables(record: &RunRecord, request: &SweepRequest) -> Result<Vec<SweepTable>, UnknownField> {
    let view = RunView::new(record);
    CaseFields::check(record.cases.iter().map(|case| &case.id), request)?;
    let chosen = |line: &&MetricView| {
        line.center.is_some()
            && line.case.outcome.is_measured()
            && CaseFields::fits(&line.case.id, &request.conditions)
    };
    let lines: Vec<&MetricView> = view.lines.iter().filter(chosen).collect();
    let metric = metric_of(&lines, request)?;
    let others: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line.metric.name != metric && line.is_judged())
        .map(|line| line.metric.name.as_str())
        .collect();
    let of_metric: Vec<&MetricView> = lines.into_iter().filter(|line| line.metric.name == metric).collect();
    // Figures of different units or directions are not comparable.
    let kind = |line: &MetricView| (line.metric.unit.clone(), line.better().map(|it| it.into_str()));
    let kinds: BTreeSet<(String, Option<&str>)> = of_metric.iter().map(|line| kind(line)).collect();
    let lost = record
        .cases
        .iter()
        .filter(|case| !case.outcome.is_measured() && CaseFields::fits(&case.id, &request.conditions))
        .count();
    let mut tables = Vec::new();
    for of in kinds {
        let lines: Vec<&MetricView> = of_metric.iter().copied().filter(|line| kind(line) == of).collect();
        let better = lines.iter().find_map(|line| line.better());
        let unit = of.0.as_str();
        let common = CaseFields::common(lines.iter().map(|line| &line.case.id));
        let sweep = SweepLines { lines, metric: &metric, unit, better, common: &common, request };
        let mut own = sweep.tables();
        if let (Some(last), Some(all)) = (own.last_mut(), for_all(&common, request)) {
            last.table.notes.push(all);
        }
        tables.extend(own);
    }
    if tables.is_empty() {
        tables.push(SweepTable::of_nothing(format!("{}nothing measured", conditions(request))));
    }
    if let Some(SweepTable { table: first, .. }) = tables.first_mut() {
        if lost > 0 {
            first.notes.push(format!("{} without a measurement left out", count(lost, "case")));
        }
        if !others.is_empty() {
            let names: Vec<&str> = others.into_iter().collect();
            first.notes.push(format!("also measured: {} (`--metric NAME`)", names.join(", ")));
        }
    }
    Ok(tables)
}

/// `For all: dtype=fp16, root=-1`: parameters that are equal everywhere.
fn for_all(common: &[(String, ParamValue)], request: &SweepRequest) -> Option<String> {
    let asked = |name: &String| request.conditions.iter().any(|(known, _)| known == name);
    let usual = |name: &str, value: &ParamValue| {
        ["suite", "benchmark"].contains(&name)
            || matches!((name, value.to_string().as_str()), ("device", "host") | ("thermal", "warm"))
    };
    let shown = common.iter().filter(|(name, value)| !asked(name) && !usual(name, value));
    let shown: Vec<String> = shown.map(|(name, value)| format!("{name}={value}")).collect();
    (!shown.is_empty()).then(|| format!("For all: {}", shown.join(", ")))
}

/// The requested metric; else the time, else the first judged one. Errors: no case has it.
fn metric_of(lines: &[&MetricView], request: &SweepRequest) -> Result<String, UnknownField> {
    let has = |name: &str| lines.iter().any(|line| line.metric.name == name);
    match &request.metric {
        Some(name) if has(name) => Ok(name.clone()),
        Some(name) => {
            let known: BTreeSet<&String> = lines.iter().map(|line| &line.metric.name).collect();
            Err(UnknownField::new("metric", Some(name), known))
        }
        None if has("time") => Ok("time".into()),
        None => {
            let judged = lines.iter().find(|line| line.is_judged() && !line.is_derived);
            Ok(judged.or(lines.first()).map(|line| line.metric.name.clone()).unwrap_or_default())
        }
    }
}

const MEDIAN: &str = "Median over all other parameters";

struct SweepLines<'a> {
    lines: Vec<&'a MetricView<'a>>,
    metric: &'a str,
    unit: &'a str,
    better: Option<Better>,
    common: &'a [(String, ParamValue)],
    request: &'a SweepRequest,
}

impl SweepLines<'_> {
    fn tables(&self) -> Vec<SweepTable> {
        match (self.request.by.is_empty(), &self.request.group_by) {
            (true, None) => vec![self.points()],
            (false, None) => vec![self.by_values()],
            (true, Some(group)) => vec![self.groups(group), self.best(group)],
            (false, Some(group)) => vec![self.matrix(group), self.best(group)],
        }
    }

    fn table(
        &self,
        what: &str,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
        notes: Vec<String>,
    ) -> SweepTable {
        let better = self.better.map_or(String::new(), |better| format!(", {} is better", better.into_str()));
        let title = format!("{}{} {what}{better}", conditions(self.request), self.metric);
        SweepTable { table: ReportTable::new(title, columns, rows, notes), unit: Some(self.unit.to_owned()) }
    }

    /// The point of a line, without shared facts; empty if nothing else is left.
    fn point(&self, line: &MetricView, without: &str) -> String {
        let mut left_out: Vec<&str> = self.common.iter().map(|(name, _)| name.as_str()).collect();
        left_out.push(without);
        // Variants of a pair differ in their technique, too.
        left_out.extend((without == "variant").then_some("technique"));
        CaseFields::point(&line.case.id, &left_out)
    }

    fn figure(&self, value: impl Into<Option<f64>>) -> Cell {
        Cell::shown(value.into(), |value| number::value(value, self.unit))
    }

    fn extremes(&self, lines: &[&MetricView]) -> [Cell; 2] {
        let centers = || lines.iter().filter_map(|line| line.center);
        [self.figure(centers().reduce(f64::min)), self.figure(centers().reduce(f64::max))]
    }

    fn middle(lines: &[&MetricView]) -> Option<f64> {
        median(&mut lines.iter().filter_map(|line| line.center).collect::<Vec<_>>())
    }

    fn points(&self) -> SweepTable {
        let rows = self.lines.iter().map(|line| {
            let point = match self.point(line, "") {
                nothing if nothing.is_empty() => line.name.clone(),
                point => point,
            };
            vec![Cell::text(point), self.figure(line.center), Cell::text(line.spread_text())]
        });
        self.table("of each case", ["case", "median", "spread"], rows, Vec::new())
    }

    /// One row per value: the median over the rest, and the factor to the first.
    fn by_values(&self) -> SweepTable {
        let names = &self.request.by;
        let by = CaseFields::grouped(&self.lines, |line| &line.case.id, names);
        let first = by.first().and_then(|(_, lines)| Self::middle(lines));
        let rows = by.iter().map(|(values, lines)| {
            let middle = Self::middle(lines);
            let ratio = middle.zip(first).map(|(middle, first)| middle / first).filter(|it| it.is_finite());
            let [least, most] = self.extremes(lines);
            let ratio = Cell::shown(ratio, number::times);
            let figures = [Cell::count(lines.len()), self.figure(middle), least, most, ratio];
            values.iter().map(cell_of).chain(figures).collect()
        });
        let more = ["cases", "median", "least", "most", "to the first"];
        let columns = names.iter().map(String::as_str).chain(more);
        self.table(&format!("by {}", names.join(", ")), columns, rows, vec![MEDIAN.into()])
    }

    /// One row per compared value: averages, and the number of points at which it is the best.
    fn groups(&self, group: &str) -> SweepTable {
        let by = CaseFields::grouped(&self.lines, |line| &line.case.id, &[group.to_owned()]);
        let contests = self.contests(group);
        let rows = by.iter().map(|(values, lines)| {
            let centers: Vec<f64> = lines.iter().filter_map(|line| line.center).collect();
            let mean = centers.iter().sum::<f64>() / centers.len().max(1) as f64;
            let is_own =
                |line: &MetricView| CaseFields::value(&line.case.id, group).as_ref() == values.first();
            // Equal answers are all the best.
            let best = contests.iter().filter(|contest| {
                let mut places = contest.answers.iter().zip(&contest.places);
                places.any(|(answer, place)| place.rank == 1 && is_own(self.lines[answer.line]))
            });
            let best = best.count();
            let clear = contests.iter().filter(|contest| {
                contest.is_clear()
                    && contest.answers.first().is_some_and(|answer| is_own(self.lines[answer.line]))
            });
            let clear = clear.count();
            let [least, most] = self.extremes(lines);
            vec![
                values.first().map_or_else(Cell::none, cell_of),
                Cell::count(lines.len()),
                self.figure(mean),
                self.figure(Self::middle(lines)),
                least,
                most,
                Cell::new(format!("{best} of {}", contests.len()), best),
                Cell::count(clear),
            ]
        });
        let mut notes = Vec::new();
        let factors: Vec<String> = by
            .iter()
            .filter_map(|(values, _)| {
                Some(format!("{} {}", values.first()?, Self::vs_best(&contests, group, values)?))
            })
            .collect();
        if factors.len() > 1 {
            notes.push(
                "Clear: at how many of these chance does not explain the margin to the next".to_owned(),
            );
            notes.push(format!(
                "Times worse than the best of each point, in the geometric mean: {}",
                factors.join(", ")
            ));
        }
        let columns = [group, "cases", "mean", "median", "least", "most", "best at", "clear"];
        self.table(&format!("by {group}"), columns, rows, notes)
    }

    /// `1.54x`: the geometric mean of the factors to the best of each point, for these values.
    fn vs_best(contests: &[Contest], group: &str, values: &[ParamValue]) -> Option<String> {
        let is_own =
            |answer: &ContestAnswer| CaseFields::value(&answer.case.id, group).as_ref() == values.first();
        let places = contests.iter().flat_map(|contest| contest.answers.iter().zip(&contest.places));
        let own = places.filter(|(answer, _)| is_own(answer)).filter_map(|(_, place)| place.vs_best);
        geometric_mean(own.filter(|factor| factor.ln().is_finite())).map(number::times)
    }

    /// A row for each value of the parameters, a column for each compared value.
    fn matrix(&self, group: &str) -> SweepTable {
        let by = &self.request.by;
        let figure = |lines: &[&MetricView]| self.figure(Self::middle(lines));
        let (columns, rows) =
            CaseFields::matrix(&self.lines, |line| &line.case.id, (by, group), cell_of, figure);
        self.table(&format!("by {} and {group}", by.join(", ")), columns, rows, vec![MEDIAN.into()])
    }

    fn contests(&self, group: &str) -> Vec<Contest<'_>> {
        let (Some(better), mut scratch) = (self.better, Vec::new()) else { return Vec::new() };
        let measure = Measure { metric: self.metric, unit: self.unit, better };
        let mut contests: Vec<Contest> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for (index, line) in self.lines.iter().enumerate() {
            let measured = MeasuredSide::of(line.case, line.metric, &mut scratch).ok();
            let (Some(center), Some(measured)) = (line.center, measured) else { continue };
            if CaseFields::value(&line.case.id, group).is_none() {
                continue;
            }
            let point = self.point(line, group);
            let at = *known.entry(point.clone()).or_insert_with(|| {
                contests.push(Contest { point, answers: Vec::new(), places: Vec::new() });
                contests.len() - 1
            });
            contests[at].answers.push(ContestAnswer {
                case: line.case,
                metric: line.metric,
                line: index,
                center,
                measured,
            });
        }
        for contest in &mut contests {
            measure.sort(&mut contest.answers);
            contest.places = places(&contest.answers, &measure);
        }
        contests
    }

    /// The best at each point, the next, and whether chance may explain the difference.
    fn best(&self, group: &str) -> SweepTable {
        let name = |answer: &ContestAnswer| {
            CaseFields::value(&answer.case.id, group).map_or_else(Cell::none, |value| cell_of(&value))
        };
        let contests = self.contests(group);
        let short = short_points(&contests);
        let rows = contests.iter().enumerate().filter_map(|(index, contest)| {
            let best = contest.answers.first()?;
            let next = contest.answers.get(1).zip(contest.places.get(1));
            let (next, margin, certain) = match next {
                None => (Cell::none(), Cell::none(), Cell::text("alone")),
                Some((answer, place)) => (name(answer), margin(place), certainty(best, answer, place)),
            };
            Some(vec![
                match &short {
                    _ if contest.point.is_empty() => Cell::text("the only one"),
                    Some((_, points)) => Cell::new(&points[index], contest.point.as_str()),
                    None => Cell::text(&contest.point),
                },
                name(best),
                self.figure(best.center),
                next,
                margin,
                certain,
            ])
        });
        let mut notes =
            vec!["The margin is how many times worse the next is, with its interval at 95 %".to_owned()];
        if let Some((names, _)) = &short {
            notes.insert(0, format!("A point is {names}"));
        }
        if contests.iter().flat_map(|contest| &contest.answers).any(|it| it.measured.centres.len() == 1) {
            notes.push("Unknown against noise: one process shows none, several files of a run do".to_owned());
        }
        if self.better.is_none() {
            notes = vec![format!("The better direction of {} is unknown, so there is no best", self.metric)];
        }
        let columns = ["point", "best", "median", "next", "margin", "against noise"];
        self.table(&format!("of the best {group} at each point"), columns, rows, notes)
    }
}

/// The names of the parameters that distinguish the points, and the points without them: `batch_size, sequence_length`,
/// and `8, 512` in the order of the contests. `None` unless the same two or more parameters name all points.
fn short_points(contests: &[Contest]) -> Option<(String, Vec<String>)> {
    let split = |contest: &Contest| -> Option<(Vec<String>, Vec<String>)> {
        let parts = contest.point.split(", ").map(|part| part.split_once('='));
        parts.map(|part| part.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
    };
    let parts: Vec<(Vec<String>, Vec<String>)> = contests.iter().map(split).collect::<Option<_>>()?;
    let (names, _) = parts.first().filter(|(names, _)| names.len() > 1)?;
    let alike = parts.iter().all(|(own, _)| own == names);
    alike.then(|| (names.join(", "), parts.iter().map(|(_, values)| values.join(", ")).collect()))
}

/// Cases that differ only in one field, the best first.
struct Contest<'a> {
    point: String,
    answers: Vec<ContestAnswer<'a>>,
    places: Vec<Rank>,
}

impl Contest<'_> {
    /// True if the best is unique, and chance does not explain its margin to the next.
    fn is_clear(&self) -> bool {
        self.places.get(1).is_some_and(|next| next.rank > 1 && next.apart)
    }
}

fn margin(place: &Rank) -> Cell {
    match (place.estimate, place.vs_best) {
        (Some(FactorInterval { factor, low, high }), _) => {
            let [value, low, high] = [factor, low, high].map(number::times);
            Cell::new(format!("{value} ({low} to {high})"), factor)
        }
        (None, factor) => Cell::shown(factor, number::times),
    }
}

/// The significance of the difference between the best and the next.
fn certainty(best: &ContestAnswer, next: &ContestAnswer, place: &Rank) -> Cell {
    let single = [best, next].iter().any(|answer| answer.measured.centres.len() == 1);
    Cell::text(match (single || place.estimate.is_none() && !place.apart, place.apart) {
        _ if place.rank == 1 => "equal",
        (true, _) => "unknown",
        (false, true) => "clear",
        (false, false) => "may be chance",
    })
}

fn cell_of(value: &ParamValue) -> Cell {
    Cell::new(value.to_string(), json!(value))
}
