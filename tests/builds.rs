//! Builds: what a failed one quotes and where its output is, and what is heard of one that takes long.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use gbench_ci::model::{FailureKind, Outcome, OutcomeCode, RunRecord};
use gbench_ci::store::{latest_comparison, read_comparison};

use crate::support::cli::{command, newest, ran, runs};
use crate::support::git::Sandbox;

/// Fails as a linker does: the reason first, then who else has failed because of it.
const LINKING: &str = "head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 79\n\
    echo \"main.c:(.text+0xe): undefined reference to 'fast_gemm'\" >&2\n\
    echo 'collect2: error: ld returned 1 exit status' >&2\nexit 1\n";

fn suite(build: &str) -> String {
    format!(
        "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"x\"\nshell = \"true\"\nprocesses = 1\nbuild = [\"sh\", \"{build}\"]\n"
    )
}

fn failure(record: &RunRecord) -> (String, String) {
    match &record.cases[0].outcome {
        Outcome::Failed { kind: FailureKind::Build, cause, advice } => (cause.clone(), advice.clone()),
        other => panic!("{other:?}"),
    }
}

/// The files that an advice names, below a folder.
fn named(advice: &str) -> Vec<&str> {
    advice.split([' ', ',']).filter(|word| word.ends_with(".log")).collect()
}

#[test]
fn n27_a_failed_build_quotes_its_first_error_and_names_logs_that_hold_all_it_printed() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("gbench.toml", &suite("build.sh")), ("build.sh", "true")]);
    sandbox.commit(&[("build.sh", LINKING)]);
    let compared = ran(&sandbox.root(), "compare HEAD~1..HEAD --quiet").exits(4);
    compared.says("undefined reference to 'fast_gemm'").says("head/logs/build-s-x.stderr.log");
    let folder = latest_comparison(&sandbox.root().join("artifacts")).unwrap();
    let (_, head, _) = read_comparison(&folder).unwrap();
    let (cause, advice) = failure(&head);
    let expected =
        "the build step ended with exit code 1: main.c:(.text+0xe): undefined reference to 'fast_gemm'";
    assert_eq!(cause, expected);
    let named = named(&advice);
    assert_eq!(named.len(), 2, "{advice}");
    let lengths: Vec<u64> =
        named.iter().map(|name| std::fs::metadata(folder.join(name)).unwrap().len()).collect();
    assert!(lengths[0] > 80 && lengths[1] > 3_000_000, "{lengths:?}: all of it is kept");

    // A run by itself has them in its own folder, and a build that prints nothing has none.
    std::fs::write(sandbox.root().join("build.sh"), "echo 'no compiler' >&2; exit 3").unwrap();
    ran(&sandbox.root(), "run --quiet").exits(4);
    let (cause, advice) = failure(&newest(&sandbox.root()));
    assert_eq!(cause, "the build step ended with exit code 3: no compiler");
    let run = runs(&sandbox.root()).pop().unwrap();
    assert_eq!(self::named(&advice), ["logs/build-s-x.stderr.log"]);
    assert!(run.join("logs/build-s-x.stderr.log").is_file());
    std::fs::write(sandbox.root().join("build.sh"), "exit 3").unwrap();
    ran(&sandbox.root(), "run --quiet").exits(4);
    let (_, advice) = failure(&newest(&sandbox.root()));
    assert_eq!(advice, "run the build step by hand; it printed nothing");
}

#[test]
fn n27_while_a_build_goes_on_a_log_hears_how_long_and_what_it_does() {
    let sandbox = Sandbox::new();
    let slow = "echo 'compiling \x1b[1mgemm\x1b[0m' >&2\nuntil [ -e go ]; do sleep 0.02; done\n";
    std::fs::write(sandbox.root().join("gbench.toml"), suite("build.sh")).unwrap();
    std::fs::write(sandbox.root().join("build.sh"), slow).unwrap();
    let mut gate =
        command(&sandbox.root(), "run").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(gate.stderr.take().unwrap()).lines().map(Result::unwrap) {
        // Until this is said the build goes on, however long that takes.
        if line.starts_with("building s/x for ") && line.ends_with("s: compiling gemm") {
            std::fs::write(sandbox.root().join("go"), "").unwrap();
        }
        lines.extend(Some(line).filter(|line| line.contains("buil")));
    }
    assert!(gate.wait().unwrap().success(), "{lines:?}");
    assert_eq!(lines[0], "building s/x");
    let built = lines.iter().position(|line| line.starts_with("built s/x in ")).expect("it is built");
    let told = &lines[1..built];
    assert!(!told.is_empty() && told.iter().all(|line| line.starts_with("building s/x for ")), "{lines:?}");
}

#[test]
fn b35_where_head_cannot_be_built_base_is_not_measured_and_one_line_says_so() {
    let sandbox = Sandbox::new();
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"x\"\nshell = \"test {{n}}\"\nbuild = [\"sh\", \"build.sh\"]\n\
                 [benchmark.matrix]\nn = [1, 2, 3, 4, 5, 6, 7, 8]\n";
    sandbox.commit(&[("gbench.toml", suite), ("build.sh", "true")]);
    sandbox.commit(&[("build.sh", "echo 'a.c:1:1: error: no such thing' >&2; exit 2")]);
    let told = ran(&sandbox.root(), "compare HEAD~1..HEAD --quiet").exits(4);
    let (base, head, _) =
        read_comparison(&latest_comparison(&sandbox.root().join("artifacts")).unwrap()).unwrap();
    assert!(
        head.cases
            .iter()
            .all(|case| matches!(case.outcome, Outcome::Failed { kind: FailureKind::Build, .. }))
    );
    for case in &base.cases {
        let is_left_out =
            matches!(case.outcome, Outcome::NotRun { code: Some(OutcomeCode::PartnerEnded), .. });
        assert!(is_left_out && case.processes.is_empty(), "{:?}", case.outcome);
    }
    let page = ran(&sandbox.root(), "compare HEAD~1..HEAD --quiet --format markdown");
    for page in [&told.out, &page.out] {
        assert!(page.matches("a.c:1:1: error: no such thing").count() <= 2, "{page}");
        assert!(page.matches("n=7").count() <= 1, "{page}");
    }

    // A base that cannot be built does not keep head from showing that it runs.
    sandbox.commit(&[("build.sh", "true")]);
    ran(&sandbox.root(), "compare HEAD~1..HEAD --quiet");
    let (base, head, _) =
        read_comparison(&latest_comparison(&sandbox.root().join("artifacts")).unwrap()).unwrap();
    assert!(base.cases.iter().all(|case| case.outcome.is_failure()));
    assert!(head.cases.iter().all(|case| case.outcome.is_measured()));
}
