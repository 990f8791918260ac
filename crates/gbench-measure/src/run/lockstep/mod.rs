//! Lockstep: base and head are alive at once and measure in short batches by turns (synchronised interleaving, known in the
//! literature as duet benchmarking).

pub(super) mod eligible;
pub(super) mod pair;
pub(super) mod schedule;
