//! What a stranger's pull request may try against the job that measures. Each test bears the number of its threat.

use std::path::Path;

use gbench_ci::compare::Verdict;

use crate::support::cli::{Ran, ended};
use crate::support::job::{Checkout, obeyed, outside, suite, work};

/// A checkout whose suite leaves a file behind as soon as anything of it is started.
fn telltale() -> (Checkout, tempfile::TempDir) {
    let folder = crate::support::tempdir().unwrap();
    let mark = folder.path().join("started");
    let text = format!(
        "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\nshell = \"touch '{0}'\"\nbuild = {{ shell = \"touch '{0}'\" }}\n",
        mark.display()
    );
    let checkout = Checkout::over(&[("gbench.toml", &text)], &[("note", "x")]);
    (checkout, folder)
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn refused(event: &str, line: &str, words: &str) {
    let (checkout, mark) = telltale();
    let ran = checkout.ran(event, line).exits(5).says(words);
    assert!(is_empty(mark.path()) && checkout.is_untouched(), "{event}: something was started");
    assert_eq!(checkout.output("exit-code").as_deref(), Some("5"), "{event}");
    assert!(checkout.summary().contains("gbench-ci measured nothing"), "{event}");
    let told = obeyed(&ran.out);
    assert!(told.len() == 1 && told[0].command == "error", "{event}: {told:?}");
}

#[test]
fn t1_a_forks_code_is_not_run() {
    for (event, words) in [
        ("pull_request.fork", "comes from the fork mallory/kernels"),
        ("pull_request.fork_deleted", "comes from a fork that is gone"),
        ("pull_request_review.fork", "comes from the fork mallory/kernels"),
    ] {
        refused(event, "ci", words);
    }
    // The proof that the suite would have left its mark.
    let (checkout, mark) = telltale();
    ended(checkout.step("pull_request.opened", "ci --quiet"));
    assert!(!is_empty(mark.path()) && !checkout.is_untouched());
}

#[test]
fn t1_who_lets_forks_in_marks_what_they_measure() {
    let checkout = Checkout::of_pull_request(&[("note", "x")]);
    checkout.ran("pull_request.fork", "ci --quiet --allow-forks").exits(0);
    assert!(checkout.job().fork);
    checkout.ran("pull_request.opened", "ci --quiet").exits(0);
    assert!(!checkout.job().fork);
}

#[test]
fn t2_nothing_is_measured_beside_the_repositorys_secrets() {
    for line in ["ci", "ci --allow-forks"] {
        refused("pull_request_target", line, "`pull_request_target` runs with the repository's secrets");
        for event in ["workflow_run.requested", "workflow_run.completed", "workflow_run.fork"] {
            refused(event, line, "`workflow_run` runs with the repository's secrets");
        }
    }
}

#[test]
fn t6_a_branchs_name_is_never_a_command() {
    let checkout = Checkout::of_pull_request(&[("work", &work(&[1.0, 1.1, 1.0]))]);
    let name = "$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned";
    checkout.sandbox.branch(name, checkout.head);
    let repository = &checkout.sandbox.repository;
    repository.reference(&format!("refs/remotes/origin/{name}"), checkout.base, true, "x").unwrap();
    let mut step = checkout.step("pull_request.hostile_branch", "ci");
    // Both ends of the pull request are called so.
    let event = checkout.sandbox.folder.path().join("event.json");
    let text = std::fs::read_to_string(&event).unwrap();
    std::fs::write(&event, text.replace("\"ref\": \"main\"", &format!("\"ref\": {name:?}"))).unwrap();
    step.env("GITHUB_HEAD_REF", name).env("GITHUB_BASE_REF", name);
    ended(step).exits(1).says("the merge base of $(touch${IFS}pwned)");
    ended(outside(&checkout.root(), "ci --quiet --base").tap(|command| command.arg(name))).exits(0);
    for file in walk(checkout.sandbox.folder.path()) {
        assert!(!file.ends_with("pwned"), "{}", file.display());
    }
}

/// A prepared command with one more thing done to it.
trait Tap: Sized {
    fn tap(self, change: impl FnOnce(&mut Self) -> &mut Self) -> Self;
}

impl Tap for std::process::Command {
    fn tap(mut self, change: impl FnOnce(&mut Self) -> &mut Self) -> Self {
        change(&mut self);
        self
    }
}

/// Every file of a checkout but for git's own.
fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            // A side's home is full of them.
            _ if path.is_symlink() => {}
            true if entry.file_name() == ".git" => {}
            true => found.extend(walk(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The runner obeyed these commands of a step and no other.
fn only_obeyed(ran: &Ran, ours: &[&str]) {
    for obeyed in obeyed(&ran.out) {
        assert!(ours.contains(&obeyed.command.as_str()), "{obeyed:?} in\n{}", ran.out);
        assert!(!obeyed.command.contains("pwned") && !obeyed.data.starts_with("pwned"), "{obeyed:?}");
    }
    // The runner reads both streams, in any order: nothing on this one may rely on being stopped.
    assert_eq!(obeyed(&ran.err), [], "{}", ran.err);
    assert!(!ran.err.contains("##["), "{}", ran.err);
}

#[test]
fn t7_neither_names_nor_output_become_commands() {
    let hostile = [
        "::error::pwned",
        "##[error]pwned",
        "a%0A::error::pwned",
        "::stop-commands::pwned",
        "::0123456789abcdef0123456789abcdef::",
        "\r::set-output name=verdict::pwned",
        "::add-mask::pass",
    ];
    // A control character in a value is refused by itself.
    let values = hostile.iter().filter(|text| !text.contains('\r'));
    let values: Vec<String> = values.map(|text| format!("{text:?}")).collect();
    let print: String = hostile.iter().map(|text| format!("echo '{text}'; echo '{text}' >&2; ")).collect();
    let print = print.replace('\r', "\\r");
    let text = format!(
        "[suite]\nname = \"s\"\ndescription = \"##[error]pwned\"\n[gate]\nwatch = false\n\
         [[benchmark]]\nid = \"a\"\ndescription = \"::error::pwned\"\nmatrix = {{ n = [{}] }}\n\
         shell = \"\"\"{print} exit 3\"\"\"\n",
        values.join(", ")
    );
    let checkout = Checkout::over(&[("gbench.toml", &text)], &[("note", "x")]);
    let ran = checkout.ran("pull_request.opened", "ci").exits(3);
    only_obeyed(&ran, &["error", "warning"]);
    assert!(ran.out.contains("pwned"), "what is said is still said:\n{}", ran.out);
    let annotations = obeyed(&ran.out);
    assert!(!annotations.is_empty() && annotations.len() <= 20, "{}", annotations.len());
    assert_eq!(checkout.output("verdict").as_deref(), Some("inconclusive"));
}

#[test]
fn t7_a_fault_that_quotes_the_suite_file_is_no_command() {
    let broken = "[suite]\nname = \"s\"\n##[error]pwned\nkey = ##[add-mask]pwned\n::error::pwned\n";
    let checkout = Checkout::of_pull_request(&[("gbench.toml", broken)]);
    let ran = checkout.ran("pull_request.opened", "ci").exits(2);
    only_obeyed(&ran, &["error"]);
    assert!(ran.err.contains("## [add-mask]pwned"), "{}", ran.err);
    assert_eq!(checkout.output("exit-code").as_deref(), Some("2"));
}

#[test]
fn t7_an_output_cannot_be_ended_by_what_stands_in_it() {
    let checkout = Checkout::of_pull_request(&[("note", "x")]);
    let mut step = checkout.step("pull_request.opened", "ci --quiet --artifacts");
    let name = "a\ngbench_0\nEOF\nverdict<<EOF\nregressed\nEOF\nx";
    step.arg(checkout.sandbox.folder.path().join(name));
    ended(step).exits(0);
    assert_eq!(checkout.output("verdict").as_deref(), Some("pass"));
    assert!(checkout.output("folder").unwrap().contains(name));
}

#[test]
fn t7_no_more_is_annotated_than_the_runner_takes() {
    let text = suite(15, "").replace("bench.sh", "nowhere.sh");
    let checkout = Checkout::over(&[("gbench.toml", &text)], &[("note", "x")]);
    let ran = checkout.ran("pull_request.opened", "ci --quiet").exits(3);
    let warnings = obeyed(&ran.out);
    assert_eq!(warnings.iter().filter(|obeyed| obeyed.command == "warning").count(), 10);
}

/// A suite that looks for tokens in its own environment and in that of processes, and writes down what it finds.
fn thief(keep: &str, dump: &Path, processes: &str) -> String {
    format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[defaults]\nkeep_env = [{keep}]\n[[benchmark]]\nid = \"a\"\n\
         build = {{ shell = \"env >> '{0}'\" }}\n\
         shell = \"\"\"env >> '{0}'; cat {processes} >> '{0}' 2>/dev/null; true\"\"\"\n",
        dump.display()
    )
}

const SECRET: &str = "ghs_thisIsTheTokenOfTheMeasuringStep";

#[test]
fn t10_benchmarks_find_no_token_where_the_step_has_none() {
    let folder = crate::support::tempdir().unwrap();
    let dump = folder.path().join("dump");
    // The supervisor and the gate; whoever else runs here meanwhile may have a token of its own.
    let parents = "/proc/$PPID/environ /proc/$(cut -d ' ' -f 4 /proc/$PPID/stat)/environ";
    let checkout = Checkout::over(&[("gbench.toml", &thief("", &dump, parents))], &[("note", "x")]);
    let ran = ended(checkout.step("pull_request.opened", "ci --rounds 4"));
    assert!(obeyed(&ran.out).iter().all(|obeyed| !obeyed.data.contains("token")), "{}", ran.out);
    let found = String::from_utf8_lossy(&std::fs::read(&dump).unwrap()).into_owned();
    assert!(found.contains("GITHUB_SHA="), "the dump is of the right processes");
    for name in ["GITHUB_TOKEN=", "GH_TOKEN=", "ACTIONS_RUNTIME_TOKEN="] {
        assert!(!found.split(['\0', '\n']).any(|line| line.starts_with(name)), "{name}");
    }
}

#[test]
fn t10_a_token_that_the_step_has_is_shed_before_anything_starts_and_warned_of() {
    let folder = crate::support::tempdir().unwrap();
    let dump = folder.path().join("dump");
    let names = [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "ACTIONS_RUNTIME_TOKEN",
        "GBENCH_TOKEN",
        "GITLAB_TOKEN",
        "GITEA_TOKEN",
        "FORGEJO_TOKEN",
        "GBENCH_WEBHOOK_SECRET",
    ];
    // A service gives these to every job: they are shed, and there is nothing to warn of.
    let of_every_job = [
        "BUILDKITE_AGENT_ACCESS_TOKEN",
        "CI_DEPENDENCY_PROXY_PASSWORD",
        "CI_JOB_TOKEN",
        "CI_REGISTRY_PASSWORD",
        "CI_REPOSITORY_URL",
    ];
    let all = names.iter().chain(&of_every_job).map(|name| format!("\"{name}\""));
    let keep = all.collect::<Vec<_>>().join(", ");
    let everybody = "/proc/[0-9]*/environ";
    let checkout = Checkout::over(&[("gbench.toml", &thief(&keep, &dump, everybody))], &[("note", "x")]);
    let step = checkout.step("pull_request.opened", "ci --rounds 4");
    let ran = ended(step.tap(|step| step.envs(of_every_job.map(|name| (name, SECRET)))));
    assert!(obeyed(&ran.out).iter().all(|it| !it.data.contains("token")), "{}", ran.out);
    for name in names {
        let step = checkout.step("pull_request.opened", "ci --rounds 4").tap(|step| step.env(name, SECRET));
        let ran = ended(step);
        let warned = obeyed(&ran.out).into_iter().filter(|obeyed| obeyed.command == "warning");
        let warned: Vec<_> = warned.filter(|obeyed| obeyed.data.contains(name)).collect();
        assert_eq!(warned.len(), 1, "{name}: {}", ran.out);
        assert!(!format!("{}{}", ran.out, ran.err).contains(SECRET));
    }
    let found = String::from_utf8_lossy(&std::fs::read(&dump).unwrap()).into_owned();
    assert!(found.contains("GITHUB_SHA=") && !found.contains(SECRET));
    for file in walk(checkout.sandbox.folder.path()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", file.display());
    }
    // On a laptop, too, where it is no annotation.
    let ran = ended(outside(&checkout.root(), "ci --rounds 4").tap(|step| step.env("GH_TOKEN", SECRET)));
    assert!(ran.err.contains("warning: GH_TOKEN is in the environment") && !ran.out.contains("::warning"));
    let found = String::from_utf8_lossy(&std::fs::read(&dump).unwrap()).into_owned();
    assert!(!found.contains(SECRET));
}

#[test]
fn t10_a_checkout_that_keeps_its_token_is_warned_of() {
    let checkout = Checkout::of_pull_request(&[("note", "x")]);
    let ran = checkout.ran("pull_request.opened", "ci --quiet").exits(0);
    assert!(!ran.out.contains("persist-credentials"));
    let mut config = checkout.sandbox.repository.config().unwrap();
    config.set_str("http.https://github.com/.extraheader", "AUTHORIZATION: basic eDp5").unwrap();
    let ran = checkout.ran("pull_request.opened", "ci --quiet").exits(0);
    let warned: Vec<_> = obeyed(&ran.out).into_iter().filter(|told| told.command == "warning").collect();
    assert!(warned.len() == 1 && warned[0].data.contains("persist-credentials: false"), "{warned:?}");
    assert!(!ran.out.contains("eDp5"));
}

#[test]
fn t16_a_pull_request_cannot_loosen_its_own_gate() {
    let plain = suite(3, "");
    let rule = "[[gate.rule]]\ntarget = \"90%\"\nmin_effect = \"90%\"\n\n[[benchmark]]";
    let metric = "[metrics.time]\ngate = false\n\n[[benchmark]]";
    let gate = "threshold = \"90%\"\nalpha = 1e-30\nalpha_improved = 1e-30\nrounds = 4\nbudget = \"1ms\"\n\
                controls = 0\nfailed = \"pass\"\ninconclusive = \"pass\"\n";
    let loosened = [
        ("gate", suite(3, gate)),
        ("rule", plain.replacen("[[benchmark]]", rule, 1)),
        ("metric", plain.replacen("[[benchmark]]", metric, 1)),
        ("own threshold", plain.replace("command =", "threshold = \"90%\"\ncommand =")),
    ];
    for (name, text) in loosened {
        let changed = [("gbench.toml", text.as_str()), ("work", &work(&[1.0, 1.1, 1.0]))];
        let checkout = Checkout::of_pull_request(&changed);
        let ran = checkout.ran("pull_request.synchronize", "ci --quiet").exits(1).says("s/c1");
        let document = checkout.verdict();
        let counted = (document.counts[&Verdict::Regressed], document.method.alpha);
        assert_eq!(counted, (1, 0.01), "{name}: {}", ran.out);
        let rounds = document.method.rounds.unwrap();
        assert_eq!((rounds.most_rounds, document.method.failed_fails), (40, true), "{name}");
    }
    // What no gate knows is a mistake in the head's file, and no green either.
    let checkout = Checkout::of_pull_request(&[("gbench.toml", &suite(3, "failed = \"ignore\"\n"))]);
    checkout.ran("pull_request.synchronize", "ci --quiet").exits(2).says("`failed` cannot be `ignore`");
}

#[test]
fn n17_nothing_that_a_benchmark_or_its_author_writes_turns_the_log_around() {
    let hidden = |text: &str| {
        text.chars()
            .any(|c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    let failing = "printf 'a\u{202e}b\u{2066}' >&2; exit 3";
    let text = format!(
        "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\ndescription = \"x\u{202e}y\"\nshell = \"{failing}\"\n"
    );
    let checkout = Checkout::over(&[("gbench.toml", &text)], &[("note", "x")]);
    let ran = checkout.ran("pull_request.opened", "ci --rounds 4").exits(3);
    assert!(ran.out.contains("\\u{202e}"), "what it wrote is shown: {}", ran.out);
    for text in [&ran.out, &ran.err, &checkout.summary()] {
        assert!(!hidden(text), "{text}");
    }
    // A mistake in the file is quoted in the error, in the annotation and in the summary.
    let wrong = text.replace("shell", "sh\u{202e}ell");
    let checkout = Checkout::over(&[("gbench.toml", &wrong)], &[("note", "x")]);
    let ran = checkout.ran("pull_request.opened", "ci --quiet").exits(2);
    for text in [&ran.out, &ran.err, &checkout.summary()] {
        assert!(!hidden(text), "{text}");
    }
}
