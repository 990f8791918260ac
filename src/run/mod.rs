//! Carries a plan out: processes in, records out.

mod capture;
mod collect;
mod draft;
mod environment;
mod event;
mod executor;
mod extract;
mod hands;
mod interrupt;
mod judge;
mod lane;
mod lines;
mod requires;
mod rounds;
mod session;
mod stages;
mod supervised;

pub use event::{Observer, Progress, Silent};
pub use executor::{End, Execution, Executor, Launch, StagePlan, Stop};
pub use interrupt::Interrupt;
pub use lane::Finished;
pub use requires::has_binary;
pub use rounds::{Next, PairState, Referee, Rounds, RoundsState, Watch};
pub use session::{Session, side_word};
pub use supervised::Supervised;
