//! Two records in, one verdict document out. Pure: no I/O, no clock.
//!
//! ```text
//! comparability     may the two machines be compared at all?
//! pairing           which case belongs to which, by identity
//! key               the settings that two measurements of a case must share
//! rows              what each pair is: evidence to decide on, or missing, new, failed, skipped
//! evidence          the samples of one row, by process
//! rules/            all evidence of the suite in, one decision each out; a file a rule
//!   seq_e             for comparisons in rounds
//!   welch_holm        for records of one session
//!   process_session   for records of different sessions
//! rounds            the differences that a rule over rounds looks at
//! validity          what must hold for rounds to be believed
//! test              the hypothesis test of one row, before and after the suite is looked at as a whole
//! warnings          the warnings of two records
//! wording/          reasons, advice and warnings, as values and in English; the sentence of the whole
//! scale             logarithms or differences, and the way back to a slowdown
//! quantized         figures that come in steps, and what that leaves unknown
//! absolute          errors, which are judged by their difference
//! summary_only      processes that gave a summary and no samples
//! throttling        a GPU whose clocks were held down
//! history           what stored records say of the past
//! stored_runs       how stored runs become a history
//! outcome           what is said of a row, and of the whole
//! session_variance  how much sessions differ, by their history
//! verdict           the whole: conclusion, exit code, warnings
//! conclusion        what follows from rows: order, counts, conclusion, exit code
//! replay            the verdict that the records of a comparison in rounds give by themselves
//! trace             every step of one row, for explaining it
//! progress          which cases another round could still decide
//! calibration/      a suite against itself: its noise, what it costs, what it can tell apart
//! merge/            the parts of a matrix into one
//! merged            several verdicts as one: the machines of a matrix
//! ```

mod absolute;
mod calibration;
mod comparability;
mod conclusion;
mod document;
mod evidence;
mod history;
mod key;
mod merge;
mod merged;
mod outcome;
mod pairing;
mod policy;
mod progress;
mod quantized;
mod replay;
mod rounds;
mod rows;
mod rules;
mod scale;
mod session_variance;
mod stored_runs;
mod summary_only;
mod test;
mod throttling;
mod trace;
mod validity;
mod verdict;
mod warnings;
mod wording;

pub use calibration::*;
pub use conclusion::{check_consistency, is_probably_worse};
pub use document::*;
pub use evidence::{Evidence, MeasuredSide, ProcessValues, RowLimits};
pub use history::{History, Past, Session};
pub use merge::{
    MissingPart, VerdictPart, check_merged_consistency, merge, merge_records, merge_with, merged_job,
    regenerate_text,
};
pub use merged::{Group, Merged, SCHEMA_MERGED};
pub use outcome::{Conclusion, Verdict};
pub use policy::{Policy, Reproduce, SideInput};
pub use progress::{CaseProgress, case_progress};
pub use quantized::{Unit, unresolved};
pub use replay::{named_sides, verdict_of};
pub use rounds::{MeasuredRound, RoundDifferences, RoundScale};
pub use rules::{
    ASSUMED_DEVIATION, ProcessSession, ProcessWelchHolm, RowDecision, Rule, RuleOutput, SeqE, is_known,
    limits_of,
};
pub use stored_runs::one_session;
pub use trace::{DecisionTrace, SequentialStep, decision_traces};
pub use validity::SerialCorrelation;
pub use verdict::{compare, compare_by, compare_sides, compare_with};
pub use wording::{Advice, HeldDown, Reason, SettingEffect, Warning};
