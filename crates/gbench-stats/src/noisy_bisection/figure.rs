//! What one process says of a commit.

/// The figure of one fresh process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BisectionFigure {
    /// Index in the [`Lineage`](super::Lineage).
    pub commit: usize,
    /// Figures of one round were measured in one go.
    pub round: u32,
    /// A logarithm, up is worse.
    pub value: f64,
}
