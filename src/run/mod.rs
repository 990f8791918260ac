//! Carries a plan out: processes in, records out.

mod capture;
mod collect;
mod executor;
mod extract;
mod interrupt;
mod lines;
mod stages;
mod supervised;

pub use executor::{End, Execution, Executor, Launch, StagePlan, Stop};
pub use interrupt::Interrupt;
pub use supervised::Supervised;
