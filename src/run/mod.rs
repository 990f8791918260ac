//! Carries a plan out: processes in, records out.

mod capture;
mod checkout;
mod collect;
mod draft;
mod environment;
mod event;
mod executor;
mod extract;
mod interrupt;
mod judge;
mod lines;
mod requires;
mod rounds;
mod session;
mod stages;
mod supervised;

pub use checkout::check_out;
pub use event::{Observer, Progress, Silent};
pub use executor::{End, Execution, Executor, Launch, StagePlan, Stop};
pub use interrupt::Interrupt;
pub use requires::has_binary;
pub use rounds::{Next, PairState, Referee, Rounds, RoundsState, Watch};
pub use session::{Finished, Session, side_word};
pub use supervised::Supervised;
