//! `gbench-ci init --github`: the workflows that let the gate answer on pull requests and every night.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::action::ActionRef;
use super::machines::{USUAL_LABELS, own_labels, parts, runner_labels};
use super::next::{self, Circumstances};
use super::template::{Facts, Forks, workflows};
use super::{linter, shown_from_here};
use crate::cli::terminal::write::wrote;
use crate::machine::open_repository;
use crate::model::{Exit, Fault, Result, Shard};
use crate::report::paragraph;

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
    /// Measure on several machines: a name for each, and the labels of its runner, h100=self-hosted,gpu,h100
    #[arg(long = "machine", value_name = "NAME=LABELS", requires = "github", num_args = 1.., conflicts_with = "runner")]
    pub machines: Vec<String>,
}

/// Where the workflows go, and all that they say; nothing has been written yet.
pub struct Setup {
    root: PathBuf,
    /// The suite file lies below the root, and not in it.
    is_below: bool,
    facts: Facts,
    files: Vec<(&'static str, String)>,
    circumstances: Circumstances,
    force: bool,
}

impl Setup {
    /// `suite` is the suite file, in a folder that exists. Refuses to overwrite unless `force`.
    pub fn prepare(args: &GithubArgs, suite: &Path, folder: &Path, force: bool) -> Result<Self> {
        let action = ActionRef::choose(args.action.as_deref())?;
        let assumed = args.runner.is_none() && args.machines.is_empty();
        let runner = match (&args.runner, assumed) {
            (Some(labels), _) => runner_labels(labels)?,
            (None, true) => runner_labels(&asked()?)?,
            (None, false) => Vec::new(),
        };
        let parts = parts(&runner, &args.machines, args.shards)?;
        let (root, in_git) = repository(folder);
        let suite = path_in(&root, folder, suite)?;
        let facts = Facts { action, suite, forks: args.forks, parts };
        let files = workflows(&facts);
        let is_below = root != folder;
        let setup =
            Self { root, is_below, facts, files, circumstances: Circumstances { assumed, in_git }, force };
        setup.check_places()?;
        Ok(setup)
    }

    fn check_places(&self) -> Result<()> {
        for (path, text) in &self.files {
            let place = self.root.join(path);
            let differs = |there: Vec<u8>| there != text.as_bytes();
            if !self.force && std::fs::read(&place).is_ok_and(differs) {
                let next = "read what differs, or overwrite it with `gbench-ci init --github --force`";
                return Err(Fault::at_path(
                    shown_from_here(&place),
                    "the file is there already, and init overwrites nothing",
                    next,
                ));
            }
        }
        Ok(())
    }

    /// Writes the workflows, and the linter's file.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        if self.is_below {
            let words = format!(
                "The workflows go to the repository's root, {}, and name the suite file as `{}`.",
                shown_from_here(&self.root),
                self.facts.suite
            );
            wrote(out.write_all(paragraph("", &words).as_bytes()))?;
        }
        for (path, text) in &self.files {
            let place = self.root.join(path);
            put(&place, text)?;
            wrote(writeln!(out, "wrote {}", shown_from_here(&place)))?;
        }
        let labels = own_labels(&self.facts.parts);
        if labels.is_empty() { Ok(()) } else { self.write_for_linter(&labels, out) }
    }

    /// A file that is there is its owner's: `--force` adds the labels that it lacks, and touches nothing else.
    fn write_for_linter(&self, labels: &[String], out: &mut impl Write) -> Result<()> {
        let place = self.root.join(linter::PATH);
        let shown = shown_from_here(&place);
        if !place.exists() {
            put(&place, &linter::fresh(labels))?;
            return wrote(writeln!(out, "wrote {shown}"));
        }
        let there = std::fs::read_to_string(&place).map_err(|error| {
            Fault::at_path(&shown, format!("cannot be read: {error}"), "make it readable, or take it away")
        })?;
        let missing = linter::missing(&there, labels);
        if missing.is_empty() {
            return wrote(writeln!(out, "kept  {shown}: it lists the labels already"));
        }
        let new = missing.join(", ");
        match linter::merged(&there, labels).filter(|_| self.force) {
            Some(text) => {
                put(&place, &text)?;
                wrote(writeln!(out, "wrote {shown}: added {new}"))
            }
            None => wrote(writeln!(out, "kept  {shown}: it should list the labels {new}, too")),
        }
    }

    /// What was assumed, and what is left to do.
    pub fn say_next(&self, out: &mut impl Write) -> Result<()> {
        wrote(out.write_all(next::words(&self.facts, &self.circumstances).as_bytes()))
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

/// The repository's root, and whether there is one; else the folder itself.
fn repository(folder: &Path) -> (PathBuf, bool) {
    let root = open_repository(folder).ok().and_then(|it| it.workdir().map(Path::to_owned));
    match root {
        Some(root) => (root.canonicalize().unwrap_or(root), true),
        None => (folder.to_owned(), false),
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
            .caused_by(&error)
    })
}
