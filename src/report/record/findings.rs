//! What weakens the figures of a run: noise, too few processes, a process that stands apart. Each finding is
//! tied to a measured fact and comes with what to do about it.

use super::{Line, centers, median};
use crate::report::number;
use crate::report::rows::plural;

/// A fact that weakens a figure, and the way out.
#[derive(Debug, PartialEq)]
pub struct Finding {
    pub fact: String,
    pub next: String,
}

/// Metrics that one finding names.
const MOST_NAMED: usize = 5;

/// Noisy metrics, noisiest first; then single processes, whose spread nobody knows; then lone outliers.
pub fn of(lines: &[Line]) -> Vec<Finding> {
    let mut noisy: Vec<_> = lines
        .iter()
        .filter_map(|line| Some((line.spread?, line)))
        .filter(|(spread, line)| *spread > line.threshold())
        .collect();
    noisy.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut findings = Vec::new();
    if !noisy.is_empty() {
        let named = noisy.iter().take(MOST_NAMED).map(|(spread, line)| {
            let [spread, threshold] = [*spread, line.threshold()].map(number::percent);
            format!("{} by {spread} ({threshold} matters)", line.title())
        });
        let mut names = named.collect::<Vec<_>>().join(", ");
        if noisy.len() > MOST_NAMED {
            names += &format!(" and {} more", noisy.len() - MOST_NAMED);
        }
        let verb = if noisy.len() == 1 { "varies" } else { "vary" };
        findings.push(Finding {
            fact: format!(
                "{} {verb} between processes by more than the change that matters: {names}",
                plural(noisy.len(), "metric"),
            ),
            next: "raise --processes, or see `gbench-ci doctor` for what disturbs this machine".into(),
        });
    }
    let single = lines.iter().filter(|line| centers(line.metric).len() == 1).count();
    if single > 0 {
        findings.push(Finding {
            fact: format!("{} measured by one process only: the spread is unknown", plural(single, "metric")),
            next: "use --processes 5 or more before comparing".into(),
        });
    }
    findings.extend(lines.iter().filter_map(outlier));
    findings
}

/// One process that stands apart while the others agree: four times as far from the median as the next, and
/// farther than the threshold.
fn outlier(line: &Line) -> Option<Finding> {
    let centers = centers(line.metric);
    let middle = median(&mut centers.clone()).filter(|middle| *middle > 0.0 && centers.len() >= 4)?;
    let mut distances: Vec<(f64, usize)> =
        centers.iter().enumerate().map(|(index, center)| ((center / middle - 1.0).abs(), index)).collect();
    distances.sort_by(|a, b| b.0.total_cmp(&a.0));
    let ((far, index), (next, _)) = (distances[0], distances[1]);
    (far > line.threshold() && far > 4.0 * next).then(|| Finding {
        fact: format!(
            "{}: process {} of {} measured {}, the others agree on {}",
            line.title(),
            index + 1,
            centers.len(),
            number::value(centers[index], &line.metric.unit),
            line.median,
        ),
        next: "look for what ran beside it; its log is in the run's logs folder".into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::report::record::{Digest, test_support};

    #[test]
    fn noise_single_processes_and_lone_outliers_are_found() {
        let record = test_support::record();
        let facts: Vec<_> = Digest::new(&record).findings.into_iter().map(|finding| finding.fact).collect();
        insta::assert_snapshot!("findings", facts.join("\n"));
    }
}
