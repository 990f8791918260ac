//! Which action the workflows use. A tag can be moved to other code, and has been in attacks on popular actions; a full
//! commit id cannot, so nothing else is written into a workflow.

use std::fmt;
use std::str::FromStr;

use crate::github::{Sha, Slug};
use crate::model::{Fault, Result};

/// The reference of the build, for builds that know where their action lies: `OWNER/REPO@SHA # v1.2.3`.
const OF_THE_BUILD: Option<&str> = option_env!("GBENCH_CI_ACTION");

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ActionRef {
    /// A commit of a repository, and in words which version that is.
    Pinned { slug: Slug, sha: Sha, version: Option<String> },
    /// `./`, the present tree: for a project that has the action itself. There is no report then: it checks out nothing.
    Here,
}

impl ActionRef {
    /// The one that was named, else the build's own.
    pub(crate) fn choose(named: Option<&str>) -> Result<Self> {
        const NEXT: &str = "name the action by the full id of its commit: `--action OWNER/REPO@SHA`, or with the version \
                            behind it: `--action 'OWNER/REPO@SHA # v1.2.3'`. The page of each release has the line; \
                            before there is one, push a copy of gbench-ci's repository to GitHub, and take its address \
                            and what `git rev-parse HEAD` says there";
        let fault = |flag: String, what: &str| Fault::at_flag(flag, what, NEXT);
        let Some(text) = named.or(OF_THE_BUILD.filter(|text| !text.is_empty())) else {
            let what = "this build of gbench-ci does not know where its GitHub action lies";
            return Err(fault("--action".into(), what));
        };
        text.parse().map_err(|what: String| fault(format!("--action {text}"), &what))
    }

    /// True if there are archives that the action may download, as far as the words behind the commit record that.
    pub(super) fn is_release(&self) -> bool {
        let Self::Pinned { version: Some(version), .. } = self else { return false };
        version.strip_prefix('v').unwrap_or(version).starts_with(|c: char| c.is_ascii_digit())
    }
}

impl FromStr for ActionRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "./" {
            return Ok(Self::Here);
        }
        let (reference, comment) = match text.split_once('#') {
            Some((reference, comment)) => (reference.trim(), Some(comment.trim())),
            None => (text.trim(), None),
        };
        let (slug, sha) = reference.split_once('@').ok_or("this is not of the form OWNER/REPO@SHA")?;
        let sha: Sha = sha.parse().map_err(|_| {
            format!(
                "`{}` is not a full commit id: a tag or branch may be moved to other code",
                sha.escape_debug()
            )
        })?;
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
        let version = match comment {
            Some(words) if words.is_empty() || words.len() > 40 || !words.chars().all(plain) => {
                return Err("after the # only a version is allowed".into());
            }
            words => words.map(str::to_owned),
        };
        Ok(Self::Pinned { slug: slug.parse()?, sha, version })
    }
}

impl fmt::Display for ActionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned { slug, sha, version } => {
                write!(f, "{slug}@{sha}")?;
                version.iter().try_for_each(|version| write!(f, " # {version}"))
            }
            // Neither GitHub Enterprise nor older runners know the newer `$/`.
            Self::Here => {
                f.write_str("./ # zizmor: ignore[self-repository] the tree that was checked out is meant")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn a_reference_is_a_repository_a_full_commit_and_perhaps_a_version() {
        for text in [format!("acme/gbench-ci@{SHA}"), format!("acme/gbench-ci@{SHA} # v1.2.3")] {
            assert_eq!(text.parse::<ActionRef>().unwrap().to_string(), text);
        }
        assert_eq!("./".parse(), Ok(ActionRef::Here));
    }

    #[test]
    fn a_version_behind_the_commit_makes_it_a_release() {
        for (text, is_release) in
            [("", false), (" # v1.2.3", true), (" # 1.2.3-rc.1", true), (" # main", false), (" # v", false)]
        {
            let action: ActionRef = format!("acme/gbench-ci@{SHA}{text}").parse().unwrap();
            assert_eq!(action.is_release(), is_release, "{text}");
        }
        assert!(!ActionRef::Here.is_release());
    }

    #[test]
    fn what_can_be_moved_or_would_break_out_is_no_reference() {
        let with_lines = format!("acme/x@{SHA} # v1\n      - run: id");
        for text in ["acme/x", "acme/x@v1", "acme/x@main", "acme/x@0123456", &format!("x@{SHA}"), &with_lines]
        {
            assert!(text.parse::<ActionRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_reference_the_fault_says_what_to_write() {
        if OF_THE_BUILD.is_none() {
            let fault = ActionRef::choose(None).unwrap_err();
            assert!(fault.next.contains("--action OWNER/REPO@SHA"), "{fault:?}");
            assert!(fault.next.contains("git rev-parse HEAD"), "{fault:?}");
        }
    }
}
