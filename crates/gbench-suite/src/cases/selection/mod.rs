//! Which of the registered benchmarks are meant. A name that nothing has, and a combination that leaves
//! nothing, are errors: a typo in a CI job must not become a green tick.

mod targets;

use std::collections::BTreeSet;

use globset::{Glob, GlobMatcher};
use strum::IntoEnumIterator;

use super::param_values::{means, unescaped_parts};
use crate::benchmark::definition::Benchmark;
use crate::suite::{Source, Suite};
use crate::words::{advise, listed};
use gbench_model::{BenchmarkId, Component, Fault, Params, Result, near};

/// Everything that can be named: the file's benchmarks and the built-in ones are one list, in which the
/// file's come first and hide built-ins of the same id.
#[derive(Clone, Debug)]
pub struct Registry {
    pub file: Option<Suite>,
    pub builtin: Suite,
}

/// The selection flags. Within one field any value will do; the fields narrow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Globs over ids, in the order in which they are to run; one without `/` also matches a name alone.
    pub benchmarks: Vec<String>,
    pub suites: Vec<String>,
    pub components: Vec<Component>,
    pub tags: Vec<String>,
    /// Globs over ids.
    pub exclude: Vec<String>,
    /// A parameter and the values that it may have, each text as it was given: `means` reads it. A benchmark without the
    /// parameter is not selected.
    pub params: Vec<(String, Vec<String>)>,
    /// Folders, pairs, variants and kernels by their names: `ch1:moe`.
    pub targets: Vec<String>,
}

impl Selection {
    /// Adds `--component cpu,gpu`.
    pub fn add_components(&mut self, text: &str) -> Result<()> {
        let known: Vec<&str> = Component::iter().map(|component| component.into_str()).collect();
        for word in commas(text) {
            let component = word.parse().map_err(|_| {
                let what = format!("no component is called `{word}`");
                Fault::at_flag(format!("--component {text}"), what, advise(word, &known))
            })?;
            self.components.push(component);
        }
        Ok(())
    }

    /// Adds `--param n=1,2`; values of a parameter that is given twice are united.
    pub fn add_param(&mut self, text: &str) -> Result<()> {
        let parts = text.split_once('=').map(|(name, values)| (name.trim(), values.trim()));
        let Some((name, values)) =
            parts.filter(|(name, values)| !name.is_empty() && !unescaped_parts(values).is_empty())
        else {
            let flag = format!("--param {text}");
            let what = "this is not of the form name=value";
            return Err(Fault::at_flag(flag, what, "write `--param n=32,64`"));
        };
        match self.params.iter_mut().find(|(known, _)| known == name) {
            Some((_, united)) => united.push(values.to_owned()),
            None => self.params.push((name.to_owned(), vec![values.to_owned()])),
        }
        Ok(())
    }
}

/// The parts of `a,b`; blanks and empty parts fall away.
pub fn commas(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
}

impl Registry {
    /// `builtins`: the members of the micro suite, all under one suite name.
    pub fn new(file: Option<Suite>, builtins: &[Benchmark]) -> Self {
        let name = builtins.first().map_or("micro", |benchmark| benchmark.id.suite());
        Self { file, builtin: Suite::new(name, Source::Builtin, builtins.to_vec()) }
    }

    fn files(&self) -> &[Benchmark] {
        self.file.as_ref().map_or(&[], |suite| &suite.benchmarks)
    }

    fn builtins(&self) -> impl Iterator<Item = &Benchmark> {
        let hidden = |id: &BenchmarkId| self.files().iter().any(|benchmark| benchmark.id == *id);
        self.builtin.benchmarks.iter().filter(move |benchmark| !hidden(&benchmark.id))
    }

    /// The file's benchmarks in order, then the built-in ones.
    pub fn all(&self) -> impl Iterator<Item = &Benchmark> {
        self.files().iter().chain(self.builtins())
    }

