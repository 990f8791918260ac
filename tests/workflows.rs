//! What `init --github` writes, and the project's own workflows and action: read by two linters, and by us for the rules that
//! no linter holds. Where a linter is not installed its tests say so.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::act::ACTION_SHA;
use crate::support::cli::{ended, ran};
use crate::support::tools;

/// The repositories that are tried: nothing, a Python project, CUDA projects. Path and text of each file.
const REPOSITORIES: [(&str, &[(&str, &str)]); 5] = [
    ("empty", &[]),
    (
        "python",
        &[
            ("benchmarks/bench_sort.py", "print(sorted(range(9)))\n"),
            ("pyproject.toml", "[project]\nname = \"x\"\n"),
        ],
    ),
    (
        "cuda",
        &[
            ("bench/gemm.cu", "int main() { return 0; }\n"),
            ("Makefile", "bench:\n\tnvcc -o gemm bench/gemm.cu\n"),
        ],
    ),
    (
        "several harnesses",
        &[
            ("Cargo.toml", "[package]\nname = \"a\"\n[[bench]]\nname = \"b\"\nharness = false\n"),
            ("benches/b.rs", "use iai_callgrind::main;\nmain!(library_benchmark_groups = g);\n"),
            ("CMakeLists.txt", "add_executable(b b.cpp)\ntarget_link_libraries(b benchmark::benchmark)\n"),
            ("b.cpp", "#include <benchmark/benchmark.h>\nBENCHMARK(x);\n"),
            ("requirements.txt", "pytest-benchmark\n"),
            ("test_x.py", "def test_x(benchmark):\n    benchmark(len, [])\n"),
            ("package.json", "{ \"devDependencies\": { \"vitest\": \"3\" } }\n"),
            ("pnpm-lock.yaml", ""),
            ("x.bench.js", "import { bench } from 'vitest'\n"),
        ],
    ),
    ("cuda without a makefile", &[("gemm_bench.cu", "int main() { return 0; }\n")]),
];

/// The ways of asking that give different files.
const FLAGS: [&str; 6] = [
    "",
    "--runner ubuntu-latest --pages",
    "--runner self-hosted,gpu --forks allow",
    "--runner self-hosted,gpu --shards 3 --pages",
    "--machine h100=self-hosted,gpu,h100",
    "--machine h100=self-hosted,gpu,h100 a100=self-hosted,gpu,a100 --shards 2 --forks allow",
];

fn git(folder: &Path, line: &str) {
    let status = Command::new("git").args(line.split(' ')).current_dir(folder).status().unwrap();
    assert!(status.success(), "git {line}");
}

/// A repository with the workflows in it; of the action's commit nothing says that it is a release.
fn generated(files: &[(&str, &str)], flags: &str) -> tempfile::TempDir {
    generated_from("", files, flags)
}

/// `version`: what stands behind the action's commit, such as [`RELEASED`].
fn generated_from(version: &str, files: &[(&str, &str)], flags: &str) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    git(folder.path(), "init -q -b main .");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let line = format!("init --github --action acme/gbench-ci@{ACTION_SHA}{version} {flags}");
    ran(folder.path(), &line).exits(0).says("Next: 1. ");
    folder
}

const RELEASED: &str = "#v1.2.3";

fn each(mut check: impl FnMut(&Path, &str)) {
    for (name, files) in REPOSITORIES {
        for flags in FLAGS {
            let folder = generated(files, flags);
            check(folder.path(), &format!("{name} {flags}"));
        }
    }
    for flags in FLAGS {
        check(generated_from(RELEASED, &[], flags).path(), &format!("released {flags}"));
    }
    check(Path::new(env!("CARGO_MANIFEST_DIR")), "the project itself");
}

