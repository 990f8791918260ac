//! Catch2: benchmarks inside test cases, by its XML reporter. It keeps no samples: a mean and a standard deviation.
//!
//! <https://github.com/catchorg/Catch2/blob/devel/docs/benchmarks.md>. A test case is selected whole, a benchmark within it cannot be, so
//! that each process measures all of them. The runs of a benchmark are as long as the resolution of the clock asks for: there is a number
//! of samples and no time. A process takes about two seconds to learn that resolution before its first benchmark.

use std::collections::HashMap;

use super::cpp::{self, Library};
use super::xml::{self, Element};
use super::{
    About, Adapter, CaseName, CaseRequest, Detected, End, HarnessOutput, Invocation, Language, Lists, Need,
    Program, ReadError, Reading, Reads, SourceTree, SummaryReading,
};

pub struct Catch2;

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
    // The one header of version 2 holds all; version 3 is a library.
    compiled: |_, _, text| {
        if text.contains("CATCH_CONFIG_MAIN") {
            return Some(String::new());
        }
        text.contains("catch2/").then(|| "-lCatch2Main -lCatch2".into())
    },
    gpu: false,
};

impl Adapter for Catch2 {
    fn name(&self) -> &'static str {
        "catch2"
    }

    fn about(&self) -> About {
        About {
            title: "Catch2",
            language: Language::Cpp,
            lists: Lists::ByRunning,
            filters: false,
            orders: false,
            reads: Reads::Summary,
            tried: &["2.13.4", "2.13.10", "3.7.1"],
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Library { file: "/usr/include/catch2", package: "catch2" }]
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cpp::detect(tree, &LIBRARY)
    }

    /// The names of the flags stand in the library: a program that is linked with a shared one holds the library's name and its
    /// symbols instead. That of a debug build is called `libCatch2d.so`.
    fn recognises(&self, program: &Program) -> bool {
        program.holds("benchmark-resamples") && program.holds("benchmark-samples") && program.holds("Catch")
            || (program.holds("libCatch2.so") || program.holds("libCatch2d.so")) && program.holds("_ZN5Catch")
    }

    /// Its programs have tests without benchmarks, too, and the words of a tag alone say which run.
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
            return Err(root.refused(Some(FILE), format!("`{}` is no test run of Catch2", root.name)));
        }
        let known = ["2", "3"];
        if let Some(version) = root.attribute("xml-format-version").filter(|version| !known.contains(version))
        {
            return Err(root.refused(Some(FILE), format!("version {version} of its format is not known")));
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
        // The mean and the deviation come from the samples; resampling only makes the interval that nobody reads.
        "--benchmark-resamples".into(),
        "10".into(),
        "--benchmark-warmup-time".into(),
        format!("{:.0}", warmup.max(0.0) * 1e3),
    ];
    // Test cases tagged `[!benchmark]` are hidden. A command with words of its own may select already: another specification
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
    /// How often each name stood there.
    seen: HashMap<String, usize>,
}

