//! What is asked of a sweep.

/// What is asked of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepRequest {
    /// One row for each value of these parameters, or combination of them.
    pub by: Vec<String>,
    /// What is held against each other: one column, or line, for each value of this parameter.
    pub group_by: Option<String>,
    /// Only what has these values.
    pub conditions: Vec<(String, String)>,
    /// `None`: `time`, else the first metric that is judged.
    pub metric: Option<String>,
}

impl SweepRequest {
    /// Whether anything is asked.
    pub fn is_asked(&self) -> bool {
        !self.by.is_empty() || self.group_by.is_some() || !self.conditions.is_empty()
    }
}
