//! Warnings of a comparison: as values, and as text without a period. A document's `warnings` have the text.

use derive_more::Display;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::correlated;
use gbench_model::text::{count, listed, percent};
use gbench_model::{CommonSuite, Judge, Side};

/// One warning, with the figures that its text names. `count` is their number, and `named` has the first of them.
/// `docs/reasons.md` lists all.
#[derive(Clone, Debug, Display, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Warning {
    /// A record was compared with itself.
    #[display("the record of run {run} was compared with itself: unchanged means nothing here")]
    SameRecord { run: String },
    /// Two records that differ carry one run id.
    #[display("both records carry the run id {run} and yet differ: one of them was edited")]
    EditedRecord { run: String },
    /// Cases without a measurement on either side.
    #[display("{count} without a measurement on either side{}: {}", why_not(why), listed(named, *count as usize, ", "))]
    Unmeasured {
        count: u32,
        named: Vec<String>,
        /// The same for all of them; empty in documents of earlier versions, which have it behind each name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// Rows that are shown and not judged.
    #[display("{count} shown and not judged (`gate = false`): {}", listed(named, *count as usize, ", "))]
    NotJudged { count: u32, named: Vec<String> },
    /// Optional metrics that one side lacks.
    #[display(
        "{count} optional and on one side only, so that nothing was compared: {}",
        listed(named, *count as usize, ", ")
    )]
    OptionalOnOneSide { count: u32, named: Vec<String> },
    /// Cases that were measured with another value of a setting.
    #[display(
        "{} measured with other settings: `{setting}` is {base} on base and {head} on head",
        cases_were(*cases)
    )]
    OtherSetting { cases: u32, setting: String, base: String, head: String },
    /// Cases whose command or environment differs.
    #[display("{} started otherwise on head: {}", cases_were(*count), listed(named, *count as usize, ", "))]
    StartedOtherwise { count: u32, named: Vec<String> },
    /// Benchmarks that head's suite file pairs with others of base.
    #[display("paired by `renamed_from` in head's suite file: {}", listed(named, *count as usize, ", "))]
    Renamed { count: u32, named: Vec<String> },
    /// Benchmarks that the suite files define differently, with the differences.
    #[display("defined differently on head: {}", listed(named, *count as usize, ", "))]
    DefinedOtherwise { count: u32, named: Vec<String> },
    /// Metrics whose figures of base were converted to head's unit.
    #[display("base's figures are compared in head's unit: {}", listed(named, *count as usize, ", "))]
    UnitsConverted { count: u32, named: Vec<String> },
    /// Cases whose threshold is not a relative change.
    #[display(
        "{} state a threshold that is no relative change, which was passed over: {}",
        cases_of(*count), listed(named, *count as usize, ", ")
    )]
    BadThreshold { count: u32, named: Vec<String> },
    /// The run of a side was interrupted.
    #[display("{} was interrupted: it may hold fewer cases and processes than selected", side.into_str())]
    Interrupted { side: Side },
    /// The record of a side was recovered from a run that was killed.
    #[display("{} was recovered from a run that was killed: later cases are not in it", side.into_str())]
    Recovered { side: Side },
    /// A warning in the record of a side.
    #[display("{}: {text}", side.into_str())]
    OfRecord { side: Side, text: String },
    /// A warning in the record of a side's cases.
    #[display("{}: {}", side.into_str(), of_cases(text, *count, named))]
    OfCases { side: Side, text: String, count: u32, named: Vec<String> },
    /// Further warnings of cases, in the record alone.
    #[display("{}: {count} more of single cases, in its record", side.into_str())]
    MoreOfCases { side: Side, count: u32 },
    /// The suite as a whole moved.
    #[display(
        "the suite as a whole moved: the median of {} is {} {}. A change that all share (a compiler, a \
         library, the layout of the code) or a bias of the measurement does that; no single row shows it",
        count(*rows as usize, "row"), percent(median.abs()), if *median > 0.0 { "worse" } else { "better" }
    )]
    LocationShift {
        rows: u32,
        /// Median slowdown.
        median: f64,
    },
    /// Successive rounds are correlated: no red is believed.
    #[display("{}", correlated(*correlation, *error))]
    CorrelatedRounds { correlation: f64, error: f64 },
    /// A GPU's clocks were held down.
    #[display(
        "a GPU's clocks were held down while processes ran: {}",
        held_down(reasons, *base_processes, *head_processes)
    )]
    ClocksHeldDown { reasons: Vec<HeldDown>, base_processes: u32, head_processes: u32 },
    /// The drivers of GPUs counted errors, or reported them.
    #[display("the health of a GPU while processes ran: {}", held_down(signs, *base_processes, *head_processes))]
    GpuHealth { signs: Vec<HeldDown>, base_processes: u32, head_processes: u32 },
    /// Triton's autotuners chose other configurations on base than on head.
    #[display(
        "the autotuners chose other configurations on base than on head in {}: a time may change with them; the note `autotuned` of both \
         records has them",
        listed(named, *count as usize, ", ")
    )]
    AutotunedApart { count: u32, named: Vec<String> },
    /// Samples of few calls of a kernel had another number of them on base than on head.
    #[display(
        "a sample had another number of calls on base than on head in {}: the time of a call differs by up to about a microsecond for \
         that alone. The note `calls_per_sample` of both records has the numbers",
        listed(named, *count as usize, ", ")
    )]
    CallsApart { count: u32, named: Vec<String> },
    /// Other programs kept the machine busy while cases of records were measured.
    #[display(
        "other programs left less than one core to {base} of base and {head} of head while they were measured: measure that \
         side again on an idle machine",
        base = cases_of(*base), head = cases_of(*head)
    )]
    BusyMachine { base: u32, head: u32 },
    /// The clocks of a GPU on which kernels were measured were not locked.
    #[display("a GPU's clocks were not locked on {}: a time may change with them", sides(*base, *head))]
    ClocksUnlocked { base: bool, head: bool },
    /// Both sides were measured with one suite file.
    #[display("{}", common_suite(path, sha256, folder, *judge))]
    CommonSuiteFile { path: String, sha256: String, folder: String, judge: Judge },
    /// Results of other programs, whose sessions are unknown.
    #[display(
        "judged by processes alone: files of other programs do not say how much sessions differ. Run the program for \
         base and head by turns, file by file, or ask for stored runs with `--sessions 4`"
    )]
    FilesByProcesses {},
    /// Something of the history could not be read.
    #[display("{text}")]
    HistoryUnread { text: String },
    /// Parts of a matrix were measured on different machines.
    #[display("the parts were measured on different machines: {}", listed(named, *count as usize, ", "))]
    MachinesDiffer { count: u32, named: Vec<String> },
    /// Parts of a matrix are of different versions.
    #[display("versions of gbench-ci differ between parts: {}", listed(named, *count as usize, ", "))]
    VersionsDiffer { count: u32, named: Vec<String> },
    /// Nothing shows that the uncommitted changes of the parts are the same.
    #[display("the head has uncommitted changes: nothing shows that they are the same in all parts")]
    UncommittedHead {},
    /// Something that should be among the parts is not.
    #[display("{text}")]
    MissingPart { text: String },
    /// A part of a partial merge that may still come.
    #[display("{text}")]
    PendingPart { text: String },
    /// A warning of a version that gave no codes.
    #[display("")]
    Uncoded {},
}

