//! The real `action.yml` and the generated workflows under `act`: how the binary is found, what reaches it, what its exit
//! code becomes. Where `act` is not installed each test says so and does nothing.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::act::{ACTION_SHA, Stage, pull_request, repository};
use crate::support::{copy_program, gbench};

/// A gbench-ci that writes down what it is given, and ends with `CODE`.
fn recorder(stage: &Stage, place: &str, version: &str) -> PathBuf {
    let record = stage.at("calls");
    stage.program(
        place,
        &format!(
            "#!/usr/bin/env bash\n[[ $1 == --version ]] && echo 'gbench-ci {version}' && exit 0\n\
             {{ printf '%s\\0' \"$@\"; printf '\\n'; }} >>'{0}'\nenv -0 >'{0}'.\"$1\"\n\
             if [[ $1 == ci ]]; then printf 'folder=artifacts/one\\nexit-code=%s\\n' \"${{CODE:-0}}\" >>\"$GITHUB_OUTPUT\"; exit \"${{CODE:-0}}\"; fi\n",
            record.display()
        ),
    )
}

/// The arguments of each call, in order.
fn calls(stage: &Stage) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(stage.at("calls")).unwrap_or_default();
    let arguments = |line: &str| line.split_terminator('\0').map(str::to_owned).collect();
    text.lines().map(arguments).collect()
}

fn push() -> serde_json::Value {
    json!({"ref": "refs/heads/main", "repository": repository()})
}

/// A stage with one job that only looks for the binary.
fn install(with: &[(&str, &str)]) -> Option<Stage> {
    let stage = Stage::new()?;
    let mut inputs = vec![("command", "install")];
    inputs.extend(with);
    stage.using(
        &inputs,
        "      - env: { BINARY: '${{ steps.gate.outputs.binary }}' }\n        run: echo \"it is $BINARY\"\n",
    );
    stage.commit("Use the action");
    Some(stage)
}

/// Packs the binary as a release would, below `mirror/`, and writes its sum into the action's source.
fn release(stage: &Stage, version: &str) -> PathBuf {
    let name = format!("gbench-ci-{version}-{}-unknown-linux-gnu", std::env::consts::ARCH);
    std::fs::create_dir_all(stage.at("pack").join(&name)).unwrap();
    // Without the names of an unoptimised build, which are most of its 180 MB.
    let words = ["--strip-all", "-o"].map(str::to_owned);
    let packed = stage.at("pack").join(&name).join("gbench-ci");
    let stripped = Command::new("strip").args(words).arg(&packed).arg(gbench()).status();
    if !stripped.is_ok_and(|status| status.success()) {
        copy_program(&gbench(), &packed);
    }
    let archive = format!("mirror/v{version}/{name}.tar.gz");
    stage.sh(&format!(
        "mkdir -p mirror/v{version} && tar -cf - -C pack {name} | gzip -1 >{archive} && cd mirror/v{version} && \
         sha256sum {name}.tar.gz >>../../action/.github/action/checksums.txt"
    ));
    stage.at(&archive)
}

