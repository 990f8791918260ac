//! Which suite the sides of a comparison of two commits are measured with: each side's own file, or one for both.
//!
//! Who judges is another question: the base's own file wherever it has one, so that a change cannot loosen its gate. One
//! file for both is for a person, who asks for it or has commits that hold none; `ci` knows nothing of it.

use std::path::{Path, PathBuf};

use super::resume::Resumed;
use crate::app::request::{Audience, CommitsRequest, RoundsRequest, absolute_suite};
use crate::model::{CommonSuite, Exit, Fault, Judge, Result, RunTimes, Sandbox, SandboxState, sha256_hex};
use crate::store::ComparisonFolder;
use crate::suite::{Benchmark, FILE_NAME, Gate, Registry, RunOptions, SideTree, Source, Suite};
use crate::supervise::landlock_version;
use crate::trees::{self, Sides, Tree};

pub(crate) struct SideSuites<'a> {
    request: &'a CommitsRequest,
    builtins: &'a [Benchmark],
    /// The suite file as the user sees it: where each side has its own, its counterpart in each tree.
    config: PathBuf,
    common: Option<Common>,
}

struct Common {
    text: String,
    /// Where it lies in the checkout; its counterpart in each tree is where its relative paths begin.
    at: PathBuf,
    /// As reports name it.
    shown: String,
    /// The file of a resumed comparison as it was when the comparison began.
    before: Option<CommonSuite>,
}

/// Puts what the sides start into sandboxes, as the gate has it: each writes to its own tree, home and caches alone. Where
/// the kernel keeps no sandbox, the trees of the sides before are watched while a side runs. `times`: when the sides behind
/// the first one run. Errors: the disk.
pub(crate) fn confine(
    gate: &Gate,
    sides: &mut [(&mut Suite, &Tree)],
    times: &RunTimes,
) -> Result<SandboxState> {
    if !gate.sandbox.value {
        return Ok(SandboxState::Off);
    }
    let version = landlock_version();
    let mut sandboxes: Vec<Sandbox> =
        sides.iter().map(|(_, tree)| trees::sandbox(tree)).collect::<Result<_>>()?;
    let own: Vec<Vec<PathBuf>> = sandboxes.iter().map(|sandbox| sandbox.writable.clone()).collect();
    for (side, sandbox) in sandboxes.iter_mut().enumerate() {
        let before = own[..side].concat();
        sandbox.kept = version.is_some();
        if sandbox.kept {
            sandbox.hidden = [before, own[side + 1..].concat()].concat();
        } else {
            sandbox.watched = before;
        }
        sandbox.times = (side > 0).then(|| times.clone());
        // Links are followed once, before anything runs.
        let places = gate.writable.value.iter().filter_map(|path| path.canonicalize().ok());
        places.for_each(|path| sandbox.allow(&path));
    }
    for ((suite, _), sandbox) in sides.iter_mut().zip(sandboxes) {
        for benchmark in &mut suite.benchmarks {
            let own_temp = !benchmark.env.contains_key("TMPDIR");
            benchmark.sandbox = Some(Sandbox { own_temp, ..sandbox.clone() });
        }
    }
    Ok(version.map_or(SandboxState::Unsupported, SandboxState::Landlock))
}

impl<'a> SideSuites<'a> {
    /// Also gives the suite that defines where artifacts and trees lie. Errors: the file is not there, or wrong.
    pub(crate) fn new(request: &'a CommitsRequest, builtins: &'a [Benchmark]) -> Result<(Self, Suite)> {
        let config = request.run.selection.suite_path()?;
        let Some(file) = &request.suite_file else {
            // A comparison that is resumed may keep its own suite file.
            let keeps_own = request.resume.is_some() && config.symlink_metadata().is_err();
            let here = if keeps_own { unwritten(&config) } else { Suite::load_side(&config, builtins)? };
            return Ok((Self { request, builtins, config, common: None }, here));
        };
        let text = Suite::text_of(file)?;
        // Mistakes in it are named by the path that the user gave.
        let run = Suite::parse(file, &text, builtins)?.run;
        let here = Suite { run, ..unwritten(&config) };
        let common =
            Common { text, at: absolute_suite(file)?, shown: file.display().to_string(), before: None };
        Ok((Self { request, builtins, config, common: Some(common) }, here))
    }

    pub(crate) fn rounds(&self) -> &RoundsRequest {
        &self.request.rounds
    }

