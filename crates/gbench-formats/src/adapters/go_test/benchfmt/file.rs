//! A file of the benchmark format: the output of `go test -bench` with or without `-v`, parts of it, and what other programs
//! write. <https://go.dev/design/14313-benchmark-format>.
//!
//! The meaning of a line depends on the whole file: a number at the end of a name is that of the processors unless one name has
//! several; a configuration line is a parameter if one name was measured with several values of it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::str::SplitAsciiWhitespace;

use crate::adapters::interface::prelude::*;

/// Configuration that every package prints.
pub(super) const MACHINE: [&str; 4] = ["goos", "goarch", "cpu", "pkg"];

/// Beginnings of log lines that have the form of a configuration line.
const LOGS: [&str; 9] = ["error", "exit", "fatal", "go", "info", "panic", "signal", "testing", "warning"];

/// Properties of all lines together.
pub(super) struct FileWide<'a> {
    /// Names without their number that have several numbers.
    several: HashSet<&'a str>,
    /// Keys with several values for one name.
    telling_apart: BTreeSet<&'a str>,
    /// The values of these keys for the line that is being read.
    values: BTreeMap<&'a str, &'a str>,
    config: Config<'a>,
    pub units: HashMap<&'a str, DeclaredUnit<'a>>,
    /// The output of `go test` itself: it ends with `PASS` or `FAIL`.
    pub is_output: bool,
    /// It is an export of ours, without numbers of processors.
    is_ours: bool,
    pub commit: Option<&'a str>,
}

/// The content of a line `Unit`.
#[derive(Clone, Copy, Default)]
pub(super) struct DeclaredUnit<'a> {
    pub better: Option<Better>,
    /// Name and unit of the metric, which our own export adds.
    pub metric: Option<&'a str>,
    pub unit: Option<&'a str>,
}

impl<'a> DeclaredUnit<'a> {
    /// `ns/GC better=lower`: the unit, and what is said of it.
    pub(super) fn of(line: &'a str) -> Option<(&'a str, Self)> {
        let mut words = line.split_ascii_whitespace();
        let (unit, mut declared) = (words.next()?, Self::default());
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            match (key, value) {
                ("better", "lower") => declared.better = Some(Better::Lower),
                ("better", "higher") => declared.better = Some(Better::Higher),
                ("metric", name) => declared.metric = Some(name),
                ("unit", unit) => declared.unit = Some(unit),
                _ => {}
            }
        }
        Some((unit, declared))
    }
}

/// The lines of a text, each with its number, without line ends.
pub(super) fn numbered(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(index, line)| (index + 1, line.strip_suffix(b"\r").unwrap_or(line)))
}

/// A name with the number at its end: `BenchmarkX/n=8-4` is `BenchmarkX/n=8` and 4.
pub(super) struct Numbered<'a> {
    pub base: &'a str,
    pub number: Option<u32>,
}

impl<'a> Numbered<'a> {
    pub(super) fn of(name: &'a str) -> Self {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let found = name.rsplit_once('-').filter(|(_, number)| digits(number));
        match found.and_then(|(base, number)| Some((base, number.parse().ok()?))) {
            Some((base, number)) => Self { base, number: Some(number) },
            None => Self { base: name, number: None },
        }
    }
}

/// True if a file certainly has this format: a measurement per operation, or any with a line that the format alone has.
pub(crate) fn is_benchfmt(text: &[u8]) -> bool {
    let (mut is_of_go, mut is_measured) = (false, false);
    for line in numbered(text).filter_map(|(_, line)| std::str::from_utf8(line).ok()) {
        if let Some(measured) = Measured::of(line) {
            is_measured = true;
            is_of_go |= measured.is_named() && measured.units().any(|unit| unit.ends_with("/op"));
        } else if line.starts_with("goos: ") || line.starts_with("pkg: ") || line.starts_with("Unit ") {
            is_of_go = true;
        }
        if is_of_go && is_measured {
            return true;
        }
    }
    false
}

