//! The figures of all runs, a column each case and metric.

use std::collections::{BTreeMap, HashMap};

use super::encoding::{DecodedRun, Dictionary};
use super::run::TrendRun;
use crate::identity::machines::HOST_OF_FILE;
use gbench_model::{BenchmarkId, Better, CaseId, HOST};

/// The identity of a series. Branches, labels and hosts are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesId {
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub branch: String,
    /// The label of its runs; with the host if runs of this label are of several.
    pub label: String,
}

/// One figure. Half the width of its interval is that of [`super::run::MetricPoint`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrendPoint {
    pub value: f64,
    pub half_width: f32,
    pub run: u32,
}

/// One case and metric over the runs of a branch on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendSeries {
    pub id: SeriesId,
    pub better: Option<Better>,
    /// The gate judges by it, as the newest run has it.
    pub judged: bool,
    /// The newest commit of its suite has a figure of it, on its branch and machine.
    pub is_current: bool,
    pub points: Vec<TrendPoint>,
    /// A text of the dictionary: what the suite asked for.
    settings: PerRun,
    /// A series of the dictionary: whether the gate judged by it, and which way was better.
    entries: PerRun,
}

/// A number that is the same in nearly all runs.
#[derive(Clone, Debug, Default, PartialEq)]
struct PerRun {
    usual: Option<u32>,
    others: HashMap<u32, u32>,
}

impl PerRun {
    fn put(&mut self, run: u32, number: u32) {
        if *self.usual.get_or_insert(number) != number {
            self.others.insert(run, number);
        }
    }

    fn of(&self, run: u32) -> u32 {
        self.others.get(&run).copied().or(self.usual).unwrap_or_default()
    }

    fn renumber(&mut self, place: &[u32]) {
        self.others = self.others.drain().map(|(run, number)| (place[run as usize], number)).collect();
    }
}

/// Which runs and series are kept. The others cost no memory.
pub struct SeriesFilter<'f> {
    pub run: &'f dyn Fn(&TrendRun) -> bool,
    pub series: &'f dyn Fn(&CaseId, &str) -> bool,
    /// By the name that a benchmark had before, the one that its series have now.
    pub renamed: &'f BTreeMap<BenchmarkId, BenchmarkId>,
}

/// All of a history that was asked for.
#[derive(Default)]
pub struct TrendTable {
    /// In order of their starts.
    pub runs: Vec<TrendRun>,
    /// The host that each run names.
    pub run_hosts: Vec<Option<String>>,
    pub series: Vec<TrendSeries>,
    /// Cases of the newest run of each suite on a branch and machine that it has no figure of, each with the word of its
    /// outcome.
    pub unmeasured: Vec<(SeriesId, String)>,
    /// Most hosts that one case has a series for.
    pub hosts: usize,
    machines: Vec<Vec<(u32, u32)>>,
    machine_of: Vec<u32>,
    /// The suites of each run. The newest run of one suite shows nothing of another.
    suites: Vec<Vec<u32>>,
}

/// Takes runs in, in any order.
pub struct TableBuilder<'f> {
    dictionary: Dictionary,
    filter: SeriesFilter<'f>,
    /// Runs that are expected: columns have room for as many.
    expected: usize,
    table: TrendTable,
    machines: HashMap<Vec<(u32, u32)>, u32>,
    stream_numbers: HashMap<(String, String), usize>,
    streams: Vec<Stream>,
    unmeasured: Vec<Vec<(u32, u32)>>,
    columns: HashMap<(usize, CaseId, u32, u32), u32>,
    suite_numbers: HashMap<String, u32>,
    /// By case, as a text of the dictionary.
    suite_of: HashMap<u32, u32>,
}

struct Stream {
    branch: String,
    label: String,
    places: Vec<Place>,
    /// By suite.
    newest: HashMap<u32, usize>,
}

