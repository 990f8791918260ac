//! Carries a plan out: processes in, records out.

mod build;
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
mod pair;
mod reported;
mod requires;
mod rounds;
mod session;
mod share;
mod stages;
mod stream;
mod supervised;
mod together;
mod turns;
mod watch;

pub use event::{Observer, Progress, Silent};
pub use executor::{Beat, End, Execution, Executor, Launch, StagePlan, Stop};
pub use interrupt::Interrupt;
pub use lane::Finished;
pub use requires::has_binary;
pub use rounds::{Next, PairState, Referee, Rounds, RoundsState, Watch};
pub use session::{Session, side_word};
pub use share::{ShareFault, split_by_case};
pub use supervised::Supervised;
pub use together::{fits_together, why_apart};
pub use turns::{Block, TurnFault, Turns};
