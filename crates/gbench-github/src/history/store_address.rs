//! Where a store is: a folder, a branch of the repository here, a branch of one on GitHub, or a bucket.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::api::address::Slug;

/// `dir:PATH`, `git:BRANCH`, `github:OWNER/REPO@BRANCH` or `s3://BUCKET/PREFIX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Named baselines in a folder; a relative path counts from the folder or file that names it.
    Dir(PathBuf),
    /// A history on a branch of the repository of the folder.
    Git(String),
    /// A history on a branch of a repository on GitHub.
    GitHub { slug: Slug, branch: String },
    /// A history below a prefix of a bucket.
    Bucket(BucketAddress),
}

/// A bucket, or a container of Azure, and where in it a history is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    pub cloud: Cloud,
    pub bucket: String,
    /// Without a slash at either end; empty for the whole bucket.
    pub prefix: String,
}

/// The cloud whose protocol a bucket is read and written by; the server may be another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(const_into_str)]
pub enum Cloud {
    #[strum(serialize = "s3")]
    S3,
    #[strum(serialize = "gs")]
    Google,
    #[strum(serialize = "az")]
    Azure,
}

impl Cloud {
    pub const fn scheme(self) -> &'static str {
        self.into_str()
    }
}

impl Address {
    /// The advice for a text that is not an address.
    pub const FORMS: &str = "write it as dir:PATH, git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX (also gs://, az://)";

    /// The advice for one that is not a history's.
    pub const HISTORIES: &str =
        "write git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX (also gs://, az://)";
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((scheme, rest)) = text.split_once("://")
            && let Ok(cloud) = scheme.parse()
        {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let prefix = prefix.trim_end_matches('/');
            let is_name = is_part(bucket) && (prefix.is_empty() || prefix.split('/').all(is_part));
            let address = BucketAddress { cloud, bucket: bucket.to_owned(), prefix: prefix.to_owned() };
            return is_name.then_some(Self::Bucket(address)).ok_or_else(|| {
                format!(
                    "`{}` cannot name a bucket and a prefix of letters, digits, `-`, `_` and `.`",
                    rest.escape_debug()
                )
            });
        }
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
            Self::Bucket(bucket) => bucket.fmt(f),
        }
    }
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.cloud.scheme(), self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

/// True for what every cloud takes as a bucket's name or as a part of a key, as it is: no letter of it is encoded.
fn is_part(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=200).contains(&text.len()) && text.chars().all(plain) && !text.starts_with(['.', '-'])
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
