//! Puts words before the program that measures, whoever starts it.

use super::Invocation;
use super::cargo::is_cargo;
use super::detect::Program;

/// Targets for which Cargo may have built the program.
const TARGETS: [&str; 8] = [
    "X86_64_UNKNOWN_LINUX_GNU",
    "X86_64_UNKNOWN_LINUX_MUSL",
    "AARCH64_UNKNOWN_LINUX_GNU",
    "AARCH64_UNKNOWN_LINUX_MUSL",
    "RISCV64GC_UNKNOWN_LINUX_GNU",
    "POWERPC64LE_UNKNOWN_LINUX_GNU",
    "S390X_UNKNOWN_LINUX_GNU",
    "LOONGARCH64_UNKNOWN_LINUX_GNU",
];

/// The invocation with these words before the program that measures: Cargo and `go test` start it themselves and are told so,
/// because what they do beside it is no work of the benchmark. No word may hold white space, which they would split.
pub fn wrapped(mut invocation: Invocation, words: &[String]) -> Invocation {
    let test = invocation.argv.iter().position(|word| word == "test");
    if is_cargo(&invocation.argv) {
        let runner = words.join(" ");
        let variables = TARGETS.map(|target| (format!("CARGO_TARGET_{target}_RUNNER"), runner.clone()));
        invocation.env.extend(variables);
    } else if let Some(test) = test.filter(|at| *at > 0 && is_go(&invocation.argv[at - 1])) {
        invocation.argv.insert(test + 1, format!("-exec={}", words.join(" ")));
    } else {
        invocation.argv.splice(0..0, words.iter().cloned());
    }
    invocation
}

fn is_go(word: &String) -> bool {
    Program { command: std::slice::from_ref(word), bytes: b"" }.name() == "go"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &str) -> Invocation {
        Invocation { argv: words.split(' ').map(Into::into).collect(), env: Vec::new() }
    }

    #[test]
    fn the_program_itself_is_wrapped_and_not_what_builds_it() {
        let words = ["counter".to_owned(), "--out=f".to_owned()];
        assert_eq!(
            wrapped(argv("./bench --bench"), &words).argv.join(" "),
            "counter --out=f ./bench --bench"
        );
        let cargo = wrapped(argv("taskset -c 1 cargo bench --bench b -- x"), &words);
        assert_eq!(cargo.argv.join(" "), "taskset -c 1 cargo bench --bench b -- x");
        let runner =
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER".to_owned(), "counter --out=f".to_owned());
        assert!(cargo.env.contains(&runner), "{:?}", cargo.env);
        let go = wrapped(argv("go test ./... -run=^$"), &words);
        assert_eq!(go.argv[..3], ["go", "test", "-exec=counter --out=f"]);
        assert_eq!(wrapped(argv("./test go"), &words).argv[0], "counter");
    }
}
