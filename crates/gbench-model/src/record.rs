//! One complete run: the contract between machines and between years.

pub(crate) mod answer;
pub(crate) mod facts;
pub(crate) mod ingested;
pub(crate) mod manifest;
pub(crate) mod nothing;
pub(crate) mod outcome;
pub(crate) mod own_figures;
pub(crate) mod profile;
pub(crate) mod samples;
pub(crate) mod sandbox;
pub(crate) mod stage;

use std::collections::{BTreeMap, HashSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use self::answer::AnswerValues;
use self::ingested::Ingested;
use self::manifest::Manifest;
use self::nothing::NothingMeasured;
use self::outcome::Outcome;
use self::profile::Profile;
use self::samples::Metric;
use self::samples::{exact, is_default};
use self::stage::StageReport;
use super::case::{CaseId, Component, Kind};
use super::comparison::Comparison;
use super::gpu::clocks::ClockControl;
use super::gpu::device_code::DeviceCode;
use super::gpu::exclusive::{ExclusiveUse, GpuPlace};
use super::gpu::health::GpuSign;
use super::gpu::telemetry::{CalmWait, PcieLink, Telemetry};
use super::id::RunId;
use super::settings::Shown;
use super::unit::{Better, direction_of_unit};

/// Written into every record; other values are refused. A change that old readers cannot handle needs a new version; the
/// fixtures of old versions never change and stay readable.
pub const SCHEMA_RECORD: &str = "gbench-ci/record/v2";

/// Versions that this one reads. Version 2 is version 1 plus the fields that interleaved comparisons need.
pub const SCHEMAS_READ: [&str; 2] = ["gbench-ci/record/v1", SCHEMA_RECORD];

/// Everything that one run selected, tried, measured and knew about its machine.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// `gbench-ci/record/v2`.
    pub schema: String,
    pub run_id: RunId,
    pub tool: ToolInfo,
    pub state: RecordState,
    /// Present where an interrupt or the deadline ended the run; absent in records of earlier versions.
    pub cut_short: Option<CutShort>,
    /// Present where other gates were kept from measuring meanwhile.
    pub exclusive: Option<ExclusiveUse>,
    /// UTC, RFC 3339 with milliseconds.
    pub started: String,
    /// Absent in a record recovered from a run that was killed.
    pub finished: Option<String>,
    /// Present when the run was one side of an interleaved comparison.
    pub side: Option<Side>,
    /// Present when the run was one side of a comparison in rounds.
    pub comparison: Option<Box<Comparison>>,
    /// Present where the record was read from files of another program.
    pub ingested: Option<Box<Ingested>>,
    pub source: RunSource,
    /// The command line, for reproducing; values of secret-looking names are cut.
    pub command: Vec<String>,
    /// Suite-wide settings by name, with their origins.
    pub config: BTreeMap<String, Shown>,
    pub manifest: Manifest,
    /// Present where the gate was asked to lock the GPUs' clocks.
    pub clocks: Option<Box<ClockControl>>,
    /// Every selected case, also those that did not run.
    pub cases: Vec<CaseRecord>,
    /// Warnings that the reader should know before trusting the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl CaseRecord {
    /// Which way is better of one of its metrics: by its suite file, else by its program, else by the unit.
    pub fn direction(&self, metric: &Metric) -> Option<Better> {
        let declared = self.declared.get(&metric.name).and_then(|declared| declared.better);
        declared.or(metric.better).or_else(|| direction_of_unit(&metric.unit))
    }

    /// A benchmark of the gate's own: it measures the machine, and no line of the repository.
    pub fn is_built_in(&self) -> bool {
        self.command.first().is_some_and(|word| word == "builtin")
    }

    /// Other programs left less than one core to at least half of its processes, as far as these were watched: its figures
    /// may be theirs.
    pub fn met_busy_machine(&self) -> bool {
        let measured = self.processes.iter().filter(|process| process.outcome.is_measured());
        let watched =
            measured.filter_map(|process| process.conditions.as_ref().filter(|it| it.other_cpu.is_some()));
        let watched: Vec<bool> = watched.map(|conditions| conditions.busy).collect();
        let busy = watched.iter().filter(|busy| **busy).count();
        busy > 0 && 2 * busy >= watched.len()
    }

    /// The error that its program reported, if one ended it.
    pub fn reported_error(&self) -> Option<&ReportedError> {
        self.processes.iter().rev().find_map(|process| process.error.as_ref())
    }
}

