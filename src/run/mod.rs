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
mod pair;
mod requires;
mod session;
mod share;
mod stages;
mod stream;
mod supervised;
mod together;
mod turns;
mod watch;

pub use checkout::check_out;
pub use event::{Observer, Progress, Silent};
pub use executor::{End, Execution, Executor, Launch, StagePlan, Stop};
pub use interrupt::Interrupt;
pub use requires::has_binary;
pub use session::{Finished, Session, side_word};
pub use share::{ShareFault, split_by_case};
pub use supervised::Supervised;
pub use together::{fits_together, why_apart};
pub use turns::{Block, TurnFault, Turns};