fn workflows(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder.join(".github/workflows")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Without findings, also the strictest ones; what is ignored says why beside it.
#[test]
fn zizmor_finds_nothing() {
    let Some(zizmor) = tools::zizmor() else { return };
    each(|folder, name| {
        let mut command = Command::new(&zizmor);
        command.args(["--offline", "--no-progress", "--color", "never", "--persona", "auditor", "."]);
        let output = command.current_dir(folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        for (path, text) in workflows(folder) {
            for line in text.lines().filter(|line| line.contains("zizmor: ignore[")) {
                let reason = line.rsplit_once(']').map_or("", |(_, reason)| reason.trim());
                assert!(reason.len() > 15, "{}: no reason in `{line}`", path.display());
            }
        }
    });
}

#[test]
fn actionlint_finds_nothing() {
    let Some(actionlint) = tools::actionlint() else { return };
    // It reads the shell scripts in the workflows by shellcheck, if that is on the PATH.
    let path = format!("{}:{}", actionlint.parent().unwrap().display(), std::env::var("PATH").unwrap());
    each(|folder, name| {
        let output = Command::new(&actionlint).current_dir(folder).env("PATH", &path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    });
}

#[test]
fn shellcheck_finds_nothing_in_the_actions_scripts() {
    let Some(shellcheck) = tools::shellcheck() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = std::fs::read_dir(root.join(".github/action")).unwrap().map(|entry| entry.unwrap().path());
    let scripts: Vec<PathBuf> =
        scripts.filter(|path| path.extension().is_some_and(|end| end == "sh")).collect();
    assert_eq!(scripts.len(), 6);
    let mut command = Command::new(shellcheck);
    command.current_dir(root).args(["-x", "-P", ".github/action", ".ci/run", ".ci/release"]).args(scripts);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The lines of every `run:`, with the number of each.
fn scripts(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut within = None;
    for (number, line) in text.lines().enumerate() {
        let depth = line.len() - line.trim_start().len();
        if within.is_some_and(|above| depth > above || line.trim().is_empty()) {
            found.push((number + 1, line));
            continue;
        }
        within = None;
        if let Some(rest) = line.trim_start().trim_start_matches("- ").strip_prefix("run:") {
            found.push((number + 1, rest));
            within = Some(depth + line.trim_start().starts_with("- ") as usize * 2);
        }
    }
    found
}

#[test]
fn t6_no_expression_stands_in_a_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let action = root.join("action.yml");
    let mut seen = 0;
    let mut check = |path: &Path, text: &str| {
        for (number, line) in scripts(text) {
            seen += 1;
            assert!(!line.contains("${{"), "{}:{number}: {line}", path.display());
        }
    };
    check(&action, &std::fs::read_to_string(&action).unwrap());
    each(|folder, _| workflows(folder).iter().for_each(|(path, text)| check(path, text)));
    assert!(seen > 20, "only {seen} lines of scripts");
    assert_eq!(scripts("a:\n  - run: |\n      x\n\n      y\n  - b\n    run: z\n").len(), 5);
}

#[test]
fn t15_every_action_is_pinned_to_a_full_commit() {
    let mut seen = 0;
    each(|folder, name| {
        for (path, text) in workflows(folder) {
            for line in text.lines() {
                let Some(used) = line.trim_start().trim_start_matches("- ").strip_prefix("uses: ") else {
                    continue;
                };
                seen += 1;
                let reference = used.split(' ').next().unwrap();
                let sha = reference.split_once('@').map(|(_, sha)| sha);
                let pinned =
                    sha.is_some_and(|sha| sha.len() == 40 && sha.chars().all(|c| c.is_ascii_hexdigit()));
                let own = name == "the project itself" && reference == "./";
                assert!(pinned || own, "{}: {used}", path.display());
                assert!(
                    own || reference.starts_with("acme/") || used.contains(" # v"),
                    "{}: which version is {used}?",
                    path.display()
                );
            }
        }
    });
    assert!(seen > 50, "only {seen} actions");
}

/// What each job may do at most, by the file's and the job's name.
fn may(file: &str, job: &str) -> &'static [&'static str] {
    match (file, job) {
        ("gbench-report.yml", "report") => {
            &["actions: read", "checks: write", "contents: read", "pull-requests: write"]
        }
        ("gbench-accept.yml", "accept") => {
            &["actions: read", "checks: write", "contents: read", "pull-requests: write"]
        }
        ("gbench-nightly.yml", "publish") => {
            &["checks: write", "contents: write", "issues: write", "pull-requests: read"]
        }
        ("gbench-pages.yml", "deploy") => &["id-token: write", "pages: write"],
        ("release.yml", "draft") => &["attestations: write", "contents: write", "id-token: write"],
        _ => &["contents: read"],
    }
}

/// The jobs of a workflow's lines, each with its name and its lines.
fn jobs_of<'a, 'b>(lines: &'b [&'a str]) -> Vec<(&'a str, &'b [&'a str])> {
    let body = lines.split(|line| *line == "jobs:").nth(1).unwrap();
    let is_job = |line: &str| line.starts_with("  ") && !line.starts_with("   ") && !line.starts_with("  #");
    let starts: Vec<usize> = (0..body.len()).filter(|at| is_job(body[*at])).collect();
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    let jobs = starts.iter().zip(ends).map(|(start, end)| &body[*start..end]);
    jobs.map(|lines| (lines[0].trim().trim_end_matches(':'), lines)).collect()
}

#[test]
fn t12_every_job_says_what_it_may_and_none_may_more_than_it_needs() {
    let mut jobs = 0;
    each(|folder, name| {
        for (path, text) in workflows(folder) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let all = text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
            let all: Vec<&str> = all.map(|line| line.split(" #").next().unwrap().trim_end()).collect();
            let head =
                all.iter().take_while(|line| **line != "jobs:").any(|line| line.starts_with("permissions:"));
            assert!(head, "{name}: {file} gives its jobs what the repository gives");
            for (job, lines) in jobs_of(&all) {
                jobs += 1;
                if file == "ci.yml" {
                    continue;
                }
                let at = lines.iter().position(|line| line.starts_with("    permissions:"));
                let at = at.unwrap_or_else(|| panic!("{name}: {file}: {job} has no permissions"));
                let given = lines[at + 1..].iter().take_while(|line| line.starts_with("      "));
                for permission in given {
                    assert!(
                        may(file, job).contains(&permission.trim()),
                        "{name}: {file}: {job}: {permission}"
                    );
                }
                assert!(
                    lines.iter().any(|line| line.starts_with("    timeout-minutes:")),
                    "{name}: {file}: {job}"
                );
            }
        }
    });
    assert!(jobs > 50, "only {jobs} jobs");
}

/// GitHub keeps one waiting run of a group, and cancels it when a further one comes.
#[test]
fn a5_a_comment_waits_for_no_other_and_cancels_none() {
    for flags in FLAGS {
        let folder = generated(&[], flags);
        let text =
            std::fs::read_to_string(folder.path().join(".github/workflows/gbench-accept.yml")).unwrap();
        let groups: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("group: ")).collect();
        assert!(!groups.is_empty(), "{flags}");
        assert!(
            groups.iter().all(|group| group.contains("${{ github.event.comment.id }}")),
            "{flags}: {groups:?}"
        );
    }
}

