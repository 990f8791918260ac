//! Figures of base in head's units, where both sides give the same quantity: a program that now prints microseconds instead
//! of nanoseconds did not become a thousand times as fast.

use std::borrow::Cow;
use std::collections::HashMap;

use gbench_model::{CaseId, CaseRecord, Metric, Result, RunRecord, convert};

use super::cases::pair;
use crate::rules::rule::Rule;
use crate::verdict::policy::SideInput;

/// The record of base as it is compared, and `case metric: ns in us` of each metric that was converted. The rules before
/// `seq-e-5` do not convert. Errors: those of [`pair`].
pub(crate) fn in_units_of_head<'a>(
    rule: &dyn Rule,
    base: &SideInput<'a>,
    head: &SideInput,
) -> Result<(Cow<'a, RunRecord>, Vec<String>)> {
    let mut record = Cow::Borrowed(base.record);
    let mut converted = Vec::new();
    if rule.precedes_seq_e_5() {
        return Ok((record, converted));
    }
    let pairs = pair(base, head, rule)?;
    let of_head: HashMap<&CaseId, &CaseRecord> =
        pairs.iter().filter_map(|pair| Some((&pair.base?.id, pair.head?))).collect();
    for (at, case) in base.record.cases.iter().enumerate() {
        let Some(other) = of_head.get(&case.id) else { continue };
        for (index, metric) in case.metrics.iter().enumerate() {
            let of_head = other.metrics.iter().find(|of_head| of_head.name == metric.name);
            let Some(unit) = of_head.map(|of_head| &of_head.unit).filter(|unit| is_other(unit, &metric.unit))
            else {
                continue;
            };
            converted.push(format!("{} {}: {} in {unit}", case.id, metric.name, metric.unit));
            to_unit(&mut record.to_mut().cases[at].metrics[index], unit);
        }
    }
    Ok((record, converted))
}

/// True if a figure in one unit has a value in the other. A figure without a unit may be anything.
fn is_other(unit: &str, before: &str) -> bool {
    unit != before && !before.is_empty() && convert(1.0, before, unit).is_some()
}

fn to_unit(metric: &mut Metric, unit: &str) {
    let before = std::mem::replace(&mut metric.unit, unit.to_owned());
    let turn = |value: &mut f64| *value = convert(*value, &before, unit).unwrap_or(*value);
    for process in &mut metric.processes {
        process.values.iter_mut().for_each(turn);
        if let Some(stated) = &mut process.stated {
            turn(&mut stated.value);
            stated.stddev.as_mut().map(turn);
        }
    }
}