    /// Takes over the suite file of a resumed comparison. Errors: the request names another, or the stored one was edited.
    pub(crate) fn go_on(&mut self, resumed: &Resumed) -> Result<()> {
        let flag = "--suite-file";
        let next = "take the flag out, or begin a new comparison";
        let Some(before) = &resumed.comparison.suite_file else {
            let what = "the comparison was begun with each side's own suite file";
            return self.common.as_ref().map_or(Ok(()), |_| Err(Fault::at_flag(flag, what, next)));
        };
        if self.common.as_ref().is_some_and(|common| sha256_hex(common.text.as_bytes()) != before.sha256) {
            let what = format!("the comparison was begun with another text of {}", before.path);
            return Err(Fault::at_flag(flag, what, next));
        }
        let (text, path) = resumed.folder.kept_suite()?;
        if sha256_hex(text.as_bytes()) != before.sha256 {
            let what = "this is not the suite file that the comparison was begun with: it was edited";
            let next = "put its text back, or begin a new comparison: `gbench-ci compare BASE..HEAD`";
            return Err(Fault::at_path(path, what, next).exits(Exit::Failed));
        }
        let (at, shown) = (self.config.clone(), before.path.clone());
        self.common = Some(Common { text, at, shown, before: Some(before.clone()) });
        Ok(())
    }

    /// For a person, commits without a suite file are measured with the checkout's, and so is a base without one against
    /// the working tree, which has that very file. A job has no such choice: its head would choose its own gate.
    pub(crate) fn settle(&mut self, trees: [&Tree; 2], sides: &Sides, audience: Audience) -> Result<()> {
        let is_settled = self.common.is_some() || self.request.resume.is_some();
        if is_settled || audience != Audience::Person || in_a_job() {
            return Ok(());
        }
        let has_one =
            |tree: &Tree| tree.path_of(&self.config).is_none_or(|path| path.symlink_metadata().is_ok());
        let [base, head] = trees.map(has_one);
        if !base && (!head || sides.head.is_working_tree) {
            let text = Suite::text_of(&self.config)?;
            let shown = self.request.run.selection.suite_file().display().to_string();
            self.common = Some(Common { text, at: self.config.clone(), shown, before: None });
        }
        Ok(())
    }

    /// Takes one suite file for all of many commits: the one of a bisection that continues, else the one that the request
    /// names, else the tree's own, else the checkout's. Gives how the user calls it, and its text.
    pub(crate) fn settle_on(
        &mut self,
        tree: &Tree,
        kept: Option<(String, String)>,
    ) -> Result<(String, String)> {
        let (shown, text) = match (kept, &self.common) {
            (Some(kept), _) => kept,
            (None, Some(common)) => (common.shown.clone(), common.text.clone()),
            (None, None) => {
                let shown = self.request.run.selection.suite_file().display().to_string();
                let own = self.own(tree).unwrap_or_else(|| self.config.clone());
                (shown, Suite::text_of(&own)?)
            }
        };
        let at = self.common.take().map_or_else(|| self.config.clone(), |common| common.at);
        self.common = Some(Common { text: text.clone(), at, shown: shown.clone(), before: None });
        Ok((shown, text))
    }

    /// The common suite file, as the records of both sides have it. Errors: a folder that no record can name.
    pub(crate) fn of_comparison(&self, base: &Tree) -> Result<Option<CommonSuite>> {
        let Some(common) = &self.common else { return Ok(None) };
        if let Some(before) = &common.before {
            return Ok(Some(before.clone()));
        }
        let place = self.place_of(common, base)?;
        let folder = place.parent().and_then(|folder| folder.strip_prefix(base.root()).ok());
        let Some(folder) = folder.and_then(Path::to_str) else {
            let what = "the folder's name is not UTF-8, so that no record can name it";
            return Err(Fault::at_path(&common.at, what, "give the folder another name"));
        };
        Ok(Some(CommonSuite {
            path: common.shown.clone(),
            sha256: sha256_hex(common.text.as_bytes()),
            folder: folder.to_owned(),
            judge: if self.own(base).is_some() { Judge::Base } else { Judge::Common },
        }))
    }

    /// Keeps the text of the one file with the comparison.
    pub(crate) fn keep(&self, folder: &ComparisonFolder) -> Result<()> {
        self.common.as_ref().map_or(Ok(()), |common| folder.keep_suite(&common.text))
    }