    /// The suite that a selection leaves: the file's (else the built-in one's) name, policies and options,
    /// with the selected benchmarks and points. Errors: unknown names, and a selection of nothing.
    pub fn select(&self, selection: &Selection) -> Result<Suite> {
        let mut chosen = self.named(selection)?;
        let by_name = !selection.benchmarks.is_empty() || !selection.suites.is_empty();
        if by_name && !selection.components.is_empty() {
            let words: Vec<_> = selection.components.iter().map(|component| component.into_str()).collect();
            narrow(&mut chosen, &format!("--component {}", words.join(",")), |benchmark| {
                selection.components.iter().any(|component| benchmark.components.contains(component))
            })?;
        }
        self.check_tags(selection)?;
        if !selection.tags.is_empty() {
            narrow(&mut chosen, &format!("--tag {}", selection.tags.join(",")), |benchmark| {
                selection.tags.iter().any(|tag| benchmark.tags.contains(tag))
            })?;
        }
        for pattern in &selection.exclude {
            let flag = format!("--exclude {pattern}");
            let glob = glob(&flag, pattern)?;
            if !self.all().any(|benchmark| matches(&glob, benchmark)) {
                return Err(self.unknown(&flag, pattern));
            }
            narrow(&mut chosen, &flag, |benchmark| !matches(&glob, benchmark))?;
        }
        let mut benchmarks: Vec<Benchmark> = chosen.into_iter().cloned().collect();
        targets::filter_targets(&mut benchmarks, &selection.targets)?;
        filter_params(&mut benchmarks, &selection.params)?;
        if benchmarks.is_empty() {
            let next = "run `gbench-ci init` to write a suite file";
            return Err(Fault::at("the built-in suite", "it has no benchmark on this machine", next));
        }
        let suite = self.file.as_ref().unwrap_or(&self.builtin);
        Ok(Suite { benchmarks, ..suite.clone() })
    }

    /// The benchmarks that `--benchmark`, `--suite` or, without these, `--component` name; the whole suite if none is given.
    fn named(&self, selection: &Selection) -> Result<Vec<&Benchmark>> {
        let mut chosen: Vec<&Benchmark> = Vec::new();
        if !selection.benchmarks.is_empty() {
            for pattern in &selection.benchmarks {
                add(&mut chosen, self.matching(pattern)?);
            }
        } else if !selection.suites.is_empty() {
            chosen = self.all().collect();
        } else if !selection.components.is_empty() {
            for component in &selection.components {
                add(&mut chosen, self.defaults_of(*component)?);
            }
        } else {
            chosen = match &self.file {
                Some(suite) => suite.benchmarks.iter().collect(),
                None => self.builtins().collect(),
            };
        }
        if !selection.suites.is_empty() {
            let known = sorted(self.all().map(|benchmark| benchmark.id.suite()));
            if let Some(wanted) = selection.suites.iter().find(|suite| !known.contains(&suite.as_str())) {
                let what = format!("no suite is called `{wanted}`");
                let is_benchmark =
                    |benchmark: &Benchmark| benchmark.id.as_str() == wanted || benchmark.id.name() == wanted;
                let next = if self.all().any(is_benchmark) {
                    format!("`{wanted}` is a benchmark: write `--benchmark {wanted}`")
                } else {
                    advise(wanted, &known)
                };
                return Err(Fault::at_flag(format!("--suite {wanted}"), what, next));
            }
            narrow(&mut chosen, &format!("--suite {}", selection.suites.join(",")), |benchmark| {
                selection.suites.iter().any(|suite| suite == benchmark.id.suite())
            })?;
        }
        Ok(chosen)
    }

