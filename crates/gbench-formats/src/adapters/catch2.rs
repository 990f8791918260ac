//! Catch2: benchmarks inside test cases, by its XML reporter. The report has a mean and a standard deviation, but no
//! samples. <https://github.com/catchorg/Catch2/blob/devel/docs/benchmarks.md>.
//!
//! Only whole test cases can be selected, so each process measures all benchmarks of a case. The length of a run follows
//! from the clock's resolution: there is a setting for the number of samples, but none for the time. A process takes
//! about two seconds to determine that resolution before its first benchmark.

use std::collections::HashMap;

use super::interface::prelude::*;
use super::readers::xml::{self, Element};
use super::source::cpp::{self, Library};

pub(crate) struct Catch2;

const FILE: &str = "catch2.xml";

const LIBRARY: Library = Library {
    title: "Catch2",
    headers: &[
        "catch2/catch_all.hpp",
        "catch2/benchmark/catch_benchmark.hpp",
        "catch2/benchmark/catch_benchmark_all.hpp",
        "catch.hpp",
        "catch_amalgamated.hpp",
    ],
    words: &["BENCHMARK(", "BENCHMARK_ADVANCED("],
    targets: &[],
    flag: "",
    // Version 2 is a single header; version 3 is a library.
    compiled: |_, _, text| {
        if text.contains("CATCH_CONFIG_MAIN") {
            return Some(String::new());
        }
        text.contains("catch2/").then(|| "-lCatch2Main -lCatch2".into())
    },
    gpu: false,
};

impl Adapter for Catch2 {
    fn about(&self) -> About {
        About {
            name: "catch2",
            title: "Catch2",
            language: Language::Cpp,
            lists: Lists::ByRunning,
            reads: Reads::Summary,
            tried: &["2.13.4", "2.13.10", "3.7.1"],
            needs: &[Need::Library { file: "/usr/include/catch2", package: "catch2" }],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cpp::detect(tree, &LIBRARY)
    }

    /// The flags' names are strings in the library. A program that links a shared library contains the library's name and
    /// symbols instead. The library of a debug build is called `libCatch2d.so`.
    fn recognises(&self, program: &Program) -> bool {
        program.holds("benchmark-resamples") && program.holds("benchmark-samples") && program.holds("Catch")
            || (program.holds("libCatch2.so") || program.holds("libCatch2d.so")) && program.holds("_ZN5Catch")
    }

    /// Its programs also have tests without benchmarks, and only a tag selects the benchmarks.
    fn calibrates(&self, program: &Program) -> bool {
        program.command.iter().any(|word| word.contains("benchmark"))
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(words(ask, 1, 0.0))
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(words(ask, ask.amount.samples.max(1), ask.amount.warmup))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let root = xml::document(Some(FILE), output.files.need(FILE)?)?;
        if !["Catch", "Catch2TestRun"].contains(&root.name.as_str()) {
            return Err(root.refused(Some(FILE), format!("`{}` is not a test run of Catch2", root.name)));
        }
        let known = ["2", "3"];
        if let Some(version) = root.attribute("xml-format-version").filter(|version| !known.contains(version))
        {
            return Err(root.refused(Some(FILE), format!("unknown format version {version}")));
        }
        let mut walk = Walk { version: root.attribute("catch2-version"), ..Walk::default() };
        walk.outside(&root)?;
        Ok(walk.readings)
    }
}

fn words(ask: &CaseRequest, samples: u32, warmup: f64) -> Invocation {
    let mut more = vec![
        "-r".to_owned(),
        "xml".into(),
        "-o".into(),
        format!("{}/{FILE}", ask.out),
        "--benchmark-samples".into(),
        samples.to_string(),
        // The mean and the deviation come from the samples; resampling only computes an interval that is not read.
        "--benchmark-resamples".into(),
        "10".into(),
        "--benchmark-warmup-time".into(),
        format!("{:.0}", warmup.max(0.0) * 1e3),
    ];
    // Test cases tagged `[!benchmark]` are hidden. A command with further words may already select: another specification
    // would narrow it.
    if ask.command.len() == 1 {
        more.push("~[.],[!benchmark]".into());
    }
    Invocation::of(ask.command, more)
}

#[derive(Default)]
struct Walk<'x> {
    version: Option<&'x str>,
    readings: Vec<Reading>,
    seen: HashMap<String, usize>,
}

struct Test<'x> {
    name: &'x str,
    sections: Vec<&'x str>,
    own: Vec<usize>,
    /// True after its result; then also whether it failed.
    success: Option<bool>,
    message: Option<String>,
    skip: Option<String>,
}

