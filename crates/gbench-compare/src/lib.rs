//! Two records in, one verdict document out. Pure: no I/O, no clock.
//!
//! ```text
//! identity/     whether two figures may be compared: by case, machine and measurement; pairs of cases; units
//! variants/     baselines and their optimized variants, and the speedup as a metric
//! evidence/     samples, rounds and stored runs as figures to decide by, and the reasons to doubt them
//! rules/        the evidence of a whole suite in, one decision for each row out
//! remarks/      context that explains a row and decides nothing: telemetry, cycles, profiles, device code
//! verdict/      rows, conclusion and exit code; the public document; what people accepted; replay
//! wording/      reasons, advice and warnings as values and in English; the sentence of the whole
//! merge/        the parts of a matrix as one
//! calibration/  a suite against itself: its noise, its cost, the changes that it can detect
//! trend/        a history as series: change points, drift, breaks
//! ```

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` has the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod calibration;
mod evidence;
mod identity;
mod merge;
mod remarks;
mod rules;
pub mod trend;
mod variants;
mod verdict;
mod wording;

pub use calibration::document::{
    CalibratedRow, Calibration, FalseAlarms, Noise, Parts, PlantedControl, Prospect, Readiness,
    SCHEMA_CALIBRATION, Share, Unmeasured,
};
pub use calibration::figures::PLANTED;
pub use calibration::{calibrate, machine_key};
pub use evidence::health::spoilt_by_card;
pub use evidence::history::{History, Past, Session};
pub use evidence::quantized::{Unit, unresolved};
pub use evidence::rounds::{MeasuredRound, RoundDifferences, RoundScale};
pub use evidence::samples::{Evidence, MeasuredSide, ProcessValues, RowLimits};
pub use evidence::stored_runs::one_session;
pub use evidence::validity::SerialCorrelation;
pub use identity::machines::{machine_facts, strictness};
pub use merge::document::{Absence, Group, Merged, MissingPart, SCHEMA_MERGED, VerdictPart};
pub use merge::records::merge_records;
pub use merge::{check_merged_consistency, merge, merge_with, merged_job, regenerate_text};
pub use remarks::device_code::{CaseCode, CodeGap, CodeNoise, CodeSide, CodeState, KernelChange};
pub use remarks::kernel_figures::moved_most;
pub use rules::rule::{ProgramDecision, RowDecision, Rule, RuleOutput};
pub use rules::seq_e::{SeqE, limits_of};
pub use rules::welch_holm::ProcessWelchHolm;
pub use variants::{PairAnswer, PairMetric, PairName, PairSpeedup, VariantPair, VariantPairs, chapter_of};
pub use verdict::acceptance::{
    AcceptanceDecision, AcceptanceLedger, AcceptedFinding, AcceptedRow, AppliedAcceptances, DecidedRow,
    DecisionKind, LandedDecision, SCHEMA_ACCEPTANCES, SCHEMA_ACCEPTED, StandingAcceptance, apply_acceptances,
};
pub use verdict::change::Change;
pub use verdict::compare::{compare, compare_by, compare_sides, compare_with};
pub use verdict::conclusion::{check_consistency, is_speed};
pub use verdict::curve::{CasesUnderLoad, Curve};
pub use verdict::document::{
    Difference, DoubtfulCase, MemberShift, Method, PairShift, ProfiledCase, Records, RoundsMethod, Row,
    RowCycles, RowSide, RowTelemetry, SCHEMA_VERDICT, Sequence, Sessions, SideSummary, SideTelemetry,
    TelemetryRemark, VERDICTS_READ, VerdictDocument,
};
pub use verdict::outcome::{Conclusion, Verdict};
pub use verdict::policy::{Policy, Reproduce, SideInput};
pub use verdict::progress::{CaseProgress, case_progress};
pub use verdict::replay::{named_sides, verdict_of};
pub use verdict::trace::{Basis, DecisionTrace, SequentialStep, decision_traces};
pub use wording::advice::Advice;
pub use wording::calibration::count_it;
pub use wording::reason::{Reason, SettingEffect};
pub use wording::warning::{HeldDown, Warning};