/// A build runs the code of every dependency. A job without rights builds, and hands over the program with its SHA-256; where the
/// action is a release there is nothing to build.
#[test]
fn what_may_write_compiles_nothing_and_takes_what_was_built_without_rights() {
    let (mut handed_over, mut released) = (0, 0);
    each(|folder, name| {
        for (path, text) in workflows(folder) {
            let place = format!("{name}: {}", path.display());
            let lines: Vec<&str> = text.lines().collect();
            let jobs = jobs_of(&lines);
            for (job, lines) in &jobs {
                let words = lines.join("\n");
                if !words.contains(": write") {
                    continue;
                }
                assert!(!words.contains("cargo"), "{place}: {job}: {words}");
                if !words.contains("uses: acme/") && !words.contains("uses: ./") {
                    // The project's own report starts the program without the action.
                    let is_checked =
                        words.contains("sha256sum --check --quiet --strict <<<\"$SHA256  bin/gbench-ci\"");
                    assert_eq!(is_checked, words.contains("bin/gbench-ci publish"), "{place}: {words}");
                    continue;
                }
                if name.starts_with("released") {
                    released += 1;
                    assert!(!text.contains("gbench-ci-binary"), "{place}: {text}");
                    continue;
                }
                handed_over += 1;
                let needs = ["    needs: build\n", "    needs: [build, measure]\n"];
                assert!(needs.iter().any(|line| words.contains(line)), "{place}: {job}: {words}");
                for part in [
                    "          name: gbench-ci-binary\n          path: gbench-ci-binary\n",
                    "          binary: gbench-ci-binary/gbench-ci\n",
                    "          binary-sha256: ${{ needs.build.outputs.sha256 }}\n",
                ] {
                    assert!(words.contains(part), "{place}: {job} lacks {part}: {words}");
                }
                let (_, build) = jobs.iter().find(|(name, _)| *name == "build").unwrap();
                let build = build.join("\n");
                for part in [
                    "          command: install\n",
                    "      sha256: ${{ steps.gbench.outputs.binary-sha256 }}\n",
                    "          path: ${{ steps.gbench.outputs.binary }}\n",
                ] {
                    assert!(build.contains(part), "{place}: build lacks {part}: {build}");
                }
                assert!(!build.contains(": write") && !build.contains("token"), "{place}: {build}");
                // What a pull request or a comment brings is never built.
                assert!(!build.contains("ref:") && !build.contains("repository:"), "{place}: {build}");
            }
        }
    });
    assert!(handed_over > 50 && released > 10, "{handed_over} and {released} jobs");
}

