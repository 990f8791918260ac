//! What a user is told when the machine says no: folders that cannot be written, a store that is none, flags that
//! cannot be followed. Bad suite files have their snapshots in `errors`, bad records in `cli_records`.

use std::path::Path;
use std::process::{Command, Stdio};

use gbench_ci::model::Outcome;

use crate::support::cli::{command, ended, newest, ran, write};
use crate::support::records;

const SUITE: &str = "[suite]\nname = 's'\n[[benchmark]]\nid = 'a'\nprocesses = 1\nshell = 'echo a'\n\
                     [[benchmark]]\nid = 'vandal'\nprocesses = 1\nshell = 'rm -r artifacts/*/logs; echo gone'\n";

/// A folder with a suite, a plain file where a folder might be expected, and a record.
fn folder() -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("gbench.toml"), SUITE).unwrap();
    std::fs::write(path.join("file"), "plain\n").unwrap();
    std::fs::create_dir(path.join("hollow")).unwrap();
    std::fs::create_dir_all(path.join("locked/lock")).unwrap();
    write(path, "record.json", &records::standard(1));
    let mut verdict: serde_json::Value = {
        ran(path, "compare record.json record.json --json verdict.json").exits(0);
        serde_json::from_str(&std::fs::read_to_string(path.join("verdict.json")).unwrap()).unwrap()
    };
    verdict["exit_code"] = 99.into();
    std::fs::write(path.join("verdict.json"), verdict.to_string()).unwrap();
    folder
}

/// Without what differs from one machine or run to the next; on one line a paragraph, as the widths differ.
fn normal(text: &str, folder: &Path) -> String {
    let indented = regex::Regex::new(r"\n {7,}").unwrap();
    let text = indented.replace_all(text, " ").replace(&folder.display().to_string(), "DIR");
    let run = regex::Regex::new(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}").unwrap();
    run.replace_all(&text, "RUN").into_owned()
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/faults");
    settings.set_omit_expression(true);
    settings
}

fn check(name: &str, said: &str, folder: &Path) {
    assert!(said.contains("error: ") && said.contains("next: "), "{name}: {said}");
    insta::assert_snapshot!(name, normal(said, folder));
}

#[test]
fn what_cannot_be_followed_says_where_what_and_what_next() {
    let folder = folder();
    let path = folder.path();
    let _bound = settings().bind_to_scope();
    for (name, code, line) in [
        ("artifacts_are_a_file", 2, "run --quiet --artifacts file"),
        ("baseline_is_not_there", 2, "compare main"),
        ("baseline_name", 2, "baseline save ../outside record.json"),
        ("baseline_without_a_run", 2, "baseline save main"),
        ("deadline_is_no_duration", 2, "run --quiet --deadline soon"),
        ("demo_folder_is_there", 2, "demo --output hollow"),
        ("export_is_a_folder", 2, "run --quiet --export hollow"),
        ("init_into_nowhere", 2, "init --config nowhere/gbench.toml"),
        ("manual_into_a_file", 2, "man --output file/man"),
        ("manifest_is_no_json", 2, "manifest diff file record.json"),
        ("manifest_is_no_manifest", 2, "manifest diff verdict.json record.json"),
        ("report_into_nowhere", 2, "report record.json --output nowhere/report.md"),
        ("selection_is_empty", 2, "run --quiet --suite ,"),
        ("setting_is_no_number", 2, "run --quiet --processes many"),
        ("store_address", 2, "baseline list --store ftp://bucket"),
        ("store_cannot_be_locked", 2, "baseline save main record.json --store dir:locked"),
        ("store_is_a_file", 2, "baseline save main record.json --store dir:file/store"),
        ("verdict_of_another_exit_code", 2, "report verdict.json --exit-code"),
    ] {
        let ran = ran(path, line).exits(code);
        check(name, &format!("$ {line}\n{}", ran.err), path);
    }
    assert!(!path.join("artifacts").exists(), "nothing was started");
}

#[test]
fn an_environment_that_is_broken_is_named() {
    let folder = folder();
    let path = folder.path();
    let _bound = settings().bind_to_scope();
    let with = |line: &str, name: &str, value: &str| {
        let mut command = command(path, line);
        command.env(name, value);
        ended(command)
    };
    let ran = with("run --quiet --benchmark a", "TMPDIR", "/no/such/folder").exits(2);
    check("temporary_folder_is_not_there", &ran.err, path);
    let ran = with("demo --output new", "PATH", "/nowhere").exits(5);
    check("demo_without_rustc", &ran.err, path);

    let gone = path.join("gone");
    std::fs::create_dir(&gone).unwrap();
    let shell = format!("rmdir ../gone; exec {} doctor", crate::support::gbench().display());
    let mut line = Command::new("sh");
    line.args(["-c", &shell]).current_dir(&gone).stdout(Stdio::null());
    check("current_folder_is_gone", &ended(line).exits(2).err, path);
}

