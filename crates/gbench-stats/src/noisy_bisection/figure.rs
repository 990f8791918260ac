//! A measurement of a commit by one process.

/// The figure of one fresh process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BisectionFigure {
    /// Index in the [`Lineage`](super::Lineage).
    pub commit: usize,
    /// Figures of one round were measured together.
    pub round: u32,
    /// A logarithm; higher is worse.
    pub value: f64,
}
