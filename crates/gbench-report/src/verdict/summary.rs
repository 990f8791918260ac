//! Each suite in one line, and the total speed of head.

use std::collections::BTreeMap;

use crate::layout::case_names::CaseNames;
use crate::layout::number::geometric_mean;
use gbench_compare::{Conclusion, Row, Verdict, is_speed};
use gbench_model::text::count;

#[derive(Debug, PartialEq)]
pub(crate) struct SuiteSummary {
    pub name: String,
    pub counts: BTreeMap<Verdict, u32>,
    pub speedup: Option<Speedup>,
}

/// The speed of head relative to base, over the rows with a known change. Below 1: slower.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Speedup {
    pub rows: u32,
    /// Rows that were omitted because their change is unknown.
    pub unknown: u32,
    pub geometric_mean: f64,
    /// With its name, as `best`.
    pub worst: (f64, String),
    pub best: (f64, String),
}

impl SuiteSummary {
    pub(crate) fn all(rows: &[Row], names: &CaseNames) -> Vec<Self> {
        let mut suites: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows {
            suites.entry(row.case.benchmark.suite()).or_default().push(row);
        }
        let suite = |(name, rows): (&str, Vec<&Row>)| Self {
            name: name.to_owned(),
            counts: counts(rows.iter().copied()),
            speedup: Speedup::over(rows.into_iter(), names),
        };
        suites.into_iter().map(suite).collect()
    }

    pub(crate) fn count(&self, verdict: Verdict) -> u32 {
        self.counts.get(&verdict).copied().unwrap_or(0)
    }

    pub(crate) fn rows(&self) -> u32 {
        self.counts.values().sum()
    }

    /// Invalid, missing, or broken on both sides.
    pub(crate) fn failed(&self) -> u32 {
        [Verdict::Invalid, Verdict::Missing, Verdict::Broken].map(|verdict| self.count(verdict)).iter().sum()
    }

    pub(crate) fn conclusion(&self) -> Conclusion {
        match () {
            () if self.count(Verdict::Regressed) > 0 => Conclusion::Regressed,
            () if self.count(Verdict::Invalid) + self.count(Verdict::Missing) > 0 => Conclusion::Failed,
            () if self.count(Verdict::Inconclusive) + self.count(Verdict::Broken) > 0 => {
                Conclusion::Inconclusive
            }
            () => Conclusion::Pass,
        }
    }
}

/// A note about rows without a part in the mean; `None` if there are none.
pub(crate) fn left_out(unknown: u32) -> Option<String> {
    let are = if unknown == 1 { "is" } else { "are" };
    (unknown > 0).then(|| {
        format!("{} of whose change nothing is known {are} left out", count(unknown as usize, "row"))
    })
}

pub(crate) fn counts<'r>(rows: impl Iterator<Item = &'r Row>) -> BTreeMap<Verdict, u32> {
    let mut counts = BTreeMap::new();
    rows.for_each(|row| *counts.entry(row.verdict).or_default() += 1);
    counts
}

pub(crate) fn counts_text(counts: &BTreeMap<Verdict, u32>) -> String {
    let present = counts.iter().filter(|(_, count)| **count > 0);
    present.map(|(verdict, count)| format!("{count} {}", verdict.into_str())).collect::<Vec<_>>().join(", ")
}

impl Speedup {
    pub(crate) fn over<'r>(rows: impl Iterator<Item = &'r Row>, names: &CaseNames) -> Option<Self> {
        let of_speed: Vec<&Row> = rows.filter(|row| is_speed(row) && row.change.is_some()).collect();
        let unknown = of_speed.iter().filter(|row| row.known_change().is_none()).count() as u32;
        let speedups: Vec<(f64, &Row)> = of_speed
            .into_iter()
            .filter_map(|row| Some((1.0 / (1.0 + row.known_change()?.slowdown), row)))
            .filter(|(speedup, _)| speedup.is_finite() && *speedup > 0.0)
            .collect();
        let by_speedup = |a: &&(f64, &Row), b: &&(f64, &Row)| a.0.total_cmp(&b.0);
        let named = |(speedup, row): &(f64, &Row)| (*speedup, names.title(&row.case, &row.metric));
        Some(Self {
            worst: named(speedups.iter().min_by(by_speedup)?),
            best: named(speedups.iter().max_by(by_speedup)?),
            rows: speedups.len() as u32,
            unknown,
            geometric_mean: geometric_mean(speedups.iter().map(|(speedup, _)| *speedup))?,
        })
    }

    /// `41 rows`, `41 rows; 2 rows of whose change nothing is known are left out`.
    pub(crate) fn over_what(&self) -> String {
        let left_out = left_out(self.unknown).map_or(String::new(), |left_out| format!("; {left_out}"));
        count(self.rows as usize, "row") + &left_out
    }
}
