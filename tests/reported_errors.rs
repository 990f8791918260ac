//! What a program says of its own failure, from its `error` event to the record and every report; and advice that names
//! only what is there.

use std::path::Path;

use gbench_ci::compare::VerdictDocument;
use gbench_ci::model::{CaseRecord, FailureKind, Outcome, RunRecord};
use gbench_ci::store::latest_comparison;

use crate::support::cli::{newest, ran, runs};
use crate::support::git::Sandbox;

/// A suite of shell programs that speak the protocol.
fn suite(programs: &[(&str, &str)]) -> String {
    let one = |(id, line): &(&str, &str)| {
        format!(
            "[[benchmark]]\nid = \"{id}\"\ntiming = \"protocol\"\nprocesses = 1\nshell = '''\n{line}\n'''\n"
        )
    };
    format!("[suite]\nname = \"s\"\n{}", programs.iter().map(one).collect::<String>())
}

fn run(programs: &[(&str, &str)]) -> (tempfile::TempDir, RunRecord) {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite(programs)).unwrap();
    ran(folder.path(), "run --quiet");
    let record = newest(folder.path());
    (folder, record)
}

fn case<'a>(record: &'a RunRecord, name: &str) -> &'a CaseRecord {
    record.cases.iter().find(|case| case.id.benchmark.name() == name).unwrap()
}

fn failure(case: &CaseRecord) -> (FailureKind, String, String) {
    match &case.outcome {
        Outcome::Failed { kind, cause, advice } => (*kind, cause.clone(), advice.clone()),
        other => panic!("{other:?}"),
    }
}

const CUDA: &str = r#"printf '%s\n' '{"event": "error", "message": "CUDA error 700", "kind": "cuda", "trace": "main.cu:7\ngemm.cu:41"}' >> "$GBENCH_EVENTS""#;
const MEMORY: &str = r#"printf '%s\n' '{"event": "error", "message": "8 GiB for the weights", "kind": "MemoryError"}' >> "$GBENCH_EVENTS""#;
const TORCH: &str = r#"printf '%s\n' '{"event": "error", "message": "torch.OutOfMemoryError: CUDA out of memory"}' >> "$GBENCH_EVENTS""#;
const IMPORT: &str =
    r#"echo '{"event": "error", "message": "No module named torch", "kind": "import"}' >> "$GBENCH_EVENTS""#;
const LOUD: &str =
    r#"echo 'at step 3' >&2; echo '{"event": "error", "message": "boom"}' >> "$GBENCH_EVENTS""#;

#[test]
fn n20_the_kind_of_an_error_is_kept_as_given_and_memory_is_known_by_name() {
    let programs = [("cuda", CUDA), ("memory", MEMORY), ("torch", TORCH), ("import", IMPORT), ("loud", LOUD)];
    let (folder, record) = run(&programs);
    let kind = |name: &str| {
        let error = case(&record, name).processes[0].error.clone().expect("it reported an error");
        error.kind
    };
    assert_eq!(kind("cuda").as_deref(), Some("cuda"));
    assert_eq!(kind("memory").as_deref(), Some("MemoryError"));
    assert_eq!(kind("import").as_deref(), Some("import"));
    assert_eq!(kind("torch"), None);

    let (what, cause, _) = failure(case(&record, "cuda"));
    assert_eq!((what, cause.as_str()), (FailureKind::Error, "CUDA error 700 (cuda)"));
    for name in ["memory", "torch"] {
        assert_eq!(failure(case(&record, name)).0, FailureKind::OutOfMemory, "{name}");
    }
    assert_eq!(failure(case(&record, "import")).1, "import failed: No module named torch");

    // Every report shows the trace, and how it was called.
    let id = runs(folder.path()).pop().unwrap();
    let file = id.join("results/record.json");
    for format in ["terminal", "markdown", "junit"] {
        let report = ran(folder.path(), &format!("report {} --format {format}", file.display()));
        let text = report.out.replace('\\', "");
        assert!(text.contains("gemm.cu:41"), "{format}: {}", report.out);
        assert!(text.contains("cuda"), "{format}: {}", report.out);
    }
}

/// The files that lie in the logs of a run.
fn logs(folder: &Path) -> Vec<String> {
    let logs = runs(folder).pop().unwrap().join("logs");
    let names = std::fs::read_dir(logs).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn n20_advice_names_a_log_only_where_there_is_one() {
    let programs = [
        ("said", CUDA),
        ("quiet", r#"echo '{"event": "error", "message": "boom"}' >> "$GBENCH_EVENTS""#),
        ("exits", "exit 3"),
        ("killed", "kill -SEGV $$"),
        ("loud", LOUD),
        ("loud_exit", "echo why; exit 3"),
    ];
    let (folder, record) = run(&programs);
    let logs = logs(folder.path());
    for (name, _) in programs {
        let (_, _, advice) = failure(case(&record, name));
        let has_log = logs.iter().any(|log| log.contains(&format!("-s-{name}.0.")));
        assert_eq!(advice.contains("in the run's logs"), has_log, "{name}: {advice}; {logs:?}");
    }
    let mut file = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    file += "[[benchmark]]\nid = \"numbers\"\nshell = \"true\"\nprocesses = 1\n\
             extract = [{ metric = \"time\", regex = '([0-9.]+)' }]\n";
    std::fs::write(folder.path().join("gbench.toml"), file).unwrap();
    ran(folder.path(), "run --quiet --benchmark s/numbers").exits(4);
    let (_, _, advice) = failure(&newest(folder.path()).cases[0]);
    assert!(!advice.contains("run's logs"), "{advice}");
}

#[test]
fn n20_a_list_without_a_value_is_refused_with_its_line_and_what_to_do() {
    let program = "echo '{\"event\": \"stage\", \"stage\": \"measure\"}' >> \"$GBENCH_EVENTS\"\n\
                   echo '{\"event\": \"samples\", \"values\": []}' >> \"$GBENCH_EVENTS\"";
    let (_folder, record) = run(&[("empty", program)]);
    let (kind, cause, advice) = failure(case(&record, "empty"));
    assert_eq!(kind, FailureKind::Protocol);
    let expected =
        "line 2 of its protocol: `values` of event `samples` is [], not a list with at least one measurement";
    assert_eq!(cause, expected);
    assert_eq!(advice, "make `values` a list with at least one measurement");
}

#[test]
fn n20_a_verdict_shows_the_trace_of_what_broke() {
    let sandbox = Sandbox::new();
    let good = r#"echo "{\"event\": \"sample\", \"value\": 0.001}" >> "$GBENCH_EVENTS""#;
    sandbox.commit(&[("gbench.toml", &suite(&[("one", "sh one.sh")])), ("one.sh", good)]);
    sandbox.commit(&[("one.sh", CUDA)]);
    ran(&sandbox.root(), "compare HEAD~1..HEAD --quiet").exits(4).says("main.cu:7 | gemm.cu:41");
    let folder = latest_comparison(&sandbox.root().join("artifacts")).unwrap().join("reports");
    let text = std::fs::read_to_string(folder.join("verdict.json")).unwrap();
    let document: VerdictDocument = serde_json::from_str(&text).unwrap();
    let head = document.rows[0].head.as_ref().unwrap();
    assert_eq!(head.trace.as_deref(), Some("main.cu:7 | gemm.cu:41"));
    for name in ["verdict.md", "verdict.junit.xml"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains("gemm.cu:41"), "{name}: {text}");
    }
}
