//! Lockstep: base and head are alive at once and measure in short batches by turns (synchronised interleaving, known in the
//! literature as duet benchmarking).

pub(crate) mod eligible;
pub(crate) mod pair;
pub(crate) mod schedule;
