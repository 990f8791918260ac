//! Dependencies of a suite's benchmarks on a runner: lines of shell for a step of the workflow. Each first looks whether it
//! is installed, so that a machine that is set up already runs none of them. Parts of one side of a comparison, such as a
//! virtual environment or `node_modules`, are made by the benchmark's own `build`.

use std::collections::BTreeSet;

use crate::adapters::{ALL, Harness, Language, Need};
use crate::suite::Suite;

/// Programs of languages and tools that a benchmark may require, and what installs each by the packages of Debian and
/// Ubuntu. In the order of the step; those of harnesses follow, as their adapters say.
const PROGRAMS: [(&str, &str); 16] = [
    ("cargo", "{ get rustup && rustup default stable; } # Rust"),
    ("c++", "get g++"),
    ("cc", "get gcc"),
    ("make", "get make"),
    ("cmake", "get cmake"),
    ("python3", "get python3"),
    ("go", "get golang-go"),
    ("java", "get default-jdk-headless"),
    ("mvn", "get maven"),
    ("node", "get nodejs"),
    ("npm", "get npm"),
    ("pnpm", "sudo npm install --global pnpm"),
    ("yarn", "sudo npm install --global yarn"),
    ("bun", "sudo npm install --global bun"),
    ("valgrind", "get valgrind"),
    ("mpirun", "get openmpi-bin"),
];

const GET: &str =
    r#"get() { sudo apt-get update --quiet && sudo apt-get install --yes --no-install-recommends "$@"; }"#;

/// The lines; none where nothing is known to be needed.
pub(crate) fn dependencies(suite: &Suite) -> Vec<String> {
    let required: BTreeSet<&str> =
        suite.benchmarks.iter().flat_map(|it| it.requires.binaries.iter().map(String::as_str)).collect();
    let harnesses: Vec<_> = suite.benchmarks.iter().filter_map(|it| it.harness.as_ref()?.harness).collect();
    let line = |program: &str, how: &str| {
        required.contains(program).then(|| format!("command -v {program} >/dev/null || {how}"))
    };
    let mut lines: Vec<String> = PROGRAMS.iter().filter_map(|(program, how)| line(program, how)).collect();
    // Also where an entry requires the program of a harness that it does not name.
    lines.extend(ALL.iter().flat_map(|adapter| adapter.needs()).filter_map(|need| match need {
        Need::Program { name, package } => line(name, &format!("get {package}")),
        Need::CargoProgram { name } => {
            line(name, &format!("cargo install {name} # --version as in Cargo.lock"))
        }
        Need::Library { .. } => None,
    }));
    if harnesses.iter().any(|harness| harness.0.about().language == Language::Python) {
        lines.push("python3 -c 'import ensurepip' 2>/dev/null || get python3-venv".into());
    }
    for adapter in ALL.iter().filter(|adapter| harnesses.contains(&Harness(**adapter))) {
        for need in adapter.needs().iter().filter(|_| required.contains("c++")) {
            if let Need::Library { file, package } = need {
                lines.push(format!("[ -e {file} ] || get {package} # needless where CMake fetches it"));
            }
        }
    }
    if lines.iter().any(|line| line.contains(" get ")) {
        lines.insert(0, GET.into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        dependencies(&Suite::parse(Path::new("gbench.toml"), text, &[]).unwrap())
    }

    #[test]
    fn each_language_brings_its_line_once() {
        let text = "[[benchmark]]\nid = 'a'\nharness = 'google-benchmark'\ncommand = ['./a']\nrequires = { binary = ['cmake', 'c++'] }\n\
                    [[benchmark]]\nid = 'b'\nharness = 'pytest-benchmark'\ncommand = ['pytest']\nrequires = { binary = ['python3'] }\n\
                    [[benchmark]]\nid = 'c'\ncommand = ['python3']\nrequires = { binary = ['python3', 'nvcc'] }\n";
        assert_eq!(
            lines(text),
            [
                GET,
                "command -v c++ >/dev/null || get g++",
                "command -v cmake >/dev/null || get cmake",
                "command -v python3 >/dev/null || get python3",
                "python3 -c 'import ensurepip' 2>/dev/null || get python3-venv",
                "[ -e /usr/include/benchmark/benchmark.h ] || get libbenchmark-dev # needless where CMake fetches it",
            ]
        );
    }

    #[test]
    fn what_a_harness_needs_is_what_its_adapter_says() {
        let text = "[[benchmark]]\nid = 'a'\nharness = 'catch2'\ncommand = ['./a']\nrequires = { binary = ['c++'] }\n\
                    [[benchmark]]\nid = 'b'\nharness = 'gungraun'\ncommand = ['./b']\nrequires = { binary = ['gungraun-runner'] }\n\
                    [[benchmark]]\nid = 'c'\nharness = 'google-benchmark'\ncommand = ['./c']\n\
                    [[benchmark]]\nid = 'd'\ncommand = ['./d']\nrequires = { binary = ['hyperfine', 'ctest', 'iai-callgrind-runner'] }\n";
        assert_eq!(
            lines(text),
            [
                GET,
                "command -v c++ >/dev/null || get g++",
                "command -v ctest >/dev/null || get cmake",
                "command -v gungraun-runner >/dev/null || cargo install gungraun-runner # --version as in Cargo.lock",
                "command -v hyperfine >/dev/null || get hyperfine",
                "command -v iai-callgrind-runner >/dev/null || cargo install iai-callgrind-runner # --version as in Cargo.lock",
                "[ -e /usr/include/catch2 ] || get catch2 # needless where CMake fetches it",
                "[ -e /usr/include/benchmark/benchmark.h ] || get libbenchmark-dev # needless where CMake fetches it",
            ]
        );
        // A page of this folder that names a harness would be a second file to change for a new one.
        let source = include_str!("dependencies.rs").split("#[cfg(test)]").next().unwrap();
        for adapter in ALL {
            assert!(!source.contains(&format!("\"{}", adapter.name())), "{}", adapter.name());
        }
    }

    #[test]
    fn a_function_that_nobody_calls_is_not_there() {
        let text = "[[benchmark]]\nid = 'a'\ncommand = ['./a']\nrequires = { binary = ['yarn'] }\n";
        assert_eq!(lines(text), ["command -v yarn >/dev/null || sudo npm install --global yarn"]);
    }

    #[test]
    fn what_nobody_requires_is_not_installed() {
        assert_eq!(lines("[[benchmark]]\nid = 'a'\ncommand = ['./a']\n"), [""; 0]);
    }
}
