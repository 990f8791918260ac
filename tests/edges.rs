//! What a file system can do to the gate, and what the gate says to it: pipes, limits, full disks, names that are no
//! text, huge suite files, paths that go up and down again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use gbench_ci::model::Outcome;

use crate::support::cli::{command, ended, newest, ran, runs};
use crate::support::{folder_with, gbench, git};

const SUITE: &str =
    "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\nprocesses = 2\nshell = \"sleep 0.01\"\n";

/// The gate under a limit for the size of files, in blocks of 512 bytes.
fn limited(folder: &Path, blocks: u32, line: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" {line}")]).arg(gbench()).current_dir(folder);
    shell.env("GBENCH_LOCKS", "off");
    shell
}

#[test]
fn n30_a_limit_for_file_sizes_ends_the_gate_with_a_word_and_not_with_a_signal() {
    let folder = folder_with(SUITE);
    for line in ["run --quiet", "compare base.json --quiet", "config show --json > out"] {
        // Less than a manifest needs.
        let said = ended(limited(folder.path(), 1, line));
        if line.starts_with("compare") {
            said.exits(2).says("base.json");
        } else {
            said.exits(5).says("File too large").says("space");
        }
    }
    // Enough for what the gate writes: only the benchmark meets it, as it would without the gate.
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\nprocesses = 1\nshell = \"exec head -c 9000000 /dev/zero >big\"\n";
    let folder = folder_with(suite);
    ended(limited(folder.path(), 4000, "run --quiet")).exits(4).says("SIGXFSZ");
}

#[test]
fn n30_a_full_disk_is_the_machines_and_not_the_command_lines() {
    let folder = folder_with(SUITE);
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    for line in ["list", "config show", "run --quiet", "schema record"] {
        let mut command = command(folder.path(), line);
        let output = command.stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{line}: {said}");
        assert!(said.contains("No space left on device") && said.contains("free space"), "{line}: {said}");
    }
}

#[test]
fn n30_a_fifo_as_suite_file_is_refused_and_not_waited_for() {
    let folder = crate::support::tempdir().unwrap();
    nix::unistd::mkfifo(&folder.path().join("gbench.toml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    git::init(&folder.path().join("repository"));
    for line in ["list", "run", "config show", "compare a.json b.json", "compare HEAD..HEAD"] {
        let mut timed = Command::new("timeout");
        timed.arg("600").arg(gbench()).args(line.split(' ')).current_dir(folder.path());
        ended(timed).exits(2).says("FIFO");
    }
}

#[test]
fn n30_a_suite_file_is_bounded_by_its_cases_and_by_its_size() {
    let folder = crate::support::tempdir().unwrap();
    let file = folder.path().join("gbench.toml");
    let many: Vec<String> = (0..100_001).map(|id| format!("{{id=\"{id}\",command=[\"a\"]}}")).collect();
    std::fs::write(&file, format!("benchmark=[{}]\n", many.join(","))).unwrap();
    let ran_ = ran(folder.path(), "list").exits(2).says("the maximum number of cases of a file is 100000");
    ran_.says("this is benchmark 100001 of 100001").says("`matrix`");
    let long: Vec<String> =
        (0..250_000).map(|id| format!("[[benchmark]]\nid=\"b{id}\"\ncommand=[\"true\"]\n")).collect();
    std::fs::write(&file, long.concat()).unwrap();
    ran(folder.path(), "list").exits(2).says("larger than 4 MiB");
}

#[test]
fn n30_a_folder_whose_name_is_no_text_is_measured_and_compared() {
    let folder = crate::support::tempdir().unwrap();
    let here = folder.path().join(OsStr::from_bytes(b"b\xff d"));
    let repository = git::init(&here);
    for text in ["one", "two"] {
        std::fs::write(here.join("gbench.toml"), format!("# {text}\n{SUITE}")).unwrap();
        git::commit_all(&repository);
    }
    ran(&here, "run --quiet").exits(0);
    assert_eq!(newest(&here).cases[0].outcome, Outcome::Measured);
    let compared = ran(&here, "compare HEAD~1..HEAD --rounds 4");
    assert!(matches!(compared.code, 0 | 1 | 3), "{compared:?}");
    let run = runs(&here)[0].file_name().unwrap().to_str().unwrap().to_owned();
    ran(&here, &format!("report artifacts/{run}/results/record.json")).exits(0);
    let mut doctor = command(&here, "doctor --json");
    doctor.env("TMPDIR", &here);
    assert!(ended(doctor).out.contains("checks"));
}

#[test]
fn n30_a_suite_file_is_found_by_way_of_its_parents() {
    let folder = crate::support::tempdir().unwrap();
    let here = folder.path().join("here");
    let repository = git::init(&here);
    for text in ["one", "two"] {
        git::write(&here.join("bench/gbench.toml"), &format!("# {text}\n{SUITE}"));
        git::write(&here.join("elsewhere/file"), text);
        git::commit_all(&repository);
    }
    for (from, config) in [("elsewhere", "../bench/gbench.toml"), ("bench", "../../here/bench/gbench.toml")] {
        let line = format!("compare HEAD~1..HEAD --rounds 4 --config {config}");
        let compared = ran(&here.join(from), &line);
        assert!(matches!(compared.code, 0 | 1 | 3), "{compared:?}");
    }
    git::write(&folder.path().join("gbench.toml"), SUITE);
    let outside = "compare HEAD~1..HEAD --config ../gbench.toml";
    let said = ran(&here, outside);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn n30_a_resumed_comparison_keeps_the_names_of_its_commits_and_says_that_nothing_is_left() {
    let folder = crate::support::tempdir().unwrap();
    let repository = git::init(folder.path());
    // Numbers that never vary: decided after the screen.
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\ncommand = [\"sh\", \"-c\", \"echo t=1.0\"]\n\
                 [[benchmark.extract]]\nmetric = \"t\"\nunit = \"s\"\nregex = 't=(\\S+)'\n";
    for text in ["one", "two"] {
        git::write(&folder.path().join("gbench.toml"), &format!("# {text}\n{suite}"));
        git::commit_all(&repository);
    }
    let first = ran(folder.path(), "compare HEAD~1..HEAD");
    let again = ran(folder.path(), "compare --resume");
    assert_eq!(again.code, first.code, "{again:?}");
    let sides = |said: &str| {
        let lines = said.lines().filter(|line| line.starts_with("base ") || line.starts_with("head "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sides(&again.err), sides(&first.err));
    assert!(sides(&again.err)[0].contains("HEAD~1"), "{again:?}");
    assert!(!again.err.contains("same as base"), "{again:?}");
    assert!(again.err.contains("resume  20") && again.err.contains(", begun 20"), "which one: {again:?}");
    again.says("nothing is left to measure");
}
