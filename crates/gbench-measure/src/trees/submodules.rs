//! Submodules, offline: each is a work tree of the repository that the user's own checkout keeps for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{Config, ErrorCode, Oid, Repository};

use super::checkout::{self, TreeState};
use super::files;
use super::link::RootKind;
use super::overlay::GITLINK;
use gbench_host::machine;
use gbench_model::{Fault, Result};

#[derive(Debug)]
pub(super) struct Submodule {
    /// Its path relative to its parent's root.
    pub path: PathBuf,
    commit: Oid,
    /// From `.gitmodules`; without an entry the folder stays empty, as in git.
    name: Option<String>,
}

/// The submodules in the index of `source`, with names from the `.gitmodules` of `tree`.
pub(super) fn list(
    source: &Repository,
    tree: &Repository,
) -> std::result::Result<Vec<Submodule>, git2::Error> {
    let mut found: Vec<_> = source
        .index()?
        .iter()
        .filter(|entry| entry.mode == GITLINK)
        .map(|entry| (PathBuf::from(OsStr::from_bytes(&entry.path)), entry.id))
        .collect();
    found.dedup();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let names = names(tree);
    let name = |path: &Path| names.iter().find(|(_, at)| Path::new(at) == path).map(|(name, _)| name.clone());
    Ok(found.into_iter().map(|(path, commit)| Submodule { name: name(&path), path, commit }).collect())
}

/// Name and path of every entry in `.gitmodules`. A name that leads out of `.git/modules` is ignored, as in git.
fn names(tree: &Repository) -> Vec<(String, String)> {
    let entries = || -> std::result::Result<Vec<(String, String)>, git2::Error> {
        let root = tree.workdir().ok_or_else(|| git2::Error::from_str("no work tree"))?;
        let config = Config::open(&root.join(".gitmodules"))?;
        let mut found = Vec::new();
        config.entries(Some(r"^submodule\..*\.path$"))?.for_each(|entry| {
            let name =
                entry.name().ok().and_then(|name| name.strip_prefix("submodule.")?.strip_suffix(".path"));
            if let (Some(name), Ok(path)) = (name, entry.value()) {
                found.push((name.to_owned(), path.to_owned()));
            }
        })?;
        Ok(found)
    };
    let is_inside =
        |name: &str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    entries().unwrap_or_default().into_iter().filter(|(name, _)| is_inside(name)).collect()
}

impl Submodule {
    /// Fills the submodule's folder in the tree at `at`. `origin`: the user's repository that the tree belongs to.
    /// `as_it_stands`: as checked out by the user, with changes; otherwise at the recorded commit.
    ///
    /// Errors: its repository, or the commit, is not in this clone.
    pub(super) fn fill(
        &self,
        origin: &Repository,
        as_it_stands: bool,
        at: &Path,
        within: &Path,
    ) -> Result<()> {
        let shown = within.join(&self.path);
        let fault =
            |what: String, next: String| Fault::at(format!("submodule `{}`", shown.display()), what, next);
        files::make_parents(at, &self.path).map_err(|error| {
            let next = "give a writable folder with enough space";
            Fault::of_io(at.join(&self.path), "its folder cannot be made", &error, next)
        })?;
        let to = at.join(&self.path);
        let own = origin.workdir().map(|root| root.join(&self.path)).filter(|own| own.join(".git").exists());
        if let (true, Some(own)) = (as_it_stands, &own) {
            let opened = machine::open_repository(own).and_then(|module| {
                let head = module.head()?.peel_to_commit()?.id();
                Ok((module, head))
            });
            let (module, head) = opened.map_err(|error| {
                fault(
                    format!("cannot be read: {}", error.message()),
                    "see whether `git status` works in it".into(),
                )
            })?;
            return checkout::fill(&module, TreeState::AsItStands(head), &to, RootKind::Ours, &shown);
        }
        let Some(name) = self.name.as_deref().filter(|name| !is_unwanted(origin, name)) else {
            return Ok(());
        };
        let kept = [origin.path(), origin.commondir()].map(|git| git.join("modules").join(name));
        let kept = kept.iter().find_map(|path| Repository::open_bare(path).ok());
        let module = kept.or_else(|| machine::open_repository(&own?).ok());
        let update = format!("git submodule update --init {}", self.path.display());
        let module = module.ok_or_else(|| {
            fault(
                "is not in this clone".into(),
                format!(
                    "run `{update}`; if no benchmark needs it, `git config submodule.{name}.update none`"
                ),
            )
        })?;
        match module.find_commit(self.commit) {
            Ok(_) => checkout::fill(&module, TreeState::Commit(self.commit), &to, RootKind::Ours, &shown),
            Err(error) if error.code() == ErrorCode::NotFound => Err(fault(
                format!("its commit {} is not in this clone", self.commit),
                format!("run `{update}`, or for an older commit `git -C {} fetch`", self.path.display()),
            )),
            Err(error) => {
                Err(fault(format!("cannot be read: {}", error.message()), format!("run `{update}`")))
            }
        }
    }
}

fn is_unwanted(origin: &Repository, name: &str) -> bool {
    let Ok(config) = origin.config() else { return false };
    let none = config.get_string(&format!("submodule.{name}.update")).is_ok_and(|how| how == "none");
    none || config.get_bool(&format!("submodule.{name}.active")).is_ok_and(|is_active| !is_active)
}
