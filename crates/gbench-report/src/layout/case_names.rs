//! The name of a case in a report.

use std::collections::BTreeSet;

use gbench_model::CaseId;

/// Names of cases. The way of timing is included only if two names would otherwise be equal.
pub(crate) struct CaseNames(BTreeSet<String>);

impl CaseNames {
    pub(crate) fn new<'c>(cases: impl Iterator<Item = &'c CaseId>) -> Self {
        let distinct: BTreeSet<&CaseId> = cases.collect();
        let mut seen = BTreeSet::new();
        let twice = distinct.into_iter().map(CaseId::to_string).filter(|name| !seen.insert(name.clone()));
        Self(twice.collect())
    }

    pub(crate) fn name(&self, case: &CaseId) -> String {
        let name = case.to_string();
        if self.0.contains(&name) { format!("{name} (timed by {})", case.timing.into_str()) } else { name }
    }

    pub(crate) fn title(&self, case: &CaseId, metric: &str) -> String {
        format!("{} {metric}", self.name(case)).trim_end().to_owned()
    }
}
