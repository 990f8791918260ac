//! Curves: the points of a serving benchmark at several loads. The rows are judged one by one and share the error rate, so a
//! curve only gathers their verdicts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gbench_model::{Better, CaseId, LoadParameters, ParamValue, direction_of_unit, is_time};

use super::curve::{CasesUnderLoad, Curve};
use super::document::Row;
use super::outcome::Verdict;
use crate::identity::cases::PairedCase;

/// Two points are a line, which hides nothing.
const MIN_POINTS: usize = 3;

/// The cases of a comparison that may be points of curves.
pub(crate) fn loads(pairs: &[PairedCase]) -> Vec<CasesUnderLoad> {
    grouped(pairs.iter().filter_map(|pair| {
        let mut sides = pair.head.into_iter().chain(pair.base);
        Some((pair.id, sides.find_map(|case| case.load.as_ref())?))
    }))
}

/// Those of several parts of one suite.
pub(crate) fn all_loads<'l>(parts: impl Iterator<Item = &'l CasesUnderLoad>) -> Vec<CasesUnderLoad> {
    grouped(parts.flat_map(|part| part.cases.iter().map(|case| (case, &part.load))))
}

fn grouped<'l>(cases: impl Iterator<Item = (&'l CaseId, &'l LoadParameters)>) -> Vec<CasesUnderLoad> {
    let mut groups: BTreeMap<_, (&LoadParameters, BTreeSet<&CaseId>)> = BTreeMap::new();
    for (case, load) in cases {
        let key = (&load.parameters, &load.following, &load.axes);
        groups.entry(key).or_insert_with(|| (load, BTreeSet::new())).1.insert(case);
    }
    let group = |(load, cases): (&LoadParameters, BTreeSet<&CaseId>)| CasesUnderLoad {
        load: load.clone(),
        cases: cases.into_iter().cloned().collect(),
    };
    groups.into_values().map(group).collect()
}

/// The curves of these rows, by name. A case is a point of one of them at most.
pub(crate) fn of(loads: &[CasesUnderLoad], rows: &[Row]) -> Vec<Curve> {
    let declared: HashMap<&CaseId, &LoadParameters> =
        loads.iter().flat_map(|it| it.cases.iter().map(|case| (case, &it.load))).collect();
    // Most comparisons have none.
    if declared.is_empty() {
        return Vec::new();
    }
    let mut by_case: BTreeMap<&CaseId, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| declared.contains_key(&row.case)) {
        by_case.entry(&row.case).or_default().push(row);
    }
    let mut open: Vec<(&CaseId, &LoadParameters)> =
        by_case.keys().map(|case| (*case, declared[*case])).collect();
    let places = open.iter().map(|(_, load)| load.parameters.len()).max().unwrap_or(0);
    let mut curves = Vec::new();
    for place in 0..places {
        // With what follows from the load, then without it.
        for follows in [true, false] {
            let mut groups: BTreeMap<(CaseId, &String), Vec<&CaseId>> = BTreeMap::new();
            for (case, load) in &open {
                let parameter = load.parameters.get(place);
                if let Some(parameter) = parameter.filter(|name| case.params.contains_key(*name)) {
                    groups.entry((rest(case, parameter, load, follows), parameter)).or_default().push(case);
                }
            }
            let found = groups.into_iter().filter_map(|((case, parameter), points)| {
                let rows: Vec<&Row> =
                    points.iter().flat_map(|point| by_case[point].iter().copied()).collect();
                curve(case, parameter, &points, &rows, declared[points[0]])
            });
            let found: Vec<Curve> = found.collect();
            let taken: HashSet<&CaseId> = found.iter().flat_map(|curve| &curve.points).collect();
            open.retain(|(case, _)| !taken.contains(case));
            curves.extend(found);
        }
    }
    curves.sort_by(|one, other| (&one.case, &one.load).cmp(&(&other.case, &other.load)));
    curves
}

/// The case without its load, which all points of a curve share.
fn rest(case: &CaseId, parameter: &String, load: &LoadParameters, follows: bool) -> CaseId {
    let mut rest = case.clone();
    rest.params.retain(|name, _| name != parameter && !(follows && load.following.contains(name)));
    rest
}