fn mirror(stage: &mut Stage) {
    let url = format!("file://{}", stage.at("mirror").display());
    stage.set("GBENCH_CI_MIRROR", url);
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn the_binary_that_the_environment_names_is_taken_first() {
    let Some(mut stage) = install(&[]) else { return };
    recorder(&stage, "bin/gbench-ci", VERSION);
    stage.put_on_path(&stage.at("bin")).set("GBENCH_CI_BINARY", gbench());
    let played =
        stage.play("test.yml", "push", &push()).is(0).says("named by the workflow or the environment");
    assert_eq!(played.output("install", "binary"), gbench().to_str());
    played.says(&format!("it is {}", gbench().display()));
}

#[test]
fn a_binary_that_is_named_and_is_none_ends_the_job_with_2() {
    let Some(mut stage) = install(&[("binary", "./gone")]) else { return };
    recorder(&stage, "bin/gbench-ci", VERSION);
    stage.put_on_path(&stage.at("bin"));
    let played = stage.play("test.yml", "push", &push()).is(1).says("no program that can be started: ./gone");
    assert_eq!(played.failed_steps(), [2]);
}

#[test]
fn the_binary_on_the_path_is_taken_and_another_version_is_passed_over() {
    for (wanted, has, code) in [("", "9.9.9", 0), ("9.9.9", "9.9.9", 0), ("9.9.9", "0.0.1", 1)] {
        let Some(mut stage) = install(&[("version", &format!("\"{wanted}\""))]) else { return };
        recorder(&stage, "bin/gbench-ci", has);
        stage.put_on_path(&stage.at("bin"));
        let played = stage.play("test.yml", "push", &push()).is(code);
        match code {
            0 => drop(played.says("found on the PATH")),
            _ => drop(played.says("passed over").says("version 9.9.9 is wanted")),
        }
    }
}

#[test]
fn a_release_whose_sha256_the_source_knows_is_downloaded() {
    let Some(mut stage) = install(&[]) else { return };
    release(&stage, VERSION);
    mirror(&mut stage);
    stage.play("test.yml", "push", &push()).is(0).says("the release, its SHA-256 as in the action's source");
}

/// Attack: a program of this name in a folder that somebody else may write to, ahead on the PATH.
#[test]
fn t15_a_release_goes_before_the_binary_on_the_path() {
    let Some(mut stage) = install(&[]) else { return };
    release(&stage, VERSION);
    mirror(&mut stage);
    let ran = stage.at("ran");
    stage.program("bin/gbench-ci", &format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
    stage.put_on_path(&stage.at("bin"));
    let played = stage.play("test.yml", "push", &push()).is(0);
    drop(played.says("the release, its SHA-256 as in the action's source"));
    assert!(!ran.exists(), "the program on the PATH ran");
}

#[test]
fn where_the_release_cannot_be_downloaded_the_binary_on_the_path_is_taken_and_the_log_says_why() {
    let Some(mut stage) = install(&[]) else { return };
    let archive = release(&stage, VERSION);
    std::fs::remove_file(archive).unwrap();
    mirror(&mut stage);
    recorder(&stage, "bin/gbench-ci", VERSION);
    stage.put_on_path(&stage.at("bin"));
    let played = stage.play("test.yml", "push", &push()).is(0);
    drop(played.says("the release could not be downloaded: file:").says("found on the PATH"));
}

#[test]
fn t15_settings_of_the_users_curl_change_no_download() {
    let Some(mut stage) = install(&[]) else { return };
    release(&stage, VERSION);
    mirror(&mut stage);
    stage.write("curl/.curlrc", "range = \"0-9\"\n");
    let folder = stage.at("curl");
    stage.set("CURL_HOME", folder);
    stage.play("test.yml", "push", &push()).is(0).says("the release, its SHA-256 as in the action's source");
}

/// A scripted cargo, ahead on the PATH: it installs what was built before, and writes down its folder and its arguments.
fn cargo(stage: &mut Stage) -> PathBuf {
    let calls = stage.at("cargo.calls");
    let script = format!(
        "#!/usr/bin/env bash\n{{ pwd; printf '%s ' \"$@\"; }} >'{}'\nwhile [[ $1 != --root ]]; do shift; done\nmkdir -p \"$2/bin\"\ncp '{}' \"$2/bin/\"\n",
        calls.display(),
        gbench().display()
    );
    stage.program("bin/cargo", &script);
    stage.put_on_path(&stage.at("bin"));
    calls
}

/// A build runs the code of every dependency, and with a token beside it that code could write.
#[test]
fn t15_a_step_that_holds_a_token_compiles_nothing_and_says_what_to_do() {
    let token = ("token", "${{ github.token }}");
    for (command, token) in [
        ("compare", Some(token)),
        ("merge", Some(token)),
        ("install", Some(token)),
        ("publish", None),
        ("accept", None),
    ] {
        let Some(mut stage) = Stage::new() else { return };
        let calls = cargo(&mut stage);
        let with: Vec<(&str, &str)> = [("command", command)].into_iter().chain(token).collect();
        stage.using(&with, "");
        stage.commit("Use the action");
        let played = stage.play("test.yml", "push", &push()).is(1);
        assert_eq!(played.failed_steps(), [2], "{command}: {}", played.log());
        drop(
            played
                .says("knows no SHA-256 of")
                .says("a step with a token builds none")
                .says("`binary-sha256`"),
        );
        assert!(!calls.exists(), "{command}: cargo was started");
    }
}

#[test]
fn t15_a_binary_that_is_handed_over_starts_only_with_the_sha256_of_its_build() {
    let started = |stage: &Stage| stage.at("started").exists();
    let (right, wrong) = ("RIGHT", "0".repeat(64));
    for (binary, sum, fault) in [
        ("handed/gbench-ci", right, None),
        ("handed/gbench-ci", &*wrong, Some("and was not started")),
        ("handed/gbench-ci", "$(touch pwned)", Some("must be 64 characters")),
        ("handed/gone", right, Some("is not a file")),
        ("", right, Some("without the input binary")),
    ] {
        let Some(stage) = Stage::new() else { return };
        let script =
            format!("#!/bin/sh\ntouch '{}'\necho 'gbench-ci {VERSION}'\n", stage.at("started").display());
        // As an artifact leaves it: no program any more.
        stage.write("handed/gbench-ci", &script);
        let is = stage.sh("sha256sum <handed/gbench-ci | cut -d ' ' -f 1");
        let binary = if binary.is_empty() { String::new() } else { stage.at(binary).display().to_string() };
        let sum = format!("'{}'", sum.replace(right, &is));
        stage.using(&[("command", "install"), ("binary", &binary), ("binary-sha256", &sum)], "");
        stage.commit("Use the action");
        let played = stage.play("test.yml", "push", &push());
        assert_eq!(started(&stage), fault.is_none(), "{sum}: {}", played.log());
        let Some(fault) = fault else {
            let played = played.is(0).says("its SHA-256 as in the input binary-sha256");
            assert_eq!(played.output("install", "binary-sha256"), Some(&*is));
            continue;
        };
        let played = played.is(1).says(fault);
        assert_eq!(played.failed_steps(), [2], "{}", played.log());
        assert_eq!(stage.sh("find . -name 'pwned*' | wc -l"), "0");
    }
}

#[test]
fn t15_an_archive_that_was_tampered_with_is_refused_and_nothing_of_it_runs() {
    let Some(mut stage) = install(&[]) else { return };
    let archive = release(&stage, VERSION);
    let name = format!("gbench-ci-{VERSION}-{}-unknown-linux-gnu", std::env::consts::ARCH);
    let ran = stage.at("ran");
    stage.program(&format!("pack/{name}/gbench-ci"), &format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
    stage.sh(&format!("tar -czf '{}' -C pack {name}", archive.display()));
    mirror(&mut stage);
    let played =
        stage.play("test.yml", "push", &push()).is(1).says("the archive is not the one that was released");
    assert_eq!(played.failed_steps(), [2]);
    assert!(!ran.exists(), "the archive's program ran");
}

#[test]
fn t15_without_a_sum_nothing_is_downloaded_and_the_last_resort_is_said_aloud() {
    let Some(mut stage) = install(&[]) else { return };
    release(&stage, VERSION);
    std::fs::write(stage.at("action/.github/action/checksums.txt"), "# none\n").unwrap();
    mirror(&mut stage);
    // Building takes minutes, so the edge is scripted.
    let calls = cargo(&mut stage);
    let played = stage
        .play("test.yml", "push", &push())
        .is(0)
        .says("knows no SHA-256 of")
        .says("is being built from source");
    drop(played.says("built from the action's source"));
    let called = std::fs::read_to_string(calls).unwrap();
    let (folder, arguments) = called.split_once('\n').unwrap();
    assert!(arguments.starts_with("install ") && arguments.contains("--locked"), "{arguments}");
    // There the repository that is judged has no say in how its judge is built.
    assert!(folder.ends_with(&format!("acme-gbench-ci@{ACTION_SHA}")), "{folder}");
}

/// Texts that a shell, the runner or the command line could take for something else.
const HOSTILE: &str = "x$(touch pwned)`touch pwned`;touch pwned;'\"&|>pwned --allow-forks";

#[test]
fn t6_no_value_is_a_command_or_another_flag() {
    let Some(mut stage) = Stage::new() else { return };
    let quoted = "${{ github.event.pull_request.head.ref }}";
    let names = [
        "suite",
        "base",
        "fail-on",
        "store",
        "history",
        "artifacts",
        "label",
        "shard",
        "budget",
        "name",
        "comment",
    ];
    let mut with: Vec<(&str, &str)> = names.iter().map(|name| (*name, quoted)).collect();
    with.push(("token", "${{ github.token }}"));
    stage.using(&with, "");
    stage.commit("Use the action");
    let binary = recorder(&stage, "bin/gbench-ci", VERSION);
    stage.set("GBENCH_CI_BINARY", &binary);
    let head = stage.sh("cd repository && git rev-parse HEAD");
    stage.play("test.yml", "pull_request", &pull_request(&head, &head, HOSTILE, "acme/kernels")).is(0);
    let calls = calls(&stage);
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert_eq!(calls[0], ["publish", &format!("--name={HOSTILE}"), &format!("--label={HOSTILE}"), "--start"]);
    let flags = ["config", "base", "fail-on", "store", "history", "artifacts", "label", "shard", "budget"];
    let expected: Vec<String> =
        std::iter::once("ci".into()).chain(flags.iter().map(|flag| format!("--{flag}={HOSTILE}"))).collect();
    assert_eq!(calls[1], expected);
    assert_eq!(calls[2].last().map(String::as_str), Some("artifacts/one"));
    let pwned = stage.sh("find . -name 'pwned*' | wc -l");
    assert_eq!(pwned, "0");
}

#[test]
fn an_input_that_could_not_be_meant_is_refused_before_anything_starts() {
    for (name, value) in
        [("command", "\"rm -rf\u{202e} /\""), ("version", "'1; touch pwned'"), ("allow-forks", "maybe")]
    {
        let Some(mut stage) = Stage::new() else { return };
        stage.using(&[(name, value)], "");
        stage.commit("Use the action");
        let binary = recorder(&stage, "bin/gbench-ci", VERSION);
        stage.set("GBENCH_CI_BINARY", &binary);
        let played = stage.play("test.yml", "push", &push()).is(1).says(&format!("the input {name} "));
        assert_eq!(played.failed_steps(), [2], "{name}");
        let errors = played.log().lines().filter(|line| line.contains("the input")).collect::<String>();
        assert!(!errors.contains('\u{202e}'), "{errors}");
        assert!(calls(&stage).is_empty());
    }
}

#[test]
fn the_gates_exit_code_is_the_steps_and_what_it_found_is_published_all_the_same() {
    let after = "      - if: always()\n        env: { CODE: '${{ steps.gate.outputs.exit-code }}', FOLDER: '${{ steps.gate.outputs.folder }}' }\n\
                 \x20       run: echo \"code $CODE in $FOLDER\"\n";
    for code in [1, 3, 4, 5] {
        let Some(mut stage) = Stage::new() else { return };
        stage.using(&[("token", "${{ github.token }}")], after);
        stage.commit("Use the action");
        let binary = recorder(&stage, "bin/gbench-ci", VERSION);
        stage.set("GBENCH_CI_BINARY", &binary).set("CODE", code.to_string());
        let played = stage.play("test.yml", "push", &push()).is(1);
        assert_eq!(played.failed_steps(), [code]);
        drop(played.says(&format!("code {code} in artifacts/one")));
        let called: Vec<String> = calls(&stage).into_iter().map(|call| call[0].clone()).collect();
        assert_eq!(called, ["publish", "ci", "publish"]);
    }
}

#[test]
fn t10_the_process_that_measures_was_never_given_a_token() {
    let Some(mut stage) = Stage::new() else { return };
    stage.using(&[("token", "${{ github.token }}")], "");
    stage.commit("Use the action");
    let binary = recorder(&stage, "bin/gbench-ci", VERSION);
    // Also not where the workflow gives one to every step.
    stage.set("GBENCH_CI_BINARY", &binary).set("GITHUB_TOKEN", "ghs_TestToken0123456789");
    stage.play("test.yml", "push", &push()).is(0).keeps_silent_about("ghs_TestToken0123456789");
    let environment = |command: &str| std::fs::read_to_string(stage.at(&format!("calls.{command}"))).unwrap();
    assert!(!environment("ci").contains("ghs_TestToken"), "the measuring process has a token");
    assert!(environment("publish").contains("GBENCH_TOKEN=ghs_TestToken"), "the publishing process has none");
}

#[test]
fn without_a_token_the_action_only_measures() {
    let Some(mut stage) = Stage::new() else { return };
    stage.using(&[("suite", "bench/gbench.toml")], "");
    stage.commit("Use the action");
    let binary = recorder(&stage, "bin/gbench-ci", VERSION);
    stage.set("GBENCH_CI_BINARY", &binary);
    stage.play("test.yml", "push", &push()).is(0);
    assert_eq!(calls(&stage), [["ci", "--config=bench/gbench.toml", "--artifacts=artifacts"]]);
}

#[test]
fn t1_a_forks_pull_request_never_gets_to_the_runner_that_measures() {
    for flags in ["--runner self-hosted,gpu", "--runner self-hosted,gpu --shards 2"] {
        for head_repository in ["mallory/kernels", ""] {
            let Some(mut stage) = Stage::new() else { return };
            stage.init(flags);
            let head = stage.commit("Measure here");
            let binary = recorder(&stage, "bin/gbench-ci", VERSION);
            stage.set("GBENCH_CI_BINARY", &binary);
            let mut event = pull_request(&head, &head, "change", head_repository);
            if head_repository.is_empty() {
                event["pull_request"]["head"]["repo"] = serde_json::Value::Null;
            }
            let played = stage.play("gbench-pull-request.yml", "pull_request", &event).is(1);
            assert_eq!(played.failed_steps(), [5], "{}", played.log());
            assert_eq!(calls(&stage), [[""; 0]; 0]);
        }
    }
}

#[test]
fn a_branch_of_the_repository_is_measured_and_what_was_left_is_kept() {
    let Some(mut stage) = Stage::new() else { return };
    stage.init("--runner self-hosted,gpu");
    let head = stage.commit("Measure here");
    let binary = recorder(&stage, "bin/gbench-ci", VERSION);
    stage.set("GBENCH_CI_BINARY", &binary).set("CODE", "1");
    let event = pull_request(&head, &head, "change", "acme/kernels");
    let played = stage.play("gbench-pull-request.yml", "pull_request", &event).is(1);
    assert_eq!(played.failed_steps(), [1], "{}", played.log());
    assert_eq!(calls(&stage), [["ci", "--config=gbench.toml", "--artifacts=artifacts", "--budget=60m"]]);
}

#[test]
fn n18_the_action_writes_history_and_issue_for_no_pull_request() {
    let Some(mut stage) = Stage::new() else { return };
    let history = "github:acme/kernels@gbench-history";
    stage.using(&[("token", "${{ github.token }}"), ("history", history), ("issue", "true")], "");
    let head = stage.commit("Use the action");
    let binary = recorder(&stage, "bin/gbench-ci", VERSION);
    stage.set("GBENCH_CI_BINARY", &binary);
    let pull = pull_request(&head, &head, "change", "acme/kernels");
    for (event, payload, writes) in [("pull_request", pull, false), ("push", push(), true)] {
        stage.sh("rm -f calls");
        stage.play("test.yml", event, &payload).is(0);
        let publish = calls(&stage).pop().unwrap();
        assert_eq!(publish.contains(&"--issue".to_owned()), writes, "{event}: {publish:?}");
        assert_eq!(publish.contains(&format!("--history={history}")), writes, "{event}: {publish:?}");
    }
}