#[test]
fn t15_a_release_is_built_by_a_pinned_compiler_and_by_packages_whose_sha256_is_written_down() {
    let read =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let script = read(".ci/release");
    let installs = script.split("pip install").nth(1).unwrap().split("rustup").next().unwrap();
    for word in ["--require-hashes", "--only-binary :all:", "--requirement .ci/release-requirements.txt"] {
        assert!(installs.contains(word), "{installs}");
    }
    let packages = read(".ci/release-requirements.txt").replace("\\\n", "");
    let packages: Vec<&str> = packages.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(packages.len(), 2);
    for package in packages {
        let sums: Vec<&str> =
            package.split_whitespace().filter_map(|it| it.strip_prefix("--hash=sha256:")).collect();
        // Of each kind of machine that a release can be built on.
        assert!(sums.len() == 2 && sums.iter().all(|sum| sum.len() == 64), "{package}");
    }
    let toolchain: toml::Table = read("rust-toolchain.toml").parse().unwrap();
    let numbers = |text: &str| text.split('.').map(|it| it.parse().unwrap()).collect::<Vec<u32>>();
    let pinned = numbers(toolchain["toolchain"]["channel"].as_str().unwrap());
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    assert!(pinned.len() == 3 && pinned >= numbers(oldest), "{pinned:?}");
    for page in ["README.md", "CONTRIBUTING.md"] {
        assert!(read(page).contains(&format!("Rust {oldest} or later")), "{page}");
    }
}

#[test]
fn what_may_write_checks_nothing_out() {
    for flags in FLAGS {
        let folder = generated(&[], flags);
        for name in ["gbench-report.yml", "gbench-accept.yml"] {
            let path = folder.path().join(".github/workflows").join(name);
            let text = std::fs::read_to_string(path).unwrap();
            assert!(!text.contains("actions/checkout") && !text.contains(" run: "), "{text}");
        }
    }
}