impl<'x> Walk<'x> {
    fn outside(&mut self, element: &'x Element) -> Result<(), ReadError> {
        for child in &element.children {
            match child.name.as_str() {
                "TestCase" => self.test(child)?,
                "Group" => self.outside(child)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn test(&mut self, element: &'x Element) -> Result<(), ReadError> {
        let name = attribute(element, "name")?;
        let mut test =
            Test { name, sections: Vec::new(), own: Vec::new(), success: None, message: None, skip: None };
        self.inside(element, &mut test)?;
        let success =
            test.success.ok_or_else(|| element.refused(Some(FILE), "the test case has no result"))?;
        let marked = element.attribute("tags").is_some_and(|tags| tags.contains("[!benchmark]"));
        let end = match (success, test.skip) {
            (false, _) => failed(test.message.unwrap_or("its test case fails".into())),
            (true, Some(reason)) => skipped(reason),
            (true, None) => return Ok(()),
        };
        // The report does not name the benchmarks that did not run.
        if test.own.is_empty() && marked {
            self.readings.push(Reading::new(CaseName::plain(name)).with_end(end.clone()));
        }
        for place in test.own {
            let reading = &mut self.readings[place];
            reading.metrics.clear();
            if reading.end == End::Measured {
                reading.end = end.clone();
            }
        }
        Ok(())
    }

    fn inside(&mut self, element: &'x Element, test: &mut Test<'x>) -> Result<(), ReadError> {
        for child in &element.children {
            match child.name.as_str() {
                // Version 2 leaves a test case open after an assertion that fails within a benchmark.
                "TestCase" => self.test(child)?,
                "Section" => {
                    test.sections.push(attribute(child, "name")?);
                    self.inside(child, test)?;
                    test.sections.pop();
                }
                "BenchmarkResults" => {
                    self.benchmark(child, test)?;
                    self.inside(child, test)?;
                }
                "OverallResult" => {
                    let success = attribute(child, "success")? == "true";
                    test.success = Some(test.success.unwrap_or(true) && success);
                }
                "Expression" if child.attribute("success") != Some("true") => {
                    test.message.get_or_insert(expression(child));
                }
                "Exception" | "Failure" | "FatalErrorCondition" => {
                    test.message.get_or_insert(child.text.trim().to_owned());
                }
                "Skip" => test.skip = Some(child.text.trim().to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    fn benchmark(&mut self, element: &'x Element, test: &mut Test<'x>) -> Result<(), ReadError> {
        let name = attribute(element, "name")?;
        let mut native: Vec<&str> = vec![test.name];
        native.extend(&test.sections);
        native.push(name);
        let mut native = native.join(" / ");
        // The same benchmark with another value of a generator. The report contains the order of the values, not the
        // values.
        let count = self.seen.entry(native.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            native = format!("{native} #{count}");
        }
        let mut reading = Reading::new(CaseName::plain(native));
        reading.note("catch2_version", self.version);
        match element.child("mean") {
            None => {
                let said = element.child("failed").and_then(|failed| failed.attribute("message"));
                let assertion = || element.child("Expression").map(expression);
                let message = said.map(str::to_owned).or_else(assertion);
                reading.end = failed(message.unwrap_or("the benchmark did not end".into()));
            }
            Some(mean) => {
                let samples: u64 = number(element, "samples")?;
                let iterations: u64 = number(element, "iterations")?;
                if samples == 0 || iterations == 0 {
                    return Err(element.refused(Some(FILE), "nothing ran"));
                }
                reading.metadata.insert("iterations_per_sample".into(), iterations.into());
                let deviation = element.child("standardDeviation").map(|child| number(child, "value"));
                reading.metric("time", "ns", None).summary = Some(SummaryReading {
                    value: number(mean, "value")?,
                    stddev: deviation.transpose()?,
                    count: Some(samples),
                });
            }
        }
        test.own.push(self.readings.len());
        self.readings.push(reading);
        Ok(())
    }
}

/// An assertion with its values: `fib(5) == 6: 5 == 6`.
fn expression(element: &Element) -> String {
    let part = |name| element.child(name).map_or("", |part| part.text.trim());
    format!("{}: {}", part("Original"), part("Expanded"))
}

fn attribute<'x>(element: &'x Element, name: &str) -> Result<&'x str, ReadError> {
    let missing = || element.refused(Some(FILE), format!("`{}` has no `{name}`", element.name));
    element.attribute(name).ok_or_else(missing)
}

fn number<T: std::str::FromStr>(element: &Element, name: &str) -> Result<T, ReadError> {
    let text = attribute(element, name)?;
    text.parse()
        .map_err(|_| element.refused(Some(FILE), format!("`{name}` is {text}, which is not a number")))
}