/// What is known of the test case that is walked over.
struct Test<'x> {
    name: &'x str,
    sections: Vec<&'x str>,
    /// Its readings.
    own: Vec<usize>,
    /// Its result was said, and whether it is a failure.
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
            (false, _) => End::Failed { message: test.message.unwrap_or("its test case fails".into()) },
            (true, Some(reason)) => End::Skipped { reason },
            (true, None) => return Ok(()),
        };
        // Which benchmarks it would have had is not said.
        if test.own.is_empty() && marked {
            let mut reading = Reading::new(CaseName::plain(name));
            reading.end = end.clone();
            self.readings.push(reading);
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
        // The same benchmark for another value of a generator: the values are not in the report, their order is.
        let count = self.seen.entry(native.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            native = format!("{native} #{count}");
        }
        let mut reading = Reading::new(CaseName::plain(native));
        if let Some(version) = self.version {
            reading.metadata.insert("catch2_version".into(), version.into());
        }
        match element.child("mean") {
            None => {
                let failed = element.child("failed").and_then(|failed| failed.attribute("message"));
                let assertion = || element.child("Expression").map(expression);
                let message = failed.map(str::to_owned).or_else(assertion);
                reading.end = End::Failed { message: message.unwrap_or("the benchmark did not end".into()) };
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

/// An assertion and what it came to: `fib(5) == 6: 5 == 6`.
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
    text.parse().map_err(|_| element.refused(Some(FILE), format!("`{name}` is {text}, which is no number")))
}

#[cfg(test)]
mod tests {
    use super::super::detect::MemoryTree;
    use super::*;
    use crate::adapters::{Amount, BuildStep, OutputFiles, read};

    fn of(inside: &str) -> Result<Vec<Reading>, String> {
        let text = format!("<Catch2TestRun xml-format-version=\"3\">\n{inside}\n</Catch2TestRun>");
        let files = OutputFiles([(FILE.to_owned(), text.into())].into());
        read(&Catch2, &HarnessOutput { stdout: b"", files: &files }).map_err(|error| error.to_string())
    }

    const BENCHMARK: &str = "<BenchmarkResults name=\"b\" samples=\"3\" iterations=\"7\"><mean value=\"2.5\"/>\
                             <standardDeviation value=\"0.5\"/></BenchmarkResults>";
    const PASSED: &str = "<OverallResult success=\"true\"/>";

    fn case(inside: &str, result: &str) -> String {
        format!("<TestCase name=\"t\" tags=\"[!benchmark][.]\">{inside}{result}</TestCase>")
    }

    #[test]
    fn the_words_select_hidden_benchmarks_unless_the_command_selects() {
        let argv = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let amount = Amount { seconds: 1.0, warmup: 0.25, samples: 9 };
            Catch2
                .run(&CaseRequest { command: &command, cases: &[], out: "/out", amount })
                .unwrap()
                .argv
                .join(" ")
        };
        let words = "-r xml -o /out/catch2.xml --benchmark-samples 9 --benchmark-resamples 10 --benchmark-warmup-time 250";
        assert_eq!(argv(&["./t"]), format!("./t {words} ~[.],[!benchmark]"));
        assert_eq!(argv(&["./t", "[mine]"]), format!("./t [mine] {words}"));
    }

    #[test]
    fn a_program_with_the_library_inside_or_beside_it_is_known() {
        let knows = |bytes: &str| Catch2.recognises(&Program { command: &[], bytes: bytes.as_bytes() });
        assert!(knows("Catch benchmark-resamples benchmark-samples"));
        assert!(knows("libCatch2.so.3.7.1\0_ZN5Catch9Benchmark6Detail"));
        assert!(knows("libCatch2d.so\0_ZN5Catch7SessionC1Ev"));
        assert!(!knows("cp libCatch2.so build/"));
    }

    #[test]
    fn a_mean_and_its_deviation_are_a_summary() {
        let readings = of(&case(BENCHMARK, PASSED)).unwrap();
        let summary = readings[0].metrics[0].summary.unwrap();
        assert_eq!((readings[0].case.native.as_str(), summary.value), ("t / b", 2.5));
        assert_eq!((summary.stddev, summary.count), (Some(0.5), Some(3)));
    }

    #[test]
    fn the_values_of_a_generator_are_told_apart_by_their_order() {
        let section = format!("<Section name=\"s\">{BENCHMARK}</Section>");
        let readings = of(&case(&section.repeat(2), PASSED)).unwrap();
        let names: Vec<&str> = readings.iter().map(|reading| reading.case.native.as_str()).collect();
        assert_eq!(names, ["t / s / b", "t / s / b #2"]);
    }

    #[test]
    fn a_benchmark_of_a_test_case_that_fails_or_skips_has_no_number() {
        let failed = "<Expression success=\"false\"><Original> a == b </Original><Expanded> 1 == 2 </Expanded></Expression>\
                      <OverallResult success=\"false\"/>";
        let readings = of(&case(BENCHMARK, failed)).unwrap();
        assert_eq!(readings[0].end, End::Failed { message: "a == b: 1 == 2".into() });
        assert!(readings[0].metrics.is_empty());
        let skipped = of(&case("<Skip> not here </Skip>", PASSED)).unwrap();
        assert_eq!(skipped[0].end, End::Skipped { reason: "not here".into() });
        let thrown = "<BenchmarkResults name=\"b\"><failed message=\"no\"/></BenchmarkResults>";
        assert_eq!(of(&case(thrown, PASSED)).unwrap()[0].end, End::Failed { message: "no".into() });
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for inside in [
            case(BENCHMARK, ""),
            case(&BENCHMARK.replace("2.5", "x"), PASSED),
            case(&BENCHMARK.replace("samples=\"3\"", ""), PASSED),
            case(&BENCHMARK.replace("iterations=\"7\"", "iterations=\"0\""), PASSED),
            case(&BENCHMARK.replace("name=\"b\"", ""), PASSED),
        ] {
            assert!(of(&inside).unwrap_err().starts_with("catch2.xml:2"), "{inside}");
        }
        for text in ["<Other/>", "<Catch2TestRun xml-format-version=\"9\"/>"] {
            let files = OutputFiles([(FILE.to_owned(), text.into())].into());
            assert!(read(&Catch2, &HarnessOutput { stdout: b"", files: &files }).is_err());
        }
    }

    #[test]
    fn test_cases_without_benchmarks_are_none_of_a_harness_and_sources_with_them_are_found() {
        assert!(of("<TestCase name=\"t\"><OverallResult success=\"false\"/></TestCase>").is_err());
        let source = "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n";
        let benchmark = format!("{source}TEST_CASE(\"a\") {{ BENCHMARK(\"b\") {{ return 1; }}; }}\n");
        let detected = Catch2.detect(&MemoryTree::of([("a.cpp", source), ("b.cpp", &benchmark)]));
        let build = "mkdir -p build && c++ -O2 -std=c++17 -o build/b b.cpp";
        assert_eq!((detected.found.len(), detected.unclear.len()), (1, 0));
        assert_eq!(detected.found[0].build, Some(BuildStep::Shell(build.into())));
    }
}
