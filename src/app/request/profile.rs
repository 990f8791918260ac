//! Profilers on demand: the wish of a request, and what profiles mean for exit codes.

use crate::app::progress::Reporter;
use crate::model::{Exit, Fault, MetricSet, Profile, ProfileOutcome, Profiler, Result, RunRecord};
use crate::run::missing_profilers;
use crate::suite::{ProfileOptions, Suite};

/// The flags of profilers; the suite file decides about absent ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileRequest {
    pub profilers: Option<Vec<Profiler>>,
    pub metrics: Option<MetricSet>,
    /// A profile that is asked for and not taken is an error.
    pub required: bool,
}

impl ProfileRequest {
    pub(crate) fn apply(&self, suite: &mut Suite) {
        let ProfileOptions { profilers, metrics, .. } = &mut suite.profile;
        let flag =
            if self.profilers.as_ref().is_some_and(Vec::is_empty) { "--no-profile" } else { "--profile" };
        profilers.set_by_flag(flag, self.profilers.clone());
        metrics.set_by_flag("--profile-metrics", self.metrics);
    }

    /// Its flags with their values, for words that are shown.
    pub(crate) fn given(&self) -> Vec<(&'static str, String)> {
        let words = |profilers: &Vec<Profiler>| {
            profilers.iter().map(|profiler| profiler.into_str()).collect::<Vec<_>>().join(",")
        };
        let profilers = self.profilers.as_ref().filter(|some| !some.is_empty());
        let profilers = profilers.map(|some| ("--profile", words(some)));
        let metrics = self.metrics.map(|set| ("--profile-metrics", set.into_str().to_owned()));
        profilers.into_iter().chain(metrics).collect()
    }

    /// Before anything is measured. A profiler that is missing is reported, and an error where it is required.
    ///
    /// Errors: exit code 5; a flag about profilers where none is asked for.
    pub(crate) fn check(&self, options: &ProfileOptions, reporter: &Reporter) -> Result<()> {
        let profilers = &options.profilers.value;
        let about_none =
            [(self.required, "--require-profilers"), (self.metrics.is_some(), "--profile-metrics")];
        if profilers.is_empty()
            && let Some((_, flag)) = about_none.into_iter().find(|(given, _)| *given)
        {
            let next = "name one, such as `--profile ncu`, or take the flag out";
            return Err(Fault::at_flag(flag, "no profiler is asked for", next));
        }
        for (profiler, what) in missing_profilers(profilers) {
            if self.required {
                let next = "install it as docs/profiling.md says, or name another profiler";
                return Err(Fault::at_flag(format!("--profile {}", profiler.into_str()), what, next)
                    .exits(Exit::Machine));
            }
            reporter.note(&format!("warning: nothing is profiled by {}: {what}", profiler.into_str()));
        }
        Ok(())
    }

    /// The exit code of what was done, which is `exit` unless a required profile was not taken: then the more severe one.
    pub(crate) fn exit<'p>(&self, exit: Exit, profiles: impl IntoIterator<Item = &'p Profile>) -> Exit {
        let is_final = matches!(exit, Exit::Machine | Exit::Interrupted | Exit::Terminated);
        match of_profiles(profiles) {
            Some(own) if self.required && !is_final => own,
            _ => exit,
        }
    }
}

/// The exit code that profiles have where they were the task: 5 where a profiler is missing, 4 where one gave nothing;
/// `None`: all were taken.
pub(crate) fn of_profiles<'p>(profiles: impl IntoIterator<Item = &'p Profile>) -> Option<Exit> {
    let exits = profiles.into_iter().filter_map(|profile| match profile.outcome {
        ProfileOutcome::Taken => None,
        ProfileOutcome::Missing { .. } => Some(Exit::Machine),
        ProfileOutcome::TimedOut { .. } | ProfileOutcome::Failed { .. } => Some(Exit::Failed),
    });
    exits.max_by_key(|exit| *exit == Exit::Machine)
}

pub(crate) fn profiles_of(record: &RunRecord) -> impl Iterator<Item = &Profile> {
    record.cases.iter().flat_map(|case| &case.profiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(outcome: ProfileOutcome) -> Profile {
        Profile {
            profiler: Profiler::Ncu,
            version: None,
            outcome,
            seconds: None,
            reports: Vec::new(),
            kernels: Vec::new(),
        }
    }

    #[test]
    fn s0_57_profiles_change_the_exit_code_only_where_they_are_required() {
        let missing = [profile(ProfileOutcome::Missing { program: "ncu".into() })];
        let failed = [profile(ProfileOutcome::TimedOut { limit: 1.0 }), profile(ProfileOutcome::Taken)];
        let (free, required) =
            (ProfileRequest::default(), ProfileRequest { required: true, ..ProfileRequest::default() });
        for exit in [Exit::Pass, Exit::Regression] {
            assert_eq!(free.exit(exit, &missing), exit);
            assert_eq!(required.exit(exit, &missing), Exit::Machine);
            assert_eq!(required.exit(exit, &failed), Exit::Failed);
            assert_eq!(required.exit(exit, &failed[1..]), exit);
        }
        assert_eq!(required.exit(Exit::Interrupted, &failed), Exit::Interrupted);
        assert_eq!(of_profiles(missing.iter().chain(&failed)), Some(Exit::Machine));
    }
}
