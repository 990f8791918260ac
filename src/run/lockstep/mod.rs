//! Lockstep: base and head are alive at once and measure in short batches by turns (synchronised interleaving; the
//! literature calls it duet benchmarking).
//!
//! | file | does |
//! |---|---|
//! | `eligible` | decides whether the two processes of a pair may take turns |
//! | `fits_in_memory` | decides whether both fit in memory at once |
//! | `schedule` | decides who measures when, and for how many iterations |
//! | `pair` | holds what two processes say against the schedule, and gives the turns |

pub(super) mod eligible;
pub(super) mod fits_in_memory;
pub(super) mod pair;
pub(super) mod schedule;