impl RunRecord {
    /// Checks a property that types cannot guarantee: the first case, or metric of a case, that is a duplicate.
    pub fn repeated(&self) -> Option<String> {
        let mut cases = HashSet::with_capacity(self.cases.len());
        self.cases.iter().find_map(|case| {
            if !cases.insert(&case.id) {
                return Some(format!("the case {}", case.id));
            }
            let mut names = HashSet::with_capacity(case.metrics.len());
            let metric = case.metrics.iter().find(|metric| !names.insert(&metric.name))?;
            Some(format!("the metric `{}` of {}", metric.name, case.id))
        })
    }
}

/// Who wrote the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolInfo {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecordState {
    /// Every selected case has its own outcome.
    Complete,
    /// Ctrl-C, SIGTERM or the suite's deadline came first; the cases say which did not run.
    Interrupted,
    /// Read back from the journal of a run that was killed.
    Recovered,
}

/// The reason why a run ended before its plan was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case", deny_unknown_fields)]
pub enum CutShort {
    /// The number of the signal that the gate got.
    Interrupt { signal: i32 },
    /// The deadline of the run.
    Deadline,
}

/// Which side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Side {
    Base,
    Head,
    /// The base once more: the comparison must find no difference to it.
    Control,
}

/// Where the suite came from.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunSource {
    pub suite: String,
    /// Absent for the built-in suite.
    pub path: Option<String>,
    /// SHA-256 of the suite file, hexadecimal.
    pub sha256: Option<String>,
}

/// One selected case and all that is known of it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseRecord {
    pub id: CaseId,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Cases of one group and the same parameters solve one problem, so that reports may rank them.
    pub group: Option<String>,
    /// Program and arguments as started; the built-in's name after `builtin`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Environment variables that the suite file adds; values of names that look secret are cut.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The effective settings, each with its origin.
    pub config: BTreeMap<String, Shown>,
    pub outcome: Outcome,
    /// One entry for every process that was started, in order.
    #[serde(deserialize_with = "exact")]
    pub processes: Vec<ProcessRecord>,
    /// Sorted by name.
    pub metrics: Vec<Metric>,
    /// The suite file's declarations for the measured metrics: how each is judged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub declared: BTreeMap<String, MetricDeclaration>,
    /// The benchmark's description of its work: `bytes`, `flops`, notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Signs that it measured nothing, though it ended well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nothing_measured: Vec<NothingMeasured>,
    /// Its outputs, by name, if its processes report it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answer: BTreeMap<String, AnswerValues>,
    /// The code that its processes ran on the GPU, if they report it or the suite file names the files.
    pub device_code: Option<DeviceCode>,
    /// Its processes ran different code; `device_code` is that of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub device_code_varies: bool,
    /// It is a part of what its benchmark does, such as a kernel of a program: where one side lacks it, the case of the whole
    /// decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part_of_whole: bool,
    /// How the load of a serving benchmark is named: its cases at several loads are a curve.
    pub load: Option<LoadParameters>,
    /// The profilers' findings. Each profiler ran in a separate process whose times are in no metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
}

/// The parameters of a case that are the load on what it measures, such as a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadParameters {
    /// Cases that differ in one of these alone are the points of a curve: `max_concurrency`, `request_rate`.
    pub parameters: Vec<String>,
    /// Parameters that may follow from the load, such as the number of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub following: Vec<String>,
    /// The throughput and the latencies that a curve is drawn by, the preferred ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
}

/// How the suite file wants a metric judged.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MetricDeclaration {
    pub better: Option<Better>,
    /// Least relative change that matters for this metric; absent: the case's `threshold`.
    pub threshold: Option<f64>,
    /// In rounds: certified unchanged within this; absent: the case's `target`.
    pub target: Option<f64>,
    /// In rounds: a red must lie beyond this; absent: the case's `min_effect`.
    pub min_effect: Option<f64>,
    /// A change smaller than this never matters, whatever share of the whole it is.
    pub margin: Option<Margin>,
    /// `false`: shown, never judged.
    pub gate: Option<bool>,
    /// `true`: a figure that every process of a side gives alike is known, and not merely rounded; absent: sizes and
    /// counts are.
    pub exact: Option<bool>,
    /// `true`: judged by its absolute difference, of which `margin` is the least that matters; absent: by its share.
    pub absolute: Option<bool>,
    /// `true`: a process may leave it out, or send no number for it.
    pub optional: Option<bool>,
}

