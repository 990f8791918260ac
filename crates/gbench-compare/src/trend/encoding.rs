//! A run's figures as a few bytes: a text that occurred before is a number, a figure of a series is 16 bytes. For caches
//! alone: the truth is the run, from which the bytes are made again when [`CACHE_VERSION`] changes.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::run::{RunPoints, TrendRun};
use gbench_model::{Better, CaseId};

/// The form of the bytes and what the figures in them mean. Another one makes a cache void; a test compares the bytes of
/// a record with it.
pub const CACHE_VERSION: &str = concat!("gbench-ci ", env!("CARGO_PKG_VERSION"), " trend cache 2");

/// The bytes are not a run of this version, or the runs before it were not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not a run of a trend cache")]
pub struct EncodingError;

/// The texts and series of all runs that were encoded or decoded so far, in this order: a later run names them by number.
#[derive(Default)]
pub struct Dictionary {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
    series: Vec<SeriesEntry>,
    series_numbers: HashMap<SeriesEntry, u32>,
}

/// A case and a metric by numbers of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct SeriesEntry {
    /// The JSON of a [`CaseId`].
    pub case: u32,
    pub metric: u32,
    pub unit: u32,
    pub better: Option<Better>,
    pub judged: bool,
}

/// A run whose texts are numbers of a [`Dictionary`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecodedRun {
    /// New texts and series, numbered on from those before.
    texts: Vec<String>,
    series: Vec<SeriesEntry>,
    pub(super) run: TrendRun,
    pub(super) facts: Vec<(u32, u32)>,
    /// Case and outcome.
    pub(super) unmeasured: Vec<(u32, u32)>,
    /// Series, settings, value, half width.
    pub(super) points: Vec<(u32, u32, f64, f32)>,
}

impl Dictionary {
    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }

    pub(super) fn series(&self, number: u32) -> Option<SeriesEntry> {
        self.series.get(number as usize).copied()
    }

    fn learn(&mut self, run: &DecodedRun) {
        for text in &run.texts {
            self.numbers.insert(text.clone(), self.texts.len() as u32);
            self.texts.push(text.clone());
        }
        for entry in &run.series {
            self.series_numbers.insert(*entry, self.series.len() as u32);
            self.series.push(*entry);
        }
    }

    /// The bytes of a run, and the run as they will be read. Errors: a figure that has no form, which is a defect.
    pub fn encode(&mut self, points: &RunPoints) -> Result<(Vec<u8>, DecodedRun), EncodingError> {
        let mut run = DecodedRun {
            texts: Vec::new(),
            series: Vec::new(),
            run: points.run.clone(),
            facts: Vec::new(),
            unmeasured: Vec::new(),
            points: Vec::with_capacity(points.points.len()),
        };
        let mut new =
            Additions { known: self, numbers: HashMap::new(), series: HashMap::new(), run: &mut run };
        for (name, value) in &points.facts {
            let fact = (new.text(name), new.text(value));
            new.run.facts.push(fact);
        }
        for (case, outcome) in &points.unmeasured {
            let gap = (new.case(case)?, new.text(outcome));
            new.run.unmeasured.push(gap);
        }
        for point in &points.points {
            let entry = SeriesEntry {
                case: new.case(&point.case)?,
                metric: new.text(&point.metric),
                unit: new.text(&point.unit),
                better: point.better,
                judged: point.judged,
            };
            let figure = (new.entry(entry), new.text(&point.settings), point.value, point.half_width);
            new.run.points.push(figure);
        }
        let bytes = postcard::to_allocvec(&run).map_err(|_| EncodingError)?;
        self.learn(&run);
        Ok((bytes, run))
    }

    /// The run of these bytes. Runs are to be decoded in the order in which they were encoded.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<DecodedRun, EncodingError> {
        let run: DecodedRun = postcard::from_bytes(bytes).map_err(|_| EncodingError)?;
        let texts = (self.texts.len() + run.texts.len()) as u32;
        let series = (self.series.len() + run.series.len()) as u32;
        let is_known =
            |entry: &SeriesEntry| [entry.case, entry.metric, entry.unit].iter().all(|it| *it < texts);
        let pairs = run.facts.iter().chain(&run.unmeasured).all(|(a, b)| *a < texts && *b < texts);
        let points = run.points.iter().all(|point| point.0 < series && point.1 < texts);
        if !(run.series.iter().all(is_known) && pairs && points) {
            return Err(EncodingError);
        }
        self.learn(&run);
        Ok(run)
    }
}