/// True if a line begins like a measurement and is not one: prose, or `BenchmarkX-8` with a log behind it.
pub(super) fn is_no_measurement(line: &str) -> bool {
    let is_alone = || !line.contains(char::is_whitespace);
    let is_prose = || Measured::of(line).is_none() && !is_alone() && !has_figures(line);
    line.starts_with("Benchmark") && is_prose() || is_figures(line)
}

/// The part of a line that shows that its program did not pass. It may follow the name of a benchmark. A benchmark with a separate
/// line for its failure fails alone.
pub(super) fn stop(line: &str) -> Option<&str> {
    let behind = line.split_once(char::is_whitespace).filter(|(name, _)| is_name(name));
    let said = behind.map_or(line, |(_, behind)| behind.trim_start());
    let failed = said.strip_prefix("--- FAIL: ");
    let is_other = |name: &str| behind.is_some() || !name.starts_with("Benchmark");
    (is_panic(said) || failed.is_some_and(is_other)).then_some(said)
}

pub(super) fn is_panic(line: &str) -> bool {
    ["panic: ", "fatal error: "].iter().any(|start| line.starts_with(start))
}

/// True if such a line may be one that something interrupted.
pub(super) fn looks_like_a_result(line: &str) -> bool {
    line.split_ascii_whitespace().next().is_some_and(is_name) || is_figures(line)
}

/// True if a measurement follows other output in its line.
pub(super) fn is_behind_other_output(line: &str) -> bool {
    let measured = line.find("Benchmark").filter(|at| *at > 0).and_then(|at| Measured::of(line.get(at..)?));
    measured.is_some_and(|it| it.is_named() && it.units().any(|unit| unit.ends_with("/op")))
}

/// True if a count and a unit per operation show what is meant, whatever is wrong between them.
fn has_figures(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().skip(1);
    words.next().is_some_and(|word| word.parse::<u64>().is_ok()) && words.any(|word| word.ends_with("/op"))
}

/// Figures without a name, as they are behind a log: `100   123 ns/op`.
fn is_figures(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_count = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    is_count && {
        let figures = Measured { name: "", pairs: words };
        figures.is_number_first() && figures.units().any(|unit| unit.ends_with("/op"))
    }
}

/// A name as `go test` accepts it.
fn is_name(name: &str) -> bool {
    name.strip_prefix("Benchmark").and_then(|rest| rest.chars().next()).is_some_and(|c| !c.is_lowercase())
}

struct Measured<'a> {
    name: &'a str,
    /// Values and units.
    pairs: SplitAsciiWhitespace<'a>,
}

impl<'a> Measured<'a> {
    /// A name, a number of iterations, and a number behind it.
    fn of(line: &'a str) -> Option<Self> {
        if !line.starts_with("Benchmark") {
            return None;
        }
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?;
        words.next()?.parse::<u64>().ok()?;
        let measured = Self { name, pairs: words };
        measured.is_number_first().then_some(measured)
    }

    fn is_number_first(&self) -> bool {
        self.pairs.clone().next().is_none_or(|value| value.parse::<f64>().is_ok())
    }

    fn is_named(&self) -> bool {
        is_name(self.name)
    }

    fn units(&self) -> impl Iterator<Item = &'a str> {
        self.pairs.clone().skip(1).step_by(2)
    }
}

/// A configuration line, such as `commit: 7cd9055`.
fn key_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(char::is_lowercase)
        && !key.chars().any(|c| c.is_whitespace() || c.is_uppercase())
        && !LOGS.contains(&key);
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && is_apart).then(|| (key, value.trim()))
}