/// An absolute difference: `50 ns`, `64 KiB`. Without a unit it is in the metric's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Margin {
    pub value: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

/// The setting of a case that ran concurrently with others: the most processes of its run at once, each on its own GPUs.
/// Absent: it ran alone.
pub const JOBS: &str = "jobs";

/// Reason in [`Conditions::throttled`] that a process reports itself: too many of its samples ran at a lower clock than the
/// rest.
pub const CLOCK_DROP: &str = "clock_drop";
/// The note of the Python driver about what a case leaves to the others of its process, for which that process then ends.
pub const LEAVES: &str = "leaves";

/// Adds the power and thermal reasons that only the driver's counters show. `grew`: whether each counter did.
pub fn add_violations(reasons: &mut Vec<String>, grew: [bool; 2]) {
    for (word, grew) in ["power", "thermal"].into_iter().zip(grew) {
        if grew && !reasons.iter().any(|named| named.contains(word)) {
            reasons.push(format!("{word}_violation"));
        }
    }
}

/// True if the driver's counters confirm that hardware slowed the clocks. `grew`: those of power and heat; `by_power`: the
/// power limit explains the first.
pub fn confirms_slowdown(grew: [bool; 2], by_power: bool) -> bool {
    grew[1] || (grew[0] && !by_power)
}

/// Metric of the clock of a GPU's multiprocessors, sample by sample.
pub const SM_CLOCK: &str = "sm_clock";

impl Conditions {
    /// The signs of the GPUs that the process used, if its telemetry knows them; else of all that it might use.
    pub fn health_of_used(&self) -> Vec<GpuSign> {
        // Asked of every process in every round, and usually there are none.
        if self.health.is_empty() {
            return Vec::new();
        }
        let gpus = self.telemetry.iter().flat_map(|telemetry| &telemetry.gpus);
        let used: Vec<u32> = gpus.filter(|gpu| gpu.used).map(|gpu| gpu.index).collect();
        self.health.iter().filter(|met| used.is_empty() || used.contains(&met.gpu)).copied().collect()
    }

    /// The PCIe link of the only GPU that the process used. That of an idle card changes with what a desktop does.
    pub fn link_of_used(&self) -> Option<PcieLink> {
        self.telemetry.as_deref()?.gpu().filter(|gpu| gpu.used)?.link
    }
}

/// Other activity of the machine while a process ran.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// CPU use of other processes, in cores, averaged over its lifetime.
    pub other_cpu: Option<f64>,
    /// Other processes left it less than one whole core.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
    /// Why a GPU held its clocks down, as NVML names it; thermal and power reasons only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<String>,
    /// Signs that the drivers of its GPUs gave since it began; Xid errors since the end of the process before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<GpuSign>,
    /// Mean clock of the streaming multiprocessors in MHz over the samples of its measured window, of the first GPU that it
    /// could use; absent without such samples. Records of older versions have the clock after its end, which is often idle.
    pub sm_clock_mhz: Option<u32>,
    /// Samples taken while it ran, if the run was monitored.
    pub telemetry: Option<Box<Telemetry>>,
    /// The gate waited until the GPU was idle before it began, or gave up waiting.
    pub waited: Option<Box<CalmWait>>,
}

