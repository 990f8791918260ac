//! Two records in, one verdict document out. Pure: no I/O, no clock.
//!
//! ```text
//! comparability   may the two machines be compared at all?
//! pairing         which case belongs to which, by identity
//! key             what two measurements of a case must have been asked alike
//! rows            what each pair is: evidence to decide on, or missing, new, failed, skipped
//! rule            the seam: all evidence of the suite in, one decision each out
//! seq_e           the rules for comparisons in rounds
//! rounds, doubts  what it looks at, and what must hold for it to be believed
//! welch_holm      the rule for records that were measured apart
//! replay          the verdict that the records of a comparison in rounds give by themselves
//! argument        every step of one row, for explaining it
//! calibration     a suite against itself: its noise, what it costs, what it can tell apart
//! standing        which cases another round could still decide
//! question        what becomes of one row before and after the suite is looked at as a whole
//! scale           logarithms or differences, and the way back to a slowdown
//! quantized       figures that come in steps, and what that leaves unknown
//! absolute        errors, which are judged by their difference
//! stated          summaries without samples
//! throttling      a GPU whose clocks were held down
//! welch_holm      the rule within one session
//! history         what stored records say of the past
//! between         how much sessions differ, by their history
//! process_session the rule across sessions
//! verdict         the whole: conclusion, exit code, warnings
//! conclusion      what follows from rows: order, counts, conclusion, exit code
//! merge           the parts of a matrix into one
//! merged          several verdicts as one: the machines of a matrix
//! sentence        what a reader should know if they read nothing else
//! ```

mod absolute;
mod argument;
mod between;
mod calibration;
mod comparability;
mod conclusion;
mod document;
mod doubts;
mod evidence;
mod history;
mod key;
mod merge;
mod merged;
mod pairing;
mod policy;
mod process_session;
mod quantized;
mod question;
mod replay;
mod rounds;
mod rows;
mod rule;
mod scale;
mod sentence;
mod seq_e;
mod standing;
mod stated;
mod throttling;
mod verdict;
mod warnings;
mod welch_holm;
mod words;

pub use argument::{Argument, Step, arguments, arguments_of};
pub use calibration::*;
pub use conclusion::{follows, is_probably_worse};
pub use document::*;
pub use doubts::Stickiness;
pub use evidence::{Evidence, Measured, ProcessValues, RowLimits};
pub use history::{History, Past, Session, one_session};
pub use merge::{Gap, Part, merge, merge_records, merge_with, merged_follows, merged_job, reworded};
pub use merged::{Group, Merged, SCHEMA_MERGED};
pub use policy::{Policy, SideInput};
pub use process_session::{ASSUMED_DEVIATION, ProcessSession};
pub use quantized::{Unit, unresolved};
pub use replay::{named_sides, verdict_of};
pub use rounds::{RoundScale, Rounds, Turn};
pub use rule::{Decision, Judgement, Rule};
pub use seq_e::{RESUME, SeqE, is_known, limits_of};
pub use standing::{Standing, standing};
pub use verdict::{compare, compare_by, compare_sides, compare_with};
pub use welch_holm::ProcessWelchHolm;