#[test]
fn a_workflow_that_is_there_is_overwritten_by_force_only_and_the_suite_file_never() {
    let folder = generated(&[], "--runner self-hosted,gpu");
    let workflow = folder.path().join(".github/workflows/gbench-nightly.yml");
    let suite = folder.path().join("gbench.toml");
    let line = format!("init --github --runner self-hosted,gpu --action acme/gbench-ci@{ACTION_SHA}");
    ran(folder.path(), &line).exits(0).says("kept gbench.toml");
    std::fs::write(&workflow, "mine\n").unwrap();
    std::fs::write(&suite, "# mine\n").unwrap();
    ran(folder.path(), &line).exits(2).says("--force");
    assert_eq!(std::fs::read_to_string(&workflow).unwrap(), "mine\n");
    ran(folder.path(), &format!("{line} --force")).exits(0);
    assert!(std::fs::read_to_string(&workflow).unwrap().contains("gbench-ci nightly"));
    assert_eq!(std::fs::read_to_string(&suite).unwrap(), "# mine\n");
}

#[test]
fn from_a_folder_within_the_workflows_lie_at_the_root_and_name_the_suite() {
    let folder = crate::support::tempdir().unwrap();
    git(folder.path(), "init -q -b trunk .");
    std::fs::create_dir_all(folder.path().join("native/bench")).unwrap();
    let line = format!("init --github --runner gpu --action acme/gbench-ci@{ACTION_SHA}");
    let said = ran(&folder.path().join("native/bench"), &line).exits(0);
    let said = said
        .says("go to the repository's root, ../.., and name the suite file as `native/bench/gbench.toml`");
    drop(
        said.says("wrote ../../.github/workflows/gbench-nightly.yml")
            .says("wrote ../../.github/actionlint.yaml"),
    );
    let text = std::fs::read_to_string(folder.path().join(".github/workflows/gbench-nightly.yml")).unwrap();
    assert!(text.contains("suite: native/bench/gbench.toml\n"), "{text}");
    let from_above = format!("{line} --config native/bench/gbench.toml");
    ran(folder.path(), &from_above).exits(0).says("kept native/bench/gbench.toml").says("root, ., and");
}

/// What is published must not hang on a branch's name that was guessed: of a wrong one nobody would hear.
#[test]
fn the_night_publishes_on_the_default_branch_whatever_it_is_called() {
    let folder = crate::support::tempdir().unwrap();
    git(folder.path(), "init -q -b some-topic .");
    let line = format!("init --github --runner gpu --action acme/gbench-ci@{ACTION_SHA}");
    ran(folder.path(), &line).exits(0);
    for (path, text) in workflows(folder.path()) {
        assert!(
            !text.contains("some-topic") && !text.contains("refs/heads/main"),
            "{}: {text}",
            path.display()
        );
    }
    let night = text_of(folder.path(), "nightly");
    for needed in [
        "github.event_name == 'schedule' || github.ref == format('refs/heads/{0}', github.event.repository.default_branch)",
        "base: ${{ inputs.accept && github.sha || inputs.base }}\n",
        "      accept:\n",
        "        type: boolean\n",
    ] {
        assert!(night.contains(needed), "{needed} in {night}");
    }
}

fn text_of(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(format!(".github/workflows/gbench-{name}.yml"))).unwrap()
}

/// The number behind `key` in each place where it stands.
fn numbers(text: &str, key: &str) -> Vec<u32> {
    let value = |line: &str| line.trim().strip_prefix(key)?.split([' ', 'm', 'h']).next()?.parse().ok();
    text.lines().filter_map(value).collect()
}

#[test]
fn rounds_end_well_before_their_job_does_and_jobs_of_github_have_time_to_build() {
    each(|folder, name| {
        let pull = text_of(folder, "pull-request");
        let (budget, limits) = (numbers(&pull, "budget: "), numbers(&pull, "timeout-minutes: "));
        assert!(pull.contains("budget: 60m\n") && budget[0] * 2 <= limits[0], "{name}: {pull}");
        let night = text_of(folder, "nightly");
        let (budget, limits) = (numbers(&night, "budget: "), numbers(&night, "timeout-minutes: "));
        assert!(night.contains("budget: 5h\n") && budget[0] * 60 + 30 <= limits[0], "{name}: {night}");
        // Where there is a release nothing is built.
        if !name.starts_with("released") {
            assert!(limits[1] >= 30, "{name}: {night}");
            assert!(numbers(&text_of(folder, "report"), "timeout-minutes: ").contains(&30), "{name}");
        }
        if let Some((_, merge)) = pull.split_once("\n  merge:\n") {
            assert!(numbers(merge, "timeout-minutes: ")[0] >= 30, "{name}: {merge}");
        }
    });
}

