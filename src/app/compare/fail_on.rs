//! The policy that fails a job: the gate's own, or the classes that the job lists.

use std::collections::BTreeMap;

use crate::compare::{Conclusion, Verdict};
use crate::model::{Exit, Fault, Result};

/// A class of what a comparison can come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FailOn {
    Regression,
    Inconclusive,
    Failed,
    /// Nothing: the job only reports.
    None,
}

impl FailOn {
    /// The exit code of this class, if the answer holds it.
    fn found(self, counts: &BTreeMap<Verdict, u32>, conclusion: Conclusion, gate: Exit) -> Option<Exit> {
        let (verdicts, concluded, exit): (&[Verdict], _, _) = match self {
            Self::Regression => (&[Verdict::Regressed], Conclusion::Regressed, Exit::Regression),
            Self::Inconclusive => (&[Verdict::Inconclusive], Conclusion::Inconclusive, Exit::Inconclusive),
            Self::Failed => (&[Verdict::Invalid, Verdict::Missing], Conclusion::Failed, Exit::Failed),
            Self::None => return None,
        };
        // A conclusion without such rows: nothing was compared, unless cases are broken on both sides and all else is well.
        let is_broken = gate == Exit::Pass && counts.contains_key(&Verdict::Broken);
        let has_row = verdicts.iter().any(|verdict| counts.get(verdict).is_some_and(|count| *count > 0));
        (has_row || !is_broken && conclusion == concluded).then_some(exit)
    }
}

/// Refuses a list of `none` and a class.
pub(crate) fn refuse_contradiction(listed: &[FailOn]) -> Result<()> {
    if !listed.contains(&FailOn::None) || listed.iter().all(|class| *class == FailOn::None) {
        return Ok(());
    }
    let words: Vec<_> = listed.iter().map(|class| class.into_str()).collect();
    let next = "write `none` alone, or leave it out of the list";
    let flag = format!("--fail-on {}", words.join(","));
    Err(Fault::at_flag(flag, "`none` and a class exclude each other", next))
}

/// The exit code of a job, of what a comparison or a merge has found. Without a list it is the gate's. A list replaces
/// the gate's policy: what it names fails the job also where the gate would let it pass, and what it does not name fails
/// nothing. Exit codes that policy does not govern stay: a machine that cannot compare, a defect, an interruption.
pub(crate) fn decide(
    listed: &[FailOn],
    counts: &BTreeMap<Verdict, u32>,
    conclusion: Conclusion,
    gate: Exit,
) -> Exit {
    let is_policy = matches!(gate, Exit::Pass | Exit::Regression | Exit::Inconclusive | Exit::Failed);
    if listed.is_empty() || !is_policy {
        return gate;
    }
    let found = listed.iter().filter_map(|class| class.found(counts, conclusion, gate));
    found.fold(Exit::Pass, Exit::most_severe)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = (Conclusion, BTreeMap<Verdict, u32>);

    fn document(conclusion: Conclusion, counts: &[(Verdict, u32)]) -> Found {
        let mut all = Verdict::tally(|_| 0);
        all.extend(counts.iter().copied());
        (conclusion, all)
    }

    fn decide(listed: &[FailOn], (conclusion, counts): &Found, gate: Exit) -> Exit {
        super::decide(listed, counts, *conclusion, gate)
    }

    #[test]
    fn without_a_list_the_gate_decides() {
        let noisy = document(Conclusion::Inconclusive, &[(Verdict::Inconclusive, 1)]);
        for gate in [Exit::Pass, Exit::Inconclusive, Exit::Machine] {
            assert_eq!(decide(&[], &noisy, gate), gate);
        }
    }

    #[test]
    fn a_list_stands_in_place_of_the_gates_policy() {
        use FailOn::{Failed, Inconclusive, None, Regression};
        let red = document(Conclusion::Regressed, &[(Verdict::Regressed, 1), (Verdict::Inconclusive, 2)]);
        let noisy = document(Conclusion::Inconclusive, &[(Verdict::Inconclusive, 1)]);
        let broken = document(Conclusion::Failed, &[(Verdict::Invalid, 1)]);
        let empty = document(Conclusion::Failed, &[]);
        let all_broken = document(Conclusion::Inconclusive, &[(Verdict::Broken, 6)]);
        let both = document(Conclusion::Inconclusive, &[(Verdict::Broken, 1), (Verdict::Unchanged, 5)]);
        let green = document(Conclusion::Pass, &[(Verdict::Unchanged, 5)]);
        for (listed, document, gate, expected) in [
            (&[Regression][..], &red, Exit::Regression, Exit::Regression),
            (&[Inconclusive], &red, Exit::Regression, Exit::Inconclusive),
            (&[Inconclusive, Regression], &red, Exit::Regression, Exit::Regression),
            (&[Failed], &red, Exit::Regression, Exit::Pass),
            (&[None], &red, Exit::Regression, Exit::Pass),
            (&[Regression], &noisy, Exit::Inconclusive, Exit::Pass),
            // The gate alone would let it pass.
            (&[Inconclusive], &noisy, Exit::Pass, Exit::Inconclusive),
            (&[Failed], &broken, Exit::Pass, Exit::Failed),
            (&[Failed], &empty, Exit::Failed, Exit::Failed),
            (&[Regression], &broken, Exit::Failed, Exit::Pass),
            (&[Failed, Inconclusive], &both, Exit::Pass, Exit::Pass),
            (&[Inconclusive], &all_broken, Exit::Inconclusive, Exit::Inconclusive),
            (&[Regression, Inconclusive, Failed], &green, Exit::Pass, Exit::Pass),
        ] {
            assert_eq!(decide(listed, document, gate), expected, "{listed:?}");
        }
    }

    #[test]
    fn none_beside_a_class_is_a_contradiction() {
        use FailOn::{Failed, None, Regression};
        for fine in [&[][..], &[None], &[None, None], &[Regression, Failed]] {
            assert!(refuse_contradiction(fine).is_ok(), "{fine:?}");
        }
        for listed in [&[None, Regression][..], &[Regression, None]] {
            assert_eq!(refuse_contradiction(listed).unwrap_err().exit, Exit::Usage);
        }
    }

    #[test]
    fn what_is_no_matter_of_policy_stays() {
        let green = document(Conclusion::Incomparable, &[]);
        for gate in [Exit::Usage, Exit::Machine, Exit::Internal, Exit::Interrupted, Exit::Terminated] {
            assert_eq!(decide(&[FailOn::None], &green, gate), gate);
        }
    }
}
