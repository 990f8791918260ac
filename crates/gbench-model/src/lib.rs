//! The nouns of gbench-ci, used by every other crate. No I/O.
//!
//! | word | meaning |
//! |---|---|
//! | [`BenchmarkId`] | `suite/name`: one runnable workload; has components, a kind, parameters |
//! | [`CaseId`] | benchmark x variant x parameters x timing x cold or warm x device: what one verdict is about |
//! | [`Variant`] | `Baseline` or `Optimized` member of a pair; the words have no other meaning |
//! | [`Side`] | `Base` or `Head` of a comparison, or `Control`: the base once more, against itself |
//! | [`Comparison`] | the parameters of an interleaved comparison, repeated in the records of all its sides |
//! | [`BaselineName`] | a stored record promoted as a reference |
//! | process | one fresh child process: the statistical unit. Iterations inside it only estimate it |
//! | round | one turn of interleaving: base and head each get a process, in a random order, with a recorded seed |
//! | [`Metric`] | repeated measurements of one quantity, by process, in order |
//! | [`Stage`], [`Deadlines`] | build, start, setup, warm-up, measure, verify, profile, teardown |
//! | [`Outcome`] | measured, invalid, failed, timed out, skipped, not run: each with its reason |
//! | [`Job`] | the facts of a CI job, in addition to its verdict, for the job that publishes it |
//! | [`Shard`] | one of several parts of a suite, each measured by its own job |
//! | [`RunRecord`] | one run, whole: configuration, manifest, outcomes, samples; versioned JSON |
//! | [`Fault`] | an error for the user: where, what, what next, and the exit code |

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod backoff;
mod case;
mod comparison;
mod exit;
mod fault;
mod github;
mod gpu;
mod hash;
mod host;
mod id;
pub mod line;
pub mod profiler_csv;
mod record;
#[cfg(feature = "schema")]
mod schema;
mod settings;
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
pub mod text;
mod unit;

pub use case::{
    CaseId, Component, Kind, ParamValue, Params, SPEEDUP, SPEEDUP_UNIT, Thermal, Timing, VARIANT_PARAM,
    Variant, error_of_result,
};
pub use comparison::bisect::{
    BisectAnswer, BisectBeginning, BisectDocument, BisectEntry, SCHEMA_BISECT, SCHEMA_BISECT_STATE,
    V1BisectCommit,
};
pub use comparison::budget::Budget;
pub use comparison::job::{BaseChoice, Job, SCHEMA_JOB, Shard, SourceLine, Untouched};
pub use comparison::reference::NoReference;
pub use comparison::{
    CommonSuite, Comparison, ComparisonPolicy, Interleaving, Judge, SequentialRule, SequentialRuleName,
};
pub use exit::Exit;
pub use fault::{DEFECT, Fault, Location, Result};
pub use github::{MAX_CHECK, MAX_COMMENT};
pub use gpu::caches::{CACHE_HOME, KERNEL_CACHES};
pub use gpu::clocks::{
    ClockChoice, ClockControl, ClockDomain, ClockOutcome, ClocksBefore, ClocksState, ControlledClock,
    ControlledGpu, ControlledPower,
};
pub use gpu::code_union::{CODE_FIGURES, CodeFigure, MAX_KERNELS};
pub use gpu::counting::{CYCLES, CounterState, Counting, INSTRUCTIONS};
pub use gpu::device_code::{DeviceCode, KernelCode};
pub use gpu::exclusive::{ExclusiveUse, GpuPlace};
pub use gpu::health::{GpuSign, HealthSign};
pub use gpu::kernel_call::{
    Access, CUBIN_FOLDER, DType, Fill, KERNEL_CALL, KERNEL_WORKLOAD, KernelArgument, KernelBuffer,
    KernelCall, KernelLaunch, KernelReference, NVML_LIBRARY, NVRTC_LIBRARY, Tolerance, buffers,
};
pub use gpu::telemetry::{
    CalmWait, EndedProcess, ForeignProcess, GpuTelemetry, MeanPower, MonitorGpu, MonitorRecord, PcieLink,
    PowerSource, Spread, Telemetry, TelemetryGap, Unrest,
};
pub use gpu::tensor_map::{TensorInterleave, TensorMap, TensorPromotion, TensorSwizzle};
pub use hash::sha256_hex;
pub use host::Host;
pub use id::{BaselineName, BenchmarkId, RunId};
pub use record::answer::AnswerValues;
pub use record::facts::{Fact, HOST, MATCH_FIELDS, Strictness, names_card};
pub use record::ingested::{Ingested, IngestedFile, Unread, UnreadKind, UnreadParts, given_unit};
pub use record::manifest::*;
pub use record::nothing::{NothingMeasured, RefusalReason};
pub use record::outcome::{FailureKind, Outcome, OutcomeCode};
pub use record::own_figures::{
    BYTES_OF_PEAK, ENERGY, FLOPS_OF_PEAK, L2_STATE, NEAREST_PEAK, OwnFigure, PEAK_NOTES, PER_WATT,
};
pub use record::profile::{
    KernelProfile, MetricSet, MovedFigure, Profile, ProfileFigure, ProfileOutcome, Profiler, RawMetric,
};
pub use record::samples::{Metric, ProcessSamples, Stated, Summary};
pub use record::sandbox::{RunTimes, Sandbox, SandboxState};
pub use record::stage::{Deadlines, Stage, StageReport, StageStatus};
pub use record::{
    CLOCK_DROP, CaseRecord, Conditions, CutShort, JOBS, LEAVES, LoadParameters, Margin, MetricDeclaration,
    ProcessEnd, ProcessRecord, RecordState, ReportedError, RunRecord, RunSource, SCHEMA_RECORD, SCHEMAS_READ,
    SM_CLOCK, Side, ToolInfo, add_violations, confirms_slowdown,
};
#[cfg(feature = "schema")]
pub use schema::Documented;
pub use settings::{Isolation, LayOver, Origin, SetBy, Setting, Settings, Shown};
pub use text::near::near;
pub use text::secret::{looks_secret, scrubbed, without_secrets};
pub use text::{is_unseen, shell_word};
pub use unit::{Better, convert, direction_of_unit, format_duration, is_counted, is_time, may_count};
