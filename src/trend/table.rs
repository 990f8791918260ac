//! The figures of all runs, a column each case and metric.

use std::collections::HashMap;

use super::encoding::{DecodedRun, Dictionary};
use super::run::TrendRun;
use crate::model::{Better, CaseId};

/// What a series is of. Branches and machines are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesId {
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub branch: String,
    pub label: String,
}

/// One figure. Half the width of its interval is that of [`super::MetricPoint`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrendPoint {
    pub value: f64,
    pub half_width: f32,
    /// Index of the run in [`TrendTable::runs`].
    pub run: u32,
}

/// One case and metric over the runs of a branch on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendSeries {
    pub id: SeriesId,
    /// As the newest run has it.
    pub better: Option<Better>,
    /// The gate judges by it, as the newest run has it.
    pub judged: bool,
    /// In order of the runs' starts.
    pub points: Vec<TrendPoint>,
    /// What the suite asked for, by number, in the first run; and in those that differ from it.
    first_settings: u32,
    other_settings: HashMap<u32, u32>,
}

/// Which runs and series are kept. The others cost no memory.
pub struct SeriesFilter<'f> {
    pub run: &'f dyn Fn(&TrendRun) -> bool,
    pub series: &'f dyn Fn(&CaseId, &str) -> bool,
}

/// All of a history that was asked for.
#[derive(Default)]
pub struct TrendTable {
    /// In order of their starts.
    pub runs: Vec<TrendRun>,
    pub series: Vec<TrendSeries>,
    /// Cases of the newest run of each branch and machine that it has no figure of, each with the word of its outcome.
    pub unmeasured: Vec<(SeriesId, String)>,
    /// By number: the facts of a machine, by numbers of texts.
    machines: Vec<Vec<(u32, u32)>>,
    machine_of: Vec<u32>,
}

/// Takes runs in, in any order.
pub struct TableBuilder<'f> {
    dictionary: Dictionary,
    filter: SeriesFilter<'f>,
    /// Runs that are expected: columns have room for as many.
    expected: usize,
    table: TrendTable,
    machines: HashMap<Vec<(u32, u32)>, u32>,
    /// Branch and label; for each the place of the column of each series of the dictionary.
    streams: Vec<(String, String, Vec<Place>)>,
    unmeasured: Vec<Vec<(u32, u32)>>,
    stream_of: Vec<u32>,
    /// Columns by stream and the numbers of case, metric and unit.
    columns: HashMap<(usize, u32, u32, u32), u32>,
}

#[derive(Clone, Copy)]
enum Place {
    NotLookedUp,
    NotWanted,
    Column(u32),
}

impl<'f> TableBuilder<'f> {
    /// `expected`: about how many runs will come.
    pub fn new(filter: SeriesFilter<'f>, expected: usize) -> Self {
        Self {
            dictionary: Dictionary::default(),
            filter,
            expected,
            table: TrendTable::default(),
            machines: HashMap::new(),
            streams: Vec::new(),
            unmeasured: Vec::new(),
            stream_of: Vec::new(),
            columns: HashMap::new(),
        }
    }

    /// The dictionary by which runs are encoded and decoded.
    pub fn dictionary(&mut self) -> &mut Dictionary {
        &mut self.dictionary
    }

    /// Takes in a run that the dictionary has encoded or decoded.
    pub fn push(&mut self, run: DecodedRun) {
        if !(self.filter.run)(&run.run) {
            return;
        }
        let stream = self.stream(&run.run);
        let number = self.table.runs.len() as u32;
        let next_machine = self.machines.len() as u32;
        let machine = *self.machines.entry(run.facts).or_insert(next_machine);
        self.table.machine_of.push(machine);
        self.stream_of.push(stream as u32);
        for (series, settings, value, half_width) in run.points {
            let Some(column) = self.column(stream, series) else { continue };
            let column = &mut self.table.series[column as usize];
            if column.points.is_empty() {
                column.first_settings = settings;
            } else if column.first_settings != settings {
                column.other_settings.insert(number, settings);
            }
            column.points.push(TrendPoint { value, half_width, run: number });
        }
        self.unmeasured.push(run.unmeasured);
        self.table.runs.push(run.run);
    }

    fn stream(&mut self, run: &TrendRun) -> usize {
        let is_it = |(branch, label, _): &(String, String, _)| *branch == run.branch && *label == run.label;
        self.streams.iter().position(is_it).unwrap_or_else(|| {
            self.streams.push((run.branch.clone(), run.label.clone(), Vec::new()));
            self.streams.len() - 1
        })
    }

