//! `go test -bench`, or the binary that `go test -c` builds: the benchmark format on stdout. Each line of `-count` is a
//! sample, the mean of its iterations. <https://pkg.go.dev/cmd/go#hdr-Testing_flags>,
//! <https://go.dev/design/14313-benchmark-format>.
//!
//! Everything runs with `-v`: only then does the output name skipped benchmarks, is each name on a separate line without
//! the number of processors, and does a benchmark's own output not interrupt its line.
//!
//! Executions are not counted, though `-benchtime=100x` would fix their number: Go's scheduler and garbage collector run
//! in parallel for an unpredictable time, and under Valgrind, which does not support Go, their spinning is many times the
//! benchmark's work.

pub(crate) mod benchfmt;
mod detection;
#[cfg(test)]
mod tests;

use super::interface::prelude::*;

pub(crate) struct GoTest;

impl Adapter for GoTest {
    fn about(&self) -> About {
        About {
            name: "go-test",
            title: "go test -bench",
            language: Language::Go,
            lists: Lists::ByRunning,
            filters: true,
            reads: Reads::Samples,
            tried: &["1.19.8", "1.27.3"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        detection::detect(tree)
    }

    /// `go test`, or a binary with the file that only `go test` generates.
    fn recognises(&self, program: &Program) -> bool {
        go_words(program.command).is_some()
            || program.holds("_testmain.go") && program.holds("test.benchtime")
    }

    /// Without a benchmark flag it runs tests.
    fn calibrates(&self, program: &Program) -> bool {
        program
            .command
            .iter()
            .any(|word| word.trim_start_matches('-').trim_start_matches("test.").starts_with("bench"))
    }

    /// `-list` omits sub-benchmarks, so one iteration of each runs.
    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(words(ask, &["benchtime=1x", "count=1"]))
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let Amount { seconds, samples, .. } = ask.amount;
        let samples = samples.max(1);
        // There is no flag for warm-up: before each sample, Go searches for the number of iterations that fills the time.
        let benchtime = format!("benchtime={:.6}s", (seconds / f64::from(samples)).max(1e-6));
        Some(words(ask, &[&benchtime, &format!("count={samples}")]))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        benchfmt::read(output.stdout)
    }
}

fn go_words(command: &[String]) -> Option<(usize, usize)> {
    let go = command.iter().position(|word| {
        let name = word.rsplit('/').next().unwrap_or(word).strip_prefix("go");
        name.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })?;
    let test = (go + 1..command.len().min(go + 4)).find(|place| command[*place] == "test")?;
    Some((go, test))
}

/// The command with flags for the test binary, which `go test` accepts without `test.`.
fn words(ask: &CaseRequest, flags: &[&str]) -> Invocation {
    let go = go_words(ask.command);
    let dash = go.map_or("-test.", |_| "-");
    let mut more: Vec<String> = match go {
        Some(_) => vec!["-vet=off".into()],
        None => Vec::new(),
    };
    let fixed = ["run=^$".to_owned(), "v=true".into(), "benchmem=true".into(), "timeout=0".into()];
    let flags = flags.iter().map(|flag| (*flag).to_owned());
    more.extend(fixed.into_iter().chain(flags).map(|flag| format!("{dash}{flag}")));
    more.push(format!("{dash}bench={}", pattern(ask.cases)));
    let Some((_, test)) = go else { return Invocation::of(ask.command, more) };
    let mut command = ask.command.to_vec();
    let mut packages: Vec<&str> = ask.cases.iter().filter_map(|case| split(case).0).collect();
    packages.dedup();
    // Other packages may have benchmarks of the same name, and starting them takes time.
    if !packages.is_empty() && packages.iter().all(|package| can_be_asked_for(package)) {
        let (from, to) = packages_of(&command, test);
        command.splice(from..to, packages.into_iter().map(str::to_owned));
    }
    // Words after `-args` are not for `go test`.
    let end = command.iter().position(|word| word.trim_start_matches('-') == "args" && word.starts_with('-'));
    let rest = command.split_off(end.unwrap_or(command.len()));
    Invocation::of(&command, more.into_iter().chain(rest))
}

/// Files on the command line and packages outside of any module have no import path.
fn can_be_asked_for(package: &str) -> bool {
    package != "command-line-arguments" && !package.starts_with('_')
}

/// The range of packages in `go test`'s words: the first words after a flag's value that are not flags.
fn packages_of(command: &[String], test: usize) -> (usize, usize) {
    const ALONE: [&str; 22] = [
        "a",
        "artifacts",
        "asan",
        "benchmem",
        "c",
        "cover",
        "failfast",
        "fullpath",
        "i",
        "json",
        "linkshared",
        "modcacherw",
        "msan",
        "n",
        "race",
        "short",
        "trimpath",
        "v",
        "work",
        "x",
        "buildvcs",
        "args",
    ];
    let mut place = test + 1;
    while let Some(flag) = command.get(place).and_then(|word| word.strip_prefix('-')) {
        let flag = flag.trim_start_matches('-');
        if flag == "args" {
            return (place, place);
        }
        place += if flag.contains('=') || ALONE.contains(&flag) { 1 } else { 2 };
    }
    let from = place.min(command.len());
    let count = command[from..].iter().take_while(|word| !word.starts_with('-')).count();
    (from, from + count)
}

/// `example.com/a:BenchmarkX/n=8` is `BenchmarkX/n=8` of the package `example.com/a`: import paths contain no colon.
fn split(native: &str) -> (Option<&str>, &str) {
    match native.split_once(':') {
        Some((package, name)) if name.starts_with("Benchmark") && !package.starts_with("Benchmark") => {
            (Some(package), name)
        }
        _ => (None, native),
    }
}

/// A regular expression for exactly these names: `go test` splits it at `|` and `/`, and matches each part with one level
/// of a name.
fn pattern(cases: &[&str]) -> String {
    let exact = |case: &&str| {
        let levels = split(case).1.split('/').map(|level| format!("^{}$", regex::escape(level)));
        levels.collect::<Vec<_>>().join("/")
    };
    match cases {
        [] => ".".into(),
        _ => cases.iter().map(exact).collect::<Vec<_>>().join("|"),
    }
}