    /// The selected suite of one tree. `other`: the head's, which selects the base's: a benchmark that the base does not
    /// have yet is not a mistake. `audience`: the reader of the fault where a side has no suite at all.
    pub(crate) fn of(&self, tree: &Tree, audience: Audience, other: Option<&Suite>) -> Result<Suite> {
        let loaded = match &self.common {
            Some(common) => {
                let mut suite = Suite::parse(&self.place_of(common, tree)?, &common.text, self.builtins)?;
                suite.find_files();
                if let Source::File { path, .. } = &mut suite.source {
                    *path = PathBuf::from(&common.shown);
                }
                suite
            }
            None => self.own_or_refused(tree, audience, other.is_some())?,
        };
        let mut loaded = loaded;
        if let Some(head) = other {
            loaded.follow_renames(head);
        }
        let mut suite = self.request.run.configured(self.selected(loaded, other)?)?;
        if let Some(checkout) = tree.checkout() {
            let of_side = SideTree { own: tree.root().to_owned(), checkout: checkout.to_owned() };
            suite.benchmarks.iter_mut().for_each(|benchmark| benchmark.keep_to(&of_side));
        }
        for (name, value) in trees::side_environment(tree) {
            for benchmark in &mut suite.benchmarks {
                benchmark.env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        Ok(suite)
    }

    /// The gate by which `base` is judged, which is the base's own wherever it has one. Its limits for the benchmarks that
    /// it knows are then laid over those of the one file.
    pub(crate) fn gate(&self, tree: &Tree, base: &mut Suite) -> Result<Gate> {
        let Some(own) = self.own(tree).filter(|_| self.common.is_some()) else {
            return Ok(base.gate.clone());
        };
        let mut own = Suite::load_side(&own, self.builtins)?;
        self.request.run.settings.apply(&mut own)?;
        for benchmark in &mut base.benchmarks {
            let Some(judge) = own.benchmarks.iter().find(|judge| judge.id == benchmark.id) else { continue };
            benchmark.metrics = judge.metrics.clone();
            let (settings, said) = (&mut benchmark.settings, &judge.settings);
            settings.threshold = said.threshold.clone();
            settings.target = said.target.clone();
            settings.min_effect = said.min_effect.clone();
        }
        Ok(own.gate)
    }

    /// The counterpart of the one file in a tree; of a file outside of the repository, that of the current folder's.
    fn place_of(&self, common: &Common, tree: &Tree) -> Result<PathBuf> {
        if let Some(before) = &common.before {
            let name = Path::new(&before.path).file_name().unwrap_or(FILE_NAME.as_ref());
            let place = Path::new(&before.folder).join(name);
            return tree.path_of(&place).filter(|_| place.is_relative()).ok_or_else(|| outside(&place));
        }
        tree.path_of(&common.at).or_else(|| tree.path_of(&self.config)).ok_or_else(|| outside(&self.config))
    }

    fn own(&self, tree: &Tree) -> Option<PathBuf> {
        tree.path_of(&self.config).filter(|path| path.symlink_metadata().is_ok())
    }

    fn own_or_refused(&self, tree: &Tree, audience: Audience, is_base: bool) -> Result<Suite> {
        let path = tree.path_of(&self.config).ok_or_else(|| outside(&self.config))?;
        if path.exists() {
            return Suite::load_side(&path, self.builtins);
        }
        let name = self.config.file_name().unwrap_or_default().to_string_lossy();
        Err(if is_base { no_suite_yet(&name, audience) } else { no_suite_in_head(&name, audience) })
    }

    fn selected(&self, loaded: Suite, other: Option<&Suite>) -> Result<Suite> {
        let everything = loaded.clone();
        let selected =
            Registry::new(Some(loaded), self.builtins).select(&self.request.run.selection.selection);
        match (selected, other) {
            (Ok(suite), _) => Ok(suite),
            (Err(fault), None) => Err(fault),
            // A name that only the head knows: of the base take what the head has chosen, as far as it is there.
            (Err(_), Some(head)) => {
                let chosen =
                    |benchmark: &Benchmark| head.benchmarks.iter().any(|other| other.id == benchmark.id);
                let benchmarks =
                    everything.benchmarks.iter().filter(|benchmark| chosen(benchmark)).cloned().collect();
                Ok(Suite { benchmarks, ..everything })
            }
        }
    }
}

fn unwritten(path: &Path) -> Suite {
    let source = Source::File { path: path.to_owned(), sha256: String::new() };
    Suite { run: RunOptions::default(), ..Suite::new("suite", source, Vec::new()) }
}

fn in_a_job() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
        || std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

fn outside(config: &Path) -> Fault {
    let what = "the suite file lies outside of the repository, so that no commit holds it";
    let next = "measure both sides with it: `--suite-file FILE`; or move it into the repository";
    Fault::at_path(config, what, next)
}

fn no_suite_in_head(name: &str, audience: Audience) -> Fault {
    let next = if audience == Audience::Person {
        format!("measure both sides with one suite file: `--suite-file {name}`")
    } else {
        "commit the suite file; `gbench-ci init` writes a first one".into()
    };
    Fault::at(format!("{name} of the head"), "the head has no suite file: nothing says what to measure", next)
}

fn no_suite_yet(name: &str, audience: Audience) -> Fault {
    let (so, next) = match audience {
        Audience::PullRequest => (
            "this pull request cannot be compared",
            "merge it, and the next pull request is compared with it".to_owned(),
        ),
        Audience::Job => (
            "there is nothing to compare with",
            "once the suite file is in the base, the next run is compared with it; or choose a later one with `--base`"
                .to_owned(),
        ),
        Audience::Person => (
            "there is nothing to compare with",
            format!(
                "measure both sides with one suite file: `--suite-file {name}`; or choose a later base, or measure the \
                 head alone: `gbench-ci run`"
            ),
        ),
    };
    let what = format!("the base has no suite file yet, so that {so}");
    Fault::at(format!("{name} of the base"), what, next).exits(Exit::Failed)
}