#[derive(Clone, Copy)]
enum Place {
    NotLookedUp,
    NotWanted,
    /// `former`: under the name that its benchmark had before.
    Column {
        number: u32,
        former: bool,
    },
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
            stream_numbers: HashMap::new(),
            streams: Vec::new(),
            unmeasured: Vec::new(),
            columns: HashMap::new(),
            suite_numbers: HashMap::new(),
            suite_of: HashMap::new(),
        }
    }

    pub fn dictionary(&mut self) -> &mut Dictionary {
        &mut self.dictionary
    }

    pub fn push(&mut self, run: DecodedRun) {
        if !(self.filter.run)(&run.run) {
            return;
        }
        let number = self.table.runs.len();
        let suites = self.suites_of(&run);
        let stream = self.stream(&run.run, number, &suites);
        let next_machine = self.machines.len() as u32;
        let machine = *self.machines.entry(run.facts).or_insert(next_machine);
        self.table.machine_of.push(machine);
        for (entry, settings, value, half_width) in run.points {
            let Some((column, former)) = self.column(stream, entry) else { continue };
            let column = &mut self.table.series[column as usize];
            let run = number as u32;
            // A run that has both names: the new one is meant.
            if let Some(other) = column.points.pop_if(|last| last.run == run)
                && former
            {
                column.points.push(other);
                continue;
            }
            column.settings.put(run, settings);
            column.entries.put(run, entry);
            column.points.push(TrendPoint { value, half_width, run });
        }
        self.unmeasured.push(run.unmeasured);
        self.table.runs.push(run.run);
        self.table.suites.push(suites);
    }

    fn suites_of(&mut self, run: &DecodedRun) -> Vec<u32> {
        let figures = run.points.iter().filter_map(|(entry, ..)| Some(self.dictionary.series(*entry)?.case));
        let mut suites: Vec<u32> = Vec::new();
        for case in figures.chain(run.unmeasured.iter().map(|(case, _)| *case)) {
            let suite = *self.suite_of.entry(case).or_insert_with(|| {
                let case = serde_json::from_str::<CaseId>(self.dictionary.text(case));
                let name = case.map_or(String::new(), |case| case.benchmark.suite().to_owned());
                let next = self.suite_numbers.len() as u32;
                *self.suite_numbers.entry(name).or_insert(next)
            });
            if !suites.contains(&suite) {
                suites.push(suite);
            }
        }
        suites
    }

    fn stream(&mut self, run: &TrendRun, number: usize, suites: &[u32]) -> usize {
        let next = self.streams.len();
        let key = (run.branch.clone(), run.label.clone());
        let stream = *self.stream_numbers.entry(key).or_insert(next);
        if stream == next {
            let (branch, label) = (run.branch.clone(), run.label.clone());
            self.streams.push(Stream { branch, label, places: Vec::new(), newest: HashMap::new() });
        }
        for suite in suites {
            let newest = self.streams[stream].newest.entry(*suite).or_insert(number);
            if *newest != number && run.run_id > self.table.runs[*newest].run_id {
                *newest = number;
            }
        }
        stream
    }

    /// The column of a series, and true if the series is now of another name; `None` where it is not wanted.
    fn column(&mut self, stream: usize, number: u32) -> Option<(u32, bool)> {
        let entry = self.dictionary.series(number)?;
        let Stream { branch, label, places, .. } = &mut self.streams[stream];
        if places.len() <= number as usize {
            places.resize(number as usize + 1, Place::NotLookedUp);
        }
        if let Place::Column { number, former } = places[number as usize] {
            return Some((number, former));
        }
        if let Place::NotWanted = places[number as usize] {
            return None;
        }
        let metric = self.dictionary.text(entry.metric);
        let case = serde_json::from_str::<CaseId>(self.dictionary.text(entry.case)).ok();
        let now = case.as_ref().and_then(|case| self.filter.renamed.get(&case.benchmark));
        let former = now.is_some();
        let case = case.map(|case| now_called(case, self.filter.renamed));
        let Some(case) = case.filter(|case| (self.filter.series)(case, metric)) else {
            places[number as usize] = Place::NotWanted;
            return None;
        };
        let key = (stream, case.clone(), entry.metric, entry.unit);
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
                is_current: false,
                // With several branches or machines each has but a part of the runs.
                points: Vec::with_capacity(if stream == 0 { self.expected } else { 0 }),
                settings: PerRun::default(),
                entries: PerRun::default(),
            });
            self.table.series.len() as u32 - 1
        });
        places[number as usize] = Place::Column { number: column, former };
        Some((column, former))
    }

    /// The table, and the dictionary that names what is in it. `hosts_apart`: figures of two machines of one model are not
    /// comparable, so each host has its own series.
    pub fn finish(self, hosts_apart: bool) -> (TrendTable, Dictionary) {
        let Self {
            dictionary,
            filter,
            mut table,
            machines,
            streams,
            unmeasured,
            suite_numbers,
            suite_of,
            ..
        } = self;
        let mut by_number: Vec<_> = machines.into_iter().collect();
        by_number.sort_by_key(|(_, number)| *number);
        table.machines = by_number.into_iter().map(|(facts, _)| facts).collect();
        for Stream { branch, label, newest, .. } in &streams {
            let mut newest: Vec<(&u32, &usize)> = newest.iter().collect();
            newest.sort_by_key(|(suite, run)| (**run, **suite));
            let gaps = newest.into_iter().flat_map(|(suite, run)| {
                unmeasured[*run].iter().filter(|(case, _)| suite_of.get(case) == Some(suite))
            });
            for (case, outcome) in gaps {
                let Ok(case) = serde_json::from_str::<CaseId>(dictionary.text(*case)) else { continue };
                let case = now_called(case, filter.renamed);
                if !(filter.series)(&case, "") {
                    continue;
                }
                let (metric, unit) = Default::default();
                let id = SeriesId { case, metric, unit, branch: branch.clone(), label: label.clone() };
                table.unmeasured.push((id, dictionary.text(*outcome).to_owned()));
            }
        }
        table.sort();
        let named = table.named_hosts(&dictionary);
        table.run_hosts =
            named.iter().map(|host| host.map(|text| dictionary.text(text).to_owned())).collect();
        let hosts = if hosts_apart { table.hosts(named) } else { vec![None; named.len()] };
        table.divide_by_host(&hosts, &dictionary);
        table.mark_current(&hosts, &suite_numbers);
        for series in &mut table.series {
            let newest =
                series.points.last().and_then(|point| dictionary.series(series.entries.of(point.run)));
            if let Some(entry) = newest {
                (series.better, series.judged) = (entry.better, entry.judged);
            }
        }
        (table, dictionary)
    }
}

