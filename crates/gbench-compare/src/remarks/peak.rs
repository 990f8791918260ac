//! How near a case comes to the peak of its card, next to its time. It decides nothing.

use std::collections::HashMap;

use crate::identity::cases::PairedCase;
use crate::verdict::document::{PeakRate, Row, RowPeak};
use gbench_model::{BYTES_OF_PEAK, CaseId, CaseRecord, FLOPS_OF_PEAK, NEAREST_PEAK};

/// Adds the share of the peak to each time whose case has one on a side.
pub(crate) fn tell(rows: &mut [Row], pairs: &[PairedCase]) {
    let by_case: HashMap<&CaseId, [Option<&CaseRecord>; 2]> =
        pairs.iter().map(|pair| (pair.id, [pair.base, pair.head])).collect();
    for row in rows.iter_mut().filter(|row| row.metric == "time") {
        row.of_peak = by_case.get(&row.case).and_then(of_case);
    }
}

fn of_case(sides: &[Option<&CaseRecord>; 2]) -> Option<RowPeak> {
    // The head's, unless only the base has work and a peak.
    let nearest = sides.iter().rev().flatten().find_map(|case| case.metadata.get(NEAREST_PEAK)?.as_str())?;
    let (rate, other) = match nearest {
        BYTES_OF_PEAK => (PeakRate::Bytes, FLOPS_OF_PEAK),
        FLOPS_OF_PEAK => (PeakRate::Flops, BYTES_OF_PEAK),
        _ => return None,
    };
    let [base, head] = sides.map(|case| share(case?, nearest));
    let has_other = sides.iter().flatten().any(|case| share(case, other).is_some());
    (base.is_some() || head.is_some()).then_some(RowPeak { rate, of_roofline: has_other, base, head })
}

fn share(case: &CaseRecord, metric: &str) -> Option<f64> {
    let metric = case.metrics.iter().find(|it| it.name == metric)?;
    Some(metric.summary.as_ref()?.median / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::test_support;

    fn case(nearest: Option<&str>, shares: &[(&str, f64)]) -> CaseRecord {
        let metric = |(name, percent): &(&str, f64)| {
            let mut metric = test_support::metric(name, "%", [vec![*percent]]);
            let summary = serde_json::json!({
                "samples": 1, "processes": 1, "mean": percent, "median": percent, "min": percent, "max": percent, "percentiles": {}
            });
            metric.summary = serde_json::from_value(summary).unwrap();
            metric
        };
        let metrics = shares.iter().map(metric).collect();
        let mut case = test_support::case(test_support::case_id("s/a"), vec![], metrics);
        case.metadata.extend(nearest.map(|name| (NEAREST_PEAK.to_owned(), name.into())));
        case
    }

    #[test]
    fn b35_a_time_has_the_share_of_the_nearest_peak_and_its_side_of_the_roofline() {
        let base = case(Some(BYTES_OF_PEAK), &[(BYTES_OF_PEAK, 71.0)]);
        let head = case(Some(BYTES_OF_PEAK), &[(BYTES_OF_PEAK, 62.0), (FLOPS_OF_PEAK, 3.0)]);
        let of = |sides: [Option<&CaseRecord>; 2]| of_case(&sides);
        let both = RowPeak { rate: PeakRate::Bytes, of_roofline: true, base: Some(0.71), head: Some(0.62) };
        assert_eq!(of([Some(&base), Some(&head)]), Some(both));
        let alone = RowPeak { of_roofline: false, head: None, ..both };
        assert_eq!(of([Some(&base), None]), Some(alone));
        // A record from before the note says what it said then.
        let old = case(None, &[(BYTES_OF_PEAK, 71.0)]);
        assert_eq!(of([Some(&old), Some(&old)]), None);
    }
}
