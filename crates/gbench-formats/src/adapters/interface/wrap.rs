//! Puts words before the program that measures, also if Cargo starts it.

use super::adapter::Invocation;
use crate::adapters::source::cargo::is_cargo;

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

/// The invocation with these words before the program that measures. If Cargo starts the program, Cargo gets the words as
/// its runner, because Cargo's own work does not belong to the benchmark. Cargo splits the runner at white space, so no
/// word may contain any.
pub fn wrapped(mut invocation: Invocation, words: &[String]) -> Invocation {
    if is_cargo(&invocation.argv) {
        let runner = words.join(" ");
        let variables = TARGETS.map(|target| (format!("CARGO_TARGET_{target}_RUNNER"), runner.clone()));
        invocation.env.extend(variables);
    } else {
        invocation.argv.splice(0..0, words.iter().cloned());
    }
    invocation
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
    }
}