#[test]
fn the_report_answers_pull_requests_and_merge_queues_and_says_what_it_knows_of_them() {
    each(|folder, name| {
        let text = text_of(folder, "report");
        for event in ["pull_request", "merge_group"] {
            assert!(
                text.contains(&format!("github.event.workflow_run.event == '{event}'")),
                "{name}: {text}"
            );
        }
    });
    let of = |flags: &str| text_of(generated(&[], flags).path(), "report");
    let plain = of("--runner self-hosted,gpu");
    assert!(!plain.contains("allow-forks") && !plain.contains("expect:"), "{plain}");
    let all = of("--runner self-hosted,gpu --shards 3 --forks allow");
    assert!(all.contains("allow-forks: true\n") && all.contains("expect: 3\n"), "{all}");
}

#[test]
fn a_single_machine_with_a_name_is_called_so() {
    let folder = generated(&[], "--machine h100=self-hosted,gpu,h100");
    for name in ["pull-request", "nightly"] {
        let text = text_of(folder.path(), name);
        assert!(
            text.contains("label: h100\n") && text.contains("runs-on: [self-hosted, gpu, h100]"),
            "{text}"
        );
    }
}

/// What `init --github FLAGS` says in an empty repository.
fn said(flags: &str) -> String {
    let folder = crate::support::tempdir().unwrap();
    git(folder.path(), "init -q -b main .");
    ran(folder.path(), &format!("init --github {flags}")).exits(0).out
}

#[test]
fn what_comes_next_is_numbered_and_fits_a_terminal_and_names_what_will_be_there() {
    let pinned = format!("--action acme/gbench-ci@{ACTION_SHA}");
    for flags in FLAGS {
        for action in [&pinned[..], "--action ./"] {
            let text = said(&format!("{action} {flags}"));
            let next = text.split("\nNext:\n").nth(1).unwrap().split("\n\n").next().unwrap();
            let steps: Vec<&str> =
                next.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).collect();
            let numbered =
                steps.iter().zip(1..).all(|(line, number)| line.starts_with(&format!("  {number}. ")));
            assert!(numbered && steps.len() >= 4, "{text}");
            assert!(next.lines().all(|line| line.chars().count() <= 80), "{text}");
            let job = next.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(job.contains("require the job `Benchmarks`"), action == "--action ./", "{text}");
            assert_eq!(job.contains("require the check `gbench-ci`"), action != "--action ./", "{text}");
        }
    }
    let two = said(&format!("{pinned} --machine h100=self-hosted,h100 a100=self-hosted,a100 --shards 2"));
    let flat = two.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("1. register a runner with the labels self-hosted, h100:"), "{two}");
    assert!(flat.contains("2. register a runner with the labels self-hosted, a100:"), "{two}");
    assert!(flat.contains("`gbench-ci / h100`, `gbench-ci / a100` show what"), "{two}");
}

#[test]
fn where_nothing_was_found_the_last_words_say_that_nothing_of_the_users_is_measured() {
    for flags in ["", "--github --runner gpu --action ./"] {
        let folder = crate::support::tempdir().unwrap();
        git(folder.path(), "init -q -b main .");
        let text = ran(folder.path(), &format!("init {flags}")).exits(0).out;
        let end =
            text.split("\nNothing here looks like a benchmark.").nth(1).unwrap_or_else(|| panic!("{text}"));
        assert!(
            end.contains("none of your code") && end.trim_end().ends_with("build = [\"make\", \"gemm\"]"),
            "{text}"
        );
        assert!(end.lines().all(|line| line.chars().count() <= 80), "{text}");
        std::fs::remove_file(folder.path().join("gbench.toml")).unwrap();
        std::fs::write(folder.path().join("bench_a"), "").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path().join("bench_a"), mode).unwrap();
        let text = ran(folder.path(), &format!("init {flags}")).exits(0).out;
        assert!(!text.contains("Nothing here"), "{text}");
    }
}

