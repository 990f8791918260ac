//! `gbench-ci init --github`: the workflows that let the gate answer on pull requests and every night.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::action::ActionRef;
use super::machines::{USUAL_LABELS, own_labels, parts, runner_labels};
use super::template::{Facts, Forks, workflows};
use crate::cli::output::wrote;
use crate::machine::open_repository;
use crate::model::{Exit, Fault, Result, Shard};

const LINTER_FILE: &str = ".github/actionlint.yaml";

#[derive(clap::Args, Clone, Debug, Default)]
pub struct GithubArgs {
    /// Write workflows for GitHub Actions, too: pull requests, their report, a nightly run
    #[arg(long)]
    pub github: bool,
    /// Labels of the runner that measures, with commas between; asked for on a terminal
    #[arg(long, value_name = "LABELS", requires = "github")]
    pub runner: Option<String>,
    /// The gbench-ci action, by its full commit: OWNER/REPO@SHA, or 'OWNER/REPO@SHA # v1.2.3'
    #[arg(long, value_name = "ACTION", requires = "github")]
    pub action: Option<String>,
    /// What to do with pull requests of forks
    #[arg(long, value_enum, default_value = "refuse", requires = "github")]
    pub forks: Forks,
    /// Measure in so many jobs, each a part of the suite
    #[arg(long, value_name = "N", requires = "github", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=Shard::MOST as i64))]
    pub shards: u32,
    /// Measure on several machines: a name, and the labels of its runner
    #[arg(long, value_name = "NAME=LABELS", requires = "github", num_args = 1.., conflicts_with = "runner")]
    pub gpus: Vec<String>,
}

/// Where the workflows go, and all that they say; nothing has been written yet.
pub struct Setup {
    root: PathBuf,
    in_git: bool,
    facts: Facts,
    files: Vec<(&'static str, String)>,
    assumed: bool,
}

impl Setup {
    /// `suite` is the suite file, in a folder that exists. Refuses to overwrite unless `force`.
    pub fn prepare(args: &GithubArgs, suite: &Path, folder: &Path, force: bool) -> Result<Self> {
        let action = ActionRef::choose(args.action.as_deref())?;
        let assumed = args.runner.is_none() && args.gpus.is_empty();
        let runner = match (&args.runner, assumed) {
            (Some(labels), _) => runner_labels(labels)?,
            (None, true) => runner_labels(&asked()?)?,
            (None, false) => Vec::new(),
        };
        let parts = parts(&runner, &args.gpus, args.shards)?;
        let (root, branch, in_git) = repository(folder);
        let suite = path_in(&root, folder, suite)?;
        let facts = Facts { action, suite, branch: checked_branch(branch)?, forks: args.forks, parts };
        let files = workflows(&facts);
        let setup = Self { root, in_git, facts, files, assumed };
        setup.check_places(force)?;
        Ok(setup)
    }

    fn check_places(&self, force: bool) -> Result<()> {
        for (path, text) in &self.files {
            let place = self.root.join(path);
            let differs = |there: Vec<u8>| there != text.as_bytes();
            if !force && std::fs::read(&place).is_ok_and(differs) {
                let next = "read what differs, or overwrite it with `gbench-ci init --github --force`";
                return Err(Fault::at_path(
                    place,
                    "the file is there already, and init overwrites nothing",
                    next,
                ));
            }
        }
        Ok(())
    }