/// Something that a GPU met, and the number of processes of each side that met it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HeldDown {
    /// Why its clocks were held down, as NVML names it, or a sign of its health.
    pub reason: String,
    pub base: u32,
    pub head: u32,
}

impl Warning {
    /// The two sides do not define a benchmark alike: a reader has to judge whether its rows compare the same work.
    pub fn is_of_definitions(&self) -> bool {
        matches!(
            self,
            Warning::Renamed { .. }
                | Warning::DefinedOtherwise { .. }
                | Warning::StartedOtherwise { .. }
                | Warning::OtherSetting { .. }
        )
    }
}

fn cases_of(cases: u32) -> String {
    count(cases as usize, "case")
}

fn cases_were(cases: u32) -> String {
    format!("{} {}", cases_of(cases), if cases == 1 { "was" } else { "were" })
}

fn of_cases(text: &str, count: u32, named: &[String]) -> String {
    match named {
        [only] if count == 1 => format!("{only}: {text}"),
        _ => format!("{}: {text}: {}", cases_of(count), listed(named, count as usize, ", ")),
    }
}

fn held_down(reasons: &[HeldDown], base_processes: u32, head_processes: u32) -> String {
    let words = |HeldDown { reason, base, head }: &HeldDown| {
        format!("{reason} in {base} of {base_processes} on base and {head} of {head_processes} on head")
    };
    reasons.iter().map(words).collect::<Vec<_>>().join("; ")
}

fn sides(base: bool, head: bool) -> &'static str {
    match (base, head) {
        (true, true) => "base and head",
        (true, _) => "base",
        (_, _) => "head",
    }
}

fn common_suite(path: &str, sha256: &str, folder: &str, judge: Judge) -> String {
    let [path, sha256, folder] = [path, sha256, folder].map(str::to_owned);
    CommonSuite { path, sha256, folder, judge }.sentence()
}
fn why_not(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}

impl Warning {
    pub(crate) fn coded(self) -> (String, Self) {
        (self.to_string(), self)
    }
}
