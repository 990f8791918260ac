//! CTest: the time of whole tests, by its JUnit report, which it writes from version 3.21 on.
//!
//! <https://cmake.org/cmake/help/latest/manual/ctest.1.html>. A test is one run of a program, with its start: one sample a process. A
//! test that needs a fixture brings the tests that set it up, so that more than the cases asked for may be measured.

use serde::Deserialize;

use super::cmake;
use super::detect::BuildStep;
use super::json::document;
use super::xml::{self, Element};
use super::{
    About, Adapter, CaseName, CaseRequest, Detected, End, FoundBenchmark, HarnessOutput, Invocation,
    Language, Lists, Need, Program, ReadError, Reading, Reads, SourceTree,
};

pub struct CTest;

const FILE: &str = "ctest.xml";

/// See [`super::google_benchmark`]: a longer filter is left off.
const MAX_FILTER: usize = 100_000;

impl Adapter for CTest {
    fn name(&self) -> &'static str {
        "ctest"
    }

    fn about(&self) -> About {
        About {
            title: "CTest",
            language: Language::Cpp,
            lists: Lists::Named,
            filters: true,
            orders: false,
            reads: Reads::Samples,
            tried: &["3.21.4", "3.25.1", "4.1.3"],
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Program { name: "ctest", package: "cmake" }]
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        let measured = measured_by_others(tree);
        for tests in cmake::tests(tree) {
            let measures = |test: &&cmake::DeclaredTest| {
                let name = test.name.to_ascii_lowercase();
                (name.contains("bench") || name.contains("perf")) && !measured.contains(&test.program)
            };
            let tested: Vec<&cmake::DeclaredTest> = tests.tests.iter().filter(measures).collect();
            let names: Vec<&str> = tested.iter().map(|test| test.name.as_str()).collect();
            if names.is_empty() {
                continue;
            }
            let tests_it =
                |target: &cmake::CMakeTarget| tested.iter().any(|test| test.program == target.name);
            let sources = cmake::targets(tree).into_iter().filter(tests_it).flat_map(|target| target.sources);
            let files = tests.files.iter().cloned().chain(sources).collect();
            let (build, shell) = tests.built();
            let named: Vec<String> = names.iter().map(|name| escaped(name)).collect();
            detected.found.push(FoundBenchmark {
                name: "ctest".into(),
                command: ["ctest", "--test-dir", &build, "-R", &format!("^({})$", named.join("|"))]
                    .map(str::to_owned)
                    .to_vec(),
                build: Some(BuildStep::Shell(shell)),
                binaries: vec!["cmake".into(), "ctest".into()],
                files,
                why: format!("add_test names what looks like a benchmark: {}", names.join(", ")),
                ..FoundBenchmark::default()
            });
        }
        detected
    }

    fn recognises(&self, program: &Program) -> bool {
        program.name() == "ctest"
    }

    /// It runs each test once.
    fn calibrates(&self, _program: &Program) -> bool {
        false
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(Invocation::of(ask.command, ["--show-only=json-v1"]))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let list: List = document(None, output.stdout)?;
        Ok(list.tests.into_iter().map(|test| CaseName::plain(test.name)).collect())
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let mut more = vec!["--quiet".to_owned(), "--output-junit".into(), format!("{}/{FILE}", ask.out)];
        let names: Vec<String> = ask.cases.iter().map(|case| escaped(case)).collect();
        let filter = format!("^({})$", names.join("|"));
        // The last of several -R counts.
        if !names.is_empty() && filter.len() <= MAX_FILTER {
            more.extend(["-R".into(), filter]);
        }
        Some(Invocation::of(ask.command, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let root = xml::document(Some(FILE), output.files.need(FILE)?)?;
        if root.name != "testsuite" {
            return Err(root.refused(Some(FILE), format!("`{}` is no suite of tests", root.name)));
        }
        root.children.iter().filter(|child| child.name == "testcase").map(reading).collect()
    }
}

/// Programs with a harness inside: they adapt their work to a fixed time, so that the time of the test tells nothing.
fn measured_by_others(tree: &dyn SourceTree) -> Vec<String> {
    let of_programs = |adapter: &&&dyn Adapter| {
        matches!(adapter.about().language, Language::Cpp | Language::Cuda) && adapter.name() != CTest.name()
    };
    let mut programs = Vec::new();
    for detected in super::ALL.iter().filter(of_programs).map(|adapter| adapter.detect(tree)) {
        let has =
            |target: &cmake::CMakeTarget| target.sources.iter().any(|path| detected.seen.contains(path));
        programs.extend(cmake::targets(tree).into_iter().filter(has).map(|target| target.name));
        for found in detected.found {
            programs
                .extend(found.command.first().and_then(|word| word.rsplit('/').next()).map(str::to_owned));
            // A test names the target, whose program may be called otherwise.
            programs.push(found.name);
        }
    }
    programs
}

#[derive(Deserialize)]
struct List {
    tests: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
}

fn reading(case: &Element) -> Result<Reading, ReadError> {
    let refused = |what: String| case.refused(Some(FILE), what);
    let missing = |name: &str| refused(format!("the test has no `{name}`"));
    let name = case.attribute("name").ok_or_else(|| missing("name"))?;
    let mut reading = Reading::new(CaseName::plain(name));
    let said = |child: &str| {
        let message = case.child(child).and_then(|child| child.attribute("message"));
        message.filter(|message| !message.is_empty()).map(str::to_owned)
    };
    match case.attribute("status").ok_or_else(|| missing("status"))? {
        "run" => {
            let time = case.attribute("time").ok_or_else(|| missing("time"))?;
            let time: f64 =
                time.parse().map_err(|_| refused(format!("`time` is {time}, which is no number")))?;
            reading.metric("time", "s", None).values.push(time);
        }
        // Versions before 3.29 leave the message empty.
        "fail" => reading.end = End::Failed { message: said("failure").unwrap_or("the test fails".into()) },
        "disabled" => reading.end = End::Skipped { reason: "the test is disabled".into() },
        // SKIP_RETURN_CODE and SKIP_REGULAR_EXPRESSION are asked for; a program or file that is not there is not.
        "notrun" => {
            let message = said("skipped").unwrap_or("the test did not run".into());
            reading.end = if message.starts_with("SKIP_") {
                End::Skipped { reason: message }
            } else {
                End::Failed { message }
            };
        }
        other => return Err(refused(format!("`status` is {other}, which is not known"))),
    }
    Ok(reading)
}

/// A name as a regular expression of CMake, which knows no braces and quotes any character with a backslash.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\^$.|?*+()[]".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::detect::MemoryTree;
    use super::*;
    use crate::adapters::{Amount, OutputFiles, list, read};

    fn of(case: &str) -> Result<Vec<Reading>, String> {
        let files =
            OutputFiles([(FILE.to_owned(), format!("<testsuite>\n{case}\n</testsuite>").into())].into());
        read(&CTest, &HarnessOutput { stdout: b"", files: &files }).map_err(|error| error.to_string())
    }

    #[test]
    fn the_filter_takes_names_as_they_are() {
        let command: Vec<String> = ["ctest", "--test-dir", "b"].map(str::to_owned).to_vec();
        let ask = CaseRequest {
            command: &command,
            cases: &["a.b+(c) [d]", "e{1}-f"],
            out: "/out",
            amount: Amount::LEAST,
        };
        let words =
            r"ctest --test-dir b --quiet --output-junit /out/ctest.xml -R ^(a\.b\+\(c\) \[d\]|e{1}-f)$";
        assert_eq!(CTest.run(&ask).unwrap().argv.join(" "), words);
        assert_eq!(CTest.list(&ask).unwrap().argv.last().unwrap(), "--show-only=json-v1");
    }

    #[test]
    fn each_way_for_a_test_to_end_is_told_apart() {
        let end = |case: &str| of(case).unwrap().remove(0).end;
        let failed = |message: &str| End::Failed { message: message.into() };
        let skipped = |reason: &str| End::Skipped { reason: reason.into() };
        assert_eq!(end("<testcase name='a' status='run' time='0.5'/>"), End::Measured);
        let timeout = "<testcase name='a' status='fail' time='0.5'><failure message='Timeout'/></testcase>";
        assert_eq!(end(timeout), failed("Timeout"));
        assert_eq!(end(&timeout.replace("Timeout", "")), failed("the test fails"));
        let notrun =
            "<testcase name='a' status='notrun' time='0'><skipped message='SKIP_RETURN_CODE=77'/></testcase>";
        assert_eq!(end(notrun), skipped("SKIP_RETURN_CODE=77"));
        let missing = notrun.replace("SKIP_RETURN_CODE=77", "Unable to find executable");
        assert_eq!(end(&missing), failed("Unable to find executable"));
        assert_eq!(end("<testcase name='a' status='disabled'/>"), skipped("the test is disabled"));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for case in ["status='run'", "status='run' time='x'", "status='new' time='1'", "time='1'"] {
            assert!(
                of(&format!("<testcase name='a' {case}/>")).unwrap_err().starts_with("ctest.xml:2"),
                "{case}"
            );
        }
        assert!(of("<testcase status='run' time='1'/>").unwrap_err().starts_with("ctest.xml:2"));
        assert!(of("<testcase name='a' status='run' time='nan'/>").is_err());
    }

    #[test]
    fn a_list_of_another_kind_is_refused() {
        let files = OutputFiles::default();
        let listed = |stdout: &str| list(&CTest, &HarnessOutput { stdout: stdout.as_bytes(), files: &files });
        assert_eq!(listed("{\"tests\": [{\"name\": \"a\"}]}").unwrap(), [CaseName::plain("a")]);
        for stdout in ["", "{}", "{\"tests\": [{}]}", "{\"tests\": []}"] {
            assert!(listed(stdout).is_err(), "{stdout}");
        }
    }

    #[test]
    fn tests_are_proposed_where_their_names_speak_of_measuring() {
        let root = "project(x)\nenable_testing()\nadd_subdirectory(t)\n";
        let tests =
            "add_test(NAME unit COMMAND unit)\nadd_test(NAME sort_bench COMMAND s)\nadd_test(perf.copy c)\n";
        let tree = [("CMakeLists.txt", root), ("t/CMakeLists.txt", tests)];
        let found = CTest.detect(&MemoryTree::of(tree)).found.remove(0);
        assert_eq!(found.command.join(" "), r"ctest --test-dir build -R ^(sort_bench|perf\.copy)$");
        assert_eq!(found.files, ["t/CMakeLists.txt"]);
        let unit = [("CMakeLists.txt", "add_test(NAME unit COMMAND unit)")];
        assert_eq!(CTest.detect(&MemoryTree::of(unit)), Detected::default());
    }
}
