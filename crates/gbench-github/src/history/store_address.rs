//! Where a store is: a folder, a branch of the repository here, or a branch of one on GitHub.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::api::address::Slug;

/// `dir:PATH`, `git:BRANCH` or `github:OWNER/REPO@BRANCH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Named baselines in a folder; a relative path counts from the folder or file that names it.
    Dir(PathBuf),
    /// A history on a branch of the repository of the folder.
    Git(String),
    /// A history on a branch of a repository on GitHub.
    GitHub { slug: Slug, branch: String },
}

impl Address {
    /// The advice for a text that is not an address.
    pub const FORMS: &str = "write it as dir:PATH, git:BRANCH or github:OWNER/REPO@BRANCH";
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("dir", path)) if !path.is_empty() => Ok(Self::Dir(path.into())),
            Some(("git", branch)) => Ok(Self::Git(checked(branch)?)),
            Some(("github", rest)) => {
                let parts = rest.split_once('@');
                let (slug, branch) =
                    parts.ok_or_else(|| format!("`{}` names no branch", text.escape_debug()))?;
                Ok(Self::GitHub { slug: slug.parse()?, branch: checked(branch)? })
            }
            _ => Err(format!("`{}` is not an address of a store", text.escape_debug())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir(path) => write!(f, "dir:{}", path.display()),
            Self::Git(branch) => write!(f, "git:{branch}"),
            Self::GitHub { slug, branch } => write!(f, "github:{slug}@{branch}"),
        }
    }
}

fn checked(branch: &str) -> Result<String, String> {
    if is_branch(branch) {
        Ok(branch.to_owned())
    } else {
        Err(format!("`{}` cannot name a branch", branch.escape_debug()))
    }
}

/// True if git takes the text as a branch's name, by the rules of git-check-ref-format(1); at most 200 bytes.
pub(super) fn is_branch(text: &str) -> bool {
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    text.len() <= 200
        && text != "@"
        && text != "HEAD"
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && !text.chars().any(odd)
        && text.split('/').all(part)
}
