//! Two records in, one verdict document out. Pure: no I/O, no clock.
//!
//! ```text
//! comparability, pairing, key   which machines, cases and settings may be set against each other
//! rows, evidence                what each pair is: evidence to decide on, or missing, new, failed
//! pairs, speedups               baselines with their optimized variants, and how much faster these are: a metric of its own
//! history, stored_runs          what stored records say of the past
//! rules/                        all evidence of the suite in, one decision each out; a file a rule
//!   rounds, validity            the differences of rounds, and what must hold for them to be believed
//!   test, scale                 the hypothesis test of one row over processes
//!   counts      counts of executed instructions, which agree nearly
//!   cycles      what a GPU's cycles say beside its time
//!   quantized, absolute, summary_only, throttling, session_variance    what is special about figures
//! wording/                      reasons, advice and warnings, as values and in English; the sentence of the whole
//! telemetry                     what was sampled of the GPU beside a row
//! profiles                      what profilers saw of a case on both sides, beside every verdict
//! device_code, code_remarks     what became of the code that runs on the GPU, beside every verdict
//! verdict, warnings             the whole; what a reader should know beside the rows
//! conclusion                    what follows from rows: order, counts, conclusion, exit code
//! document, merged              the public documents
//! acceptance                    rows that a person accepts, and what is left of a verdict then
//! replay, trace, progress       of comparisons in rounds: the verdict again, every step of a row, what is still open
//! calibration/                  a suite against itself: its noise, what it costs, what it can tell apart
//! merge/                        the parts of a matrix into one
//! ```

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod absolute;
mod acceptance;
mod calibration;
mod code_remarks;
mod comparability;
mod conclusion;
mod counts;
mod cycles;
mod device_code;
mod document;
mod evidence;
mod history;
mod key;
mod known;
mod merge;
mod merged;
mod moved;
mod outcome;
mod pairing;
mod pairs;
mod policy;
mod profiles;
mod progress;
mod quantized;
mod replay;
mod rounds;
mod rows;
mod rules;
mod scale;
mod session_variance;
mod speedups;
mod stored_runs;
mod summary_only;
mod telemetry;
mod test;
mod throttling;
mod trace;
pub mod trend;
mod two_states;
mod validity;
mod verdict;
mod warnings;
mod wording;

pub use acceptance::{
    AcceptanceDecision, AcceptanceLedger, AcceptedFinding, AcceptedRow, AppliedAcceptances, DecidedRow,
    DecisionKind, LandedDecision, SCHEMA_ACCEPTANCES, SCHEMA_ACCEPTED, StandingAcceptance, apply_acceptances,
};
pub use calibration::*;
pub use comparability::{machine_facts, strictness};
pub use conclusion::{check_consistency, is_speed};
pub use device_code::{CaseCode, CodeGap, CodeNoise, CodeSide, CodeState, KernelChange};
pub use document::*;
pub use evidence::{Evidence, MeasuredSide, ProcessValues, RowLimits};
pub use history::{History, Past, Session};
pub(crate) use key::asked_settings;
pub use merge::{check_merged_consistency, merge, merge_records, merge_with, merged_job, regenerate_text};
pub use merged::{Group, Merged, MissingPart, SCHEMA_MERGED, VerdictPart};
pub use moved::moved_most;
pub use outcome::{Conclusion, Verdict};
pub use pairs::{PairAnswer, PairMetric, PairName, PairSpeedup, VariantPair, VariantPairs, chapter_of};
pub use policy::{Policy, Reproduce, SideInput};
pub use progress::{CaseProgress, case_progress};
pub use quantized::{Unit, unresolved};
pub use replay::{named_sides, verdict_of};
pub use rounds::{MeasuredRound, RoundDifferences, RoundScale};
pub(crate) use rules::ProcessSession;
pub use rules::{ProcessWelchHolm, ProgramDecision, RowDecision, Rule, RuleOutput, SeqE, limits_of};
pub use stored_runs::one_session;
pub(crate) use stored_runs::speedups_of;
pub use throttling::slowed_by_hardware;
pub use trace::{Basis, DecisionTrace, SequentialStep, decision_traces};
pub use validity::SerialCorrelation;
pub use verdict::{compare, compare_by, compare_sides, compare_with};
pub use wording::{Advice, HeldDown, Reason, SettingEffect, Warning, count_it};
