//! The suite file of a request and the cases it selects.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::model::text::count;
use crate::model::{Fault, Result, Shard, shell_word};
use crate::suite::plan::{ShardCut, ShardPlan, keep_shard};
use crate::suite::{Benchmark, FILE_NAME, Registry, Selection, Suite};

/// A flag with its value, as the user typed it.
pub(crate) type GivenFlag = (&'static str, String);

#[derive(Clone, Debug, Default)]
pub(crate) struct SelectionRequest {
    pub config: Option<PathBuf>,
    /// Names are checked when it is applied.
    pub selection: Selection,
    /// One part of the cases, where several jobs measure a suite together.
    pub shard: Option<Shard>,
    /// How long the cases are expected to take, for all jobs of the suite alike; without it they are cut by number.
    pub shard_plan: Option<ShardPlan>,
    /// The words that `selection` was read from, for commands that are shown.
    pub given: Vec<GivenFlag>,
}

impl SelectionRequest {
    pub(crate) fn of_file(config: Option<PathBuf>) -> Self {
        Self { config, ..Self::default() }
    }

    /// The suite file: the one that is named, else the usual one of the current folder.
    pub(crate) fn suite_file(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(FILE_NAME))
    }

    /// [`SelectionRequest::suite_file`] from the root of the file system.
    pub(crate) fn suite_path(&self) -> Result<PathBuf> {
        absolute_suite(self.suite_file())
    }

    /// The suite file if there is one, and the built-in members. Errors: a file that is named and missing, and every mistake
    /// in one that is there.
    pub(crate) fn registry(&self, builtins: &[Benchmark]) -> Result<Registry> {
        let path = self.suite_file();
        // Also a link that leads nowhere: a broken suite file must not become the built-in suite.
        let is_there = self.config.is_some() || path.symlink_metadata().is_ok();
        let file = is_there.then(|| Suite::load(path, builtins)).transpose()?;
        Ok(Registry::new(file, builtins))
    }

    pub(crate) fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        self.select(&self.registry(builtins)?)
    }

    pub(crate) fn select(&self, registry: &Registry) -> Result<Suite> {
        let mut suite = registry.select(&self.selection)?;
        self.keep_shard(&mut [&mut suite])?;
        Ok(suite)
    }

    /// Keeps the cases of the shard in suites that are measured together. `None` where the suite is not cut. Errors: more
    /// shards than cases.
    pub(crate) fn keep_shard(&self, suites: &mut [&mut Suite]) -> Result<Option<ShardCut>> {
        let Some(shard) = self.shard else { return Ok(None) };
        match keep_shard(suites, shard, self.shard_plan.as_ref()) {
            Ok(cut) => Ok(Some(cut)),
            Err(cases) => {
                let what = format!("there are more shards than cases: {}", count(cases, "case"));
                let next = format!("cut the suite into {cases} at most, in every job alike");
                Err(Fault::at_flag(format!("--shard {shard}"), what, next))
            }
        }
    }

    /// The selection as flags for a shell, with a blank before each.
    pub(crate) fn flags(&self) -> String {
        let config = ("--config", self.config.as_ref().map(|path| path.display().to_string()));
        let shard = ("--shard", self.shard.map(|shard| shard.to_string()));
        let plan = ("--shard-plan", self.shard_plan.as_ref().map(ShardPlan::to_string));
        let given = self.given.iter().map(|(flag, value)| (*flag, Some(value.clone())));
        shell_flags(std::iter::once(config).chain(given).chain([shard, plan]))
    }
}

/// The flags that have a value, for a shell, with a blank before each.
pub(crate) fn shell_flags(flags: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
    given.map(|(flag, value)| format!(" {flag} {}", shell_word(&value))).collect()
}

/// The path of a suite file from the root of the file system.
pub(crate) fn absolute_suite(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Fault::at_path(path, error, "name a suite file with `--config`"))
}

/// The suite file of a request, read when it is first needed and at most once.
pub(crate) struct LocalSuite<'a> {
    request: &'a SelectionRequest,
    builtins: &'a [Benchmark],
    registry: OnceCell<Result<Registry>>,
}

impl<'a> LocalSuite<'a> {
    pub(crate) fn new(request: &'a SelectionRequest, builtins: &'a [Benchmark]) -> Self {
        Self { request, builtins, registry: OnceCell::new() }
    }

    pub(crate) fn registry(&self) -> Result<&Registry> {
        let read = self.registry.get_or_init(|| self.request.registry(self.builtins));
        read.as_ref().map_err(Clone::clone)
    }

    /// The suite file's content; `None` also for a file with mistakes, where the answer does not depend on it.
    pub(crate) fn file(&self) -> Option<&Suite> {
        self.registry().ok()?.file.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_can_be_pasted() {
        let given = |flag, value: &str| (flag, value.to_owned());
        let request = SelectionRequest {
            given: vec![given("--benchmark", "k/*"), given("--benchmark", "a"), given("--param", "n=1,2")],
            shard: Some(Shard { index: 2, of: 3 }),
            ..SelectionRequest::default()
        };
        assert_eq!(request.flags(), " --benchmark 'k/*' --benchmark a --param n=1,2 --shard 2/3");
        assert_eq!(SelectionRequest::default().flags(), "");
    }
}
