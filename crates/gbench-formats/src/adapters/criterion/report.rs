//! Criterion.rs on stdout: the estimate of each case with its unit, and how often the warm-up ran.
//!
//! ```text
//! Completed 127 iterations in 1033454 nanoseconds, estimated execution time is 8137.43 ns
//! sum 100                 time:   [881.48 ns 939.60 ns 881.48 ns]
//! a title of more than 23 bytes
//!                         time:   [3.7902 ns 3.7905 ns 3.7902 ns]
//! ```

use crate::adapters::interface::output::ReadError;

pub(crate) struct CriterionReport<'a> {
    lines: Vec<&'a str>,
}

pub(crate) struct ReportLine {
    /// In nanoseconds; `None` if the unit is not a time.
    estimate: Option<f64>,
    /// Iterations of the warm-up, if printed.
    pub warmed: Option<f64>,
}

impl<'a> CriterionReport<'a> {
    /// `None` without stdout, as for files in `target/criterion`.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self { lines: text.split_inclusive('\n').collect() })
    }

    /// Errors: there is no line of that title.
    pub(crate) fn case(&self, title: &str) -> Result<ReportLine, ReadError> {
        let mut warmed = None;
        let mut titled = false;
        for line in self.lines.iter().filter(|line| line.ends_with('\n')) {
            // `Completed 127 iterations in 1033454 nanoseconds, estimated ...`, before the line of its case.
            if let Some(done) =
                line.strip_prefix("Completed ").and_then(|rest| rest.split_once(" iterations in "))
            {
                warmed = done.0.parse().ok();
            }
            // A long title has a line to itself.
            let rest = line.strip_prefix(title).or_else(|| titled.then_some(*line)).unwrap_or("");
            titled = line.trim_end_matches('\n') == title;
            let Some(rest) = rest.trim_start().strip_prefix("time:") else {
                // The warm-up belongs to the case whose line ends here.
                warmed = warmed.filter(|_| !line.contains("time:   ["));
                continue;
            };
            let words: Vec<&str> = rest.trim().trim_start_matches('[').split(' ').collect();
            let estimate = words.get(2).and_then(|value| value.parse::<f64>().ok());
            let scale = words.get(3).and_then(|unit| nanoseconds(unit));
            return Ok(ReportLine {
                estimate: estimate.zip(scale).map(|(value, scale)| value * scale),
                warmed,
            });
        }
        Err(ReadError::case(title, "stdout has no line `time: [...]` of it"))
    }
}

impl ReportLine {
    /// True if its estimate is between the smallest and the largest of these, as a mean is.
    pub(crate) fn fits(&self, times: &[f64]) -> bool {
        let low = times.iter().copied().fold(f64::INFINITY, f64::min);
        let high = times.iter().copied().fold(0.0, f64::max);
        // Five digits are printed.
        self.estimate.is_some_and(|estimate| estimate > low * 0.999 && estimate < high * 1.001)
    }
}

fn nanoseconds(unit: &str) -> Option<f64> {
    let units = [("ps", 1e-3), ("ns", 1.0), ("µs", 1e3), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}
