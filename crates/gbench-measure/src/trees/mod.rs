//! The two sides of a comparison as files: resolves the user's words to commits, and keeps a cached work tree for each.
//!
//! ```text
//! .gbench/trees/base.lock      locked while a gate uses the tree
//! .gbench/trees/base/          the files of the base, and its build's results
//! .gbench/trees/base.cache/    kernels that its processes compiled, and their home
//! .gbench/trees/head.lock  head/  head.cache/
//! .gbench/trees/c000.lock  c000/  c000.cache/     of a bisection, a few
//! ```
//!
//! The user's checkout, index, branches and stash stay as they are. The repository only gains a folder below
//! `.git/worktrees`, as with `git worktree add`.

mod advice;
mod cached;
mod checkout;
mod commits;
mod files;
mod home;
mod lfs;
mod link;
mod overlay;
pub(crate) mod range;
mod revision;
mod submodules;

pub use cached::{Tree, sandbox, side_environment};
pub use commits::{Ancestry, CommitRange, RangeCommit, commits_between};
pub use range::{Base, Range};
pub use revision::{Revision, Sides, Unknown, is_bare, names_revision, resolve, why_unknown};
