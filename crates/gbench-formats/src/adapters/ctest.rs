//! CTest: the time of whole tests, from its JUnit report (version 3.21 and later).
//! <https://cmake.org/cmake/help/latest/manual/ctest.1.html>.
//!
//! A test is one run of a program, including its start: one sample per process. A test with fixtures also runs the tests
//! that set them up, so more cases than requested may be measured.

use super::interface::prelude::*;
use super::readers::xml::{self, Element};
use super::source::cmake;
use super::source::quoting;

pub(crate) struct CTest;

const FILE: &str = "ctest.xml";

/// See [`super::google_benchmark`]: a longer filter is omitted.
const MAX_FILTER: usize = 100_000;

impl Adapter for CTest {
    fn about(&self) -> About {
        About {
            name: "ctest",
            title: "CTest",
            language: Language::Cpp,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Samples,
            tried: &["3.21.4", "3.25.1", "4.1.3"],
            needs: &[Need::Program { name: "ctest", package: "cmake" }],
            ..About::PLAIN
        }
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
        // Only the last of several -R applies.
        if !names.is_empty() && filter.len() <= MAX_FILTER {
            more.extend(["-R".into(), filter]);
        }
        Some(Invocation::of(ask.command, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let root = xml::document(Some(FILE), output.files.need(FILE)?)?;
        if root.name != "testsuite" {
            return Err(root.refused(Some(FILE), format!("`{}` is not a suite of tests", root.name)));
        }
        root.children.iter().filter(|child| child.name == "testcase").map(reading).collect()
    }
}

/// Programs that contain a harness: they adapt their work to a fixed time, so the time of the whole test is meaningless.
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
            // A test names the target; its program may have another name.
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
                time.parse().map_err(|_| refused(format!("`time` is {time}, which is not a number")))?;
            reading.metric("time", "s", None).values.push(time);
        }
        // Versions before 3.29 leave the message empty.
        "fail" => reading.end = failed(said("failure").unwrap_or("the test fails".into())),
        "disabled" => reading.end = skipped("the test is disabled"),
        // SKIP_RETURN_CODE and SKIP_REGULAR_EXPRESSION skip on purpose; a missing program or file is a failure.
        "notrun" => {
            let message = said("skipped").unwrap_or("the test did not run".into());
            reading.end = if message.starts_with("SKIP_") { skipped(message) } else { failed(message) };
        }
        other => return Err(refused(format!("`status` is {other}, which is not known"))),
    }
    Ok(reading)
}

/// A name as a regular expression of CMake, which has no braces and escapes any character with a backslash.
fn escaped(name: &str) -> String {
    quoting::escaped(name, r"\^$.|?*+()[]")
}
