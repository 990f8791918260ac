//! A linked work tree at a fixed place, created and repaired by writing the few files that link it (gitrepository-layout(5)).
//!
//! libgit2 can only create one together with a branch, and only in a new folder. Branches belong to the user, a killed gate
//! must not leave one behind, and a cached tree outlives `git worktree prune`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use gbench_model::{Fault, Result, sha256_hex};

const PREFIX: &str = "gbench-ci-";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RootKind {
    /// Unknown: anything but a work tree of ours is refused.
    Open,
    /// A work tree of ours contains it: an earlier commit or its build left whatever is in the way.
    Ours,
}

/// Opens the work tree of `origin` at `at`; creates or repairs it if necessary. Only its `.git` is touched.
///
/// Errors: the place is occupied, or the folder or the repository cannot be written.
pub(super) fn link(origin: &Repository, at: &Path, commit: Oid, root: RootKind) -> Result<Repository> {
    let fault = |error: &dyn std::fmt::Display| {
        let what = format!("no work tree can be made here: {error}");
        Fault::at_path(at, what, "give a writable folder with enough space")
    };
    let at = absolute(at).map_err(|error| fault(&error))?;
    let common = origin.commondir().canonicalize().map_err(|error| fault(&error))?;
    // Named after its place, so that two stores of one repository do not share trees.
    let name = format!("{PREFIX}{}", &sha256_hex(at.as_os_str().as_bytes())[..10]);
    let link = Link { admin: common.join("worktrees").join(name), at };
    if let Some(what) = link.obstacle() {
        if root == RootKind::Open {
            let next = "move that folder away, or choose another one: it is left as it is";
            return Err(Fault::at_path(&link.at, what, next));
        }
        super::files::remove(&link.at).map_err(|error| fault(&error))?;
    }
    link.unlock();
    if let Some(tree) = link.open() {
        return Ok(tree);
    }
    link.write(commit).map_err(|error| fault(&error))?;
    Repository::open(&link.at).map_err(|error| fault(&error.message()))
}

/// With the parent's links resolved: git compares places by their text.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => Ok(path),
    }
}

struct Link {
    admin: PathBuf,
    at: PathBuf,
}

impl Link {
    /// Describes a foreign file or folder at this place; `None` if it is a work tree of ours or does not exist.
    fn obstacle(&self) -> Option<String> {
        let found = fs::symlink_metadata(&self.at).ok()?;
        if !found.is_dir() {
            return Some("is a file or a link, in the place of a work tree".to_owned());
        }
        let dot_git = self.at.join(".git");
        let is_folder = fs::symlink_metadata(&dot_git).is_ok_and(|found| found.is_dir());
        if is_folder {
            return Some("is a separate repository".to_owned());
        }
        let Some(target) = target_of(&dot_git) else {
            let is_empty = fs::read_dir(&self.at).is_ok_and(|mut entries| entries.next().is_none());
            let is_known = self.points_back(&self.admin);
            return (!is_empty && !is_known)
                .then(|| "holds files that gbench-ci did not put there".to_owned());
        };
        let is_ours = target.file_name().is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
        if !is_ours {
            return Some("is a work tree that gbench-ci did not make".to_owned());
        }
        // A repository that was moved or copied brings its trees along, linked to their old place.
        let is_elsewheres = target != self.admin && self.points_back(&target);
        is_elsewheres.then(|| {
            let repository = target.ancestors().nth(2).unwrap_or(&target);
            format!("is a work tree of another repository, {}", repository.display())
        })
    }

    /// True if a folder below `.git/worktrees` names this folder for its files.
    fn points_back(&self, admin: &Path) -> bool {
        let Ok(bytes) = fs::read(admin.join("gitdir")) else { return false };
        Path::new(OsStr::from_bytes(bytes.trim_ascii_end())) == self.at.join(".git")
    }

    /// Removes locks that a killed gate may have left; our own lock keeps other gates out.
    fn unlock(&self) {
        for name in ["index.lock", "HEAD.lock"] {
            let _ = fs::remove_file(self.admin.join(name));
        }
    }

    fn open(&self) -> Option<Repository> {
        let is_linked = self.points_back(&self.admin)
            && target_of(&self.at.join(".git")).is_some_and(|target| target == self.admin);
        let tree = Repository::open(&self.at).ok().filter(|_| is_linked)?;
        let is_whole = tree.head().and_then(|head| head.peel_to_commit()).is_ok();
        is_whole.then_some(tree)
    }

    fn write(&self, commit: Oid) -> io::Result<()> {
        fs::create_dir_all(&self.admin)?;
        // The index of another commit or a damaged one: the following checkout writes it again.
        super::files::remove(&self.admin.join("index"))?;
        fs::write(self.admin.join("commondir"), "../..\n")?;
        fs::write(self.admin.join("HEAD"), format!("{commit}\n"))?;
        fs::write(self.admin.join("gitdir"), line(b"", &self.at.join(".git")))?;
        fs::create_dir_all(&self.at)?;
        // Code of the side may have left a link there.
        super::files::remove(&self.at.join(".git"))?;
        let mut file = fs::File::create_new(self.at.join(".git"))?;
        io::Write::write_all(&mut file, &line(b"gitdir: ", &self.admin))
    }
}

fn line(before: &[u8], path: &Path) -> Vec<u8> {
    [before, path.as_os_str().as_bytes(), b"\n"].concat()
}

/// The target of a `.git` file; `None` if it is not a file.
fn target_of(dot_git: &Path) -> Option<PathBuf> {
    fs::symlink_metadata(dot_git).ok().filter(fs::Metadata::is_file)?;
    let bytes = fs::read(dot_git).ok()?;
    let path = bytes.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(PathBuf::from(OsStr::from_bytes(path)))
}
