//! Detects whether a comment would change.

use gbench_compare::{AppliedAcceptances, DecidedRow, Merged, Verdict};
use gbench_model::sha256_hex;

/// Hexadecimal digest of the conclusion; of every row that is not unchanged, with its machine and its reason; of
/// benchmarks that the sides define differently; and of accepted rows. It does not cover figures, which differ from run
/// to run.
pub fn fingerprint(merged: &Merged, accepted: &AppliedAcceptances) -> String {
    let mut said = Vec::new();
    for group in &merged.groups {
        let rows = group.verdict.rows.iter().filter(|row| row.verdict != Verdict::Unchanged);
        said.extend(rows.map(|row| json(&(row.verdict, &group.label, &row.case, &row.metric))));
        let warnings = group.verdict.warning_codes.iter().filter(|warning| warning.is_of_definitions());
        said.extend(warnings.map(|warning| json(&(&group.label, warning))));
    }
    if merged.is_pending() {
        // The comment changes with each part that comes, also where it finds nothing.
        said.extend(merged.warnings.iter().map(json));
    }
    said.sort();
    let verdict = json(&(merged.conclusion, said));
    if accepted.is_empty() {
        return sha256_hex(verdict.as_bytes());
    }
    let decided = |rows: &[DecidedRow]| -> Vec<String> {
        let by =
            |row: &DecidedRow| row.acceptances.iter().map(|it| (it.pull, it.comment)).collect::<Vec<_>>();
        rows.iter().map(|row| json(&(&row.label, &row.case, &row.metric, by(row)))).collect()
    };
    let accepted = (decided(&accepted.covered), decided(&accepted.exceeded));
    sha256_hex(json(&(verdict, accepted)).as_bytes())
}

fn json(value: &impl serde::Serialize) -> String {
    // Enums, texts, and maps with text keys: JSON can represent all of them.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support as documents;

    #[test]
    fn other_figures_are_nothing_new_and_another_verdict_is() {
        let merged = Merged::single("", documents::one_regressed());
        let mut noisier = merged.clone();
        for row in &mut noisier.groups[0].verdict.rows {
            row.change.as_mut().unwrap().slowdown *= 1.01;
        }
        noisier.groups[0].verdict.rows.reverse();
        noisier.groups[0].verdict.warnings.clear();
        let fingerprint = |merged: &Merged| super::fingerprint(merged, &AppliedAcceptances::default());
        assert_eq!(fingerprint(&noisier), fingerprint(&merged));
        assert_eq!(fingerprint(&merged).len(), 64);

        let mut green = merged.clone();
        green.groups[0].verdict.rows[0].verdict = Verdict::Unchanged;
        let mut elsewhere = merged.clone();
        elsewhere.groups[0].label = "h100".into();
        let mut other_metric = merged.clone();
        other_metric.groups[0].verdict.rows[0].metric = "energy".into();
        let mut lenient = merged.clone();
        lenient.conclusion = gbench_compare::Conclusion::Failed;
        let states: std::collections::BTreeSet<String> =
            [&merged, &green, &elsewhere, &other_metric, &lenient].map(fingerprint).into();
        assert_eq!(states.len(), 5);
    }
}