    /// The benchmarks of a glob: the file's benchmarks; the built-in ones if it names their suite, or if it fits
    /// none of the file's. `*` in a folder with a file thus means the file, as no glob at all does.
    fn matching(&self, pattern: &str) -> Result<Vec<&Benchmark>> {
        let flag = format!("--benchmark {pattern}");
        let glob = glob(&flag, pattern)?;
        let mut found: Vec<_> = self.files().iter().filter(|benchmark| matches(&glob, benchmark)).collect();
        if found.is_empty() || pattern.starts_with(&format!("{}/", self.builtin.name)) {
            found.extend(self.builtins().filter(|benchmark| matches(&glob, benchmark)));
        }
        if found.is_empty() { Err(self.unknown(&flag, pattern)) } else { Ok(found) }
    }

    /// The benchmarks of `--component` alone: what the file declares, else what the file has, else the built-in
    /// members that exercise it.
    fn defaults_of(&self, component: Component) -> Result<Vec<&Benchmark>> {
        let declared = self.file.as_ref().and_then(|suite| suite.components.get(&component));
        if let Some(ids) = declared {
            let found = ids.iter().filter_map(|id| self.all().find(|benchmark| benchmark.id == *id));
            return Ok(found.collect());
        }
        let exercises = |benchmark: &&Benchmark| benchmark.components.contains(&component);
        let mut found: Vec<_> = self.files().iter().filter(exercises).collect();
        if found.is_empty() {
            found = self.builtins().filter(exercises).collect();
        }
        if found.is_empty() {
            let word = component.into_str();
            return Err(Fault::at_flag(
                format!("--component {word}"),
                format!("no benchmark exercises `{word}`"),
                format!("give one `components = [\"{word}\"]`, or see `gbench-ci list` for what there is"),
            ));
        }
        Ok(found)
    }

    fn check_tags(&self, selection: &Selection) -> Result<()> {
        let known = sorted(self.all().flat_map(|benchmark| benchmark.tags.iter().map(String::as_str)));
        let Some(wanted) = selection.tags.iter().find(|tag| !known.contains(&tag.as_str())) else {
            return Ok(());
        };
        let next = if known.is_empty() {
            format!("give a benchmark `tags = [\"{wanted}\"]`")
        } else {
            advise(wanted, &known)
        };
        Err(Fault::at_flag(format!("--tag {wanted}"), format!("no benchmark is tagged `{wanted}`"), next))
    }

    fn unknown(&self, flag: &str, pattern: &str) -> Fault {
        let known: Vec<&str> = self.all().map(|benchmark| benchmark.id.as_str()).collect();
        let next = match (self.other_flag(flag, pattern), near(pattern, &known).as_slice()) {
            (Some(next), _) => next,
            (None, []) => format!("use one of {}", listed(&known)),
            (None, _) => advise(pattern, &known),
        };
        Fault::at_flag(flag, "no benchmark is called so", next)
    }

    /// The advice where the name is that of a suite, a component or a tag.
    fn other_flag(&self, flag: &str, name: &str) -> Option<String> {
        let is_suite = self.all().any(|benchmark| benchmark.id.suite() == name);
        let is_component = name.parse::<Component>().is_ok();
        let is_tag = self.all().any(|benchmark| benchmark.tags.iter().any(|tag| tag == name));
        let (what, right) = match () {
            () if is_suite => ("a suite", "--suite"),
            () if is_component => ("a component", "--component"),
            () if is_tag => ("a tag", "--tag"),
            () => return None,
        };
        match (flag.starts_with("--exclude"), is_suite) {
            (false, _) => Some(format!("`{name}` is {what}: write `{right} {name}`")),
            (true, true) => Some(format!("`{name}` is a suite: write `--exclude '{name}/*'`")),
            (true, false) => None,
        }
    }
}

/// In order and without repeats.
fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.collect::<BTreeSet<T>>().into_iter().collect()
}

/// Keeps order, and each benchmark once.
fn add<'a>(chosen: &mut Vec<&'a Benchmark>, more: Vec<&'a Benchmark>) {
    for benchmark in more {
        if !chosen.iter().any(|known| known.id == benchmark.id) {
            chosen.push(benchmark);
        }
    }
}