#[test]
fn a_run_whose_folder_is_taken_away_ends_with_a_word() {
    let folder = folder();
    let _bound = settings().bind_to_scope();
    let ran = ran(folder.path(), "run --quiet --benchmark vandal").exits(2);
    check("run_folder_is_gone", &ran.err, folder.path());
}

/// Ways in which a benchmark can turn the path of the gate's own folder against the gate. `$f` is that folder, and `$VICTIM` one
/// that the test has made: nothing else may ever stand there.
const REPLACED: [&str; 3] = [
    "rm -rf \"$f\" && ln -s \"$VICTIM\" \"$f\"",
    "mv \"$f\" \"$f.away\" && mv \"$VICTIM\" \"$f\" && ln -s \"$f\" \"$VICTIM\"",
    "rm -rf \"$f\"",
];

#[test]
fn a_benchmark_that_replaces_the_gates_folder_fails_and_nothing_else_is_emptied() {
    for (at, replace) in REPLACED.into_iter().enumerate() {
        let folder = crate::support::tempdir().unwrap();
        let (temporary, victim) = (folder.path().join("tmp"), folder.path().join("victim"));
        std::fs::create_dir(&temporary).unwrap();
        std::fs::create_dir_all(victim.join("sub")).unwrap();
        for name in ["owner", "keep", "sub/keep"] {
            std::fs::write(victim.join(name), "x").unwrap();
        }
        let script = format!(
            "f=$(dirname \"$GBENCH_EVENTS\")\ncase \"$f\" in\n\"$TMPDIR\"/gbench-ci-run-*) {replace} ;;\nesac\n"
        );
        std::fs::write(folder.path().join("hostile.sh"), script).unwrap();
        let suite = "[suite]\nname = 's'\n[[benchmark]]\nid = 'hostile'\nprocesses = 1\ncommand = ['sh', 'hostile.sh']\n\
                     [[benchmark]]\nid = 'later'\nprocesses = 1\nshell = 'echo later'\n";
        std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
        let mut line = command(folder.path(), "run --quiet");
        line.env("TMPDIR", &temporary).env("VICTIM", &victim);
        let ran = ended(line).exits(4).says("it removed, moved or replaced a temporary folder of the gate");
        let [hostile, later] = &newest(folder.path()).cases[..] else { panic!("two cases: {}", ran.out) };
        assert!(matches!(hostile.outcome, Outcome::Failed { .. }), "{at}: {:?}", hostile.outcome);
        assert_eq!(later.outcome, Outcome::Measured, "{at}: the next one has a folder again");
        for name in ["owner", "keep", "sub/keep"] {
            assert!(victim.join(name).exists(), "{at}: {name} of another's folder is gone");
        }
    }
}

/// Attack A11: a limit of processes, as containers have them. Another user is needed for it: root has none.
#[test]
fn a11_who_may_start_no_thread_is_served_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = folder.path().join("gbench-ci");
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    if !is_root || std::fs::hard_link(env!("CARGO_BIN_EXE_gbench-ci"), &binary).is_err() {
        println!("SKIPPED: only root can become a user without processes");
        return;
    }
    let mut limited = Command::new("setpriv");
    limited.args(["--reuid=65534", "--regid=65534", "--clear-groups", "prlimit", "--nproc=1:1"]);
    limited.arg(&binary).args(["manifest", "show", "--json"]).current_dir("/");
    let ran = ended(limited).exits(0);
    assert!(ran.out.contains("\"tools\""), "{}", ran.out);
}

#[test]
fn a11_who_may_open_few_files_is_told_so() {
    let folder =
        crate::support::folder_with("[suite]\nname = 's'\n[[benchmark]]\nid = 'a'\ncommand = ['true']\n");
    for limit in [4, 6, 8, 10, 12] {
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" run"), env!("CARGO_BIN_EXE_gbench-ci")]);
        limited.current_dir(folder.path());
        let ran = ended(limited);
        assert!(ran.code != 70 && !ran.err.contains("panicked"), "{limit}: {ran:?}");
        if limit == 4 {
            ran.exits(5).says("ulimit -n");
        }
    }
}
