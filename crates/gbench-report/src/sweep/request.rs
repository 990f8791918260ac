/// A request to a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepRequest {
    /// One row for each value of these parameters, or combination of them.
    pub by: Vec<String>,
    /// The compared parameter: one column, or line, for each of its values.
    pub group_by: Option<String>,
    /// Only cases with these values.
    pub conditions: Vec<(String, String)>,
    /// `None`: `time`, else the first judged metric.
    pub metric: Option<String>,
}

impl SweepRequest {
    /// True if anything is requested.
    pub fn is_asked(&self) -> bool {
        !self.by.is_empty() || self.group_by.is_some() || !self.conditions.is_empty()
    }
}
