//! The consistency of a document of trends: one from elsewhere must not point beyond its own lists.

use super::document::{SCHEMA_TRENDS, TrendsDocument, V1ChangePoint, V1Series};

impl TrendsDocument {
    /// Checks that every index in it exists. Error: the one that does not, as part of a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA_TRENDS {
            return Err(format!("its schema is not `{SCHEMA_TRENDS}`"));
        }
        if let Some(run) = self.runs.iter().find(|run| humantime::parse_rfc3339(&run.started).is_err()) {
            return Err(format!("run {} started at no time that there is", run.run_id));
        }
        self.series.iter().try_for_each(|series| {
            of_series(series, self.runs.len()).map_err(|what| format!("{}: {what}", series.case))
        })
    }
}

fn of_series(series: &V1Series, runs: usize) -> Result<(), String> {
    let points = series.points.len();
    if series.points.iter().any(|point| point.run as usize >= runs) {
        return Err("a point of it is of no run".into());
    }
    if !series.points.is_sorted_by(|one, other| one.run < other.run) {
        return Err("its points are in no order".into());
    }
    if series.breaks.iter().any(|it| it.at as usize >= points)
        || !series.breaks.is_sorted_by(|one, other| one.at < other.at)
    {
        return Err("a break of it lies nowhere".into());
    }
    let lies = |change: &V1ChangePoint| {
        change.from <= change.at && change.at <= change.to && (change.to as usize) < points
    };
    if !series.changes.iter().chain(&series.withdrawn).all(lies) {
        return Err("a change of it lies nowhere".into());
    }
    if series.drift.as_ref().is_some_and(|drift| drift.from as usize >= points) {
        return Err("its drift begins nowhere".into());
    }
    Ok(())
}