impl<'a> FileWide<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        let mut found = Self {
            several: HashSet::new(),
            telling_apart: BTreeSet::new(),
            values: BTreeMap::new(),
            config: Config::default(),
            units: HashMap::new(),
            is_output: false,
            is_ours: false,
            commit: None,
        };
        let mut numbers: HashMap<&str, Option<u32>> = HashMap::new();
        // The configuration of the first line of each name.
        let mut first: HashMap<(&str, &str), BTreeMap<&str, &str>> = HashMap::new();
        let mut commits = BTreeSet::new();
        let mut config = Config::default();
        for line in numbered(text).filter_map(|(_, line)| std::str::from_utf8(line).ok()) {
            let is_end = ["ok  \t", "FAIL\t"].iter().any(|start| line.starts_with(start));
            found.is_output |= is_end || line == "PASS" || line == "FAIL" || is_name(line) && is_word(line);
            if let Some(rest) = line.strip_prefix("Unit ") {
                found.units.extend(DeclaredUnit::of(rest));
            }
            if config.add(line) {
                commits.extend(config.values.get("commit").copied().filter(|commit| is_commit(commit)));
            }
            let Some(Measured { name, .. }) = Measured::of(line) else { continue };
            let Numbered { base, number } = Numbered::of(name);
            if *numbers.entry(base).or_insert(number) != number {
                found.several.insert(base);
            }
            let package = config.values.get("pkg").copied().unwrap_or_default();
            match first.get(&(package, name)) {
                None => _ = first.insert((package, name), config.values.clone()),
                Some(before) if *before == config.values => {}
                Some(before) => {
                    let keys = before.keys().chain(config.values.keys()).copied();
                    let differs = |key: &&str| before.get(key) != config.values.get(key);
                    found.telling_apart.extend(keys.filter(differs).filter(|key| tells_apart(key)));
                }
            }
        }
        found.is_ours = config.values.get("tool") == Some(&"gbench-ci");
        found.commit = commits.first().copied().filter(|_| commits.len() == 1);
        found
    }

    /// True if the number at the end of a name may not be that of the processors.
    pub(super) fn is_whole(&self, base: &str) -> bool {
        self.is_ours || self.several.contains(base)
    }

    /// The number of processors where a name has none: `go test` leaves 1 out, and other programs say nothing.
    pub(super) fn least_processors(&self) -> Option<u32> {
        self.is_output.then_some(1)
    }

    /// Notes the values of the keys that distinguish cases.
    pub(super) fn line(&mut self, line: &'a str) {
        if !self.telling_apart.is_empty() && self.config.add(line) {
            let of = |key: &&'a str| Some((*key, *self.config.values.get(key)?));
            self.values = self.telling_apart.iter().filter_map(of).collect();
        }
    }

    pub(super) fn params(&self) -> Vec<(String, ParamValue)> {
        let param = |(key, value): (&&str, &&str)| ((*key).to_owned(), int_or_text(value));
        self.values.iter().map(param).collect()
    }
}

/// The configuration up to a line. A line of the form `key: value` is one of a block: at the beginning, below an empty line or
/// below another one; elsewhere it may be a log.
#[derive(Default)]
struct Config<'a> {
    values: BTreeMap<&'a str, &'a str>,
    is_within: Option<bool>,
}

impl<'a> Config<'a> {
    /// True if the line is of the configuration.
    fn add(&mut self, line: &'a str) -> bool {
        let found =
            key_value(line).filter(|(key, _)| MACHINE.contains(key) || self.is_within.unwrap_or(true));
        self.is_within = Some(line.trim().is_empty() || line.starts_with("Unit ") || found.is_some());
        match found {
            Some((key, "")) => _ = self.values.remove(key),
            Some((key, value)) => _ = self.values.insert(key, value),
            None => {}
        }
        found.is_some()
    }
}

/// A key whose values are of different subjects, and not of different runs of one.
fn tells_apart(key: &str) -> bool {
    key != "pkg" && !crate::adapters::formats::changes_by_itself(key)
}

fn is_word(line: &str) -> bool {
    !line.contains(char::is_whitespace)
}

fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