#[test]
fn a_cuda_source_becomes_a_benchmark_with_its_build_and_what_it_needs() {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gemm_bench.cu"), "int main() {}\n").unwrap();
    ran(folder.path(), "init").exits(0).says("/gemm_bench");
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    for line in [
        "command = [\"./gemm_bench\"]\n",
        "build = [\"nvcc\", \"-O3\", \"-o\", \"gemm_bench\", \"gemm_bench.cu\"]\n",
        "requires = { binary = [\"nvcc\"], gpus = 1 }\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn the_linters_file_is_its_owners_and_the_labels_that_it_lacks_are_named() {
    let folder = generated(&[], "--runner self-hosted,gpu,GPU");
    let file = folder.path().join(".github/actionlint.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("- \"").count(), 1, "{text}");
    std::fs::write(&file, format!("{text}config-variables: null\n")).unwrap();
    let line = format!("init --github --action acme/gbench-ci@{ACTION_SHA} --runner self-hosted,gpu");
    ran(folder.path(), &line).exits(0).says("actionlint.yaml: it lists the labels already");
    let more = format!("{line},h100");
    ran(folder.path(), &more).exits(2).says("--force");
    let before = std::fs::read_to_string(&file).unwrap();
    let lacks = "actionlint.yaml: it should list the labels h100, too";
    ran(folder.path(), &format!("{more} --force")).exits(0).says(lacks);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn what_could_not_be_written_safely_is_refused_before_anything_is_written() {
    let folder = crate::support::tempdir().unwrap();
    git(folder.path(), "init -q -b main .");
    for (flags, words) in [
        ("--runner gpu --action acme/gbench-ci@v1", "not a full commit id"),
        ("--runner a b --action x", "unexpected argument"),
        ("--runner ${{x}} --action acme/gbench-ci@0123456789abcdef0123456789abcdef01234567", "not a label"),
        ("--runner gpu --shards 257 --action x", "257"),
        (
            "--shards 2 --machine a=x a=y --action acme/gbench-ci@0123456789abcdef0123456789abcdef01234567",
            "have this name",
        ),
    ] {
        ran(folder.path(), &format!("init --github {flags}")).exits(2).says(words);
    }
    ended(crate::support::cli::command(folder.path(), "init --runner gpu")).exits(2).says("--github");
    assert!(!folder.path().join(".github").exists() && !folder.path().join("gbench.toml").exists());
}

/// A machine whose job died leaves nothing: whoever merges or publishes is told how many parts there are and how the jobs ended.
#[test]
fn n18_jobs_that_merge_or_publish_are_told_how_many_parts_there_are_and_how_they_ended() {
    for (flags, parts) in [
        ("--runner self-hosted,gpu --shards 3", 3),
        ("--machine h100=self-hosted,gpu,h100 a100=self-hosted,gpu,a100 --shards 2 --forks allow", 4),
    ] {
        let folder = generated(&[], flags);
        for (name, job) in [("pull-request", "\n  merge:\n"), ("nightly", "\n  publish:\n")] {
            let text = text_of(folder.path(), name);
            let (_, job) = text.split_once(job).unwrap_or_else(|| panic!("{flags}: {text}"));
            for line in [format!("expect: {parts}\n"), "measured: ${{ needs.measure.result }}\n".into()] {
                assert!(job.contains(&line), "{flags}: {line} in {job}");
            }
        }
    }
    each(|folder, name| {
        let night = text_of(folder, "nightly");
        assert!(night.contains("measured: ${{ needs.measure.result }}\n"), "{name}: {night}");
    });
    // `act` starts a workflow whatever its types are.
    let report = text_of(generated(&[], "").path(), "report");
    assert!(report.contains("types: [requested, completed]\n"), "{report}");
}