fn now_called(case: CaseId, renamed: &BTreeMap<BenchmarkId, BenchmarkId>) -> CaseId {
    match renamed.get(&case.benchmark) {
        Some(now) => CaseId { benchmark: now.clone(), ..case },
        None => case,
    }
}

impl TrendTable {
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
            series.settings.renumber(&place);
            series.entries.renumber(&place);
        }
        self.machine_of = order.iter().map(|run| self.machine_of[*run]).collect();
        self.suites = order.iter().map(|run| std::mem::take(&mut self.suites[*run])).collect();
        let mut runs: Vec<Option<TrendRun>> = std::mem::take(&mut self.runs).into_iter().map(Some).collect();
        self.runs = order.iter().filter_map(|run| runs[*run].take()).collect();
    }

    /// The host that each run names, as a text of the dictionary.
    fn named_hosts(&self, dictionary: &Dictionary) -> Vec<Option<u32>> {
        let of_machine = |facts: &Vec<(u32, u32)>| {
            let host = |name: u32| matches!(dictionary.text(name), HOST | HOST_OF_FILE);
            facts.iter().find(|(name, _)| host(*name)).map(|(_, value)| *value)
        };
        let of_machines: Vec<Option<u32>> = self.machines.iter().map(of_machine).collect();
        self.machine_of.iter().map(|it| of_machines[*it as usize]).collect()
    }

    /// A run that does not name its host belongs to the host of the run before it, or after it.
    fn hosts(&self, mut hosts: Vec<Option<u32>>) -> Vec<Option<u32>> {
        let mut last: HashMap<(&str, &str), u32> = HashMap::new();
        let forwards = 0..hosts.len();
        for at in forwards.clone().chain(forwards.rev()) {
            let stream = (self.runs[at].branch.as_str(), self.runs[at].label.as_str());
            match hosts[at] {
                Some(host) => drop(last.insert(stream, host)),
                None => hosts[at] = last.get(&stream).copied(),
            }
        }
        hosts
    }

    /// Makes a series for each host of a series that has several.
    fn divide_by_host(&mut self, hosts: &[Option<u32>], dictionary: &Dictionary) {
        let mut divided = Vec::with_capacity(self.series.len());
        for mut series in std::mem::take(&mut self.series) {
            let mut by_host: BTreeMap<Option<u32>, Vec<TrendPoint>> = BTreeMap::new();
            for point in std::mem::take(&mut series.points) {
                by_host.entry(hosts[point.run as usize]).or_default().push(point);
            }
            self.hosts = self.hosts.max(by_host.len());
            let is_divided = by_host.len() > 1;
            divided.extend(by_host.into_iter().map(|(host, points)| {
                let mut part = TrendSeries { points, ..series.clone() };
                if let Some(host) = host.filter(|_| is_divided) {
                    let between = if part.id.label.is_empty() { "" } else { ", " };
                    part.id.label += &format!("{between}{}", dictionary.text(host));
                }
                part
            }));
        }
        self.series = divided;
    }

    /// Marks the series of which the newest commit of their suite, on their branch, label and host, has a figure: shards of
    /// one night are several runs.
    fn mark_current(&mut self, hosts: &[Option<u32>], suite_numbers: &HashMap<String, u32>) {
        let key = |at: usize, suite: u32| (&self.runs[at].branch, &self.runs[at].label, hosts[at], suite);
        let of_run = |at: usize| self.suites[at].iter().map(move |suite| (key(at, *suite), at));
        let newest: HashMap<_, usize> = (0..self.runs.len()).flat_map(of_run).collect();
        for series in &mut self.series {
            let Some(last) = series.points.last().map(|point| point.run as usize) else { continue };
            let suite = suite_numbers.get(series.id.case.benchmark.suite());
            let newest = suite.and_then(|suite| newest.get(&key(last, *suite)));
            let commit = &self.runs[last].commit;
            series.is_current = newest.is_none_or(|newest| {
                *newest == last || !commit.is_empty() && *commit == self.runs[*newest].commit
            });
        }
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
    pub(super) fn settings(&self, run: u32) -> u32 {
        self.settings.of(run)
    }
}
