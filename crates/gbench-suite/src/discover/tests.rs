//! Proposals for a tree of files. `fixtures/trees` has one file for each language.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use case_files::{Answer, Given};
use gbench_formats::adapters::BuildStep;

/// The kinds of cases that this folder answers.
pub(crate) const KINDS: [(&str, Answer); 5] = [
    ("calibrating", programs::calibrating::tests::answer),
    ("cuda-parameters", cuda::parameter::tests::answer),
    ("cuda-sources", cuda::source::tests::answer),
    ("rows", python::row_scripts::tests::answer),
    ("trees", tree_answer),
];

pub(super) fn folder(files: &[(&str, &str, u32)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text, mode) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
    }
    folder
}

fn everything(folder: &Path) -> Discovery {
    discover(folder, &|_| false)
}

/// Of `file PATH` and `program PATH` with their texts, and `empty`, paths of files without one.
fn tree_answer(given: &Given) -> String {
    let (texts, programs) = (given.paths("file"), given.paths("program"));
    let empty = given.get("empty").unwrap_or_default();
    let texts = texts.iter().map(|(path, text)| (path.as_str(), text.as_str(), 0o644));
    let programs = programs.iter().map(|(path, text)| (path.as_str(), text.as_str(), 0o755));
    let files: Vec<_> = texts.chain(programs).chain(empty.lines().map(|path| (path, "", 0o644))).collect();
    let Discovery { benchmarks, unclear, more, orphans, passed_over } = everything(folder(&files).path());
    let mut text: String = benchmarks.iter().map(entry_text).collect();
    let mut told = |what: &str, lines: &[String]| {
        text.extend(lines.iter().map(|line| format!("{what}: {line}\n")));
    };
    told("unclear", &unclear);
    told("more", &more);
    told("orphan", &orphans);
    for over in passed_over {
        told("passed over", &[format!("{}: {}", over.path, over.why)]);
    }
    text
}

/// `[harness] name: command in folder <- build`, and below it what else is said.
fn entry_text(entry: &Discovered) -> String {
    let Discovered {
        name,
        harness,
        command,
        file,
        dir,
        build,
        env,
        binaries,
        gpu,
        fills_time,
        extract,
        python,
        pairs,
        cuda,
        why,
    } = entry;
    let harness = harness.map_or_else(String::new, |it| format!("[{}] ", it.0.name()));
    let build = match build {
        None => String::new(),
        Some(BuildStep::Command(words)) => format!(" <- {}", words.join(" ")),
        Some(BuildStep::Shell(line)) => format!(" <- sh: {line}"),
    };
    let dir = if dir.is_empty() { String::new() } else { format!(" in {dir}") };
    let command = if command.is_empty() { String::new() } else { format!(": {}", command.join(" ")) };
    let mut text = format!("{harness}{name}{command}{dir}{build}\n  why: {why}\n");
    text.extend(env.iter().map(|(name, value)| format!("  {name}={value}\n")));
    for needed in binaries.iter().map(String::as_str).chain(gpu.then_some("a GPU")) {
        writeln!(text, "  needs {needed}").unwrap();
    }
    if *fills_time {
        writeln!(text, "  works until a time is over").unwrap();
    }
    if let Some(file) = file {
        writeln!(text, "  leaves {file}").unwrap();
    }
    if let Some(extract) = extract {
        writeln!(text, "  {extract:?}").unwrap();
    }
    if let Some(FoundLayout { layout, roots, ignore, cases }) = python {
        writeln!(text, "  {layout:?} in {roots:?} but {ignore:?}: {} cases", cases.cases.len()).unwrap();
    }
    if let Some(FoundSources { extension, roots, ignore, cases }) = pairs {
        writeln!(text, "  .{extension} in {roots:?} but {ignore:?}: {} cases", cases.cases.len()).unwrap();
    }
    if let Some(FoundKernel { file, entry, size, grid, block, shared, cooperative, arguments }) = cuda {
        writeln!(text, "  {entry} of {file}, n {size}, grid {grid:?}, block {block:?}, shared {shared:?}")
            .unwrap();
        text += if *cooperative { "    cooperative\n" } else { "" };
        text.extend(arguments.iter().map(|it| format!("    {} {:?} {:?}\n", it.name, it.dtype, it.value)));
    }
    text
}

#[test]
fn an_empty_or_missing_folder_holds_nothing() {
    assert_eq!(everything(folder(&[]).path()), Discovery::default());
    assert_eq!(everything(Path::new("/nowhere/at/all")), Discovery::default());
}

#[test]
fn any_name_becomes_a_word() {
    for (text, expected) in [("my suite!", "my_suite_"), ("", "suite"), ("..", "suite"), ("größe", "gr__e")]
    {
        assert_eq!(id_word(text), expected);
        assert!(format!("{}/x", id_word(text)).parse::<gbench_model::BenchmarkId>().is_ok());
    }
}

#[test]
fn of_many_kernels_in_a_file_some_are_proposed() {
    let many: String = (0..60).map(|at| format!("__global__ void k{at}(float* x, int n) {{}}\n")).collect();
    let found = everything(folder(&[("many.cu", many.as_str(), 0o644)]).path());
    assert_eq!(found.benchmarks.len(), 50);
    assert_eq!(
        found.more,
        ["10 more kernels in many.cu: the first 50 are proposed, write more entries like them"]
    );
}
