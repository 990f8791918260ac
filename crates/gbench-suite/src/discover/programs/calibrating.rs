//! Recognises by their texts programs and recipes that calibrate themselves: timed from outside, they always take the same
//! time.

use gbench_formats::adapters::{Harness, Program};

/// Lower-case words of sources and scripts by file extension, and the harness that they indicate. The adapters find most other
/// harnesses.
const WORDS: [(&[&str], &str, &str); 12] = [
    (PYTHON, "blocked_autorange", "torch.utils.benchmark"),
    (PYTHON, "adaptive_autorange", "torch.utils.benchmark"),
    (PYTHON, ".autorange(", "timeit"),
    (PYTHON, "do_bench", "Triton"),
    (PYTHON, "perf_report", "Triton"),
    // Another header may include the library's.
    (CPP, "benchmark_main(", "Google Benchmark"),
    (CPP, "celero/celero.h", "Celero"),
    (CPP, "folly/benchmark.h", "Folly"),
    (CPP, "nonius/nonius", "Nonius"),
    (CPP, "picobench.hpp", "picobench"),
    (CPP, "ubench.h", "ubench.h"),
    // Netlib's Linpack in C doubles its repetitions until ten seconds have passed.
    (CPP, "nreps*=2", "Linpack"),
];
const PYTHON: &[&str] = &["py"];
const CPP: &[&str] = &["c", "cc", "cpp", "cxx", "cu", "h", "hpp"];

pub(super) fn by_text(extension: &str, text: &str) -> Option<&'static str> {
    let found = |(ends, word, _): &&(&[&str], &str, &str)| ends.contains(&extension) && text.contains(word);
    WORDS.iter().find(found).map(|(_, _, title)| *title)
}

pub(super) fn calibrates(who: &str, title: &str, programs: usize) -> String {
    let what = match programs {
        1 => format!("{who} calibrates itself ({title}), so that timed from outside it always takes"),
        _ => format!(
            "{programs} programs calibrate themselves ({title}): {who}. Timed from outside they always take"
        ),
    };
    format!(
        "{what} the same time. Let the program print its result and read it with `extract`, or use the protocol \
            (docs/protocol.md)"
    )
}

const STARTERS: [&[&str]; 10] = [
    &["cargo", "bench"],
    &["cargo", "criterion"],
    &["go", "test"],
    &["asv"],
    &["pytest"],
    &["vitest"],
    &["npm", "run"],
    &["pnpm", "run"],
    &["yarn", "run"],
    &["hyperfine"],
];

/// The first command of a script or recipe that starts a harness, with its line number.
pub(super) fn by_commands(text: &str) -> Option<(usize, String)> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with('#'));
    let commands =
        lines.flat_map(|(line, number)| line.split(['&', ';', '|']).map(move |command| (number, command)));
    commands
        .map(|(number, command)| (number, words(command)))
        .find(|(_, words)| starts_harness(words))
        .map(|(number, words)| (number, words.join(" ")))
}

fn words(command: &str) -> Vec<String> {
    const BEFORE: [&str; 12] =
        ["exec", "time", "env", "if", "then", "do", "sudo", "nice", "uv", "poetry", "npx", "run"];
    let words = command.split_whitespace().map(|word| word.trim_matches(['@', '"', '\'', '(', ')']));
    let skipped = words.skip_while(|word| {
        BEFORE.contains(word)
            || word.is_empty()
            || word.starts_with('-')
            || word.split('/').next_back().is_some_and(|it| it.contains('='))
    });
    skipped.map(str::to_owned).collect()
}

fn starts_harness(words: &[String]) -> bool {
    // Also `python -m pytest` and `cargo +nightly bench`.
    let plain: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !word.starts_with(['+', '-'])).collect();
    let module = plain.get(1..).filter(|_| words.get(1).is_some_and(|word| word == "-m"));
    let begins = |words: &[&str]| STARTERS.iter().any(|starter| words.starts_with(starter));
    begins(&plain)
        || module.is_some_and(|module| begins(module) || module.first().is_some_and(|name| *name == "timeit"))
        || Harness::recognised(&Program { command: words, bytes: b"" }).is_some()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use case_files::Given;

    /// Input: the text of a file with `extension`, else the commands of a script.
    pub(crate) fn answer(given: &Given) -> String {
        match given.get("extension") {
            Some(extension) => format!("{:?}", by_text(extension.trim_end(), &given.text())),
            None => format!("{:?}", by_commands(&given.text())),
        }
    }
}
