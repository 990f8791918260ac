//! What a reader should know beside the rows.

use super::parts::{named, serial_correlation};
use crate::compare::Warning;
use crate::model::CommonSuite;
use crate::model::text::{count, percent};

/// The text of a warning, without a period.
pub fn warning(warning: &Warning) -> String {
    match warning {
        Warning::SameRecord { run } => {
            format!("the record of run {run} was compared with itself: unchanged means nothing here")
        }
        Warning::EditedRecord { run } => {
            format!("both records carry the run id {run} and yet differ: one of them was edited")
        }
        Warning::Unmeasured { count, named: names } => {
            format!("{count} without a measurement on either side: {}", named(*count, names))
        }
        Warning::NotJudged { count, named: names } => {
            format!("{count} shown and not judged (`gate = false`): {}", named(*count, names))
        }
        Warning::OptionalOnOneSide { count, named: names } => format!(
            "{count} optional and on one side only, so that nothing was compared: {}",
            named(*count, names)
        ),
        Warning::OtherSetting { cases, setting, base, head } => format!(
            "{} measured with other settings: `{setting}` is {base} on base and {head} on head",
            cases_were(*cases)
        ),
        Warning::StartedOtherwise { count, named: names } => {
            format!("{} started otherwise on head: {}", cases_were(*count), named(*count, names))
        }
        Warning::BadThreshold { count, named: names } => format!(
            "{} state a threshold that is no relative change, which was passed over: {}",
            cases_of(*count),
            named(*count, names)
        ),
        Warning::Interrupted { side } => {
            format!(
                "{} was interrupted: it may hold fewer cases and processes than selected",
                side.into_str()
            )
        }
        Warning::Recovered { side } => {
            format!("{} was recovered from a run that was killed: later cases are not in it", side.into_str())
        }
        Warning::OfRecord { side, text } => format!("{}: {text}", side.into_str()),
        Warning::OfCases { side, text, count, named: names } => match names.as_slice() {
            [only] if *count == 1 => format!("{}: {only}: {text}", side.into_str()),
            _ => format!("{}: {}: {text}: {}", side.into_str(), cases_of(*count), named(*count, names)),
        },
        Warning::MoreOfCases { side, count } => {
            format!("{}: {count} more of single cases, in its record", side.into_str())
        }
        Warning::LocationShift { rows, median } => format!(
            "the suite as a whole moved: the median of {} is {} {}. A change that all share (a compiler, a library, the \
             layout of the code) or a bias of the measurement does that; no single row shows it",
            count(*rows as usize, "row"),
            percent(median.abs()),
            if *median > 0.0 { "worse" } else { "better" },
        ),
        Warning::CorrelatedRounds { correlation, error } => serial_correlation(*correlation, *error),
        Warning::ClocksHeldDown { reasons, base_processes, head_processes } => {
            let held = reasons.iter().map(|held| {
                format!(
                    "{} in {} of {base_processes} on base and {} of {head_processes} on head",
                    held.reason, held.base, held.head
                )
            });
            let held: Vec<String> = held.collect();
            format!("a GPU's clocks were held down while processes ran: {}", held.join("; "))
        }
        Warning::CommonSuiteFile { path, sha256, folder, judge } => {
            let [path, sha256, folder] = [path, sha256, folder].map(String::clone);
            CommonSuite { path, sha256, folder, judge: *judge }.sentence()
        }
        // Its text stands in the document that it was taken from.
        Warning::Uncoded {} => String::new(),
        Warning::HistoryUnread { text } | Warning::MissingPart { text } => text.clone(),
        Warning::MachinesDiffer { count, named: names } => {
            format!("the parts were measured on different machines: {}", named(*count, names))
        }
        Warning::VersionsDiffer { count, named: names } => {
            format!("versions of gbench-ci differ between parts: {}", named(*count, names))
        }
        Warning::UncommittedHead {} => {
            "the head has uncommitted changes: nothing shows that they are the same in all parts".into()
        }
    }
}

fn cases_of(cases: u32) -> String {
    count(cases as usize, "case")
}

fn cases_were(cases: u32) -> String {
    format!("{} {}", cases_of(cases), if cases == 1 { "was" } else { "were" })
}
