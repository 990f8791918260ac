//! Selects benchmarks. Unknown names and an empty selection are errors: a typo in a CI job must not become a green tick.

mod targets;

use std::collections::BTreeSet;

use globset::{Glob, GlobMatcher};
use strum::IntoEnumIterator;

use super::param_values::{means, unescaped_parts};
use crate::benchmark::definition::Benchmark;
use crate::suite::{Source, Suite};
use crate::words::{advise, listed};
use gbench_model::{BenchmarkId, Component, Fault, Params, Result, near};

/// All benchmarks that can be named: the file's, then the built-in ones. The file's hide built-ins with the same id.
#[derive(Clone, Debug)]
pub struct Registry {
    pub file: Option<Suite>,
    pub builtin: Suite,
}

/// The selection flags. Any value of a field matches; the fields narrow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Globs of ids, in the order of execution; a glob without `/` also matches the name alone.
    pub benchmarks: Vec<String>,
    pub suites: Vec<String>,
    pub components: Vec<Component>,
    pub tags: Vec<String>,
    pub exclude: Vec<String>,
    /// A parameter and its allowed values, each text as given. Benchmarks without the parameter are not selected.
    pub params: Vec<(String, Vec<String>)>,
    /// Folders, pairs, variants and kernels by name: `ch1:moe`.
    pub targets: Vec<String>,
}

impl Selection {
    /// Adds `--component cpu,gpu`.
    pub fn add_components(&mut self, text: &str) -> Result<()> {
        let known: Vec<&str> = Component::iter().map(|component| component.into_str()).collect();
        for word in commas(text) {
            let component = word.parse().map_err(|_| {
                let what = format!("there is no component `{word}`");
                Fault::at_flag(format!("--component {text}"), what, advise(word, &known))
            })?;
            self.components.push(component);
        }
        Ok(())
    }

    /// Adds `--param n=1,2`; values of a repeated parameter are merged.
    pub fn add_param(&mut self, text: &str) -> Result<()> {
        let parts = text.split_once('=').map(|(name, values)| (name.trim(), values.trim()));
        let Some((name, values)) =
            parts.filter(|(name, values)| !name.is_empty() && !unescaped_parts(values).is_empty())
        else {
            let flag = format!("--param {text}");
            let what = "this does not have the form name=value";
            return Err(Fault::at_flag(flag, what, "write `--param n=32,64`"));
        };
        match self.params.iter_mut().find(|(known, _)| known == name) {
            Some((_, united)) => united.push(values.to_owned()),
            None => self.params.push((name.to_owned(), vec![values.to_owned()])),
        }
        Ok(())
    }
}

/// True if the point has one of the values of every parameter that is named, as by [`Selection::add_param`].
pub fn has_params(point: &Params, params: &[(String, Vec<String>)]) -> bool {
    params
        .iter()
        .all(|(name, values)| point.get(name).is_some_and(|found| values.iter().any(|it| means(it, found))))
}

/// The parts of `a,b`, trimmed, without empty ones.
pub fn commas(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
}

impl Registry {
    /// `builtins`: the members of the micro suite, all with one suite name.
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

    pub fn all(&self) -> impl Iterator<Item = &Benchmark> {
        self.files().iter().chain(self.builtins())
    }

    /// The selected benchmarks and points, with the file's (else the built-in suite's) name, policies and options. Errors:
    /// unknown names, an empty selection.
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

    /// The benchmarks of `--benchmark`, `--suite` or, without these, `--component`; the whole suite without any.
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
                let what = format!("there is no suite `{wanted}`");
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

    /// The file's benchmarks that match; the built-in ones if the glob names their suite or matches none of the file's. `*` in
    /// a folder with a file therefore means the file.
    fn matching(&self, pattern: &str) -> Result<Vec<&Benchmark>> {
        let flag = format!("--benchmark {pattern}");
        let glob = glob(&flag, pattern)?;
        let mut found: Vec<_> = self.files().iter().filter(|benchmark| matches(&glob, benchmark)).collect();
        if found.is_empty() || pattern.starts_with(&format!("{}/", self.builtin.name)) {
            found.extend(self.builtins().filter(|benchmark| matches(&glob, benchmark)));
        }
        if found.is_empty() { Err(self.unknown(&flag, pattern)) } else { Ok(found) }
    }

    /// The benchmarks of `--component` alone: those that the file declares for it, else the file's, else the built-in ones.
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
                format!("give one `components = [\"{word}\"]`, or choose from `gbench-ci list`"),
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
        Err(Fault::at_flag(format!("--tag {wanted}"), format!("no benchmark has the tag `{wanted}`"), next))
    }

    fn unknown(&self, flag: &str, pattern: &str) -> Fault {
        let known: Vec<&str> = self.all().map(|benchmark| benchmark.id.as_str()).collect();
        let next = match (self.other_flag(flag, pattern), near(pattern, &known).as_slice()) {
            (Some(next), _) => next,
            (None, []) => format!("use one of {}", listed(&known)),
            (None, _) => advise(pattern, &known),
        };
        Fault::at_flag(flag, "no benchmark has this name", next)
    }

    /// Advice if the name is that of a suite, a component or a tag.
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

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.collect::<BTreeSet<T>>().into_iter().collect()
}

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
        .map_err(|error| Fault::at_flag(flag, format!("this is not a glob: {}", error.kind()), next))
}

/// The matcher of a glob. Errors, at `flag`: it is not a glob.
pub fn fitting(flag: &str, pattern: &str) -> Result<impl Fn(&str) -> bool + use<>> {
    let glob = glob(flag, pattern)?;
    Ok(move |name: &str| glob.is_match(name))
}

fn matches(glob: &GlobMatcher, benchmark: &Benchmark) -> bool {
    glob.is_match(benchmark.id.as_str()) || glob.is_match(benchmark.id.name())
}

fn narrow(chosen: &mut Vec<&Benchmark>, flag: &str, keep: impl Fn(&Benchmark) -> bool) -> Result<()> {
    let before: Vec<_> = chosen.iter().map(|benchmark| benchmark.id.as_str().to_owned()).collect();
    chosen.retain(|benchmark| keep(benchmark));
    if chosen.is_empty() && !before.is_empty() {
        Err(Fault::at_flag(
            flag,
            format!("this excludes all of {}", listed(&before)),
            "loosen this flag or the other ones; `gbench-ci list` shows all benchmarks",
        ))
    } else {
        Ok(())
    }
}

fn filter_params(benchmarks: &mut Vec<Benchmark>, params: &[(String, Vec<String>)]) -> Result<()> {
    for (name, values) in params {
        let flag = format!("--param {name}={}", values.join(","));
        // The cases of a harness are not known yet: they are selected after listing.
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
                "remove the flag: the selection has no parameters".to_owned()
            } else {
                advise(name, &names)
            };
            return Err(Fault::at_flag(flag, format!("there is no parameter `{name}`"), next));
        }
        let known = sorted(points.iter().filter_map(|point| point.get(name)));
        let is_known = |value: &str| known.iter().any(|known| known.is_written(value));
        let given = values.iter().filter(|value| !later && !is_known(value));
        let mut parts = given.flat_map(|value| unescaped_parts(value));
        if let Some(value) = parts.find(|value| !is_known(value)) {
            let known: Vec<String> = known.iter().map(|value| value.to_string()).collect();
            let what = format!("`{name}` is never `{value}` in the selection");
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
            let what = "together with the other parameters this selects no case";
            return Err(Fault::at_flag(flag, what, "loosen one of the `--param` flags"));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
