//! A `[[benchmark]]` whose cases are those of somebody's benchmark harness: `harness = "criterion"`. They become known by
//! listing, once both sides are built; until then it has one point without parameters, which stands for all of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cases::param_values::means;
use gbench_formats::adapters::Harness;
use gbench_model::{Outcome, Params};

/// The word by which a harness is found by its program.
pub(crate) const AUTO: &str = "auto";

/// What the suite file says of a harness, and what listing has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HarnessEntry {
    /// `None`: not known before the program is there (`harness = "auto"`).
    pub harness: Option<Harness>,
    /// Names and globs over the harness's own names; empty: all.
    pub cases: Vec<String>,
    /// Those of `cases` that none of the listed cases is.
    pub unmatched: Vec<String>,
    /// Parameters and the values that they may have, by the selection; they are asked once the cases are known.
    pub only: Vec<(String, Vec<String>)>,
    pub listing: Listing,
    /// The program that the command leads to, where starting it directly saves what stands before it.
    pub program: Option<DirectProgram>,
    /// The file in which the program leaves its results, from the benchmark's folder; `None`: stdout, or what it writes into the
    /// folder that it is given.
    pub file: Option<String>,
    /// The build step has run, for listing, and ended well.
    pub built: bool,
}

/// A program that is started without the build tool that the command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectProgram {
    pub argv: Vec<String>,
    /// Folder that it starts in.
    pub dir: PathBuf,
    /// What the command sets for it, above the benchmark's own.
    pub env: Vec<(String, String)>,
}

/// What a build step that failed leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedBuild {
    /// Without a word on where the output is kept.
    pub outcome: Outcome,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Whether the cases are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Listing {
    #[default]
    Unlisted,
    /// Something that it requires is missing, so that its harness was not asked. A run meets the same obstacle and records
    /// it.
    Unmet {
        outcome: Outcome,
        /// It is a GPU, or something about it, that is missing.
        gpu: bool,
    },
    /// Its build failed, so that its harness was not asked. A run records that without another build.
    NotBuilt(FailedBuild),
    /// The harness's own name by the case's parameters.
    Listed(BTreeMap<Params, String>),
    /// It was built and could not be listed; a cause and a next step for the reader.
    Failed { cause: String, advice: String },
}

impl HarnessEntry {
    /// Of a harness, or of modules, that nothing is known of yet. `cases`: names and globs.
    pub(crate) fn of(cases: Vec<String>) -> Self {
        Self { cases, ..Self::default() }
    }

    /// Gives the listed cases other parameters.
    pub(crate) fn rename_points(&mut self, renamed: impl Fn(Params) -> Params) {
        if let Listing::Listed(names) = &mut self.listing {
            *names = std::mem::take(names).into_iter().map(|(point, name)| (renamed(point), name)).collect();
        }
    }

    /// As the suite file has it.
    pub fn name(&self) -> &'static str {
        self.harness.map_or(AUTO, |harness| harness.0.name())
    }

    /// Whether the selection leaves a case of these parameters.
    pub fn selects(&self, params: &Params) -> bool {
        self.only.iter().all(|(name, values)| {
            params.get(name).is_some_and(|found| values.iter().any(|value| means(value, found)))
        })
    }

    /// The harness's own name of a case.
    pub fn native(&self, params: &Params) -> Option<&str> {
        match &self.listing {
            Listing::Listed(names) => names.get(params).map(String::as_str),
            _ => None,
        }
    }
}