    /// Writes the workflows, and the linter's file if there is none.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        for (path, text) in &self.files {
            put(&self.root.join(path), text)?;
            wrote(writeln!(out, "wrote {path}"))?;
        }
        let labels = own_labels(&self.facts.parts);
        if labels.is_empty() {
            return Ok(());
        }
        let linter = self.root.join(LINTER_FILE);
        if linter.exists() {
            return wrote(writeln!(
                out,
                "kept  {LINTER_FILE}: it should list the labels {}",
                labels.join(", ")
            ));
        }
        let list: String = labels.iter().map(|label| format!("    - \"{label}\"\n")).collect();
        let text = format!(
            "# Labels of our own runners, so that actionlint knows them.\nself-hosted-runner:\n  labels:\n{list}"
        );
        put(&linter, &text)?;
        wrote(writeln!(out, "wrote {LINTER_FILE}"))
    }

    /// What was assumed, and what is left to do.
    pub fn say_next(&self, out: &mut impl Write) -> Result<()> {
        let mut text = String::new();
        let labels = |part: &super::machines::Part| part.runner.join(", ");
        if self.assumed {
            text += &format!(
                "\nThe runner's labels were not given: `{USUAL_LABELS}` it is (`--runner LABELS` for others).\n"
            );
        }
        if self.facts.action == ActionRef::Here {
            text += "\nNo report was written: it runs with the right to write, so it may not check out the action from here.\n";
        }
        if !self.in_git {
            text +=
                "\nThis is no git repository yet: the workflows belong in the root of one (`git init`).\n";
        }
        text += &format!("\nNext, for the default branch `{}`:\n", self.facts.branch);
        let mut runners: Vec<String> = self.facts.parts.iter().map(labels).collect();
        runners.dedup();
        for runner in runners {
            text += &match runner.contains("self-hosted") {
                true => {
                    format!("  1. register a runner with the labels {runner}: Settings, Actions, Runners\n")
                }
                false => format!(
                    "  1. a runner with the label {runner} has to be there: Settings, Actions, Runners\n"
                ),
            };
        }
        text += "  2. commit these files and push them to the default branch: the report and the nightly run start only there\n";
        text += "  3. open a pull request; or start `gbench-ci nightly` by hand, under Actions\n";
        text += "  4. once it has answered, require the check `gbench-ci`: Settings, Rules, Rulesets\n";
        if self.facts.forks == Forks::Allow {
            text += "\nPull requests of forks will run their code on your runner: use one that is thrown away after each job.\n";
        }
        wrote(out.write_all(text.as_bytes()))
    }
}

/// The labels that somebody at a terminal types; the usual ones where nobody is there.
fn asked() -> Result<String> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(USUAL_LABELS.into());
    }
    let mut line = String::new();
    let mut err = std::io::stderr();
    let typed = write!(err, "Labels of the runner that measures [{USUAL_LABELS}]: ")
        .and_then(|()| err.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut line));
    typed.map_err(|error| {
        Fault::at(
            "the terminal",
            format!("cannot be read: {error}"),
            "give the labels with `--runner LABELS`",
        )
    })?;
    Ok(match line.trim() {
        "" => USUAL_LABELS.into(),
        labels => labels.to_owned(),
    })
}

/// The repository's root and default branch; the folder itself where there is none.
fn repository(folder: &Path) -> (PathBuf, String, bool) {
    let found = open_repository(folder).ok();
    let Some((repository, root)) =
        found.and_then(|it| it.workdir().map(Path::to_owned).map(|root| (it, root)))
    else {
        return (folder.to_owned(), "main".into(), false);
    };
    let target = |name: &str, prefix: &str| {
        let reference = repository.find_reference(name).ok()?;
        let target = reference.symbolic_target().ok().flatten()?;
        target.strip_prefix(prefix).map(str::to_owned)
    };
    let branch = target("refs/remotes/origin/HEAD", "refs/remotes/origin/")
        .or_else(|| repository.find_branch("main", git2::BranchType::Local).ok().map(|_| "main".to_owned()))
        .or_else(|| target("HEAD", "refs/heads/"))
        .unwrap_or_else(|| "main".into());
    (root.canonicalize().unwrap_or(root), branch, true)
}

/// A branch's name ends up within a quoted text of an expression.
fn checked_branch(branch: String) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+".contains(c);
    match branch.chars().all(plain) {
        true => Ok(branch),
        false => Err(Fault::at(
            format!("branch {}", branch.escape_debug()),
            "the default branch has a name that a workflow cannot quote safely",
            "rename it to letters, digits, `.`, `_`, `/`, `+` and `-`",
        )),
    }
}

fn path_in(root: &Path, folder: &Path, suite: &Path) -> Result<String> {
    let name = suite.file_name().map(Path::new).unwrap_or(suite);
    let inside = folder.strip_prefix(root).unwrap_or(Path::new("")).join(name);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+".contains(c);
    match inside.to_str().filter(|text| text.chars().all(plain) && text.starts_with(char::is_alphanumeric)) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Fault::at_path(
            suite,
            "a workflow cannot name this path safely",
            "use a path of letters, digits, `.`, `_`, `/`, `+` and `-`",
        )),
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text)).map_err(|error| {
        Fault::at_path(path, format!("cannot be written: {error}"), "make the place writable")
            .exits(Exit::Usage)
    })
}