/// `None`: there are too few points, or two at one load, which something else tells apart.
fn curve(
    case: CaseId,
    parameter: &str,
    points: &[&CaseId],
    rows: &[&Row],
    declared: &LoadParameters,
) -> Option<Curve> {
    let mut points: Vec<CaseId> = points.iter().copied().cloned().collect();
    sort(&mut points, parameter);
    let has_twins = points.windows(2).any(|pair| pair[0].params[parameter] == pair[1].params[parameter]);
    if points.len() < MIN_POINTS || has_twins {
        return None;
    }
    let axis = |better: Better| {
        let of_axis = |row: &&&Row| {
            let is_directed = direction_of_unit(&row.unit) == Some(better) && row.better == Some(better);
            is_directed
                && row.centres().iter().any(Option::is_some)
                && (better == Better::Higher || is_time(&row.unit))
        };
        let names: HashSet<&str> = rows.iter().filter(of_axis).map(|row| row.metric.as_str()).collect();
        let preferred = declared.axes.iter().map(String::as_str).find(|name| names.contains(name));
        preferred.or_else(|| names.iter().copied().min()).map(str::to_owned)
    };
    Some(Curve {
        verdict: rows.iter().map(|row| row.verdict).min()?,
        throughput: axis(Better::Higher),
        latency: axis(Better::Lower),
        case,
        load: parameter.to_owned(),
        points,
    })
}

fn sort(points: &mut [CaseId], parameter: &str) {
    let load = |case: &CaseId| match case.params.get(parameter) {
        Some(ParamValue::Int(value)) => *value as f64,
        Some(ParamValue::Float(value)) => *value,
        // `inf`: requests are sent all at once.
        Some(ParamValue::Text(text)) => text.parse().unwrap_or(f64::NAN),
        Some(ParamValue::Bool(_)) | None => f64::NAN,
    };
    points.sort_by(|one, other| load(one).total_cmp(&load(other)).then_with(|| one.cmp(other)));
}

/// The curves with the verdicts of these rows. Points without a row are left out.
pub(crate) fn judged_by(rows: &[Row], curves: &[Curve]) -> Vec<Curve> {
    let mut by_case: HashMap<&CaseId, Verdict> = HashMap::new();
    for row in rows {
        let known = by_case.entry(&row.case).or_insert(row.verdict);
        *known = row.verdict.min(*known);
    }
    let judged = |curve: &Curve| {
        let is_here = |point: &&CaseId| by_case.contains_key(point);
        let points: Vec<CaseId> = curve.points.iter().filter(is_here).cloned().collect();
        let verdict = points.iter().map(|point| by_case[point]).min()?;
        Some(Curve { verdict, points, ..curve.clone() })
    };
    curves.iter().filter_map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::test_support::case_id;

    #[test]
    fn points_in_several_parts_are_one_curve() {
        let point = |load: i64| {
            let mut case = case_id("serving/chat");
            case.params.insert("users".into(), ParamValue::Int(load));
            case
        };
        let load = LoadParameters { parameters: vec!["users".into()], ..LoadParameters::default() };
        let part = |loads: &[i64]| CasesUnderLoad {
            load: load.clone(),
            cases: loads.iter().copied().map(point).collect(),
        };
        // No part has three points.
        let parts = [part(&[4, 32]), part(&[2, 8]), part(&[16])];
        let rows = [4, 32, 2, 8, 16].map(|load| -> Row {
            serde_json::from_value(serde_json::json!({
                "case": point(load), "metric": "e2el", "unit": "ms", "reason": "", "next": "", "threshold": 0.05,
                "verdict": if load == 8 { Verdict::Regressed } else { Verdict::Unchanged },
            }))
            .unwrap()
        });
        assert!(parts.iter().all(|part| of(std::slice::from_ref(part), &rows).is_empty()));
        let loads = all_loads(parts.iter());
        assert_eq!(loads, [part(&[2, 4, 8, 16, 32])]);
        let [whole] = of(&loads, &rows).try_into().unwrap();
        assert_eq!(whole.points, [2, 4, 8, 16, 32].map(point));
        assert_eq!(whole.verdict, Verdict::Regressed);
    }
}