/// The texts and series that a run brings.
struct Additions<'a> {
    known: &'a Dictionary,
    numbers: HashMap<String, u32>,
    series: HashMap<SeriesEntry, u32>,
    run: &'a mut DecodedRun,
}

impl Additions<'_> {
    fn text(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known.numbers.get(text).or_else(|| self.numbers.get(text)) {
            return *number;
        }
        let number = (self.known.texts.len() + self.run.texts.len()) as u32;
        self.run.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn case(&mut self, case: &CaseId) -> Result<u32, EncodingError> {
        let text = serde_json::to_string(case).map_err(|_| EncodingError)?;
        Ok(self.text(&text))
    }

    fn entry(&mut self, entry: SeriesEntry) -> u32 {
        if let Some(number) = self.known.series_numbers.get(&entry).or_else(|| self.series.get(&entry)) {
            return *number;
        }
        let number = (self.known.series.len() + self.run.series.len()) as u32;
        self.run.series.push(entry);
        self.series.insert(entry, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::trend::run::MetricPoint;
    use crate::trend::table::{SeriesFilter, TableBuilder};
    use gbench_model::test_support::case_id;

    fn run(day: u32, cases: &[&str], settings: &str) -> RunPoints {
        let point = |case: &&str| MetricPoint {
            case: case_id(case),
            metric: "time".into(),
            unit: "s".into(),
            better: Some(Better::Lower),
            judged: true,
            settings: settings.into(),
            value: f64::from(day),
            half_width: 0.01,
        };
        RunPoints {
            run: TrendRun {
                run_id: format!("202611{day:02}T000000.000Z-000000").parse().unwrap(),
                started: format!("2026-11-{day:02}T00:00:00.000Z"),
                commit: format!("{day:040x}"),
                branch: "main".into(),
                label: String::new(),
                event: "schedule".into(),
                conclusion: None,
            },
            facts: [("driver".into(), format!("{}", 500 + day / 10))].into(),
            points: cases.iter().map(point).collect(),
            unmeasured: vec![(case_id("a/gone"), "failed".into())],
        }
    }

    #[test]
    fn runs_read_back_as_they_were_and_stand_in_order_of_time() {
        let mut dictionary = Dictionary::default();
        let written =
            [run(9, &["a/x", "a/y"], "n=1"), run(3, &["a/y"], "n=2"), run(12, &["a/y", "a/x"], "n=1")];
        let bytes = written.map(|run| dictionary.encode(&run).unwrap().0);
        assert!(bytes[1].len() < bytes[0].len(), "texts that stood before are numbers");
        let filter = SeriesFilter { run: &|_| true, series: &|_, _| true, renamed: &BTreeMap::new() };
        let mut builder = TableBuilder::new(filter, 3);
        for bytes in bytes {
            let run = builder.dictionary().decode(&bytes).unwrap();
            builder.push(run);
        }
        let (table, read) = builder.finish(true);
        assert_eq!(read.texts, dictionary.texts);
        let days: Vec<&str> = table.runs.iter().map(|run| &run.run_id.as_str()[..8]).collect();
        assert_eq!(days, ["20261103", "20261109", "20261112"]);
        let [x, y] = ["a/x", "a/y"]
            .map(|name| table.series.iter().find(|series| series.id.case == case_id(name)).unwrap());
        let values = [x, y]
            .map(|series| series.points.iter().map(|point| (point.run, point.value)).collect::<Vec<_>>());
        assert_eq!(values, [vec![(1, 9.0), (2, 12.0)], vec![(0, 3.0), (1, 9.0), (2, 12.0)]]);
        assert_eq!([0, 1, 2].map(|run| dictionary.text(y.settings(run))), ["n=2", "n=1", "n=1"]);
        assert!(table.machine(0) == table.machine(1) && table.machine(1) != table.machine(2));
        assert_eq!(table.unmeasured.len(), 1, "of the newest run alone");
    }

    #[test]
    fn bytes_that_are_no_run_or_come_without_those_before_are_refused() {
        let mut dictionary = Dictionary::default();
        let [first, second] = [1, 2].map(|day| dictionary.encode(&run(day, &["a/x"], "n=1")).unwrap().0);
        assert!(Dictionary::default().decode(&second).is_err(), "its texts are the first one's");
        for cut in 0..first.len() {
            assert!(Dictionary::default().decode(&first[..cut]).is_err(), "{cut}");
        }
        let mut reader = Dictionary::default();
        assert!(reader.decode(&first).is_ok() && reader.decode(&second).is_ok());
    }
}