    /// The column of a series; `None` where it is not wanted.
    fn column(&mut self, stream: usize, number: u32) -> Option<u32> {
        let entry = self.dictionary.series(number)?;
        let (branch, label, places) = &mut self.streams[stream];
        if places.len() <= number as usize {
            places.resize(number as usize + 1, Place::NotLookedUp);
        }
        if let Place::Column(column) = places[number as usize] {
            return Some(column);
        }
        if let Place::NotWanted = places[number as usize] {
            return None;
        }
        let metric = self.dictionary.text(entry.metric);
        let case = serde_json::from_str::<CaseId>(self.dictionary.text(entry.case)).ok();
        let Some(case) = case.filter(|case| (self.filter.series)(case, metric)) else {
            places[number as usize] = Place::NotWanted;
            return None;
        };
        let key = (stream, entry.case, entry.metric, entry.unit);
        let column = *self.columns.entry(key).or_insert_with(|| {
            let id = SeriesId {
                case,
                metric: metric.to_owned(),
                unit: self.dictionary.text(entry.unit).to_owned(),
                branch: branch.clone(),
                label: label.clone(),
            };
            self.table.series.push(TrendSeries {
                id,
                better: None,
                judged: true,
                points: Vec::with_capacity(self.expected),
                first_settings: 0,
                other_settings: HashMap::new(),
            });
            self.table.series.len() as u32 - 1
        });
        places[number as usize] = Place::Column(column);
        // Runs mostly come in order, so that the newest entry is that of the newest run.
        let series = &mut self.table.series[column as usize];
        (series.better, series.judged) = (entry.better, entry.judged);
        Some(column)
    }

    /// The table, and the dictionary that names what is in it.
    pub fn finish(self) -> (TrendTable, Dictionary) {
        let Self { dictionary, filter, mut table, machines, streams, unmeasured, stream_of, .. } = self;
        let mut by_number: Vec<_> = machines.into_iter().collect();
        by_number.sort_by_key(|(_, number)| *number);
        table.machines = by_number.into_iter().map(|(facts, _)| facts).collect();
        for (stream, (branch, label, _)) in streams.iter().enumerate() {
            let of_stream = (0..table.runs.len()).filter(|run| stream_of[*run] as usize == stream);
            let Some(newest) = of_stream.max_by_key(|run| &table.runs[*run].run_id) else { continue };
            for (case, outcome) in &unmeasured[newest] {
                let Ok(case) = serde_json::from_str::<CaseId>(dictionary.text(*case)) else { continue };
                if !(filter.series)(&case, "") {
                    continue;
                }
                let (metric, unit) = Default::default();
                let id = SeriesId { case, metric, unit, branch: branch.clone(), label: label.clone() };
                table.unmeasured.push((id, dictionary.text(*outcome).to_owned()));
            }
        }
        table.sort();
        (table, dictionary)
    }
}

impl TrendTable {
    /// Runs by their start, and every column after them.
    fn sort(&mut self) {
        self.series.retain(|series| !series.points.is_empty());
        if self.runs.is_sorted_by(|one, other| one.run_id <= other.run_id) {
            return;
        }
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by(|one, other| self.runs[*one].run_id.cmp(&self.runs[*other].run_id));
        let mut place = vec![0_u32; order.len()];
        for (at, run) in order.iter().enumerate() {
            place[*run] = at as u32;
        }
        for series in &mut self.series {
            for point in &mut series.points {
                point.run = place[point.run as usize];
            }
            series.points.sort_by_key(|point| point.run);
            series.other_settings = std::mem::take(&mut series.other_settings)
                .into_iter()
                .map(|(run, settings)| (place[run as usize], settings))
                .collect();
        }
        self.machine_of = order.iter().map(|run| self.machine_of[*run]).collect();
        let mut runs: Vec<Option<TrendRun>> = std::mem::take(&mut self.runs).into_iter().map(Some).collect();
        self.runs = order.iter().filter_map(|run| runs[*run].take()).collect();
    }

    /// The machine of a run: runs with the same number ran on the same, as far as any fact tells.
    pub(super) fn machine(&self, run: u32) -> u32 {
        self.machine_of[run as usize]
    }

    /// Facts of a machine by its number, each a name and a value of the dictionary.
    pub(super) fn facts(&self, machine: u32) -> &[(u32, u32)] {
        self.machines.get(machine as usize).map_or(&[], Vec::as_slice)
    }
}

impl TrendSeries {
    /// What the suite asked for in a run, as a text of the dictionary.
    pub(super) fn settings(&self, run: u32) -> u32 {
        self.other_settings.get(&run).copied().unwrap_or(self.first_settings)
    }
}
