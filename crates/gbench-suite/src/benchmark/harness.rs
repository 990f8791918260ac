//! A `[[benchmark]]` with `harness = "criterion"`: its cases are those of the harness. They are listed after the builds; until
//! then one point without parameters represents them all.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cases::param_values::means;
use gbench_formats::adapters::Harness;
use gbench_model::{Outcome, Params};

pub(crate) const AUTO: &str = "auto";

/// The parameter with the harness's name of a case.
pub(crate) const CASE: &str = "case";

/// The suite file's `harness`, and the listed cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HarnessEntry {
    /// `None` until the program is recognised (`harness = "auto"`).
    pub harness: Option<Harness>,
    pub cases: Vec<String>,
    /// Members of `cases` that no listed case matches.
    pub unmatched: Vec<String>,
    /// The allowed values of parameters, from the selection; applied to the listed cases.
    pub only: Vec<(String, Vec<String>)>,
    pub listing: Listing,
    /// The program behind the command, if it can be started directly.
    pub program: Option<DirectProgram>,
    /// The file with the program's results, relative to the benchmark's folder; `None`: stdout, or files in the output folder.
    pub file: Option<String>,
    /// The build step has succeeded, for listing.
    pub built: bool,
}

/// A program that is started without the build tool that the command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectProgram {
    pub argv: Vec<String>,
    pub dir: PathBuf,
    /// Set by the command, over the benchmark's own.
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FailedBuild {
    /// Does not mention where the output is kept.
    pub outcome: Outcome,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Listing {
    #[default]
    Unlisted,
    /// A requirement is missing, so that the harness was not run. The run finds and records the same.
    Unmet {
        outcome: Outcome,
        /// A GPU, or a property of one, is missing.
        gpu: bool,
    },
    /// The build failed, so that the harness was not run. The run records this without another build.
    NotBuilt(FailedBuild),
    /// The harness's name of a case by its parameters.
    Listed(BTreeMap<Params, String>),
    Failed {
        cause: String,
        advice: String,
    },
}

impl HarnessEntry {
    pub(crate) fn of(cases: Vec<String>) -> Self {
        Self { cases, ..Self::default() }
    }

    pub(crate) fn rename_points(&mut self, renamed: impl Fn(Params) -> Params) {
        if let Listing::Listed(names) = &mut self.listing {
            *names = std::mem::take(names).into_iter().map(|(point, name)| (renamed(point), name)).collect();
        }
    }

    pub fn name(&self) -> &'static str {
        self.harness.map_or(AUTO, |harness| harness.0.name())
    }

    /// The case of all that a program does, if its other cases are parts of that.
    pub fn whole(&self) -> Option<&'static str> {
        self.harness.and_then(|harness| harness.0.about().whole)
    }

    /// True if the selection includes these parameters.
    pub fn selects(&self, params: &Params) -> bool {
        self.only.iter().all(|(name, values)| {
            params.get(name).is_some_and(|found| values.iter().any(|value| means(value, found)))
        })
    }

    pub fn native(&self, params: &Params) -> Option<&str> {
        match &self.listing {
            Listing::Listed(names) => names.get(params).map(String::as_str),
            _ => None,
        }
    }
}