fn glob(flag: &str, pattern: &str) -> Result<GlobMatcher> {
    let next = "write an id or a pattern such as 'kernels/*'";
    let read = Glob::new(pattern);
    read.map(|glob| glob.compile_matcher())
        .map_err(|error| Fault::at_flag(flag, format!("this is no glob: {}", error.kind()), next))
}

/// The matcher of a glob, for other names than those of benchmarks. Errors: what is no glob, at `flag`.
pub fn fitting(flag: &str, pattern: &str) -> Result<impl Fn(&str) -> bool + use<>> {
    let glob = glob(flag, pattern)?;
    Ok(move |name: &str| glob.is_match(name))
}

fn matches(glob: &GlobMatcher, benchmark: &Benchmark) -> bool {
    glob.is_match(benchmark.id.as_str()) || glob.is_match(benchmark.id.name())
}

/// Keeps what satisfies a flag; an error if that is nothing.
fn narrow(chosen: &mut Vec<&Benchmark>, flag: &str, keep: impl Fn(&Benchmark) -> bool) -> Result<()> {
    let before: Vec<_> = chosen.iter().map(|benchmark| benchmark.id.as_str().to_owned()).collect();
    chosen.retain(|benchmark| keep(benchmark));
    if chosen.is_empty() && !before.is_empty() {
        Err(Fault::at_flag(
            flag,
            format!("this leaves nothing of {}", listed(&before)),
            "loosen this flag or the ones beside it; `gbench-ci list` shows what there is",
        ))
    } else {
        Ok(())
    }
}

/// Keeps the points that every `--param` allows, and the benchmarks that keep a point.
fn filter_params(benchmarks: &mut Vec<Benchmark>, params: &[(String, Vec<String>)]) -> Result<()> {
    for (name, values) in params {
        let flag = format!("--param {name}={}", values.join(","));
        // The cases of a harness are not known yet: they are chosen when they are.
        let mut later = false;
        for benchmark in benchmarks.iter_mut().filter(|benchmark| benchmark.is_unlisted()) {
            if let Some(entry) = &mut benchmark.harness {
                entry.only.push((name.clone(), values.clone()));
                later = true;
            }
        }
        let points: Vec<&Params> = benchmarks.iter().flat_map(|benchmark| &benchmark.points).collect();
        let names = sorted(points.iter().flat_map(|point| point.keys().map(String::as_str)));
        if !names.contains(&name.as_str()) && !later {
            let next = if names.is_empty() {
                "take the flag out: what is selected has no parameters".to_owned()
            } else {
                advise(name, &names)
            };
            return Err(Fault::at_flag(flag, format!("no parameter is called `{name}`"), next));
        }
        let known = sorted(points.iter().filter_map(|point| point.get(name)));
        let is_known = |value: &str| known.iter().any(|known| known.is_written(value));
        let given = values.iter().filter(|value| !later && !is_known(value));
        let mut parts = given.flat_map(|value| unescaped_parts(value));
        if let Some(value) = parts.find(|value| !is_known(value)) {
            let known: Vec<String> = known.iter().map(|value| value.to_string()).collect();
            let what = format!("`{name}` is never `{value}` in what is selected");
            return Err(Fault::at_flag(flag, what, format!("use one of {}", listed(&known))));
        }
        let allowed = |point: &Params| {
            point.get(name).is_some_and(|found| values.iter().any(|value| means(value, found)))
        };
        for benchmark in benchmarks.iter_mut().filter(|benchmark| !benchmark.is_unlisted()) {
            benchmark.points.retain(&allowed);
        }
        benchmarks.retain(|benchmark| !benchmark.points.is_empty());
        if benchmarks.is_empty() {
            let what = "together with the other parameters this leaves no case";
            return Err(Fault::at_flag(flag, what, "loosen one of the `--param` flags"));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
