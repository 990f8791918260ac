//! What the benchmarks of a suite need on a runner: lines of shell for a step of the workflow. Each looks first whether it is there, so
//! that a machine that is set up already runs none of them. What belongs to one side of a comparison, such as a virtual
//! environment or `node_modules`, is made by the benchmark's own `build`.

use std::collections::BTreeSet;

use crate::adapters::Language;
use crate::suite::Suite;

/// Programs that a benchmark may require, and what installs each by the packages of Debian and Ubuntu. In the order of the step.
const PROGRAMS: [(&str, &str); 20] = [
    ("cargo", "{ get rustup && rustup default stable; } # Rust"),
    ("c++", "get g++"),
    ("cc", "get gcc"),
    ("make", "get make"),
    ("cmake", "get cmake"),
    ("ctest", "get cmake"),
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
    ("hyperfine", "get hyperfine"),
    ("mpirun", "get openmpi-bin"),
    ("iai-callgrind-runner", RUNNER),
    ("gungraun-runner", RUNNER),
];
/// Written after the name of the program.
const RUNNER: &str = "cargo install";

/// What `get` is in the lines.
const GET: &str =
    r#"get() { sudo apt-get update --quiet && sudo apt-get install --yes --no-install-recommends "$@"; }"#;

/// Libraries by the harness that they are of: a file of theirs, and the package.
const LIBRARIES: [(&str, &str, &str); 2] = [
    ("google-benchmark", "/usr/include/benchmark/benchmark.h", "libbenchmark-dev"),
    ("catch2", "/usr/include/catch2", "catch2"),
];

/// The lines; none where nothing is known to be needed.
pub fn dependencies(suite: &Suite) -> Vec<String> {
    let required: BTreeSet<&str> =
        suite.benchmarks.iter().flat_map(|it| it.requires.binaries.iter().map(String::as_str)).collect();
    let harnesses: Vec<_> = suite.benchmarks.iter().filter_map(|it| it.harness.as_ref()?.harness).collect();
    let of_program = |(program, how): &(&str, &str)| {
        let line = match *how {
            RUNNER => format!(
                "command -v {program} >/dev/null || cargo install {program} # --version as in Cargo.lock"
            ),
            how => format!("command -v {program} >/dev/null || {how}"),
        };
        required.contains(program).then_some(line)
    };
    let mut lines: Vec<String> = PROGRAMS.iter().filter_map(of_program).collect();
    if harnesses.iter().any(|harness| harness.0.about().language == Language::Python) {
        lines.push("python3 -c 'import ensurepip' 2>/dev/null || get python3-venv".into());
    }
    for (name, file, package) in LIBRARIES {
        if required.contains("c++") && harnesses.iter().any(|harness| harness.0.name() == name) {
            lines.push(format!("[ -e {file} ] || get {package} # needless where CMake fetches it"));
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
    fn a_function_that_nobody_calls_is_not_there() {
        let text = "[[benchmark]]\nid = 'a'\ncommand = ['./a']\nrequires = { binary = ['yarn'] }\n";
        assert_eq!(lines(text), ["command -v yarn >/dev/null || sudo npm install --global yarn"]);
    }

    #[test]
    fn what_nobody_requires_is_not_installed() {
        assert_eq!(lines("[[benchmark]]\nid = 'a'\ncommand = ['./a']\n"), [""; 0]);
    }
}
