//! Every folder of `fixtures/errors/` is a mistake: a bad suite file, or good one and bad flags in `args`.
//! The snapshots hold what a user sees, and the exit code.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

#[test]
fn every_mistake_is_answered_with_where_what_and_what_next() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/errors");
    let mut folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() >= 40, "{} fixtures", folders.len());

    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/errors");
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let args = fs::read_to_string(folder.join("args")).unwrap_or("list".into());
        let mut command = Command::from_std(crate::support::gate());
        let output = command.args(args.split_whitespace()).current_dir(&folder).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();

        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{name}");
        assert!(stderr.contains("error: ") && stderr.contains("next: "), "{name}: {stderr}");
        for line in stderr.lines() {
            assert!(line.chars().count() <= 80, "{name} is wider than 80 columns: {line}");
        }
        insta::assert_snapshot!(name, format!("gbench-ci {}\nexit code 2\n\n{stderr}", args.trim()));
    }
}
