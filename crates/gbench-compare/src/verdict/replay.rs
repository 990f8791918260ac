//! The verdict of a comparison in rounds from its records alone. Nothing else enters it: no clock, no machine, no path,
//! no option of a command line, so that the same records give the same bytes anywhere.

use gbench_model::{Comparison, Exit, Fault, Result, RunRecord, Side};

use super::compare::compare_sides;
use super::document::VerdictDocument;
use super::policy::{Policy, SideInput};

/// The verdict, by the rule, the policy and the names in the records.
///
/// Errors: records that are not the base, head and control of one comparison; what [`compare_sides`] refuses.
pub fn verdict_of(
    base: &RunRecord,
    head: &RunRecord,
    control: Option<&RunRecord>,
) -> Result<VerdictDocument> {
    let comparison = comparison_of(base, Side::Base)?;
    let others = [Some((head, Side::Head)), control.map(|control| (control, Side::Control))];
    for (record, side) in others.into_iter().flatten() {
        let other = comparison_of(record, side)?;
        if other.id != comparison.id {
            let what =
                format!("base is of comparison {}, {} of {}", comparison.id, side.into_str(), other.id);
            return Err(not_one(what));
        }
    }
    let [base, head] = named_sides(base, head, comparison);
    let name = format!("{} (control)", comparison.base);
    let control = control.map(|record| SideInput { record, name });
    compare_sides(&base, &head, control.as_ref(), &Policy::of(comparison))
}

/// Both sides under the names that the comparison gives them.
pub fn named_sides<'a>(
    base: &'a RunRecord,
    head: &'a RunRecord,
    comparison: &Comparison,
) -> [SideInput<'a>; 2] {
    [
        SideInput { record: base, name: comparison.base.clone() },
        SideInput { record: head, name: comparison.head.clone() },
    ]
}

fn comparison_of(record: &RunRecord, side: Side) -> Result<&Comparison> {
    let word = side.into_str();
    let Some(comparison) = &record.comparison else {
        let what = format!("the record of {word} is of no comparison in rounds");
        let next = "judge records that were measured apart with `gbench-ci compare BASE HEAD`";
        return Err(Fault::at("replay", what, next).exits(Exit::Usage));
    };
    match record.side {
        Some(found) if found != side => {
            Err(not_one(format!("what was given as {word} says that it is {}", found.into_str())))
        }
        _ => Ok(comparison),
    }
}

fn not_one(what: String) -> Fault {
    Fault::at("replay", what, "give the records of one comparison, the base's first")
}