/// One child process of a case.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProcessRecord {
    /// Index within the case, from 0.
    pub index: u32,
    /// UTC, RFC 3339 with milliseconds.
    pub started: String,
    /// Seconds from spawn to exit, by a monotonic clock. In lock-step, waiting for turns included. If several cases share a
    /// process, each has a part of the seconds, so that they are counted once in all: the time of the stages of the case, or
    /// an equal share if these are not known. The time of processes whose results the case lost is included.
    pub seconds: f64,
    /// Left out where it was measured, as nearly always: a record holds very many of these.
    #[serde(default, skip_serializing_if = "Outcome::is_measured")]
    pub outcome: Outcome,
    /// Absent where the process could not be started.
    pub end: Option<ProcessEnd>,
    #[serde(deserialize_with = "exact")]
    pub stages: Vec<StageReport>,
    /// Largest resident set of the child or of one of its descendants, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// The peak of device memory that the child reported, in bytes.
    pub device_peak_bytes: Option<u64>,
    /// CPU seconds of the child and its descendants, user and system.
    pub cpu_seconds: Option<f64>,
    /// Descendants that were still alive after the child and had to be killed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub leftovers: u32,
    /// Bytes of stdout and stderr together, before the cap.
    pub output_bytes: u64,
    /// Optional metrics that it left out, or for which it sent no number at least once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// How the suite's `after_timeout` command ended; absent where there was no need of it.
    pub after_timeout: Option<ProcessEnd>,
    /// In an interleaved run: the round, from 0.
    pub round: Option<u32>,
    /// In an interleaved run: the place of this side in its round, from 0; in lock-step, by who had the first turn.
    pub slot: Option<u8>,
    /// Cases that the process was asked for, where it was one that several may share; absent where it measured this case
    /// alone by its nature.
    pub shared: Option<u32>,
    /// It was alive together with the other side's process, and the two took turns. Left out where it was not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lockstep: bool,
    /// The GPUs that the suite, a flag or its own word bound it to, where the driver knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuPlace>,
    /// Other activity of the machine meanwhile, if it was observed.
    pub conditions: Option<Conditions>,
    /// The error that the program itself reported.
    pub error: Option<ReportedError>,
}

/// An `error` event: the program's own words, cut where they are very long.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportedError {
    /// As the program gave it: `cuda`, `MemoryError`.
    pub kind: Option<String>,
    pub message: String,
    pub trace: Option<String>,
}

/// The most lines of a trace that reports show, from its end, and characters per line.
const SHOWN_LINES: usize = 5;
const SHOWN_WIDTH: usize = 160;

impl ReportedError {
    /// The end of the trace on one line for reports; the record contains all of it.
    pub fn short_trace(&self) -> Option<String> {
        let lines = without_libraries(self.trace.as_deref()?);
        // Python underlines the relevant part of a line.
        let is_told = |line: &&str| !line.is_empty() && !line.chars().all(|c| "^~ ".contains(c));
        let lines = lines.into_iter().map(str::trim).filter(is_told);
        let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
        let lines: Vec<String> = lines.map(plain).collect();
        let left_out = lines.len() > SHOWN_LINES;
        let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].iter();
        let cut = |line: &String| match line.char_indices().nth(SHOWN_WIDTH) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line.clone(),
        };
        let shown: Vec<String> =
            left_out.then(|| "...".to_owned()).into_iter().chain(shown.map(cut)).collect();
        (!shown.is_empty()).then(|| shown.join(" | "))
    }
}

/// The lines of a trace without Python's frames in its own library and in installed packages, unless there are no others: code
/// that the reader can change matters most.
fn without_libraries(trace: &str) -> Vec<&str> {
    let is_frame = |line: &str| line.trim_start().starts_with("File \"");
    let is_library = |line: &str| {
        ["site-packages/", "dist-packages/", "/lib/python3"].iter().any(|part| line.contains(part))
    };
    let is_own = |line: &str| is_frame(line) && !is_library(line);
    if !trace.lines().any(is_own) {
        return trace.lines().collect();
    }
    let mut skipping = false;
    trace
        .lines()
        .filter(|line| {
            // Lines of a frame are indented further than the message after it.
            skipping = if is_frame(line) { is_library(line) } else { skipping && line.starts_with("    ") };
            !skipping
        })
        .collect()
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    Exit(i32),
    Signal(i32),
}

#[cfg(test)]
mod tests {
    use super::ReportedError;

    #[test]
    fn a_short_trace_shows_the_reader_s_own_lines() {
        let frame =
            |file: &str, line: &str| format!("  File \"{file}\", line 3, in f\n    {line}\n    ^^^^~~~\n");
        let library = frame("/usr/lib/python3.11/pathlib.py", "return io.open(self)");
        let own = frame("/home/me/bench.py", "Path('x').read_text()");
        let end = "FileNotFoundError: 'x'";
        let short = |trace: String| {
            ReportedError { trace: Some(trace), ..ReportedError::default() }.short_trace().unwrap()
        };
        let trace = format!("Traceback:\n{own}{library}{library}{library}{end}\n");
        let expected = "Traceback: | File \"/home/me/bench.py\", line 3, in f | Path('x').read_text() | FileNotFoundError: 'x'";
        assert_eq!(short(trace), expected);
        assert!(short(format!("Traceback:\n{library}{end}\n")).contains("pathlib.py"));
    }
}
