//! The flags that several commands share.

pub mod rounds;
pub mod selection;
