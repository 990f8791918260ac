//! Two records in, one verdict document out. Pure: no I/O, no clock.
//!
//! ```text
//! comparability   may the two machines be compared at all?
//! pairing         which case belongs to which, by identity
//! rows            what each pair is: evidence to decide on, or missing, new, failed, skipped
//! rule            the seam: all evidence of the suite in, one decision each out
//! welch_holm      the rule behind it
//! verdict         the whole: conclusion, exit code, warnings
//! sentence        what a reader should know if they read nothing else
//! ```

mod comparability;
mod document;
mod evidence;
mod pairing;
mod policy;
mod rows;
mod rule;
mod sentence;
mod verdict;
mod warnings;
mod welch_holm;
mod words;

pub use document::*;
pub use evidence::{Evidence, Measured, ProcessValues};
pub use policy::{Policy, SideInput};
pub use rule::{Decision, Rule};
pub use verdict::{compare, compare_by};
pub use welch_holm::ProcessWelchHolm;
